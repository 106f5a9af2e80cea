/* The trace event format that the Perfetto UI and chrome://tracing read: lifetimes of threads, OpenMP zones,
 * MPI calls and stops as complete events ("X"), other events as instants ("i"), a received message as a flow
 * ("s", "f") from its send to the call in which it was received. A lifetime is written when it is over, so that
 * the document is well-formed however the trace ends; viewers sort by themselves. */
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
#include "analyzer/models/event_headline.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/openmp/model.h"
#include "analyzer/output/openmp_words.h"
#include "format/base/hash.h"
#include "format/base/json_writer.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LOCK_NAME_SIZE = 128 };

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

struct chrome {
    struct tg_json json;
    struct process_tracks *processes;
    uint64_t last_ns;  /* latest time so far */
    int32_t event_tid; /* of the event that is fed to the models */
    uint64_t n_flows;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
};

static struct process_tracks *find_process(struct chrome *chrome, size_t index)
{
    struct process_tracks *found = NULL;
    HASH_FIND(hh, chrome->processes, &index, sizeof index, found);
    return found;
}

/* Viewers know a process by its number alone: one that reuses a pid gets another number. pid 0 is the
 * kernel's idle task to them, so the recorder gets a number that no process has. */
static int64_t shown_number(const struct tg_process_entry *entry, int32_t number)
{
    enum { RECORDER = 9999999, GENERATION = 10000000 };
    return entry == NULL ? RECORDER : number + (int64_t)entry->generation * GENERATION;
}

static uint64_t clip(const struct tg_dump *dump, uint64_t time_ns)
{
    const struct tg_selection *selection = dump->selection;
    if (selection->has_from && time_ns < selection->from_ns)
        time_ns = selection->from_ns;
    if (selection->has_to && time_ns > selection->to_ns)
        time_ns = selection->to_ns;
    return time_ns < dump->start_ns ? dump->start_ns : time_ns;
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
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    tg_json_begin_object(json);
    json->pretty = false; /* an event is a line */
    tg_json_member_string(json, "ph", phase);
    tg_json_member_string(json, "name", name);
    tg_json_member_signed(json, "pid", shown_number(entry, entry == NULL ? 0 : entry->pid));
    tg_json_member_signed(json, "tid", tid);
    tg_json_key(json, "ts");
    tg_json_decimal(json, clip(dump, time_ns) - dump->start_ns, 3);
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
    tg_json_decimal(json, clip(dump, end_ns) - clip(dump, start_ns), 3);
}

/* Metadata of the process of ENTRY (TID: the pid) or of one of its threads: a NAME, or a number to sort by. */
static void write_metadata(const struct tg_dump *dump, const struct tg_process_entry *entry, int32_t tid,
                           const char *what, const char *name, const int64_t *number)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    begin_event(dump, "M", what, entry, shown_number(entry, tid), dump->start_ns);
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

static bool is_shown(const struct tg_dump *dump, const struct tg_process_entry *entry,
                     enum tg_event_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    const struct tg_selection *selection = dump->selection;
    return tg_selection_admits_kind(selection, kind) && tg_selection_admits_process(selection, entry) &&
           (!selection->has_from || end_ns >= selection->from_ns) &&
           (!selection->has_to || start_ns <= selection->to_ns);
}

/* A zone or a call, from START_NS to END_NS. */
struct slice {
    const struct tg_process_entry *entry;
    int32_t tid;
    const char *name;
    const char *category;
    uint64_t start_ns, end_ns;
    uint64_t code; /* return address in the program, 0 unknown */
};

static void write_code(const struct tg_dump *dump, const struct slice *slice)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    struct tg_code_name where;
    tg_json_key(json, "code");
    tg_json_address(json, slice->code);
    if (dump->names == NULL ||
        !tg_code_names_find_return(dump->names, slice->entry->pid, slice->code, &where))
        return;
    if (where.symbol.function != NULL)
        tg_json_member_string(json, "function", where.symbol.function);
    if (where.symbol.file != NULL) {
        tg_json_member_string(json, "file", where.symbol.file);
        tg_json_member_unsigned(json, "line", where.symbol.line);
    }
}

/* Begins a slice's event; more members of "args" may follow until end_slice(). */
static struct tg_json *begin_slice(const struct tg_dump *dump, const struct slice *slice)
{
    struct tg_json *json = &((struct chrome *)dump->state)->json;
    begin_event(dump, "X", slice->name, slice->entry, shown_number(slice->entry, slice->tid),
                slice->start_ns);
    write_duration(dump, slice->start_ns, slice->end_ns);
    tg_json_member_string(json, "cat", slice->category);
    tg_json_key(json, "args");
    tg_json_begin_object(json);
    write_code(dump, slice);
    return json;
}

static void end_slice(const struct tg_dump *dump)
{
    tg_json_end_object(&((struct chrome *)dump->state)->json);
    end_event(dump);
}

/* The kind of event that begins PLACE, and the name of its slice. */
static enum tg_event_kind place_kind(const struct tg_openmp_place *place, char *name, size_t size)
{
    static const struct {
        enum tg_event_kind kind;
        const char *prefix;
    } kinds[] = {
        [TG_OPENMP_IN_REGION] = {TG_EVENT_OMP_IMPLICIT_BEGIN, "parallel"},
        [TG_OPENMP_IN_ZONE] = {TG_EVENT_OMP_ZONE_BEGIN, ""},
        [TG_OPENMP_IN_MUTEX_WAIT] = {TG_EVENT_OMP_MUTEX_WAIT, "wait: "},
        [TG_OPENMP_IN_MUTEX] = {TG_EVENT_OMP_MUTEX_ENTER, ""},
        [TG_OPENMP_IN_SYNC] = {TG_EVENT_OMP_SYNC_BEGIN, "wait: "},
        [TG_OPENMP_IN_TASK] = {TG_EVENT_OMP_TASK_BEGIN, "task "},
    };
    enum { BEHIND_PLACE = 5 };
    enum tg_event_kind kind = kinds[place->kind].kind;
    const struct tg_field *field = &tg_event_schema(kind)->fields[BEHIND_PLACE];
    const char *what = field->type == TG_FIELD_ENUM ? tg_field_value_name(field, place->what) : NULL;
    if (place->kind == TG_OPENMP_IN_TASK)
        snprintf(name, size, "task %" PRIu64, place->id);
    else
        snprintf(name, size, "%s%s", kinds[place->kind].prefix, what == NULL ? "" : what);
    return kind;
}

/* Regions are told from each other by their place in the program: " in solve (solver.c:31)". */
static void add_region_name(const struct tg_dump *dump, const struct tg_process_entry *entry, uint64_t code,
                            char *name, size_t size)
{
    struct tg_code_name where;
    size_t length = strlen(name);
    if (dump->names == NULL || !tg_code_names_find_return(dump->names, entry->pid, code, &where) ||
        size < length + sizeof " in ")
        return;
    char place[128];
    tg_code_symbol_print(&where.symbol, NULL, code, place, sizeof place);
    snprintf(name + length, size - length, " in %s", place);
}

/* The variable that a lock is, or GCC's name of a critical section: "wait: lock queue_lock". False: not known. */
static bool name_lock(const struct tg_dump *dump, const struct tg_process_entry *entry,
                      const struct tg_openmp_place *place, char *variable, char *name, size_t size)
{
    bool is_wait = place->kind == TG_OPENMP_IN_MUTEX_WAIT;
    if ((!is_wait && place->kind != TG_OPENMP_IN_MUTEX) || dump->names == NULL || place->id == 0 ||
        place->what == TG_OMP_MUTEX_ORDERED ||
        tg_code_names_variable(dump->names, entry->pid, place->id, variable, LOCK_NAME_SIZE) == NULL)
        return false;
    size_t length = is_wait ? (size_t)snprintf(name, size, "wait: ") : 0;
    tg_openmp_words_lock(place->what, 0, variable, name + length, size - length);
    return true;
}

static void write_place(const struct tg_dump *dump, const struct tg_openmp_worker *worker,
                        const struct tg_openmp_place *place, uint64_t end_ns)
{
    const struct process_tracks *tracks = find_process(dump->state, worker->process);
    char name[192], lock[LOCK_NAME_SIZE];
    enum tg_event_kind kind = place_kind(place, name, sizeof name);
    if (tracks == NULL || !is_shown(dump, tracks->entry, kind, place->since_ns, end_ns))
        return;
    if (place->kind == TG_OPENMP_IN_REGION)
        add_region_name(dump, tracks->entry, place->code, name, sizeof name);
    bool has_name = name_lock(dump, tracks->entry, place, lock, name, sizeof name);
    struct tg_json *json = begin_slice(dump, &(struct slice){.entry = tracks->entry,
                                                             .tid = worker->tid,
                                                             .name = name,
                                                             .category = "openmp",
                                                             .start_ns = place->since_ns,
                                                             .end_ns = end_ns,
                                                             .code = place->code});
    tg_json_member_unsigned(json, "team", place->team);
    tg_json_member_unsigned(json, "thread_num", place->thread_num);
    if (place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT) {
        tg_json_key(json, "lock");
        tg_json_address(json, place->id);
        if (has_name)
            tg_json_member_string(json, "lock_name", lock);
    } else if (place->kind == TG_OPENMP_IN_SYNC && place->id != 0) {
        tg_json_member_unsigned(json, "instance", place->id);
    }
    end_slice(dump);
}

static struct tg_error *left_place(void *context, const struct tg_openmp_worker *worker,
                                   const struct tg_openmp_place *place, uint64_t time_ns)
{
    /* A lock that is given back before one that was taken behind it: viewers nest slices, so the first one's
     * is cut where the second one's begins. */
    for (size_t i = worker->n_places; i-- > 0;)
        if (worker->places[i].since_ns > place->since_ns && worker->places[i].since_ns < time_ns)
            time_ns = worker->places[i].since_ns;
    write_place(context, worker, place, time_ns);
    return NULL;
}

static void write_call_args(struct tg_json *json, const struct tg_mpi_call *call,
                            const struct tg_event_mpi_leave *leave)
{
    enum { NONE = -3 };
    if (call->comm != 0) {
        tg_json_key(json, "comm");
        tg_json_address(json, call->comm);
    }
    if (call->instance != 0)
        tg_json_member_unsigned(json, "instance", call->instance);
    if (call->peer != NONE)
        tg_json_member_signed(json, "peer", call->peer);
    if (call->tag != NONE)
        tg_json_member_signed(json, "tag", call->tag);
    if (call->root != NONE)
        tg_json_member_signed(json, "root", call->root);
    if (call->comm != 0 || call->bytes != 0)
        tg_json_member_unsigned(json, "bytes", call->bytes);
    if (leave == NULL)
        return;
    if (leave->bytes != 0)
        tg_json_member_unsigned(json, "received_bytes", leave->bytes);
    if (leave->result != 0)
        tg_json_member_signed(json, "result", leave->result);
}

static struct tg_error *left_call(void *context, const struct tg_mpi_thread *thread,
                                  const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                                  uint64_t time_ns)
{
    const struct tg_dump *dump = context;
    const struct process_tracks *tracks = find_process(dump->state, thread->process);
    if (tracks == NULL || !is_shown(dump, tracks->entry, TG_EVENT_MPI_ENTER, call->since_ns, time_ns))
        return NULL;
    struct tg_json *json = begin_slice(dump, &(struct slice){.entry = tracks->entry,
                                                             .tid = thread->tid,
                                                             .name = call->name,
                                                             .category = "mpi",
                                                             .start_ns = call->since_ns,
                                                             .end_ns = time_ns,
                                                             .code = call->code});
    write_call_args(json, call, leave);
    end_slice(dump);
    return NULL;
}

/* One end of a flow: PHASE "s" in the call that sends, "f" in the one that received. */
static void write_flow(const struct tg_dump *dump, const char *phase, const struct tg_process_entry *entry,
                       int32_t tid, uint64_t time_ns)
{
    struct chrome *chrome = dump->state;
    begin_event(dump, phase, "message", entry, shown_number(entry, tid), time_ns);
    tg_json_member_string(&chrome->json, "cat", "mpi");
    tg_json_member_unsigned(&chrome->json, "id", chrome->n_flows);
    if (*phase == 'f')
        tg_json_member_string(&chrome->json, "bp",
                              "e"); /* ends in the slice around it, not in the next one */
    end_event(dump);
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
    if (from == NULL || to == NULL || !is_shown(dump, from->entry, TG_EVENT_MPI_ENTER, sent_ns, sent_ns) ||
        !is_shown(dump, to->entry, TG_EVENT_MPI_ENTER, end_ns, end_ns))
        return NULL;
    chrome->n_flows++;
    write_flow(dump, "s", from->entry, message->tid, sent_ns);
    write_flow(dump, "f", to->entry, chrome->event_tid, end_ns);
    return NULL;
}

/* Closes everything that the threads of PROCESS, or only TID, are inside of at the end. */
static void close_places(const struct tg_dump *dump, const struct process_tracks *tracks, int32_t tid,
                         uint64_t end_ns)
{
    const struct chrome *chrome = dump->state;
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(chrome->openmp, tracks->index, tid);
    for (size_t i = 0; worker != NULL && i < worker->n_places; i++)
        write_place(dump, worker, &worker->places[i], end_ns);
    for (size_t i = 0; i < tg_mpi_model_thread_count(chrome->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(chrome->mpi, i);
        if (thread->process == tracks->index && thread->tid == tid && thread->alive && thread->in_call)
            left_call((void *)(uintptr_t)dump, thread, &thread->call, NULL, end_ns);
    }
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
static void close_track(const struct tg_dump *dump, struct process_tracks *tracks, struct track *track,
                        uint64_t end_ns, bool open_end)
{
    const struct tg_process_entry *entry = tracks->entry;
    if (end_ns < track->last_ns)
        end_ns = track->last_ns;
    close_places(dump, tracks, track->tid, end_ns);
    bool in_window = (!dump->selection->has_from || end_ns >= dump->selection->from_ns) &&
                     (!dump->selection->has_to || track->start_ns <= dump->selection->to_ns);
    if (in_window && tg_selection_admits_process(dump->selection, entry)) {
        char name[256];
        name_thread(dump, tracks, track->tid, name, sizeof name);
        write_metadata(dump, entry, track->tid, "thread_name", name, NULL);
        begin_event(dump, "X", name, entry, shown_number(entry, track->tid), track->start_ns);
        write_duration(dump, track->start_ns, end_ns);
        struct tg_json *json = &((struct chrome *)dump->state)->json;
        tg_json_member_string(json, "cat", "lifetime");
        if (open_end) {
            tg_json_key(json, "args");
            tg_json_begin_object(json);
            tg_json_member_string(json, "end", "not in the trace");
            tg_json_end_object(json);
        }
        end_event(dump);
    }
    HASH_DEL(tracks->threads, track);
    free(track);
}

static void close_threads(const struct tg_dump *dump, struct process_tracks *tracks, uint64_t end_ns,
                          bool open_end)
{
    struct track *track, *next;
    HASH_ITER (hh, tracks->threads, track, next)
        close_track(dump, tracks, track, end_ns, open_end);
}

/* ---- lifetimes */

/* Ends what is under way, and names the process: only now its name is final. */
static void close_process(const struct tg_dump *dump, struct process_tracks *tracks, uint64_t end_ns,
                          bool open_end)
{
    struct chrome *chrome = dump->state;
    close_threads(dump, tracks, end_ns, open_end);
    name_process(dump, tracks->entry);
    HASH_DEL(chrome->processes, tracks);
    free(tracks);
}

/* Finds or begins the lifetime that EVENT is part of. */
static struct tg_error *open_track(const struct tg_dump *dump, const struct tg_event *event,
                                   const struct tg_process_entry *entry)
{
    struct chrome *chrome = dump->state;
    struct process_tracks *tracks = find_process(chrome, entry->index);
    if (tracks == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, chrome->processes, index, &entry->index, tracks);
        if (error != NULL)
            return error;
        tracks->entry = entry;
    }
    tracks->program = *entry->program == '\0' ? "(starting)" : entry->program;
    struct track *track = NULL;
    HASH_FIND(hh, tracks->threads, &event->tid, sizeof event->tid, track);
    if (track == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, tracks->threads, tid, &event->tid, track);
        if (error != NULL)
            return error;
        track->start_ns = event->time_ns;
    }
    if (end_of_stop(event) > track->last_ns)
        track->last_ns = end_of_stop(event);
    return NULL;
}

static struct tg_error *follow_lifetimes(const struct tg_dump *dump, const struct tg_event *event,
                                         const struct tg_process_entry *entry)
{
    struct chrome *chrome = dump->state;
    struct process_tracks *tracks = find_process(chrome, entry->index);
    if (event->kind == TG_EVENT_PROCESS_EXIT || event->kind == TG_EVENT_DETACH) {
        if (tracks != NULL)
            close_process(dump, tracks, end_of_stop(event), false);
        else
            name_process(dump, entry);
        return NULL;
    }
    if (event->kind == TG_EVENT_EXEC && tracks != NULL)
        close_threads(dump, tracks, event->time_ns, false);
    if (event->kind == TG_EVENT_THREAD_EXIT) {
        struct track *track = NULL;
        if (tracks != NULL)
            HASH_FIND(hh, tracks->threads, &event->tid, sizeof event->tid, track);
        if (track != NULL)
            close_track(dump, tracks, track, end_of_stop(event), false);
        return NULL;
    }
    return entry->end == TG_PROCESS_RUNNING ? open_track(dump, event, entry) : NULL;
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
    if (error == NULL)
        error = tg_openmp_model_feed(chrome->openmp, event, entry->index);
    return error != NULL ? error : tg_mpi_model_feed(chrome->mpi, event, entry->index);
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
    int64_t tid = shown_number(entry, event->tid);
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
    struct tg_error *error = tg_openmp_model_create(&openmp, &chrome->openmp);
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
    HASH_ITER (hh, chrome->processes, tracks, next)
        close_process(dump, tracks, chrome->last_ns, true);
    tg_json_end_array(&chrome->json);
    tg_json_end_object(&chrome->json);
    tg_json_end_line(&chrome->json);
    tg_openmp_model_destroy(chrome->openmp);
    tg_mpi_model_destroy(chrome->mpi);
    free(chrome);
    return NULL;
}

const struct tg_dump_format tg_dump_chrome = {.name = "chrome",
                                              .wants_processes = true,
                                              .begin = begin,
                                              .event = write_event,
                                              .left_out = follow,
                                              .end = end};
