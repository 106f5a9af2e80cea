#include "recorder/agent/heap/stacks.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/walk.h"
#include "recorder/agent/record.h"

enum { SLOTS = 1 << 20, LIMITED_SLOTS = 1 << 16 };

static struct tg_heap_hash_set stacks;

bool tg_heap_stacks_prepare(void)
{
    stacks.size = tg_heap_memory_is_limited() ? LIMITED_SLOTS : SLOTS;
    stacks.slots = tg_heap_memory_map(stacks.size * sizeof stacks.slots[0], false);
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

/* Whether it is in the ring. */
static bool tell(uint32_t id, enum tg_stack_end end, const uint64_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tg_heap_object_tell(addresses[i]);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_STACK, 3 + count);
    if (arguments == NULL)
        return false;
    arguments[0] = id;
    arguments[1] = end;
    arguments[2] = count;
    for (size_t i = 0; i < count; i++)
        arguments[3 + i] = addresses[i];
    tg_agent_commit();
    return true;
}

/* As tg_heap_walk_hash says of it. */
static __attribute__((noinline)) void tell_anew(uint32_t id, const void *frame, uint64_t unloads)
{
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    size_t count = tg_heap_walk(frame, unloads, addresses, tg_heap.settings.depth, &end);
    if (tell(id, end, addresses, count))
        tg_heap_hash_set_told(&stacks, id - 1);
}

uint32_t tg_heap_stack(const void *frame)
{
    if (tg_heap.settings.depth == 0 || frame == NULL || stacks.slots == NULL)
        return 0;
    uint64_t unloads = tg_agent_unloads();
    uint64_t hash = tg_heap_walk_hash(frame, unloads, tg_heap.settings.depth);
    uint32_t slot;
    enum tg_heap_hash_found found = tg_heap_hash_set_add(&stacks, hash, &slot);
    if (TG_AGENT_UNLIKELY(found == TG_HEAP_HASH_FULL)) {
        say_full();
        return 0;
    }
    if (TG_AGENT_UNLIKELY(found == TG_HEAP_HASH_UNTOLD))
        tell_anew(slot + 1, frame, unloads);
    return slot + 1;
}
