/* An engine that has a job in its head, a controller that drives it, and commands to that by text. For unit tests, which
 * include the headers of cmocka first. */
#ifndef TG_TESTS_UNIT_LIVE_CONTROL_FAKE_ENGINE_H
#define TG_TESTS_UNIT_LIVE_CONTROL_FAKE_ENGINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/job/barrier_trace.h"
#include "analyzer/job/list.h"
#include "live/control/controller.h"

enum { PROCESSES = 4, THREADS = 5, MAX_POINTS = 200 };

struct fake_thread {
    bool exists, runs, told_to_stop;
    bool is_library;       /* 's own */
    bool is_known_at_once; /* and is */
};

struct fake {
    struct tg_controller *controller;
    struct fake_thread threads[PROCESSES][THREADS];
    bool exists[PROCESSES];
    bool planted[PROCESSES][MAX_POINTS];
    struct tg_barrier_trace *trace; /* of what is recorded */
    char told[4096];
    uint64_t resumed_held;
    uint64_t random;
    bool library;    /* has come: "lib.c#1" is there */
    int32_t refuses; /* the process that refuses to be planted in, 0 none */
};

static int32_t pid_of(size_t process)
{
    return (int32_t)(process + 1) * 100;
}

static int32_t tid_of(size_t process, size_t thread)
{
    return pid_of(process) + (int32_t)thread;
}

static struct fake_thread *thread_of(struct fake *fake, int32_t pid, int32_t tid)
{
    return &fake->threads[pid / 100 - 1][tid % 100];
}

static void stop(void *engine, int32_t pid, int32_t tid)
{
    thread_of(engine, pid, tid)->told_to_stop = true;
}

static void resume(void *engine, int32_t pid, int32_t tid)
{
    struct fake *fake = engine;
    struct fake_thread *thread = thread_of(fake, pid, tid);
    struct tg_thread_id unit;
    assert_true(thread->exists);
    assert_true(tg_job_model_thread_id(tg_controller_job(fake->controller), pid, tid, &unit));
    assert_false(tg_run_model_is_held(tg_controller_runs(fake->controller), unit));
    thread->runs = true;
    thread->told_to_stop = false;
}

static struct tg_error *plant(void *engine, int32_t pid, uint32_t id, const char *location, uint64_t *address,
                              const char **place)
{
    struct fake *fake = engine;
    assert_true(id < MAX_POINTS);
    if (strcmp(location, "bad") == 0)
        return tg_error_create(TG_ERROR_INPUT, "'bad' is no location");
    if (pid == fake->refuses)
        return tg_error_create(TG_ERROR_LIMIT, "process %d has no room", (int)pid);
    if ((strncmp(location, "lib", 3) == 0 || strcmp(location, "tollgate_heap_error") == 0) && !fake->library)
        return NULL;
    fake->planted[pid / 100 - 1][id] = true;
    *address = 0x120005598;
    *place = "../regress/fork_loop.cxx#580";
    return NULL;
}

static uint64_t last_line(void *engine, int32_t pid, const char *location)
{
    (void)engine;
    return strncmp(location, "lib.c:", 6) == 0 ? (uint64_t)pid / 100 : 0; /* versions of it */
}

static void unplant(void *engine, int32_t pid, uint32_t id)
{
    struct fake *fake = engine;
    fake->planted[pid / 100 - 1][id] = false;
}

/* Where `hit` and `plant` have it, if it is planted. */
static bool is_planted(void *engine, int32_t pid, uint32_t id, uint64_t address)
{
    const struct fake *fake = engine;
    return address == 0x580 && fake->planted[pid / 100 - 1][id];
}

static void record(void *engine, const struct tg_event *event)
{
    struct fake *fake = engine;
    assert_null(tg_barrier_trace_feed(fake->trace, event));
}

static void tell(void *engine, const struct tg_news *news)
{
    struct fake *fake = engine;
    size_t used = strlen(fake->told);
    if (!tg_news_is_for_people(news))
        return;
    FILE *stream = fmemopen(fake->told + used, sizeof fake->told - used, "w");
    assert_non_null(stream);
    tg_news_words(news, stream);
    fputc('\n', stream);
    fclose(stream);
}

static bool ask_manager(void *engine, int32_t pid, int32_t tid, bool *is_manager)
{
    const struct fake_thread *thread = thread_of(engine, pid, tid);
    *is_manager = thread->is_library;
    return !thread->is_library || thread->is_known_at_once || !thread->runs;
}

static const struct tg_controller_orders operations = {.stop = stop,
                                                       .resume = resume,
                                                       .plant = plant,
                                                       .last_line = last_line,
                                                       .is_planted = is_planted,
                                                       .unplant = unplant,
                                                       .ask_manager = ask_manager,
                                                       .record = record,
                                                       .tell = tell};

/* Events that the engine records and reports. */
static void happen(struct fake *fake, struct tg_event event)
{
    assert_null(tg_barrier_trace_feed(fake->trace, &event));
    assert_null(tg_controller_event(fake->controller, &event));
}

static void begin_process(struct fake *fake, size_t process)
{
    int32_t pid = pid_of(process);
    fake->exists[process] = true;
    memset(fake->threads[process], 0, sizeof fake->threads[process]);
    memset(fake->planted[process], 0, sizeof fake->planted[process]);
    fake->threads[process][0] = (struct fake_thread){.exists = true, .runs = true};
    happen(fake, (struct tg_event){.kind = TG_EVENT_PROCESS_START,
                                   .pid = pid,
                                   .tid = pid,
                                   .process_start = {.parent_pid = process == 0 ? 1 : pid_of(0)}});
    happen(fake,
           (struct tg_event){
               .kind = TG_EVENT_PROGRAM, .pid = pid, .tid = pid, .program = {.path = "/home/u/fork_loop"}});
}

static void begin_library_thread(struct fake *fake, size_t process, size_t thread, bool is_known_at_once)
{
    fake->threads[process][thread] = (struct fake_thread){
        .exists = true, .runs = true, .is_library = true, .is_known_at_once = is_known_at_once};
    happen(fake, (struct tg_event){
                     .kind = TG_EVENT_THREAD_START, .pid = pid_of(process), .tid = tid_of(process, thread)});
}

static void begin_thread(struct fake *fake, size_t process, size_t thread)
{
    fake->threads[process][thread] = (struct fake_thread){.exists = true, .runs = true};
    happen(fake, (struct tg_event){
                     .kind = TG_EVENT_THREAD_START, .pid = pid_of(process), .tid = tid_of(process, thread)});
}

static int set_up(void **state)
{
    struct fake *fake = calloc(1, sizeof *fake);
    assert_non_null(fake);
    fake->random = 1;
    assert_null(tg_barrier_trace_create(&fake->trace));
    assert_null(tg_controller_create(&operations, fake, &fake->controller));
    for (size_t process = 0; process < 3; process++) {
        begin_process(fake, process);
        begin_thread(fake, process, 1);
    }
    *state = fake;
    return 0;
}

static int tear_down(void **state)
{
    struct fake *fake = *state;
    tg_controller_destroy(fake->controller);
    tg_barrier_trace_destroy(fake->trace);
    free(fake);
    return 0;
}

/* Ordered stops come. */
static void let_stops_come(struct fake *fake)
{
    for (size_t process = 0; process < PROCESSES; process++) {
        for (size_t i = 0; i < THREADS; i++) {
            struct fake_thread *thread = &fake->threads[process][i];
            if (!thread->exists || !thread->runs || !thread->told_to_stop)
                continue;
            thread->runs = thread->told_to_stop = false;
            assert_null(tg_controller_stopped(fake->controller, pid_of(process), tid_of(process, i),
                                              TG_JOB_STOPPED, 0x100));
        }
    }
}

static void hit(struct fake *fake, size_t process, size_t thread, uint32_t id)
{
    fake->threads[process][thread].runs = false;
    assert_null(tg_controller_hit(fake->controller, pid_of(process), tid_of(process, thread), 0x580, &id, 1));
}

/* ---- commands by text */

static struct tg_ptset *focus_of(const char *text)
{
    struct tg_ptset *set = NULL, *focus = NULL;
    assert_null(tg_ptset_parse(text, &set, NULL));
    assert_null(tg_ptset_complete(set, NULL, &focus, NULL));
    tg_ptset_destroy(set);
    return focus;
}

static uint32_t barrier(struct fake *fake, const char *focus, enum tg_barrier_stop hit_width,
                        enum tg_barrier_stop done)
{
    struct tg_ptset *set = focus_of(focus);
    uint32_t id = 0;
    struct tg_error *error =
        tg_controller_barrier(fake->controller, set, "580", hit_width, done, false, &id, NULL);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    tg_ptset_destroy(set);
    return id;
}

typedef struct tg_error *set_command(struct tg_controller *controller, const struct tg_job_view *view,
                                     const struct tg_job_set *set);

static struct tg_error *go(struct tg_controller *controller, const struct tg_job_view *view,
                           const struct tg_job_set *set)
{
    return tg_controller_go(controller, view, set, NULL);
}

static struct tg_error *hold_threads(struct tg_controller *controller, const struct tg_job_view *view,
                                     const struct tg_job_set *set)
{
    return tg_controller_hold(controller, view, set, false);
}

static struct tg_error *hold_processes(struct tg_controller *controller, const struct tg_job_view *view,
                                       const struct tg_job_set *set)
{
    return tg_controller_hold(controller, view, set, true);
}

static struct tg_error *unhold_threads(struct tg_controller *controller, const struct tg_job_view *view,
                                       const struct tg_job_set *set)
{
    return tg_controller_unhold(controller, view, set, false);
}

static struct tg_error *unhold_processes(struct tg_controller *controller, const struct tg_job_view *view,
                                         const struct tg_job_set *set)
{
    return tg_controller_unhold(controller, view, set, true);
}

/* The controller's own view, which is to say what a new one says. */
static struct tg_job_view *latest_view(struct fake *fake)
{
    struct tg_job_view *latest = NULL, *view = NULL;
    assert_null(tg_controller_latest_view(fake->controller, &latest));
    assert_null(tg_controller_view(fake->controller, &view));
    assert_int_equal(tg_job_view_count(latest), tg_job_view_count(view));
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i), *other = tg_job_view_at(latest, i);
        assert_int_equal(process->n_threads, other->n_threads);
        const struct tg_job_process_info *info = &process->info, *same_info = &other->info;
        assert_true(info->dpid == same_info->dpid && info->rank == same_info->rank &&
                    info->control_group == same_info->control_group &&
                    info->share_group == same_info->share_group &&
                    info->workers_group == same_info->workers_group && info->exists == same_info->exists &&
                    info->held == same_info->held && info->tag == same_info->tag);
        for (size_t j = 0; j < process->n_threads; j++) {
            const struct tg_job_thread *thread = tg_job_view_thread(view, process, j),
                                       *same = tg_job_view_thread(latest, other, j);
            assert_true(thread->dtid == same->dtid && thread->state == same->state &&
                        thread->pc == same->pc && thread->held == same->held &&
                        thread->is_manager == same->is_manager);
        }
    }
    tg_job_view_destroy(view);
    return latest;
}

static void command(struct fake *fake, set_command *run, const char *text)
{
    static const struct tg_ptset_defaults defaults = {.width = TG_WIDTH_PROCESS, .group = TG_GROUP_CONTROL};
    struct tg_ptset *focus = focus_of(text);
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    const struct tg_job_view *view = latest_view(fake);
    struct tg_error *error = tg_ptset_members(focus, view, &defaults, &set, NULL);
    if (error == NULL)
        assert_null(run(fake->controller, view, &set));
    tg_error_destroy(error);
    tg_ptset_destroy(focus);
}

/* Members of TEXT now. */
static void assert_is(struct fake *fake, const char *text, const char *expected)
{
    static const struct tg_ptset_defaults defaults = {.width = TG_WIDTH_ALL, .group = TG_GROUP_CONTROL};
    struct tg_ptset *focus = focus_of(text);
    const struct tg_job_view *view = latest_view(fake);
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    char *list = NULL;
    size_t size;
    assert_null(tg_ptset_members(focus, view, &defaults, &set, NULL));
    FILE *stream = open_memstream(&list, &size);
    assert_null(tg_job_list_print(view, &set, stream));
    fclose(stream);
    if (strcmp(list, expected) != 0)
        fail_msg("%s: %s, not %s", text, list, expected);
    free(list);
    tg_ptset_destroy(focus);
}

static void assert_shown(const struct fake *fake, uint32_t id, const char *expected)
{
    const struct tg_action_point *point = NULL;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_action_points_find(tg_controller_points(fake->controller), id, &point));
    tg_action_point_print(point, stream);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_trace_agrees(const struct fake *fake)
{
    struct tg_barrier_trace_verdict verdict;
    tg_barrier_trace_verdict(fake->trace, &verdict);
    assert_string_equal(verdict.first, "");
    assert_int_equal(verdict.n_differences, 0);
    assert_int_equal(verdict.n_ignored, 0);
}

#endif
