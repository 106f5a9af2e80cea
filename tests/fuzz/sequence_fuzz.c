/* Sequence diagrams of any events in any order: built by worker and by rank, written in every format.
 * Whatever comes in, the text is safe, elements and fragments close, and nothing of a name is markup. */
#include "analyzer/sequence/builder.h"
#include "analyzer/sequence/format.h"
#include "format/base/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 400, FEW_RANKS = 4, MANY_RANKS = 40 }; /* so many that they share columns */

struct input {
    const uint8_t *bytes;
    size_t left;
    char text[24];
};

static uint8_t take_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

/* Mostly so small that things meet, sometimes as large as can be. */
static uint64_t take_number(struct input *input)
{
    uint8_t byte = take_byte(input);
    return byte < 0xf0 ? byte % 6 : byte < 0xf8 ? UINT64_MAX - (byte & 1) : (uint64_t)INT64_MIN;
}

static const char *take_name(struct input *input)
{
    static const char *const names[] = {"MPI_Send", "MPI_Recv",      "MPI_Barrier", "MPI_Isend",
                                        "MPI_Wait", "MPI_Allreduce", "end",         "</g></svg><script>",
                                        "\"\\;\n}", "=== x ==="};
    uint8_t choice = take_byte(input);
    if (choice < 200)
        return names[choice % (sizeof names / sizeof *names)];
    for (size_t i = 0; i + 1 < sizeof input->text; i++)
        input->text[i] = (char)take_byte(input);
    input->text[sizeof input->text - 1] = '\0';
    return input->text;
}

static void fill(struct input *input, const struct tg_record_schema *schema, void *record)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        char *at = (char *)record + schema->fields[i].offset;
        const char *name;
        uint64_t number;
        switch (schema->fields[i].type) {
        case TG_FIELD_STRING:
            name = take_name(input);
            memcpy(at, &name, sizeof name);
            break;
        case TG_FIELD_LIST:
            break; /* empty: no list is drawn */
        case TG_FIELD_UNSIGNED:
        case TG_FIELD_SIGNED:
        case TG_FIELD_ADDRESS:
        case TG_FIELD_ENUM:
        case TG_FIELD_BOOL:
            number = take_number(input);
            memcpy(at, &number, sizeof number);
            break;
        }
    }
}

/* Kinds that say something, most of the time. */
static enum tg_event_kind take_kind(struct input *input)
{
    uint8_t choice = take_byte(input);
    if (choice < 180)
        return TG_EVENT_OMP_PARALLEL_BEGIN + choice % (TG_EVENT_OMP_CANCEL - TG_EVENT_OMP_PARALLEL_BEGIN + 1);
    if (choice < 240)
        return TG_EVENT_MPI_COMM + choice % 4;
    return tg_event_kind_at(choice % tg_event_kind_count());
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

static void check(const struct tg_sequence_format *format, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(at, &code_point);
        assert(length > 0);
        assert(code_point == '\n' || !tg_utf8_deceives(code_point));
        at += length;
    }
    if (format == &tg_sequence_html) { /* names are in the page's data, and end nothing there */
        assert(count(text, "<script") == count(text, "</script>"));
        assert(count(text, "</g></svg><script>") == 0);
    }
    if (format == &tg_sequence_svg) {
        assert(count(text, "<g ") + count(text, "<g>") == count(text, "</g>"));
        assert(count(text, "<text") == count(text, "</text>"));
        assert(count(text, "<script") == 0);
        assert(count(text, "</svg>") == 1);
    }
    if (format == &tg_sequence_plantuml)
        assert(count(text, "@enduml") == 1);
}

static void draw(const struct tg_sequence *sequence)
{
    struct tg_sequence_rows rows;
    assert(tg_sequence_rows_create(sequence, NULL, 0, &rows) == NULL);
    const struct tg_sequence_drawing drawing = {
        .sequence = sequence, .rows = &rows, .title = "a title", .note = ""};
    for (size_t i = 0; i < tg_sequence_format_count(); i++) {
        const struct tg_sequence_format *format = tg_sequence_format_at(i);
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        assert(stream != NULL);
        assert(format->write(&drawing, stream) == NULL);
        fclose(stream);
        check(format, text);
        free(text);
    }
    tg_sequence_rows_deinit(&rows);
}

static void build(struct input input, const struct tg_sequence_options *options)
{
    struct tg_sequence_builder *builder;
    struct tg_sequence *sequence = NULL;
    uint64_t time_ns = 1000;
    assert(tg_sequence_builder_create(options, &builder) == NULL);
    for (int i = 0; i < MAX_EVENTS && input.left > 0; i++) {
        struct tg_event event = {.kind = take_kind(&input)};
        uint8_t who = take_byte(&input);
        size_t rank = who % options->n_lanes;
        event.pid = (int32_t)rank + 1;
        bool is_many = options->n_lanes == MANY_RANKS;
        event.tid = options->by_rank || is_many ? event.pid : who / FEW_RANKS % 6 + 1;
        event.time_ns = who < 250 ? time_ns++ : take_number(&input);
        fill(&input, tg_event_schema(event.kind), TG_EVENT_PAYLOAD(&event));
        assert(tg_sequence_builder_feed(builder, &event, options->by_rank ? rank : 0) == NULL);
    }
    struct tg_error *error = tg_sequence_builder_finish(builder, &sequence);
    assert(error == NULL || (options->team != 0 && tg_error_code(error) == TG_ERROR_NOT_FOUND));
    tg_error_destroy(error);
    if (sequence != NULL)
        draw(sequence);
    tg_sequence_builder_destroy(builder);
    tg_sequence_destroy(sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.bytes = data, .left = size};
    uint8_t choice = take_byte(&input);
    struct tg_sequence_lane lanes[MANY_RANKS];
    for (size_t i = 0; i < MANY_RANKS; i++)
        lanes[i] = (struct tg_sequence_lane){.process = i, .rank = (int64_t)i, .is_alive = true};
    const struct tg_sequence_options options = {.by_rank = choice & 1,
                                                .all = choice & 2,
                                                .from_ns = choice & 4 ? 1000 + choice : 0,
                                                .team = (choice & 9) == 8 ? 1 : 0,
                                                .lanes = lanes,
                                                .n_lanes = choice & 16 ? MANY_RANKS : FEW_RANKS};
    build(input, &options);
    return 0;
}
