#include "recorder/loader/notes.h"

void tg_loader_note(struct tg_loader *loader, struct tg_thread *thread, const char *text)
{
    struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(loader->engine, thread, &event);
}

void tg_loader_lose(struct tg_loader *loader, struct tg_thread *thread, const char *reason)
{
    struct tg_event event = {.kind = TG_EVENT_LOSS, .loss = {.source = TG_LOSS_TARGET, .reason = reason}};
    tg_engine_emit(loader->engine, thread, &event);
}
