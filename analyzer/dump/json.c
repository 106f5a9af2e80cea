/* JSON: one object per line. */
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
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

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    (void)entry;
    struct tg_json json;
    tg_json_init(&json, dump->stream, false);
    tg_json_begin_object(&json);
    tg_json_member_unsigned(&json, "t_ns", event->time_ns);
    if (event->stop_ns != 0)
        tg_json_member_unsigned(&json, "stop_ns", event->stop_ns);
    tg_json_member_signed(&json, "pid", event->pid);
    tg_json_member_signed(&json, "tid", event->tid);
    tg_json_member_string(&json, "kind", tg_event_kind_name(event->kind));
    tg_event_json_payload(&json, event, dump->names);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return NULL;
}

const struct tg_dump_format tg_dump_json = {.name = "json", .begin = begin, .event = write_event};
