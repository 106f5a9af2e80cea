/* The ways in which a call that is stepped over is left otherwise than by its return: longjmp, and C++
 * exceptions that are caught further out. Of stepper.c. */
#ifndef TG_LIVE_INSPECT_STEP_JUMPS_H
#define TG_LIVE_INSPECT_STEP_JUMPS_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

enum { TG_STEP_MAX_LONGJMPS = 4, TG_STEP_MAX_CATCHES = 2 };

/* The caller's storage, 0 at first. */
struct tg_step_jumps {
    uint64_t longjmps[TG_STEP_MAX_LONGJMPS];
    size_t n_longjmps;
    uint64_t catches[TG_STEP_MAX_CATCHES]; /* first call of each handler of an exception */
    size_t n_catches;
    /* of the longjmp under way: it is stepped through until it lands */
    bool is_jumping;
    unsigned n_steps;
    uint64_t rsp;    /* at its call */
    uint64_t set_at; /* the pc behind setting the stack pointer, 0 not yet */
};

/* Finds them in the objects that are mapped now. */
void tg_step_jumps_find(struct tg_step_jumps *jumps, struct tg_modules *modules);

bool tg_step_jumps_is_longjmp(const struct tg_step_jumps *jumps, uint64_t pc);
bool tg_step_jumps_is_catch(const struct tg_step_jumps *jumps, uint64_t pc);

enum tg_step_jump {
    TG_STEP_JUMP_ON,     /* one more instruction */
    TG_STEP_JUMP_LANDED, /* the jump is over */
    TG_STEP_JUMP_LOST,   /* the jump takes too long */
};

/* A longjmp begins; then one call for each instruction of it, the first included. */
void tg_step_jumps_begin(struct tg_step_jumps *jumps);
enum tg_step_jump tg_step_jumps_follow(struct tg_step_jumps *jumps, uint64_t pc, uint64_t rsp);

#endif
