/* The tree as a graph for Graphviz. */
#include "analyzer/where/page.h"

#include "analyzer/where/members.h"

#include <stdlib.h>

/* TEXT is printable. */
static void write_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_edge(FILE *stream, const struct tg_where_threads *threads, size_t from, size_t to,
                       const struct tg_where_node *node)
{
    char *text = tg_where_members_text(threads, node->threads, node->n_threads);
    if (text == NULL)
        return;
    fprintf(stream, "  n%zu -> n%zu [label=", from, to);
    write_quoted(stream, text);
    fputs("];\n", stream);
    free(text);
}

/* NUMBER is the next node's. */
static void write_node(FILE *stream, const struct tg_where_threads *threads, const struct tg_where_node *node,
                       size_t *number)
{
    size_t own = (*number)++;
    fprintf(stream, "  n%zu [label=", own);
    write_quoted(stream, node->text != NULL ? node->text : "/");
    fputs("];\n", stream);
    for (size_t i = 0; i < node->n_children; i++) {
        write_edge(stream, threads, own, *number, node->children[i]);
        write_node(stream, threads, node->children[i], number);
    }
}

void tg_where_write_dot(FILE *stream, const struct tg_where_page *page)
{
    size_t number = 0;
    fputs("digraph where {\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"sans-serif\"];\n",
          stream);
    if (page->ranks->n_threads > 0)
        write_node(stream, page->threads, page->ranks, &number);
    if (page->others->n_threads > 0 && (page->with_others || page->ranks->n_threads == 0))
        write_node(stream, page->threads, page->others, &number);
    fputs("}\n", stream);
}
