#include "analyzer/sequence/builder.h"

#include "analyzer/sequence/families.h"
#include "analyzer/sequence/task_sum.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>

static struct tg_error *add_ranks(struct tg_sequence_builder *builder)
{
    struct tg_error *error = NULL;
    builder->jobs = calloc(builder->options.n_lanes + 1, sizeof(struct tg_sequence_team *));
    if (builder->jobs == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < builder->options.n_lanes; i++) {
        struct sequence_worker *worker;
        struct tg_sequence_lane lane = builder->options.lanes[i];
        while (error == NULL && builder->n_jobs <= lane.nth_job) {
            error =
                tg_sequence_team_create(0, builder->options.from_ns, true, &builder->jobs[builder->n_jobs]);
            builder->n_jobs += error == NULL;
        }
        if (error == NULL && lane.job != NULL)
            error = tg_string_pool_intern(&builder->made->names, lane.job, &lane.job);
        if (error == NULL)
            error = sequence_worker_add(builder, &lane, &worker);
        if (error != NULL)
            return error;
        worker->job = builder->jobs[lane.nth_job];
        error = tg_sequence_team_add(worker->job, worker->lane);
        while (error == NULL && builder->n_ranks <= lane.process)
            error = TG_ARRAY_APPEND(builder->ranks, builder->n_ranks, builder->rank_capacity, NULL);
        if (error == NULL)
            builder->ranks[lane.process] = worker;
    }
    return error;
}

struct tg_error *tg_sequence_builder_create(const struct tg_sequence_options *options,
                                            struct tg_sequence_builder **builder)
{
    struct tg_sequence_builder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->made = calloc(1, sizeof *made->made);
    struct tg_error *error = made->made == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        made->made->by_rank = options->by_rank;
    if (error == NULL)
        error = options->by_rank ? sequence_rank_create(made) : sequence_openmp_create(made);
    if (error == NULL)
        error = sequence_mpi_create(made);
    if (error == NULL && options->by_rank)
        error = add_ranks(made);
    if (error != NULL) {
        tg_sequence_builder_destroy(made);
        return error;
    }
    *builder = made;
    return NULL;
}

void tg_sequence_builder_destroy(struct tg_sequence_builder *builder)
{
    if (builder == NULL)
        return;
    struct sequence_region *region, *next_region;
    HASH_ITER (hh, builder->regions, region, next_region)
        sequence_region_destroy(builder, region);
    struct sequence_task *task, *next_task;
    HASH_ITER (hh, builder->tasks, task, next_task) {
        HASH_DEL(builder->tasks, task);
        free(task);
    }
    struct sequence_comm *comm, *next_comm;
    HASH_ITER (hh, builder->comms, comm, next_comm) {
        HASH_DEL(builder->comms, comm);
        free(comm);
    }
    HASH_CLEAR(hh, builder->live);
    for (size_t i = 0; builder->workers != NULL && i < builder->made->n_lanes; i++)
        sequence_worker_destroy(builder->workers[i]);
    free(builder->workers);
    free(builder->ranks);
    for (size_t i = 0; i < builder->n_jobs; i++)
        tg_sequence_team_destroy(builder->jobs[i]);
    free(builder->jobs);
    tg_sequence_list_deinit(&builder->found);
    tg_openmp_model_destroy(builder->openmp);
    tg_mpi_model_destroy(builder->mpi);
    tg_sequence_destroy(builder->made);
    free(builder);
}

struct tg_error *tg_sequence_builder_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                          size_t process)
{
    if (!builder->options.by_rank && process != builder->options.process)
        return NULL;
    builder->now_ns = event->time_ns;
    if (event->time_ns > builder->made->last_ns)
        builder->made->last_ns = event->time_ns;
    builder->made->events++;
    struct tg_error *error = NULL;
    if (!builder->options.by_rank)
        error = sequence_openmp_feed(builder, event, process);
    return error != NULL ? error : sequence_mpi_feed(builder, event, process);
}

/* ---- the end */

static bool is_region(const struct tg_sequence_node *node)
{
    return node->kind == TG_SEQUENCE_REGION;
}

/* Keeps the open items of LIST; where none is open, the last region and everything after it. */
static void keep_last_state(struct tg_sequence_list *list)
{
    size_t keep = list->count;
    for (size_t i = list->count; i-- > 0;)
        if (list->items[i]->is_open && list->items[i]->kind != TG_SEQUENCE_HERE)
            keep = i;
    for (size_t i = list->count; keep == list->count && i-- > 0;)
        if (is_region(list->items[i]) || list->items[i]->kind == TG_SEQUENCE_GROUP ||
            list->items[i]->kind == TG_SEQUENCE_PHASE)
            keep = i;
    if (keep == list->count)
        keep = 0;
    struct tg_sequence_list kept = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (i < keep) {
            list->weight -= list->items[i]->weight;
            tg_sequence_node_destroy(list->items[i]);
        } else {
            list->items[kept.count++] = list->items[i];
        }
    }
    list->count = kept.count;
}

/* Moves what LISTS have to LIST, in the order of time: what one job does together says nothing of another one. */
static struct tg_error *interleave(struct tg_sequence_list *lists, size_t count,
                                   struct tg_sequence_list *list)
{
    size_t *next = calloc(count + 1, sizeof *next);
    struct tg_error *error = next == NULL ? tg_error_no_memory() : NULL;
    for (size_t first = 0; error == NULL && first < count;) {
        first = count;
        for (size_t i = 0; i < count; i++)
            if (next[i] < lists[i].count && (first == count || lists[i].items[next[i]]->begin_ns <
                                                                   lists[first].items[next[first]]->begin_ns))
                first = i;
        if (first == count)
            break;
        struct tg_sequence_node **node = &lists[first].items[next[first]++];
        error = tg_sequence_list_append(list, *node);
        *node = NULL;
    }
    free(next);
    return error;
}

static struct tg_error *collect_jobs(struct tg_sequence_builder *builder, size_t keep,
                                     struct tg_sequence_list *list)
{
    struct tg_sequence_list *lists = calloc(builder->n_jobs + 1, sizeof *lists);
    struct tg_error *error = lists == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < builder->n_jobs; i++) {
        builder->made->left_out += tg_sequence_team_left_out(builder->jobs[i]);
        error = tg_sequence_team_finish(builder->jobs[i], false, builder->now_ns, keep, NULL, &lists[i]);
    }
    if (error == NULL && builder->n_jobs == 1) {
        *list = lists[0];
        lists[0] = (struct tg_sequence_list){0};
    } else if (error == NULL) {
        error = interleave(lists, builder->n_jobs, list);
    }
    for (size_t i = 0; lists != NULL && i < builder->n_jobs; i++)
        tg_sequence_list_deinit(&lists[i]);
    free(lists);
    return error;
}

static struct tg_error *collect(struct tg_sequence_builder *builder, struct tg_sequence_list *list)
{
    struct tg_sequence *made = builder->made;
    bool all = builder->options.all || builder->options.from_ns != 0;
    if (builder->options.by_rank)
        return collect_jobs(builder, all ? 0 : TG_SEQUENCE_KEPT_PHASES, list);
    struct tg_sequence_list *roots = calloc(made->n_lanes + 1, sizeof *roots);
    if (roots == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < made->n_lanes; i++) {
        roots[i] = builder->workers[i]->root;
        builder->workers[i]->root = (struct tg_sequence_list){0};
        if (!all)
            keep_last_state(&roots[i]);
    }
    struct tg_error *error = tg_sequence_merge(roots, made->n_lanes, list);
    for (size_t i = 0; i < made->n_lanes; i++)
        tg_sequence_list_deinit(&roots[i]);
    free(roots);
    return error;
}

struct tg_error *tg_sequence_builder_finish(struct tg_sequence_builder *builder,
                                            struct tg_sequence **sequence)
{
    struct tg_error *error = sequence_end_everything(builder);
    uint64_t first_ns;
    const char *first;
    if (error == NULL && builder->options.team != 0) {
        if (!builder->has_found)
            return tg_error_create(TG_ERROR_NOT_FOUND, "no region %llu in this part of the trace",
                                   (unsigned long long)builder->options.team);
        builder->made->list = builder->found;
        builder->found = (struct tg_sequence_list){0};
    } else if (error == NULL) {
        error = collect(builder, &builder->made->list);
    }
    if (error == NULL)
        error = tg_sequence_sum_tasks(&builder->made->list);
    if (error == NULL)
        error = sequence_mpi_mark_lost(builder);
    if (error != NULL)
        return error;
    HASH_CLEAR(hh, builder->live);
    for (size_t i = 0; i < builder->made->n_lanes; i++)
        sequence_worker_destroy(builder->workers[i]);
    free(builder->workers);
    builder->workers = NULL;
    if (builder->openmp != NULL)
        builder->made->impossible = tg_openmp_model_impossible(builder->openmp, &first_ns, &first);
    builder->made->impossible += tg_mpi_model_impossible(builder->mpi);
    *sequence = builder->made;
    builder->made = NULL;
    return NULL;
}
