/* Sequence diagrams: what OpenMP events say. The model tells what is entered and left. */
#include "analyzer/sequence/families.h"

#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

static bool is_barrier(uint64_t sync)
{
    return sync == TG_OMP_SYNC_BARRIER || sync == TG_OMP_SYNC_BARRIER_IMPLICIT;
}

/* ---- regions */

static struct sequence_region *find_region(const struct tg_sequence_builder *builder, uint64_t id)
{
    struct sequence_region *region;
    HASH_FIND(hh, builder->regions, &id, sizeof id, region);
    return region;
}

/* Region ID, made where its beginning was not seen. */
static struct tg_error *get_region(struct tg_sequence_builder *builder, uint64_t id,
                                   struct sequence_region **region)
{
    struct sequence_region *found = find_region(builder, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->id = id;
        found->level = 1;
        found->begin_ns = builder->now_ns;
        found->owner = TG_SEQUENCE_NO_LANE;
        struct tg_error *error = tg_sequence_team_create(0, builder->options.from_ns, false, &found->team);
        if (error != NULL) {
            free(found);
            return error;
        }
        error = TG_HASH_ADD(hh, builder->regions, id, found);
        if (error != NULL) {
            tg_sequence_team_destroy(found->team);
            free(found);
            return error;
        }
    }
    *region = found;
    return NULL;
}

static struct tg_error *begin_region(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                     const struct tg_event_omp_parallel_begin *begin)
{
    struct sequence_region *region;
    worker->met_region = true;
    if (find_region(builder, begin->new_team) != NULL)
        return NULL; /* impossible; the model counts it */
    struct tg_error *error = get_region(builder, begin->new_team, &region);
    if (error != NULL)
        return error;
    region->parent = begin->team;
    region->level = begin->level + 1;
    region->code = begin->code;
    region->body = begin->body;
    region->owner = worker->lane;
    return NULL;
}

/* A worker that goes to another region is through with those that it executed tasks at the end of. */
static void leave_joins(struct sequence_worker *worker)
{
    while (worker->n_frames > 0 && worker->frames[worker->n_frames - 1].is_join)
        worker->n_frames--;
}

/* WORKER, which is done with the body of region ID, executes a task at its end. */
static struct tg_error *rejoin_region(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                      uint64_t id)
{
    struct sequence_region *region = find_region(builder, id);
    struct sequence_frame *frame;
    if (region == NULL || !tg_sequence_team_has_ended(region->team, worker->lane))
        return NULL;
    for (size_t i = 0; i < worker->n_frames; i++)
        if (worker->frames[i].region == region)
            return NULL;
    leave_joins(worker);
    struct tg_error *error = sequence_push(builder, worker, NULL, &frame);
    if (error != NULL)
        return error;
    frame->region = region;
    frame->id = id;
    frame->is_join = true;
    return NULL;
}

static struct tg_error *enter_region(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                     const struct tg_openmp_place *place)
{
    struct sequence_region *region;
    struct sequence_frame *frame;
    leave_joins(worker);
    struct tg_error *error = get_region(builder, place->team, &region);
    if (error == NULL)
        error = tg_sequence_team_add(region->team, worker->lane);
    if (error == NULL)
        error = sequence_push(builder, worker, NULL, &frame);
    if (error != NULL)
        return error;
    if (region->owner == TG_SEQUENCE_NO_LANE && place->level > region->level)
        region->level = place->level;
    /* Entering a region twice is impossible; the model counts it, and nothing is drawn. */
    for (size_t i = 0; region != NULL && i + 1 < worker->n_frames; i++)
        if (worker->frames[i].region == region)
            region = NULL;
    frame->region = region;
    frame->id = place->team;
    return NULL;
}

static struct tg_error *leave_region(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                     const struct tg_openmp_place *place, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    size_t at = worker->n_frames;
    while (at > 0 && (worker->frames[at - 1].node != NULL || worker->frames[at - 1].id != place->team))
        at--;
    if (at == 0)
        return NULL;
    while (error == NULL && worker->n_frames > at)
        error = sequence_close(builder, worker, worker->n_frames - 1, time_ns);
    if (error != NULL)
        return error;
    struct sequence_region *region = worker->frames[at - 1].region;
    worker->n_frames--;
    if (region == NULL)
        return NULL;
    worker->joins += region->owner == worker->lane;
    return tg_sequence_team_end(region->team, worker->lane, time_ns);
}

static struct tg_error *end_region(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                   const struct tg_event *event)
{
    struct sequence_region *region = find_region(builder, event->omp_parallel_end.ended_team);
    if (worker->joins > 0)
        worker->joins--;
    return region == NULL ? NULL : sequence_end_region(builder, region, true, event->time_ns);
}

/* ---- mutexes: waiting for one and having it are one thing */

static struct tg_error *drop_wait(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                  uint64_t time_ns)
{
    if (worker->n_frames == 0 || !worker->frames[worker->n_frames - 1].has_waited)
        return NULL;
    return sequence_close(builder, worker, worker->n_frames - 1, time_ns);
}

static struct tg_error *enter_mutex(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                    const struct tg_openmp_place *place)
{
    bool waits = place->kind == TG_OPENMP_IN_MUTEX_WAIT;
    struct sequence_frame *frame = worker->n_frames == 0 ? NULL : &worker->frames[worker->n_frames - 1];
    if (frame != NULL && frame->has_waited) {
        if (!waits && frame->node->what == place->what && frame->node->id == place->id) {
            frame->has_waited = false;
            frame->node->parts[0].begin_ns = place->since_ns;
            frame->node->parts[0].role = TG_SEQUENCE_DOES;
            return NULL;
        }
        struct tg_error *error = drop_wait(builder, worker, place->since_ns);
        if (error != NULL)
            return error;
    }
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_MUTEX, worker->lane, place->since_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->what = place->what;
    node->id = place->id;
    node->code = place->code;
    node->parts[0].role = waits ? TG_SEQUENCE_WAITS : TG_SEQUENCE_DOES;
    node->parts[0].begin_ns = waits ? 0 : place->since_ns;
    node->parts[0].asked_ns = place->since_ns;
    return sequence_push(builder, worker, node, &frame);
}

/* ---- everything else that is entered and left */

static struct sequence_task *find_task(const struct tg_sequence_builder *builder, uint64_t id)
{
    struct sequence_task *task;
    HASH_FIND(hh, builder->tasks, &id, sizeof id, task);
    return task;
}

/* The lane that creates a task. The tasks of a taskloop are seen when they begin: the loop is what made them. */
static uint32_t maker_of(const struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                         const struct tg_event_omp_task_create *create)
{
    for (size_t i = 0; create->seen == TG_OMP_INFERRED && i < builder->made->n_lanes; i++)
        for (size_t at = 0; at < builder->workers[i]->n_frames; at++) {
            const struct tg_sequence_node *node = builder->workers[i]->frames[at].node;
            if (node != NULL && node->kind == TG_SEQUENCE_ZONE && node->what == TG_OMP_ZONE_TASKLOOP &&
                node->code == create->code)
                return (uint32_t)i;
        }
    return worker->lane;
}

static struct tg_error *create_task(struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                                    const struct tg_event_omp_task_create *create)
{
    if (HASH_COUNT(builder->tasks) >= TG_SEQUENCE_MAX_TASKS || find_task(builder, create->task) != NULL)
        return NULL;
    struct sequence_task *task;
    struct tg_error *error = TG_HASH_CREATE(hh, builder->tasks, id, &create->task, task);
    if (error != NULL)
        return error;
    task->body = create->body;
    task->code = create->code;
    task->creator = maker_of(builder, worker, create);
    task->created_ns = builder->now_ns;
    task->is_inner = create->parent_task != 0;
    return NULL;
}

static void end_task(struct tg_sequence_builder *builder, const struct tg_event_omp_task_end *end)
{
    struct sequence_task *task = end->how == TG_OMP_TASK_SUSPENDED ? NULL : find_task(builder, end->task);
    if (task == NULL)
        return;
    HASH_DEL(builder->tasks, task);
    free(task);
}

static struct tg_sequence_node *node_of(const struct tg_sequence_builder *builder,
                                        const struct sequence_worker *worker,
                                        const struct tg_openmp_place *place)
{
    enum tg_sequence_kind kind = place->kind == TG_OPENMP_IN_ZONE   ? TG_SEQUENCE_ZONE
                                 : place->kind == TG_OPENMP_IN_TASK ? TG_SEQUENCE_TASK
                                                                    : TG_SEQUENCE_SYNC;
    struct tg_sequence_node *node = tg_sequence_node_create(kind, worker->lane, place->since_ns);
    if (node == NULL)
        return NULL;
    node->what = place->what;
    node->code = place->code;
    node->is_inferred = place->seen == TG_OMP_INFERRED;
    if (kind == TG_SEQUENCE_ZONE && place->what == TG_OMP_ZONE_SINGLE_OTHER)
        node->parts[0].role = TG_SEQUENCE_LOOKS_ON;
    struct sequence_task *task = kind == TG_SEQUENCE_TASK ? find_task(builder, place->id) : NULL;
    node->tasks = kind == TG_SEQUENCE_TASK && (task == NULL || !task->has_begun);
    if (task != NULL) {
        node->body = task->body;
        if (task->code != 0) /* not where it runs: that is any wait of any thread */
            node->code = task->code;
        node->from = node->parts[0].from = task->creator;
        node->parts[0].asked_ns = task->created_ns;
        node->is_inner = task->is_inner;
        task->has_begun = true;
    }
    return node;
}

static bool is_single(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_ZONE &&
           (place->what == TG_OMP_ZONE_SINGLE || place->what == TG_OMP_ZONE_SINGLE_OTHER);
}

/* libgomp tells who executes a single with copyprivate behind the wait for what is copied: the executor has
 * not waited for anything, and the others' wait is for its end. */
static struct tg_error *settle_copied(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                      const struct tg_openmp_place *place)
{
    if (!is_single(place))
        return sequence_put_copied(builder, worker);
    if (place->what == TG_OMP_ZONE_SINGLE) {
        tg_sequence_node_destroy(worker->copied);
        worker->copied = NULL;
    }
    return NULL;
}

static struct tg_error *entered(void *context, const struct tg_openmp_worker *who,
                                const struct tg_openmp_place *place)
{
    struct tg_sequence_builder *builder = context;
    struct sequence_worker *worker;
    struct sequence_frame *frame;
    struct tg_error *error = sequence_worker_get(builder, who->tid, who->number, &worker);
    if (error == NULL)
        error = settle_copied(builder, worker, place);
    if (error == NULL && place->kind != TG_OPENMP_IN_MUTEX)
        error = drop_wait(builder, worker, place->since_ns);
    if (error != NULL)
        return error;
    if (place->kind == TG_OPENMP_IN_REGION)
        return enter_region(builder, worker, place);
    if (place->kind == TG_OPENMP_IN_TASK)
        error = rejoin_region(builder, worker, place->team);
    if (error != NULL)
        return error;
    if (place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT)
        return enter_mutex(builder, worker, place);
    if (place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN)
        return NULL; /* the end of the body says it */
    if (place->kind == TG_OPENMP_IN_SYNC && is_barrier(place->what)) {
        const struct tg_sequence_barrier barrier = {
            .what = place->what, .id = place->id, .code = place->code};
        struct sequence_region *region = find_region(builder, place->team);
        return region == NULL || place->id == 0
                   ? NULL
                   : tg_sequence_team_arrive(region->team, worker->lane, place->id - 1, &barrier,
                                             place->since_ns);
    }
    struct tg_sequence_node *node = node_of(builder, worker, place);
    if (node == NULL)
        return tg_error_no_memory();
    error = sequence_push(builder, worker, node, &frame);
    if (error == NULL)
        frame->id = place->id;
    return error;
}

static bool is_frame_of(const struct sequence_frame *frame, const struct tg_openmp_place *place)
{
    const struct tg_sequence_node *node = frame->node;
    if (node == NULL)
        return false;
    switch (place->kind) {
    case TG_OPENMP_IN_ZONE:
        return node->kind == TG_SEQUENCE_ZONE && node->what == place->what;
    case TG_OPENMP_IN_MUTEX:
    case TG_OPENMP_IN_MUTEX_WAIT:
        return node->kind == TG_SEQUENCE_MUTEX && node->what == place->what && node->id == place->id;
    case TG_OPENMP_IN_SYNC:
        return node->kind == TG_SEQUENCE_SYNC && node->what == place->what;
    case TG_OPENMP_IN_TASK:
        return node->kind == TG_SEQUENCE_TASK && frame->id == place->id;
    case TG_OPENMP_IN_REGION:
        break;
    }
    return false;
}

static struct tg_error *close_section(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                      uint64_t time_ns)
{
    if (worker->n_frames == 0)
        return NULL;
    const struct sequence_frame *top = &worker->frames[worker->n_frames - 1];
    if (top->node == NULL || top->node->kind != TG_SEQUENCE_SECTION)
        return NULL;
    return sequence_close(builder, worker, worker->n_frames - 1, time_ns);
}

static struct tg_error *left(void *context, const struct tg_openmp_worker *who,
                             const struct tg_openmp_place *place, uint64_t time_ns)
{
    struct tg_sequence_builder *builder = context;
    struct sequence_worker *worker;
    struct tg_error *error = sequence_worker_get(builder, who->tid, who->number, &worker);
    if (error != NULL)
        return error;
    if (!is_single(place))
        error = sequence_put_copied(builder, worker);
    if (error != NULL)
        return error;
    if (place->kind == TG_OPENMP_IN_REGION)
        return leave_region(builder, worker, place, time_ns);
    if (place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN)
        return NULL;
    if (place->kind == TG_OPENMP_IN_SYNC && is_barrier(place->what)) {
        struct sequence_region *region = find_region(builder, place->team);
        return region == NULL || place->id == 0
                   ? NULL
                   : tg_sequence_team_pass(region->team, worker->lane, place->id - 1, time_ns);
    }
    if (place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_SECTIONS)
        error = close_section(builder, worker, time_ns);
    for (size_t i = worker->n_frames; error == NULL && i-- > 0;) {
        if (worker->frames[i].node == NULL)
            break; /* a frame of the region around */
        if (!is_frame_of(&worker->frames[i], place))
            continue;
        if (place->kind == TG_OPENMP_IN_MUTEX_WAIT) {
            worker->frames[i].has_waited = i + 1 == worker->n_frames;
            return NULL;
        }
        if (place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_COPYPRIVATE &&
            i + 1 == worker->n_frames) {
            worker->copied = worker->frames[--worker->n_frames].node;
            tg_sequence_node_finish(worker->copied, time_ns);
            return NULL;
        }
        error = sequence_close(builder, worker, i, time_ns);
        return error != NULL || !is_single(place) ? error : sequence_put_copied(builder, worker);
    }
    return error;
}

static struct tg_error *begin_section(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                      const struct tg_event *event)
{
    struct sequence_frame *frame;
    struct tg_error *error = close_section(builder, worker, event->time_ns);
    if (error != NULL)
        return error;
    struct tg_sequence_node *node =
        tg_sequence_node_create(TG_SEQUENCE_SECTION, worker->lane, event->time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->id = event->omp_section.section;
    return sequence_push(builder, worker, node, &frame);
}

/* ---- cancellation */

static const struct {
    uint64_t zone; /* zone that it ends */
    const char *name;
} cancels[] = {
    [TG_OMP_CANCEL_PARALLEL] = {0, "cancel parallel"},
    [TG_OMP_CANCEL_LOOP] = {TG_OMP_ZONE_LOOP, "cancel for"},
    [TG_OMP_CANCEL_SECTIONS] = {TG_OMP_ZONE_SECTIONS, "cancel sections"},
    [TG_OMP_CANCEL_TASKGROUP] = {TG_OMP_ZONE_TASKGROUP, "cancel taskgroup"},
};

/* Marks the innermost zone WHAT that WORKER is in; false where there is none. */
static bool mark_cancelled(const struct sequence_worker *worker, uint64_t what)
{
    for (size_t i = worker->n_frames; i-- > 0 && worker->frames[i].region == NULL;) {
        struct tg_sequence_node *node = worker->frames[i].node;
        if (node != NULL && node->kind == TG_SEQUENCE_ZONE && node->what == what)
            return node->is_cancelled = true;
    }
    return false;
}

/* The taskgroup is around whoever created the task that cancels it. */
static void cancel_taskgroup(const struct tg_sequence_builder *builder, const struct sequence_worker *worker)
{
    const struct sequence_worker *at = worker;
    for (size_t steps = 0; steps < builder->made->n_lanes && !mark_cancelled(at, TG_OMP_ZONE_TASKGROUP);
         steps++) {
        uint32_t from = TG_SEQUENCE_NO_LANE;
        for (size_t i = at->n_frames; i-- > 0;)
            if (at->frames[i].node != NULL && at->frames[i].node->kind == TG_SEQUENCE_TASK)
                from = at->frames[i].node->from;
        if (from == TG_SEQUENCE_NO_LANE || builder->workers[from] == at)
            return;
        at = builder->workers[from];
    }
}

/* Marks what is cancelled; where it was done is a step of whoever did it. */
static struct tg_error *take_cancel(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_cancel *cancel = &event->omp_cancel;
    struct sequence_region *region = find_region(builder, cancel->team);
    if (cancel->construct >= sizeof cancels / sizeof *cancels)
        return NULL;
    if (cancel->construct == TG_OMP_CANCEL_PARALLEL && region != NULL) {
        region->is_cancelled = true;
        tg_sequence_team_cancel(region->team, TG_SEQUENCE_NO_PHASE);
    } else if (cancel->construct == TG_OMP_CANCEL_TASKGROUP) {
        cancel_taskgroup(builder, worker);
    } else {
        mark_cancelled(worker, cancels[cancel->construct].zone);
    }
    if (cancel->activated == 0)
        return NULL;
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_CALL, worker->lane, event->time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->name = cancels[cancel->construct].name;
    node->code = cancel->code;
    tg_sequence_node_finish(node, event->time_ns);
    return sequence_put(builder, worker, node);
}

/* A task that ends because its taskgroup was cancelled. */
static void cancel_task(const struct tg_sequence_builder *builder, const struct tg_event *event)
{
    struct sequence_worker *worker;
    HASH_FIND(hh, builder->live, &event->tid, sizeof event->tid, worker);
    for (size_t i = worker == NULL ? 0 : worker->n_frames; i-- > 0;)
        if (worker->frames[i].node != NULL && worker->frames[i].node->kind == TG_SEQUENCE_TASK &&
            worker->frames[i].id == event->omp_task_end.task)
            worker->frames[i].node->is_cancelled = true;
}

/* A barrier that is left because its region was cancelled. */
static void take_cancelled_barrier(struct tg_sequence_builder *builder, const struct tg_event *event)
{
    const struct tg_event_omp_sync_end *end = &event->omp_sync_end;
    struct sequence_region *region = find_region(builder, end->team);
    if (end->cancelled == 0 || end->instance == 0 || region == NULL)
        return;
    region->is_cancelled = true;
    tg_sequence_team_cancel(region->team, end->instance - 1);
}

/* ---- events */

struct tg_error *sequence_openmp_create(struct tg_sequence_builder *builder)
{
    const struct tg_openmp_model_options options = {.entered = entered, .left = left, .context = builder};
    return tg_openmp_model_create(&options, &builder->openmp);
}

/* Threads that are no more stay where they were. */
static void end_threads(struct tg_sequence_builder *builder, const struct tg_event *event)
{
    struct sequence_worker *worker, *next;
    HASH_ITER (hh, builder->live, worker, next) {
        if (event->kind == TG_EVENT_THREAD_EXIT && worker->tid != event->tid)
            continue;
        worker->has_died = true;
        builder->made->lanes[worker->lane].is_alive = false;
        HASH_DEL(builder->live, worker);
    }
}

static struct tg_error *end_program(struct tg_sequence_builder *builder, const struct tg_event *event)
{
    struct sequence_task *task, *next;
    HASH_ITER (hh, builder->tasks, task, next) {
        HASH_DEL(builder->tasks, task);
        free(task);
    }
    return sequence_end_program(builder, event);
}

struct tg_error *sequence_openmp_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                      size_t process)
{
    struct sequence_worker *worker;
    bool is_openmp = event->kind >= TG_EVENT_OMP_PARALLEL_BEGIN && event->kind <= TG_EVENT_OMP_CANCEL;
    if (event->kind == TG_EVENT_OMP_SYNC_END)
        take_cancelled_barrier(builder, event);
    else if (event->kind == TG_EVENT_OMP_TASK_END && event->omp_task_end.how == TG_OMP_TASK_CANCELLED)
        cancel_task(builder, event);
    struct tg_error *error = tg_openmp_model_feed(builder->openmp, event, process);
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_EXEC)
        return end_program(builder, event);
    if (event->kind == TG_EVENT_THREAD_EXIT || event->kind == TG_EVENT_PROCESS_EXIT)
        end_threads(builder, event);
    if (!is_openmp)
        return NULL;
    const struct tg_openmp_worker *who = tg_openmp_model_worker(builder->openmp, process, event->tid);
    if (who == NULL)
        return NULL;
    error = sequence_worker_get(builder, event->tid, who->number, &worker);
    if (error != NULL)
        return error;
    worker->last_code = who->last_code;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return begin_region(builder, worker, &event->omp_parallel_begin);
    case TG_EVENT_OMP_PARALLEL_END:
        return end_region(builder, worker, event);
    case TG_EVENT_OMP_IMPLICIT_BEGIN: {
        struct sequence_region *region = find_region(builder, event->omp_implicit_begin.team);
        if (region != NULL && event->omp_implicit_begin.team_size != 0)
            tg_sequence_team_set_size(region->team, event->omp_implicit_begin.team_size);
        return NULL;
    }
    case TG_EVENT_OMP_SECTION:
        return begin_section(builder, worker, event);
    case TG_EVENT_OMP_CANCEL:
        return take_cancel(builder, worker, event);
    case TG_EVENT_OMP_TASK_CREATE:
        return create_task(builder, worker, &event->omp_task_create);
    case TG_EVENT_OMP_TASK_END:
        end_task(builder, &event->omp_task_end);
        return NULL;
    default:
        return NULL;
    }
}
