#include "recorder/look/look.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/event/event.h"
#include "recorder/dwarf/debug_cache.h"
#include "recorder/engine/engine.h"
#include "recorder/look/halt.h"
#include "recorder/look/jobs.h"
#include "recorder/look/launcher_table.h"
#include "recorder/look/process_tree.h"
#include "recorder/look/return_watch.h"
#include "recorder/look/telling.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/memory.h"
#include "recorder/process/still_memory.h"
#include "recorder/record/process_facts.h"
#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/waits.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 8192,
    MAX_DEBUG_INFOS = 256,
    MAX_BATCH = 64,
    AHEAD_OF_ALL = 16,
    AHEAD = 2,
    SPINS = 64,
    SLEEP_NS = 50 * 1000
};
static const uint64_t PROCESS_NS = 1000000000, NAMES_NS = 20000000000, REHEARSAL_NS = 300000000,
                      PATIENCE_NS = 100000000;

struct look {
    const struct tg_look_sink *sink;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_code_table *table;
    struct tg_kept_arguments *kept;
    uint64_t n_processes;
    uint64_t *rehearsed; /* programs whose code was followed once, as hashes */
    size_t n_rehearsed, rehearsed_capacity;
    bool with_values;
    bool is_first;                 /* has a processor whenever it wants one */
    struct tg_return_watch *watch; /* NULL none */
    struct tg_wait *waits;
    size_t n_waits, waits_capacity;
    pid_t *pids; /* processes that were looked at */
    size_t n_pids, pids_capacity;
};

/* What one process is told about. */
struct subject {
    struct look *look;
    pid_t pid;
    uint64_t snapshot;
};

static void tell(const struct subject *subject, pid_t tid, struct tg_event event)
{
    tg_look_tell(subject->look->sink, subject->pid, tid, event);
}

static void take_fact(void *context, const struct tg_event *event)
{
    const struct subject *subject = context;
    tell(subject, subject->pid, *event);
}

/* ---- while the process runs */

static void tell_process(struct subject *subject)
{
    struct tg_proc_status status = {0};
    struct tg_process_facts_subject facts = tg_process_facts_look(subject->pid);
    const struct tg_event_sink sink = {.context = subject, .add = take_fact};
    tg_proc_status_read(subject->pid, &status);
    tell(subject, subject->pid,
         (struct tg_event){.kind = TG_EVENT_PROCESS_START,
                           .process_start = {.origin = TG_ORIGIN_ATTACHED, .parent_pid = status.parent}});
    tg_process_facts_tell(&facts, subject->look->images, &sink);
}

/* What is read of a process before it is stopped: it does not wait for that. */
struct ready {
    struct tg_stack_process process;
    struct tg_mpi_variables variables;
};

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read(*(const pid_t *)context, address, buffer, size);
}

static void find_owners(struct tg_stack_process *process, const struct tg_inspect_memory *memory)
{
    process->nest_locks = tg_nest_locks_find(process->modules, memory);
    process->kmp_numbers = tg_kmp_numbers_find(process->modules, memory);
}

static struct ready prepare(const struct look *look, pid_t tid, unsigned bits)
{
    struct ready ready = {.process = tg_stack_process_open(tid, bits, look->images, look->debug)};
    const struct tg_inspect_memory memory = {&tid, read_memory};
    tg_stack_process_prepare(&ready.process);
    if (ready.process.modules != NULL)
        find_owners(&ready.process, &memory);
    if (look->with_values)
        ready.variables = tg_mpi_variables_find(&ready.process);
    return ready;
}

/* ---- while it stands still */

static pid_t first_stopped(const struct tg_halt *halt)
{
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].is_stopped)
            return halt->threads[i].tid;
    return 0;
}

/* What the threads do. */
struct calls {
    struct tg_call_stack *stacks; /* in the order of the halted threads */
    struct tg_mpi_values *values; /* likewise */
    struct tg_look_activity *activities;
    struct tg_kmp_wait *locks; /* owner -1: waits for none */
};

static void deinit_calls(struct calls *calls, size_t count)
{
    for (size_t i = 0; i < count && calls->stacks != NULL; i++)
        tg_call_stack_deinit(&calls->stacks[i]);
    free(calls->stacks);
    free(calls->values);
    free(calls->activities);
    free(calls->locks);
}

/* False without memory. */
static bool read_stacks(const struct look *look, const struct ready *ready, const struct tg_halt *halt,
                        uint64_t until_ns, struct calls *calls)
{
    struct tg_frame *unwound = calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *unwound);
    struct tg_call_stack *stacks = calloc(halt->count, sizeof *stacks);
    *calls = (struct calls){stacks, calloc(halt->count, sizeof *calls->values),
                            calloc(halt->count, sizeof *calls->activities),
                            calloc(halt->count, sizeof *calls->locks)};
    const struct tg_mpi_asking asking = {&ready->process, &ready->variables, look->kept};
    bool ok = unwound != NULL && stacks != NULL && calls->values != NULL && calls->activities != NULL &&
              calls->locks != NULL;
    for (size_t i = 0; ok && i < halt->count; i++) {
        struct tg_halted_thread *thread = &halt->threads[i];
        const struct tg_inspect_memory memory = {&thread->tid, read_memory};
        calls->locks[i].owner = -1;
        if (!thread->is_stopped || tg_engine_now_ns() >= until_ns)
            continue;
        stacks[i].unwound = unwound;
        tg_call_stack_read(&ready->process, &thread->registers, &memory, look->table, until_ns, &stacks[i]);
        if (look->with_values)
            tg_mpi_values_find(&asking, &memory, &stacks[i], &calls->values[i]);
        if (!tg_kmp_wait_find(&ready->process, look->kept, &memory, &stacks[i], &calls->locks[i]))
            calls->locks[i].owner = -1;
        stacks[i].unwound = NULL;
    }
    free(unwound);
    return ok;
}

/* Where thread INDEX goes on when it comes back from the library that it is in; 0 unknown. Of MPI, that is its caller. */
static uint64_t return_address(const struct tg_call_stack *stack)
{
    size_t at = tg_mpi_entry_find(stack);
    if (at == SIZE_MAX)
        for (at = 0;
             at + 1 < stack->count && strcmp(stack->frames[at + 1].module, stack->frames[0].module) == 0;)
            at++;
    const struct tg_stack_frame *caller = at + 1 < stack->count ? &stack->frames[at + 1] : NULL;
    return caller != NULL && caller->kind == TG_FRAME_CODE && !caller->guessed && !stack->frames[at].guessed
               ? caller->pc
               : 0;
}

/* Whether the thread is at `rep movs`, by which libraries copy what is large. */
static bool is_at_copying(const struct tg_halted_thread *thread)
{
    unsigned char code[3] = {0};
    if (!thread->is_stopped || !tg_memory_read(thread->tid, thread->registers.rip, code, sizeof code))
        return false;
    const unsigned char *at = &code[1];
    at += (*at & 0xf0) == 0x40; /* REX */
    return (code[0] == 0xf2 || code[0] == 0xf3) && (*at == 0xa4 || *at == 0xa5);
}

/* Ends the counting that the look before began, and begins it anew: of the first thread, and of those that are in MPI. */
static void count_returns(const struct look *look, pid_t pid, const struct tg_halt *halt, struct calls *calls)
{
    for (size_t i = 0; i < halt->count; i++) {
        const struct tg_halted_thread *thread = &halt->threads[i];
        struct tg_look_activity *activity = &calls->activities[i];
        *activity = (struct tg_look_activity){.pid = pid,
                                              .tid = thread->tid,
                                              .is_suspended = thread->is_suspended,
                                              .copies = tg_wait_is_copying(thread),
                                              .sleeps = tg_wait_is_asleep(thread),
                                              .restarts = tg_wait_restarts(thread),
                                              .is_restart = tg_wait_is_restart(thread)};
        if (look->watch == NULL || !thread->is_stopped)
            continue;
        activity->is_counted = tg_return_watch_take(look->watch, thread->tid, activity);
        if (thread->tid != pid && tg_mpi_entry_find(&calls->stacks[i]) == SIZE_MAX)
            continue;
        activity->copies |= is_at_copying(thread);
        if (tg_mpi_values_polls(&calls->values[i])) /* a return says nothing, and each costs it a trap */
            continue;
        uint64_t address = return_address(&calls->stacks[i]);
        if (address != 0)
            tg_return_watch_add(look->watch, thread->tid, address);
    }
}

/* What is not noted for want of memory is not told. */
static void note_waits(struct look *look, pid_t pid, const struct tg_halt *halt,
                       const struct tg_stack_process *process, const struct tg_kmp_wait *locks)
{
    struct tg_wait wait;
    struct tg_halted_threads threads;
    struct tg_still_memory *still = tg_still_memory_create(pid);
    const struct tg_elf_memory memory = tg_still_memory_reader(still);
    tg_error_destroy(TG_ARRAY_APPEND(look->pids, look->n_pids, look->pids_capacity, pid));
    tg_error_destroy(tg_halted_threads_init(halt->threads, halt->count, &threads));
    if (still != NULL) {
        tg_halted_threads_find_settings(&threads, &process->nest_locks, &memory);
        tg_halted_threads_find_numbers(&threads, &process->kmp_numbers, &memory);
    }
    for (size_t i = 0; i < threads.count && still != NULL; i++)
        if ((locks != NULL && locks[i].owner >= 0 && tg_wait_find_kmp(pid, &threads, i, &locks[i], &wait)) ||
            tg_wait_find(pid, &memory, true, &threads, i, &wait))
            tg_error_destroy(TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait));
    tg_halted_threads_deinit(&threads);
    tg_still_memory_destroy(still);
}

/* ---- behind it */

/* PROGRAM: the name of its process. */
static void tell_thread(const struct subject *subject, pid_t tid, const char *program,
                        const struct tg_call_stack *stack)
{
    struct tg_proc_status status = {0};
    char name[32];
    if (tid != subject->pid) {
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_START});
        tg_proc_status_read(tid, &status);
    }
    snprintf(name, sizeof name, "%.31s", status.name);
    if (*name != '\0' && strcmp(name, program) != 0)
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_NAME, .thread_name = {.name = name}});
    if (stack->count > 0)
        tell(subject, tid,
             (struct tg_event){.kind = TG_EVENT_STACK,
                               .stack = {.snapshot = subject->snapshot,
                                         .reason = TG_STACK_LOOK,
                                         .end = stack->end,
                                         .frames = {.items = stack->frames, .count = stack->count}}});
}

static size_t count_threads(pid_t pid)
{
    char path[40];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        n += *entry->d_name != '.';
    if (directory != NULL)
        closedir(directory);
    return n;
}

/* What was read of one process. */
struct taken {
    struct ready ready;
    struct calls calls;
    pid_t *tids;
    size_t count; /* of threads */
    struct tg_event_stack_snapshot snapshot;
    size_t n_refused; /* as struct tg_halt says */
    pid_t refused;
    uint64_t io_bytes; /* as activities have them */
};

static void deinit_taken(struct taken *taken)
{
    deinit_calls(&taken->calls, taken->count);
    tg_stack_process_close(&taken->ready.process);
    free(taken->tids);
}

/* False without memory. */
static bool read_halted(struct look *look, const struct subject *subject, const struct tg_halt *halt,
                        struct taken *taken)
{
    pid_t pid = subject->pid;
    taken->count = halt->count;
    taken->n_refused = halt->n_refused;
    taken->refused = halt->refused;
    taken->tids = calloc(halt->count, sizeof *taken->tids);
    taken->snapshot = (struct tg_event_stack_snapshot){
        .snapshot = subject->snapshot, .reason = TG_STACK_LOOK, .threads = halt->count};
    bool ok = read_stacks(look, &taken->ready, halt, tg_engine_now_ns() + PROCESS_NS / 2, &taken->calls) &&
              taken->tids != NULL;
    note_waits(look, pid, halt, &taken->ready.process, ok ? taken->calls.locks : NULL);
    if (ok)
        count_returns(look, pid, halt, &taken->calls);
    for (size_t i = 0; i < halt->count && ok; i++) {
        taken->tids[i] = halt->threads[i].tid;
        taken->snapshot.taken += taken->calls.stacks[i].count > 0;
        taken->snapshot.unstopped += !halt->threads[i].is_stopped && !halt->threads[i].is_gone;
        taken->snapshot.threads -= halt->threads[i].is_gone;
    }
    return ok;
}

/* Bytes that process PID has read and written since it began, 0 unknown. */
static uint64_t io_bytes(pid_t pid)
{
    char path[40];
    uint64_t read_bytes = 0, written = 0;
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "rchar: %" SCNu64 " wchar: %" SCNu64, &read_bytes, &written) != 2)
        read_bytes = written = 0;
    if (file != NULL)
        fclose(file);
    return read_bytes + written;
}

static void tell_taken(struct subject *subject, const struct taken *taken, bool is_first)
{
    const struct tg_look_sink *sink = subject->look->sink;
    struct tg_proc_status status = {0};
    char program[32];
    tell_process(subject);
    tg_proc_status_read(subject->pid, &status);
    snprintf(program, sizeof program, "%.31s", status.name);
    for (size_t i = 0; i < taken->count; i++) {
        tell_thread(subject, taken->tids[i], program, &taken->calls.stacks[i]);
        tg_look_tell_values(sink, subject->pid, taken->tids[i], &taken->calls.values[i]);
        taken->calls.activities[i].is_counted &=
            is_first; /* else what was counted is of less than the whole time */
        taken->calls.activities[i].io_bytes = taken->io_bytes;
        if (sink->add_activity != NULL)
            sink->add_activity(sink->context, &taken->calls.activities[i]);
    }
    tell(subject, subject->pid,
         (struct tg_event){.kind = TG_EVENT_STACK_SNAPSHOT, .stack_snapshot = taken->snapshot});
}

__attribute__((format(printf, 3, 4))) static void add_words(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

/* Threads without a stack, which would be missing in the answer otherwise. */
static void remark_on_missing(const struct look *look, pid_t pid, const struct taken *taken)
{
    char text[600], reason[300];
    const struct tg_event_stack_snapshot *snapshot = &taken->snapshot;
    size_t n_there = count_threads(pid), n_refused = taken->n_refused;
    uint64_t n_unread = snapshot->threads > snapshot->taken + snapshot->unstopped
                            ? snapshot->threads - snapshot->taken - snapshot->unstopped
                            : 0;
    if (snapshot->threads == MAX_THREADS && n_there > MAX_THREADS)
        n_unread += n_there - MAX_THREADS;
    uint64_t n_missing = n_unread + snapshot->unstopped + n_refused;
    if (n_missing == 0 || look->sink->remark == NULL)
        return;
    snprintf(text, sizeof text,
             "process %d: %" PRIu64 " of its %" PRIu64 " threads %s not looked at: ", (int)pid, n_missing,
             snapshot->taken + n_missing, n_missing == 1 ? "was" : "were");
    if (snapshot->unstopped > 0)
        add_words(text, sizeof text,
                  "%" PRIu64 " could not be stopped (in the kernel: a vfork, a file system)",
                  snapshot->unstopped);
    if (n_unread > 0)
        add_words(text, sizeof text, "%s%" PRIu64 " are more than can be read in a second",
                  snapshot->unstopped > 0 ? "; " : "", n_unread);
    if (n_refused > 0) {
        tg_attach_refusal_reason(taken->refused, EPERM, reason, sizeof reason);
        add_words(text, sizeof text, "%sthread %d%s: %s", n_unread + snapshot->unstopped > 0 ? "; " : "",
                  (int)taken->refused, n_refused > 1 ? " and others" : "", reason);
    }
    look->sink->remark(look->sink->context, text);
}

static void remark_on_python(const struct look *look, pid_t pid, const struct tg_python *python)
{
    char why[300], text[340];
    if (look->sink->remark == NULL || !tg_python_remark(python, why, sizeof why))
        return;
    snprintf(text, sizeof text, "process %d: %s", (int)pid, why);
    look->sink->remark(look->sink->context, text);
}

static void remark_on_bits(const struct look *look, pid_t pid)
{
    char text[120];
    snprintf(text, sizeof text,
             "process %d is a 32-bit program: only the innermost function of each thread is known, not its "
             "callers",
             (int)pid);
    if (look->sink->remark != NULL)
        look->sink->remark(look->sink->context, text);
}

/* ---- one process after the other */

/* A process whose turn has come. What is mapped is read before it is stopped. Where that is something else afterwards, the
 * stacks may have been read by the wrong objects: once more then, at last with the process waiting for all of it. */
struct visit {
    struct subject subject;
    unsigned bits, tries;
    bool is_late; /* what is mapped is read when it is stopped */
    uint64_t asked_ns, rehearsed_ns;
    struct tg_halt halt;
    struct taken taken;
    bool is_asked, is_over, is_taken;
};

/* Reads what is mapped, if it can be read of a process that runs. */
static void ready_visit(struct visit *visit)
{
    enum { TRIES = 3 };
    const struct subject *subject = &visit->subject;
    struct taken *taken = &visit->taken;
    *taken = (struct taken){.count = 0};
    visit->is_late = ++visit->tries == TRIES || visit->bits == 32;
    if (!visit->is_late)
        taken->ready = prepare(subject->look, subject->pid, visit->bits);
    visit->is_late |=
        taken->ready.process.modules == NULL || tg_modules_count(taken->ready.process.modules) == 0;
    if (visit->is_late)
        tg_stack_process_close(&taken->ready.process);
}

/* Asks the process to stop; where it may not be, the visit is over. Only error: NO_MEMORY. */
static struct tg_error *ask(struct visit *visit)
{
    const struct subject *subject = &visit->subject;
    visit->is_asked = true;
    visit->asked_ns = tg_engine_now_ns();
    struct tg_error *error = tg_halt_begin(subject->pid, MAX_THREADS, &visit->halt);
    if (error == NULL)
        return NULL;
    visit->is_over = true;
    if (tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    const struct tg_look_sink *sink = subject->look->sink;
    sink->refuse(sink->context, subject->pid,
                 kill(subject->pid, 0) != 0 && errno == ESRCH ? "it ended before its turn came"
                                                              : tg_error_message(error));
    tg_error_destroy(error);
    return NULL;
}

static void drop_waits(struct look *look, pid_t pid)
{
    size_t n = 0;
    for (size_t i = 0; i < look->n_waits; i++)
        if (look->waits[i].pid != pid)
            look->waits[n++] = look->waits[i];
    look->n_waits = n;
}

/* Reads the process, which stands still, and lets it go on. */
static struct tg_error *take(struct visit *visit)
{
    struct look *look = visit->subject.look;
    struct taken *taken = &visit->taken;
    if (visit->is_late)
        taken->ready = prepare(look, first_stopped(&visit->halt), visit->bits);
    bool ok = read_halted(look, &visit->subject, &visit->halt, taken);
    taken->snapshot.took_ns = tg_halt_end(&visit->halt) + visit->rehearsed_ns;
    if (!ok) {
        visit->is_over = true;
        return tg_error_no_memory();
    }
    taken->io_bytes = look->watch != NULL ? io_bytes(visit->subject.pid) : 0;
    visit->is_over = visit->is_taken = true;
    return NULL;
}

/* Whether what was mapped is what it was when that was read; asked when nobody stands still. Where it is not, the process is to be
 * visited once more. */
static bool is_settled(struct visit *visit)
{
    struct taken *taken = &visit->taken;
    if (!visit->is_taken || visit->is_late || tg_modules_is_current(taken->ready.process.modules))
        return true;
    deinit_taken(taken);
    drop_waits(visit->subject.look, visit->subject.pid);
    ready_visit(visit);
    visit->is_asked = visit->is_over = visit->is_taken = false;
    return false;
}

/* ---- rehearsal */

/* Without yielding: the kernel takes a yield for a whole turn, of which each other thread that runs has one first. */
static void wait_a_little(unsigned n)
{
    static const struct timespec pause = {.tv_nsec = SLEEP_NS};
    if (n > SPINS)
        nanosleep(&pause, NULL);
}

/* The first thread of the process that runs, or waits for a processor; 0 none. */
static pid_t find_running(pid_t pid)
{
    enum { MAX_ASKED = 64 };
    char path[40];
    struct tg_proc_status status;
    pid_t found = 0;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry;
         directory != NULL && found == 0 && n < MAX_ASKED && (entry = readdir(directory)) != NULL; n++) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        found = tid > 0 && tg_proc_status_read(tid, &status) && status.state == 'R' ? tid : 0;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* Whether the program of VISIT is met for the first time in this look. */
static bool is_new_program(const struct visit *visit)
{
    struct look *look = visit->subject.look;
    const struct tg_module *program = tg_modules_at(visit->taken.ready.process.modules, 0);
    const uint64_t hash = tg_hash_bytes(program->path, strlen(program->path)) ^
                          tg_hash_bytes(program->build_id, strlen(program->build_id));
    for (size_t i = 0; i < look->n_rehearsed; i++)
        if (look->rehearsed[i] == hash)
            return false;
    tg_error_destroy(TG_ARRAY_APPEND(look->rehearsed, look->n_rehearsed, look->rehearsed_capacity, hash));
    return true;
}

/* The thread of HALT, once it has stopped; false where it does not in time. */
static bool await_stop(struct tg_halt *halt)
{
    uint64_t until_ns = tg_engine_now_ns() + REHEARSAL_NS;
    for (unsigned n = 0; !tg_halt_poll(halt); n++) {
        if (tg_engine_now_ns() > until_ns)
            return false;
        wait_a_little(n);
    }
    return halt->count == 1 && halt->threads[0].is_stopped;
}

/* Reading code for the first time takes longer than all else: rules of frames, symbols, where arguments are. So of the first process of a program
 * that runs, a thread says where it is, and goes on at once; from there its calls are followed as if it still stood there, which need not be
 * so, and nobody is told what comes out of it. */
static void rehearse(struct visit *visit)
{
    struct look look = *visit->subject.look;
    struct tg_halt halt;
    struct calls calls;
    pid_t tid = visit->is_late || !is_new_program(visit) ? 0 : find_running(visit->subject.pid);
    if (tid == 0)
        return;
    struct tg_error *error = tg_halt_begin_thread(visit->subject.pid, tid, &halt);
    if (error != NULL) {
        tg_error_destroy(error);
        return;
    }
    bool is_stopped = await_stop(&halt);
    struct tg_halted_thread thread = {0};
    if (is_stopped)
        thread = halt.threads[0];
    visit->rehearsed_ns = tg_halt_end(&halt);
    if (!is_stopped)
        return;
    error = tg_code_table_create(&look.table);
    const struct tg_halt alone = {.pid = visit->subject.pid, .threads = &thread, .count = 1};
    if (error == NULL) {
        read_stacks(&look, &visit->taken.ready, &alone, tg_engine_now_ns() + PROCESS_NS / 2, &calls);
        deinit_calls(&calls, alone.count);
        tg_code_table_destroy(look.table);
    }
    tg_error_destroy(error);
}

/* ---- some at once */

/* Takes those of VISITS that stand still, or do not come to it. */
static struct tg_error *take_stopped(struct visit *visits, size_t count, bool *is_any)
{
    struct tg_error *error = NULL;
    *is_any = false;
    for (size_t i = 0; error == NULL && i < count; i++) {
        struct visit *visit = &visits[i];
        if (!visit->is_asked || visit->is_over ||
            !(tg_halt_poll(&visit->halt) || tg_engine_now_ns() > visit->asked_ns + PROCESS_NS / 2))
            continue;
        *is_any = true;
        error = take(visit);
    }
    return error;
}

static void tell_visit(struct visit *visit)
{
    struct subject *subject = &visit->subject;
    if (visit->is_taken) {
        if (visit->bits == 32)
            remark_on_bits(subject->look, subject->pid);
        remark_on_missing(subject->look, subject->pid, &visit->taken);
        remark_on_python(subject->look, subject->pid, &visit->taken.ready.process.python);
        tell_taken(subject, &visit->taken, visit->tries == 1);
    }
}

static bool is_over(const struct visit *visits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!visits[i].is_over)
            return false;
    return true;
}

/* How many threads of this machine run or wait for a processor; 0 unknown. */
static unsigned count_running(void)
{
    unsigned running;
    FILE *file = fopen("/proc/loadavg", "re");
    bool is_known = file != NULL && fscanf(file, "%*s %*s %*s %u", &running) == 1;
    if (file != NULL)
        fclose(file);
    return is_known ? running : 0;
}

/* How many may be asked before they have stopped. Processes are stopped one after the other. But one that has no processor stops when it gets
 * one: where many wait for processors, as ranks do that poll, that would take all the time, and the next ones are asked meanwhile, which costs them nothing. Where tollgate
 * itself waits for a processor, those that have stopped stand still meanwhile: so only few are asked unless it comes first. */
static size_t choose_width(const struct look *look)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bool is_crowded = processors > 0 && count_running() > (unsigned long)processors;
    return !is_crowded ? 1 : look->is_first ? AHEAD_OF_ALL : AHEAD;
}

/* Processes that do not come to it, as they sleep in the kernel, are not counted after a while. */
static size_t count_asked(const struct visit *visits, size_t count)
{
    uint64_t now_ns = tg_engine_now_ns();
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += visits[i].is_asked && !visits[i].is_over && now_ns < visits[i].asked_ns + PATIENCE_NS;
    return n;
}

static struct tg_error *ask_next(struct visit *visits, size_t count, size_t width)
{
    struct tg_error *error = NULL;
    size_t n = count_asked(visits, count);
    for (size_t i = 0; error == NULL && i < count && n < width; i++)
        if (!visits[i].is_asked && !visits[i].is_over) {
            error = ask(&visits[i]);
            n += !visits[i].is_over;
        }
    return error;
}

/* Asks those of VISITS that are not over, and takes them in the order in which they stop. */
static struct tg_error *visit_once(struct visit *visits, size_t count, size_t width)
{
    struct tg_error *error = NULL;
    for (unsigned n = 0; error == NULL && !is_over(visits, count); n++) {
        bool is_any = false;
        error = ask_next(visits, count, width);
        if (error == NULL)
            error = take_stopped(visits, count, &is_any);
        if (is_any)
            n = 0;
        else
            wait_a_little(n);
    }
    return error;
}

/* All that can be read before is read before the first of VISITS is asked. */
static struct tg_error *visit_some(struct visit *visits, size_t count)
{
    struct tg_error *error = NULL;
    bool are_settled = false;
    for (size_t i = 0; i < count; i++)
        ready_visit(&visits[i]);
    for (size_t i = 0; i < count; i++)
        rehearse(&visits[i]);
    while (error == NULL && !are_settled) {
        error = visit_once(visits, count, choose_width(visits->subject.look));
        are_settled = true;
        for (size_t i = 0; error == NULL && i < count; i++)
            are_settled &= is_settled(&visits[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (error == NULL)
            tell_visit(&visits[i]);
        tg_halt_end(&visits[i].halt); /* without memory */
        deinit_taken(&visits[i].taken);
    }
    return error;
}

static struct tg_error *visit_all(struct visit *visits, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0, n; error == NULL && i < count; i += n) {
        n = count - i < MAX_BATCH ? count - i : MAX_BATCH;
        error = visit_some(visits + i, n);
    }
    return error;
}

/* ---- all of them */

/* Roots of what is looked at: those asked for, and ranks that their tables name. */
struct roots {
    pid_t *pids;
    size_t count, capacity;
};

static bool has_ranks(const struct tg_process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tg_process_tree_descends(tree, tree->processes[i].pid, pid) &&
            tg_jobs_is_rank(tree, tree->processes[i].pid))
            return true;
    return false;
}

static struct tg_error *find_roots(const struct look *look, const struct tg_look_request *request,
                                   const struct tg_process_tree *tree, struct roots *roots)
{
    pid_t *ranks = calloc(tree->count + 1, sizeof *ranks);
    struct tg_error *error = ranks == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < request->count; i++) {
        pid_t pid = request->pids[i];
        bool may_have_table =
            request->with_descendants && tg_process_tree_find(tree, pid) != NULL && !has_ranks(tree, pid);
        size_t count = may_have_table
                           ? tg_launcher_table_ranks(tree, pid, look->images, look->debug, ranks, tree->count)
                           : 0;
        error = TG_ARRAY_APPEND(roots->pids, roots->count, roots->capacity, pid);
        for (size_t k = 0; error == NULL && k < count; k++)
            error = TG_ARRAY_APPEND(roots->pids, roots->count, roots->capacity, ranks[k]);
    }
    free(ranks);
    return error;
}

static bool is_wanted(const struct tg_look_request *request, const struct roots *roots,
                      const struct tg_process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < roots->count; i++)
        if (request->with_descendants ? tg_process_tree_descends(tree, pid, roots->pids[i])
                                      : pid == roots->pids[i])
            return true;
    return false;
}

/* Whether PID traces tollgate, or what traces it, and so on: it cannot be stopped, as tollgate waits for it at its own next
 * system call. */
static bool traces_tollgate(pid_t pid)
{
    enum { MAX_TRACERS = 16 };
    struct tg_proc_status status;
    pid_t traced = getpid();
    for (int i = 0; i < MAX_TRACERS && tg_proc_status_read(traced, &status) && status.tracer != 0; i++) {
        traced = status.tracer;
        if (traced == pid || (tg_proc_status_read(traced, &status) && status.tgid == pid))
            return true;
    }
    return false;
}

static void refuse_missing(const struct look *look, const struct tg_look_request *request,
                           const struct tg_process_tree *tree)
{
    char reason[300];
    for (size_t i = 0; i < request->count; i++) {
        pid_t pid = request->pids[i];
        if (tg_process_tree_find(tree, pid) != NULL && pid != getpid())
            continue;
        tg_attach_refusal_reason(pid, ESRCH, reason, sizeof reason);
        look->sink->refuse(look->sink->context, pid, reason);
    }
}

static struct tg_error *look_at_all(struct look *look, const struct tg_look_request *request,
                                    const struct tg_process_tree *tree)
{
    struct roots roots = {0};
    struct visit *visits = calloc(tree->count + 1, sizeof *visits);
    size_t n_visits = 0;
    refuse_missing(look, request, tree);
    struct tg_error *error = visits == NULL ? tg_error_no_memory() : find_roots(look, request, tree, &roots);
    for (size_t i = 0; error == NULL && i < tree->count; i++) {
        pid_t pid = tree->processes[i].pid;
        if (pid == getpid() || !is_wanted(request, &roots, tree, pid))
            continue;
        if (traces_tollgate(pid)) {
            look->sink->refuse(look->sink->context, pid,
                               "it traces tollgate itself; run tollgate without it");
            continue;
        }
        visits[n_visits++] = (struct visit){.subject = {look, pid, ++look->n_processes},
                                            .bits = tg_process_facts_look(pid).bits};
    }
    if (error == NULL)
        error = visit_all(visits, n_visits);
    free(visits);
    free(roots.pids);
    return error;
}

static void take_name(void *context, const struct tg_event *event)
{
    const struct tg_look_sink *sink = context;
    sink->add(sink->context, event);
}

static struct tg_error *look_now(const struct tg_look_request *request, const struct tg_look_sink *sink,
                                 bool is_first)
{
    struct look look = {
        .sink = sink, .with_values = request->with_values, .is_first = is_first, .watch = request->watch};
    struct tg_process_tree tree = {0};
    struct tg_error *error = tg_image_cache_create(0, &look.images);
    if (error == NULL)
        error = tg_debug_cache_create(MAX_DEBUG_INFOS, &look.debug);
    if (error == NULL)
        error = tg_code_table_create(&look.table);
    look.kept = tg_kept_arguments_create();
    if (error == NULL)
        error = tg_process_tree_read(&tree);
    if (error == NULL)
        error = look_at_all(&look, request, &tree);
    if (error == NULL)
        tg_look_tell_waits(sink, look.waits, look.n_waits, look.pids, look.n_pids);
    if (error == NULL)
        tg_code_table_tell(look.table, tg_engine_now_ns() + NAMES_NS, false, take_name, (void *)sink);
    free(look.waits);
    free(look.pids);
    free(look.rehearsed);
    tg_process_tree_deinit(&tree);
    tg_kept_arguments_destroy(look.kept);
    tg_code_table_destroy(look.table);
    tg_debug_cache_destroy(look.debug);
    tg_image_cache_destroy(look.images);
    return error;
}

/* Processes that are stopped wait for tollgate, and tollgate for a processor beside ranks that poll: where it may it goes first. */
struct tg_error *tg_look(const struct tg_look_request *request, const struct tg_look_sink *sink)
{
    struct tg_error *error = tg_proc_status_check();
    if (error != NULL)
        return error;
    int before = getpriority(PRIO_PROCESS, 0);
    bool is_first = setpriority(PRIO_PROCESS, 0, -20) == 0;
    error = look_now(request, sink, is_first);
    if (is_first)
        setpriority(PRIO_PROCESS, 0, before);
    return error;
}
