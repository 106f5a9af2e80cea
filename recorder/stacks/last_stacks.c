#include "recorder/stacks/last_stacks.h"

#include "format/base/array.h"
#include "recorder/process/proc_status.h"
#include "recorder/stacks/signal_action.h"
#include "recorder/stacks/thread_stack.h"
#include "recorder/stacks/waits.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1 << 13,   /* of one snapshot */
    MAX_CAUGHT_FAULTS = 8,   /* of a process */
    MAX_LOOKS = 64,          /* at a process's handlers, for signals that seldom end one */
    INTERVALS_PER_LOOK = 50, /* a process that lives on faults runs at least so much longer than looks take */
    MAX_DEBUG_INFOS = 256,   /* kept between processes */
    INTERVALS_PER_SNAPSHOT = 20 /* the job runs at least so much longer than it stands for a snapshot */
};
static const uint64_t TOTAL_NS = 1000000000, HANDLED_NS = 500000000, EXITS_NS = 200000000,
                      NAMES_NS = 2000000000, ATTACHED_NS = 500000000, SOME_NAMES_NS = 50000000,
                      INTERVAL_NS = 500000000, REQUEST_NS = 3000000000, BUSY_NS = 2000000000,
                      GRACE_NS = 10000000000; /* time between a launcher's request and the kill */

/* What is known of a process, in its slot. */
struct known {
    bool is_launched;
    bool has_children;
    enum { PARALLEL_UNKNOWN, PARALLEL_YES, PARALLEL_NO } is_parallel;
    bool took_for_caught; /* the last fault was taken for caught, without a look */
    unsigned n_caught_faults, n_looks;
    uint64_t looked_ns, look_took_ns; /* at its handlers, for a fault that was caught */
    uint64_t covered_ns;              /* of its last snapshot, 0 none */
};

struct tg_last_stacks {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_code_table *table;
    struct tg_kept_arguments *kept; /* NULL: there was no memory */
    bool has_untold_names;          /* of code in a look at a process that was attached */
    bool (*is_in_mpi)(void *context, const struct tg_process *process); /* NULL: not known */
    void *mpi_context;
    struct tg_observer observer;
    size_t slot;
    uint64_t n_snapshots;
    uint64_t spent_ns, handled_ns, exits_ns; /* in all; for signals that did not end anything; for ends */
    uint64_t job_snapshot_ns, job_snapshot_took_ns;
    bool said_over;
};

static struct known *known_of(const struct tg_last_stacks *stacks, const struct tg_process *process)
{
    return process->data[stacks->slot];
}

/* ---- looking at threads */

static struct tg_stack_process open_process(struct tg_last_stacks *stacks, const struct tg_process *process)
{
    return tg_stack_process_open(tg_process_memory_tid(process), process->bits, stacks->images,
                                 stacks->debug);
}

/* Some threads that are looked at together. */
struct look {
    struct tg_thread **threads; /* threads of one process follow each other */
    size_t count, capacity;
    struct tg_event_stack like;
    uint64_t until_ns;
    bool makes_up; /* the end is moved by what the machine let the recorder wait for a processor */
    uint64_t start_ns, limit_ns; /* of MAKES_UP: its beginning, and its end without that */
    uint64_t waited_ns;          /* of MAKES_UP: how long this thread had waited before */
    size_t taken, stopped;
    struct tg_wait *waits;
    size_t n_waits, waits_capacity;
};

static size_t read_some(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(*(const pid_t *)context, address, buffer, size);
}

/* Whether there is time left for LOOK, DIVISOR-th of it. What this thread has waited for a processor meanwhile does not
 * count, up to BUSY_NS: on a machine that does other things a second may be over before a single stack is read. */
static bool has_time(struct look *look, unsigned divisor)
{
    uint64_t now_ns = tg_engine_now_ns();
    if (now_ns >= look->start_ns + (look->until_ns - look->start_ns) / divisor && look->makes_up) {
        uint64_t waited_ns = tg_proc_status_wait_time(gettid()) - look->waited_ns;
        look->until_ns = look->limit_ns + (waited_ns < BUSY_NS ? waited_ns : BUSY_NS);
    }
    return now_ns < look->start_ns + (look->until_ns - look->start_ns) / divisor;
}

/* What threads FIRST to END of LOOK, all of one process, wait for in the kernel. What there is no memory for is not
 * told. */
static void find_waits(struct look *look, size_t first, size_t end)
{
    struct tg_process *process = look->threads[first]->process;
    struct tg_halted_thread *threads = calloc(end - first, sizeof *threads);
    pid_t tid = tg_process_memory_tid(process);
    const struct tg_elf_memory memory = {read_some, &tid};
    struct tg_halted_threads halted = {0};
    struct tg_wait wait;
    for (size_t i = first; threads != NULL && i < end; i++) {
        struct tg_halted_thread *thread = &threads[i - first];
        thread->tid = look->threads[i]->tid;
        thread->is_stopped = tg_thread_stopped_registers(look->threads[i], &thread->registers);
    }
    if (threads != NULL)
        tg_error_destroy(tg_halted_threads_init(threads, end - first, &halted));
    for (size_t i = 0; i < halted.count && has_time(look, 1); i++)
        if (tg_wait_find(process->pid, &memory, true, &halted, i, &wait))
            tg_error_destroy(TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait));
    tg_halted_threads_deinit(&halted);
    free(threads);
}

/* The stacks of threads FIRST to END of LOOK, all of one process. Arguments of calls are looked for where nothing else
 * has seen the calls: in processes that were attached. */
static void take_process(struct tg_last_stacks *stacks, struct look *look, size_t first, size_t end)
{
    const struct tg_process *process = look->threads[first]->process;
    struct known *known = known_of(stacks, process);
    struct tg_stack_process opened = open_process(stacks, process);
    struct tg_thread_stack_reading reading = {
        .process = &opened,
        .table = stacks->table,
        .kept = process->attached ? stacks->kept : NULL,
    };
    if (reading.kept != NULL)
        reading.variables = tg_mpi_variables_find(&opened);
    if (known != NULL && look->like.reason != TG_STACK_LOOK) /* an end after a look is told */
        known->covered_ns = tg_engine_now_ns();
    for (size_t i = first; i < end && has_time(look, 1); i++) {
        reading.until_ns = look->until_ns;
        look->taken += tg_thread_is_stopped(look->threads[i]) &&
                       tg_thread_stack_emit(&reading, look->threads[i], &look->like);
    }
    tg_stack_process_close(&opened);
}

static void take(struct tg_last_stacks *stacks, struct look *look)
{
    for (size_t i = 0, end; i < look->count && has_time(look, 1); i = end) {
        bool is_stopped = false;
        for (end = i; end < look->count && look->threads[end]->process == look->threads[i]->process; end++)
            is_stopped |= tg_thread_is_stopped(look->threads[end]);
        if (!is_stopped)
            continue;
        take_process(stacks, look, i, end);
        if (look->like.snapshot != 0) /* of all its threads */
            find_waits(look, i, end);
    }
}

static void emit_wait(void *context, pid_t pid, pid_t tid, const struct tg_event *event)
{
    struct tg_event about = *event;
    about.pid = pid;
    about.tid = tid;
    tg_engine_emit_as(context, &about);
}

static void tell_waits(struct tg_last_stacks *stacks, const struct look *look)
{
    pid_t *pids = NULL;
    size_t count = 0, capacity = 0;
    struct tg_process *process = look->n_waits > 0 ? tg_engine_first_process(stacks->engine) : NULL;
    for (; process != NULL; process = process->hh.next)
        tg_error_destroy(TG_ARRAY_APPEND(pids, count, capacity, process->pid));
    for (size_t i = 0; i < look->n_waits; i++)
        tg_wait_tell(&look->waits[i], pids, count, emit_wait, stacks->engine);
    free(pids);
}

static void say_over(struct tg_last_stacks *stacks, struct tg_thread *thread)
{
    static const char text[] = "stacks: one second was spent on taking them; further ones are left out";
    if (!stacks->said_over)
        tg_engine_emit(stacks->engine, thread,
                       &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
    stacks->said_over = true;
}

/* The time until which something may last that has SHARE_NS in all, and spent SPENT_NS of it; 0: none left. */
static uint64_t time_left(struct tg_last_stacks *stacks, uint64_t share_ns, uint64_t spent_ns)
{
    uint64_t total = stacks->spent_ns < TOTAL_NS ? TOTAL_NS - stacks->spent_ns : 0;
    uint64_t share = spent_ns < share_ns ? share_ns - spent_ns : 0;
    uint64_t least = total < share ? total : share;
    return least == 0 ? 0 : tg_engine_now_ns() + least;
}

/* ---- one thread */

static void take_one(struct tg_last_stacks *stacks, struct tg_thread *thread, enum tg_stack_reason reason,
                     int signal, uint64_t share_ns, uint64_t *spent_ns)
{
    struct look look = {.threads = &thread,
                        .count = 1,
                        .like = {.reason = reason, .signal = signal},
                        .until_ns = time_left(stacks, share_ns, *spent_ns)};
    uint64_t start_ns = tg_engine_now_ns();
    struct known *known = known_of(stacks, thread->process);
    uint64_t covered_ns = known != NULL ? known->covered_ns : 0;
    if (look.until_ns != 0)
        take(stacks, &look);
    if (known != NULL)
        known->covered_ns = covered_ns; /* the other threads are not */
    uint64_t took_ns = tg_engine_now_ns() - start_ns;
    *spent_ns += took_ns;
    stacks->spent_ns += took_ns;
}

/* ---- snapshots */

static bool add_threads(struct look *look, struct tg_process *process)
{
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next)
        if (look->count == MAX_THREADS ||
            TG_ARRAY_APPEND(look->threads, look->count, look->capacity, thread) != NULL)
            return false;
    return true;
}

/* Threads of PROCESS (NULL: none) first, then the others', the youngest process first: launchers come last. */
static void add_job(struct tg_last_stacks *stacks, struct look *look, struct tg_process *first)
{
    struct tg_process *process = tg_engine_first_process(stacks->engine), *last = process;
    if (first != NULL)
        add_threads(look, first);
    for (; process != NULL; process = process->hh.next)
        last = process;
    for (process = last; process != NULL; process = process->hh.prev)
        if (process != first && !add_threads(look, process))
            return;
}

static void emit_snapshot(struct tg_last_stacks *stacks, struct tg_thread *thread, const struct look *look,
                          uint64_t took_ns)
{
    tg_engine_emit(stacks->engine, thread,
                   &(struct tg_event){.kind = TG_EVENT_STACK_SNAPSHOT,
                                      .stack_snapshot = {.snapshot = look->like.snapshot,
                                                         .reason = look->like.reason,
                                                         .signal = look->like.signal,
                                                         .threads = look->count,
                                                         .taken = look->taken,
                                                         .unstopped = look->count - look->stopped,
                                                         .took_ns = took_ns}});
}

/* Brings the threads of LOOK to a stop, for half of its time at most. */
static void pause_threads(struct tg_last_stacks *stacks, struct look *look)
{
    do
        look->stopped = tg_threads_pause(stacks->engine, look->threads, look->count,
                                         look->start_ns + (look->until_ns - look->start_ns) / 2);
    while (look->stopped < look->count && has_time(look, 2));
}

/* Of all threads of the job, or of those of THREAD's process alone. THREAD, NULL none, is stopped. Returns how
 * long it took. */
static uint64_t take_snapshot(struct tg_last_stacks *stacks, struct tg_thread *thread, bool of_job,
                              const struct tg_event_stack *like, uint64_t until_ns)
{
    uint64_t start_ns = tg_engine_now_ns();
    struct look look = {.like = *like,
                        .until_ns = until_ns,
                        .makes_up =
                            like->reason == TG_STACK_JOB_SIGNAL || like->reason == TG_STACK_FATAL_SIGNAL,
                        .start_ns = start_ns,
                        .limit_ns = until_ns,
                        .waited_ns = tg_proc_status_wait_time(gettid())};
    if (until_ns == 0) {
        say_over(stacks, thread);
        return 0;
    }
    look.like.snapshot = ++stacks->n_snapshots;
    if (of_job)
        add_job(stacks, &look, thread != NULL ? thread->process : NULL);
    else
        add_threads(&look, thread->process);
    pause_threads(stacks, &look);
    take(stacks, &look);
    tell_waits(stacks, &look);
    uint64_t took_ns = tg_engine_now_ns() - start_ns;
    emit_snapshot(stacks, thread, &look, took_ns);
    free(look.waits);
    stacks->spent_ns += took_ns - (took_ns < look.until_ns - until_ns ? took_ns : look.until_ns - until_ns);
    if (of_job) {
        stacks->job_snapshot_ns = start_ns + took_ns;
        stacks->job_snapshot_took_ns = took_ns;
    }
    free(look.threads);
    return took_ns;
}

/* Whether the job was looked at so shortly ago that another look would tell nothing new, or slow it down. */
static bool was_looked_at(const struct tg_last_stacks *stacks)
{
    uint64_t interval_ns = stacks->job_snapshot_took_ns * INTERVALS_PER_SNAPSHOT;
    if (interval_ns < INTERVAL_NS)
        interval_ns = INTERVAL_NS;
    return stacks->job_snapshot_ns != 0 && tg_engine_now_ns() - stacks->job_snapshot_ns < interval_ns;
}

static bool is_covered(const struct known *known, uint64_t since_ns)
{
    return known != NULL && known->covered_ns != 0 && tg_engine_now_ns() - known->covered_ns < since_ns;
}

/* ---- signals */

static void on_fatal(struct tg_last_stacks *stacks, struct tg_thread *thread, int signal)
{
    bool is_asked = tg_signal_asks_to_end(signal);
    bool of_job = is_asked && !was_looked_at(stacks);
    /* a launcher passes on what it was asked: the request is the moment that counts */
    if (is_asked && is_covered(known_of(stacks, thread->process), REQUEST_NS))
        return;
    const struct tg_event_stack like = {.reason = TG_STACK_FATAL_SIGNAL, .signal = signal};
    take_snapshot(stacks, thread, of_job, &like, time_left(stacks, TOTAL_NS, 0));
}

/* Whether the signal that THREAD is about to handle came from outside of the job. */
static bool is_from_outside(struct tg_last_stacks *stacks, const struct tg_thread *thread)
{
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) != 0)
        return false;
    return info.si_code > 0 || info.si_pid <= 0 ||
           tg_engine_find_process(stacks->engine, info.si_pid) == NULL;
}

static void on_handled(struct tg_last_stacks *stacks, struct tg_thread *thread, int signal)
{
    struct known *known = known_of(stacks, thread->process);
    if (tg_signal_is_fault(signal)) {
        if (known != NULL && known->n_caught_faults++ < MAX_CAUGHT_FAULTS)
            take_one(stacks, thread, TG_STACK_CAUGHT_SIGNAL, signal, HANDLED_NS, &stacks->handled_ns);
        return;
    }
    if (!tg_signal_asks_to_end(signal) || was_looked_at(stacks))
        return;
    bool is_chief = known != NULL && (known->is_launched || known->has_children);
    if (!is_chief && !is_from_outside(stacks, thread))
        return;
    uint64_t until_ns = time_left(stacks, HANDLED_NS, stacks->handled_ns);
    const struct tg_event_stack like = {.reason = TG_STACK_JOB_SIGNAL, .signal = signal};
    stacks->handled_ns += take_snapshot(stacks, thread, true, &like, until_ns);
}

/* Whether fault SIGNAL is taken for caught because those before were, and a look at the handlers takes longer than
 * such programs have between two of them: garbage collectors, virtual machines. One that does end the process is
 * seen in its exit stop. */
static bool is_taken_for_caught(struct known *known, int signal)
{
    if (known == NULL || !tg_signal_is_fault(signal))
        return false;
    uint64_t pause_ns = known->look_took_ns * INTERVALS_PER_LOOK;
    known->took_for_caught =
        known->n_caught_faults >= MAX_CAUGHT_FAULTS && tg_engine_now_ns() - known->looked_ns < pause_ns;
    return known->took_for_caught;
}

static void on_signal(struct tg_last_stacks *stacks, struct tg_thread *thread, int signal)
{
    struct known *known = known_of(stacks, thread->process);
    if (!tg_signal_can_end(signal) || is_taken_for_caught(known, signal))
        return;
    /* timers' and other signals may come often, and hardly ever end anything */
    if (!tg_signal_is_fault(signal) && !tg_signal_asks_to_end(signal) &&
        (known == NULL || known->n_looks++ >= MAX_LOOKS))
        return;
    uint64_t start_ns = tg_engine_now_ns();
    enum tg_signal_action action = tg_signal_action_of(thread->tid, signal);
    if (known != NULL && tg_signal_is_fault(signal)) {
        known->looked_ns = tg_engine_now_ns();
        known->look_took_ns = known->looked_ns - start_ns;
    }
    switch (action) {
    case TG_SIGNAL_ENDS:
        on_fatal(stacks, thread, signal);
        break;
    case TG_SIGNAL_CAUGHT:
        on_handled(stacks, thread, signal);
        break;
    case TG_SIGNAL_IGNORED:
        break;
    }
}

/* ---- ends */

static bool is_parallel_library(const char *path)
{
    static const char *const names[] = {"libmpi", "libgomp.", "libomp.", "libiomp", "libpmi"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Asked once of a process: all of its threads end with one status. */
static bool is_parallel(struct tg_last_stacks *stacks, const struct tg_process *process, struct known *known)
{
    if (known->is_parallel != PARALLEL_UNKNOWN)
        return known->is_parallel == PARALLEL_YES;
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_stack_process opened = open_process(stacks, process);
    bool found = false;
    for (size_t i = 0; opened.modules != NULL && !found && i < tg_modules_count(opened.modules); i++)
        found = is_parallel_library(tg_modules_at(opened.modules, i)->path);
    tg_modules_destroy(opened.modules);
    known->is_parallel = found ? PARALLEL_YES : PARALLEL_NO;
    uint64_t took_ns = tg_engine_now_ns() - start_ns;
    stacks->exits_ns += took_ns;
    stacks->spent_ns += took_ns;
    return found;
}

/* THREAD is what ends its process, which has not called MPI_Finalize: the other ranks wait for it. */
static bool leaves_mpi(const struct tg_last_stacks *stacks, const struct tg_thread *thread)
{
    struct user_regs_struct registers;
    return stacks->is_in_mpi != NULL && tg_thread_stopped_registers(thread, &registers) &&
           registers.orig_rax == SYS_exit_group && stacks->is_in_mpi(stacks->mpi_context, thread->process);
}

/* Thread T is in its PTRACE_EVENT_EXIT: it has run its last code, but its registers and its memory are there. */
static void on_exit_stop(struct tg_last_stacks *stacks, struct tg_thread *thread)
{
    unsigned long message = 0;
    struct known *known = known_of(stacks, thread->process);
    if (known == NULL || ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &message) != 0)
        return;
    if (message == 0 && !leaves_mpi(stacks, thread))
        return;
    int status = (int)message;
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if ((signal != 0 && is_covered(known, GRACE_NS)) || time_left(stacks, EXITS_NS, stacks->exits_ns) == 0)
        return;
    bool is_crash = tg_signal_is_fault(signal) && known->took_for_caught;
    if (!known->is_launched && !is_crash && !is_parallel(stacks, thread->process, known))
        return;
    take_one(stacks, thread, is_crash ? TG_STACK_FATAL_SIGNAL : TG_STACK_EXIT, signal, EXITS_NS,
             &stacks->exits_ns);
}

/* ---- observer */

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct tg_last_stacks *stacks = context;
    struct known *known = calloc(1, sizeof *known), *of_parent = NULL;
    if (known != NULL)
        known->is_launched = origin == TG_ORIGIN_LAUNCHED;
    thread->process->data[stacks->slot] = known;
    if (parent != NULL)
        of_parent = known_of(stacks, parent);
    if (of_parent != NULL)
        of_parent->has_children = true;
}

/* Nothing has seen what an attached process did before: where it is now is all that can be known of that. */
static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_last_stacks *stacks = context;
    const struct tg_event_stack like = {.reason = TG_STACK_LOOK};
    uint64_t spent_ns = stacks->spent_ns;
    if (!attached || !thread->process->attached)
        return;
    (void)take_snapshot(stacks, thread, false, &like, tg_engine_now_ns() + ATTACHED_NS);
    stacks->spent_ns = spent_ns;
    stacks->has_untold_names = true;
    tg_engine_wake(stacks->engine);
}

static void process_ended(void *context, struct tg_process *process)
{
    const struct tg_last_stacks *stacks = context;
    free(known_of(stacks, process));
    process->data[stacks->slot] = NULL;
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    if (stop->trigger == TG_TRIGGER_SIGNAL)
        on_signal(context, thread, stop->signal);
    else if (stop->trigger == TG_TRIGGER_EXIT)
        on_exit_stop(context, thread);
}

static void job_leaving(void *context)
{
    struct tg_last_stacks *stacks = context;
    const struct tg_event_stack like = {.reason = TG_STACK_DETACH};
    take_snapshot(stacks, NULL, true, &like, time_left(stacks, TOTAL_NS, 0));
}

struct tg_error *tg_last_stacks_create(struct tg_engine *engine, struct tg_image_cache *images,
                                       struct tg_last_stacks **stacks)
{
    struct tg_last_stacks *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->images = images;
    made->observer = (struct tg_observer){.name = "last stacks",
                                          .context = made,
                                          .process_started = process_started,
                                          .program_loaded = program_loaded,
                                          .stopped = stopped,
                                          .job_leaving = job_leaving,
                                          .process_ended = process_ended};
    struct tg_error *error = tg_debug_cache_create(MAX_DEBUG_INFOS, &made->debug);
    if (error == NULL)
        error = tg_code_table_create(&made->table);
    made->kept = tg_kept_arguments_create();
    if (error == NULL)
        error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_last_stacks_destroy(made);
        return error;
    }
    *stacks = made;
    return NULL;
}

void tg_last_stacks_ask_of_mpi(struct tg_last_stacks *stacks,
                               bool (*is_in_mpi)(void *context, const struct tg_process *process),
                               void *context)
{
    stacks->is_in_mpi = is_in_mpi;
    stacks->mpi_context = context;
}

void tg_last_stacks_destroy(struct tg_last_stacks *stacks)
{
    if (stacks == NULL)
        return;
    tg_kept_arguments_destroy(stacks->kept);
    tg_code_table_destroy(stacks->table);
    tg_debug_cache_destroy(stacks->debug);
    free(stacks);
}

/* ---- names */

struct telling {
    struct tg_engine *engine;
    uint64_t time_ns; /* names are no part of the job: its recording ended then */
};

static void emit_name(void *context, const struct tg_event *event)
{
    const struct telling *telling = context;
    struct tg_event stamped = *event;
    stamped.time_ns = telling->time_ns;
    tg_engine_emit(telling->engine, NULL, &stamped);
}

void tg_last_stacks_tell_names(struct tg_last_stacks *stacks)
{
    if (stacks == NULL)
        return;
    struct telling telling = {stacks->engine, tg_engine_now_ns()};
    size_t left = tg_code_table_tell(stacks->table, telling.time_ns + NAMES_NS, true, emit_name, &telling);
    char text[120];
    if (left == 0)
        return;
    snprintf(text, sizeof text,
             "stacks: two seconds were spent on names; %zu addresses of code were not looked up", left);
    emit_name(&telling, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

void tg_last_stacks_serve(struct tg_last_stacks *stacks)
{
    if (stacks == NULL || !stacks->has_untold_names)
        return;
    struct telling telling = {stacks->engine, tg_engine_now_ns()};
    size_t left =
        tg_code_table_tell(stacks->table, telling.time_ns + SOME_NAMES_NS, false, emit_name, &telling);
    stacks->has_untold_names = left > 0;
    if (left > 0) /* after what else there is to do meanwhile */
        tg_engine_wake(stacks->engine);
}

/* ---- before a process is attached */

void tg_last_stacks_prepare(struct tg_last_stacks *stacks, pid_t pid, unsigned bits)
{
    if (stacks == NULL)
        return;
    struct tg_stack_process process = tg_stack_process_open(pid, bits, stacks->images, stacks->debug);
    tg_stack_process_prepare(&process);
    if (process.modules != NULL)
        (void)tg_mpi_variables_find(&process);
    tg_stack_process_close(&process);
}

/* ---- where the job is now */

void tg_last_stacks_look(struct tg_last_stacks *stacks)
{
    const struct tg_event_stack like = {.reason = TG_STACK_LOOK};
    uint64_t spent_ns = stacks->spent_ns, job_ns = stacks->job_snapshot_ns;
    (void)take_snapshot(stacks, NULL, true, &like, tg_engine_now_ns() + TOTAL_NS);
    stacks->spent_ns = spent_ns; /* what ends the job later is told all the same */
    stacks->job_snapshot_ns = job_ns;
    tg_last_stacks_tell_names(stacks);
}
