/* Critical sections of OpenMP in the code of a function: a compiler makes a call that begins each one, and one that ends it, both
 * with the address of the section's lock, which is a constant. */
#ifndef TG_RECORDER_STACKS_CRITICAL_CODE_H
#define TG_RECORDER_STACKS_CRITICAL_CODE_H

#include "recorder/dwarf/target.h"

enum { TG_CRITICAL_MAX_HELD = 4 };

/* What a function that is called does. */
struct tg_critical_call {
    enum { TG_CRITICAL_OTHER, TG_CRITICAL_BEGINS, TG_CRITICAL_ENDS, TG_CRITICAL_NEVER_RETURNS } what;
    int argument;  /* register with the lock (enum tg_register); -1: always LOCK */
    uint64_t lock; /* not 0 */
};

/* What the function at TARGET does; TARGET may be its entry in a procedure linkage table. */
struct tg_critical_calls {
    void *context;
    struct tg_critical_call (*find)(void *context, uint64_t target);
};

/* What holds at an instruction before it is executed: of one that begins a critical section its LOCK (else 0); of one that
 * ends one, this is not among those that are HELD. */
struct tg_critical_place {
    uint64_t lock;
    uint64_t held[TG_CRITICAL_MAX_HELD];
    size_t n_held;
};

/* At the instruction with byte PC of the SIZE bytes CODE at ADDRESS, a whole function. A section is told where each known way
 * from the function's beginning to there leads into it; false where nothing is told: no section is in the function, some lock
 * is unknown, or a way ends a section that it has not begun, or returns in one. Constants may be in MEMORY (a global offset
 * table). */
bool tg_critical_code_read(const uint8_t *code, size_t size, uint64_t address,
                           const struct tg_critical_calls *calls, const struct tg_inspect_memory *memory,
                           uint64_t pc, struct tg_critical_place *place);

#endif
