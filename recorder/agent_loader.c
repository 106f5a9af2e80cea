#include "recorder/agent_loader.h"

#include <stdlib.h>

/* The calls and returns; what the audit library saw is not converted yet. */
struct tg_agent_loader {
    char unused;
};

struct tg_error *tg_agent_loader_create(struct tg_agent_loader **loader)
{
    struct tg_agent_loader *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *loader = made;
    return NULL;
}

void tg_agent_loader_destroy(struct tg_agent_loader *loader)
{
    free(loader);
}

void tg_agent_loader_add(struct tg_agent_loader *loader, const struct tg_agent_loader_record *record,
                         const struct tg_event_sink *sink)
{
    (void)loader;
    struct tg_event event = {.time_ns = record->time_ns, .pid = record->pid, .tid = record->tid};
    const uint64_t *arguments = record->arguments;
    if (record->kind == TG_RECORD_LIBRARY_CALL) {
        event.kind = TG_EVENT_LIBRARY_CALL;
        event.library_call = (struct tg_event_library_call){
            .call = arguments[0],
            .flags = arguments[1],
            .namespace_id = (int64_t)arguments[2],
            .handle = arguments[3],
            .caller = arguments[4],
            .path = (const char *)&arguments[5],
        };
        sink->add(sink->context, &event);
    } else if (record->kind == TG_RECORD_LIBRARY_RETURN) {
        event.kind = TG_EVENT_LIBRARY_RETURN;
        event.library_return = (struct tg_event_library_return){
            .call = arguments[0], .handle = arguments[1], .error = (const char *)&arguments[2]};
        sink->add(sink->context, &event);
    }
}

void tg_agent_loader_end(struct tg_agent_loader *loader, int32_t pid, uint64_t instance,
                         const struct tg_event_sink *sink)
{
    (void)loader, (void)pid, (void)instance, (void)sink;
}
