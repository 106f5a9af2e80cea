/* Words for a call of a stack. */
#ifndef TG_LIVE_COMMANDS_INSPECT_FRAME_WORDS_H
#define TG_LIVE_COMMANDS_INSPECT_FRAME_WORDS_H

#include "recorder/unwind/frames.h"

enum { TG_FRAME_PLACE_SIZE = 512 };

/* As the debug information has it, not printable; "?" where it is not known. Valid as long as CALL. */
const char *tg_frame_words_function(const struct tg_call *call);

/* "solver.c#40", where no line is known the object: "libc.so.6"; "0x10" where there is none. Not printable. */
void tg_frame_words_place(const struct tg_call *call, char *text, size_t size);

#endif
