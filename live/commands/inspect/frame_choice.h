/* Frames that dup and ddown have chosen: of each thread one, until it runs. Commands that look into a thread start there. */
#ifndef TG_LIVE_COMMANDS_INSPECT_FRAME_CHOICE_H
#define TG_LIVE_COMMANDS_INSPECT_FRAME_CHOICE_H

#include "live/console/base.h"
#include "recorder/engine/engine.h"

struct tg_frame_choices;

extern const struct tg_console_state_kind tg_frame_choices_kind;

/* The level chosen for THREAD, which is stopped; 0, the innermost frame, where none was. The tracer thread's, while the
 * console waits. */
unsigned tg_frame_choices_level(const struct tg_frame_choices *choices, struct tg_thread *thread);

/* Chooses LEVEL. Only error: NO_MEMORY. */
struct tg_error *tg_frame_choices_set(struct tg_frame_choices *choices, struct tg_thread *thread,
                                      unsigned level);

#endif
