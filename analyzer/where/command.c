/* `tollgate where` */
#include "analyzer/where/command.h"

#include "analyzer/output/output_file.h"
#include "analyzer/output/selection.h"
#include "analyzer/output/trace_choice.h"
#include "analyzer/where/messages.h"
#include "analyzer/where/page.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY_PID = 'p',
    KEY_JSON = 'j',
    KEY_ALL = 'a',
    KEY_THREADS = 't',
    KEY_ONCE = 0x4000,
    KEY_INTERVAL,
    KEY_REPEAT,
    KEY_DOT,
    KEY_HTML,
    KEY_FORCE,
    KEY_STEP,
    KEY_ARGS,
    KEY_NO_ARGS,
    MAX_JOBS = 64,
    MAX_LOOKS = 1000,
};

struct where_arguments {
    const struct tg_command_services *services;
    const char *path;   /* of a trace, NULL none */
    const char **cores; /* core files */
    size_t n_cores;
    int32_t *pids;
    size_t n_pids;
    const char *step;       /* of Slurm, NULL none */
    const char *dot, *html; /* files to be written, NULL none */
    bool json, all, once, threads, force, no_args;
    uint64_t repeat; /* looks, 0 not said */
    uint64_t interval_ns;
    bool has_interval;
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
        tg_command_line_error(state, "-p takes the id of a process, not '%s'",
                              tg_printable(word, shown, sizeof shown));
    arguments->error = TG_ARRAY_APPEND_EXACT(arguments->pids, arguments->n_pids, pid);
    return arguments->error == NULL ? 0 : ENOMEM;
}

/* One trace, or core files: where one of them is a core file the others should be, too, and the answer says what they are. */
static void choose_files(struct where_arguments *arguments, struct argp_state *state)
{
    bool has_core = false;
    for (size_t i = 0; i < arguments->n_cores; i++)
        has_core |= arguments->services->is_core(arguments->cores[i]);
    if (has_core || arguments->n_cores == 0)
        return;
    if (arguments->n_cores > 1)
        tg_command_line_error(state, "give one TRACE, or core files");
    arguments->path = arguments->cores[0];
    arguments->n_cores = 0;
}

static void parse_repeat(struct where_arguments *arguments, struct argp_state *state, const char *word)
{
    char *end, shown[64];
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    if (errno != 0 || *word < '0' || *word > '9' || *end != '\0' || value < 2 || value > MAX_LOOKS)
        tg_command_line_error(state, "--repeat takes a number of looks from 2 to %d, not '%s'", MAX_LOOKS,
                              tg_printable(word, shown, sizeof shown));
    arguments->repeat = value;
}

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static void check_files(const struct where_arguments *arguments, struct argp_state *state)
{
    const char *dot = arguments->dot, *html = arguments->html;
    if (arguments->json + is_standard_output(dot) + is_standard_output(html) > 1)
        tg_command_line_error(state, "only one of --json, --dot - and --html - can go to standard output");
    if (dot != NULL && html != NULL && strcmp(dot, html) == 0)
        tg_command_line_error(state, "--dot and --html need a file each");
}

static void check(struct where_arguments *arguments, struct argp_state *state)
{
    choose_files(arguments, state);
    bool has_file = arguments->path != NULL || arguments->n_cores > 0;
    if (has_file && arguments->n_pids > 0)
        tg_command_line_error(state, "give a TRACE, core files or -p: only one of them");
    if (arguments->once && (arguments->has_interval || arguments->repeat != 0))
        tg_command_line_error(state, "--once cannot be combined with --interval or --repeat");
    if (has_file && (arguments->has_interval || arguments->repeat != 0))
        tg_command_line_error(state, "--interval and --repeat are for processes that run");
    if (arguments->step != NULL && (has_file || arguments->n_pids > 0))
        tg_command_line_error(state, "give --slurm-step, -p or a TRACE: only one of them");
    check_files(arguments, state);
}

static void take_step(struct where_arguments *arguments, struct argp_state *state, const char *word)
{
    char shown[64];
    arguments->step = word;
    if (strchr(word, '.') == NULL)
        tg_command_line_error(state, "--slurm-step takes a job and its step, like 4711.0, not '%s'",
                              tg_printable(word, shown, sizeof shown));
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
    case KEY_REPEAT:
        parse_repeat(arguments, state, argument);
        return 0;
    case KEY_DOT:
        arguments->dot = argument;
        return 0;
    case KEY_HTML:
        arguments->html = argument;
        return 0;
    case KEY_FORCE:
        arguments->force = true;
        return 0;
    case KEY_ARGS:
    case KEY_NO_ARGS:
        arguments->no_args = key == KEY_NO_ARGS;
        return 0;
    case KEY_STEP:
        take_step(arguments, state, argument);
        return 0;
    case KEY_INTERVAL:
        arguments->error =
            tg_error_prefix(tg_selection_parse_time(argument, &arguments->interval_ns), "--interval");
        arguments->has_interval = true;
        return arguments->error == NULL ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        if (parse_pid(argument) != 0 && access(argument, F_OK) != 0) /* what is no file is a process */
            return add_pid(arguments, state, argument);
        arguments->error = TG_ARRAY_APPEND_EXACT(arguments->cores, arguments->n_cores, argument);
        return arguments->error == NULL ? 0 : ENOMEM;
    case ARGP_KEY_END:
        check(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"pid", KEY_PID, "PID", 0,
     "Look at process PID and its descendants: a launcher (mpirun, mpiexec), a rank, any program. "
     "May be given several times",
     0},
    {"slurm-step", KEY_STEP, "JOB.STEP", 0, "Look at the ranks of this Slurm job step that run here", 0},
    {"repeat", KEY_REPEAT, "N", 0, "Look N times: what moved between two looks is running (default: 2)", 0},
    {"interval", KEY_INTERVAL, "TIME", 0, "Time between two looks, in seconds (default: 0.5)", 0},
    {"once", KEY_ONCE, NULL, 0, "Look once: what runs cannot be told from what is stuck", 0},
    {"all", KEY_ALL, NULL, 0, "Also show launchers and other processes that are not ranks", 0},
    {"args", KEY_ARGS, NULL, 0,
     "Look for arguments of MPI calls: partner, tag, count, communicator (default)", 0},
    {"no-args", KEY_NO_ARGS, NULL, 0, "Do not look for arguments of MPI calls", 0},
    {"threads", KEY_THREADS, NULL, 0, "Also show every call of every thread", 0},
    {"dot", KEY_DOT, "FILE", 0, "Write the tree as a graph for Graphviz to FILE (-: standard output)", 0},
    {"html", KEY_HTML, "FILE", 0, "Write answer and tree as a page to FILE", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite existing files", 0},
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-where(1))", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[PID... | TRACE | CORE...]",
    .doc = "Say where a running job is, and who waits for whom: every process is stopped for some "
           "milliseconds, its stacks are taken, and it continues as if nothing had happened. The job need "
           "not have "
           "been started under tollgate. Without PID the job that runs here is looked at, if there is just "
           "one. With TRACE, shows the last stacks in a trace; with core files, one for each process, the "
           "stacks in them.",
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

/* "; ranks of 2.0, 3.0 do", "" where nobody's do. */
static void list_steps(const struct tg_running_job *jobs, size_t count, char *text, size_t size)
{
    char shown[64];
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < count && length < size; i++)
        if (strncmp(jobs[i].launcher_name, "srun", 4) == 0 ||
            strncmp(jobs[i].launcher_name, "slurmstepd", 10) == 0)
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s", length == 0 ? "; ranks of " : ", ",
                                 tg_printable(jobs[i].job, shown, sizeof shown));
    if (length > 0 && length < size)
        snprintf(text + length, size - length, " do");
}

/* A step may have several launchers here: the daemon of Slurm for each of its nodes. */
static struct tg_error *choose_step(struct where_arguments *arguments, const struct tg_running_job *jobs,
                                    size_t count)
{
    char shown[64], others[200];
    struct tg_error *error = NULL;
    list_steps(jobs, count, others, sizeof others);
    for (size_t i = 0; error == NULL && i < count; i++)
        if (strcmp(jobs[i].job, arguments->step) == 0)
            error = TG_ARRAY_APPEND_EXACT(arguments->pids, arguments->n_pids, jobs[i].launcher);
    if (error == NULL && arguments->n_pids == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "no rank of step %s that you may look at runs here%s",
                                tg_printable(arguments->step, shown, sizeof shown), others);
    return error;
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
    else if (arguments->step != NULL)
        error = choose_step(arguments, jobs, count);
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

enum { CLOSER_LOOKS = 8, MAX_CLOSER = 16 };

/* Looks in the order in which they were taken. */
struct looks {
    struct tg_where_look *items;
    size_t count;
    struct tg_return_watch *watch;             /* NULL none */
    struct tg_where_look closer[CLOSER_LOOKS]; /* at a few processes, after those */
    size_t n_closer;
};

static void deinit_looks(const struct where_arguments *arguments, struct looks *looks)
{
    arguments->services->watch_destroy(looks->watch);
    for (size_t i = 0; i < looks->n_closer; i++)
        tg_where_look_deinit(&looks->closer[i]);
    for (size_t i = 0; i < looks->count; i++)
        tg_where_look_deinit(&looks->items[i]);
    free(looks->items);
}

static struct tg_error *take_looks(const struct where_arguments *arguments, struct looks *looks)
{
    static const uint64_t interval_ns = 500000000;
    struct tg_look_request request = {.pids = arguments->pids,
                                      .count = arguments->n_pids,
                                      .with_descendants = true,
                                      .with_values = !arguments->no_args};
    const struct tg_core_request cores = {
        .paths = arguments->cores, .count = arguments->n_cores, .with_values = !arguments->no_args};
    struct tg_error *error = NULL;
    bool has_file = arguments->path != NULL || arguments->n_cores > 0;
    size_t wanted = has_file || arguments->once ? 1 : arguments->repeat != 0 ? arguments->repeat : 2;
    looks->items = calloc(wanted, sizeof *looks->items);
    if (looks->items == NULL)
        return tg_error_no_memory();
    if (wanted > 1)
        error = arguments->services->watch_create(&looks->watch);
    request.watch = looks->watch;
    for (size_t i = 0; error == NULL && i < wanted; i++) {
        if (i > 0)
            sleep_ns(arguments->has_interval ? arguments->interval_ns : interval_ns);
        looks->count = i + 1;
        error = tg_where_look_create(&looks->items[i]);
        if (error == NULL && arguments->path != NULL)
            error = tg_where_look_read(&looks->items[i], arguments->path);
        else if (error == NULL && arguments->n_cores > 0)
            error = tg_where_look_take_cores(&looks->items[i], arguments->services, &cores);
        else if (error == NULL)
            error = tg_where_look_take(&looks->items[i], arguments->services, &request);
        if (error == NULL && i > 0)
            tg_where_look_join_pauses(&looks->items[i], &looks->items[i - 1]);
    }
    return error;
}

/* What moved between any two looks moves. */
static struct tg_error *make_threads(const struct looks *looks, struct tg_where_threads *threads)
{
    struct tg_error *error = tg_where_threads_make(
        &looks->items[looks->count - 1], looks->count > 1 ? &looks->items[looks->count - 2] : NULL, threads);
    threads->n_looks = looks->count;
    for (size_t i = looks->count; error == NULL && i > 2; i--) {
        struct tg_where_threads earlier;
        error = tg_where_threads_make(&looks->items[i - 2], &looks->items[i - 3], &earlier);
        if (error == NULL)
            tg_where_threads_join_moves(threads, &earlier);
        tg_where_threads_deinit(&earlier);
    }
    return error;
}

/* One more look at the COUNT processes PIDS: what moved since the last one has moved. */
static struct tg_error *look_once_more(const struct where_arguments *arguments, const int32_t *pids,
                                       size_t count, struct looks *looks, struct tg_where_threads *threads)
{
    const struct tg_look_request request = {
        .pids = pids, .count = count, .with_values = true, .watch = looks->watch};
    struct tg_where_look *before = looks->n_closer > 0 ? &looks->closer[looks->n_closer - 1]
                                                       : &looks->items[looks->count - 1],
                         *look = &looks->closer[looks->n_closer];
    struct tg_where_threads more = {0};
    struct tg_error *error = tg_where_look_create(look);
    looks->n_closer++;
    if (error == NULL)
        error = tg_where_look_take(look, arguments->services, &request);
    if (error == NULL)
        error = tg_where_threads_make(look, before, &more);
    if (error == NULL)
        tg_where_threads_join_moves(threads, &more);
    tg_where_threads_deinit(&more);
    return error;
}

/* A message that takes long to come looks like a deadlock, but for moments in which somebody copies: so who seems to be in one is
 * looked at a few times more. */
static struct tg_error *look_closer(const struct where_arguments *arguments, struct looks *looks,
                                    struct tg_where_threads *threads)
{
    enum { PAUSE_NS = 7000000, STEP_NS = 1700000 };
    int32_t pids[MAX_CLOSER];
    size_t *members = NULL, count = 0;
    struct tg_error *error =
        looks->watch != NULL ? tg_where_find_deadlocked(threads, &members, &count) : NULL;
    count = count < MAX_CLOSER ? count : MAX_CLOSER;
    for (size_t i = 0; i < count; i++)
        pids[i] = threads->threads[members[i]].stack->pid;
    free(members);
    for (size_t i = 0; error == NULL && count > 0 && i < CLOSER_LOOKS; i++) {
        sleep_ns(PAUSE_NS + i * STEP_NS);
        error = look_once_more(arguments, pids, count, looks, threads);
    }
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
    if (now->n_remarks > 0)
        return tg_error_create(TG_ERROR_INPUT, "%s", now->remarks[0]);
    if (now->n_refusals == 1)
        return tg_error_create(TG_ERROR_TARGET, "process %" PRId32 " cannot be looked at: %s",
                               now->refusals[0].pid, now->refusals[0].reason);
    if (now->n_refusals > 1)
        return tg_error_create(TG_ERROR_TARGET, "%zu processes cannot be looked at; process %" PRId32 ": %s",
                               now->n_refusals, now->refusals[0].pid, now->refusals[0].reason);
    return tg_error_create(TG_ERROR_TARGET, "the processes ended while they were looked at");
}

/* What a file is written from is not overwritten, not even with --force. */
static struct tg_error *check_output(const struct where_arguments *arguments, const char *path)
{
    struct tg_error *error = tg_output_check(path, arguments->force);
    if (error == NULL && arguments->path != NULL)
        error = tg_output_refuse_input(path, arguments->path);
    for (size_t i = 0; error == NULL && i < arguments->n_cores; i++)
        error = tg_output_refuse_input(path, arguments->cores[i]);
    return error;
}

static struct tg_error *write_file(const struct where_arguments *arguments, const char *path,
                                   void (*write_page)(FILE *stream, const struct tg_where_page *page),
                                   const struct tg_where_page *page)
{
    struct tg_output *output = NULL;
    struct tg_error *error = tg_output_open(path, arguments->force, &output);
    if (error == NULL)
        write_page(tg_output_stream(output), page);
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    return error;
}

static struct tg_error *write_answer(const struct where_arguments *arguments, const struct tg_where_look *now,
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
                                       .is_past = arguments->path != NULL || arguments->n_cores > 0};
    if (error == NULL && arguments->dot != NULL)
        error = write_file(arguments, arguments->dot, tg_where_write_dot, &page);
    if (error == NULL && arguments->html != NULL)
        error = write_file(arguments, arguments->html, tg_where_write_html, &page);
    if (error == NULL && arguments->json)
        tg_where_write_json(tg_output_stream(output), &page);
    else if (error == NULL && !is_standard_output(arguments->dot) && !is_standard_output(arguments->html))
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
    struct looks looks = {0};
    struct tg_where_threads threads = {0};
    struct tg_output *output = NULL;
    struct tg_error *error = NULL;
    if (arguments->path != NULL)
        error = tg_trace_choice_check(arguments->path);
    else if (arguments->n_pids == 0 && arguments->n_cores == 0)
        error = choose_job(arguments);
    if (error == NULL) /* before the job is stopped for an answer that could not be written */
        error = check_output(arguments, arguments->dot);
    if (error == NULL)
        error = check_output(arguments, arguments->html);
    if (error == NULL)
        error = tg_output_open(NULL, false, &output);
    if (error == NULL)
        error = take_looks(arguments, &looks);
    if (error == NULL)
        error = check_look(arguments, &looks.items[looks.count - 1]);
    if (error == NULL)
        error = make_threads(&looks, &threads);
    if (error == NULL)
        error = look_closer(arguments, &looks, &threads);
    if (error == NULL)
        error = write_answer(arguments, &looks.items[looks.count - 1], &threads, output);
    tg_where_threads_deinit(&threads);
    deinit_looks(arguments, &looks);
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
    free(arguments.cores);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_where_command = {
    .name = "where",
    .summary = "where a running job is, and who waits for whom",
    .run = run,
};
