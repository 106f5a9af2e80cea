/* A heap as valgrind's massif writes it, for ms_print and massif-visualizer: the growth as snapshots, and the peak with
 * its call paths. */
#include "analyzer/heap/call_tree.h"
#include "analyzer/heap/format.h"

#include <inttypes.h>
#include <string.h>

enum { SMALLEST_SHARE = 1000 }; /* of the peak: nodes below it are one line together */

/* Line ends and tabs would end a line of the format. */
static void write_line(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++)
        putc((unsigned char)*text < ' ' ? ' ' : *text, stream);
}

static void write_snapshot(FILE *stream, size_t number, uint64_t time_ns, uint64_t bytes, const char *tree)
{
    fprintf(stream,
            "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
            "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
            number, time_ns / 1000000, bytes, tree);
}

static void write_children(FILE *stream, const struct tg_heap_node *node, uint64_t least, unsigned depth);

static void write_node(FILE *stream, const struct tg_heap_node *node, uint64_t least, unsigned depth)
{
    size_t shown = 0, small = 0;
    for (const struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling)
        if (child->total >= least)
            shown++;
        else
            small++;
    fprintf(stream, "%*sn%zu: %" PRIu64 " ", (int)depth, "", shown + (small > 0), node->total);
    if (depth == 0)
        fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", stream);
    else {
        fprintf(stream, "0x%" PRIX64 ": ", node->address);
        write_line(stream, node->label);
    }
    putc('\n', stream);
    write_children(stream, node, least, depth + 1);
}

static void write_children(FILE *stream, const struct tg_heap_node *node, uint64_t least, unsigned depth)
{
    uint64_t small_bytes = 0;
    size_t small = 0;
    for (const struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling) {
        if (child->total >= least) {
            write_node(stream, child, least, depth);
            continue;
        }
        small_bytes += child->total;
        small++;
    }
    if (small > 0)
        fprintf(stream, "%*sn0: %" PRIu64 " in %zu place%s, below massif's threshold (0.10%%)\n", (int)depth,
                "", small_bytes, small, small == 1 ? "" : "s");
}

/* The growth that is drawn: of the job, or of the only process. */
static const struct tg_heap_growth *growth_of(const struct tg_heap_drawing *drawing)
{
    const struct tg_heap_model *heap = drawing->reading->heap;
    const struct tg_heap_growth *only = NULL;
    size_t admitted = 0;
    for (size_t i = 0; i < tg_heap_model_count(heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        if (drawing->selection != NULL &&
            !tg_selection_admits_process(drawing->selection,
                                         tg_process_model_at(drawing->reading->processes, process->process)))
            continue;
        only = process->growth;
        admitted++;
    }
    return admitted == 1 ? only : drawing->profile->is_job_peak ? tg_heap_model_growth(heap) : NULL;
}

static void write_growth(const struct tg_heap_drawing *drawing, const struct tg_heap_growth *growth,
                         const struct tg_heap_call_tree *tree, FILE *stream)
{
    uint64_t start_ns = drawing->reading->start_ns, peak_ns = drawing->profile->peak_ns;
    uint64_t least = tree->root->total / SMALLEST_SHARE;
    size_t number = 0;
    bool has_peak = false;
    for (size_t i = 0; growth != NULL && i < growth->count; i++) {
        uint64_t time_ns = growth->start_ns + (i + 1) * growth->step_ns;
        if (!has_peak && peak_ns != 0 && peak_ns < time_ns) {
            write_snapshot(stream, number++, peak_ns - start_ns, tree->root->total, "peak");
            write_node(stream, tree->root, least > 0 ? least : 1, 0);
            has_peak = true;
        }
        bool is_same = i > 0 && i + 1 < growth->count &&
                       growth->points[i].last == growth->points[i - 1].last &&
                       growth->points[i].last == growth->points[i + 1].last;
        if (is_same)
            continue;
        if (time_ns > drawing->reading->end_ns && drawing->reading->end_ns > start_ns)
            time_ns = drawing->reading->end_ns;
        write_snapshot(stream, number++, time_ns - start_ns, growth->points[i].last, "empty");
    }
    if (!has_peak) {
        write_snapshot(stream, number, (peak_ns != 0 ? peak_ns : drawing->reading->end_ns) - start_ns,
                       tree->root->total, "peak");
        write_node(stream, tree->root, least > 0 ? least : 1, 0);
    }
}

struct tg_error *tg_heap_write_massif(const struct tg_heap_drawing *drawing, FILE *stream)
{
    struct tg_heap_call_tree tree;
    struct tg_error *error = tg_heap_call_tree_make(drawing, true, &tree);
    if (error != NULL)
        return error;
    fputs("desc: tollgate heap ", stream);
    write_line(stream, drawing->path);
    fputs("\ncmd: ", stream);
    write_line(stream, *drawing->reading->command != '\0' ? drawing->reading->command : "?");
    fputs("\ntime_unit: ms\n", stream);
    write_growth(drawing, growth_of(drawing), &tree, stream);
    tg_heap_call_tree_deinit(&tree);
    return NULL;
}
