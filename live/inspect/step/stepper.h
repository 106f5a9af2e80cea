/* Stepping one thread: what it has to be told, one order after the other, until it is where it should be. */
#ifndef TG_LIVE_INSPECT_STEP_STEPPER_H
#define TG_LIVE_INSPECT_STEP_STEPPER_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

enum tg_step_kind {
    TG_STEP_INSTRUCTION,      /* one machine instruction */
    TG_STEP_OVER_INSTRUCTION, /* the same; a call with all that it does */
    TG_STEP_LINE,             /* to another source line, also of a function that is called and has lines */
    TG_STEP_OVER_LINE,        /* to another source line of this function, or out of it */
    TG_STEP_OUT,              /* to where it returns to */
    TG_STEP_UNTIL,            /* to one of some addresses, or out of this function; without any: to a line
                                 further down, so that loops end */
    TG_STEP_TO,               /* to one of some addresses, wherever that is on the way */
};

struct tg_step_request {
    enum tg_step_kind kind;
    unsigned level;            /* TG_STEP_OUT: of this frame, 0 the innermost (inlined copies do not count) */
    const uint64_t *addresses; /* TG_STEP_UNTIL and TG_STEP_TO; borrowed for tg_stepper_begin alone */
    size_t n_addresses;        /* at most 8 are taken */
};

/* A temporary breakpoint: it counts only where the stack pointer is at least that (deeper calls of a
 * recursion go on). */
struct tg_step_target {
    uint64_t address;
    uint64_t rsp_at_least;
};

enum tg_step_order_kind {
    TG_STEP_ORDER_ONE,        /* execute one instruction, then ask again */
    TG_STEP_ORDER_RUN,        /* run to one of the targets, off the present address first; then ask again */
    TG_STEP_ORDER_DONE,       /* the step is over */
    TG_STEP_ORDER_IMPOSSIBLE, /* not possible, the thread stays where it is: WHY */
};

enum { TG_STEP_MAX_TARGETS = 16 };

struct tg_step_order {
    enum tg_step_order_kind kind;
    const char *why; /* a constant */
    size_t n_targets;
    struct tg_step_target targets[TG_STEP_MAX_TARGETS];
};

/* The rules are gdb's: a line is stepped to at an address where a row of the line table begins that is_stmt;
 * in the middle of a line (a return to it) the line is finished first; code without lines is run through,
 * procedure linkage and the dynamic linker behind it are stepped through to the function that is meant;
 * functions are entered behind their prologue; inlined copies count as calls. A signal handler is run
 * through. A longjmp ends the step where it lands, if that is not deeper than the frame that steps. A step at
 * a call of GOMP_parallel or __kmpc_fork_call goes into the region's body, as far as this thread takes part.
 *
 * Pure: it controls nothing. A stop of the thread for any other reason ends a stepper: destroy it. */
struct tg_stepper;

/* For a thread that is stopped with REGISTERS; MODULES and what MEMORY leads to must outlive the stepper. The
 * caller owns the result. */
struct tg_error *tg_stepper_begin(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                  const struct tg_step_request *request, const struct tg_registers *registers,
                                  struct tg_stepper **stepper, struct tg_step_order *order);

/* After what the last order said has been done. Not after DONE or IMPOSSIBLE. */
void tg_stepper_advance(struct tg_stepper *stepper, const struct tg_registers *registers,
                        struct tg_step_order *order);

/* NULL is accepted. */
void tg_stepper_destroy(struct tg_stepper *stepper);

#endif
