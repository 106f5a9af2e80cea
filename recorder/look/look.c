#include "recorder/look/look.h"

#include "format/base/array.h"
#include "format/event/event.h"
#include "recorder/dwarf/debug_cache.h"
#include "recorder/engine/engine.h"
#include "recorder/look/halt.h"
#include "recorder/look/mpi_values.h"
#include "recorder/look/process_tree.h"
#include "recorder/look/return_watch.h"
#include "recorder/look/telling.h"
#include "recorder/look/waits.h"
#include "recorder/process/memory.h"
#include "recorder/record/process_facts.h"
#include "recorder/stacks/call_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 8192, MAX_DEBUG_INFOS = 256 };
static const uint64_t PROCESS_NS = 1000000000, NAMES_NS = 20000000000;

struct look {
    const struct tg_look_sink *sink;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_code_table *table;
    uint64_t n_processes;
    bool with_values;
    struct tg_return_watch *watch; /* NULL none */
    struct tg_wait *waits;
    size_t n_waits, waits_capacity;
    pid_t *pids; /* that were looked at */
    size_t n_pids, pids_capacity;
};

/* What one process is told about. */
struct subject {
    struct look *look;
    pid_t pid;
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

/* Has the files read that the stacks need: the process does not wait for that. */
static void prepare(const struct look *look, pid_t pid, unsigned bits)
{
    struct tg_stack_process process = tg_stack_process_open(pid, bits, look->images, look->debug);
    size_t count = process.modules != NULL ? tg_modules_count(process.modules) : 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bias;
        tg_modules_debug_info(process.modules, tg_modules_at(process.modules, i), &bias);
    }
    tg_stack_process_close(&process);
}

/* ---- while it stands still */

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read(*(const pid_t *)context, address, buffer, size);
}

static size_t read_some(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(*(const pid_t *)context, address, buffer, size);
}

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
};

static void deinit_calls(struct calls *calls, size_t count)
{
    for (size_t i = 0; i < count && calls->stacks != NULL; i++)
        tg_call_stack_deinit(&calls->stacks[i]);
    free(calls->stacks);
    free(calls->values);
    free(calls->activities);
}

/* False without memory. */
static bool read_stacks(const struct look *look, const struct tg_stack_process *process,
                        const struct tg_halt *halt, uint64_t until_ns, struct calls *calls)
{
    struct tg_frame *unwound = calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *unwound);
    struct tg_call_stack *stacks = calloc(halt->count, sizeof *stacks);
    *calls = (struct calls){stacks, calloc(halt->count, sizeof *calls->values),
                            calloc(halt->count, sizeof *calls->activities)};
    bool ok = unwound != NULL && stacks != NULL && calls->values != NULL && calls->activities != NULL;
    for (size_t i = 0; ok && i < halt->count; i++) {
        struct tg_halted_thread *thread = &halt->threads[i];
        const struct tg_inspect_memory memory = {&thread->tid, read_memory};
        if (!thread->is_stopped || tg_engine_now_ns() >= until_ns)
            continue;
        stacks[i].unwound = unwound;
        tg_call_stack_read(process, &thread->registers, &memory, look->table, until_ns, &stacks[i]);
        if (look->with_values)
            tg_mpi_values_find(process, &memory, &stacks[i], &calls->values[i]);
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
                                              .sleeps = tg_wait_is_asleep(thread)};
        if (look->watch == NULL || !thread->is_stopped)
            continue;
        activity->is_counted = tg_return_watch_take(look->watch, thread->tid, activity);
        if (thread->tid != pid && tg_mpi_entry_find(&calls->stacks[i]) == SIZE_MAX)
            continue;
        uint64_t address = return_address(&calls->stacks[i]);
        if (address != 0)
            tg_return_watch_add(look->watch, thread->tid, address);
    }
}

/* What is not noted for want of memory is not told. */
static void note_waits(struct look *look, pid_t pid, const struct tg_halt *halt)
{
    struct tg_wait wait;
    const struct tg_elf_memory memory = {read_some, &pid};
    tg_error_destroy(TG_ARRAY_APPEND(look->pids, look->n_pids, look->pids_capacity, pid));
    for (size_t i = 0; i < halt->count; i++)
        if (tg_wait_find(pid, &memory, true, halt, i, &wait))
            tg_error_destroy(TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait));
}

/* ---- behind it */

static void tell_thread(const struct subject *subject, pid_t tid, const struct tg_call_stack *stack)
{
    char name[32] = "", program[32] = "";
    if (tid != subject->pid)
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_START});
    struct tg_proc_status status;
    if (tg_proc_status_read(tid, &status))
        snprintf(name, sizeof name, "%.31s", status.name);
    if (tg_proc_status_read(subject->pid, &status))
        snprintf(program, sizeof program, "%.31s", status.name);
    if (*name != '\0' && strcmp(name, program) != 0)
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_NAME, .thread_name = {.name = name}});
    if (stack->count > 0)
        tell(subject, tid,
             (struct tg_event){.kind = TG_EVENT_STACK,
                               .stack = {.snapshot = subject->look->n_processes,
                                         .reason = TG_STACK_LOOK,
                                         .end = stack->end,
                                         .frames = {.items = stack->frames, .count = stack->count}}});
}

static struct tg_error *look_at(struct look *look, pid_t pid)
{
    struct subject subject = {look, pid};
    struct tg_halt halt;
    unsigned bits = tg_process_facts_look(pid).bits;
    prepare(look, pid, bits);
    struct tg_error *error = tg_halt_begin(pid, tg_engine_now_ns() + PROCESS_NS / 2, MAX_THREADS, &halt);
    if (error != NULL) {
        look->sink->refuse(look->sink->context, pid, tg_error_message(error));
        tg_error_destroy(error);
        return NULL;
    }
    struct tg_event_stack_snapshot snapshot = {
        .snapshot = ++look->n_processes, .reason = TG_STACK_LOOK, .threads = halt.count};
    size_t count = halt.count;
    pid_t *tids = calloc(count, sizeof *tids);
    struct tg_stack_process process =
        tg_stack_process_open(first_stopped(&halt), bits, look->images, look->debug);
    struct calls calls;
    bool ok = read_stacks(look, &process, &halt, tg_engine_now_ns() + PROCESS_NS / 2, &calls) && tids != NULL;
    note_waits(look, pid, &halt);
    if (ok)
        count_returns(look, pid, &halt, &calls);
    for (size_t i = 0; i < count && ok; i++) {
        tids[i] = halt.threads[i].tid;
        snapshot.taken += calls.stacks[i].count > 0;
        snapshot.unstopped += !halt.threads[i].is_stopped && !halt.threads[i].is_gone;
    }
    snapshot.took_ns = tg_halt_end(&halt);
    if (!ok)
        error = tg_error_no_memory();
    else
        tell_process(&subject);
    for (size_t i = 0; i < count && error == NULL; i++) {
        tell_thread(&subject, tids[i], &calls.stacks[i]);
        tg_look_tell_values(look->sink, pid, tids[i], &calls.values[i]);
        if (look->sink->add_activity != NULL)
            look->sink->add_activity(look->sink->context, &calls.activities[i]);
    }
    deinit_calls(&calls, count);
    if (error == NULL)
        tell(&subject, pid, (struct tg_event){.kind = TG_EVENT_STACK_SNAPSHOT, .stack_snapshot = snapshot});
    tg_stack_process_close(&process);
    free(tids);
    return error;
}

/* ---- all of them */

static bool is_wanted(const struct tg_look_request *request, const struct tg_process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < request->count; i++)
        if (request->with_descendants ? tg_process_tree_descends(tree, pid, request->pids[i])
                                      : pid == request->pids[i])
            return true;
    return false;
}

static struct tg_error *look_at_all(struct look *look, const struct tg_look_request *request,
                                    const struct tg_process_tree *tree)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < request->count; i++) {
        struct tg_proc_status status;
        if (tg_process_tree_find(tree, request->pids[i]) != NULL)
            continue;
        bool is_there = tg_proc_status_read(request->pids[i], &status);
        look->sink->refuse(look->sink->context, request->pids[i],
                           !is_there                         ? "no such process"
                           : tg_proc_status_is_dead(&status) ? "it has already ended"
                                                             : "it is a kernel thread");
    }
    for (size_t i = 0; error == NULL && i < tree->count; i++)
        if (tree->processes[i].pid != getpid() && is_wanted(request, tree, tree->processes[i].pid))
            error = look_at(look, tree->processes[i].pid);
    return error;
}

static void take_name(void *context, const struct tg_event *event)
{
    const struct tg_look_sink *sink = context;
    sink->add(sink->context, event);
}

struct tg_error *tg_look(const struct tg_look_request *request, const struct tg_look_sink *sink)
{
    struct look look = {.sink = sink, .with_values = request->with_values, .watch = request->watch};
    struct tg_process_tree tree = {0};
    struct tg_error *error = tg_image_cache_create(0, &look.images);
    if (error == NULL)
        error = tg_debug_cache_create(MAX_DEBUG_INFOS, &look.debug);
    if (error == NULL)
        error = tg_code_table_create(&look.table);
    if (error == NULL)
        error = tg_process_tree_read(&tree);
    if (error == NULL)
        error = look_at_all(&look, request, &tree);
    if (error == NULL)
        tg_look_tell_waits(sink, look.waits, look.n_waits, look.pids, look.n_pids);
    if (error == NULL)
        tg_code_table_tell(look.table, tg_engine_now_ns() + NAMES_NS, take_name, (void *)sink);
    free(look.waits);
    free(look.pids);
    tg_process_tree_deinit(&tree);
    tg_code_table_destroy(look.table);
    tg_debug_cache_destroy(look.debug);
    tg_image_cache_destroy(look.images);
    return error;
}
