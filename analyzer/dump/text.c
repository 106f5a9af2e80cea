/* Events as lines for people: relative time, whose, kind, fields; what a list holds on lines below. */
#include "analyzer/dump/code_texts.h"
#include "analyzer/dump/dump.h"
#include "analyzer/dump/labels.h"
#include "analyzer/dump/line.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENT_WIDTH = 16, KIND_WIDTH = 18, WHO_WIDTH = 24 };

#define PUT(line, words) tg_dump_line_put(line, words, sizeof(words) - 1)

/* Whose an event is: a column. */
struct thread {
    int32_t pid, tid;
    int64_t rank; /* -1: none */
    struct tg_dump_piece words;
};

struct text {
    struct tg_dump_line line;
    struct tg_dump_labels labels;
    struct tg_code_texts codes;
    struct thread threads[TG_DUMP_THREADS]; /* each has one place, which it may share */
};

static bool is_duration(const struct tg_field *field)
{
    return field->name_bytes > 3 && memcmp(field->name + field->name_bytes - 3, "_ns", 3) == 0;
}

static bool is_signal(const struct tg_field *field)
{
    return field->type == TG_FIELD_SIGNED && field->name_bytes == 6 && memcmp(field->name, "signal", 6) == 0;
}

static int write_kind(char *text, size_t size, const char *name)
{
    return snprintf(text, size, "%-*s", KIND_WIDTH, name);
}

static int write_coloured_kind(char *text, size_t size, const char *name)
{
    return snprintf(text, size, "\033[1m%-*s\033[0m", KIND_WIDTH, name);
}

static int write_before(char *text, size_t size, const struct tg_field *field)
{
    size_t unit = is_duration(field) ? 3 : 0;
    return snprintf(text, size, " %.*s%s", (int)(field->name_bytes - unit), field->name,
                    field->type == TG_FIELD_BOOL ? "" : "=");
}

static int write_value(char *text, size_t size, const char *name)
{
    return snprintf(text, size, "%s", name);
}

static enum tg_dump_form choose_form(const struct tg_field *field)
{
    return is_signal(field) || (field->type != TG_FIELD_SIGNED && is_duration(field))
               ? TG_DUMP_OTHER
               : tg_dump_form_of(field);
}

static const struct tg_dump_wording plain = {write_kind, write_before, write_value, choose_form},
                                    coloured = {write_coloured_kind, write_before, write_value, choose_form};

static struct tg_error *begin(struct tg_dump *dump)
{
    struct text *state = calloc(1, sizeof *state);
    dump->state = state;
    if (state == NULL)
        return tg_error_no_memory();
    tg_dump_line_begin(&state->line, dump->stream);
    tg_dump_labels_init(&state->labels, dump->colour ? &coloured : &plain);
    for (size_t i = 0; dump->with_meta && i < tg_trace_meta_count(dump->meta); i++) {
        fputs("# ", dump->stream);
        tg_printable_write(dump->stream, tg_trace_meta_key_at(dump->meta, i));
        fputs(": ", dump->stream);
        tg_printable_write(dump->stream, tg_trace_meta_value_at(dump->meta, i));
        fputc('\n', dump->stream);
    }
    return NULL;
}

enum { BARE = 1, PLAIN = 2 }; /* of characters: needs no quotation marks; can stand between them as it is */

#define IN(c, first, last) ((c) >= (first) && (c) <= (last))
#define CLASS(c)                                                                                             \
    (((IN(c, 'a', 'z') || (IN(c, '+', ':') && (c) != ',') || IN(c, '@', 'Z') || (c) == '_' || (c) == '%' ||  \
       (c) == '*' || (c) == '~')                                                                             \
          ? BARE                                                                                             \
          : 0) |                                                                                             \
     (IN(c, ' ', '~') && (c) != '"' && (c) != '\\' ? PLAIN : 0))
#define CLASSES_4(c)  CLASS(c), CLASS((c) + 1), CLASS((c) + 2), CLASS((c) + 3)
#define CLASSES_16(c) CLASSES_4(c), CLASSES_4((c) + 4), CLASSES_4((c) + 8), CLASSES_4((c) + 12)
#define CLASSES_64(c) CLASSES_16(c), CLASSES_16((c) + 16), CLASSES_16((c) + 32), CLASSES_16((c) + 48)
static const uint8_t classes[UINT8_MAX + 1] = {CLASSES_64(0), CLASSES_64(64)};

static void put_string(struct tg_dump_line *line, const char *text)
{
    enum { SHORT = 128 };
    char *to = tg_dump_line_room(line) + 1; /* behind a quotation mark */
    unsigned class = BARE | PLAIN;
    size_t size = 0;
    for (; text[size] != '\0' && size < SHORT; size++) {
        class &= classes[(uint8_t)text[size]];
        to[size] = text[size];
    }
    if (text[size] != '\0' || (class & PLAIN) == 0) {
        size_t bare = 0;
        while ((classes[(uint8_t)text[bare]] & BARE) != 0)
            bare++;
        if (text[bare] == '\0') {
            tg_dump_line_put(line, text, bare);
            return;
        }
        tg_dump_line_flush(line);
        tg_printable_write_quoted(line->stream, text);
    } else if (size > 0 && (class & BARE) != 0) {
        memmove(to - 1, to, size);
        tg_dump_line_end(line, to - 1 + size);
    } else {
        to[-1] = to[size] = '"';
        tg_dump_line_end(line, to + size + 1);
    }
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
    if (is_signal(field) && strncmp(tg_signal_name((int64_t)value, signal, sizeof signal), "SIG", 3) == 0)
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
static char *put_moment(char *to, uint64_t time_ns, uint64_t start_ns)
{
    enum { SECOND = 1000000000 };
    uint64_t distance = time_ns < start_ns ? start_ns - time_ns : time_ns - start_ns,
             seconds = distance / SECOND;
    uint32_t rest = (uint32_t)(distance % SECOND);
    unsigned width = 11 + (time_ns < start_ns); /* point, nine digits and one before it */
    for (uint64_t tens = seconds / 10; tens > 0; tens /= 10)
        width++;
    memset(to, ' ', MOMENT_WIDTH);
    to += width < MOMENT_WIDTH ? MOMENT_WIDTH - width : 0;
    *to = '-';
    to += time_ns < start_ns;
    to = tg_dump_put_decimal(to, seconds);
    *to++ = '.';
    *to++ = (char)('0' + rest / 100000000);
    to = tg_dump_put_eight(to, rest % 100000000);
    memcpy(to, "  ", 2);
    return to + 2;
}

static int write_who(char *text, size_t size, const struct thread *thread)
{
    char rank[32] = "", tid[16] = "";
    if (thread->pid == 0)
        return snprintf(text, size, "%-*s ", WHO_WIDTH, "recorder");
    if (thread->rank >= 0)
        snprintf(rank, sizeof rank, "rank %" PRId64 " ", thread->rank);
    if (thread->tid != thread->pid)
        snprintf(tid, sizeof tid, "/%" PRId32, thread->tid);
    int length = snprintf(text, size, "%s%" PRId32 "%s", rank, thread->pid, tid);
    for (; length < WHO_WIDTH; length++)
        text[length] = ' ';
    text[length] = ' ';
    return length + 1;
}

static const struct tg_dump_piece *find_who(struct text *state, const struct tg_event *event,
                                            const struct tg_process_entry *entry)
{
    int64_t rank = entry == NULL ? -1 : entry->rank;
    struct thread *thread = &state->threads[tg_dump_thread_place(event->tid)];
    if (thread->words.size == 0 || thread->tid != event->tid || thread->pid != event->pid ||
        thread->rank != rank) {
        *thread = (struct thread){.pid = event->pid, .tid = event->tid, .rank = rank};
        thread->words.size = (uint8_t)write_who(thread->words.text, sizeof thread->words.text, thread);
    }
    return &thread->words;
}

/* " <function+0x1c, file.c:12>" behind a code address; what is not known is left out. */
static void write_name(FILE *stream, const struct tg_field *field, const struct tg_code_name *name)
{
    (void)field;
    write_symbol(stream, &name->symbol);
}

/* Whether FIELD is a number of losses that nobody could count. */
static bool is_unknown(const struct tg_event *event, const struct tg_field *field)
{
    return event->kind == TG_EVENT_LOSS && strcmp(field->name, "count") == 0 &&
           tg_loss_count(event->loss.count) == 0;
}

static void put_rare_field(struct tg_dump_line *line, const struct tg_field *field,
                           const struct tg_event *event)
{
    if (field->type != TG_FIELD_LIST || holds_strings(field))
        put_field(line, field, TG_EVENT_PAYLOAD(event));
}

static inline void put_labelled(struct tg_dump_line *line, const struct tg_dump_label *label,
                                const struct tg_event *event)
{
    uint64_t value;
    char *to = tg_dump_line_room(line);
    const char *text;
    const void *at = (const char *)TG_EVENT_PAYLOAD(event) + label->offset;
    memcpy(&value, at, sizeof value);
    switch (label->form) {
    case TG_DUMP_UNSIGNED:
        to = tg_dump_put_decimal(tg_dump_put_piece(to, &label->before), value);
        break;
    case TG_DUMP_SIGNED:
        to = tg_dump_put_signed(tg_dump_put_piece(to, &label->before), (int64_t)value);
        break;
    case TG_DUMP_ADDRESS:
        to = tg_dump_put_hex(tg_dump_put_piece(to, &label->before), value);
        break;
    case TG_DUMP_ENUM:
        to = tg_dump_put_piece(to, &label->before);
        to = value < label->n_names ? tg_dump_put_piece(to, &label->names[value])
                                    : tg_dump_put_decimal(to, value);
        break;
    case TG_DUMP_BOOL:
        if (value != 0)
            to = tg_dump_put_piece(to, &label->before);
        break;
    case TG_DUMP_STRING:
        tg_dump_line_end(line, tg_dump_put_piece(to, &label->before));
        memcpy(&text, at, sizeof text);
        put_string(line, text);
        return;
    case TG_DUMP_OTHER:
        put_rare_field(line, label->field, event);
        return;
    }
    tg_dump_line_end(line, to);
}

/* What lists hold, on lines below. */
static void put_lists(struct tg_dump *dump, const struct tg_event *event,
                      const struct tg_dump_kind_labels *labels)
{
    struct tg_dump_line *line = &((struct text *)dump->state)->line;
    for (size_t i = 0; i < labels->n_fields; i++) {
        const struct tg_field *field = labels->fields[i].field;
        if (event->kind == TG_EVENT_STACK && field->type == TG_FIELD_LIST)
            write_frames(dump, line, &event->stack);
        else if (field->type == TG_FIELD_LIST && !holds_strings(field))
            put_records(line, field, TG_EVENT_PAYLOAD(event));
    }
}

static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct text *state = dump->state;
    struct tg_dump_line *line = &state->line;
    const struct tg_dump_kind_labels *labels;
    struct tg_error *error = tg_dump_labels_of(&state->labels, event->kind, &labels);
    if (error != NULL)
        return error;
    char *to = put_moment(tg_dump_line_room(line), event->time_ns, dump->start_ns);
    to = tg_dump_put_piece(to, find_who(state, event, entry));
    tg_dump_line_end(line, tg_dump_put_piece(to, &labels->name));
    bool has_lists = false;
    for (size_t i = 0; i < labels->n_fields; i++) {
        const struct tg_dump_label *label = &labels->fields[i];
        if (is_unknown(event, label->field))
            PUT(line, " count=unknown");
        else
            put_labelled(line, label, event);
        has_lists |= label->form == TG_DUMP_OTHER;
        if (label->is_code && dump->names != NULL)
            error = tg_code_texts_put(&state->codes, write_name, event, label, dump->names, line);
        if (error != NULL)
            return error;
    }
    if (event->stop_ns != 0) {
        PUT(line, " stop=");
        put_duration(line, event->stop_ns);
    }
    if (has_lists)
        put_lists(dump, event, labels);
    PUT(line, "\n");
    return NULL;
}

static struct tg_error *end(struct tg_dump *dump)
{
    struct text *state = dump->state;
    if (state == NULL)
        return NULL;
    tg_dump_line_flush(&state->line);
    tg_dump_labels_deinit(&state->labels);
    tg_code_texts_deinit(&state->codes);
    free(state);
    return NULL;
}

const struct tg_dump_format tg_dump_text = {.name = "text",
                                            .wants_processes = true,
                                            .knows_ranks_alone = true,
                                            .begin = begin,
                                            .event = write_event,
                                            .end = end};
