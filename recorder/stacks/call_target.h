/* What a call called: by its instruction, in front of the address that it returns to. */
#ifndef TG_RECORDER_STACKS_CALL_TARGET_H
#define TG_RECORDER_STACKS_CALL_TARGET_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

/* Where the stub of procedure linkage at ADDRESS leads to, 0 unknown; of other code that itself. */
uint64_t tg_call_target_behind_stub(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                    uint64_t address);

/* The function that the call before RETURN_ADDRESS called, behind its stub; 0: by a pointer that is not known, or there is no
 * call. */
uint64_t tg_call_target_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                             uint64_t return_address);

#endif
