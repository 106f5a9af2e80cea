#include "live/inspect/value/location_stack.h"

#include <dwarf.h>
#include <string.h>

struct tg_error *tg_location_push(struct tg_location_stack *stack, struct tg_location_number number)
{
    if (stack->depth == TG_LOCATION_MAX_STACK)
        return tg_error_create(TG_ERROR_LIMIT, "its location needs more than %d numbers at once",
                               TG_LOCATION_MAX_STACK);
    stack->numbers[stack->depth++] = number;
    return NULL;
}

struct tg_error *tg_location_push_generic(struct tg_location_stack *stack, uint64_t bits)
{
    return tg_location_push(
        stack, (struct tg_location_number){.kind = TG_LOCATION_GENERIC, .size_bytes = 8, .bits = bits});
}

static struct tg_error *too_few(void)
{
    return tg_error_create(TG_ERROR_INPUT, "its location pops an empty stack");
}

struct tg_error *tg_location_pop(struct tg_location_stack *stack, struct tg_location_number *number)
{
    if (stack->depth == 0)
        return too_few();
    *number = stack->numbers[--stack->depth];
    return NULL;
}

/* BITS of SIZE bytes, as KIND has them in 64. */
static uint64_t extend(uint64_t bits, unsigned size, enum tg_location_number_kind kind)
{
    if (size >= 8 || size == 0)
        return bits;
    unsigned shift = 64 - 8 * size;
    bits <<= shift;
    return kind == TG_LOCATION_SIGNED ? (uint64_t)((int64_t)bits >> shift) : bits >> shift;
}

static struct tg_error *describe(Dwarf_Die *type, size_t size, struct tg_location_number *number)
{
    *number = (struct tg_location_number){.kind = TG_LOCATION_GENERIC, .size_bytes = (unsigned)size};
    if (type->addr == NULL)
        return NULL;
    Dwarf_Attribute attribute;
    Dwarf_Word encoding;
    int bytes = dwarf_bytesize(type);
    if (dwarf_tag(type) != DW_TAG_base_type || bytes <= 0 || bytes > 16 ||
        dwarf_attr(type, DW_AT_encoding, &attribute) == NULL || dwarf_formudata(&attribute, &encoding) != 0)
        return tg_error_create(TG_ERROR_INPUT, "its location computes with a type that is not a base type");
    number->size_bytes = (unsigned)bytes;
    number->kind = encoding == DW_ATE_float                                      ? TG_LOCATION_FLOAT
                   : encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ? TG_LOCATION_SIGNED
                                                                                 : TG_LOCATION_UNSIGNED;
    return NULL;
}

struct tg_error *tg_location_decode(Dwarf_Die *type, const void *bytes, size_t size,
                                    struct tg_location_number *number)
{
    struct tg_location_number decoded;
    struct tg_error *error = describe(type, size, &decoded);
    if (error != NULL)
        return error;
    uint8_t whole[16] = {0};
    memcpy(whole, bytes, size < sizeof whole ? size : sizeof whole);
    if (decoded.kind != TG_LOCATION_FLOAT) {
        memcpy(&decoded.bits, whole, sizeof decoded.bits);
        decoded.bits = extend(decoded.bits, decoded.size_bytes, decoded.kind);
    } else if (decoded.size_bytes == 4) {
        float real;
        memcpy(&real, whole, sizeof real);
        decoded.real = (double)real;
    } else if (decoded.size_bytes == 8) {
        memcpy(&decoded.real, whole, sizeof decoded.real);
    } else {
        return tg_error_create(TG_ERROR_UNSUPPORTED, "its location computes with floating point of %u bytes",
                               decoded.size_bytes);
    }
    *number = decoded;
    return NULL;
}

void tg_location_encode(const struct tg_location_number *number, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (number->kind == TG_LOCATION_FLOAT && number->size_bytes == 4) {
        float real = (float)number->real;
        memcpy(bytes, &real, sizeof real);
    } else if (number->kind == TG_LOCATION_FLOAT) {
        memcpy(bytes, &number->real, sizeof number->real);
    } else {
        memcpy(bytes, &number->bits, sizeof number->bits);
        if (number->kind == TG_LOCATION_SIGNED && (int64_t)number->bits < 0)
            memset(bytes + 8, 0xff, 8);
    }
}

/* Duplicates and reorders. */
static struct tg_error *shuffle(struct tg_location_stack *stack, const Dwarf_Op *op, bool *known)
{
    struct tg_location_number *numbers = stack->numbers, top;
    unsigned depth = stack->depth;
    uint64_t index;
    *known = true;
    switch (op->atom) {
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick:
        index = op->atom == DW_OP_pick ? op->number : op->atom == DW_OP_over;
        return index < depth ? tg_location_push(stack, numbers[depth - 1 - index]) : too_few();
    case DW_OP_drop:
        return tg_location_pop(stack, &top);
    case DW_OP_swap:
        if (depth < 2)
            return too_few();
        top = numbers[depth - 1];
        numbers[depth - 1] = numbers[depth - 2];
        numbers[depth - 2] = top;
        return NULL;
    case DW_OP_rot:
        if (depth < 3)
            return too_few();
        top = numbers[depth - 1];
        numbers[depth - 1] = numbers[depth - 2];
        numbers[depth - 2] = numbers[depth - 3];
        numbers[depth - 3] = top;
        return NULL;
    default:
        *known = false;
        return NULL;
    }
}

/* Result of comparing two numbers, of which at most one of these is true: of a NaN none is. */
static bool find_truth(unsigned atom, bool less, bool equal, bool greater, bool *truth)
{
    switch (atom) {
    case DW_OP_eq:
        *truth = equal;
        return true;
    case DW_OP_ne:
        *truth = !equal;
        return true;
    case DW_OP_lt:
        *truth = less;
        return true;
    case DW_OP_le:
        *truth = less || equal;
        return true;
    case DW_OP_gt:
        *truth = greater;
        return true;
    case DW_OP_ge:
        *truth = greater || equal;
        return true;
    default:
        return false;
    }
}

/* Integers of the generic type compare as signed (DWARF 5, 2.5.1.5). */
static bool compare(unsigned atom, const struct tg_location_number *x, const struct tg_location_number *y,
                    bool *truth)
{
    bool equal = x->bits == y->bits, less, greater;
    if (x->kind == TG_LOCATION_FLOAT) {
        equal = x->real == y->real;
        less = x->real < y->real;
        greater = x->real > y->real;
    } else {
        less = x->kind == TG_LOCATION_UNSIGNED ? x->bits < y->bits : (int64_t)x->bits < (int64_t)y->bits;
        greater = !less && !equal;
    }
    return find_truth(atom, less, equal, greater, truth);
}

static bool calculate_reals(unsigned atom, double x, double y, double *result)
{
    switch (atom) {
    case DW_OP_plus:
        *result = x + y;
        return true;
    case DW_OP_minus:
        *result = x - y;
        return true;
    case DW_OP_mul:
        *result = x * y;
        return true;
    case DW_OP_div:
        *result = x / y;
        return true;
    default:
        return false;
    }
}

/* X / Y or the remainder, by signs where IS_SIGNED; Y is not 0. */
static uint64_t divide(uint64_t x, uint64_t y, bool is_signed, bool remainder)
{
    if (!is_signed)
        return remainder ? x % y : x / y;
    if (y == UINT64_MAX) /* -1: the quotient of the smallest number does not fit */
        return remainder ? 0 : 0 - x;
    return (uint64_t)(remainder ? (int64_t)x % (int64_t)y : (int64_t)x / (int64_t)y);
}

static bool calculate(unsigned atom, const struct tg_location_number *x, const struct tg_location_number *y,
                      uint64_t *result)
{
    uint64_t a = x->bits, b = y->bits;
    /* generic: division has signs, the remainder has none (DWARF 5, 2.5.1.4) */
    bool is_signed = x->kind == TG_LOCATION_SIGNED || (x->kind == TG_LOCATION_GENERIC && atom == DW_OP_div);
    switch (atom) {
    case DW_OP_and:
        *result = a & b;
        return true;
    case DW_OP_or:
        *result = a | b;
        return true;
    case DW_OP_xor:
        *result = a ^ b;
        return true;
    case DW_OP_plus:
        *result = a + b;
        return true;
    case DW_OP_minus:
        *result = a - b;
        return true;
    case DW_OP_mul:
        *result = a * b;
        return true;
    case DW_OP_div:
    case DW_OP_mod:
        if (b == 0)
            return false;
        *result = divide(a, b, is_signed, atom == DW_OP_mod);
        return true;
    case DW_OP_shl:
        *result = b < 64 ? a << b : 0;
        return true;
    case DW_OP_shr:
        *result = b < 64 ? extend(a, x->size_bytes, TG_LOCATION_UNSIGNED) >> b : 0;
        return true;
    case DW_OP_shra:
        *result = (uint64_t)((int64_t)a >> (b < 63 ? b : 63));
        return true;
    default:
        return false;
    }
}

static bool is_binary(unsigned atom)
{
    return (atom >= DW_OP_eq && atom <= DW_OP_ne) || atom == DW_OP_and || atom == DW_OP_div ||
           atom == DW_OP_minus || atom == DW_OP_mod || atom == DW_OP_mul || atom == DW_OP_or ||
           atom == DW_OP_plus || atom == DW_OP_shl || atom == DW_OP_shr || atom == DW_OP_shra ||
           atom == DW_OP_xor;
}

static struct tg_error *combine(struct tg_location_stack *stack, unsigned atom)
{
    struct tg_location_number x, y;
    struct tg_error *error = tg_location_pop(stack, &y);
    if (error == NULL)
        error = tg_location_pop(stack, &x);
    if (error != NULL)
        return error;
    if ((x.kind == TG_LOCATION_FLOAT) != (y.kind == TG_LOCATION_FLOAT))
        return tg_error_create(TG_ERROR_INPUT, "its location mixes integers and floating point");
    bool truth, fine;
    if (compare(atom, &x, &y, &truth))
        return tg_location_push_generic(stack, truth);
    if (x.kind == TG_LOCATION_FLOAT) {
        fine = calculate_reals(atom, x.real, y.real, &x.real);
    } else {
        fine = calculate(atom, &x, &y, &x.bits);
        if (fine)
            x.bits = extend(x.bits, x.size_bytes, x.kind);
    }
    return fine ? tg_location_push(stack, x)
                : tg_error_create(TG_ERROR_INPUT,
                                  "its location divides by 0 or computes something impossible");
}

static struct tg_error *change(struct tg_location_stack *stack, const Dwarf_Op *op)
{
    struct tg_location_number x;
    struct tg_error *error = tg_location_pop(stack, &x);
    if (error != NULL)
        return error;
    switch (op->atom) {
    case DW_OP_abs:
        if (x.kind != TG_LOCATION_FLOAT && x.kind != TG_LOCATION_UNSIGNED && (int64_t)x.bits < 0)
            x.bits = 0 - x.bits;
        x.real = x.real < 0 ? -x.real : x.real;
        break;
    case DW_OP_neg:
        x.bits = 0 - x.bits;
        x.real = -x.real;
        break;
    case DW_OP_not:
        x.bits = ~x.bits;
        break;
    default: /* DW_OP_plus_uconst */
        x.bits += op->number;
        break;
    }
    x.bits = extend(x.bits, x.size_bytes, x.kind);
    return tg_location_push(stack, x);
}

struct tg_error *tg_location_compute(struct tg_location_stack *stack, const Dwarf_Op *op, bool *known)
{
    struct tg_error *error = shuffle(stack, op, known);
    if (*known)
        return error;
    *known = true;
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
        return tg_location_push_generic(stack, op->atom - DW_OP_lit0);
    if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) /* libdw has extended them */
        return tg_location_push_generic(stack, op->number);
    if (is_binary(op->atom))
        return combine(stack, op->atom);
    if (op->atom == DW_OP_abs || op->atom == DW_OP_neg || op->atom == DW_OP_not ||
        op->atom == DW_OP_plus_uconst)
        return change(stack, op);
    *known = false;
    return NULL;
}
