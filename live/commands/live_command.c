/* `tollgate live` */
#include "live/commands/live_command.h"

#include "format/base/printable.h"
#include "live/commands/info/heap_stop.h"
#include "live/commands/table.h"
#include "live/console/base.h"
#include "live/console/console.h"
#include "live/console/eval.h"
#include "live/console/json_console.h"
#include "live/console/script.h"
#include "live/control/end_signals.h"
#include "live/control/job_source.h"
#include "live/control/traced_job.h"
#include "recorder/record/attached_ranks.h"
#include "recorder/record/front.h"
#include "recorder/record/options.h"
#include "recorder/record/summary_words.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_RUN = 0x1000, KEY_INPUT };

struct live_arguments {
    struct tg_console_script script;
    bool runs;         /* nothing is stopped at the start */
    const char *input; /* standard input of the command, NULL not given */
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct live_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->script;
        return 0;
    case KEY_RUN:
        arguments->runs = true;
        return 0;
    case KEY_INPUT:
        arguments->input = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"run", KEY_RUN, NULL, 0, "Let the job run at once instead of stopping it at its start", 5},
    {"input", KEY_INPUT, "FILE", 0,
     "Standard input of COMMAND (default: /dev/null if the console reads standard input or it is a terminal)",
     5},
    {0},
};

static const struct argp_child children[] = {{.argp = &tg_console_script_argp, .group = 5}, {0}};

static const struct argp argp = {.options = options, .parser = parse_option, .children = children};

static const char doc[] =
    "Run COMMAND, or attach to processes, and control them: breakpoints and barriers for ranks and threads, "
    "stacks and variables, dlopen filter modes. Everything is recorded as well. Commands are Tcl and come "
    "from "
    "-x, -e or standard input; `help` lists them."
    "\vThe exit status is that of `quit`; otherwise 1 if a command failed; otherwise that of COMMAND as a "
    "shell "
    "shows it, or 0 if COMMAND was still running. See tollgate-live(1).";

/* Opens what the command is to read. */
static struct tg_error *open_input(const struct live_arguments *arguments,
                                   struct tg_record_options *recording)
{
    const char *path = arguments->input;
    bool is_ours = tg_console_script_reads_input(&arguments->script) || isatty(STDIN_FILENO);
    if (path == NULL && !is_ours)
        return NULL;
    recording->standard_input = open(path == NULL ? "/dev/null" : path, O_RDONLY | O_CLOEXEC);
    if (recording->standard_input < 0)
        return tg_error_create_errno(errno, "cannot open %s", path == NULL ? "/dev/null" : path);
    recording->has_standard_input = true;
    return NULL;
}

static void print_summary(struct tg_traced_job *job)
{
    struct tg_recording_summary summary = tg_traced_job_summary(job);
    fflush(stdout);
    fputs("tollgate: ", stderr);
    tg_printable_write(stderr, tg_traced_job_trace(job));
    fprintf(stderr, "%s: %" PRIu64 " events from %" PRIu64 " process%s",
            summary.complete ? "" : ".incomplete", summary.events, summary.processes,
            summary.processes == 1 ? "" : "es");
    tg_summary_words_losses(stderr, &summary);
    fputc('\n', stderr);
    if (!summary.complete)
        tg_summary_words_next(stderr, tg_traced_job_trace(job), &summary);
}

/* Exit status of the console, or OF_JOB, that of the command: 0 where the command was killed or detached in
 * the end. */
static int exit_status(const struct tg_console *console, int of_job, bool all_well)
{
    int status = 0;
    if (!all_well)
        status = 1;
    else if (WIFSIGNALED(of_job))
        status = 128 + WTERMSIG(of_job);
    else if (WIFEXITED(of_job))
        status = WEXITSTATUS(of_job);
    tg_console_has_quit(console, &status);
    return status;
}

/* Somebody at a terminal is asked. */
static enum tg_job_end ask(enum tg_job_end usual)
{
    char line[80];
    printf("The job is still running: kill it or detach from it? [%s] ",
           usual == TG_JOB_END_KILL ? "kill" : "detach");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        return usual;
    return *line == 'k' || *line == 'K'   ? TG_JOB_END_KILL
           : *line == 'd' || *line == 'D' ? TG_JOB_END_DETACH
                                          : usual;
}

static enum tg_job_end find_end(const struct tg_console *console, const struct tg_record_options *recording,
                                struct tg_traced_job *job)
{
    enum tg_console_leaving leaving = console == NULL ? TG_LEAVING_NOT_SAID : tg_console_leaving(console);
    enum tg_job_end usual = recording->command != NULL ? TG_JOB_END_KILL : TG_JOB_END_DETACH;
    int status;
    if (leaving != TG_LEAVING_NOT_SAID)
        return leaving == TG_LEAVING_KILL ? TG_JOB_END_KILL : TG_JOB_END_DETACH;
    bool runs = console != NULL && !tg_traced_job_has_ended(job, &status);
    if (runs && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return ask(usual);
    if (runs && usual == TG_JOB_END_KILL && !recording->quiet)
        fputs("tollgate: the commands have ended before the job, which is killed (`dcont` waits for it, "
              "`quit -detach` lets it run)\n",
              stderr);
    return usual;
}

/* The process in front was killed. */
static void end_session(void *context)
{
    (void)context;
    tg_end_signals_take(SIGTERM);
}

/* What settings files say to the console; the dlopen filter is the recording's already. */
static void apply_files(struct tg_console *console, const struct tg_record_options *recording)
{
    const struct tg_settings *settings = &recording->settings;
    for (size_t i = 0; i < settings->n_console; i++) {
        const struct tg_console_value *value = &settings->console[i];
        TG_AUTO_ERROR struct tg_error *error =
            tg_console_settings_set(console->settings, value->name, value->value);
        if (error != NULL)
            error = tg_error_prefix(error, "%s: skipped", value->where);
        if (error != NULL && !recording->quiet)
            recording->say(tg_error_message(error));
    }
}

/* Where blocks are checked, a mistake stops the thread that makes it. */
static void stop_at_heap_errors(struct tg_console *console, const struct tg_record_options *recording,
                                bool as_json)
{
    uint32_t point = recording->heap.mode == TG_AGENT_HEAP_CHECK ? tg_heap_stop_at_errors(console) : 0;
    if (point != 0 && !as_json && !recording->quiet)
        printf("action point %" PRIu32 " stops threads that misuse the heap (`dheap -event_filter`)\n",
               point);
}

/* Ends what still runs, or lets it go. Returns the exit status of a job that had ended by itself, else 0. CONSOLE is NULL
 * where there was none. */
static int end_job(struct tg_traced_job *job, struct tg_console *console,
                   const struct tg_record_options *recording)
{
    int status = 0;
    if (console != NULL && tg_console_leaving(console) == TG_LEAVING_NOT_SAID)
        tg_traced_job_await_launchers(job);
    if (!tg_traced_job_has_ended(job, &status))
        status = 0;
    tg_traced_job_end(job, find_end(console, recording, job));
    return status;
}

/* FRONT is NULL where the session did not begin with processes to attach to. */
static struct tg_error *control(const struct live_arguments *arguments,
                                const struct tg_record_options *recording, struct tg_front *front,
                                const struct tg_command_services *services, int *status)
{
    struct tg_traced_job *job = NULL;
    struct tg_source *source = NULL;
    struct tg_console *console = NULL;
    struct tg_json_console *json = NULL;
    bool all_well = true;
    const struct tg_stop_policy stops = {
        .at_start = !arguments->runs, .ranks = !arguments->runs, .signals = true};
    struct tg_error *error = arguments->script.as_json ? tg_json_console_create(&json) : NULL;
    bool has_signals = error == NULL && (error = tg_end_signals_catch()) == NULL;
    if (error == NULL)
        error = tg_traced_job_create(recording, &stops, json != NULL, &job);
    if (error != NULL) {
        if (has_signals)
            tg_end_signals_end();
        tg_json_console_destroy(json);
        tg_front_destroy(front);
        return error;
    }
    struct tg_console_options console_options = {
        .out = stdout, .errors = stderr, .table = &tg_command_table, .services = services, .live = job};
    if (json != NULL)
        tg_json_console_options(json, &console_options);
    error = tg_job_source_create(job, recording->trace, recording->trace, &source);
    if (error == NULL)
        error = tg_console_create(source, &console_options, &console);
    if (error == NULL)
        apply_files(console, recording);
    if (error == NULL)
        error = tg_end_signals_begin(job, recording->command != NULL ? TG_JOB_END_KILL : TG_JOB_END_DETACH);
    if (error == NULL && front != NULL)
        error = tg_front_watch(front, end_session, NULL);
    const struct tg_console_start start = {
        .mode = "live",
        .name = recording->command != NULL ? recording->command[0] : recording->trace,
        .greeting = "Type `help` for the commands, `dgo` (or `c`) to start the job, `quit` to end."};
    if (error == NULL)
        tg_traced_job_await_attached(job);
    if (error == NULL)
        stop_at_heap_errors(console, recording, json != NULL);
    if (error == NULL)
        error = tg_console_script_run(&arguments->script, console, json, &start, &all_well);
    tg_front_destroy(front);
    int of_job = end_job(job, console, recording);
    tg_end_signals_end();
    if (error == NULL) {
        tg_console_attend(console);
        *status = exit_status(console, of_job, all_well);
        error = json != NULL ? tg_json_console_end(json, *status) : tg_console_written(console);
    }
    if (!recording->quiet)
        print_summary(job);
    tg_json_console_destroy(json);
    tg_console_destroy(console);
    tg_source_destroy(source);
    tg_traced_job_destroy(job);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct live_arguments arguments = {0};
    const struct tg_record_options_more more = {.argp = &argp, .input = &arguments, .doc = doc};
    struct tg_record_options recording;
    int status = 0;
    TG_AUTO_ERROR struct tg_error *error =
        tg_record_options_parse(argc, argv, &more, tg_printable_message, &recording);
    if (error == NULL) {
        recording.own_group = true;
        struct tg_front *front = NULL;
        error = tg_attached_ranks_add(&recording, services);
        if (error == NULL && recording.n_pids > 0)
            error = tg_front_create(&front);
        if (error == NULL)
            error = open_input(&arguments, &recording);
        if (error == NULL)
            error = control(&arguments, &recording, front, services, &status);
        if (recording.has_standard_input)
            close(recording.standard_input);
        tg_record_options_deinit(&recording);
    }
    tg_console_script_deinit(&arguments.script);
    if (error != NULL) {
        tg_printable_error(error);
        return tg_error_exit_status(error);
    }
    return status;
}

const struct tg_command tg_live_command = {
    .name = "live",
    .summary = "control and record a running job",
    .run = run,
};
