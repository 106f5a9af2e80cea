/* Events as lines for people: relative time, whose, kind, fields; what a list holds on lines below. */
#include "analyzer/dump/dump.h"
#include "analyzer/dump/line.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <string.h>

enum { MOMENT_WIDTH = 16, KIND_WIDTH = 18, WHO_WIDTH = 24 };

#define PUT(line, words) tg_dump_line_put(line, words, sizeof(words) - 1)

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

static bool is_bare(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '+' && c <= ':' && c != ',') || (c >= '@' && c <= 'Z') ||
           c == '_' || c == '%' || c == '*' || c == '~';
}

static void put_string(struct tg_dump_line *line, const char *text)
{
    size_t size = 0;
    while (is_bare((unsigned char)text[size]))
        size++;
    if (size > 0 && text[size] == '\0') {
        tg_dump_line_put(line, text, size);
        return;
    }
    tg_dump_line_flush(line);
    tg_printable_write_quoted(line->stream, text);
}

static void put_fraction(struct tg_dump_line *line, uint64_t ns, uint64_t unit_ns, unsigned digits,
                         const char *unit)
{
    tg_dump_line_decimal(line, ns / unit_ns, 1);
    PUT(line, ".");
    tg_dump_line_decimal(line, ns % unit_ns, digits);
    tg_dump_line_words(line, unit);
}

/* A duration with all its digits and the unit that it is read in. */
static void put_duration(struct tg_dump_line *line, uint64_t ns)
{
    if (ns < 1000) {
        tg_dump_line_decimal(line, ns, 1);
        PUT(line, "ns");
    } else if (ns < 1000000) {
        put_fraction(line, ns, 1000, 3, "us");
    } else if (ns < 1000000000) {
        put_fraction(line, ns, 1000000, 6, "ms");
    } else {
        put_fraction(line, ns, 1000000000, 9, "s");
    }
}

static bool is_duration(const struct tg_field *field)
{
    return field->name_bytes > 3 && memcmp(field->name + field->name_bytes - 3, "_ns", 3) == 0;
}

static void put_value(struct tg_dump_line *line, const struct tg_field *field, const void *record);

/* NAME=VALUE; a boolean is its name where it is true and nothing where it is not. */
static void put_field(struct tg_dump_line *line, const struct tg_field *field, const void *record)
{
    if (field->type == TG_FIELD_BOOL) {
        uint64_t value;
        memcpy(&value, (const char *)record + field->offset, sizeof value);
        if (value == 0)
            return;
        PUT(line, " ");
        tg_dump_line_put(line, field->name, field->name_bytes);
        return;
    }
    PUT(line, " ");
    tg_dump_line_put(line, field->name, field->name_bytes - (is_duration(field) ? 3 : 0));
    PUT(line, "=");
    put_value(line, field, record);
}

static bool holds_strings(const struct tg_field *field)
{
    return field->element->n_fields == 1 && field->element->fields[0].type == TG_FIELD_STRING;
}

static void put_strings(struct tg_dump_line *line, const struct tg_field *field, const void *record)
{
    struct tg_list list;
    memcpy(&list, (const char *)record + field->offset, sizeof list);
    PUT(line, "[");
    for (uint64_t i = 0; i < list.count; i++) {
        if (i > 0)
            PUT(line, ", ");
        put_value(line, &field->element->fields[0],
                  (const char *)list.items + i * field->element->size_bytes);
    }
    PUT(line, "]");
}

/* A number that has a name in the table of its field, or as a signal; false where it has none. */
static bool put_name(struct tg_dump_line *line, const struct tg_field *field, uint64_t value)
{
    char signal[32];
    const char *name = field->type == TG_FIELD_ENUM ? tg_field_value_name(field, value) : NULL;
    if (field->type == TG_FIELD_SIGNED && field->name_bytes == 6 && memcmp(field->name, "signal", 6) == 0 &&
        strncmp(tg_signal_name((int64_t)value, signal, sizeof signal), "SIG", 3) == 0)
        name = signal;
    if (name != NULL)
        tg_dump_line_words(line, name);
    return name != NULL;
}

static void put_value(struct tg_dump_line *line, const struct tg_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    if (field->type == TG_FIELD_LIST) {
        put_strings(line, field, record);
        return;
    }
    if (field->type == TG_FIELD_STRING) {
        const char *text;
        memcpy(&text, at, sizeof text);
        put_string(line, text);
        return;
    }
    uint64_t value;
    memcpy(&value, at, sizeof value);
    if (field->type == TG_FIELD_ADDRESS)
        tg_dump_line_hex(line, value);
    else if (put_name(line, field, value))
        return;
    else if (field->type == TG_FIELD_SIGNED)
        tg_dump_line_signed(line, (int64_t)value);
    else if (is_duration(field))
        put_duration(line, value);
    else
        tg_dump_line_decimal(line, value, 1);
}

/* Records of a list, each on a line of its own: its first field is what it is called. */
static void put_records(struct tg_dump_line *line, const struct tg_field *field, const void *record)
{
    struct tg_list list;
    memcpy(&list, (const char *)record + field->offset, sizeof list);
    for (uint64_t i = 0; i < list.count; i++) {
        const char *item = (const char *)list.items + i * field->element->size_bytes;
        PUT(line, "\n                    ");
        put_value(line, &field->element->fields[0], item);
        for (size_t j = 1; j < field->element->n_fields; j++)
            put_field(line, &field->element->fields[j], item);
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
static void write_frames(const struct tg_dump *dump, struct tg_dump_line *line,
                         const struct tg_event_stack *stack)
{
    FILE *stream = dump->stream;
    tg_dump_line_flush(line);
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

/* Seconds since the beginning, to the right. */
static void put_moment(struct tg_dump_line *line, uint64_t time_ns, uint64_t start_ns)
{
    uint64_t distance = time_ns < start_ns ? start_ns - time_ns : time_ns - start_ns,
             seconds = distance / 1000000000;
    unsigned width = 11 + (time_ns < start_ns); /* point, nine digits and one before it */
    for (uint64_t rest = seconds / 10; rest > 0; rest /= 10)
        width++;
    for (; width < MOMENT_WIDTH; width++)
        PUT(line, " ");
    if (time_ns < start_ns)
        PUT(line, "-");
    put_fraction(line, distance, 1000000000, 9, "  ");
}

static void put_who(struct tg_dump_line *line, const struct tg_event *event,
                    const struct tg_process_entry *entry)
{
    size_t start = line->size;
    if (event->pid == 0) {
        PUT(line, "recorder");
    } else {
        if (entry != NULL && entry->rank >= 0) {
            PUT(line, "rank ");
            tg_dump_line_signed(line, entry->rank);
            PUT(line, " ");
        }
        tg_dump_line_signed(line, event->pid);
        if (event->tid != event->pid) {
            PUT(line, "/");
            tg_dump_line_signed(line, event->tid);
        }
    }
    tg_dump_line_pad(line, start, WHO_WIDTH);
    PUT(line, " ");
}

static void put_kind(struct tg_dump_line *line, const char *name, bool colour)
{
    if (colour)
        PUT(line, "\033[1m");
    size_t start = line->size;
    tg_dump_line_words(line, name);
    tg_dump_line_pad(line, start, KIND_WIDTH);
    if (colour)
        PUT(line, "\033[0m");
}

/* " <function+0x1c, file.c:12>" behind a code address; what is not known is left out. */
static void write_name(const struct tg_dump *dump, struct tg_dump_line *line, const struct tg_event *event,
                       const struct tg_field *field)
{
    uint64_t value;
    struct tg_code_name name;
    if (field->type != TG_FIELD_ADDRESS)
        return;
    memcpy(&value, (const char *)TG_EVENT_PAYLOAD(event) + field->offset, sizeof value);
    if (!tg_code_names_find(dump->names, event->pid, field, value, &name))
        return;
    tg_dump_line_flush(line);
    write_symbol(dump->stream, &name.symbol);
}

/* Whether FIELD is a number of losses that nobody could count. */
static bool is_unknown(const struct tg_event *event, const struct tg_field *field)
{
    return event->kind == TG_EVENT_LOSS && strcmp(field->name, "count") == 0 &&
           tg_loss_count(event->loss.count) == 0;
}

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct tg_dump_line room, *line = &room;
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    tg_dump_line_begin(line, dump->stream);
    put_moment(line, event->time_ns, dump->start_ns);
    put_who(line, event, entry);
    put_kind(line, schema->name, dump->colour);
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (is_unknown(event, field))
            PUT(line, " count=unknown");
        else if (field->type != TG_FIELD_LIST || holds_strings(field))
            put_field(line, field, TG_EVENT_PAYLOAD(event));
        if (dump->names != NULL)
            write_name(dump, line, event, field);
    }
    if (event->stop_ns != 0) {
        PUT(line, " stop=");
        put_duration(line, event->stop_ns);
    }
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (event->kind == TG_EVENT_STACK && field->type == TG_FIELD_LIST)
            write_frames(dump, line, &event->stack);
        else if (field->type == TG_FIELD_LIST && !holds_strings(field))
            put_records(line, field, TG_EVENT_PAYLOAD(event));
    }
    PUT(line, "\n");
    tg_dump_line_flush(line);
    return NULL;
}

const struct tg_dump_format tg_dump_text = {
    .name = "text", .wants_processes = true, .knows_ranks_alone = true, .begin = begin, .event = write_event};
