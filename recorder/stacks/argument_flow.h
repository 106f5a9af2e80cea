/* Where a function that has called another one still has what it was passed itself: by its instructions. */
#ifndef TG_RECORDER_STACKS_ARGUMENT_FLOW_H
#define TG_RECORDER_STACKS_ARGUMENT_FLOW_H

#include "recorder/dwarf/modules.h"
#include "recorder/stacks/call_constants.h"

/* Where one argument is during the call. */
struct tg_argument_home {
    int8_t kept;          /* a register that functions keep for their callers (enum tg_register), -1 none */
    uint8_t kept_bytes;   /* of it, 8 or 4: the lower half */
    uint8_t slot_bytes;   /* in the frame, or above it; 0: it is not there */
    int8_t passed;        /* number of the argument in the call, -1 none */
    uint8_t passed_bytes; /* of that */
    int64_t slot;         /* address less the stack pointer at the function's first instruction */
};

struct tg_argument_flow {
    struct tg_argument_home homes[TG_CALL_ARGUMENT_ALL];
    uint64_t target; /* of the call, 0: it is an indirect one */
};

/* Of the function whose first instruction is at ENTRY and which is in the call that returns to PC. On all ways that lead there
 * an argument is where its home says. False where not all ways can be followed (a jump by way of a table, or too much code),
 * or none leads there. MODULES tell where functions end; NULL: nothing is known of that. */
bool tg_argument_flow_find(struct tg_modules *modules, const struct tg_inspect_memory *memory, uint64_t entry,
                           uint64_t pc, struct tg_argument_flow *flow);

#endif
