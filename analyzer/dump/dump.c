#include "analyzer/dump/dump.h"

#include "analyzer/output/feeder.h"
#include "analyzer/output/trace_pass.h"
#include "format/trace/read_ahead.h"
#include "format/trace/reader.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

struct dump_run {
    const struct tg_dump_request *request;
    struct tg_output *output;
    struct tg_dump dump;
    struct tg_trace_reader *reader;
    struct tg_process_model *processes; /* NULL: the format and the selection do without */
    struct tg_process_entry unknown; /* then each process; its entry is large, and made anew for no event */
    struct tg_error **damage;
    uint64_t trace_bytes;     /* as far as the trace was read, to the end of the chunk */
    struct tg_feeder *writer; /* writes on a thread of its own: touches DUMP and OUTPUT; NULL: none does */
};

bool tg_dump_may_write(uint64_t bytes, uint64_t trace_bytes)
{
    const uint64_t at_once = UINT64_C(1) << 26, per_byte = 1 << 14;
    return bytes <= at_once || trace_bytes == 0 || (bytes - at_once) / per_byte <= trace_bytes;
}

static struct tg_error *check_amount(const struct dump_run *run)
{
    uint64_t bytes = tg_output_bytes(run->output), size = run->trace_bytes;
    if (run->request->unlimited || tg_dump_may_write(bytes, size))
        return NULL;
    return tg_error_create(TG_ERROR_LIMIT,
                           "%s: stopped after %" PRIu64 " bytes of output from %" PRIu64
                           " bytes of trace: no recording has so much; --unlimited goes on",
                           run->request->path, bytes, size);
}

/* Whether names come from events of KIND. */
static bool names_need(const struct dump_run *run, unsigned kind)
{
    return run->dump.names != NULL && !tg_event_has_place(kind) && kind != TG_EVENT_MPI_ENTER &&
           kind != TG_EVENT_MPI_LEAVE && tg_code_names_needs(kind);
}

/* Writes EVENT, unless nobody reads any more. */
static struct tg_error *write_event(struct dump_run *run, const struct tg_event *event,
                                    const struct tg_process_entry *entry, bool is_admitted)
{
    const struct tg_dump_format *format = run->request->format;
    if (tg_output_closed(run->output))
        return NULL;
    struct tg_error *error = names_need(run, event->kind) ? tg_code_names_feed(run->dump.names, event) : NULL;
    if (error != NULL)
        return error;
    if (!is_admitted)
        return format->left_out == NULL ? NULL : format->left_out(&run->dump, event, entry);
    error = format->event(&run->dump, event, entry);
    return error != NULL ? error : check_amount(run);
}

/* What the writer gets with an event: whether it is admitted, and its process's rank + 1. */
static size_t pack(bool is_admitted, int64_t rank)
{
    return (size_t)(rank + 1) << 1 | is_admitted;
}

/* Takes EVENTS on the writer's thread. */
static struct tg_error *take_packed(void *context, const struct tg_event *events, const size_t *packed,
                                    size_t count)
{
    struct tg_error *error = NULL;
    struct tg_process_entry entry = {0};
    for (size_t i = 0; error == NULL && i < count; i++) {
        entry.pid = events[i].pid;
        entry.rank = (int64_t)(packed[i] >> 1) - 1;
        error = write_event(context, &events[i], &entry, (packed[i] & 1) != 0);
    }
    return error;
}

static struct tg_error *handle_event(struct dump_run *run, const struct tg_event *event)
{
    const struct tg_selection *selection = run->request->selection;
    struct tg_process_entry *entry = event->pid == 0 ? NULL : &run->unknown;
    run->unknown.pid = event->pid;
    if (run->processes != NULL) {
        struct tg_error *error = tg_process_model_feed(run->processes, event, &entry);
        if (error != NULL)
            return error;
    }
    bool is_admitted = tg_selection_admits_time(selection, event->time_ns) &&
                       tg_selection_admits_kind(selection, event->kind) &&
                       tg_selection_admits_process(selection, entry);
    int64_t rank = entry == NULL ? -1 : entry->rank;
    if (run->writer != NULL && rank < INT32_MAX) { /* a trace may name any */
        size_t packed = pack(is_admitted, rank);
        return is_admitted || names_need(run, event->kind) ? tg_feeder_feed(run->writer, event, &packed, 1)
                                                           : NULL;
    }
    struct tg_error *error = run->writer == NULL ? NULL : tg_feeder_settle(run->writer);
    return error != NULL ? error : write_event(run, event, entry, is_admitted);
}

/* Kinds that are shown, or that names come from. */
static bool is_needed(const void *context, unsigned kind)
{
    const struct dump_run *run = context;
    return tg_selection_admits_kind(run->request->selection, (enum tg_event_kind)kind) ||
           names_need(run, kind);
}

/* Reads the first event, which may say when the trace began, and goes to where the window begins. */
static struct tg_error *start(struct dump_run *run, const struct tg_event **event)
{
    struct tg_selection *selection = run->request->selection;
    *event = NULL;
    tg_trace_reader_read_ahead(run->reader, tg_read_ahead_threads());
    tg_progress_watch(run->request->progress, run->reader);
    *run->damage = tg_trace_reader_next(run->reader, event);
    if (*run->damage != NULL)
        *event = NULL;
    run->dump.start_ns = tg_trace_start_ns(run->reader, *event);
    tg_selection_start(selection, run->dump.start_ns);
    run->dump.meta = tg_trace_reader_meta(run->reader);
    if (run->processes == NULL && run->request->format->left_out == NULL)
        tg_trace_reader_want(run->reader, (struct tg_wanted_kinds){is_needed, run});
    if (*event == NULL || !selection->has_from || run->processes != NULL || run->dump.names != NULL)
        return NULL;
    struct tg_error *error = tg_trace_reader_seek(run->reader, selection->from_ns);
    if (error != NULL)
        return error;
    *event = NULL;
    *run->damage = tg_trace_reader_next(run->reader, event);
    if (*run->damage != NULL)
        *event = NULL;
    return NULL;
}

/* Where another chunk begins, and at the end: the writer has the events before. */
static struct tg_error *settle(struct dump_run *run)
{
    struct tg_error *error = run->writer == NULL ? NULL : tg_feeder_settle(run->writer);
    run->trace_bytes = tg_trace_reader_summary(run->reader).size_bytes;
    return error;
}

static struct tg_error *run_events(struct dump_run *run, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    uint64_t chunk = 0;
    while (event != NULL) {
        uint64_t offset = tg_trace_reader_tell(run->reader).offset;
        if (offset != chunk) { /* the strings of the chunk before go with the next one */
            error = settle(run);
            if (error != NULL || tg_output_closed(run->output))
                return error;
        }
        chunk = offset;
        error = handle_event(run, event);
        if (error != NULL)
            return error;
        event = NULL;
        *run->damage = tg_trace_reader_next(run->reader, &event);
        if (*run->damage != NULL)
            event = NULL;
    }
    return settle(run);
}

/* A thread for the writing, where there is a processor for it besides that of the threads that open chunks. Not for a pipe:
 * what has come is written before more comes. */
static struct tg_error *start_writer(struct dump_run *run)
{
    if (!run->request->format->knows_ranks_alone || tg_read_ahead_threads() < 2 ||
        strcmp(run->request->path, "-") == 0)
        return NULL;
    return tg_feeder_create(take_packed, run, &run->writer);
}

static bool is_code_name(const void *context, unsigned kind)
{
    (void)context;
    return kind == TG_EVENT_CODE_NAME;
}

/* Names that the trace has of code come behind the events that are to be shown with them. */
static struct tg_error *read_names(struct dump_run *run)
{
    struct stat file;
    struct tg_trace_reader *reader = NULL;
    if (run->dump.names == NULL || stat(run->request->path, &file) != 0 || !S_ISREG(file.st_mode))
        return NULL;
    struct tg_error *error = tg_trace_reader_open(run->request->path, &reader);
    if (error != NULL)
        return error;
    tg_trace_reader_want(reader, (struct tg_wanted_kinds){is_code_name, NULL});
    const struct tg_event *event;
    do {
        event = NULL;
        TG_AUTO_ERROR struct tg_error *damage =
            tg_trace_reader_next(reader, &event); /* told when it is read again */
        if (damage != NULL)
            event = NULL;
        if (event != NULL && event->kind == TG_EVENT_CODE_NAME)
            error = tg_code_names_feed(run->dump.names, event);
    } while (error == NULL && event != NULL);
    tg_trace_reader_close(reader);
    return error;
}

static struct tg_error *run_dump(struct dump_run *run)
{
    const struct tg_dump_format *format = run->request->format;
    const struct tg_event *event;
    struct tg_error *error = start(run, &event);
    if (error != NULL)
        return error;
    if (format->begin != NULL)
        error = format->begin(&run->dump);
    if (error == NULL)
        error = start_writer(run);
    if (error == NULL)
        error = run_events(run, event);
    tg_feeder_destroy(run->writer);
    if (format->end != NULL) {
        struct tg_error *end_error = format->end(&run->dump);
        if (error == NULL)
            error = end_error;
        else
            tg_error_destroy(end_error);
    }
    return error;
}

struct tg_error *tg_dump_write(const struct tg_dump_request *request, struct tg_output *output,
                               struct tg_error **damage, struct tg_trace_summary *summary, uint64_t *start_ns)
{
    struct dump_run run = {.request = request,
                           .output = output,
                           .damage = damage,
                           .unknown = {.rank = -1},
                           .dump = {.stream = tg_output_stream(output),
                                    .selection = request->selection,
                                    .with_meta = request->with_meta,
                                    .colour = tg_output_colour(output)}};
    *damage = NULL;
    struct tg_error *error = tg_trace_resolve_processes(request->path, request->selection, request->progress);
    if (error == NULL)
        error = tg_trace_reader_open(request->path, &run.reader);
    if (error == NULL && (request->format->wants_processes || request->selection->n_ranks > 0))
        error = tg_process_model_create(&run.processes);
    run.dump.processes = run.processes;
    if (error == NULL && request->symbols != NULL)
        error = tg_code_names_create(request->symbols, &run.dump.names);
    if (error == NULL)
        error = read_names(&run);
    if (error == NULL)
        error = run_dump(&run);
    tg_progress_end(request->progress);
    if (error == NULL) {
        *summary = tg_trace_reader_summary(run.reader);
        *start_ns = run.dump.start_ns;
        if (*damage == NULL && summary->events > 0)
            error = tg_selection_check_end(request->selection, run.dump.start_ns, summary->last_time_ns);
    }
    tg_code_names_destroy(run.dump.names);
    tg_process_model_destroy(run.processes);
    tg_trace_reader_close(run.reader);
    return error;
}
