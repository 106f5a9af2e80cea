/* Collapsed stacks, as flamegraph.pl, speedscope and inferno read them: calls with semicolons between them, a blank, a
 * number. */
#include "analyzer/heap/call_tree.h"
#include "analyzer/heap/format.h"

#include <inttypes.h>
#include <stdlib.h>

/* A label whose semicolons and line ends would be taken for the format's own. */
static void write_label(FILE *stream, const char *label)
{
    for (; *label != '\0'; label++)
        putc(*label == ';' ? ',' : *label == '\n' || *label == '\r' ? ' ' : *label, stream);
}

static void write_node(FILE *stream, const struct tg_heap_node **path, size_t depth)
{
    const struct tg_heap_node *node = path[depth];
    if (node->self > 0 && depth > 0) {
        for (size_t i = 1; i <= depth; i++) {
            if (i > 1)
                putc(';', stream);
            write_label(stream, path[i]->label);
        }
        fprintf(stream, " %" PRIu64 "\n", node->self);
    }
    for (const struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling) {
        path[depth + 1] = child;
        write_node(stream, path, depth + 1);
    }
}

struct tg_error *tg_heap_write_collapsed(const struct tg_heap_drawing *drawing, FILE *stream)
{
    struct tg_heap_call_tree tree;
    struct tg_error *error = tg_heap_call_tree_make(drawing, false, &tree);
    if (error != NULL)
        return error;
    const struct tg_heap_node **path = calloc(tree.depth + 2, sizeof(*path));
    if (path != NULL) {
        path[0] = tree.root;
        write_node(stream, path, 0);
    }
    error = path == NULL ? tg_error_no_memory() : NULL;
    free(path);
    tg_heap_call_tree_deinit(&tree);
    return error;
}
