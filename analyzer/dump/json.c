/* JSON: one object per line. */
#include "analyzer/dump/code_texts.h"
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
#include "analyzer/dump/labels.h"
#include "analyzer/dump/line.h"
#include "format/base/json_writer.h"

#include <stdlib.h>

/* The members "pid", "tid" and the key of "kind", of a thread. */
struct thread {
    int32_t pid, tid;
    struct tg_dump_piece words;
};

struct json {
    struct tg_dump_line line;
    struct tg_dump_labels labels;
    struct tg_code_texts codes;
    struct thread threads[TG_DUMP_THREADS]; /* each has one place, which it may share */
};

static int write_kind(char *text, size_t size, const char *name)
{
    return snprintf(text, size, "%s\"", name);
}

static int write_before(char *text, size_t size, const struct tg_field *field)
{
    return snprintf(text, size, ", \"%s\": %s", field->name,
                    field->type == TG_FIELD_ADDRESS || field->type == TG_FIELD_STRING ? "\"" : "");
}

static int write_value(char *text, size_t size, const char *name)
{
    return snprintf(text, size, "\"%s\"", name);
}

static const struct tg_dump_wording wording = {write_kind, write_before, write_value, NULL};

static struct tg_error *begin(struct tg_dump *dump)
{
    struct json *state = calloc(1, sizeof *state);
    dump->state = state;
    if (state == NULL)
        return tg_error_no_memory();
    tg_dump_line_begin(&state->line, dump->stream);
    tg_dump_labels_init(&state->labels, &wording);
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

/* TEXT, whose first quotation mark is there, and the other one. */
static void put_string(struct tg_dump_line *line, const struct tg_field *field, const void *payload)
{
    const char *text;
    size_t size;
    memcpy(&text, (const char *)payload + field->offset, sizeof text);
    if (tg_dump_is_plain(text, &size)) {
        tg_dump_line_put(line, text, size);
        PUT(line, "\"");
        return;
    }
    line->size--;
    put_value(line, field, payload);
}

static char *put_enum(char *to, const struct tg_dump_label *label, uint64_t value)
{
    return value < label->n_names ? tg_dump_put_piece(to, &label->names[value])
                                  : tg_dump_put_decimal(to, value);
}

static inline void put_field(struct tg_dump_line *line, const struct tg_dump_label *label,
                             const void *payload)
{
    uint64_t value;
    char *to = tg_dump_put_piece(tg_dump_line_room(line), &label->before);
    memcpy(&value, (const char *)payload + label->offset, sizeof value);
    switch (label->form) {
    case TG_DUMP_UNSIGNED:
        to = tg_dump_put_decimal(to, value);
        break;
    case TG_DUMP_SIGNED:
        to = tg_dump_put_signed(to, (int64_t)value);
        break;
    case TG_DUMP_ADDRESS:
        to = tg_dump_put_hex(to, value);
        *to++ = '"';
        break;
    case TG_DUMP_STRING:
        tg_dump_line_end(line, to);
        put_string(line, label->field, payload);
        return;
    case TG_DUMP_ENUM:
        to = put_enum(to, label, value);
        break;
    case TG_DUMP_BOOL:
        memcpy(to, value != 0 ? "true " : "false", 5);
        to += 4 + (value == 0);
        break;
    case TG_DUMP_OTHER:
        tg_dump_line_end(line, to);
        put_value(line, label->field, payload);
        return;
    }
    tg_dump_line_end(line, to);
}

static void write_name(FILE *stream, const struct tg_field *field, const struct tg_code_name *name)
{
    struct tg_json json;
    tg_json_init_inside(&json, stream);
    tg_event_json_name(&json, field, name);
}

static const struct tg_dump_piece *find_thread(struct json *state, const struct tg_event *event)
{
    struct thread *thread = &state->threads[tg_dump_thread_place(event->tid)];
    if (thread->words.size == 0 || thread->tid != event->tid || thread->pid != event->pid) {
        thread->pid = event->pid;
        thread->tid = event->tid;
        char *text = thread->words.text;
        thread->words.size =
            (uint8_t)snprintf(text, sizeof thread->words.text, ", \"pid\": %d, \"tid\": %d, \"kind\": \"",
                              event->pid, event->tid);
    }
    return &thread->words;
}

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct json *state = dump->state;
    struct tg_dump_line *line = &state->line;
    const struct tg_dump_kind_labels *labels;
    struct tg_error *error = tg_dump_labels_of(&state->labels, event->kind, &labels);
    (void)entry;
    if (error != NULL)
        return error;
    static const struct tg_dump_piece moment = {"{\"t_ns\": ", sizeof "{\"t_ns\": " - 1},
                                      stop = {", \"stop_ns\": ", sizeof ", \"stop_ns\": " - 1};
    char *to = tg_dump_put_decimal(tg_dump_put_piece(tg_dump_line_room(line), &moment), event->time_ns);
    if (event->stop_ns != 0)
        to = tg_dump_put_decimal(tg_dump_put_piece(to, &stop), event->stop_ns);
    to = tg_dump_put_piece(tg_dump_put_piece(to, find_thread(state, event)), &labels->name);
    tg_dump_line_end(line, to);
    for (size_t i = 0; i < labels->n_fields; i++) {
        const struct tg_dump_label *label = &labels->fields[i];
        put_field(line, label, TG_EVENT_PAYLOAD(event));
        if (label->is_code && dump->names != NULL)
            error = tg_code_texts_put(&state->codes, write_name, event, label, dump->names, line);
        if (error != NULL)
            return error;
    }
    PUT(line, "}\n");
    return NULL;
}

static struct tg_error *end(struct tg_dump *dump)
{
    struct json *state = dump->state;
    if (state == NULL)
        return NULL;
    tg_dump_line_flush(&state->line);
    tg_dump_labels_deinit(&state->labels);
    tg_code_texts_deinit(&state->codes);
    free(state);
    return NULL;
}

const struct tg_dump_format tg_dump_json = {.name = "json", .begin = begin, .event = write_event, .end = end};
