#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/mpir/hosts.h"
#include "recorder/mpir/wanted_ranks.h"

#include <string.h>
#include <sys/utsname.h>

static void this_host_goes_by_many_names(void **state)
{
    (void)state;
    struct tg_mpir_hosts *hosts = tg_mpir_hosts_create();
    struct utsname name;
    assert_non_null(hosts);
    uname(&name);
    assert_true(tg_mpir_hosts_is_local(hosts, name.nodename));
    assert_true(tg_mpir_hosts_is_local(hosts, "localhost"));
    assert_true(tg_mpir_hosts_is_local(hosts, "LOCALHOST"));
    assert_true(tg_mpir_hosts_is_local(hosts, "127.0.0.1"));
    assert_true(tg_mpir_hosts_is_local(hosts, "127.3.2.1"));
    assert_true(tg_mpir_hosts_is_local(hosts, "::1"));
    assert_false(tg_mpir_hosts_is_local(hosts, ""));
    assert_false(tg_mpir_hosts_is_local(hosts, "192.0.2.77")); /* RFC 5737: nobody's */
    assert_false(tg_mpir_hosts_is_local(hosts, "surely-no-such-host.example"));
    tg_mpir_hosts_destroy(hosts);
}

static void short_names_are_names_too(void **state)
{
    (void)state;
    struct tg_mpir_hosts *hosts = tg_mpir_hosts_create();
    assert_non_null(hosts);
    assert_true(tg_mpir_hosts_add(hosts, "leaf17.example.org"));
    assert_true(tg_mpir_hosts_add(hosts, "bare18"));
    assert_true(tg_mpir_hosts_add(hosts, "192.0.2.5"));
    assert_true(tg_mpir_hosts_is_local(hosts, "leaf17"));
    assert_true(tg_mpir_hosts_is_local(hosts, "Leaf17.Example.ORG"));
    assert_false(tg_mpir_hosts_is_local(hosts, "leaf17.example.com"));
    assert_false(tg_mpir_hosts_is_local(hosts, "leaf1"));
    assert_false(tg_mpir_hosts_is_local(hosts, "leaf175"));
    assert_true(tg_mpir_hosts_is_local(hosts, "bare18.anything"));
    assert_true(tg_mpir_hosts_is_local(hosts, "192.0.2.5"));
    assert_false(tg_mpir_hosts_is_local(hosts, "192.0.2.55"));
    assert_false(tg_mpir_hosts_is_local(hosts, "192"));
    char own[] = "192.0.2.5  alias19.example.org alias19 # alias20\n", other[] = "192.0.2.6 alias21\n",
         loop[] = "127.0.1.1\tlooped22\n", comment[] = "# 192.0.2.5 alias23\n", empty[] = "\n";
    char *lines[] = {own, other, loop, comment, empty};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_true(tg_mpir_hosts_add_line(hosts, lines[i]));
    assert_true(tg_mpir_hosts_is_local(hosts, "alias19"));
    assert_true(tg_mpir_hosts_is_local(hosts, "looped22"));
    assert_false(tg_mpir_hosts_is_local(hosts, "alias20"));
    assert_false(tg_mpir_hosts_is_local(hosts, "alias21"));
    assert_false(tg_mpir_hosts_is_local(hosts, "alias23"));
    tg_mpir_hosts_destroy(hosts);
}

static void lists_of_ranks(void **state)
{
    (void)state;
    struct tg_wanted_ranks list = {0};
    assert_true(tg_wanted_ranks_has(&list, 0));
    assert_true(tg_wanted_ranks_has(&list, 1 << 20));
    assert_null(tg_wanted_ranks_parse("0,2-5,8,1000-1000", &list));
    static const uint64_t in[] = {0, 2, 3, 5, 8, 1000}, out[] = {1, 6, 7, 9, 999, 1001, UINT64_MAX};
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++)
        assert_true(tg_wanted_ranks_has(&list, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        assert_false(tg_wanted_ranks_has(&list, out[i]));
    tg_wanted_ranks_deinit(&list);
    static const char *const bad[] = {"",    ",",           "1,",           ",1",    "x",   "1-", "-1",
                                      "3-1", "1--2",        "1 ,2",         "1-2-3", "0x1", "+1", "1,,2",
                                      "1;2", "99999999999", "1-99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tg_error *error = tg_wanted_ranks_parse(bad[i], &list);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_null(list.ranges);
        tg_error_destroy(error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_host_goes_by_many_names),
        cmocka_unit_test(short_names_are_names_too),
        cmocka_unit_test(lists_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
