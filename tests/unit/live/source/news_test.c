/* News of a job, in words and as JSON. */
#include "live/source/news.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

struct said {
    struct tg_news news;
    const char *words, *json;
};

static void check_words(const struct said *said)
{
    char *words = NULL;
    size_t size;
    FILE *stream = open_memstream(&words, &size);
    tg_news_words(&said->news, stream);
    fclose(stream);
    assert_string_equal(words, said->words);
    free(words);
}

static void check(const struct said *said)
{
    char *object = NULL;
    size_t size;
    struct tg_json json;
    check_words(said);
    FILE *stream = open_memstream(&object, &size);
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_news_json(&said->news, &json);
    tg_json_end_object(&json);
    fclose(stream);
    assert_string_equal(object, said->json);
    free(object);
}

static void test_processes(void **state)
{
    static const struct said all[] = {
        {{.kind = TG_NEWS_STARTED, .thread = {2, 0}, .pid = 77, .other = 1},
         "process 2, pid 77, started",
         "{\"event\": \"started\", \"dpid\": 2, \"pid\": 77, \"parent\": 1}"},
        {{.kind = TG_NEWS_EXECUTED, .thread = {2, 0}, .pid = 77, .name = "./a\x1bpp"},
         "process 2, pid 77, executes: ./a\\x1bpp",
         "{\"event\": \"executed\", \"dpid\": 2, \"pid\": 77, \"program\": \"./a\\u001bpp\"}"},
        {{.kind = TG_NEWS_DETACHED, .thread = {2, 0}, .text = "user request"},
         "process 2 was detached; user request",
         "{\"event\": \"detached\", \"dpid\": 2, \"text\": \"user request\"}"},
        {{.kind = TG_NEWS_IDENTIFIED, .thread = {2, 0}, .has_rank = true, .rank = 0, .name = "node1"},
         "process 2 is rank 0 on node1",
         "{\"event\": \"rank\", \"dpid\": 2, \"rank\": 0, \"host\": \"node1\"}"},
        {{.kind = TG_NEWS_EXITED, .thread = {2, 0}, .how = TG_EXIT_SIGNAL, .status = 11, .has_rank = true},
         "process 2 (rank 0) was killed by SIGSEGV",
         "{\"event\": \"exited\", \"dpid\": 2, \"rank\": 0, \"how\": \"signal\", \"status\": 11}"},
        {{.kind = TG_NEWS_EXITED, .thread = {2, 0}, .status = 3},
         "process 2 exited with status 3",
         "{\"event\": \"exited\", \"dpid\": 2, \"how\": \"status\", \"status\": 3}"},
        {{.kind = TG_NEWS_LIBRARIES,
          .thread = {1, 0},
          .count = 2,
          .name = "/lib/\xff.so",
          .text = "deferred"},
         "process 1 loaded 2 libraries, including /lib/\\xff.so; deferred",
         "{\"event\": \"libraries\", \"dpid\": 1, \"loaded\": 2, \"unloaded\": 0, \"library\": "
         "\"/lib/\\udcff.so\", "
         "\"text\": \"deferred\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

static void test_threads(void **state)
{
    static const struct said all[] = {
        {{.kind = TG_NEWS_STOPPED,
          .thread = {1, 2},
          .state = TG_JOB_BREAKPOINT,
          .point = 3,
          .pc = 0x1000,
          .place = "solve (s.c:12)",
          .has_rank = true},
         "thread 1.2 (rank 0) stopped at action point 3: solve (s.c:12)",
         "{\"event\": \"stopped\", \"dpid\": 1, \"dtid\": 2, \"rank\": 0, \"point\": 3, \"state\": "
         "\"breakpoint\", "
         "\"pc\": \"0x1000\", \"place\": \"solve (s.c:12)\"}"},
        {{.kind = TG_NEWS_STOPPED, .thread = {1, 2}, .state = TG_JOB_ERROR, .status = 8, .pc = 0x10},
         "thread 1.2 stopped by SIGFPE: 0x10",
         "{\"event\": \"stopped\", \"dpid\": 1, \"dtid\": 2, \"state\": \"error\", \"signal\": 8, \"pc\": "
         "\"0x10\"}"},
        {{.kind = TG_NEWS_STOPPED, .set = "0-3.1-4", .count = 16, .state = TG_JOB_STOPPED},
         "16 threads (0-3.1-4) stopped",
         "{\"event\": \"stopped\", \"set\": \"0-3.1-4\", \"state\": \"stopped\", \"threads\": 16}"},
        {{.kind = TG_NEWS_STOPPED, .thread = {1, 2}, .count = 1, .state = TG_JOB_STOPPED, .stepped = true},
         "thread 1.2 stopped",
         "{\"event\": \"stopped\", \"dpid\": 1, \"dtid\": 2, \"state\": \"stopped\", \"threads\": 1, "
         "\"step\": true}"},
        {{.kind = TG_NEWS_RUNNING, .set = "0.1", .count = 1},
         "1 thread (0.1) is running",
         "{\"event\": \"running\", \"set\": \"0.1\", \"threads\": 1}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

static void test_decisions(void **state)
{
    static const struct {
        struct tg_run_decision decision;
        const char *words, *json;
    } all[] = {
        {{.kind = TG_DECIDE_SATISFIED, .barrier = 4, .count = 8},
         "barrier 4 is satisfied: all 8 arrived",
         "{\"event\": \"barrier\", \"point\": 4, \"what\": \"satisfied\", \"members\": 8, \"never_came\": "
         "0}"},
        {{.kind = TG_DECIDE_SATISFIED, .barrier = 4, .count = 1},
         "barrier 4 is satisfied: its only member arrived",
         "{\"event\": \"barrier\", \"point\": 4, \"what\": \"satisfied\", \"members\": 1, \"never_came\": "
         "0}"},
        {{.kind = TG_DECIDE_SATISFIED, .barrier = 4, .count = 7, .number = 1},
         "barrier 4 is satisfied by the remaining 7; 1 never arrived",
         "{\"event\": \"barrier\", \"point\": 4, \"what\": \"satisfied\", \"members\": 7, \"never_came\": "
         "1}"},
        {{.kind = TG_DECIDE_LEFT, .barrier = 4, .thread = {2, 0}, .reason = TG_BARRIER_BY_EXEC, .number = 3},
         "3 threads of process 2 will not arrive at barrier 4 (exec)",
         "{\"event\": \"barrier\", \"dpid\": 2, \"point\": 4, \"what\": \"left\", \"reason\": \"exec\", "
         "\"had_arrived\": false}"},
        {{.kind = TG_DECIDE_LEFT, .barrier = 4, .thread = {2, 1}, .reason = TG_BARRIER_BY_EXIT},
         "thread 2.1 will not arrive at barrier 4 (exited)",
         "{\"event\": \"barrier\", \"dpid\": 2, \"dtid\": 1, \"point\": 4, \"what\": \"left\", \"reason\": "
         "\"exited\", "
         "\"had_arrived\": false}"},
        {{.kind = TG_DECIDE_STUCK, .barrier = 4, .thread = {2, 0}, .number = 5, .count = 3},
         "barrier 4 can no longer be satisfied: process 2 is held at barrier 5, which is waiting too; "
         "ddelete "
         "one of them",
         "{\"event\": \"barrier\", \"dpid\": 2, \"point\": 4, \"what\": \"stuck\", \"holder\": 5, "
         "\"blocked\": 3}"},
        {{.kind = TG_DECIDE_ARRIVED, .barrier = 4, .thread = {2, 1}},
         "thread 2.1 arrived at barrier 4",
         "{\"event\": \"barrier\", \"dpid\": 2, \"dtid\": 1, \"point\": 4, \"what\": \"arrived\"}"},
    };
    static const struct tg_run_decision none = {.kind = TG_DECIDE_RELEASED, .barrier = 4};
    struct said said = {.words = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_true(tg_news_of_decision(&all[i].decision, &said.news));
        said.words = all[i].words;
        said.json = all[i].json;
        check(&said);
    }
    assert_false(tg_news_of_decision(&none, &said.news));
}

static void test_points_and_settings(void **state)
{
    static const struct said all[] = {
        {{.kind = TG_NEWS_POINT, .point = 3, .name = "made", .pc = 0x10, .place = "work (a.c#1)"},
         "action point 3 is made: work (a.c#1)",
         "{\"event\": \"point\", \"point\": 3, \"what\": \"made\", \"pc\": \"0x10\", \"place\": \"work "
         "(a.c#1)\"}"},
        {{.kind = TG_NEWS_POINT, .name = "suppressed"},
         "action points are suppressed",
         "{\"event\": \"point\", \"what\": \"suppressed\"}"},
        {{.kind = TG_NEWS_PLANTED, .thread = {2, 0}, .has_rank = true, .rank = 1, .point = 3, .pc = 0x10},
         "action point 3 is planted in process 2 (rank 1): 0x10",
         "{\"event\": \"planted\", \"dpid\": 2, \"rank\": 1, \"point\": 3, \"pc\": \"0x10\"}"},
        {{.kind = TG_NEWS_WATCHED,
          .thread = {2, 1},
          .has_rank = true,
          .point = 3,
          .name = "p->n",
          .before = "1",
          .after = "2",
          .pc = 0x10,
          .place = "work (a.c#1)"},
         "watchpoint 3: p->n was 1, is 2 after a write by thread 2.1 (rank 0) in work (a.c#1)",
         "{\"event\": \"watched\", \"dpid\": 2, \"dtid\": 1, \"rank\": 0, \"point\": 3, \"expression\": "
         "\"p->n\", \"before\": \"1\", \"after\": \"2\", \"pc\": \"0x10\", \"place\": \"work (a.c#1)\"}"},
        {{.kind = TG_NEWS_WATCHED,
          .thread = {2, 1},
          .point = 3,
          .name = "n",
          .before = "1",
          .after = "4",
          .other = 2},
         "watchpoint 3: n was 1, is 4 after a write by thread 2.1; 2 other threads wrote at the same time",
         "{\"event\": \"watched\", \"dpid\": 2, \"dtid\": 1, \"point\": 3, \"expression\": \"n\", "
         "\"before\": \"1\", \"after\": \"4\", \"other_writers\": 2}"},
        {{.kind = TG_NEWS_WATCHED,
          .thread = {2, 1},
          .point = 3,
          .name = "n",
          .text = "deleted: work has returned"},
         "watchpoint 3: n; deleted: work has returned",
         "{\"event\": \"watched\", \"dpid\": 2, \"dtid\": 1, \"point\": 3, \"expression\": \"n\", "
         "\"text\": \"deleted: work has returned\"}"},
        {{.kind = TG_NEWS_NOTE, .text = "a\x1b"}, "a\\x1b", "{\"event\": \"note\", \"text\": \"a\\u001b\"}"},
        {{.kind = TG_NEWS_NOTE, .text = "a\\x1b", .is_printable = true}, /* not escaped again */
         "a\\x1b",
         "{\"event\": \"note\", \"text\": \"a\\\\x1b\"}"},
        {{.kind = TG_NEWS_SETTING, .name = "MAX_LIST", .text = ""},
         "setting MAX_LIST",
         "{\"event\": \"setting\", \"name\": \"MAX_LIST\", \"value\": \"\"}"},
        {{.kind = TG_NEWS_SETTING, .name = "MAX_LIST", .text = "7"},
         "setting MAX_LIST is 7",
         "{\"event\": \"setting\", \"name\": \"MAX_LIST\", \"value\": \"7\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

/* Events of a trace as news. */
static void test_events(void **state)
{
    static const struct {
        struct tg_event event;
        bool is_news;
        const char *words;
        bool for_people;
    } all[] = {
        {{.kind = TG_EVENT_PROCESS_START, .pid = 7, .tid = 7}, true, "process 2, pid 7, started", false},
        {{.kind = TG_EVENT_PROGRAM, .pid = 7, .tid = 7, .program = {.path = "/a"}},
         true,
         "process 2, pid 7, executes: /a",
         false},
        {{.kind = TG_EVENT_IDENTITY, .pid = 7, .identity = {.host = "h", .rank = 0}},
         true,
         "process 2 is rank 0 on h",
         false},
        {{.kind = TG_EVENT_IDENTITY, .pid = 7, .identity = {.host = "h", .rank = -1}}, false, "", false},
        {{.kind = TG_EVENT_PROCESS_EXIT, .pid = 7, .process_exit = {.how = TG_EXIT_SIGNAL, .status = 9}},
         true,
         "process 2 was killed by SIGKILL",
         true},
        {{.kind = TG_EVENT_DETACH, .pid = 7, .detach = {.reason = "why"}},
         true,
         "process 2, pid 7, was detached; why",
         false},
        {{.kind = TG_EVENT_NOTE, .note = {.text = "x"}}, false, "", false},
    };
    static const struct {
        int64_t wait_status;
        const char *words;
    } threads[] = {
        {-1, "thread 2.3 is gone"}, {0x100, "thread 2.3 exited"}, {11, "thread 2.3 was killed by SIGSEGV"}};
    struct tg_news news;
    struct said said = {.json = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(tg_news_of_event(&all[i].event, (struct tg_thread_id){2, 0}, &news), all[i].is_news);
        if (!all[i].is_news)
            continue;
        said.news = news;
        said.words = all[i].words;
        check_words(&said);
        assert_int_equal(tg_news_is_for_people(&news), all[i].for_people);
    }
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        const struct tg_event event = {.kind = TG_EVENT_THREAD_EXIT,
                                       .pid = 7,
                                       .tid = 9,
                                       .thread_exit = {.status = threads[i].wait_status}};
        assert_true(tg_news_of_event(&event, (struct tg_thread_id){2, 3}, &said.news));
        said.words = threads[i].words;
        check_words(&said);
        assert_false(tg_news_is_for_people(&said.news));
    }
}

/* Where a point of tollgate's own is planted is a place that people do not know. */
static void test_own_points(void **state)
{
    const struct tg_news own = {.kind = TG_NEWS_PLANTED, .point = 1, .is_own = true};
    const struct tg_news asked = {.kind = TG_NEWS_PLANTED, .point = 1};
    (void)state;
    assert_false(tg_news_is_for_people(&own));
    assert_true(tg_news_is_for_people(&asked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_decisions), cmocka_unit_test(test_points_and_settings),
        cmocka_unit_test(test_events),    cmocka_unit_test(test_own_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
