/* Events as lines for people: relative time, whose, kind, fields; what a list holds on lines below. */
#include "analyzer/dump/dump.h"
#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <string.h>

enum { KIND_WIDTH = 18, WHO_WIDTH = 24 };

static struct tg_error *begin(struct tg_dump *dump)
{
    for (size_t i = 0; dump->with_meta && i < tg_trace_meta_count(dump->meta); i++) {
        fputs("# ", dump->stream);
        tg_printable_write(dump->stream, tg_trace_meta_key_at(dump->meta, i));
        fputs(": ", dump->stream);
        tg_printable_write(dump->stream, tg_trace_meta_value_at(dump->meta, i));
        fputc('\n', dump->stream);
    }
    return NULL;
}

static bool needs_quotes(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:@%+~*";
    return *text == '\0' || text[strspn(text, plain)] != '\0';
}

static void write_string(FILE *stream, const char *text)
{
    if (needs_quotes(text))
        tg_printable_write_quoted(stream, text);
    else
        fputs(text, stream);
}

/* A duration with all its digits and the unit that it is read in. */
static void write_duration(FILE *stream, uint64_t ns)
{
    if (ns < 1000)
        fprintf(stream, "%" PRIu64 "ns", ns);
    else if (ns < 1000000)
        fprintf(stream, "%" PRIu64 ".%03" PRIu64 "us", ns / 1000, ns % 1000);
    else if (ns < 1000000000)
        fprintf(stream, "%" PRIu64 ".%06" PRIu64 "ms", ns / 1000000, ns % 1000000);
    else
        fprintf(stream, "%" PRIu64 ".%09" PRIu64 "s", ns / 1000000000, ns % 1000000000);
}

static bool is_duration(const char *name, size_t *stem)
{
    size_t length = strlen(name);
    bool is = length > 3 && strcmp(name + length - 3, "_ns") == 0;
    *stem = is ? length - 3 : length;
    return is;
}

static void write_value(FILE *stream, const struct tg_field *field, const void *record);

/* NAME=VALUE; a boolean is its name where it is true and nothing where it is not. */
static void write_field(FILE *stream, const struct tg_field *field, const void *record)
{
    if (field->type == TG_FIELD_BOOL) {
        uint64_t value;
        memcpy(&value, (const char *)record + field->offset, sizeof value);
        if (value != 0)
            fprintf(stream, " %s", field->name);
        return;
    }
    size_t stem;
    is_duration(field->name, &stem);
    fprintf(stream, " %.*s=", (int)stem, field->name);
    write_value(stream, field, record);
}

static bool holds_strings(const struct tg_field *field)
{
    return field->element->n_fields == 1 && field->element->fields[0].type == TG_FIELD_STRING;
}

static void write_strings(FILE *stream, const struct tg_field *field, const void *record)
{
    struct tg_list list;
    memcpy(&list, (const char *)record + field->offset, sizeof list);
    fputc('[', stream);
    for (uint64_t i = 0; i < list.count; i++) {
        if (i > 0)
            fputs(", ", stream);
        write_value(stream, &field->element->fields[0],
                    (const char *)list.items + i * field->element->size_bytes);
    }
    fputc(']', stream);
}

static void write_value(FILE *stream, const struct tg_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    if (field->type == TG_FIELD_LIST) {
        write_strings(stream, field, record);
        return;
    }
    if (field->type == TG_FIELD_STRING) {
        const char *text;
        memcpy(&text, at, sizeof text);
        write_string(stream, text);
        return;
    }
    uint64_t value;
    size_t stem;
    memcpy(&value, at, sizeof value);
    const char *name = field->type == TG_FIELD_ENUM ? tg_field_value_name(field, value) : NULL;
    char signal[32];
    if (name != NULL)
        fputs(name, stream);
    else if (field->type == TG_FIELD_ADDRESS)
        fprintf(stream, "0x%" PRIx64, value);
    else if (field->type == TG_FIELD_SIGNED && strcmp(field->name, "signal") == 0 &&
             strncmp(tg_signal_name((int64_t)value, signal, sizeof signal), "SIG", 3) == 0)
        fputs(signal, stream);
    else if (field->type == TG_FIELD_SIGNED)
        fprintf(stream, "%" PRId64, (int64_t)value);
    else if (is_duration(field->name, &stem))
        write_duration(stream, value);
    else
        fprintf(stream, "%" PRIu64, value);
}

/* Records of a list, each on a line of its own: its first field is what it is called. */
static void write_records(FILE *stream, const struct tg_field *field, const void *record)
{
    struct tg_list list;
    memcpy(&list, (const char *)record + field->offset, sizeof list);
    for (uint64_t i = 0; i < list.count; i++) {
        const char *item = (const char *)list.items + i * field->element->size_bytes;
        fputs("\n                    ", stream);
        write_value(stream, &field->element->fields[0], item);
        for (size_t j = 1; j < field->element->n_fields; j++)
            write_field(stream, &field->element->fields[j], item);
    }
}

/* " <function+0x1c, file.c:12>" */
static void write_symbol(FILE *stream, const struct tg_symbol *symbol)
{
    fputs(" <", stream);
    if (symbol->function != NULL) {
        tg_printable_write(stream, symbol->function);
        fprintf(stream, "+0x%" PRIx64, symbol->offset);
    }
    if (symbol->file != NULL) {
        fputs(symbol->function != NULL ? ", " : "", stream);
        tg_printable_write(stream, tg_event_headline_base_name(symbol->file));
        fprintf(stream, ":%" PRIu64, symbol->line);
    }
    fputc('>', stream);
}

/* " <solve+0x1c, solver.c:120>" behind a frame whose code has a name here. */
static void write_frame_name(const struct tg_dump *dump, const struct tg_stack_frame *frame)
{
    struct tg_symbol symbol;
    if (dump->names == NULL || *frame->module == '\0' ||
        !tg_code_names_in_module(dump->names, frame->module, frame->build_id, frame->address, &symbol))
        return;
    write_symbol(dump->stream, &symbol);
}

/* The frames of a stack, a line each; what a frame of its kind does not have is left out. */
static void write_frames(const struct tg_dump *dump, const struct tg_event_stack *stack)
{
    FILE *stream = dump->stream;
    for (uint64_t i = 0; i < stack->frames.count; i++) {
        const struct tg_stack_frame *frame = (const struct tg_stack_frame *)stack->frames.items + i;
        fprintf(stream, "\n                    #%-2" PRIu64 " ", i);
        if (frame->kind == TG_FRAME_PYTHON) {
            fputs("python ", stream);
            tg_printable_write(stream, frame->function);
            fputs(" (", stream);
            tg_printable_write(stream, frame->file);
            fprintf(stream, ":%" PRIu64 ")", frame->line);
            continue;
        }
        fprintf(stream, "pc=0x%" PRIx64, frame->pc);
        if (*frame->module != '\0') {
            fputc(' ', stream);
            tg_printable_write(stream, tg_event_headline_base_name(frame->module));
            fprintf(stream, "+0x%" PRIx64, frame->address);
        }
        write_frame_name(dump, frame);
        fprintf(stream, "%s%s", frame->kind == TG_FRAME_SIGNAL ? " signal" : "",
                frame->guessed ? " guessed" : "");
    }
}

static void write_who(FILE *stream, const struct tg_event *event, const struct tg_process_entry *entry)
{
    char who[64];
    int used = 0;
    if (event->pid == 0)
        snprintf(who, sizeof who, "recorder");
    else if (entry != NULL && entry->rank >= 0)
        used = snprintf(who, sizeof who, "rank %" PRId64 " ", entry->rank);
    if (event->pid != 0 && event->tid != event->pid)
        snprintf(who + used, sizeof who - (size_t)used, "%" PRId32 "/%" PRId32, event->pid, event->tid);
    else if (event->pid != 0)
        snprintf(who + used, sizeof who - (size_t)used, "%" PRId32, event->pid);
    fprintf(stream, "%-*s ", WHO_WIDTH, who);
}

/* " <function+0x1c, file.c:12>" behind a code address; what is not known is left out. */
static void write_name(const struct tg_dump *dump, const struct tg_event *event, const struct tg_field *field)
{
    uint64_t value;
    struct tg_code_name name;
    if (dump->names == NULL || field->type != TG_FIELD_ADDRESS)
        return;
    memcpy(&value, (const char *)TG_EVENT_PAYLOAD(event) + field->offset, sizeof value);
    if (!tg_code_names_find(dump->names, event->pid, field, value, &name))
        return;
    write_symbol(dump->stream, &name.symbol);
}

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    FILE *stream = dump->stream;
    char moment[TG_QUANTITY_SIZE];
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    fprintf(stream, "%16s  ", tg_quantity_moment(event->time_ns, dump->start_ns, 9, moment));
    write_who(stream, event, entry);
    fprintf(stream, dump->colour ? "\033[1m%-*s\033[0m" : "%-*s", KIND_WIDTH, schema->name);
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (field->type != TG_FIELD_LIST || holds_strings(field))
            write_field(stream, field, TG_EVENT_PAYLOAD(event));
        write_name(dump, event, field);
    }
    if (event->stop_ns != 0) {
        fputs(" stop=", stream);
        write_duration(stream, event->stop_ns);
    }
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (event->kind == TG_EVENT_STACK && field->type == TG_FIELD_LIST)
            write_frames(dump, &event->stack);
        else if (field->type == TG_FIELD_LIST && !holds_strings(field))
            write_records(stream, field, TG_EVENT_PAYLOAD(event));
    }
    fputc('\n', stream);
    return NULL;
}

const struct tg_dump_format tg_dump_text = {
    .name = "text", .wants_processes = true, .begin = begin, .event = write_event};
