#include "analyzer/sequence_rows.h"

#include "analyzer/quantity.h"
#include "format/event.h"
#include "format/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_SIZE = 320,
    PLACE_SIZE = 260,
    MAX_COLUMNS = 64, /* of more lifelines those that are alike share one */
    MAX_ENTRIES = 24, /* of a mutex that are drawn each; of more, those in the middle are left out */
};

struct writer {
    const struct tg_sequence *sequence;
    const struct tg_code_namer *namer;
    uint64_t start_ns;
    struct tg_sequence_rows *rows;
    unsigned depth;
};

/* ---- words */

static const char *const zone_names[] = {
    [TG_OMP_ZONE_LOOP] = "loop",
    [TG_OMP_ZONE_SECTIONS] = "sections",
    [TG_OMP_ZONE_SINGLE] = "single",
    [TG_OMP_ZONE_SINGLE_OTHER] = "single",
    [TG_OMP_ZONE_MASKED] = "masked",
    [TG_OMP_ZONE_WORKSHARE] = "workshare",
    [TG_OMP_ZONE_DISTRIBUTE] = "distribute",
    [TG_OMP_ZONE_SCOPE] = "scope",
    [TG_OMP_ZONE_TASKGROUP] = "taskgroup",
    [TG_OMP_ZONE_TASKLOOP] = "taskloop",
    [TG_OMP_ZONE_TEAMS] = "teams",
    [TG_OMP_ZONE_TARGET] = "target",
    [TG_OMP_ZONE_ORDERED_LOOP] = "ordered loop",
    [TG_OMP_ZONE_DOACROSS_LOOP] = "doacross loop",
};
static const char *const sync_names[] = {
    [TG_OMP_SYNC_BARRIER] = "barrier",
    [TG_OMP_SYNC_BARRIER_IMPLICIT] = "implicit barrier",
    [TG_OMP_SYNC_BARRIER_JOIN] = "end of the region",
    [TG_OMP_SYNC_TASKWAIT] = "taskwait",
    [TG_OMP_SYNC_TASKGROUP] = "end of the taskgroup",
    [TG_OMP_SYNC_TASKYIELD] = "taskyield",
    [TG_OMP_SYNC_REDUCTION] = "reduction",
    [TG_OMP_SYNC_COPYPRIVATE] = "copyprivate",
    [TG_OMP_SYNC_DOACROSS] = "doacross wait",
};
static const char *const mutex_names[] = {
    [TG_OMP_MUTEX_CRITICAL] = "critical", [TG_OMP_MUTEX_CRITICAL_NAMED] = "critical",
    [TG_OMP_MUTEX_ORDERED] = "ordered",   [TG_OMP_MUTEX_ATOMIC] = "atomic",
    [TG_OMP_MUTEX_LOCK] = "lock",         [TG_OMP_MUTEX_NEST_LOCK] = "nest lock",
};

/* Numbers from a trace may be beyond what is known here. */
#define NAME_OF(names, value) ((value) < sizeof(names) / sizeof *(names) ? (names)[value] : "?")

char *tg_sequence_column_title(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                               uint32_t lane, bool short_one, char *buffer, size_t size)
{
    const struct tg_sequence_lane *of = &sequence->lanes[lane];
    size_t members = 0;
    for (size_t i = 0; i < sequence->n_lanes; i++)
        members += rows->group[i] == lane;
    if (members > 1)
        snprintf(buffer, size, "%zu%s", members,
                 short_one           ? "\u00d7"
                 : sequence->by_rank ? " ranks"
                                     : " workers");
    else if (sequence->by_rank && of->rank >= 0)
        snprintf(buffer, size, "%s%" PRId64, short_one ? "" : "Rank ", of->rank);
    else if (of->number != 0)
        snprintf(buffer, size, "%s%" PRIu64, short_one ? "" : "Worker ", of->number);
    else
        snprintf(buffer, size, "%s%" PRId32, short_one ? "" : "Thread ", of->tid);
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
    int64_t first = 0, last = 0;
    size_t n = 0;
    size_t used = (size_t)snprintf(buffer, size, "%s", sequence->by_rank ? "Ranks" : "Workers");
    /* Lanes are numbered as they came, which is mostly the order of their numbers. */
    for (size_t i = 0; i <= sequence->n_lanes && used + 64 < size; i++) {
        bool is_member = i < sequence->n_lanes && rows->group[i] == lane;
        int64_t number = is_member ? number_of(sequence, i) : 0;
        if (is_member && n > 0 && number == last + 1) {
            last = number;
            continue;
        }
        if (n > 0 && (is_member || i == sequence->n_lanes))
            used += (size_t)(first == last ? snprintf(buffer + used, size - used, " %" PRId64 ",", first)
                                           : snprintf(buffer + used, size - used, " %" PRId64 "-%" PRId64 ",",
                                                      first, last));
        if (is_member) {
            first = last = number;
            n++;
        }
    }
    if (buffer[used - 1] == ',')
        buffer[used - 1] = '\0';
    return buffer;
}

/* " solve (solver.c:120)" or " 0x401234"; "" where nothing is known. */
static const char *full_place(const struct writer *writer, const struct tg_sequence_node *node, char *buffer)
{
    uint32_t lane = node->from != TG_SEQUENCE_NO_LANE ? node->from
                    : node->n_parts > 0               ? node->parts[0].lane
                                                      : 0;
    if (node->code == 0)
        return "";
    /* Names are of what stands before a return address; a task's body is where it begins. */
    bool is_begin = node->kind == TG_SEQUENCE_TASK && node->code == node->body;
    buffer[0] = ' ';
    if (writer->namer != NULL && lane < writer->sequence->n_lanes)
        writer->namer->name(writer->namer->context, writer->sequence->lanes[lane].process,
                            node->code + is_begin, buffer + 1, PLACE_SIZE - 1);
    else
        buffer[1] = '\0';
    if (buffer[1] == '\0' || strncmp(buffer + 1, "0x", 2) == 0)
        snprintf(buffer + 1, PLACE_SIZE - 1, "0x%" PRIx64, node->code);
    /* A bare address means something in one process only. */
    return node->is_across && strncmp(buffer, " 0x", 3) == 0 ? "" : buffer;
}

/* In a drawing the source line is enough: " solver.c:120". */
static const char *place_text(const struct writer *writer, const struct tg_sequence_node *node, char *buffer)
{
    const char *place = full_place(writer, node, buffer);
    const char *open = strrchr(place, '(');
    size_t length = strlen(place);
    if (open == NULL || length == 0 || place[length - 1] != ')' || strrchr(open, ':') == NULL)
        return place;
    size_t kept = length - (size_t)(open - place) - 2;
    memmove(buffer + 1, open + 1, kept);
    buffer[kept + 1] = '\0';
    return buffer;
}

static const char *times_text(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    char least[TG_QUANTITY_SIZE], most[TG_QUANTITY_SIZE];
    if (node->most <= 1)
        return "";
    if (node->least == node->most)
        snprintf(buffer, size, " \u00d7%s", tg_quantity_count(node->most, most));
    else
        snprintf(buffer, size, " \u00d7%s\u2013%s", tg_quantity_count(node->least, least),
                 tg_quantity_count(node->most, most));
    return buffer;
}

static void fragment_name(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    char name[96];
    switch (node->kind) {
    case TG_SEQUENCE_REGION:
        snprintf(buffer, size, "parallel");
        break;
    case TG_SEQUENCE_PHASE:
    case TG_SEQUENCE_GROUP:
        snprintf(buffer, size, "repeat");
        break;
    case TG_SEQUENCE_ZONE:
        snprintf(buffer, size, "%s", NAME_OF(zone_names, node->what));
        break;
    case TG_SEQUENCE_SECTION:
        snprintf(buffer, size, "section %" PRIu64, node->id);
        break;
    case TG_SEQUENCE_MUTEX:
        if (node->id != 0 && node->what != TG_OMP_MUTEX_ORDERED)
            snprintf(buffer, size, "%s @0x%" PRIx64, NAME_OF(mutex_names, node->what), node->id);
        else
            snprintf(buffer, size, "%s", NAME_OF(mutex_names, node->what));
        break;
    case TG_SEQUENCE_SYNC:
        snprintf(buffer, size, "%s", NAME_OF(sync_names, node->what));
        break;
    case TG_SEQUENCE_TASK:
        snprintf(buffer, size, "task");
        break;
    case TG_SEQUENCE_CALL:
        if (node->is_across && node->id > 1)
            snprintf(buffer, size, "%s on communicator %" PRIx64, tg_printable(node->name, name, sizeof name),
                     node->id);
        else
            snprintf(buffer, size, "%s", tg_printable(node->name, name, sizeof name));
        break;
    case TG_SEQUENCE_MESSAGE:
    case TG_SEQUENCE_HERE:
    case TG_SEQUENCE_ELIDED:
        snprintf(buffer, size, "?");
        break;
    }
}

static void title_of(const struct writer *writer, const struct tg_sequence_node *node, char *buffer)
{
    char name[160], place[PLACE_SIZE], times[2 * TG_QUANTITY_SIZE + 8];
    fragment_name(node, name, sizeof name);
    bool has_place = node->kind != TG_SEQUENCE_PHASE && node->kind != TG_SEQUENCE_GROUP;
    snprintf(buffer, LABEL_SIZE, "%s%s%s", name, has_place ? place_text(writer, node, place) : "",
             times_text(node, times, sizeof times));
}

static void call_text(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    char name[96], peer[48] = "", tag[40] = "";
    if (node->peer >= 0)
        snprintf(peer, sizeof peer, " with %" PRId64, node->peer);
    else if (node->peer == -1)
        snprintf(peer, sizeof peer, " with anybody");
    if (node->tag >= 0)
        snprintf(tag, sizeof tag, ", tag %" PRId64, node->tag);
    snprintf(buffer, size, "%s%s%s", tg_printable(node->name, name, sizeof name), peer, tag);
}

static void here_text(const struct writer *writer, const struct tg_sequence_node *node, char *buffer)
{
    char call[192], place[PLACE_SIZE];
    const char *where = place_text(writer, node, place);
    const char *last = node->what == TG_SEQUENCE_OUTSIDE && node->name != NULL ? ", last was " : "";
    if (*last != '\0')
        tg_printable(node->name, call, sizeof call);
    switch ((enum tg_sequence_here)node->what) {
    case TG_SEQUENCE_INSIDE:
        snprintf(buffer, LABEL_SIZE, node->has_died ? "ended here%s" : "is here%s", where);
        break;
    case TG_SEQUENCE_WAITING:
        snprintf(buffer, LABEL_SIZE, node->has_died ? "ended waiting here%s" : "waits here%s", where);
        break;
    case TG_SEQUENCE_IN_CALL:
        call_text(node, call, sizeof call);
        snprintf(buffer, LABEL_SIZE, "%s %s%s", node->has_died ? "ended in" : "is in", call, where);
        break;
    case TG_SEQUENCE_OUTSIDE:
        if (node->has_died)
            snprintf(buffer, LABEL_SIZE, "has ended%s%s%s", last, *last == '\0' ? "" : call, where);
        else
            snprintf(buffer, LABEL_SIZE, "is behind%s%s", *last == '\0' ? "" : " ",
                     *last != '\0'    ? call
                     : *where != '\0' ? where + 1
                                      : "all of this");
        break;
    }
}

static void barrier_text(const struct writer *writer, const struct tg_sequence_node *node, char *buffer)
{
    char name[160], place[PLACE_SIZE];
    if (node->name != NULL) {
        tg_printable(node->name, name, sizeof name);
        if (node->differs)
            strncat(name, " (others call another one)", sizeof name - strlen(name) - 1);
    } else if (node->what == TG_OMP_SYNC_BARRIER_JOIN) {
        snprintf(name, sizeof name, "end of the region");
    } else {
        snprintf(name, sizeof name, "%s %" PRIu64, NAME_OF(sync_names, node->what), node->id);
    }
    snprintf(buffer, LABEL_SIZE, "%s%s", name, place_text(writer, node, place));
}

static void message_text(const struct tg_sequence_node *node, char *buffer)
{
    char times[2 * TG_QUANTITY_SIZE + 8], bytes[TG_QUANTITY_SIZE], tag[40] = "";
    if (node->tag >= 0)
        snprintf(tag, sizeof tag, "tag %" PRId64 ", ", node->tag);
    snprintf(buffer, LABEL_SIZE, "%s%s B%s", tag, tg_quantity_count(node->bytes, bytes),
             times_text(node, times, sizeof times));
}

/* ---- details, for whoever points at something */

static char *detail_of(const struct writer *writer, const struct tg_sequence_node *node)
{
    char text[2 * LABEL_SIZE], from[TG_QUANTITY_SIZE], to[TG_QUANTITY_SIZE], a[TG_QUANTITY_SIZE];
    char b[TG_QUANTITY_SIZE], c[TG_QUANTITY_SIZE], place[PLACE_SIZE];
    size_t used = 0;
    text[0] = '\0';
#define ADD(...)                                                                                             \
    do {                                                                                                     \
        if (used < sizeof text)                                                                              \
            used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__);                          \
    } while (0)
    if (node->begin_ns != 0) {
        ADD("%s s", tg_quantity_moment(node->begin_ns, writer->start_ns, 6, from));
        if (node->is_open)
            ADD(" to the end");
        else if (node->end_ns > node->begin_ns)
            ADD(" to %s s", tg_quantity_moment(node->end_ns, writer->start_ns, 6, to));
    }
    if (node->executions > 1 && node->max_ns > 0)
        ADD("\n%s times: %s each, at most %s", tg_quantity_count(node->executions, a),
            tg_quantity_duration(node->total_ns / node->executions, b),
            tg_quantity_duration(node->max_ns, c));
    else if (!node->is_open && node->end_ns > node->begin_ns)
        ADD("\n%s", tg_quantity_duration(node->end_ns - node->begin_ns, a));
    if (node->code != 0 && node->kind != TG_SEQUENCE_ELIDED)
        ADD("\nat%s", full_place(writer, node, place));
#undef ADD
    return strdup(text[0] == '\n' ? text + 1 : text);
}

/* ---- rows */

static struct tg_sequence_row *add_row(struct writer *writer, enum tg_sequence_row_kind kind,
                                       const struct tg_sequence_node *node, const char *label)
{
    struct tg_sequence_rows *rows = writer->rows;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? 64 : 2 * rows->capacity;
        struct tg_sequence_row *items = reallocarray(rows->items, capacity, sizeof *items);
        if (items == NULL)
            return NULL;
        rows->items = items;
        rows->capacity = capacity;
    }
    struct tg_sequence_row *row = &rows->items[rows->count];
    *row = (struct tg_sequence_row){.kind = kind,
                                    .depth = writer->depth,
                                    .from = TG_SEQUENCE_NO_LANE,
                                    .to = TG_SEQUENCE_NO_LANE,
                                    .node = node,
                                    .is_open = node != NULL && node->is_open,
                                    .is_repeated = node != NULL && node->most > 1};
    row->label = strdup(label);
    row->detail = node == NULL ? strdup("") : detail_of(writer, node);
    rows->count++;
    return row->label == NULL || row->detail == NULL ? NULL : row;
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
    char label[LABEL_SIZE];
    title_of(writer, node, label);
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

static struct tg_error *write_barrier(struct writer *writer, const struct tg_sequence_node *phase)
{
    char label[LABEL_SIZE];
    bool waited = false;
    for (size_t i = 0; i < phase->n_parts; i++)
        waited |= phase->parts[i].role != TG_SEQUENCE_PASSED;
    if (phase->what == TG_OMP_SYNC_BARRIER_JOIN && phase->name == NULL && !waited)
        return NULL; /* the fragment's end says it */
    barrier_text(writer, phase, label);
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
    char label[LABEL_SIZE], wait[TG_QUANTITY_SIZE];
    for (size_t i = 0; error == NULL && i < count; i++) {
        if (count > MAX_ENTRIES && i == MAX_ENTRIES / 2) {
            size_t skipped = count - MAX_ENTRIES;
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

/* Who got in after whom, as arrows from one to the next. */
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

/* Something small that one lifeline does, or that one made another one do. */
static struct tg_error *write_step(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[LABEL_SIZE];
    if (node->n_parts != 1 || node->children.count > 0)
        return write_fragment(writer, node);
    title_of(writer, node, label);
    uint32_t lane = node->parts[0].lane;
    uint32_t from = node->kind == TG_SEQUENCE_TASK && node->from != TG_SEQUENCE_NO_LANE ? node->from : lane;
    return add_arrow(writer, node, from, lane, TG_STYLE_PLAIN, label);
}

static struct tg_error *write_call(struct writer *writer, const struct tg_sequence_node *node)
{
    if (node->is_open && node->n_parts == 1)
        return write_list(writer, &node->children); /* where it is says it all */
    return write_step(writer, node);
}

static struct tg_error *write_message(struct writer *writer, const struct tg_sequence_node *node)
{
    char text[LABEL_SIZE], label[2 * LABEL_SIZE];
    message_text(node, text);
    bool is_sent = node->n_parts == 1 && node->parts[0].role == TG_SEQUENCE_SENDS;
    if (!is_sent)
        return add_arrow(writer, node, node->from, node->to, TG_STYLE_MESSAGE, text);
    if (node->is_lost) {
        snprintf(label, sizeof label, "to %" PRId64 ", not received: %s", node->peer, text);
        struct tg_sequence_row *row = add_row(writer, TG_ROW_LOST, node, label);
        if (row == NULL)
            return tg_error_no_memory();
        row->from = node->from;
        row->to = node->to;
        row->style = TG_STYLE_MESSAGE;
        return NULL;
    }
    snprintf(label, sizeof label, "sends to %" PRId64 ": %s", node->peer, text);
    return add_arrow(writer, node, node->from, node->from, TG_STYLE_LATE, label);
}

static struct tg_error *write_here(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[LABEL_SIZE];
    here_text(writer, node, label);
    struct tg_sequence_row *row = add_row(writer, TG_ROW_HERE, node, label);
    return row == NULL ? tg_error_no_memory() : add_lanes(row, node);
}

static struct tg_error *write_elided(struct writer *writer, const struct tg_sequence_node *node)
{
    char label[LABEL_SIZE], count[TG_QUANTITY_SIZE], length[TG_QUANTITY_SIZE];
    snprintf(label, sizeof label, "\u2026 %s left out, %s \u2026", tg_quantity_count(node->executions, count),
             tg_quantity_duration(node->end_ns > node->begin_ns ? node->end_ns - node->begin_ns : 0, length));
    return add_row(writer, TG_ROW_ELIDED, node, label) == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *write_node(struct writer *writer, const struct tg_sequence_node *node)
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
        return write_elided(writer, node);
    case TG_SEQUENCE_REGION:
    case TG_SEQUENCE_GROUP:
        break;
    }
    return write_fragment(writer, node);
}

static struct tg_error *write_list(struct writer *writer, const struct tg_sequence_list *list)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < list->count; i++)
        error = write_node(writer, list->items[i]);
    return error;
}

/* ---- columns */

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

/* What a lane has to do with which row, as a number: lanes that are alike have the same one. */
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

/* Of COLUMNS, *COUNT of them in order, those that are alike become the first of them. NO_MEMORY. */
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
        int64_t order = sequence->by_rank                              ? lane->rank
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

static struct tg_error *choose_columns(const struct tg_sequence *sequence, struct tg_sequence_rows *rows)
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
    if (error == NULL && rows->n_columns > MAX_COLUMNS)
        error = group_columns(rows, count, columns, &rows->n_columns);
    if (error == NULL)
        use_columns(rows, count, columns);
    free(columns);
    return error;
}

struct tg_error *tg_sequence_rows_create(const struct tg_sequence *sequence,
                                         const struct tg_code_namer *namer, uint64_t start_ns,
                                         struct tg_sequence_rows *rows)
{
    *rows = (struct tg_sequence_rows){0};
    struct writer writer = {.sequence = sequence, .namer = namer, .start_ns = start_ns, .rows = rows};
    struct tg_error *error = write_list(&writer, &sequence->list);
    if (error == NULL)
        error = choose_columns(sequence, rows);
    if (error != NULL)
        tg_sequence_rows_deinit(rows);
    return error;
}

void tg_sequence_rows_deinit(struct tg_sequence_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].label);
        free(rows->items[i].detail);
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
