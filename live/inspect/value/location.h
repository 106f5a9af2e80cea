/* Locations of variables: DWARF's location expressions and lists, evaluated in a scene. */
#ifndef TG_LIVE_INSPECT_VALUE_LOCATION_H
#define TG_LIVE_INSPECT_VALUE_LOCATION_H

#include "live/inspect/target/scene.h"

enum {
    TG_LOCATION_MAX_PIECES = 8,
    TG_LOCATION_VALUE_SIZE = 16, /* bytes of what is computed */
};

enum tg_location_kind {
    TG_LOCATION_MEMORY,
    TG_LOCATION_REGISTER,
    TG_LOCATION_VALUE,     /* computed: it is nowhere */
    TG_LOCATION_CONSTANT,  /* bytes of the debug information */
    TG_LOCATION_POINTER,   /* a pointer that is nowhere, to a variable that may be nowhere */
    TG_LOCATION_OPTIMIZED, /* no value here */
};

/* Location of some of a variable's bytes. */
struct tg_location_piece {
    enum tg_location_kind kind;
    uint64_t size_bits;   /* 0: to the end of the variable */
    uint64_t offset_bits; /* of the first in what KIND says */
    uint64_t address;     /* MEMORY */
    unsigned number;      /* REGISTER: DWARF's */
    union {
        uint8_t value[TG_LOCATION_VALUE_SIZE]; /* VALUE */
        struct {
            const uint8_t *bytes; /* CONSTANT: valid as long as the Dwarf */
            size_t size_bytes;
        } constant;
        struct {
            Dwarf_Die target; /* POINTER: the variable's DIE */
            int64_t offset_bytes;
        } pointer;
    } is;
};

struct tg_location {
    unsigned n_pieces; /* from 1 on */
    struct tg_location_piece pieces[TG_LOCATION_MAX_PIECES];
};

/* Evaluates ATTRIBUTE (DW_AT_location and its like: an expression, or a list of which the entry for the
 * frame's pc is taken) of a DIE of OBJECT. SELF: the address of the object in hand
 * (DW_OP_push_object_address; also what the expression finds on its stack), NULL none. A place where the list
 * has no entry is OPTIMIZED. Errors: TARGET (memory or a register that it needs is not known), UNSUPPORTED
 * (an operation), LIMIT, INPUT. */
struct tg_error *tg_location_evaluate(const struct tg_scene *scene, const struct tg_scene_object *object,
                                      Dwarf_Attribute *attribute, const uint64_t *self,
                                      struct tg_location *location);

/* A number that is told by a constant, an expression or another DIE that has it (bounds, sizes, strides,
 * offsets of members). *NUMBER is untouched on failure. */
struct tg_error *tg_location_number(const struct tg_scene *scene, const struct tg_scene_object *object,
                                    Dwarf_Attribute *attribute, const uint64_t *self, int64_t *number);

/* One address in memory. */
struct tg_location tg_location_memory(uint64_t address);

/* COUNT bits from OFFSET on, both of the variable's beginning, into BUFFER (its first bit is bit 0; bits
 * beyond are 0). Errors: TARGET, NOT_FOUND ("optimized out"). */
struct tg_error *tg_location_read_bits(const struct tg_scene *scene, const struct tg_location *location,
                                       uint64_t offset, uint64_t count, void *buffer);

/* The address of byte OFFSET of it. False where that is not in memory. */
bool tg_location_address(const struct tg_location *location, uint64_t offset, uint64_t *address);

/* The name of DWARF's register NUMBER ("rax", "xmm3"), or NULL; and back, of the names that tg_registers
 * has. */
const char *tg_location_register_name(unsigned number);

#endif
