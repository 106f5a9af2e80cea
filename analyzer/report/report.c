#include "analyzer/report/report.h"

#include "analyzer/output/trace_pass.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"
#include "format/trace/read_ahead.h"

#include <inttypes.h>
#include <stdlib.h>

static struct tg_error *count_place(void *context, const struct tg_mpi_thread *thread,
                                    const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                                    uint64_t time_ns)
{
    const struct tg_report *report = context;
    (void)leave;
    return tg_mpi_places_add(report->mpi_places, thread->process, call->name, call->code,
                             time_ns > call->since_ns ? time_ns - call->since_ns : 0,
                             call->bytes == UINT64_MAX ? 0 : call->bytes);
}

static struct tg_error *count_polls(void *context, size_t process, const char *name,
                                    const struct tg_event_mpi_poll_sum *sum)
{
    const struct tg_report *report = context;
    return tg_mpi_places_add_polls(report->mpi_places, process, name, sum);
}

static struct tg_error *count_late(void *context, const struct tg_mpi_delivery *delivery)
{
    const struct tg_report *report = context;
    return tg_mpi_late_sends_add(report->mpi_late_sends, delivery);
}

static struct tg_error *create_models(struct tg_report *report)
{
    struct tg_error *error = tg_process_model_create(&report->processes);
    if (error == NULL)
        error = tg_library_model_create(&report->libraries);
    if (error == NULL)
        error = tg_load_calls_create(&report->load_calls);
    if (error == NULL)
        error = tg_addresses_create(&report->addresses);
    if (error == NULL)
        error = tg_totals_create(&report->session);
    if (error == NULL)
        error = tg_openmp_statistics_create(&report->openmp);
    if (error == NULL)
        error = tg_mpi_places_create(&report->mpi_places);
    if (error == NULL)
        error = tg_mpi_late_sends_create(&report->mpi_late_sends);
    const struct tg_mpi_model_options mpi = {
        .left = count_place, .polled = count_polls, .delivered = count_late, .context = report};
    if (error == NULL)
        error = tg_mpi_model_create(&mpi, &report->mpi);
    if (error == NULL)
        error = tg_mpir_model_create(&report->mpir);
    if (error == NULL)
        error = tg_stack_model_create(&report->stacks);
    if (error == NULL)
        error = tg_heap_model_create(&(struct tg_heap_options){.keeps_blocks = false}, &report->heap);
    if (error == NULL)
        error = tg_session_review_create(&report->control);
    return error;
}

static bool is_always_told(enum tg_event_kind kind)
{
    return kind == TG_EVENT_LOSS || kind == TG_EVENT_NOTE || kind == TG_EVENT_FILTER_SETTINGS ||
           kind == TG_EVENT_BREAKPOINT_SPEC || kind == TG_EVENT_AGENT;
}

/* The path of the object that calls the loader, "" where that is not known or not what happens. */
static const char *caller_of(const struct tg_report *report, const struct tg_event *event)
{
    if (event->kind != TG_EVENT_LIBRARY_CALL)
        return "";
    const struct tg_mapped_object *object =
        tg_addresses_find(report->addresses, event->pid, event->library_call.caller);
    return object != NULL ? object->path : "";
}

static struct tg_error *take_openmp(void *model, const struct tg_event *events, const size_t *processes,
                                    size_t count)
{
    return tg_openmp_statistics_feed_run(model, events, processes, count);
}

static struct tg_error *take_mpi(void *model, const struct tg_event *events, const size_t *processes,
                                 size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        error = tg_mpi_model_feed(model, &events[i], processes[i]);
    return error;
}

/* The models that have the most to do, each by a thread of its own where there is one. */
static struct tg_error *feed_mpi(struct tg_report *report, const struct tg_event *events,
                                 const size_t *processes, size_t count)
{
    return report->mpi_feeder != NULL ? tg_feeder_feed(report->mpi_feeder, events, processes, count)
                                      : take_mpi(report->mpi, events, processes, count);
}

static struct tg_error *feed_openmp(struct tg_report *report, const struct tg_event *events,
                                    const size_t *processes, size_t count)
{
    return report->openmp_feeder != NULL ? tg_feeder_feed(report->openmp_feeder, events, processes, count)
                                         : take_openmp(report->openmp, events, processes, count);
}

static struct tg_error *feed_runtimes(struct tg_report *report, const struct tg_event *event,
                                      const struct tg_process_entry *entry)
{
    struct tg_error *error = NULL;
    if (tg_mpi_model_needs(event->kind))
        error = feed_mpi(report, event, &entry->index, 1);
    if (error == NULL && tg_openmp_model_needs(event->kind) &&
        tg_selection_admits_process(report->selection, entry))
        error = feed_openmp(report, event, &entry->index, 1);
    return error;
}

/* Whether EVENT concerns the runtimes' models alone, besides the process model and the totals: most events do. */
static bool is_of_runtime(const struct tg_event *event)
{
    return tg_event_has_place(event->kind) ||
           (event->kind >= TG_EVENT_MPI_COMM && event->kind <= TG_EVENT_MPI_POLL_SUM);
}

/* Events of all other kinds. ENTRY may be NULL. */
static struct tg_error *feed_others(struct tg_report *report, const struct tg_event *event,
                                    const struct tg_process_entry *entry, bool before_end, bool admitted)
{
    struct tg_error *error = NULL;
    /* code addresses of a process are named after its end, so its objects are kept */
    if ((before_end || event->kind == TG_EVENT_CODE_NAME) && report->names != NULL &&
        event->kind != TG_EVENT_PROCESS_EXIT)
        error = tg_code_names_feed(report->names, event);
    if (error == NULL && admitted && entry != NULL)
        error = tg_library_model_feed(report->libraries, event, entry->index);
    if (error == NULL && (before_end || event->kind == TG_EVENT_CODE_NAME))
        error = tg_stack_model_feed(report->stacks, event, entry != NULL ? entry->index : SIZE_MAX);
    if (error == NULL && before_end && entry != NULL)
        error =
            tg_heap_model_feed(report->heap, event, entry->index,
                               entry->parent == NULL ? SIZE_MAX : entry->parent->index, report->addresses);
    if (error == NULL && before_end)
        error = tg_session_review_feed(report->control, event);
    if (error == NULL && before_end && entry != NULL)
        error = tg_mpir_model_feed(report->mpir, event, entry->index);
    if (error == NULL && admitted && entry != NULL)
        error = tg_load_calls_feed(report->load_calls, event, entry->index, caller_of(report, event));
    return error;
}

struct tg_error *tg_report_feed(struct tg_report *report, const struct tg_event *event,
                                struct tg_process_entry **found)
{
    const struct tg_selection *selection = report->selection;
    bool of_runtime = is_of_runtime(event);
    struct tg_process_entry *entry = NULL;
    bool before_end = !selection->has_to || event->time_ns <= selection->to_ns;
    struct tg_error *error = NULL;
    if (before_end) {
        error = tg_process_model_feed(report->processes, event, &entry);
        if (error == NULL && !of_runtime)
            error = tg_addresses_feed(report->addresses, event);
        if (event->time_ns > report->end_ns)
            report->end_ns = event->time_ns;
    }
    bool admitted = before_end && tg_selection_admits_time(selection, event->time_ns) &&
                    tg_selection_admits_process(selection, entry);
    if (error == NULL && (admitted || is_always_told(event->kind)))
        error = tg_totals_feed(report->session, event);
    if (error == NULL && !of_runtime)
        error = feed_others(report, event, entry, before_end, admitted);
    if (error == NULL && before_end && entry != NULL)
        error = feed_runtimes(report, event, entry);
    *found = entry;
    return error;
}

/* Takes the first of COUNT events, or as many as most models have nothing to do with; *TAKEN is how many these were. */
static struct tg_error *feed_some(struct tg_report *report, const struct tg_event *events, size_t count,
                                  size_t *taken)
{
    size_t processes[TG_PROCESS_MAX_RUN];
    struct tg_error *error = NULL;
    *taken = 0;
    if (tg_selection_admits_all(report->selection))
        error = tg_process_model_feed_run(report->processes, events, count, processes, taken);
    if (error == NULL && *taken == 0) {
        struct tg_process_entry *entry;
        *taken = 1;
        return tg_report_feed(report, events, &entry);
    }
    uint64_t end_ns = report->end_ns;
    for (size_t i = 0, end; error == NULL && i < *taken; i = end) {
        bool is_openmp = tg_event_has_place(events[i].kind);
        for (end = i; end < *taken && tg_event_has_place(events[end].kind) == is_openmp; end++) {
            tg_totals_count(report->session, &events[end]);
            if (events[end].time_ns > end_ns)
                end_ns = events[end].time_ns;
        }
        error = is_openmp ? feed_openmp(report, events + i, processes + i, end - i)
                          : feed_mpi(report, events + i, processes + i, end - i);
    }
    report->end_ns = end_ns;
    return error;
}

static struct tg_error *settle(struct tg_report *report)
{
    struct tg_error *error = report->mpi_feeder == NULL ? NULL : tg_feeder_settle(report->mpi_feeder);
    return error != NULL || report->openmp_feeder == NULL ? error : tg_feeder_settle(report->openmp_feeder);
}

/* Uses the processors beyond the first, where there are any. The second one opens chunks; only beyond it are copies of events for
 * models on threads of their own worth what they cost. */
static struct tg_error *spread_out(struct tg_report *report)
{
    size_t n_threads = tg_read_ahead_threads();
    tg_trace_reader_read_ahead(report->reader, n_threads);
    if (n_threads < 2)
        return NULL;
    struct tg_error *error = tg_feeder_create(take_mpi, report->mpi, &report->mpi_feeder);
    return error != NULL ? error : tg_feeder_create(take_openmp, report->openmp, &report->openmp_feeder);
}

/* Settles where *CHUNK, that of the event before, is over: its strings go with the next one. */
static struct tg_error *settle_chunk(struct tg_report *report, uint64_t *chunk)
{
    uint64_t offset = tg_trace_reader_tell(report->reader).offset;
    struct tg_error *error = offset == *chunk ? NULL : settle(report);
    *chunk = offset;
    return error;
}

static struct tg_error *read_events(struct tg_report *report, struct tg_selection *selection)
{
    struct tg_error *error = spread_out(report);
    bool is_spread = report->mpi_feeder != NULL || report->openmp_feeder != NULL;
    uint64_t chunk = 0;
    for (bool first = true; error == NULL; first = false) {
        const struct tg_event *events = NULL;
        size_t count;
        report->damage = tg_trace_reader_run(report->reader, &events, &count);
        if (first) {
            report->start_ns = report->end_ns = tg_trace_start_ns(report->reader, count > 0 ? events : NULL);
            tg_selection_start(selection, report->start_ns);
        }
        if (count == 0)
            break;
        if (is_spread)
            error = settle_chunk(report, &chunk);
        for (size_t i = 0, taken; error == NULL && i < count; i += taken)
            error = feed_some(report, events + i, count - i, &taken);
    }
    if (error == NULL)
        error = settle(report);
    if (error != NULL)
        return error;
    report->summary = tg_trace_reader_summary(report->reader);
    error = tg_selection_check_end(selection, report->start_ns, report->end_ns);
    return error != NULL ? error : tg_report_finish(report);
}

struct tg_verdict_input tg_report_words(const struct tg_report *report)
{
    return (struct tg_verdict_input){
        .processes = report->processes,
        .openmp = tg_openmp_statistics_model(report->openmp),
        .mpi = report->mpi,
        .mpir = report->mpir,
        .stacks = report->stacks,
        .heap = report->heap,
        .heap_files = report->names,
        .start_ns = report->start_ns,
        .has_losses = !tg_report_nothing_lost(report),
        .namer = report->namer,
    };
}

struct tg_error *tg_report_finish(struct tg_report *report)
{
    tg_totals_finish(report->session);
    struct tg_error *error = tg_session_review_finish(report->control);
    if (error == NULL)
        error = tg_mpi_late_sends_end(report->mpi_late_sends);
    if (error != NULL)
        return error;
    const struct tg_verdict_input input = tg_report_words(report);
    return tg_verdict_make(&input, &report->verdict);
}

static char *name_code(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    const struct tg_report *report = context;
    return tg_code_names_print(report->names, tg_process_model_at(report->processes, process)->pid, address,
                               buffer, size);
}

static char *name_variable(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    const struct tg_report *report = context;
    return tg_code_names_variable(report->names, tg_process_model_at(report->processes, process)->pid,
                                  address, buffer, size);
}

struct tg_error *tg_report_create(const char *path, const struct tg_selection *selection,
                                  const struct tg_command_services *symbols, struct tg_report **report)
{
    struct tg_report *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->path = path;
    created->selection = selection;
    struct tg_error *error = create_models(created);
    if (error == NULL && symbols != NULL) {
        error = tg_code_names_create(symbols, &created->names);
        created->namer =
            (struct tg_code_namer){.context = created, .name = name_code, .variable = name_variable};
    }
    if (error != NULL) {
        tg_report_destroy(created);
        return error;
    }
    *report = created;
    return NULL;
}

struct tg_error *tg_report_read(const char *path, struct tg_selection *selection,
                                const struct tg_command_services *symbols, struct tg_progress *progress,
                                struct tg_report **report)
{
    struct tg_report *created = NULL;
    struct tg_error *error = tg_trace_resolve_processes(path, selection, progress);
    if (error == NULL)
        error = tg_report_create(path, selection, symbols, &created);
    if (error == NULL)
        error = tg_trace_reader_open(path, &created->reader);
    if (error == NULL) {
        tg_progress_watch(progress, created->reader);
        error = read_events(created, selection);
    }
    tg_progress_end(progress);
    if (error != NULL) {
        tg_report_destroy(created);
        return error;
    }
    created->meta = tg_trace_reader_meta(created->reader);
    *report = created;
    return NULL;
}

void tg_report_destroy(struct tg_report *report)
{
    if (report == NULL)
        return;
    tg_feeder_destroy(report->mpi_feeder);
    tg_feeder_destroy(report->openmp_feeder);
    tg_process_model_destroy(report->processes);
    tg_library_model_destroy(report->libraries);
    tg_load_calls_destroy(report->load_calls);
    tg_addresses_destroy(report->addresses);
    tg_totals_destroy(report->session);
    tg_openmp_statistics_destroy(report->openmp);
    tg_mpi_model_destroy(report->mpi);
    tg_mpi_places_destroy(report->mpi_places);
    tg_mpi_late_sends_destroy(report->mpi_late_sends);
    tg_mpir_model_destroy(report->mpir);
    tg_stack_model_destroy(report->stacks);
    tg_heap_model_destroy(report->heap);
    tg_session_review_destroy(report->control);
    tg_verdict_deinit(&report->verdict);
    tg_code_names_destroy(report->names);
    tg_error_destroy(report->damage);
    tg_trace_reader_close(report->reader);
    free(report);
}

bool tg_report_nothing_lost(const struct tg_report *report)
{
    return report->damage == NULL && report->summary.complete && !report->summary.truncated &&
           report->summary.unknown_events == 0 && report->session->n_losses == 0 &&
           report->session->beyond_limit == 0;
}

static struct tg_end_tally empty_tally(const struct tg_report *report)
{
    return (struct tg_end_tally){.is_over = !report->selection->has_to && !report->summary.is_recording,
                                 .is_untraced = tg_trace_meta_is_untraced(report->meta)};
}

struct tg_end_tally tg_report_end_tally(const struct tg_report *report)
{
    struct tg_end_tally tally = empty_tally(report);
    for (size_t i = 0; i < tg_process_model_count(report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, i);
        if (tg_selection_admits_process(report->selection, entry))
            tg_end_tally_add(&tally, entry);
    }
    return tally;
}

bool tg_report_is_abnormal(const struct tg_report *report, const struct tg_process_entry *entry)
{
    const struct tg_end_tally tally = empty_tally(report);
    return tg_selection_admits_process(report->selection, entry) && tg_end_tally_is_bad(&tally, entry);
}

char *tg_report_end(const struct tg_process_entry *entry, char *buffer, size_t size)
{
    char text[48];
    switch (entry->end) {
    case TG_PROCESS_RUNNING:
        snprintf(buffer, size, "still running");
        break;
    case TG_PROCESS_EXITED:
        snprintf(buffer, size, "exit %" PRId64, entry->status);
        break;
    case TG_PROCESS_KILLED:
        snprintf(buffer, size, "%s%s", tg_signal_name(entry->status, text, sizeof text),
                 entry->core_dumped ? ", core dumped" : "");
        break;
    case TG_PROCESS_LOST:
        snprintf(buffer, size, "end not seen");
        break;
    case TG_PROCESS_DETACHED:
        if (*entry->detach_reason == '\0')
            snprintf(buffer, size, "detached");
        else
            snprintf(buffer, size, "detached: %s", tg_printable(entry->detach_reason, text, sizeof text));
        break;
    }
    return buffer;
}
