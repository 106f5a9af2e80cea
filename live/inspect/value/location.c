#include "live/inspect/value/location.h"

#include "live/inspect/value/call_site.h"
#include "live/inspect/value/location_stack.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum {
    MAX_STEPS = 10000, /* of one evaluation, calls and entry values counted */
    MAX_DEPTH = 8,     /* of expressions within expressions */
};

/* One expression that is being evaluated, and those that it needs. */
struct machine {
    const struct tg_scene *scene;
    const struct tg_scene_object *object;
    const struct tg_frame *frame; /* NULL none */
    const uint64_t *self;
    Dwarf_Attribute *attribute; /* with the operations */
    struct tg_location_stack *stack;
    struct tg_location *location;
    uint64_t described_bits; /* by pieces */
    unsigned *steps;
    unsigned depth;
    bool may_be_address; /* a number has been pushed by its index, which should be an offset */
    bool is_place;       /* the piece in hand is said by NEXT, not by an address on the stack */
    struct tg_location_piece next;
};

static const char *const register_names[] = {
    [TG_RAX] = "rax",
    [TG_RDX] = "rdx",
    [TG_RCX] = "rcx",
    [TG_RBX] = "rbx",
    [TG_RSI] = "rsi",
    [TG_RDI] = "rdi",
    [TG_RBP] = "rbp",
    [TG_RSP] = "rsp",
    [TG_R8] = "r8",
    [TG_R9] = "r9",
    [TG_R10] = "r10",
    [TG_R11] = "r11",
    [TG_R12] = "r12",
    [TG_R13] = "r13",
    [TG_R14] = "r14",
    [TG_R15] = "r15",
    [TG_RIP] = "rip",
    "xmm0",
    "xmm1",
    "xmm2",
    "xmm3",
    "xmm4",
    "xmm5",
    "xmm6",
    "xmm7",
    "xmm8",
    "xmm9",
    "xmm10",
    "xmm11",
    "xmm12",
    "xmm13",
    "xmm14",
    "xmm15",
    "st0",
    "st1",
    "st2",
    "st3",
    "st4",
    "st5",
    "st6",
    "st7",
};

const char *tg_location_register_name(unsigned number)
{
    return number < sizeof register_names / sizeof *register_names ? register_names[number] : NULL;
}

struct tg_location tg_location_memory(uint64_t address)
{
    return (struct tg_location){.n_pieces = 1, .pieces = {{.kind = TG_LOCATION_MEMORY, .address = address}}};
}

static struct tg_location optimized_out(void)
{
    return (struct tg_location){.n_pieces = 1, .pieces = {{.kind = TG_LOCATION_OPTIMIZED}}};
}

static struct tg_error *lost_register(unsigned number)
{
    const char *name = tg_location_register_name(number);
    if (name == NULL)
        return tg_error_create(TG_ERROR_TARGET, "it needs register %u, which is not known", number);
    return tg_error_create(TG_ERROR_TARGET, "it needs %%%s, which is not known in this frame", name);
}

static struct tg_error *bad(const char *what)
{
    return tg_error_create(TG_ERROR_INPUT, "its location %s", what);
}

static struct tg_error *run(struct machine *machine, const Dwarf_Op *ops, size_t n_ops);

/* Another expression, of ATTRIBUTE, whose one result goes onto the stack: an address, or what it computes. */
static struct tg_error *evaluate_inner(const struct machine *outer, const struct tg_frame *frame,
                                       Dwarf_Attribute *attribute, uint64_t *number)
{
    Dwarf_Op *ops;
    size_t n_ops;
    if (outer->depth + 1 >= MAX_DEPTH)
        return tg_error_create(TG_ERROR_LIMIT, "its location is nested too deeply");
    if (dwarf_getlocation(attribute, &ops, &n_ops) != 0 || n_ops == 0)
        return bad("needs another one that cannot be read");
    struct tg_location_stack stack = {0};
    struct tg_location location = {0};
    struct machine inner = {.scene = outer->scene,
                            .object = outer->object,
                            .frame = frame,
                            .attribute = attribute,
                            .stack = &stack,
                            .location = &location,
                            .steps = outer->steps,
                            .depth = outer->depth + 1};
    struct tg_error *error = run(&inner, ops, n_ops);
    if (error != NULL)
        return error;
    if (inner.is_place && inner.next.kind == TG_LOCATION_REGISTER) {
        if (frame == NULL || inner.next.number >= TG_REGISTER_COUNT ||
            !tg_registers_has(&frame->registers, inner.next.number))
            return lost_register(inner.next.number);
        *number = frame->registers.value[inner.next.number];
        return NULL;
    }
    if (inner.is_place && inner.next.kind == TG_LOCATION_VALUE) {
        memcpy(number, inner.next.is.value, sizeof *number);
        return NULL;
    }
    if (inner.is_place && inner.next.kind == TG_LOCATION_CONSTANT && inner.next.is.constant.size_bytes <= 8) {
        *number = 0;
        memcpy(number, inner.next.is.constant.bytes, inner.next.is.constant.size_bytes);
        return NULL;
    }
    if (location.n_pieces > 0 || stack.depth == 0)
        return bad("needs another one that gives no number");
    uint8_t bytes[16]; /* of a real number those that memory would have */
    tg_location_encode(&stack.numbers[stack.depth - 1], bytes);
    memcpy(number, bytes, sizeof *number);
    return NULL;
}

static struct tg_error *push_register(struct machine *machine, unsigned number, int64_t offset)
{
    if (machine->frame == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no frame to look in");
    if (number >= TG_REGISTER_COUNT || !tg_registers_has(&machine->frame->registers, number))
        return lost_register(number);
    return tg_location_push_generic(machine->stack,
                                    machine->frame->registers.value[number] + (uint64_t)offset);
}

static struct tg_error *push_frame_base(struct machine *machine, int64_t offset)
{
    const struct tg_scene_object *object;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES];
    Dwarf_Attribute base;
    size_t n = tg_scene_scopes(machine->scene, machine->frame, &object, scopes);
    if (n == 0 || dwarf_attr_integrate(&scopes[n - 1], DW_AT_frame_base, &base) == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no frame to look in");
    uint64_t address;
    struct tg_error *error = evaluate_inner(machine, machine->frame, &base, &address);
    return error != NULL ? error : tg_location_push_generic(machine->stack, address + (uint64_t)offset);
}

static struct tg_error *push_cfa(struct machine *machine)
{
    if (machine->frame == NULL || machine->frame->cfa == 0)
        return tg_error_create(TG_ERROR_TARGET, "its frame is not known");
    return tg_location_push_generic(machine->stack, machine->frame->cfa);
}

static bool is_typed_register(const Dwarf_Op *op)
{
    return op->atom == DW_OP_regval_type || op->atom == DW_OP_GNU_regval_type;
}

/* Pushes what a register had, as the type that OP, of an entry value, names; generic where it names none. The type is one of the
 * unit's, which libdw does not know of the inner expression. */
static struct tg_error *push_as_entered(struct machine *machine, const Dwarf_Op *op, uint64_t bits)
{
    Dwarf_Die type;
    struct tg_location_number number;
    if (!is_typed_register(op))
        return tg_location_push_generic(machine->stack, bits);
    if (dwarf_getlocation_die(machine->attribute, op, &type) != 0)
        return bad("names a missing type");
    struct tg_error *error = tg_location_decode(&type, &bits, sizeof bits, &number);
    return error != NULL ? error : tg_location_push(machine->stack, number);
}

/* A register's value when the function was entered: the caller's call site may say it. */
static struct tg_error *push_entry_value(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Attribute entry, value;
    Dwarf_Op *ops;
    size_t n_ops;
    const struct tg_frame *caller = machine->scene->caller;
    if (dwarf_getlocation_attr(machine->attribute, op, &entry) != 0 ||
        dwarf_getlocation(&entry, &ops, &n_ops) != 0 || n_ops != 1)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "it needs memory contents of the function's entry");
    unsigned number = ops[0].atom == DW_OP_regx || is_typed_register(&ops[0])
                          ? (unsigned)ops[0].number
                          : (unsigned)(ops[0].atom - DW_OP_reg0);
    struct machine outer = *machine;
    if (machine->frame != machine->scene->frame ||
        !tg_call_site_parameter(machine->scene, caller, number, &outer.object, &value))
        return tg_error_create(TG_ERROR_NOT_FOUND, "optimized out");
    uint64_t bits;
    struct tg_error *error = evaluate_inner(&outer, caller, &value, &bits);
    return error != NULL ? error : push_as_entered(machine, &ops[0], bits);
}

/* What the caller passed for a parameter that the compiler has removed: its call site may say it. */
static struct tg_error *push_passed(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Die parameter;
    Dwarf_Attribute value;
    uint64_t bits;
    const struct tg_frame *caller = machine->scene->caller;
    struct machine outer = *machine;
    if (dwarf_getlocation_die(machine->attribute, op, &parameter) != 0)
        return bad("names a missing parameter");
    if (machine->frame != machine->scene->frame ||
        !tg_call_site_value_of(machine->scene, caller, &parameter, &outer.object, &value))
        return tg_error_create(TG_ERROR_NOT_FOUND, "optimized out");
    struct tg_error *error = evaluate_inner(&outer, caller, &value, &bits);
    return error != NULL ? error : tg_location_push_generic(machine->stack, bits);
}

/* Replaces the address on the stack by the number that memory has there. */
static struct tg_error *dereference(struct machine *machine, const Dwarf_Op *op)
{
    struct tg_location_number number;
    Dwarf_Die type = {0};
    uint8_t bytes[16] = {0};
    uint64_t size = op->atom == DW_OP_deref ? 8 : op->number;
    struct tg_error *error = tg_location_pop(machine->stack, &number);
    if (error != NULL)
        return error;
    bool is_typed = op->atom == DW_OP_deref_type || op->atom == DW_OP_GNU_deref_type;
    if (size == 0 || size > (is_typed ? 16 : 8))
        return bad("reads numbers of an impossible size");
    if (is_typed && dwarf_getlocation_die(machine->attribute, op, &type) != 0)
        return bad("names a missing type");
    error = tg_scene_read(machine->scene, number.bits, bytes, size);
    if (error == NULL)
        error = tg_location_decode(&type, bytes, sizeof bytes, &number);
    if (error != NULL)
        return error;
    if (!is_typed)
        number.size_bytes = 8;
    return tg_location_push(machine->stack, number);
}

static struct tg_error *push_typed_register(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Die type;
    uint8_t bytes[TG_WIDE_REGISTER_SIZE] = {0};
    struct tg_location_number number;
    const struct tg_scene *scene = machine->scene;
    if (dwarf_getlocation_die(machine->attribute, op, &type) != 0)
        return bad("names a missing type");
    if (machine->frame != NULL && op->number < TG_REGISTER_COUNT &&
        tg_registers_has(&machine->frame->registers, (enum tg_register)op->number))
        memcpy(bytes, &machine->frame->registers.value[op->number], 8);
    else if (op->number > TG_ST7 || machine->frame != scene->frame ||
             !tg_scene_wide_register(scene, (unsigned)op->number, bytes))
        return lost_register(op->number > 1000 ? 1000 : (unsigned)op->number);
    struct tg_error *error = tg_location_decode(&type, bytes, sizeof bytes, &number);
    return error != NULL ? error : tg_location_push(machine->stack, number);
}

static struct tg_error *push_typed_constant(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Die type;
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    struct tg_location_number number;
    if (dwarf_getlocation_die(machine->attribute, op, &type) != 0 ||
        dwarf_getlocation_attr(machine->attribute, op, &attribute) != 0 ||
        dwarf_formblock(&attribute, &block) != 0)
        return bad("has a constant that cannot be read");
    struct tg_error *error = tg_location_decode(&type, block.data, block.length, &number);
    return error != NULL ? error : tg_location_push(machine->stack, number);
}

/* To another base type, by value or (reinterpret) by bits. */
static struct tg_error *convert(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Die type = {0};
    struct tg_location_number from, to;
    uint8_t bytes[16];
    bool reinterpret = op->atom == DW_OP_reinterpret || op->atom == DW_OP_GNU_reinterpret;
    if (op->number != 0 && dwarf_getlocation_die(machine->attribute, op, &type) != 0)
        return bad("names a missing type");
    struct tg_error *error = tg_location_pop(machine->stack, &from);
    if (error != NULL)
        return error;
    tg_location_encode(&from, bytes);
    error = tg_location_decode(&type, bytes, sizeof bytes, &to); /* for its kind and size */
    if (error != NULL)
        return error;
    if (type.addr == NULL)
        to.size_bytes = 8;
    if (reinterpret)
        return tg_location_push(machine->stack, to);
    if (to.kind == TG_LOCATION_FLOAT) {
        to.real = from.kind == TG_LOCATION_FLOAT      ? from.real
                  : from.kind == TG_LOCATION_UNSIGNED ? (double)from.bits
                                                      : (double)(int64_t)from.bits;
        if (to.size_bytes == 4)
            to.real = (double)(float)to.real;
    } else if (from.kind == TG_LOCATION_FLOAT) {
        if (!(from.real > -9.2e18 && from.real < 1.8e19))
            return bad("converts a number that does not fit");
        uint64_t bits = from.real < 0 ? (uint64_t)(int64_t)from.real : (uint64_t)from.real;
        struct tg_location_number whole = {.kind = TG_LOCATION_GENERIC, .size_bytes = 8, .bits = bits};
        tg_location_encode(&whole, bytes);
        error = tg_location_decode(&type, bytes, sizeof bytes, &to);
    }
    return error != NULL ? error : tg_location_push(machine->stack, to);
}

/* Whether an index of ATTRIBUTE's unit may lead to the address of a thread-local variable's first value, not to its offset: of
 * GCC, which has a relocation for addresses there, that depends on the linker. */
static bool may_mean_address(const Dwarf_Attribute *attribute)
{
    Dwarf_Die unit;
    Dwarf_Attribute produced;
    const char *producer = dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL ||
                                   dwarf_attr(&unit, DW_AT_producer, &produced) == NULL
                               ? NULL
                               : dwarf_formstring(&produced);
    return producer == NULL || strncmp(producer, "GNU ", 4) == 0;
}

static struct tg_error *push_address_index(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr address;
    bool is_address = op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
    if (dwarf_getlocation_attr(machine->attribute, op, &attribute) != 0 ||
        (is_address ? dwarf_formaddr(&attribute, &address) : dwarf_formudata(&attribute, &address)) != 0)
        return bad("has an address that cannot be read");
    if (!is_address)
        machine->may_be_address = may_mean_address(machine->attribute);
    return tg_location_push_generic(machine->stack, address + (is_address ? machine->object->bias : 0));
}

static struct tg_error *push_thread_local(struct machine *machine)
{
    struct tg_location_number offset;
    const struct tg_scene *scene = machine->scene;
    uint64_t address;
    struct tg_error *error = tg_location_pop(machine->stack, &offset);
    if (error == NULL && scene->ops->thread_local_at == NULL)
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "thread-local storage is not known here");
    if (error == NULL)
        error = scene->ops->thread_local_at(scene->context, machine->object, offset.bits,
                                            machine->may_be_address, &address);
    return error != NULL ? error : tg_location_push_generic(machine->stack, address);
}

/* Another DIE's expression, on this stack (call2, call4, call_ref), or its variable's value. */
static struct tg_error *call(struct machine *machine, const Dwarf_Op *op)
{
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    uint64_t address, value = 0;
    if (dwarf_getlocation_die(machine->attribute, op, &die) != 0)
        return bad("names a missing one");
    if (dwarf_attr(&die, DW_AT_location, &attribute) == NULL)
        return op->atom == DW_OP_GNU_variable_value ? tg_error_create(TG_ERROR_NOT_FOUND, "optimized out")
                                                    : NULL;
    struct tg_error *error = evaluate_inner(machine, machine->frame, &attribute, &address);
    if (error == NULL && op->atom == DW_OP_GNU_variable_value) {
        error = tg_scene_read(machine->scene, address, &value, sizeof value);
        address = value;
    }
    return error != NULL ? error : tg_location_push_generic(machine->stack, address);
}

/* Operations that look at the frame, at memory or at other parts of the debug information. */
static struct tg_error *look(struct machine *machine, const Dwarf_Op *op)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
        return push_register(machine, op->atom - DW_OP_breg0, (int64_t)op->number);
    switch (op->atom) {
    case DW_OP_addr:
        return tg_location_push_generic(machine->stack, op->number + machine->object->bias);
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
        return push_address_index(machine, op);
    case DW_OP_bregx:
        return push_register(machine, op->number > 1000 ? 1000 : (unsigned)op->number, (int64_t)op->number2);
    case DW_OP_fbreg:
        return push_frame_base(machine, (int64_t)op->number);
    case DW_OP_call_frame_cfa:
        return push_cfa(machine);
    case DW_OP_deref:
    case DW_OP_deref_size:
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
        return dereference(machine, op);
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
        return push_typed_register(machine, op);
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        return push_typed_constant(machine, op);
    case DW_OP_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_convert:
    case DW_OP_GNU_reinterpret:
        return convert(machine, op);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return push_entry_value(machine, op);
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        return push_thread_local(machine);
    case DW_OP_call2:
    case DW_OP_call4:
    case DW_OP_call_ref:
    case DW_OP_GNU_variable_value:
        return call(machine, op);
    case DW_OP_push_object_address:
        return machine->self == NULL ? bad("needs an object that has an address")
                                     : tg_location_push_generic(machine->stack, *machine->self);
    case DW_OP_GNU_parameter_ref:
        return push_passed(machine, op);
    default:
        return tg_error_create(TG_ERROR_UNSUPPORTED, "its location has unknown operation 0x%x",
                               (unsigned)op->atom);
    }
}

/* Operations that say what the piece in hand is. *KNOWN: OP is one of these. */
static struct tg_error *place(struct machine *machine, const Dwarf_Op *op, bool *known)
{
    struct tg_location_piece *next = &machine->next;
    struct tg_location_number number;
    Dwarf_Block block;
    struct tg_error *error = NULL;
    *known = true;
    if ((op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) || op->atom == DW_OP_regx) {
        uint64_t which = op->atom == DW_OP_regx ? op->number : (uint64_t)(op->atom - DW_OP_reg0);
        *next = (struct tg_location_piece){.kind = TG_LOCATION_REGISTER,
                                           .number = (unsigned)(which > 1000 ? 1000 : which)};
    } else if (op->atom == DW_OP_stack_value) {
        error = tg_location_pop(machine->stack, &number);
        *next = (struct tg_location_piece){.kind = TG_LOCATION_VALUE};
        if (error == NULL)
            tg_location_encode(&number, next->is.value);
    } else if (op->atom == DW_OP_implicit_value) {
        if (dwarf_getlocation_implicit_value(machine->attribute, op, &block) != 0)
            return bad("has a constant that cannot be read");
        *next = (struct tg_location_piece){.kind = TG_LOCATION_CONSTANT};
        next->is.constant.bytes = block.data;
        next->is.constant.size_bytes = block.length;
    } else if (op->atom == DW_OP_implicit_pointer || op->atom == DW_OP_GNU_implicit_pointer) {
        *next = (struct tg_location_piece){.kind = TG_LOCATION_POINTER};
        if (dwarf_getlocation_die(machine->attribute, op, &next->is.pointer.target) != 0)
            return bad("points to a missing variable");
        next->is.pointer.offset_bytes = (int64_t)op->number2;
    } else {
        *known = false;
        return NULL;
    }
    machine->is_place = true;
    return error;
}

/* What clang 19 says of a vector register that it has put into memory: the value is a number of all its bytes, more than
 * an address has. */
static bool is_wide_value(const Dwarf_Op *ops, size_t n_ops, size_t at)
{
    return ops[at].atom == DW_OP_deref_size && ops[at].number > 8 && at + 1 < n_ops &&
           ops[at + 1].atom == DW_OP_stack_value;
}

static struct tg_error *take_wide_value(struct machine *machine, uint64_t size)
{
    struct tg_location_number number;
    struct tg_location_piece *next = &machine->next;
    struct tg_error *error = tg_location_pop(machine->stack, &number);
    *next = (struct tg_location_piece){.kind = TG_LOCATION_VALUE};
    machine->is_place = true;
    return error != NULL ? error
                         : tg_scene_read(machine->scene, number.bits, next->is.value,
                                         size < TG_LOCATION_VALUE_SIZE ? size : TG_LOCATION_VALUE_SIZE);
}

/* Ends a piece of SIZE bits; 0: all of the value. */
static struct tg_error *finish_piece(struct machine *machine, uint64_t size_bits, uint64_t offset_bits)
{
    struct tg_location *location = machine->location;
    struct tg_location_piece piece = {.kind = TG_LOCATION_OPTIMIZED};
    struct tg_location_number number;
    if (location->n_pieces == TG_LOCATION_MAX_PIECES)
        return tg_error_create(TG_ERROR_LIMIT, "it is in more than %d pieces", TG_LOCATION_MAX_PIECES);
    if (machine->is_place) {
        piece = machine->next;
    } else if (machine->stack->depth > 0) {
        struct tg_error *error = tg_location_pop(machine->stack, &number);
        if (error != NULL)
            return error;
        piece = (struct tg_location_piece){.kind = TG_LOCATION_MEMORY, .address = number.bits};
    }
    piece.size_bits = size_bits;
    piece.offset_bits = offset_bits;
    machine->is_place = false;
    location->pieces[location->n_pieces++] = piece;
    return NULL;
}

/* The operation that a branch goes to: its place among the N OPS, N for the end. */
static struct tg_error *branch(const Dwarf_Op *ops, size_t n, size_t from, size_t *to)
{
    uint64_t target = ops[from].offset + 3 + (uint64_t)(int64_t)(int16_t)ops[from].number;
    for (size_t i = 0; i < n; i++) {
        if (ops[i].offset == target) {
            *to = i;
            return NULL;
        }
    }
    if (n > 0 && target > ops[n - 1].offset) {
        *to = n;
        return NULL;
    }
    return bad("jumps into an operation");
}

static struct tg_error *step(struct machine *machine, const Dwarf_Op *ops, size_t n_ops, size_t *at)
{
    const Dwarf_Op *op = &ops[*at];
    struct tg_location_number number = {0};
    struct tg_error *error = NULL;
    bool known;
    if (++*machine->steps > MAX_STEPS)
        return tg_error_create(TG_ERROR_LIMIT, "its location takes more than %d steps", MAX_STEPS);
    if (op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece) {
        bool is_bits = op->atom == DW_OP_bit_piece;
        uint64_t size = is_bits ? op->number : op->number * 8;
        if (op->number > UINT32_MAX || size == 0 || (is_bits && op->number2 > UINT32_MAX))
            return bad("has a piece of an impossible size");
        error = finish_piece(machine, size, is_bits ? op->number2 : 0);
    } else if (op->atom == DW_OP_skip || op->atom == DW_OP_bra) {
        if (op->atom == DW_OP_bra)
            error = tg_location_pop(machine->stack, &number);
        if (error == NULL && (op->atom == DW_OP_skip || number.bits != 0))
            return branch(ops, n_ops, *at, at);
    } else if (is_wide_value(ops, n_ops, *at)) {
        error = take_wide_value(machine, op->number);
        ++*at;
    } else if (op->atom != DW_OP_nop && op->atom != DW_OP_GNU_uninit) {
        error = place(machine, op, &known);
        if (!known)
            error = tg_location_compute(machine->stack, op, &known);
        if (!known)
            error = look(machine, op);
    }
    ++*at;
    return error;
}

static struct tg_error *run(struct machine *machine, const Dwarf_Op *ops, size_t n_ops)
{
    struct tg_error *error = NULL;
    for (size_t at = 0; error == NULL && at < n_ops;)
        error = step(machine, ops, n_ops, &at);
    return error;
}

/* The operations of ATTRIBUTE for FRAME's pc; none (N_OPS 0) where a list has no entry for it. */
static struct tg_error *choose(const struct tg_scene *scene, const struct tg_scene_object *object,
                               Dwarf_Attribute *attribute, Dwarf_Op **ops, size_t *n_ops)
{
    *n_ops = 0;
    if (dwarf_getlocation(attribute, ops, n_ops) == 0)
        return NULL;
    if (scene->frame == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no frame to look in");
    Dwarf_Addr pc = tg_frame_place(scene->frame) - object->bias;
    /* of a list that overlaps the first entry counts */
    int count = dwarf_getlocation_addr(attribute, pc, ops, n_ops, 1);
    if (count < 0)
        return bad("cannot be read");
    if (count == 0)
        *n_ops = 0;
    return NULL;
}

struct tg_error *tg_location_evaluate(const struct tg_scene *scene, const struct tg_scene_object *object,
                                      Dwarf_Attribute *attribute, const uint64_t *self,
                                      struct tg_location *location)
{
    Dwarf_Op *ops = NULL;
    size_t n_ops;
    unsigned steps = 0;
    struct tg_location found = {0};
    struct tg_location_stack stack = {0};
    struct tg_error *error = choose(scene, object, attribute, &ops, &n_ops);
    if (error != NULL)
        return error;
    struct machine machine = {.scene = scene,
                              .object = object,
                              .frame = scene->frame,
                              .self = self,
                              .attribute = attribute,
                              .stack = &stack,
                              .location = &found,
                              .steps = &steps};
    if (n_ops > 0 && self != NULL)
        error = tg_location_push_generic(&stack, *self);
    if (error == NULL)
        error = run(&machine, ops, n_ops);
    if (error == NULL && found.n_pieces == 0 && n_ops > 0)
        error = finish_piece(&machine, 0, 0);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND) {
        tg_error_destroy(error);
        error = NULL;
        found.n_pieces = 0;
    }
    if (error == NULL)
        *location = found.n_pieces == 0 ? optimized_out() : found;
    return error;
}
