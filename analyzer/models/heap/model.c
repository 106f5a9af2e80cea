#include "analyzer/models/heap/model.h"

#include "analyzer/models/heap/state.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdio.h>

enum {
    SPARE_STACKS = 1 << 12, /* how far the number of a stack may be beyond those that were told */
};

struct thread_key {
    size_t process;
    int32_t tid, zero;
};

struct thread {
    struct thread_key key;
    uint64_t last; /* address of the block that it got last, 0 none */
    UT_hash_handle hh;
};

struct tg_heap_model {
    struct tg_heap_options options;
    struct tg_string_pool strings;
    struct tg_heap_call_paths *paths;
    struct tg_heap_state **processes; /* in order of appearance */
    size_t count, capacity;
    size_t *by_process; /* by index in the process model: place in PROCESSES + 1 */
    size_t by_process_capacity, n_by_process;
    uint64_t n_told; /* stacks */
    struct thread *threads, *latest_thread;
    struct tg_heap_job job;
    uint64_t job_peak; /* how many peaks there were */
    struct tg_heap_growth *growth;
    struct tg_heap_faults faults;
};

static unsigned class_of(uint64_t size)
{
    return size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
}

/* The three uses that a block counts in. */
static void each_use(struct tg_heap_model *model, struct tg_heap_state *process, size_t site, uint64_t size,
                     void (*change)(struct tg_heap_use *use, const struct tg_heap_amount *amount),
                     const struct tg_heap_amount *amount)
{
    struct tg_heap_use *const uses[] = {&process->is.use, &process->is.sites[site].use,
                                        &process->is.by_size[class_of(size)]};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        tg_heap_use_settle(uses[i], process->peak, model->job_peak);
        change(uses[i], amount);
    }
}

static void count_temporary(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    (void)amount;
    use->temporary++;
}

/* After the live bytes have changed: peaks and growth. */
static struct tg_error *note_level(struct tg_heap_model *model, struct tg_heap_state *process,
                                   uint64_t time_ns)
{
    struct tg_heap_process *is = &process->is;
    if (is->growth == NULL && (is->growth = calloc(1, sizeof *is->growth)) == NULL)
        return tg_error_no_memory();
    if (model->growth == NULL && (model->growth = calloc(1, sizeof *model->growth)) == NULL)
        return tg_error_no_memory();
    tg_heap_growth_add(is->growth, time_ns, is->use.live.bytes);
    tg_heap_growth_add(model->growth, time_ns, model->job.live.bytes);
    if (is->use.live.bytes > is->use.at_peak.bytes || is->peak_ns == 0) {
        is->use.at_peak = is->use.live;
        is->use.peak = ++process->peak;
        is->peak_ns = time_ns;
    }
    if (model->job.live.bytes > model->job.peak.bytes || model->job.peak_ns == 0) {
        model->job.peak = model->job.live;
        model->job.peak_ns = time_ns;
        model->job_peak++;
    }
    return NULL;
}

/* ---- the model and its processes */

struct tg_error *tg_heap_model_create(const struct tg_heap_options *options, struct tg_heap_model **model)
{
    struct tg_heap_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    struct tg_error *error = tg_heap_call_paths_create(&made->paths);
    if (error != NULL) {
        tg_heap_model_destroy(made);
        return error;
    }
    *model = made;
    return NULL;
}

void tg_heap_model_destroy(struct tg_heap_model *model)
{
    if (model == NULL)
        return;
    struct thread *thread, *next;
    HASH_ITER (hh, model->threads, thread, next) {
        HASH_DEL(model->threads, thread);
        free(thread);
    }
    for (size_t i = 0; i < model->count; i++)
        tg_heap_state_destroy(model->processes[i]);
    free(model->processes);
    free(model->by_process);
    free(model->growth);
    tg_heap_faults_deinit(&model->faults);
    tg_heap_call_paths_destroy(model->paths);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

static struct tg_heap_state *find_process(const struct tg_heap_model *model, size_t process)
{
    return process < model->n_by_process && model->by_process[process] != 0
               ? model->processes[model->by_process[process] - 1]
               : NULL;
}

static struct tg_error *add_process(struct tg_heap_model *model, size_t index, int32_t pid,
                                    struct tg_heap_state **added)
{
    struct tg_heap_state *made = NULL;
    struct tg_error *error = tg_heap_state_create(index, pid, &made);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(model->by_process, model->by_process_capacity, index + 1);
    if (error == NULL)
        error = TG_ARRAY_APPEND(model->processes, model->count, model->capacity, made);
    if (error != NULL) {
        tg_heap_state_destroy(made);
        return error;
    }
    while (model->n_by_process <= index)
        model->by_process[model->n_by_process++] = 0;
    model->by_process[index] = model->count;
    *added = made;
    return NULL;
}

static struct tg_error *need_process(struct tg_heap_model *model, size_t index, int32_t pid,
                                     struct tg_heap_state **process)
{
    *process = find_process(model, index);
    return *process != NULL ? NULL : add_process(model, index, pid, process);
}

static struct tg_error *find_thread(struct tg_heap_model *model, size_t process, int32_t tid,
                                    struct thread **thread)
{
    struct thread_key key = {.process = process, .tid = tid};
    if (model->latest_thread != NULL && model->latest_thread->key.process == process &&
        model->latest_thread->key.tid == tid) {
        *thread = model->latest_thread;
        return NULL;
    }
    HASH_FIND(hh, model->threads, &key, sizeof key, *thread);
    struct tg_error *error = *thread == NULL ? TG_HASH_CREATE(hh, model->threads, key, &key, *thread) : NULL;
    if (error == NULL)
        model->latest_thread = *thread;
    return error;
}

/* FRAME, a return address as all frames here are, with the object that it is in. */
static struct tg_stack_frame locate(const struct tg_stack_frame *frame, int32_t pid,
                                    const struct tg_addresses *objects)
{
    struct tg_stack_frame located = *frame;
    if (*frame->module != '\0' || frame->kind == TG_FRAME_PYTHON || frame->pc == 0 || objects == NULL)
        return located;
    const struct tg_mapped_object *object = tg_addresses_find(objects, pid, frame->pc - 1);
    if (object == NULL || frame->pc - 1 < object->base)
        return located;
    uint64_t address = frame->pc - 1 - object->base;
    if (address >= (object->size_bytes != 0 ? object->size_bytes : UINT64_C(1) << 31))
        return located; /* of a program whose extent is not known, or of code that is in no object */
    located.module = object->path;
    located.build_id = object->build_id;
    located.address = address;
    return located;
}

static struct tg_error *take_stack(struct tg_heap_model *model, struct tg_heap_state *process,
                                   const struct tg_event *event, const struct tg_addresses *objects)
{
    const struct tg_event_heap_stack *stack = &event->heap_stack;
    /* processes may share numbers, so that one of them begins with high ones */
    if (stack->stack == 0 || stack->stack > ++model->n_told * 2 + SPARE_STACKS)
        return NULL;
    size_t count = stack->frames.count;
    const struct tg_stack_frame *frames = stack->frames.items;
    struct tg_stack_frame *located = calloc(count + 1, sizeof *located);
    if (located == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        located[i] = locate(&frames[i], event->pid, objects);
    uint32_t path, outer = tg_heap_state_path_of_stack(process, stack->outer);
    uint64_t end =
        outer == 0 && stack->outer != 0 ? TG_STACK_CUT : stack->end; /* nobody told of the others */
    struct tg_error *error = tg_heap_call_paths_intern(model->paths, located, count, outer, end, &path);
    free(located);
    return error != NULL ? error : tg_heap_state_tell_stack(process, stack->stack, path);
}

/* ---- blocks */

/* BLOCK is no longer among what is live; it is removed by the caller. */
static void uncount_block(struct tg_heap_model *model, struct tg_heap_state *process,
                          const struct tg_heap_block *block)
{
    struct tg_heap_amount amount = tg_heap_amount_of_block(block->size_bytes, process->is.sample_bytes);
    if (block->is_inherited) {
        tg_heap_amount_subtract(&process->is.inherited_live, &amount);
        return;
    }
    each_use(model, process, block->site, block->size_bytes, tg_heap_use_lose, &amount);
    tg_heap_amount_subtract(&model->job.live, &amount);
}

static struct tg_error *remove_block(struct tg_heap_model *model, struct tg_heap_state *process,
                                     struct tg_heap_block *block, uint64_t time_ns)
{
    bool is_inherited = block->is_inherited;
    uncount_block(model, process, block);
    tg_heap_blocks_remove(&process->is.blocks, block);
    return is_inherited ? NULL : note_level(model, process, time_ns);
}

static struct tg_error *add_block(struct tg_heap_model *model, struct tg_heap_state *process,
                                  const struct tg_heap_block *block)
{
    struct tg_heap_process *is = &process->is;
    if (is->by_size == NULL && (is->by_size = calloc(TG_HEAP_SIZE_CLASSES, sizeof *is->by_size)) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_heap_blocks_put(&is->blocks, block);
    tg_heap_frees_drop(process->frees, block->address);
    if (error != NULL)
        return error;
    struct tg_heap_amount amount = tg_heap_amount_of_block(block->size_bytes, process->is.sample_bytes);
    each_use(model, process, block->site, block->size_bytes, tg_heap_use_gain, &amount);
    tg_heap_amount_add(&model->job.live, &amount);
    is->recorded++;
    return note_level(model, process, block->time_ns);
}

/* One more than CALL, 0 where that does not fit into a block's four bits. */
static unsigned call_of(uint64_t call)
{
    return call < TG_HEAP_BLOCK_LAST_CALL ? (unsigned)call + 1 : 0;
}

/* BLOCK, at ADDRESS, NULL unknown, is freed by the call path PATH: remembered where blocks are checked. */
static struct tg_error *remember_free(struct tg_heap_state *process, const struct tg_heap_block *block,
                                      uint64_t address, uint32_t path)
{
    if (process->is.mode != TG_HEAP_CHECK || address == 0)
        return NULL;
    const struct tg_heap_freed place = {.address = address,
                                        .allocated_path =
                                            block != NULL ? process->is.sites[block->site].path : 0,
                                        .freed_path = path};
    return tg_heap_frees_add(&process->frees, &place);
}

/* BLOCK, just got, is one whose free by the call path PATH was told before. */
static struct tg_error *take_early_free(struct tg_heap_model *model, struct tg_heap_state *process,
                                        struct tg_heap_block *block, uint32_t path)
{
    process->is.unknown_frees--;
    process->is.freed++;
    struct tg_error *error = remember_free(process, block, block->address, path);
    return error != NULL ? error : remove_block(model, process, block, block->time_ns);
}

static struct tg_error *take_alloc(struct tg_heap_model *model, struct tg_heap_state *process,
                                   const struct tg_event *event)
{
    const struct tg_event_heap_alloc *alloc = &event->heap_alloc;
    const struct tg_heap_block block = {.address = alloc->address,
                                        .size_bytes = alloc->size_bytes,
                                        .time_ns = event->time_ns,
                                        .site = tg_heap_state_site_of_stack(process, alloc->stack) &
                                                TG_HEAP_BLOCK_LAST_SITE,
                                        .call = call_of(alloc->call),
                                        .tid = event->tid};
    struct thread *thread;
    struct tg_error *error = find_thread(model, process->is.process, event->tid, &thread);
    if (error != NULL || alloc->address == 0)
        return error;
    struct tg_heap_block *former = tg_heap_blocks_find(&process->is.blocks, alloc->address);
    if (former != NULL) {
        process->is.missed_frees++;
        error = remove_block(model, process, former, event->time_ns);
    }
    if (error == NULL)
        error = add_block(model, process, &block);
    if (error != NULL)
        return error;
    process->is.resized += alloc->call == TG_HEAP_REALLOC || alloc->call == TG_HEAP_REALLOCARRAY;
    thread->last = alloc->address;
    uint32_t path;
    if (tg_heap_state_was_freed(process, alloc->address, event->time_ns, &path))
        return take_early_free(model, process, tg_heap_blocks_find(&process->is.blocks, alloc->address),
                               path);
    return NULL;
}

static struct tg_error *take_free(struct tg_heap_model *model, struct tg_heap_state *process,
                                  const struct tg_event *event)
{
    uint64_t address = event->heap_free.address;
    uint32_t path = tg_heap_state_path_of_stack(process, event->heap_free.stack);
    struct thread *thread;
    struct tg_error *error = find_thread(model, process->is.process, event->tid, &thread);
    struct tg_heap_block *block = tg_heap_blocks_find(&process->is.blocks, address);
    if (error == NULL)
        error = remember_free(process, block, address, path);
    if (error != NULL)
        return error;
    if (block == NULL) {
        tg_heap_state_free_early(process, address, event->time_ns, path);
        process->is.unknown_frees++;
        return NULL;
    }
    process->is.freed += !block->is_inherited;
    if (event->time_ns < block->time_ns && process->is.missed_frees > 0) {
        process->is.missed_frees--; /* the free of the block before, which its successor overtook */
        return NULL;
    }
    if (thread->last == address && block->tid == event->tid) {
        struct tg_heap_amount none = {0};
        each_use(model, process, block->site, block->size_bytes, count_temporary, &none);
    }
    thread->last = 0;
    return remove_block(model, process, block, event->time_ns);
}

/* A block that changes its size is counted as freed and allocated anew, where the new size was asked for. */
static struct tg_error *take_resize(struct tg_heap_model *model, struct tg_heap_state *process,
                                    const struct tg_event *event)
{
    const struct tg_event_heap_resize *resize = &event->heap_resize;
    struct tg_heap_block *former = tg_heap_blocks_find(&process->is.blocks, resize->address);
    struct thread *thread;
    struct tg_error *error = find_thread(model, process->is.process, event->tid, &thread);
    if (error != NULL || resize->address == 0)
        return error;
    const struct tg_heap_block block = {.address = resize->address,
                                        .size_bytes = resize->size_bytes,
                                        .time_ns = event->time_ns,
                                        .site = tg_heap_state_site_of_stack(process, resize->stack) &
                                                TG_HEAP_BLOCK_LAST_SITE,
                                        .call = call_of(resize->call),
                                        .tid = event->tid};
    if (former != NULL) {
        uncount_block(model, process, former);
        tg_heap_blocks_remove(&process->is.blocks, former);
    }
    process->is.resized++;
    thread->last = resize->address;
    return add_block(model, process, &block);
}

/* ---- programs and processes */

static struct tg_error *take_start(struct tg_heap_model *model, struct tg_heap_state *process,
                                   const struct tg_event_heap_start *start)
{
    struct tg_heap_process *is = &process->is;
    is->is_late = is->is_late || start->is_late != 0;
    is->is_started = true;
    is->mode = start->mode;
    if (is->recorded == 0 || is->blocks.count == 0)
        is->sample_bytes = start->mode == TG_HEAP_SAMPLE ? start->sample_bytes : 0;
    is->depth = start->depth;
    is->guard_bytes = start->guard_bytes;
    is->hoard_bytes = start->hoard_bytes;
    is->paints = start->paints != 0;
    is->red_zones = start->red_zones != 0;
    return tg_string_pool_intern(&model->strings, start->allocator, &is->allocator);
}

/* Another program runs in PROCESS: its heap has gone, and stacks are numbered anew. */
static struct tg_error *take_exec(struct tg_heap_model *model, struct tg_heap_state *process,
                                  uint64_t time_ns)
{
    struct tg_error *error = NULL;
    bool had_blocks = process->is.blocks.count > 0;
    for (const struct tg_heap_block *block = NULL;
         (block = tg_heap_blocks_next(&process->is.blocks, block)) != NULL;)
        uncount_block(model, process, block);
    process->is.inherited = process->is.inherited_live = (struct tg_heap_amount){0};
    tg_heap_blocks_deinit(&process->is.blocks);
    tg_heap_frees_destroy(process->frees);
    process->frees = NULL;
    if (had_blocks)
        error = note_level(model, process, time_ns);
    tg_heap_state_forget_stacks(process);
    tg_heap_state_forget_frees(process);
    return error;
}

static struct tg_error *take_end(struct tg_heap_model *model, struct tg_heap_state *process, uint64_t time_ns)
{
    if (process->is.has_ended)
        return NULL;
    process->is.has_ended = true;
    tg_heap_use_settle(&process->is.use, process->peak, model->job_peak);
    for (size_t i = 0; i < process->is.n_sites; i++)
        tg_heap_use_settle(&process->is.sites[i].use, process->peak, model->job_peak);
    for (size_t i = 0; process->is.by_size != NULL && i < TG_HEAP_SIZE_CLASSES; i++)
        tg_heap_use_settle(&process->is.by_size[i], process->peak, model->job_peak);
    tg_heap_amount_subtract(&model->job.live, &process->is.use.live);
    if (model->growth != NULL)
        tg_heap_growth_add(model->growth, time_ns, model->job.live.bytes);
    if (!model->options.keeps_blocks)
        tg_heap_blocks_deinit(&process->is.blocks);
    tg_heap_state_forget_frees(process);
    tg_heap_frees_destroy(process->frees);
    process->frees = NULL;
    return NULL;
}

/* A forked process has its parent's numbers of stacks, and its blocks. */
static struct tg_error *take_fork(struct tg_heap_model *model, size_t index, const struct tg_event *event,
                                  size_t parent)
{
    const struct tg_heap_state *from = find_process(model, parent);
    struct tg_heap_state *process;
    if (from == NULL || from->is.has_ended || (from->n_stacks == 0 && from->is.blocks.count == 0) ||
        find_process(model, index) != NULL)
        return NULL;
    struct tg_error *error = add_process(model, index, event->pid, &process);
    return error != NULL
               ? error
               : tg_heap_state_inherit(process, from, event->process_start.origin == TG_ORIGIN_FORK);
}

/* ---- errors, gaps, leaks */

/* What gave the block of ERROR, which is live: one more than its enum tg_heap_call; 0: unknown. */
static unsigned allocated_by(const struct tg_heap_state *process, const struct tg_event_heap_error *error)
{
    const struct tg_heap_block *block =
        error->block == 0 ? NULL : tg_heap_blocks_find(&process->is.blocks, error->block);
    return block == NULL ? 0 : block->call;
}

/* Where the block of FAULT's error was allocated and freed; a forked process's agent knows no stacks of its parent. */
static void find_paths(const struct tg_heap_state *process, struct tg_heap_fault *fault)
{
    const struct tg_event_heap_error *is = &fault->is;
    const struct tg_heap_block *block = tg_heap_blocks_find(&process->is.blocks, is->block);
    const struct tg_heap_freed *freed = block == NULL ? tg_heap_frees_find(process->frees, is->block) : NULL;
    fault->allocated_path = tg_heap_state_path_of_stack(process, is->allocated_stack);
    fault->freed_path = tg_heap_state_path_of_stack(process, is->freed_stack);
    if (is->allocated_stack == 0 && block != NULL)
        fault->allocated_path = process->is.sites[block->site].path;
    if (is->allocated_stack == 0 && freed != NULL)
        fault->allocated_path = freed->allocated_path;
    if (is->freed_stack == 0 && freed != NULL)
        fault->freed_path = freed->freed_path;
}

static struct tg_error *take_error(struct tg_heap_model *model, const struct tg_heap_state *process,
                                   const struct tg_event *event)
{
    struct tg_heap_fault fault = {.process = process->is.process,
                                  .pid = event->pid,
                                  .tid = event->tid,
                                  .time_ns = event->time_ns,
                                  .is = event->heap_error,
                                  .path = tg_heap_state_path_of_stack(process, event->heap_error.stack),
                                  .allocated_by = allocated_by(process, &event->heap_error),
                                  .count = 1};
    find_paths(process, &fault);
    return tg_heap_faults_add(&model->faults, &model->strings, fault);
}

/* A library with a scope of its own, into which the agent did not come: its calls of malloc are libc's. */
static struct tg_error *take_deep_bind(struct tg_heap_model *model, const struct tg_heap_state *process,
                                       const struct tg_event_deep_bind *deep)
{
    char reason[512];
    if (deep->way == TG_DEEP_BIND_PASS_THROUGH)
        snprintf(reason, sizeof reason, "opened with RTLD_DEEPBIND, and TVHEAP_DEEPBIND has pass_through");
    else if (deep->way == TG_DEEP_BIND_FAILED)
        snprintf(reason, sizeof reason, "opened with RTLD_DEEPBIND: %s", deep->problem);
    else
        return NULL;
    return tg_heap_faults_add_gap(&model->faults, &model->strings, process->is.process, deep->library,
                                  reason);
}

static struct tg_error *take_scan(struct tg_heap_model *model, struct tg_heap_state *process,
                                  const struct tg_event *event)
{
    struct tg_event_heap_leak_scan scan = event->heap_leak_scan;
    struct tg_error *error = tg_string_pool_intern(&model->strings, scan.problem, &scan.problem);
    if (error == NULL)
        tg_heap_state_end_scan(process, &scan, event->time_ns);
    return error;
}

/* ---- all */

static struct tg_error *take_heap(struct tg_heap_model *model, struct tg_heap_state *process,
                                  const struct tg_event *event, const struct tg_addresses *objects)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_HEAP_ALLOC:
        return take_alloc(model, process, event);
    case TG_EVENT_HEAP_FREE:
        return take_free(model, process, event);
    case TG_EVENT_HEAP_RESIZE:
        return take_resize(model, process, event);
    case TG_EVENT_HEAP_STACK:
        return take_stack(model, process, event, objects);
    case TG_EVENT_HEAP_START:
        return take_start(model, process, &event->heap_start);
    case TG_EVENT_HEAP_ERROR:
        return take_error(model, process, event);
    case TG_EVENT_HEAP_UNSEEN:
        return tg_heap_faults_add_gap(&model->faults, &model->strings, process->is.process,
                                      event->heap_unseen.module, event->heap_unseen.reason);
    case TG_EVENT_HEAP_LEAK:
        return tg_heap_state_add_leak(process, &event->heap_leak);
    case TG_EVENT_HEAP_LEAK_SCAN:
        return take_scan(model, process, event);
    default:
        return NULL;
    }
}

struct tg_error *tg_heap_model_feed(struct tg_heap_model *model, const struct tg_event *event, size_t process,
                                    size_t parent, const struct tg_addresses *objects)
{
    struct tg_heap_state *found;
    if (event->kind >= TG_EVENT_HEAP_START && event->kind <= TG_EVENT_HEAP_LEAK_SCAN) {
        struct tg_error *error = need_process(model, process, event->pid, &found);
        return error != NULL ? error : take_heap(model, found, event, objects);
    }
    if (event->kind == TG_EVENT_DEEP_BIND) { /* of processes without a heap it says nothing here */
        found = find_process(model, process);
        return found == NULL || !found->is.is_started ? NULL
                                                      : take_deep_bind(model, found, &event->deep_bind);
    }
    if (event->kind == TG_EVENT_PROCESS_START)
        return parent == SIZE_MAX ? NULL : take_fork(model, process, event, parent);
    if (event->kind != TG_EVENT_EXEC && event->kind != TG_EVENT_PROCESS_EXIT)
        return NULL;
    found = find_process(model, process);
    if (found == NULL)
        return NULL;
    return event->kind == TG_EVENT_EXEC ? take_exec(model, found, event->time_ns)
                                        : take_end(model, found, event->time_ns);
}

size_t tg_heap_model_count(const struct tg_heap_model *model)
{
    return model->count;
}

const struct tg_heap_process *tg_heap_model_at(const struct tg_heap_model *model, size_t i)
{
    return &model->processes[i]->is;
}

const struct tg_heap_process *tg_heap_model_find(const struct tg_heap_model *model, size_t process)
{
    const struct tg_heap_state *found = find_process(model, process);
    return found == NULL ? NULL : &found->is;
}

uint32_t tg_heap_model_path_of(const struct tg_heap_model *model, size_t process, uint64_t stack)
{
    const struct tg_heap_state *found = find_process(model, process);
    return found == NULL ? 0 : tg_heap_state_path_of_stack(found, stack);
}

const struct tg_heap_call_paths *tg_heap_model_paths(const struct tg_heap_model *model)
{
    return model->paths;
}

struct tg_heap_use tg_heap_model_use(const struct tg_heap_model *model, const struct tg_heap_process *process,
                                     const struct tg_heap_use *use)
{
    struct tg_heap_use settled = *use;
    if (!process->has_ended)
        tg_heap_use_settle(&settled, find_process(model, process->process)->peak, model->job_peak);
    else if (settled.job_peak != model->job_peak)
        settled.at_job_peak = (struct tg_heap_amount){0}; /* the job had most when this process was gone */
    return settled;
}

struct tg_heap_job tg_heap_model_job(const struct tg_heap_model *model)
{
    return model->job;
}

const struct tg_heap_growth *tg_heap_model_growth(const struct tg_heap_model *model)
{
    return model->growth;
}

size_t tg_heap_model_fault_count(const struct tg_heap_model *model)
{
    return model->faults.n_faults;
}

const struct tg_heap_fault *tg_heap_model_fault_at(const struct tg_heap_model *model, size_t i)
{
    return &model->faults.faults[i];
}

uint64_t tg_heap_model_more_faults(const struct tg_heap_model *model)
{
    return model->faults.more_faults;
}

size_t tg_heap_model_gap_count(const struct tg_heap_model *model)
{
    return model->faults.n_gaps;
}

const struct tg_heap_gap *tg_heap_model_gap_at(const struct tg_heap_model *model, size_t i)
{
    return &model->faults.gaps[i];
}
