/* `tollgate where` */
#include "analyzer/where/command.h"

#include "analyzer/output/output_file.h"
#include "analyzer/output/selection.h"
#include "analyzer/output/trace_choice.h"
#include "analyzer/where/page.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum {
    KEY_PID = 'p',
    KEY_JSON = 'j',
    KEY_ALL = 'a',
    KEY_THREADS = 't',
    KEY_ONCE = 0x4000,
    KEY_INTERVAL,
    MAX_JOBS = 64
};

struct where_arguments {
    const struct tg_command_services *services;
    const char *path; /* of a trace, NULL none */
    int32_t *pids;
    size_t n_pids;
    bool json, all, once, threads;
    uint64_t interval_ns;
    struct tg_error *error;
};

/* A process id; 0 where WORD is none. */
static int32_t parse_pid(const char *word)
{
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    return errno == 0 && *word >= '0' && *word <= '9' && *end == '\0' && value > 0 && value <= INT32_MAX
               ? (int32_t)value
               : 0;
}

static error_t add_pid(struct where_arguments *arguments, struct argp_state *state, const char *word)
{
    int32_t pid = parse_pid(word);
    char shown[64];
    if (pid == 0)
        argp_error(state, "-p takes the id of a process, not '%s'", tg_printable(word, shown, sizeof shown));
    arguments->error = TG_ARRAY_APPEND_EXACT(arguments->pids, arguments->n_pids, pid);
    return arguments->error == NULL ? 0 : ENOMEM;
}

static void check(const struct where_arguments *arguments, struct argp_state *state)
{
    if (arguments->path != NULL && arguments->n_pids > 0)
        argp_error(state, "give a TRACE or -p, not both");
    if (arguments->once && arguments->interval_ns != 0)
        argp_error(state, "--once and --interval cannot be combined");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct where_arguments *arguments = state->input;
    switch (key) {
    case KEY_PID:
        return add_pid(arguments, state, argument);
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_ALL:
        arguments->all = true;
        return 0;
    case KEY_ONCE:
        arguments->once = true;
        return 0;
    case KEY_THREADS:
        arguments->threads = true;
        return 0;
    case KEY_INTERVAL:
        arguments->error =
            tg_error_prefix(tg_selection_parse_time(argument, &arguments->interval_ns), "--interval");
        return arguments->error == NULL ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        if (arguments->path != NULL)
            argp_error(state, "give one TRACE, not several");
        arguments->path = argument;
        return 0;
    case ARGP_KEY_END:
        check(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"pid", KEY_PID, "PID", 0,
     "Look at process PID and all that descend from it: a launcher (mpirun, mpiexec), a rank, any program. "
     "May be given several times",
     0},
    {"interval", KEY_INTERVAL, "TIME", 0, "Time between the two looks, in seconds (default: 0.5)", 0},
    {"once", KEY_ONCE, NULL, 0, "Look once: what moves cannot be told from what does not", 0},
    {"all", KEY_ALL, NULL, 0, "Show launchers and other processes that are no ranks, too", 0},
    {"threads", KEY_THREADS, NULL, 0, "Show every call of every thread, too", 0},
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-where(1))", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc = "Say where a running job is, and who waits for whom: every process is stopped for some "
           "milliseconds, its stacks are taken, and it goes on as if nothing had been. The job need not have "
           "been started under tollgate. Without -p the job that runs here is looked at, if there is just "
           "one. With TRACE, the last stacks in a trace.",
};

/* ---- which processes */

static struct tg_error *list_jobs(const struct tg_running_job *jobs, size_t count)
{
    char program[64], launcher[64];
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  -p %-8" PRId32 " %s, %zu rank%s%s%s\n", jobs[i].launcher,
                tg_printable(jobs[i].program, program, sizeof program), jobs[i].ranks,
                jobs[i].ranks == 1 ? "" : "s", *jobs[i].launcher_name != '\0' ? ", under " : "",
                tg_printable(jobs[i].launcher_name, launcher, sizeof launcher));
    return tg_error_create(TG_ERROR_USAGE, "several jobs run here: choose one of those above with -p PID");
}

static struct tg_error *choose_job(struct where_arguments *arguments)
{
    struct tg_running_job *jobs = calloc(MAX_JOBS, sizeof *jobs);
    if (jobs == NULL)
        return tg_error_no_memory();
    size_t count = arguments->services->find_jobs(jobs, MAX_JOBS);
    struct tg_error *error = NULL;
    if (count == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "no MPI job that you may look at runs on this machine; "
                                                    "name a process with -p PID");
    else if (count > 1)
        error = list_jobs(jobs, count);
    else
        error = TG_ARRAY_APPEND_EXACT(arguments->pids, arguments->n_pids, jobs[0].launcher);
    free(jobs);
    return error;
}

/* ---- looking */

static void sleep_ns(uint64_t ns)
{
    struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        continue;
}

static struct tg_error *look(const struct where_arguments *arguments, struct tg_where_look *before,
                             struct tg_where_look *now)
{
    static const uint64_t interval_ns = 500000000;
    const struct tg_look_request request = {
        .pids = arguments->pids, .count = arguments->n_pids, .with_descendants = true};
    struct tg_error *error = NULL;
    if (arguments->path != NULL)
        return tg_where_look_read(now, arguments->path);
    if (!arguments->once) {
        error = tg_where_look_take(before, arguments->services, &request);
        if (error == NULL)
            sleep_ns(arguments->interval_ns != 0 ? arguments->interval_ns : interval_ns);
    }
    if (error == NULL)
        error = tg_where_look_take(now, arguments->services, &request);
    if (error == NULL && before->longest_pause_ns > now->longest_pause_ns)
        now->longest_pause_ns = before->longest_pause_ns;
    return error;
}

/* An error where there is nothing to show. */
static struct tg_error *check_look(const struct where_arguments *arguments, const struct tg_where_look *now)
{
    if (tg_stack_model_count(now->stacks) > 0)
        return NULL;
    if (arguments->path != NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "%s has no stacks: they are recorded when a job crashes, or is asked to end",
                               arguments->path);
    if (now->n_refusals > 0)
        return tg_error_create(TG_ERROR_TARGET, "%s", now->refusals[0].reason);
    return tg_error_create(TG_ERROR_TARGET, "the processes ended while they were looked at");
}

static struct tg_error *write(const struct where_arguments *arguments, const struct tg_where_look *now,
                              const struct tg_where_threads *threads, struct tg_output *output)
{
    struct tg_where_verdict verdict = {0};
    struct tg_where_node *ranks = NULL, *others = NULL;
    struct tg_error *error = tg_where_verdict_make(threads, &verdict);
    if (error == NULL)
        error = tg_where_tree_make(threads, true, &ranks);
    if (error == NULL)
        error = tg_where_tree_make(threads, false, &others);
    const struct tg_where_page page = {.look = now,
                                       .threads = threads,
                                       .verdict = &verdict,
                                       .ranks = ranks,
                                       .others = others,
                                       .with_others = arguments->all,
                                       .with_threads = arguments->threads,
                                       .path = arguments->path};
    if (error == NULL && arguments->json)
        tg_where_write_json(tg_output_stream(output), &page);
    else if (error == NULL)
        tg_where_write_text(tg_output_stream(output), &page);
    if (error == NULL)
        error = tg_output_commit(output);
    tg_where_tree_destroy(ranks);
    tg_where_tree_destroy(others);
    tg_where_verdict_deinit(&verdict);
    return error;
}

static struct tg_error *run_where(struct where_arguments *arguments)
{
    struct tg_where_look before = {0}, now = {0};
    struct tg_where_threads threads = {0};
    struct tg_output *output = NULL;
    struct tg_error *error = NULL;
    if (arguments->path != NULL)
        error = tg_trace_choice_check(arguments->path);
    else if (arguments->n_pids == 0)
        error = choose_job(arguments);
    if (error == NULL)
        error = tg_output_open(NULL, false, &output);
    if (error == NULL)
        error = tg_where_look_create(&before);
    if (error == NULL)
        error = tg_where_look_create(&now);
    if (error == NULL)
        error = look(arguments, &before, &now);
    if (error == NULL)
        error = check_look(arguments, &now);
    if (error == NULL)
        error = tg_where_threads_make(&now, arguments->path == NULL && !arguments->once ? &before : NULL,
                                      &threads);
    if (error == NULL)
        error = write(arguments, &now, &threads, output);
    tg_where_threads_deinit(&threads);
    tg_where_look_deinit(&now);
    tg_where_look_deinit(&before);
    tg_output_destroy(output);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct where_arguments arguments = {.services = services};
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (tg_command_line_parse(&argp, TG_COMMAND_LINE_OPERANDS, argc, argv, &arguments) != 0) {
        error = arguments.error != NULL ? arguments.error : tg_error_no_memory();
    } else {
        error = run_where(&arguments);
    }
    free(arguments.pids);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_where_command = {
    .name = "where",
    .summary = "where a running job is, and who waits for whom",
    .run = run,
};
