/* From a frame to its caller's. */
#ifndef TG_RECORDER_UNWIND_UNWIND_H
#define TG_RECORDER_UNWIND_UNWIND_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

enum tg_unwind_result {
    TG_UNWIND_CALLER,      /* there is one */
    TG_UNWIND_END,         /* the frame is the outermost: its code says so, or it is where a thread starts */
    TG_UNWIND_NO_RULE,     /* no unwind information, and the frame pointer leads nowhere */
    TG_UNWIND_NO_MEMORY,   /* memory on the way cannot be read */
    TG_UNWIND_BACKWARD,    /* the caller would be deeper in the stack than its callee */
    TG_UNWIND_OUT_OF_CODE, /* the return address is not in a mapped object */
};

/* Facts about a frame besides its caller. */
struct tg_unwind_note {
    bool is_signal;  /* a signal trampoline: its caller was interrupted */
    bool is_guessed; /* there was no unwind information: the caller is a guess by frame pointer or the like */
};

/* The innermost frame of a thread that is stopped with REGISTERS; its CFA is not known yet. */
struct tg_frame tg_frame_innermost(const struct tg_registers *registers);

/* Sets FRAME's CFA, NOTE, and, with TG_UNWIND_CALLER, CALLER. By CFI (.eh_frame, else .debug_frame); where
 * code has none, by its first and last instructions, then by the frame pointer. */
enum tg_unwind_result tg_unwind_caller(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                       struct tg_frame *frame, struct tg_frame *caller,
                                       struct tg_unwind_note *note);

/* Why a stack ends with that, in a few words; "" for TG_UNWIND_CALLER and TG_UNWIND_END. */
const char *tg_unwind_result_text(enum tg_unwind_result result);

#endif
