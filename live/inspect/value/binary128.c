#include "live/inspect/value/binary128.h"

#include <string.h>

enum { EXPONENT_MASK = 0x7fff, LOST_BITS = 49 };
static const uint64_t INTEGER_BIT = UINT64_C(1) << 63; /* x87 writes the leading 1 */
static const uint64_t QUIET_BIT = UINT64_C(1) << 62;

bool tg_binary128_is(const struct tg_type *type)
{
    static const char *const names[] = {"float128", "Float128", "kind=16)"};
    struct tg_type stripped = tg_type_strip(type);
    const char *name = stripped.die.addr == NULL ? NULL : dwarf_diename(&stripped.die);
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i]) != NULL)
            return true;
    return false;
}

bool tg_binary128_is_unclear(const struct tg_type *type)
{
    struct tg_type stripped = tg_type_strip(type);
    const char *name = stripped.die.addr == NULL ? NULL : dwarf_diename(&stripped.die);
    return tg_type_is_fortran(&stripped) && !tg_binary128_is(type) &&
           (name == NULL || strstr(name, "kind=10)") == NULL);
}

/* Both formats have the same exponents; the fractions differ in length. */
long double tg_binary128_decode(const uint8_t bytes[TG_BINARY128_SIZE])
{
    uint64_t low, high, fraction;
    uint16_t sign_and_exponent;
    long double number = 0;
    memcpy(&low, bytes, sizeof low);
    memcpy(&high, bytes + 8, sizeof high);
    sign_and_exponent = (uint16_t)(high >> 48);
    unsigned exponent = sign_and_exponent & EXPONENT_MASK;
    fraction = (high << 16 >> 1) | low >> LOST_BITS;
    fraction |= exponent != 0 ? INTEGER_BIT : 0;
    if (exponent == EXPONENT_MASK && (high << 16 | low) != 0)
        fraction |= QUIET_BIT; /* else the digits that are lost could be all that a NaN has */
    uint64_t lost = low & ((UINT64_C(1) << LOST_BITS) - 1), half = UINT64_C(1) << (LOST_BITS - 1);
    if (exponent != EXPONENT_MASK && (lost > half || (lost == half && (fraction & 1) != 0)) &&
        (++fraction == 0 || (exponent == 0 && fraction == INTEGER_BIT))) {
        fraction = INTEGER_BIT; /* rounded up to the next power of two */
        sign_and_exponent++;
    }
    memcpy(&number, &fraction, sizeof fraction);
    memcpy((uint8_t *)&number + sizeof fraction, &sign_and_exponent, sizeof sign_and_exponent);
    return number;
}

void tg_binary128_encode(long double number, uint8_t bytes[TG_BINARY128_SIZE])
{
    uint64_t fraction;
    uint16_t sign_and_exponent;
    memcpy(&fraction, &number, sizeof fraction);
    memcpy(&sign_and_exponent, (const uint8_t *)&number + sizeof fraction, sizeof sign_and_exponent);
    uint64_t low = fraction << LOST_BITS;
    uint64_t high = (uint64_t)sign_and_exponent << 48 | (fraction & ~INTEGER_BIT) >> (64 - LOST_BITS);
    memcpy(bytes, &low, sizeof low);
    memcpy(bytes + 8, &high, sizeof high);
}
