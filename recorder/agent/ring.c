#include "recorder/agent/ring.h"

#include "recorder/agent/directory.h"
#include "recorder/agent/idle_rings.h"
#include "recorder/agent/raw_call.h"
#include "recorder/agent/ring_private.h"
#include "recorder/agent/ring_size.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_NS = 20000000,  /* between looks whether the recorder still lives */
    MAX_SPINS = 1 << 26, /* pauses: some tenths of a second to some seconds */
    DESTRUCTOR_ROUNDS = _POSIX_THREAD_DESTRUCTOR_ITERATIONS,
};

/* State of a thread that only the slow paths need. */
struct thread_slow {
    uint64_t dropped; /* records since the last one that was kept */
    unsigned char destructor_rounds;
    bool unrecorded; /* what it does is the agent's own */
    bool is_told;    /* the ring has its THREAD record */
    bool ended;      /* the last destructor ran, or there is no clock any more */
    /* The last destructor ran: each record borrows a ring. (libc frees threads' variables then.) */
    bool is_late;
    /* While a handler that interrupted a record writes its own: the state of what it interrupted. */
    bool nested;
    struct tg_agent_thread outer;
    uint64_t nested_used;
};

static __thread struct thread_slow slow __attribute__((tls_model("initial-exec")));
__thread struct tg_agent_thread tg_agent_thread __attribute__((tls_model("initial-exec")));
extern __thread struct tg_agent_thread tollgate_tg_agent_thread
    __attribute__((alias("tg_agent_thread"), visibility("default"), tls_model("initial-exec")));

void (*tg_agent_at_thread_end)(void);

static struct {
    pthread_key_t key;
    bool has_key;
    bool abandoned; /* the recorder is gone: nobody waits any more */
    bool stopped;   /* threads that have no ring cannot read the clock */
} rings;

/* ---- getting a ring */

/* The recorder looks into all rings that it knows at its leisure; one that is new or rather full cannot
 * wait. */
static void ask_for_attention(void)
{
    uint32_t *attention = &tg_agent.control->attention;
    __atomic_fetch_add(attention, 1, __ATOMIC_RELEASE);
    if (tg_agent.no_calls)
        return;
    (void)tg_raw_call(SYS_futex, (long)attention, FUTEX_WAKE, 1, 0, 0, 0);
}

static bool make_ring(struct tg_agent_thread *thread)
{
    int pid = getpid();
    uint64_t data_bytes = tg_agent.control->ring_bytes, real_bytes;
    struct tg_agent_ring_header *header =
        tg_ring_is_size(data_bytes) ? tg_agent_directory_make_ring(pid, data_bytes, &real_bytes) : NULL;
    if (header == NULL)
        return false;
    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM); // NOLINT: an address
    static const unsigned char none[16];
    header->protocol = TG_AGENT_PROTOCOL;
    header->kind = TG_AGENT_RING_THREAD;
    header->data_bytes = data_bytes;
    header->pid = pid;
    header->instance = tg_agent_instance(random == NULL ? none : random, pid);
    tg_ring_private(header)->real_bytes = real_bytes;
    tg_ring_private(header)->touch_end = data_bytes;
    __atomic_store_n(&header->magic, TG_AGENT_RING_MAGIC, __ATOMIC_RELEASE);
    __atomic_fetch_add(&tg_agent.control->rings_made, 1, __ATOMIC_RELEASE);
    ask_for_attention();
    tg_ring_adopt(thread, header, data_bytes, 0);
    return true;
}

/* ---- room */

/* Without system calls. Who has waited longer than a living recorder would let it does not wait again. */
static void spin_for_recorder(struct tg_agent_ring_header *header, uint64_t seen_tail)
{
    __atomic_store_n(&header->waiting, 1, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < MAX_SPINS; i++) {
        if (__atomic_load_n(&header->tail, __ATOMIC_ACQUIRE) != seen_tail)
            return;
        __builtin_ia32_pause();
    }
    __atomic_store_n(&rings.abandoned, true, __ATOMIC_RELAXED);
}

static void wait_for_recorder(struct tg_agent_thread *thread, uint64_t seen_tail)
{
    struct tg_agent_ring_header *header = thread->header;
    if (tg_agent.no_calls) {
        spin_for_recorder(header, seen_tail);
        return;
    }

    const struct timespec timeout = {.tv_nsec = WAIT_NS};
    ask_for_attention();
    __atomic_store_n(&header->waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&header->tail, __ATOMIC_SEQ_CST) != seen_tail || tg_ring_can_grow(thread))
        return;
    long result = tg_raw_call(SYS_futex, (long)&header->waiting, FUTEX_WAIT, 1, (long)&timeout, 0, 0);
    if (result == -ETIMEDOUT && tg_agent_directory_is_abandoned())
        __atomic_store_n(&rings.abandoned, true, __ATOMIC_RELAXED);
}

/* Has the recorder look soon where half of the ring is used, or an eighth of one that nobody has let grow yet; and not at each
 * step, for a ring that has grown is half used from then on, and who looks takes a processor from the program. */
static void ask_in_time(const struct tg_agent_thread *thread, uint64_t used)
{
    uint64_t size = thread->mask + 1;
    struct tg_ring_private *part = tg_ring_private(thread->header);
    bool is_young =
        thread->written < size && __atomic_load_n(&thread->header->granted_bytes, __ATOMIC_RELAXED) == 0;
    if (used <= (is_young ? size / 8 : size / 2) || thread->written - part->asked < size / 8)
        return;
    part->asked = thread->written;
    ask_for_attention();
}

/* Makes N_BYTES at `written` free in one piece up to the end of the data; false: they are to be dropped. */
static bool find_room(struct tg_agent_thread *thread, uint64_t n_bytes)
{
    for (;;) {
        struct tg_ring_lap lap;
        if (!tg_ring_own_lap(thread, &lap)) /* the program has overwritten it */
            return false;
        uint64_t size = lap.data_bytes;
        uint64_t tail = __atomic_load_n(&thread->header->tail, __ATOMIC_ACQUIRE);
        uint64_t read = tail < lap.from ? lap.before : tail;
        uint64_t used = thread->written - read;
        if (used > size) /* the recorder's word is nonsense */
            return false;
        if (used + n_bytes > size / 2 && tg_ring_can_grow(thread)) {
            tg_ring_grow(thread);
            continue;
        }
        if (size - used >= n_bytes) {
            uint64_t end = (thread->written | thread->mask) + 1;
            uint64_t half = thread->written + size / 2; /* look again then, to ask in time */
            thread->limit = read + size < end ? read + size : end;
            if (half < thread->limit && half - thread->written >= n_bytes)
                thread->limit = half;
            if (tg_ring_touch(thread, n_bytes)) {
                ask_in_time(thread, used);
                return true;
            }
            thread->limit = 0;
            __atomic_store_n(&thread->header->stays, 1, __ATOMIC_RELEASE);
            if (tail == thread->written && tg_ring_shrink(thread))
                continue;
        }
        if ((tg_agent.flags & TG_AGENT_LOSSY) != 0 || __atomic_load_n(&rings.abandoned, __ATOMIC_RELAXED) ||
            __atomic_load_n(&tg_agent.control->over, __ATOMIC_RELAXED) != 0)
            return false;
        wait_for_recorder(thread, tail);
    }
}

/* REST bytes up to the end of the data, where a record does not fit. */
static void pad(struct tg_agent_thread *thread, uint64_t rest)
{
    uint64_t *record = (uint64_t *)(void *)(thread->data + (thread->written & thread->mask));
    record[0] = 0;
    record[1] = TG_RECORD_PAD | rest / 8 << TG_AGENT_WORDS_SHIFT;
    thread->written += rest;
    __atomic_store_n(&thread->header->head, thread->written, __ATOMIC_RELEASE);
}

static uint64_t left_in_lap(const struct tg_agent_thread *thread)
{
    return thread->mask + 1 - (thread->written & thread->mask);
}

static bool make_room(struct tg_agent_thread *thread, uint64_t n_bytes)
{
    for (;;) {
        uint64_t rest = left_in_lap(thread);
        bool fits = rest >= n_bytes;
        if (!find_room(thread, fits ? n_bytes : rest))
            return false;
        if (fits)
            return true;
        if (left_in_lap(thread) == rest) /* the ring did not grow instead */
            pad(thread, rest);
    }
}

static void write_core_record(struct tg_agent_thread *thread, unsigned kind, uint64_t argument)
{
    uint64_t *record = (uint64_t *)(void *)(thread->data + (thread->written & thread->mask));
    record[0] = tg_agent_ticks();
    record[1] = kind | 4 << TG_AGENT_WORDS_SHIFT;
    record[2] = argument;
    record[3] = 0;
    thread->written += 32;
    __atomic_store_n(&thread->header->head, thread->written, __ATOMIC_RELEASE);
}

/* A handler may interrupt this, and drop one itself. */
static bool drop(const struct tg_agent_thread *thread)
{
    slow.dropped++;
    __atomic_fetch_add(&thread->header->lost, 1, __ATOMIC_RELAXED);
    return false;
}

/* A record of a handler that interrupted another record, for which there is no room: told in the ring with the next record
 * that begins, and, if none does, by its header. */
static void drop_nested(struct tg_agent_thread *thread)
{
    const struct tg_agent_thread *owner = slow.nested ? &slow.outer : thread;
    if (slow.ended && tg_agent.control != NULL)
        __atomic_fetch_add(&tg_agent.control->unkept, 1,
                           __ATOMIC_RELAXED); /* the ring, if there is one, is only borrowed */
    else if (owner->header == NULL)
        slow.dropped++; /* the ring is being made: its first record tells */
    else if (owner->generation != *tg_agent.generation)
        __atomic_fetch_add(&tg_agent.control->unkept, 1,
                           __ATOMIC_RELAXED); /* the ring is still the parent's */
    else
        drop(owner);
    if (!slow.nested)
        thread->limit = 0;
}

/* ---- processes and threads */

static void forget_rings(void)
{
    tg_idle_rings_forget();
    rings.abandoned = false;
}

static bool enter_process(void)
{
    uint64_t *generation = (uint64_t *)(uintptr_t)tg_agent.generation;
    uint64_t zero = 0;
    static uint64_t last = 1; /* private memory: the child finds its parent's */
    if (__atomic_load_n(generation, __ATOMIC_ACQUIRE) != 0)
        return true;
    /* only threads of the child get here; all but one leave it to that one and drop a record or two */
    if (!__atomic_compare_exchange_n(generation, &zero, UINT64_MAX, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return zero != UINT64_MAX;
    forget_rings();
    __atomic_store_n(generation, ++last, __ATOMIC_RELEASE);
    return true;
}

/* False where the thread inherited, or set in a way that calls/sealed.c does not see, that reading the time
 * stamp counter is fatal. */
static bool may_read_clock(void)
{
    int mode = PR_TSC_ENABLE;
    if (tg_agent.clock == TG_AGENT_CLOCK_TSC && !tg_agent.no_calls)
        (void)syscall(SYS_prctl, PR_GET_TSC, &mode);
    return mode != PR_TSC_SIGSEGV;
}

/* The ring may be one that was taken over, and full: then what comes before there is room is lost; and where the thread's id
 * cannot be asked for any more. */
static bool tell_thread(struct tg_agent_thread *thread)
{
    if (tg_agent.no_calls || !make_room(thread, 32))
        return false;
    write_core_record(thread, TG_RECORD_THREAD, (uint64_t)syscall(SYS_gettid));
    slow.is_told = true;
    return true;
}

static bool enter_thread(struct tg_agent_thread *thread)
{
    if (!enter_process() || *tg_agent.generation == UINT64_MAX || (slow.ended && !slow.is_late))
        return false;
    if (thread->header == NULL && __atomic_load_n(&rings.stopped, __ATOMIC_RELAXED))
        return false;
    if (thread->header != NULL && thread->generation == *tg_agent.generation)
        return slow.is_told || tell_thread(thread);
    if (!may_read_clock()) {
        slow.ended = true;
        return false;
    }
    /* a thread without a ring would also have to ask for its id */
    bool had_ring = thread->header != NULL;
    if (tg_agent.no_calls || (!tg_idle_rings_take(thread) && !make_ring(thread)))
        return false;
    if (had_ring) { /* of the process that this one was forked from */
        slow.dropped = 0;
        slow.nested_used = 0;
    }
    slow.is_told = false;
    thread->generation = *tg_agent.generation;
    if (rings.has_key && !slow.is_late)
        pthread_setspecific(rings.key, thread->header);
    return tell_thread(thread);
}

static const uint64_t *nested_at(const struct tg_agent_thread *thread, uint64_t at)
{
    return (const uint64_t *)(const void *)(tg_ring_private(thread->header)->nested + at);
}

/* Puts the records that handlers left behind into the ring, with their times. A handler may add one at any time. */
static void flush_nested(struct tg_agent_thread *thread)
{
    uint64_t at = 0, all;
    do {
        while (at < __atomic_load_n(&slow.nested_used, __ATOMIC_RELAXED)) {
            uint64_t bytes = (nested_at(thread, at)[1] >> TG_AGENT_WORDS_SHIFT & 0xfff) * 8,
                     rest = __atomic_load_n(&slow.nested_used, __ATOMIC_RELAXED) - at;
            bool is_whole = bytes >= 16 && bytes <= rest; /* else the program has overwritten it */
            bytes = is_whole ? bytes : rest;
            if (is_whole && make_room(thread, bytes)) { /* the ring may be mapped elsewhere now */
                memcpy(thread->data + (thread->written & thread->mask), nested_at(thread, at), bytes);
                thread->written += bytes;
                __atomic_store_n(&thread->header->head, thread->written, __ATOMIC_RELEASE);
            } else {
                drop(thread);
            }
            at += bytes;
        }
        all = at;
    } while (
        !__atomic_compare_exchange_n(&slow.nested_used, &all, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* The thread's ring, which tells itself what it lost, is the next one's. Handlers may record from here on. */
static void let_go(struct tg_agent_thread *thread)
{
    const struct tg_agent_thread left = *thread;
    bool is_own = left.header != NULL && left.generation == *tg_agent.generation;
    slow.dropped = 0;
    thread->limit = 0;
    thread->header = NULL;
    tg_agent_signal_fence();
    thread->busy = NULL;
    tg_agent_signal_fence();
    if (is_own)
        tg_idle_rings_put(&left);
}

static void end_thread(void *unused)
{
    (void)unused;
    struct tg_agent_thread *thread = &tg_agent_thread;
    if (thread->header == NULL || thread->generation != *tg_agent.generation)
        return;
    /* destructors of others may still record: be the last one */
    if (++slow.destructor_rounds < DESTRUCTOR_ROUNDS && pthread_setspecific(rings.key, thread->header) == 0)
        return;
    if (tg_agent_at_thread_end != NULL)
        tg_agent_at_thread_end();
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    slow.ended = slow.is_late = true; /* handlers add nothing while this goes on */
    tg_agent_signal_fence();
    if (slow.nested_used > 0)
        flush_nested(thread);
    let_go(thread);
}

void *tg_agent_room(void)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    bool has_ring = thread->header != NULL && thread->generation == *tg_agent.generation;
    return has_ring ? tg_ring_private(thread->header)->room : NULL;
}

bool tg_agent_take_ring(void)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    int saved = errno;
    if (thread->busy != NULL) /* a handler's */
        return false;
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    bool has_ring = tg_agent_is_set_up() && enter_thread(thread);
    tg_agent_signal_fence();
    thread->busy = NULL;
    errno = saved;
    return has_ring;
}

void tg_agent_fill_ring(void)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    if (thread->busy != NULL || thread->header == NULL || thread->generation != *tg_agent.generation)
        return;
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    tg_ring_fill(thread);
    tg_agent_signal_fence();
    thread->busy = NULL;
}

void tg_agent_stop_thread(bool with_new_threads)
{
    if (with_new_threads)
        __atomic_store_n(&rings.stopped, true, __ATOMIC_RELAXED);
    slow.ended = true;
    tg_agent_signal_fence();
    tg_agent_thread.limit = 0;
}

void tg_agent_set_unrecorded(bool unrecorded)
{
    slow.unrecorded = unrecorded;
    tg_agent_signal_fence();
    tg_agent_thread.limit = 0;
}

void tg_agent_rings_prepare(void)
{
    rings.has_key = pthread_key_create(&rings.key, end_thread) == 0;
}

/* ---- the slow halves of begin and commit */

static bool can_record(struct tg_agent_thread *thread, size_t n_bytes)
{
    if (slow.nested) { /* a handler within a handler */
        drop_nested(thread);
        return false;
    }
    if (!tg_agent_is_set_up() || slow.unrecorded)
        return false;
    if (!enter_thread(thread)) {
        bool can_write = !slow.ended || slow.is_late; /* or there is no clock */
        if (can_write && thread->header != NULL && thread->generation == *tg_agent.generation)
            return drop(thread);
        __atomic_fetch_add(&tg_agent.control->unkept, 1, __ATOMIC_RELAXED);
        return false;
    }
    if (slow.nested_used > 0)
        flush_nested(thread);
    if (!make_room(thread, n_bytes + (slow.dropped > 0 ? 32 : 0)))
        return drop(thread);
    if (slow.dropped > 0) {
        write_core_record(thread, TG_RECORD_LOST, slow.dropped);
        slow.dropped = 0;
    }
    return true;
}

uint64_t *tg_agent_begin_slowly(unsigned kind, size_t n_words)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    int saved = errno;
    bool can = n_words <= TG_AGENT_MAX_WORDS && can_record(thread, n_words * 8);
    errno = saved;
    if (!can) {
        tg_agent_signal_fence();
        if (slow.is_late && !slow.nested) /* the ring is only borrowed */
            let_go(thread);
        else
            thread->busy = NULL;
        return NULL;
    }
    if (slow.nested_used > 0 || slow.dropped > 0 || slow.is_late)
        thread->limit = 0; /* commit looks after it */
    uint64_t *record = (uint64_t *)(void *)(thread->data + (thread->written & thread->mask));
    record[0] = tg_agent_ticks();
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | thread->place;
    return record + 2;
}

/* Whether who was interrupted will ever go on. A handler that left by siglongjmp never does; its frame is
 * then among those that were unwound, while a handler that interrupts has its frame below what the kernel has put there: the
 * registers, those of floating point, and a gap. */
static bool is_interrupted_alive(const void *frame)
{
    enum { KERNEL_BYTES = 512 }; /* twice as many at least */
    stack_t stack;
    if (!tg_agent.no_calls && syscall(SYS_sigaltstack, NULL, &stack) == 0 &&
        (stack.ss_flags & SS_ONSTACK) != 0)
        return true;
    return (uintptr_t)frame + KERNEL_BYTES < (uintptr_t)tg_agent_thread.busy;
}

uint64_t *tg_agent_begin_nested(unsigned kind, size_t n_words, const void *frame)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    int saved = errno;
    bool alive = is_interrupted_alive(frame);
    errno = saved;
    if (!alive) {
        if (slow.nested)
            *thread = slow.outer;
        slow.nested = false;
        if (thread->header != NULL &&
            thread->generation == *tg_agent.generation) /* the ring may have been growing */
            tg_ring_go_on(thread);
        thread->busy = frame;
        return tg_agent_begin_slowly(kind, n_words);
    }
    if (slow.nested || slow.ended || thread->header == NULL || thread->generation != *tg_agent.generation ||
        slow.nested_used + n_words * 8 > TG_RING_NESTED_BYTES) { /* or it is a handler within a handler */
        drop_nested(thread);
        return NULL;
    }
    slow.outer = *thread;
    slow.nested = true;
    struct tg_ring_private *part = tg_ring_private(thread->header);
    thread->data = part->nested;
    thread->mask = UINT64_MAX;
    thread->written = slow.nested_used;
    thread->limit = 0;
    thread->header = &part->nested_header;
    uint64_t *record = (uint64_t *)(void *)(thread->data + thread->written);
    record[0] = tg_agent_ticks();
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | thread->place;
    return record + 2;
}

void tg_agent_commit_slowly(void)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    if (slow.nested) { /* the handler's record is complete: as it was before */
        slow.nested_used = thread->written;
        *thread = slow.outer;
        thread->limit = 0;
        tg_agent_signal_fence();
        slow.nested = false;
        return;
    }
    if (slow.is_late) { /* the ring was borrowed */
        thread->busy = __builtin_frame_address(0);
        tg_agent_signal_fence();
        let_go(thread);
        return;
    }
    if (slow.nested_used == 0)
        return;
    int saved = errno;
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    flush_nested(thread);
    if (slow.dropped > 0)
        thread->limit = 0; /* the next record tells */
    tg_agent_signal_fence();
    thread->busy = NULL;
    errno = saved;
}

TG_AGENT_SHARE(tg_agent_begin_nested);
TG_AGENT_SHARE(tg_agent_begin_slowly);
TG_AGENT_SHARE(tg_agent_commit_slowly);
