#include "analyzer/sequence/rows.h"

#include "analyzer/output/quantity.h"
#include "analyzer/sequence/columns.h"
#include "analyzer/sequence/words.h"
#include "format/base/array.h"
#include "format/event/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ENTRIES = 24, /* entries of a mutex drawn one by one; of more, the middle is left out */
    FEW_ENTRIES = 6,  /* the same where lifelines share columns: each entry drawn takes a column of its own */
    MANY_MESSAGES = 16, /* consecutive messages drawn as one, where lifelines share columns */
    MAX_CREATED = 8,    /* lifelines that an arrow is drawn to from who created their tasks */
    MAX_REACH = 64,     /* rows between the halves of a message that are drawn as one arrow */
};

struct writer {
    struct tg_sequence_words words;
    struct tg_sequence_rows *rows;
    unsigned depth;
};

/* ---- rows */

static struct tg_sequence_row *add_row(struct writer *writer, enum tg_sequence_row_kind kind,
                                       const struct tg_sequence_node *node, const char *label)
{
    struct tg_sequence_rows *rows = writer->rows;
    if (TG_ARRAY_RESERVE(rows->items, rows->capacity, rows->count + 1) != NULL)
        return NULL;
    struct tg_sequence_row *row = &rows->items[rows->count];
    *row = (struct tg_sequence_row){.kind = kind,
                                    .depth = writer->depth,
                                    .from = TG_SEQUENCE_NO_LANE,
                                    .to = TG_SEQUENCE_NO_LANE,
                                    .link = TG_ROW_NO_LINK,
                                    .node = node,
                                    .is_open = node != NULL && node->is_open,
                                    .is_cancelled = node != NULL && node->is_cancelled,
                                    .is_repeated = node != NULL && node->most > 1};
    row->label = strdup(label);
    row->detail = node == NULL ? strdup("") : tg_sequence_words_detail(&writer->words, node);
    row->time = strdup("");
    rows->count++;
    return row->label == NULL || row->detail == NULL || row->time == NULL ? NULL : row;
}

static struct tg_error *add_lanes(struct tg_sequence_row *row, const struct tg_sequence_node *node)
{
    row->lanes = calloc(node->n_parts + 1, sizeof *row->lanes);
    if (row->lanes == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < node->n_parts; i++)
        row->lanes[row->n_lanes++] = node->parts[i].lane;
    row->n_lifelines = row->n_lanes;
    return NULL;
}

static struct tg_error *write_list(struct writer *writer, const struct tg_sequence_list *list);

static struct tg_error *open_fragment(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[TG_SEQUENCE_LABEL_SIZE];
    tg_sequence_words_title(&writer->words, node, label);
    struct tg_sequence_row *row = add_row(writer, TG_ROW_OPEN, node, label);
    if (row == NULL)
        return tg_error_no_memory();
    if (++writer->depth > writer->rows->max_depth)
        writer->rows->max_depth = writer->depth;
    return add_lanes(row, node);
}

static struct tg_error *close_fragment(struct writer *writer, const struct tg_sequence_node *node)
{
    writer->depth--;
    return add_row(writer, TG_ROW_CLOSE, node, "") == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *add_bars(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_sequence_row *row = add_row(writer, TG_ROW_BARS, node, "");
    return row == NULL ? tg_error_no_memory() : add_lanes(row, node);
}

static struct tg_error *add_arrow(struct writer *writer, const struct tg_sequence_node *node, uint32_t from,
                                  uint32_t to, enum tg_sequence_style style, const char *label)
{
    struct tg_sequence_row *row =
        add_row(writer, from == to || from == TG_SEQUENCE_NO_LANE ? TG_ROW_SELF : TG_ROW_ARROW, node, label);
    if (row == NULL)
        return tg_error_no_memory();
    row->from = from == TG_SEQUENCE_NO_LANE ? to : from;
    row->to = to;
    row->style = style;
    return NULL;
}

uint64_t tg_sequence_wait_of(const struct tg_sequence *sequence, const struct tg_sequence_part *part)
{
    uint64_t end_ns = part->end_ns != 0 ? part->end_ns : sequence->last_ns;
    return part->begin_ns != 0 && end_ns > part->begin_ns ? end_ns - part->begin_ns : 0;
}

static struct tg_error *write_barrier(struct writer *writer, const struct tg_sequence_node *phase)
{
    char label[TG_SEQUENCE_LABEL_SIZE];
    bool waited = false;
    for (size_t i = 0; i < phase->n_parts; i++)
        waited |= phase->parts[i].role != TG_SEQUENCE_PASSED && phase->parts[i].role != TG_SEQUENCE_DOES;
    if (phase->what == TG_OMP_SYNC_BARRIER_JOIN && phase->name == NULL && !waited)
        return NULL; /* the fragment's end says it */
    tg_sequence_words_barrier(&writer->words, phase, label);
    struct tg_sequence_row *row = add_row(writer, TG_ROW_BARRIER, phase, label);
    if (row == NULL)
        return tg_error_no_memory();
    row->is_open = waited;
    row->waiting = calloc(phase->n_parts + 1, sizeof *row->waiting);
    if (row->waiting == NULL)
        return tg_error_no_memory();
    row->passed = calloc(phase->n_parts + 1, sizeof *row->passed);
    row->missing = calloc(phase->n_parts + 1, sizeof *row->missing);
    if (row->passed == NULL || row->missing == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < phase->n_parts; i++) {
        if (phase->parts[i].role == TG_SEQUENCE_WAITS)
            row->waiting[row->n_waiting++] = phase->parts[i].lane;
        else if (phase->parts[i].role == TG_SEQUENCE_PASSED)
            row->passed[row->n_passed++] = phase->parts[i].lane;
        else if (phase->parts[i].role == TG_SEQUENCE_MISSING)
            row->missing[row->n_missing++] = phase->parts[i].lane;
    }
    row->n_waiters = row->n_waiting;
    for (size_t i = 0; i < phase->n_parts; i++) {
        uint64_t wait_ns = tg_sequence_wait_of(writer->words.sequence, &phase->parts[i]);
        row->longest_ns = wait_ns > row->longest_ns ? wait_ns : row->longest_ns;
    }
    return add_lanes(row, phase);
}

/* ---- constructs */

static int compare_entries(const void *a, const void *b)
{
    const struct tg_sequence_part *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return left->lane < right->lane ? -1 : left->lane > right->lane;
}

static struct tg_error *write_entries(struct writer *writer, const struct tg_sequence_node *node,
                                      const struct tg_sequence_part *entries, size_t count)
{
    struct tg_error *error = NULL;
    char label[TG_SEQUENCE_LABEL_SIZE], wait[TG_QUANTITY_SIZE];
    size_t most = writer->words.sequence->n_lanes > TG_SEQUENCE_MAX_COLUMNS ? FEW_ENTRIES : MAX_ENTRIES;
    for (size_t i = 0; error == NULL && i < count; i++) {
        if (count > most && i == most / 2) {
            size_t skipped = count - most;
            snprintf(label, sizeof label, "\u2026 %zu more enter \u2026", skipped);
            error = add_row(writer, TG_ROW_ELIDED, NULL, label) == NULL ? tg_error_no_memory() : NULL;
            i += skipped;
        }
        uint64_t waited_ns = entries[i].begin_ns > entries[i].asked_ns && entries[i].asked_ns != 0
                                 ? entries[i].begin_ns - entries[i].asked_ns
                                 : 0;
        if (i == 0)
            snprintf(label, sizeof label, "enter");
        else
            snprintf(label, sizeof label, "after %s", tg_quantity_duration(waited_ns, wait));
        if (error == NULL)
            error = add_arrow(writer, node, i == 0 ? entries[i].lane : entries[i - 1].lane, entries[i].lane,
                              TG_STYLE_PLAIN, label);
    }
    if (error == NULL && count > 0 && entries[count - 1].end_ns != 0)
        error = add_arrow(writer, node, entries[count - 1].lane, entries[count - 1].lane, TG_STYLE_BACK,
                          "finish");
    return error;
}

/* Arrows from each thread that got in to the next one. */
static struct tg_error *write_mutex(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_sequence_part *entries = calloc(node->n_parts + 1, sizeof *entries);
    size_t count = 0;
    if (entries == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < node->n_parts; i++)
        if (node->parts[i].begin_ns != 0)
            entries[count++] = node->parts[i];
    qsort(entries, count, sizeof *entries, compare_entries);
    struct tg_error *error = open_fragment(writer, node);
    if (error == NULL && node->n_parts == 1 && !node->is_open && node->children.count == 0)
        error = add_bars(writer, node);
    else if (error == NULL)
        error = write_entries(writer, node, entries, count);
    free(entries);
    if (error == NULL)
        error = write_list(writer, &node->children);
    return error != NULL ? error : close_fragment(writer, node);
}

static struct tg_error *write_single(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_error *error = open_fragment(writer, node);
    const struct tg_sequence_part *executor = NULL;
    for (size_t i = 0; i < node->n_parts; i++)
        if (node->parts[i].role == TG_SEQUENCE_DOES)
            executor = &node->parts[i];
    if (error == NULL && executor != NULL)
        error = add_arrow(writer, node, executor->lane, executor->lane, TG_STYLE_PLAIN, "enter");
    if (error == NULL)
        error = write_list(writer, &node->children);
    if (error == NULL && executor != NULL && executor->end_ns != 0)
        error = add_arrow(writer, node, executor->lane, executor->lane, TG_STYLE_BACK, "exit");
    return error != NULL ? error : close_fragment(writer, node);
}

static struct tg_error *write_fragment(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_error *error = open_fragment(writer, node);
    size_t before = writer->rows->count;
    if (error == NULL)
        error = write_list(writer, &node->children);
    if (error == NULL && writer->rows->count == before)
        error = add_bars(writer, node);
    return error != NULL ? error : close_fragment(writer, node);
}

static struct tg_error *write_phase(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_error *error = node->most > 1 ? open_fragment(writer, node) : NULL;
    if (error == NULL)
        error = write_list(writer, &node->children);
    if (error == NULL && node->has_barrier)
        error = write_barrier(writer, node);
    if (error == NULL && node->most > 1)
        error = close_fragment(writer, node);
    return error;
}

/* Arrows from who created the tasks of NODE to those who execute them. */
static struct tg_error *write_creators(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < node->n_parts; i++) {
        const struct tg_sequence_part *part = &node->parts[i];
        char label[48] = "", count[TG_QUANTITY_SIZE];
        if (part->times > 1)
            snprintf(label, sizeof label, "\u00d7%s", tg_quantity_count(part->times, count));
        error = add_arrow(writer, node, part->from, part->lane, TG_STYLE_PLAIN, label);
    }
    return error;
}

static struct tg_error *write_task(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_error *error = open_fragment(writer, node);
    size_t before = writer->rows->count;
    if (error == NULL && !node->is_sum && node->n_parts <= MAX_CREATED)
        error = write_creators(writer, node);
    if (error == NULL)
        error = write_list(writer, &node->children);
    if (error == NULL && writer->rows->count == before)
        error = add_bars(writer, node);
    return error != NULL ? error : close_fragment(writer, node);
}

/* Something small that one lifeline does, or that one made another one do. */
static struct tg_error *write_step(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[TG_SEQUENCE_LABEL_SIZE];
    if (node->n_parts != 1 || node->children.count > 0 || node->is_sum)
        return node->kind == TG_SEQUENCE_TASK ? write_task(writer, node) : write_fragment(writer, node);
    tg_sequence_words_title(&writer->words, node, label);
    uint32_t lane = node->parts[0].lane;
    uint32_t from = node->kind == TG_SEQUENCE_TASK && node->from != TG_SEQUENCE_NO_LANE ? node->from : lane;
    return add_arrow(writer, node, from, lane, TG_STYLE_PLAIN, label);
}

static struct tg_error *write_call(struct writer *writer, const struct tg_sequence_node *node)
{
    if (node->is_open && node->n_parts == 1)
        return write_list(writer, &node->children); /* the place of each says it all */
    return write_step(writer, node);
}

/* The row that was added last is message NODE: how long it was waited for. */
static void note_wait(struct writer *writer, const struct tg_sequence_node *node)
{
    struct tg_sequence_row *row = &writer->rows->items[writer->rows->count - 1];
    for (size_t i = 0; i < node->n_parts; i++)
        if (node->parts[i].waited_ns > row->longest_ns)
            row->longest_ns = node->parts[i].waited_ns;
}

static struct tg_error *write_message(struct writer *writer, const struct tg_sequence_node *node)
{
    char text[TG_SEQUENCE_LABEL_SIZE], label[2 * TG_SEQUENCE_LABEL_SIZE];
    tg_sequence_words_message(node, text);
    bool is_sent = node->n_parts == 1 && node->parts[0].role == TG_SEQUENCE_SENDS;
    struct tg_error *error = NULL;
    if (!is_sent) {
        snprintf(label, sizeof label, "%s%s", text,
                 node->n_parts == 1 && node->is_linked ? ", sent above" : "");
        error = add_arrow(writer, node, node->from, node->to, TG_STYLE_MESSAGE, label);
        if (error == NULL)
            note_wait(writer, node);
        return error;
    }
    if (node->is_lost) {
        snprintf(label, sizeof label, "to %" PRId64 "%s, not received: %s", node->peer,
                 node->is_inter ? " of the other group" : "", text);
        struct tg_sequence_row *row = add_row(writer, TG_ROW_LOST, node, label);
        if (row == NULL)
            return tg_error_no_memory();
        row->from = node->from;
        row->to = node->to;
        row->style = TG_STYLE_MESSAGE;
        return NULL;
    }
    snprintf(label, sizeof label, "sends to %" PRId64 "%s: %s", node->peer,
             node->is_inter ? " of the other group" : "", text);
    error = add_arrow(writer, node, node->from, node->from, TG_STYLE_LATE, label);
    if (error == NULL)
        note_wait(writer, node);
    return error;
}

/* Whether that is the end of a rank that did what MPI asks for. */
static bool has_finished(const struct tg_sequence_node *node)
{
    return node->what == TG_SEQUENCE_OUTSIDE && node->has_died && node->name != NULL &&
           strcmp(node->name, "MPI_Finalize") == 0;
}

static struct tg_error *write_here(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[TG_SEQUENCE_LABEL_SIZE];
    tg_sequence_words_here(&writer->words, node, label);
    struct tg_sequence_row *row = add_row(writer, TG_ROW_HERE, node, label);
    if (row == NULL)
        return tg_error_no_memory();
    row->to = node->to;
    row->style = node->is_cycle ? TG_STYLE_CYCLE : has_finished(node) ? TG_STYLE_OVER : TG_STYLE_PLAIN;
    return add_lanes(row, node);
}

/* IS_FIRST: nothing is drawn before what NODE stands for. */
static struct tg_error *write_elided(struct writer *writer, const struct tg_sequence_node *node,
                                     bool is_first)
{
    char label[TG_SEQUENCE_LABEL_SIZE], count[TG_QUANTITY_SIZE], length[TG_QUANTITY_SIZE];
    snprintf(label, sizeof label, "\u2026 %s %s step%s, %s, not drawn \u2026",
             tg_quantity_count(node->executions, count), is_first ? "earlier" : "more",
             node->executions == 1 ? "" : "s",
             tg_quantity_duration(node->end_ns > node->begin_ns ? node->end_ns - node->begin_ns : 0, length));
    return add_row(writer, TG_ROW_ELIDED, node, label) == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *write_node(struct writer *writer, const struct tg_sequence_node *node, bool is_first)
{
    switch (node->kind) {
    case TG_SEQUENCE_PHASE:
        return write_phase(writer, node);
    case TG_SEQUENCE_MUTEX:
        return write_mutex(writer, node);
    case TG_SEQUENCE_ZONE:
        if (node->what == TG_OMP_ZONE_SINGLE || node->what == TG_OMP_ZONE_SINGLE_OTHER)
            return write_single(writer, node);
        return write_fragment(writer, node);
    case TG_SEQUENCE_SECTION:
    case TG_SEQUENCE_TASK:
    case TG_SEQUENCE_SYNC:
        return write_step(writer, node);
    case TG_SEQUENCE_CALL:
        return write_call(writer, node);
    case TG_SEQUENCE_MESSAGE:
        return write_message(writer, node);
    case TG_SEQUENCE_HERE:
        return write_here(writer, node);
    case TG_SEQUENCE_ELIDED:
        return write_elided(writer, node, is_first);
    case TG_SEQUENCE_REGION:
    case TG_SEQUENCE_GROUP:
        break;
    }
    return write_fragment(writer, node);
}

/* ---- many messages */

static bool is_plain_message(const struct tg_sequence_node *node)
{
    return node->kind == TG_SEQUENCE_MESSAGE && !node->is_lost;
}

/* How many there are from the one at FROM on. */
static size_t count_messages(const struct tg_sequence_list *list, size_t from)
{
    size_t count = 0;
    while (from + count < list->count && is_plain_message(list->items[from + count]))
        count++;
    return count;
}

/* COUNT messages as one, that begins with the first and ends with the last: how many, of how many bytes. Its
 * part lanes are those that take part, each once. */
static struct tg_error *sum_up(const struct writer *writer, struct tg_sequence_node *const *items,
                               size_t count, uint64_t *n_messages, struct tg_sequence_node **sum)
{
    bool *takes_part = calloc(writer->words.sequence->n_lanes + 1, sizeof *takes_part);
    struct tg_sequence_node *made =
        tg_sequence_node_create(TG_SEQUENCE_MESSAGE, TG_SEQUENCE_NO_LANE, items[0]->begin_ns);
    struct tg_error *error = takes_part == NULL || made == NULL ? tg_error_no_memory() : NULL;
    uint64_t end_ns = 0;
    *n_messages = 0;
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_sequence_node *node = items[i];
        /* The half that is received was counted where it was sent. */
        if (node->n_parts > 1 || node->parts[0].role == TG_SEQUENCE_SENDS || !node->is_linked) {
            *n_messages += node->most;
            made->bytes += node->bytes * node->most;
        }
        end_ns = node->until_ns > end_ns ? node->until_ns : end_ns;
        for (size_t part = 0; error == NULL && part < node->n_parts; part++) {
            uint32_t lane = node->parts[part].lane;
            if (!takes_part[lane])
                error = tg_sequence_node_add_part(made, &node->parts[part]);
            takes_part[lane] = true;
        }
    }
    free(takes_part);
    if (error != NULL) {
        tg_sequence_node_destroy(made);
        return error;
    }
    tg_sequence_node_finish(made, end_ns);
    *sum = made;
    return NULL;
}

/* Draws COUNT messages as one fragment. */
static struct tg_error *write_messages(struct writer *writer, struct tg_sequence_node *const *items,
                                       size_t count)
{
    char label[TG_SEQUENCE_LABEL_SIZE], number[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    struct tg_sequence_node *sum = NULL;
    uint64_t n_messages;
    struct tg_error *error = sum_up(writer, items, count, &n_messages, &sum);
    if (error != NULL)
        return error;
    snprintf(label, sizeof label, "%s messages between %zu ranks, %s B",
             tg_quantity_count(n_messages, number), sum->n_parts, tg_quantity_count(sum->bytes, bytes));
    struct tg_sequence_row *row = add_row(writer, TG_ROW_OPEN, sum, label);
    error = row == NULL ? tg_error_no_memory() : add_lanes(row, sum);
    if (row != NULL)
        row->node = items[0]; /* the node outlives the row */
    if (error == NULL && ++writer->depth > writer->rows->max_depth)
        writer->rows->max_depth = writer->depth;
    if (error == NULL) {
        row = add_row(writer, TG_ROW_BARS, sum, "");
        error = row == NULL ? tg_error_no_memory() : add_lanes(row, sum);
        if (row != NULL)
            row->node = items[0];
    }
    tg_sequence_node_destroy(sum);
    return error != NULL ? error : close_fragment(writer, items[0]);
}

static struct tg_error *write_list(struct writer *writer, const struct tg_sequence_list *list)
{
    bool is_wide = writer->words.sequence->n_lanes > TG_SEQUENCE_MAX_COLUMNS;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < list->count; i++) {
        size_t n_messages = is_wide ? count_messages(list, i) : 0;
        if (n_messages <= MANY_MESSAGES) {
            error = write_node(writer, list->items[i], i == 0);
            continue;
        }
        error = write_messages(writer, &list->items[i], n_messages);
        i += n_messages - 1;
    }
    return error;
}

static bool is_half(const struct tg_sequence_row *row, enum tg_sequence_role role)
{
    return row->node != NULL && row->node->kind == TG_SEQUENCE_MESSAGE && row->node->n_parts == 1 &&
           row->node->is_linked && row->node->parts[0].role == role && row->link == TG_ROW_NO_LINK;
}

/* Messages that cross: of those alike, the one that was sent first is received first. */
static void link_messages(struct tg_sequence_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!is_half(&rows->items[i], TG_SEQUENCE_RECEIVES))
            continue;
        for (size_t sent = i > MAX_REACH ? i - MAX_REACH : 0; sent < i; sent++) {
            if (!is_half(&rows->items[sent], TG_SEQUENCE_SENDS) ||
                rows->items[sent].node->key != rows->items[i].node->key)
                continue;
            rows->items[sent].link = i;
            rows->items[i].link = sent;
            break;
        }
    }
}

/* ---- the time axis */

/* The moment of ROW that stands beside it, 0 none. */
static uint64_t moment_of(const struct tg_sequence_row *row)
{
    const struct tg_sequence_node *node = row->node;
    if (node == NULL)
        return 0;
    if (row->kind == TG_ROW_BARRIER) {
        uint64_t last_ns = 0;
        for (size_t i = 0; i < node->n_parts; i++) {
            uint64_t at_ns = node->parts[i].end_ns != 0 ? node->parts[i].end_ns : node->parts[i].begin_ns;
            last_ns = at_ns > last_ns ? at_ns : last_ns;
        }
        return last_ns;
    }
    return row->kind == TG_ROW_OPEN || row->kind == TG_ROW_HERE || row->kind == TG_ROW_ARROW ? node->begin_ns
                                                                                             : 0;
}

/* Moments from top to bottom, as far as they go down: what lifelines do side by side has no order. */
static struct tg_error *add_times(const struct writer *writer)
{
    struct tg_sequence_rows *rows = writer->rows;
    uint64_t last_ns = 0;
    char shown[TG_QUANTITY_SIZE] = "";
    for (size_t i = 0; i < rows->count; i++) {
        struct tg_sequence_row *row = &rows->items[i];
        uint64_t at_ns = moment_of(row);
        char moment[TG_QUANTITY_SIZE];
        if (at_ns < last_ns || at_ns < writer->words.start_ns || at_ns == 0)
            continue;
        last_ns = at_ns;
        tg_quantity_moment(at_ns, writer->words.start_ns, 6, moment);
        if (strcmp(moment, shown) == 0)
            continue;
        memcpy(shown, moment, sizeof shown);
        char *time = strdup(moment);
        if (time == NULL)
            return tg_error_no_memory();
        free(row->time);
        row->time = time;
    }
    return NULL;
}

/* A line that names the lifelines of a cycle of waits. */
static struct tg_error *write_cycle(struct writer *writer, size_t at, bool *is_done)
{
    const struct tg_sequence *sequence = writer->words.sequence;
    uint32_t lane = writer->rows->items[at].node->parts[0].lane, first = lane;
    char label[TG_SEQUENCE_LABEL_SIZE], title[64];
    size_t used = (size_t)snprintf(label, sizeof label, "cycle of waits: %s",
                                   tg_sequence_lane_title(sequence, lane, title, sizeof title));
    do {
        is_done[lane] = true;
        uint32_t next = first;
        for (size_t i = 0; i < writer->rows->count; i++) {
            const struct tg_sequence_row *row = &writer->rows->items[i];
            if (row->kind == TG_ROW_HERE && row->style == TG_STYLE_CYCLE && row->node->parts[0].lane == lane)
                next = row->node->to;
        }
        lane = next < sequence->n_lanes && (next == first || !is_done[next]) ? next : first;
        if (used < sizeof label - 32)
            used += (size_t)snprintf(label + used, sizeof label - used, " > %s",
                                     tg_sequence_lane_title(sequence, lane, title, sizeof title));
    } while (lane != first);
    struct tg_sequence_row *row = add_row(writer, TG_ROW_ELIDED, NULL, label);
    if (row != NULL)
        row->style = TG_STYLE_CYCLE;
    return row == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *write_cycles(struct writer *writer)
{
    size_t count = writer->rows->count;
    bool *is_done = calloc(writer->words.sequence->n_lanes + 1, sizeof *is_done);
    struct tg_error *error = is_done == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_sequence_row *row = &writer->rows->items[i];
        if (row->kind == TG_ROW_HERE && row->style == TG_STYLE_CYCLE && !is_done[row->node->parts[0].lane])
            error = write_cycle(writer, i, is_done);
    }
    free(is_done);
    return error;
}

struct tg_error *tg_sequence_rows_create(const struct tg_sequence *sequence,
                                         const struct tg_code_namer *namer, uint64_t start_ns,
                                         struct tg_sequence_rows *rows)
{
    *rows = (struct tg_sequence_rows){0};
    struct writer writer = {.words = {.sequence = sequence, .namer = namer, .start_ns = start_ns},
                            .rows = rows};
    struct tg_error *error = write_list(&writer, &sequence->list);
    link_messages(rows);
    if (error == NULL)
        error = write_cycles(&writer);
    if (error == NULL)
        error = add_times(&writer);
    if (error == NULL)
        error = tg_sequence_columns_choose(sequence, rows);
    if (error != NULL)
        tg_sequence_rows_deinit(rows);
    return error;
}

void tg_sequence_rows_deinit(struct tg_sequence_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].label);
        free(rows->items[i].detail);
        free(rows->items[i].time);
        free(rows->items[i].lanes);
        free(rows->items[i].waiting);
        free(rows->items[i].passed);
        free(rows->items[i].missing);
    }
    free(rows->items);
    free(rows->columns);
    free(rows->group);
    *rows = (struct tg_sequence_rows){0};
}
