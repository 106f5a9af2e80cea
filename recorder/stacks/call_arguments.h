/* Arguments that a caller passed in registers, so far as they are certain. */
#ifndef TG_RECORDER_STACKS_CALL_ARGUMENTS_H
#define TG_RECORDER_STACKS_CALL_ARGUMENTS_H

#include "recorder/dwarf/modules.h"
#include "recorder/stacks/call_constants.h"

/* What CALLER, the frame of a call that has not returned, passed. Optimised code tells it by the parameters of its call
 * sites, and constants by its instructions (those of WANTED, bits); code without optimisation by the instructions of the
 * call's own line, as far as these are understood; all else is unknown. STEADY as in tg_call_constants_find(). */
void tg_call_arguments_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                            const struct tg_frame *caller, uint16_t wanted, uint16_t steady,
                            struct tg_call_arguments *arguments);

#endif
