#include "live/inspect/value/text.h"

#include "live/inspect/value/binary128.h"
#include "live/inspect/value/container.h"

#include "format/base/printable.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TOTAL = 20000,      /* elements and members of one value */
    MAX_DEPTH = 20,         /* if the style has no bound */
    MAX_STRING = 1 << 16,   /* if the style has no bound */
    MAX_ELEMENT = 64 << 10, /* larger ones are not compared to be folded */
    MAX_MEMBERS = 65536,
};

const struct tg_value_style tg_value_style_default = {
    .max_elements = 200, .max_depth = MAX_DEPTH, .min_repeats = 10, .width = 100};

struct printer {
    const struct tg_scene *scene;
    const struct tg_value_style *style;
    FILE *out;
    unsigned total; /* elements and members so far */
    bool is_long;   /* structs on lines of their own */
};

static void print_value(struct printer *printer, const struct tg_value *value, unsigned depth);

static void print_error(struct printer *printer, struct tg_error *error)
{
    bool is_missing = tg_error_code(error) == TG_ERROR_NOT_FOUND;
    fputs(is_missing ? "<" : "<error: ", printer->out);
    tg_printable_write(printer->out, tg_error_message(error));
    fputc('>', printer->out);
    tg_error_destroy(error);
}

static void new_line(const struct printer *printer, unsigned depth)
{
    fprintf(printer->out, "\n%*s", (int)(depth * 2), "");
}

static size_t string_limit(const struct printer *printer)
{
    uint32_t max = printer->style->max_elements;
    return max == 0 || max > MAX_STRING ? MAX_STRING : max;
}

/* SIZE characters of memory or of a constant; TRUNCATED: there are more. */
static void print_text(struct printer *printer, const uint8_t *text, size_t size, bool truncated)
{
    tg_value_print_characters(text, size, printer->style->min_repeats, printer->out);
    if (truncated)
        fputs("...", printer->out);
}

static bool is_character(enum tg_type_kind kind, const struct tg_type *type)
{
    uint64_t size;
    return (kind == TG_TYPE_CHAR || kind == TG_TYPE_UNSIGNED_CHAR) && tg_type_size(type, &size) && size == 1;
}

static void print_character_pointer(struct printer *printer, const struct tg_value *value);
static void print_fortran_string(struct printer *printer, const struct tg_value *value);

static void print_pointer(struct printer *printer, const struct tg_value *value, uint64_t address,
                          unsigned depth)
{
    struct tg_type target;
    bool known = tg_type_target(&value->type, &target);
    enum tg_type_kind kind = known ? tg_type_kind(&target) : TG_TYPE_OTHER;
    bool is_text = known && is_character(kind, &target);
    if (depth == 0 && !is_text && printer->style->base == TG_BASE_NATURAL) {
        fputc('(', printer->out);
        tg_type_print(&value->type, printer->out);
        fputs(") ", printer->out);
    }
    fprintf(printer->out, "0x%" PRIx64, address);
    if (kind == TG_TYPE_STRING && address != 0) {
        print_character_pointer(printer, value);
        return;
    }
    if (!is_text) {
        tg_value_print_symbol(printer->scene, address, printer->out);
        return;
    }
    uint8_t *text = address == 0 ? NULL : malloc(string_limit(printer));
    size_t size;
    bool truncated;
    if (text != NULL &&
        tg_value_read_string(printer->scene, address, string_limit(printer), text, &size, &truncated)) {
        fputc(' ', printer->out);
        print_text(printer, text, size, truncated);
    } else if (text != NULL) {
        fputc(' ', printer->out);
        print_error(printer, tg_error_create(TG_ERROR_TARGET, "cannot read memory at 0x%" PRIx64, address));
    }
    free(text);
}

/* Target of a pointer to Fortran's CHARACTER: its length is not of the type. */
static void print_character_pointer(struct printer *printer, const struct tg_value *value)
{
    struct tg_value text;
    struct tg_error *error = tg_value_dereference(printer->scene, value, &text);
    fputc(' ', printer->out);
    if (error != NULL)
        print_error(printer, error);
    else
        print_fortran_string(printer, &text);
}

static void print_complex(struct printer *printer, const struct tg_value *value, uint64_t size)
{
    uint8_t bytes[2 * TG_BINARY128_SIZE];
    struct tg_number parts[2];
    enum tg_basic_type basic = size == 8    ? TG_BASIC_FLOAT
                               : size == 16 ? TG_BASIC_DOUBLE
                                            : TG_BASIC_LONG_DOUBLE;
    struct tg_type type = tg_type_basic(basic);
    struct tg_error *error;
    if (size != 8 && size != 16 && size != sizeof bytes)
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "a complex number of an unknown size");
    else if (size == sizeof bytes && tg_binary128_is_unclear(&value->type))
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "the format of this type's numbers is not known");
    else
        error = tg_value_read(printer->scene, value, 0, size, bytes);
    for (unsigned i = 0; error == NULL && i < 2; i++)
        if (basic == TG_BASIC_LONG_DOUBLE && tg_binary128_is(&value->type))
            parts[i] = (struct tg_number){.type = basic,
                                          .is_real = true,
                                          .size_bytes = TG_BINARY128_SIZE,
                                          .real = tg_binary128_decode(bytes + i * size / 2)};
        else
            error = tg_value_decode(&type, bytes + i * size / 2, size / 2, &parts[i]);
    if (error != NULL) {
        print_error(printer, error);
        return;
    }
    bool negative = parts[1].real < 0;
    parts[1].real = negative ? -parts[1].real : parts[1].real;
    (void)tg_value_print_number(&parts[0], &type, TG_BASE_NATURAL, printer->out);
    fputs(negative ? " - " : " + ", printer->out);
    (void)tg_value_print_number(&parts[1], &type, TG_BASE_NATURAL, printer->out);
    fputc('i', printer->out);
}

/* SIZE bytes as characters: Fortran's CHARACTER, or an array of char. */
static void print_bytes(struct printer *printer, const struct tg_value *value, uint64_t size,
                        bool stop_at_end)
{
    size_t limit = string_limit(printer), n = size < limit ? (size_t)size : limit;
    uint8_t *text = malloc(n + 1);
    struct tg_error *error =
        text == NULL ? tg_error_no_memory() : tg_value_read(printer->scene, value, 0, n, text);
    if (error != NULL) {
        print_error(printer, error);
    } else {
        bool truncated = n < size;
        if (stop_at_end && truncated) { /* bytes behind the end of a string are of no interest */
            const uint8_t *end = memchr(text, 0, n);
            bool is_rest = end != NULL;
            n = is_rest ? (size_t)(end - text) : n;
        } else if (stop_at_end && n > 0 && text[n - 1] == 0) {
            n--;
        }
        print_text(printer, text, n, truncated);
    }
    free(text);
}

static void print_fortran_string(struct printer *printer, const struct tg_value *value)
{
    struct tg_type type = tg_type_strip(&value->type);
    Dwarf_Attribute attribute;
    int64_t length = 0;
    uint64_t size, address;
    bool in_memory = tg_value_address(value, &address);
    struct tg_error *error = NULL;
    if (tg_type_size(&type, &size))
        length = (int64_t)size;
    else if (dwarf_attr(&type.die, DW_AT_string_length, &attribute) != NULL)
        error =
            tg_location_number(printer->scene, type.object, &attribute, in_memory ? &address : NULL, &length);
    if (error != NULL)
        print_error(printer, error);
    else
        print_bytes(printer, value, length < 0 ? 0 : (uint64_t)length, false);
}

static void print_scalar(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    struct tg_number number;
    struct tg_error *error = NULL;
    const struct tg_location_piece *piece = &value->location.pieces[0];
    enum tg_type_kind kind = tg_type_kind(&value->type);
    if (kind == TG_TYPE_POINTER && value->location.n_pieces == 1 && piece->kind == TG_LOCATION_POINTER) {
        fputs("(", printer->out);
        tg_type_print(&value->type, printer->out);
        fputs(") <to something optimized out>", printer->out);
        return;
    }
    error = tg_value_number(printer->scene, value, &number);
    if (error != NULL)
        print_error(printer, error);
    else if (kind == TG_TYPE_POINTER)
        print_pointer(printer, value, number.low, depth);
    else
        (void)tg_value_print_number(&number, &value->type, printer->style->base, printer->out);
}

/* One member or base class; NAME NULL: it has none. */
static void print_member(struct printer *printer, const struct tg_value *value, Dwarf_Die *die,
                         unsigned depth)
{
    struct tg_value member;
    const char *name = dwarf_diename(die);
    bool is_base = dwarf_tag(die) == DW_TAG_inheritance;
    struct tg_error *error = tg_value_member_at(printer->scene, value, die, &member);
    if (is_base && error == NULL) {
        fputc('<', printer->out);
        tg_type_print(&member.type, printer->out);
        fputs("> = ", printer->out);
    } else if (name != NULL) {
        tg_printable_write(printer->out, name);
        fputs(" = ", printer->out);
    }
    if (error != NULL)
        print_error(printer, error);
    else
        print_value(printer, &member, depth + 1);
}

static void print_members(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    struct tg_type type = tg_type_strip(&value->type);
    Dwarf_Die child;
    unsigned n = 0, seen = 0,
             max_depth = printer->style->max_depth == 0 ? MAX_DEPTH : printer->style->max_depth;
    if (depth >= max_depth) {
        fputs("{...}", printer->out);
        return;
    }
    if (dwarf_hasattr(&type.die, DW_AT_declaration)) {
        fputs("<incomplete type>", printer->out);
        return;
    }
    fputc('{', printer->out);
    for (int more = dwarf_child(&type.die, &child); more == 0 && ++seen < MAX_MEMBERS;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        bool is_static = dwarf_hasattr(&child, DW_AT_external) || dwarf_hasattr(&child, DW_AT_declaration);
        if (tag != DW_TAG_inheritance && (tag != DW_TAG_member || is_static))
            continue;
        if (n++ > 0)
            fputs(printer->is_long ? "," : ", ", printer->out);
        if (printer->is_long)
            new_line(printer, depth + 1);
        if (++printer->total > MAX_TOTAL) {
            fputs("...", printer->out);
            break;
        }
        print_member(printer, value, &child, depth);
    }
    if (printer->is_long && n > 0)
        new_line(printer, depth);
    fputc('}', printer->out);
}

/* How many elements from number I on are equal, up to END. Bytes are compared where they lie one behind the
 * other. */
static uint64_t count_equal(const struct printer *printer, const struct tg_value *array, uint64_t i,
                            uint64_t end)
{
    struct tg_value element;
    uint64_t size, address;
    int64_t stride = array->dimensions[0].stride_bytes;
    struct tg_error *error = tg_value_element(printer->scene, array, i, &element);
    if (error != NULL || !tg_value_size(&element, &size) || size == 0 || size > MAX_ELEMENT ||
        !tg_value_address(&element, &address)) {
        tg_error_destroy(error);
        return 1;
    }
    uint8_t *first = malloc(2 * size);
    uint64_t n = 1;
    const struct tg_inspect_memory *memory = &printer->scene->memory;
    if (first != NULL && memory->read(memory->context, address, first, size))
        while (i + n < end &&
               memory->read(memory->context, address + n * (uint64_t)stride, first + size, size) &&
               memcmp(first, first + size, size) == 0)
            n++;
    free(first);
    return n;
}

static bool is_of_structs(const struct tg_value *array)
{
    enum tg_type_kind kind = tg_type_kind(&array->type);
    return kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION;
}

/* Elements of the slowest dimension; a "char" one is a string. */
static void print_elements(struct printer *printer, const struct tg_value *array, unsigned depth)
{
    const struct tg_dimension *dimension = &array->dimensions[0];
    uint32_t max = printer->style->max_elements == 0 ? MAX_TOTAL : printer->style->max_elements;
    uint64_t count = dimension->count;
    uint32_t told = 0;
    bool on_lines = printer->is_long && (is_of_structs(array) || array->n_dimensions > 1);
    if (!dimension->has_count) {
        fputs("<bounds not known>", printer->out);
        return;
    }
    /* repeats are looked for a bit beyond what is shown, so that the last one is told with its number */
    fputc('{', printer->out);
    for (uint64_t i = 0; i < count;) {
        if (told > 0)
            fputs(on_lines ? "," : ", ", printer->out);
        if (on_lines)
            new_line(printer, depth + 1);
        if (told == max || ++printer->total > MAX_TOTAL) {
            fputs("...", printer->out);
            break;
        }
        uint64_t bound = count - i > (uint64_t)max * 4 ? i + (uint64_t)max * 4 : count;
        uint64_t repeats = count_equal(printer, array, i, bound);
        struct tg_value element;
        struct tg_error *error = tg_value_element(printer->scene, array, i, &element);
        if (error != NULL)
            print_error(printer, error);
        else
            print_value(printer, &element, depth + 1);
        bool folded = printer->style->min_repeats > 0 && repeats >= printer->style->min_repeats;
        if (folded)
            fprintf(printer->out, " <repeats %" PRIu64 "%s times>", repeats,
                    i + repeats == bound && bound < count ? "+" : "");
        i += folded ? repeats : 1;
        told += folded ? printer->style->min_repeats : 1;
        told = told > max ? max : told;
    }
    if (on_lines)
        new_line(printer, depth);
    fputc('}', printer->out);
}

static void print_array(struct printer *printer, const struct tg_value *array, unsigned depth)
{
    const struct tg_dimension *dimension = &array->dimensions[0];
    bool is_text = array->n_dimensions == 1 && is_character(tg_type_kind(&array->type), &array->type) &&
                   dimension->stride_bytes == 1 && printer->style->base == TG_BASE_NATURAL;
    uint64_t address;
    if (is_text && dimension->has_count) {
        print_bytes(printer, array, dimension->count, true);
    } else if (is_text && tg_value_address(array, &address)) { /* char text[] */
        struct tg_value pointer = tg_value_pointer(&array->type, address);
        print_value(printer, &pointer, 1);
    } else {
        print_elements(printer, array, depth);
    }
}

static void print_function(struct printer *printer, const struct tg_value *value)
{
    uint64_t address;
    fputc('{', printer->out);
    tg_type_print(&value->type, printer->out);
    fputc('}', printer->out);
    if (!tg_value_address(value, &address))
        return;
    fprintf(printer->out, " 0x%" PRIx64, address);
    tg_value_print_symbol(printer->scene, address, printer->out);
}

static bool is_struct(const struct tg_value *value)
{
    enum tg_type_kind kind = tg_type_kind(&value->type);
    return value->n_dimensions == 0 && (kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION);
}

static void print_reference(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    struct tg_value target = *value;
    uint64_t address;
    struct tg_error *error = tg_value_follow(printer->scene, &target);
    if (error == NULL && depth == 0 && tg_value_address(&target, &address)) {
        fputc('(', printer->out);
        tg_type_print(&value->type, printer->out);
        fprintf(printer->out, ") @0x%" PRIx64 ": ", address);
    }
    if (error != NULL)
        print_error(printer, error);
    else if (tg_type_kind(&target.type) == TG_TYPE_REFERENCE)
        fputs("<a reference to a reference>", printer->out);
    else
        print_value(printer, &target, is_struct(&target) ? depth : depth + 1);
}

static void print_other(struct printer *printer, const struct tg_value *value)
{
    struct tg_type type = tg_type_strip(&value->type);
    int tag = type.die.addr == NULL ? 0 : dwarf_tag(&type.die);
    if (tag == DW_TAG_ptr_to_member_type) {
        struct tg_error *error = tg_value_print_member_pointer(printer->scene, value, printer->out);
        if (error != NULL)
            print_error(printer, error);
    } else if (tag == DW_TAG_unspecified_type) {
        fputs("nullptr", printer->out); /* the only value of the only such type */
    } else {
        fputs("<unsupported type>", printer->out);
    }
}

/* ---- containers */

/* "["key"] = value" of a map's pair. */
static void print_pair(struct printer *printer, const struct tg_value *pair, unsigned depth)
{
    struct tg_value part;
    struct tg_error *error = tg_value_member(printer->scene, pair, "first", &part);
    fputc('[', printer->out);
    if (error == NULL)
        print_value(printer, &part, depth + 1);
    else
        print_error(printer, error);
    fputs("] = ", printer->out);
    error = tg_value_member(printer->scene, pair, "second", &part);
    if (error == NULL)
        print_value(printer, &part, depth + 1);
    else
        print_error(printer, error);
}

static void print_items(struct printer *printer, struct tg_container *container, unsigned depth)
{
    uint32_t max = printer->style->max_elements == 0 ? MAX_TOTAL : printer->style->max_elements;
    bool on_lines = printer->is_long && container->kind == TG_CONTAINER_MAP, done = false;
    fputc('{', printer->out);
    for (uint32_t told = 0;; told++) {
        struct tg_value item;
        struct tg_error *error = tg_container_next(printer->scene, container, &item, &done);
        if (error == NULL && done)
            break;
        fputs(told == 0 ? "" : on_lines ? "," : ", ", printer->out);
        if (on_lines)
            new_line(printer, depth + 1);
        if (error != NULL) {
            print_error(printer, error);
            break;
        }
        if (told == max || ++printer->total > MAX_TOTAL) {
            fputs("...", printer->out);
            break;
        }
        if (container->kind == TG_CONTAINER_MAP)
            print_pair(printer, &item, depth + 1);
        else
            print_value(printer, &item, depth + 1);
    }
    if (on_lines)
        new_line(printer, depth);
    fputc('}', printer->out);
}

static void print_pointer_class(struct printer *printer, const struct tg_container *container, unsigned depth)
{
    fputs(container->name, printer->out);
    if (container->has_uses)
        fprintf(printer->out, " (use count %" PRId64 ", weak count %" PRId64 ")", container->uses,
                container->weak);
    fputs(" = ", printer->out);
    print_value(printer, &container->content, depth);
}

/* Elements or characters one behind the other. */
static void print_contiguous(struct printer *printer, const struct tg_container *container, unsigned depth)
{
    if (container->kind == TG_CONTAINER_TEXT &&
        is_character(tg_type_kind(&container->array.type), &container->array.type)) {
        print_bytes(printer, &container->array, container->count, false);
        return;
    }
    fprintf(printer->out, "%s of %" PRIu64 " = ", container->name, container->count);
    print_elements(printer, &container->array, depth);
}

/* False: VALUE is none. */
static bool print_container(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    struct tg_container container;
    struct tg_error *error = NULL;
    unsigned max_depth = printer->style->max_depth == 0 ? MAX_DEPTH : printer->style->max_depth;
    if (printer->style->is_raw || !tg_container_open(printer->scene, value, &container, &error))
        return false;
    if (error != NULL) {
        fprintf(printer->out, "%s ", container.name);
        print_error(printer, error);
    } else if (depth >= max_depth && container.kind != TG_CONTAINER_TEXT) {
        fprintf(printer->out, "%s {...}", container.name);
    } else if (container.kind == TG_CONTAINER_POINTER) {
        print_pointer_class(printer, &container, depth);
    } else if (container.kind == TG_CONTAINER_ONE) {
        fputs(container.name, printer->out);
        fputs(container.count == 0 ? " with no value" : " = ", printer->out);
        if (container.count == 1)
            print_value(printer, &container.content, depth + 1);
    } else if (container.kind == TG_CONTAINER_ARRAY || container.kind == TG_CONTAINER_TEXT) {
        print_contiguous(printer, &container, depth);
    } else {
        fputs(container.name, printer->out);
        if (container.has_count)
            fprintf(printer->out, " of %" PRIu64, container.count);
        fputs(" = ", printer->out);
        print_items(printer, &container, depth);
    }
    return true;
}

/* The type whose table is at ADDRESS, "__shapes_MOD___vtab_shapes_Circle": "Circle". To be freed; NULL unknown. */
static char *name_of_table(const struct tg_scene *scene, uint64_t address)
{
    static const char joint[] = "_MOD___vtab_";
    char *text = NULL, *name = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_value_print_symbol(scene, address, stream);
    const char *module = fclose(stream) == 0 ? strstr(text, "<__") : NULL;
    const char *type = module == NULL ? NULL : strstr(module, joint);
    size_t length = type == NULL ? 0 : (size_t)(type - module) - strlen("<__");
    type = type == NULL ? NULL : type + strlen(joint);
    if (type != NULL && strncmp(type, module + strlen("<__"), length) == 0 && type[length] == '_' &&
        strcspn(type, "+>") < strlen(type) && type[strcspn(type, "+>")] == '>')
        name = strndup(type + length + 1, strcspn(type, ">") - length - 1);
    free(text);
    return name;
}

/* Fortran's class(T) as the T that it holds; where that is of a type that extends T, with its name. */
static bool print_class(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    struct tg_value held;
    uint64_t table;
    if (!tg_type_is_fortran(&value->type) || !tg_value_class(printer->scene, value, &held, &table))
        return false;
    struct tg_type type = tg_type_strip(&held.type);
    const char *declared = dwarf_diename(&type.die);
    char *name = name_of_table(printer->scene, table);
    print_members(printer, &held, depth);
    if (name != NULL && declared != NULL && strcasecmp(name, declared) != 0) {
        fputs(" <of type ", printer->out);
        tg_printable_write(printer->out, name);
        fputc('>', printer->out);
    }
    free(name);
    return true;
}

static void print_value(struct printer *printer, const struct tg_value *value, unsigned depth)
{
    uint64_t size;
    enum tg_type_kind kind = tg_type_kind(&value->type);
    if (depth > 2 * MAX_DEPTH) {
        fputs("...", printer->out);
        return;
    }
    if (value->n_dimensions > 0) {
        print_array(printer, value, depth);
        return;
    }
    switch (kind) {
    case TG_TYPE_VOID:
        fputs("void", printer->out);
        break;
    case TG_TYPE_COMPLEX:
        if (tg_type_size(&value->type, &size))
            print_complex(printer, value, size);
        break;
    case TG_TYPE_STRUCT:
    case TG_TYPE_UNION:
        if (!print_class(printer, value, depth) && !print_container(printer, value, depth))
            print_members(printer, value, depth);
        break;
    case TG_TYPE_STRING:
        print_fortran_string(printer, value);
        break;
    case TG_TYPE_FUNCTION:
        print_function(printer, value);
        break;
    case TG_TYPE_REFERENCE:
        print_reference(printer, value, depth);
        break;
    case TG_TYPE_BOOL:
    case TG_TYPE_CHAR:
    case TG_TYPE_UNSIGNED_CHAR:
    case TG_TYPE_SIGNED:
    case TG_TYPE_UNSIGNED:
    case TG_TYPE_FLOAT:
    case TG_TYPE_ENUM:
    case TG_TYPE_POINTER:
        print_scalar(printer, value, depth);
        break;
    case TG_TYPE_ARRAY:
    case TG_TYPE_OTHER:
        print_other(printer, value);
        break;
    }
}

struct tg_error *tg_value_print(const struct tg_scene *scene, const struct tg_value *value,
                                const struct tg_value_style *style, FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    struct printer printer = {.scene = scene, .style = style};
    for (int pass = 0; pass < 2; pass++) {
        free(text);
        text = NULL;
        printer.out = open_memstream(&text, &size);
        if (printer.out == NULL)
            return tg_error_no_memory();
        printer.total = 0;
        printer.is_long = pass == 1;
        print_value(&printer, value, 0);
        bool failed = ferror(printer.out) != 0;
        if (fclose(printer.out) != 0 || failed) {
            free(text);
            return tg_error_no_memory();
        }
        if (size <= style->width || style->width == 0)
            break;
    }
    fwrite(text, 1, size, out);
    free(text);
    return NULL;
}
