#include "format/chunk_decoder.h"

#include "format/trace_section.h"
#include "format/wire_type.h"

#include <stdio.h>
#include <stdlib.h>

/* Events are decoded column by column in blocks that stay in the processor's caches: tight loops without a
 * decision per event or field. */
enum { BLOCK = 512, COMMON_COLUMNS = 4 };

struct column {
    const uint8_t *position;
    const uint8_t *end;
    uint64_t previous;
    bool empty; /* stored as nothing: every value is zero */
};

struct list_buffer {
    char *items;
    uint64_t capacity;
};

/* One kind of this reader's schema; the buffers outlive the chunk. */
struct known_kind {
    unsigned number;
    const struct tg_record_schema *schema;
    struct list_buffer *lists; /* by field */
};

/* One line of the chunk's kind table. */
struct chunk_kind {
    struct known_kind *known; /* NULL: not known here */
    unsigned number;
    uint32_t first_column; /* of this kind's known fields, in the schema's order; absent ones are empty */
    uint32_t count;        /* events in the current block */
    uint32_t first;        /* where they begin in OFFSETS */
};

struct tg_chunk_decoder {
    const struct tg_byte_source *source;
    struct known_kind *known;
    size_t n_known;

    const char **strings; /* by id */
    size_t n_strings, string_capacity;
    int32_t (*threads)[2]; /* pid and tid */
    size_t n_threads, thread_capacity;
    struct chunk_kind *kinds;
    size_t n_kinds, kind_capacity;
    struct column *columns;
    size_t n_columns, column_capacity;
    struct column common[COMMON_COLUMNS]; /* kind, thread, time, stop */

    uint64_t n_list_items;
    uint32_t n_left; /* events not decoded yet */
    uint16_t block_kinds[BLOCK];
    uint32_t offsets[BLOCK]; /* byte offset in EVENTS of each event, those of one kind together */
    struct tg_event events[BLOCK];
};

static const char *const common_names[COMMON_COLUMNS] = {"kind", "thread", "t_ns", "stop_ns"};
enum { COMMON_KIND, COMMON_THREAD, COMMON_TIME, COMMON_STOP };

struct tg_error *tg_chunk_decoder_create(struct tg_chunk_decoder **decoder)
{
    struct tg_chunk_decoder *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->n_known = tg_event_kind_count();
    created->known = calloc(created->n_known, sizeof *created->known);
    if (created->known == NULL)
        goto fail;
    for (size_t i = 0; i < created->n_known; i++) {
        struct known_kind *known = &created->known[i];
        known->number = tg_event_kind_at(i);
        known->schema = tg_event_schema(known->number);
        known->lists = calloc(known->schema->n_fields, sizeof *known->lists);
        if (known->lists == NULL)
            goto fail;
    }
    *decoder = created;
    return NULL;
fail:
    tg_chunk_decoder_destroy(created);
    return tg_error_no_memory();
}

void tg_chunk_decoder_destroy(struct tg_chunk_decoder *decoder)
{
    if (decoder == NULL)
        return;
    for (size_t i = 0; decoder->known != NULL && i < decoder->n_known; i++) {
        struct known_kind *known = &decoder->known[i];
        for (size_t f = 0; known->lists != NULL && f < known->schema->n_fields; f++)
            free(known->lists[f].items);
        free(known->lists);
    }
    free(decoder->known);
    free(decoder->strings);
    free(decoder->threads);
    free(decoder->kinds);
    free(decoder->columns);
    free(decoder);
}

/* Makes *ITEMS hold at least NEEDED elements of SIZE bytes; contents are kept. */
static struct tg_error *grow(void *items_pointer, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return NULL;
    void *items;
    memcpy(&items, items_pointer, sizeof items);
    size_t wanted = *capacity * 2 > needed ? *capacity * 2 : needed;
    items = realloc(items, wanted * size);
    if (items == NULL)
        return tg_error_no_memory();
    memcpy(items_pointer, &items, sizeof items);
    *capacity = wanted;
    return NULL;
}

static struct tg_error *read_strings(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor)
{
    uint64_t n = 0;
    struct tg_byte_cursor text;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of strings", TG_CHUNK_MAX_STRINGS, &n);
    if (error == NULL)
        error = tg_byte_cursor_column(cursor, "string table", &text);
    if (error == NULL && n > (uint64_t)(text.end - text.position))
        error = tg_byte_cursor_error(&text, "number of strings", "more strings than bytes of text");
    if (error == NULL)
        error = grow(&decoder->strings, &decoder->string_capacity, (size_t)n + 1, sizeof *decoder->strings);
    if (error != NULL)
        return error;
    decoder->strings[0] = "";
    for (uint64_t i = 1; i <= n; i++) {
        const uint8_t *end = memchr(text.position, 0, (size_t)(text.end - text.position));
        if (end == NULL)
            return tg_byte_cursor_error(&text, "string table", "a string without its end");
        if (end - text.position > TG_STRING_MAX_BYTES)
            return tg_byte_cursor_error(&text, "string table", "a string beyond the limit");
        decoder->strings[i] = (const char *)text.position;
        text.position = end + 1;
    }
    if (text.position != text.end)
        return tg_byte_cursor_error(&text, "string table", "more text than strings");
    decoder->n_strings = (size_t)n;
    return NULL;
}

/* Pids (MEMBER 0) or tids (MEMBER 1) of the thread table. */
static struct tg_error *read_thread_ids(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor,
                                        unsigned member)
{
    const char *field = member == 0 ? "pids of the threads" : "tids of the threads";
    struct tg_byte_cursor ids;
    struct tg_error *error = tg_byte_cursor_column(cursor, field, &ids);
    bool empty = error == NULL && ids.position == ids.end;
    uint64_t id = 0, coded = 0;
    for (size_t i = 0; error == NULL && i < decoder->n_threads; i++) {
        if (!empty)
            error = tg_byte_cursor_varint(&ids, field, UINT64_MAX, &coded);
        id += tg_unzigzag(coded);
        if (error == NULL && (int64_t)id != (int32_t)id)
            error = tg_byte_cursor_error(&ids, field, "the number does not fit 32 bits");
        decoder->threads[i][member] = (int32_t)id;
    }
    if (error == NULL && ids.position != ids.end)
        error = tg_byte_cursor_error(&ids, field, "more numbers than threads");
    return error;
}

static struct tg_error *read_threads(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor)
{
    uint64_t n = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of threads", TG_CHUNK_MAX_EVENTS, &n);
    if (error == NULL)
        error = grow(&decoder->threads, &decoder->thread_capacity, (size_t)n, sizeof *decoder->threads);
    if (error != NULL)
        return error;
    decoder->n_threads = (size_t)n;
    error = read_thread_ids(decoder, cursor, 0);
    return error != NULL ? error : read_thread_ids(decoder, cursor, 1);
}

static struct known_kind *find_known(const struct tg_chunk_decoder *decoder, unsigned number)
{
    for (size_t i = 0; i < decoder->n_known; i++)
        if (decoder->known[i].number == number)
            return &decoder->known[i];
    return NULL;
}

/* The shapes of all fields of the kind table, kept as they are read: wire type, or for a list 0x80 + the
 * number of element fields followed by their wire types. */
struct shape {
    uint8_t *types;
    size_t count, capacity;
};

static struct tg_error *read_wire_type(struct tg_byte_cursor *cursor, const char *field, bool element,
                                       struct shape *shape)
{
    uint64_t type = 0;
    struct tg_error *error =
        tg_byte_cursor_varint(cursor, field, element ? TG_WIRE_LIST - 1 : TG_WIRE_LAST, &type);
    if (error == NULL)
        error = grow(&shape->types, &shape->capacity, shape->count + 1, 1);
    if (error == NULL)
        shape->types[shape->count++] = (uint8_t)type;
    return error;
}

/* One field of the kind table; FIELD is what the schema has for it, NULL where it knows of none. */
static struct tg_error *read_field_shape(struct tg_byte_cursor *cursor, const char *kind_name,
                                         const struct tg_field *field, struct shape *shape)
{
    char name[128];
    snprintf(name, sizeof name, "type of field %s.%s", kind_name, field == NULL ? "(new)" : field->name);
    size_t at = shape->count;
    struct tg_error *error = read_wire_type(cursor, name, false, shape);
    if (error != NULL)
        return error;
    if (field != NULL && shape->types[at] != tg_wire_type(field->type))
        return tg_byte_cursor_error(cursor, name, "not the type that this field has");
    if (shape->types[at] != TG_WIRE_LIST)
        return NULL;
    uint64_t n = 0;
    error = tg_byte_cursor_varint(cursor, name, TG_CHUNK_MAX_FIELDS, &n);
    if (error == NULL)
        shape->types[at] = (uint8_t)(0x80 + n);
    for (uint64_t e = 0; error == NULL && e < n; e++) {
        error = read_wire_type(cursor, name, true, shape);
        if (error == NULL && field != NULL && e < field->element->n_fields &&
            shape->types[at + 1 + e] != tg_wire_type(field->element->fields[e].type))
            error = tg_byte_cursor_error(cursor, name, "not the type that this list's element has");
    }
    return error;
}

static struct tg_error *read_kind_shape(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor,
                                        struct chunk_kind *kind, struct shape *shape)
{
    uint64_t number = 0, n_fields = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "kind number", UINT16_MAX, &number);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of fields", TG_CHUNK_MAX_FIELDS, &n_fields);
    if (error == NULL)
        error = grow(&shape->types, &shape->capacity, shape->count + 1, 1);
    if (error != NULL)
        return error;
    *kind = (struct chunk_kind){.number = (unsigned)number, .known = find_known(decoder, (unsigned)number)};
    for (const struct chunk_kind *other = decoder->kinds; other < kind; other++)
        if (other->number == kind->number)
            return tg_byte_cursor_error(cursor, "kind number", "twice in one chunk");
    shape->types[shape->count++] = (uint8_t)n_fields;
    for (uint64_t f = 0; error == NULL && f < n_fields; f++) {
        const struct tg_field *field = NULL;
        if (kind->known != NULL && f < kind->known->schema->n_fields)
            field = &kind->known->schema->fields[f];
        error = read_field_shape(cursor, tg_event_kind_name(kind->number), field, shape);
    }
    return error;
}

static struct tg_error *read_column(struct tg_byte_cursor *cursor, const char *name, struct column *column)
{
    struct tg_byte_cursor bytes;
    struct tg_error *error = tg_byte_cursor_column(cursor, name, &bytes);
    if (error == NULL)
        *column = (struct column){bytes.position, bytes.end, 0, bytes.position == bytes.end};
    return error;
}

/* The columns of one field in the file; those that FIELD has are appended to the decoder's, others passed
 * over, and those that the file lacks are empty. */
static struct tg_error *read_field_columns(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor,
                                           const char *kind_name, const struct tg_field *field,
                                           const uint8_t *shape)
{
    size_t n_file = *shape >= 0x80 ? (size_t)1 + (*shape - 0x80) : 1;
    size_t n_wanted = field == NULL ? 0 : tg_field_columns(field);
    char name[128];
    snprintf(name, sizeof name, "%s.%s", kind_name, field == NULL ? "(new)" : field->name);
    for (size_t c = 0; c < n_file; c++) {
        struct column column;
        struct tg_error *error = read_column(cursor, name, &column);
        if (error != NULL)
            return error;
        if (c < n_wanted)
            decoder->columns[decoder->n_columns++] = column;
    }
    for (size_t c = n_file; c < n_wanted; c++)
        decoder->columns[decoder->n_columns++] = (struct column){.empty = true};
    return NULL;
}

static struct tg_error *read_kind_columns(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor,
                                          struct chunk_kind *kind, const uint8_t **shape)
{
    const struct tg_record_schema *schema = kind->known == NULL ? NULL : kind->known->schema;
    size_t n_fields = *(*shape)++, n_schema = schema == NULL ? 0 : schema->n_fields;
    size_t n_columns = 0;
    for (size_t f = 0; f < n_schema; f++)
        n_columns += tg_field_columns(&schema->fields[f]);
    if (decoder->n_columns + n_columns > TG_CHUNK_MAX_COLUMNS)
        return tg_byte_cursor_error(cursor, "columns", "more than the limit");
    struct tg_error *error = grow(&decoder->columns, &decoder->column_capacity,
                                  decoder->n_columns + n_columns, sizeof *decoder->columns);
    kind->first_column = (uint32_t)decoder->n_columns;
    for (size_t f = 0; error == NULL && f < n_fields; f++) {
        error = read_field_columns(decoder, cursor, tg_event_kind_name(kind->number),
                                   f < n_schema ? &schema->fields[f] : NULL, *shape);
        *shape += **shape >= 0x80 ? 1 + (**shape - 0x80) : 1;
    }
    size_t end = kind->first_column + n_columns;
    while (error == NULL && decoder->n_columns < end)
        decoder->columns[decoder->n_columns++] = (struct column){.empty = true};
    return error;
}

static struct tg_error *read_columns(struct tg_chunk_decoder *decoder, struct tg_byte_cursor *cursor,
                                     struct shape *shape)
{
    uint64_t n_kinds = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of kinds", TG_CHUNK_MAX_KINDS, &n_kinds);
    if (error == NULL)
        error = grow(&decoder->kinds, &decoder->kind_capacity, (size_t)n_kinds, sizeof *decoder->kinds);
    for (uint64_t i = 0; error == NULL && i < n_kinds; i++)
        error = read_kind_shape(decoder, cursor, &decoder->kinds[i], shape);
    decoder->n_kinds = (size_t)n_kinds;
    for (size_t c = 0; error == NULL && c < COMMON_COLUMNS; c++)
        error = read_column(cursor, common_names[c], &decoder->common[c]);
    const uint8_t *types = shape->types;
    for (uint64_t i = 0; error == NULL && i < n_kinds; i++)
        error = read_kind_columns(decoder, cursor, &decoder->kinds[i], &types);
    if (error == NULL && cursor->position != cursor->end)
        error = tg_byte_cursor_error(cursor, "end of the columns", "bytes are left over");
    return error;
}

struct tg_error *tg_chunk_decoder_begin(struct tg_chunk_decoder *decoder, const struct tg_byte_source *source,
                                        size_t size, uint32_t n_events)
{
    struct tg_byte_cursor cursor = {source->start, source->start + size, source};
    decoder->source = source;
    decoder->n_left = 0;
    decoder->n_columns = decoder->n_kinds = 0;
    decoder->n_list_items = 0;
    struct tg_error *error = read_strings(decoder, &cursor);
    if (error == NULL)
        error = read_threads(decoder, &cursor);
    if (error != NULL)
        return error;
    struct shape shape = {0};
    error = read_columns(decoder, &cursor, &shape);
    free(shape.types);
    if (error == NULL)
        decoder->n_left = n_events;
    return error;
}

/* One value of each loop below: LEB128 from [*POSITION, END). */
#define READ_OR_FAIL(column, position, value)                                                                \
    position = tg_varint_get(position, (column)->end, &value);                                               \
    if (__builtin_expect(position == NULL, 0))                                                               \
    return false

/*
 * The loops write value I to BASE + offsets[I], or where OFFSETS is NULL to BASE + I * STRIDE. They are
 * inlined once for each of the two shapes.
 */
static inline void *place(char *base, const uint32_t *offsets, size_t stride, size_t i)
{
    return base + (offsets != NULL ? offsets[i] : i * stride);
}

static inline void store(void *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

static inline bool decode_zeros(char *base, const uint32_t *offsets, size_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store(place(base, offsets, stride, i), 0);
    return true;
}

static inline bool decode_unsigned(struct column *column, char *base, const uint32_t *offsets, size_t stride,
                                   size_t n)
{
    const uint8_t *position = column->position;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        READ_OR_FAIL(column, position, value);
        store(place(base, offsets, stride, i), value);
    }
    column->position = position;
    return true;
}

static inline bool decode_signed(struct column *column, char *base, const uint32_t *offsets, size_t stride,
                                 size_t n)
{
    const uint8_t *position = column->position;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        READ_OR_FAIL(column, position, value);
        store(place(base, offsets, stride, i), tg_unzigzag(value));
    }
    column->position = position;
    return true;
}

static inline bool decode_delta(struct column *column, char *base, const uint32_t *offsets, size_t stride,
                                size_t n)
{
    const uint8_t *position = column->position;
    uint64_t value = 0, previous = column->previous;
    for (size_t i = 0; i < n; i++) {
        READ_OR_FAIL(column, position, value);
        previous += tg_unzigzag(value);
        store(place(base, offsets, stride, i), previous);
    }
    column->previous = previous;
    column->position = position;
    return true;
}

static inline bool decode_strings(const struct tg_chunk_decoder *decoder, struct column *column, char *base,
                                  const uint32_t *offsets, size_t stride, size_t n)
{
    const uint8_t *position = column->position;
    uint64_t id = 0;
    for (size_t i = 0; i < n; i++) {
        if (!column->empty) {
            READ_OR_FAIL(column, position, id);
        }
        if (__builtin_expect(id > decoder->n_strings, 0))
            return false;
        memcpy(place(base, offsets, stride, i), &decoder->strings[id], sizeof decoder->strings[id]);
    }
    column->position = position;
    return true;
}

static inline bool decode_values(const struct tg_chunk_decoder *decoder, struct column *column,
                                 enum tg_wire_type type, char *base, const uint32_t *offsets, size_t stride,
                                 size_t n)
{
    if (type == TG_WIRE_STRING)
        return decode_strings(decoder, column, base, offsets, stride, n);
    if (column->empty)
        return decode_zeros(base, offsets, stride, n);
    switch (type) {
    case TG_WIRE_SIGNED:
        return decode_signed(column, base, offsets, stride, n);
    case TG_WIRE_ADDRESS:
        return decode_delta(column, base, offsets, stride, n);
    case TG_WIRE_UNSIGNED:
    case TG_WIRE_STRING:
    case TG_WIRE_LIST:
        break;
    }
    return decode_unsigned(column, base, offsets, stride, n);
}

static struct tg_error *value_error(const struct tg_chunk_decoder *decoder, const struct column *column,
                                    const char *record, const char *field, const char *member)
{
    char name[192];
    snprintf(name, sizeof name, "%s%s%s%s%s", record, *record != '\0' ? "." : "", field,
             *member != '\0' ? "." : "", member);
    struct tg_byte_cursor cursor = {column->position, column->end, decoder->source};
    return tg_byte_cursor_error(&cursor, name,
                                "a number is cut off, too long, or names something that is not there");
}

/* Counts are in the lists already; gives each list its items. */
static struct tg_error *decode_items(struct tg_chunk_decoder *decoder, const struct chunk_kind *kind,
                                     size_t field_index, struct column *columns, char *base,
                                     const uint32_t *offsets)
{
    const struct tg_record_schema *schema = kind->known->schema;
    const struct tg_field *field = &schema->fields[field_index];
    struct list_buffer *buffer = &kind->known->lists[field_index];
    uint64_t total = 0;
    for (uint32_t i = 0; i < kind->count; i++) {
        const struct tg_list *list = (const struct tg_list *)(base + offsets[i]);
        total += list->count;
        if (list->count > TG_CHUNK_MAX_LIST_ITEMS || total + decoder->n_list_items > TG_CHUNK_MAX_LIST_ITEMS)
            return value_error(decoder, columns, schema->name, field->name, "count beyond the limit");
    }
    decoder->n_list_items += total;
    if (total == 0) {
        for (uint32_t i = 0; i < kind->count; i++)
            ((struct tg_list *)(base + offsets[i]))->items = NULL;
        return NULL;
    }
    struct tg_error *error = grow(&buffer->items, &buffer->capacity, total, field->element->size_bytes);
    if (error != NULL)
        return error;
    for (size_t e = 0; e < field->element->n_fields; e++) {
        const struct tg_field *member = &field->element->fields[e];
        if (!decode_values(decoder, &columns[1 + e], tg_wire_type(member->type),
                           buffer->items + member->offset, NULL, field->element->size_bytes, total))
            return value_error(decoder, &columns[1 + e], schema->name, field->name, member->name);
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < kind->count; i++) {
        struct tg_list *list = (struct tg_list *)(base + offsets[i]);
        list->items = list->count == 0 ? NULL : buffer->items + at * field->element->size_bytes;
        at += list->count;
    }
    return NULL;
}

static struct tg_error *decode_kind(struct tg_chunk_decoder *decoder, const struct chunk_kind *kind)
{
    const struct tg_record_schema *schema = kind->known->schema;
    struct column *column = &decoder->columns[kind->first_column];
    const uint32_t *offsets = &decoder->offsets[kind->first];
    char *payload = (char *)decoder->events + offsetof(struct tg_event, process_start);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        bool is_list = field->type == TG_FIELD_LIST;
        char *base = payload + field->offset + (is_list ? offsetof(struct tg_list, count) : 0);
        if (!decode_values(decoder, column, tg_wire_type(field->type), base, offsets, 0, kind->count))
            return value_error(decoder, column, schema->name, field->name, "");
        if (is_list) {
            struct tg_error *error = decode_items(decoder, kind, f, column, payload + field->offset, offsets);
            if (error != NULL)
                return error;
        }
        column += tg_field_columns(field);
    }
    return NULL;
}

/* Reads the kinds of the block's N events and sorts the events by kind. */
static struct tg_error *decode_kinds(struct tg_chunk_decoder *decoder, uint32_t n)
{
    struct column *column = &decoder->common[COMMON_KIND];
    for (size_t i = 0; i < decoder->n_kinds; i++)
        decoder->kinds[i].count = 0;
    const uint8_t *position = column->position;
    uint64_t index = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!column->empty)
            position = tg_varint_get(position, column->end, &index);
        if (position == NULL || index >= decoder->n_kinds)
            return value_error(decoder, column, "", "kind", "");
        decoder->block_kinds[i] = (uint16_t)index;
        decoder->kinds[index].count++;
    }
    column->position = position;
    uint32_t next = 0;
    for (size_t i = 0; i < decoder->n_kinds; i++) {
        decoder->kinds[i].first = next;
        next += decoder->kinds[i].count;
        decoder->kinds[i].count = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct chunk_kind *kind = &decoder->kinds[decoder->block_kinds[i]];
        decoder->offsets[kind->first + kind->count++] = i * (uint32_t)sizeof(struct tg_event);
        decoder->events[i].kind = (enum tg_event_kind)kind->number;
    }
    return NULL;
}

static struct tg_error *decode_common(struct tg_chunk_decoder *decoder, uint32_t n)
{
    struct column *column = &decoder->common[COMMON_THREAD];
    const uint8_t *position = column->position;
    uint64_t index = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!column->empty)
            position = tg_varint_get(position, column->end, &index);
        if (position == NULL || index >= decoder->n_threads)
            return value_error(decoder, column, "", "thread", "");
        decoder->events[i].pid = decoder->threads[index][0];
        decoder->events[i].tid = decoder->threads[index][1];
    }
    column->position = position;
    column = &decoder->common[COMMON_TIME];
    if (!decode_values(decoder, column, TG_WIRE_ADDRESS,
                       (char *)decoder->events + offsetof(struct tg_event, time_ns), NULL,
                       sizeof(struct tg_event), n))
        return value_error(decoder, column, "", "t_ns", "");
    column = &decoder->common[COMMON_STOP];
    if (!decode_values(decoder, column, TG_WIRE_UNSIGNED,
                       (char *)decoder->events + offsetof(struct tg_event, stop_ns), NULL,
                       sizeof(struct tg_event), n))
        return value_error(decoder, column, "", "stop_ns", "");
    return NULL;
}

/* After the last event nothing may be left in any column. */
static struct tg_error *check_ends(const struct tg_chunk_decoder *decoder)
{
    for (size_t c = 0; c < COMMON_COLUMNS; c++)
        if (decoder->common[c].position != decoder->common[c].end)
            return value_error(decoder, &decoder->common[c], "", common_names[c], "(end)");
    for (size_t i = 0; i < decoder->n_kinds; i++) {
        const struct chunk_kind *kind = &decoder->kinds[i];
        const struct column *column = &decoder->columns[kind->first_column];
        for (size_t f = 0; kind->known != NULL && f < kind->known->schema->n_fields; f++) {
            const struct tg_field *field = &kind->known->schema->fields[f];
            for (size_t c = tg_field_columns(field); c > 0; c--, column++)
                if (column->position != column->end)
                    return value_error(decoder, column, kind->known->schema->name, field->name, "(end)");
        }
    }
    return NULL;
}

/* Takes the events of unknown kinds out of the block; returns how many stay. */
static size_t drop_unknown(struct tg_chunk_decoder *decoder, uint32_t n, uint64_t *unknown)
{
    size_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (decoder->kinds[decoder->block_kinds[i]].known == NULL)
            continue;
        if (kept != i)
            decoder->events[kept] = decoder->events[i];
        kept++;
    }
    *unknown += n - kept;
    return kept;
}

struct tg_error *tg_chunk_decoder_block(struct tg_chunk_decoder *decoder, const struct tg_event **events,
                                        size_t *count, uint64_t *unknown)
{
    size_t kept = 0;
    while (kept == 0 && decoder->n_left > 0) {
        uint32_t n = decoder->n_left < BLOCK ? decoder->n_left : BLOCK;
        bool any_unknown = false;
        struct tg_error *error = decode_kinds(decoder, n);
        if (error == NULL)
            error = decode_common(decoder, n);
        for (size_t i = 0; error == NULL && i < decoder->n_kinds; i++) {
            const struct chunk_kind *kind = &decoder->kinds[i];
            if (kind->count > 0 && kind->known != NULL)
                error = decode_kind(decoder, kind);
            any_unknown |= kind->count > 0 && kind->known == NULL;
        }
        decoder->n_left -= n;
        if (error == NULL && decoder->n_left == 0)
            error = check_ends(decoder);
        if (error != NULL) {
            decoder->n_left = 0;
            return error;
        }
        kept = any_unknown ? drop_unknown(decoder, n, unknown) : n;
    }
    *events = decoder->events;
    *count = kept;
    return NULL;
}
