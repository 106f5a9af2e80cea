/* The tree as a graph for Graphviz. */
#include "analyzer/where/page.h"

#include "analyzer/where/members.h"
#include "analyzer/where/messages.h"
#include "analyzer/where/verdict_words.h"
#include "analyzer/where/waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- marks */

struct drawing {
    FILE *stream;
    const struct tg_where_threads *threads;
    bool *
        is_marked; /* by thread: the others wait for it, it waits for itself by way of others, or it crashed */
    size_t *nodes; /* by thread: number and 1 of the node that it ends in */
    size_t count;  /* of nodes */
};

static void mark_away(const struct tg_where_verdict *verdict, bool *is_marked)
{
    bool names_missing = verdict->kind == TG_WHERE_MISSING || verdict->kind == TG_WHERE_MOVES ||
                         verdict->kind == TG_WHERE_OUTSIDE;
    for (size_t i = 0; names_missing && i < verdict->count; i++)
        for (size_t k = 0; verdict->groups[i].is_away && k < verdict->groups[i].count; k++)
            is_marked[verdict->groups[i].threads[k]] = true;
}

static void mark_stuck(const struct tg_where_threads *threads, bool *is_marked)
{
    size_t *members = NULL, count = 0;
    tg_error_destroy(tg_where_find_deadlocked(threads, &members, &count));
    for (size_t i = 0; i < count; i++)
        is_marked[members[i]] = true;
    free(members);
    for (size_t i = 0; i < threads->count; i++)
        is_marked[i] |= tg_where_waits_for_itself(threads, i) ||
                        threads->threads[i].stack->reason == TG_STACK_FATAL_SIGNAL;
}

static bool has_marked(const struct drawing *drawing, const struct tg_where_node *node)
{
    for (size_t i = 0; i < node->n_ending; i++)
        if (drawing->is_marked[node->ending[i]])
            return true;
    return false;
}

/* ---- the tree */

static void write_edge(const struct drawing *drawing, size_t from, size_t to,
                       const struct tg_where_node *node)
{
    char *text = tg_where_members_text(drawing->threads, node->threads, node->n_threads);
    if (text == NULL)
        return;
    fprintf(drawing->stream, "  n%zu -> n%zu [label=", from, to);
    write_quoted(drawing->stream, text);
    fputs("];\n", drawing->stream);
    free(text);
}

static void write_node(struct drawing *drawing, const struct tg_where_node *node)
{
    size_t own = drawing->count++;
    fprintf(drawing->stream, "  n%zu [label=", own);
    write_quoted(drawing->stream, node->text != NULL ? node->text : "/");
    fputs(has_marked(drawing, node) ? ", color=red, penwidth=2];\n" : "];\n", drawing->stream);
    for (size_t i = 0; i < node->n_ending; i++)
        drawing->nodes[node->ending[i]] = own + 1;
    for (size_t i = 0; i < node->n_children; i++) {
        write_edge(drawing, own, drawing->count, node->children[i]);
        write_node(drawing, node->children[i]);
    }
}

/* "n3 -> n5": a thread waits for another one, which has its lock or has to end. */
static void write_waits(const struct drawing *drawing)
{
    enum { SHOWN = 64 };
    const struct tg_where_threads *threads = drawing->threads;
    size_t n = 0;
    for (size_t i = 0; i < threads->count && n < SHOWN; i++) {
        size_t owner = threads->threads[i].owner;
        if (threads->threads[i].wait == NULL || owner == SIZE_MAX || drawing->nodes[i] == 0 ||
            drawing->nodes[owner] == 0)
            continue;
        fprintf(drawing->stream,
                "  n%zu -> n%zu [label=\"thread %" PRId32 " waits for thread %" PRId32
                "\", style=dashed, color=red, fontcolor=red, constraint=false];\n",
                drawing->nodes[i] - 1, drawing->nodes[owner] - 1, threads->threads[i].stack->tid,
                threads->threads[owner].stack->tid);
        n++;
    }
}

/* The answer is the title, line by line. */
static void write_title(FILE *stream, const struct tg_where_page *page)
{
    char *text = NULL, *rest = NULL;
    size_t size;
    FILE *answer = open_memstream(&text, &size);
    if (answer == NULL)
        return;
    bool has_answer = tg_where_verdict_write(answer, page->threads, page->verdict);
    if (fclose(answer) == 0 && has_answer) {
        fputs("  labelloc=t; labeljust=l; fontname=\"sans-serif\";\n  label=\"", stream);
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            for (const char *at = line; *at != '\0'; at++) {
                if (*at == '"' || *at == '\\')
                    fputc('\\', stream);
                fputc(*at, stream);
            }
            fputs("\\l", stream);
        }
        fputs("\";\n", stream);
    }
    free(text);
}

void tg_where_write_dot(FILE *stream, const struct tg_where_page *page)
{
    struct drawing drawing = {.stream = stream,
                              .threads = page->threads,
                              .is_marked = calloc(page->threads->count + 1, sizeof *drawing.is_marked),
                              .nodes = calloc(page->threads->count + 1, sizeof *drawing.nodes)};
    bool has_memory = drawing.is_marked != NULL && drawing.nodes != NULL;
    fputs("digraph where {\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"sans-serif\"];\n",
          stream);
    write_title(stream, page);
    if (has_memory) {
        mark_away(page->verdict, drawing.is_marked);
        mark_stuck(page->threads, drawing.is_marked);
    }
    if (has_memory && page->ranks->n_threads > 0)
        write_node(&drawing, page->ranks);
    if (has_memory && page->others->n_threads > 0 && (page->with_others || page->ranks->n_threads == 0))
        write_node(&drawing, page->others);
    if (has_memory)
        write_waits(&drawing);
    fputs("}\n", stream);
    free(drawing.is_marked);
    free(drawing.nodes);
}
