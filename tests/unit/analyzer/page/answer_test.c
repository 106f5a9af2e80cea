#include "analyzer/page/answer.h"
#include "analyzer/page/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A job of many ranks that wait in MPI_Barrier, but one. */
struct job {
    struct tg_process_model *processes;
    struct tg_mpi_model *mpi;
    struct tg_openmp_model *openmp;
    struct tg_timeline *timeline;
    struct tg_page page;
};

static void feed(struct job *job, const struct tg_event *event)
{
    struct tg_process_entry *entry;
    assert_null(tg_process_model_feed(job->processes, event, &entry));
    assert_null(tg_mpi_model_feed(job->mpi, event, entry->index));
    assert_null(tg_openmp_model_feed(job->openmp, event, entry->index));
    assert_null(tg_timeline_feed(job->timeline, event, entry->index));
}

static void create(struct job *job, int ranks, int late)
{
    const struct tg_timeline_options options = {.start_ns = 0};
    const struct tg_openmp_model_options no_options = {0};
    *job = (struct job){0};
    assert_null(tg_process_model_create(&job->processes));
    assert_null(tg_mpi_model_create(NULL, &job->mpi));
    assert_null(tg_openmp_model_create(&no_options, &job->openmp));
    assert_null(tg_timeline_create(&options, &job->timeline));
    for (int i = 0; i < ranks; i++) {
        struct tg_event event = {
            .kind = TG_EVENT_PROCESS_START, .pid = 1000 + i, .tid = 1000 + i, .time_ns = 10};
        feed(job, &event);
        event.kind = TG_EVENT_IDENTITY;
        event.identity = (struct tg_event_identity){
            .host = "node<script>", .job = "7", .source = "R", .rank = i, .size = ranks};
        feed(job, &event);
        event.kind = TG_EVENT_MPI_COMM;
        event.mpi_comm =
            (struct tg_event_mpi_comm){.comm = 1, .origin = TG_MPI_COMM_WORLD, .rank = i, .size = ranks};
        feed(job, &event);
        event.kind = TG_EVENT_MPI_ENTER;
        event.time_ns = 1000000;
        event.mpi_enter = (struct tg_event_mpi_enter){.call = i == late ? "MPI_Recv" : "MPI_Barrier",
                                                      .comm = 1,
                                                      .instance = i == late ? 0 : 1,
                                                      .peer = i == late ? 0 : -3,
                                                      .tag = i == late ? 5 : -3,
                                                      .root = -3,
                                                      .type = "",
                                                      .from_type = "",
                                                      .op = ""};
        feed(job, &event);
    }
    struct tg_event last = {.kind = TG_EVENT_THREAD_NAME, .pid = 1000, .tid = 1000, .time_ns = 9000000000};
    last.thread_name.name = "<b>";
    feed(job, &last);
    job->page =
        (struct tg_page){.words = {.processes = job->processes, .mpi = job->mpi, .openmp = job->openmp},
                         .timeline = job->timeline,
                         .name = "</script><b>",
                         .moment_ns = 9000000000,
                         .end_ns = 9000000000,
                         .is_over = true};
}

static void destroy(struct job *job)
{
    tg_process_model_destroy(job->processes);
    tg_mpi_model_destroy(job->mpi);
    tg_openmp_model_destroy(job->openmp);
    tg_timeline_destroy(job->timeline);
}

static char *answer(const struct job *job, const char *name, const char *query)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_page_write(&job->page, name, query, stream));
    assert_int_equal(fclose(stream), 0);
    assert_true(text[0] == '{' && text[size - 2] == '}');
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

static void ten_thousand_ranks_are_a_few_rows_that_can_be_opened(void **context)
{
    (void)context;
    struct job job;
    create(&job, 10000, 4711);
    char *text = answer(&job, "strip", NULL);
    assert_in_range(count(text, "\"runs\""), 2, 20);
    assert_non_null(strstr(text, "\"label\": \"ranks 0-4710,4712-9999\""));
    assert_non_null(strstr(text, "\"label\": \"rank 4711\""));
    assert_non_null(strstr(text, "in MPI_Recv"));
    assert_true(strlen(text) < 20000);
    /* The row's id opens it, to rows of some hundred ranks each. */
    const char *at = strstr(text, "{\"id\": \"c");
    assert_non_null(at);
    char query[80];
    snprintf(query, sizeof query, "open=%.*s", (int)strcspn(at + 8, "\""), at + 8);
    char *opened = answer(&job, "strip", query);
    assert_in_range(count(opened, "\"runs\""), 20, 40);
    assert_non_null(strstr(opened, "\"parent\": \"c"));
    free(opened);
    free(text);
    destroy(&job);
}

static void rectangles_are_bounded(void **context)
{
    (void)context;
    struct job job;
    create(&job, 20, 5);
    srand(1);
    uint64_t now = 9000000001;
    for (int i = 0; i < 200000; i++) {
        struct tg_event event = {.pid = 1000 + rand() % 20, .time_ns = now += (uint64_t)rand() % 3000000};
        event.tid = event.pid;
        event.kind = rand() % 2 == 0 ? TG_EVENT_OMP_SYNC_BEGIN : TG_EVENT_OMP_SYNC_END;
        assert_null(tg_timeline_feed(job.timeline, &event, (size_t)event.pid - 1000));
    }
    char *text = answer(&job, "strip", "columns=2000");
    const char *runs = strstr(text, "\"runs\"");
    assert_non_null(runs);
    assert_in_range(count(runs, ", ["), 100, 7000);
    free(text);
    text = answer(&job, "strip", "columns=999999999999999999&from=5&to=3&open=%3Cscript%3E,p0,,&from");
    free(text);
    destroy(&job);
}

static void the_wait_for_graph_joins_those_that_wait_alike(void **context)
{
    (void)context;
    struct job job;
    create(&job, 300, 77);
    job.page.words.now_ns = 100000000000;
    char *text = answer(&job, "verdict", "");
    assert_non_null(strstr(text, "\"findings\": [{"));
    const char *nodes = strstr(text, "\"nodes\"");
    assert_non_null(nodes);
    assert_in_range(count(nodes, "\"members\""), 2, 6);
    assert_non_null(strstr(nodes, "\"why\": \"MPI_Barrier\""));
    free(text);
    text = answer(&job, "stacks", NULL);
    assert_non_null(strstr(text, "\"what\": \"in MPI_Barrier\""));
    assert_in_range(count(text, "\"what\""), 2, 3);
    free(text);
    destroy(&job);
}

/* What starts threads, and helpers of libraries, are left out; who is in the same calls is one line. */
static void stacks_of_stopped_threads_are_merged(void **context)
{
    (void)context;
    struct job job;
    struct tg_stack_call calls[3] = {
        {.function = "wait", .file = "", .module = "/lib/libc.so.6", .is_runtime = true},
        {.function = "solve", .file = "/src/solver.c", .line = 12, .module = "/bin/a"},
        {.function = "start", .file = "", .module = "/lib/libc.so.6", .is_runtime = true}};
    const struct tg_page_stack stacks[] = {{.process = 0, .tid = 1000, .calls = calls, .n_calls = 3},
                                           {.process = 1, .tid = 1001, .calls = calls, .n_calls = 3},
                                           {.process = 2, .tid = 1002, .calls = calls, .n_calls = 1}};
    create(&job, 3, 1);
    job.page.stopped = stacks;
    job.page.n_stopped = 3;
    char *text = answer(&job, "stacks", NULL);
    assert_int_equal(count(text, "\"depth\""), 2);
    assert_non_null(strstr(text, "\"depth\": 0, \"text\": \"solve (solver.c:12)\""));
    assert_int_equal(count(text, "\"who\": \"ranks 0-1\", \"threads\": 2"), 2);
    assert_null(strstr(text, "start"));
    free(text);
    destroy(&job);
}

static void only_documents_that_there_are_are_written(void **context)
{
    (void)context;
    struct job job;
    create(&job, 2, 1);
    char *text = answer(&job, "summary", NULL);
    assert_non_null(strstr(text, "\"ranks\": 2"));
    free(text);
    free(answer(&job, "heap", NULL));
    free(answer(&job, "filter", NULL));
    free(answer(&job, "diagram", "ranks=99999999999"));
    struct tg_error *error = tg_page_write(&job.page, "../etc/passwd", NULL, stderr);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    tg_error_destroy(error);
    assert_true(tg_page_is_of_trace("strip"));
    assert_false(tg_page_is_of_trace("verdict"));
    assert_false(tg_page_is_of_trace("nothing"));
    destroy(&job);
}

static void queries(void **context)
{
    char word[5];
    (void)context;
    assert_string_equal(tg_query_text("a=1&ranks=0-3,7", "ranks", word, sizeof word), "");
    assert_string_equal(tg_query_text("a=1&ranks=0-3&b", "ranks", word, sizeof word), "0-3");
    assert_string_equal(tg_query_text(NULL, "ranks", word, sizeof word), "");
    assert_int_equal(tg_query_number("from=5&to=17", "to", 1), 17);
    assert_int_equal(tg_query_number("xto=5&to=", "to", 1), 1);
    assert_int_equal(tg_query_number(NULL, "to", 3), 3);
    assert_int_equal(tg_query_number("to=1e9", "to", 3), 3);
    assert_int_equal(tg_query_number("to=99999999999999999999999", "to", 3), 3);
    assert_true(tg_query_lists("open=a,b.1&x=c", "open", "b.1"));
    assert_false(tg_query_lists("open=a,b.1&x=c", "open", "c"));
    assert_false(tg_query_lists("open=", "open", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_ranks_are_a_few_rows_that_can_be_opened),
        cmocka_unit_test(rectangles_are_bounded),
        cmocka_unit_test(the_wait_for_graph_joins_those_that_wait_alike),
        cmocka_unit_test(stacks_of_stopped_threads_are_merged),
        cmocka_unit_test(only_documents_that_there_are_are_written),
        cmocka_unit_test(queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
