#include "live/inspect/expression/arithmetic.h"

#include <math.h>
#include <string.h>

static unsigned size_of(enum tg_basic_type type)
{
    static const unsigned sizes[] = {
#define X(name, text, size, kind) size,
        TG_BASIC_TYPES(X)
#undef X
    };
    return sizes[type];
}

static bool is_unsigned_type(enum tg_basic_type type)
{
    return type == TG_BASIC_BOOL || type == TG_BASIC_UNSIGNED_CHAR || type == TG_BASIC_UNSIGNED_SHORT ||
           type == TG_BASIC_UNSIGNED || type == TG_BASIC_UNSIGNED_LONG ||
           type == TG_BASIC_UNSIGNED_LONG_LONG || type == TG_BASIC_UNSIGNED_INT128;
}

static bool is_real_type(enum tg_basic_type type)
{
    return type == TG_BASIC_FLOAT || type == TG_BASIC_DOUBLE || type == TG_BASIC_LONG_DOUBLE;
}

bool tg_number_is_true(const struct tg_number *a)
{
    return a->is_real ? a->real != 0 : (a->low | a->high) != 0;
}

static long double to_real(const struct tg_number *a)
{
    if (a->is_real)
        return a->real;
    if (!a->is_unsigned && (int64_t)a->high < 0)
        return -((long double)~a->high * 0x1p64L + (long double)~a->low + 1);
    return (long double)a->high * 0x1p64L + (long double)a->low;
}

/* LOW as TYPE, extended. */
static struct tg_number integer(uint64_t low, uint64_t high, enum tg_basic_type type)
{
    struct tg_number number = {
        .type = type, .is_unsigned = is_unsigned_type(type), .size_bytes = size_of(type)};
    number.low = low;
    number.high = high;
    if (number.size_bytes < 16) {
        unsigned shift = 64 - 8 * number.size_bytes;
        number.low =
            number.is_unsigned ? low << shift >> shift : (uint64_t)((int64_t)(low << shift) >> shift);
        number.high = !number.is_unsigned && (int64_t)number.low < 0 ? UINT64_MAX : 0;
    }
    return number;
}

struct tg_number tg_number_of_int(int64_t value, enum tg_basic_type type)
{
    return integer((uint64_t)value, value < 0 ? UINT64_MAX : 0, type);
}

struct tg_number tg_number_convert(const struct tg_number *a, enum tg_basic_type type)
{
    if (is_real_type(type)) {
        long double real = to_real(a);
        real = type == TG_BASIC_FLOAT    ? (long double)(float)real
               : type == TG_BASIC_DOUBLE ? (long double)(double)real
                                         : real;
        return (struct tg_number){.type = type, .is_real = true, .size_bytes = size_of(type), .real = real};
    }
    if (type == TG_BASIC_BOOL)
        return integer(tg_number_is_true(a), 0, type);
    if (!a->is_real)
        return integer(a->low, a->high, type);
    /* values that do not fit become the nearest one: C leaves it open */
    if (a->real != a->real)
        return integer(0, 0, type);
    if (a->real < 0)
        return integer(a->real <= -0x1p63L ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)a->real, UINT64_MAX,
                       type);
    return integer(a->real >= 0x1p64L ? UINT64_MAX : (uint64_t)a->real, 0, type);
}

/* C's integer promotion. */
static enum tg_basic_type promote(const struct tg_number *a)
{
    if (is_real_type(a->type))
        return a->type;
    if (a->size_bytes < 4)
        return TG_BASIC_INT;
    bool is_unsigned = is_unsigned_type(a->type);
    if (a->size_bytes == 4)
        return is_unsigned ? TG_BASIC_UNSIGNED : TG_BASIC_INT;
    return a->type == TG_BASIC_LONG_LONG            ? TG_BASIC_LONG
           : a->type == TG_BASIC_UNSIGNED_LONG_LONG ? TG_BASIC_UNSIGNED_LONG
                                                    : a->type;
}

/* C's usual arithmetic conversions: both have the same width behind them. */
static enum tg_basic_type common_type(const struct tg_number *a, const struct tg_number *b)
{
    enum tg_basic_type x = promote(a), y = promote(b);
    if (is_real_type(x) || is_real_type(y))
        return !is_real_type(x) ? y : !is_real_type(y) ? x : x > y ? x : y;
    unsigned n = size_of(x), m = size_of(y);
    if (n != m)
        return n > m ? x : y;
    return is_unsigned_type(x) ? x : y;
}

static struct tg_error *too_wide(void)
{
    return tg_error_create(TG_ERROR_UNSUPPORTED, "arithmetic on 128-bit integers is not supported");
}

static struct tg_error *combine_reals(enum tg_operation operation, long double x, long double y,
                                      enum tg_basic_type type, struct tg_number *result)
{
    struct tg_number number = {.type = TG_BASIC_LONG_DOUBLE, .is_real = true, .size_bytes = 16};
    switch ((int)operation) {
    case TG_OPERATION_ADD:
        number.real = x + y;
        break;
    case TG_OPERATION_SUBTRACT:
        number.real = x - y;
        break;
    case TG_OPERATION_MULTIPLY:
        number.real = x * y;
        break;
    case TG_OPERATION_DIVIDE:
        number.real = x / y;
        break;
    case TG_OPERATION_POWER:
        number.real = powl(x, y);
        break;
    default:
        return tg_error_create(TG_ERROR_USAGE, "no such operation on floating-point numbers");
    }
    *result = tg_number_convert(&number, type);
    return NULL;
}

static struct tg_error *divide(bool is_modulo, const struct tg_number *x, const struct tg_number *y,
                               uint64_t *low)
{
    if (y->low == 0)
        return tg_error_create(TG_ERROR_USAGE, "division by 0");
    if (x->is_unsigned)
        *low = is_modulo ? x->low % y->low : x->low / y->low;
    else if (y->low == UINT64_MAX) /* -1 */
        *low = is_modulo ? 0 : 0 - x->low;
    else
        *low = (uint64_t)(is_modulo ? (int64_t)x->low % (int64_t)y->low : (int64_t)x->low / (int64_t)y->low);
    return NULL;
}

/* As Fortran has it: of a negative exponent what an integer division has. */
static struct tg_error *raise(const struct tg_number *x, const struct tg_number *y, uint64_t *low)
{
    bool is_inverse = !y->is_unsigned && (int64_t)y->low < 0;
    uint64_t left = is_inverse ? 0 - y->low : y->low, factor = x->low;
    if (is_inverse && x->low == 0)
        return tg_error_create(TG_ERROR_USAGE, "division by 0");
    *low = 1;
    for (; left > 0; left >>= 1) {
        if (left & 1)
            *low *= factor;
        factor *= factor;
    }
    if (is_inverse && x->low != 1 && x->low != UINT64_MAX)
        *low = 0;
    return NULL;
}

static struct tg_error *combine_integers(enum tg_operation operation, const struct tg_number *x,
                                         const struct tg_number *y, struct tg_number *result)
{
    uint64_t low = 0;
    struct tg_error *error = NULL;
    switch ((int)operation) {
    case TG_OPERATION_ADD:
        low = x->low + y->low;
        break;
    case TG_OPERATION_SUBTRACT:
        low = x->low - y->low;
        break;
    case TG_OPERATION_MULTIPLY:
        low = x->low * y->low;
        break;
    case TG_OPERATION_DIVIDE:
    case TG_OPERATION_MODULO:
        error = divide(operation == TG_OPERATION_MODULO, x, y, &low);
        break;
    case TG_OPERATION_POWER:
        error = raise(x, y, &low);
        break;
    case TG_OPERATION_BIT_AND:
        low = x->low & y->low;
        break;
    case TG_OPERATION_BIT_OR:
        low = x->low | y->low;
        break;
    case TG_OPERATION_BIT_XOR:
        low = x->low ^ y->low;
        break;
    default:
        return tg_error_create(TG_ERROR_USAGE, "no such operation on integers");
    }
    if (error == NULL)
        *result = integer(low, 0, x->type);
    return error;
}

static struct tg_error *shift(enum tg_operation operation, const struct tg_number *a,
                              const struct tg_number *b, struct tg_number *result)
{
    if (a->is_real || b->is_real)
        return tg_error_create(TG_ERROR_USAGE, "no such operation on floating-point numbers");
    enum tg_basic_type type = promote(a);
    struct tg_number x = tg_number_convert(a, type);
    if (x.size_bytes > 8)
        return too_wide();
    if (b->high != 0 || b->low >= x.size_bytes * 8)
        return tg_error_create(TG_ERROR_USAGE, "shift by more bits than the type has");
    uint64_t low = operation == TG_OPERATION_SHIFT_LEFT ? x.low << b->low
                   : x.is_unsigned                      ? x.low >> b->low
                                                        : (uint64_t)((int64_t)x.low >> b->low);
    *result = integer(low, 0, type);
    return NULL;
}

/* -1, 0, 1; 2: not comparable (NaN). */
static int compare(const struct tg_number *x, const struct tg_number *y)
{
    if (x->is_real)
        return x->real < y->real ? -1 : x->real > y->real ? 1 : x->real == y->real ? 0 : 2;
    if (x->high != y->high)
        return x->is_unsigned ? (x->high < y->high ? -1 : 1) : (int64_t)x->high < (int64_t)y->high ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static bool is_comparison(enum tg_operation operation, int order, bool *truth)
{
    switch ((int)operation) {
    case TG_OPERATION_EQUAL:
        *truth = order == 0;
        return true;
    case TG_OPERATION_UNEQUAL:
        *truth = order != 0;
        return true;
    case TG_OPERATION_LESS:
        *truth = order == -1;
        return true;
    case TG_OPERATION_LESS_EQUAL:
        *truth = order == -1 || order == 0;
        return true;
    case TG_OPERATION_GREATER:
        *truth = order == 1;
        return true;
    case TG_OPERATION_GREATER_EQUAL:
        *truth = order == 1 || order == 0;
        return true;
    default:
        return false;
    }
}

struct tg_error *tg_number_combine(enum tg_operation operation, const struct tg_number *a,
                                   const struct tg_number *b, struct tg_number *result)
{
    if (operation == TG_OPERATION_SHIFT_LEFT || operation == TG_OPERATION_SHIFT_RIGHT)
        return shift(operation, a, b, result);
    enum tg_basic_type type = common_type(a, b);
    struct tg_number x = tg_number_convert(a, type), y = tg_number_convert(b, type);
    bool truth;
    if (is_comparison(operation, compare(&x, &y), &truth)) {
        *result = tg_number_of_int(truth, TG_BASIC_INT);
        return NULL;
    }
    if (x.is_real)
        return combine_reals(operation, x.real, y.real, type, result);
    return x.size_bytes > 8 ? too_wide() : combine_integers(operation, &x, &y, result);
}

struct tg_error *tg_number_change(enum tg_operation operation, const struct tg_number *a,
                                  struct tg_number *result)
{
    struct tg_number x = tg_number_convert(a, promote(a));
    if (operation == TG_OPERATION_NOT) {
        *result = tg_number_of_int(!tg_number_is_true(a), TG_BASIC_INT);
        return NULL;
    }
    if (operation == TG_OPERATION_ADD) {
        *result = x;
        return NULL;
    }
    if (x.is_real && operation == TG_OPERATION_BIT_NOT)
        return tg_error_create(TG_ERROR_USAGE, "no such operation on floating-point numbers");
    if (!x.is_real && x.size_bytes > 8)
        return too_wide();
    if (x.is_real)
        x.real = -x.real;
    else
        x = integer(operation == TG_OPERATION_BIT_NOT ? ~x.low : 0 - x.low, 0, x.type);
    *result = x;
    return NULL;
}
