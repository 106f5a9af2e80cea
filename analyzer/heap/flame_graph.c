/* A flame graph as SVG: calls as boxes, callers above their callees, as wide as their share. No script: names from the
 * program are text, the whole of each in its tooltip. */
#include "analyzer/heap/call_tree.h"
#include "analyzer/heap/format.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/xml_text.h"
#include "format/base/printable.h"
#include "format/base/utf8.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 1200, MARGIN = 10, HEADER = 46, ROW = 18, CHARACTER = 7, MAX_DEPTH = 200 };

struct flame {
    FILE *stream;
    const struct tg_heap_drawing *drawing;
    uint64_t total;
};

static void write_cost(const struct flame *flame, uint64_t cost)
{
    char text[TG_QUANTITY_SIZE];
    fputs(tg_heap_cost_is_bytes(flame->drawing->profile->cost) ? tg_quantity_bytes(cost, text)
                                                               : tg_quantity_count(cost, text),
          flame->stream);
}

/* How many bytes of TEXT have room in COLUMNS characters. */
static size_t cut(const char *text, size_t columns)
{
    size_t bytes = 0;
    for (uint32_t code_point; columns > 0 && text[bytes] != '\0'; columns--) {
        size_t length = tg_utf8_decode(text + bytes, &code_point);
        bytes += length == 0 ? 1 : length;
    }
    return bytes;
}

/* A warm colour that is the same for the same name. */
static unsigned hue_of(const char *label)
{
    uint32_t hash = 2166136261;
    for (; *label != '\0' && *label != ' '; label++)
        hash = (hash ^ (unsigned char)*label) * 16777619;
    return hash % 40 + 10;
}

static void write_node(const struct flame *flame, const struct tg_heap_node *node, double x, double width,
                       unsigned depth)
{
    char label[400];
    if (width < 0.4 || depth >= MAX_DEPTH)
        return;
    unsigned y = HEADER + depth * ROW;
    const char *name = depth == 0 ? "all" : node->label;
    tg_printable(name, label, sizeof label);
    fputs("<g><title>", flame->stream);
    tg_xml_text_write(flame->stream, name, SIZE_MAX);
    fputs(": ", flame->stream);
    write_cost(flame, node->total);
    fprintf(
        flame->stream,
        ", %.1f%%</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"hsl(%u,75%%,%u%%)\"/>",
        100.0 * (double)node->total / (double)flame->total, x, y, width, ROW - 1,
        depth == 0 ? 210 : hue_of(name), depth == 0 ? 85 : 68);
    size_t columns = (size_t)(width / CHARACTER);
    if (columns >= 4) {
        size_t bytes = cut(label, columns - 1);
        fprintf(flame->stream, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 13);
        tg_xml_text_write(flame->stream, label, bytes);
        fputs(label[bytes] != '\0' ? "\u2026</text>" : "</text>", flame->stream);
    }
    fputs("</g>\n", flame->stream);
    for (const struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling) {
        double share = width * (double)child->total / (double)node->total;
        write_node(flame, child, x, share, depth + 1);
        x += share;
    }
}

static void write_title(const struct flame *flame)
{
    static const char *const words[] = {
        [TG_HEAP_COST_PEAK] = "live at the peak",
        [TG_HEAP_COST_LIVE] = "live",
        [TG_HEAP_COST_BYTES] = "allocated",
        [TG_HEAP_COST_CALLS] = "blocks allocated",
        [TG_HEAP_COST_TEMPORARY] = "temporary blocks",
    };
    fputs("<text class=\"h\" x=\"10\" y=\"20\">Heap of ", flame->stream);
    tg_xml_text_write(flame->stream, flame->drawing->path, SIZE_MAX);
    fputs(": ", flame->stream);
    write_cost(flame, flame->total);
    fprintf(flame->stream, " %s</text>\n", words[flame->drawing->profile->cost]);
}

struct tg_error *tg_heap_write_svg(const struct tg_heap_drawing *drawing, FILE *stream)
{
    struct tg_heap_call_tree tree;
    struct tg_error *error = tg_heap_call_tree_make(drawing, false, &tree);
    if (error != NULL)
        return error;
    size_t rows = tree.depth + 1 < MAX_DEPTH ? tree.depth + 1 : MAX_DEPTH;
    const struct flame flame = {stream, drawing, tree.root->total};
    fprintf(
        stream,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n"
        "<style>svg{background:#fff}text{font:12px ui-monospace,monospace;fill:#1b1f24;pointer-events:none}"
        ".h{font:bold 14px system-ui,sans-serif}rect{stroke:#fff;stroke-width:.5}g:hover "
        "rect{stroke:#000}</style>\n",
        WIDTH, HEADER + rows * ROW + MARGIN, WIDTH, HEADER + rows * ROW + MARGIN);
    write_title(&flame);
    if (tree.root->total > 0)
        write_node(&flame, tree.root, MARGIN, WIDTH - 2 * MARGIN, 0);
    fputs("</svg>\n", stream);
    tg_heap_call_tree_deinit(&tree);
    return NULL;
}
