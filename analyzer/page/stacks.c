/* The document of "where everybody is": threads at the same place together, and their stacks as one tree. */
#include "analyzer/finding/end_words.h"
#include "analyzer/finding/words.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/page/documents.h"
#include "analyzer/page/newer_place.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 200, NODES = 1500, DEPTH = 64 }; /* at most so many are written */

struct member {
    size_t process;
    int32_t tid;
};

/* Threads that are alike. */
struct crowd {
    struct member *members;
    size_t count, capacity;
};

/* ---- names of the members */

/* Prints which threads of its process CROWD is, where all are of one that has others: ", worker 2", ", workers 2-4". */
static void print_workers(const struct tg_page *page, const struct crowd *crowd, char *out, size_t size)
{
    const struct tg_verdict_input *words = &page->words;
    const size_t process = crowd->members[0].process;
    char text[120];
    size_t n_workers = 0, n = 0;
    *out = '\0';
    for (size_t i = 0; i < tg_openmp_model_worker_count(words->openmp); i++)
        n_workers += tg_openmp_model_worker_at(words->openmp, i)->process == process;
    int64_t *numbers = n_workers < 2 ? NULL : calloc(crowd->count, sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < crowd->count; i++) {
        const struct member *member = &crowd->members[i];
        const struct tg_openmp_worker *worker = tg_end_words_worker(words, member->process, member->tid);
        if (member->process == process && worker != NULL)
            numbers[n++] = (int64_t)worker->number;
    }
    if (numbers != NULL && n == crowd->count)
        snprintf(out, size, ", worker%s %s", n == 1 ? "" : "s",
                 tg_rank_ranges_print(numbers, tg_rank_ranges_sort(numbers, n), text, sizeof text));
    free(numbers);
}

/* Prints who CROWD is: ranks by their numbers, and how many threads of them. */
static struct tg_error *write_who(const struct tg_page *page, const struct crowd *crowd, struct tg_json *json)
{
    char text[160], whole[300];
    const struct tg_process_model *processes = page->words.processes;
    int64_t *ranks = calloc(crowd->count + 1, sizeof *ranks);
    size_t n = 0, others = 0, last = SIZE_MAX;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < crowd->count; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, crowd->members[i].process);
        if (entry->rank >= 0)
            ranks[n++] = entry->rank;
        else
            others += crowd->members[i].process != last;
        last = crowd->members[i].process;
    }
    size_t different = tg_rank_ranges_sort(ranks, n), at = 0;
    *whole = '\0';
    if (different > 0)
        at = (size_t)snprintf(whole, sizeof whole, "rank%s %s", different == 1 ? "" : "s",
                              tg_rank_ranges_print(ranks, different, text, sizeof text));
    if (others == 1 && different == 0)
        snprintf(whole, sizeof whole, "process %" PRId32,
                 tg_process_model_at(processes, crowd->members[0].process)->pid);
    else if (others > 0)
        snprintf(whole + at, sizeof whole - at, "%s%zu process%s", at > 0 ? ", " : "", others,
                 others == 1 ? "" : "es");
    free(ranks);
    if (different + others == 1 && last == crowd->members[0].process)
        print_workers(page, crowd, whole + strlen(whole), sizeof whole - strlen(whole));
    tg_json_member_string(json, "who", whole);
    tg_json_member_unsigned(json, "threads", crowd->count);
    if (crowd->count == 1) {
        tg_json_member_unsigned(json, "process", crowd->members[0].process);
        tg_json_member_signed(json, "tid", crowd->members[0].tid);
    }
    return NULL;
}

/* ---- by what the models know */

struct place {
    char *what, *where;
    bool is_idle; /* without work: told last */
    struct crowd crowd;
};

struct places {
    const struct tg_page *page;
    struct place *items;
    size_t count, capacity;
    size_t left_out;
};

/* Adds thread TID of PROCESS to those that do WHAT at WHERE. */
static struct tg_error *add_member(struct places *places, size_t process, int32_t tid, const char *what,
                                   const char *where, bool is_idle)
{
    size_t i = 0;
    while (i < places->count &&
           (strcmp(places->items[i].what, what) != 0 || strcmp(places->items[i].where, where) != 0))
        i++;
    if (i == places->count && i == PLACES) {
        places->left_out++;
        return NULL;
    }
    struct tg_error *error = NULL;
    if (i == places->count) {
        struct place made = {.what = strdup(what), .where = strdup(where), .is_idle = is_idle};
        error = made.what == NULL || made.where == NULL ? tg_error_no_memory() : NULL;
        if (error == NULL)
            error = TG_ARRAY_APPEND(places->items, places->count, places->capacity, made);
        if (error != NULL) {
            free(made.what);
            free(made.where);
            return error;
        }
    }
    struct crowd *crowd = &places->items[i].crowd;
    return TG_ARRAY_APPEND(crowd->members, crowd->count, crowd->capacity, (struct member){process, tid});
}

/* The same, at its place by its stack or, CODE, where the models saw it last, 0 unknown. */
static struct tg_error *take_place(struct places *places, size_t process, int32_t tid, const char *what,
                                   uint64_t code)
{
    char where[256] = "";
    const struct tg_code_namer *namer = &places->page->words.namer;
    bool is_newer = tg_page_newer_place(places->page, process, tid, where, sizeof where);
    if (!is_newer && code != 0 && namer->name != NULL)
        namer->name(namer->context, process, code, where, sizeof where);
    return add_member(places, process, tid, what, where, false);
}

static bool is_worker_in_mpi(const struct tg_page *page, const struct tg_openmp_worker *worker)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(page->words.mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(page->words.mpi, i);
        if (thread->process == worker->process && thread->tid == worker->tid && thread->in_call)
            return true;
    }
    return false;
}

static struct tg_error *take_mpi(struct places *places)
{
    const struct tg_verdict_input *words = &places->page->words;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(words->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(words->mpi, i);
        char what[120];
        bool is_worker = tg_end_words_worker(words, thread->process, thread->tid) != NULL;
        if (!thread->in_call && is_worker)
            continue;
        snprintf(what, sizeof what, thread->in_call ? "in %s" : "outside MPI, last call %s",
                 thread->call.name);
        error = take_place(places, thread->process, thread->tid, what, thread->call.code);
    }
    return error;
}

static struct tg_error *take_workers(struct places *places)
{
    const struct tg_page *page = places->page;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(page->words.openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(page->words.openmp, i);
        const struct tg_process_entry *entry = tg_process_model_at(page->words.processes, worker->process);
        char what[120], place[100];
        if ((entry->end != TG_PROCESS_RUNNING && entry->end != TG_PROCESS_KILLED) ||
            is_worker_in_mpi(page, worker))
            continue;
        if (worker->n_places == 0 && worker->tid != entry->pid) {
            error = add_member(places, worker->process, worker->tid, "idle, outside of all parallel regions",
                               "", true);
            continue;
        }
        if (worker->n_places == 0) {
            error = take_place(places, worker->process, worker->tid, "outside of all parallel regions",
                               worker->last_code);
            continue;
        }
        const struct tg_openmp_place *at = &worker->places[worker->n_places - 1];
        tg_openmp_words_place(at->kind, at->what, place, sizeof place);
        snprintf(what, sizeof what, "%s", place);
        error = take_place(places, worker->process, worker->tid, what, at->code);
    }
    return error;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->is_idle != y->is_idle)
        return x->is_idle ? 1 : -1;
    if (x->crowd.count != y->crowd.count)
        return x->crowd.count > y->crowd.count ? -1 : 1;
    return strcmp(x->what, y->what);
}

static struct tg_error *write_places(const struct tg_page *page, struct tg_json *json)
{
    struct places places = {.page = page};
    struct tg_error *error = take_mpi(&places);
    if (error == NULL)
        error = take_workers(&places);
    if (places.count > 0)
        qsort(places.items, places.count, sizeof *places.items, compare_places);
    tg_json_key(json, "places");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < places.count; i++) {
        tg_json_begin_object(json);
        tg_json_member_string(json, "what", places.items[i].what);
        tg_json_member_string(json, "where", places.items[i].where);
        error = write_who(page, &places.items[i].crowd, json);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "places_left_out", places.left_out);
    for (size_t i = 0; i < places.count; i++) {
        free(places.items[i].what);
        free(places.items[i].where);
        free(places.items[i].crowd.members);
    }
    free(places.items);
    return error;
}

/* ---- the tree of stacks */

struct node {
    char *text; /* NULL: the root */
    const char *file;
    uint64_t line;
    bool is_runtime;
    struct node **children;
    size_t n_children, capacity;
    struct crowd crowd;
};

struct tree {
    struct node *root;
    size_t n_nodes;
    bool is_cut;
};

/* Calls of one stack, innermost first as they are told. */
struct calls {
    struct tg_stack_call of[DEPTH];
    size_t count;
};

static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct calls *calls = context;
    if (calls->count < DEPTH)
        calls->of[calls->count++] = *call;
    return calls->count < DEPTH;
}

static void destroy(struct node *node)
{
    for (size_t i = 0; node != NULL && i < node->n_children; i++)
        destroy(node->children[i]);
    if (node == NULL)
        return;
    free(node->children);
    free(node->crowd.members);
    free(node->text);
    free(node);
}

/* The child of NODE for CALL, a new one where there is none; NULL where there is no room for more: *NODES is counted. */
static struct tg_error *child_of(struct tree *tree, struct node *node, const struct tg_stack_call *call,
                                 struct node **child)
{
    char text[400];
    tg_stack_words_call(call, text, sizeof text);
    for (size_t i = 0; i < node->n_children; i++)
        if (strcmp(node->children[i]->text, text) == 0) {
            *child = node->children[i];
            return NULL;
        }
    *child = NULL;
    tree->is_cut |= tree->n_nodes >= NODES;
    if (tree->n_nodes >= NODES)
        return NULL;
    struct node *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct node){
        .text = strdup(text), .file = call->file, .line = call->line, .is_runtime = call->is_runtime};
    struct tg_error *error = made->text == NULL
                                 ? tg_error_no_memory()
                                 : TG_ARRAY_APPEND(node->children, node->n_children, node->capacity, made);
    if (error != NULL) {
        destroy(made);
        return error;
    }
    tree->n_nodes++;
    *child = made;
    return NULL;
}

static struct tg_error *join(struct node *node, const struct member *member)
{
    return TG_ARRAY_APPEND(node->crowd.members, node->crowd.count, node->crowd.capacity, *member);
}

/* MEMBER is in the COUNT calls CALLS, innermost first. */
static struct tg_error *grow(struct tree *tree, const struct member *member,
                             const struct tg_stack_call *calls, size_t count)
{
    struct node *node = tree->root;
    struct tg_error *error = join(node, member);
    while (count > 1 && calls[count - 1].is_runtime) /* what starts threads and main */
        count--;
    for (; error == NULL && count > 0 && node != NULL; count--) {
        error = child_of(tree, node, &calls[count - 1], &node);
        if (error == NULL && node != NULL)
            error = join(node, member);
    }
    return error;
}

/* Whether the thread is a worker inside a parallel region: at its end nothing of the program is on its stack. */
static bool is_in_region(const struct tg_page *page, size_t process, int32_t tid)
{
    const struct tg_openmp_worker *worker = tg_end_words_worker(&page->words, process, tid);
    return worker != NULL && worker->n_places > 0;
}

/* Takes STACK unless no code of the program is on it: helper threads of libraries, launchers, workers without work. */
static struct tg_error *take_stack(const struct tg_page *page, struct tree *tree,
                                   const struct tg_last_stack *stack)
{
    const struct tg_stack_model *stacks = page->words.stacks;
    struct calls *calls = calloc(1, sizeof *calls);
    if (calls == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    if (stack->count > 0 &&
        (tg_stack_place_find(stacks, stack).is_known || is_in_region(page, stack->process, stack->tid))) {
        tg_stack_each_call(stacks, stack, take_call, calls);
        error = grow(tree, &(struct member){stack->process, stack->tid}, calls->of, calls->count);
    }
    free(calls);
    return error;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
    if (x->crowd.count != y->crowd.count)
        return x->crowd.count > y->crowd.count ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* A chain of calls that the same threads are in is one line each, without depth: JSON is nested 32 deep at most. So the tree
 * is a list of its nodes with their depths. */
static struct tg_error *write_node(const struct tg_page *page, struct node *node, unsigned depth,
                                   struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "depth", depth);
    tg_json_member_string(json, "text", node->text);
    if (node->line != 0) {
        tg_json_member_string(json, "file", node->file);
        tg_json_member_unsigned(json, "line", node->line);
    }
    tg_json_member_bool(json, "runtime", node->is_runtime);
    struct tg_error *error = write_who(page, &node->crowd, json);
    tg_json_end_object(json);
    if (node->n_children > 1)
        qsort(node->children, node->n_children, sizeof(struct node *), compare_nodes);
    for (size_t i = 0; error == NULL && i < node->n_children; i++)
        error = write_node(page, node->children[i], depth + 1, json);
    return error;
}

static bool has_program(const struct tg_page_stack *stack)
{
    for (size_t i = 0; i < stack->n_calls; i++)
        if (!stack->calls[i].is_runtime && !stack->calls[i].is_signal)
            return true;
    return false;
}

static struct tg_error *write_tree(const struct tg_page *page, struct tg_json *json)
{
    const struct tg_stack_model *stacks = page->words.stacks;
    struct tree tree = {.root = calloc(1, sizeof *tree.root)};
    struct tg_error *error = tree.root == NULL ? tg_error_no_memory() : NULL;
    uint64_t latest_ns = 0;
    for (size_t i = 0; error == NULL && i < page->n_stopped; i++) {
        const struct tg_page_stack *stack = &page->stopped[i];
        error = has_program(stack) || is_in_region(page, stack->process, stack->tid)
                    ? grow(&tree, &(struct member){stack->process, stack->tid}, stack->calls, stack->n_calls)
                    : NULL;
    }
    for (size_t i = 0;
         error == NULL && page->n_stopped == 0 && stacks != NULL && i < tg_stack_model_count(stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(stacks, i);
        latest_ns = stack->time_ns > latest_ns ? stack->time_ns : latest_ns;
        error = take_stack(page, &tree, stack);
    }
    if (error == NULL && latest_ns != 0)
        tg_page_member_moment(page, json, "stacks_at", latest_ns);
    tg_json_key(json, "tree");
    tg_json_begin_array(json);
    if (error == NULL && tree.root->n_children > 1)
        qsort(tree.root->children, tree.root->n_children, sizeof(struct node *), compare_nodes);
    for (size_t i = 0; error == NULL && i < tree.root->n_children; i++)
        error = write_node(page, tree.root->children[i], 0, json);
    tg_json_end_array(json);
    tg_json_member_bool(json, "tree_is_cut", tree.is_cut || page->stopped_is_cut);
    destroy(tree.root);
    return error;
}

struct tg_error *tg_page_stacks(const struct tg_page *page, const char *query, struct tg_json *json)
{
    (void)query;
    struct tg_error *error = write_places(page, json);
    return error == NULL ? write_tree(page, json) : error;
}
