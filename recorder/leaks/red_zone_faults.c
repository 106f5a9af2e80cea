#include "recorder/leaks/red_zone_faults.h"

#include "recorder/rings/heap_records.h"
#include "recorder/stacks/call_stack.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>

enum {
    MAX_STACKS =
        TG_HEAP_STACK_OUTSIDE - 4, /* of a recording; readers take numbers that are not far beyond others */
    MAX_DEBUG_INFOS = 64,
};
static const uint64_t WITHIN_NS = 1000000000;

struct tg_red_zone_faults {
    struct tg_engine *engine;
    struct tg_red_zone_faults_options options;
    struct tg_debug_cache *debug;
    struct tg_code_table *table;
    struct tg_observer observer;
    size_t slot;
    uint64_t n_stacks;
};

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_thread_read_memory(context, address, buffer, size);
}

/* Emits the stack of THREAD; its number, 0: there is none. */
static uint64_t tell_stack(struct tg_red_zone_faults *faults, struct tg_thread *thread)
{
    struct user_regs_struct user;
    struct tg_call_stack stack = {.unwound = NULL}; /* nobody wants the frames themselves */
    if (faults->n_stacks == MAX_STACKS || !tg_thread_stopped_registers(thread, &user))
        return 0;
    struct tg_stack_process process = tg_stack_process_open(
        tg_process_memory_tid(thread->process), thread->process->bits, faults->options.images, faults->debug);
    const struct tg_inspect_memory memory = {thread, read_memory};
    tg_call_stack_read(&process, &user, &memory, faults->table, tg_engine_now_ns() + WITHIN_NS, &stack);
    uint64_t number = ++faults->n_stacks * TG_HEAP_STACK_OUTSIDE;
    const struct tg_event event = {.kind = TG_EVENT_HEAP_STACK,
                                   .heap_stack = {.stack = number,
                                                  .end = stack.end,
                                                  .frames = {.items = stack.frames, .count = stack.count}}};
    tg_engine_emit(faults->engine, thread, &event);
    tg_call_stack_deinit(&stack);
    tg_stack_process_close(&process);
    return number;
}

static enum tg_heap_error error_of(const struct tg_red_zone_hit *hit, uint64_t address)
{
    return hit->was_freed         ? TG_HEAP_RZ_USE_AFTER_FREE
           : address < hit->block ? TG_HEAP_RZ_UNDERRUN
                                  : TG_HEAP_RZ_OVERRUN;
}

static void look_at(struct tg_red_zone_faults *faults, struct tg_thread *thread, uint64_t address)
{
    struct tg_red_zone_hit hit;
    pid_t pid = thread->process->pid;
    if (!faults->options.settle(faults->options.context, UINT64_MAX) ||
        !tg_live_blocks_near(faults->options.live, pid, address, &hit))
        return;
    const struct tg_event event = {.kind = TG_EVENT_HEAP_ERROR,
                                   .heap_error = {.error = error_of(&hit, address),
                                                  .address = address,
                                                  .block = hit.block,
                                                  .size_bytes = hit.size_bytes,
                                                  .stack = tell_stack(faults, thread),
                                                  .allocated_stack = hit.allocated_stack,
                                                  .freed_stack = hit.freed_stack,
                                                  .allocated_tid = hit.allocated_tid,
                                                  .freed_tid = hit.freed_tid,
                                                  .offset = (int64_t)(address - hit.block),
                                                  .call = ""}};
    tg_engine_emit(faults->engine, thread, &event);
}

/* Whether blocks of PID have red zones. What its heap's library said of that may still be on its way. */
static bool has_red_zones(const struct tg_red_zone_faults *faults, pid_t pid)
{
    return tg_live_blocks_have_red_zones(faults->options.live, pid) ||
           (faults->options.settle(faults->options.context, UINT64_MAX) &&
            tg_live_blocks_have_red_zones(faults->options.live, pid));
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_red_zone_faults *faults = context;
    siginfo_t info;
    if (stop->trigger != TG_TRIGGER_SIGNAL || stop->signal != SIGSEGV || thread->process->bits == 32 ||
        ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) != 0 || info.si_code != SEGV_ACCERR ||
        !has_red_zones(faults, thread->process->pid))
        return;
    look_at(faults, thread, (uint64_t)(uintptr_t)info.si_addr);
}

struct tg_error *tg_red_zone_faults_create(struct tg_engine *engine,
                                           const struct tg_red_zone_faults_options *options,
                                           struct tg_red_zone_faults **faults)
{
    struct tg_red_zone_faults *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){.name = "red zones", .context = made, .stopped = stopped};
    struct tg_error *error = tg_debug_cache_create(MAX_DEBUG_INFOS, &made->debug);
    if (error == NULL)
        error = tg_code_table_create(&made->table);
    if (error == NULL)
        error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_red_zone_faults_destroy(made);
        return error;
    }
    *faults = made;
    return NULL;
}

void tg_red_zone_faults_destroy(struct tg_red_zone_faults *faults)
{
    if (faults == NULL)
        return;
    tg_code_table_destroy(faults->table);
    tg_debug_cache_destroy(faults->debug);
    free(faults);
}
