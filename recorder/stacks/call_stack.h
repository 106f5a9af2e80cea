/* The calls of one stopped thread, as stack events have them. */
#ifndef TG_RECORDER_STACKS_CALL_STACK_H
#define TG_RECORDER_STACKS_CALL_STACK_H

#include "format/event/event.h"
#include "recorder/stacks/code_table.h"
#include "recorder/stacks/kmp_numbers.h"
#include "recorder/stacks/nest_locks.h"
#include "recorder/stacks/python_frames.h"

#include <sys/user.h>

enum { TG_CALL_STACK_MAX_FRAMES = 512 };

/* One process whose threads are looked at. */
struct tg_stack_process {
    struct tg_modules *modules; /* NULL: nothing is known of its objects */
    struct tg_python python;
    struct tg_nest_locks nest_locks;
    struct tg_kmp_numbers kmp_numbers;
    uint64_t streams; /* see tg_streams_find() */
};

/* The process of the stopped thread TID, whose memory is there (0: none is). The caches must outlive the result. What
 * cannot be read is not in it. */
struct tg_stack_process tg_stack_process_open(pid_t tid, unsigned bits, struct tg_image_cache *images,
                                              struct tg_debug_cache *debug);
/* Has read of PROCESS's files what unwinding needs: who is stopped behind it does not wait for that. */
void tg_stack_process_prepare(const struct tg_stack_process *process);
void tg_stack_process_close(struct tg_stack_process *process);

/* A stack. Strings are those of its process and of PYTHON. */
struct tg_call_stack {
    struct tg_stack_frame frames[TG_CALL_STACK_MAX_FRAMES]; /* the innermost ones, innermost first */
    size_t count;
    enum tg_stack_end end;
    struct tg_python_frame *python;
    struct tg_frame
        *unwound; /* the caller's, NULL none: room for the frames as they were unwound; of those that are
                                 not code nothing is there */
};

/* Reads STACK of the thread of PROCESS that is stopped with USER, until UNTIL_NS (tg_engine_now_ns) at most. Its code
 * goes to TABLE. UNWOUND of the stack must be set. */
void tg_call_stack_read(const struct tg_stack_process *process, const struct user_regs_struct *user,
                        const struct tg_inspect_memory *memory, struct tg_code_table *table,
                        uint64_t until_ns, struct tg_call_stack *stack);
void tg_call_stack_deinit(struct tg_call_stack *stack);

#endif
