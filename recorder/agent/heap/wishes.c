#include "recorder/agent/heap/wishes.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/thread_id.h"

static bool has_tag(const struct tg_agent_heap_wishes *wishes, uintptr_t block,
                    enum tg_agent_heap_tag_end end)
{
    uint32_t count = __atomic_load_n(&wishes->n_tags, __ATOMIC_RELAXED);
    int32_t pid = count == 0 || tg_agent.no_calls ? 0 : tg_raw_process_id();
    for (uint32_t i = 0; pid != 0 && i < count && i < TG_AGENT_HEAP_TAGS; i++) {
        const struct tg_agent_heap_tag *tag = &wishes->tags[i];
        if (tag->pid == pid && (tag->ends & end) != 0 && block >= tag->start && block < tag->end)
            return true;
    }
    return false;
}

void tg_heap_wishes_tell_tagged(const void *block, enum tg_agent_heap_tag_end end, const char *call,
                                const void *frame)
{
    uintptr_t address = (uintptr_t)block;
    if (!has_tag(tg_heap_wishes(), address, end))
        return;
    const struct tg_heap_mistake notification = {.error = end == TG_AGENT_HEAP_TAG_REALLOC
                                                              ? TG_HEAP_REALLOC_NOTIFICATION
                                                              : TG_HEAP_DEALLOC_NOTIFICATION,
                                                 .address = address,
                                                 .block = address,
                                                 .freed_stack = tg_heap_note_stack(frame),
                                                 .freed_tid = tg_heap_thread_id(),
                                                 .call = call};
    tg_heap_note_mistake(&notification, frame);
}
