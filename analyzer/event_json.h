/* Payloads of events as JSON, by the schema alone. */
#ifndef TG_ANALYZER_EVENT_JSON_H
#define TG_ANALYZER_EVENT_JSON_H

#include "format/event.h"
#include "format/json_writer.h"

/*
 * Adds the fields of PAYLOAD to the object that JSON is in, in schema order: numbers, "0x..." addresses,
 * names of enum values (a number where unknown), booleans, arrays of objects, and arrays of strings where an
 * element is one string.
 */
void tg_event_json_fields(struct tg_json *json, const struct tg_record_schema *schema, const void *payload);

#endif
