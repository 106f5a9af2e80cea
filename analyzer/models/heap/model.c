#include "analyzer/models/heap/model.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <math.h>
#include <stdio.h>

enum {
    MAX_DISTINCT = 1000, /* faults and gaps that are kept; leaks of a search */
    MAX_LEAKS = 1 << 20,
    EARLY_SLOTS = 1 << 10,   /* frees that may have overtaken their allocations */
    MAX_INHERITED = 1 << 22, /* blocks that a forked process is given */
    SPARE_STACKS = 1 << 12,  /* how far the number of a stack may be beyond those that were told */
};

/* A free without a block, until another one comes whose address falls on its place. */
struct early_free {
    uint64_t address, time_ns;
};

struct process {
    struct tg_heap_process is;
    uint32_t *site_of_stack; /* by number of a stack: its site + 1; 0: not told */
    size_t stack_capacity, n_stacks;
    uint32_t *site_of_path; /* site + 1; 0: none yet */
    size_t path_capacity, n_paths, site_capacity, leak_capacity;
    struct tg_heap_scan coming; /* leaks whose search is not told yet */
    struct early_free *early;   /* EARLY_SLOTS of them; NULL: none yet */
    uint64_t peak;              /* how many peaks there were */
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
    struct process **processes; /* in order of appearance */
    size_t count, capacity;
    size_t *by_process; /* by index in the process model: place in PROCESSES + 1 */
    size_t by_process_capacity, n_by_process;
    uint64_t n_told; /* stacks */
    struct thread *threads, *latest_thread;
    struct tg_heap_job job;
    uint64_t job_peak; /* how many peaks there were */
    struct tg_heap_growth *growth;
    struct tg_heap_fault *faults;
    size_t n_faults, fault_capacity;
    uint64_t more_faults;
    struct tg_heap_gap *gaps;
    size_t n_gaps, gap_capacity;
};

/* ---- amounts */

uint64_t tg_heap_amount_error(const struct tg_heap_amount *amount)
{
    return amount->variance > 0 ? (uint64_t)llround(sqrt(amount->variance)) : 0;
}

void tg_heap_amount_add(struct tg_heap_amount *sum, const struct tg_heap_amount *more)
{
    sum->parts += more->parts;
    sum->bytes += more->bytes;
    sum->variance += more->variance;
}

static void subtract(struct tg_heap_amount *from, const struct tg_heap_amount *less)
{
    from->parts -= less->parts;
    from->bytes -= less->bytes;
    from->variance = from->parts > 0 && from->variance > less->variance ? from->variance - less->variance : 0;
}

/* What one block of SIZE stands for. */
static struct tg_heap_amount weigh(const struct process *process, uint64_t size)
{
    struct tg_heap_amount amount = {.parts = TG_HEAP_PARTS, .bytes = size};
    if (process->is.sample_bytes == 0 || size == 0)
        return amount;
    double bytes = (double)size, hit = -expm1(-bytes / (double)process->is.sample_bytes);
    amount.parts = (uint64_t)llround(TG_HEAP_PARTS / hit);
    amount.bytes = (uint64_t)llround(bytes / hit);
    amount.variance = bytes * bytes * (1 - hit) / (hit * hit);
    return amount;
}

/* Before USE changes: what it has been since the latest peaks is what it was then. */
static void settle(struct tg_heap_use *use, uint64_t peak, uint64_t job_peak)
{
    if (use->peak != peak) {
        use->at_peak = use->live;
        use->peak = peak;
    }
    if (use->job_peak != job_peak) {
        use->at_job_peak = use->live;
        use->job_peak = job_peak;
    }
}

static unsigned class_of(uint64_t size)
{
    return size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
}

/* The three uses that a block counts in. */
static void each_use(struct tg_heap_model *model, struct process *process, size_t site, uint64_t size,
                     void (*change)(struct tg_heap_use *use, const struct tg_heap_amount *amount),
                     const struct tg_heap_amount *amount)
{
    struct tg_heap_use *const uses[] = {&process->is.use, &process->is.sites[site].use,
                                        &process->is.by_size[class_of(size)]};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        settle(uses[i], process->peak, model->job_peak);
        change(uses[i], amount);
    }
}

static void gain(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    tg_heap_amount_add(&use->allocated, amount);
    tg_heap_amount_add(&use->live, amount);
}

static void lose(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    subtract(&use->live, amount);
}

static void count_temporary(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    (void)amount;
    use->temporary++;
}

/* After the live bytes have changed: peaks and growth. */
static struct tg_error *note_level(struct tg_heap_model *model, struct process *process, uint64_t time_ns)
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

/* ---- who */

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

static void destroy_process(struct process *process)
{
    free(process->site_of_stack);
    free(process->site_of_path);
    free(process->coming.leaks);
    free(process->early);
    free(process->is.scan.leaks);
    free(process->is.growth);
    free(process->is.by_size);
    free(process->is.sites);
    tg_heap_blocks_deinit(&process->is.blocks);
    free(process);
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
        destroy_process(model->processes[i]);
    free(model->processes);
    free(model->by_process);
    free(model->growth);
    free(model->faults);
    free(model->gaps);
    tg_heap_call_paths_destroy(model->paths);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

static struct process *find_process(const struct tg_heap_model *model, size_t process)
{
    return process < model->n_by_process && model->by_process[process] != 0
               ? model->processes[model->by_process[process] - 1]
               : NULL;
}

static struct tg_error *site_of(struct process *process, uint32_t path, uint32_t *site);

static struct tg_error *add_process(struct tg_heap_model *model, size_t index, int32_t pid,
                                    struct process **added)
{
    struct process *made = calloc(1, sizeof *made);
    struct tg_error *error = made == NULL ? tg_error_no_memory() : NULL;
    uint32_t unknown;
    if (error == NULL) {
        made->is.process = index;
        made->is.pid = pid;
        made->is.allocator = "";
        error = site_of(made, 0, &unknown);
    }
    if (error == NULL)
        error = TG_ARRAY_RESERVE(model->by_process, model->by_process_capacity, index + 1);
    if (error == NULL)
        error = TG_ARRAY_APPEND(model->processes, model->count, model->capacity, made);
    if (error != NULL) {
        if (made != NULL)
            destroy_process(made);
        return error;
    }
    while (model->n_by_process <= index)
        model->by_process[model->n_by_process++] = 0;
    model->by_process[index] = model->count;
    *added = made;
    return NULL;
}

static struct tg_error *need_process(struct tg_heap_model *model, size_t index, int32_t pid,
                                     struct process **process)
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

/* ---- sites */

static struct tg_error *site_of(struct process *process, uint32_t path, uint32_t *site)
{
    struct tg_error *error =
        TG_ARRAY_RESERVE(process->site_of_path, process->path_capacity, (size_t)path + 1);
    if (error != NULL)
        return error;
    while (process->n_paths <= path)
        process->site_of_path[process->n_paths++] = 0;
    if (process->site_of_path[path] == 0) {
        error = TG_ARRAY_APPEND(process->is.sites, process->is.n_sites, process->site_capacity,
                                (struct tg_heap_site){.path = path});
        if (error != NULL)
            return error;
        process->site_of_path[path] = (uint32_t)process->is.n_sites;
    }
    *site = process->site_of_path[path] - 1;
    return NULL;
}

/* The site of a stack by its number; 0, that of unknown ones, where it was not told. */
static uint32_t site_of_stack(const struct process *process, uint64_t stack)
{
    if (stack >= process->n_stacks || process->site_of_stack[stack] == 0)
        return 0;
    return process->site_of_stack[stack] - 1;
}

static uint32_t path_of_stack(const struct process *process, uint64_t stack)
{
    return process->is.sites[site_of_stack(process, stack)].path;
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

static struct tg_error *take_stack(struct tg_heap_model *model, struct process *process,
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
    uint32_t path, site;
    struct tg_error *error = tg_heap_call_paths_intern(model->paths, located, count, stack->end, &path);
    free(located);
    if (error == NULL)
        error = site_of(process, path, &site);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(process->site_of_stack, process->stack_capacity, stack->stack + 1);
    if (error != NULL)
        return error;
    while (process->n_stacks <= stack->stack)
        process->site_of_stack[process->n_stacks++] = 0;
    process->site_of_stack[stack->stack] = site + 1;
    return NULL;
}

/* ---- blocks */

/* BLOCK is no longer among what is live; it is removed by the caller. */
static void uncount_block(struct tg_heap_model *model, struct process *process,
                          const struct tg_heap_block *block)
{
    struct tg_heap_amount amount = weigh(process, block->size_bytes);
    if (block->is_inherited) {
        subtract(&process->is.inherited_live, &amount);
        return;
    }
    each_use(model, process, block->site, block->size_bytes, lose, &amount);
    subtract(&model->job.live, &amount);
}

static struct tg_error *remove_block(struct tg_heap_model *model, struct process *process,
                                     struct tg_heap_block *block, uint64_t time_ns)
{
    uncount_block(model, process, block);
    if (block->is_inherited) {
        tg_heap_blocks_remove(&process->is.blocks, block);
        return NULL;
    }
    tg_heap_blocks_remove(&process->is.blocks, block);
    return note_level(model, process, time_ns);
}

static struct tg_error *add_block(struct tg_heap_model *model, struct process *process,
                                  const struct tg_heap_block *block)
{
    struct tg_heap_process *is = &process->is;
    if (is->by_size == NULL && (is->by_size = calloc(TG_HEAP_SIZE_CLASSES, sizeof *is->by_size)) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_heap_blocks_put(&is->blocks, block);
    if (error != NULL)
        return error;
    struct tg_heap_amount amount = weigh(process, block->size_bytes);
    each_use(model, process, block->site, block->size_bytes, gain, &amount);
    tg_heap_amount_add(&model->job.live, &amount);
    is->recorded++;
    return note_level(model, process, block->time_ns);
}

/* The slot for frees of ADDRESS that came before their blocks; NULL without memory, which loses no more than that. */
static struct early_free *early_slot(struct process *process, uint64_t address)
{
    if (process->early == NULL)
        process->early = calloc(EARLY_SLOTS, sizeof *process->early);
    return process->early == NULL
               ? NULL
               : &process->early[(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % EARLY_SLOTS];
}

/* Whether the block that is got at TIME_NS has been freed by an event that came before. */
static bool was_freed(struct process *process, uint64_t address, uint64_t time_ns)
{
    if (process->early == NULL)
        return false;
    struct early_free *slot = early_slot(process, address);
    if (slot == NULL || slot->address != address || slot->time_ns <= time_ns)
        return false;
    slot->address = 0;
    return true;
}

static struct tg_error *take_alloc(struct tg_heap_model *model, struct process *process,
                                   const struct tg_event *event)
{
    const struct tg_event_heap_alloc *alloc = &event->heap_alloc;
    const struct tg_heap_block block = {.address = alloc->address,
                                        .size_bytes = alloc->size_bytes,
                                        .time_ns = event->time_ns,
                                        .site = site_of_stack(process, alloc->stack) & INT32_MAX,
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
    if (was_freed(process, alloc->address, event->time_ns)) {
        process->is.unknown_frees--;
        process->is.freed++;
        return remove_block(model, process, tg_heap_blocks_find(&process->is.blocks, alloc->address),
                            event->time_ns);
    }
    return NULL;
}

static struct tg_error *take_free(struct tg_heap_model *model, struct process *process,
                                  const struct tg_event *event)
{
    uint64_t address = event->heap_free.address;
    struct thread *thread;
    struct tg_error *error = find_thread(model, process->is.process, event->tid, &thread);
    if (error != NULL)
        return error;
    struct tg_heap_block *block = tg_heap_blocks_find(&process->is.blocks, address);
    if (block == NULL) {
        struct early_free *slot = early_slot(process, address);
        if (slot != NULL)
            *slot = (struct early_free){address, event->time_ns};
        process->is.unknown_frees++;
        return NULL;
    }
    process->is.freed += !block->is_inherited;
    if (event->time_ns < block->time_ns && process->is.missed_frees > 0) {
        process->is.missed_frees--; /* that of the block before, which its successor overtook */
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
static struct tg_error *take_resize(struct tg_heap_model *model, struct process *process,
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
                                        .site = site_of_stack(process, resize->stack) & INT32_MAX,
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

static struct tg_error *take_start(struct tg_heap_model *model, struct process *process,
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
static struct tg_error *take_exec(struct tg_heap_model *model, struct process *process, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    bool had_blocks = process->is.blocks.count > 0;
    for (const struct tg_heap_block *block = NULL;
         (block = tg_heap_blocks_next(&process->is.blocks, block)) != NULL;)
        uncount_block(model, process, block);
    process->is.inherited = process->is.inherited_live = (struct tg_heap_amount){0};
    tg_heap_blocks_deinit(&process->is.blocks);
    if (had_blocks)
        error = note_level(model, process, time_ns);
    process->n_stacks = 0;
    free(process->early);
    process->early = NULL;
    return error;
}

static struct tg_error *take_end(struct tg_heap_model *model, struct process *process, uint64_t time_ns)
{
    if (process->is.has_ended)
        return NULL;
    process->is.has_ended = true;
    settle(&process->is.use, process->peak, model->job_peak);
    for (size_t i = 0; i < process->is.n_sites; i++)
        settle(&process->is.sites[i].use, process->peak, model->job_peak);
    for (size_t i = 0; process->is.by_size != NULL && i < TG_HEAP_SIZE_CLASSES; i++)
        settle(&process->is.by_size[i], process->peak, model->job_peak);
    subtract(&model->job.live, &process->is.use.live);
    if (model->growth != NULL)
        tg_heap_growth_add(model->growth, time_ns, model->job.live.bytes);
    if (!model->options.keeps_blocks)
        tg_heap_blocks_deinit(&process->is.blocks);
    free(process->early);
    process->early = NULL;
    return NULL;
}

/* A forked process has what its parent has at that moment. Not where that is more than a fork may cost here: then it has
 * blocks from before. */
static struct tg_error *inherit_blocks(struct process *process, const struct process *from)
{
    struct tg_error *error = NULL;
    if (from->is.blocks.count > MAX_INHERITED) {
        process->is.is_late = true;
        return NULL;
    }
    for (const struct tg_heap_block *block = NULL;
         error == NULL && (block = tg_heap_blocks_next(&from->is.blocks, block)) != NULL;) {
        struct tg_heap_block copy = *block;
        struct tg_heap_amount amount = weigh(process, block->size_bytes);
        uint32_t site = 0;
        error = site_of(process, from->is.sites[block->site].path, &site);
        copy.site = site & INT32_MAX;
        copy.is_inherited = 1;
        if (error == NULL)
            error = tg_heap_blocks_put(&process->is.blocks, &copy);
        if (error == NULL)
            tg_heap_amount_add(&process->is.inherited, &amount);
    }
    process->is.inherited_live = process->is.inherited;
    return error;
}

/* A forked process has its parent's numbers of stacks, and its blocks. */
static struct tg_error *take_fork(struct tg_heap_model *model, size_t index, const struct tg_event *event,
                                  size_t parent)
{
    const struct process *from = find_process(model, parent);
    struct process *process;
    if (from == NULL || from->is.has_ended || (from->n_stacks == 0 && from->is.blocks.count == 0) ||
        find_process(model, index) != NULL)
        return NULL;
    struct tg_error *error = add_process(model, index, event->pid, &process);
    if (error == NULL && from->n_stacks > 0)
        error = TG_ARRAY_RESERVE(process->site_of_stack, process->stack_capacity, from->n_stacks);
    for (size_t stack = 0; error == NULL && stack < from->n_stacks; stack++) {
        uint32_t site = 0;
        bool is_told = from->site_of_stack[stack] != 0;
        if (is_told)
            error = site_of(process, path_of_stack(from, stack), &site);
        process->site_of_stack[stack] = is_told ? site + 1 : 0;
        process->n_stacks = stack + 1;
    }
    if (error != NULL)
        return error;
    process->is.is_started = from->is.is_started;
    process->is.is_late = from->is.is_late;
    process->is.mode = from->is.mode;
    process->is.sample_bytes = from->is.sample_bytes;
    process->is.depth = from->is.depth;
    process->is.allocator = from->is.allocator;
    process->is.guard_bytes = from->is.guard_bytes;
    process->is.hoard_bytes = from->is.hoard_bytes;
    process->is.paints = from->is.paints;
    process->is.red_zones = from->is.red_zones;
    return event->process_start.origin == TG_ORIGIN_FORK ? inherit_blocks(process, from) : NULL;
}

/* ---- errors, gaps, leaks */

static bool is_alike(const struct tg_heap_fault *a, const struct tg_heap_fault *b)
{
    return a->process == b->process && a->is.error == b->is.error && a->path == b->path &&
           a->allocated_path == b->allocated_path && a->freed_path == b->freed_path && a->path != 0;
}

static struct tg_error *take_error(struct tg_heap_model *model, const struct process *process,
                                   const struct tg_event *event)
{
    struct tg_heap_fault fault = {.process = process->is.process,
                                  .pid = event->pid,
                                  .tid = event->tid,
                                  .time_ns = event->time_ns,
                                  .is = event->heap_error,
                                  .path = path_of_stack(process, event->heap_error.stack),
                                  .allocated_path = path_of_stack(process, event->heap_error.allocated_stack),
                                  .freed_path = path_of_stack(process, event->heap_error.freed_stack),
                                  .count = 1};
    for (size_t i = 0; i < model->n_faults; i++)
        if (is_alike(&model->faults[i], &fault)) {
            model->faults[i].count++;
            return NULL;
        }
    if (model->n_faults == MAX_DISTINCT) {
        model->more_faults++;
        return NULL;
    }
    struct tg_error *error = tg_string_pool_intern(&model->strings, fault.is.call, &fault.is.call);
    return error != NULL ? error
                         : TG_ARRAY_APPEND(model->faults, model->n_faults, model->fault_capacity, fault);
}

static struct tg_error *add_gap(struct tg_heap_model *model, const struct process *process,
                                const char *module, const char *reason)
{
    struct tg_heap_gap gap = {.process = process->is.process};
    struct tg_error *error = tg_string_pool_intern(&model->strings, module, &gap.module);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, reason, &gap.reason);
    if (error != NULL || model->n_gaps == MAX_DISTINCT)
        return error;
    for (size_t i = 0; i < model->n_gaps; i++)
        if (model->gaps[i].process == gap.process && model->gaps[i].module == gap.module &&
            model->gaps[i].reason == gap.reason)
            return NULL;
    return TG_ARRAY_APPEND(model->gaps, model->n_gaps, model->gap_capacity, gap);
}

/* A library with a scope of its own, into which the agent did not come: its calls of malloc are libc's. */
static struct tg_error *take_deep_bind(struct tg_heap_model *model, const struct process *process,
                                       const struct tg_event_deep_bind *deep)
{
    char reason[512];
    if (deep->way == TG_DEEP_BIND_PASS_THROUGH)
        snprintf(reason, sizeof reason, "opened with RTLD_DEEPBIND, and TVHEAP_DEEPBIND has pass_through");
    else if (deep->way == TG_DEEP_BIND_FAILED)
        snprintf(reason, sizeof reason, "opened with RTLD_DEEPBIND: %s", deep->problem);
    else
        return NULL;
    return add_gap(model, process, deep->library, reason);
}

static struct tg_error *take_leak(struct process *process, const struct tg_event_heap_leak *leak)
{
    if (process->coming.n_leaks == MAX_LEAKS)
        return NULL;
    return TG_ARRAY_APPEND(process->coming.leaks, process->coming.n_leaks, process->leak_capacity,
                           (struct tg_heap_leak){.kind = leak->leak,
                                                 .path = path_of_stack(process, leak->stack),
                                                 .blocks = leak->blocks,
                                                 .bytes = leak->size_bytes,
                                                 .address = leak->address});
}

static struct tg_error *take_scan(struct tg_heap_model *model, struct process *process,
                                  const struct tg_event *event)
{
    struct tg_heap_scan scan = process->coming;
    scan.time_ns = event->time_ns;
    scan.is = event->heap_leak_scan;
    struct tg_error *error = tg_string_pool_intern(&model->strings, scan.is.problem, &scan.is.problem);
    if (error != NULL)
        return error;
    free(process->is.scan.leaks);
    process->is.scan = scan;
    process->coming = (struct tg_heap_scan){0};
    process->leak_capacity = 0;
    return NULL;
}

/* ---- all */

static struct tg_error *take_heap(struct tg_heap_model *model, struct process *process,
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
        return add_gap(model, process, event->heap_unseen.module, event->heap_unseen.reason);
    case TG_EVENT_HEAP_LEAK:
        return take_leak(process, &event->heap_leak);
    case TG_EVENT_HEAP_LEAK_SCAN:
        return take_scan(model, process, event);
    default:
        return NULL;
    }
}

struct tg_error *tg_heap_model_feed(struct tg_heap_model *model, const struct tg_event *event, size_t process,
                                    size_t parent, const struct tg_addresses *objects)
{
    struct process *found;
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
    const struct process *found = find_process(model, process);
    return found == NULL ? NULL : &found->is;
}

uint32_t tg_heap_model_path_of(const struct tg_heap_model *model, size_t process, uint64_t stack)
{
    const struct process *found = find_process(model, process);
    return found == NULL ? 0 : path_of_stack(found, stack);
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
        settle(&settled, find_process(model, process->process)->peak, model->job_peak);
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
    return model->n_faults;
}

const struct tg_heap_fault *tg_heap_model_fault_at(const struct tg_heap_model *model, size_t i)
{
    return &model->faults[i];
}

uint64_t tg_heap_model_more_faults(const struct tg_heap_model *model)
{
    return model->more_faults;
}

size_t tg_heap_model_gap_count(const struct tg_heap_model *model)
{
    return model->n_gaps;
}

const struct tg_heap_gap *tg_heap_model_gap_at(const struct tg_heap_model *model, size_t i)
{
    return &model->gaps[i];
}
