/* Resuming, stopping, holding: dgo, dhalt, dwait, dhold, dunhold. */
#include "live/commands/control/run.h"
#include "live/commands/control/commands.h"
#include "live/commands/focus/focus_call.h"
#include "live/console/options.h"
#include "live/control/traced_job.h"

#include "analyzer/job/list.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- go and halt */

/* Resumes the threads in focus, but for those that have come to a breakpoint whose script was not run yet: that decides. */
static struct tg_error *resume(const struct tg_request *control, size_t *n_held)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, control->view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i == 0 || i < process->n_threads; i++) {
            bool has_thread = i < process->n_threads;
            const struct tg_thread_id id = {
                process->info.dpid, has_thread ? tg_job_view_thread(control->view, process, i)->dtid : 0};
            if (tg_job_set_has(control->set, process, i) &&
                !(has_thread && tg_engine_adapter_has_script_hit(control->engine, id)))
                tg_job_set_add(&set, process, i);
        }
    }
    return error != NULL ? error : tg_controller_go(control->controller, control->view, &set, n_held);
}

static struct tg_error *go(const struct tg_request *control)
{
    size_t n_held = 0;
    struct tg_error *error = resume(control, &n_held);
    if (error == NULL && n_held > 0)
        fprintf(control->out, "%zu thread%s stopped\n", n_held,
                n_held == 1 ? " is held and stays" : "s are held and stay");
    return error;
}

/* Of a job whose ranks are in focus because nobody set one the launcher runs, too: attaching has stopped it. */
struct tg_error *tg_run_go(struct tg_console *console, FILE *out)
{
    return tg_focus_call_run(console, &tg_focus_call_whole_job, go, NULL, out);
}

static struct tg_error *run_dgo(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_dgo) : tg_run_go(console, out);
}

const struct tg_console_command tg_console_dgo = {
    .name = "dgo",
    .arguments = "",
    .summary = "resumes all threads in focus except held ones",
    .example = "dfocus g dgo",
    .more =
        "If the focus has no width, the whole process is resumed. dgo does not wait for a stop; dwait does.",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .instead = "dcont",
    .run = run_dgo,
};

static struct tg_error *run_dhalt(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    (void)out;
    return argc > 0 ? tg_console_usage(&tg_console_dhalt) : tg_focus_call_halt(console);
}

const struct tg_console_command tg_console_dhalt = {
    .name = "dhalt",
    .arguments = "",
    .summary = "stops all threads in focus",
    .example = "dfocus t1.3 dhalt",
    .more = "dhalt does not wait: `dwait` waits until all threads are stopped.",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dhalt,
};

/* ---- waiting */

/* Waiting until no thread of the set runs, or with ANY until one has stopped. */
struct wait {
    bool done; /* first: see tg_focus_call_await */
    bool any;
    size_t n_stopped_before; /* threads that were stopped before, and do not count with ANY */
    double seconds;          /* negative: without end */
    int64_t ranks;           /* so many are to be there, 0 as many as the focus has */
    bool is_open;            /* nobody has set a focus: it is the ranks, as soon as there are some */
    const struct tg_run_limits *limits; /* NULL: none */
    size_t n_known;                     /* processes, at the time of the last look */
    double since; /* since when their number is the same, or no thread runs; 0: not yet */
};

static const double longest_pause_s = 2; /* between the starts of two ranks */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t count_running(const struct tg_job_view *view, const struct tg_job_process *process)
{
    size_t n_running = 0;
    for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
        n_running += !tg_job_state_is_stopped(tg_job_view_thread(view, process, i)->state);
    return n_running;
}

/* Nobody of the focus runs, which is open. Whether that is all: ranks may still be being started, and behind
 * the last one the launcher has an end of its own. */
static bool is_all(const struct tg_request *control, struct wait *wait)
{
    int64_t n_ranks = 0, n_living = 0;
    size_t n_running = 0, count = tg_job_view_count(control->view);
    for (size_t p = 0; p < count; p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        n_ranks += process->info.rank >= 0;
        n_living += process->info.rank >= 0 && process->info.exists;
        n_running += count_running(control->view, process);
    }
    if (count != wait->n_known || wait->since == 0) {
        wait->n_known = count;
        wait->since = now_seconds();
    }
    if (n_ranks > 0 && n_living == 0)
        return n_running == 0;
    return n_running == 0 || n_ranks == 0 || n_ranks >= tg_engine_adapter_expected_ranks(control->engine) ||
           now_seconds() - wait->since >= longest_pause_s;
}

/* The rank RANK is missing. Where no thread of the session runs, nothing can start it. */
static struct tg_error *check_rank_can_come(const struct tg_request *control, struct wait *wait, int64_t rank)
{
    static const double settled_s = 1; /* longer than a process takes from its start to its first stop */
    int64_t n_expected = tg_engine_adapter_expected_ranks(control->engine);
    if (n_expected > 0 && rank >= n_expected)
        return tg_error_create(TG_ERROR_TARGET,
                               "rank %" PRId64 " will not arrive: the job was started with %" PRId64
                               " rank%s on this host; wait with `dwait -ranks %" PRId64 "`",
                               rank, n_expected, n_expected == 1 ? "" : "s", n_expected);
    size_t n_running = 0, n_living = 0, count = tg_job_view_count(control->view);
    for (size_t p = 0; p < count; p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        n_running += count_running(control->view, process);
        n_living += process->info.exists;
    }
    if (n_running > 0 || n_living == 0 || count != wait->n_known || wait->since == 0) {
        wait->n_known = count;
        wait->since = now_seconds();
    }
    if (now_seconds() - wait->since < settled_s)
        return NULL;
    return tg_error_create(TG_ERROR_TARGET,
                           "rank %" PRId64
                           " cannot arrive: all threads of the job are stopped; `dfocus a dgo` resumes them",
                           rank);
}

static struct tg_error *look(const struct tg_request *control)
{
    struct wait *wait = control->context;
    size_t n_running = 0, n_stopped = 0;
    if (wait->limits != NULL && wait->limits->is_over != NULL &&
        wait->limits->is_over(control, wait->limits->context)) {
        wait->done = true;
        return NULL;
    }
    for (int64_t rank = 0; rank < wait->ranks; rank++) {
        const struct tg_job_process *process = tg_job_view_rank(control->view, rank);
        if (process == NULL || !process->info.exists)
            return check_rank_can_come(control, wait, rank);
    }
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if (wait->ranks > 0 && process->info.rank < 0)
            continue;
        bool is_ending = process->info.exists && process->n_threads == 0; /* the end is about to be told */
        n_running += is_ending && (wait->ranks > 0 || tg_job_set_has(control->set, process, 0));
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            if (wait->ranks == 0 && !tg_job_set_has(control->set, process, i))
                continue;
            bool is_stopped = tg_job_state_is_stopped(tg_job_view_thread(control->view, process, i)->state);
            n_running += !is_stopped;
            n_stopped += is_stopped;
        }
    }
    wait->done = n_running == 0 || (wait->any && n_stopped > wait->n_stopped_before);
    if (wait->done && wait->is_open && wait->ranks == 0 && n_running == 0)
        wait->done = is_all(control, wait);
    return NULL;
}

static const struct tg_console_option dwait_options[] = {
    TG_OPTION_FLAG("-any", struct wait, any),
    {"-ranks", TG_OPTION_NUMBER, TG_OPTION_IN(struct wait, ranks), .lowest = 1, .highest = INT32_MAX},
    {"-timeout", TG_OPTION_SECONDS, TG_OPTION_IN(struct wait, seconds)},
    {0}};

static struct tg_error *run_dwait(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct wait wait = {.seconds = -1, .is_open = console->focus.is_open};
    struct tg_error *error = tg_console_take_options(&tg_console_dwait, argc, argv, &wait, NULL);
    if (error != NULL)
        return error;
    return tg_focus_call_await(console, &tg_focus_call_defaults, look, &wait.done, wait.seconds, out);
}

const struct tg_console_command tg_console_dwait = {
    .name = "dwait",
    .arguments = "?-any? ?-ranks N? ?-timeout SECONDS?",
    .summary = "waits until all threads in focus are stopped or have ended; with -any, until one is",
    .example = "dfocus g dwait -timeout 30",
    .more = "-ranks N waits until ranks 0 to N - 1 of an MPI job exist and all their threads are stopped.\n"
            "Ctrl-C or the timeout ends the wait with an error; running threads keep running.",
    .options = dwait_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dwait,
};

/* ---- continuing */

/* Prints, when the wait is over, how many threads are held and which barriers still wait. */
static struct tg_error *tell_held(const struct tg_request *control)
{
    const struct tg_run_model *runs = tg_controller_runs(control->controller);
    size_t n_held = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                n_held += process->info.held || tg_job_view_thread(control->view, process, i)->held;
    }
    for (size_t i = 0; i < tg_barriers_count(runs); i++) {
        struct tg_barrier_status status;
        uint32_t id = tg_barriers_at(runs, i)->id;
        if (tg_barriers_status(runs, id, &status) && status.n_arrived > 0 && !status.stuck)
            fprintf(control->out,
                    "barrier %" PRIu32 ": %" PRIu64 " of %" PRIu64 " have arrived; dcont runs the rest\n", id,
                    status.n_arrived, status.n_members);
    }
    if (n_held > 0)
        fprintf(control->out, "%zu thread%s held\n", n_held, n_held == 1 ? " is" : "s are");
    return NULL;
}

/* The request's context gets the number of threads that are held. */
static struct tg_error *go_silently(const struct tg_request *control)
{
    return resume(control, control->context);
}

/* Until WAIT is over, with the looks of LIMITS in between. */
static struct tg_error *await_all(struct tg_console *console, const struct tg_run_limits *limits,
                                  struct wait *wait, FILE *out)
{
    /* The threads run from here on: one that the first look does not find has ended. */
    struct tg_focus_patience patience = {.were_there = true};
    const double begun = now_seconds();
    for (bool is_over = false;;) {
        int status;
        double left = limits->seconds < 0 ? -1 : limits->seconds - (now_seconds() - begun);
        bool is_last = limits->look == NULL || (limits->seconds >= 0 && left <= limits->look_s);
        double seconds = !is_last ? limits->look_s : limits->seconds >= 0 && left < 0 ? 0 : left;
        struct tg_error *error = tg_focus_call_await_with(console, &tg_focus_call_defaults, look, &wait->done,
                                                          seconds, &patience, out);
        if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET ||
            tg_traced_job_has_ended(console->options.live, &status))
            return error;
        if (is_last && limits->look == NULL)
            return error;
        tg_error_destroy(error);
        if (is_last)
            return tg_error_create(TG_ERROR_TARGET, "still running after %g seconds", limits->seconds);
        error = limits->look(console, limits->context, &is_over);
        if (error != NULL || is_over)
            return error;
    }
}

struct tg_error *tg_run_continue(struct tg_console *console, const struct tg_run_limits *limits, FILE *out)
{
    struct wait wait = {.any = limits->any, .is_open = console->focus.is_open, .limits = limits};
    struct tg_error *error =
        tg_focus_call_run(console, &tg_focus_call_whole_job, go_silently, &wait.n_stopped_before, out);
    if (error == NULL)
        error = await_all(console, limits, &wait, out);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, tell_held, NULL, out);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND)
        return error;
    tg_error_destroy(error); /* the threads ran, and have ended */
    return NULL;
}

/* ---- holding */

static struct tg_error *hold(const struct tg_request *control)
{
    return tg_controller_hold(control->controller, control->view, control->set, *(bool *)control->context);
}

/* Number of threads that stay held, because the other one of the two holds is on. */
static size_t count_left(const struct tg_request *control, bool of_processes)
{
    const struct tg_run_model *barriers = tg_controller_runs(control->controller);
    size_t n_left = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_thread_id unit = {
                process->info.dpid, of_processes ? tg_job_view_thread(control->view, process, i)->dtid : 0};
            n_left += tg_job_set_has(control->set, process, i) && tg_run_model_holds(barriers, unit);
        }
    }
    return n_left;
}

static struct tg_error *unhold(const struct tg_request *control)
{
    bool of_processes = *(bool *)control->context;
    struct tg_error *error =
        tg_controller_unhold(control->controller, control->view, control->set, of_processes);
    size_t n_left = error != NULL ? 0 : count_left(control, of_processes);
    if (n_left > 0)
        fprintf(control->out, "%zu thread%s still held %s; `dunhold %s` releases %s\n", n_left,
                n_left == 1 ? " is" : "s are", of_processes ? "by a thread hold" : "by a process hold",
                of_processes ? "-thread" : "-process", n_left == 1 ? "it" : "them");
    return error;
}

struct shape {
    bool of_processes; /* else of threads */
};

static const struct tg_console_option shape_options[] = {
    TG_OPTION_FLAG_ALONE("-process", struct shape, of_processes),
    {"-thread", TG_OPTION_SET, TG_OPTION_IN(struct shape, of_processes), .value = false, .alone = true},
    {0}};

/* Without an option threads where the focus has the width of one. */
static struct tg_error *change_hold(struct tg_console *console, const struct tg_console_command *command,
                                    tg_request_work *work, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_ptset_arena *arena =
        console->focus.set == NULL ? NULL : tg_ptset_arena(console->focus.set, 0);
    struct shape shape = {arena == NULL ||
                          (arena->width != TG_WIDTH_THREAD && arena->group != TG_GROUP_WORKERS &&
                           arena->group != TG_GROUP_LOCKSTEP)};
    struct tg_error *error = tg_console_take_options(command, argc, argv, &shape, NULL);
    if (error != NULL)
        return error;
    return tg_focus_call_run(console, &tg_focus_call_defaults, work, &shape.of_processes, out);
}

static struct tg_error *run_dhold(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return change_hold(console, &tg_console_dhold, hold, argc, argv, out);
}

static struct tg_error *run_dunhold(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return change_hold(console, &tg_console_dunhold, unhold, argc, argv, out);
}

const struct tg_console_command tg_console_dhold = {
    .name = "dhold",
    .arguments = "?-process | -thread?",
    .summary = "holds the threads in focus: they stop, and nothing resumes them until dunhold",
    .example = "dfocus t2.1 dhold",
    .more =
        "Process holds and thread holds are separate: a thread can run when neither is set. Without an\n"
        "option dhold holds processes, or threads if the focus has the width t or a group of threads (W,\n"
        "L).",
    .options = shape_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dhold,
};

const struct tg_console_command tg_console_dunhold = {
    .name = "dunhold",
    .arguments = "?-process | -thread?",
    .summary = "releases held threads, also from barriers; this does not resume anything",
    .example = "dfocus p2 dunhold",
    .options = shape_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dunhold,
};
