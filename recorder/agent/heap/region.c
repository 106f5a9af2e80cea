#include "recorder/agent/heap/region.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/process.h"

#include <stdbool.h>

enum {
    REGIONS = 64, /* of threads that have no memory of theirs (walk.c) there are fewer */
    PAGE_BYTES = 4096,
    BUFFER_BYTES = 512,
    GROWTH_BYTES = 1 << 25, /* the kernel keeps more than that below the first thread's stack free for it */
};

/* Mappings that stacks were found in. Read and replaced without a lock: END is that of START only where CHECK says
 * so. */
static struct {
    uintptr_t start, end, check; /* __atomic */
} regions[REGIONS];
static uint32_t next_region; /* __atomic */

/* One line of /proc/self/maps after the other. */
struct maps {
    char buffer[BUFFER_BYTES];
    long at, size;
    int fd;
};

static int next_byte(struct maps *maps)
{
    if (maps->at == maps->size) {
        maps->at = 0;
        do
            maps->size = tg_raw_read(maps->fd, maps->buffer, sizeof maps->buffer);
        while (maps->size == -4 /* EINTR */);
        if (maps->size <= 0)
            return -1;
    }
    return (unsigned char)maps->buffer[maps->at++];
}

/* A hexadecimal number; *END is what follows it. */
static uintptr_t take_number(struct maps *maps, int *end)
{
    uintptr_t value = 0;
    for (;;) {
        int c = *end = next_byte(maps);
        if (c >= '0' && c <= '9')
            value = value << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uintptr_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* The rest of a line; whether it ends with "[stack]". */
static bool skip_line(struct maps *maps, int c)
{
    static const char wanted[] = "[stack]";
    unsigned matched = 0;
    for (; c >= 0 && c != '\n'; c = next_byte(maps))
        matched = c == wanted[matched] ? matched + 1 : c == wanted[0];
    return matched == sizeof wanted - 1;
}

static bool search(struct maps *maps, uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    int c = 0;
    while (c >= 0) {
        *start = take_number(maps, &c);
        if (c != '-')
            return false;
        *end = take_number(maps, &c);
        bool is_first = skip_line(maps, c);
        if (address < *end && address >= *start) {
            if (is_first)
                *start = *end - GROWTH_BYTES;
            return true;
        }
    }
    return false;
}

/* END 0: it is not known. */
static struct tg_heap_region look_up(uintptr_t address)
{
    struct maps maps = {.fd = tg_raw_open_at(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
    struct tg_heap_region region;
    if (maps.fd < 0)
        return (struct tg_heap_region){0};
    bool found = search(&maps, address, &region.start, &region.end);
    tg_raw_close(maps.fd);
    if (!found)
        return (struct tg_heap_region){0};
    uint32_t place = __atomic_fetch_add(&next_region, 1, __ATOMIC_RELAXED) % REGIONS;
    __atomic_store_n(&regions[place].check, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&regions[place].start, region.start, __ATOMIC_RELAXED);
    __atomic_store_n(&regions[place].end, region.end, __ATOMIC_RELAXED);
    __atomic_store_n(&regions[place].check, region.start ^ ~region.end, __ATOMIC_RELEASE);
    return region;
}

struct tg_heap_region tg_heap_region_of(uintptr_t address)
{
    for (unsigned i = 0; i < REGIONS; i++) {
        uintptr_t check = __atomic_load_n(&regions[i].check, __ATOMIC_ACQUIRE);
        uintptr_t start = __atomic_load_n(&regions[i].start, __ATOMIC_RELAXED);
        uintptr_t end = __atomic_load_n(&regions[i].end, __ATOMIC_RELAXED);
        if (check == (start ^ ~end) && address >= start && address < end)
            return (struct tg_heap_region){start, end};
    }
    struct tg_heap_region region = {0};
    if (!tg_agent.no_calls)
        region = look_up(address);
    return region.end != 0 ? region : (struct tg_heap_region){address, (address | (PAGE_BYTES - 1)) + 1};
}

uintptr_t tg_heap_region_end(uintptr_t address)
{
    return tg_heap_region_of(address).end;
}
