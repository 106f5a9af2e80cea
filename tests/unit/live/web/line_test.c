#include "live/web/line.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct tg_web_line line;
static int other;

static int begin(void **context)
{
    int ends[2];
    (void)context;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    tg_web_line_init(&line, ends[0]);
    other = ends[1];
    return 0;
}

static int end(void **context)
{
    (void)context;
    tg_web_line_deinit(&line);
    close(other);
    return 0;
}

static void give(const char *bytes, size_t size)
{
    assert_int_equal(write(other, bytes, size), (ssize_t)size);
    tg_web_line_attend(&line);
}

static void frames_come_in_any_pieces(void **context)
{
    (void)context;
    static const char bytes[] = "7 data 5\na\nb\0c0 news 0\n";
    struct tg_web_frame frame;
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        bool is_last_of_one = i == 13 || i == sizeof bytes - 2;
        give(&bytes[i], 1);
        assert_int_equal(tg_web_line_take(&line, &frame), is_last_of_one);
        if (i == 13) {
            assert_int_equal(frame.id, 7);
            assert_string_equal(frame.word, "data");
            assert_int_equal(frame.size, 5);
            assert_memory_equal(frame.body, "a\nb\0c", 6);
        }
        if (is_last_of_one)
            free(frame.body);
    }
    assert_string_equal(frame.word, "news");
    assert_int_equal(frame.size, 0);
    assert_false(line.is_broken);
}

static void nonsense_ends_it(void **context)
{
    (void)context;
    static const char *const nonsense[] = {
        "x data 5\n",
        "7 data\n",
        "7 DATA 5\n",
        "7 data 5 \n",
        "7 averyverylongword 5\n",
        "7 data -1\n",
        "7 data 67108865\n",
        "\n",
        "GET / HTTP/1.1 and so on, without any end of the line for more than 64 bytes"};
    struct tg_web_frame frame;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        give(nonsense[i], strlen(nonsense[i]));
        assert_false(tg_web_line_take(&line, &frame));
        assert_true(line.is_broken);
        end(NULL);
        assert_int_equal(begin(NULL), 0);
    }
}

/* What the other end does not read is kept up to a limit, and then nothing more is sent. */
static void what_nobody_reads_is_bounded(void **context)
{
    (void)context;
    enum { MANY = 1 << 20 };
    char *much = calloc(1, MANY);
    size_t n = 0;
    assert_non_null(much);
    while (!line.is_broken && n < 1000) {
        tg_web_line_send(&line, ++n, "200", much, MANY);
        assert_true(line.is_broken || tg_web_line_events(&line) == (POLLIN | POLLOUT));
    }
    assert_in_range(n, 2, 2 * (TG_WEB_MAX_BODY / MANY) + 2);
    free(much);
}

static void there_is_room_while_little_waits(void **context)
{
    (void)context;
    enum { LARGE = TG_WEB_MAX_BODY };
    char *large = calloc(1, LARGE);
    assert_non_null(large);
    tg_web_line_send(&line, 1, "200", large, LARGE / 2);
    assert_true(tg_web_line_has_room(&line));
    tg_web_line_send(&line, 2, "200", large, LARGE);
    assert_false(line.is_broken);
    assert_false(tg_web_line_has_room(&line));
    free(large);
}

static void end_of_the_other_one_is_seen(void **context)
{
    (void)context;
    close(other);
    tg_web_line_send(&line, 1, "200", "a", 1); /* no SIGPIPE */
    tg_web_line_attend(&line);
    assert_true(line.is_broken);
    other = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_come_in_any_pieces, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_ends_it, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_reads_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(there_is_room_while_little_waits, begin, end),
        cmocka_unit_test_setup_teardown(end_of_the_other_one_is_seen, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
