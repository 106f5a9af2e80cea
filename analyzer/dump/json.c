/* JSON: one object per line. */
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
#include "analyzer/dump/line.h"
#include "format/base/json_writer.h"

static struct tg_error *begin(struct tg_dump *dump)
{
    if (!dump->with_meta)
        return NULL;
    struct tg_json json;
    tg_json_init(&json, dump->stream, false);
    tg_json_begin_object(&json);
    tg_json_key(&json, "meta");
    tg_json_begin_object(&json);
    for (size_t i = 0; i < tg_trace_meta_count(dump->meta); i++)
        tg_json_member_string(&json, tg_trace_meta_key_at(dump->meta, i),
                              tg_trace_meta_value_at(dump->meta, i));
    tg_json_end_object(&json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return NULL;
}

#define PUT(line, words) tg_dump_line_put(line, words, sizeof(words) - 1)

/* By the JSON writer, what is not put together here. */
static void put_value(struct tg_dump_line *line, const struct tg_field *field, const void *payload)
{
    struct tg_json json;
    tg_dump_line_flush(line);
    tg_json_init(&json, line->stream, false);
    tg_event_json_value(&json, field, payload);
}

static bool is_plain(const char *text, size_t *size)
{
    size_t i = 0;
    while (text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\')
        i++;
    *size = i;
    return text[i] == '\0';
}

static void put_string(struct tg_dump_line *line, const struct tg_field *field, const void *payload)
{
    const char *text;
    size_t size;
    memcpy(&text, (const char *)payload + field->offset, sizeof text);
    if (!is_plain(text, &size)) {
        put_value(line, field, payload);
        return;
    }
    PUT(line, "\"");
    tg_dump_line_put(line, text, size);
    PUT(line, "\"");
}

static void put_enum(struct tg_dump_line *line, const struct tg_field *field, uint64_t value)
{
    const char *name = tg_field_value_name(field, value);
    if (name == NULL) {
        tg_dump_line_decimal(line, value, 1);
        return;
    }
    PUT(line, "\"");
    tg_dump_line_words(line, name);
    PUT(line, "\"");
}

static void put_field(struct tg_dump_line *line, const struct tg_field *field, const void *payload)
{
    uint64_t value;
    PUT(line, ", \"");
    tg_dump_line_put(line, field->name, field->name_bytes);
    PUT(line, "\": ");
    memcpy(&value, (const char *)payload + field->offset, sizeof value);
    switch (field->type) {
    case TG_FIELD_UNSIGNED:
        tg_dump_line_decimal(line, value, 1);
        break;
    case TG_FIELD_SIGNED:
        tg_dump_line_signed(line, (int64_t)value);
        break;
    case TG_FIELD_ADDRESS:
        PUT(line, "\"");
        tg_dump_line_hex(line, value);
        PUT(line, "\"");
        break;
    case TG_FIELD_STRING:
        put_string(line, field, payload);
        break;
    case TG_FIELD_ENUM:
        put_enum(line, field, value);
        break;
    case TG_FIELD_BOOL:
        tg_dump_line_words(line, value != 0 ? "true" : "false");
        break;
    case TG_FIELD_LIST:
        put_value(line, field, payload);
        break;
    }
}

static void put_names(struct tg_dump *dump, struct tg_dump_line *line, const struct tg_event *event,
                      const struct tg_field *field)
{
    struct tg_json json;
    tg_dump_line_flush(line);
    tg_json_init_inside(&json, dump->stream);
    tg_event_json_names(&json, event, field, dump->names);
}

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct tg_dump_line room, *line = &room;
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    (void)entry;
    tg_dump_line_begin(line, dump->stream);
    PUT(line, "{\"t_ns\": ");
    tg_dump_line_decimal(line, event->time_ns, 1);
    if (event->stop_ns != 0) {
        PUT(line, ", \"stop_ns\": ");
        tg_dump_line_decimal(line, event->stop_ns, 1);
    }
    PUT(line, ", \"pid\": ");
    tg_dump_line_signed(line, event->pid);
    PUT(line, ", \"tid\": ");
    tg_dump_line_signed(line, event->tid);
    PUT(line, ", \"kind\": \"");
    tg_dump_line_words(line, schema->name);
    PUT(line, "\"");
    for (size_t i = 0; i < schema->n_fields; i++) {
        put_field(line, &schema->fields[i], TG_EVENT_PAYLOAD(event));
        if (dump->names != NULL && schema->fields[i].type == TG_FIELD_ADDRESS)
            put_names(dump, line, event, &schema->fields[i]);
    }
    PUT(line, "}\n");
    tg_dump_line_flush(line);
    return NULL;
}

const struct tg_dump_format tg_dump_json = {.name = "json", .begin = begin, .event = write_event};
