/* Values as text, as debuggers write them, and as JSON. */
#ifndef TG_LIVE_INSPECT_VALUE_TEXT_H
#define TG_LIVE_INSPECT_VALUE_TEXT_H

#include "format/base/json_writer.h"
#include "live/inspect/value/value.h"

/* How a number is to be shown. */
enum tg_number_base {
    TG_BASE_NATURAL, /* as its type is */
    TG_BASE_DECIMAL,
    TG_BASE_UNSIGNED,
    TG_BASE_HEX,
    TG_BASE_OCTAL,
    TG_BASE_BINARY,
    TG_BASE_CHARACTER,
    TG_BASE_ADDRESS,
};

/* Bounds of the text of a value. 0: without a bound, but that all of one value has MAX_TOTAL elements. */
struct tg_value_style {
    enum tg_number_base base;
    uint32_t max_elements; /* of one array, characters of one string */
    uint32_t max_depth;    /* of structs in structs */
    uint32_t min_repeats;  /* so many equal elements are folded: "0 <repeats 99 times>" */
    uint32_t width;        /* longer values of structs go on lines of their own */
    bool is_raw;           /* C++'s containers as the structs that they are */
};

extern const struct tg_value_style tg_value_style_default;

/* Writes VALUE: "42", "0x55...10 \"text\"", "{a = 1, b = {2, 3}}". What cannot be read is said in its place.
 * Safe for a terminal whatever memory and the debug information have. No line end. Only error: NO_MEMORY. */
struct tg_error *tg_value_print(const struct tg_scene *scene, const struct tg_value *value,
                                const struct tg_value_style *style, FILE *out);

/* The same as one JSON value: objects have "type" and one of "value" (numbers, beyond 2^53 as strings;
 * booleans; strings), "address" (pointers; with "text" or "symbol" what is there), "members" ({"name", ...}),
 * "elements" (with "lower", "count"; repeated ones have "repeats"; "truncated" where not all are there),
 * "error". Containers of C++ have "container" (its name), "count", and "elements", those of a map with "key" and
 * "value"; pointer classes "pointer", an optional that has something "content". */
void tg_value_write_json(const struct tg_scene *scene, const struct tg_value *value,
                         const struct tg_value_style *style, struct tg_json *json);

/* Of live/inspect/value/text.c and live/inspect/value/json.c: a scalar's text, without its members or what
 * it points to. */
struct tg_error *tg_value_print_number(const struct tg_number *number, const struct tg_type *type,
                                       enum tg_number_base base, FILE *out);
/* The characters of a string, SIZE of them, quoted; repeated ones are folded. */
void tg_value_print_characters(const uint8_t *text, size_t size, uint32_t min_repeats, FILE *out);
/* Up to MAX characters of the NUL-terminated string at ADDRESS to TEXT. *TRUNCATED: it goes on. False: not
 * even the first can be read. */
bool tg_value_read_string(const struct tg_scene *scene, uint64_t address, size_t max, uint8_t *text,
                          size_t *size, bool *truncated);
/* C++'s pointer to a member: "&Class::member", a function's address. Errors: those of reading it. */
struct tg_error *tg_value_print_member_pointer(const struct tg_scene *scene, const struct tg_value *value,
                                               FILE *out);
/* "<main+4>" of what is at ADDRESS; "" nothing. */
void tg_value_print_symbol(const struct tg_scene *scene, uint64_t address, FILE *out);

#endif
