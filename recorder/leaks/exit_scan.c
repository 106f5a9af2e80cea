#include "recorder/leaks/exit_scan.h"

#include "recorder/leaks/leak_roots.h"
#include "recorder/leaks/leak_search.h"
#include "recorder/leaks/thread_ends.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
    MAX_GROUPS = 10000, /* of leaks that are told; the rest of a process in one without a stack */
    KILLED_S = 5,       /* for all processes that signals end: somebody wants them to end */
};

struct tg_exit_scan {
    struct tg_engine *engine;
    struct tg_exit_scan_options options;
    struct tg_observer observer;
    size_t slot;        /* of a process: struct seen */
    uint64_t killed_ns; /* spent so far on processes that signals have ended */
};

/* What is known of a process. */
struct seen {
    uint64_t since_ns; /* when its program was there, and had done nothing */
    uint64_t n_scans;
    struct tg_thread_ends ends; /* of the program's threads */
};

static void tell_scan(struct tg_exit_scan *scan, struct tg_thread *thread,
                      const struct tg_event_heap_leak_scan *is)
{
    tg_engine_emit(scan->engine, thread,
                   &(struct tg_event){.kind = TG_EVENT_HEAP_LEAK_SCAN, .heap_leak_scan = *is});
}

/* ---- what was found */

/* What a forked child has of its parent's is told where that ends. */
static bool is_leak(const struct tg_leak_block *block)
{
    return block->state != TG_LEAK_REACHED && !block->is_inherited;
}

static uint64_t kind_of(const struct tg_leak_block *block)
{
    return block->state == TG_LEAK_LOST       ? TG_HEAP_LEAK_LOST
           : block->state == TG_LEAK_INDIRECT ? TG_HEAP_LEAK_INDIRECT
                                              : TG_HEAP_LEAK_INTERIOR;
}

/* By kind and stack, then by address. */
static int compare(const void *a, const void *b)
{
    const struct tg_leak_block *x = a, *y = b;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void tell_leak(struct tg_exit_scan *scan, struct tg_thread *thread,
                      const struct tg_event_heap_leak *leak)
{
    tg_engine_emit(scan->engine, thread, &(struct tg_event){.kind = TG_EVENT_HEAP_LEAK, .heap_leak = *leak});
}

static void tell_leaks(struct tg_exit_scan *scan, struct tg_thread *thread, struct tg_leak_block *blocks,
                       size_t count, struct tg_event_heap_leak_scan *is)
{
    size_t n_leaks = 0, n_groups = 0;
    for (size_t i = 0; i < count; i++) {
        is->blocks += !blocks[i].is_inherited;
        is->live_bytes += blocks[i].is_inherited ? 0 : blocks[i].size_bytes;
        if (is_leak(&blocks[i]))
            blocks[n_leaks++] = blocks[i];
    }
    if (n_leaks > 0)
        qsort(blocks, n_leaks, sizeof *blocks, compare);
    for (size_t i = 0, end; i < n_leaks; i = end) {
        struct tg_event_heap_leak leak = {.leak = kind_of(&blocks[i]),
                                          .stack = n_groups < MAX_GROUPS ? blocks[i].stack : 0,
                                          .address = blocks[i].address,
                                          .scan = is->scan};
        for (end = i; end < n_leaks && blocks[end].state == blocks[i].state &&
                      (blocks[end].stack == blocks[i].stack || n_groups >= MAX_GROUPS);
             end++) {
            leak.blocks++;
            leak.size_bytes += blocks[end].size_bytes;
        }
        if (leak.leak != TG_HEAP_LEAK_INTERIOR) {
            is->leaked_blocks += leak.blocks;
            is->leaked_bytes += leak.size_bytes;
        }
        n_groups++;
        tell_leak(scan, thread, &leak);
    }
}

/* ---- the search */

static struct tg_error *look_at_threads(const struct tg_exit_scan *scan, const struct tg_process *process,
                                        struct tg_leak_threads *threads)
{
    static const struct tg_thread_ends unknown = {.misses_some = true};
    const struct seen *seen = process->data[scan->slot];
    return tg_leak_threads_read(process, seen != NULL ? &seen->ends : &unknown, threads);
}

/* SIGKILL ends also the last stop of a process. */
static bool is_stopped(const struct tg_thread *thread)
{
    struct user_regs_struct registers;
    return ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) == 0;
}

static struct tg_error *search(struct tg_exit_scan *scan, struct tg_thread *thread,
                               const struct tg_leak_threads *threads, struct tg_leak_block *blocks,
                               size_t count, struct tg_leak_found *found)
{
    struct tg_leak_root *roots = NULL;
    struct tg_leak_search wanted = {.tid = thread->tid,
                                    .blocks = blocks,
                                    .n_blocks = count,
                                    .words = threads->words,
                                    .n_words = threads->n_words};
    const struct tg_leak_roots_options options = {.tid = thread->tid,
                                                  .threads = threads->stacks,
                                                  .n_threads = threads->count,
                                                  .are_all = threads->are_all,
                                                  .agent_directory = scan->options.agent_directory};
    struct tg_error *error = tg_leak_roots_find(&options, &roots, &wanted.n_roots);
    wanted.roots = roots;
    if (error == NULL)
        error = tg_leak_search_run(&wanted, found);
    if (error == NULL && !is_stopped(thread)) /* what could not be read any more referred to nothing */
        error = tg_error_create(TG_ERROR_TARGET, "it was killed while it was searched");
    free(roots);
    return error;
}

/* Of a search in PROCESS, from 1. */
static uint64_t next_number(const struct tg_exit_scan *scan, struct tg_process *process)
{
    struct seen *seen = process->data[scan->slot];
    return seen == NULL ? 1 : ++seen->n_scans;
}

/* Takes ERROR. */
static void tell_problem(struct tg_exit_scan *scan, struct tg_thread *thread, struct tg_error *error)
{
    const struct tg_event_heap_leak_scan is = {.scan = next_number(scan, thread->process),
                                               .problem = tg_error_message(error)};
    tell_scan(scan, thread, &is);
    tg_error_destroy(error);
}

static bool has_own(const struct tg_leak_block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!blocks[i].is_inherited)
            return true;
    return false;
}

static void search_and_tell(struct tg_exit_scan *scan, struct tg_thread *thread,
                            const struct tg_leak_threads *threads, const struct tg_live_ahead *ahead)
{
    struct tg_leak_block *blocks = NULL;
    struct tg_leak_found found = {0};
    size_t count;
    char unread[80];
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_event_heap_leak_scan is = {.problem = ""};
    struct tg_error *error =
        tg_live_blocks_copy(scan->options.live, thread->process->pid, ahead, &blocks, &count);
    if (error == NULL && has_own(blocks, count))
        error = search(scan, thread, threads, blocks, count, &found);
    if (error != NULL) {
        tell_problem(scan, thread, error);
        free(blocks);
        return;
    }
    is.scan = next_number(scan, thread->process);
    is.searched_bytes = found.searched_bytes;
    if (found.unread_bytes > 0) {
        snprintf(unread, sizeof unread, "%" PRIu64 " bytes could not be read", found.unread_bytes);
        is.problem = unread;
    }
    tell_leaks(scan, thread, blocks, count, &is);
    is.took_ns = tg_engine_now_ns() - start_ns;
    tell_scan(scan, thread, &is);
    free(blocks);
}

/* ---- observer */

/* The signal that ends the process of THREAD, 0 none: it ends by itself; -1: nobody knows. */
static int ending_signal(const struct tg_thread *thread)
{
    unsigned long status = 0;
    if (ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &status) != 0)
        return -1;
    return WIFSIGNALED((int)status) ? WTERMSIG((int)status) : 0;
}

static void add_ahead(void *context, const struct tg_event *event)
{
    tg_live_ahead_add(context, event);
}

/* What the process of THREAD did to its heap and is in no event yet, though its threads have all stopped for good: other
 * processes may still have something to tell of that time, and until they have had theirs it is not told. */
static bool look_ahead(const struct tg_exit_scan *scan, const struct tg_thread *thread,
                       struct tg_live_ahead *ahead)
{
    const struct tg_exit_scan_options *options = &scan->options;
    const struct seen *seen = thread->process->data[scan->slot];
    struct tg_ring_foresight foresight = {.pid = thread->process->pid,
                                          .since_ns = seen != NULL ? seen->since_ns : 0,
                                          .sink = {.context = ahead, .add = add_ahead}};
    if (!options->foresee(options->context, &foresight))
        return false;
    return ahead->has_start || foresight.told_ns > foresight.since_ns ||
           options->settle(options->context, foresight.since_ns);
}

static void look_at_end(struct tg_exit_scan *scan, struct tg_thread *thread,
                        const struct tg_leak_threads *threads, int signal)
{
    struct tg_live_ahead ahead = {0};
    bool is_known = threads->are_all ? look_ahead(scan, thread, &ahead)
                                     : scan->options.settle(scan->options.context, UINT64_MAX);
    if (tg_live_blocks_wants_search(scan->options.live, thread->process->pid, &ahead)) {
        if (signal != 0 && scan->killed_ns > (uint64_t)KILLED_S * 1000000000)
            tell_problem(scan, thread,
                         tg_error_create(TG_ERROR_LIMIT,
                                         "it was killed, as others before it were whose search took %d s",
                                         KILLED_S));
        else if (is_known)
            search_and_tell(scan, thread, threads, &ahead);
        else
            tell_problem(scan, thread,
                         tg_error_create(TG_ERROR_LIMIT, "its heap's records were not read in time"));
    }
    tg_live_ahead_deinit(&ahead);
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    struct tg_exit_scan *scan = context;
    struct tg_leak_threads threads;
    if (trigger != TG_TRIGGER_EXIT || thread->process->bits == 32)
        return;
    int signal = ending_signal(thread);
    if (signal < 0 || (signal == SIGKILL && scan->options.spares_killed(scan->options.context)))
        return;
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_error *error = look_at_threads(scan, thread->process, &threads);
    if (error == NULL)
        look_at_end(scan, thread, &threads, signal);
    else
        tell_problem(scan, thread, error);
    tg_leak_threads_deinit(&threads);
    if (signal != 0)
        scan->killed_ns += tg_engine_now_ns() - start_ns;
}

/* Whatever the process did before is another program's, or its parent's. */
static void begin(const struct tg_exit_scan *scan, const struct tg_thread *thread)
{
    void **seen = &thread->process->data[scan->slot];
    if (*seen == NULL)
        *seen = calloc(1, sizeof(struct seen));
    if (*seen == NULL)
        return;
    ((struct seen *)*seen)->since_ns = tg_engine_now_ns();
    tg_thread_ends_deinit(&((struct seen *)*seen)->ends);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    (void)origin;
    (void)parent;
    begin(context, thread);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    (void)attached;
    begin(context, thread);
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    const struct tg_exit_scan *scan = context;
    struct seen *seen = thread->process->data[scan->slot];
    if (stop->trigger == TG_TRIGGER_EXIT && thread->process->bits != 32 && seen != NULL)
        tg_thread_ends_note(&seen->ends, thread);
}

static void process_ended(void *context, struct tg_process *process)
{
    const struct tg_exit_scan *scan = context;
    struct seen *seen = process->data[scan->slot];
    if (seen != NULL)
        tg_thread_ends_deinit(&seen->ends);
    free(seen);
    process->data[scan->slot] = NULL;
}

struct tg_error *tg_exit_scan_create(struct tg_engine *engine, const struct tg_exit_scan_options *options,
                                     struct tg_exit_scan **scan)
{
    struct tg_exit_scan *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){.name = "leaks at exit",
                                          .context = made,
                                          .process_started = process_started,
                                          .program_loaded = program_loaded,
                                          .stopped = stopped,
                                          .process_leaving = process_leaving,
                                          .process_ended = process_ended};
    struct tg_error *error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        free(made);
        return error;
    }
    *scan = made;
    return NULL;
}

struct tg_error *tg_exit_scan_search(struct tg_exit_scan *scan, struct tg_thread *thread)
{
    struct tg_leak_threads threads;
    if (thread->process->bits == 32 ||
        !tg_live_blocks_wants_search(scan->options.live, thread->process->pid, NULL))
        return tg_error_create(TG_ERROR_NOT_FOUND, "its heap is not recorded, or by a sample alone");
    for (struct tg_thread *t = thread->process->threads; t != NULL; t = t->hh.next)
        if (!tg_thread_is_kept(t))
            return tg_error_create(TG_ERROR_TARGET, "thread %d runs; dhalt stops it", t->tid);
    if (!scan->options.settle(scan->options.context, UINT64_MAX))
        return tg_error_create(TG_ERROR_LIMIT, "its heap's records were not read in time; try again");
    struct tg_error *error = look_at_threads(scan, thread->process, &threads);
    if (error == NULL)
        search_and_tell(scan, thread, &threads, NULL);
    tg_leak_threads_deinit(&threads);
    return error;
}

void tg_exit_scan_destroy(struct tg_exit_scan *scan)
{
    free(scan);
}
