#include "format/trace/recovery.h"

#include "format/base/array.h"
#include "format/base/replace.h"
#include "format/trace/chunk_decoder.h"
#include "format/trace/event_appender.h"
#include "format/trace/file.h"
#include "format/trace/index.h"
#include "format/trace/recording_lock.h"
#include "format/trace/section_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCAN_BYTES = 1 << 16 };

/* One pass over a damaged file. */
struct pass {
    const char *path;
    const char *out_path;
    bool overwrite;
    int fd;
    uint64_t size_bytes, position;
    struct tg_section_codec *codec;
    struct tg_chunk_decoder *decoder;
    struct tg_trace_meta *meta;
    struct tg_trace_file *file; /* NULL until META is known, or where nothing is to be written */
    bool file_wanted;
    struct tg_byte_buffer payload, raw;
    struct tg_section_header header; /* of the section at the position */
    bool in_gap;
    struct tg_recovery_gap gap;
    bool sequence_known;
    uint32_t next_sequence;
    bool has_lost_total; /* from the index */
    uint64_t loss_events_sum;
    const struct tg_recovery_rest *rest; /* NULL none */
    struct tg_recovery *recovery;
};

void tg_recovery_deinit(struct tg_recovery *recovery)
{
    free(recovery->gaps);
    *recovery = (struct tg_recovery){0};
}

/* Reads SIZE bytes at OFFSET; *WHOLE is false where the file ends before. */
static struct tg_error *read_at(const struct pass *pass, uint64_t offset, uint8_t *bytes, size_t size,
                                bool *whole)
{
    size_t done = 0;
    *whole = false;
    while (done < size) {
        ssize_t n = pread(pass->fd, bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tg_error_create_errno(errno, "%s: cannot read at offset %" PRIu64, pass->path, offset);
        if (n == 0)
            return NULL;
        done += (size_t)n;
    }
    *whole = true;
    return NULL;
}

/* Closes the gap that is open, if one is: what comes behind it begins at END. */
static struct tg_error *end_gap(struct pass *pass, uint64_t end)
{
    struct tg_recovery *recovery = pass->recovery;
    if (!pass->in_gap)
        return NULL;
    pass->in_gap = false;
    pass->gap.size_bytes = end - pass->gap.offset;
    recovery->skipped_bytes += pass->gap.size_bytes;
    if (recovery->n_gaps < TG_RECOVERY_MAX_GAPS)
        return TG_ARRAY_APPEND_EXACT(recovery->gaps, recovery->n_gaps, pass->gap);
    recovery->n_gaps++;
    return NULL;
}

static void begin_gap(struct pass *pass)
{
    if (pass->in_gap)
        return;
    pass->in_gap = true;
    pass->gap = (struct tg_recovery_gap){.offset = pass->position,
                                         .has_after_ns = pass->recovery->events > 0,
                                         .after_ns = pass->recovery->last_time_ns};
}

/* The output is begun with the first thing that goes into it, when it is known whether META came before. */
static struct tg_error *begin_file(struct pass *pass)
{
    if (!pass->file_wanted || pass->file != NULL)
        return NULL;
    return tg_trace_file_create(pass->out_path, ".recovering", pass->overwrite, 0, pass->meta, &pass->file);
}

/* A loss event for what is not there, so that the clean trace does not hide it. */
static struct tg_error *write_loss(struct pass *pass, uint64_t count, const char *reason)
{
    struct tg_error *error = begin_file(pass);
    if (error != NULL || pass->file == NULL)
        return error;
    struct tg_event event = {.time_ns = pass->recovery->last_time_ns, .kind = TG_EVENT_LOSS};
    if (pass->recovery->events + pass->recovery->rest_events == 0)
        event.time_ns = tg_trace_meta_get_number(pass->meta, "start.monotonic_ns", pass->gap.before_ns);
    event.loss = (struct tg_event_loss){.source = TG_LOSS_WRITER_FILE, .count = count, .reason = reason};
    struct tg_event_appender *appender;
    error = tg_event_appender_create(pass->file, (struct tg_trace_units){0}, &appender);
    if (error != NULL)
        return error;
    tg_event_appender_add(appender, &event);
    error = tg_event_appender_flush(appender);
    tg_event_appender_destroy(appender);
    return error;
}

/* What an interrupted recording lacks, after GAP at the end of its file (or NULL): behind the rest, which says what is
 * known. */
static struct tg_error *write_interruption(struct pass *pass, const struct tg_recovery_gap *gap)
{
    const struct tg_recovery *recovery = pass->recovery;
    char reason[400], incomplete[80] = "";
    uint64_t in_file_ns = recovery->events == 0 ? recovery->start_ns : recovery->file_last_ns;
    if (gap != NULL)
        snprintf(incomplete, sizeof incomplete, "%" PRIu64 " bytes at its end were incomplete",
                 gap->size_bytes);
    if (recovery->extent == TG_RECOVERY_UNKNOWN)
        snprintf(reason, sizeof reason, "the recording was interrupted: %s",
                 gap != NULL ? incomplete : "later events are unknown");
    else
        snprintf(reason, sizeof reason,
                 "the recording was interrupted%s%s: what the recorder itself saw after %.6f s (ends, "
                 "signals, stops) is "
                 "unknown; what the agents in the programs recorded%s is here, or counted as lost",
                 gap != NULL ? ", " : "", incomplete,
                 in_file_ns < recovery->start_ns ? 0 : (double)(in_file_ns - recovery->start_ns) / 1e9,
                 recovery->extent == TG_RECOVERY_SO_FAR ? " until this trace was recovered" : "");
    return write_loss(pass, gap != NULL && recovery->extent == TG_RECOVERY_UNKNOWN ? gap->events : 0, reason);
}

static struct tg_error *write_gap(struct pass *pass, const struct tg_recovery_gap *gap)
{
    char reason[160];
    if (gap->size_bytes > 0)
        snprintf(reason, sizeof reason, "%" PRIu64 " bytes of the trace were damaged at offset %" PRIu64,
                 gap->size_bytes, gap->offset);
    else
        snprintf(reason, sizeof reason, "%" PRIu64 " sections of the trace were missing at offset %" PRIu64,
                 gap->sections, gap->offset);
    return write_loss(pass, gap->events, reason);
}

/* Decodes every event of the chunk in RAW: what is kept can be read. */
static struct tg_error *check_events(struct pass *pass, const struct tg_byte_source *source)
{
    const struct tg_event *events = NULL;
    size_t count = 0;
    uint64_t unknown = 0, lost = 0;
    struct tg_error *error = tg_chunk_decoder_begin(pass->decoder, source, pass->raw.size, &pass->header);
    while (error == NULL) {
        error = tg_chunk_decoder_block(pass->decoder, &events, &count, &unknown);
        if (error != NULL || count == 0)
            break;
        for (size_t i = 0; i < count; i++)
            if (events[i].kind == TG_EVENT_LOSS &&
                (events[i].loss.source == TG_LOSS_WRITER_QUEUE || events[i].loss.source == TG_LOSS_LIMIT))
                lost += tg_loss_count(events[i].loss.count);
    }
    if (error == NULL)
        pass->loss_events_sum += lost;
    return error;
}

static struct tg_error *check_index(struct pass *pass, struct tg_byte_cursor *cursor)
{
    struct tg_trace_index index = {0};
    struct tg_error *error = tg_trace_index_decode(&index, cursor);
    if (error == NULL) {
        pass->has_lost_total = true;
        pass->recovery->lost_events = index.lost_events;
    }
    tg_trace_index_deinit(&index);
    return error;
}

/* Whether what was decompressed decodes. */
static struct tg_error *check_payload(struct pass *pass)
{
    struct tg_byte_source source = {.file = pass->path,
                                    .chunk_offset = pass->position,
                                    .section = tg_section_name(pass->header.kind),
                                    .start = pass->raw.data};
    struct tg_byte_cursor cursor = {pass->raw.data, pass->raw.data + pass->raw.size, &source};
    if (pass->header.kind == TG_SECTION_EVENTS)
        return check_events(pass, &source);
    if (pass->header.kind == TG_SECTION_META && pass->position == 0)
        return tg_meta_payload_decode(pass->meta, &cursor);
    if (pass->header.kind == TG_SECTION_INDEX)
        return check_index(pass, &cursor);
    if (pass->header.kind == TG_SECTION_KINDS)
        return tg_trace_index_decode_kinds(NULL, 0, &cursor);
    return NULL;
}

/* Whether the payload of the section at the position is good in every respect; *ERROR only for what is no
 * damage. */
static bool payload_is_good(struct pass *pass, struct tg_error **error)
{
    bool whole = false;
    if (!tg_byte_buffer_grow(&pass->payload, (size_t)pass->header.compressed_bytes + 1)) {
        *error = tg_error_no_memory();
        return false;
    }
    *error = read_at(pass, pass->position + TG_SECTION_HEADER_BYTES, pass->payload.data,
                     pass->header.compressed_bytes, &whole);
    if (*error != NULL || !whole)
        return false;
    struct tg_error *damage =
        tg_section_codec_unpack(pass->codec, &pass->header, pass->payload.data, &pass->raw);
    if (damage == NULL && pass->header.kind == TG_SECTION_EVENTS &&
        !tg_trace_may_hold(pass->recovery->events + pass->header.n_events, pass->position))
        return false;
    if (damage == NULL)
        damage = check_payload(pass);
    if (damage != NULL && tg_error_code(damage) == TG_ERROR_NO_MEMORY) {
        *error = damage;
        return false;
    }
    bool good = damage == NULL;
    tg_error_destroy(damage);
    return good;
}

/* Counts sections missing before this one by its number. */
static struct tg_error *follow_sequence(struct pass *pass)
{
    uint32_t missing = pass->header.sequence - pass->next_sequence;
    bool forward = missing != 0 && missing < UINT32_MAX / 2;
    if (!pass->sequence_known)
        forward = forward && pass->position > 0;
    pass->sequence_known = true;
    pass->next_sequence = pass->header.sequence + 1;
    if (forward) {
        begin_gap(pass);
        pass->gap.sections = missing;
    }
    if (!pass->in_gap)
        return NULL;
    pass->gap.has_before_ns = pass->header.kind == TG_SECTION_EVENTS && pass->header.n_events > 0;
    pass->gap.before_ns = pass->header.first_time_ns;
    struct tg_error *error = end_gap(pass, pass->position);
    return error != NULL ? error : write_gap(pass, &pass->gap);
}

static struct tg_error *keep_section(struct pass *pass)
{
    struct tg_recovery *recovery = pass->recovery;
    const struct tg_section_header *header = &pass->header;
    struct tg_error *error = follow_sequence(pass);
    bool copied = header->kind != TG_SECTION_META && header->kind != TG_SECTION_INDEX &&
                  header->kind != TG_SECTION_KINDS;
    struct tg_kind_set kinds = tg_chunk_decoder_kinds(pass->decoder); /* of the section, where it is EVENTS */
    if (error == NULL && copied)
        error = begin_file(pass);
    if (error == NULL && copied && pass->file != NULL)
        error = tg_trace_file_append_packed(pass->file, header, pass->payload.data, &kinds);
    pass->position += TG_SECTION_HEADER_BYTES + header->compressed_bytes;
    if (error != NULL || header->kind != TG_SECTION_EVENTS)
        return error;
    if (header->n_events > 0) {
        if (recovery->events == 0 || header->first_time_ns < recovery->first_time_ns)
            recovery->first_time_ns = header->first_time_ns;
        if (recovery->events == 0 || header->last_time_ns > recovery->last_time_ns)
            recovery->last_time_ns = header->last_time_ns;
    }
    recovery->chunks++;
    recovery->events += header->n_events;
    return NULL;
}

/* Whether a section with a good header, or the trailer, begins at OFFSET. */
static struct tg_error *is_good_header(const struct pass *pass, uint64_t offset, bool *good)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES] = {0};
    struct tg_section_header header;
    bool whole = false;
    struct tg_error *error = read_at(pass, offset, bytes, sizeof bytes, &whole);
    enum tg_section_check check = tg_section_header_decode(bytes, &header);
    *good = check == TG_SECTION_TRAILER ||
            (whole && (check == TG_SECTION_FINE || check == TG_SECTION_NEWER_VERSION));
    return error;
}

/* From the byte behind the position on, to the next good header, or to the end. */
static struct tg_error *resynchronise(struct pass *pass)
{
    uint8_t *block = malloc(SCAN_BYTES);
    if (block == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    uint64_t from = pass->position + 1;
    bool found = false;
    while (error == NULL && !found && from + TG_TRAILER_BYTES <= pass->size_bytes) {
        ssize_t n = pread(pass->fd, block, SCAN_BYTES, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            error = tg_error_create_errno(errno, "%s: cannot read at offset %" PRIu64, pass->path, from);
        if (n < TG_TRAILER_BYTES)
            break;
        size_t at = 0;
        while (error == NULL && !found && at + TG_TRAILER_BYTES <= (size_t)n) {
            if (tg_section_may_begin(block + at, 16))
                error = is_good_header(pass, from + at, &found);
            at += !found;
        }
        from += at;
    }
    free(block);
    pass->position = found ? from : pass->size_bytes;
    return error;
}

static struct tg_error *skip_damage(struct pass *pass, bool header_good)
{
    begin_gap(pass);
    if (header_good && pass->header.kind == TG_SECTION_EVENTS)
        pass->gap.events += pass->header.n_events;
    if (pass->position == 0 || (header_good && pass->header.kind == TG_SECTION_META))
        pass->recovery->meta_lost = true;
    return resynchronise(pass);
}

/* Deals with what is at the position and moves on. */
static struct tg_error *step(struct pass *pass)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES] = {0};
    bool whole = false;
    struct tg_error *error = read_at(pass, pass->position, bytes, sizeof bytes, &whole);
    if (error != NULL)
        return error;
    enum tg_section_check check = tg_section_header_decode(bytes, &pass->header);
    if (check == TG_SECTION_TRAILER) {
        error = end_gap(pass, pass->position);
        pass->recovery->has_index = pass->position + TG_TRAILER_BYTES == pass->size_bytes;
        pass->position += TG_TRAILER_BYTES;
        return error;
    }
    if (check == TG_SECTION_NEWER_VERSION ||
        (check == TG_SECTION_FINE && pass->header.kind > TG_SECTION_KINDS &&
         (pass->header.flags & TG_SECTION_SKIPPABLE) == 0))
        return tg_error_create(
            TG_ERROR_UNSUPPORTED, "%s: at offset %" PRIu64 ": version %u.%u, section kind %u, flags 0x%x: %s",
            pass->path, pass->position, pass->header.major, pass->header.minor, pass->header.kind,
            pass->header.flags, tg_section_check_text(TG_SECTION_NEWER_VERSION));
    bool good = check == TG_SECTION_FINE && payload_is_good(pass, &error);
    if (error != NULL)
        return error;
    return good ? keep_section(pass) : skip_damage(pass, check == TG_SECTION_FINE);
}

static struct tg_error *open_pass(struct pass *pass)
{
    pass->fd = open(pass->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe is refused, not waited for */
    if (pass->fd < 0 && errno == ENOENT)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: no such file", pass->path);
    struct stat status;
    if (pass->fd < 0 || fstat(pass->fd, &status) != 0)
        return tg_error_create_errno(errno, "cannot open %s", pass->path);
    if (!S_ISREG(status.st_mode))
        return tg_error_create(TG_ERROR_INPUT, "%s: not a regular file", pass->path);
    pass->size_bytes = pass->recovery->size_bytes = (uint64_t)status.st_size;
    pass->recovery->recorder = tg_recording_lock_owner(pass->fd);
    if (pass->recovery->recorder != 0 && pass->out_path != NULL)
        return tg_error_create(TG_ERROR_EXISTS,
                               "%s is still being recorded: recover it when the recording has ended",
                               pass->path);
    struct tg_error *error = NULL;
    if (pass->out_path != NULL)
        error = tg_replace_check(AT_FDCWD, pass->out_path, pass->out_path, pass->overwrite);
    if (error == NULL)
        error = tg_section_codec_create(0, &pass->codec);
    if (error == NULL)
        error = tg_chunk_decoder_create(&pass->decoder);
    if (error == NULL)
        error = tg_trace_meta_create(&pass->meta);
    return error;
}

static void add_rest(void *context, const struct tg_event *event)
{
    tg_event_appender_add(context, event);
}

/* Nothing is missing but an end that was being written. */
static bool is_complete_so_far(const struct tg_recovery *recovery)
{
    return !recovery->meta_lost &&
           (recovery->n_gaps == 0 || (recovery->n_gaps == 1 && recovery->gaps[0].at_end));
}

/* Facts about the recording beyond its file. */
static struct tg_error *write_rest(struct pass *pass)
{
    struct tg_recovery *recovery = pass->recovery;
    struct tg_event_appender *appender = NULL;
    struct tg_trace_units units = {0};
    if (pass->rest == NULL || recovery->has_index)
        return NULL;
    struct tg_recovery_place place = {.after_ns = recovery->events == 0 ? 0 : recovery->last_time_ns,
                                      .n_events =
                                          is_complete_so_far(recovery) ? recovery->events : UINT64_MAX};
    struct tg_error *error = begin_file(pass);
    if (error == NULL)
        error = tg_trace_meta_units(pass->meta, &units);
    if (place.after_ns > 0)
        place.after_ns |= (UINT64_C(1) << units.time_shift) - 1; /* times are rounded down */
    if (error == NULL)
        error = tg_event_appender_create(pass->file, units, &appender);
    if (error == NULL)
        error =
            pass->rest->tell(pass->rest->context, pass->meta, place, add_rest, appender, &recovery->extent);
    if (error == NULL)
        error = tg_event_appender_flush(appender);
    if (error == NULL) {
        struct tg_event_appender_stats stats = tg_event_appender_stats(appender);
        recovery->rest_events = stats.events;
        recovery->lost_events += stats.left_out;
        if (stats.left_out > 0)
            recovery->extent = TG_RECOVERY_UNKNOWN;
        if (stats.events > 0 && (recovery->events == 0 || stats.first_time_ns < recovery->first_time_ns))
            recovery->first_time_ns = stats.first_time_ns;
        if (stats.last_time_ns > recovery->last_time_ns)
            recovery->last_time_ns = stats.last_time_ns;
    }
    tg_event_appender_destroy(appender);
    return error;
}

static struct tg_error *finish_pass(struct pass *pass)
{
    struct tg_recovery *recovery = pass->recovery;
    bool in_gap = pass->in_gap;
    pass->gap.at_end = true;
    struct tg_error *error = end_gap(pass, pass->size_bytes);
    if (error == NULL && !pass->sequence_known)
        return tg_error_create(TG_ERROR_INPUT, "%s: not a tollgate trace, or no intact section in it",
                               pass->path);
    if (!pass->has_lost_total)
        recovery->lost_events = pass->loss_events_sum;
    recovery->start_ns = tg_trace_meta_get_number(pass->meta, "start.monotonic_ns", recovery->first_time_ns);
    recovery->was_whole = recovery->has_index && recovery->n_gaps == 0 && pass->has_lost_total;
    recovery->file_last_ns = recovery->last_time_ns;
    if (error == NULL && in_gap && recovery->has_index)
        error = write_gap(pass, &pass->gap);
    if (error == NULL)
        error = write_rest(pass);
    if (error == NULL && !recovery->has_index)
        error = write_interruption(pass, in_gap ? &pass->gap : NULL);
    if (error == NULL)
        error = begin_file(pass);
    if (error == NULL && pass->file != NULL)
        error = tg_trace_file_finish(pass->file, recovery->lost_events);
    return error;
}

struct tg_error *tg_trace_recover(const char *path, const char *out_path, bool overwrite,
                                  const struct tg_recovery_rest *rest, struct tg_recovery *recovery)
{
    struct pass pass = {.path = path,
                        .out_path = out_path,
                        .overwrite = overwrite,
                        .fd = -1,
                        .file_wanted = out_path != NULL,
                        .rest = rest,
                        .recovery = recovery};
    struct tg_error *error = open_pass(&pass);
    while (error == NULL && pass.position < pass.size_bytes)
        error = step(&pass);
    if (error == NULL)
        error = finish_pass(&pass);
    if (error != NULL && pass.file != NULL)
        tg_trace_file_discard(pass.file);
    tg_trace_file_destroy(pass.file);
    if (pass.fd >= 0)
        close(pass.fd);
    tg_section_codec_destroy(pass.codec);
    tg_chunk_decoder_destroy(pass.decoder);
    tg_trace_meta_destroy(pass.meta);
    tg_byte_buffer_deinit(&pass.payload);
    tg_byte_buffer_deinit(&pass.raw);
    return error;
}
