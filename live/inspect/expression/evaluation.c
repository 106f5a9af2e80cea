#include "live/inspect/expression/expression.h"

#include "live/inspect/expression/expression_tree.h"
#include "live/inspect/value/container.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

struct evaluation {
    struct tg_expression *expression;
    const struct tg_scene *scene;
    size_t position; /* of the innermost part that failed */
    bool has_position;
    const struct tg_node
        *member; /* the name, on the right of a %, that is a member of STRUCTURE; NULL none */
    const struct tg_value *structure;
};

static struct tg_error *evaluate(struct evaluation *evaluation, int number, struct tg_value *value);

static struct tg_error *at(struct evaluation *evaluation, size_t position, struct tg_error *error)
{
    if (error != NULL && !evaluation->has_position) {
        evaluation->has_position = true;
        evaluation->position = position;
    }
    return error;
}

static const struct tg_node *part(const struct evaluation *evaluation, int number)
{
    return &evaluation->expression->nodes[number];
}

/* Looks NODE's name up, or remembers what it was found to be. */
static struct tg_error *look_up(const struct tg_scene *scene, const struct tg_node *node,
                                struct tg_found *found)
{
    uint64_t place = scene->frame == NULL ? 0 : tg_frame_place(scene->frame);
    struct tg_remembered *remembered = node->remembered == NULL || scene->generation == 0
                                           ? NULL
                                           : &node->remembered[scene->generation % TG_EXPRESSION_REMEMBERED];
    if (remembered != NULL && remembered->generation == scene->generation && remembered->place == place &&
        remembered->inlined == scene->inlined) {
        *found = remembered->found;
        return NULL;
    }
    struct tg_error *error = tg_lookup(scene, node->file, node->name, TG_WANTED_VALUE, found);
    if (error == NULL && remembered != NULL)
        *remembered = (struct tg_remembered){
            .generation = scene->generation, .place = place, .inlined = scene->inlined, .found = *found};
    return error;
}

static struct tg_error *evaluate_name(struct evaluation *evaluation, const struct tg_node *node,
                                      struct tg_value *value)
{
    struct tg_found found;
    if (node == evaluation->member)
        return at(evaluation, node->position,
                  tg_value_member(evaluation->scene, evaluation->structure, node->name, value));
    struct tg_error *error = look_up(evaluation->scene, node, &found);
    if (error == NULL)
        error = tg_value_of_found(evaluation->scene, &found, node->name, value);
    return at(evaluation, node->position, error);
}

/* Whether NAME is one of the registers that frames have: its number, and which bits of it. */
static bool find_register(const char *name, unsigned *number, unsigned *shift, unsigned *size)
{
    static const char *const words[][4] = {
        [TG_RAX] = {"rax", "eax", "ax", "al"},      [TG_RDX] = {"rdx", "edx", "dx", "dl"},
        [TG_RCX] = {"rcx", "ecx", "cx", "cl"},      [TG_RBX] = {"rbx", "ebx", "bx", "bl"},
        [TG_RSI] = {"rsi", "esi", "si", "sil"},     [TG_RDI] = {"rdi", "edi", "di", "dil"},
        [TG_RBP] = {"rbp", "ebp", "bp", "bpl"},     [TG_RSP] = {"rsp", "esp", "", "spl"},
        [TG_R8] = {"r8", "r8d", "r8w", "r8b"},      [TG_R9] = {"r9", "r9d", "r9w", "r9b"},
        [TG_R10] = {"r10", "r10d", "r10w", "r10b"}, [TG_R11] = {"r11", "r11d", "r11w", "r11b"},
        [TG_R12] = {"r12", "r12d", "r12w", "r12b"}, [TG_R13] = {"r13", "r13d", "r13w", "r13b"},
        [TG_R14] = {"r14", "r14d", "r14w", "r14b"}, [TG_R15] = {"r15", "r15d", "r15w", "r15b"},
        [TG_RIP] = {"rip", "eip", "ip", ""},
    };
    static const struct {
        const char *name;
        enum tg_register number;
    } others[] = {{"pc", TG_RIP}, {"sp", TG_RSP}, {"fp", TG_RBP}};
    static const char *const high[] = {[TG_RAX] = "ah", [TG_RDX] = "dh", [TG_RCX] = "ch", [TG_RBX] = "bh"};
    *shift = 0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        for (unsigned k = 0; k < 4; k++) {
            if (strcmp(words[i][k], name) == 0) {
                *number = i;
                *size = 8U >> k;
                return true;
            }
        }
        if (i < sizeof high / sizeof *high && high[i] != NULL && strcmp(high[i], name) == 0) {
            *number = i;
            *size = 1;
            *shift = 8;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i].name, name) == 0) {
            *number = others[i].number;
            *size = 8;
            return true;
        }
    }
    return false;
}

bool tg_expression_is_register(const char *name)
{
    unsigned number, shift, size;
    return *name != '\0' && find_register(name, &number, &shift, &size);
}

static struct tg_error *read_register(const struct tg_scene *scene, const char *name, struct tg_value *value)
{
    unsigned number, shift, size;
    if (!find_register(name, &number, &shift, &size))
        return tg_error_create(
            TG_ERROR_NOT_FOUND,
            "no register '%s' here; registers are rax to rdx, rsi, rdi, rbp, rsp, r8 to r15, "
            "rip, and their parts such as eax",
            name);
    if (scene->frame == NULL)
        return tg_error_create(TG_ERROR_TARGET, "no thread here to read registers from");
    const struct tg_registers *registers = &scene->frame->registers;
    if (!tg_registers_has(registers, (enum tg_register)number))
        return tg_error_create(TG_ERROR_TARGET, "$%s is not known in this frame: inner calls have changed it",
                               name);
    uint64_t bits = registers->value[number] >> shift;
    struct tg_type none = tg_type_basic(TG_BASIC_VOID);
    if (size == 8 && (number == TG_RIP || number == TG_RSP || number == TG_RBP)) {
        *value = tg_value_pointer(&none, bits);
        return NULL;
    }
    enum tg_basic_type type = size == 8   ? TG_BASIC_LONG
                              : size == 4 ? TG_BASIC_INT
                              : size == 2 ? TG_BASIC_SHORT
                                          : TG_BASIC_SIGNED_CHAR;
    struct tg_number is = tg_number_of_int((int64_t)bits, type);
    *value = tg_value_of_number(&is);
    return NULL;
}

static struct tg_error *as_number(struct evaluation *evaluation, int node, struct tg_number *number)
{
    struct tg_value value;
    struct tg_error *error = evaluate(evaluation, node, &value);
    if (error != NULL)
        return error;
    return at(evaluation, part(evaluation, node)->position,
              tg_value_number(evaluation->scene, &value, number));
}

static struct tg_error *as_integer(struct evaluation *evaluation, int node, int64_t *integer)
{
    struct tg_number number;
    struct tg_error *error = as_number(evaluation, node, &number);
    if (error != NULL)
        return error;
    if (number.is_real || (number.is_unsigned && number.low > INT64_MAX))
        return at(evaluation, part(evaluation, node)->position,
                  tg_error_create(TG_ERROR_USAGE,
                                  number.is_real ? "expected an integer" : "too large for an index"));
    *integer = (int64_t)number.low;
    return NULL;
}

static struct tg_error *find_type(const struct tg_scene *scene, const struct tg_type_words *words,
                                  const char *name, struct tg_type *type)
{
    struct tg_found found;
    if (words->is_basic) {
        *type = tg_type_basic(words->basic);
    } else {
        struct tg_error *error =
            tg_lookup(scene, NULL, name, words->is_struct ? TG_WANTED_STRUCT : TG_WANTED_TYPE, &found);
        if (error != NULL)
            return error;
        *type = tg_type_of_die(found.object, &found.die);
    }
    type->pointers += words->pointers;
    return NULL;
}

/* The basic type that a number is converted to for a cast to TYPE. */
static struct tg_error *basic_for(const struct tg_type *type, enum tg_basic_type *basic)
{
    struct tg_type stripped = tg_type_strip(type);
    uint64_t size;
    struct tg_number sample;
    uint8_t bytes[16] = {0};
    if (stripped.pointers == 0 && stripped.die.addr == NULL) {
        *basic = stripped.basic;
        return stripped.basic != TG_BASIC_VOID ? NULL
                                               : tg_error_create(TG_ERROR_USAGE, "cannot convert to void");
    }
    if (!tg_type_size(&stripped, &size) || size > sizeof bytes)
        return tg_error_create(TG_ERROR_USAGE, "cannot convert to this type");
    struct tg_error *error = tg_value_decode(&stripped, bytes, size, &sample);
    if (error == NULL)
        *basic = tg_type_kind(&stripped) == TG_TYPE_BOOL ? TG_BASIC_BOOL : sample.type;
    return error;
}

static struct tg_error *convert(const struct tg_scene *scene, const struct tg_value *from,
                                const struct tg_type *type, struct tg_value *value)
{
    struct tg_number number;
    enum tg_basic_type basic;
    uint64_t address;
    enum tg_type_kind kind = tg_type_kind(type);
    if (kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION || kind == TG_TYPE_ARRAY || kind == TG_TYPE_STRING) {
        if (!tg_value_address(from, &address)) /* the same bytes, looked at differently */
            return tg_error_create(TG_ERROR_USAGE, "only a value in memory can be cast to a struct");
        return tg_value_at(scene, address, type, value);
    }
    struct tg_error *error = basic_for(type, &basic);
    if (error == NULL)
        error = tg_value_number(scene, from, &number);
    if (error != NULL)
        return error;
    struct tg_number is = tg_number_convert(&number, basic);
    *value = tg_value_of_number(&is);
    value->type = *type;
    return NULL;
}

static struct tg_error *evaluate_cast(struct evaluation *evaluation, const struct tg_node *node, int operand,
                                      struct tg_value *value)
{
    struct tg_type type;
    struct tg_value from;
    struct tg_error *error =
        at(evaluation, node->position, find_type(evaluation->scene, &node->type, node->name, &type));
    if (error == NULL)
        error = evaluate(evaluation, operand, &from);
    if (error == NULL)
        error = at(evaluation, node->position, convert(evaluation->scene, &from, &type, value));
    return error;
}

/* Whether NODE is (NAME), or NAME, of a type that no variable hides. */
static bool is_type_name(const struct evaluation *evaluation, const struct tg_node *node)
{
    struct tg_found found;
    if (node->kind != TG_NODE_NAME || node->file != NULL || node == evaluation->member ||
        !tg_lookup_has_type(evaluation->scene, node->name))
        return false;
    struct tg_error *error = tg_lookup(evaluation->scene, NULL, node->name, TG_WANTED_VALUE, &found);
    /* a constructor has the name of its class, and is not meant */
    bool is_type = error != NULL || (found.is == TG_FOUND_NAME && found.kind == TG_NAME_FUNCTION &&
                                     dwarf_hasattr_integrate(&found.die, DW_AT_object_pointer));
    tg_error_destroy(error);
    return is_type;
}

static struct tg_error *address_of(const struct tg_value *from, struct tg_value *value)
{
    uint64_t address;
    const char *name;
    if (from->bit_size > 0)
        return tg_error_create(TG_ERROR_USAGE, "a bit-field has no address");
    if (!tg_value_address(from, &address)) {
        const struct tg_location_piece *piece = &from->location.pieces[0];
        name = piece->kind == TG_LOCATION_REGISTER ? tg_location_register_name(piece->number) : NULL;
        return name == NULL ? tg_error_create(TG_ERROR_USAGE, "it is not in memory: it has no address")
                            : tg_error_create(TG_ERROR_USAGE, "it is in %%%s: it has no address", name);
    }
    bool is_whole = from->n_dimensions > 0 && (from->array.die.addr != NULL || from->array.pointers > 0);
    *value = tg_value_pointer(is_whole ? &from->array : &from->type, address);
    return NULL;
}

static struct tg_error *evaluate_unary(struct evaluation *evaluation, const struct tg_node *node,
                                       struct tg_value *value)
{
    struct tg_value operand;
    struct tg_number number, result;
    struct tg_error *error;
    if (node->operation == TG_OPERATION_MULTIPLY || node->operation == TG_OPERATION_BIT_AND) {
        error = evaluate(evaluation, node->a, &operand);
        if (error == NULL && node->operation == TG_OPERATION_MULTIPLY)
            error = tg_container_decay(evaluation->scene, &operand);
        if (error == NULL)
            error = node->operation == TG_OPERATION_MULTIPLY
                        ? tg_value_dereference(evaluation->scene, &operand, value)
                        : tg_value_follow(evaluation->scene, &operand);
        if (error == NULL && node->operation == TG_OPERATION_BIT_AND)
            error = address_of(&operand, value);
        return at(evaluation, node->position, error);
    }
    error = as_number(evaluation, node->a, &number);
    if (error == NULL)
        error = at(evaluation, node->position, tg_number_change(node->operation, &number, &result));
    if (error == NULL)
        *value = tg_value_of_number(&result);
    return error;
}

/* Target of VALUE, a pointer or an array, and its size. */
static bool pointed_to(const struct tg_value *value, struct tg_type *target, uint64_t *size)
{
    if (value->n_dimensions > 1)
        return false;
    if (value->n_dimensions == 1)
        *target = value->type;
    else if (tg_type_kind(&value->type) != TG_TYPE_POINTER || !tg_type_target(&value->type, target))
        return false;
    return tg_type_size(target, size) && *size > 0;
}

/* Pointers plus and minus integers, and their differences. *DONE: it was one of these. */
static struct tg_error *combine_pointers(struct evaluation *evaluation, const struct tg_node *node,
                                         const struct tg_value *a, const struct tg_value *b,
                                         struct tg_value *value, bool *done)
{
    struct tg_type left, right;
    uint64_t size, other;
    bool x = pointed_to(a, &left, &size), y = pointed_to(b, &right, &other);
    bool is_sum = node->operation == TG_OPERATION_ADD;
    struct tg_number first, second;
    *done = (is_sum && x != y) || (node->operation == TG_OPERATION_SUBTRACT && x);
    if (!*done)
        return NULL;
    struct tg_error *error = tg_value_number(evaluation->scene, a, &first);
    if (error == NULL)
        error = tg_value_number(evaluation->scene, b, &second);
    if (error != NULL)
        return error;
    if (first.is_real || second.is_real)
        return tg_error_create(TG_ERROR_USAGE, "only integers can be added to a pointer");
    if (x && y) {
        struct tg_number difference =
            tg_number_of_int((int64_t)(first.low - second.low) / (int64_t)size, TG_BASIC_LONG);
        *value = tg_value_of_number(&difference);
    } else if (x) {
        uint64_t by = second.low * size;
        *value = tg_value_pointer(&left, is_sum ? first.low + by : first.low - by);
    } else {
        *value = tg_value_pointer(&right, second.low + first.low * other);
    }
    return NULL;
}

static struct tg_error *evaluate_logical(struct evaluation *evaluation, const struct tg_node *node,
                                         struct tg_value *value)
{
    struct tg_number number;
    struct tg_error *error = as_number(evaluation, node->a, &number);
    bool is_or = node->operation == TG_OPERATION_OR;
    if (error == NULL && tg_number_is_true(&number) != is_or)
        error = as_number(evaluation, node->b, &number);
    if (error != NULL)
        return error;
    number = tg_number_of_int(tg_number_is_true(&number), TG_BASIC_INT);
    *value = tg_value_of_number(&number);
    return NULL;
}

static struct tg_error *evaluate_repeat(struct evaluation *evaluation, const struct tg_node *node,
                                        struct tg_value *value)
{
    struct tg_value first;
    int64_t count;
    struct tg_error *error = evaluate(evaluation, node->a, &first);
    if (error == NULL)
        error = as_integer(evaluation, node->b, &count);
    if (error != NULL)
        return error;
    if (count < 1)
        error = tg_error_create(TG_ERROR_USAGE, "a count of 1 or more must follow '@'");
    else
        error = tg_value_repeat(evaluation->scene, &first, (uint64_t)count, value);
    return at(evaluation, node->position, error);
}

/* (TYPE) * x and the like, which only a look at the names can tell from a product. */
static struct tg_error *evaluate_type_first(struct evaluation *evaluation, const struct tg_node *node,
                                            struct tg_value *value)
{
    struct tg_node unary = *node, cast = {.kind = TG_NODE_CAST};
    struct tg_value from;
    struct tg_type type;
    unary.kind = TG_NODE_UNARY;
    unary.a = node->b;
    cast.name = part(evaluation, node->a)->name;
    cast.position = part(evaluation, node->a)->position;
    struct tg_error *error = evaluate_unary(evaluation, &unary, &from);
    if (error == NULL)
        error = at(evaluation, cast.position, find_type(evaluation->scene, &cast.type, cast.name, &type));
    if (error == NULL)
        error = at(evaluation, cast.position, convert(evaluation->scene, &from, &type, value));
    return error;
}

/* The name that NODE begins with where it is that or its index: member, member(1), member[2]; NULL otherwise. */
static const struct tg_node *first_name(const struct evaluation *evaluation, const struct tg_node *node)
{
    while (node->kind == TG_NODE_ROUND || node->kind == TG_NODE_INDEX || node->kind == TG_NODE_SLICE)
        node = part(evaluation, node->a);
    return node->kind == TG_NODE_NAME && node->file == NULL ? node : NULL;
}

/* Fortran's STRUCTURE%member, with an index maybe: NAME is the member's. */
static struct tg_error *evaluate_percent(struct evaluation *evaluation, int right, const struct tg_node *name,
                                         const struct tg_value *structure, struct tg_value *value)
{
    const struct tg_node *around = evaluation->member; /* as of an index that has a % itself */
    const struct tg_value *around_of = evaluation->structure;
    evaluation->member = name;
    evaluation->structure = structure;
    struct tg_error *error = evaluate(evaluation, right, value);
    evaluation->member = around;
    evaluation->structure = around_of;
    return error;
}

static struct tg_error *evaluate_binary(struct evaluation *evaluation, const struct tg_node *node,
                                        struct tg_value *value)
{
    const struct tg_node *left = part(evaluation, node->a), *right = part(evaluation, node->b);
    enum tg_operation operation = node->operation;
    struct tg_value a, b;
    struct tg_number x, y, result;
    bool done = false;
    if (operation == TG_OPERATION_OR || operation == TG_OPERATION_AND)
        return evaluate_logical(evaluation, node, value);
    if (operation == TG_OPERATION_REPEAT)
        return evaluate_repeat(evaluation, node, value);
    bool can_be_unary = operation == TG_OPERATION_MULTIPLY || operation == TG_OPERATION_BIT_AND ||
                        operation == TG_OPERATION_ADD || operation == TG_OPERATION_SUBTRACT;
    if (left->is_parenthesized && can_be_unary && is_type_name(evaluation, left))
        return evaluate_type_first(evaluation, node, value);
    struct tg_error *error = evaluate(evaluation, node->a, &a);
    const struct tg_node *name = operation == TG_OPERATION_MODULO ? first_name(evaluation, right) : NULL;
    if (error == NULL && name != NULL && tg_type_kind(&a.type) == TG_TYPE_STRUCT)
        return evaluate_percent(evaluation, node->b, name, &a, value);
    if (error == NULL)
        error = evaluate(evaluation, node->b, &b);
    if (error == NULL)
        error = at(evaluation, node->position, combine_pointers(evaluation, node, &a, &b, value, &done));
    if (error != NULL || done)
        return error;
    error = at(evaluation, left->position, tg_value_number(evaluation->scene, &a, &x));
    if (error == NULL)
        error = at(evaluation, right->position, tg_value_number(evaluation->scene, &b, &y));
    if (error == NULL)
        error = at(evaluation, node->position, tg_number_combine(operation, &x, &y, &result));
    if (error == NULL)
        *value = tg_value_of_number(&result);
    return error;
}

/* What -> is before: of a pointer its target, of a pointer class the same, of an optional its value. */
static struct tg_error *follow_arrow(const struct tg_scene *scene, struct tg_value *value)
{
    struct tg_value from = *value;
    struct tg_error *error = tg_container_decay(scene, &from);
    bool is_content = error == NULL && from.n_dimensions == 0 && tg_type_kind(&from.type) == TG_TYPE_STRUCT &&
                      from.type.die.addr != value->type.die.addr;
    if (error == NULL && !is_content)
        error = tg_value_dereference(scene, &from, &from);
    if (error == NULL)
        *value = from;
    return error;
}

static struct tg_error *evaluate_member(struct evaluation *evaluation, const struct tg_node *node,
                                        struct tg_value *value)
{
    struct tg_value whole;
    struct tg_error *error = evaluate(evaluation, node->a, &whole);
    if (error == NULL && node->kind == TG_NODE_ARROW)
        error = at(evaluation, node->position, follow_arrow(evaluation->scene, &whole));
    if (error == NULL)
        error = at(evaluation, node->position, tg_value_member(evaluation->scene, &whole, node->name, value));
    return error;
}

static struct tg_error *evaluate_index(struct evaluation *evaluation, const struct tg_node *node,
                                       struct tg_value *value)
{
    struct tg_value array;
    int64_t first = 0, last = 0;
    bool is_slice = node->kind == TG_NODE_SLICE;
    struct tg_error *error = evaluate(evaluation, node->a, &array);
    if (error == NULL && node->b != TG_NO_NODE)
        error = as_integer(evaluation, node->b, &first);
    if (error == NULL && node->c != TG_NO_NODE)
        error = as_integer(evaluation, node->c, &last);
    if (error == NULL)
        error = at(evaluation, node->position, tg_container_decay(evaluation->scene, &array));
    if (error != NULL)
        return error;
    if (is_slice)
        error = tg_value_slice(evaluation->scene, &array, node->b == TG_NO_NODE ? NULL : &first,
                               node->c == TG_NO_NODE ? NULL : &last, false, value);
    else
        error = tg_value_index(evaluation->scene, &array, first, value);
    return at(evaluation, node->position, error);
}

/* a(i, j): Fortran's indexes, or, of a type's name, a cast. */
static struct tg_error *evaluate_round(struct evaluation *evaluation, const struct tg_node *node,
                                       struct tg_value *value)
{
    const struct tg_node *left = part(evaluation, node->a), *argument = part(evaluation, node->b);
    struct tg_value array;
    if (argument->c == TG_NO_NODE && argument->operation == TG_OPERATION_NONE &&
        is_type_name(evaluation, left)) {
        struct tg_node cast = {.kind = TG_NODE_CAST, .position = left->position, .name = left->name};
        return evaluate_cast(evaluation, &cast, argument->a, value);
    }
    struct tg_error *error = evaluate(evaluation, node->a, &array);
    if (error == NULL && array.n_dimensions == 0 && tg_type_kind(&array.type) == TG_TYPE_FUNCTION)
        return at(evaluation, node->position,
                  tg_error_create(TG_ERROR_USAGE, "function calls are not supported"));
    for (int next = node->b; error == NULL && next != TG_NO_NODE; next = argument->c) {
        int64_t first = 0, last = 0;
        argument = part(evaluation, next);
        int end = argument->b;
        if (argument->a != TG_NO_NODE)
            error = as_integer(evaluation, argument->a, &first);
        if (error == NULL && end != TG_NO_NODE)
            error = as_integer(evaluation, end, &last);
        if (error != NULL)
            return error;
        if (argument->operation == TG_OPERATION_RANGE)
            error = tg_value_slice(evaluation->scene, &array, argument->a == TG_NO_NODE ? NULL : &first,
                                   end == TG_NO_NODE ? NULL : &last, true, &array);
        else
            error = tg_value_column(evaluation->scene, &array, first, &array);
        error = at(evaluation, argument->position, error);
    }
    if (error == NULL)
        *value = array;
    return error;
}

static struct tg_error *evaluate_size(struct evaluation *evaluation, const struct tg_node *node,
                                      struct tg_value *value)
{
    const struct tg_scene *scene = evaluation->scene;
    struct tg_type type;
    struct tg_value operand;
    struct tg_error *error;
    uint64_t size = 0;
    const struct tg_node *of = node->a == TG_NO_NODE ? node : part(evaluation, node->a);
    bool known = false;
    if (node->a == TG_NO_NODE || is_type_name(evaluation, of)) {
        error = find_type(scene, &of->type, of->name, &type);
        if (error == NULL) {
            type = tg_value_complete_type(scene, &type);
            known = tg_type_size(&type, &size);
        }
    } else {
        error = evaluate(evaluation, node->a, &operand);
        if (error == NULL)
            error = tg_value_follow(scene, &operand);
        if (error == NULL)
            known = tg_value_size(&operand, &size);
    }
    if (error == NULL && !known)
        error = tg_error_create(TG_ERROR_USAGE, "its size is not known");
    if (error != NULL)
        return at(evaluation, of->position, error);
    struct tg_number number = tg_number_of_int((int64_t)size, TG_BASIC_UNSIGNED_LONG);
    *value = tg_value_of_number(&number);
    return NULL;
}

static struct tg_error *evaluate(struct evaluation *evaluation, int number, struct tg_value *value)
{
    const struct tg_node *node = part(evaluation, number);
    struct tg_number condition;
    struct tg_error *error;
    switch (node->kind) {
    case TG_NODE_NUMBER:
        *value = tg_value_of_number(&node->number);
        return NULL;
    case TG_NODE_NAME:
        return evaluate_name(evaluation, node, value);
    case TG_NODE_REGISTER:
        return at(evaluation, node->position, read_register(evaluation->scene, node->name, value));
    case TG_NODE_UNARY:
        return evaluate_unary(evaluation, node, value);
    case TG_NODE_BINARY:
        return evaluate_binary(evaluation, node, value);
    case TG_NODE_CHOICE:
        error = as_number(evaluation, node->a, &condition);
        return error != NULL ? error
                             : evaluate(evaluation, tg_number_is_true(&condition) ? node->b : node->c, value);
    case TG_NODE_MEMBER:
    case TG_NODE_ARROW:
        return evaluate_member(evaluation, node, value);
    case TG_NODE_INDEX:
    case TG_NODE_SLICE:
        return evaluate_index(evaluation, node, value);
    case TG_NODE_ROUND:
        return evaluate_round(evaluation, node, value);
    case TG_NODE_CAST:
        return evaluate_cast(evaluation, node, node->a, value);
    case TG_NODE_SIZE:
        return evaluate_size(evaluation, node, value);
    case TG_NODE_ARGUMENT:
        break;
    }
    return tg_error_create(TG_ERROR_USAGE, "nothing to evaluate");
}

struct tg_error *tg_expression_evaluate(struct tg_expression *expression, const struct tg_scene *scene,
                                        struct tg_value *value, size_t *position)
{
    struct evaluation evaluation = {.expression = expression, .scene = scene};
    struct tg_value found;
    bool is_fortran =
        expression->fortran != TG_NO_NODE &&
        (tg_lookup_is_fortran(scene) || (expression->root == TG_NO_NODE && scene->frame == NULL));
    if (!is_fortran && expression->root == TG_NO_NODE) {
        if (position != NULL)
            *position = expression->error_position;
        return tg_error_create(tg_error_code(expression->error), "%s", tg_error_message(expression->error));
    }
    struct tg_error *error =
        evaluate(&evaluation, is_fortran ? expression->fortran : expression->root, &found);
    if (error == NULL) {
        *value = found;
        return NULL;
    }
    if (position != NULL)
        *position = evaluation.position;
    return error;
}

/* Names that a value is asked of, in the tree below NUMBER; one in parentheses may be a type. */
static struct tg_error *check_names(struct evaluation *evaluation, int number)
{
    if (number == TG_NO_NODE)
        return NULL;
    const struct tg_node *node = part(evaluation, number);
    struct tg_found found;
    struct tg_error *error = NULL;
    if (node->kind == TG_NODE_NAME &&
        !(node->is_parenthesized && tg_lookup_has_type(evaluation->scene, node->name)))
        return at(evaluation, node->position, look_up(evaluation->scene, node, &found));
    if (node->kind == TG_NODE_NAME || node->kind == TG_NODE_NUMBER || node->kind == TG_NODE_REGISTER)
        return NULL;
    error = check_names(evaluation, node->a);
    if (error == NULL && node->kind != TG_NODE_UNARY && node->kind != TG_NODE_MEMBER &&
        node->kind != TG_NODE_ARROW && node->kind != TG_NODE_CAST && node->kind != TG_NODE_SIZE)
        error = check_names(evaluation, node->b);
    if (error == NULL &&
        (node->kind == TG_NODE_CHOICE || node->kind == TG_NODE_SLICE || node->kind == TG_NODE_ARGUMENT))
        error = check_names(evaluation, node->c);
    return error;
}

struct tg_error *tg_expression_check_names(struct tg_expression *expression, const struct tg_scene *scene,
                                           size_t *position)
{
    struct evaluation evaluation = {.expression = expression, .scene = scene};
    if (expression->root == TG_NO_NODE ||
        tg_lookup_is_fortran(scene)) /* '%' and '()' have several meanings there */
        return NULL;
    struct tg_error *error = check_names(&evaluation, expression->root);
    if (error != NULL && position != NULL)
        *position = evaluation.position;
    return error;
}
