#include "live/inspect/value/location.h"

#include "live/inspect/value/type.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum {
    MAX_BITS = 1 << 24, /* read at once */
    X87_BYTES = 10,     /* of a long double, which has 16 in memory */
};

static struct tg_error *optimized(void)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "optimized out");
}

/* COUNT bits of FROM, beginning with bit SHIFT, to bit AT of TO, which is 0 there. */
static void copy_bits(uint8_t *to, uint64_t at, const uint8_t *from, uint64_t shift, uint64_t count)
{
    if (at % 8 == 0 && shift % 8 == 0) {
        memcpy(to + at / 8, from + shift / 8, count / 8);
        uint64_t whole = count / 8 * 8;
        at += whole;
        shift += whole;
        count -= whole;
    }
    for (uint64_t i = 0; i < count; i++) {
        unsigned bit = from[(shift + i) / 8] >> (shift + i) % 8 & 1U;
        to[(at + i) / 8] |= (uint8_t)(bit << (at + i) % 8);
    }
}

static struct tg_error *read_memory(const struct tg_scene *scene, uint64_t address, uint64_t skip,
                                    uint64_t count, uint8_t *buffer, uint64_t at)
{
    address += skip / 8;
    skip %= 8;
    if (skip == 0 && at % 8 == 0 && count % 8 == 0)
        return tg_scene_read(scene, address, buffer + at / 8, count / 8);
    uint8_t chunk[256];
    while (count > 0) { /* bit-fields and odd pieces */
        uint64_t here = count < sizeof chunk * 8 - 8 ? count : sizeof chunk * 8 - 8;
        struct tg_error *error = tg_scene_read(scene, address, chunk, (skip + here + 7) / 8);
        if (error != NULL)
            return error;
        copy_bits(buffer, at, chunk, skip, here);
        count -= here;
        at += here;
        address += here / 8; /* a whole number of bytes, but at the end */
    }
    return NULL;
}

static struct tg_error *read_register(const struct tg_scene *scene, unsigned number, uint64_t skip,
                                      uint64_t count, uint8_t *buffer, uint64_t at)
{
    uint8_t bytes[TG_WIDE_REGISTER_SIZE] = {0};
    uint64_t size = 64;
    if (scene->frame == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no frame to look in");
    if (number < TG_REGISTER_COUNT && tg_registers_has(&scene->frame->registers, number)) {
        memcpy(bytes, &scene->frame->registers.value[number], 8);
    } else if (tg_scene_wide_register(scene, number, bytes)) {
        size = 128;
    } else {
        const char *name = tg_location_register_name(number);
        return tg_error_create(TG_ERROR_TARGET, "in %%%s, which is not known in this frame",
                               name == NULL ? "a register" : name);
    }
    if (skip > size || count > size - skip)
        return tg_error_create(TG_ERROR_INPUT, "larger than the register that it is in");
    copy_bits(buffer, at, bytes, skip, count);
    return NULL;
}

static struct tg_error *read_piece(const struct tg_scene *scene, const struct tg_location_piece *piece,
                                   uint64_t skip, uint64_t count, uint8_t *buffer, uint64_t at)
{
    skip += piece->offset_bits;
    switch (piece->kind) {
    case TG_LOCATION_MEMORY:
        return read_memory(scene, piece->address, skip, count, buffer, at);
    case TG_LOCATION_REGISTER:
        return read_register(scene, piece->number, skip, count, buffer, at);
    case TG_LOCATION_VALUE:
        if (skip > TG_LOCATION_VALUE_SIZE * 8 || count > TG_LOCATION_VALUE_SIZE * 8 - skip)
            return tg_error_create(TG_ERROR_INPUT, "larger than its computed value");
        copy_bits(buffer, at, piece->is.value, skip, count);
        return NULL;
    case TG_LOCATION_CONSTANT:
        if (piece->is.constant.size_bytes == X87_BYTES && skip == 0 && count == 128)
            count = X87_BYTES * 8; /* what follows is padding, and 0 */
        if (skip > piece->is.constant.size_bytes * 8 || count > piece->is.constant.size_bytes * 8 - skip)
            return tg_error_create(TG_ERROR_INPUT, "larger than the constant that it is");
        copy_bits(buffer, at, piece->is.constant.bytes, skip, count);
        return NULL;
    case TG_LOCATION_POINTER:
        return tg_error_create(TG_ERROR_NOT_FOUND, "an optimized-out pointer");
    case TG_LOCATION_OPTIMIZED:
        break;
    }
    return optimized();
}

struct tg_error *tg_location_read_bits(const struct tg_scene *scene, const struct tg_location *location,
                                       uint64_t offset, uint64_t count, void *buffer)
{
    if (count > MAX_BITS)
        return tg_error_create(TG_ERROR_LIMIT, "larger than can be read at once");
    memset(buffer, 0, (count + 7) / 8);
    uint64_t start = 0, at = 0;
    for (unsigned i = 0; i < location->n_pieces && count > 0; i++) {
        const struct tg_location_piece *piece = &location->pieces[i];
        if (piece->size_bits != 0 && offset >= start + piece->size_bits) {
            start += piece->size_bits;
            continue;
        }
        uint64_t skip = offset - start;
        uint64_t here =
            piece->size_bits == 0 || piece->size_bits - skip > count ? count : piece->size_bits - skip;
        struct tg_error *error = read_piece(scene, piece, skip, here, buffer, at);
        if (error != NULL)
            return error;
        at += here;
        offset += here;
        count -= here;
        start += piece->size_bits;
    }
    return count == 0 ? NULL : optimized();
}

bool tg_location_address(const struct tg_location *location, uint64_t offset, uint64_t *address)
{
    uint64_t start = 0;
    for (unsigned i = 0; i < location->n_pieces; i++) {
        const struct tg_location_piece *piece = &location->pieces[i];
        if (piece->size_bits == 0 || offset * 8 < start + piece->size_bits) {
            if (piece->kind != TG_LOCATION_MEMORY || piece->offset_bits != 0)
                return false;
            *address = piece->address + offset - start / 8;
            return true;
        }
        start += piece->size_bits;
    }
    return false;
}

struct tg_error *tg_location_number(const struct tg_scene *scene, const struct tg_scene_object *object,
                                    Dwarf_Attribute *attribute, const uint64_t *self, int64_t *number)
{
    Dwarf_Die die;
    Dwarf_Attribute place;
    struct tg_location location;
    if (tg_type_constant(attribute, number))
        return NULL;
    uint64_t bits = 0, size = 8;
    bool is_variable = dwarf_formref_die(attribute, &die) != NULL;
    if (is_variable) {
        if (dwarf_attr(&die, DW_AT_const_value, &place) != NULL && tg_type_constant(&place, number))
            return NULL;
        if (dwarf_attr(&die, DW_AT_location, &place) == NULL)
            return optimized();
        self = NULL;
        attribute = &place;
        struct tg_type type;
        if (tg_type_of(object, &die, &type) && tg_type_size(&type, &size) && (size == 0 || size > 8))
            size = 8;
    }
    struct tg_error *error = tg_location_evaluate(scene, object, attribute, self, &location);
    if (error != NULL)
        return error;
    if (!is_variable && location.n_pieces == 1 && location.pieces[0].kind == TG_LOCATION_MEMORY) {
        *number = (int64_t)location.pieces[0].address; /* the expression's result is the number */
        return NULL;
    }
    error = tg_location_read_bits(scene, &location, 0, size * 8, &bits);
    if (error == NULL) {
        unsigned shift = 64 - 8 * (unsigned)size;
        *number = (int64_t)(bits << shift) >> shift;
    }
    return error;
}
