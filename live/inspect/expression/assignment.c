#include "live/inspect/expression/assignment.h"

#include "live/inspect/expression/arithmetic.h"
#include "live/inspect/value/binary128.h"

#include <string.h>

/* NUMBER as SIZE bytes of memory, of TYPE. */
static void encode(const struct tg_number *number, const struct tg_type *type, size_t size,
                   uint8_t bytes[TG_ASSIGNMENT_MAX_SIZE])
{
    enum { EXTENDED = 10 }; /* bytes of a long double that say something */
    float single = (float)number->real;
    double twice = (double)number->real;
    memset(bytes, 0, TG_ASSIGNMENT_MAX_SIZE);
    if (!number->is_real) {
        memcpy(bytes, &number->low, 8);
        memcpy(bytes + 8, &number->high, 8);
    } else if (size == sizeof single) {
        memcpy(bytes, &single, sizeof single);
    } else if (size == sizeof twice) {
        memcpy(bytes, &twice, sizeof twice);
    } else if (size == TG_BINARY128_SIZE && tg_binary128_is(type)) {
        tg_binary128_encode(number->real, bytes);
    } else {
        memcpy(bytes, &number->real, EXTENDED);
    }
}

/* VALUE as a number of TARGET's type, which has *SIZE bytes. */
static struct tg_error *convert(const struct tg_scene *scene, const struct tg_value *target,
                                const struct tg_value *value, struct tg_number *number, uint64_t *size)
{
    static const uint8_t zeros[TG_ASSIGNMENT_MAX_SIZE];
    struct tg_number from, sample;
    enum tg_type_kind kind = tg_type_kind(&target->type);
    if (target->n_dimensions > 0 || kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION ||
        kind == TG_TYPE_FUNCTION || kind == TG_TYPE_STRING)
        return tg_error_create(TG_ERROR_USAGE,
                               "only numbers, pointers and enumerations can be assigned: give an "
                               "element or a member");
    if (!tg_type_size(&target->type, size) || *size == 0 || *size > TG_ASSIGNMENT_MAX_SIZE)
        return tg_error_create(TG_ERROR_USAGE, "a value of this type cannot be assigned");
    struct tg_error *error = tg_value_decode(&target->type, zeros, *size, &sample);
    if (error == NULL)
        error = tg_value_number(scene, value, &from);
    if (error == NULL)
        *number = tg_number_convert(&from, kind == TG_TYPE_BOOL ? TG_BASIC_BOOL : sample.type);
    return error;
}

/* BYTES, a number, become those of the bit-field that TARGET is, in the midst of what is around it. */
static struct tg_error *merge_bits(const struct tg_scene *scene, const struct tg_value *target,
                                   struct tg_assignment *plan)
{
    uint8_t around[TG_ASSIGNMENT_MAX_SIZE + 1] = {0};
    uint64_t first = plan->address + target->bit_offset / 8;
    unsigned shift = target->bit_offset % 8;
    size_t size = (shift + target->bit_size + 7) / 8;
    if (size > TG_ASSIGNMENT_MAX_SIZE)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "a bit-field of this size cannot be assigned");
    struct tg_error *error = tg_scene_read(scene, first, around, size);
    if (error != NULL)
        return error;
    for (unsigned i = 0; i < target->bit_size; i++) {
        uint8_t mask = (uint8_t)(1U << (shift + i) % 8);
        bool is_set = (plan->bytes[i / 8] >> i % 8 & 1) != 0;
        uint8_t *byte = &around[(shift + i) / 8];
        *byte = (uint8_t)(is_set ? *byte | mask : *byte & ~mask);
    }
    memcpy(plan->bytes, around, size);
    plan->address = first;
    plan->size_bytes = size;
    return NULL;
}

/* Why what is not in memory cannot be assigned to; NULL where it is a register that can. */
static struct tg_error *refuse(const struct tg_value *target)
{
    const struct tg_location_piece *piece = &target->location.pieces[0];
    const char *name = tg_location_register_name(piece->number);
    if (piece->kind == TG_LOCATION_OPTIMIZED || piece->kind == TG_LOCATION_POINTER)
        return tg_error_create(TG_ERROR_NOT_FOUND, "optimized out: there is nothing to assign to");
    if (piece->kind == TG_LOCATION_VALUE || piece->kind == TG_LOCATION_CONSTANT)
        return tg_error_create(TG_ERROR_USAGE, "a computed value: there is nothing to assign to");
    if (target->location.n_pieces > 1 || piece->kind != TG_LOCATION_REGISTER || target->offset_bytes > 0 ||
        target->bit_size > 0 || piece->offset_bits > 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "it is in several pieces, or in a part of a register");
    if (piece->number >= TG_RIP)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "it is in %%%s, which cannot be assigned",
                               name == NULL ? "an unknown register" : name);
    return NULL;
}

struct tg_error *tg_assignment_plan(const struct tg_scene *scene, const struct tg_value *target,
                                    const struct tg_value *value, struct tg_assignment *plan)
{
    struct tg_value place = *target;
    struct tg_number number;
    uint64_t size = 0;
    *plan = (struct tg_assignment){0};
    struct tg_error *error = tg_value_follow(scene, &place);
    if (error == NULL)
        error = convert(scene, &place, value, &number, &size);
    if (error != NULL)
        return error;
    plan->size_bytes = size;
    encode(&number, &place.type, size, plan->bytes);
    if (place.location.n_pieces == 1 &&
        tg_location_address(&place.location, place.offset_bytes, &plan->address))
        return place.bit_size > 0 ? merge_bits(scene, &place, plan) : NULL;
    error = refuse(&place);
    plan->is_in_register = true;
    plan->number = place.location.pieces[0].number;
    if (error == NULL && size > 8)
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "it is larger than the register that it is in");
    return error;
}
