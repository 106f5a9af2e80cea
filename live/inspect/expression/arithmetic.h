/* Arithmetic of numbers as C has it: operators, conversions, the type of a result. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_ARITHMETIC_H
#define TG_LIVE_INSPECT_EXPRESSION_ARITHMETIC_H

#include "live/inspect/value/value.h"

enum tg_operation {
    TG_OPERATION_NONE,
    TG_OPERATION_RANGE,
    TG_OPERATION_OR,
    TG_OPERATION_AND,
    TG_OPERATION_BIT_OR,
    TG_OPERATION_BIT_XOR,
    TG_OPERATION_BIT_AND, /* unary: the address */
    TG_OPERATION_EQUAL,
    TG_OPERATION_UNEQUAL,
    TG_OPERATION_LESS,
    TG_OPERATION_LESS_EQUAL,
    TG_OPERATION_GREATER,
    TG_OPERATION_GREATER_EQUAL,
    TG_OPERATION_SHIFT_LEFT,
    TG_OPERATION_SHIFT_RIGHT,
    TG_OPERATION_REPEAT,
    TG_OPERATION_ADD,
    TG_OPERATION_SUBTRACT,
    TG_OPERATION_MULTIPLY, /* unary: what it points to */
    TG_OPERATION_DIVIDE,
    TG_OPERATION_MODULO,
    TG_OPERATION_POWER, /* Fortran's */
    TG_OPERATION_NOT,
    TG_OPERATION_BIT_NOT,
};

/* Applies C's arithmetic. Errors: USAGE (division by 0, operands that it does not have). */
struct tg_error *tg_number_combine(enum tg_operation operation, const struct tg_number *a,
                                   const struct tg_number *b, struct tg_number *result);
struct tg_error *tg_number_change(enum tg_operation operation, const struct tg_number *a,
                                  struct tg_number *result);
struct tg_number tg_number_convert(const struct tg_number *a, enum tg_basic_type type);
struct tg_number tg_number_of_int(int64_t value, enum tg_basic_type type);
bool tg_number_is_true(const struct tg_number *a);

#endif
