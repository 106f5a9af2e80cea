#include "format/trace/reader.h"

#include "format/trace/found_index.h"
#include "format/trace/loaded_chunk.h"
#include "format/trace/read_ahead.h"
#include "format/trace/recording_lock.h"
#include "format/trace/section_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How far the file was read, and what that has shown. */
struct progress {
    uint64_t position; /* of the next byte to be read */
    uint64_t counted;  /* chunks before it are in SUMMARY, or were passed over */
    bool at_end, sequence_known;
    uint32_t next_sequence;
    struct tg_trace_summary summary; /* but for unknown_events, which decoding finds */
};

/* A chunk whose turn has not come yet, or the end of all. */
struct fetched {
    struct tg_loaded_chunk *chunk; /* NULL: the end */
    struct tg_error *error;        /* why it is the end */
    struct progress before;        /* all but the events of CHUNK are in it */
};

enum { MAX_FETCHED = TG_READ_AHEAD_MAX_CHUNKS, MAX_CHUNKS = MAX_FETCHED + 2 };

struct tg_trace_reader {
    char *path;
    int fd;
    bool seekable;
    struct progress read;           /* of the file */
    struct progress told;           /* by the events that were handed out */
    struct tg_section_codec *codec; /* of all sections but EVENTS, as are the next three */
    struct tg_byte_buffer compressed, raw;
    struct tg_byte_source source;
    struct tg_trace_meta *meta;
    bool has_jumped; /* not all of the file was read, or not once */
    struct tg_found_index index;
    struct tg_wanted_kinds wanted;

    struct tg_loaded_chunk *current, *former; /* NULL: none */
    const struct tg_event *events;            /* of the decoder's block */
    size_t n_events, next_event;
    uint64_t chunk_offset; /* of the chunk that was begun last, 0: none yet */
    uint64_t before_block; /* events of it in front of the decoder's block */
    uint64_t unknown_events;

    void (*watch)(void *context, uint64_t position, uint64_t size); /* NULL: none */
    void *watch_context;

    size_t n_threads;  /* number that may read ahead; 0: none */
    bool keeps_former; /* chunks stay while the next one is read */
    struct tg_read_ahead *ahead;
    struct fetched fetched[MAX_FETCHED]; /* in file order */
    size_t n_fetched;
    struct tg_loaded_chunk *free_chunks[MAX_CHUNKS];
    size_t n_free;
};

static struct tg_error *input_error(const struct tg_trace_reader *reader, uint64_t offset, const char *what)
{
    return tg_error_create(TG_ERROR_INPUT, "%s: at offset %" PRIu64 ": %s", reader->path, offset, what);
}

/* Reads up to SIZE bytes at the position; *GOT is less only at the end of the file. */
static struct tg_error *read_bytes(struct tg_trace_reader *reader, uint8_t *bytes, size_t size, size_t *got)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = reader->seekable
                        ? pread(reader->fd, bytes + done, size - done, (off_t)reader->read.position)
                        : read(reader->fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tg_error_create_errno(errno, "%s: cannot read at offset %" PRIu64, reader->path,
                                         reader->read.position);
        if (n == 0)
            break;
        done += (size_t)n;
        reader->read.position += (size_t)n;
    }
    *got = done;
    return NULL;
}

static void end_truncated(struct tg_trace_reader *reader, uint64_t offset)
{
    reader->read.at_end = true;
    reader->read.summary.truncated = true;
    reader->read.summary.damaged_offset = offset;
}

/* A crashed machine leaves zeros where the file was longer than what reached the disk. */
static struct tg_error *rest_is_zero(struct tg_trace_reader *reader, const uint8_t *seen, size_t n_seen,
                                     bool *zero)
{
    uint8_t block[16384];
    *zero = false;
    for (size_t i = 0; i < n_seen; i++)
        if (seen[i] != 0)
            return NULL;
    size_t got = sizeof block;
    while (got == sizeof block) {
        struct tg_error *error = read_bytes(reader, block, sizeof block, &got);
        if (error != NULL)
            return error;
        for (size_t i = 0; i < got; i++)
            if (block[i] != 0)
                return NULL;
    }
    *zero = true;
    return NULL;
}

/* GOT bytes, too few for a header, at the end of the file: the trailer, the beginning of a section or of a
 * trailer, or something else. */
static struct tg_error *read_tail(struct tg_trace_reader *reader, uint64_t offset, const uint8_t *bytes,
                                  size_t got)
{
    uint8_t padded[TG_SECTION_HEADER_BYTES] = {0};
    uint64_t index_offset = 0;
    memcpy(padded, bytes, got);
    if (got == 0 || (got == TG_TRAILER_BYTES && tg_trailer_decode(padded, &index_offset))) {
        reader->read.at_end = true;
        reader->read.summary.complete = got != 0;
        return NULL;
    }
    /* A whole trailer that is none is damaged; as many bytes of a header are just too few. */
    bool bad_trailer = got == TG_TRAILER_BYTES && !tg_section_has_magic(bytes);
    if (bad_trailer || !tg_section_may_begin(bytes, got)) {
        bool zero = false;
        struct tg_error *error = rest_is_zero(reader, bytes, got, &zero);
        if (error != NULL || !zero)
            return error != NULL ? error
                                 : input_error(reader, offset, tg_section_check_text(TG_SECTION_NO_MAGIC));
    }
    end_truncated(reader, offset);
    return NULL;
}

/* The next header; at_end is set where there is none. */
static struct tg_error *read_header(struct tg_trace_reader *reader, struct tg_section_header *header)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES];
    uint64_t offset = reader->read.position;
    size_t got = 0;
    struct tg_error *error = read_bytes(reader, bytes, sizeof bytes, &got);
    if (error != NULL)
        return error;
    if (got < sizeof bytes)
        return read_tail(reader, offset, bytes, got);
    enum tg_section_check check = tg_section_header_decode(bytes, header);
    if (check == TG_SECTION_FINE)
        return NULL;
    if (check == TG_SECTION_NO_MAGIC) {
        bool zero = false;
        error = rest_is_zero(reader, bytes, sizeof bytes, &zero);
        if (error != NULL)
            return error;
        if (zero) {
            end_truncated(reader, offset);
            return NULL;
        }
    }
    error = input_error(reader, offset, tg_section_check_text(check));
    if (check == TG_SECTION_NEWER_VERSION) {
        tg_error_destroy(error);
        error = tg_error_create(
            TG_ERROR_UNSUPPORTED, "%s: at offset %" PRIu64 ": version %u.%u, flags 0x%x: %s", reader->path,
            offset, header->major, header->minor, header->flags, tg_section_check_text(check));
    }
    return error;
}

/* The payload behind HEADER as it is stored; at_end is set where the file ends before. */
static struct tg_error *read_compressed(struct tg_trace_reader *reader,
                                        const struct tg_section_header *header, uint64_t offset,
                                        struct tg_byte_buffer *compressed)
{
    size_t got = 0;
    compressed->size = 0;
    if (!tg_byte_buffer_reserve(compressed, (size_t)header->compressed_bytes + 1))
        return tg_error_no_memory();
    struct tg_error *error = read_bytes(reader, compressed->data, header->compressed_bytes, &got);
    if (error == NULL && got < header->compressed_bytes)
        end_truncated(reader, offset);
    return error;
}

/* The payload behind HEADER, decompressed into RAW; at_end is set where the file ends before. */
static struct tg_error *read_payload(struct tg_trace_reader *reader, const struct tg_section_header *header,
                                     uint64_t offset)
{
    struct tg_error *error = read_compressed(reader, header, offset, &reader->compressed);
    if (error != NULL || reader->read.at_end)
        return error;
    error = tg_section_codec_unpack(reader->codec, header, reader->compressed.data, &reader->raw);
    reader->source = (struct tg_byte_source){.file = reader->path,
                                             .chunk_offset = offset,
                                             .section = tg_section_name(header->kind),
                                             .start = reader->raw.data};
    return tg_error_prefix(error, "%s: %s section at offset %" PRIu64, reader->path,
                           tg_section_name(header->kind), offset);
}

static struct tg_byte_cursor payload_cursor(const struct tg_trace_reader *reader)
{
    return (struct tg_byte_cursor){reader->raw.data, reader->raw.data + reader->raw.size, &reader->source};
}

static struct tg_error *check_sequence(struct tg_trace_reader *reader, const struct tg_section_header *header,
                                       uint64_t offset)
{
    bool expected = !reader->read.sequence_known || header->sequence == reader->read.next_sequence;
    uint32_t wanted = reader->read.next_sequence;
    reader->read.sequence_known = true;
    reader->read.next_sequence = header->sequence + 1;
    if (expected)
        return NULL;
    return tg_error_create(TG_ERROR_INPUT,
                           "%s: at offset %" PRIu64 ": section number %u instead of %u: sections "
                           "are missing or out of order",
                           reader->path, offset, header->sequence, wanted);
}

/* Adds the chunk of HEADER, at OFFSET, to the summary of PROGRESS, whose position is behind it: once, however often it is
 * read. */
static struct tg_error *count_chunk(const struct tg_trace_reader *reader, struct progress *progress,
                                    const struct tg_section_header *header, uint64_t offset)
{
    struct tg_trace_summary *summary = &progress->summary;
    if (offset < progress->counted)
        return NULL;
    if (!tg_trace_may_hold(summary->events + header->n_events, progress->position))
        return input_error(reader, offset, "more events than a file of its size can have");
    if (header->n_events > 0) {
        if (summary->events == 0 || header->first_time_ns < summary->first_time_ns)
            summary->first_time_ns = header->first_time_ns;
        if (summary->events == 0 || header->last_time_ns > summary->last_time_ns)
            summary->last_time_ns = header->last_time_ns;
    }
    summary->chunks++;
    summary->events += header->n_events;
    progress->counted = progress->position;
    return NULL;
}

/* What the index says of the kinds in the chunk at OFFSET; NULL: nothing. */
static const struct tg_kind_set *indexed_kinds(const struct tg_trace_reader *reader, uint64_t offset)
{
    const struct tg_index_entry *entry =
        reader->index.is_whole ? tg_trace_index_find(&reader->index.index, offset) : NULL;
    return entry == NULL ? NULL : &entry->kinds;
}

/* Whether the section of HEADER, whose payload is at the position, has nothing that is wanted. */
static bool may_pass_over(const struct tg_trace_reader *reader, const struct tg_section_header *header,
                          uint64_t offset)
{
    const struct tg_kind_set *indexed = indexed_kinds(reader, offset);
    return header->kind == TG_SECTION_EVENTS && indexed != NULL &&
           reader->read.position + header->compressed_bytes <= reader->index.offset &&
           !tg_kind_set_is_wanted(indexed, &reader->wanted);
}

static struct tg_error *pass_over_chunk(struct tg_trace_reader *reader,
                                        const struct tg_section_header *header, uint64_t offset)
{
    reader->read.position += header->compressed_bytes;
    return count_chunk(reader, &reader->read, header, offset);
}

/* A section that is not needed for events: its payload must still be whole. */
static struct tg_error *pass_section(struct tg_trace_reader *reader, const struct tg_section_header *header,
                                     uint64_t offset)
{
    struct tg_byte_cursor cursor = payload_cursor(reader);
    if (header->kind == TG_SECTION_KINDS)
        return tg_trace_index_decode_kinds(NULL, 0, &cursor);
    if (header->kind == TG_SECTION_INDEX) {
        struct tg_trace_index index = {0};
        struct tg_error *error = tg_trace_index_decode(&index, &cursor);
        reader->read.summary.lost_events = index.lost_events;
        tg_trace_index_deinit(&index);
        return error;
    }
    if ((header->flags & TG_SECTION_SKIPPABLE) != 0)
        return NULL;
    if (header->kind == TG_SECTION_META)
        return input_error(reader, offset, "second META section");
    return tg_error_create(TG_ERROR_UNSUPPORTED,
                           "%s: at offset %" PRIu64
                           ": section of unknown kind %u, which this version of tollgate "
                           "must not skip",
                           reader->path, offset, header->kind);
}

/* Reads on to the next EVENTS section that has something wanted and reads it into CHUNK; at_end where there is none. */
static struct tg_error *read_chunk(struct tg_trace_reader *reader, struct tg_loaded_chunk *chunk)
{
    while (!reader->read.at_end) {
        struct tg_section_header header;
        uint64_t offset = reader->read.position;
        struct tg_error *error = read_header(reader, &header);
        if (error != NULL || reader->read.at_end)
            return error;
        error = check_sequence(reader, &header, offset);
        if (error == NULL && may_pass_over(reader, &header, offset)) {
            error = pass_over_chunk(reader, &header, offset);
            if (error != NULL)
                return error;
            continue;
        }
        if (error == NULL && header.kind == TG_SECTION_EVENTS) {
            chunk->header = header;
            chunk->offset = offset;
            return read_compressed(reader, &header, offset, &chunk->compressed);
        }
        if (error == NULL)
            error = read_payload(reader, &header, offset);
        if (error == NULL && !reader->read.at_end)
            error = pass_section(reader, &header, offset);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static struct tg_error *take_free_chunk(struct tg_trace_reader *reader, struct tg_loaded_chunk **chunk)
{
    if (reader->n_free == 0)
        return tg_loaded_chunk_create(reader->path, chunk);
    *chunk = reader->free_chunks[--reader->n_free];
    return NULL;
}

static void give_back(struct tg_trace_reader *reader, struct tg_loaded_chunk *chunk)
{
    if (chunk == NULL)
        return;
    tg_loaded_chunk_clear(chunk);
    reader->free_chunks[reader->n_free++] = chunk;
}

/* Reads one more chunk than were fetched, or finds the end. */
static void fetch(struct tg_trace_reader *reader)
{
    struct fetched *fetched = &reader->fetched[reader->n_fetched++];
    struct tg_loaded_chunk *chunk = NULL;
    struct tg_error *error = take_free_chunk(reader, &chunk);
    if (error == NULL)
        error = read_chunk(reader, chunk);
    *fetched = (struct fetched){.error = error, .before = reader->read};
    if (error != NULL || reader->read.at_end) {
        reader->read.at_end = true;
        give_back(reader, chunk);
        return;
    }
    fetched->chunk = chunk;
    tg_chunk_decoder_want(chunk->decoder, reader->wanted);
    error = count_chunk(reader, &reader->read, &chunk->header, chunk->offset);
    reader->read.at_end = error != NULL; /* found again when its turn comes */
    tg_error_destroy(error);
    if (reader->ahead != NULL)
        tg_read_ahead_post(reader->ahead, chunk);
}

/* Starts the threads as soon as a chunk was read to its end and another one follows: short traces need none. */
static void start_threads(struct tg_trace_reader *reader)
{
    if (reader->n_threads == 0 || reader->ahead != NULL || reader->told.summary.chunks == 0)
        return;
    struct tg_error *error = tg_read_ahead_create(reader->n_threads, &reader->ahead);
    if (error != NULL)
        reader->n_threads = 0; /* done without them */
    tg_error_destroy(error);
}

/* Forgets what was fetched, as if only what was told had been read. */
static void forget_fetched(struct tg_trace_reader *reader)
{
    if (reader->ahead != NULL)
        tg_read_ahead_cancel(reader->ahead);
    for (size_t i = 0; i < reader->n_fetched; i++) {
        tg_error_destroy(reader->fetched[i].error);
        give_back(reader, reader->fetched[i].chunk);
    }
    reader->n_fetched = 0;
    reader->read = reader->told;
}

/* Whether CHUNK is open and what the index says of it is true. */
static struct tg_error *check_chunk(const struct tg_trace_reader *reader, struct tg_loaded_chunk *chunk)
{
    struct tg_error *error = chunk->error;
    chunk->error = NULL;
    if (error != NULL)
        return error;
    const struct tg_kind_set found = tg_chunk_decoder_kinds(chunk->decoder);
    const struct tg_kind_set *indexed = indexed_kinds(reader, chunk->offset);
    return indexed == NULL || tg_kind_set_covers(indexed, &found)
               ? NULL
               : input_error(reader, chunk->offset,
                             "the index by kind does not have the kinds of this section");
}

/* At the end: whether the index has the events that were found, where all of the file was read. */
static struct tg_error *check_totals(const struct tg_trace_reader *reader)
{
    const struct tg_trace_summary *found = &reader->told.summary;
    bool is_known = reader->index.is_whole && !reader->has_jumped && found->complete;
    if (!is_known || (found->chunks == reader->index.chunks && found->events == reader->index.events))
        return NULL;
    return input_error(reader, reader->index.offset, "the index is not that of the events in this file");
}

/* Goes on to the next chunk; at_end where there is none. */
static struct tg_error *next_chunk(struct tg_trace_reader *reader)
{
    give_back(reader, reader->former);
    reader->former = reader->current;
    reader->current = NULL;
    start_threads(reader);
    if (!reader->keeps_former) {
        give_back(reader, reader->former);
        reader->former = NULL;
    }
    size_t n_wanted = reader->ahead == NULL ? 1 : reader->n_threads + 1;
    while (reader->n_fetched < n_wanted && !reader->read.at_end)
        fetch(reader);
    if (reader->n_fetched == 0) { /* the end was found before */
        reader->told.at_end = true;
        return NULL;
    }
    struct fetched first = reader->fetched[0];
    if (first.chunk != NULL && reader->ahead != NULL)
        tg_read_ahead_finish(reader->ahead, first.chunk);
    else if (first.chunk != NULL)
        tg_loaded_chunk_open(first.chunk);
    memmove(reader->fetched, reader->fetched + 1, --reader->n_fetched * sizeof *reader->fetched);
    reader->told = first.before;
    if (first.chunk == NULL)
        return first.error != NULL ? first.error : check_totals(reader);
    struct tg_error *error = check_chunk(reader, first.chunk);
    if (error == NULL)
        error = count_chunk(reader, &reader->told, &first.chunk->header, first.chunk->offset);
    if (error != NULL) {
        give_back(reader, first.chunk);
        return error;
    }
    reader->current = first.chunk;
    reader->chunk_offset = first.chunk->offset;
    reader->before_block = 0;
    return NULL;
}

static struct tg_error *read_meta(struct tg_trace_reader *reader)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES];
    size_t got = 0;
    struct tg_section_header header;
    struct tg_error *error = read_bytes(reader, bytes, sizeof bytes, &got);
    if (error != NULL)
        return error;
    if (got == 0 && reader->read.summary.recorder != 0) { /* nothing is written yet */
        end_truncated(reader, 0);
        return NULL;
    }
    if (got == 0 || !tg_section_may_begin(bytes, got))
        return tg_error_create(TG_ERROR_INPUT, "%s: %s: not a tollgate trace", reader->path,
                               got == 0 ? "empty" : "at offset 0");
    if (got < sizeof bytes) {
        end_truncated(reader, 0);
        return NULL;
    }
    enum tg_section_check check = tg_section_header_decode(bytes, &header);
    if (check == TG_SECTION_NEWER_VERSION)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s: version %u.%u, flags 0x%x: %s", reader->path,
                               header.major, header.minor, header.flags, tg_section_check_text(check));
    if (check != TG_SECTION_FINE)
        return input_error(reader, 0, tg_section_check_text(check));
    if (header.kind != TG_SECTION_META)
        return input_error(reader, 0, "first section is not META");
    error = check_sequence(reader, &header, 0);
    if (error == NULL)
        error = read_payload(reader, &header, 0);
    if (error != NULL || reader->read.at_end)
        return error;
    struct tg_byte_cursor cursor = payload_cursor(reader);
    return tg_error_prefix(tg_meta_payload_decode(reader->meta, &cursor), "%s", reader->path);
}

static struct tg_error *open_file(struct tg_trace_reader *reader, const char *path)
{
    bool standard_input = strcmp(path, "-") == 0;
    reader->path = strdup(standard_input ? "standard input" : path);
    if (reader->path == NULL)
        return tg_error_no_memory();
    reader->fd = standard_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 && errno == ENOENT)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: no such file", path);
    struct stat status;
    if (reader->fd < 0 || fstat(reader->fd, &status) != 0)
        return tg_error_create_errno(errno, "cannot open %s", reader->path);
    if (S_ISREG(status.st_mode)) {
        reader->read.summary.recorder = tg_recording_lock_owner(reader->fd);
        reader->seekable = lseek(reader->fd, 0, SEEK_SET) == 0;
        reader->read.summary.size_bytes = (uint64_t)status.st_size;
    }
    return NULL;
}

struct tg_error *tg_trace_reader_open(const char *path, struct tg_trace_reader **reader)
{
    struct tg_trace_reader *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->fd = -1;
    struct tg_error *error = open_file(created, path);
    if (error == NULL)
        error = tg_section_codec_create(0, &created->codec);
    if (error == NULL)
        error = tg_trace_meta_create(&created->meta);
    if (error == NULL)
        error = read_meta(created);
    if (error == NULL && created->seekable && !created->read.at_end) {
        tg_found_index_look(&created->index, created->fd, created->read.summary.size_bytes,
                            created->read.position, created->codec);
        created->read.summary.complete = created->index.is_whole;
    }
    if (error != NULL) {
        tg_trace_reader_close(created);
        return error;
    }
    created->told = created->read;
    *reader = created;
    return NULL;
}

static void forget_place(struct tg_trace_reader *reader)
{
    reader->has_jumped = true;
    forget_fetched(reader);
    give_back(reader, reader->current);
    give_back(reader, reader->former);
    reader->current = reader->former = NULL;
    reader->n_events = reader->next_event = 0;
    reader->chunk_offset = reader->before_block = 0;
    reader->read.at_end = reader->read.sequence_known = false;
}

void tg_trace_reader_close(struct tg_trace_reader *reader)
{
    if (reader == NULL)
        return;
    forget_place(reader);
    tg_read_ahead_destroy(reader->ahead);
    for (size_t i = 0; i < reader->n_free; i++)
        tg_loaded_chunk_destroy(reader->free_chunks[i]);
    if (reader->fd >= 0)
        close(reader->fd);
    tg_section_codec_destroy(reader->codec);
    tg_byte_buffer_deinit(&reader->compressed);
    tg_byte_buffer_deinit(&reader->raw);
    tg_trace_meta_destroy(reader->meta);
    tg_found_index_deinit(&reader->index);
    free(reader->path);
    free(reader);
}

const struct tg_trace_meta *tg_trace_reader_meta(const struct tg_trace_reader *reader)
{
    return reader->meta;
}

static void tell_watch(const struct tg_trace_reader *reader)
{
    if (reader->watch != NULL && reader->told.summary.size_bytes != 0)
        reader->watch(reader->watch_context, reader->told.position, reader->told.summary.size_bytes);
}

static struct tg_error *next_block(struct tg_trace_reader *reader)
{
    reader->before_block += reader->n_events;
    reader->n_events = reader->next_event = 0;
    while (reader->n_events == 0 && !reader->told.at_end) {
        struct tg_error *error = NULL;
        if (reader->current != NULL)
            error = tg_chunk_decoder_block(reader->current->decoder, &reader->events, &reader->n_events,
                                           &reader->unknown_events);
        if (error == NULL && reader->n_events == 0) {
            error = next_chunk(reader);
            tell_watch(reader);
        }
        if (error != NULL) {
            reader->n_events = 0;
            reader->told.at_end = true;
            reader->told.summary.complete = false;
            return error;
        }
    }
    return NULL;
}

struct tg_error *tg_trace_reader_next(struct tg_trace_reader *reader, const struct tg_event **event)
{
    if (__builtin_expect(reader->next_event == reader->n_events, 0)) {
        struct tg_error *error = next_block(reader);
        if (error != NULL)
            return error;
        if (reader->n_events == 0) {
            *event = NULL;
            return NULL;
        }
    }
    *event = &reader->events[reader->next_event++];
    return NULL;
}

struct tg_error *tg_trace_reader_run(struct tg_trace_reader *reader, const struct tg_event **events,
                                     size_t *count)
{
    *count = 0;
    if (reader->next_event == reader->n_events) {
        struct tg_error *error = next_block(reader);
        if (error != NULL)
            return error;
    }
    *count = reader->n_events - reader->next_event;
    *events = *count == 0 ? NULL : reader->events + reader->next_event;
    reader->next_event = reader->n_events;
    return NULL;
}

void tg_trace_reader_want(struct tg_trace_reader *reader, struct tg_wanted_kinds wanted)
{
    forget_fetched(reader);
    reader->wanted = wanted;
}

void tg_trace_reader_read_ahead(struct tg_trace_reader *reader, size_t n_threads)
{
    reader->keeps_former = reader->keeps_former || n_threads > 0;
    if (reader->seekable && reader->ahead == NULL)
        reader->n_threads = n_threads < TG_READ_AHEAD_MAX_THREADS ? n_threads : TG_READ_AHEAD_MAX_THREADS;
}

void tg_trace_reader_watch(struct tg_trace_reader *reader,
                           void (*watch)(void *context, uint64_t position, uint64_t size), void *context)
{
    reader->watch = watch;
    reader->watch_context = context;
}

/* From the section at the position on: stops before the first chunk with an event at or after TIME_NS, the
 * first thing that is not a whole section, or the end. */
static void scan_to(struct tg_trace_reader *reader, uint64_t time_ns)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES];
    struct tg_section_header header;
    for (;;) {
        ssize_t n = pread(reader->fd, bytes, sizeof bytes, (off_t)reader->read.position);
        if (n != sizeof bytes || tg_section_header_decode(bytes, &header) != TG_SECTION_FINE ||
            (header.kind == TG_SECTION_EVENTS && header.n_events > 0 && header.last_time_ns >= time_ns))
            return;
        reader->read.position += TG_SECTION_HEADER_BYTES + header.compressed_bytes;
    }
}

struct tg_error *tg_trace_reader_seek(struct tg_trace_reader *reader, uint64_t time_ns)
{
    if (!reader->seekable)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s: not seekable: a regular file is needed",
                               reader->path);
    forget_place(reader);
    reader->read.position = 0;
    if (reader->index.is_whole) {
        size_t i = 0;
        while (i < reader->index.index.count && reader->index.index.entries[i].last_time_ns < time_ns)
            i++;
        reader->read.position =
            i < reader->index.index.count ? reader->index.index.entries[i].offset : reader->index.offset;
    }
    scan_to(reader, time_ns);
    reader->told = reader->read;
    return NULL;
}

struct tg_trace_bookmark tg_trace_reader_tell(const struct tg_trace_reader *reader)
{
    return (struct tg_trace_bookmark){reader->chunk_offset, reader->before_block + reader->next_event};
}

struct tg_error *tg_trace_reader_return(struct tg_trace_reader *reader,
                                        const struct tg_trace_bookmark *bookmark)
{
    if (bookmark->offset == 0)
        return tg_trace_reader_seek(reader, 0);
    if (!reader->seekable)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s: not seekable: a regular file is needed",
                               reader->path);
    forget_place(reader);
    reader->read.position = bookmark->offset;
    reader->told = reader->read;
    struct tg_error *error = next_chunk(reader);
    while (error == NULL && reader->before_block + reader->n_events < bookmark->events) {
        error = next_block(reader);
        if (error == NULL && reader->n_events == 0)
            break;
    }
    if (error == NULL && reader->chunk_offset == bookmark->offset &&
        bookmark->events - reader->before_block <= reader->n_events) {
        reader->next_event = (size_t)(bookmark->events - reader->before_block);
        return NULL;
    }
    if (error == NULL)
        error = input_error(reader, bookmark->offset, "the chunk has changed");
    forget_place(reader);
    reader->told.at_end = reader->read.at_end = true;
    return error;
}

struct tg_trace_summary tg_trace_reader_summary(const struct tg_trace_reader *reader)
{
    struct tg_trace_summary summary = reader->told.summary;
    if (!reader->seekable)
        summary.size_bytes = reader->told.position;
    summary.unknown_events = reader->unknown_events;
    summary.is_recording = summary.recorder != 0 && !summary.complete;
    if (!reader->index.is_whole)
        return summary;
    summary.chunks = reader->index.chunks;
    summary.events = reader->index.events;
    summary.lost_events = reader->index.index.lost_events;
    if (reader->index.index.count > 0) {
        summary.first_time_ns = reader->index.first_time_ns;
        summary.last_time_ns = reader->index.last_time_ns;
    }
    return summary;
}
