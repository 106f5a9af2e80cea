#include "analyzer/sequence/sequence_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life */

static struct tg_error *add_ranks(struct tg_sequence_builder *builder);

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

static void destroy_worker(struct sequence_worker *worker)
{
    for (size_t i = 0; i < worker->n_frames; i++)
        tg_sequence_node_destroy(worker->frames[i].node);
    free(worker->frames);
    tg_sequence_list_deinit(&worker->root);
    free(worker);
}

static void destroy_region(struct tg_sequence_builder *builder, struct sequence_region *region)
{
    HASH_DEL(builder->regions, region);
    tg_sequence_team_destroy(region->team);
    free(region);
}

void tg_sequence_builder_destroy(struct tg_sequence_builder *builder)
{
    if (builder == NULL)
        return;
    struct sequence_region *region, *next_region;
    HASH_ITER (hh, builder->regions, region, next_region)
        destroy_region(builder, region);
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
        destroy_worker(builder->workers[i]);
    free(builder->workers);
    tg_sequence_team_destroy(builder->job);
    tg_sequence_list_deinit(&builder->found);
    tg_openmp_model_destroy(builder->openmp);
    tg_mpi_model_destroy(builder->mpi);
    tg_sequence_destroy(builder->made);
    free(builder);
}

void tg_sequence_destroy(struct tg_sequence *sequence)
{
    if (sequence == NULL)
        return;
    tg_sequence_list_deinit(&sequence->list);
    tg_string_pool_deinit(&sequence->names);
    free(sequence->lanes);
    free(sequence);
}

/* ---- lifelines */

static struct tg_error *add_worker(struct tg_sequence_builder *builder, const struct tg_sequence_lane *lane,
                                   struct sequence_worker **worker)
{
    struct tg_sequence *made = builder->made;
    if (made->n_lanes == builder->lane_capacity) {
        size_t capacity = made->n_lanes == 0 ? 16 : 2 * made->n_lanes;
        struct tg_sequence_lane *lanes = reallocarray(made->lanes, capacity, sizeof *lanes);
        if (lanes == NULL)
            return tg_error_no_memory();
        made->lanes = lanes;
        struct sequence_worker **workers =
            reallocarray(builder->workers, capacity, sizeof(struct sequence_worker *));
        if (workers == NULL)
            return tg_error_no_memory();
        builder->workers = workers;
        builder->lane_capacity = capacity;
    }
    struct sequence_worker *added = calloc(1, sizeof *added);
    if (added == NULL)
        return tg_error_no_memory();
    added->lane = (uint32_t)made->n_lanes;
    added->tid = lane->tid;
    added->process = lane->process;
    builder->workers[made->n_lanes] = added;
    made->lanes[made->n_lanes++] = *lane;
    *worker = added;
    return NULL;
}

static struct tg_error *make_live(struct tg_sequence_builder *builder, struct sequence_worker *worker)
{
    struct sequence_worker *found;
    HASH_ADD(hh, builder->live, tid, sizeof worker->tid, worker);
    HASH_FIND(hh, builder->live, &worker->tid, sizeof worker->tid, found);
    return found == worker ? NULL : tg_error_no_memory();
}

/* The lifeline of the worker of that number in the program before, which is this one's from now on; NULL:
 * there was none. */
static struct sequence_worker *find_replaced(struct tg_sequence_builder *builder, int32_t tid,
                                             uint64_t number)
{
    for (size_t i = 0; i < builder->made->n_lanes; i++) {
        struct sequence_worker *worker = builder->workers[i];
        const struct tg_sequence_lane *lane = &builder->made->lanes[i];
        if (worker->is_replaced && (number != 0 ? lane->number == number : lane->tid == tid))
            return worker;
    }
    return NULL;
}

struct tg_error *sequence_worker_get(struct tg_sequence_builder *builder, int32_t tid, uint64_t number,
                                     struct sequence_worker **worker)
{
    struct sequence_worker *found;
    struct tg_error *error = NULL;
    HASH_FIND(hh, builder->live, &tid, sizeof tid, found);
    if (found == NULL && builder->has_replaced && (found = find_replaced(builder, tid, number)) != NULL) {
        found->is_replaced = found->has_died = false;
        found->tid = builder->made->lanes[found->lane].tid = tid;
        builder->made->lanes[found->lane].is_alive = true;
        error = make_live(builder, found);
    } else if (found == NULL) {
        const struct tg_sequence_lane lane = {
            .process = builder->options.process, .tid = tid, .number = number, .rank = -1, .is_alive = true};
        error = add_worker(builder, &lane, &found);
        if (error == NULL)
            error = make_live(builder, found);
    }
    if (error != NULL)
        return error;
    if (number != 0)
        builder->made->lanes[found->lane].number = number;
    found->last_ns = builder->now_ns;
    *worker = found;
    return NULL;
}

static struct tg_error *add_ranks(struct tg_sequence_builder *builder)
{
    struct tg_error *error = tg_sequence_team_create(0, builder->options.from_ns, true, &builder->job);
    for (size_t i = 0; error == NULL && i < builder->options.n_lanes; i++) {
        struct sequence_worker *worker;
        error = add_worker(builder, &builder->options.lanes[i], &worker);
        if (error == NULL)
            error = tg_sequence_team_add(builder->job, worker->lane);
        if (error == NULL)
            HASH_ADD(hh, builder->live, process, sizeof worker->process, worker);
    }
    return error;
}

/* ---- what lifelines do */

/* Where what WORKER does inside of its first COUNT frames goes; NULL: nowhere. */
static struct tg_sequence_list *list_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                        size_t count)
{
    if (count == 0)
        return builder->options.by_rank ? tg_sequence_team_list(builder->job, worker->lane) : &worker->root;
    struct sequence_frame *frame = &worker->frames[count - 1];
    if (frame->node != NULL)
        return &frame->node->children;
    return frame->region == NULL ? NULL : tg_sequence_team_list(frame->region->team, worker->lane);
}

struct tg_error *sequence_put_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                 size_t count, struct tg_sequence_node *node)
{
    struct tg_sequence_list *list = list_at(builder, worker, count);
    bool is_before = node->end_ns != 0 && node->end_ns < builder->options.from_ns;
    if (list == NULL || is_before) {
        tg_sequence_node_destroy(node);
        return NULL;
    }
    return tg_sequence_list_append(list, node);
}

struct tg_error *sequence_put(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                              struct tg_sequence_node *node)
{
    return sequence_put_at(builder, worker, worker->n_frames, node);
}

struct tg_error *sequence_push(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                               struct tg_sequence_node *node, struct sequence_frame **frame)
{
    (void)builder;
    if (worker->n_frames == worker->capacity) {
        size_t capacity = worker->capacity == 0 ? 8 : 2 * worker->capacity;
        struct sequence_frame *frames = reallocarray(worker->frames, capacity, sizeof *frames);
        if (frames == NULL) {
            tg_sequence_node_destroy(node);
            return tg_error_no_memory();
        }
        worker->frames = frames;
        worker->capacity = capacity;
    }
    *frame = &worker->frames[worker->n_frames++];
    **frame = (struct sequence_frame){.node = node};
    return NULL;
}

struct tg_error *sequence_close(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                size_t index, uint64_t end_ns)
{
    struct tg_sequence_node *node = worker->frames[index].node;
    memmove(&worker->frames[index], &worker->frames[index + 1],
            (--worker->n_frames - index) * sizeof *worker->frames);
    if (node == NULL)
        return NULL;
    tg_sequence_node_finish(node, end_ns);
    return sequence_put_at(builder, worker, index, node);
}

/* ---- the ends of regions */

/* LANE's frames down to that of REGION, which goes too. */
static struct tg_error *unwind(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                               const struct sequence_region *region, uint64_t end_ns)
{
    struct tg_error *error = NULL;
    size_t at = worker->n_frames;
    while (at > 0 && worker->frames[at - 1].region != region)
        at--;
    if (at == 0)
        return NULL;
    while (error == NULL && worker->n_frames > at)
        error = sequence_close(builder, worker, worker->n_frames - 1, end_ns);
    if (error == NULL) {
        if (end_ns != 0) /* its own end may come yet */
            worker->frames[at - 1].region = NULL;
        else
            worker->n_frames--;
    }
    return error;
}

static struct tg_error *make_region(struct tg_sequence_builder *builder, struct sequence_region *region,
                                    bool is_over, uint64_t time_ns, struct tg_sequence_node **node)
{
    const struct tg_sequence_barrier join = {.what = TG_OMP_SYNC_BARRIER_JOIN, .code = region->code};
    size_t keep = builder->options.all || builder->options.from_ns != 0 ? 0 : TG_SEQUENCE_KEPT_PHASES;
    struct tg_sequence_node *made =
        tg_sequence_node_create(TG_SEQUENCE_REGION, TG_SEQUENCE_NO_LANE, region->begin_ns);
    if (made == NULL)
        return tg_error_no_memory();
    made->team = region->id;
    made->code = region->code;
    made->body = region->body;
    made->from = region->owner;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_sequence_team_member_count(region->team); i++) {
        const struct tg_sequence_part part = {.lane = tg_sequence_team_lane(region->team, i),
                                              .begin_ns = region->begin_ns,
                                              .end_ns = is_over ? time_ns : 0};
        error = tg_sequence_node_add_part(made, &part);
    }
    if (error == NULL)
        error = tg_sequence_team_finish(region->team, is_over, time_ns, keep, &join, &made->children);
    if (error != NULL) {
        tg_sequence_node_destroy(made);
        return error;
    }
    builder->made->left_out += tg_sequence_team_left_out(region->team);
    tg_sequence_node_finish(made, is_over ? time_ns : 0);
    *node = made;
    return NULL;
}

struct tg_error *sequence_end_region(struct tg_sequence_builder *builder, struct sequence_region *region,
                                     bool is_over, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    uint32_t owner = region->owner;
    for (size_t i = 0; error == NULL && i < tg_sequence_team_member_count(region->team); i++) {
        uint32_t lane = tg_sequence_team_lane(region->team, i);
        error = unwind(builder, builder->workers[lane], region, is_over ? time_ns : 0);
        if (owner == TG_SEQUENCE_NO_LANE)
            owner = lane;
    }
    struct tg_sequence_node *node = NULL;
    if (error == NULL)
        error = make_region(builder, region, is_over, time_ns, &node);
    bool is_wanted = builder->options.team != 0 && region->id == builder->options.team;
    destroy_region(builder, region);
    if (error != NULL)
        return error;
    if (is_wanted) {
        tg_sequence_list_deinit(&builder->found);
        builder->has_found = true;
        return tg_sequence_list_append(&builder->found, node);
    }
    bool is_unwanted =
        builder->options.team != 0 && owner != TG_SEQUENCE_NO_LANE && builder->workers[owner]->n_frames == 0;
    if (owner == TG_SEQUENCE_NO_LANE || is_unwanted) {
        tg_sequence_node_destroy(node); /* nobody was in it; or another one was asked for */
        return NULL;
    }
    return sequence_put(builder, builder->workers[owner], node);
}

/* ---- events */

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

static struct tg_error *put_here(struct tg_sequence_builder *builder, struct sequence_worker *worker)
{
    struct sequence_frame *top = worker->n_frames == 0 ? NULL : &worker->frames[worker->n_frames - 1];
    if (top != NULL && top->node == NULL &&
        (top->region == NULL || tg_sequence_team_waits(top->region->team, worker->lane)))
        return NULL; /* the barrier tells */
    if (worker->collective != 0 || (top == NULL && worker->joins > 0))
        return NULL; /* so does the collective, or the end of the region */
    if (top == NULL && !worker->met_region && worker->root.count == 0 && !builder->options.by_rank)
        return NULL; /* it waits in the pool for a region */
    bool has_died = worker->has_died || !builder->made->lanes[worker->lane].is_alive;
    if (top == NULL && has_died && !builder->options.by_rank)
        return NULL; /* it was through with everything */
    for (size_t i = worker->n_frames; i-- > 0;)
        if (worker->frames[i].node == NULL) {
            if (worker->frames[i].region != NULL)
                tg_sequence_team_helps(worker->frames[i].region->team, worker->lane);
            break;
        }
    struct tg_sequence_node *here = tg_sequence_node_create(TG_SEQUENCE_HERE, worker->lane, worker->last_ns);
    if (here == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    here->code = worker->last_code;
    here->what = top == NULL ? TG_SEQUENCE_OUTSIDE : TG_SEQUENCE_INSIDE;
    here->is_across = builder->options.by_rank;
    here->name = top == NULL && builder->options.by_rank ? worker->last_call : NULL;
    here->has_died = has_died;
    if (top != NULL && top->node != NULL) {
        const struct tg_sequence_node *node = top->node;
        if (node->kind == TG_SEQUENCE_SYNC ||
            (node->kind == TG_SEQUENCE_MUTEX && node->parts[0].begin_ns == 0))
            here->what = TG_SEQUENCE_WAITING;
        if (node->kind == TG_SEQUENCE_CALL) {
            here->what = TG_SEQUENCE_IN_CALL;
            here->name = node->name;
            here->peer = node->peer;
            here->tag = node->tag;
        }
        if (node->code != 0 && !here->is_across)
            here->code = node->code;
        here->begin_ns = node->begin_ns;
        if (node->kind == TG_SEQUENCE_REGION)
            error = sequence_rank_state(builder, worker, &here->name);
    }
    tg_sequence_node_finish(here, 0);
    if (error == NULL)
        return sequence_put(builder, worker, here);
    tg_sequence_node_destroy(here);
    return error;
}

/* Whoever met a region and has not begun in it is at its beginning. */
static struct tg_error *put_owner(struct tg_sequence_builder *builder, struct sequence_region *region)
{
    struct sequence_frame *frame;
    for (size_t i = 0; i < tg_sequence_team_member_count(region->team); i++)
        if (tg_sequence_team_lane(region->team, i) == region->owner)
            return NULL;
    struct tg_error *error = tg_sequence_team_add(region->team, region->owner);
    if (error == NULL)
        error = sequence_push(builder, builder->workers[region->owner], NULL, &frame);
    if (error == NULL) {
        frame->region = region;
        frame->id = region->id;
    }
    return error;
}

/* Unwinds everything: inner regions before those around them. */
static struct tg_error *end_everything(struct tg_sequence_builder *builder)
{
    struct tg_error *error = NULL;
    struct sequence_region *begun, *next;
    HASH_ITER (hh, builder->regions, begun, next)
        if (error == NULL && begun->owner != TG_SEQUENCE_NO_LANE)
            error = put_owner(builder, begun);
    for (size_t i = 0; error == NULL && i < builder->made->n_lanes; i++)
        error = put_here(builder, builder->workers[i]);
    while (error == NULL && builder->regions != NULL) {
        struct sequence_region *innermost = builder->regions, *region;
        for (region = builder->regions; region != NULL; region = region->hh.next)
            if (region->level > innermost->level)
                innermost = region;
        error = sequence_end_region(builder, innermost, false, builder->now_ns);
    }
    for (size_t i = 0; error == NULL && i < builder->made->n_lanes; i++)
        while (error == NULL && builder->workers[i]->n_frames > 0)
            error = sequence_close(builder, builder->workers[i], builder->workers[i]->n_frames - 1, 0);
    return error;
}

struct tg_error *sequence_end_program(struct tg_sequence_builder *builder, const struct tg_event *event)
{
    struct sequence_worker *caller = NULL;
    struct tg_sequence_node *node = NULL;
    for (size_t i = 0; i < builder->made->n_lanes; i++) {
        builder->workers[i]->has_died = true;
        if (!builder->workers[i]->is_replaced && builder->workers[i]->tid == event->exec.former_tid)
            caller = builder->workers[i];
    }
    struct tg_error *error = end_everything(builder);
    for (size_t i = 0; error == NULL && i < builder->made->n_lanes; i++) {
        struct sequence_worker *worker = builder->workers[i];
        if (!builder->options.all && builder->options.from_ns == 0)
            tg_sequence_list_deinit(&worker->root); /* no part of the last state */
        worker->is_replaced = true;
        worker->met_region = false;
        worker->joins = 0;
        worker->last_code = 0;
        builder->made->lanes[i].is_alive = false;
    }
    HASH_CLEAR(hh, builder->live);
    builder->has_replaced = true;
    if (error != NULL || caller == NULL || caller->root.count == 0)
        return error;
    char name[256];
    snprintf(name, sizeof name, "exec %s", event->exec.path);
    node = tg_sequence_node_create(TG_SEQUENCE_CALL, caller->lane, event->time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    error = tg_string_pool_intern(&builder->made->names, name, &node->name);
    if (error != NULL) {
        tg_sequence_node_destroy(node);
        return error;
    }
    tg_sequence_node_finish(node, event->time_ns);
    return tg_sequence_list_append(&caller->root, node);
}

static bool is_region(const struct tg_sequence_node *node)
{
    return node->kind == TG_SEQUENCE_REGION;
}

/* Of LIST only what is still going on; where nothing is, the last region and what came after it. */
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

static struct tg_error *collect(struct tg_sequence_builder *builder, struct tg_sequence_list *list)
{
    struct tg_sequence *made = builder->made;
    bool all = builder->options.all || builder->options.from_ns != 0;
    if (builder->options.by_rank) {
        builder->made->left_out += tg_sequence_team_left_out(builder->job);
        return tg_sequence_team_finish(builder->job, false, builder->now_ns,
                                       all ? 0 : TG_SEQUENCE_KEPT_PHASES, NULL, list);
    }
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
    struct tg_error *error = end_everything(builder);
    uint64_t first_ns;
    const char *first;
    if (error == NULL && builder->options.team != 0) {
        if (!builder->has_found)
            return tg_error_create(TG_ERROR_NOT_FOUND, "region %llu is not in this part of the trace",
                                   (unsigned long long)builder->options.team);
        builder->made->list = builder->found;
        builder->found = (struct tg_sequence_list){0};
    } else if (error == NULL) {
        error = collect(builder, &builder->made->list);
    }
    if (error == NULL)
        error = sequence_mpi_mark_lost(builder);
    if (error != NULL)
        return error;
    HASH_CLEAR(hh, builder->live);
    for (size_t i = 0; i < builder->made->n_lanes; i++)
        destroy_worker(builder->workers[i]);
    free(builder->workers);
    builder->workers = NULL;
    if (builder->openmp != NULL)
        builder->made->impossible = tg_openmp_model_impossible(builder->openmp, &first_ns, &first);
    builder->made->impossible += tg_mpi_model_impossible(builder->mpi);
    *sequence = builder->made;
    builder->made = NULL;
    return NULL;
}
