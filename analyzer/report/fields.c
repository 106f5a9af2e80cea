#include "analyzer/report/fields.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

static bool is_field(const struct tg_report_field *field)
{
    return field->heading != NULL || field->key != NULL;
}

static const void *row_at(const struct tg_report_rows *rows, size_t i)
{
    if (rows->item_bytes == 0)
        return ((const void *const *)rows->items)[i];
    return (const char *)rows->items + i * rows->item_bytes;
}

static bool is_text(const struct tg_report_field *field)
{
    return field->form == TG_FORM_TEXT || field->form == TG_FORM_CHARS || field->form == TG_FORM_WHERE;
}

/* FIELD of ROW, a number of whatever width. */
static uint64_t number_of(const void *row, const struct tg_report_field *field)
{
    uint64_t number = 0;
    if (is_text(field) || field->bytes > sizeof number)
        return 0;
    memcpy(&number, (const char *)row + field->offset, field->bytes); /* little-endian */
    if (field->form == TG_FORM_SIGNED && field->bytes == sizeof(int32_t))
        return (uint64_t)(int64_t)(int32_t)number;
    return number;
}

static const char *text_of(const void *row, const struct tg_report_field *field)
{
    const char *member = (const char *)row + field->offset, *text;
    if (field->form != TG_FORM_TEXT)
        return member;
    memcpy(&text, member, sizeof text);
    return text;
}

/* ---- tables */

enum { CELL_SIZE = 2048 };

static const char *print_cell(const struct tg_report_look *look, const struct tg_report_field *field,
                              const void *row, char buffer[CELL_SIZE])
{
    uint64_t number = number_of(row, field);
    if (field->zero != NULL && (is_text(field) ? *text_of(row, field) == '\0' : number == 0))
        return field->zero;
    if (field->form == TG_FORM_TEXT)
        return tg_printable(text_of(row, field), buffer, CELL_SIZE);
    if (is_text(field))
        return text_of(row, field);
    if (field->form == TG_FORM_COUNT)
        return tg_quantity_count(number, buffer);
    if (field->form == TG_FORM_DURATION)
        return tg_quantity_duration(number, buffer);
    if (field->form == TG_FORM_MOMENT)
        return tg_quantity_moment(number, look->start_ns, 6, buffer);
    if (field->form == TG_FORM_KIND)
        return tg_event_kind_name((enum tg_event_kind)number);
    if (field->form == TG_FORM_SIGNED)
        snprintf(buffer, CELL_SIZE, "%" PRId64, (int64_t)number);
    else
        snprintf(buffer, CELL_SIZE, "%" PRIu64, number);
    return buffer;
}

static struct tg_error *add_row(const struct tg_report_look *look, const struct tg_report_field *fields,
                                const void *row, struct tg_text_table *table)
{
    char buffers[TG_TEXT_TABLE_MAX_COLUMNS][CELL_SIZE];
    const char *cells[TG_TEXT_TABLE_MAX_COLUMNS];
    size_t n = 0;
    for (const struct tg_report_field *field = fields; is_field(field); field++) {
        if (field->heading == NULL)
            continue;
        cells[n] = print_cell(look, field, row, buffers[n]);
        n++;
    }
    return tg_text_table_add(table, cells);
}

struct tg_error *tg_report_table_write(const struct tg_report_look *look, const struct tg_report_rows *rows,
                                       size_t shown)
{
    const char *headings[TG_TEXT_TABLE_MAX_COLUMNS + 1] = {NULL};
    size_t n = 0;
    for (const struct tg_report_field *field = rows->fields; is_field(field); field++)
        if (field->heading != NULL)
            headings[n++] = field->heading;
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, look->colour, &table);
    for (size_t i = 0; error == NULL && i < rows->count && i < shown; i++)
        error = add_row(look, rows->fields, row_at(rows, i), table);
    if (error == NULL && look->columns > 0)
        tg_text_table_limit(table, look->columns);
    if (error == NULL)
        error = tg_text_table_print(table, look->stream);
    tg_text_table_destroy(table);
    return error;
}

struct tg_error *tg_report_table(const struct tg_report_page *page, const struct tg_report_rows *rows,
                                 size_t shown)
{
    const struct tg_report_look look = {
        .stream = page->stream, .start_ns = page->report->start_ns, .colour = page->options->colour};
    return tg_report_table_write(&look, rows, shown);
}

/* ---- JSON */

/* Whether the value is null: a text, place, address or process that is not known. */
static bool is_null(const struct tg_report *report, const struct tg_report_field *field, const void *row)
{
    const char *text = is_text(field) ? text_of(row, field) : "";
    if (field->form == TG_FORM_WHERE)
        return strncmp(text, "0x", 2) == 0 || strcmp(text, "?") == 0;
    if (field->form == TG_FORM_CODE || field->form == TG_FORM_OBJECT)
        return number_of(row, field) == 0;
    if (field->form == TG_FORM_MAYBE)
        return !((const struct tg_report_maybe *)((const char *)row + field->offset))->is_known;
    return text == NULL || (field->form == TG_FORM_PROCESS &&
                            number_of(row, field) >= tg_process_model_count(report->processes));
}

/* A member of more than one word. */
static void write_compound(struct tg_json *json, const struct tg_report *report,
                           const struct tg_report_field *field, const void *member)
{
    if (field->form == TG_FORM_MAYBE) {
        tg_json_signed(json, ((const struct tg_report_maybe *)member)->number);
    } else if (field->form == TG_FORM_NAME) {
        const struct tg_report_name *name = member;
        if (name->name != NULL)
            tg_json_string(json, name->name);
        else
            tg_json_unsigned(json, name->number);
    } else if (field->form == TG_FORM_RANKS) {
        const struct tg_report_ranks *ranks = member;
        tg_json_begin_array(json);
        for (size_t i = 0; i < ranks->count; i++)
            tg_json_signed(json, ranks->items[i]);
        tg_json_end_array(json);
    } else if (field->form == TG_FORM_OBJECT) {
        const void *row;
        memcpy(&row, member, sizeof row);
        tg_json_begin_object(json);
        tg_report_members(json, report, field->nested, row);
        tg_json_end_object(json);
    }
}

static bool is_compound(const struct tg_report_field *field)
{
    return field->form >= TG_FORM_MAYBE;
}

static void write_member(struct tg_json *json, const struct tg_report *report,
                         const struct tg_report_field *field, const void *row)
{
    uint64_t number = number_of(row, field);
    if (field->form == TG_FORM_MARK && number == 0)
        return;
    tg_json_key(json, field->key);
    if (is_null(report, field, row))
        tg_json_null(json);
    else if (is_compound(field))
        write_compound(json, report, field, (const char *)row + field->offset);
    else if (is_text(field))
        tg_json_string(json, text_of(row, field));
    else if (field->form == TG_FORM_KIND)
        tg_json_string(json, tg_event_kind_name((enum tg_event_kind)number));
    else if (field->form == TG_FORM_MOMENT)
        tg_json_signed(json, (int64_t)(number - report->start_ns));
    else if (field->form == TG_FORM_SIGNED)
        tg_json_signed(json, (int64_t)number);
    else if (field->form == TG_FORM_FLAG || field->form == TG_FORM_MARK)
        tg_json_bool(json, number != 0);
    else if (field->form == TG_FORM_CODE || field->form == TG_FORM_ADDRESS)
        tg_json_address(json, number);
    else
        tg_json_unsigned(json, number);
}

void tg_report_members(struct tg_json *json, const struct tg_report *report,
                       const struct tg_report_field *fields, const void *row)
{
    for (const struct tg_report_field *field = fields; is_field(field); field++)
        if (field->key != NULL)
            write_member(json, report, field, row);
}

void tg_report_array(struct tg_json *json, const struct tg_report *report, const char *key,
                     const struct tg_report_rows *rows)
{
    tg_json_key(json, key);
    tg_json_begin_array(json);
    for (size_t i = 0; i < rows->count; i++) {
        tg_json_begin_object(json);
        tg_report_members(json, report, rows->fields, row_at(rows, i));
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

/* ---- what fields are filled with */

void tg_report_name_code(const struct tg_report *report, size_t process, uint64_t code, char *buffer,
                         size_t size)
{
    if (code == 0)
        snprintf(buffer, size, "?");
    else if (report->namer.name == NULL || process >= tg_process_model_count(report->processes))
        snprintf(buffer, size, "0x%" PRIx64, code);
    else
        report->namer.name(report->namer.context, process, code, buffer, size);
}

int tg_report_compare_owners(struct tg_report_owner a, struct tg_report_owner b)
{
    int order = strcmp(a.job, b.job);
    if (order != 0)
        return order;
    if (a.rank != b.rank)
        return a.rank < b.rank ? -1 : 1;
    return (a.process > b.process) - (a.process < b.process);
}

void tg_report_member_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                             uint64_t time_ns)
{
    tg_json_member_signed(json, key, (int64_t)(time_ns - report->start_ns));
}
