#include "analyzer/page/timeline_pass.h"

#include "analyzer/models/mpi/model.h"
#include "analyzer/models/openmp/model.h"
#include "analyzer/models/process.h"
#include "analyzer/output/trace_pass.h"
#include "analyzer/page/collectives.h"

#include <stdlib.h>
#include <string.h>

struct tg_timeline_pass {
    char *path;
    struct tg_trace_reader *reader;
    struct tg_process_model *processes;
    struct tg_mpi_model *mpi;
    struct tg_openmp_model *openmp;
    struct tg_timeline *timeline;
    struct tg_page_collectives *collectives;
    uint64_t start_ns;
    bool is_through, has_heap;
    bool is_fed; /* events come from a job that goes on */
};

static struct tg_error *received(void *context, const struct tg_mpi_message *message, size_t process,
                                 uint64_t time_ns)
{
    struct tg_timeline_pass *pass = context;
    return tg_timeline_take_message(pass->timeline, message->process, message->tid, message->since_ns,
                                    process, time_ns);
}

/* The row of thread TID of PROCESS, SIZE_MAX none. */
static size_t row_of(const struct tg_timeline *timeline, size_t process, int32_t tid)
{
    size_t row = tg_timeline_first_of_process(timeline, process);
    while (row != SIZE_MAX && tg_timeline_at(timeline, row)->tid != tid)
        row = tg_timeline_next_of_process(timeline, row);
    return row;
}

static struct tg_error *left(void *context, const struct tg_mpi_thread *thread,
                             const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                             uint64_t time_ns)
{
    struct tg_timeline_pass *pass = context;
    bool is_nonblocking = false, is_persistent = false;
    (void)leave;
    if (call->instance == 0 ||
        tg_mpi_call_role(call->name, &is_nonblocking, &is_persistent) != TG_MPI_COLLECTIVE ||
        is_nonblocking || is_persistent)
        return NULL;
    const struct tg_mpi_process *process = tg_mpi_model_process(pass->mpi, thread->process);
    const struct tg_page_meeting meeting = {
        .job = process == NULL ? "" : process->job,
        .name = call->name,
        .comm = call->comm,
        .instance = call->instance,
        .size = process == NULL ? 0 : tg_mpi_model_comm_size(pass->mpi, process->job, call->comm),
        .row = row_of(pass->timeline, thread->process, thread->tid),
        .came_ns = call->since_ns,
        .left_ns = time_ns};
    return meeting.row == SIZE_MAX ? NULL : tg_page_collectives_take(pass->collectives, &meeting);
}

struct tg_error *tg_timeline_pass_take(struct tg_timeline_pass *pass, const struct tg_event *event)
{
    struct tg_process_entry *entry = NULL;
    pass->has_heap |= event->kind == TG_EVENT_HEAP_START;
    struct tg_error *error = tg_process_model_feed(pass->processes, event, &entry);
    if (error == NULL)
        error = tg_timeline_feed(pass->timeline, event, entry == NULL ? SIZE_MAX : entry->index);
    if (error == NULL && entry != NULL)
        error = tg_mpi_model_feed(pass->mpi, event, entry->index);
    if (error == NULL && entry != NULL)
        error = tg_openmp_model_feed(pass->openmp, event, entry->index);
    if (error == NULL && !pass->is_fed && tg_timeline_wants_mark(pass->timeline))
        error = tg_timeline_mark(pass->timeline, tg_trace_reader_tell(pass->reader));
    return error;
}

/* The first event, by whose time moments are told. */
static struct tg_error *begin(struct tg_timeline_pass *pass)
{
    const struct tg_event *event = NULL;
    TG_AUTO_ERROR struct tg_error *damage = tg_trace_reader_next(pass->reader, &event);
    struct tg_timeline_options options = {0};
    pass->is_through = damage != NULL || event == NULL;
    options.start_ns = pass->start_ns = tg_trace_start_ns(pass->reader, pass->is_through ? NULL : event);
    struct tg_error *error = tg_timeline_create(&options, &pass->timeline);
    return error == NULL && !pass->is_through ? tg_timeline_pass_take(pass, event) : error;
}

static struct tg_error *create_models(struct tg_timeline_pass *pass)
{
    const struct tg_mpi_model_options options = {.received = received, .left = left, .context = pass};
    const struct tg_openmp_model_options no_options = {0};
    struct tg_error *error = tg_process_model_create(&pass->processes);
    if (error == NULL)
        error = tg_mpi_model_create(&options, &pass->mpi);
    if (error == NULL)
        error = tg_openmp_model_create(&no_options, &pass->openmp);
    if (error == NULL && (pass->collectives = tg_page_collectives_create(0)) == NULL)
        error = tg_error_no_memory();
    return error;
}

struct tg_error *tg_timeline_pass_create(const char *path, struct tg_timeline_pass **pass)
{
    struct tg_timeline_pass *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->path = strdup(path);
    struct tg_error *error =
        made->path == NULL ? tg_error_no_memory() : tg_trace_reader_open(path, &made->reader);
    if (error == NULL)
        error = create_models(made);
    if (error == NULL)
        error = begin(made);
    if (error != NULL) {
        tg_timeline_pass_destroy(made);
        return error;
    }
    *pass = made;
    return NULL;
}

struct tg_error *tg_timeline_pass_create_live(uint64_t start_ns, struct tg_timeline_pass **pass)
{
    const struct tg_timeline_options options = {.start_ns = start_ns};
    struct tg_timeline_pass *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->start_ns = start_ns;
    struct tg_error *error = create_models(made);
    if (error == NULL)
        error = tg_timeline_create(&options, &made->timeline);
    if (error != NULL) {
        tg_timeline_pass_destroy(made);
        return error;
    }
    tg_timeline_pass_go_live(made);
    *pass = made;
    return NULL;
}

void tg_timeline_pass_destroy(struct tg_timeline_pass *pass)
{
    if (pass == NULL)
        return;
    if (pass->reader != NULL)
        tg_trace_reader_close(pass->reader);
    tg_process_model_destroy(pass->processes);
    tg_mpi_model_destroy(pass->mpi);
    tg_openmp_model_destroy(pass->openmp);
    tg_timeline_destroy(pass->timeline);
    tg_page_collectives_destroy(pass->collectives);
    free(pass->path);
    free(pass);
}

void tg_timeline_pass_watch(struct tg_timeline_pass *pass, struct tg_progress *progress)
{
    tg_progress_watch(progress, pass->reader);
}

struct tg_error *tg_timeline_pass_work(struct tg_timeline_pass *pass, uint64_t n_events, bool *more)
{
    struct tg_error *error = NULL;
    for (uint64_t i = 0; error == NULL && !pass->is_through && i < n_events; i++) {
        const struct tg_event *event = NULL;
        TG_AUTO_ERROR struct tg_error *damage = tg_trace_reader_next(pass->reader, &event);
        pass->is_through = damage != NULL || event == NULL; /* the reader for the models tells of damage */
        if (!pass->is_through)
            error = tg_timeline_pass_take(pass, event);
    }
    *more = !pass->is_through;
    return error;
}

void tg_timeline_pass_reach(struct tg_timeline_pass *pass, uint64_t time_ns)
{
    tg_timeline_reach(pass->timeline, time_ns);
}

void tg_timeline_pass_go_live(struct tg_timeline_pass *pass)
{
    pass->is_fed = pass->is_through = true;
    tg_timeline_drop_marks(pass->timeline); /* marks lead into the file, which lacks the latest events */
    tg_trace_reader_close(pass->reader);
    pass->reader = NULL;
}

/* The part of the trace that was read, in millionths. */
static unsigned progress_of(const struct tg_timeline_pass *pass)
{
    struct tg_trace_summary summary = tg_trace_reader_summary(pass->reader);
    uint64_t offset = tg_trace_reader_tell(pass->reader).offset;
    if (pass->is_through || summary.size_bytes == 0)
        return 1000000;
    return (unsigned)((double)offset / (double)summary.size_bytes * 1e6);
}

void tg_timeline_pass_fill(const struct tg_timeline_pass *pass, struct tg_page *page)
{
    page->words.processes = pass->processes;
    page->words.mpi = pass->mpi;
    page->words.openmp = pass->openmp;
    page->words.start_ns = pass->start_ns;
    page->timeline = pass->timeline;
    page->collectives = pass->collectives;
    page->path = pass->is_fed ? NULL : pass->path; /* the file lacks the latest events */
    page->has_heap = pass->has_heap;
    page->end_ns = tg_timeline_end_ns(pass->timeline);
    page->progress = pass->is_fed ? 0 : progress_of(pass);
}

/* ---- closely */

/* A row while the events of a window are read. */
struct close_row {
    tg_activity_state state;
    uint64_t since_ns;
};

struct close_reading {
    const struct tg_timeline *timeline;
    const struct tg_timeline_columns *columns;
    struct tg_timeline_cell *const *cells;
    struct close_row *rows;
    size_t count;
    uint64_t end_ns;
};

static void count_time(struct close_reading *reading, size_t i, uint64_t until)
{
    struct close_row *row = &reading->rows[i];
    enum tg_activity activity = tg_activity_of(row->state);
    uint64_t from = row->since_ns < reading->columns->from_ns ? reading->columns->from_ns : row->since_ns;
    if (until > reading->end_ns)
        until = reading->end_ns;
    while (from < until && activity != TG_ACTIVITY_NONE && reading->cells[i] != NULL) {
        uint64_t column = (from - reading->columns->from_ns) / reading->columns->width_ns;
        uint64_t end = reading->columns->from_ns + (column + 1) * reading->columns->width_ns;
        end = end < until ? end : until;
        reading->cells[i][column].ns[activity] += end - from;
        from = end;
    }
    if (until > row->since_ns)
        row->since_ns = until;
}

static void take_closely(struct close_reading *reading, const struct tg_event *event)
{
    size_t i = tg_timeline_find(reading->timeline, event->pid, event->tid, event->time_ns);
    if (tg_activity_is_of_process(event)) {
        i = i == SIZE_MAX ? tg_timeline_find(reading->timeline, event->pid, event->pid, event->time_ns) : i;
        i = i == SIZE_MAX ? i
                          : tg_timeline_first_of_process(reading->timeline,
                                                         tg_timeline_at(reading->timeline, i)->process);
        for (; i != SIZE_MAX && i < reading->count; i = tg_timeline_next_of_process(reading->timeline, i)) {
            count_time(reading, i, event->time_ns);
            reading->rows[i].state = tg_activity_after_process(reading->rows[i].state, event);
        }
        return;
    }
    if (i == SIZE_MAX || i >= reading->count)
        return;
    tg_activity_state state = tg_activity_after(reading->rows[i].state, event);
    if (tg_activity_of(state) != tg_activity_of(reading->rows[i].state))
        count_time(reading, i, event->time_ns);
    reading->rows[i].state = state;
}

static struct tg_error *read_window(struct close_reading *reading, const char *path,
                                    const struct tg_trace_bookmark *bookmark)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    struct tg_error *error = tg_trace_reader_open(path, &reader);
    if (error == NULL)
        error = tg_trace_reader_return(reader, bookmark);
    while (error == NULL) {
        error = tg_trace_reader_next(reader, &event);
        if (error != NULL || event == NULL || event->time_ns >= reading->end_ns)
            break;
        take_closely(reading, event);
    }
    uint64_t last_ns = tg_timeline_end_ns(reading->timeline);
    for (size_t i = 0; error == NULL && i < reading->count; i++)
        count_time(reading, i, last_ns);
    tg_trace_reader_close(reader);
    return error;
}

struct tg_error *tg_timeline_read_closely(const struct tg_timeline *timeline, const char *path,
                                          const struct tg_timeline_columns *columns, uint64_t most,
                                          struct tg_timeline_cell *const *row_cells, bool *is_read)
{
    struct tg_trace_bookmark bookmark = {0};
    const tg_activity_state *states = NULL;
    size_t n_states = 0;
    uint64_t mark_ns = tg_timeline_start_ns(timeline);
    struct close_reading reading = {.timeline = timeline,
                                    .columns = columns,
                                    .cells = row_cells,
                                    .count = tg_timeline_count(timeline),
                                    .end_ns = columns->from_ns + columns->count * columns->width_ns};
    *is_read = false;
    if (tg_timeline_events_between(timeline, columns->from_ns, reading.end_ns) > most)
        return NULL;
    reading.rows = calloc(reading.count + 1, sizeof *reading.rows);
    if (reading.rows == NULL)
        return tg_error_no_memory();
    (void)tg_timeline_mark_before(timeline, columns->from_ns, &bookmark, &states, &n_states, &mark_ns);
    for (size_t i = 0; i < reading.count; i++)
        reading.rows[i] = (struct close_row){.state = i < n_states ? states[i] : 0, .since_ns = mark_ns};
    struct tg_error *error = read_window(&reading, path, &bookmark);
    free(reading.rows);
    *is_read = error == NULL;
    return error;
}
