/* What a new file may take the place of. */
#include "format/base/replace.h"

#include "tests/support/trace_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[] = "/tmp/tg-replace-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") != 0 || rmdir(directory) != 0;
}

static void expect(const char *name, bool force, const char *words)
{
    struct tg_error *error = tg_replace_check(AT_FDCWD, name, "out/put", force);
    if (words == NULL) {
        assert_fine(error);
        return;
    }
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_EXISTS);
    assert_non_null(strstr(tg_error_message(error), words));
    assert_non_null(strstr(tg_error_message(error), "out/put"));
    tg_error_destroy(error);
}

static void nothing_and_regular_files(void **state)
{
    (void)state;
    expect("none", false, NULL);
    expect("none", true, NULL);
    close(open("file", O_CREAT | O_WRONLY, 0600));
    expect("file", false, "--force");
    expect("file", true, NULL);
    unlink("file");
}

static void nothing_else_is_replaced(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(mkdir("directory", 0700), 0);
    for (int force = 0; force < 2; force++) {
        expect("socket", force, "is a socket");
        expect("pipe", force, "is a pipe");
        expect("link", force, "is a symbolic link");
        expect("directory", force, "is a directory");
        expect("/dev/null", force, "is a device");
    }
    unlink("socket");
    unlink("pipe");
    unlink("link");
    rmdir("directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_and_regular_files),
        cmocka_unit_test(nothing_else_is_replaced),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
