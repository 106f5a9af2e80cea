#include "analyzer/page/timeline.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SHIFT = 10,      /* the first buckets are of 2^10 ns */
    MAX_OF_ROW = 1 << 16,  /* buckets of a row */
    FIRST_DISTANCE = 4096, /* events between the first marks */
    MAX_MARKS = 2048,
    KEPT = TG_ACTIVITY_COUNT - 1, /* NONE is what is left */
};

/* How much of a bucket was spent in each activity but NONE: of 255. */
struct share {
    uint8_t of[KEPT];
};

struct thread_key {
    int64_t pid, tid;
};

/* The latest row of a thread's ids. */
struct thread {
    struct thread_key key;
    size_t row;
    UT_hash_handle hh;
};

struct row {
    struct tg_timeline_row is;
    size_t previous;        /* row with the same ids before, SIZE_MAX none */
    size_t next_of_process; /* SIZE_MAX: the last one */
    uint64_t since_ns;      /* in its state */
    struct share *shares;
    size_t count, capacity;
    size_t first;           /* bucket of shares[0] */
    uint64_t current[KEPT]; /* in bucket FIRST + COUNT, ns */
};

struct mark {
    struct tg_trace_bookmark bookmark;
    uint64_t time_ns, number;
    tg_activity_state *states;
    size_t count;
};

struct tg_timeline {
    struct tg_timeline_options options;
    struct row *rows;
    size_t count, capacity;
    size_t *first_of, *last_of; /* rows by process; SIZE_MAX none */
    size_t n_processes, first_capacity, last_capacity, last_count;
    struct thread *threads;
    unsigned shift; /* buckets are of 2^SHIFT ns */
    size_t n_buckets;
    uint64_t end_ns, n_events, distance;
    struct mark *marks;
    size_t n_marks, mark_capacity, n_states;
    struct tg_timeline_message *messages;
    size_t n_messages, message_capacity, stride;
    uint64_t messages_seen;
};

struct tg_error *tg_timeline_create(const struct tg_timeline_options *options, struct tg_timeline **timeline)
{
    struct tg_timeline *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    if (made->options.max_buckets == 0)
        made->options.max_buckets = 6000000;
    if (made->options.max_mark_states == 0)
        made->options.max_mark_states = 4000000;
    if (made->options.max_messages == 0)
        made->options.max_messages = 500000;
    made->shift = FIRST_SHIFT;
    made->end_ns = options->start_ns;
    made->distance = FIRST_DISTANCE;
    made->stride = 1;
    *timeline = made;
    return NULL;
}

static void free_marks(struct tg_timeline *timeline);

void tg_timeline_destroy(struct tg_timeline *timeline)
{
    struct thread *thread, *next;
    if (timeline == NULL)
        return;
    HASH_ITER (hh, timeline->threads, thread, next) {
        HASH_DEL(timeline->threads, thread);
        free(thread);
    }
    for (size_t i = 0; i < timeline->count; i++)
        free(timeline->rows[i].shares);
    free_marks(timeline);
    free(timeline->rows);
    free(timeline->first_of);
    free(timeline->last_of);
    free(timeline->messages);
    free(timeline);
}

/* ---- rows */

static struct thread *find_thread(const struct tg_timeline *timeline, int32_t pid, int32_t tid)
{
    const struct thread_key key = {pid, tid};
    struct thread *thread;
    HASH_FIND(hh, timeline->threads, &key, sizeof key, thread);
    return thread;
}

static struct tg_error *join_process(struct tg_timeline *timeline, size_t process, size_t row)
{
    while (timeline->n_processes <= process) {
        struct tg_error *error =
            TG_ARRAY_APPEND(timeline->first_of, timeline->n_processes, timeline->first_capacity, SIZE_MAX);
        if (error == NULL)
            error =
                TG_ARRAY_APPEND(timeline->last_of, timeline->last_count, timeline->last_capacity, SIZE_MAX);
        if (error != NULL)
            return error;
    }
    if (timeline->first_of[process] == SIZE_MAX)
        timeline->first_of[process] = row;
    else
        timeline->rows[timeline->last_of[process]].next_of_process = row;
    timeline->last_of[process] = row;
    return NULL;
}

/* The row of EVENT's thread, a new one where it has none: *INDEX. */
static struct tg_error *take_row(struct tg_timeline *timeline, const struct tg_event *event, size_t process,
                                 size_t *index)
{
    struct thread *thread = find_thread(timeline, event->pid, event->tid);
    if (thread != NULL) {
        const struct row *row = &timeline->rows[thread->row];
        *index = thread->row;
        if (row->is.process == process && row->is.end_ns == 0)
            return NULL;
    }
    const struct thread_key key = {event->pid, event->tid};
    struct tg_error *error = NULL;
    struct row row = {.is = {.process = process,
                             .pid = event->pid,
                             .tid = event->tid,
                             .begin_ns = event->time_ns,
                             .state = TG_ACTIVITY_STARTED},
                      .previous = thread == NULL ? SIZE_MAX : thread->row,
                      .next_of_process = SIZE_MAX,
                      .since_ns = event->time_ns};
    row.first = (size_t)((row.since_ns - timeline->options.start_ns) >> timeline->shift);
    if (thread == NULL)
        error = TG_HASH_CREATE(hh, timeline->threads, key, &key, thread);
    if (error == NULL)
        error = TG_ARRAY_APPEND(timeline->rows, timeline->count, timeline->capacity, row);
    if (error != NULL)
        return error;
    thread->row = *index = timeline->count - 1;
    return join_process(timeline, process, *index);
}

/* ---- buckets */

static void halve_row(struct tg_timeline *timeline, struct row *row)
{
    uint64_t width = (uint64_t)1 << timeline->shift;
    size_t kept = 0, i = 0;
    /* the bucket that is being filled is the second half of its pair: its first half goes back into it */
    if (((row->first + row->count) & 1) != 0 && row->count > 0) {
        row->count--;
        for (size_t k = 0; k < KEPT; k++)
            row->current[k] += row->shares[row->count].of[k] * width / 255;
    }
    if ((row->first & 1) != 0 && row->count > 0) {
        for (size_t k = 0; k < KEPT; k++)
            row->shares[0].of[k] = (uint8_t)((row->shares[0].of[k] + 1) / 2);
        kept = i = 1;
    }
    for (; i + 1 < row->count; i += 2, kept++)
        for (size_t k = 0; k < KEPT; k++)
            row->shares[kept].of[k] = (uint8_t)((row->shares[i].of[k] + row->shares[i + 1].of[k] + 1) / 2);
    row->first /= 2;
    row->count = kept;
}

/* A row that was long once, or grew alone, does not keep the room for it. */
static void trim_row(struct row *row)
{
    size_t enough = row->count + row->count / 4 + 16;
    if (row->capacity > enough + enough / 4 &&
        tg_array_resize(&row->shares, enough, sizeof *row->shares) == NULL)
        row->capacity = enough;
}

/* Room for one more share: by a quarter, for there are many rows. */
static struct tg_error *widen_row(struct row *row)
{
    if (row->count < row->capacity)
        return NULL;
    size_t wider = row->capacity + row->capacity / 4 + 16;
    struct tg_error *error = tg_array_resize(&row->shares, wider, sizeof *row->shares);
    if (error == NULL)
        row->capacity = wider;
    return error;
}

/* Two and two buckets become one, until all fit. */
static void make_room(struct tg_timeline *timeline, uint64_t time_ns)
{
    unsigned shift = timeline->shift;
    while (timeline->n_buckets > timeline->options.max_buckets ||
           (time_ns - timeline->options.start_ns) >> timeline->shift >= MAX_OF_ROW) {
        timeline->n_buckets = 0;
        for (size_t i = 0; i < timeline->count; i++) {
            halve_row(timeline, &timeline->rows[i]);
            timeline->n_buckets += timeline->rows[i].count;
        }
        timeline->shift++;
    }
    for (size_t i = 0; shift != timeline->shift && i < timeline->count; i++)
        trim_row(&timeline->rows[i]);
}

static struct tg_error *close_bucket(struct tg_timeline *timeline, struct row *row)
{
    uint64_t width = (uint64_t)1 << timeline->shift;
    struct share share;
    for (size_t k = 0; k < KEPT; k++) {
        uint64_t part = (row->current[k] * 255 + width / 2) / width;
        share.of[k] = (uint8_t)(part > 255 ? 255 : part);
        row->current[k] = 0;
    }
    struct tg_error *error = widen_row(row);
    if (error != NULL)
        return error;
    row->shares[row->count++] = share;
    timeline->n_buckets++;
    return NULL;
}

/* ROW stays in its state until TIME_NS. */
static struct tg_error *advance(struct tg_timeline *timeline, struct row *row, uint64_t time_ns)
{
    enum tg_activity activity = tg_activity_of(row->is.state);
    make_room(timeline, time_ns);
    while (row->since_ns < time_ns) {
        uint64_t bucket = row->first + row->count;
        uint64_t end = timeline->options.start_ns + ((bucket + 1) << timeline->shift);
        uint64_t until = time_ns < end ? time_ns : end;
        if (activity != TG_ACTIVITY_NONE && until > row->since_ns)
            row->current[activity - 1] += until - row->since_ns;
        if (until > row->since_ns)
            row->since_ns = until;
        if (until < end)
            return NULL;
        struct tg_error *error = close_bucket(timeline, row);
        if (error != NULL)
            return error;
        if (timeline->n_buckets > timeline->options.max_buckets)
            make_room(timeline, time_ns);
    }
    return NULL;
}

static struct tg_error *set_state(struct tg_timeline *timeline, size_t i, tg_activity_state state,
                                  uint64_t time_ns)
{
    struct row *row = &timeline->rows[i];
    struct tg_error *error = NULL;
    if (tg_activity_of(state) != tg_activity_of(row->is.state))
        error = advance(timeline, row, time_ns);
    if (state == 0 && row->is.end_ns == 0)
        row->is.end_ns = time_ns;
    else
        row->is.last = tg_activity_of(state);
    row->is.state = state;
    return error;
}

static bool has_live_row(const struct tg_timeline *timeline, const struct tg_event *event)
{
    const struct thread *thread = find_thread(timeline, event->pid, event->tid);
    return thread != NULL && timeline->rows[thread->row].is.end_ns == 0;
}

struct tg_error *tg_timeline_feed(struct tg_timeline *timeline, const struct tg_event *event, size_t process)
{
    uint64_t time_ns =
        event->time_ns > timeline->options.start_ns ? event->time_ns : timeline->options.start_ns;
    timeline->n_events++;
    if (time_ns > timeline->end_ns)
        timeline->end_ns = time_ns;
    if (process == SIZE_MAX || event->pid == 0)
        return NULL;
    if (tg_activity_is_of_process(event)) {
        struct tg_error *error = NULL;
        size_t i = tg_timeline_first_of_process(timeline, process);
        for (; error == NULL && i != SIZE_MAX; i = timeline->rows[i].next_of_process) {
            const struct tg_timeline_row *row = &timeline->rows[i].is;
            tg_activity_state state =
                row->end_ns == 0 ? tg_activity_after_process(row->state, event) : row->state;
            if (state != row->state)
                error = set_state(timeline, i, state, time_ns);
        }
        return error;
    }
    bool is_start = event->kind == TG_EVENT_PROCESS_START || event->kind == TG_EVENT_THREAD_START;
    if (!is_start && !tg_activity_is_shown_by(event) && !has_live_row(timeline, event))
        return NULL;
    size_t i = 0;
    struct tg_event at = *event;
    at.time_ns = time_ns;
    struct tg_error *error = take_row(timeline, &at, process, &i);
    if (error != NULL)
        return error;
    timeline->rows[i].is.is_shown |= tg_activity_is_shown_by(event);
    return set_state(timeline, i, tg_activity_after(timeline->rows[i].is.state, event), time_ns);
}

/* ---- messages */

struct tg_error *tg_timeline_take_message(struct tg_timeline *timeline, size_t process, int32_t tid,
                                          uint64_t sent_ns, size_t to, uint64_t received_ns)
{
    size_t from_row = tg_timeline_first_of_process(timeline, process);
    size_t to_row = tg_timeline_first_of_process(timeline, to);
    while (from_row != SIZE_MAX && timeline->rows[from_row].is.tid != tid)
        from_row = timeline->rows[from_row].next_of_process;
    if (from_row == SIZE_MAX || to_row == SIZE_MAX || timeline->messages_seen++ % timeline->stride != 0)
        return NULL;
    if (timeline->n_messages == timeline->options.max_messages) {
        timeline->n_messages /= 2;
        for (size_t i = 0; i < timeline->n_messages; i++)
            timeline->messages[i] = timeline->messages[2 * i];
        timeline->stride *= 2;
    }
    return TG_ARRAY_APPEND(timeline->messages, timeline->n_messages, timeline->message_capacity,
                           (struct tg_timeline_message){from_row, to_row, sent_ns, received_ns});
}

size_t tg_timeline_messages(const struct tg_timeline *timeline, const struct tg_timeline_message **messages,
                            size_t *stride)
{
    *messages = timeline->messages;
    *stride = timeline->stride;
    return timeline->n_messages;
}

/* ---- marks */

static void free_marks(struct tg_timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_marks; i++)
        free(timeline->marks[i].states);
    free(timeline->marks);
}

void tg_timeline_drop_marks(struct tg_timeline *timeline)
{
    free_marks(timeline);
    timeline->marks = NULL;
    timeline->n_marks = timeline->mark_capacity = timeline->n_states = 0;
}

size_t tg_timeline_bytes(const struct tg_timeline *timeline)
{
    size_t bytes = timeline->n_states * sizeof(tg_activity_state);
    for (size_t i = 0; i < timeline->count; i++)
        bytes += timeline->rows[i].capacity * sizeof(struct share);
    return bytes;
}

bool tg_timeline_wants_mark(const struct tg_timeline *timeline)
{
    return timeline->n_marks == 0 ||
           timeline->n_events - timeline->marks[timeline->n_marks - 1].number >= timeline->distance;
}

/* Every other mark goes. */
static void thin_marks(struct tg_timeline *timeline)
{
    size_t kept = 0;
    timeline->n_states = 0;
    for (size_t i = 0; i < timeline->n_marks; i++) {
        if (i % 2 != 0) {
            free(timeline->marks[i].states);
            continue;
        }
        timeline->n_states += timeline->marks[i].count;
        timeline->marks[kept++] = timeline->marks[i];
    }
    timeline->n_marks = kept;
    timeline->distance *= 2;
}

struct tg_error *tg_timeline_mark(struct tg_timeline *timeline, struct tg_trace_bookmark bookmark)
{
    struct mark mark = {.bookmark = bookmark,
                        .time_ns = timeline->end_ns,
                        .number = timeline->n_events,
                        .states = malloc((timeline->count + 1) * sizeof *mark.states),
                        .count = timeline->count};
    if (mark.states == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < timeline->count; i++)
        mark.states[i] = timeline->rows[i].is.state;
    timeline->n_states += timeline->count;
    struct tg_error *error =
        TG_ARRAY_APPEND(timeline->marks, timeline->n_marks, timeline->mark_capacity, mark);
    if (error != NULL) {
        free(mark.states);
        return error;
    }
    if (timeline->n_marks >= MAX_MARKS ||
        (timeline->n_states > timeline->options.max_mark_states && timeline->n_marks > 2))
        thin_marks(timeline);
    return NULL;
}

/* The number of marks at or before TIME_NS. */
static size_t marks_before(const struct tg_timeline *timeline, uint64_t time_ns)
{
    return TG_UPPER_BOUND(timeline->marks, timeline->n_marks, time_ns, time_ns);
}

bool tg_timeline_mark_before(const struct tg_timeline *timeline, uint64_t time_ns,
                             struct tg_trace_bookmark *bookmark, const tg_activity_state **states,
                             size_t *n_states, uint64_t *mark_ns)
{
    size_t n = marks_before(timeline, time_ns);
    if (n == 0)
        return false;
    const struct mark *mark = &timeline->marks[n - 1];
    *bookmark = mark->bookmark;
    *states = mark->states;
    *n_states = mark->count;
    *mark_ns = mark->time_ns;
    return true;
}

uint64_t tg_timeline_events_between(const struct tg_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
    size_t first = marks_before(timeline, from_ns), end = marks_before(timeline, to_ns);
    uint64_t from = first == 0 ? 0 : timeline->marks[first - 1].number;
    uint64_t to = end < timeline->n_marks ? timeline->marks[end].number : timeline->n_events;
    return to - from;
}

/* ---- answers */

size_t tg_timeline_count(const struct tg_timeline *timeline)
{
    return timeline->count;
}

const struct tg_timeline_row *tg_timeline_at(const struct tg_timeline *timeline, size_t i)
{
    return &timeline->rows[i].is;
}

uint64_t tg_timeline_start_ns(const struct tg_timeline *timeline)
{
    return timeline->options.start_ns;
}

void tg_timeline_reach(struct tg_timeline *timeline, uint64_t time_ns)
{
    if (time_ns > timeline->end_ns)
        timeline->end_ns = time_ns;
}

uint64_t tg_timeline_end_ns(const struct tg_timeline *timeline)
{
    return timeline->end_ns;
}

uint64_t tg_timeline_bucket_ns(const struct tg_timeline *timeline)
{
    return (uint64_t)1 << timeline->shift;
}

size_t tg_timeline_first_of_process(const struct tg_timeline *timeline, size_t process)
{
    return process < timeline->n_processes ? timeline->first_of[process] : SIZE_MAX;
}

size_t tg_timeline_next_of_process(const struct tg_timeline *timeline, size_t i)
{
    return timeline->rows[i].next_of_process;
}

size_t tg_timeline_find(const struct tg_timeline *timeline, int32_t pid, int32_t tid, uint64_t time_ns)
{
    const struct thread *thread = find_thread(timeline, pid, tid);
    size_t row = thread == NULL ? SIZE_MAX : thread->row;
    while (row != SIZE_MAX && timeline->rows[row].is.begin_ns > time_ns &&
           timeline->rows[row].previous != SIZE_MAX)
        row = timeline->rows[row].previous;
    return row;
}

struct tg_timeline_columns tg_timeline_columns(const struct tg_timeline *timeline, uint64_t from_ns,
                                               uint64_t to_ns, size_t wanted, uint64_t shortest_ns)
{
    uint64_t start = timeline->options.start_ns, width = shortest_ns;
    if (from_ns < start)
        from_ns = start;
    if (to_ns <= from_ns)
        to_ns = from_ns + 1;
    if (wanted < 2)
        wanted = 2;
    if (wanted > TG_TIMELINE_COLUMNS)
        wanted = TG_TIMELINE_COLUMNS;
    for (;; width *= 2) {
        uint64_t first = (from_ns - start) / width, last = (to_ns - start - 1) / width;
        if (last - first < wanted || width >= (uint64_t)1 << 62)
            return (struct tg_timeline_columns){
                .from_ns = start + first * width, .width_ns = width, .count = (size_t)(last - first) + 1};
    }
}

/* Adds the time from FROM to TO. */
static void add_stretch(const struct tg_timeline_columns *columns, enum tg_activity activity, uint64_t from,
                        uint64_t to, struct tg_timeline_cell *cells)
{
    uint64_t end = columns->from_ns + columns->count * columns->width_ns;
    if (from < columns->from_ns)
        from = columns->from_ns;
    if (to > end)
        to = end;
    while (from < to) {
        uint64_t column = (from - columns->from_ns) / columns->width_ns;
        uint64_t until = columns->from_ns + (column + 1) * columns->width_ns;
        if (until > to)
            until = to;
        cells[column].ns[activity] += until - from;
        from = until;
    }
}

/* The bucket that is being filled, and what comes behind it: the state that lasts. */
static void add_tail(const struct tg_timeline *timeline, const struct row *row,
                     const struct tg_timeline_columns *columns, struct tg_timeline_cell *cells)
{
    uint64_t bucket = timeline->options.start_ns + ((uint64_t)(row->first + row->count) << timeline->shift);
    uint64_t end = columns->from_ns + columns->count * columns->width_ns;
    if (bucket >= columns->from_ns && bucket < end)
        for (size_t k = 0; k < KEPT; k++)
            cells[(bucket - columns->from_ns) / columns->width_ns].ns[k + 1] += row->current[k];
    uint64_t until = row->is.end_ns != 0 ? row->is.end_ns : timeline->end_ns;
    enum tg_activity activity = tg_activity_of(row->is.state);
    if (activity != TG_ACTIVITY_NONE && until > row->since_ns)
        add_stretch(columns, activity, row->since_ns, until, cells);
}

void tg_timeline_add(const struct tg_timeline *timeline, size_t i, const struct tg_timeline_columns *columns,
                     struct tg_timeline_cell *cells)
{
    const struct row *row = &timeline->rows[i];
    uint64_t start = timeline->options.start_ns;
    size_t per_column = (size_t)(columns->width_ns >> timeline->shift);
    size_t first_bucket = (size_t)((columns->from_ns - start) >> timeline->shift);
    for (size_t column = 0; column < columns->count && per_column > 0; column++) {
        size_t from = first_bucket + column * per_column, to = from + per_column;
        if (from < row->first)
            from = row->first;
        if (to > row->first + row->count)
            to = row->first + row->count;
        if (from >= to)
            continue;
        uint32_t sums[KEPT] = {0};
        for (const struct share *share = &row->shares[from - row->first], *end = share + (to - from);
             share < end; share++)
            for (size_t k = 0; k < KEPT; k++)
                sums[k] += share->of[k];
        for (size_t k = 0; k < KEPT; k++)
            cells[column].ns[k + 1] += (((uint64_t)sums[k] << timeline->shift) + 127) / 255;
    }
    add_tail(timeline, row, columns, cells);
}
