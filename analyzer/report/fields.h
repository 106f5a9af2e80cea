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
    TG_FORM_TEXT,     /* const char *, untrusted; null in JSON where it is NULL */
    TG_FORM_CHARS,    /* char[], printable */
    TG_FORM_WHERE,    /* char[], printable: a place in the code; null in JSON where it has no name */
    /* in JSON only: */
    TG_FORM_FLAG,    /* bool */
    TG_FORM_MARK,    /* bool, left out where it is false */
    TG_FORM_ADDRESS, /* unsigned */
    TG_FORM_CODE,    /* unsigned: an address, null where it is 0 */
    TG_FORM_PROCESS, /* size_t: an index in the process model, null where there is none */
    TG_FORM_MAYBE,   /* struct tg_report_maybe */
    TG_FORM_NAME,    /* struct tg_report_name */
    TG_FORM_RANKS,   /* struct tg_report_ranks: an array of numbers */
    TG_FORM_OBJECT,  /* pointer to a row of NESTED, null where it is NULL */
};

/* A signed number that may be unknown: null. */
struct tg_report_maybe {
    bool is_known;
    int64_t number;
};

/* The name of a value; where it has none (NULL) the number. */
struct tg_report_name {
    const char *name;
    uint64_t number;
};

struct tg_report_ranks {
    const int64_t *items;
    size_t count;
};

struct tg_report_field {
    const char *heading; /* column heading, as for tg_text_table_create; NULL: JSON only */
    const char *key;     /* JSON member; NULL: table only */
    enum tg_report_form form;
    size_t offset, bytes; /* of the member, in a row */
    const char *zero;     /* shown in the table for 0 or an empty text; NULL: nothing special */
    const struct tg_report_field *nested; /* of TG_FORM_OBJECT */
};

#define TG_FIELD_ELSE(row, heading, key, form, member, zero)                                                 \
    {                                                                                                        \
        heading, key, TG_FORM_##form, offsetof(row, member), sizeof(((row *)NULL)->member), zero, NULL       \
    }
#define TG_FIELD_OBJECT(row, key, member, nested)                                                            \
    {                                                                                                        \
        NULL, key, TG_FORM_OBJECT, offsetof(row, member), sizeof(((row *)NULL)->member), NULL, nested        \
    }
#define TG_FIELD(row, heading, key, form, member) TG_FIELD_ELSE(row, heading, key, form, member, NULL)

/* FIELDS end with one that is all zero. Columns and members come in their order; one of another order in
 * JSON is in the list twice. */
struct tg_report_rows {
    const struct tg_report_field *fields;
    const void *items;
    size_t count;
    size_t item_bytes; /* 0: ITEMS are pointers to rows */
};

/* How a table looks. */
struct tg_report_look {
    FILE *stream;
    uint64_t start_ns; /* moments are relative to it */
    bool colour;
    size_t columns; /* width that lines are cut to, 0 no limit */
};

/* A table of the first SHOWN rows; nothing where there are none. Only error: NO_MEMORY. */
struct tg_error *tg_report_table_write(const struct tg_report_look *look, const struct tg_report_rows *rows,
                                       size_t shown);
/* The same on a page, whatever its width. */
struct tg_error *tg_report_table(const struct tg_report_page *page, const struct tg_report_rows *rows,
                                 size_t shown);
/* A member KEY that is an array of all rows. */
void tg_report_array(struct tg_json *json, const struct tg_report *report, const char *key,
                     const struct tg_report_rows *rows);
/* The members of one ROW of FIELDS; the object around them is the caller's. */
void tg_report_members(struct tg_json *json, const struct tg_report *report,
                       const struct tg_report_field *fields, const void *row);

/* Writes how CODE of PROCESS is shown to BUFFER: its name, or 0x...; "?" where it is 0. SIZE is at least
 * 256. */
void tg_report_name_code(const struct tg_report *report, size_t process, uint64_t code, char *buffer,
                         size_t size);

/* Order of rows: by job, by rank, by index in the process model. Less than, equal to or greater than 0. */
struct tg_report_owner {
    const char *job;
    int64_t rank;
    size_t process;
};
int tg_report_compare_owners(struct tg_report_owner a, struct tg_report_owner b);

/* A member that is a moment: nanoseconds since the start of the trace, negative before it. */
void tg_report_member_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                             uint64_t time_ns);

#endif
