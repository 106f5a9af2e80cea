/* The job as a whole: drun, dattach, dkill, ddetach. */
#include "live/commands/control/commands.h"
#include "live/commands/control/job_settings.h"
#include "live/commands/control/remade_points.h"
#include "live/commands/control/run.h"
#include "live/commands/focus/focus_call.h"
#include "live/console/options.h"

#include "format/base/printable.h"
#include "live/control/job_source.h"
#include "live/control/traced_job.h"
#include "recorder/engine/engine.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- dkill */

static struct tg_error *kill_set(const struct tg_request *control)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if (process->info.exists && tg_job_set_has_any(control->set, process) &&
            kill((pid_t)process->info.tag, SIGKILL) == 0)
            tg_controller_killed(control->controller, (int32_t)process->info.tag);
    }
    return NULL;
}

static struct tg_error *run_dkill(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_dkill)
                    : tg_focus_call_run(console, &tg_focus_call_whole_job, kill_set, NULL, out);
}

const struct tg_console_command tg_console_dkill = {
    .name = "dkill",
    .arguments = "",
    .summary = "kills the processes in focus",
    .example = "dfocus g dkill",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dkill,
};

/* ---- ddetach */

static struct tg_error *detach_set(const struct tg_request *control)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if (process->info.exists && tg_job_set_has_any(control->set, process))
            tg_engine_adapter_release(control->engine, (int32_t)process->info.tag);
    }
    return NULL;
}

static struct tg_error *run_ddetach(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_ddetach)
                    : tg_focus_call_run(console, &tg_focus_call_whole_job, detach_set, NULL, out);
}

const struct tg_console_command tg_console_ddetach = {
    .name = "ddetach",
    .arguments = "",
    .summary = "detaches from the processes in focus; they continue",
    .example = "dfocus p2 ddetach",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_ddetach,
};

/* ---- dattach */

struct attaching {
    bool done; /* first: see tg_focus_call_await */
    bool runs; /* the process continues, as the session's job did at its start */
    int32_t pid;
};

static const double longest_attaching_s =
    5; /* a process that waits for a stopped child of vfork cannot stop */

static struct tg_error *attach(const struct tg_request *control)
{
    const struct attaching *attaching = control->context;
    return tg_engine_adapter_attach(control->engine, attaching->pid);
}

/* Whether the process is known, and all its threads are stopped or are to run. */
static struct tg_error *look_at_attached(const struct tg_request *control)
{
    struct attaching *attaching = control->context;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if ((int32_t)process->info.tag != attaching->pid || !process->info.exists || process->n_threads == 0)
            continue;
        attaching->done = true;
        for (size_t i = 0; i < process->n_threads; i++)
            attaching->done &= attaching->runs ||
                               tg_job_state_is_stopped(tg_job_view_thread(control->view, process, i)->state);
    }
    return NULL;
}

/* So that the next command finds it, by its number and rank, and standing. */
static struct tg_error *await_attached(struct tg_console *console, struct attaching *attaching, FILE *out)
{
    struct tg_error *error =
        tg_focus_call_await(console, NULL, look_at_attached, &attaching->done, longest_attaching_s, out);
    if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET)
        return error;
    tg_error_destroy(error); /* by and by, or it has ended */
    return NULL;
}

/* The process on this host that a starter's table names as rank RANK. */
static struct tg_error *find_rank(const struct tg_console *console, int64_t rank, int32_t *pid)
{
    const struct tg_mpir_model *model = console->source->moment->mpir;
    char host[256] = "";
    bool is_known = false;
    gethostname(host, sizeof host - 1);
    for (size_t i = tg_mpir_model_count(model); i-- > 0;) {
        size_t count;
        const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(model, i, &count);
        for (size_t j = 0; j < count; j++) {
            if (ranks[j].rank != rank || !ranks[j].in_table)
                continue;
            is_known = true;
            if (ranks[j].table_pid <= 0 || ranks[j].table_pid > INT32_MAX || strcmp(ranks[j].host, host) != 0)
                continue;
            *pid = (int32_t)ranks[j].table_pid;
            return NULL;
        }
    }
    return tg_error_create(TG_ERROR_NOT_FOUND, "rank %" PRId64 " %s", rank,
                           is_known ? "is not on this host"
                                    : "is not in any table of ranks (`info mpi` shows them)");
}

static struct tg_error *take_number(Tcl_Obj *word, const char *what, Tcl_WideInt lowest, Tcl_WideInt *number)
{
    char shown[80];
    if (Tcl_GetWideIntFromObj(NULL, word, number) == TCL_OK && *number >= lowest && *number <= INT32_MAX)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "invalid %s '%s'", what,
                           tg_printable(Tcl_GetString(word), shown, sizeof shown));
}

/* What the arguments of dattach are. */
struct numbering {
    bool by_rank; /* ranks, else pids */
};

static const struct tg_console_option dattach_options[] = {
    TG_OPTION_FLAG("-rank", struct numbering, by_rank), {.name = "PID", .kind = TG_OPTION_REST}, {0}};

static struct tg_error *run_dattach(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct numbering numbering = {0};
    int first;
    struct tg_error *error = tg_console_take_options(&tg_console_dattach, argc, argv, &numbering, &first);
    if (error == NULL && first == argc)
        error = tg_console_usage(&tg_console_dattach);
    if (error != NULL)
        return error;
    for (int i = first; i < argc; i++) {
        struct attaching attaching = {.runs = !tg_traced_job_stops(console->options.live)->at_start};
        Tcl_WideInt number = 0;
        error = take_number(argv[i], numbering.by_rank ? "rank" : "process id", numbering.by_rank ? 0 : 1,
                            &number);
        if (error == NULL && numbering.by_rank)
            error = find_rank(console, number, &attaching.pid);
        else
            attaching.pid = (int32_t)number;
        if (error == NULL)
            error = tg_focus_call_run_all(console, attach, &attaching, out);
        if (error == NULL)
            error = await_attached(console, &attaching, out);
        if (error != NULL)
            return error;
    }
    return NULL;
}

const struct tg_console_command tg_console_dattach = {
    .name = "dattach",
    .arguments = "PID... | -rank N...",
    .summary = "attaches to more processes, or to ranks that the job launcher's table names",
    .example = "dattach -rank 3",
    .more =
        "The processes are stopped, unless tollgate was started with --run. -rank N: a rank of `info mpi`\n"
        "that --ranks left out and that is on this host.",
    .options = dattach_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dattach,
};

/* ---- drun */

struct rerun {
    char *points; /* action points, as a script */
    size_t size;
    bool has_run;
};

static struct tg_error *look_at(const struct tg_request *control)
{
    struct rerun *rerun = control->context;
    FILE *stream = open_memstream(&rerun->points, &rerun->size);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_action_points_save(tg_controller_points(control->controller), stream);
    rerun->has_run = tg_engine_adapter_has_run(control->engine);
    return fclose(stream) == 0 ? NULL : tg_error_no_memory();
}

/* NAME-2.tgt behind NAME.tgt, or the first such that there is not. For the caller to free. */
static char *next_trace(const char *trace)
{
    const char *dot = strrchr(trace, '.'), *slash = strrchr(trace, '/');
    int stem = dot == NULL || (slash != NULL && dot < slash) ? (int)strlen(trace) : (int)(dot - trace);
    for (unsigned number = 2; number < 10000; number++) {
        char *name = NULL, *incomplete = NULL;
        if (asprintf(&name, "%.*s-%u%s", stem, trace, number, trace + stem) < 0)
            return NULL;
        bool is_free = asprintf(&incomplete, "%s.incomplete", name) >= 0 && access(name, F_OK) != 0 &&
                       access(incomplete, F_OK) != 0;
        free(incomplete);
        if (is_free)
            return name;
        free(name);
    }
    return NULL;
}

static struct tg_error *run_again(struct tg_console *console, struct rerun *rerun, FILE *out)
{
    struct tg_traced_job *job = console->options.live;
    char *trace = next_trace(tg_traced_job_first_trace(job));
    if (trace == NULL)
        return tg_error_create(TG_ERROR_LIMIT, "no free name for the trace of another run");
    fprintf(out, "trace of the previous run: ");
    tg_printable_write(out, tg_traced_job_trace(job));
    fputc('\n', out);
    struct tg_error *error = tg_traced_job_restart(job, trace);
    free(trace);
    if (error == NULL)
        error = tg_job_source_restart(console->source, tg_traced_job_trace(job));
    if (error == NULL)
        error = tg_job_settings_apply(console);
    if (error != NULL)
        return error;
    struct tg_focus focus;
    tg_focus_init(&focus);
    error = tg_focus_begin(&focus);
    tg_console_set_focus(console, &focus);
    if (error == NULL)
        tg_remade_points_begin(console, rerun->points, out);
    return error;
}

static struct tg_error *run_drun(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_traced_job *job = console->options.live;
    struct rerun rerun = {0};
    int status;
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_drun);
    if (!tg_traced_job_has_command(job))
        return tg_error_create(TG_ERROR_USAGE,
                               "there is no command to run: this session attached to running processes");
    struct tg_remade_points *remade = tg_console_state(console, &tg_remade_points_kind);
    remade->is_at_it = true; /* waiting points are for the new run, and nothing is set in this one */
    struct tg_error *error = tg_focus_call_run_all(console, look_at, &rerun, out);
    if (error == NULL && (rerun.has_run || tg_traced_job_has_ended(job, &status))) {
        tg_traced_job_end(job, TG_JOB_END_KILL);
        tg_console_attend(console);
        error = run_again(console, &rerun, out);
    }
    remade->is_at_it = false;
    free(rerun.points);
    return error != NULL ? error : tg_run_go(console, out);
}

const struct tg_console_command tg_console_drun = {
    .name = "drun",
    .arguments = "",
    .summary = "runs the command from the start; a command that has already run is restarted",
    .example = "drun",
    .more =
        "Processes of the previous run are killed; each run writes a trace of its own. Action points are\n"
        "set again, those for ranks and other processes that do not exist yet as soon as they appear.",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_drun,
};
