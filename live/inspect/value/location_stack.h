/* The numbers that DWARF expressions compute with: generic ones, and those of base types. Of location.c. */
#ifndef TG_LIVE_INSPECT_VALUE_LOCATION_STACK_H
#define TG_LIVE_INSPECT_VALUE_LOCATION_STACK_H

#include "format/base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

enum tg_location_number_kind {
    TG_LOCATION_GENERIC, /* 64 bits, of no sign */
    TG_LOCATION_SIGNED,
    TG_LOCATION_UNSIGNED,
    TG_LOCATION_FLOAT,
};

struct tg_location_number {
    enum tg_location_number_kind kind;
    unsigned size_bytes;
    uint64_t bits; /* integers: extended to 64 bits by their kind */
    double real;   /* FLOAT */
};

enum {
    TG_LOCATION_MAX_STACK = 64,
};

struct tg_location_stack {
    unsigned depth;
    struct tg_location_number numbers[TG_LOCATION_MAX_STACK];
};

/* Errors: LIMIT, the stack is full. */
struct tg_error *tg_location_push(struct tg_location_stack *stack, struct tg_location_number number);
struct tg_error *tg_location_push_generic(struct tg_location_stack *stack, uint64_t bits);

/* Errors: INPUT, the stack is empty. */
struct tg_error *tg_location_pop(struct tg_location_stack *stack, struct tg_location_number *number);

/* Operations on the stack alone: constants, dup to over, arithmetic, comparisons. *KNOWN: whether ATOM is
 * one of these. */
struct tg_error *tg_location_compute(struct tg_location_stack *stack, const Dwarf_Op *op, bool *known);

/* The number that the SIZE BYTES, as memory has them, are as base type TYPE; of one that is all 0 bytes:
 * generic. */
struct tg_error *tg_location_decode(Dwarf_Die *type, const void *bytes, size_t size,
                                    struct tg_location_number *number);

/* The bytes of NUMBER, at most 16, 0 behind them. */
void tg_location_encode(const struct tg_location_number *number, uint8_t bytes[16]);

#endif
