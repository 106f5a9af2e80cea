/* News in lines for people: what many do alike is one line, and nobody is left out. */
#include "live/console/news_printer.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

static void check_lines(const struct tg_news *news, size_t count, const char *lines)
{
    char *printed = NULL;
    size_t size;
    FILE *stream = open_memstream(&printed, &size);
    struct tg_news_printer printer = {.stream = stream};
    for (size_t i = 0; i < count; i++)
        tg_news_printer_tell(&printer, &news[i]);
    tg_news_printer_flush(&printer);
    fclose(stream);
    assert_string_equal(printed, lines);
    free(printed);
}

static struct tg_news end_of(uint32_t dpid, int64_t rank, enum tg_exit_how how, int64_t status)
{
    return (struct tg_news){.kind = TG_NEWS_EXITED,
                            .thread = {dpid, 0},
                            .has_rank = rank >= 0,
                            .rank = rank,
                            .how = how,
                            .status = status};
}

static void test_ends_alike_are_one_line(void **state)
{
    enum { STORM = 2500 };
    static struct tg_news storm[STORM];
    (void)state;
    for (uint32_t i = 0; i < STORM; i++)
        storm[i] = end_of(3 + (i * 7) % STORM, -1, TG_EXIT_STATUS, 0); /* in no order */
    check_lines(storm, STORM, "processes 3-2502 exited with status 0\n");
    for (uint32_t i = 0; i < STORM; i++)
        storm[i] = end_of(3 + i, -1, TG_EXIT_STATUS, i % 5 == 0);
    check_lines(storm, STORM,
                "500 of the processes 3-2498 exited with status 1\n"
                "2000 of the processes 4-2502 exited with status 0\n");
    check_lines(storm, 1, "process 3 exited with status 1\n");
}

static void test_other_ends_are_not_hidden(void **state)
{
    const struct tg_news news[] = {end_of(3, 0, TG_EXIT_STATUS, 0),   end_of(8, -1, TG_EXIT_STATUS, 0),
                                   end_of(5, 2, TG_EXIT_STATUS, 0),   end_of(4, 1, TG_EXIT_STATUS, 3),
                                   end_of(7, -1, TG_EXIT_STATUS, 0),  end_of(6, 3, TG_EXIT_SIGNAL, 11),
                                   end_of(9, -1, TG_EXIT_LOST, 0),    end_of(10, -1, TG_EXIT_STATUS, 1),
                                   end_of(11, -1, TG_EXIT_STATUS, 1), end_of(12, 4, TG_EXIT_SIGNAL, 9),
                                   end_of(13, 5, TG_EXIT_SIGNAL, 9)};
    (void)state;
    check_lines(news, sizeof news / sizeof news[0],
                "ranks 0,2 (processes 3,5) exited with status 0\n"
                "processes 7-8 exited with status 0\n"
                "process 4 (rank 1) exited with status 3\n"
                "process 6 (rank 3) was killed by SIGSEGV\n"
                "process 9 is gone\n"
                "processes 10-11 exited with status 1\n"
                "ranks 4-5 (processes 12-13) were killed by SIGKILL\n");
}

static void test_scattered_ranks_are_all_named(void **state)
{
    enum { COUNT = 17 };
    struct tg_news news[COUNT];
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        news[i] = end_of(2 + 2 * i, 2 * i, TG_EXIT_STATUS, 0);
    check_lines(news, COUNT,
                "ranks 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32 "
                "(processes 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34) exited with status 0\n");
    for (uint32_t i = 0; i < COUNT; i++)
        news[i] = end_of(2 + 2 * i, -1, TG_EXIT_SIGNAL, 11);
    check_lines(news, COUNT,
                "processes 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34 were killed by SIGSEGV\n");
}

static void test_order_of_what_is_no_end(void **state)
{
    const struct tg_news news[] = {end_of(3, -1, TG_EXIT_STATUS, 0),
                                   end_of(4, -1, TG_EXIT_STATUS, 0),
                                   {.kind = TG_NEWS_NOTE, .text = "something else"},
                                   end_of(5, -1, TG_EXIT_STATUS, 0),
                                   {.kind = TG_NEWS_EXITED, .thread = {6, 2}},
                                   end_of(6, -1, TG_EXIT_STATUS, 0)};
    (void)state;
    check_lines(news, sizeof news / sizeof news[0],
                "processes 3-4 exited with status 0\n"
                "something else\n"
                "process 5 exited with status 0\n"
                "thread 6.2 exited\n"
                "process 6 exited with status 0\n");
}

static struct tg_news left_by(uint32_t dpid, uint32_t dtid, int64_t rank)
{
    return (struct tg_news){.kind = TG_NEWS_BARRIER,
                            .thread = {dpid, dtid},
                            .has_rank = rank >= 0,
                            .rank = rank,
                            .point = 4,
                            .decision = TG_DECIDE_LEFT,
                            .reason = TG_BARRIER_BY_EXIT};
}

static void test_threads_that_leave_a_barrier(void **state)
{
    const struct tg_news of_one[] = {left_by(2, 3, -1), left_by(2, 4, -1), end_of(2, -1, TG_EXIT_STATUS, 0),
                                     left_by(2, 5, -1)};
    const struct tg_news of_many[] = {left_by(5, 2, 2),
                                      left_by(3, 2, 0),
                                      end_of(9, -1, TG_EXIT_SIGNAL, 9),
                                      left_by(5, 3, 2),
                                      left_by(3, 9, 0),
                                      end_of(8, -1, TG_EXIT_SIGNAL, 9),
                                      left_by(4, 1, 1),
                                      end_of(4, 1, TG_EXIT_SIGNAL, 9)};
    struct tg_news another = left_by(3, 2, 0);
    (void)state;
    check_lines(of_one, 4,
                "3 threads of process 2 will not arrive at barrier 4 (exited)\n"
                "process 2 exited with status 0\n");
    check_lines(of_many, 8,
                "5 threads of ranks 0-2 (processes 3-5) will not arrive at barrier 4 (exited)\n"
                "processes 8-9 were killed by SIGKILL\n"
                "process 4 (rank 1) was killed by SIGKILL\n");
    another.point = 5;
    const struct tg_news of_two[] = {left_by(3, 2, 0), another};
    check_lines(of_two, 2,
                "thread 3.2 (rank 0) will not arrive at barrier 4 (exited)\n"
                "thread 3.2 (rank 0) will not arrive at barrier 5 (exited)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_alike_are_one_line),
        cmocka_unit_test(test_other_ends_are_not_hidden),
        cmocka_unit_test(test_scattered_ranks_are_all_named),
        cmocka_unit_test(test_order_of_what_is_no_end),
        cmocka_unit_test(test_threads_that_leave_a_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
