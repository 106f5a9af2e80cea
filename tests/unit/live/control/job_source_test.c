/* The console on a source like a live job: it goes forward only, events come by themselves, it knows
 * states. */
#include "live/commands/table.h"
#include "live/console/console.h"
#include "live/console/eval.h"
#include "live/console/line_editor.h"

#include "tests/support/trace_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two processes; the second one's thread runs while a motion lets it. */
struct live {
    struct tg_source public;
    struct tg_moment *moment;
    size_t next;
    bool runs;
    unsigned begun, ended;
    size_t n_running; /* threads that the last motion let run */
    int news;         /* the pipe's end that wakes */
};

static const struct tg_event events[] = {
    {.time_ns = 1000, .pid = 10, .tid = 10, .kind = TG_EVENT_PROCESS_START},
    {.time_ns = 1100, .pid = 20, .tid = 20, .kind = TG_EVENT_PROCESS_START},
    {.time_ns = 1200, .pid = 20, .tid = 20, .kind = TG_EVENT_SIGNAL, .signal = {.signal = 10}},
    {.time_ns = 1300, .pid = 10, .tid = 10, .kind = TG_EVENT_SIGNAL, .signal = {.signal = 12}},
};

static struct live *live_of(struct tg_source *source)
{
    return (struct live *)source;
}

static struct tg_error *step(struct tg_source *source, bool *at_end)
{
    struct live *live = live_of(source);
    assert_true(live->runs);
    *at_end = live->next == sizeof events / sizeof events[0];
    if (*at_end)
        return NULL;
    source->event = &events[live->next++];
    source->number++;
    source->time_ns = source->event->time_ns;
    return tg_moment_feed(live->moment, source->event);
}

static struct tg_error *view(struct tg_source *source, struct tg_job_view *job)
{
    size_t count = tg_process_model_count(live_of(source)->moment->processes);
    for (size_t i = 0; i < count; i++) {
        const struct tg_job_process_info info = {.dpid = (uint32_t)i + 1,
                                                 .rank = -1,
                                                 .control_group = 1,
                                                 .share_group = 3,
                                                 .workers_group = 2,
                                                 .exists = true,
                                                 .tag = i};
        const struct tg_job_thread thread = {
            .dtid = 1, .state = i == 1 ? TG_JOB_RUNNING : TG_JOB_STOPPED, .tag = UINT64_MAX};
        assert_fine(tg_job_view_add_process(job, &info));
        assert_fine(tg_job_view_add_thread(job, &thread));
    }
    return NULL;
}

static struct tg_error *begin(struct tg_source *source, const struct tg_job_view *job,
                              const struct tg_job_set *set)
{
    struct live *live = live_of(source);
    size_t n_processes;
    assert_false(live->runs);
    live->runs = true;
    live->begun++;
    tg_job_set_count(set, job, &n_processes, &live->n_running);
    return NULL;
}

static struct tg_error *end(struct tg_source *source)
{
    live_of(source)->runs = false;
    live_of(source)->ended++;
    return NULL;
}

static struct tg_error *attend(struct tg_source *source, const struct tg_news_sink *sink)
{
    char bytes[64], text[128];
    ssize_t got = read(source->wake_fd, bytes, sizeof bytes);
    if (got <= 0)
        return NULL;
    snprintf(text, sizeof text, "process 2 says \x1b[31m%.*s", (int)got, bytes);
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = text});
    return NULL;
}

static const struct tg_source_ops ops = {
    .step = step, .view = view, .begin = begin, .end = end, .attend = attend};

static void set_up(struct live *live)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    *live = (struct live){.public = {.ops = &ops, .start_ns = 1000, .time_ns = 1000, .name = "job"}};
    live->public.wake_fd = ends[0];
    live->news = ends[1];
    assert_fine(tg_moment_create(&live->moment));
    live->public.moment = live->moment;
}

static void tear_down(struct live *live)
{
    tg_moment_destroy(live->moment);
    close(live->public.wake_fd);
    close(live->news);
}

/* Output of the console for SCRIPT. */
static char *run(struct live *live, const char *script)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct tg_console_options options = {.out = out, .errors = out, .table = &tg_command_table};
    const struct tg_console_place place = {.line = 1};
    struct tg_console *console = NULL;
    assert_fine(tg_console_create(&live->public, &options, &console));
    tg_console_eval(console, script, TG_PRINT_ALL, &place);
    tg_console_destroy(console);
    fclose(out);
    return text;
}

static void check_says(struct live *live, const char *script, const char *expected)
{
    char *text = run(live, script);
    if (strstr(text, expected) == NULL)
        fail_msg("%s: %s", script, text);
    free(text);
}

static void test_forward(void **state)
{
    struct live live;
    (void)state;
    set_up(&live);
    check_says(&live, "find signal", "event 3, ");
    assert_int_equal(live.begun, 1);
    assert_int_equal(live.ended, 1);
    check_says(&live, "back", "job cannot go back");
    check_says(&live, "goto start", "job cannot go back");
    check_says(&live, "find -back signal", "job cannot go back");
    check_says(&live, "dfocus 1 {find signal}", "event 4, ");
    assert_int_equal(live.n_running, 1);
    check_says(&live, "find signal", "no such event until the end of the job");
    assert_int_equal(live.public.number, 4);
    assert_int_equal(live.begun, 3);
    assert_int_equal(live.ended, 3);
    tear_down(&live);
}

static void test_states(void **state)
{
    struct live live;
    (void)state;
    set_up(&live);
    check_says(&live, "next 2", "event 2, ");
    check_says(&live, "dfocus running(a) {info processes}", "\n   2         20 ");
    char *text = run(&live, "dfocus running(a) {info processes}");
    assert_null(strstr(text, "\n   1         10 "));
    free(text);
    tear_down(&live);
}

static void test_news(void **state)
{
    struct live live;
    (void)state;
    set_up(&live);
    assert_int_equal(write(live.news, "hello", 5), 5);
    check_says(&live, "set x 1", "process 2 says \\x1b[31mhello\n1\n");
    tear_down(&live);
}

/* ---- on a terminal */

/* Text that the terminal has shown since what was expected last. */
struct shown {
    int terminal;
    size_t size, behind;
    char text[1 << 16];
};

static void expect(struct shown *shown, const char *text)
{
    for (;;) {
        const char *found = strstr(shown->text + shown->behind, text);
        if (found != NULL) {
            shown->behind = (size_t)(found - shown->text) + strlen(text);
            return;
        }
        struct pollfd input = {.fd = shown->terminal, .events = POLLIN};
        if (poll(&input, 1, 60000) != 1)
            fail_msg("no '%s' in '%s'", text, shown->text);
        ssize_t got = read(shown->terminal, shown->text + shown->size, sizeof shown->text - 1 - shown->size);
        if (got <= 0)
            fail_msg("ended without '%s': '%s'", text, shown->text);
        shown->size += (size_t)got;
        shown->text[shown->size] = '\0';
    }
}

static int run_terminal(struct live *live)
{
    const struct tg_console_options options = {.out = stdout, .errors = stderr, .table = &tg_command_table};
    struct tg_console *console = NULL;
    int status = 1;
    setenv("TOLLGATE_HISTORY", "", 1);
    setenv("TERM", "xterm", 1);
    if (tg_console_create(&live->public, &options, &console) != NULL || tg_line_editor_run(console) != NULL ||
        !tg_console_has_quit(console, &status))
        return 1;
    tg_console_destroy(console);
    return status;
}

/* News that comes while somebody types is printed at once, and the typed text below it again. */
static void test_news_while_typing(void **state)
{
    static struct shown shown;
    struct live live;
    int status;
    (void)state;
    set_up(&live);
    pid_t pid = forkpty(&shown.terminal, NULL, NULL, NULL);
    if (pid == 0)
        _exit(run_terminal(&live));
    assert_true(pid > 0);
    expect(&shown, "all) ");
    assert_int_equal(write(shown.terminal, "qui", 3), 3);
    expect(&shown, "qui");
    assert_int_equal(write(live.news, "wake up", 7), 7);
    expect(&shown, "process 2 says \\x1b[31mwake up");
    expect(&shown, "all) qui");
    assert_int_equal(write(shown.terminal, "t 7\n", 4), 4);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    close(shown.terminal);
    tear_down(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_news_while_typing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
