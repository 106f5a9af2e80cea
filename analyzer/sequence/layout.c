#include "analyzer/sequence/layout.h"

#include "format/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 16,
    PAD = 8,        /* between a fragment's box and what is in it */
    LANE_ROOM = 16, /* room that a lifeline needs to each side */
    SELF_ROOM = 26, /* to the right of a lifeline for an arrow to itself */
    WAIT_ROOM = 48, /* for the word behind those who wait */
    GAP = 6,
};

/* All text is in one fixed-width font of 11 pixels: 0.602 em, with something to spare for other fonts. */
static int columns_width(size_t columns)
{
    return (int)((columns * 675 + 99) / 100);
}

int tg_sequence_text_width(const char *text, size_t *bytes)
{
    size_t columns = 0, characters = 0;
    const char *at = text;
    while (*at != '\0' && characters < TG_LAYOUT_MAX_LABEL) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(at, &code_point);
        if (length == 0)
            length = 1;
        columns += length >= 3 && code_point >= 0x2e80 ? 2 : 1; /* East Asian characters are twice as wide */
        at += length;
        characters++;
    }
    if (*at != '\0')
        columns++; /* the sign that there is more */
    if (bytes != NULL)
        *bytes = (size_t)(at - text);
    return columns_width(columns);
}

int tg_sequence_wait_height(uint64_t wait_ns)
{
    enum { SHORTEST_NS = 100000, STEP = 7 }; /* each time ten times as long */
    int height = 0;
    for (uint64_t limit_ns = SHORTEST_NS; wait_ns >= limit_ns && height < TG_LAYOUT_MAX_WAIT; limit_ns *= 10)
        height += STEP;
    return height;
}

static int spacing_for(size_t count)
{
    static const struct {
        size_t count;
        int spacing;
    } steps[] = {{4, 132}, {8, 108}, {14, 96}, {16, 76}, {32, 52}, {64, 40}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (count <= steps[i].count)
            return steps[i].spacing;
    return 34;
}

static void include(struct tg_sequence_place *place, int left, int right)
{
    if (left < place->left)
        place->left = left;
    if (right > place->right)
        place->right = right;
}

static void include_lanes(const struct tg_sequence_layout *layout, const uint32_t *lanes, size_t count,
                          int room, struct tg_sequence_place *place)
{
    for (size_t i = 0; i < count; i++)
        include(place, layout->x[lanes[i]] - LANE_ROOM, layout->x[lanes[i]] + room);
}

static void place_label(struct tg_sequence_place *place, const char *label, int x)
{
    place->label_x = x;
    if (*label != '\0')
        include(place, x, x + tg_sequence_text_width(label, NULL));
}

static void place_arrow(const struct tg_sequence_layout *layout, const struct tg_sequence_row *row,
                        struct tg_sequence_place *place)
{
    int from = layout->x[row->from];
    int to = row->to == TG_SEQUENCE_NO_LANE ? from + layout->spacing / 2 : layout->x[row->to];
    int left = from < to ? from : to, right = from < to ? to : from;
    include(place, left - LANE_ROOM, right + LANE_ROOM);
    if (row->link != TG_ROW_NO_LINK)
        return; /* the label is where the message was sent */
    int width = tg_sequence_text_width(row->label, NULL);
    place->label_centred = row->kind == TG_ROW_ARROW && width + 3 * GAP <= right - left;
    if (place->label_centred)
        place->label_x = (left + right) / 2;
    else
        place_label(place, row->label, right + LANE_ROOM / 2 + GAP);
}

/* Rows that are no fragments: their heights, and how far they reach. */
static void place_row(const struct tg_sequence_layout *layout, const struct tg_sequence_row *row,
                      struct tg_sequence_place *place)
{
    place->left = INT32_MAX;
    place->right = INT32_MIN;
    place->height = TG_LAYOUT_LINE;
    switch (row->kind) {
    case TG_ROW_BARS:
        include_lanes(layout, row->lanes, row->n_lanes, LANE_ROOM, place);
        break;
    case TG_ROW_SELF:
        include(place, layout->x[row->to] - LANE_ROOM, layout->x[row->to] + SELF_ROOM);
        place_label(place, row->label, layout->x[row->to] + SELF_ROOM);
        place->height += tg_sequence_wait_height(row->longest_ns);
        break;
    case TG_ROW_ARROW:
    case TG_ROW_LOST:
        place_arrow(layout, row, place);
        place->height += tg_sequence_wait_height(row->longest_ns);
        break;
    case TG_ROW_HERE:
        include_lanes(layout, row->lanes, row->n_lanes, layout->mark + LANE_ROOM / 2, place);
        if (row->to != TG_SEQUENCE_NO_LANE)
            include_lanes(layout, &row->to, 1, LANE_ROOM / 2, place);
        place_label(place, row->label, place->right + GAP);
        break;
    case TG_ROW_BARRIER:
        place->height =
            30 + (row->n_waiting > 0 ? TG_LAYOUT_LINE : 0) + tg_sequence_wait_height(row->longest_ns);
        include_lanes(layout, row->lanes, row->n_lanes, LANE_ROOM, place);
        include_lanes(layout, row->waiting, row->n_waiting, layout->mark + WAIT_ROOM, place);
        place_label(place, row->label, place->left);
        break;
    case TG_ROW_ELIDED:
        break; /* needs the fragment around */
    case TG_ROW_OPEN:
        place->height = TG_LAYOUT_TITLE;
        include_lanes(layout, row->lanes, row->n_lanes, LANE_ROOM, place);
        break;
    case TG_ROW_CLOSE:
        place->height = PAD;
        break;
    }
}

/* A box reaches around all that is in it. */
static void close_box(struct tg_sequence_layout *layout, const struct tg_sequence_rows *rows, size_t open,
                      size_t close)
{
    struct tg_sequence_place *box = &layout->places[open];
    const struct tg_sequence_place *first = &layout->places[open + 1];
    for (size_t i = open + 1; i < close; i++) {
        const struct tg_sequence_place *inner = &layout->places[i];
        if (inner->left <= inner->right)
            include(box, inner->left - PAD, inner->right + PAD);
        if (rows->items[i].kind == TG_ROW_OPEN)
            i = inner->close;
    }
    (void)first;
    if (box->left > box->right)
        box->left = 0, box->right = layout->spacing;
    box->label_x = box->left + GAP;
    include(box, box->left, box->label_x + tg_sequence_text_width(rows->items[open].label, NULL) + 2 * GAP);
    box->box_height = layout->places[close].y + layout->places[close].height - box->y - PAD / 2;
    box->close = close;
}

static struct tg_error *place_rows(struct tg_sequence_layout *layout, const struct tg_sequence_rows *rows)
{
    size_t *open = calloc(rows->max_depth + 1, sizeof *open);
    size_t n_open = 0;
    int y = TG_LAYOUT_TOP + TG_LAYOUT_HEADER;
    if (open == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < rows->count; i++) {
        place_row(layout, &rows->items[i], &layout->places[i]);
        if (rows->items[i].kind == TG_ROW_ELIDED)
            place_label(&layout->places[i], rows->items[i].label,
                        n_open > 0 && layout->places[open[n_open - 1]].left < INT32_MAX
                            ? layout->places[open[n_open - 1]].left + GAP
                            : MARGIN + GAP);
        layout->places[i].y = y;
        y += layout->places[i].height;
        if (rows->items[i].kind == TG_ROW_OPEN)
            open[n_open++] = i;
        else if (rows->items[i].kind == TG_ROW_CLOSE)
            close_box(layout, rows, open[--n_open], i);
    }
    layout->height =
        y + TG_LAYOUT_HEADER + MARGIN + (int)(layout->n_shared + layout->n_keys) * TG_LAYOUT_LEGEND;
    free(open);
    return NULL;
}

static void place_lanes(struct tg_sequence_layout *layout, const struct tg_sequence *sequence,
                        const struct tg_sequence_rows *rows)
{
    char title[64];
    int widest = 0;
    for (size_t i = 0; i < rows->n_columns; i++) {
        int width = tg_sequence_text_width(
            tg_sequence_column_title(sequence, rows, rows->columns[i], false, title, sizeof title), NULL);
        widest = width > widest ? width : widest;
    }
    layout->spacing = spacing_for(rows->n_columns);
    layout->short_titles = widest + 2 * GAP > layout->spacing - 4;
    if (layout->short_titles) {
        widest = 0;
        for (size_t i = 0; i < rows->n_columns; i++) {
            int width = tg_sequence_text_width(
                tg_sequence_column_title(sequence, rows, rows->columns[i], true, title, sizeof title), NULL);
            widest = width > widest ? width : widest;
        }
        if (widest + 2 * GAP + 4 > layout->spacing)
            layout->spacing = widest + 2 * GAP + 4;
    }
    layout->mark = layout->spacing / 2 < 24 ? layout->spacing / 2 : 24;
    for (size_t i = 0; i < rows->n_columns; i++)
        layout->x[rows->columns[i]] = MARGIN + layout->spacing / 2 + (int)i * layout->spacing;
}

/* Explains the signs that are not self-evident, as far as they are drawn. */
static void add_keys(struct tg_sequence_layout *layout, const struct tg_sequence_rows *rows)
{
    bool has_here = false, is_missing = false, is_open = false, waits = false, is_cancelled = false;
    bool awaits = false, has_cycle = false, has_time = false;
    for (size_t i = 0; i < rows->count; i++) {
        const struct tg_sequence_row *row = &rows->items[i];
        has_here |= (row->kind == TG_ROW_HERE && row->to == TG_SEQUENCE_NO_LANE) || row->n_waiting > 0;
        is_missing |= row->n_missing > 0;
        is_open |= row->kind == TG_ROW_OPEN && row->is_open;
        waits |= tg_sequence_wait_height(row->longest_ns) > 0;
        is_cancelled |= row->is_cancelled;
        awaits |= row->kind == TG_ROW_HERE && row->to != TG_SEQUENCE_NO_LANE;
        has_cycle |= row->style == TG_STYLE_CYCLE;
        has_time |= *row->time != '\0';
    }
    const char *keys[] = {
        has_time ? "numbers at the left: seconds since the start; time runs downwards, not to scale" : NULL,
        has_here ? "- -\u2715 where it is at the end" : NULL,
        awaits ? "- -\u2715- -> waits for the one that the arrow points to" : NULL,
        has_cycle ? "red arrows: a cycle of waits, none of which can end" : NULL,
        is_missing ? "barrier: \u25cf has passed, \u25cb is missing" : NULL,
        waits ? "bars above a barrier or message: how long each waited; a step higher is ten times as "
                "long"
              : NULL,
        is_open ? "dashed box: unfinished at the end" : NULL,
        is_cancelled ? "dash-dotted: cancelled" : NULL,
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i] != NULL)
            layout->keys[layout->n_keys++] = keys[i];
}

struct tg_error *tg_sequence_layout_create(const struct tg_sequence *sequence,
                                           const struct tg_sequence_rows *rows, const char *title,
                                           struct tg_sequence_layout *layout)
{
    *layout = (struct tg_sequence_layout){0};
    layout->places = calloc(rows->count + 1, sizeof *layout->places);
    layout->x = calloc(sequence->n_lanes + 1, sizeof *layout->x);
    struct tg_error *error = layout->places == NULL || layout->x == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL) {
        place_lanes(layout, sequence, rows);
        for (size_t i = 0; i < rows->n_columns; i++)
            layout->n_shared += tg_sequence_column_is_shared(sequence, rows, rows->columns[i]);
        add_keys(layout, rows);
        error = place_rows(layout, rows);
    }
    if (error != NULL) {
        tg_sequence_layout_deinit(layout);
        return error;
    }
    char members[TG_SEQUENCE_LEGEND_SIZE];
    layout->right = MARGIN + (int)rows->n_columns * layout->spacing;
    if (layout->right < MARGIN + tg_sequence_text_width(title, NULL))
        layout->right = MARGIN + tg_sequence_text_width(title, NULL);
    for (size_t i = 0; i < rows->count; i++) {
        const struct tg_sequence_place *place = &layout->places[i];
        if (rows->items[i].kind == TG_ROW_CLOSE || place->left > place->right)
            continue;
        if (place->left < layout->left)
            layout->left = place->left;
        if (place->right > layout->right)
            layout->right = place->right;
    }
    for (size_t i = 0; i < rows->n_columns; i++)
        if (tg_sequence_column_is_shared(sequence, rows, rows->columns[i])) {
            int end =
                MARGIN + tg_sequence_text_width(tg_sequence_column_members(sequence, rows, rows->columns[i],
                                                                           members, sizeof members),
                                                NULL);
            layout->right = end > layout->right ? end : layout->right;
        }
    for (size_t i = 0; i < layout->n_keys; i++) {
        int end = MARGIN + tg_sequence_text_width(layout->keys[i], NULL);
        layout->right = end > layout->right ? end : layout->right;
    }
    int time_width = 0;
    for (size_t i = 0; i < rows->count; i++) {
        int width = tg_sequence_text_width(rows->items[i].time, NULL);
        time_width = width > time_width ? width : time_width;
    }
    layout->time_x = layout->left - GAP;
    layout->left -= MARGIN + time_width;
    layout->right += MARGIN;
    return NULL;
}

void tg_sequence_layout_deinit(struct tg_sequence_layout *layout)
{
    free(layout->places);
    free(layout->x);
    *layout = (struct tg_sequence_layout){0};
}
