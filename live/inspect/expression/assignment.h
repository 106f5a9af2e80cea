/* Giving a variable another value: what has to be written where. Nothing is written here. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_ASSIGNMENT_H
#define TG_LIVE_INSPECT_EXPRESSION_ASSIGNMENT_H

#include "live/inspect/value/value.h"

enum {
    TG_ASSIGNMENT_MAX_SIZE = 16, /* bytes */
};

/* The caller's storage. */
struct tg_assignment {
    bool is_in_register;
    unsigned number;  /* the register's: one of enum tg_register */
    uint64_t address; /* else */
    size_t size_bytes;
    uint8_t bytes[TG_ASSIGNMENT_MAX_SIZE]; /* of a register: from its lowest byte on, the others stay */
};

/* Plans that TARGET, a scalar in SCENE, gets VALUE, converted as C's assignment does it. Errors: USAGE (no scalar, or
 * computed), NOT_FOUND (optimized out), UNSUPPORTED (a register that cannot be written, or part of a value that is
 * in pieces), and those of reading. */
struct tg_error *tg_assignment_plan(const struct tg_scene *scene, const struct tg_value *target,
                                    const struct tg_value *value, struct tg_assignment *plan);

#endif
