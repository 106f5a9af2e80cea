#include "recorder/agent/ring_size.h"

#include "recorder/agent/raw_call.h"
#include "recorder/agent/ring_private.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    PAGE_BYTES = 4096,
    MIN_TOUCHED =
        4 * PAGE_BYTES, /* A mapping's pages are asked for by as many bytes as it was used for, ... */
    MAX_TOUCHED = 32 * PAGE_BYTES, /* ... but no fewer and no more than these. */
    POPULATE_WRITE = 23,           /* MADV_POPULATE_WRITE, since Linux 5.14 */
};

bool tg_ring_is_size(uint64_t bytes)
{
    return bytes >= TG_AGENT_RING_MIN_BYTES && bytes <= TG_AGENT_RING_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

bool tg_ring_last_lap(const struct tg_agent_ring_header *header, struct tg_ring_lap *lap)
{
    uint32_t n = __atomic_load_n(&header->n_growths, __ATOMIC_RELAXED);
    *lap = (struct tg_ring_lap){.data_bytes = header->data_bytes};
    if (n > TG_AGENT_RING_GROWTHS)
        return false;
    if (n > 0) {
        const struct tg_agent_growth growth = header->growths[n - 1];
        uint64_t place = growth.from & (growth.data_bytes - 1);
        *lap = (struct tg_ring_lap){
            .from = growth.from, .data_bytes = growth.data_bytes, .before = growth.from - place};
    }
    return tg_ring_is_size(lap->data_bytes);
}

bool tg_ring_own_lap(const struct tg_agent_thread *thread, struct tg_ring_lap *lap)
{
    return tg_ring_last_lap(thread->header, lap) && lap->data_bytes == thread->mask + 1 &&
           lap->from <= thread->written;
}

void tg_ring_adopt(struct tg_agent_thread *thread, struct tg_agent_ring_header *header, uint64_t data_bytes,
                   uint64_t written)
{
    thread->header = header;
    tg_agent_signal_fence();
    /* before `data`, by which tg_ring_go_on tells whether the ring is as long as it is to be */
    thread->mask = data_bytes - 1;
    tg_agent_signal_fence();
    thread->data = (unsigned char *)header + TG_AGENT_RING_DATA_OFFSET;
    thread->written = written;
    thread->limit = 0;
    __atomic_store_n(&header->state, TG_AGENT_RING_OPEN, __ATOMIC_RELEASE);
}

void tg_ring_go_on(struct tg_agent_thread *thread)
{
    struct tg_agent_ring_header *header = thread->header;
    struct tg_ring_lap lap;
    uint64_t head = header->head, former_bytes = thread->mask + 1;
    bool is_longer = thread->data != (unsigned char *)header + TG_AGENT_RING_DATA_OFFSET;
    thread->limit = 0;
    if (!tg_ring_last_lap(header, &lap) || (lap.data_bytes > former_bytes && !is_longer) ||
        (head > lap.from && head > thread->written))
        return; /* overwritten: as it is, and no room will be found in it */
    tg_ring_adopt(thread, header, lap.data_bytes, head > lap.from ? head : lap.from);
}

/* How long the ring may be; as long as it is where it cannot grow. */
static uint64_t granted_bytes(const struct tg_agent_thread *thread)
{
    const struct tg_agent_ring_header *header = thread->header;
    uint64_t size = thread->mask + 1, granted = __atomic_load_n(&header->granted_bytes, __ATOMIC_ACQUIRE);
    bool can_be = granted > size && granted <= TG_AGENT_RING_MAX_BYTES && (granted & (granted - 1)) == 0 &&
                  header->stays == 0 && header->n_growths < TG_AGENT_RING_GROWTHS - 1;
    return can_be ? granted : size;
}

bool tg_ring_can_grow(const struct tg_agent_thread *thread)
{
    return granted_bytes(thread) > thread->mask + 1;
}

/* Address space that the program limits is the program's. */
static bool may_map(void)
{
    struct rlimit limit;
    return !tg_agent.no_calls && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* The ring is mapped a second time, longer, before the first mapping is let go of: a handler finds one of the two, and one that
 * jumps away leaves no positions of the longer ring with the shorter mapping. */
void tg_ring_grow(struct tg_agent_thread *thread)
{
    struct tg_agent_ring_header *former = thread->header;
    uint64_t former_size = thread->mask + 1, size = granted_bytes(thread);
    uint32_t n = former->n_growths;
    long mapped = -1;
    if (n < TG_AGENT_RING_GROWTHS && may_map())
        mapped = tg_raw_call(SYS_mremap, (long)former, 0, (long)(TG_AGENT_RING_DATA_OFFSET + size),
                             MREMAP_MAYMOVE, 0, 0);
    if (mapped < 0 && mapped > -4096) {
        __atomic_store_n(&former->stays, 1, __ATOMIC_RELEASE); /* so that the recorder does not count on it */
        return;
    }
    struct tg_agent_ring_header *header = (struct tg_agent_ring_header *)mapped; // NOLINT: an address
    uint64_t from = (thread->written / size + 1) * size + former_size;
    thread->header = header;
    tg_agent_signal_fence();
    header->growths[n] = (struct tg_agent_growth){.until = thread->written, .from = from, .data_bytes = size};
    tg_ring_private(header)->touched = from;
    tg_ring_private(header)->touch_end = from + size;
    __atomic_store_n(&header->n_growths, n + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&header->head, from, __ATOMIC_RELEASE);
    tg_ring_adopt(thread, header, size, from);
    tg_agent_signal_fence();
    (void)tg_raw_call(SYS_munmap, (long)former, (long)(TG_AGENT_RING_DATA_OFFSET + former_size), 0, 0, 0, 0);
}

bool tg_ring_shrink(struct tg_agent_thread *thread)
{
    struct tg_agent_ring_header *header = thread->header;
    struct tg_ring_private *part = tg_ring_private(header);
    uint32_t n = header->n_growths;
    uint64_t from = (thread->written | thread->mask) + 1, size = part->real_bytes;
    if (n >= TG_AGENT_RING_GROWTHS || !tg_ring_is_size(size) || size > thread->mask + 1)
        return false;
    header->growths[n] = (struct tg_agent_growth){.until = thread->written, .from = from, .data_bytes = size};
    part->touched = part->touch_end = from;
    __atomic_store_n(&header->n_growths, n + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&header->head, from, __ATOMIC_RELEASE);
    tg_ring_adopt(thread, header, size, from);
    return true;
}

/* Places from WRITTEN's up to those of END, a position in the same lap, become memory. Returns 0 or -errno. */
static long populate(const struct tg_agent_thread *thread, uint64_t end)
{
    enum { TRIES = 3 };
    uintptr_t from = (uintptr_t)thread->data + (thread->written & thread->mask),
              to = from + (end - thread->written);
    long result = -EAGAIN;
    from &= ~(uintptr_t)(PAGE_BYTES - 1);
    to = (to + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    for (int i = 0; i < TRIES && (result == -EAGAIN || result == -EINTR); i++)
        result = tg_raw_call(SYS_madvise, (long)from, (long)(to - from), POPULATE_WRITE, 0, 0, 0);
    return result;
}

static void note_touched(struct tg_agent_thread *thread)
{
    struct tg_ring_private *part = tg_ring_private(thread->header);
    part->touched = thread->limit;
    while (thread->header->n_growths == 0 && part->real_bytes > 0 && part->real_bytes * 2 <= part->touched)
        part->real_bytes *= 2;
}

/* Up to here the ring is memory for certain, though perhaps not this process's yet. */
static uint64_t certain_end(const struct tg_agent_thread *thread)
{
    const struct tg_ring_private *part = tg_ring_private(thread->header);
    if (thread->header->n_growths > 0 || part->real_bytes <= part->touched)
        return part->touched;
    return part->real_bytes > thread->mask ? thread->limit
                                           : part->real_bytes; /* all of it is, or its beginning */
}

/* What a ring has beyond its first 64 KiB, and what it has grown by, is memory only when it is asked for, by so many pages at
 * once that `limit` shows: a page fault for each would cost more than the records that fit into it, and end the program where the
 * file system is full. False: there is no memory. (For older kernels, which cannot be asked, it has been memory from the
 * start.) */
bool tg_ring_touch(struct tg_agent_thread *thread, uint64_t n_bytes)
{
    const struct tg_ring_private *part = tg_ring_private(thread->header);
    long result = -EPERM;
    if (thread->limit <= part->touched || part->touched >= part->touch_end)
        return true;
    if (!tg_agent.no_calls) {
        uint64_t bytes = thread->written - (part->touch_end - (thread->mask + 1));
        bytes = bytes < MIN_TOUCHED ? MIN_TOUCHED : bytes > MAX_TOUCHED ? MAX_TOUCHED : bytes;
        bytes = bytes < n_bytes ? n_bytes : bytes;
        if (thread->limit - thread->written > bytes)
            thread->limit = thread->written + bytes;
        result = populate(thread, thread->limit);
    }
    if (result == 0 || result == -EINVAL) {
        note_touched(thread);
        return true;
    }
    uint64_t end = certain_end(thread);
    if (thread->limit > end)
        thread->limit = end;
    return thread->limit >= thread->written + n_bytes;
}

void tg_ring_fill(struct tg_agent_thread *thread)
{
    struct tg_ring_private *part = tg_ring_private(thread->header);
    if (thread->header->n_growths > 0 || part->touched >= part->touch_end ||
        tg_raw_call(SYS_madvise, (long)thread->data, (long)(thread->mask + 1), POPULATE_WRITE, 0, 0, 0) != 0)
        return;
    part->touched = part->touch_end;
    part->real_bytes = thread->mask + 1;
}
