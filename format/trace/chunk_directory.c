#include "format/trace/chunk_directory.h"

#include "format/base/array.h"
#include "format/trace/meta.h"
#include "format/trace/section.h"
#include "format/trace/wire_type.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const common_names[TG_COMMON_COLUMNS] = {"kind", "thread", "t_ns", "stop_ns"};

enum { NAME_BYTES = 192, PART = 256 };

struct tg_error *tg_chunk_column_error(const struct tg_packed_column *column,
                                       const struct tg_byte_source *source, const char *record,
                                       const char *field, const char *member)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s%s%s%s", record, *record != '\0' ? "." : "", field,
             *member != '\0' ? "." : "", member);
    struct tg_byte_cursor cursor = {column->planes != NULL ? column->planes : source->start, NULL, source};
    return tg_byte_cursor_error(&cursor, name, "malformed column, or an index out of range");
}

static void entry_destroy(struct tg_chunk_kind_entry *entry)
{
    for (size_t f = 0; f < TG_EVENT_MAX_FIELDS; f++)
        free(entry->fields[f].members);
    free(entry);
}

void tg_chunk_directory_deinit(struct tg_chunk_directory *directory)
{
    free(directory->strings);
    free(directory->string_bytes);
    free(directory->threads);
    free(directory->processes);
    for (size_t i = 0; i < directory->kind_capacity; i++)
        if (directory->kinds[i] != NULL)
            entry_destroy(directory->kinds[i]);
    free(directory->kinds);
    *directory = (struct tg_chunk_directory){0};
}

static struct tg_error *read_strings(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor)
{
    uint64_t n = 0;
    struct tg_byte_cursor text;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of strings", TG_CHUNK_MAX_STRINGS, &n);
    if (error == NULL)
        error = tg_byte_cursor_column(cursor, "string table", &text);
    if (error == NULL && n > (uint64_t)(text.end - text.position))
        error = tg_byte_cursor_error(&text, "number of strings", "more strings than bytes of text");
    if (error == NULL)
        error = TG_ARRAY_RESERVE(directory->strings, directory->string_capacity, (size_t)n + 1);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(directory->string_bytes, directory->length_capacity, (size_t)n + 1);
    if (error != NULL)
        return error;
    directory->strings[0] = "";
    directory->string_bytes[0] = 0;
    for (uint64_t i = 1; i <= n; i++) {
        const uint8_t *end = memchr(text.position, 0, (size_t)(text.end - text.position));
        if (end == NULL)
            return tg_byte_cursor_error(&text, "string table", "unterminated string");
        if (end - text.position > TG_STRING_MAX_BYTES)
            return tg_byte_cursor_error(&text, "string table", "string beyond the limit");
        directory->strings[i] = (const char *)text.position;
        directory->string_bytes[i] = (uint32_t)(end - text.position);
        text.position = end + 1;
    }
    if (text.position != text.end)
        return tg_byte_cursor_error(&text, "string table", "text left over after the last string");
    directory->n_strings = (size_t)n;
    return NULL;
}

static bool fits_id(uint64_t value)
{
    return (int64_t)value == (int32_t)value;
}

/* One of the two columns of the thread table as recorded. */
static struct tg_error *read_thread_ids(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor,
                                        bool tids)
{
    const char *field = tids ? "tids of the threads" : "pids of the threads";
    struct tg_packed_column column;
    struct tg_error *error = tg_packed_column_open(cursor, field, directory->n_threads, false, &column);
    uint64_t id = 0, coded[PART];
    for (size_t i = 0; error == NULL && i < directory->n_threads; i++) {
        size_t at = i % PART, left = directory->n_threads - i;
        if (at == 0 && !tg_packed_column_take(&column, coded, left < PART ? left : PART))
            return tg_byte_cursor_error(&column.exceptions, field, "malformed exceptions of the column");
        id += tg_unzigzag(coded[at]);
        if (!fits_id(id))
            return tg_byte_cursor_error(cursor, field, "number does not fit 32 bits");
        if (tids)
            directory->threads[i].tid = (int32_t)id;
        else
            directory->threads[i].pid = (int32_t)id;
    }
    return error;
}

/* Takes a whole column of COUNT values into *VALUES, which the caller frees. */
static struct tg_error *read_values(struct tg_byte_cursor *cursor, const char *field, size_t count,
                                    uint64_t **values)
{
    struct tg_packed_column column;
    struct tg_error *error = tg_packed_column_open(cursor, field, count, true, &column);
    if (error != NULL)
        return error;
    *values = malloc((count + 1) * sizeof **values);
    if (*values == NULL)
        return tg_error_no_memory();
    return tg_packed_column_take(&column, *values, count)
               ? NULL
               : tg_byte_cursor_error(&column.exceptions, field, "malformed exceptions of the column");
}

/* PIDS has the processes' ids, OF_THREAD the process of each thread, TIDS their ids. */
static struct tg_error *fill_threads(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor,
                                     const uint64_t *pids, const uint64_t *of_thread, const uint64_t *tids)
{
    for (size_t i = 0; i < directory->n_threads; i++) {
        if (of_thread[i] >= directory->n_processes)
            return tg_byte_cursor_error(cursor, "processes of the threads", "no such process");
        uint64_t pid = tg_unzigzag(pids[of_thread[i]]), tid = tg_unzigzag(tids[i]);
        if (!fits_id(pid) || !fits_id(tid))
            return tg_byte_cursor_error(cursor, "ids of the threads", "number does not fit 32 bits");
        directory->threads[i] = (struct tg_chunk_thread){(int32_t)pid, (int32_t)tid};
        directory->processes[i] = (uint32_t)of_thread[i];
    }
    return NULL;
}

static struct tg_error *read_threads_by_process(struct tg_chunk_directory *directory,
                                                struct tg_byte_cursor *cursor)
{
    uint64_t n = 0, *pids = NULL, *of_thread = NULL, *tids = NULL;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of processes", directory->n_threads, &n);
    directory->n_processes = (size_t)n;
    if (error == NULL)
        error = TG_ARRAY_RESERVE(directory->processes, directory->process_capacity, directory->n_threads);
    if (error == NULL)
        error = read_values(cursor, "pids of the processes", (size_t)n, &pids);
    if (error == NULL)
        error = read_values(cursor, "processes of the threads", directory->n_threads, &of_thread);
    if (error == NULL)
        error = read_values(cursor, "tids of the threads", directory->n_threads, &tids);
    if (error == NULL)
        error = fill_threads(directory, cursor, pids, of_thread, tids);
    free(pids);
    free(of_thread);
    free(tids);
    return error;
}

static struct tg_error *read_threads(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor)
{
    uint64_t n = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of threads", TG_CHUNK_MAX_EVENTS, &n);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(directory->threads, directory->thread_capacity, (size_t)n);
    if (error != NULL)
        return error;
    directory->n_threads = (size_t)n;
    if (directory->by_thread)
        return read_threads_by_process(directory, cursor);
    error = read_thread_ids(directory, cursor, false);
    return error != NULL ? error : read_thread_ids(directory, cursor, true);
}

/* Reads the kind table's entry of one field. */
struct shape {
    enum tg_wire_type type;
    uint64_t n_items;
    uint64_t n_members;
    uint8_t members[TG_CHUNK_MAX_FIELDS];
};

static struct tg_error *read_list_shape(struct tg_byte_cursor *cursor, const char *name,
                                        const struct tg_field *field, struct shape *shape)
{
    struct tg_error *error = tg_byte_cursor_varint(cursor, name, TG_CHUNK_MAX_LIST_ITEMS, &shape->n_items);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, name, TG_CHUNK_MAX_FIELDS, &shape->n_members);
    for (uint64_t m = 0; error == NULL && m < shape->n_members; m++) {
        uint64_t type = 0;
        error = tg_byte_cursor_varint(cursor, name, TG_WIRE_LIST - 1, &type);
        shape->members[m] = (uint8_t)type;
        if (error == NULL && field != NULL && m < field->element->n_fields &&
            type != tg_wire_type(field->element->fields[m].type))
            error = tg_byte_cursor_error(cursor, name, "not the type of this list's element");
    }
    return error;
}

/* FIELD is what the schema has in this place, NULL where it knows of none. */
static struct tg_error *read_shape(struct tg_byte_cursor *cursor, const char *name,
                                   const struct tg_field *field, struct shape *shape)
{
    uint64_t type = 0;
    *shape = (struct shape){0};
    struct tg_error *error = tg_byte_cursor_varint(cursor, name, TG_WIRE_LAST, &type);
    if (error != NULL)
        return error;
    if (field != NULL && type != tg_wire_type(field->type))
        return tg_byte_cursor_error(cursor, name, "not the type of this field");
    shape->type = (enum tg_wire_type)type;
    return type == TG_WIRE_LIST ? read_list_shape(cursor, name, field, shape) : NULL;
}

static void name_field(char name[NAME_BYTES], const struct tg_chunk_kind_entry *entry, uint64_t f)
{
    if (entry->schema != NULL && f < entry->schema->n_fields)
        snprintf(name, NAME_BYTES, "%s.%s", entry->schema->name, entry->schema->fields[f].name);
    else
        snprintf(name, NAME_BYTES, "kind 0x%x, field %llu", entry->number, (unsigned long long)f);
}

static struct tg_error *read_shapes(struct tg_byte_cursor *cursor, struct tg_chunk_kind_entry *entry,
                                    uint64_t n_fields, struct shape *shapes)
{
    char name[NAME_BYTES];
    bool items = false;
    for (uint64_t f = 0; f < n_fields; f++) {
        bool known = entry->schema != NULL && f < entry->schema->n_fields;
        name_field(name, entry, f);
        struct tg_error *error =
            read_shape(cursor, name, known ? &entry->schema->fields[f] : NULL, &shapes[f]);
        if (error != NULL)
            return error;
        if (shapes[f].type == TG_WIRE_LIST && entry->indexed)
            return tg_byte_cursor_error(cursor, name, "list in a kind whose payloads are stored once");
        items = items || shapes[f].n_items > 0;
    }
    entry->by_thread = entry->by_thread && !items;
    return NULL;
}

/* The columns of one field of the file. FIELD is where those that the schema has go to, NULL for a new
 * one. */
static struct tg_error *read_field(struct tg_byte_cursor *cursor, const char *name, uint64_t n_rows,
                                   const struct shape *shape, bool any_form, struct tg_chunk_field *field)
{
    struct tg_packed_column column = {0};
    struct tg_error *error = tg_packed_column_open(cursor, name, n_rows, any_form, &column);
    if (!any_form && shape->type == TG_WIRE_ADDRESS)
        column.form = TG_COLUMN_DIFFERENCES;
    if (error == NULL && field != NULL) {
        field->column = column;
        field->n_items = shape->n_items;
    }
    for (uint64_t m = 0; error == NULL && m < shape->n_members; m++) {
        error = tg_packed_column_open(cursor, name, shape->n_items, any_form, &column);
        if (!any_form && shape->members[m] == TG_WIRE_ADDRESS)
            column.form = TG_COLUMN_DIFFERENCES;
        if (error == NULL && field != NULL && m < field->schema->element->n_fields)
            field->members[m] = column;
    }
    return error;
}

/* Every known field has no columns at first: what an older writer did not know is zero. */
static struct tg_error *prepare_fields(struct tg_chunk_kind_entry *entry)
{
    for (size_t f = 0; f < TG_EVENT_MAX_FIELDS; f++) {
        struct tg_chunk_field *field = &entry->fields[f];
        free(field->members);
        *field = (struct tg_chunk_field){0};
        if (entry->schema == NULL || f >= entry->schema->n_fields)
            continue;
        field->schema = &entry->schema->fields[f];
        field->column = (struct tg_packed_column){.count = entry->n_rows, .next_exception = UINT64_MAX};
        if (field->schema->type != TG_FIELD_LIST)
            continue;
        size_t n_members = field->schema->element->n_fields;
        field->members = calloc(n_members, sizeof *field->members);
        if (field->members == NULL)
            return tg_error_no_memory();
        for (size_t m = 0; m < n_members; m++)
            field->members[m].next_exception = UINT64_MAX;
    }
    return NULL;
}

static struct tg_error *read_kind_numbers(struct tg_byte_cursor *cursor, struct tg_chunk_kind_entry *entry,
                                          uint64_t *n_fields)
{
    uint64_t number = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "kind number", UINT16_MAX, &number);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of events of a kind", TG_CHUNK_MAX_EVENTS,
                                      &entry->n_events);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of rows of a kind", entry->n_events, &entry->n_rows);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of fields of a kind", TG_CHUNK_MAX_FIELDS, n_fields);
    entry->number = (unsigned)number;
    entry->schema = tg_event_schema(entry->number);
    entry->indexed = entry->n_rows < entry->n_events;
    if (error == NULL && entry->indexed && entry->n_rows > TG_CHUNK_MAX_ROWS)
        error = tg_byte_cursor_error(cursor, "number of rows of a kind", "beyond the limit");
    return error;
}

static struct tg_error *read_kind(struct tg_byte_cursor *cursor, bool by_thread,
                                  struct tg_chunk_kind_entry *entry)
{
    uint64_t n_fields = 0;
    struct shape shapes[TG_CHUNK_MAX_FIELDS];
    char name[NAME_BYTES];
    entry->by_thread = by_thread;
    struct tg_error *error = read_kind_numbers(cursor, entry, &n_fields);
    if (error == NULL)
        error = prepare_fields(entry);
    if (error == NULL)
        error = read_shapes(cursor, entry, n_fields, shapes);
    if (error == NULL && by_thread)
        error = tg_packed_column_open(cursor, "stops of a kind", entry->n_events, true, &entry->stop);
    if (error == NULL && entry->indexed)
        error =
            tg_packed_column_open(cursor, "row index of a kind", entry->n_events, by_thread, &entry->index);
    for (uint64_t f = 0; error == NULL && f < n_fields; f++) {
        bool known = entry->schema != NULL && f < entry->schema->n_fields;
        name_field(name, entry, f);
        error =
            read_field(cursor, name, entry->n_rows, &shapes[f], by_thread, known ? &entry->fields[f] : NULL);
    }
    return error;
}

static struct tg_error *prepare_kinds(struct tg_chunk_directory *directory, size_t n)
{
    size_t before = directory->kind_capacity;
    struct tg_error *error = TG_ARRAY_RESERVE(directory->kinds, directory->kind_capacity, n);
    for (size_t i = before; i < directory->kind_capacity; i++)
        directory->kinds[i] = NULL;
    for (size_t i = 0; error == NULL && i < n; i++) {
        if (directory->kinds[i] == NULL)
            directory->kinds[i] = calloc(1, sizeof *directory->kinds[i]);
        if (directory->kinds[i] == NULL)
            error = tg_error_no_memory();
    }
    return error;
}

static struct tg_error *read_kinds(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor,
                                   uint32_t n_events)
{
    uint64_t n = 0, sum = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "number of kinds", TG_CHUNK_MAX_KINDS, &n);
    if (error == NULL)
        error = prepare_kinds(directory, (size_t)n);
    for (uint64_t i = 0; error == NULL && i < n; i++) {
        error = read_kind(cursor, directory->by_thread, directory->kinds[i]);
        for (uint64_t other = 0; error == NULL && other < i; other++)
            if (directory->kinds[other]->number == directory->kinds[i]->number)
                error = tg_byte_cursor_error(cursor, "kind number", "twice in one chunk");
        sum += directory->kinds[i]->n_events;
    }
    if (error == NULL && sum != n_events)
        error = tg_byte_cursor_error(cursor, "number of events of the kinds", "differs from the header");
    directory->n_kinds = (size_t)n;
    return error;
}

static struct tg_error *read_units(struct tg_byte_cursor *cursor, struct tg_trace_units *units)
{
    uint64_t time = 0, stop = 0;
    struct tg_error *error =
        tg_byte_cursor_varint(cursor, "unit of times", TG_TRACE_META_MAX_TIME_SHIFT, &time);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "unit of stops", TG_TRACE_META_MAX_TIME_SHIFT, &stop);
    if (error == NULL && stop < time)
        error = tg_byte_cursor_error(cursor, "unit of stops", "less than the unit of times");
    *units = (struct tg_trace_units){(unsigned)time, (unsigned)stop};
    return error;
}

struct tg_error *tg_chunk_directory_read(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor,
                                         uint32_t n_events, bool by_thread)
{
    directory->by_thread = by_thread;
    struct tg_error *error = read_strings(directory, cursor);
    if (error == NULL)
        error = read_threads(directory, cursor);
    if (error == NULL && by_thread)
        error = read_units(cursor, &directory->units);
    if (error == NULL)
        error = read_kinds(directory, cursor, n_events);
    size_t n_columns = by_thread ? TG_COMMON_STOP : TG_COMMON_COLUMNS;
    for (size_t c = 0; error == NULL && c < n_columns; c++)
        error = tg_packed_column_open(cursor, common_names[c], n_events, by_thread, &directory->common[c]);
    if (error == NULL && cursor->position != cursor->end)
        error = tg_byte_cursor_error(cursor, "end of the columns", "trailing bytes");
    return error;
}
