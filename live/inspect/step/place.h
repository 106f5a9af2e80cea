/* Place of a thread that steps: its frame, its line, and what the code there is. */
#ifndef TG_LIVE_INSPECT_STEP_PLACE_H
#define TG_LIVE_INSPECT_STEP_PLACE_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"
#include "recorder/unwind/unwind.h"

struct tg_step_place {
    uint64_t pc;
    struct tg_frame frame;
    struct tg_frame caller;
    bool has_caller;
    struct tg_unwind_note note;
    struct tg_debug_info *info; /* NULL: in no object */
    uint64_t bias;
    bool has_row;
    struct tg_debug_row row;
    size_t n_calls; /* functions at the pc, innermost first: address of their DIE in the DWARF */
    const void *calls[TG_CODE_PLACE_MAX_CALLS];
    uint64_t function; /* start of the function (not an inlined one), 0 not known */
};

/* The place of a thread with REGISTERS. Valid until the next one of these MODULES. */
void tg_step_place_look(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                        const struct tg_registers *registers, struct tg_step_place *place);

/* In procedure linkage; in the dynamic linker. */
bool tg_step_place_is_plt(const struct tg_step_place *place);
bool tg_step_place_is_linker(struct tg_modules *modules, uint64_t pc);

/* Of a function's first instruction: behind the prologue that sets up a frame pointer, at the next line; the
 * pc itself where there is none. */
uint64_t tg_step_place_behind_prologue(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                       const struct tg_step_place *place);

/* The same of the function that begins at ADDRESS; MEMORY as the program has it. */
uint64_t tg_step_place_first_line(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                  uint64_t address);

/* The body of the parallel region that a call of the OpenMP run-time system at its first instruction starts;
 * 0: it is another function, or has no lines. */
uint64_t tg_step_place_region(struct tg_modules *modules, const struct tg_step_place *place);

/* A repeated string instruction, which is executed once a step: where the next one begins; else 0. */
uint64_t tg_step_place_behind_repetition(const struct tg_inspect_memory *memory, uint64_t pc);

#endif
