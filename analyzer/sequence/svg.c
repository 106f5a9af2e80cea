/* Sequence diagrams as SVG, drawn here. */
#include "analyzer/sequence/svg.h"

#include "analyzer/output/xml_text.h"
#include "analyzer/sequence/layout.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 16,
    SLOPE_BEGIN = 11,
    SLOPE_END = 15
}; /* slope of a message that crosses others, within its rows */

struct svg {
    FILE *stream;
    const struct tg_sequence_drawing *drawing;
    const struct tg_sequence_rows *rows;
    struct tg_sequence_layout layout;
};

/* ---- text */

/* Text that the layout has room for. */
static void write_label(const struct svg *svg, const char *class, int x, int y, bool centred,
                        const char *text)
{
    size_t bytes;
    if (*text == '\0')
        return;
    tg_sequence_text_width(text, &bytes);
    fprintf(svg->stream, "<text class=\"%s%s\" x=\"%d\" y=\"%d\">", class, centred ? " m" : "", x, y);
    tg_xml_text_write(svg->stream, text, bytes);
    if (text[bytes] != '\0')
        fputs("\u2026", svg->stream);
    fputs("</text>", svg->stream);
}

/* ---- style: the palette of Okabe and Ito, which colour-blind people can tell apart */

struct colour {
    const char *class;
    const char *light, *dark;
};

static const struct colour
    colours[] =
        {
            {"parallel", "#5a6472", "#9aa7b8"},
            {"work", "#0072b2", "#56b4e9"},
            {"single", "#007a5a", "#2fc79b"},
            {"mutex", "#c04a00", "#ff8a3d"},
            {"task", "#9c6500", "#e69f00"},
            {"repeat", "#77808c", "#8b95a3"},
            {"mpi", "#0072b2", "#56b4e9"},
            {"wait", "#a3527f", "#e09abf"}, /* also within rows of other classes */
};

static void write_colours(FILE *stream, bool dark)
{
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        const char *colour = dark ? colours[i].dark : colours[i].light;
        fprintf(stream, ".%s .box{stroke:%s;fill:%s}.%s .bar{fill:%s}.%s .h{fill:%s}\n", colours[i].class,
                colour, colour, colours[i].class, colour, colours[i].class, colour);
    }
}

static void write_theme(FILE *stream, bool dark)
{
    const char *ground = dark ? "#14171c" : "#ffffff", *ink = dark ? "#e4e7eb" : "#1b1f24";
    const char *faint = dark ? "#8f99a6" : "#5d6670", *here = dark ? "#ff8a3d" : "#b83200";
    const char *cycle = dark ? "#ff5c5c" : "#d00000";
    fprintf(
        stream,
        ".ground{fill:%s}\ntext{fill:%s;stroke:%s}\n.line,.head{stroke:%s}\n.head,.box{fill-opacity:.05}\n"
        ".head{fill:%s}\n.life{stroke:%s}\n.tip{fill:%s;stroke:none}\n.hollow{fill:%s;stroke:%s}\n"
        ".faint{fill:%s}\n.here .line{stroke:%s}.here text{fill:%s}\n.over .line{stroke:%s}.over "
        "text{fill:%s}\n"
        ".cycle .line{stroke:%s;stroke-width:2px}.cycle text,.cycle .tip{fill:%s}\n.r .t{fill:%s}\n"
        ".bound{stroke:%s}\n",
        ground, ink, ground, ink, ink, faint, ink, ground, ink, faint, here, here, faint, faint, cycle, cycle,
        faint, dark ? "#e09abf" : "#a3527f");
    write_colours(stream, dark);
}

void tg_sequence_svg_write_style(FILE *stream)
{
    fputs(
        "text{font:11px \"DejaVu Sans Mono\",Menlo,Consolas,monospace;stroke-width:3px;paint-order:stroke;"
        "stroke-linejoin:round;white-space:pre}\n"
        ".m{text-anchor:middle}\n.t{text-anchor:end}\n.h{font-weight:bold}\n.line{fill:none;stroke-width:1."
        "3px}\n"
        ".life{stroke-width:1px;stroke-dasharray:1 3}\n.box{stroke-width:1.2px}\n"
        ".open .box{stroke-dasharray:6 3}\n.repeat .box{stroke-dasharray:2 2}\n"
        ".cancelled .box{stroke-dasharray:10 3 2 3}\n.back{stroke-dasharray:4 3}\n.bound{stroke-width:2px}\n"
        ".bound.gap{stroke-dasharray:5 5}\n.bound.cut{stroke-dasharray:10 3 2 3}\n",
        stream);
    write_theme(stream, false);
    fputs("@media screen and (prefers-color-scheme: dark){\n", stream);
    write_theme(stream, true);
    fputs("}\n", stream);
}

static const char *class_of(const struct tg_sequence_node *node)
{
    if (node == NULL)
        return "repeat";
    switch (node->kind) {
    case TG_SEQUENCE_REGION:
        return "parallel";
    case TG_SEQUENCE_PHASE:
    case TG_SEQUENCE_GROUP:
    case TG_SEQUENCE_ELIDED:
        return "repeat";
    case TG_SEQUENCE_ZONE:
        return node->what == TG_OMP_ZONE_SINGLE || node->what == TG_OMP_ZONE_SINGLE_OTHER ||
                       node->what == TG_OMP_ZONE_MASKED
                   ? "single"
                   : "work";
    case TG_SEQUENCE_SECTION:
        return "work";
    case TG_SEQUENCE_MUTEX:
        return "mutex";
    case TG_SEQUENCE_SYNC:
        return "wait";
    case TG_SEQUENCE_TASK:
        return "task";
    case TG_SEQUENCE_CALL:
    case TG_SEQUENCE_MESSAGE:
        return "mpi";
    case TG_SEQUENCE_HERE:
        return "here";
    }
    return "repeat";
}

/* ---- rows; everything is relative to the top of the row, so that a page can move rows */

static void write_line(const struct svg *svg, const char *class, int x1, int y1, int x2, int y2)
{
    fprintf(svg->stream, "<path class=\"line %s\" d=\"M%d %dL%d %d\"/>", class, x1, y1, x2, y2);
}

static void write_tip(const struct svg *svg, int x, int y, int direction)
{
    fprintf(svg->stream, "<path class=\"tip\" d=\"M%d %dl%d -4v8z\"/>", x, y, -7 * direction);
}

static void write_cross(const struct svg *svg, int x, int y)
{
    fprintf(svg->stream, "<path class=\"line\" d=\"M%d %dl8 8m0 -8l-8 8\"/>", x - 4, y - 4);
}

/* How long each end of a message waited, above Y. */
static void write_message_waits(const struct svg *svg, const struct tg_sequence_row *row, int y)
{
    bool is_message = row->node != NULL && row->node->kind == TG_SEQUENCE_MESSAGE;
    for (size_t i = 0; is_message && i < row->node->n_parts; i++) {
        int height = tg_sequence_wait_height(row->node->parts[i].waited_ns);
        if (height > 0)
            fprintf(svg->stream,
                    "<g class=\"wait\"><rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"6\" height=\"%d\"/></g>",
                    svg->layout.x[svg->rows->group[row->node->parts[i].lane]] - 3, y - height, height);
    }
}

static void write_arrow(const struct svg *svg, const struct tg_sequence_row *row,
                        const struct tg_sequence_place *place)
{
    int y = TG_LAYOUT_LINE - 7 + tg_sequence_wait_height(row->longest_ns);
    int from = svg->layout.x[row->from];
    int to = row->to == TG_SEQUENCE_NO_LANE ? from + svg->layout.spacing / 2 : svg->layout.x[row->to];
    int direction = to >= from ? 1 : -1;
    write_message_waits(svg, row, row->link != TG_ROW_NO_LINK ? SLOPE_END + y - (TG_LAYOUT_LINE - 7) : y);
    if (row->link != TG_ROW_NO_LINK)
        return; /* a slope */
    write_line(svg, row->style == TG_STYLE_BACK ? "back" : "", from, y, to - 5 * direction, y);
    if (row->kind == TG_ROW_LOST)
        write_cross(svg, to - 5 * direction, y);
    else
        write_tip(svg, to, y, direction);
    write_label(svg, "", place->label_x, place->label_centred ? y - 4 : y + 4, place->label_centred,
                row->label);
}

static void write_self(const struct svg *svg, const struct tg_sequence_row *row,
                       const struct tg_sequence_place *place)
{
    int x = svg->layout.x[row->to], above = tg_sequence_wait_height(row->longest_ns);
    write_message_waits(svg, row, SLOPE_BEGIN + above);
    if (row->style == TG_STYLE_LATE) {
        if (row->link == TG_ROW_NO_LINK)
            write_line(svg, "back", x, SLOPE_BEGIN + above, x + 20, SLOPE_BEGIN + above);
    } else {
        fprintf(svg->stream, "<path class=\"line%s\" d=\"M%d 6h18v9h-12\"/>",
                row->style == TG_STYLE_BACK ? " back" : "", x);
        write_tip(svg, x, 15, -1);
    }
    write_label(svg, "", place->label_x, 15 + above, false, row->label);
}

static void write_marks(const struct svg *svg, const uint32_t *lanes, size_t count, int y)
{
    for (size_t i = 0; i < count; i++) {
        int x = svg->layout.x[lanes[i]];
        write_line(svg, "back", x, y, x + svg->layout.mark - 4, y);
        write_cross(svg, x + svg->layout.mark - 4, y);
    }
}

static void write_bars(const struct svg *svg, const struct tg_sequence_row *row)
{
    for (size_t i = 0; i < row->n_lanes; i++)
        fprintf(svg->stream, "<rect class=\"bar\" x=\"%d\" y=\"2\" width=\"10\" height=\"%d\" rx=\"2\"/>",
                svg->layout.x[row->lanes[i]] - 5, TG_LAYOUT_LINE - 4);
}

static void write_dots(const struct svg *svg, const char *class, const uint32_t *lanes, size_t count, int y)
{
    for (size_t i = 0; i < count; i++)
        fprintf(svg->stream, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"4\"/>", class,
                svg->layout.x[lanes[i]], y);
}

/* How long each waited above a barrier's line, which is at Y: of lifelines that share a column the longest. */
static void write_waits(const struct svg *svg, const struct tg_sequence_row *row, int y)
{
    const struct tg_sequence *sequence = svg->drawing->sequence;
    if (tg_sequence_wait_height(row->longest_ns) == 0)
        return;
    uint64_t *waits = calloc(sequence->n_lanes + 1, sizeof *waits);
    for (size_t i = 0; waits != NULL && i < row->node->n_parts; i++) {
        uint32_t column = svg->rows->group[row->node->parts[i].lane];
        uint64_t wait_ns = tg_sequence_wait_of(sequence, &row->node->parts[i]);
        waits[column] = wait_ns > waits[column] ? wait_ns : waits[column];
    }
    for (size_t i = 0; waits != NULL && i < row->n_lanes; i++) {
        int height = tg_sequence_wait_height(waits[row->lanes[i]]);
        if (height > 0)
            fprintf(svg->stream, "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"6\" height=\"%d\"/>",
                    svg->layout.x[row->lanes[i]] - 3, y - height, height);
    }
    free(waits);
}

/* A line that those who passed are marked on; above it, those who wait. */
static void write_barrier(const struct svg *svg, const struct tg_sequence_row *row,
                          const struct tg_sequence_place *place)
{
    int top = (row->n_waiting > 0 ? TG_LAYOUT_LINE : 0) + tg_sequence_wait_height(row->longest_ns);
    int left = INT32_MAX, right = INT32_MIN;
    for (size_t i = 0; i < row->n_lanes; i++) {
        int x = svg->layout.x[row->lanes[i]];
        left = x < left ? x : left;
        right = x > right ? x : right;
    }
    write_waits(svg, row, top + 21);
    if (row->n_waiting > 0) {
        int above = TG_LAYOUT_LINE;
        fputs("<g class=\"here\">", svg->stream);
        write_marks(svg, row->waiting, row->n_waiting, above - 9);
        write_label(svg, "", svg->layout.x[row->waiting[row->n_waiting - 1]] + svg->layout.mark + 8,
                    above - 5, false, row->n_waiters == 1 ? "waits" : "wait");
        fputs("</g>", svg->stream);
    }
    write_label(svg, "h", place->label_x, (row->n_waiting > 0 ? TG_LAYOUT_LINE : 0) + 13, false, row->label);
    fprintf(svg->stream, "<path class=\"bound%s\" d=\"M%d %dH%d\"/>",
            row->is_cancelled ? " cut"
            : row->is_open    ? " gap"
                              : "",
            left - 12, top + 21, right + 12);
    for (size_t i = 0; row->is_cancelled && i < row->n_passed; i++)
        write_cross(svg, svg->layout.x[row->passed[i]], top + 21);
    if (row->is_open) {
        write_dots(svg, "tip", row->passed, row->n_passed, top + 21);
        write_dots(svg, "hollow", row->missing, row->n_missing, top + 21);
    }
}

static void write_box(const struct svg *svg, const struct tg_sequence_row *row,
                      const struct tg_sequence_place *place)
{
    fprintf(svg->stream, "<rect class=\"box\" x=\"%d\" y=\"2\" width=\"%d\" height=\"%d\" rx=\"3\"/>",
            place->left, place->right - place->left, place->box_height - 2);
    write_label(svg, "h", place->label_x, 16, false, row->label);
}

/* From those who wait, behind the cross that says where they are, to the one that they wait for. */
static void write_awaited(const struct svg *svg, const struct tg_sequence_row *row)
{
    int to = svg->layout.x[row->to];
    for (size_t i = 0; i < row->n_lanes; i++) {
        int from = svg->layout.x[row->lanes[i]], direction = to >= from ? 1 : -1;
        if (row->lanes[i] == row->to)
            continue;
        write_line(svg, "back", from + (direction > 0 ? svg->layout.mark : 0), 11, to - 5 * direction, 11);
        write_tip(svg, to, 11, direction);
    }
}

static void write_time(const struct svg *svg, const struct tg_sequence_row *row,
                       const struct tg_sequence_place *place)
{
    if (*row->time == '\0')
        return;
    fprintf(svg->stream, "<text class=\"faint t\" x=\"%d\" y=\"%d\">", svg->layout.time_x,
            row->kind == TG_ROW_BARRIER ? place->height - 5 : 15 + tg_sequence_wait_height(row->longest_ns));
    tg_xml_text_write(svg->stream, row->time, SIZE_MAX);
    fputs("</text>", svg->stream);
}

static void write_title(const struct svg *svg, const struct tg_sequence_row *row)
{
    if (*row->label == '\0' && *row->detail == '\0')
        return;
    fputs("<title>", svg->stream);
    tg_xml_text_write(svg->stream, row->label, SIZE_MAX);
    if (*row->label != '\0' && *row->detail != '\0')
        putc('\n', svg->stream);
    tg_xml_text_write(svg->stream, row->detail, SIZE_MAX);
    fputs("</title>", svg->stream);
}

static const char *row_class(const struct tg_sequence_row *row)
{
    if (row->style == TG_STYLE_CYCLE)
        return "here cycle";
    if (row->style == TG_STYLE_OVER)
        return "over";
    return row->kind == TG_ROW_BARRIER ? "wait" : class_of(row->node);
}

static void write_row(const struct svg *svg, size_t i)
{
    const struct tg_sequence_row *row = &svg->rows->items[i];
    const struct tg_sequence_place *place = &svg->layout.places[i];
    if (row->kind == TG_ROW_CLOSE)
        return;
    fprintf(svg->stream, "<g class=\"r %s%s%s\" transform=\"translate(0 %d)\" data-h=\"%d\" data-d=\"%u\"",
            row_class(row), row->kind == TG_ROW_OPEN && row->is_open ? " open" : "",
            row->is_cancelled ? " cancelled" : "", place->y, place->height, row->depth);
    if (row->kind == TG_ROW_OPEN)
        fprintf(svg->stream, " data-end=\"%zu\"", place->close);
    fprintf(svg->stream, " data-i=\"%zu\">", i);
    write_title(svg, row);
    write_time(svg, row, place);
    switch (row->kind) {
    case TG_ROW_OPEN:
        write_box(svg, row, place);
        break;
    case TG_ROW_BARS:
        write_bars(svg, row);
        break;
    case TG_ROW_SELF:
        write_self(svg, row, place);
        break;
    case TG_ROW_ARROW:
    case TG_ROW_LOST:
        write_arrow(svg, row, place);
        break;
    case TG_ROW_HERE:
        write_marks(svg, row->lanes, row->n_lanes, 11);
        if (row->to != TG_SEQUENCE_NO_LANE)
            write_awaited(svg, row);
        write_label(svg, "", place->label_x, 15, false, row->label);
        break;
    case TG_ROW_BARRIER:
        write_barrier(svg, row, place);
        break;
    case TG_ROW_ELIDED:
        write_label(svg, row->style == TG_STYLE_CYCLE ? "h" : "faint", place->label_x, 15, false, row->label);
        break;
    case TG_ROW_CLOSE:
        break;
    }
    fputs("</g>\n", svg->stream);
}

/* Messages that cross others: from the row that sends to the row that receives, below all rows. The page
 * moves them with these. */
static void write_slopes(const struct svg *svg)
{
    for (size_t i = 0; i < svg->rows->count; i++) {
        const struct tg_sequence_row *row = &svg->rows->items[i];
        if (row->kind != TG_ROW_ARROW || row->link == TG_ROW_NO_LINK)
            continue;
        int from = svg->layout.x[row->from], to = svg->layout.x[row->to];
        fprintf(svg->stream,
                "<path class=\"line slope\" data-from=\"%zu\" data-to=\"%zu\" marker-end=\"url(#tip)\" "
                "d=\"M%d %dL%d %d\"/>\n",
                row->link, i, from,
                svg->layout.places[row->link].y + SLOPE_BEGIN +
                    tg_sequence_wait_height(svg->rows->items[row->link].longest_ns),
                to, svg->layout.places[i].y + SLOPE_END + tg_sequence_wait_height(row->longest_ns));
    }
}

/* ---- the picture */

static void write_headers(const struct svg *svg, int y, const char *id)
{
    char title[64], members[TG_SEQUENCE_MEMBERS_SIZE];
    fprintf(svg->stream, "<g class=\"heads\" id=\"%s\">\n", id);
    for (size_t i = 0; i < svg->rows->n_columns; i++) {
        uint32_t lane = svg->rows->columns[i];
        int width = svg->layout.spacing - 4;
        tg_sequence_column_title(svg->drawing->sequence, svg->rows, lane, svg->layout.short_titles, title,
                                 sizeof title);
        fprintf(svg->stream,
                "<g><rect class=\"head\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"3\"/>",
                svg->layout.x[lane] - width / 2, y, width);
        write_label(svg, "h", svg->layout.x[lane], y + 15, true, title);
        fputs("<title>", svg->stream);
        tg_xml_text_write(
            svg->stream,
            tg_sequence_column_members(svg->drawing->sequence, svg->rows, lane, members, sizeof members),
            SIZE_MAX);
        fputs("</title></g>\n", svg->stream);
    }
    fputs("</g>\n", svg->stream);
}

/* Names the lifelines of shared columns, and says what signs mean. */
static void write_legend(const struct svg *svg, int y)
{
    char members[TG_SEQUENCE_LEGEND_SIZE];
    fputs("<g id=\"legend\">\n", svg->stream);
    for (size_t i = 0; i < svg->rows->n_columns; i++) {
        uint32_t lane = svg->rows->columns[i];
        if (!tg_sequence_column_is_shared(svg->drawing->sequence, svg->rows, lane))
            continue;
        write_label(
            svg, "faint", MARGIN, y + 12, false,
            tg_sequence_column_members(svg->drawing->sequence, svg->rows, lane, members, sizeof members));
        putc('\n', svg->stream);
        y += TG_LAYOUT_LEGEND;
    }
    for (size_t i = 0; i < svg->layout.n_keys; i++) {
        write_label(svg, "faint", MARGIN, y + 12, false, svg->layout.keys[i]);
        putc('\n', svg->stream);
        y += TG_LAYOUT_LEGEND;
    }
    fputs("</g>\n", svg->stream);
}

static void write_picture(const struct svg *svg, bool for_page)
{
    const struct tg_sequence_layout *layout = &svg->layout;
    int width = layout->right - layout->left;
    fprintf(svg->stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"diagram\" width=\"%d\" height=\"%d\" "
            "viewBox=\"%d 0 %d %d\" role=\"img\">\n<title>",
            width, layout->height, layout->left, width, layout->height);
    tg_xml_text_write(svg->stream, svg->drawing->title, SIZE_MAX);
    fputs("</title>\n", svg->stream);
    if (!for_page) {
        fputs("<style>\n", svg->stream);
        tg_sequence_svg_write_style(svg->stream);
        fputs("</style>\n", svg->stream);
    }
    fputs("<defs><marker id=\"tip\" viewBox=\"0 0 7 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
          "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
          "<path class=\"tip\" d=\"M7 4l-7 -4v8z\"/></marker></defs>\n",
          svg->stream);
    fprintf(svg->stream, "<rect class=\"ground\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>\n",
            layout->left, width, layout->height);
    write_label(svg, "h", layout->left + 16, 19, false, svg->drawing->title);
    putc('\n', svg->stream);
    int legend = layout->height - (int)(layout->n_shared + layout->n_keys) * TG_LAYOUT_LEGEND;
    int bottom = legend - TG_LAYOUT_HEADER - 4;
    for (size_t i = 0; i < svg->rows->n_columns; i++)
        fprintf(svg->stream, "<path class=\"life\" d=\"M%d %dV%d\"/>\n", layout->x[svg->rows->columns[i]],
                TG_LAYOUT_TOP + 22, bottom);
    write_headers(svg, TG_LAYOUT_TOP, "top");
    write_slopes(svg);
    for (size_t i = 0; i < svg->rows->count; i++)
        write_row(svg, i);
    write_headers(svg, bottom, "bottom");
    if (layout->n_shared + layout->n_keys > 0)
        write_legend(svg, legend - 8);
    fputs("</svg>\n", svg->stream);
}

struct tg_error *tg_sequence_svg_write_element(const struct tg_sequence_drawing *drawing, bool for_page,
                                               FILE *stream)
{
    struct svg svg = {.stream = stream, .drawing = drawing, .rows = drawing->rows};
    struct tg_error *error =
        tg_sequence_layout_create(drawing->sequence, drawing->rows, drawing->title, &svg.layout);
    if (error != NULL)
        return error;
    write_picture(&svg, for_page);
    tg_sequence_layout_deinit(&svg.layout);
    return NULL;
}

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", stream);
    return tg_sequence_svg_write_element(drawing, false, stream);
}

const struct tg_sequence_format tg_sequence_svg = {
    .name = "svg", .suffix = ".svg", .summary = "a picture", .write = write};
