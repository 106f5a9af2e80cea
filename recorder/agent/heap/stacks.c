#include "recorder/agent/heap/stacks.h"

#include "recorder/agent/calls/return_site.h"
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/stack_ids.h"
#include "recorder/agent/heap/walk.h"
#include "recorder/agent/heap/walk_memory.h"
#include "recorder/agent/record.h"

enum {
    SLOTS = 1 << 20,
    LIMITED_SLOTS = 1 << 16,
    SHARED_FRAMES = 8, /* the outermost ones, by so many, are stacks of their own, which others refer to */
};

static struct tg_heap_stack_ids stacks;

bool tg_heap_stacks_prepare(void)
{
    stacks.size = tg_heap_memory_is_limited() ? LIMITED_SLOTS : SLOTS;
    stacks.slots = tg_heap_memory_map(tg_heap_stack_ids_bytes(stacks.size), false);
    tg_heap_walk_prepare();
    return stacks.slots != NULL;
}

static __attribute__((noinline)) void say_full(void)
{
    static bool said; /* __atomic */
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        tg_agent_say(
            TG_RECORD_NOTE,
            "heap: there are more different stacks than are kept: allocations with further ones have none");
}

/* A record of COUNT frames, the innermost first; returns where they go. NULL: it is not recorded. */
static uint64_t *begin(uint32_t id, enum tg_stack_end end, uint32_t outer, size_t count)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_STACK, 3 + count);
    if (arguments == NULL)
        return NULL;
    arguments[0] = id;
    arguments[1] = end | (uint64_t)outer << 32;
    arguments[2] = count;
    return arguments + 3;
}

/* The objects of ADDRESS are told, most of which are that of the one before. */
static void tell_object(struct tg_heap_walk_memory *memory, uint64_t address)
{
    if (address - memory->told_start >= memory->told_end - memory->told_start)
        tg_heap_object_tell(address, &memory->told_start, &memory->told_end);
}

/* Tells the frames [FROM, TO) of MEMORY, which are followed by those of the stack OUTER, as the stack ID: but not those by which
 * the agent gets back from dlopen, in functions that have nothing to do with it. */
static bool tell_part(struct tg_heap_walk_memory *memory, uint32_t from, uint32_t to, uint32_t outer,
                      const struct tg_heap_stack_id *id)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        tell_object(memory, memory->frames[i].address);
        count += !tg_return_site_is_known(memory->frames[i].address);
    }
    uint64_t *frames = begin(id->id, memory->from > 0 ? TG_STACK_CUT : memory->end, outer, count);
    if (frames == NULL)
        return false;
    for (uint32_t i = to; i-- > from;)
        if (!tg_return_site_is_known(memory->frames[i].address))
            *frames++ = memory->frames[i].address;
    tg_agent_commit();
    tg_heap_stack_ids_told(id);
    return true;
}

/* Tells MEMORY's stack: what it shares with stacks before it only if nobody told that. */
static __attribute__((noinline)) bool tell_remembered(struct tg_heap_walk_memory *memory,
                                                      const struct tg_heap_stack_id *id)
{
    struct tg_heap_stack_id shared = {0};
    uint32_t told = (memory->count - 1) / SHARED_FRAMES * SHARED_FRAMES;
    if (memory->from > 0)
        return tell_part(memory, memory->from, memory->count, 0, id);
    while (told > 0 && tg_heap_stack_ids_add(&stacks, tg_heap_walk_memory_hash(memory, told), &shared) !=
                           TG_HEAP_STACK_TOLD)
        told -= SHARED_FRAMES;
    uint32_t outer = told > 0 ? shared.id : 0;
    for (uint32_t next = told + SHARED_FRAMES; next < memory->count; next += SHARED_FRAMES) {
        if (tg_heap_stack_ids_add(&stacks, tg_heap_walk_memory_hash(memory, next), &shared) ==
                TG_HEAP_STACK_FULL ||
            !tell_part(memory, told, next, outer, &shared))
            return false;
        outer = shared.id;
        told = next;
    }
    return tell_part(memory, told, memory->count, outer, id);
}

static __attribute__((noinline)) uint32_t find_remembered(struct tg_heap_walk_memory *memory, uint64_t hash,
                                                          uint64_t *known)
{
    struct tg_heap_stack_id id;
    enum tg_heap_stack_found found = tg_heap_stack_ids_add(&stacks, hash, &id);
    if (TG_AGENT_UNLIKELY(found == TG_HEAP_STACK_FULL)) {
        say_full();
        return 0;
    }
    if (found == TG_HEAP_STACK_TOLD || tell_remembered(memory, &id))
        *known = (hash & ~(uint64_t)TG_HEAP_STACK_LAST_ID) | id.id;
    return id.id;
}

/* The stack from FRAME on, as tg_heap_walk_hash says of it. */
static bool tell_anew(const struct tg_heap_stack_id *id, const void *frame, uint64_t unloads)
{
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    size_t walked = tg_heap_walk(frame, unloads, addresses, tg_heap.settings.depth, &end), count = 0;
    for (size_t i = 0; i < walked; i++)
        if (!tg_return_site_is_known(addresses[i]))
            addresses[count++] = addresses[i];
    uint64_t start, behind;
    for (size_t i = 0; i < count; i++)
        tg_heap_object_tell(addresses[i], &start, &behind);
    uint64_t *frames = begin(id->id, end, 0, count);
    if (frames == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        frames[i] = addresses[i];
    tg_agent_commit();
    tg_heap_stack_ids_told(id);
    return true;
}

static __attribute__((noinline)) uint32_t find_anew(uint64_t hash, const void *frame, uint64_t unloads)
{
    struct tg_heap_stack_id id;
    enum tg_heap_stack_found found = tg_heap_stack_ids_add(&stacks, hash, &id);
    if (found == TG_HEAP_STACK_FULL) {
        say_full();
        return 0;
    }
    if (found == TG_HEAP_STACK_UNTOLD)
        (void)tell_anew(&id, frame, unloads);
    return id.id;
}

uint32_t tg_heap_stack(const void *frame)
{
    if (tg_heap.settings.depth == 0 || frame == NULL || stacks.slots == NULL)
        return 0;
    uint64_t unloads = tg_agent_unloads();
    struct tg_heap_walk_memory *memory;
    uint64_t hash = tg_heap_walk_hash(frame, unloads, tg_heap.settings.depth, &memory);
    if (memory == NULL)
        return find_anew(hash, frame, unloads);
    uint64_t *known = tg_heap_walk_known(memory, hash), found = *known;
    uint32_t id = (uint32_t)found & TG_HEAP_STACK_LAST_ID;
    if (TG_AGENT_UNLIKELY((found ^ hash) >> TG_HEAP_STACK_ID_BITS != 0 || id == 0))
        id = find_remembered(memory, hash, known);
    tg_heap_walk_release(memory);
    return id;
}
