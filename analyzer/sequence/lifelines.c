#include "analyzer/sequence/lifelines.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

void sequence_worker_destroy(struct sequence_worker *worker)
{
    for (size_t i = 0; i < worker->n_frames; i++)
        tg_sequence_node_destroy(worker->frames[i].node);
    free(worker->frames);
    tg_sequence_node_destroy(worker->copied);
    tg_sequence_list_deinit(&worker->received);
    tg_sequence_list_deinit(&worker->root);
    free(worker);
}

void sequence_region_destroy(struct tg_sequence_builder *builder, struct sequence_region *region)
{
    HASH_DEL(builder->regions, region);
    tg_sequence_team_destroy(region->team);
    free(region);
}

struct tg_error *sequence_worker_add(struct tg_sequence_builder *builder, const struct tg_sequence_lane *lane,
                                     struct sequence_worker **worker)
{
    struct tg_sequence *made = builder->made;
    struct tg_error *error = TG_ARRAY_RESERVE(made->lanes, builder->lane_capacity, made->n_lanes + 1);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(builder->workers, builder->worker_capacity, made->n_lanes + 1);
    if (error != NULL)
        return error;
    struct sequence_worker *added = calloc(1, sizeof *added);
    if (added == NULL)
        return tg_error_no_memory();
    added->lane = (uint32_t)made->n_lanes;
    added->tid = lane->tid;
    added->process = lane->process;
    added->waits_for = TG_SEQUENCE_NO_LANE;
    builder->workers[made->n_lanes] = added;
    made->lanes[made->n_lanes++] = *lane;
    *worker = added;
    return NULL;
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
        error = TG_HASH_ADD(hh, builder->live, tid, found);
    } else if (found == NULL) {
        const struct tg_sequence_lane lane = {
            .process = builder->options.process, .tid = tid, .number = number, .rank = -1, .is_alive = true};
        error = sequence_worker_add(builder, &lane, &found);
        if (error == NULL)
            error = TG_HASH_ADD(hh, builder->live, tid, found);
    }
    if (error != NULL)
        return error;
    if (number != 0)
        builder->made->lanes[found->lane].number = number;
    found->last_ns = builder->now_ns;
    *worker = found;
    return NULL;
}

/* ---- what lifelines do */

/* The list for things that WORKER does inside its first COUNT frames; NULL: they are dropped. */
static struct tg_sequence_list *list_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                        size_t count)
{
    if (count == 0)
        return builder->options.by_rank ? tg_sequence_team_list(worker->job, worker->lane) : &worker->root;
    struct sequence_frame *frame = &worker->frames[count - 1];
    if (frame->node != NULL)
        return &frame->node->children;
    return frame->region == NULL ? NULL : tg_sequence_team_list(frame->region->team, worker->lane);
}

/* The same for NODE. */
static struct tg_sequence_list *list_for(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                         size_t count, const struct tg_sequence_node *node)
{
    const struct sequence_region *region = count == 0 ? NULL : worker->frames[count - 1].region;
    bool is_of_team = region != NULL && worker->frames[count - 1].node == NULL;
    return is_of_team && node->kind == TG_SEQUENCE_TASK && node->from != TG_SEQUENCE_NO_LANE
               ? tg_sequence_team_list_for_task(region->team, worker->lane, node->from,
                                                node->parts[0].asked_ns)
               : list_at(builder, worker, count);
}

const struct tg_sequence_list *sequence_list_of(struct tg_sequence_builder *builder,
                                                struct sequence_worker *worker)
{
    return list_at(builder, worker, 0);
}

struct tg_error *sequence_put_received(struct tg_sequence_builder *builder, struct sequence_worker *worker)
{
    struct tg_sequence_list *list = worker->received.count == 0 ? NULL : list_at(builder, worker, 0);
    if (list != NULL)
        return tg_sequence_list_append_all(list, &worker->received);
    tg_sequence_list_deinit(&worker->received); /* too far ahead; counted */
    return NULL;
}

struct tg_error *sequence_put_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                 size_t count, struct tg_sequence_node *node)
{
    struct tg_error *error = count == 0 ? sequence_put_received(builder, worker) : NULL;
    if (error != NULL) {
        tg_sequence_node_destroy(node);
        return error;
    }
    struct tg_sequence_list *list = list_for(builder, worker, count, node);
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

struct tg_error *sequence_put_copied(struct tg_sequence_builder *builder, struct sequence_worker *worker)
{
    struct tg_sequence_node *node = worker->copied;
    worker->copied = NULL;
    return node == NULL ? NULL : sequence_put(builder, worker, node);
}

struct tg_error *sequence_push(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                               struct tg_sequence_node *node, struct sequence_frame **frame)
{
    (void)builder;
    struct tg_error *error = TG_ARRAY_APPEND(worker->frames, worker->n_frames, worker->capacity,
                                             (struct sequence_frame){.node = node});
    if (error != NULL)
        tg_sequence_node_destroy(node);
    else
        *frame = &worker->frames[worker->n_frames - 1];
    return error;
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
        if (end_ns != 0 && !worker->frames[at - 1].is_join) /* an end of the worker's own may come yet */
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
    made->is_cancelled = region->is_cancelled;
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
    sequence_region_destroy(builder, region);
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
