#include "recorder/record/recording_file.h"

#include "format/trace/redactor.h"
#include "format/trace/writer.h"
#include "recorder/engine/engine.h"

#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tg_recording_file {
    struct tg_recording_file_options options;
    struct tg_trace_writer *writer;
    struct tg_redactor *redactor; /* of what the writer gets; NULL: that is as it is */
    uint64_t next_check_ns;       /* when to ask the writer for an error again */
    bool has_identity;            /* events say who a process is, and may not be in the file yet */
    uint64_t identity_ns;         /* when such ones were handed to it last */
    atomic_bool flush_wanted;
    bool write_failed;
    uint64_t losses;
    uint64_t counted_losses;
    uint64_t processes;
};

static const uint64_t check_interval_ns = 100000000;

/* ---- events */

/* Takes ERROR. */
static void report_write_error(struct tg_recording_file *file, struct tg_error *error)
{
    if (error == NULL)
        return;
    error = tg_error_prefix(error, "the trace is cut off here; the job continues");
    file->options.record->say(tg_error_message(error));
    tg_error_destroy(error);
    file->write_failed = true;
}

static void write_event(struct tg_recording_file *file, const struct tg_event *event)
{
    struct tg_event redacted;
    if (file->redactor == NULL) {
        tg_trace_writer_add(file->writer, event);
        return;
    }
    struct tg_error *error = tg_redactor_event(file->redactor, event, &redacted);
    if (error != NULL)
        redacted = (struct tg_event){.kind = TG_EVENT_LOSS,
                                     .time_ns = event->time_ns,
                                     .loss = {TG_LOSS_LIMIT, 1, "out of memory while names were replaced"}};
    tg_error_destroy(error);
    tg_trace_writer_add(file->writer, &redacted);
}

/* A process's identity gets into the file soon: where the recorder is killed in a process's first second, what
 * rings hold of it would be nobody's. */
static bool is_identity_due(struct tg_recording_file *file)
{
    const uint64_t pause_ns = 50000000;
    uint64_t now_ns = file->has_identity ? tg_engine_now_ns() : 0;
    if (!file->has_identity || now_ns < file->identity_ns + pause_ns)
        return false;
    file->has_identity = false;
    file->identity_ns = now_ns;
    return true;
}

static void check_writer(struct tg_recording_file *file, uint64_t time_ns)
{
    if (time_ns < file->next_check_ns)
        return;
    file->next_check_ns = time_ns + check_interval_ns;
    report_write_error(file, tg_trace_writer_take_error(file->writer));
}

void tg_recording_file_add(struct tg_recording_file *file, const struct tg_event *event)
{
    write_event(file, event);
    file->has_identity |= event->kind == TG_EVENT_IDENTITY;
    if (!file->options.has_drain && is_identity_due(file))
        tg_trace_writer_flush(file->writer, true);
    if (event->kind == TG_EVENT_LOSS) {
        file->losses++;
        file->counted_losses += tg_loss_count(event->loss.count);
    }
    file->processes += event->kind == TG_EVENT_PROCESS_START;
    check_writer(file, event->time_ns);
}

void tg_recording_file_add_again(struct tg_recording_file *file, const struct tg_event *event,
                                 struct tg_event_place *place)
{
    if (file->redactor != NULL) {
        tg_recording_file_add(file, event);
        return;
    }
    tg_trace_writer_add_again(file->writer, event, place);
    check_writer(file, event->time_ns);
}

struct tg_chunk_tail *const *tg_recording_file_tail(const struct tg_recording_file *file)
{
    return file->redactor == NULL ? tg_trace_writer_tail(file->writer) : NULL;
}

void tg_recording_file_flush(struct tg_recording_file *file, bool at_once)
{
    bool is_wanted = atomic_exchange(&file->flush_wanted, false);
    tg_trace_writer_flush(file->writer, is_identity_due(file) || is_wanted || at_once);
}

void tg_recording_file_want_flush(struct tg_recording_file *file)
{
    atomic_store(&file->flush_wanted, true);
}

bool tg_recording_file_is_behind(const struct tg_recording_file *file)
{
    return tg_trace_writer_is_behind(file->writer);
}

uint64_t tg_recording_file_events(const struct tg_recording_file *file)
{
    return tg_trace_writer_stats(file->writer).events;
}

uint64_t tg_recording_file_written(const struct tg_recording_file *file)
{
    return tg_trace_writer_written(file->writer);
}

/* ---- life */

/* META without names, but for the place of the rings, which is needed to salvage them. */
static struct tg_error *redact_meta(struct tg_recording_file *file, const struct tg_trace_meta *meta,
                                    struct tg_trace_meta **result)
{
    struct tg_trace_meta *redacted = NULL;
    const char *directory = tg_trace_meta_get(meta, "agent.directory");
    const struct passwd *user = getpwuid(getuid());
    struct tg_error *error = tg_redactor_create(0, &file->redactor);
    if (error == NULL && user != NULL && user->pw_uid != 0)
        error = tg_redactor_user(file->redactor, user->pw_name);
    if (error == NULL)
        error = tg_trace_meta_create(&redacted);
    if (error == NULL)
        error = tg_redactor_meta(file->redactor, meta, redacted);
    if (error == NULL && directory != NULL)
        error = tg_trace_meta_set(redacted, "agent.directory", directory);
    if (error != NULL) {
        tg_trace_meta_destroy(redacted);
        return error;
    }
    *result = redacted;
    return NULL;
}

struct tg_error *tg_recording_file_create(const struct tg_recording_file_options *options,
                                          const struct tg_trace_meta *meta, struct tg_recording_file **file)
{
    const struct tg_trace_writer_options writer = {
        .overwrite = options->record->force, .sealing = options->sealing, .context = options->context};
    struct tg_trace_meta *redacted = NULL;
    struct tg_recording_file *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    struct tg_error *error = options->record->redact ? redact_meta(made, meta, &redacted) : NULL;
    if (error == NULL)
        error = tg_trace_writer_create(options->record->trace, &writer, redacted != NULL ? redacted : meta,
                                       &made->writer);
    tg_trace_meta_destroy(redacted);
    if (error == NULL) {
        *file = made;
        return NULL;
    }
    tg_redactor_destroy(made->redactor);
    free(made);
    return error;
}

void tg_recording_file_close(struct tg_recording_file *file, struct tg_recording_summary *summary)
{
    struct tg_trace_writer_stats stats = {0};
    report_write_error(file, tg_trace_writer_take_error(file->writer));
    report_write_error(file, tg_trace_writer_close(file->writer, &stats));
    *summary = (struct tg_recording_summary){
        .events = stats.events,
        .processes = file->processes,
        .written_bytes = stats.written_bytes,
        .lost_events = stats.lost_events + file->counted_losses,
        .losses = file->losses,
        .finished = true,
        .complete = !file->write_failed,
    };
    tg_redactor_destroy(file->redactor);
    free(file);
}

void tg_recording_file_discard(struct tg_recording_file *file)
{
    if (file == NULL)
        return;
    char *path = NULL;
    tg_trace_writer_destroy(file->writer);
    if (asprintf(&path, "%s.incomplete", file->options.record->trace) >= 0)
        unlink(path);
    free(path);
    tg_redactor_destroy(file->redactor);
    free(file);
}
