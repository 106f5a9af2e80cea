/* Floating-point numbers of 128 bits (IEEE 754 binary128): Fortran's real(16), __float128. */
#ifndef TG_LIVE_INSPECT_VALUE_BINARY128_H
#define TG_LIVE_INSPECT_VALUE_BINARY128_H

#include "live/inspect/value/type.h"

#include <stdbool.h>
#include <stdint.h>

enum { TG_BINARY128_SIZE = 16 };

/* Whether TYPE's numbers, or the parts of its complex ones, are such: debug information gives x87's long double the same size and
 * encoding, so names tell. */
bool tg_binary128_is(const struct tg_type *type);

/* Whether numbers of 16 bytes of TYPE, or such parts of complex ones, may be either: Fortran's compilers have names of their
 * own. */
bool tg_binary128_is_unclear(const struct tg_type *type);

/* The number in BYTES, rounded to the 64 digits that a long double has; of a NaN it stays one. */
long double tg_binary128_decode(const uint8_t bytes[TG_BINARY128_SIZE]);
void tg_binary128_encode(long double number, uint8_t bytes[TG_BINARY128_SIZE]);

#endif
