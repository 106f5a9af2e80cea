#include "analyzer/page/graph.h"

#include "analyzer/finding/end_words.h"
#include "analyzer/finding/words.h"
#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdlib.h>

/* A process, or a worker of one, that waits or is waited for. */
struct end_key {
    size_t process;
    uint64_t worker; /* 0: the process */
};

struct node {
    struct end_key key;
    int32_t tid;
    bool is_of_many;            /* a process several of whose threads wait or are waited for */
    size_t first_edge, n_edges; /* out of it, of the sorted edges */
    size_t n_in;
    bool is_in_ring, is_culprit;
    size_t group; /* number of the one that it is drawn as */
    size_t index; /* in order of appearance */
    UT_hash_handle hh;
};

struct drawn_edge {
    size_t from, to; /* groups */
    const char *why;
    uint64_t since_ns;
    bool is_in_ring, is_choice;
};

struct graph {
    const struct tg_page *page;
    const struct tg_verdict *verdict;
    struct tg_verdict_edge *edges; /* sorted by who waits; texts are the verdict's */
    struct node *nodes, **by_index;
    size_t n_nodes, capacity, n_groups;
    struct node **groups; /* the first of each */
    struct drawn_edge drawn[TG_GRAPH_EDGES];
    size_t n_drawn, left_out;
};

static int compare_edges(const void *a, const void *b)
{
    const struct tg_verdict_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->from_worker != y->from_worker)
        return x->from_worker < y->from_worker ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->to_worker < y->to_worker ? -1 : x->to_worker > y->to_worker;
}

static struct tg_error *take_node(struct graph *graph, size_t process, uint64_t worker, int32_t tid,
                                  struct node **node)
{
    const struct end_key key = {process, worker};
    HASH_FIND(hh, graph->nodes, &key, sizeof key, *node);
    if (*node != NULL) {
        (*node)->is_of_many |= tid != 0 && (*node)->tid != 0 && tid != (*node)->tid;
        (*node)->tid = (*node)->tid == 0 ? tid : (*node)->tid;
        return NULL;
    }
    struct tg_error *error = TG_HASH_CREATE(hh, graph->nodes, key, &key, *node);
    if (error != NULL)
        return error;
    (*node)->tid = tid;
    (*node)->index = graph->n_nodes;
    return TG_ARRAY_APPEND(graph->by_index, graph->n_nodes, graph->capacity, *node);
}

static bool is_culprit(const struct graph *graph, const struct node *node)
{
    for (size_t i = 0; i < graph->verdict->count; i++) {
        const struct tg_finding *finding = &graph->verdict->findings[i];
        for (size_t k = 0; !finding->is_consequence && k < finding->n_culprits; k++)
            if (finding->culprits[k].process == node->key.process &&
                (node->key.worker == 0 || finding->culprits[k].tid == 0 ||
                 finding->culprits[k].tid == node->tid))
                return true;
    }
    return false;
}

/* A worker that calls MPI is drawn as its process: others wait for it by that. */
static uint64_t drawn_worker(const struct graph *graph, size_t process, uint64_t worker, int32_t tid)
{
    const struct tg_mpi_model *mpi = graph->page->words.mpi;
    for (size_t i = 0; worker != 0 && i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process == process && thread->tid == tid)
            return 0;
    }
    return worker;
}

static struct tg_verdict_edge drawn(const struct graph *graph, const struct tg_verdict_edge *edge)
{
    struct tg_verdict_edge made = *edge;
    made.from_worker = drawn_worker(graph, edge->from, edge->from_worker, edge->from_tid);
    made.to_worker = drawn_worker(graph, edge->to, edge->to_worker, edge->to_tid);
    return made;
}

static struct tg_error *make_nodes(struct graph *graph)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < graph->verdict->n_edges; i++) {
        const struct tg_verdict_edge *edge = &graph->edges[i];
        struct node *from = NULL, *to = NULL;
        error = take_node(graph, edge->from, edge->from_worker, edge->from_tid, &from);
        if (error == NULL)
            error = take_node(graph, edge->to, edge->to_worker, edge->to_tid, &to);
        if (error != NULL)
            return error;
        if (from->n_edges++ == 0)
            from->first_edge = i;
        to->n_in++;
        from->is_in_ring |= edge->is_in_ring;
        to->is_in_ring |= edge->is_in_ring;
    }
    for (size_t i = 0; i < graph->n_nodes; i++)
        graph->by_index[i]->is_culprit = is_culprit(graph, graph->by_index[i]);
    return error;
}

/* Whether both wait for the same others for the same reasons, and nobody waits for them. */
static bool is_alike(const struct graph *graph, const struct node *a, const struct node *b)
{
    if (a->n_in > 0 || b->n_in > 0 || a->is_in_ring || b->is_in_ring || a->is_culprit != b->is_culprit ||
        a->n_edges != b->n_edges || (a->key.worker == 0) != (b->key.worker == 0) ||
        (a->key.worker != 0 && a->key.process != b->key.process))
        return false;
    for (size_t i = 0; i < a->n_edges; i++) {
        const struct tg_verdict_edge *x = &graph->edges[a->first_edge + i],
                                     *y = &graph->edges[b->first_edge + i];
        if (x->to != y->to || x->to_worker != y->to_worker || strcmp(x->why, y->why) != 0)
            return false;
    }
    return true;
}

/* Compared with the groups so far: these are as few as can be drawn. */
static struct tg_error *make_groups(struct graph *graph)
{
    graph->groups = calloc(graph->n_nodes + 1, sizeof(struct node *));
    if (graph->groups == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct node *node = graph->by_index[i];
        size_t k = 0, compared = graph->n_groups < 4 * TG_GRAPH_NODES ? graph->n_groups : 4 * TG_GRAPH_NODES;
        while (k < compared && !is_alike(graph, graph->groups[k], node))
            k++;
        if (k == compared)
            graph->groups[k = graph->n_groups++] = node;
        node->group = k;
    }
    return NULL;
}

static struct node *find(const struct graph *graph, size_t process, uint64_t worker)
{
    const struct end_key key = {process, worker};
    struct node *node;
    HASH_FIND(hh, graph->nodes, &key, sizeof key, node);
    return node;
}

/* Edges of rings come first: they are what matters. */
static void draw(struct graph *graph, bool of_rings)
{
    for (size_t i = 0; i < graph->n_groups; i++) {
        const struct node *node = graph->groups[i];
        for (size_t k = 0; k < node->n_edges; k++) {
            const struct tg_verdict_edge *edge = &graph->edges[node->first_edge + k];
            size_t to = find(graph, edge->to, edge->to_worker)->group;
            if (edge->is_in_ring != of_rings)
                continue;
            if (i >= TG_GRAPH_NODES || to >= TG_GRAPH_NODES || graph->n_drawn == TG_GRAPH_EDGES) {
                graph->left_out++;
                continue;
            }
            graph->drawn[graph->n_drawn++] = (struct drawn_edge){.from = i,
                                                                 .to = to,
                                                                 .why = edge->why,
                                                                 .since_ns = edge->since_ns,
                                                                 .is_in_ring = edge->is_in_ring,
                                                                 .is_choice = edge->is_choice};
        }
    }
}

/* ---- JSON */

/* Where other workers of the process of NODE are drawn, one that is drawn as the process is named as well; NULL: none. */
static const struct tg_openmp_worker *worker_behind(const struct graph *graph, const struct node *node)
{
    bool has_others = false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        has_others |= graph->by_index[i]->key.process == node->key.process && graph->by_index[i] != node;
    return !has_others || node->key.worker != 0 || node->is_of_many || node->tid == 0
               ? NULL
               : tg_end_words_worker(&graph->page->words, node->key.process, node->tid);
}

static struct tg_error *write_label(const struct graph *graph, size_t group, struct tg_json *json)
{
    char *text = NULL, ranges[120];
    size_t size, n = 0, n_members = 0;
    int64_t *numbers = calloc(graph->n_nodes, sizeof *numbers);
    FILE *stream = open_memstream(&text, &size);
    const struct node *first = graph->groups[group];
    if (numbers == NULL || stream == NULL) {
        free(numbers);
        if (stream != NULL)
            fclose(stream);
        free(text);
        return tg_error_no_memory();
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = graph->by_index[i];
        const struct tg_process_entry *entry =
            tg_process_model_at(graph->page->words.processes, node->key.process);
        if (node->group != group)
            continue;
        n_members++;
        if (first->key.worker != 0)
            numbers[n++] = (int64_t)node->key.worker;
        else if (entry->rank >= 0)
            numbers[n++] = entry->rank;
    }
    size_t different = tg_rank_ranges_sort(numbers, n);
    if (n_members == 1 || first->key.worker != 0)
        tg_words_process(stream, &graph->page->words, first->key.process);
    else if (different == n_members)
        fprintf(stream, "ranks %s", tg_rank_ranges_print(numbers, different, ranges, sizeof ranges));
    else
        fprintf(stream, "%zu processes", n_members);
    const struct tg_openmp_worker *behind = n_members == 1 ? worker_behind(graph, first) : NULL;
    if (behind != NULL)
        fprintf(stream, " (worker %" PRIu64 ")", behind->number);
    if (first->key.worker != 0)
        fprintf(stream, ", worker%s %s", n_members > 1 ? "s" : "",
                tg_rank_ranges_print(numbers, different, ranges, sizeof ranges));
    free(numbers);
    if (fclose(stream) == 0)
        tg_json_member_string(json, "label", text);
    tg_json_member_unsigned(json, "members", n_members);
    free(text);
    return NULL;
}

static struct tg_error *write_state(const struct graph *graph, const struct node *node, struct tg_json *json)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    const struct tg_openmp_worker *worker =
        node->key.worker == 0 ? NULL : tg_end_words_worker(&graph->page->words, node->key.process, node->tid);
    if (worker != NULL)
        tg_words_worker_state(stream, &graph->page->words, worker);
    else
        tg_words_process_state(stream, &graph->page->words, node->key.process);
    if (fclose(stream) == 0)
        tg_json_member_string(json, "state", text);
    free(text);
    return NULL;
}

static struct tg_error *write_node(const struct graph *graph, size_t group, struct tg_json *json)
{
    const struct node *node = graph->groups[group];
    tg_json_begin_object(json);
    struct tg_error *error = write_label(graph, group, json);
    if (error == NULL)
        error = write_state(graph, node, json);
    tg_json_member_unsigned(json, "process", node->key.process);
    if (node->tid != 0)
        tg_json_member_signed(json, "tid", node->tid);
    tg_json_member_bool(json, "ring", node->is_in_ring);
    tg_json_member_bool(json, "culprit", node->is_culprit);
    tg_json_end_object(json);
    return error;
}

static struct tg_error *write_graph(const struct graph *graph, struct tg_json *json)
{
    struct tg_error *error = NULL;
    tg_json_key(json, "nodes");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < graph->n_groups && i < TG_GRAPH_NODES; i++)
        error = write_node(graph, i, json);
    tg_json_end_array(json);
    tg_json_key(json, "edges");
    tg_json_begin_array(json);
    for (size_t i = 0; i < graph->n_drawn; i++) {
        const struct drawn_edge *edge = &graph->drawn[i];
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "from", edge->from);
        tg_json_member_unsigned(json, "to", edge->to);
        tg_json_member_string(json, "why", edge->why);
        if (edge->since_ns != 0)
            tg_json_member_signed(json, "since", (int64_t)(edge->since_ns - graph->page->words.start_ns));
        tg_json_member_bool(json, "ring", edge->is_in_ring);
        tg_json_member_bool(json, "choice", edge->is_choice);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "left_out", graph->left_out);
    return error;
}

struct tg_error *tg_page_graph(const struct tg_page *page, const struct tg_verdict *verdict,
                               struct tg_json *json)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return tg_error_no_memory();
    *graph = (struct graph){.page = page, .verdict = verdict};
    graph->edges = calloc(verdict->n_edges + 1, sizeof *graph->edges);
    struct tg_error *error = graph->edges == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < verdict->n_edges; i++)
        graph->edges[i] = drawn(graph, &verdict->edges[i]);
    if (error == NULL) {
        qsort(graph->edges, verdict->n_edges, sizeof *graph->edges, compare_edges);
        error = make_nodes(graph);
    }
    if (error == NULL)
        error = make_groups(graph);
    if (error == NULL) {
        draw(graph, true);
        draw(graph, false);
        error = write_graph(graph, json);
    }
    struct node *node, *next;
    HASH_ITER (hh, graph->nodes, node, next) {
        HASH_DEL(graph->nodes, node);
        free(node);
    }
    free(graph->edges);
    free(graph->by_index);
    free(graph->groups);
    free(graph);
    return error;
}
