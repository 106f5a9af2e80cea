/* Rows of a report that are a table in its text and an array of objects in its JSON: one list of fields
 * says both. */
#ifndef TG_ANALYZER_REPORT_FIELDS_H
#define TG_ANALYZER_REPORT_FIELDS_H

#include "analyzer/report/page.h"
#include "format/base/json_writer.h"

/* Type of a row's member, and how it is shown. */
enum tg_report_form {
    TG_FORM_COUNT,    /* uint64_t: 1,234 */
    TG_FORM_NUMBER,   /* uint64_t: 1234, a name rather than a count */
    TG_FORM_SIZE,     /* size_t, as a count */
    TG_FORM_INT32,    /* int32_t */
    TG_FORM_INT64,    /* int64_t */
    TG_FORM_DURATION, /* uint64_t: nanoseconds */
    TG_FORM_MOMENT,   /* uint64_t: nanoseconds, relative to the start of the trace where shown */
    TG_FORM_TEXT,     /* const char *, untrusted */
    TG_FORM_CHARS,    /* char[], printable */
    TG_FORM_WHERE,    /* char[], printable: a place in the code; null in JSON where it has no name */
    TG_FORM_FLAG,     /* bool, in JSON alone */
    TG_FORM_MARK,     /* bool, in JSON alone, and only where it is true */
    TG_FORM_ADDRESS,  /* uint64_t, in JSON alone */
    TG_FORM_CODE,     /* uint64_t, in JSON alone: null where it is 0 */
    TG_FORM_PROCESS,  /* size_t, in JSON alone: an index in the process model, null where there is none */
    TG_FORM_KIND,     /* enum tg_event_kind */
};

struct tg_report_field {
    const char *heading; /* column heading, as for tg_text_table_create; NULL: JSON only */
    const char *key;     /* JSON member; NULL: table only */
    enum tg_report_form form;
    size_t offset;    /* of the member, in a row */
    const char *zero; /* shown in the table for 0; NULL: as other numbers */
};

enum { TG_REPORT_MAX_FIELDS = 24 };

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
