#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analyzer/filter/runs.h"

#include <stdlib.h>

static void each_mode_counts_its_stops_and_round_trips(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_start(&script, 1, 10, 0);
    script_null(&script, 1000000, 10);
    script_load(&script, 2000000, 10, "/p/liba.so /p/liba-dep.so");
    script_null(&script, 3000000, 10);
    script_load(&script, 4000000, 10, "/p/libb.so");
    script_null(&script, 5000000, 10);
    script_unload(&script, 6000000, 10, "/p/other.so");
    script_load(&script, 7000000, 10, "/q/libwanted.so");
    script_load(&script, 8000000, 10, "/p/libc.so");
    script_add(&script, 9000000, 10, TG_EVENT_SIGNAL);
    script_load(&script, 10000000, 10, "/p/libd.so");
    script_exit(&script, 11000000, 10);
    run_script(&run, &script, "*/libwanted*");

    const struct tg_filter_outcome *slow = outcome(&run, SLOW);
    assert_int_equal(slow->stops, 9);
    assert_int_equal(slow->null_stops, 3);
    assert_int_equal(slow->unload_stops, 1);
    assert_int_equal(slow->reported, 5);
    assert_int_equal(slow->deferred, 0);
    assert_int_equal(slow->round_trips, 5);
    assert_int_equal(slow->handled_libraries, 6);
    assert_int_equal(slow->max_batch, 2);
    assert_int_equal(slow->cost.ns, 5 * 100000 + 3 * 40000 + 50000);

    const struct tg_filter_outcome *medium = outcome(&run, MEDIUM);
    assert_int_equal(medium->stops, 9);
    assert_int_equal(medium->reported, 1);
    assert_int_equal(medium->deferred, 4);
    assert_int_equal(medium->round_trips, 3); /* with the wanted one; at the signal; at the exit */
    assert_int_equal(medium->max_batch, 4);   /* the wanted one and three that waited */
    assert_int_equal(medium->handled_libraries, 6);
    assert_int_equal(medium->deferred_batches, 3);
    assert_int_equal(medium->deferred_libraries, 5);
    assert_int_equal(medium->cost.ns, slow->cost.ns - 20000); /* nothing is looked for at the exit */

    const struct tg_filter_outcome *fast = outcome(&run, FAST);
    assert_int_equal(fast->stops, 0);
    assert_int_equal(fast->null_stops, 0);
    assert_int_equal(fast->reported, 0);
    assert_int_equal(fast->deferred, 5);
    assert_int_equal(fast->round_trips, 2);
    assert_int_equal(fast->max_batch, 5);
    assert_int_equal(fast->cost.ns,
                     5 * 2 * 5000 + 4 * 20000); /* read together: once to three times as long */
    assert_int_equal(fast->cost.high_ns, 5 * 3 * 5000 + 4 * 20000);

    assert_string_equal(run.said[SLOW],
                        "reported[/p/liba.so /p/liba-dep.so] reported[/p/libb.so] "
                        "reported[/q/libwanted.so] reported[/p/libc.so] reported[/p/libd.so] ");
    assert_string_equal(
        run.said[MEDIUM],
        "deferred[/p/liba.so /p/liba-dep.so] deferred[/p/libb.so] reported[/q/libwanted.so] "
        "reported_event(2,3) deferred[/p/libc.so] signal(1,1) deferred[/p/libd.so] exit(1,1) ");
    assert_string_equal(run.said[FAST],
                        "not_stopped[/p/liba.so /p/liba-dep.so /p/libb.so /q/libwanted.so /p/libc.so] "
                        "signal(1,5) not_stopped[/p/libd.so] exit(1,1) ");
    end_run(&run);
}

static void every_other_stop_handles_what_waits(void **state)
{
    (void)state;
    static const struct {
        enum tg_event_kind kind;
        const char *said;
    } stops[] = {
        {TG_EVENT_ENTRY, "entry(1,1) "},
        {TG_EVENT_SIGNAL, "signal(1,1) "},
        {TG_EVENT_GROUP_STOP, "group_stop(1,1) "},
        {TG_EVENT_BREAKPOINT_HIT, "breakpoint(1,1) "},
        {TG_EVENT_THREAD_START, "thread(1,1) "},
        {TG_EVENT_THREAD_EXIT, "exit(1,1) "},
        {TG_EVENT_PROCESS_EXIT, "exit(1,1) "},
        {TG_EVENT_DETACH, "detach(1,1) "},
        {TG_EVENT_IDENTITY, ""},
        {TG_EVENT_EXEC, ""},
    };
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct script *script = calloc(1, sizeof *script);
        struct run run;
        char expected[200];
        script_load(script, 1000, 10, "/p/liba.so");
        script_add(script, 2000, 10, stops[i].kind);
        run_script(&run, script, "*/nothing*");
        snprintf(expected, sizeof expected, "deferred[/p/liba.so] %s", stops[i].said);
        assert_string_equal(run.said[MEDIUM], expected);
        snprintf(expected, sizeof expected, "%s%s",
                 stops[i].said[0] != '\0' ? "not_stopped[/p/liba.so] " : "", stops[i].said);
        assert_string_equal(run.said[FAST], expected);
        bool dropped = stops[i].said[0] == '\0';
        assert_int_equal(outcome(&run, FAST)->dropped_libraries, dropped);
        assert_int_equal(outcome(&run, FAST)->round_trips, !dropped);
        end_run(&run);
        free(script);
    }
}

static void a_fork_stops_the_parent_alone(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_load(&script, 1000, 10, "/p/liba.so");
    script_load(&script, 1500, 30, "/p/liba.so");
    script_start(&script, 2000, 20, 10);
    script_add(&script, 3000, 20, TG_EVENT_SIGNAL); /* the child has nothing that waits */
    run_script(&run, &script, "*/nothing*");
    assert_string_equal(run.said[MEDIUM], "deferred[/p/liba.so] deferred[/p/liba.so] fork(1,1) ");
    assert_int_equal(outcome(&run, MEDIUM)->dropped_libraries, 1); /* process 30 never ended */
    end_run(&run);
}

static void an_unload_takes_libraries_out_of_the_batch(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_load(&script, 1000, 10, "/p/liba.so");
    script_load(&script, 2000, 10, "/p/libb.so");
    script_unload(&script, 3000, 10, "/p/liba.so");
    script_add(&script, 4000, 10, TG_EVENT_SIGNAL);
    script_load(&script, 5000, 10, "/p/libc.so");
    script_unload(&script, 6000, 10, "/p/libc.so");
    script_add(&script, 7000, 10, TG_EVENT_SIGNAL); /* nothing is left: no round trip */
    script_unload(&script, 8000, 10, "/p/libb.so"); /* was handled already */
    run_script(&run, &script, "*/nothing*");
    assert_string_equal(run.said[FAST], "not_stopped[/p/libb.so] signal(1,1) ");
    assert_int_equal(outcome(&run, FAST)->round_trips, 1);
    assert_int_equal(outcome(&run, FAST)->dropped_libraries, 2);
    assert_int_equal(outcome(&run, MEDIUM)->unload_stops, 3);
    end_run(&run);
}

static void a_reload_at_the_same_place_is_unseen_in_fast_mode(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_break(&script, 1, "wanted");
    script_load(&script, 1000, 10, "/p/liba.so");
    script_plant(&script, 1000, 10, 1, 0x100, "/p/liba.so");
    script_add(&script, 2000, 10, TG_EVENT_SIGNAL);
    script_unload(&script, 3000, 10, "/p/liba.so");
    script_load(&script, 4000, 10, "/p/liba.so");
    script_plant(&script, 4000, 10, 1, 0x100, "/p/liba.so");
    script_add(&script, 5000, 10, TG_EVENT_SIGNAL); /* the list is as it was at the last signal */
    script_unload(&script, 6000, 10, "/p/liba.so");
    script_add(&script, 7000, 10, TG_EVENT_SIGNAL);
    script_load(&script, 8000, 10, "/p/liba.so"); /* seen to be absent before: it is new */
    script_plant(&script, 8000, 10, 1, 0x100, "/p/liba.so");
    script_add(&script, 9000, 10, TG_EVENT_SIGNAL);
    run_script(&run, &script, "*/nothing");
    assert_string_equal(run.said[FAST],
                        "not_stopped[/p/liba.so] signal(1,1) not_stopped[/p/liba.so] signal(1,1) ");
    assert_string_equal(run.said[MEDIUM], "deferred[/p/liba.so] signal(1,1) deferred[/p/liba.so] signal(1,1) "
                                          "deferred[/p/liba.so] signal(1,1) ");
    assert_int_equal(outcome(&run, FAST)->planting.late, 2);
    assert_int_equal(outcome(&run, FAST)->planting.never, 1);
    end_run(&run);
}

static void startup_libraries_are_in_time_and_no_events(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_break(&script, 1, "malloc");
    script_load(&script, 1000, 10, "/lib/libc.so.6")->library_load.found = TG_FOUND_STARTUP;
    script_plant(&script, 1000, 10, 1, 0x100, "/lib/libc.so.6");
    script_load(&script, 2000, 11, "/lib/libc.so.6")->library_load.found = TG_FOUND_ATTACH;
    script_plant(&script, 2000, 11, 1, 0x100, "/lib/libc.so.6");
    run_script(&run, &script, "*/x");
    assert_int_equal(run.survey.dlopen_events, 0);
    for (size_t lane = 0; lane < LANES; lane++) {
        assert_int_equal(outcome(&run, lane)->planting.in_time, 2);
        assert_int_equal(outcome(&run, lane)->stops,
                         lane != FAST); /* start-up; the attach is no loader stop */
        assert_int_equal(outcome(&run, lane)->startup_stops, lane != FAST);
        assert_int_equal(outcome(&run, lane)->cost.ns, lane != FAST ? 100000 : 25000);
        assert_string_equal(run.said[lane], "");
    }
    end_run(&run);
}

static void two_events_of_one_stop_stop_once(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_load(&script, 1000, 10, "/p/liba.so");
    struct tg_event *second = script_load(&script, 1000, 10, "/p/libb.so"); /* another namespace */
    second->stop_ns = 0;
    second->library_load.namespace_index = 1;
    script_add(&script, 2000, 10, TG_EVENT_SIGNAL);
    run_script(&run, &script, "*/liba.so");
    assert_int_equal(outcome(&run, SLOW)->stops, 1);
    assert_int_equal(outcome(&run, SLOW)->reported, 2);
    assert_int_equal(outcome(&run, SLOW)->cost.ns, 100000);
    assert_int_equal(outcome(&run, MEDIUM)->cost.ns, 100000);
    assert_string_equal(run.said[FAST], "not_stopped[/p/liba.so] not_stopped[/p/libb.so] signal(2,2) ");
    end_run(&run);
}

static void a_fast_trace_tells_of_catch_ups(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_settings(&script, TG_FILTER_FAST, "");
    script_break(&script, 1, "wanted");
    script_add(&script, 1000, 10, TG_EVENT_ENTRY);
    script_add(&script, 5000, 10, TG_EVENT_SIGNAL);
    struct tg_event *load = script_load(&script, 5000, 10, "/p/libwanted.so /p/libb.so");
    load->library_load.found = TG_FOUND_CATCH_UP;
    load->stop_ns = 0;
    script_plant(&script, 5000, 10, 1, 0x100, "/p/libwanted.so");
    run_script(&run, &script, "*/nothing");
    assert_int_equal(run.survey.catch_up_events, 1);
    assert_string_equal(run.said[FAST], "not_stopped[/p/libwanted.so /p/libb.so] signal(1,2) ");
    assert_int_equal(outcome(&run, FAST)->planting.late, 1);
    assert_int_equal(outcome(&run, FAST)->planting.worst_window_ns, 4000);   /* since the entry stop */
    assert_int_equal(outcome(&run, FAST)->cost.ns, 20000 + 5000 + 5000 / 6); /* and telling of them */
    assert_int_equal(outcome(&run, SLOW)->planting.in_time, 1);
    assert_int_equal(outcome(&run, SLOW)->cost.unknown_stops, 1); /* no floor: nothing is made up */
    end_run(&run);
}

/* What the exit of a fast job took is known by its own stop, reading and telling alike. */
static void libraries_found_at_a_stop_of_their_own_cost_that_stop(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_settings(&script, TG_FILTER_FAST, "");
    script_add(&script, 1000, 10, TG_EVENT_ENTRY);
    struct tg_event *load = script_load(&script, 5000, 10, "/p/liba.so /p/libb.so");
    load->library_load.found = TG_FOUND_CATCH_UP;
    load->library_load.handle_ns = 0;
    load->stop_ns = 5700;
    load = script_load(&script, 9000, 10, "/p/libc.so");
    load->library_load.found = TG_FOUND_CATCH_UP;
    load->library_load.handle_ns = 0;
    load->stop_ns = 90000; /* something else took most of it */
    script_exit(&script, 9000, 10);
    run_script(&run, &script, "*/nothing");
    assert_int_equal(outcome(&run, FAST)->cost.ns, 5700 + 7500);
    assert_int_equal(outcome(&run, FAST)->cost.high_ns, 5700 + 7500);
    assert_int_equal(tg_cost_claim(&outcome(&run, FAST)->cost), TG_COST_FIGURE);
    end_run(&run);
}

static void events_seen_by_the_agent_cost_the_floor(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    struct tg_event *load = script_load(&script, 5000, 10, "/p/liba.so");
    load->library_load.found = TG_FOUND_AGENT;
    load->stop_ns = load->library_load.read_ns = load->library_load.handle_ns = 0;
    run_script(&run, &script, "*/nothing");
    assert_int_equal(outcome(&run, SLOW)->stops, 1);
    assert_int_equal(outcome(&run, SLOW)->cost.unknown_stops, 1);
    assert_int_equal(outcome(&run, FAST)->cost.unknown_stops, 0);
    end_run(&run);
}

/* What is decided in the process costs what the agent took; without its measurement nothing is claimed. */
static void deciding_in_the_process_costs_what_the_agent_took(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    for (uint64_t agent_ns = 0; agent_ns <= 1500; agent_ns += 1500) {
        script = (struct script){0};
        for (int i = 1; i <= 2; i++) {
            struct tg_event *load = script_load(&script, (uint64_t)i * 5000, 10, "/p/liba.so");
            load->library_load.found = TG_FOUND_AGENT;
            load->stop_ns = load->library_load.read_ns = load->library_load.handle_ns = 0;
            load->library_load.agent_ns = agent_ns;
        }
        script_exit(&script, 20000, 10);
        run_script_as(&run, &script, "*/nothing", SIZE_MAX, 1U << MEDIUM);
        assert_int_equal(outcome(&run, MEDIUM)->deferred, 2);
        assert_int_equal(outcome(&run, MEDIUM)->stops, 0);
        assert_int_equal(outcome(&run, MEDIUM)->cost.low_ns, 2 * agent_ns);
        assert_int_equal(outcome(&run, MEDIUM)->cost.ns, 3 * agent_ns);
        assert_int_equal(tg_cost_claim(&outcome(&run, MEDIUM)->cost),
                         agent_ns > 0 ? TG_COST_RANGE : TG_COST_UNKNOWN);
        end_run(&run);
    }
}

static void timelines_are_those_of_the_ranks(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_start(&script, 1000, 10, 0);
    script_load(&script, 2000000, 10, "/p/liblauncher.so");
    script_start(&script, 3000000, 20, 10);
    script_add(&script, 3000000, 20, TG_EVENT_IDENTITY)->identity.rank = 0;
    script_load(&script, 5000000, 20, "/p/liba.so");
    script_load(&script, 6000000, 20, "/p/libb.so");
    script_exit(&script, 8000000, 20);
    script_add(&script, 8500000, 10, TG_EVENT_IDENTITY)->identity.rank = -1;
    script_exit(&script, 9000000, 10);
    run_script(&run, &script, "*/libb.so");
    size_t count = 0;
    const struct tg_timeline *slow = tg_filter_model_timelines(run.model, SLOW, &count);
    assert_int_equal(count, 1);
    assert_int_equal(slow[0].count, 2);
    assert_int_equal(slow[0].requests[0].run_ns, 2000000);
    assert_int_equal(slow[0].requests[0].overhead_ns, 80000);
    assert_int_equal(slow[0].requests[0].service_ns, 20000);
    assert_int_equal(slow[0].requests[1].run_ns, 900000); /* the first stop's 100 us taken out */
    assert_int_equal(slow[0].tail_run_ns, 1900000);
    const struct tg_timeline *medium = tg_filter_model_timelines(run.model, MEDIUM, &count);
    assert_int_equal(medium[0].count, 1);
    assert_int_equal(medium[0].requests[0].run_ns, 2900000);
    assert_int_equal(medium[0].requests[0].overhead_ns, 160000);
    assert_int_equal(medium[0].requests[0].service_ns, 40000);
    const struct tg_timeline *fast = tg_filter_model_timelines(run.model, FAST, &count);
    assert_int_equal(fast[0].count, 1); /* at the exit */
    assert_int_equal(fast[0].requests[0].run_ns, 4800000);
    assert_int_equal(fast[0].requests[0].overhead_ns,
                     10000);                             /* reading the list is no work of the client's */
    assert_int_equal(fast[0].requests[0].service_ns, 0); /* nor is anything looked for then */
    end_run(&run);
}

/* A load that was found at another stop of thread 10. */
static void script_catch_up(struct script *script, uint64_t time_ns, const char *paths)
{
    script_load(script, time_ns, 10, paths);
    struct tg_event *event = &script->events[script->count - 1];
    event->stop_ns = 0;
    event->library_load.found = TG_FOUND_CATCH_UP;
}

/* A process that made MPI calls is a rank, also without a number (started by itself); who has a number from its
 * environment and made none is a child of a rank. */
static void ranks_are_those_that_made_mpi_calls(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_start(&script, 1000, 10, 0);
    script_start(&script, 2000, 20, 10);
    script_load(&script, 3000, 20, "/p/libdaemon.so");
    script_add(&script, 3500, 30, TG_EVENT_IDENTITY)->identity.rank = 0;
    script_load(&script, 3600, 30, "/p/libshell.so");
    script_exit(&script, 3700, 30);
    script_load(&script, 4000, 10, "/p/liba.so");
    script_load(&script, 5000, 10, "/p/libb.so");
    script_add(&script, 6000, 10, TG_EVENT_MPI_ENTER);
    script_exit(&script, 7000, 10);
    script_exit(&script, 8000, 20);
    run_script(&run, &script, "*/libb.so");
    size_t count = 0;
    const struct tg_timeline *slow = tg_filter_model_timelines(run.model, SLOW, &count);
    assert_int_equal(count, 1);
    assert_int_equal(slow[0].count, 2);
    end_run(&run);
}

/* Libraries found at a stop whose own event came first are handled there together with those that waited. */
static void the_recorded_lane_follows_its_settings(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_settings(&script, TG_FILTER_FAST, "");
    script_start(&script, 1, 10, 0);
    script_add(&script, 1000, 10, TG_EVENT_SIGNAL);
    script_catch_up(&script, 1000, "/p/liba.so /p/libb.so");
    script_handled(&script, 1000, 10, TG_TRIGGER_SIGNAL, 0);
    script_settings(&script, TG_FILTER_SLOW, "");
    script_catch_up(&script, 2000, "/p/libc.so");
    script_load(&script, 3000, 10, "/p/libd.so");
    script_settings(&script, TG_FILTER_MEDIUM, "*/libz.so");
    script_load(&script, 4000, 10, "/p/libe.so");
    script_settings(&script, TG_FILTER_FAST, "");
    script_add(&script, 5000, 10, TG_EVENT_SIGNAL);
    script_catch_up(&script, 5000, "/p/libf.so");
    script_handled(&script, 5000, 10, TG_TRIGGER_SIGNAL, 0);
    script_settings(&script, TG_FILTER_MEDIUM, "*/libz.so");
    script_load(&script, 6000, 10, "/p/libg.so");
    script_add(&script, 7000, 10, TG_EVENT_CONTROL_STOPPED);
    script_handled(&script, 7000, 10, TG_TRIGGER_HALT, 0);
    script_load(&script, 8000, 10, "/p/libz.so");
    script_exit(&script, 9000, 10);
    run_script_recorded(&run, &script, "*/libz.so", MEDIUM);
    assert_true(run.survey.settings_changed);
    assert_string_equal(run.said[MEDIUM],
                        "not_stopped[/p/liba.so /p/libb.so] signal(1,2) not_stopped[/p/libc.so] "
                        "reported[/p/libd.so] reported_event(1,1) deferred[/p/libe.so] "
                        "not_stopped[/p/libf.so] signal(2,2) deferred[/p/libg.so] halt(1,1) "
                        "reported[/p/libz.so] ");
    assert_string_equal(run.said[FAST],
                        "not_stopped[/p/liba.so /p/libb.so] signal(1,2) not_stopped[/p/libc.so /p/libd.so "
                        "/p/libe.so] signal(1,3) not_stopped[/p/libf.so] signal(1,1) not_stopped[/p/libg.so] "
                        "halt(1,1) not_stopped[/p/libz.so] exit(1,1) ");
    end_run(&run);
}

static void cuda_deferred_is_noticed(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_load(&script, 1000, 10, "/usr/lib/libcuda.so.1");
    run_script(&run, &script, "*/libcuda.so*");
    assert_true(run.survey.cuda);
    assert_false(outcome(&run, SLOW)->defers_cuda);
    assert_false(outcome(&run, MEDIUM)->defers_cuda);
    assert_true(outcome(&run, FAST)->defers_cuda);
    end_run(&run);
    run_script(&run, &script, "*/other*");
    assert_true(outcome(&run, MEDIUM)->defers_cuda);
    end_run(&run);
}

/* A small generator of its own: the same events on every machine. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void add_random_event(struct script *script, uint32_t *seed, uint64_t time_ns)
{
    static const char *const paths[] = {"/p/liba.so", "/p/libb.so /p/liba.so", "/q/libwanted.so",
                                        "/p/libc.so", "/usr/lib/libcuda.so.1"};
    int32_t pid = 10 + (int32_t)(next_random(seed) % 3);
    const char *path = paths[next_random(seed) % 5];
    uint32_t kind = next_random(seed) % 24;
    if (kind < 9) {
        struct tg_event *load = script_load(script, time_ns, pid, path);
        load->library_load.found = next_random(seed) % 5;
        load->library_load.namespace_index = next_random(seed) % 100;
        load->stop_ns = next_random(seed) % 2 * 50000;
    } else if (kind < 12) {
        script_unload(script, time_ns, pid, path);
    } else if (kind < 13) {
        script_plant(script, time_ns, pid, 1, next_random(seed) % 4, "/q/libwanted.so");
    } else if (kind < 14) {
        script_hit(script, time_ns, pid, 1, next_random(seed) % 4);
    } else if (kind < 15) {
        script_start(script, time_ns, pid, 10 + (int64_t)(next_random(seed) % 4));
    } else {
        script_add(script, time_ns, pid, tg_event_kind_at(next_random(seed) % tg_event_kind_count()));
    }
}

/* Whatever the order of events, none is lost and none counted twice. */
static void any_order_of_events_adds_up(void **state)
{
    (void)state;
    struct script *script = calloc(1, sizeof *script);
    for (uint32_t round = 0; round < 300; round++) {
        struct run run;
        uint32_t seed = round;
        *script = (struct script){0};
        script_break(script, 1, "wanted");
        for (uint64_t i = 0; i < 200; i++)
            add_random_event(script, &seed, 1000 + i / 3 * 1000);
        for (size_t i = 0; i < script->count;
             i++) { /* strings of kinds made bare are never NULL in a trace */
            struct tg_event *event = &script->events[i];
            const struct tg_record_schema *schema = tg_event_schema(event->kind);
            for (size_t f = 0; f < schema->n_fields; f++) {
                const char **text =
                    (const char **)((char *)TG_EVENT_PAYLOAD(event) + schema->fields[f].offset);
                if (schema->fields[f].type == TG_FIELD_STRING && *text == NULL)
                    *text = "";
            }
        }
        run_script(&run, script, "*/libwanted*:!*/libb*");
        for (size_t lane = 0; lane < LANES; lane++) {
            const struct tg_filter_outcome *result = outcome(&run, lane);
            assert_int_equal(result->reported + result->deferred, run.survey.dlopen_events);
            assert_true(result->handled_libraries + result->dropped_libraries <= run.survey.libraries);
            if (lane != FAST)
                assert_int_equal(result->handled_libraries + result->dropped_libraries, run.survey.libraries);
            assert_true(result->deferred_libraries <= result->handled_libraries);
            assert_true(result->null_stops + result->unload_stops + result->startup_stops <= result->stops);
            uint64_t planted = 0;
            for (size_t g = 0; g < run.survey.goals.count; g++)
                planted += result->goals[g].in_time + result->goals[g].late + result->goals[g].never;
            assert_int_equal(result->planting.in_time + result->planting.late + result->planting.never,
                             planted);
        }
        assert_int_equal(outcome(&run, SLOW)->deferred, 0);
        assert_int_equal(outcome(&run, SLOW)->planting.late + outcome(&run, SLOW)->planting.never, 0);
        assert_int_equal(outcome(&run, FAST)->stops, 0);
        end_run(&run);
    }
    free(script);
}

static void a_reused_pid_is_another_process(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_load(&script, 1000, 10, "/p/liba.so");
    script_start(&script, 2000, 10, 0); /* the end of the first one was lost */
    script_add(&script, 3000, 10, TG_EVENT_SIGNAL);
    run_script(&run, &script, "*/nothing");
    assert_string_equal(run.said[MEDIUM], "deferred[/p/liba.so] ");
    assert_int_equal(outcome(&run, MEDIUM)->dropped_libraries, 1);
    end_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_counts_its_stops_and_round_trips),
        cmocka_unit_test(every_other_stop_handles_what_waits),
        cmocka_unit_test(a_fork_stops_the_parent_alone),
        cmocka_unit_test(an_unload_takes_libraries_out_of_the_batch),
        cmocka_unit_test(a_reload_at_the_same_place_is_unseen_in_fast_mode),
        cmocka_unit_test(startup_libraries_are_in_time_and_no_events),
        cmocka_unit_test(two_events_of_one_stop_stop_once),
        cmocka_unit_test(a_fast_trace_tells_of_catch_ups),
        cmocka_unit_test(libraries_found_at_a_stop_of_their_own_cost_that_stop),
        cmocka_unit_test(events_seen_by_the_agent_cost_the_floor),
        cmocka_unit_test(deciding_in_the_process_costs_what_the_agent_took),
        cmocka_unit_test(timelines_are_those_of_the_ranks),
        cmocka_unit_test(ranks_are_those_that_made_mpi_calls),
        cmocka_unit_test(the_recorded_lane_follows_its_settings),
        cmocka_unit_test(cuda_deferred_is_noticed),
        cmocka_unit_test(any_order_of_events_adds_up),
        cmocka_unit_test(a_reused_pid_is_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
