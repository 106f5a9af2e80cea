#include "recorder/agent/heap/stacks.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/walk.h"
#include "recorder/agent/record.h"

enum { SLOTS = 1 << 20 };

static struct tg_heap_hash_set stacks;

bool tg_heap_stacks_prepare(void)
{
    stacks.slots = tg_heap_memory_map(SLOTS * sizeof stacks.slots[0], false);
    stacks.size = SLOTS;
    return stacks.slots != NULL;
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

uint32_t tg_heap_stack(const void *frame)
{
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    if (tg_heap.settings.depth == 0 || frame == NULL || stacks.slots == NULL)
        return 0;
    uint64_t unloads = tg_agent_unloads();
    size_t count = tg_heap_walk(frame, unloads, addresses, tg_heap.settings.depth, &end);
    uint64_t hash = tg_heap_hash_mix(unloads, end);
    for (size_t i = 0; i < count; i++)
        hash = tg_heap_hash_mix(hash, addresses[i]);
    hash = tg_heap_hash_mix(hash, count);
    uint32_t slot;
    enum tg_heap_hash_found found = tg_heap_hash_set_add(&stacks, hash, &slot);
    if (TG_AGENT_LIKELY(found == TG_HEAP_HASH_TOLD))
        return slot + 1;
    if (found == TG_HEAP_HASH_FULL)
        return 0;
    if (tell(slot + 1, end, addresses, count))
        tg_heap_hash_set_told(&stacks, slot);
    return slot + 1;
}
