/* Events with any values at all, in any order, through the models and every form of output: bytes choose
 * kinds, processes and fields by the schema. Whatever comes in, what comes out is safe on a terminal, the
 * JSON is well-formed, and sums hold. */
#include "analyzer/dump/dump.h"
#include "analyzer/report/process_shape.h"
#include "analyzer/report/report.h"
#include "format/base/utf8.h"
#include "format/trace/redactor.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 200, MAX_ITEMS = 4, MAX_BLOCKS = 64 };

struct input {
    const uint8_t *bytes;
    size_t left;
    void *blocks[MAX_BLOCKS]; /* memory that the current event points to */
    size_t n_blocks;
};

static uint8_t take_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

/* Mostly small, sometimes extreme, sometimes anything. */
static uint64_t take_number(struct input *input)
{
    static const uint64_t extremes[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, UINT32_MAX, INT32_MAX};
    uint8_t choice = take_byte(input);
    if (choice < 0xf0)
        return choice & 0x3f;
    if (choice - 0xf0u < sizeof extremes / sizeof *extremes)
        return extremes[choice - 0xf0u];
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | take_byte(input);
    return number;
}

static void *take_block(struct input *input, size_t size)
{
    assert(input->n_blocks < MAX_BLOCKS);
    void *block = calloc(1, size);
    assert(block != NULL);
    return input->blocks[input->n_blocks++] = block;
}

static const char *take_string(struct input *input)
{
    static const char *const common[] = {"", "/usr/lib/libc.so.6", "/usr/lib/libm.so.6", "/home/u/app"};
    uint8_t length = take_byte(input);
    if (length < sizeof common / sizeof *common)
        return common[length];
    char *text = take_block(input, (size_t)length % 40 + 1);
    for (size_t i = 0; i < length % 40; i++) {
        text[i] = (char)take_byte(input);
        if (text[i] == '\0')
            break;
    }
    return text;
}

static void fill(struct input *input, const struct tg_record_schema *schema, void *record)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        char *at = (char *)record + field->offset;
        if (field->type == TG_FIELD_STRING) {
            const char *text = take_string(input);
            memcpy(at, &text, sizeof text);
        } else if (field->type == TG_FIELD_LIST) {
            struct tg_list list = {.count = take_byte(input) % (MAX_ITEMS + 1)};
            char *items = take_block(input, MAX_ITEMS * field->element->size_bytes);
            for (uint64_t j = 0; j < list.count; j++)
                fill(input, field->element, items + j * field->element->size_bytes);
            list.items = items;
            memcpy(at, &list, sizeof list);
        } else {
            uint64_t number = take_number(input);
            memcpy(at, &number, sizeof number);
        }
    }
}

static struct tg_event take_event(struct input *input)
{
    struct tg_event event = {.kind = tg_event_kind_at(take_byte(input) % tg_event_kind_count())};
    uint8_t process = take_byte(input);
    event.pid = process < 0xf0 ? process % 8 : (int32_t)take_number(input);
    event.tid = process & 0x20 ? (int32_t)take_number(input) : event.pid;
    event.time_ns = take_number(input);
    event.stop_ns = process & 0x40 ? take_number(input) : 0;
    fill(input, tg_event_schema(event.kind), TG_EVENT_PAYLOAD(&event));
    return event;
}

/* An output that collects in memory. */
struct page {
    FILE *stream;
    char *text;
    size_t size;
};

static void open_page(struct page *page)
{
    *page = (struct page){0};
    page->stream = open_memstream(&page->text, &page->size);
    assert(page->stream != NULL);
}

static void check_page(struct page *page)
{
    fclose(page->stream);
    for (const char *at = page->text; *at != '\0';) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(at, &code_point);
        assert(length > 0);
        assert(code_point == '\n' || !tg_utf8_deceives(code_point));
        at += length;
    }
}

/* jansson takes no lone surrogates, which stand for bytes that are not UTF-8: such lines are not parsed. */
static void check_json(struct page *page)
{
    check_page(page);
    if (strstr(page->text, "\\ud") == NULL) {
        json_error_t error;
        json_t *document = json_loads(page->text, JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL, &error);
        assert(document != NULL);
        json_decref(document);
    }
}

static void check_models(const struct tg_report *report)
{
    size_t count = tg_process_model_count(report->processes), walked = 0;
    unsigned depth = 0;
    for (const struct tg_process_entry *entry = tg_process_model_next(report->processes, NULL, &depth);
         entry != NULL; entry = tg_process_model_next(report->processes, entry, &depth)) {
        assert((depth == 0) == (entry->parent == NULL));
        assert(entry->last_ns >= entry->start_ns);
        assert(entry->threads_peak <= entry->threads_started);
        walked++;
    }
    assert(walked == count);
    size_t n_libraries = tg_library_model_count(report->libraries);
    const struct tg_library_use **uses = calloc(n_libraries + 1, sizeof *uses);
    assert(uses != NULL);
    tg_library_model_by_cost(report->libraries, uses);
    uint64_t stop_ns = 0;
    for (size_t i = 0; i < n_libraries; i++) {
        stop_ns += uses[i]->stop_ns;
        assert(uses[i]->processes <= count && uses[i]->processes <= uses[i]->loads);
        assert(uses[i]->asked_loads <= uses[i]->loads);
    }
    struct tg_library_totals totals = tg_library_model_totals(report->libraries);
    if (totals.load_events == 0)
        assert(stop_ns == 0);
    free(uses);
}

/* Every rank is there once, belongs to a process that there is, and a copy has it all. */
static void check_mpir(const struct tg_report *report)
{
    struct tg_mpir_model *copy;
    assert(tg_mpir_model_copy(report->mpir, &copy) == NULL);
    assert(tg_mpir_model_count(copy) == tg_mpir_model_count(report->mpir));
    for (size_t i = 0; i < tg_mpir_model_count(copy); i++) {
        size_t count, copied, n_steps, copied_steps;
        uint64_t unkept, sum = 0;
        const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(report->mpir, i, &count);
        assert(tg_mpir_model_ranks(copy, i, &copied) != NULL || copied == 0);
        tg_mpir_model_steps(report->mpir, i, &n_steps, &unkept);
        tg_mpir_model_steps(copy, i, &copied_steps, &unkept);
        assert(copied == count && copied_steps == n_steps && n_steps <= TG_MPIR_MAX_STEPS);
        for (size_t at = 0; at < count; at++) {
            assert(ranks[at].process == SIZE_MAX ||
                   ranks[at].process < tg_process_model_count(report->processes));
            for (size_t other = 0; other < at; other++)
                assert(ranks[other].key != ranks[at].key);
        }
        struct tg_mpir_tally tally = tg_mpir_ranks_tally(ranks, count);
        for (size_t state = 0; state < TG_MPIR_RANK_STATES; state++)
            sum += tally.states[state];
        assert(sum + tally.untold + tally.gone == count);
    }
    tg_mpir_model_destroy(copy);
}

static void check_reports(struct tg_report *report)
{
    struct page page;
    for (int all = 0; all < 2; all++) {
        const struct tg_report_text_options options = {.all = all};
        open_page(&page);
        assert(tg_report_write_text(report, &options, page.stream) == NULL);
        check_page(&page);
        free(page.text);
    }
    open_page(&page);
    assert(tg_report_write_json(report, page.stream) == NULL);
    check_json(&page);
    free(page.text);
}

enum { N_FORMATS = 3 };
static const struct tg_dump_format *const formats[N_FORMATS] = {&tg_dump_text, &tg_dump_json,
                                                                &tg_dump_chrome};

/* ---- names of code: as hostile as the trace */

struct tg_symbolizer {
    int unused;
};

static struct tg_error *create_symbolizer(struct tg_symbolizer **symbolizer)
{
    static struct tg_symbolizer only;
    *symbolizer = &only;
    return NULL;
}

static void destroy_symbolizer(struct tg_symbolizer *symbolizer)
{
    (void)symbolizer;
}

static bool resolve(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                    uint64_t address, struct tg_symbol *symbol)
{
    (void)symbolizer;
    assert(path != NULL && build_id != NULL);
    *symbol = (struct tg_symbol){.function = address & 1 ? "\033[2J\n\"f\xff" : NULL,
                                 .offset = address,
                                 .file = address & 2 ? "/a\xe2\x80\xae/\t.c" : NULL,
                                 .line = address};
    return (address & 3) != 0;
}

static const struct tg_command_services services = {
    .symbolizer_create = create_symbolizer,
    .symbolizer_destroy = destroy_symbolizer,
    .symbolizer_resolve = resolve,
};

struct run {
    struct tg_report *report;
    struct tg_redactor *redactor;
    struct tg_dump dumps[N_FORMATS];
    struct page pages[N_FORMATS];
};

static void feed(struct run *run, const struct tg_event *event, bool shown)
{
    struct tg_process_entry *entry;
    struct tg_event redacted;
    assert(tg_report_feed(run->report, event, &entry) == NULL);
    assert(tg_redactor_event(run->redactor, event, &redacted) == NULL && redacted.kind == event->kind);
    for (size_t i = 0; i < N_FORMATS; i++) {
        struct tg_error *error = NULL;
        if (shown)
            error = formats[i]->event(&run->dumps[i], event, entry);
        else if (formats[i]->left_out != NULL)
            error = formats[i]->left_out(&run->dumps[i], event, entry);
        assert(error == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as main does */
    struct input input = {.bytes = data, .left = size};
    struct tg_selection selection = {0};
    struct tg_trace_meta *meta = NULL;
    assert(tg_trace_meta_create(&meta) == NULL);
    assert(tg_trace_meta_set(meta, "command.0", take_string(&input)) == NULL);
    uint64_t start_ns = take_number(&input);
    selection.has_from = start_ns & 1;
    selection.has_to = start_ns & 2;
    selection.from_ns = take_number(&input);
    selection.to_ns = take_number(&input);
    struct run run = {0};
    assert(tg_report_create("trace", &selection, &services, &run.report) == NULL);
    run.report->meta = meta;
    assert(tg_redactor_create(0, &run.redactor) == NULL);
    run.report->start_ns = start_ns;
    for (size_t i = 0; i < N_FORMATS; i++) {
        open_page(&run.pages[i]);
        run.dumps[i] = (struct tg_dump){.stream = run.pages[i].stream,
                                        .meta = meta,
                                        .selection = &selection,
                                        .names = run.report->names,
                                        .start_ns = start_ns};
        if (formats[i]->begin != NULL)
            assert(formats[i]->begin(&run.dumps[i]) == NULL);
    }
    for (int i = 0; i < MAX_EVENTS && input.left > 0; i++) {
        struct tg_event event = take_event(&input);
        feed(&run, &event, tg_selection_admits_time(&selection, event.time_ns));
        while (input.n_blocks > 0)
            free(input.blocks[--input.n_blocks]);
    }
    while (input.n_blocks > 0)
        free(input.blocks[--input.n_blocks]);
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (formats[i]->end != NULL)
            assert(formats[i]->end(&run.dumps[i]) == NULL);
        if (formats[i] == &tg_dump_chrome)
            check_json(&run.pages[i]);
        else
            check_page(&run.pages[i]);
        free(run.pages[i].text);
    }
    assert(tg_report_finish(run.report) == NULL);
    check_models(run.report);
    check_mpir(run.report);
    check_reports(run.report);
    tg_report_destroy(run.report);
    tg_redactor_destroy(run.redactor);
    tg_trace_meta_destroy(meta);
    return 0;
}
