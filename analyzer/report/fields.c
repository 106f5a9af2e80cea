#include "analyzer/report/fields.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

static const void *row_at(const struct tg_report_rows *rows, size_t i)
{
    if (rows->item_bytes == 0)
        return ((const void *const *)rows->items)[i];
    return (const char *)rows->items + i * rows->item_bytes;
}

/* Member OFFSET of ROW, a number of whatever width. */
static uint64_t number_of(const void *row, const struct tg_report_field *field)
{
    const char *member = (const char *)row + field->offset;
    uint64_t wide = 0;
    int64_t number = 0;
    int32_t narrow = 0;
    bool flag = false;
    enum tg_event_kind kind = 0;
    size_t size = 0;
    switch (field->form) {
    case TG_FORM_INT32:
        memcpy(&narrow, member, sizeof narrow);
        return (uint64_t)(int64_t)narrow;
    case TG_FORM_INT64:
        memcpy(&number, member, sizeof number);
        return (uint64_t)number;
    case TG_FORM_FLAG:
    case TG_FORM_MARK:
        memcpy(&flag, member, sizeof flag);
        return flag;
    case TG_FORM_KIND:
        memcpy(&kind, member, sizeof kind);
        return kind;
    case TG_FORM_SIZE:
    case TG_FORM_PROCESS:
        memcpy(&size, member, sizeof size);
        return size;
    case TG_FORM_COUNT:
    case TG_FORM_NUMBER:
    case TG_FORM_DURATION:
    case TG_FORM_MOMENT:
    case TG_FORM_ADDRESS:
    case TG_FORM_CODE:
        memcpy(&wide, member, sizeof wide);
        return wide;
    case TG_FORM_TEXT:
    case TG_FORM_CHARS:
    case TG_FORM_WHERE:
        break;
    }
    return 0;
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

static const char *print_cell(const struct tg_report_page *page, const struct tg_report_field *field,
                              const void *row, char buffer[CELL_SIZE])
{
    uint64_t number = number_of(row, field);
    bool is_text =
        field->form == TG_FORM_TEXT || field->form == TG_FORM_CHARS || field->form == TG_FORM_WHERE;
    if (field->zero != NULL && (is_text ? *text_of(row, field) == '\0' : number == 0))
        return field->zero;
    switch (field->form) {
    case TG_FORM_COUNT:
    case TG_FORM_SIZE:
        return tg_quantity_count(number, buffer);
    case TG_FORM_NUMBER:
        snprintf(buffer, CELL_SIZE, "%" PRIu64, number);
        break;
    case TG_FORM_INT32:
    case TG_FORM_INT64:
        snprintf(buffer, CELL_SIZE, "%" PRId64, (int64_t)number);
        break;
    case TG_FORM_DURATION:
        return tg_quantity_duration(number, buffer);
    case TG_FORM_MOMENT:
        return tg_quantity_moment(number, page->report->start_ns, 6, buffer);
    case TG_FORM_TEXT:
        return tg_printable(text_of(row, field), buffer, CELL_SIZE);
    case TG_FORM_CHARS:
    case TG_FORM_WHERE:
        return text_of(row, field);
    case TG_FORM_KIND:
        return tg_event_kind_name((enum tg_event_kind)number);
    case TG_FORM_FLAG:
    case TG_FORM_MARK:
    case TG_FORM_ADDRESS:
    case TG_FORM_CODE:
    case TG_FORM_PROCESS:
        buffer[0] = '\0';
        break;
    }
    return buffer;
}

static struct tg_error *add_row(const struct tg_report_page *page, const struct tg_report_field *fields,
                                const void *row, struct tg_text_table *table)
{
    char buffers[TG_TEXT_TABLE_MAX_COLUMNS][CELL_SIZE];
    const char *cells[TG_TEXT_TABLE_MAX_COLUMNS];
    size_t n = 0;
    for (const struct tg_report_field *field = fields; field->heading != NULL || field->key != NULL;
         field++) {
        if (field->heading == NULL)
            continue;
        cells[n] = print_cell(page, field, row, buffers[n]);
        n++;
    }
    return tg_text_table_add(table, cells);
}

struct tg_error *tg_report_table(const struct tg_report_page *page, const struct tg_report_rows *rows,
                                 size_t shown)
{
    const char *headings[TG_TEXT_TABLE_MAX_COLUMNS + 1] = {NULL};
    size_t n = 0;
    for (const struct tg_report_field *field = rows->fields; field->heading != NULL || field->key != NULL;
         field++)
        if (field->heading != NULL)
            headings[n++] = field->heading;
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    for (size_t i = 0; error == NULL && i < rows->count && i < shown; i++)
        error = add_row(page, rows->fields, row_at(rows, i), table);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- JSON */

static void write_member(struct tg_json *json, const struct tg_report *report,
                         const struct tg_report_field *field, const void *row)
{
    uint64_t number = number_of(row, field);
    const char *text;
    if (field->form == TG_FORM_MARK && number == 0)
        return;
    if (field->form == TG_FORM_MOMENT) {
        tg_report_member_moment(json, field->key, report, number);
        return;
    }
    tg_json_key(json, field->key);
    switch (field->form) {
    case TG_FORM_COUNT:
    case TG_FORM_NUMBER:
    case TG_FORM_SIZE:
    case TG_FORM_DURATION:
    case TG_FORM_MOMENT:
        tg_json_unsigned(json, number);
        break;
    case TG_FORM_INT32:
    case TG_FORM_INT64:
        tg_json_signed(json, (int64_t)number);
        break;
    case TG_FORM_TEXT:
    case TG_FORM_CHARS:
        tg_json_string(json, text_of(row, field));
        break;
    case TG_FORM_WHERE:
        text = text_of(row, field);
        if (strncmp(text, "0x", 2) == 0 || strcmp(text, "?") == 0)
            tg_json_null(json);
        else
            tg_json_string(json, text);
        break;
    case TG_FORM_FLAG:
    case TG_FORM_MARK:
        tg_json_bool(json, number != 0);
        break;
    case TG_FORM_CODE:
    case TG_FORM_ADDRESS:
        if (number == 0 && field->form == TG_FORM_CODE)
            tg_json_null(json);
        else
            tg_json_address(json, number);
        break;
    case TG_FORM_PROCESS:
        if (number < tg_process_model_count(report->processes))
            tg_json_unsigned(json, number);
        else
            tg_json_null(json);
        break;
    case TG_FORM_KIND:
        tg_json_string(json, tg_event_kind_name((enum tg_event_kind)number));
        break;
    }
}

void tg_report_array(struct tg_json *json, const struct tg_report *report, const char *key,
                     const struct tg_report_rows *rows)
{
    tg_json_key(json, key);
    tg_json_begin_array(json);
    for (size_t i = 0; i < rows->count; i++) {
        tg_json_begin_object(json);
        for (const struct tg_report_field *field = rows->fields; field->heading != NULL || field->key != NULL;
             field++)
            if (field->key != NULL)
                write_member(json, report, field, row_at(rows, i));
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

void tg_report_member_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                             uint64_t time_ns)
{
    tg_json_member_signed(json, key, (int64_t)(time_ns - report->start_ns));
}
