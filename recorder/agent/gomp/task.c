/* Explicit tasks. The runtime gets a trampoline in the body's place, and data with a header before it. How
 * libgomp (GCC 4.4 to 13) handles a task's data, which the header has to live with:
 * - at once executed (if(0), final, too many tasks, no team): the body gets the data itself, or, where there
 *   is a copy function, what that made of it on the stack;
 * - deferred: a block of the size and alignment given is allocated, and filled by memcpy or the copy
 * function;
 * - with detach the event's handle is written to the data's first word before it is copied;
 * - of taskloops the first two words get the iterations, after the copy; with reductions the third one is
 * read. So the header begins with the data's first three words, and gives back what was written to them. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/memory.h"

#include <string.h>

enum {
    TASK_UNTIED = 1, /* flags of GOMP_task and GOMP_taskloop */
    TASK_FINAL = 2,
    TASK_MERGEABLE = 4,
    TASK_DEPEND = 8,
    TASK_IF = 1 << 10, /* taskloop: not if(0) */
    TASK_DETACH = 1 << 13,
};

enum {
    FIRST_WORDS = 3,
    MAX_STACK_BYTES = 16384, /* a task's data above that is packed elsewhere */
};

struct header {
    uint64_t words[FIRST_WORDS]; /* the data's first words, as the runtime reads and writes them */
    const struct header *self;   /* place where the task was made: there the data was not copied */
    tg_gomp_body *body;
    tg_gomp_copy *copy;
    void *data;      /* the program's */
    uint64_t task;   /* 0: one is made for each task of a taskloop */
    uint64_t parent; /* explicit task */
    uint64_t flags;  /* enum tg_omp_task_flag */
    const void *code;
    size_t offset; /* from here to the data, in a copy */
};

static size_t round_up(size_t n, size_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

static size_t alignment_of(long data_alignment)
{
    size_t alignment = data_alignment > 0 ? (size_t)data_alignment : 1;
    return alignment > _Alignof(struct header) ? alignment : _Alignof(struct header);
}

/* ---- dependences */

static enum tg_omp_dependence_kind kind_of(uintptr_t gomp_kind)
{
    static const unsigned char kinds[] = {TG_OMP_DEPEND_OTHER, TG_OMP_DEPEND_IN, TG_OMP_DEPEND_OUT,
                                          TG_OMP_DEPEND_INOUT, TG_OMP_DEPEND_MUTEXINOUTSET};
    return gomp_kind < sizeof kinds ? kinds[gomp_kind] : TG_OMP_DEPEND_OTHER;
}

/* The array that GOMP_task gets: the number of addresses, how many of them are written, the addresses; or 0,
 * the numbers of all, written, mutexinoutset and read ones, the addresses in this order, and then pointers to
 * depobjs, each an address and its kind. Returns how many were put into LIST. */
static size_t read_dependences(void *const *array, struct tg_openmp_dependence *list, size_t max)
{
    bool is_short = array[0] != NULL;
    void *const *addresses = is_short ? array + 2 : array + 5;
    size_t n = (uintptr_t)(is_short ? array[0] : array[1]);
    size_t n_out = (uintptr_t)(is_short ? array[1] : array[2]);
    size_t n_mutex = is_short ? 0 : (uintptr_t)array[3];
    size_t n_in = is_short ? n - n_out : (uintptr_t)array[4];
    size_t i = 0;
    for (; i < n && i < max; i++) {
        list[i].address = addresses[i];
        if (i < n_out) {
            list[i].kind = TG_OMP_DEPEND_INOUT; /* out or inout: the same to the runtime */
        } else if (i < n_out + n_mutex) {
            list[i].kind = TG_OMP_DEPEND_MUTEXINOUTSET;
        } else if (i < n_out + n_mutex + n_in) {
            list[i].kind = TG_OMP_DEPEND_IN;
        } else {
            void *const *object = addresses[i];
            list[i].address = object[0];
            list[i].kind = kind_of((uintptr_t)object[1]);
        }
    }
    return i;
}

static __attribute__((noinline)) void create_with_dependences(const struct header *header,
                                                              void *const *dependences)
{
    struct tg_openmp_dependence list[TG_AGENT_MAX_DEPENDENCES];
    size_t n = read_dependences(dependences, list, TG_AGENT_MAX_DEPENDENCES);
    tg_openmp_task_create(header->code, TG_OMP_WRAPPED, header->task, header->parent,
                          (const void *)(uintptr_t)header->body, header->flags, list, n);
}

static void create(const struct header *header, uint64_t task, unsigned seen)
{
    tg_openmp_task_create(header->code, seen, task, header->parent, (const void *)(uintptr_t)header->body,
                          header->flags, NULL, 0);
}

/* ---- detached tasks: which task an event's handle means. A small table that forgets: then the fulfilment is
 * not recorded, no more. */

enum { EVENT_SLOTS = 1024 };

static union event {
    struct {
        uintptr_t handle; /* 0: none */
        uint64_t task;
    };
    unsigned __int128 both; /* changes as one: a thread that is stopped in the middle is in nobody's way */
} events[EVENT_SLOTS];

static union event *event_slot(uintptr_t handle)
{
    return &events[(handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

/* False: it was not BEFORE. */
static __attribute__((target("cx16"))) bool event_replace(union event *event, union event before,
                                                          union event after)
{
    return __sync_bool_compare_and_swap(&event->both, before.both, after.both);
}

static union event event_read(const union event *event)
{
    union event read; /* perhaps of two halves that do not belong together: event_replace finds out */
    read.handle = __atomic_load_n(&event->handle, __ATOMIC_ACQUIRE);
    read.task = __atomic_load_n(&event->task, __ATOMIC_ACQUIRE);
    return read;
}

static void event_put(uintptr_t handle, uint64_t task)
{
    union event *event = event_slot(handle), after = {.handle = handle, .task = task};
    while (!event_replace(event, event_read(event), after))
        ;
}

/* 0: not known. */
static uint64_t event_take(uintptr_t handle)
{
    union event *event = event_slot(handle), none = {.handle = 0};
    for (;;) {
        union event found = event_read(event);
        if (found.handle != handle)
            return 0;
        if (event_replace(event, found, none))
            return found.task;
    }
}

/* The second one is Fortran's. */
#define FULFILL(name)                                                                                        \
    void name(uintptr_t handle)                                                                              \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        uint64_t task = tg_gomp_records(gomp) ? event_take(handle) : 0;                                      \
        uint64_t running = tg_openmp_frame.task;                                                             \
        if (task != 0) /* before the call: after it whoever waits for the task goes on */                    \
            tg_openmp_task_end(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, task, TG_OMP_TASK_FULFILLED); \
        tg_openmp_frame.task = running; /* may be called from within any task */                             \
        gomp->name(handle);                                                                                  \
    }
FULFILL(omp_fulfill_event)
FULFILL(omp_fulfill_event_)

/* ---- running */

static void run_task(void *argument)
{
    const struct header *header = argument;
    void *data = header->self == header ? header->data : (char *)argument + header->offset;
    bool detaches = (header->flags & TG_OMP_TASK_DETACHABLE) != 0;
    uint64_t task = header->task;
    if ((header->flags & TG_OMP_TASK_TASKLOOP) != 0) {
        memcpy(data, header->words, 2 * sizeof *header->words);
        if (task == 0) {
            task = tg_openmp_new_task();
            create(header, task, TG_OMP_INFERRED);
        }
    } else if (detaches) {
        event_put(header->words[0], task);
        if (data != NULL)
            memcpy(data, header->words, sizeof *header->words);
    }
    struct tg_openmp_frame *frame = &tg_openmp_frame;
    uint64_t suspended = frame->task;
    const void *outer_code = frame->code;
    const void *code = header->code;
    tg_agent_moment moment = 0;
    if (suspended != 0)
        moment = tg_openmp_task_end(NULL, TG_OMP_WRAPPED, suspended, TG_OMP_TASK_SUSPENDED);
    frame->code = tg_gomp_in_body(header->body);
    tg_openmp_task_begin(moment, code, TG_OMP_WRAPPED, task, false);
    header->body(data);
    moment = tg_openmp_task_end(code, TG_OMP_WRAPPED, task,
                                detaches ? TG_OMP_TASK_DETACHED : TG_OMP_TASK_COMPLETED);
    frame->code = outer_code;
    if (suspended != 0)
        tg_openmp_task_begin(moment, NULL, TG_OMP_WRAPPED, suspended, true);
}

/* Called in place of the program's copy function, with a header on the stack of GOMP_task or
 * GOMP_taskloop. */
static void copy_task(void *to, void *from)
{
    struct header *copied = to;
    const struct header *header = from;
    *copied = *header;
    if ((header->flags & TG_OMP_TASK_TASKLOOP) != 0) {
        copied->task = tg_openmp_new_task();
        create(copied, copied->task, TG_OMP_WRAPPED);
    } else if ((header->flags & TG_OMP_TASK_DETACHABLE) != 0 && header->data != NULL) {
        memcpy(header->data, header->words, sizeof *header->words);
    }
    header->copy((char *)to + header->offset, header->data);
}

/* ---- creating */

static size_t packed_bytes(const struct header *header, long data_size)
{
    return header->copy != NULL ? sizeof *header : header->offset + (size_t)data_size;
}

static void first_words(struct header *header, long data_size)
{
    size_t n = data_size > 0 ? (size_t)data_size : 0;
    if (n > sizeof header->words)
        n = sizeof header->words;
    memcpy(header->words, header->data, n);
}

/* Packs LIKE and the data behind it, unless a copy function does that, into BLOCK. */
static struct header *pack(void *block, size_t alignment, const struct header *like, long data_size)
{
    struct header *header = (void *)round_up((uintptr_t)block, alignment);
    *header = *like;
    header->self = header;
    first_words(header, data_size);
    if (header->copy == NULL && data_size > 0)
        memcpy((char *)header + header->offset, header->data, (size_t)data_size);
    return header;
}

/* Space for LIKE and its data that lives until the function returns that asks for it; 0 bytes of MAPPED: on
 * its stack. A macro for alloca's sake. NULL: there is none. */
#define SPACE(n_bytes, mapped)                                                                               \
    ((n_bytes) <= MAX_STACK_BYTES ? __builtin_alloca(n_bytes) : tg_gomp_memory(*(mapped) = (n_bytes)))

static uint64_t flags_of(unsigned gomp_flags)
{
    uint64_t flags = 0;
    if ((gomp_flags & TASK_UNTIED) != 0)
        flags |= TG_OMP_TASK_UNTIED;
    if ((gomp_flags & TASK_FINAL) != 0)
        flags |= TG_OMP_TASK_FINAL;
    if ((gomp_flags & TASK_MERGEABLE) != 0)
        flags |= TG_OMP_TASK_MERGEABLE;
    return flags;
}

void GOMP_task(tg_gomp_body *body, void *data, tg_gomp_copy *copy, long data_size, long data_alignment,
               bool deferrable, unsigned gomp_flags, void **dependences, int priority, void *detach)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    size_t alignment = alignment_of(data_alignment);
    struct header like = {.body = body,
                          .copy = copy,
                          .data = data,
                          .parent = tg_openmp_frame.task,
                          .flags = flags_of(gomp_flags) | (deferrable ? 0 : TG_OMP_TASK_UNDEFERRED),
                          .code = tg_gomp_code(TG_GOMP_CALLER()),
                          .offset = round_up(sizeof like, alignment)};
    size_t n_bytes = packed_bytes(&like, data_size) + alignment, mapped = 0;
    void *block = NULL;
    if (tg_gomp_records(gomp) && body != NULL) /* without a body it is a taskwait */
        block = SPACE(n_bytes, &mapped);
    if (block == NULL) {
        gomp->GOMP_task(body, data, copy, data_size, data_alignment, deferrable, gomp_flags, dependences,
                        priority, detach);
        return;
    }
    like.task = tg_openmp_new_task();
    if ((gomp_flags & TASK_DETACH) != 0)
        like.flags |= TG_OMP_TASK_DETACHABLE;
    struct header *header = pack(block, alignment, &like, data_size);
    if ((gomp_flags & TASK_DEPEND) != 0)
        create_with_dependences(header, dependences);
    else
        create(header, like.task, TG_OMP_WRAPPED);
    gomp->GOMP_task(run_task, header, copy == NULL ? NULL : copy_task, (long)like.offset + data_size,
                    (long)alignment, deferrable, gomp_flags, dependences, priority, detach);
    if ((gomp_flags & TASK_DETACH) != 0)
        event_put(header->words[0], like.task);
    if (mapped != 0)
        tg_gomp_memory_free(block, mapped);
}

#define TASKLOOP(name, type)                                                                                 \
    void name(tg_gomp_body *body, void *data, tg_gomp_copy *copy, long data_size, long data_alignment,       \
              unsigned gomp_flags, unsigned long n_tasks, int priority, type start, type end, type step)     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);                            \
        size_t alignment = alignment_of(data_alignment);                                                     \
        struct header like = {.body = body,                                                                  \
                              .copy = copy,                                                                  \
                              .data = data,                                                                  \
                              .parent = tg_openmp_frame.task,                                                \
                              .flags = flags_of(gomp_flags) | TG_OMP_TASK_TASKLOOP |                         \
                                       ((gomp_flags & TASK_IF) != 0 ? 0 : TG_OMP_TASK_UNDEFERRED),           \
                              .code = tg_gomp_code(TG_GOMP_CALLER()),                                        \
                              .offset = round_up(sizeof like, alignment)};                                   \
        size_t n_bytes = packed_bytes(&like, data_size) + alignment, mapped = 0;                             \
        void *block = tg_gomp_records(gomp) ? SPACE(n_bytes, &mapped) : NULL;                                \
        if (block == NULL) {                                                                                 \
            gomp->name(body, data, copy, data_size, data_alignment, gomp_flags, n_tasks, priority, start,    \
                       end, step);                                                                           \
            return;                                                                                          \
        }                                                                                                    \
        struct header *header = pack(block, alignment, &like, data_size);                                    \
        tg_openmp_zone_begin(0, like.code, TG_OMP_WRAPPED, TG_OMP_ZONE_TASKLOOP, TG_OMP_SCHEDULE_NONE, 0);   \
        gomp->name(run_task, header, copy == NULL ? NULL : copy_task, (long)like.offset + data_size,         \
                   (long)alignment, gomp_flags, n_tasks, priority, start, end, step);                        \
        tg_openmp_zone_end(0, like.code, TG_OMP_WRAPPED, TG_OMP_ZONE_TASKLOOP);                              \
        if (mapped != 0)                                                                                     \
            tg_gomp_memory_free(block, mapped);                                                              \
    }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, tg_gomp_ull)
