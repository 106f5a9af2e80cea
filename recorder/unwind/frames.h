/* The stack of a stopped thread, as people read it. */
#ifndef TG_RECORDER_UNWIND_FRAMES_H
#define TG_RECORDER_UNWIND_FRAMES_H

#include "recorder/unwind/unwind.h"

/* One call: of a function, or of one that was inlined into it; those share one frame. */
struct tg_call {
    struct tg_frame frame;
    const struct tg_module *module; /* with its code, NULL none */
    struct tg_code_call code;       /* strings valid as the module */
    bool is_signal;                 /* a signal trampoline: who it interrupted comes next */
    bool is_guessed;                /* the caller is a guess: there is no unwind information */
    bool is_behind;                 /* called code of our agent, which is left out */
};

/* A stack: innermost first. */
struct tg_frames {
    struct tg_call *calls;
    size_t count;
    bool is_cut;               /* there is more than was asked for */
    enum tg_unwind_result end; /* TG_UNWIND_END: whole; else why it ends early (where it is not cut) */
};

/* At most MAX calls of the thread that is stopped with REGISTERS. What could be read before something went wrong
 * is there. Calls of our agent are left out, where there are others. Fails only for want of memory. */
struct tg_error *tg_frames_read(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                const struct tg_registers *registers, size_t max, struct tg_frames *frames);
void tg_frames_deinit(struct tg_frames *frames);

/* Told of one frame; NOTE says how its caller was found. False: that is enough. */
typedef bool tg_frame_taker(void *context, const struct tg_frame *frame, const struct tg_unwind_note *note);

/* Tells TAKE of each frame, innermost first, those of the agent included, and without asking what they are
 * called. Returns why it ended; TG_UNWIND_CALLER: TAKE had enough. */
enum tg_unwind_result tg_frames_walk(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                     const struct tg_registers *registers, tg_frame_taker *take,
                                     void *context);

/* The frame of level 0 of such a stack: the innermost, or whose calls of the agent are in the way. */
struct tg_frame tg_frames_innermost(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                    const struct tg_registers *registers);

/* Reason why the stack ends early, in a few words; else "". */
const char *tg_frames_remark(const struct tg_frames *frames);

#endif
