#include "analyzer/sequence/columns.h"

#include "format/base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- titles */

/* "1234:", the job of LANE; nothing where all are of one. */
static const char *job_of(const struct tg_sequence_lane *lane, char *buffer, size_t size)
{
    char job[25];
    *buffer = '\0';
    if (lane->job != NULL)
        snprintf(buffer, size, "%s:", *lane->job == '\0' ? "?" : tg_printable(lane->job, job, sizeof job));
    return buffer;
}

static size_t count_members(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                            uint32_t lane)
{
    size_t members = 0;
    for (size_t i = 0; i < sequence->n_lanes; i++)
        members += rows->group[i] == lane;
    return members;
}

char *tg_sequence_column_title(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                               uint32_t lane, bool short_one, char *buffer, size_t size)
{
    const struct tg_sequence_lane *of = &sequence->lanes[lane];
    size_t members = count_members(sequence, rows, lane);
    char job[48];
    if (members > 1)
        snprintf(buffer, size, "%zu%s", members,
                 short_one           ? "\u00d7"
                 : sequence->by_rank ? " ranks"
                                     : " workers");
    else if (sequence->by_rank && of->rank >= 0)
        snprintf(buffer, size, "%s%s%" PRId64, short_one ? "" : "Rank ", job_of(of, job, sizeof job),
                 of->rank);
    else if (of->number != 0)
        snprintf(buffer, size, "%s%" PRIu64, short_one ? "" : "Worker ", of->number);
    else
        snprintf(buffer, size, "%s%" PRId32, short_one ? "" : "Thread ", of->tid);
    return buffer;
}

bool tg_sequence_column_is_shared(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                                  uint32_t lane)
{
    return count_members(sequence, rows, lane) > 1;
}

char *tg_sequence_lane_title(const struct tg_sequence *sequence, uint32_t lane, char *buffer, size_t size)
{
    const struct tg_sequence_lane *of = &sequence->lanes[lane];
    char job[48];
    if (sequence->by_rank && of->rank >= 0)
        snprintf(buffer, size, "rank %s%" PRId64, job_of(of, job, sizeof job), of->rank);
    else if (of->number != 0)
        snprintf(buffer, size, "worker %" PRIu64, of->number);
    else
        snprintf(buffer, size, "thread %" PRId32, of->tid);
    return buffer;
}

/* The number that a lifeline is known by. */
static int64_t number_of(const struct tg_sequence *sequence, size_t lane)
{
    const struct tg_sequence_lane *of = &sequence->lanes[lane];
    return sequence->by_rank ? of->rank : of->number != 0 ? (int64_t)of->number : of->tid;
}

char *tg_sequence_column_members(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                                 uint32_t lane, char *buffer, size_t size)
{
    enum { ROOM = 64, ROOM_WITH_JOB = 88 }; /* for one range, its job, and the sign that there are more */
    int64_t first = 0, last = 0;
    size_t first_lane = 0;
    size_t room = sequence->lanes[lane].job == NULL ? ROOM : ROOM_WITH_JOB;
    char job[48];
    size_t n = 0;
    size_t members = count_members(sequence, rows, lane);
    if (members <= 1)
        return tg_sequence_column_title(sequence, rows, lane, false, buffer, size);
    size_t used = (size_t)snprintf(buffer, size, "%zu %s:", members, sequence->by_rank ? "ranks" : "workers");
    /* Lanes are numbered as they came, which is mostly the order of their numbers. */
    size_t i = 0;
    for (; i <= sequence->n_lanes && used + room < size; i++) {
        bool is_member = i < sequence->n_lanes && rows->group[i] == lane;
        int64_t number = is_member ? number_of(sequence, i) : 0;
        bool is_next = is_member && n > 0 && number == last + 1 &&
                       sequence->lanes[i].nth_job == sequence->lanes[first_lane].nth_job;
        if (is_next) {
            last = number;
            continue;
        }
        if (n > 0 && (is_member || i == sequence->n_lanes))
            used +=
                (size_t)(first == last
                             ? snprintf(buffer + used, size - used, " %s%" PRId64 ",",
                                        job_of(&sequence->lanes[first_lane], job, sizeof job), first)
                             : snprintf(buffer + used, size - used, " %s%" PRId64 "-%" PRId64 ",",
                                        job_of(&sequence->lanes[first_lane], job, sizeof job), first, last));
        if (is_member) {
            first = last = number;
            first_lane = i;
            n++;
        }
    }
    if (i <= sequence->n_lanes)
        snprintf(buffer + used, size - used, " \u2026");
    else if (buffer[used - 1] == ',')
        buffer[used - 1] = '\0';
    return buffer;
}

/* ---- which, and in which order */

struct column {
    int64_t order;
    uint32_t lane;
};

static int compare_columns(const void *a, const void *b)
{
    const struct column *left = a, *right = b;
    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    return left->lane < right->lane ? -1 : left->lane > right->lane;
}

static void use_lane(bool *used, size_t count, uint32_t lane)
{
    if (lane < count)
        used[lane] = true;
}

static int compare_by_column(const void *a, const void *b, void *context)
{
    const struct column *columns = context;
    int64_t left = columns[*(const uint32_t *)a].order, right = columns[*(const uint32_t *)b].order;
    return left < right ? -1 : left > right;
}

static size_t sort_lanes(struct column *columns, const struct tg_sequence_rows *rows, uint32_t *lanes,
                         size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        lanes[i] = rows->group[lanes[i]];
    if (count > 1)
        qsort_r(lanes, count, sizeof *lanes, compare_by_column, columns);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || lanes[kept - 1] != lanes[i])
            lanes[kept++] = lanes[i];
    return kept;
}

static void sign(uint64_t *signatures, const uint32_t *lanes, size_t count, uint64_t what)
{
    for (size_t i = 0; i < count; i++)
        signatures[lanes[i]] = (signatures[lanes[i]] ^ what) * 0x9e3779b97f4a7c15u + what;
}

/* Computes a signature of each lane's part in all rows: like lanes have the same one. */
static void make_signatures(const struct tg_sequence_rows *rows, size_t n_lanes, uint64_t *signatures)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct tg_sequence_row *row = &rows->items[i];
        sign(signatures, row->lanes, row->n_lanes, 8 * i + 1);
        sign(signatures, row->waiting, row->n_waiting, 8 * i + 2);
        sign(signatures, row->passed, row->n_passed, 8 * i + 3);
        sign(signatures, row->missing, row->n_missing, 8 * i + 4);
        if (row->from < n_lanes)
            sign(signatures, &row->from, 1, 8 * i + 5);
        if (row->to < n_lanes && row->to != row->from)
            sign(signatures, &row->to, 1, 8 * i + 6);
    }
}

/* Merges like ones of COLUMNS[0, *COUNT) into the first of them. Only error: NO_MEMORY. */
static struct tg_error *group_columns(struct tg_sequence_rows *rows, size_t n_lanes, struct column *columns,
                                      size_t *count)
{
    uint64_t *signatures = calloc(n_lanes + 1, sizeof *signatures);
    size_t kept = 0;
    if (signatures == NULL)
        return tg_error_no_memory();
    make_signatures(rows, n_lanes, signatures);
    for (size_t i = 0; i < *count; i++) {
        size_t at = 0;
        while (at < kept && signatures[columns[at].lane] != signatures[columns[i].lane])
            at++;
        rows->group[columns[i].lane] = columns[at == kept ? i : at].lane;
        if (at == kept)
            columns[kept++] = columns[i];
    }
    *count = kept;
    free(signatures);
    return NULL;
}

/* Lifelines that nothing is drawn of are not drawn. *COUNT of COLUMNS, in order. */
static struct tg_error *find_columns(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                                     struct column *columns, size_t *count)
{
    bool *used = calloc(sequence->n_lanes + 1, sizeof *used);
    size_t n = 0;
    if (used == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < rows->count; i++) {
        const struct tg_sequence_row *row = &rows->items[i];
        for (size_t at = 0; at < row->n_lanes; at++)
            use_lane(used, sequence->n_lanes, row->lanes[at]);
        use_lane(used, sequence->n_lanes, row->from);
        use_lane(used, sequence->n_lanes, row->to);
    }
    for (size_t i = 0; i < sequence->n_lanes; i++) {
        const struct tg_sequence_lane *lane = &sequence->lanes[i];
        int64_t order = sequence->by_rank                              ? (int64_t)i
                        : lane->number > 0 && lane->number < INT32_MAX ? (int64_t)lane->number
                                                                       : INT64_MAX;
        if (used[i])
            columns[n++] = (struct column){.order = order, .lane = (uint32_t)i};
    }
    qsort(columns, n, sizeof *columns, compare_columns);
    *count = n;
    free(used);
    return NULL;
}

static void use_columns(struct tg_sequence_rows *rows, size_t n_lanes, struct column *columns)
{
    for (size_t i = 0; i < rows->n_columns; i++)
        rows->columns[i] = columns[i].lane;
    for (size_t i = 0; i < rows->n_columns; i++)
        columns[rows->columns[i]].order = (int64_t)i; /* from here on: the column of a lane */
    for (size_t i = 0; i < rows->count; i++) {
        struct tg_sequence_row *row = &rows->items[i];
        row->n_lanes = sort_lanes(columns, rows, row->lanes, row->n_lanes);
        row->n_waiting = sort_lanes(columns, rows, row->waiting, row->n_waiting);
        row->n_passed = sort_lanes(columns, rows, row->passed, row->n_passed);
        row->n_missing = sort_lanes(columns, rows, row->missing, row->n_missing);
        row->from = row->from < n_lanes ? rows->group[row->from] : row->from;
        row->to = row->to < n_lanes ? rows->group[row->to] : row->to;
    }
}

struct tg_error *tg_sequence_columns_choose(const struct tg_sequence *sequence, struct tg_sequence_rows *rows)
{
    size_t count = sequence->n_lanes;
    struct column *columns = calloc(count + 1, sizeof *columns);
    rows->columns = calloc(count + 1, sizeof *rows->columns);
    rows->group = calloc(count + 1, sizeof *rows->group);
    struct tg_error *error =
        columns == NULL || rows->columns == NULL || rows->group == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        rows->group[i] = (uint32_t)i;
    if (error == NULL)
        error = find_columns(sequence, rows, columns, &rows->n_columns);
    if (error == NULL && rows->n_columns > TG_SEQUENCE_MAX_COLUMNS)
        error = group_columns(rows, count, columns, &rows->n_columns);
    if (error == NULL)
        use_columns(rows, count, columns);
    free(columns);
    return error;
}
