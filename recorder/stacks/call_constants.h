/* Constants that optimised code passes to a function: by its instructions. */
#ifndef TG_RECORDER_STACKS_CALL_CONSTANTS_H
#define TG_RECORDER_STACKS_CALL_CONSTANTS_H

#include "recorder/dwarf/target.h"
#include "recorder/stacks/call_register.h"

#include <elfutils/libdw.h>

/* In the order of the arguments. */
struct tg_call_arguments {
    uint64_t value[TG_CALL_ARGUMENT_ALL];
    uint16_t known; /* bit i: value[i] is */
};

struct tg_code_range {
    uint64_t start, end;
};

/* Adds to ARGUMENTS those of WANTED (bits) that FUNCTION sets to a number or to an address of an object before the call that
 * returns to PC, where no way leads past that: every jump of the function is looked at. BIAS: what its addresses lack. In
 * functions that jump by way of tables, or have more than 64 KiB, nothing is known. Those of STEADY (bits) may be what a variable
 * of the object has now: such as a program sets once (a communicator), as others may have changed since. */
void tg_call_constants_find(Dwarf_Die *function, uint64_t bias, const struct tg_inspect_memory *memory,
                            uint64_t pc, uint16_t wanted, uint16_t steady,
                            struct tg_call_arguments *arguments);

/* The same of a function that is the COUNT pieces CODE, in the object whose global offset table is GOT. */
void tg_call_constants_read(const struct tg_code_range *code, size_t count, struct tg_code_range got,
                            const struct tg_inspect_memory *memory, uint64_t pc, uint16_t wanted,
                            uint16_t steady, struct tg_call_arguments *arguments);

#endif
