#include "format/trace/plain_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void known_names_are_plain_with_their_versions_alone(void **state)
{
    (void)state;
    static const char *const plain[] = {"usr",
                                        "home",
                                        "..",
                                        "python",
                                        "python3",
                                        "python3.11",
                                        "mpirun",
                                        "mpirun.openmpi",
                                        "mpiexec.hydra",
                                        "hydra_pmi_proxy",
                                        "prun",
                                        "srun",
                                        "tollgate",
                                        "tollgate-agent.so",
                                        "libmpi.so.40",
                                        "libmpi.so",
                                        "libmpich.so.12.2.2",
                                        "libopen-pal.so.40",
                                        "libgomp.so.1",
                                        "libc.so.6",
                                        "libc-2.31.so",
                                        "ld-2.31.so",
                                        "ld-linux-x86-64.so.2",
                                        "libpython3.11.so.1.0",
                                        "libstdc++.so.6.0.30",
                                        "libgcc_s.so.1",
                                        "libiomp5.so",
                                        "linux-vdso.so.1",
                                        "[vdso]",
                                        "3.11",
                                        "4.1.4"};
    static const char *const own[] = {"prune_customer_x",
                                      "prun_alice",
                                      "python_secret_project",
                                      "python3-secret",
                                      "python3.11-alice",
                                      "hydra",
                                      "hydra_secret",
                                      "srun-project",
                                      "sruns",
                                      "tollgate_of_alice",
                                      "tollgate-results",
                                      "mpirun.secret",
                                      "mpiexec_wrapper_bank",
                                      "libmpi_secret.so",
                                      "libmpi-secret.so.1",
                                      "libmpi.so.secret",
                                      "libmpi.so1secret",
                                      "libopen-secret.so",
                                      "libpmi_bank.so",
                                      "libpython_secret.so",
                                      "libgomp.alice",
                                      "libc.so.alice",
                                      "libc-2.31.so.alice",
                                      "orted2alice",
                                      "users",
                                      "alice",
                                      "10.1.2.3",
                                      "libmpi",
                                      "ld-linux-secret.so"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!tg_plain_name(plain[i], strlen(plain[i])))
            fail_msg("%s is everybody's", plain[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (tg_plain_name(own[i], strlen(own[i])))
            fail_msg("%s is somebody's", own[i]);
}

static void system_paths_do_not_lead_elsewhere(void **state)
{
    (void)state;
    static const char *const plain[] = {"/usr/lib/x86_64-linux-gnu/libm.so.6",
                                        "/usr/lib64/libz.so.1",
                                        "/usr/libexec/gcc/cc1",
                                        "/usr/bin/python3.11",
                                        "/lib/ld-linux.so.2",
                                        "/lib64/ld-linux-x86-64.so.2",
                                        "/usr/lib/debug/.build-id/ab/cdef.debug",
                                        "/usr/lib/debug/usr/lib/libm.so.6.debug"};
    static const char *const own[] = {"/usr/lib/../../home/alice/x",
                                      "/usr/lib/./../x",
                                      "/usr/lib/..",
                                      "/usr/lib/.alice/x",
                                      "/usr/libsomething/x",
                                      "/usr/lib",
                                      "/usr/lib/a:/home/alice/b",
                                      "/usr/lib/a,/home/alice/b",
                                      "/usr/lib/my secret",
                                      "/usr/lib/debug/home/alice/x.debug",
                                      "/usr/lib/debug/usr/lib/../x",
                                      "/binary/x",
                                      "/home/usr/lib/x",
                                      "usr/lib/x",
                                      ""};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!tg_plain_path(plain[i], strlen(plain[i])))
            fail_msg("%s is everybody's", plain[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (tg_plain_path(own[i], strlen(own[i])))
            fail_msg("%s is somebody's", own[i]);
    assert_true(tg_plain_path("/usr/lib/a:/home", strlen("/usr/lib/a"))); /* SIZE counts */
}

static void addresses_are_no_numbers(void **state)
{
    (void)state;
    assert_true(tg_plain_number("1024", 4, 4));
    assert_true(tg_plain_number("4.1.4", 5, 20));
    assert_false(tg_plain_number("1024", 4, 3));
    assert_false(tg_plain_number("192.168.1.17", 12, 20));
    assert_false(tg_plain_number("10a", 3, 20));
    assert_false(tg_plain_number("", 0, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_names_are_plain_with_their_versions_alone),
        cmocka_unit_test(system_paths_do_not_lead_elsewhere),
        cmocka_unit_test(addresses_are_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
