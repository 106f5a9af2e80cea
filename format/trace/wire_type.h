/* How a field's values are coded in the file; part of the trace format (docs/trace-format.md). */
#ifndef TG_FORMAT_TRACE_WIRE_TYPE_H
#define TG_FORMAT_TRACE_WIRE_TYPE_H

#include "format/event/event.h"

enum tg_wire_type {
    TG_WIRE_UNSIGNED = 0,
    TG_WIRE_SIGNED = 1,  /* zigzag */
    TG_WIRE_ADDRESS = 2, /* zigzag of the difference to the value before in the column */
    TG_WIRE_STRING = 3,  /* id in the chunk's string table */
    TG_WIRE_LIST = 4,    /* a column of counts, then a column for each field of the element */
    TG_WIRE_LAST = TG_WIRE_LIST,
};

static inline enum tg_wire_type tg_wire_type(enum tg_field_type type)
{
    switch (type) {
    case TG_FIELD_UNSIGNED:
    case TG_FIELD_ENUM:
    case TG_FIELD_BOOL:
        return TG_WIRE_UNSIGNED;
    case TG_FIELD_SIGNED:
        return TG_WIRE_SIGNED;
    case TG_FIELD_ADDRESS:
        return TG_WIRE_ADDRESS;
    case TG_FIELD_STRING:
        return TG_WIRE_STRING;
    case TG_FIELD_LIST:
        return TG_WIRE_LIST;
    }
    return TG_WIRE_UNSIGNED;
}

/* Number of columns that FIELD takes. */
static inline size_t tg_field_columns(const struct tg_field *field)
{
    return field->type == TG_FIELD_LIST ? 1 + field->element->n_fields : 1;
}

#endif
