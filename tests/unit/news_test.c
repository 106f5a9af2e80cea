/* What happens to a job, in words and as JSON. */
#include "live/news.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

struct said {
    struct tg_news news;
    const char *words, *json;
};

static void check(const struct said *said)
{
    char *words = NULL, *object = NULL;
    size_t size;
    struct tg_json json;
    FILE *stream = open_memstream(&words, &size);
    tg_news_words(&said->news, stream);
    fclose(stream);
    stream = open_memstream(&object, &size);
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_news_json(&said->news, &json);
    tg_json_end_object(&json);
    fclose(stream);
    assert_string_equal(words, said->words);
    assert_string_equal(object, said->json);
    free(words);
    free(object);
}

static void test_processes(void **state)
{
    static const struct said all[] = {
        {{.kind = TG_NEWS_STARTED, .unit = {2, 0}, .pid = 77, .name = "./a\x1bpp"},
         "process 2, pid 77, has started: ./a\\x1bpp",
         "{\"event\": \"started\", \"dpid\": 2, \"pid\": 77, \"program\": \"./a\\u001bpp\"}"},
        {{.kind = TG_NEWS_IDENTIFIED, .unit = {2, 0}, .has_rank = true, .rank = 0, .name = "node1"},
         "process 2 is rank 0 on node1",
         "{\"event\": \"rank\", \"dpid\": 2, \"rank\": 0, \"host\": \"node1\"}"},
        {{.kind = TG_NEWS_EXITED, .unit = {2, 0}, .how = TG_EXIT_SIGNAL, .status = 11, .has_rank = true},
         "process 2 (rank 0) was killed by SIGSEGV",
         "{\"event\": \"exited\", \"dpid\": 2, \"rank\": 0, \"how\": \"signal\", \"status\": 11}"},
        {{.kind = TG_NEWS_EXITED, .unit = {2, 0}, .status = 3},
         "process 2 has ended with status 3",
         "{\"event\": \"exited\", \"dpid\": 2, \"how\": \"status\", \"status\": 3}"},
        {{.kind = TG_NEWS_LIBRARIES, .unit = {1, 0}, .count = 2, .name = "/lib/\xff.so", .text = "deferred"},
         "process 1 has loaded 2 libraries, among them /lib/\\xff.so; deferred",
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
          .unit = {1, 2},
          .state = TG_JOB_BREAKPOINT,
          .point = 3,
          .pc = 0x1000,
          .place = "solve (s.c:12)",
          .has_rank = true},
         "thread 1.2 (rank 0) stands at action point 3: solve (s.c:12)",
         "{\"event\": \"stopped\", \"dpid\": 1, \"dtid\": 2, \"rank\": 0, \"point\": 3, \"state\": "
         "\"breakpoint\", "
         "\"pc\": \"0x1000\", \"place\": \"solve (s.c:12)\"}"},
        {{.kind = TG_NEWS_STOPPED, .unit = {1, 2}, .state = TG_JOB_ERROR, .status = 8, .pc = 0x10},
         "thread 1.2 stands because of SIGFPE: 0x10",
         "{\"event\": \"stopped\", \"dpid\": 1, \"dtid\": 2, \"state\": \"error\", \"signal\": 8, \"pc\": "
         "\"0x10\"}"},
        {{.kind = TG_NEWS_STOPPED, .set = "0-3.1-4", .count = 16, .state = TG_JOB_STOPPED},
         "16 threads (0-3.1-4) stand",
         "{\"event\": \"stopped\", \"set\": \"0-3.1-4\", \"state\": \"stopped\", \"threads\": 16}"},
        {{.kind = TG_NEWS_RUNNING, .set = "0.1", .count = 1},
         "1 thread (0.1) runs",
         "{\"event\": \"running\", \"set\": \"0.1\", \"threads\": 1}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

static void test_decisions(void **state)
{
    static const struct {
        struct tg_barrier_decision decision;
        const char *words, *json;
    } all[] = {
        {{.kind = TG_BARRIER_SATISFIED, .barrier = 4, .count = 8},
         "barrier 4 is satisfied: all 8 are there",
         "{\"event\": \"barrier\", \"point\": 4, \"what\": \"satisfied\", \"members\": 8, \"never_came\": "
         "0}"},
        {{.kind = TG_BARRIER_SATISFIED, .barrier = 4, .count = 7, .number = 1},
         "barrier 4 is satisfied by the 7 that are left; 1 never came",
         "{\"event\": \"barrier\", \"point\": 4, \"what\": \"satisfied\", \"members\": 7, \"never_came\": "
         "1}"},
        {{.kind = TG_BARRIER_LEFT, .barrier = 4, .unit = {2, 1}, .reason = TG_BARRIER_BY_EXIT},
         "thread 2.1 will not come to barrier 4 (exited)",
         "{\"event\": \"barrier\", \"dpid\": 2, \"dtid\": 1, \"point\": 4, \"what\": \"left\", \"reason\": "
         "\"exited\", "
         "\"had_arrived\": false}"},
        {{.kind = TG_BARRIER_STUCK, .barrier = 4, .unit = {2, 0}, .number = 5, .count = 3},
         "barrier 4 can be satisfied no more: process 2 is held at barrier 5, which waits in turn; ddelete "
         "one of them",
         "{\"event\": \"barrier\", \"dpid\": 2, \"point\": 4, \"what\": \"stuck\", \"holder\": 5, "
         "\"blocked\": 3}"},
        {{.kind = TG_BARRIER_ARRIVED, .barrier = 4, .unit = {2, 1}},
         "thread 2.1 has come to barrier 4",
         "{\"event\": \"barrier\", \"dpid\": 2, \"dtid\": 1, \"point\": 4, \"what\": \"arrived\"}"},
    };
    static const struct tg_barrier_decision none = {.kind = TG_BARRIER_RELEASED, .barrier = 4};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_decisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
