#include "live/inspect/value/binary128.h"
#include "live/inspect/value/value.h"

#include <string.h>

/* The type that arithmetic has for integers of SIZE bytes. */
static enum tg_basic_type integer_type(unsigned size, bool is_unsigned)
{
    switch (size) {
    case 1:
        return is_unsigned ? TG_BASIC_UNSIGNED_CHAR : TG_BASIC_SIGNED_CHAR;
    case 2:
        return is_unsigned ? TG_BASIC_UNSIGNED_SHORT : TG_BASIC_SHORT;
    case 4:
        return is_unsigned ? TG_BASIC_UNSIGNED : TG_BASIC_INT;
    case 16:
        return is_unsigned ? TG_BASIC_UNSIGNED_INT128 : TG_BASIC_INT128;
    default:
        return is_unsigned ? TG_BASIC_UNSIGNED_LONG : TG_BASIC_LONG;
    }
}

static struct tg_error *decode_real(const struct tg_type *type, const void *bytes, size_t size,
                                    struct tg_number *number)
{
    number->is_real = true;
    if (size == sizeof(float)) {
        float real;
        memcpy(&real, bytes, sizeof real);
        number->real = (long double)real;
        number->type = TG_BASIC_FLOAT;
    } else if (size == sizeof(double)) {
        double real;
        memcpy(&real, bytes, sizeof real);
        number->real = (long double)real;
        number->type = TG_BASIC_DOUBLE;
    } else if (size == TG_BINARY128_SIZE && tg_binary128_is(type)) {
        number->real = tg_binary128_decode(bytes);
        number->type = TG_BASIC_LONG_DOUBLE;
    } else if (size == TG_BINARY128_SIZE && tg_binary128_is_unclear(type)) {
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the format of this type's numbers is not known");
    } else if (size == 16 || size == 10) { /* x87's 80 bits */
        number->real = 0;
        memcpy(&number->real, bytes, 10);
        number->type = TG_BASIC_LONG_DOUBLE;
    } else {
        return tg_error_create(TG_ERROR_UNSUPPORTED, "unsupported floating-point size: %zu bytes", size);
    }
    return NULL;
}

static void decode_integer(const void *bytes, size_t size, bool is_unsigned, struct tg_number *number)
{
    uint8_t whole[16];
    bool negative = !is_unsigned && size > 0 && (((const uint8_t *)bytes)[size - 1] & 0x80) != 0;
    memset(whole, negative ? 0xff : 0, sizeof whole);
    memcpy(whole, bytes, size);
    memcpy(&number->low, whole, 8);
    memcpy(&number->high, whole + 8, 8);
    number->is_unsigned = is_unsigned;
    number->type = integer_type((unsigned)size, is_unsigned);
}

struct tg_error *tg_value_decode(const struct tg_type *type, const void *bytes, size_t size,
                                 struct tg_number *result)
{
    struct tg_number number = {.size_bytes = (unsigned)size};
    struct tg_type target = tg_type_strip(type), underlying;
    enum tg_type_kind kind = tg_type_kind(&target);
    bool is_unsigned;
    if (size == 0 || size > 16)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "unsupported number size: %zu bytes", size);
    switch ((int)kind) {
    case TG_TYPE_FLOAT: {
        struct tg_error *error = decode_real(&target, bytes, size, &number);
        if (error != NULL)
            return error;
        break;
    }
    case TG_TYPE_ENUM: /* DW_AT_type of the enum, where there is one, has the sign */
        is_unsigned = !tg_type_target(&target, &underlying) || tg_type_kind(&underlying) != TG_TYPE_SIGNED;
        decode_integer(bytes, size, is_unsigned, &number);
        break;
    case TG_TYPE_CHAR:
    case TG_TYPE_SIGNED:
        decode_integer(bytes, size, false, &number);
        break;
    case TG_TYPE_BOOL:
    case TG_TYPE_UNSIGNED_CHAR:
    case TG_TYPE_UNSIGNED:
    case TG_TYPE_POINTER:
        decode_integer(bytes, size, true, &number);
        break;
    default:
        return tg_error_create(TG_ERROR_USAGE, "not a number");
    }
    *result = number;
    return NULL;
}

/* A bit-field: from its first bit on, extended by the sign of its type. */
static struct tg_error *read_bit_field(const struct tg_scene *scene, const struct tg_value *value,
                                       uint8_t bytes[16], uint64_t size)
{
    uint8_t field[16] = {0};
    struct tg_error *error = tg_location_read_bits(
        scene, &value->location, value->offset_bytes * 8 + value->bit_offset, value->bit_size, field);
    if (error != NULL)
        return error;
    enum tg_type_kind kind = tg_type_kind(&value->type);
    bool is_signed = kind == TG_TYPE_SIGNED || kind == TG_TYPE_CHAR;
    unsigned last = value->bit_size - 1;
    if (is_signed && (field[last / 8] >> last % 8 & 1) != 0)
        for (unsigned bit = value->bit_size; bit < size * 8; bit++)
            field[bit / 8] |= (uint8_t)(1U << bit % 8);
    memcpy(bytes, field, 16);
    return NULL;
}

struct tg_error *tg_value_number(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_number *number)
{
    struct tg_value from = *value;
    uint64_t address, size;
    uint8_t bytes[16] = {0};
    struct tg_error *error = tg_value_follow(scene, &from);
    if (error != NULL)
        return error;
    enum tg_type_kind kind = tg_type_kind(&from.type);
    if (from.n_dimensions > 0 || kind == TG_TYPE_FUNCTION) {
        if (!tg_value_address(&from, &address))
            return tg_error_create(TG_ERROR_USAGE, "it is not in memory: it has no address");
        *number = (struct tg_number){
            .type = TG_BASIC_UNSIGNED_LONG, .is_unsigned = true, .size_bytes = 8, .low = address};
        return NULL;
    }
    if (!tg_type_is_scalar(kind))
        return tg_error_create(TG_ERROR_USAGE, "not a number");
    if (!tg_type_size(&from.type, &size) || size == 0 || size > 16)
        return tg_error_create(TG_ERROR_USAGE, "not a number of a supported size");
    error = from.bit_size > 0 ? read_bit_field(scene, &from, bytes, size)
                              : tg_value_read(scene, &from, 0, size, bytes);
    return error != NULL ? error : tg_value_decode(&from.type, bytes, size, number);
}

struct tg_value tg_value_of_number(const struct tg_number *number)
{
    struct tg_type type = tg_type_basic(number->type);
    uint8_t bytes[16] = {0};
    if (number->type == TG_BASIC_FLOAT) {
        float real = (float)number->real;
        memcpy(bytes, &real, sizeof real);
    } else if (number->type == TG_BASIC_DOUBLE) {
        double real = (double)number->real;
        memcpy(bytes, &real, sizeof real);
    } else if (number->type == TG_BASIC_LONG_DOUBLE) {
        memcpy(bytes, &number->real, 10);
    } else {
        memcpy(bytes, &number->low, 8);
        memcpy(bytes + 8, &number->high, 8);
    }
    return tg_value_computed(&type, bytes, sizeof bytes);
}
