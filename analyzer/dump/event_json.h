/* Payloads of events as JSON, by the schema alone. */
#ifndef TG_ANALYZER_DUMP_EVENT_JSON_H
#define TG_ANALYZER_DUMP_EVENT_JSON_H

#include "analyzer/output/code_names.h"
#include "format/base/json_writer.h"
#include "format/event/event.h"

/* Adds the value of FIELD in PAYLOAD. */
void tg_event_json_value(struct tg_json *json, const struct tg_field *field, const void *payload);

/* Adds to the object that JSON is in what is known of the code at the address in FIELD, which is called NAME: FIELD_object,
 * FIELD_function, FIELD_offset, FIELD_file, FIELD_line, as far as they are known. */
void tg_event_json_name(struct tg_json *json, const struct tg_field *field, const struct tg_code_name *name);

/* Adds the fields of EVENT's payload to the object that JSON is in, in schema order: numbers, "0x..."
 * addresses, names of enum values (a number where unknown), booleans, arrays of objects, and arrays of
 * strings where an element is one string; behind each field what NAMES (NULL: nothing) knows of it. */
void tg_event_json_payload(struct tg_json *json, const struct tg_event *event, struct tg_code_names *names);

#endif
