/* The end of a diagram, or of a program: where everybody was, and all that is open closed. */
#include "analyzer/sequence/families.h"

#include <stdio.h>

/* ---- where everybody is */

/* Whether where the thread is needs no words of its own. TOP: what it is inside of, NULL nothing. */
static bool is_told(const struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                    const struct sequence_frame *top)
{
    if (top != NULL && top->node == NULL &&
        (top->region == NULL || tg_sequence_team_waits(top->region->team, worker->lane)))
        return true; /* the barrier tells */
    if ((worker->collective != 0 && !worker->is_in_cycle) || (top == NULL && worker->joins > 0))
        return true; /* so does the collective, or the end of the region */
    if (top != NULL || builder->options.by_rank)
        return false;
    bool is_in_pool = !worker->met_region && worker->root.count == 0; /* waits for a region */
    bool is_through = worker->has_died || !builder->made->lanes[worker->lane].is_alive;
    return is_in_pool || is_through;
}

/* The team that waits for the thread has it among those who are told of. */
static void help_team(const struct sequence_worker *worker)
{
    for (size_t i = worker->n_frames; i-- > 0;)
        if (worker->frames[i].node == NULL) {
            if (worker->frames[i].region != NULL)
                tg_sequence_team_helps(worker->frames[i].region->team, worker->lane);
            return;
        }
}

/* HERE is inside of NODE. */
static void describe_node(const struct tg_sequence_node *node, struct tg_sequence_node *here)
{
    if (node->kind == TG_SEQUENCE_SYNC || (node->kind == TG_SEQUENCE_MUTEX && node->parts[0].begin_ns == 0))
        here->what = TG_SEQUENCE_WAITING;
    if (node->kind == TG_SEQUENCE_CALL) {
        here->what = TG_SEQUENCE_IN_CALL;
        here->name = node->name;
        here->peer = node->peer;
        here->is_inter = node->is_inter;
        here->tag = node->tag;
        here->receives = node->receives;
        here->source = node->source;
        here->source_tag = node->source_tag;
    }
    if (node->code != 0 && !here->is_across)
        here->code = node->code;
    here->begin_ns = node->begin_ns;
}

static struct tg_error *put_here(struct tg_sequence_builder *builder, struct sequence_worker *worker)
{
    struct tg_error *error = sequence_put_copied(builder, worker);
    if (error == NULL)
        error = sequence_put_received(builder, worker);
    if (error != NULL)
        return error;
    struct sequence_frame *top = worker->n_frames == 0 ? NULL : &worker->frames[worker->n_frames - 1];
    if (is_told(builder, worker, top))
        return NULL;
    if (worker->collective != 0)
        tg_sequence_team_helps(worker->job, worker->lane); /* the arrow says that it waits */
    help_team(worker);
    struct tg_sequence_node *here = tg_sequence_node_create(TG_SEQUENCE_HERE, worker->lane, worker->last_ns);
    if (here == NULL)
        return tg_error_no_memory();
    here->code = worker->last_code;
    here->what = top == NULL ? TG_SEQUENCE_OUTSIDE : TG_SEQUENCE_INSIDE;
    here->is_across = builder->options.by_rank;
    here->to = worker->waits_for;
    here->is_cycle = worker->is_in_cycle;
    here->name = top == NULL && builder->options.by_rank ? worker->last_call : NULL;
    here->has_died = worker->has_died || !builder->made->lanes[worker->lane].is_alive;
    here->was_killed = worker->was_killed;
    if (top != NULL && top->node != NULL) {
        describe_node(top->node, here);
        if (top->node->kind == TG_SEQUENCE_REGION)
            error = sequence_rank_state(builder, worker, &here->name);
    }
    tg_sequence_node_finish(here, 0);
    if (worker->collective != 0) {
        here->what = TG_SEQUENCE_IN_CALL;
        here->name = worker->last_call;
        here->peer = here->tag = -3; /* none */
        here->receives = false;
        here->begin_ns = worker->last_ns;
    }
    if (error == NULL)
        return sequence_put(builder, worker, here);
    tg_sequence_node_destroy(here);
    return error;
}

/* Puts the thread that met REGION, and has not begun in it, at its beginning. */
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
struct tg_error *sequence_end_everything(struct tg_sequence_builder *builder)
{
    struct tg_error *error = NULL;
    struct sequence_region *begun, *next;
    HASH_ITER (hh, builder->regions, begun, next)
        if (error == NULL && begun->owner != TG_SEQUENCE_NO_LANE)
            error = put_owner(builder, begun);
    if (error == NULL)
        error = sequence_find_waits(builder);
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
    struct tg_error *error = sequence_end_everything(builder);
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
