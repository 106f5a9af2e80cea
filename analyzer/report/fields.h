/* Rows of a report that are a table in its text and an array of objects in its JSON: one list of fields
 * says both. */
#ifndef TG_ANALYZER_REPORT_FIELDS_H
#define TG_ANALYZER_REPORT_FIELDS_H

#include "analyzer/report/page.h"
#include "format/base/json_writer.h"

/* Type of a row's member, and how it is shown. */
enum tg_report_form {
    TG_FORM_COUNT,    /* unsigned: 1,234 */
    TG_FORM_NUMBER,   /* unsigned: 1234, a name rather than a count */
    TG_FORM_SIGNED,   /* signed */
    TG_FORM_DURATION, /* unsigned: nanoseconds */
    TG_FORM_MOMENT,   /* unsigned: nanoseconds, relative to the start of the trace where shown */
    TG_FORM_KIND,     /* enum tg_event_kind */
    TG_FORM_TEXT,     /* const char *, untrusted */
    TG_FORM_CHARS,    /* char[], printable */
    TG_FORM_WHERE,    /* char[], printable: a place in the code; null in JSON where it has no name */
    /* in JSON only: */
    TG_FORM_FLAG,    /* bool */
    TG_FORM_MARK,    /* bool, left out where it is false */
    TG_FORM_ADDRESS, /* unsigned */
    TG_FORM_CODE,    /* unsigned: an address, null where it is 0 */
    TG_FORM_PROCESS, /* size_t: an index in the process model, null where there is none */
};

struct tg_report_field {
    const char *heading; /* column heading, as for tg_text_table_create; NULL: JSON only */
    const char *key;     /* JSON member; NULL: table only */
    enum tg_report_form form;
    size_t offset, bytes; /* of the member, in a row */
    const char *zero;     /* shown in the table for 0 or an empty text; NULL: nothing special */
};

#define TG_FIELD_ELSE(row, heading, key, form, member, zero)                                                 \
    {                                                                                                        \
        heading, key, TG_FORM_##form, offsetof(row, member), sizeof(((row *)NULL)->member), zero             \
    }
#define TG_FIELD(row, heading, key, form, member) TG_FIELD_ELSE(row, heading, key, form, member, NULL)

/* FIELDS end with one that is all zero. Columns and members come in their order; one of another order in
 * JSON stands in the list twice. */
struct tg_report_rows {
    const struct tg_report_field *fields;
    const void *items;
    size_t count;
    size_t item_bytes; /* 0: ITEMS are pointers to rows */
};

/* A table of the first SHOWN rows, within the page's width; nothing where there are none. Only error:
 * NO_MEMORY. */
struct tg_error *tg_report_table(const struct tg_report_page *page, const struct tg_report_rows *rows,
                                 size_t shown);
/* A member KEY that is an array of all rows. */
void tg_report_array(struct tg_json *json, const struct tg_report *report, const char *key,
                     const struct tg_report_rows *rows);

/* Writes how CODE of PROCESS is shown to BUFFER: its name, or 0x...; "?" where it is 0. SIZE is at least
 * 256. */
void tg_report_name_code(const struct tg_report *report, size_t process, uint64_t code, char *buffer,
                         size_t size);

/* A member that is a moment: nanoseconds since the start of the trace, negative before it. */
void tg_report_member_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                             uint64_t time_ns);

#endif
