/* The trace event format that the Perfetto UI and chrome://tracing read: lifetimes of threads, OpenMP zones,
 * MPI calls and stops as complete events ("X"), other events as instants ("i"), a received message as a flow
 * ("s", "f") from its send to the call in which it was received. A lifetime is written when it is over, so that
 * the document is well-formed however the trace ends; viewers sort by themselves. */
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
#include "analyzer/dump/line.h"
#include "analyzer/dump/slices.h"
#include "analyzer/models/event_headline.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/openmp/model.h"
#include "format/base/hash.h"
#include "format/base/json_writer.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A thread that is alive. */
struct track {
    int32_t tid;
    uint64_t start_ns;
    uint64_t last_ns; /* end of its last stop */
    UT_hash_handle hh;
};

/* A process with live threads. Its entry is the process model's. */
struct process_tracks {
    size_t index;
    const struct tg_process_entry *entry;
    const char *program; /* program of the lifetimes under way */
    struct track *threads;
    UT_hash_handle hh;
};

/* A thread that had an event lately. */
struct recent {
    struct process_tracks *tracks;
    struct track *track; /* NULL: none */
};

enum { RECENT_PROCESSES = 1 << 6 };

struct chrome {
    struct tg_json json;
    struct process_tracks *processes;
    struct process_tracks
        *recent_processes[RECENT_PROCESSES]; /* by index; each has one place, which it may share */
    struct recent recent[TG_DUMP_THREADS];   /* by tid, likewise */
    uint64_t last_ns;                        /* latest time so far */
    int32_t event_tid;                       /* of the event that is fed to the models */
    uint64_t n_flows;
    struct tg_slices *slices;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
};

static struct process_tracks *find_process(struct chrome *chrome, size_t index)
{
    struct process_tracks **recent = &chrome->recent_processes[index % RECENT_PROCESSES];
    if (*recent != NULL && (*recent)->index == index)
        return *recent;
    struct process_tracks *found = NULL;
    HASH_FIND(hh, chrome->processes, &index, sizeof index, found);
    if (found != NULL)
        *recent = found;
    return found;
}

static uint64_t end_of_stop(const struct tg_event *event)
{
    uint64_t end_ns = event->time_ns + event->stop_ns;
    return end_ns < event->time_ns ? event->time_ns : end_ns;
}

/* Begins an event: what all have in common. Times become microseconds with three digits. */
static void begin_event(const struct tg_dump *dump, const char *phase, const char *name,
                        const struct tg_process_entry *entry, int64_t tid, uint64_t time_ns)
{
    struct chrome *chrome = dump->state;
    struct tg_json *json = &chrome->json;
    tg_slices_flush(chrome->slices);
    tg_json_begin_object(json);
    json->pretty = false; /* an event is a line */
    tg_json_member_string(json, "ph", phase);
    tg_json_member_string(json, "name", name);
    tg_json_member_signed(json, "pid", tg_slices_number(entry, entry == NULL ? 0 : entry->pid));
    tg_json_member_signed(json, "tid", tid);
    tg_json_key(json, "ts");
    tg_json_decimal(json, tg_slices_clip(dump, time_ns) - dump->start_ns, 3);
}

static void end_event(const struct tg_dump *dump)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    tg_json_end_object(json);
    json->pretty = true;
}

static void write_duration(const struct tg_dump *dump, uint64_t start_ns, uint64_t end_ns)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    tg_json_key(json, "dur");
    tg_json_decimal(json, tg_slices_clip(dump, end_ns) - tg_slices_clip(dump, start_ns), 3);
}

/* Metadata of the process of ENTRY (TID: the pid) or of one of its threads: a NAME, or a number to sort by. */
static void write_metadata(const struct tg_dump *dump, const struct tg_process_entry *entry, int32_t tid,
                           const char *what, const char *name, const int64_t *number)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    begin_event(dump, "M", what, entry, tg_slices_number(entry, tid), dump->start_ns);
    tg_json_key(json, "args");
    tg_json_begin_object(json);
    if (number != NULL)
        tg_json_member_signed(json, "sort_index", *number);
    else
        tg_json_member_string(json, "name", name);
    tg_json_end_object(json);
    end_event(dump);
}

static void name_process(const struct tg_dump *dump, const struct tg_process_entry *entry)
{
    char program[128], name[192];
    if (!tg_selection_admits_process(dump->selection, entry))
        return;
    tg_printable(tg_process_entry_name(entry), program, sizeof program);
    if (entry->rank >= 0)
        snprintf(name, sizeof name, "rank %" PRId64 ", %s", entry->rank, program);
    else
        snprintf(name, sizeof name, "%s", program);
    write_metadata(dump, entry, entry->pid, "process_name", name, NULL);
    if (entry->rank >= 0)
        write_metadata(dump, entry, entry->pid, "process_sort_index", NULL, &entry->rank);
}

/* ---- zones and calls: told by the models when they are left */

static struct tg_error *left_place(void *context, const struct tg_openmp_worker *worker,
                                   const struct tg_openmp_place *place, uint64_t time_ns)
{
    /* A lock that is given back before one that was taken behind it: viewers nest slices, so the first one's
     * is cut where the second one's begins. */
    for (size_t i = worker->n_places; i-- > 0;)
        if (worker->places[i].since_ns > place->since_ns && worker->places[i].since_ns < time_ns)
            time_ns = worker->places[i].since_ns;
    const struct tg_dump *dump = context;
    const struct chrome *chrome = dump->state;
    const struct process_tracks *tracks = find_process(dump->state, worker->process);
    return tracks == NULL ? NULL
                          : tg_slices_write_place(chrome->slices, tracks->entry, worker->tid, place, time_ns);
}

static struct tg_error *left_call(void *context, const struct tg_mpi_thread *thread,
                                  const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                                  uint64_t time_ns)
{
    const struct tg_dump *dump = context;
    const struct chrome *chrome = dump->state;
    const struct process_tracks *tracks = find_process(dump->state, thread->process);
    return tracks == NULL
               ? NULL
               : tg_slices_write_call(chrome->slices, tracks->entry, thread->tid, call, leave, time_ns);
}

static struct tg_error *received_message(void *context, const struct tg_mpi_message *message, size_t process,
                                         uint64_t time_ns)
{
    const struct tg_dump *dump = context;
    struct chrome *chrome = dump->state;
    const struct process_tracks *from = find_process(chrome, message->process);
    const struct process_tracks *to = find_process(chrome, process);
    uint64_t sent_ns = message->since_ns,
             end_ns = time_ns > sent_ns ? time_ns - 1 : time_ns; /* before its call's end */
    if (from == NULL || to == NULL ||
        !tg_slices_show(dump, from->entry, TG_EVENT_MPI_ENTER, sent_ns, sent_ns) ||
        !tg_slices_show(dump, to->entry, TG_EVENT_MPI_ENTER, end_ns, end_ns))
        return NULL;
    chrome->n_flows++;
    tg_slices_write_flow(chrome->slices, 's', from->entry, message->tid, chrome->n_flows, sent_ns);
    tg_slices_write_flow(chrome->slices, 'f', to->entry, chrome->event_tid, chrome->n_flows, end_ns);
    return NULL;
}

/* Closes everything that the threads of PROCESS, or only TID, are inside of at the end. */
static struct tg_error *close_places(const struct tg_dump *dump, const struct process_tracks *tracks,
                                     int32_t tid, uint64_t end_ns)
{
    const struct chrome *chrome = dump->state;
    struct tg_error *error = NULL;
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(chrome->openmp, tracks->index, tid);
    for (size_t i = 0; error == NULL && worker != NULL && i < worker->n_places; i++)
        error = tg_slices_write_place(chrome->slices, tracks->entry, tid, &worker->places[i], end_ns);
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(chrome->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(chrome->mpi, i);
        if (thread->process == tracks->index && thread->tid == tid && thread->alive && thread->in_call)
            error = tg_slices_write_call(chrome->slices, tracks->entry, tid, &thread->call, NULL, end_ns);
    }
    return error;
}

/* An event that a slice stands for. */
static bool is_in_a_slice(enum tg_event_kind kind)
{
    switch ((unsigned)kind) {
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
    case TG_EVENT_OMP_IMPLICIT_END:
    case TG_EVENT_OMP_ZONE_BEGIN:
    case TG_EVENT_OMP_ZONE_END:
    case TG_EVENT_OMP_SYNC_BEGIN:
    case TG_EVENT_OMP_SYNC_END:
    case TG_EVENT_OMP_MUTEX_WAIT:
    case TG_EVENT_OMP_MUTEX_ENTER:
    case TG_EVENT_OMP_MUTEX_LEAVE:
    case TG_EVENT_OMP_TASK_BEGIN:
    case TG_EVENT_OMP_TASK_END:
    case TG_EVENT_MPI_ENTER:
    case TG_EVENT_MPI_LEAVE:
        return true;
    default:
        return false;
    }
}

/* The program for the first thread; "worker 3", "io helper", "worker 3 (solver)" for others. */
static void name_thread(const struct tg_dump *dump, const struct process_tracks *tracks, int32_t tid,
                        char *name, size_t size)
{
    const struct chrome *chrome = dump->state;
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(chrome->openmp, tracks->index, tid);
    const char *own =
        dump->processes == NULL ? NULL : tg_process_model_thread_name(dump->processes, tracks->index, tid);
    char printable[128] = "", number[40] = "";
    if (tid == tracks->entry->pid)
        own = tg_event_headline_base_name(tracks->program);
    else if (worker != NULL)
        snprintf(number, sizeof number, "worker %" PRIu64, worker->number);
    if (own != NULL)
        tg_printable(own, printable, sizeof printable);
    if (*number != '\0' && *printable != '\0')
        snprintf(name, size, "%s (%s)", number, printable);
    else
        snprintf(name, size, "%s", *number != '\0' ? number : *printable != '\0' ? printable : "thread");
}

/* Writes the lifetime of a thread that ends at END_NS, and forgets it. */
static struct tg_error *close_track(const struct tg_dump *dump, struct process_tracks *tracks,
                                    struct track *track, uint64_t end_ns, bool open_end)
{
    struct chrome *chrome = dump->state;
    struct recent *recent = &chrome->recent[tg_dump_thread_place(track->tid)];
    const struct tg_process_entry *entry = tracks->entry;
    if (end_ns < track->last_ns)
        end_ns = track->last_ns;
    struct tg_error *error = close_places(dump, tracks, track->tid, end_ns);
    bool in_window = (!dump->selection->has_from || end_ns >= dump->selection->from_ns) &&
                     (!dump->selection->has_to || track->start_ns <= dump->selection->to_ns);
    if (in_window && tg_selection_admits_process(dump->selection, entry)) {
        char name[256];
        name_thread(dump, tracks, track->tid, name, sizeof name);
        write_metadata(dump, entry, track->tid, "thread_name", name, NULL);
        begin_event(dump, "X", name, entry, tg_slices_number(entry, track->tid), track->start_ns);
        write_duration(dump, track->start_ns, end_ns);
        struct tg_json *json = &chrome->json;
        tg_json_member_string(json, "cat", "lifetime");
        if (open_end) {
            tg_json_key(json, "args");
            tg_json_begin_object(json);
            tg_json_member_string(json, "end", "not in the trace");
            tg_json_end_object(json);
        }
        end_event(dump);
    }
    if (recent->track == track)
        *recent = (struct recent){0};
    HASH_DEL(tracks->threads, track);
    free(track);
    return error;
}

/* Of several errors the first. */
static struct tg_error *first_of(struct tg_error *error, struct tg_error *another)
{
    if (error == NULL)
        return another;
    tg_error_destroy(another);
    return error;
}

static struct tg_error *close_threads(const struct tg_dump *dump, struct process_tracks *tracks,
                                      uint64_t end_ns, bool open_end)
{
    struct tg_error *error = NULL;
    struct track *track, *next;
    HASH_ITER (hh, tracks->threads, track, next)
        error = first_of(error, close_track(dump, tracks, track, end_ns, open_end));
    return error;
}

/* ---- lifetimes */

/* Ends what is under way, and names the process: only now its name is final. */
static struct tg_error *close_process(const struct tg_dump *dump, struct process_tracks *tracks,
                                      uint64_t end_ns, bool open_end)
{
    struct chrome *chrome = dump->state;
    struct tg_error *error = close_threads(dump, tracks, end_ns, open_end);
    name_process(dump, tracks->entry);
    struct process_tracks **recent = &chrome->recent_processes[tracks->index % RECENT_PROCESSES];
    if (*recent == tracks)
        *recent = NULL;
    HASH_DEL(chrome->processes, tracks);
    free(tracks);
    return error;
}

/* Finds or begins the lifetime that EVENT is part of. */
static struct tg_error *find_track(struct chrome *chrome, const struct tg_event *event,
                                   const struct tg_process_entry *entry, struct recent *found)
{
    struct process_tracks *tracks = find_process(chrome, entry->index);
    if (tracks == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, chrome->processes, index, &entry->index, tracks);
        if (error != NULL)
            return error;
        tracks->entry = entry;
    }
    struct track *track = NULL;
    HASH_FIND(hh, tracks->threads, &event->tid, sizeof event->tid, track);
    if (track == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, tracks->threads, tid, &event->tid, track);
        if (error != NULL)
            return error;
        track->start_ns = event->time_ns;
    }
    *found = (struct recent){tracks, track};
    return NULL;
}

static struct tg_error *open_track(struct chrome *chrome, const struct tg_event *event,
                                   const struct tg_process_entry *entry)
{
    struct recent *recent = &chrome->recent[tg_dump_thread_place(event->tid)];
    if (recent->track == NULL || recent->track->tid != event->tid || recent->tracks->index != entry->index) {
        struct tg_error *error = find_track(chrome, event, entry, recent);
        if (error != NULL)
            return error;
    }
    recent->tracks->program = *entry->program == '\0' ? "(starting)" : entry->program;
    if (end_of_stop(event) > recent->track->last_ns)
        recent->track->last_ns = end_of_stop(event);
    return NULL;
}

static struct tg_error *follow_lifetimes(const struct tg_dump *dump, const struct tg_event *event,
                                         const struct tg_process_entry *entry)
{
    struct chrome *chrome = dump->state;
    struct process_tracks *tracks;
    struct tg_error *error = NULL;
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        tracks = find_process(chrome, entry->index);
        if (tracks != NULL)
            return close_process(dump, tracks, end_of_stop(event), false);
        name_process(dump, entry);
        return NULL;
    case TG_EVENT_THREAD_EXIT: {
        struct track *track = NULL;
        tracks = find_process(chrome, entry->index);
        if (tracks != NULL)
            HASH_FIND(hh, tracks->threads, &event->tid, sizeof event->tid, track);
        return track == NULL ? NULL : close_track(dump, tracks, track, end_of_stop(event), false);
    }
    case TG_EVENT_EXEC:
        tracks = find_process(chrome, entry->index);
        if (tracks != NULL)
            error = close_threads(dump, tracks, event->time_ns, false);
        break;
    default:
        break;
    }
    return error == NULL && entry->end == TG_PROCESS_RUNNING ? open_track(chrome, event, entry) : error;
}

/* Sees every event, wanted or not. */
static struct tg_error *follow(struct tg_dump *dump, const struct tg_event *event,
                               const struct tg_process_entry *entry)
{
    struct chrome *chrome = dump->state;
    if (end_of_stop(event) > chrome->last_ns)
        chrome->last_ns = end_of_stop(event);
    if (entry == NULL)
        return NULL;
    struct tg_error *error = follow_lifetimes(dump, event, entry);
    chrome->event_tid = event->tid;
    /* the models come last: what ends with a thread is written with it */
    if (error == NULL && tg_openmp_model_needs(event->kind))
        error = tg_openmp_model_feed(chrome->openmp, event, entry->index);
    return error != NULL || !tg_mpi_model_needs(event->kind)
               ? error
               : tg_mpi_model_feed(chrome->mpi, event, entry->index);
}
static struct tg_error *write_event(struct tg_dump *dump, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct chrome *chrome = dump->state;
    struct tg_error *error = follow(dump, event, entry);
    struct tg_event_headline headline = {0};
    if (error == NULL && is_in_a_slice(event->kind) && event->stop_ns == 0)
        return NULL;
    if (error == NULL)
        error = tg_event_headline_keep(&headline, event);
    if (error != NULL)
        return error;
    char name[256];
    tg_event_headline_print(&headline, name, sizeof name);
    tg_event_headline_deinit(&headline);
    int64_t tid = tg_slices_number(entry, event->tid);
    begin_event(dump, event->stop_ns == 0 ? "i" : "X", name, entry, tid, event->time_ns);
    if (event->stop_ns == 0)
        tg_json_member_string(&chrome->json, "s", "t");
    else
        write_duration(dump, event->time_ns, end_of_stop(event));
    tg_json_member_string(&chrome->json, "cat", tg_event_kind_name(event->kind));
    tg_json_key(&chrome->json, "args");
    tg_json_begin_object(&chrome->json);
    tg_event_json_payload(&chrome->json, event, dump->names);
    tg_json_end_object(&chrome->json);
    end_event(dump);
    return NULL;
}

static struct tg_error *begin(struct tg_dump *dump)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    if (chrome == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_slices_create(dump, &chrome->slices);
    if (error != NULL) {
        free(chrome);
        return error;
    }
    dump->state = chrome;
    struct tg_json *json = &chrome->json;
    tg_json_init(json, dump->stream, true);
    tg_json_begin_object(json);
    tg_json_member_string(json, "displayTimeUnit", "ns");
    tg_json_key(json, "otherData");
    tg_json_begin_object(json);
    for (size_t i = 0; i < tg_trace_meta_count(dump->meta); i++)
        tg_json_member_string(json, tg_trace_meta_key_at(dump->meta, i),
                              tg_trace_meta_value_at(dump->meta, i));
    tg_json_end_object(json);
    tg_json_key(json, "traceEvents");
    tg_json_begin_array(json);
    write_metadata(dump, NULL, 0, "process_name", "tollgate recorder", NULL);
    const struct tg_openmp_model_options openmp = {.left = left_place, .context = dump};
    const struct tg_mpi_model_options mpi = {
        .left = left_call, .received = received_message, .context = dump};
    error = tg_openmp_model_create(&openmp, &chrome->openmp);
    if (error == NULL)
        error = tg_mpi_model_create(&mpi, &chrome->mpi);
    return error; /* end frees what there is */
}

static struct tg_error *end(struct tg_dump *dump)
{
    struct chrome *chrome = dump->state;
    if (chrome == NULL)
        return NULL;
    struct process_tracks *tracks, *next;
    struct tg_error *error = NULL;
    HASH_ITER (hh, chrome->processes, tracks, next)
        error = first_of(error, close_process(dump, tracks, chrome->last_ns, true));
    tg_slices_flush(chrome->slices);
    tg_json_end_array(&chrome->json);
    tg_json_end_object(&chrome->json);
    tg_json_end_line(&chrome->json);
    tg_openmp_model_destroy(chrome->openmp);
    tg_mpi_model_destroy(chrome->mpi);
    tg_slices_destroy(chrome->slices);
    free(chrome);
    return error;
}

const struct tg_dump_format tg_dump_chrome = {.name = "chrome",
                                              .wants_processes = true,
                                              .begin = begin,
                                              .event = write_event,
                                              .left_out = follow,
                                              .end = end};
