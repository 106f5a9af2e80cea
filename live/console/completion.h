/* Completion of lines. */
#ifndef TG_LIVE_CONSOLE_COMPLETION_H
#define TG_LIVE_CONSOLE_COMPLETION_H

#include "live/console/base.h"

/* How the word that ends at LINE[LENGTH] can go on: calls ADD for each way, in the order of the alphabet per
 * group, with the whole word. *START is where that word begins. */
void tg_console_complete(struct tg_console *console, const char *line, size_t length, size_t *start,
                         void (*add)(void *context, const char *word), void *context);

#endif
