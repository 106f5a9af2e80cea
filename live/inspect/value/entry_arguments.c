#include "live/inspect/value/entry_arguments.h"

#include "live/inspect/value/type.h"

#include <dwarf.h>
#include <string.h>

enum {
    N_INTEGERS = 6,
    N_REALS = 8,
    MAX_PARAMETERS = 256,
    MAX_MEMBERS = 256, /* of a struct that fits into two registers, all levels counted */
    MAX_PROLOGUE = 8,  /* endbr64, push %rbp, mov %rsp, %rbp */
};

/* How one argument is passed: in one or two registers, or in memory. */
enum passing { PASSED_NOWHERE, PASSED_IN_REAL, PASSED_IN_INTEGER, PASSED_IN_MEMORY };

struct argument {
    enum passing parts[2];
    unsigned n_parts; /* 0: in memory, or nowhere */
    uint64_t size, alignment;
    bool is_unknown;
};

/* Registers and stack that the arguments before it have taken. */
struct taken {
    unsigned integers, reals;
    uint64_t stack; /* the next address */
};

/* The caller's stack pointer, behind the return address. False: the prologue has run. */
static bool is_at_entry(const struct tg_scene *scene, const struct tg_scene_object *object,
                        Dwarf_Die *function, uint64_t *stack)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t moves[][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}}; /* mov %rsp, %rbp */
    const struct tg_registers *registers = &scene->frame->registers;
    uint64_t pc = registers->value[TG_RIP];
    uint8_t code[MAX_PROLOGUE];
    Dwarf_Addr entry;
    if (!scene->frame->is_activation || scene->inlined != 0 || !tg_registers_has(registers, TG_RSP) ||
        dwarf_entrypc(function, &entry) != 0 || pc - (entry + object->bias) > MAX_PROLOGUE)
        return false;
    uint64_t distance = pc - (entry + object->bias);
    *stack = registers->value[TG_RSP] + 8;
    if (distance == 0)
        return true;
    if (!scene->memory.read(scene->memory.context, pc - distance, code, sizeof code))
        return false;
    size_t at = memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    if (distance == at)
        return true;
    *stack += 8; /* %rbp is pushed */
    return code[at] == 0x55 && (distance == at + 1 || distance == at + 4) &&
           (memcmp(code + at + 1, moves[0], 3) == 0 || memcmp(code + at + 1, moves[1], 3) == 0);
}

/* A slot of the frame: *IS_POINTER where it has the address of the argument. */
static bool is_in_slot(Dwarf_Die *function, Dwarf_Die *die, bool *is_pointer)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops, *base;
    size_t n, n_base;
    if (dwarf_attr(die, DW_AT_location, &attribute) == NULL || dwarf_getlocation(&attribute, &ops, &n) != 0 ||
        n == 0 || n > 2 || ops[0].atom != DW_OP_fbreg || (n == 2 && ops[1].atom != DW_OP_deref))
        return false;
    *is_pointer = n == 2;
    if (dwarf_attr(function, DW_AT_frame_base, &attribute) == NULL ||
        dwarf_getlocation(&attribute, &base, &n_base) != 0 || n_base != 1)
        return false;
    /* arguments on the stack are where their location says, if that counts from the frame */
    return base[0].atom != DW_OP_call_frame_cfa || (int64_t)ops[0].number < 0;
}

/* By the symbol, which is quick: the frame is far into a function, or in a copy made by the compiler, whose
 * arguments may be fewer. */
static bool is_elsewhere(const struct tg_scene *scene)
{
    char name[256];
    uint64_t offset;
    return tg_scene_symbol_at(scene, scene->frame->registers.value[TG_RIP], name, sizeof name, &offset) &&
           (offset > MAX_PROLOGUE || strstr(name, ".isra.") != NULL || strstr(name, ".constprop.") != NULL ||
            strstr(name, ".part.") != NULL);
}

/* ---- the classes of the ABI */

static void merge(struct argument *argument, uint64_t offset, uint64_t size, enum passing passing)
{
    for (uint64_t i = offset / 8; i < 2 && i * 8 < offset + size; i++)
        if (argument->parts[i] < passing)
            argument->parts[i] = passing;
}

/* Kind of the part at OFFSET of the argument, of at most 16 bytes. */
static void classify(struct argument *argument, const struct tg_type *type, uint64_t offset,
                     unsigned *n_members)
{
    uint64_t size;
    enum tg_type_kind kind = tg_type_kind(type);
    struct tg_type stripped = tg_type_strip(type), part;
    if (!tg_type_size(type, &size) || offset + size > 16 || ++*n_members > MAX_MEMBERS) {
        argument->is_unknown = true;
    } else if (kind == TG_TYPE_FLOAT || kind == TG_TYPE_COMPLEX) {
        merge(argument, offset, size,
              kind == TG_TYPE_FLOAT && size == 16 ? PASSED_IN_MEMORY : PASSED_IN_REAL);
    } else if (tg_type_is_scalar(kind) || kind == TG_TYPE_REFERENCE) {
        merge(argument, offset, size, PASSED_IN_INTEGER);
    } else if (kind == TG_TYPE_ARRAY && !dwarf_hasattr(&stripped.die, DW_AT_GNU_vector) &&
               tg_type_target(&stripped, &part)) {
        uint64_t element;
        bool fits = tg_type_size(&part, &element) && element > 0;
        argument->is_unknown |= !fits;
        for (uint64_t at = 0; fits && at + element <= size; at += element)
            classify(argument, &part, offset + at, n_members);
    } else if (kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION) {
        Dwarf_Die child;
        for (int more = dwarf_child(&stripped.die, &child); more == 0;
             more = dwarf_siblingof(&child, &child)) {
            int tag = dwarf_tag(&child);
            Dwarf_Attribute attribute;
            int64_t at = 0;
            if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(&child, DW_AT_external))
                continue;
            if (dwarf_attr(&child, DW_AT_data_member_location, &attribute) != NULL &&
                !tg_type_constant(&attribute, &at))
                argument->is_unknown = true;
            if (dwarf_attr(&child, DW_AT_data_bit_offset, &attribute) != NULL &&
                tg_type_constant(&attribute, &at)) {
                merge(argument, (uint64_t)at / 8 % 16, 1, PASSED_IN_INTEGER);
                continue;
            }
            if (at < 0 || !tg_type_of(stripped.object, &child, &part))
                argument->is_unknown = true;
            else
                classify(argument, &part, offset + (uint64_t)at, n_members);
        }
    } else {
        argument->is_unknown = true;
    }
}

static struct argument argument_of(const struct tg_type *type)
{
    struct argument argument = {.alignment = 8};
    unsigned n_members = 0;
    enum tg_type_kind kind = tg_type_kind(type);
    if (!tg_type_size(type, &argument.size)) {
        argument.is_unknown = true;
        return argument;
    }
    bool is_large = argument.size > 16;
    if (!is_large)
        classify(&argument, type, 0, &n_members);
    bool is_wide = kind == TG_TYPE_FLOAT || kind == TG_TYPE_COMPLEX || tg_type_is_scalar(kind);
    if (is_wide && argument.size >= 16 && (kind != TG_TYPE_COMPLEX || is_large))
        argument.alignment = 16;
    if (is_large && !is_wide && kind != TG_TYPE_STRUCT && kind != TG_TYPE_UNION)
        argument.is_unknown = true; /* vectors */
    bool is_in_memory =
        is_large || argument.parts[0] == PASSED_IN_MEMORY || argument.parts[1] == PASSED_IN_MEMORY;
    argument.n_parts = is_in_memory ? 0 : argument.size > 8 ? 2 : 1;
    if (argument.n_parts > 0 && argument.parts[0] == PASSED_NOWHERE)
        argument.is_unknown = true; /* an empty class */
    return argument;
}

static const struct argument pointer = {
    .parts = {PASSED_IN_INTEGER}, .n_parts = 1, .size = 8, .alignment = 8};

/* ---- where they are */

static struct tg_location place(const struct argument *argument, struct taken *taken)
{
    static const enum tg_register integers[N_INTEGERS] = {TG_RDI, TG_RSI, TG_RDX, TG_RCX, TG_R8, TG_R9};
    struct tg_location location = {0};
    struct taken after = *taken;
    for (unsigned i = 0; i < argument->n_parts; i++) {
        bool is_real = argument->parts[i] == PASSED_IN_REAL;
        unsigned number = is_real                       ? TG_XMM0 + after.reals++
                          : after.integers < N_INTEGERS ? (unsigned)integers[after.integers++]
                                                        : (unsigned)(after.integers++, 0);
        location.pieces[location.n_pieces++] = (struct tg_location_piece){
            .kind = TG_LOCATION_REGISTER, .number = number, .size_bits = i + 1 < argument->n_parts ? 64 : 0};
    }
    if (argument->n_parts > 0 && after.integers <= N_INTEGERS && after.reals <= N_REALS) {
        *taken = after;
        return location;
    }
    uint64_t address = (taken->stack + argument->alignment - 1) & -argument->alignment;
    taken->stack = address + (argument->size + 7) / 8 * 8;
    return tg_location_memory(address);
}

/* A wide integer that goes onto the stack: clang has put it where the ABI does not before version 20. */
static bool is_split(const struct argument *argument, const struct taken *taken)
{
    return argument->n_parts == 2 && argument->alignment == 16 && taken->integers + 2 > N_INTEGERS;
}

static bool is_of_clang(Dwarf_Die *die)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    const char *producer =
        dwarf_diecu(die, &unit, NULL, NULL) == NULL || dwarf_attr(&unit, DW_AT_producer, &attribute) == NULL
            ? NULL
            : dwarf_formstring(&attribute);
    return producer != NULL && strstr(producer, "clang") != NULL;
}

/* A result in memory: the caller has passed where to. */
static bool has_hidden_pointer(const struct tg_scene_object *object, Dwarf_Die *function)
{
    struct tg_type type;
    if (!tg_type_of(object, function, &type))
        return false;
    enum tg_type_kind kind = tg_type_kind(&type);
    struct tg_type stripped = tg_type_strip(&type);
    Dwarf_Attribute attribute;
    int64_t convention = 0;
    if ((kind != TG_TYPE_STRUCT && kind != TG_TYPE_UNION) || stripped.die.addr == NULL)
        return false;
    if (dwarf_attr(&stripped.die, DW_AT_calling_convention, &attribute) != NULL &&
        tg_type_constant(&attribute, &convention) && convention == DW_CC_pass_by_reference)
        return true;
    return argument_of(&type).n_parts == 0;
}

bool tg_entry_argument(const struct tg_scene *scene, const struct tg_scene_object *object, Dwarf_Die *die,
                       struct tg_location *location, struct tg_error **error)
{
    const struct tg_scene_object *here;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES], child;
    bool is_pointer;
    struct taken taken = {0};
    uint64_t address;
    if (scene->frame == NULL || dwarf_tag(die) != DW_TAG_formal_parameter || is_elsewhere(scene))
        return false;
    size_t n = tg_scene_scopes(scene, scene->frame, &here, scopes);
    if (n == 0 || here != object || !is_at_entry(scene, object, &scopes[n - 1], &taken.stack) ||
        !is_in_slot(&scopes[n - 1], die, &is_pointer))
        return false;
    taken.integers = has_hidden_pointer(object, &scopes[n - 1]);
    unsigned n_parameters = 0;
    for (int more = dwarf_child(&scopes[n - 1], &child); more == 0 && n_parameters < MAX_PARAMETERS;
         more = dwarf_siblingof(&child, &child)) {
        struct tg_type type;
        struct argument argument = pointer;
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        n_parameters++;
        if (!is_in_slot(&scopes[n - 1], &child, &is_pointer))
            is_pointer = false;
        if (!is_pointer && tg_type_of(object, &child, &type))
            argument = argument_of(&type);
        if (argument.is_unknown || (is_split(&argument, &taken) && is_of_clang(&scopes[n - 1])))
            break;
        *location = place(&argument, &taken);
        if (dwarf_dieoffset(&child) != dwarf_dieoffset(die))
            continue;
        *error = is_pointer ? tg_location_read_bits(scene, location, 0, 64, &address) : NULL;
        if (is_pointer && *error == NULL)
            *location = tg_location_memory(address);
        return true;
    }
    *error = tg_error_create(TG_ERROR_TARGET, "not stored by the function yet");
    return true;
}
