/* Events about the watching itself. */
#ifndef TG_RECORDER_LOADER_NOTES_H
#define TG_RECORDER_LOADER_NOTES_H

#include "recorder/loader/loader_internal.h"

void tg_loader_note(struct tg_loader *loader, struct tg_thread *thread, const char *text);
/* Something about THREAD's process cannot be told in the trace. */
void tg_loader_lose(struct tg_loader *loader, struct tg_thread *thread, const char *reason);

#endif
