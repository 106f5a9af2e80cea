/* Words that come again with every event of a kind: what comes before each value, and the names of an enum's values. They are put
 * together when the first event of the kind comes. */
#ifndef TG_ANALYZER_DUMP_LABELS_H
#define TG_ANALYZER_DUMP_LABELS_H

#include "analyzer/dump/line.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>

/* How the value of a field is written. */
enum tg_dump_form {
    TG_DUMP_UNSIGNED,
    TG_DUMP_SIGNED,
    TG_DUMP_ADDRESS,
    TG_DUMP_STRING,
    TG_DUMP_ENUM,
    TG_DUMP_BOOL,
    TG_DUMP_OTHER, /* what is rare: a format's own function */
};

struct tg_dump_label {
    struct tg_dump_piece before; /* the value */
    enum tg_dump_form form;
    size_t offset;  /* of the value in the payload */
    bool is_code;   /* an address that may have a name */
    size_t n_names; /* of an enum's values */
    struct tg_dump_piece *names;
    const struct tg_field *field;
};

struct tg_dump_kind_labels {
    struct tg_dump_piece name; /* of the kind */
    size_t n_fields;
    struct tg_dump_label fields[TG_EVENT_MAX_FIELDS];
};

/* What a format makes of the schema; each writes to TEXT as snprintf does and returns the same. */
struct tg_dump_wording {
    int (*kind)(char *text, size_t size, const char *name);
    int (*before)(char *text, size_t size, const struct tg_field *field);
    int (*value)(char *text, size_t size, const char *name);
    enum tg_dump_form (*form)(
        const struct tg_field *field); /* NULL: that of the field's type, lists are TG_DUMP_OTHER */
};

struct tg_dump_labels {
    const struct tg_dump_wording *wording;
    struct tg_dump_kind_labels *kinds[UINT8_MAX]; /* by place of the kind; NULL: none came yet */
};

void tg_dump_labels_init(struct tg_dump_labels *labels, const struct tg_dump_wording *wording);
void tg_dump_labels_deinit(struct tg_dump_labels *labels);

/* Makes the labels of KIND. */
struct tg_error *tg_dump_labels_make(struct tg_dump_labels *labels, unsigned kind);

/* The form of values of FIELD's type. */
enum tg_dump_form tg_dump_form_of(const struct tg_field *field);

/* The labels of KIND. The only error: NO_MEMORY. */
static inline struct tg_error *tg_dump_labels_of(struct tg_dump_labels *labels, unsigned kind,
                                                 const struct tg_dump_kind_labels **found)
{
    size_t place = tg_event_kind_place(kind);
    struct tg_error *error = labels->kinds[place] != NULL ? NULL : tg_dump_labels_make(labels, kind);
    *found = labels->kinds[place];
    return error;
}

#endif
