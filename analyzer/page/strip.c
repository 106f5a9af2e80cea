/* The document of the time strip: rows, and in each of them runs of columns that look the same. */
#include "analyzer/page/collectives.h"
#include "analyzer/page/documents.h"
#include "analyzer/page/query.h"
#include "analyzer/page/strip_rows.h"
#include "analyzer/page/timeline_pass.h"
#include "format/base/search.h"

#include <stdlib.h>

enum {
    LEVELS = 16,            /* heights that are told apart in a column */
    MOST_RECTANGLES = 6000, /* in an answer */
    MOST_IN_FILE = 40000,   /* of a page that cannot ask again */
    COLUMNS = 1024,         /* unless the page says */
    COLUMNS_IN_FILE = 2048,
    MOST_CLOSELY = 600000, /* events that are read for an answer */
    MOST_MESSAGES = 400,   /* in sight; more are counted */
    MOST_COLLECTIVES = 200,
};

struct strip {
    const struct tg_page *page;
    struct tg_strip_rows rows;
    struct tg_timeline_columns columns;
    struct tg_timeline_cell *cells; /* COLUMNS for each row */
    size_t *row_of; /* the row that a line of the time line is seen in, the innermost; SIZE_MAX none */
    size_t n_lines;
    bool is_exact;
};

static void deinit(struct strip *strip)
{
    tg_strip_rows_deinit(&strip->rows);
    free(strip->cells);
    free(strip->row_of);
}

static struct tg_timeline_cell *cells_of(const struct strip *strip, size_t row)
{
    return strip->cells + row * strip->columns.count;
}

/* Rows come behind those that they belong to: the innermost is the last. */
static struct tg_error *find_innermost(struct strip *strip)
{
    strip->n_lines = tg_timeline_count(strip->page->timeline);
    strip->row_of = malloc((strip->n_lines + 1) * sizeof *strip->row_of);
    if (strip->row_of == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < strip->n_lines; i++)
        strip->row_of[i] = SIZE_MAX;
    for (size_t i = 0; i < strip->rows.count; i++)
        for (size_t k = 0; k < strip->rows.rows[i].n_lines; k++)
            strip->row_of[strip->rows.rows[i].lines[k]] = i;
    return NULL;
}

static void add_up(struct strip *strip)
{
    for (size_t i = strip->rows.count; i-- > 0;) {
        size_t parent = strip->rows.rows[i].parent;
        for (size_t c = 0; parent != SIZE_MAX && c < strip->columns.count; c++)
            for (size_t k = 0; k < TG_ACTIVITY_COUNT; k++)
                cells_of(strip, parent)[c].ns[k] += cells_of(strip, i)[c].ns[k];
    }
}

static struct tg_error *fill_closely(struct strip *strip)
{
    struct tg_timeline_cell **lines = calloc(strip->n_lines + 1, sizeof *lines);
    if (lines == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < strip->n_lines; i++)
        if (strip->row_of[i] != SIZE_MAX)
            lines[i] = cells_of(strip, strip->row_of[i]);
    struct tg_error *error = tg_timeline_read_closely(strip->page->timeline, strip->page->path,
                                                      &strip->columns, MOST_CLOSELY, lines, &strip->is_exact);
    free(lines);
    return error;
}

static struct tg_error *make_cells(struct strip *strip)
{
    free(strip->cells);
    strip->cells = calloc(strip->rows.count * strip->columns.count + 1, sizeof *strip->cells);
    return strip->cells == NULL ? tg_error_no_memory() : NULL;
}

/* From the buckets where these are short enough, otherwise from the trace. */
static struct tg_error *fill(struct strip *strip, uint64_t from_ns, uint64_t to_ns, size_t wanted)
{
    const struct tg_timeline *timeline = strip->page->timeline;
    uint64_t bucket = tg_timeline_bucket_ns(timeline);
    struct tg_error *error = find_innermost(strip);
    strip->columns = tg_timeline_columns(timeline, from_ns, to_ns, wanted, 1);
    if (error == NULL && strip->columns.width_ns < bucket && strip->page->path != NULL) {
        error = make_cells(strip);
        if (error == NULL)
            error = fill_closely(strip);
    }
    if (error == NULL && !strip->is_exact) {
        strip->columns = tg_timeline_columns(timeline, from_ns, to_ns, wanted, bucket);
        error = make_cells(strip);
        for (size_t i = 0; error == NULL && i < strip->n_lines; i++)
            if (strip->row_of[i] != SIZE_MAX)
                tg_timeline_add(timeline, i, &strip->columns, cells_of(strip, strip->row_of[i]));
    }
    if (error == NULL)
        add_up(strip);
    return error;
}

/* ---- runs */

/* A column of a row: the height of each activity. */
struct column {
    uint8_t of[TG_ACTIVITY_COUNT];
};

static struct column look_of(const struct strip *strip, const struct tg_strip_row *row,
                             const struct tg_timeline_cell *cell)
{
    struct column column = {{0}};
    uint64_t all = strip->columns.width_ns * (row->n_shown > 0 ? row->n_shown : row->n_lines);
    for (size_t k = 1; k < TG_ACTIVITY_COUNT && all > 0; k++) {
        uint64_t level = (uint64_t)((double)cell->ns[k] / (double)all * LEVELS + 0.5);
        column.of[k] = (uint8_t)(level > LEVELS ? LEVELS : level);
    }
    return column;
}

static bool is_same(const struct column *a, const struct column *b)
{
    for (size_t k = 0; k < TG_ACTIVITY_COUNT; k++)
        if (a->of[k] != b->of[k])
            return false;
    return true;
}

static size_t count_activities(const struct column *column)
{
    size_t count = 0;
    for (size_t k = 1; k < TG_ACTIVITY_COUNT; k++)
        count += column->of[k] > 0;
    return count;
}

static void write_run(struct tg_json *json, size_t first, size_t length, const struct column *column)
{
    tg_json_begin_array(json);
    tg_json_unsigned(json, first);
    tg_json_unsigned(json, length);
    for (size_t k = 1; k < TG_ACTIVITY_COUNT; k++) {
        if (column->of[k] == 0)
            continue;
        tg_json_unsigned(json, k);
        tg_json_unsigned(json, column->of[k]);
    }
    tg_json_end_array(json);
}

/* Writes the runs of row I, JSON NULL: only counts their rectangles. */
static size_t take_runs(const struct strip *strip, size_t i, struct tg_json *json)
{
    const struct tg_timeline_cell *cells = cells_of(strip, i);
    size_t rectangles = 0;
    for (size_t c = 0; c < strip->columns.count;) {
        struct column column = look_of(strip, &strip->rows.rows[i], &cells[c]);
        size_t first = c++;
        for (; c < strip->columns.count; c++) {
            struct column next = look_of(strip, &strip->rows.rows[i], &cells[c]);
            if (!is_same(&column, &next))
                break;
        }
        size_t n = count_activities(&column);
        rectangles += n;
        if (n > 0 && json != NULL)
            write_run(json, first, c - first, &column);
    }
    return rectangles;
}

/* Two and two columns become one. */
static void widen(struct strip *strip)
{
    struct tg_timeline_columns old = strip->columns, *now = &strip->columns;
    uint64_t start = tg_timeline_start_ns(strip->page->timeline);
    size_t odd = (size_t)((old.from_ns - start) / old.width_ns & 1);
    now->width_ns *= 2;
    now->from_ns -= odd * old.width_ns;
    now->count = (old.count + odd + 1) / 2;
    struct tg_timeline_cell *to = strip->cells;
    for (size_t i = 0; i < strip->rows.count; i++)
        for (size_t c = 0; c < now->count; c++, to++) {
            const struct tg_timeline_cell *from = strip->cells + i * old.count;
            struct tg_timeline_cell sum = {{0}};
            for (size_t half = 0; half < 2; half++) {
                size_t at = 2 * c + half;
                if (at < odd || at - odd >= old.count)
                    continue;
                for (size_t k = 0; k < TG_ACTIVITY_COUNT; k++)
                    sum.ns[k] += from[at - odd].ns[k];
            }
            *to = sum;
        }
}

static void bound(struct strip *strip)
{
    size_t most = strip->page->is_file ? MOST_IN_FILE : MOST_RECTANGLES;
    for (;;) {
        size_t rectangles = 0;
        for (size_t i = 0; i < strip->rows.count && rectangles <= most; i++)
            rectangles += take_runs(strip, i, NULL);
        if (rectangles <= most || strip->columns.count <= 8)
            return;
        widen(strip);
    }
}

/* ---- JSON */

static void write_row(const struct strip *strip, size_t i, struct tg_json *json)
{
    const struct tg_strip_row *row = &strip->rows.rows[i];
    tg_json_begin_object(json);
    tg_json_member_string(json, "id", row->id);
    if (row->parent != SIZE_MAX)
        tg_json_member_string(json, "parent", strip->rows.rows[row->parent].id);
    tg_json_member_string(json, "label", row->label);
    tg_json_member_string(json, "detail", row->detail);
    tg_json_member_unsigned(json, "depth", row->depth);
    tg_json_member_unsigned(json, "threads", row->n_lines);
    tg_json_member_unsigned(json, "processes", row->n_processes);
    if (row->process != SIZE_MAX)
        tg_json_member_unsigned(json, "process", row->process);
    if (row->rank >= 0)
        tg_json_member_signed(json, "rank", row->rank);
    if (row->tid != 0)
        tg_json_member_signed(json, "tid", row->tid);
    tg_json_member_bool(json, "shown", row->n_shown > 0);
    tg_json_member_bool(json, "culprit", row->is_culprit);
    tg_json_member_bool(json, "opens", row->can_open);
    tg_json_member_bool(json, "open", row->is_open);
    tg_json_key(json, "runs");
    tg_json_begin_array(json);
    take_runs(strip, i, json);
    tg_json_end_array(json);
    tg_json_end_object(json);
}

static void write_messages(const struct strip *strip, struct tg_json *json)
{
    const struct tg_timeline_message *messages;
    size_t stride, count = tg_timeline_messages(strip->page->timeline, &messages, &stride);
    uint64_t end = strip->columns.from_ns + strip->columns.count * strip->columns.width_ns;
    size_t first = TG_LOWER_BOUND(messages, count, received_ns, strip->columns.from_ns),
           last = TG_LOWER_BOUND(messages, count, received_ns, end);
    bool are_few = last - first <= MOST_MESSAGES;
    tg_json_member_unsigned(json, "messages_in_sight", (last - first) * stride);
    tg_json_member_unsigned(json, "messages_stride", stride);
    tg_json_key(json, "messages");
    tg_json_begin_array(json);
    for (size_t i = first; are_few && i < last; i++) {
        size_t from = strip->row_of[messages[i].from], to = strip->row_of[messages[i].to];
        if (from == SIZE_MAX || to == SIZE_MAX || strip->rows.rows[from].n_processes > 1 ||
            strip->rows.rows[to].n_processes > 1)
            continue;
        tg_json_begin_array(json);
        tg_json_unsigned(json, from);
        tg_json_unsigned(json, to);
        tg_json_signed(json, (int64_t)(messages[i].sent_ns - strip->page->words.start_ns));
        tg_json_signed(json, (int64_t)(messages[i].received_ns - strip->page->words.start_ns));
        tg_json_end_array(json);
    }
    tg_json_end_array(json);
}

/* Each is a line over the rows of its members, at the moment when the last one came. */
static void write_collectives(const struct strip *strip, struct tg_json *json)
{
    const struct tg_page_collective *list = NULL;
    size_t stride = 1, count = strip->page->collectives == NULL
                                   ? 0
                                   : tg_page_collectives_list(strip->page->collectives, &list, &stride);
    uint64_t start = strip->page->words.start_ns,
             end = strip->columns.from_ns + strip->columns.count * strip->columns.width_ns;
    size_t first = TG_LOWER_BOUND(list, count, end_ns, strip->columns.from_ns),
           last = TG_LOWER_BOUND(list, count, end_ns, end);
    bool are_few = last - first <= MOST_COLLECTIVES;
    tg_json_member_unsigned(json, "collectives_in_sight", (last - first) * stride);
    tg_json_key(json, "collectives");
    tg_json_begin_array(json);
    for (size_t i = first; are_few && i < last; i++) {
        size_t top = strip->row_of[list[i].top], bottom = strip->row_of[list[i].bottom];
        if (top == SIZE_MAX || bottom == SIZE_MAX)
            continue;
        tg_json_begin_array(json);
        tg_json_unsigned(json, top < bottom ? top : bottom);
        tg_json_unsigned(json, top < bottom ? bottom : top);
        tg_json_signed(json, (int64_t)(list[i].first_ns - start));
        tg_json_signed(json, (int64_t)(list[i].last_ns - start));
        tg_json_string(json, list[i].name);
        tg_json_unsigned(json, list[i].members);
        tg_json_end_array(json);
    }
    tg_json_end_array(json);
}

static void write_strip(const struct strip *strip, struct tg_json *json)
{
    const struct tg_timeline *timeline = strip->page->timeline;
    tg_json_member_bool(json, "there", true);
    tg_page_member_moment(strip->page, json, "end", tg_timeline_end_ns(timeline));
    tg_page_member_moment(strip->page, json, "from", strip->columns.from_ns);
    tg_json_member_unsigned(json, "width", strip->columns.width_ns);
    tg_json_member_unsigned(json, "columns", strip->columns.count);
    tg_json_member_bool(json, "exact", strip->is_exact);
    if (strip->page->seen_from_ns != 0)
        tg_page_member_moment(strip->page, json, "begins", strip->page->seen_from_ns);
    if (strip->page->progress != 0)
        tg_json_member_double(json, "progress", strip->page->progress / 1e6, 3);
    tg_json_member_unsigned(json, "bucket", tg_timeline_bucket_ns(timeline));
    tg_json_member_unsigned(json, "levels", LEVELS);
    tg_json_member_unsigned(json, "left_out", strip->rows.left_out);
    tg_json_key(json, "activities");
    tg_json_begin_array(json);
    for (size_t k = 0; k < TG_ACTIVITY_COUNT; k++)
        tg_json_string(json, tg_activity_name((enum tg_activity)k));
    tg_json_end_array(json);
    tg_json_key(json, "rows");
    tg_json_begin_array(json);
    for (size_t i = 0; i < strip->rows.count; i++)
        write_row(strip, i, json);
    tg_json_end_array(json);
    write_messages(strip, json);
    write_collectives(strip, json);
}

struct tg_error *tg_page_strip(const struct tg_page *page, const char *query, struct tg_json *json)
{
    struct strip strip = {.page = page};
    if (page->timeline == NULL) {
        tg_json_member_bool(json, "there", false);
        return NULL;
    }
    uint64_t start = tg_timeline_start_ns(page->timeline),
             length = tg_timeline_end_ns(page->timeline) - start;
    uint64_t from = tg_query_number(query, "from", 0), to = tg_query_number(query, "to", length);
    size_t columns = tg_query_number(query, "columns", page->is_file ? COLUMNS_IN_FILE : COLUMNS);
    if (from > length)
        from = length;
    if (to > length || to <= from)
        to = length;
    struct tg_error *error = tg_strip_rows_make(page, query, &strip.rows);
    if (error == NULL)
        error = fill(&strip, start + from, start + to, columns);
    if (error == NULL) {
        bound(&strip);
        write_strip(&strip, json);
    }
    deinit(&strip);
    return error;
}
