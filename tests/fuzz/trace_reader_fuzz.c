/* The trace reader. The first byte says what the rest is: 1 the payload of an EVENTS section behind two bytes
 * with the number of events, 4 of one by thread likewise, 2 of META, 3 of INDEX, 5 of KINDS, all without compression
 * and checksums, which mutations would only break; otherwise a whole file, whose checksums are made right first.
 * What decodes is walked, encoded again and must be the same when decoded from that. */
#include "format/trace/chunk_decoder.h"
#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_serializer.h"
#include "format/trace/index.h"
#include "format/trace/reader.h"
#include "format/trace/recovery.h"
#include "format/trace/section_codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/event_sample.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_TIME = 1000 };

/* Bytes with the padding that payloads have, at the end of their allocation. */
static uint8_t *copy_padded(const uint8_t *data, size_t size)
{
    uint8_t *copy = calloc(size + TG_CURSOR_PADDING, 1);
    assert(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

static size_t walk_record(const struct tg_record_schema *schema, const char *record)
{
    size_t sum = 0;
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_STRING) {
            const char *text;
            memcpy(&text, record + field->offset, sizeof text);
            assert(text != NULL);
            sum += strlen(text);
        } else if (field->type == TG_FIELD_LIST) {
            struct tg_list list;
            memcpy(&list, record + field->offset, sizeof list);
            for (uint64_t i = 0; i < list.count; i++)
                sum += walk_record(field->element, (const char *)list.items + i * field->element->size_bytes);
        }
    }
    return sum;
}

static void walk(const struct tg_event *event)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    assert(schema != NULL);
    walk_record(schema, (const char *)event + offsetof(struct tg_event, process_start));
}

static struct tg_chunk_decoder *begin(const struct tg_byte_source *source, size_t size,
                                      uint64_t first_time_ns, uint32_t n_events, bool by_thread)
{
    struct tg_section_header header = {
        .flags = by_thread ? TG_SECTION_BY_THREAD : 0, .n_events = n_events, .first_time_ns = first_time_ns};
    struct tg_chunk_decoder *decoder = NULL;
    struct tg_error *error = tg_chunk_decoder_create(&decoder);
    assert(error == NULL);
    error = tg_chunk_decoder_begin(decoder, source, size, &header);
    if (error != NULL) {
        assert(tg_error_code(error) == TG_ERROR_INPUT || tg_error_code(error) == TG_ERROR_NO_MEMORY);
        tg_error_destroy(error);
        tg_chunk_decoder_destroy(decoder);
        return NULL;
    }
    return decoder;
}

/* Decodes; what can be encoded again goes to ENCODER. False after an error, or where something could not. */
static bool decode_into(struct tg_chunk_decoder *decoder, struct tg_chunk_encoder *encoder)
{
    bool complete = true;
    uint64_t unknown = 0;
    for (;;) {
        const struct tg_event *events = NULL;
        size_t count = 0;
        struct tg_error *error = tg_chunk_decoder_block(decoder, &events, &count, &unknown);
        if (error != NULL) {
            tg_error_destroy(error);
            return false;
        }
        if (count == 0)
            return complete;
        for (size_t i = 0; i < count; i++) {
            walk(&events[i]);
            complete = complete && tg_chunk_encoder_add(encoder, &events[i]) == TG_CHUNK_ADDED;
        }
    }
}

/* The events of two decoders are the same to the end. */
static void compare(struct tg_chunk_decoder *a, struct tg_chunk_decoder *b)
{
    const struct tg_event *x = NULL, *y = NULL;
    size_t n_x = 0, n_y = 0;
    uint64_t unknown = 0;
    for (;;) {
        if (n_x == 0)
            assert(tg_chunk_decoder_block(a, &x, &n_x, &unknown) == NULL);
        if (n_y == 0)
            assert(tg_chunk_decoder_block(b, &y, &n_y, &unknown) == NULL);
        assert((n_x == 0) == (n_y == 0));
        if (n_x == 0)
            return;
        assert(event_equal(x++, y++));
        n_x--;
        n_y--;
    }
}

static bool is_wanted(const void *context, unsigned kind)
{
    (void)context;
    return kind % 3 == 0;
}

/* The next event of DECODER that is wanted or has a stop, out of the block [*EVENTS, *EVENTS + *N); NULL at
 * the end, and after an error, where *FINE is false. */
static const struct tg_event *next_wanted(struct tg_chunk_decoder *decoder, const struct tg_event **events,
                                          size_t *n, bool *fine)
{
    uint64_t unknown = 0;
    for (;;) {
        struct tg_error *error = *n == 0 ? tg_chunk_decoder_block(decoder, events, n, &unknown) : NULL;
        *fine = error == NULL;
        tg_error_destroy(error);
        if (!*fine || *n == 0)
            return NULL;
        const struct tg_event *event = (*events)++;
        --*n;
        if (is_wanted(NULL, event->kind) || event->stop_ns > 0)
            return event;
    }
}

/* A decoder that passes kinds over hands out the others as one that does not. */
static void run_wanted(const struct tg_byte_source *source, size_t size, uint32_t n_events, bool by_thread)
{
    struct tg_section_header header = {
        .flags = by_thread ? TG_SECTION_BY_THREAD : 0, .n_events = n_events, .first_time_ns = FIRST_TIME};
    struct tg_chunk_decoder *all = begin(source, size, FIRST_TIME, n_events, by_thread), *some = NULL;
    const struct tg_event *x = NULL, *y = NULL, *in_all, *in_some;
    size_t n_x = 0, n_y = 0;
    bool all_fine = all != NULL, some_fine;
    assert(tg_chunk_decoder_create(&some) == NULL);
    tg_chunk_decoder_want(some, (struct tg_wanted_kinds){.wants = is_wanted});
    struct tg_error *error = tg_chunk_decoder_begin(some, source, size, &header);
    assert(error == NULL || all == NULL);
    do {
        in_all = all_fine ? next_wanted(all, &x, &n_x, &all_fine) : NULL;
        in_some = error == NULL ? next_wanted(some, &y, &n_y, &some_fine) : NULL;
        if (in_some != NULL)
            walk(in_some);
        assert(!all_fine || (in_all == NULL) == (in_some == NULL));
        assert(!all_fine || in_all == NULL || event_equal(in_all, in_some));
    } while (in_some != NULL);
    tg_error_destroy(error);
    tg_chunk_decoder_destroy(some);
    tg_chunk_decoder_destroy(all);
}

static void run_events(const uint8_t *data, size_t size, bool by_thread)
{
    if (size < 2)
        return;
    uint32_t n_events = (uint32_t)tg_load_le(data, 2);
    uint8_t *payload = copy_padded(data + 2, size - 2);
    struct tg_byte_source source = {.file = "input", .section = "EVENTS", .start = payload};
    struct tg_chunk_decoder *decoder = begin(&source, size - 2, FIRST_TIME, n_events, by_thread);
    struct tg_chunk_encoder *encoder = tg_chunk_encoder_create((struct tg_trace_units){0});
    assert(encoder != NULL);
    if (decoder != NULL && decode_into(decoder, encoder)) {
        struct tg_byte_buffer again = {0}, boundaries = {0};
        struct tg_chunk_serializer *serializer = tg_chunk_serializer_create();
        assert(serializer != NULL);
        assert(tg_chunk_serialize(serializer, tg_chunk_encoder_columns(encoder), &again, &boundaries) ==
               NULL);
        tg_chunk_serializer_destroy(serializer);
        uint8_t *bytes = copy_padded(again.data, again.size);
        struct tg_byte_source second = {.file = "again", .section = "EVENTS", .start = bytes};
        struct tg_chunk_decoder *other = begin(&second, again.size, tg_chunk_encoder_first_time(encoder),
                                               (uint32_t)tg_chunk_encoder_count(encoder), true);
        struct tg_chunk_decoder *first = begin(&source, size - 2, FIRST_TIME, n_events, by_thread);
        assert(other != NULL && first != NULL);
        compare(first, other);
        tg_chunk_decoder_destroy(first);
        tg_chunk_decoder_destroy(other);
        free(bytes);
        tg_byte_buffer_deinit(&again);
        tg_byte_buffer_deinit(&boundaries);
    }
    tg_chunk_decoder_destroy(decoder);
    tg_chunk_encoder_destroy(encoder);
    run_wanted(&source, size - 2, n_events, by_thread);
    free(payload);
}

static void run_meta(const uint8_t *data, size_t size)
{
    uint8_t *payload = copy_padded(data, size);
    struct tg_byte_source source = {.file = "input", .section = "META", .start = payload};
    struct tg_byte_cursor cursor = {payload, payload + size, &source};
    struct tg_trace_meta *meta = NULL;
    assert(tg_trace_meta_create(&meta) == NULL);
    tg_error_destroy(tg_meta_payload_decode(meta, &cursor));
    for (size_t i = 0; i < tg_trace_meta_count(meta); i++)
        assert(tg_trace_meta_get(meta, tg_trace_meta_key_at(meta, i)) == tg_trace_meta_value_at(meta, i));
    tg_trace_meta_destroy(meta);
    free(payload);
}

static void run_index(const uint8_t *data, size_t size)
{
    uint8_t *payload = copy_padded(data, size);
    struct tg_byte_source source = {.file = "input", .section = "INDEX", .start = payload};
    struct tg_byte_cursor cursor = {payload, payload + size, &source};
    struct tg_trace_index index = {0};
    tg_error_destroy(tg_trace_index_decode(&index, &cursor));
    tg_trace_index_deinit(&index);
    free(payload);
}

static void run_kinds(const uint8_t *data, size_t size)
{
    enum { ENTRIES = 4 };
    uint8_t *payload = copy_padded(data, size);
    struct tg_byte_source source = {.file = "input", .section = "KINDS", .start = payload};
    struct tg_byte_cursor cursor = {payload, payload + size, &source};
    struct tg_index_entry entries[ENTRIES] = {0};
    struct tg_trace_index index = {.entries = entries, .count = ENTRIES};
    struct tg_error *error = tg_trace_index_decode_kinds(&index, 0, &cursor);
    for (size_t i = 0; error != NULL && i < ENTRIES; i++)
        assert(!entries[i].kinds.is_known);
    tg_error_destroy(error);
    free(payload);
}

/* Makes the checksums of all sections that can be found right. */
static void repair(uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (size - at >= TG_SECTION_HEADER_BYTES) {
        uint8_t *header = bytes + at;
        size_t stored = (size_t)tg_load_le(header + 24, 4), left = size - at - TG_SECTION_HEADER_BYTES;
        stored = stored < left ? stored : left;
        tg_store_le(header + 56, tg_section_hash(header + TG_SECTION_HEADER_BYTES, stored), 8);
        tg_store_le(header + 64, tg_section_hash(header, 64), 8);
        at += TG_SECTION_HEADER_BYTES + stored;
    }
    if (size >= TG_TRAILER_BYTES) {
        uint8_t *trailer = bytes + size - TG_TRAILER_BYTES;
        tg_store_le(trailer + 24, tg_section_hash(trailer, 24), 8);
    }
}

static void read_file(const char *path)
{
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = tg_trace_reader_open(path, &reader);
    for (int pass = 0; error == NULL && pass < 3; pass++) {
        const struct tg_event *event = NULL;
        if (pass == 2)
            tg_trace_reader_want(reader, (struct tg_wanted_kinds){.wants = is_wanted});
        while ((error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL)
            walk(event);
        tg_trace_reader_summary(reader);
        if (error == NULL)
            error = tg_trace_reader_seek(reader, FIRST_TIME);
    }
    tg_trace_reader_close(reader);
    tg_error_destroy(error);
}

static void run_file(const uint8_t *data, size_t size)
{
    uint8_t *bytes = copy_padded(data, size);
    repair(bytes, size);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert(fd >= 0);
    assert(write(fd, bytes, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_file(path);
    struct tg_recovery recovery = {0};
    tg_error_destroy(tg_trace_recover(path, NULL, false, NULL, &recovery));
    tg_recovery_deinit(&recovery);
    close(fd);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 1:
        run_events(data + 1, size - 1, false);
        break;
    case 2:
        run_meta(data + 1, size - 1);
        break;
    case 3:
        run_index(data + 1, size - 1);
        break;
    case 4:
        run_events(data + 1, size - 1, true);
        break;
    case 5:
        run_kinds(data + 1, size - 1);
        break;
    default:
        run_file(data + 1, size - 1);
        break;
    }
    return 0;
}
