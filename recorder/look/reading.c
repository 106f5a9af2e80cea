#include "recorder/look/reading.h"

#include "format/base/array.h"
#include "recorder/engine/engine.h"
#include "recorder/look/return_watch.h"
#include "recorder/process/memory.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/still_memory.h"
#include "recorder/stacks/critical_sections.h"
#include "recorder/stacks/streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t STACKS_NS = 500000000;

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read(*(const pid_t *)context, address, buffer, size);
}

static void find_owners(struct tg_stack_process *process, const struct tg_inspect_memory *memory)
{
    process->nest_locks = tg_nest_locks_find(process->modules, memory);
    process->kmp_numbers = tg_kmp_numbers_find(process->modules, memory);
    process->streams = tg_streams_find(process->modules);
}

void tg_reading_prepare(const struct tg_look_shared *look, pid_t tid, unsigned bits,
                        struct tg_reading *reading)
{
    const struct tg_inspect_memory memory = {&tid, read_memory};
    *reading = (struct tg_reading){.process = tg_stack_process_open(tid, bits, look->images, look->debug)};
    tg_stack_process_prepare(&reading->process);
    if (reading->process.modules != NULL)
        find_owners(&reading->process, &memory);
    if (look->with_values)
        reading->variables = tg_mpi_variables_find(&reading->process);
    if (look->with_values)
        tg_mpi_communicators_find(&reading->process, &memory, &reading->variables);
    if (look->with_values)
        tg_mpi_world_read(&reading->process, &reading->variables, &memory, &reading->world);
}

static void deinit_calls(struct tg_reading_calls *calls, size_t count)
{
    for (size_t i = 0; i < count && calls->stacks != NULL; i++)
        tg_call_stack_deinit(&calls->stacks[i]);
    free(calls->stacks);
    free(calls->values);
    free(calls->requests);
    for (size_t i = 0; i < count && calls->members != NULL; i++)
        tg_mpi_members_deinit(&calls->members[i]);
    free(calls->members);
    free(calls->activities);
    free(calls->locks);
}

/* False without memory. */
static bool read_stacks(const struct tg_look_shared *look, const struct tg_reading *reading,
                        const struct tg_halt *halt, struct tg_reading_calls *calls)
{
    uint64_t until_ns = tg_engine_now_ns() + STACKS_NS;
    struct tg_frame *unwound = calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *unwound);
    struct tg_call_stack *stacks = calloc(halt->count, sizeof *stacks);
    *calls = (struct tg_reading_calls){.stacks = stacks,
                                       .values = calloc(halt->count, sizeof *calls->values),
                                       .requests = calloc(halt->count, sizeof *calls->requests),
                                       .members = calloc(halt->count, sizeof *calls->members),
                                       .activities = calloc(halt->count, sizeof *calls->activities),
                                       .locks = calloc(halt->count, sizeof *calls->locks)};
    const struct tg_mpi_asking asking = {&reading->process, &reading->variables, look->kept};
    bool ok = unwound != NULL && stacks != NULL && calls->values != NULL && calls->requests != NULL &&
              calls->members != NULL && calls->activities != NULL && calls->locks != NULL;
    for (size_t i = 0; ok && i < halt->count; i++) {
        struct tg_halted_thread *thread = &halt->threads[i];
        const struct tg_inspect_memory memory = {&thread->tid, read_memory};
        calls->locks[i].owner = -1;
        if (!thread->is_stopped || tg_engine_now_ns() >= until_ns)
            continue;
        stacks[i].unwound = unwound;
        tg_call_stack_read(&reading->process, &thread->registers, &memory, look->table, until_ns, &stacks[i]);
        if (look->with_values)
            tg_mpi_values_find(&asking, &memory, &stacks[i], &calls->values[i]);
        if (look->with_values)
            tg_mpi_partners_find(&asking, &memory, &stacks[i], &calls->values[i]);
        if (look->with_values)
            tg_mpi_communicator_read(&asking, &memory, &calls->values[i], &calls->members[i]);
        if (look->with_values && !tg_mpi_requests_find(&asking, &memory, &stacks[i], &calls->requests[i]))
            calls->requests[i].count = 0;
        if (calls->requests[i].count > 0)
            tg_mpi_collective_read(&asking, &memory, &calls->requests[i], &calls->members[i]);
        if (!tg_kmp_wait_find(&reading->process, look->kept, &memory, &stacks[i], &calls->locks[i]))
            calls->locks[i].owner = -1;
        stacks[i].unwound = NULL;
    }
    free(unwound);
    return ok;
}

/* The last frame of those from AT on that are of one library. */
static size_t last_of_library(const struct tg_call_stack *stack, size_t at)
{
    const char *module = stack->frames[at].module;
    while (at + 1 < stack->count && strcmp(stack->frames[at + 1].module, module) == 0)
        at++;
    return at;
}

/* The frame of STACK, which has some, whose return leaves the library that the thread is in. LLVM's OpenMP runtime waits for
 * locks by calling sched_yield again and again. */
static size_t library_frame(const struct tg_call_stack *stack)
{
    size_t at = last_of_library(stack, 0);
    return at + 1 < stack->count && tg_kmp_is_runtime(stack->frames[at + 1].module)
               ? last_of_library(stack, at + 1)
               : at;
}

/* Where the thread goes on when it comes back from the library that it is in; 0 unknown. Of MPI, that is its caller. */
static uint64_t return_address(const struct tg_call_stack *stack)
{
    size_t at = stack->count > 0 ? tg_mpi_entry_find(stack) : 0;
    if (at == SIZE_MAX)
        at = library_frame(stack);
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
static void count_returns(const struct tg_look_shared *look, const struct tg_halt *halt,
                          struct tg_reading_calls *calls)
{
    for (size_t i = 0; i < halt->count; i++) {
        const struct tg_halted_thread *thread = &halt->threads[i];
        struct tg_look_activity *activity = &calls->activities[i];
        *activity = (struct tg_look_activity){.pid = halt->pid,
                                              .tid = thread->tid,
                                              .is_suspended = thread->is_suspended,
                                              .copies = tg_wait_is_copying(thread),
                                              .sleeps = tg_wait_is_asleep(thread),
                                              .restarts = tg_wait_restarts(thread),
                                              .is_restart = tg_wait_is_restart(thread)};
        if (look->watch == NULL || !thread->is_stopped)
            continue;
        activity->is_counted = tg_return_watch_take(look->watch, thread->tid, activity);
        if (thread->tid != halt->pid && tg_mpi_entry_find(&calls->stacks[i]) == SIZE_MAX)
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
static void note_waits(struct tg_look_shared *look, const struct tg_halt *halt,
                       const struct tg_stack_process *process, const struct tg_kmp_wait *locks)
{
    pid_t pid = halt->pid;
    struct tg_wait wait;
    struct tg_halted_threads threads;
    struct tg_still_memory *still = tg_still_memory_create(pid);
    const struct tg_elf_memory memory = tg_still_memory_reader(still);
    tg_error_destroy(TG_ARRAY_APPEND(look->pids, look->n_pids, look->pids_capacity, pid));
    tg_error_destroy(tg_halted_threads_init(halt->threads, halt->count, &threads));
    if (still != NULL) {
        tg_halted_threads_find_settings(&threads, &process->nest_locks, &memory);
        tg_halted_threads_find_numbers(&threads, &process->kmp_numbers, &memory);
        threads.streams = process->streams;
    }
    for (size_t i = 0; i < threads.count && still != NULL; i++)
        if ((locks != NULL && locks[i].owner >= 0 && tg_wait_find_kmp(pid, &threads, i, &locks[i], &wait)) ||
            tg_wait_find(pid, &memory, true, &threads, i, &wait))
            tg_error_destroy(TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait));
    tg_halted_threads_deinit(&threads);
    tg_still_memory_destroy(still);
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

static bool is_runnable(pid_t tid)
{
    struct tg_proc_status status;
    return tg_proc_status_read(tid, &status) && status.state == 'R';
}

bool tg_reading_take(struct tg_look_shared *look, const struct tg_halt *halt, uint64_t snapshot,
                     struct tg_reading *reading)
{
    reading->count = halt->count;
    reading->n_refused = halt->n_refused;
    reading->refused = halt->refused;
    reading->tids = calloc(halt->count, sizeof *reading->tids);
    reading->snapshot = (struct tg_event_stack_snapshot){
        .snapshot = snapshot, .reason = TG_STACK_LOOK, .threads = halt->count};
    bool ok = read_stacks(look, reading, halt, &reading->calls) && reading->tids != NULL;
    note_waits(look, halt, &reading->process, ok ? reading->calls.locks : NULL);
    if (ok)
        count_returns(look, halt, &reading->calls);
    for (size_t i = 0; i < halt->count && ok; i++) {
        reading->tids[i] = halt->threads[i].tid;
        reading->snapshot.taken += reading->calls.stacks[i].count > 0;
        if (!halt->threads[i].is_stopped && !halt->threads[i].is_gone) {
            reading->snapshot.unstopped++;
            reading->n_runnable += is_runnable(halt->threads[i].tid);
        }
        reading->snapshot.threads -= halt->threads[i].is_gone;
    }
    return ok;
}

/* The number of the first wait of process PID that was noted; its others are behind it. */
static size_t find_waits(const struct tg_look_shared *look, pid_t pid)
{
    size_t first = 0;
    while (first < look->n_waits && look->waits[first].pid != pid)
        first++;
    return first;
}

/* The wait of thread TID of process PID that was noted, from FIRST on, or a new one; NULL without memory. */
static struct tg_wait *wait_of(struct tg_look_shared *look, size_t first, pid_t pid, pid_t tid)
{
    const struct tg_wait wait = {.pid = pid, .tid = tid};
    for (size_t i = first; i < look->n_waits && look->waits[i].pid == pid; i++)
        if (look->waits[i].tid == tid)
            return &look->waits[i];
    struct tg_error *error = TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait);
    bool is_there = error == NULL;
    tg_error_destroy(error);
    return is_there ? &look->waits[look->n_waits - 1] : NULL;
}

void tg_reading_find_criticals(struct tg_look_shared *look, pid_t pid, const struct tg_reading *reading)
{
    const struct tg_inspect_memory memory = {&pid, read_memory};
    const struct tg_call_stack *stacks = reading->calls.stacks;
    struct tg_criticals criticals;
    size_t n_waiting = 0;
    for (size_t i = 0; i < reading->count; i++)
        n_waiting += stacks[i].count > 0 && tg_critical_is_awaited(&reading->process, &memory, &stacks[i]);
    struct tg_critical_thread *threads = n_waiting > 0 ? calloc(reading->count, sizeof *threads) : NULL;
    if (threads == NULL)
        return;
    const size_t first = find_waits(look, pid);
    tg_criticals_begin(&reading->process, &memory, &criticals);
    for (size_t i = 0; i < reading->count; i++)
        tg_critical_thread_init(&criticals, &stacks[i], &threads[i]);
    for (size_t i = 0; i < reading->count; i++) {
        size_t owner = tg_critical_owner(threads, reading->count, i);
        struct tg_wait *wait = owner != SIZE_MAX ? wait_of(look, first, pid, reading->tids[i]) : NULL;
        if (wait != NULL && wait->is.owner == 0)
            tg_critical_wait_make(&threads[i], reading->tids[owner], wait);
    }
    for (size_t i = 0; i < reading->count; i++)
        tg_critical_thread_deinit(&threads[i]);
    tg_criticals_end(&criticals);
    free(threads);
}

void tg_reading_count_bytes(const struct tg_look_shared *look, pid_t pid, struct tg_reading *reading)
{
    uint64_t bytes = look->watch != NULL ? io_bytes(pid) : 0;
    for (size_t i = 0; i < reading->count; i++)
        reading->calls.activities[i].io_bytes = bytes;
}

void tg_reading_rehearse(const struct tg_look_shared *look, const struct tg_halt *halt,
                         const struct tg_reading *reading)
{
    struct tg_look_shared alone = *look; /* addresses that are met here get no names */
    struct tg_reading_calls calls;
    struct tg_error *error = tg_code_table_create(&alone.table);
    if (error == NULL) {
        read_stacks(&alone, reading, halt, &calls);
        deinit_calls(&calls, halt->count);
        tg_code_table_destroy(alone.table);
    }
    tg_error_destroy(error);
}

void tg_reading_drop_waits(struct tg_look_shared *look, pid_t pid)
{
    size_t n = 0;
    for (size_t i = 0; i < look->n_waits; i++)
        if (look->waits[i].pid != pid)
            look->waits[n++] = look->waits[i];
    look->n_waits = n;
}

void tg_reading_deinit(struct tg_reading *reading)
{
    deinit_calls(&reading->calls, reading->count);
    tg_mpi_members_deinit(&reading->world);
    tg_stack_process_close(&reading->process);
    free(reading->tids);
}
