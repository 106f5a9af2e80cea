#include "recorder/agent/heap/red_zones.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/lock.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/record.h"

enum {
    PAGE_BYTES = 4096,
    CLASSES = 8,         /* blocks of so many pages at most have pages that were freed before */
    CLASS_BLOCKS = 2048, /* freed ones whose pages nobody gets */
    MAX_LIVE = 16384,    /* each needs two of the 65,530 mappings that a process may have */
};
#define MAX_ROOM_BYTES (UINT64_C(1) << 40)
#define MIN_ROOM_BYTES (UINT64_C(1) << 26)

struct tg_heap_red_room tg_heap_red_room;

static struct {
    struct tg_heap_lock lock;
    uintptr_t next; /* nothing was taken from here on */
    uint32_t live;
    bool is_over;   /* __atomic; the room was given back */
    bool said_full; /* __atomic */
    struct freed {
        uintptr_t blocks[CLASS_BLOCKS]; /* a ring */
        uint32_t first, count;
    } freed[CLASSES]; /* by pages - 1 */
} zones;

/* The room would count. */
static bool is_limited(void)
{
    return tg_heap_memory_has_limit(RLIMIT_AS);
}

void tg_heap_red_zones_prepare(void)
{
    if (tg_heap.settings.red_zones == TG_AGENT_RED_ZONES_OFF || tg_agent.no_calls || is_limited())
        return;
    for (uint64_t size = MAX_ROOM_BYTES; size >= MIN_ROOM_BYTES; size /= 2) {
        long start = tg_raw_call(SYS_mmap, 0, (long)size, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start < 0 && start > -4096)
            continue;
        tg_heap_red_room = (struct tg_heap_red_room){.start = (uintptr_t)start, .size = size};
        zones.next = tg_heap_red_room.start + PAGE_BYTES;
        return;
    }
}

static size_t round_up(size_t size)
{
    return size == 0 ? PAGE_BYTES : (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static void say_full(void)
{
    if (!__atomic_exchange_n(&zones.said_full, true, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE,
                     "heap: there is no room for more blocks with red zones at a time; others have guards");
}

/* The program has limited its address space since: what was not used of the room goes back, and nothing is taken from it
 * any more. */
static void give_room_back(void)
{
    if (!tg_heap_lock_take(&zones.lock))
        return;
    uintptr_t end = tg_heap_red_room.start + tg_heap_red_room.size;
    if (!zones.is_over && zones.next < end)
        (void)tg_raw_call(SYS_munmap, (long)zones.next, (long)(end - zones.next), 0, 0, 0, 0);
    tg_heap_red_room.size = zones.next - tg_heap_red_room.start;
    __atomic_store_n(&zones.is_over, true, __ATOMIC_RELAXED);
    tg_heap_lock_release(&zones.lock);
}

/* The first page of BYTES, a multiple of pages; 0: there is no room. */
static uintptr_t take_pages(size_t bytes, uintptr_t *forgotten)
{
    size_t pages = bytes / PAGE_BYTES;
    uintptr_t start = 0;
    if (!tg_heap_lock_take(&zones.lock))
        return 0;
    if (zones.live < MAX_LIVE) {
        struct freed *freed = pages <= CLASSES ? &zones.freed[pages - 1] : NULL;
        if (freed != NULL && freed->count == CLASS_BLOCKS) {
            *forgotten = freed->blocks[freed->first];
            start = *forgotten & ~(uintptr_t)(PAGE_BYTES - 1);
            freed->first = (freed->first + 1) % CLASS_BLOCKS;
            freed->count--;
        } else if (tg_heap_red_room.start + tg_heap_red_room.size - zones.next > bytes) {
            start = zones.next;
            zones.next += bytes + PAGE_BYTES;
        }
        zones.live += start != 0;
    }
    tg_heap_lock_release(&zones.lock);
    return start;
}

/* LIVE blocks fewer. */
static void give_up(uint32_t live)
{
    if (!tg_heap_lock_take(&zones.lock))
        return;
    zones.live -= live;
    tg_heap_lock_release(&zones.lock);
}

bool tg_heap_red_zones_take(size_t alignment, size_t size, uintptr_t *block, uintptr_t *forgotten)
{
    const struct tg_agent_heap *settings = &tg_heap.settings;
    size_t bytes = round_up(size);
    *forgotten = 0;
    if (tg_heap_red_room.size == 0 || size < settings->red_zone_min || size > settings->red_zone_max ||
        alignment > PAGE_BYTES || bytes < size || bytes > tg_heap_red_room.size)
        return false;
    if (!tg_agent.no_calls && !__atomic_load_n(&zones.is_over, __ATOMIC_RELAXED) && is_limited())
        give_room_back();
    bool may_take = !tg_agent.no_calls && !__atomic_load_n(&zones.is_over, __ATOMIC_RELAXED);
    uintptr_t start = may_take ? take_pages(bytes, forgotten) : 0;
    if (start == 0) {
        say_full();
        return false;
    }
    if (tg_raw_call(SYS_mprotect, (long)start, (long)bytes, PROT_READ | PROT_WRITE, 0, 0, 0) != 0) {
        give_up(1);
        say_full();
        return false;
    }
    *block = start;
    if (settings->red_zones == TG_AGENT_RED_ZONES_BEHIND)
        *block = (start + bytes - (size == 0 ? alignment : size)) & ~(uintptr_t)(alignment - 1);
    return true;
}

void tg_heap_red_zones_drop(uintptr_t block, size_t size)
{
    uintptr_t start = block & ~(uintptr_t)(PAGE_BYTES - 1);
    size_t bytes = block + size + tg_heap_red_zones_behind(block, size) - start;
    if (tg_agent.no_calls)
        return;
    (void)tg_raw_call(SYS_madvise, (long)start, (long)bytes, MADV_DONTNEED, 0, 0, 0);
    (void)tg_raw_call(SYS_mprotect, (long)start, (long)bytes, PROT_NONE, 0, 0, 0);
    if (!tg_heap_lock_take(&zones.lock))
        return;
    zones.live--;
    size_t pages = bytes / PAGE_BYTES;
    if (pages <= CLASSES && zones.freed[pages - 1].count < CLASS_BLOCKS) {
        struct freed *freed = &zones.freed[pages - 1];
        freed->blocks[(freed->first + freed->count++) % CLASS_BLOCKS] = block;
    }
    tg_heap_lock_release(&zones.lock);
}
