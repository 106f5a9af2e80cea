/* trace_from_json IN OUT: writes the trace OUT (existing ones are replaced) from lines in the shape of
 * `tollgate dump --json --meta`; IN "-" is standard input. Every field may be left out (0, "", empty);
 * numbers may be given as decimal or "0x..." strings as well; a name that the schema does not have is an
 * error. An "\udcXX" escape is the byte XX. Empty lines and lines that begin with '#' are passed over. */
#include "format/trace/writer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *input_name;
static size_t line_number;

static _Noreturn void die(const char *what, const char *detail)
{
    fprintf(stderr, "trace_from_json: %s:%zu: %s%s%s\n", input_name, line_number, what,
            *detail != '\0' ? ": " : "", detail);
    exit(2);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL)
        die("out of memory", "");
    return memory;
}

/* Memory that the current event points to. */
struct arena {
    void **blocks;
    size_t count;
};

static void *arena_allocate(struct arena *arena, size_t count, size_t size)
{
    void **blocks = realloc(arena->blocks, (arena->count + 1) * sizeof *blocks);
    if (blocks == NULL)
        die("out of memory", "");
    arena->blocks = blocks;
    return arena->blocks[arena->count++] = allocate(count, size);
}

static void arena_clear(struct arena *arena)
{
    for (size_t i = 0; i < arena->count; i++)
        free(arena->blocks[i]);
    arena->count = 0;
}

/* Copies one escape or character of a string; AFTER_HIGH: the escape before was the first half of a pair. */
static const char *copy_of_string(const char *line, char **to, bool *after_high)
{
    bool escape = *line == '\\' && line[1] == 'u' && strlen(line) >= 6;
    if (escape && strncasecmp(line + 2, "dc", 2) == 0 && !*after_high)
        *to = stpcpy(*to, "\\udbff");
    *after_high = escape && strchr("dD", line[2]) != NULL && strchr("89abAB", line[3]) != NULL;
    size_t length = escape ? 6 : *line == '\\' && line[1] != '\0' ? 2 : 1;
    memcpy(*to, line, length);
    *to += length;
    return line + length;
}

/* Text that JSON readers refuse although it is meant: lone surrogates, which stand for bytes that are not
 * UTF-8 (each "\udcXX" becomes the pair "\udbff\udcXX", a character for private use at the very end of
 * Unicode, which get_text turns into the byte), and numbers beyond 63 bits (they become strings). */
static char *prepare_line(const char *line)
{
    char *prepared = allocate(3 * strlen(line) + 1, 1), *to = prepared;
    bool in_string = false, after_high = false;
    while (*line != '\0') {
        size_t digits = in_string ? 0 : strspn(line, "-0123456789");
        if (digits > 0) {
            to += sprintf(to, digits >= 19 ? "\"%.*s\"" : "%.*s", (int)digits, line);
            line += digits;
            continue;
        }
        in_string ^= *line == '"';
        line = copy_of_string(line, &to, &after_high);
    }
    return prepared;
}

static const char *get_text(struct arena *arena, const json_t *value, const char *name)
{
    if (!json_is_string(value))
        die("not a string", name);
    const unsigned char *from = (const unsigned char *)json_string_value(value);
    char *text = arena_allocate(arena, json_string_length(value), 1), *to = text;
    /* U+10FC80..U+10FCFF is f4 8f b2 80 .. f4 8f b3 bf */
    while (*from != '\0') {
        if (from[0] == 0xf4 && from[1] == 0x8f && (from[2] == 0xb2 || from[2] == 0xb3)) {
            *to++ = (char)((from[2] == 0xb2 ? 0x80 : 0xc0) | (from[3] & 0x3f));
            from += 4;
        } else {
            *to++ = (char)*from++;
        }
    }
    *to = '\0';
    return text;
}

static uint64_t get_number(const json_t *value, const char *name)
{
    if (json_is_integer(value))
        return (uint64_t)json_integer_value(value);
    if (json_is_boolean(value))
        return json_is_true(value);
    const char *text = json_string_value(value);
    char *end = NULL;
    errno = 0;
    uint64_t number = text == NULL     ? 0
                      : text[0] == '-' ? (uint64_t)strtoll(text, &end, 0)
                                       : strtoull(text, &end, 0);
    if (text == NULL || *text == '\0' || *end != '\0' || errno != 0)
        die("not a number", name);
    return number;
}

static uint64_t get_enum(const struct tg_field *field, const json_t *value)
{
    if (!json_is_string(value))
        return get_number(value, field->name);
    for (uint64_t i = 0; field->names[i] != NULL; i++)
        if (strcmp(field->names[i], json_string_value(value)) == 0)
            return i;
    die("no such value", json_string_value(value));
}

static void fill_record(struct arena *arena, const struct tg_record_schema *schema, const json_t *object,
                        char *record);

static struct tg_list get_list(struct arena *arena, const struct tg_field *field, const json_t *value)
{
    if (!json_is_array(value))
        die("not an array", field->name);
    const struct tg_record_schema *element = field->element;
    size_t count = json_array_size(value);
    char *items = arena_allocate(arena, count, element->size_bytes);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        char *record = items + i * element->size_bytes;
        if (json_is_object(item)) {
            fill_record(arena, element, item, record);
        } else {
            const char *text = get_text(arena, item, field->name);
            memcpy(record + element->fields[0].offset, &text, sizeof text);
        }
    }
    return (struct tg_list){.items = items, .count = count};
}

static void fill_field(struct arena *arena, const struct tg_field *field, const json_t *value, char *to)
{
    if (field->type == TG_FIELD_LIST) {
        struct tg_list list = get_list(arena, field, value);
        memcpy(to, &list, sizeof list);
    } else if (field->type == TG_FIELD_STRING) {
        const char *text = get_text(arena, value, field->name);
        memcpy(to, &text, sizeof text);
    } else {
        uint64_t number =
            field->type == TG_FIELD_ENUM ? get_enum(field, value) : get_number(value, field->name);
        memcpy(to, &number, sizeof number);
    }
}

static void fill_record(struct arena *arena, const struct tg_record_schema *schema, const json_t *object,
                        char *record)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t f = 0;
        while (f < schema->n_fields && strcmp(schema->fields[f].name, name) != 0)
            f++;
        if (f == schema->n_fields)
            die("no such field", name);
        fill_field(arena, &schema->fields[f], value, record + schema->fields[f].offset);
    }
}

static uint64_t take_number(json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    uint64_t number = value == NULL ? 0 : get_number(value, name);
    json_object_del(object, name);
    return number;
}

static void add_event(struct tg_trace_writer *writer, struct arena *arena, json_t *object)
{
    const char *kind_name = json_string_value(json_object_get(object, "kind"));
    unsigned kind = kind_name == NULL ? 0 : tg_event_kind_by_name(kind_name);
    if (kind == 0)
        die("no such kind", kind_name == NULL ? "(none)" : kind_name);
    struct tg_event event = {.kind = (enum tg_event_kind)kind};
    json_object_del(object, "kind");
    event.time_ns = take_number(object, "t_ns");
    event.stop_ns = take_number(object, "stop_ns");
    event.pid = (int32_t)take_number(object, "pid");
    event.tid = (int32_t)take_number(object, "tid");
    fill_record(arena, tg_event_schema(kind), object, TG_EVENT_PAYLOAD(&event));
    tg_trace_writer_add(writer, &event);
    arena_clear(arena);
}

static void check(struct tg_error *error)
{
    if (error != NULL)
        die(tg_error_message(error), "");
}

static void add_meta(struct arena *arena, struct tg_trace_meta *meta, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (json_is_integer(value))
            check(tg_trace_meta_set_number(meta, key, (uint64_t)json_integer_value(value)));
        else
            check(tg_trace_meta_set(meta, key, get_text(arena, value, key)));
    }
    arena_clear(arena);
}

static json_t *parse(const char *line)
{
    json_error_t error;
    char *prepared = prepare_line(line);
    json_t *object = json_loads(prepared, JSON_REJECT_DUPLICATES, &error);
    free(prepared);
    if (!json_is_object(object))
        die("not a JSON object", object == NULL ? error.text : "");
    return object;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: trace_from_json IN OUT\n", stderr);
        return 2;
    }
    input_name = argv[1];
    FILE *input = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "r");
    if (input == NULL)
        die("cannot open", strerror(errno));
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.overwrite = true, .max_queue_bytes = (uint64_t)1 << 32};
    struct arena arena = {0};
    check(tg_trace_meta_create(&meta));
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, input) > 0) {
        line_number++;
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
            continue;
        json_t *object = parse(line);
        const json_t *described = json_object_get(object, "meta");
        if (described != NULL && writer != NULL)
            die("the meta line must be the first", "");
        if (described != NULL) {
            add_meta(&arena, meta, described);
        } else {
            if (writer == NULL)
                check(tg_trace_writer_create(argv[2], &options, meta, &writer));
            add_event(writer, &arena, object);
        }
        json_decref(object);
    }
    if (writer == NULL)
        check(tg_trace_writer_create(argv[2], &options, meta, &writer));
    struct tg_trace_writer_stats stats;
    check(tg_trace_writer_close(writer, &stats));
    if (stats.lost_events > 0)
        die("events were lost: beyond a limit", "");
    tg_trace_meta_destroy(meta);
    free(arena.blocks);
    free(line);
    if (input != stdin)
        fclose(input);
    return 0;
}
