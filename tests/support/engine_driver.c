/* Runs a command, or attaches to processes, under the engine alone, and writes what the engine says as lines
 * of text: "pid=TID/PID kind field=value...". For tests of the engine; what it exits with is what the command
 * exited with, a signal is raised again.
 *
 *   engine_driver [-o FILE] [-b HEXOFFSET[,user]]... [-c SEED] [-k] [-a LIBRARIES -d RINGS] [--] COMMAND...
 *   engine_driver [-o FILE] [-b ...]... [-r ROUNDS] [-n HITS] -p PID...
 *
 * -b plants a breakpoint at that offset of the first program wherever it is executed (load bias added); -p
 * attaches, -r detaches and attaches again so many times. A line "hits N" at the end counts breakpoint hits.
 * -c meddles: another thread has the engine halt, step and let go threads chosen at random, and some hits
 * keep their thread, until the command has ended; a line "kept N stepped N" tells how often. -a puts the
 * agent of that directory (absolute) into the programs, -d says where its rings go. */
#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/memory.h"
#include "recorder/record/ptrace_use.h"

#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BREAKPOINTS = 1024, MAX_PIDS = 16, MAX_FOLLOWED = 4096 };

struct driver {
    FILE *output;
    bool kill_on_exit;
    struct tg_engine *engine;
    struct tg_observer observer;
    struct tg_image_cache *images;
    struct tg_ptrace_use *use;
    struct tg_agent_files files;
    struct tg_agent_injector *injector; /* NULL: no agent is wanted */
    uint64_t offsets[MAX_BREAKPOINTS];
    enum tg_breakpoint_use uses[MAX_BREAKPOINTS];
    size_t n_offsets;
    pid_t pids[MAX_PIDS];
    size_t n_pids;
    unsigned long rounds;
    uint64_t hits;
    uint64_t hits_a_round; /* detach after so many, 0: at the first stop */
    uint64_t round_hits;
    bool stop_at_start;
    const char *libraries; /* of the agent, NULL none */
    const char *rings;
    bool meddles;
    pthread_t meddler;
    atomic_bool meddler_ends;
    atomic_uint n_asked; /* operations that are still to be carried out */
    unsigned n_meddled;
    unsigned seed;
    pid_t followed[MAX_FOLLOWED]; /* processes that the meddler may choose from */
    size_t n_followed;
    uint64_t halts;
    uint64_t steps;
    char program[4096]; /* the first program that ran: breakpoints are meant for it alone */
};

static struct tg_engine *engine_to_stop; /* for the signal handler */

static void print_record(FILE *output, const struct tg_record_schema *schema, const char *record)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        const char *member = record + field->offset;
        uint64_t value;
        if (field->type == TG_FIELD_LIST)
            continue;
        memcpy(&value, member, sizeof value);
        if (field->type == TG_FIELD_STRING)
            fprintf(output, " %s=%s", field->name, (const char *)value);
        else if (field->type == TG_FIELD_ENUM && tg_field_value_name(field, value) != NULL)
            fprintf(output, " %s=%s", field->name, tg_field_value_name(field, value));
        else if (field->type == TG_FIELD_ADDRESS)
            fprintf(output, " %s=0x%" PRIx64, field->name, value);
        else
            fprintf(output, " %s=%" PRId64, field->name, (int64_t)value);
    }
}

static void print_event(void *context, const struct tg_event *event)
{
    struct driver *driver = context;
    fprintf(driver->output, "%d/%d %s", (int)event->pid, (int)event->tid, tg_event_kind_name(event->kind));
    print_record(driver->output, tg_event_schema(event->kind), (const char *)&event->process_start);
    fputc('\n', driver->output);
}

static void count_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct driver *driver = context;
    (void)breakpoint;
    driver->hits++;
    driver->round_hits++;
    if (driver->meddles && rand_r(&driver->seed) % 4 == 0)
        tg_thread_keep(thread);
    if (driver->hits_a_round > 0 && driver->round_hits == driver->hits_a_round)
        tg_engine_request_stop(driver->engine);
}

/* ---- meddling */

static void follow(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                   struct tg_process *parent)
{
    struct driver *driver = context;
    (void)origin;
    (void)parent;
    if (driver->n_followed < MAX_FOLLOWED)
        driver->followed[driver->n_followed++] = thread->process->pid;
}

static void forget(void *context, struct tg_process *process)
{
    struct driver *driver = context;
    for (size_t i = 0; i < driver->n_followed; i++) {
        if (driver->followed[i] == process->pid) {
            driver->followed[i] = driver->followed[--driver->n_followed];
            return;
        }
    }
}

static void count_halt(void *context, struct tg_thread *thread)
{
    struct driver *driver = context;
    driver->halts += tg_thread_registers(thread) != NULL;
}

/* Once for each request: something with one thread, the latest process being chosen as often as all
 * others. */
static void meddle(void *context)
{
    struct driver *driver = context;
    if (driver->n_followed == 0)
        return;
    size_t chosen = rand_r(&driver->seed) % 2 ? driver->n_followed - 1
                                              : (unsigned)rand_r(&driver->seed) % driver->n_followed;
    struct tg_process *process = tg_engine_find_process(driver->engine, driver->followed[chosen]);
    if (process == NULL || process->threads == NULL)
        return;
    struct tg_thread *thread = process->threads;
    for (unsigned skip = (unsigned)rand_r(&driver->seed) % HASH_COUNT(process->threads); skip > 0; skip--)
        thread = thread->hh.next;
    unsigned action = (unsigned)rand_r(&driver->seed) % 8;
    if (!tg_thread_is_kept(thread) && action < 4) {
        tg_thread_halt(thread);
    } else if (tg_thread_is_kept(thread) && action < 4) {
        driver->steps++;
        tg_thread_step(thread);
    } else {
        tg_thread_go(thread);
    }
}

static void let_all_go(void *context)
{
    struct driver *driver = context;
    for (size_t i = 0; i < driver->n_followed; i++) {
        struct tg_process *process = tg_engine_find_process(driver->engine, driver->followed[i]);
        for (struct tg_thread *thread = process == NULL ? NULL : process->threads; thread != NULL;
             thread = thread->hh.next)
            tg_thread_go(thread);
    }
}

/* On the tracer thread: every operation that the meddler has asked for since the last time. */
static void serve(void *context)
{
    struct driver *driver = context;
    for (unsigned n = atomic_exchange(&driver->n_asked, 0); n > 0; n--) {
        if (driver->n_meddled++ % 1000 < 900)
            meddle(driver);
        else
            let_all_go(driver);
    }
}

/* A burst of a thousand operations, then the job has a while for itself, so that it ends. */
static void *meddle_on(void *context)
{
    struct driver *driver = context;
    const struct timespec pause = {.tv_nsec = 50 * 1000};
    while (!atomic_load(&driver->meddler_ends)) {
        atomic_fetch_add(&driver->n_asked, 1);
        tg_engine_wake(driver->engine);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Load bias from the program headers in memory: PT_PHDR, 0 for a program that is not position-independent. */
static uint64_t bias_of(const struct tg_process *process, pid_t tid)
{
    for (uint64_t i = 0; i < process->n_phdr && process->bits == 64; i++) {
        Elf64_Phdr header;
        if (tg_memory_read(tid, process->phdr + i * sizeof header, &header, sizeof header) &&
            header.p_type == PT_PHDR)
            return process->phdr - header.p_vaddr;
    }
    for (uint64_t i = 0; i < process->n_phdr && process->bits == 32; i++) {
        Elf32_Phdr header;
        if (tg_memory_read(tid, process->phdr + i * sizeof header, &header, sizeof header) &&
            header.p_type == PT_PHDR)
            return process->phdr - header.p_vaddr;
    }
    return 0;
}

static void plant_all(void *context, struct tg_thread *thread, bool attached)
{
    struct driver *driver = context;
    (void)attached;
    if (driver->stop_at_start)
        tg_engine_request_stop(driver->engine);
    char link[32], program[sizeof driver->program] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)thread->process->pid);
    ssize_t length = readlink(link, program, sizeof program - 1);
    if (length <= 0 || (driver->program[0] != '\0' && strcmp(program, driver->program) != 0))
        return;
    strcpy(driver->program, program);
    uint64_t bias = bias_of(thread->process, thread->tid);
    for (size_t i = 0; i < driver->n_offsets; i++) {
        TG_AUTO_ERROR struct tg_error *error = tg_breakpoint_plant(thread->process, bias + driver->offsets[i],
                                                                   driver->uses[i], count_hit, driver, NULL);
        /* A thread that is killed in this moment has no registers any more: nothing is wrong then. */
        if (error != NULL && tg_thread_registers(thread) != NULL && thread->process->bits != 0)
            fprintf(driver->output, "breakpoint: %s\n", tg_error_message(error));
    }
}

static void stop_engine(int signal)
{
    (void)signal;
    tg_engine_request_stop(engine_to_stop);
}

_Noreturn static void usage(void)
{
    fputs("usage: engine_driver [-o FILE] [-b OFFSET[,user]]... [-k] [-a LIBRARIES -d RINGS] COMMAND... | -p "
          "PID... [-r ROUNDS]\n",
          stderr);
    exit(2);
}

static void add_breakpoint(struct driver *driver, const char *text)
{
    if (driver->n_offsets == MAX_BREAKPOINTS)
        usage();
    char *end;
    driver->offsets[driver->n_offsets] = strtoull(text, &end, 16);
    driver->uses[driver->n_offsets++] =
        strcmp(end, ",user") == 0 ? TG_BREAKPOINT_USER : TG_BREAKPOINT_INTERNAL;
}

static int fail(struct tg_error *error)
{
    int status = tg_error_exit_status(error);
    fprintf(stderr, "engine_driver: %s\n", tg_error_message(error));
    tg_error_destroy(error);
    return status;
}

static struct tg_error *attach_all(struct driver *driver)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; i < driver->n_pids && error == NULL; i++)
        error = tg_engine_attach(driver->engine, driver->pids[i]);
    return error;
}

static int pass_on(int status)
{
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static void read_arguments(struct driver *driver, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "+a:c:d:o:b:kn:p:r:")) != -1) {
        switch (option) {
        case 'a':
            driver->libraries = optarg;
            break;
        case 'c':
            driver->meddles = true;
            driver->seed = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'd':
            driver->rings = optarg;
            break;
        case 'o':
            driver->output = fopen(optarg, "we");
            break;
        case 'b':
            add_breakpoint(driver, optarg);
            break;
        case 'k':
            driver->kill_on_exit = true;
            break;
        case 'p':
            if (driver->n_pids < MAX_PIDS)
                driver->pids[driver->n_pids++] = atoi(optarg);
            break;
        case 'r':
            driver->rounds = strtoul(optarg, NULL, 10);
            break;
        case 'n':
            driver->hits_a_round = strtoul(optarg, NULL, 10);
            break;
        default:
            usage();
        }
    }
    if (driver->output == NULL || (optind == argc) == (driver->n_pids == 0) ||
        (driver->libraries == NULL) != (driver->rings == NULL))
        usage();
    setvbuf(driver->output, NULL, _IOLBF, 0);
}

/* The engine, and who observes it beside the driver. */
static struct tg_error *create_parts(struct driver *driver)
{
    const struct tg_engine_options options = {.sink = {.context = driver, .add = print_event},
                                              .serve = serve,
                                              .kill_on_exit = driver->kill_on_exit};
    struct tg_error *error = tg_engine_create(&options, &driver->engine);
    if (error != NULL)
        return error;
    engine_to_stop = driver->engine;
    signal(SIGUSR2, stop_engine);
    driver->observer = (struct tg_observer){.name = "driver",
                                            .context = driver,
                                            .program_loaded = plant_all,
                                            .process_started = follow,
                                            .process_ended = forget,
                                            .halted = count_halt};
    error = tg_engine_add_observer(driver->engine, &driver->observer, NULL);
    if (error == NULL)
        error = tg_image_cache_create(0, &driver->images);
    if (error == NULL)
        error = tg_ptrace_use_create(driver->engine, driver->images, &driver->use);
    if (error != NULL || driver->libraries == NULL)
        return error;
    error = tg_agent_files_find_in(driver->libraries, &driver->files);
    const struct tg_agent_injector_options agent = {.files = &driver->files,
                                                    .directory = driver->rings,
                                                    .directory_fd = -1,
                                                    .audit = true,
                                                    .images = driver->images};
    return error != NULL ? error : tg_agent_injector_create(driver->engine, &agent, &driver->injector);
}

static struct tg_error *run_command(struct driver *driver, char **command, int *status)
{
    struct tg_error *error = tg_engine_launch(driver->engine, command, NULL);
    if (error == NULL && driver->meddles)
        driver->meddles = pthread_create(&driver->meddler, NULL, meddle_on, driver) == 0;
    if (error == NULL)
        error = tg_engine_run(driver->engine, status);
    if (driver->meddles) {
        atomic_store(&driver->meddler_ends, true);
        pthread_join(driver->meddler, NULL);
        fprintf(driver->output, "kept %" PRIu64 " stepped %" PRIu64 "\n", driver->halts, driver->steps);
    }
    return error;
}

static struct tg_error *run_attached(struct driver *driver, int *status)
{
    struct tg_error *error = NULL;
    driver->stop_at_start = driver->rounds > 1 && driver->hits_a_round == 0;
    for (unsigned long i = 0; i < driver->rounds && error == NULL; i++) {
        driver->round_hits = 0;
        error = attach_all(driver);
        if (error == NULL)
            error = tg_engine_run(driver->engine, status);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct driver driver = {.output = stderr, .rounds = 1};
    int status = 0;
    read_arguments(&driver, argc, argv);
    struct tg_error *error = create_parts(&driver);
    if (error != NULL)
        return fail(error);
    error =
        driver.n_pids == 0 ? run_command(&driver, argv + optind, &status) : run_attached(&driver, &status);
    tg_engine_destroy(driver.engine);
    tg_ptrace_use_destroy(driver.use);
    tg_agent_injector_destroy(driver.injector);
    tg_agent_files_deinit(&driver.files);
    tg_image_cache_destroy(driver.images);
    fprintf(driver.output, "hits %" PRIu64 "\n", driver.hits);
    if (driver.output != stderr)
        fclose(driver.output);
    return error != NULL ? fail(error) : pass_on(status);
}
