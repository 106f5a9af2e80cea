/* Moving the console's source. */
#ifndef TG_LIVE_COMMANDS_MOTION_MOTION_H
#define TG_LIVE_COMMANDS_MOTION_MOTION_H

#include "live/console/command.h"

/* The source's seek; UNSUPPORTED where it has none. */
struct tg_error *tg_motion_go(struct tg_console *console, const struct tg_target *target);
struct tg_error *tg_motion_go_event(struct tg_console *console, uint64_t number);

/* Takes events until IS_THERE says so after one; at the end of the trace goes back to where it began, with a
 * NOT_FOUND error "no WHAT ...". An interrupt ends it where it is. */
struct tg_error *tg_motion_until(struct tg_console *console,
                                 bool (*is_there)(void *context, const struct tg_source *source),
                                 void *context, const char *what);

/* The worker of the event taken last, if it is one's, becomes the current one. */
void tg_motion_follow(struct tg_console *console);

#endif
