#include "analyzer/job/barrier_trace.h"

#include "analyzer/job/run_ending.h"
#include "analyzer/job/run_state.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decisions to events */

bool tg_barrier_trace_event(const struct tg_run_decision *decision, struct tg_event *event)
{
    uint64_t barrier = decision->barrier, dpid = decision->thread.dpid, dtid = decision->thread.dtid;
    switch (decision->kind) {
    case TG_DECIDE_HELD:
        event->kind = TG_EVENT_BARRIER_HELD;
        event->barrier_held = (struct tg_event_barrier_held){barrier, dpid, dtid};
        return barrier != 0;
    case TG_DECIDE_SATISFIED:
        event->kind = TG_EVENT_BARRIER_SATISFIED;
        event->barrier_satisfied =
            (struct tg_event_barrier_satisfied){barrier, decision->count, decision->number};
        return true;
    case TG_DECIDE_RELEASED:
        event->kind = TG_EVENT_BARRIER_RELEASED;
        event->barrier_released = (struct tg_event_barrier_released){barrier, dpid, dtid, decision->reason};
        return true;
    case TG_DECIDE_LEFT:
        event->kind = TG_EVENT_BARRIER_LEFT;
        event->barrier_left =
            (struct tg_event_barrier_left){barrier, dpid, dtid, decision->reason, decision->count};
        return true;
    case TG_DECIDE_STUCK:
        event->kind = TG_EVENT_BARRIER_STUCK;
        event->barrier_stuck =
            (struct tg_event_barrier_stuck){barrier, dpid, dtid, decision->number, decision->count};
        return true;
    case TG_DECIDE_STOP_THREAD:
    case TG_DECIDE_STOP_PROCESS:
    case TG_DECIDE_STOP_GROUP:
    case TG_DECIDE_RESUME_THREAD:
    case TG_DECIDE_ARRIVED:
    case TG_DECIDE_LATE:
        break;
    }
    return false;
}

void tg_barrier_trace_created(const struct tg_barrier_definition *definition, const char *location,
                              struct tg_control_unit *units, struct tg_event *event)
{
    for (size_t i = 0; i < definition->n_list; i++)
        units[i] = (struct tg_control_unit){definition->list[i].dpid, definition->list[i].dtid};
    event->kind = TG_EVENT_BARRIER_CREATED;
    event->barrier_created = (struct tg_event_barrier_created){
        .barrier = definition->id,
        .of_threads = definition->of_threads,
        .stop_when_hit = definition->stop_when_hit,
        .stop_when_done = definition->stop_when_done,
        .share_group = definition->share_group,
        .group = definition->group,
        .process = definition->process,
        .location = location,
        .members = {.items = units, .count = definition->n_list},
    };
}

/* ---- events to the model */

/* Maps pid and tid (0: the process) to the numbers of a thread or process. */
struct name {
    uint64_t key;
    struct tg_thread_id id;
    UT_hash_handle hh;
};

/* Of a barrier that there is. */
struct location {
    uint32_t id;
    UT_hash_handle hh;
    char text[];
};

struct tg_barrier_trace {
    struct tg_run_model *model;
    struct name *names;
    struct location *locations;       /* by id */
    struct tg_run_decision *expected; /* decisions that events should follow for */
    size_t n_expected, next, capacity;
    struct tg_barrier_trace_verdict verdict;
};

struct tg_error *tg_barrier_trace_create(struct tg_barrier_trace **trace)
{
    struct tg_barrier_trace *made = calloc(1, sizeof *made);
    struct tg_error *error = made == NULL ? tg_error_no_memory() : tg_run_model_create(&made->model);
    if (error == NULL)
        *trace = made;
    else
        free(made);
    return error;
}

void tg_barrier_trace_destroy(struct tg_barrier_trace *trace)
{
    struct name *name, *next;
    struct location *location, *other;
    if (trace == NULL)
        return;
    HASH_ITER (hh, trace->locations, location, other) {
        HASH_DEL(trace->locations, location);
        free(location);
    }
    HASH_ITER (hh, trace->names, name, next) {
        HASH_DEL(trace->names, name);
        free(name);
    }
    tg_run_model_destroy(trace->model);
    free(trace->expected);
    free(trace);
}

const struct tg_run_model *tg_barrier_trace_model(const struct tg_barrier_trace *trace)
{
    return trace->model;
}

void tg_barrier_trace_verdict(const struct tg_barrier_trace *trace, struct tg_barrier_trace_verdict *verdict)
{
    *verdict = trace->verdict;
}

static uint64_t key_of(int32_t pid, int32_t tid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static struct name *find_name(const struct tg_barrier_trace *trace, int32_t pid, int32_t tid)
{
    uint64_t key = key_of(pid, tid);
    struct name *name = NULL;
    HASH_FIND(hh, trace->names, &key, sizeof key, name);
    return name;
}

static struct tg_error *put_name(struct tg_barrier_trace *trace, int32_t pid, int32_t tid,
                                 struct tg_thread_id thread)
{
    struct name *name = find_name(trace, pid, tid);
    if (name == NULL) {
        const uint64_t key = key_of(pid, tid);
        struct tg_error *error = TG_HASH_CREATE(hh, trace->names, key, &key, name);
        if (error != NULL)
            return error;
    }
    name->id = thread;
    return NULL;
}

static void drop_name(struct tg_barrier_trace *trace, struct name *name)
{
    HASH_DEL(trace->names, name);
    free(name);
}

/* ---- locations */

static struct location *find_location(const struct tg_barrier_trace *trace, uint32_t id)
{
    struct location *location = NULL;
    HASH_FIND(hh, trace->locations, &id, sizeof id, location);
    return location;
}

static void drop_location(struct tg_barrier_trace *trace, uint32_t id)
{
    struct location *location = find_location(trace, id);
    if (location != NULL)
        HASH_DEL(trace->locations, location);
    free(location);
}

/* Keeps the location of a barrier that has none yet. */
static struct tg_error *put_location(struct tg_barrier_trace *trace, uint32_t id, const char *text)
{
    size_t size = strlen(text) + 1;
    struct location *location = calloc(1, sizeof *location + size);
    if (location == NULL)
        return tg_error_no_memory();
    location->id = id;
    memcpy(location->text, text, size);
    struct tg_error *error = TG_HASH_ADD(hh, trace->locations, id, location);
    if (error != NULL)
        free(location);
    return error;
}

const char *tg_barrier_trace_location(const struct tg_barrier_trace *trace, uint32_t id)
{
    const struct location *location = find_location(trace, id);
    return location == NULL ? "" : location->text;
}

/* ---- copies */

static struct tg_error *copy_tables(const struct tg_barrier_trace *from, struct tg_barrier_trace *to)
{
    struct tg_error *error = NULL;
    for (const struct name *name = from->names; error == NULL && name != NULL; name = name->hh.next)
        error = put_name(to, (int32_t)(name->key >> 32), (int32_t)(uint32_t)name->key, name->id);
    for (const struct location *location = from->locations; error == NULL && location != NULL;
         location = location->hh.next)
        error = put_location(to, location->id, location->text);
    if (error == NULL && from->n_expected > from->next)
        error = TG_ARRAY_COPY(to->expected, to->n_expected, to->capacity, from->expected + from->next,
                              from->n_expected - from->next);
    return error;
}

struct tg_error *tg_barrier_trace_copy(const struct tg_barrier_trace *trace, struct tg_barrier_trace **copy)
{
    struct tg_barrier_trace *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->verdict = trace->verdict;
    struct tg_error *error = tg_run_model_copy(trace->model, &made->model);
    if (error == NULL)
        error = copy_tables(trace, made);
    if (error == NULL)
        *copy = made;
    else
        tg_barrier_trace_destroy(made);
    return error;
}

/* ---- comparison */

static void differ(struct tg_barrier_trace *trace, const char *who, const struct tg_event *event)
{
    struct tg_barrier_trace_verdict *verdict = &trace->verdict;
    char number[24] = "";
    if (verdict->n_differences++ > 0)
        return;
    if (event->barrier_held.dtid != 0 && event->kind != TG_EVENT_BARRIER_SATISFIED)
        snprintf(number, sizeof number, ".%" PRIu64, event->barrier_held.dtid);
    if (event->kind == TG_EVENT_BARRIER_SATISFIED)
        snprintf(verdict->first, sizeof verdict->first,
                 "only the %s has barrier %" PRIu64 " satisfied by %" PRIu64, who,
                 event->barrier_satisfied.barrier, event->barrier_satisfied.members);
    else
        snprintf(verdict->first, sizeof verdict->first,
                 "only the %s has %s of %" PRIu64 "%s at barrier %" PRIu64, who,
                 tg_event_kind_name(event->kind), event->barrier_held.dpid, number,
                 event->barrier_held.barrier);
}

/* Counts the expected decisions that did not come before the next thing happened. */
static void flush(struct tg_barrier_trace *trace)
{
    for (; trace->next < trace->n_expected; trace->next++) {
        struct tg_event event = {0};
        tg_barrier_trace_event(&trace->expected[trace->next], &event);
        differ(trace, "model", &event);
    }
    trace->next = trace->n_expected = 0;
}

/* Keeps the model's latest decisions that events are to tell of. */
static struct tg_error *expect(struct tg_barrier_trace *trace)
{
    size_t count;
    const struct tg_run_decision *decisions = tg_run_model_decisions(trace->model, &count);
    struct tg_event event = {0};
    struct tg_error *error = TG_ARRAY_RESERVE(trace->expected, trace->capacity, trace->n_expected + count);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < count; i++)
        if (tg_barrier_trace_event(&decisions[i], &event))
            trace->expected[trace->n_expected++] = decisions[i];
    return NULL;
}

static bool is_same(const struct tg_event *a, const struct tg_event *b)
{
    const struct tg_record_schema *schema = tg_event_schema(a->kind);
    return a->kind == b->kind && memcmp(TG_EVENT_PAYLOAD(a), TG_EVENT_PAYLOAD(b), schema->size_bytes) == 0;
}

static void compare(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    struct tg_event expected = {0};
    if (trace->next < trace->n_expected) {
        tg_barrier_trace_event(&trace->expected[trace->next], &expected);
        if (is_same(&expected, event)) {
            trace->verdict.n_decisions++;
            trace->next++;
            return;
        }
    }
    differ(trace, "trace", event);
}

/* ---- what happened */

/* ERROR of the model for something that there is not, or is there already, is the trace's nonsense. */
static struct tg_error *done(struct tg_barrier_trace *trace, struct tg_error *error)
{
    if (error == NULL)
        return expect(trace);
    if (tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    tg_error_destroy(error);
    trace->verdict.n_ignored++;
    return NULL;
}

static bool is_number(uint64_t number)
{
    return number > 0 && number <= UINT32_MAX;
}

static bool is_unit(uint64_t dpid, uint64_t dtid)
{
    return is_number(dpid) && dtid <= UINT32_MAX;
}

static struct tg_thread_id thread_of(uint64_t dpid, uint64_t dtid)
{
    return (struct tg_thread_id){(uint32_t)dpid, (uint32_t)dtid};
}

static struct tg_error *feed_process(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    const struct tg_event_control_process *told = &event->control_process;
    const struct tg_process_groups process = {(uint32_t)told->dpid, (uint32_t)told->control_group,
                                              (uint32_t)told->share_group, (uint32_t)told->workers_group};
    const struct name *name = find_name(trace, event->pid, 0);
    if (name != NULL && name->id.dpid == process.dpid)
        return done(trace, tg_run_model_change_process(trace->model, &process));
    struct tg_error *error = tg_run_model_add_process(trace->model, &process);
    if (error == NULL)
        error = put_name(trace, event->pid, 0, thread_of(told->dpid, 0));
    return done(trace, error);
}

static struct tg_error *feed_thread(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    const struct tg_thread_id thread = thread_of(event->control_thread.dpid, event->control_thread.dtid);
    bool is_manager = event->control_thread.manager != 0;
    if (tg_run_model_has_thread(trace->model, thread)) /* told again, as a manager */
        return done(trace, tg_run_model_set_manager(trace->model, thread, is_manager));
    struct tg_error *error = tg_run_model_add_thread(trace->model, thread, is_manager);
    if (error == NULL)
        error = put_name(trace, event->pid, event->tid, thread);
    return done(trace, error);
}

static struct tg_error *feed_end(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    bool of_thread = event->kind == TG_EVENT_THREAD_EXIT;
    struct name *name = find_name(trace, event->pid, of_thread ? event->tid : 0);
    if (name == NULL)
        return NULL; /* not of the session */
    struct tg_thread_id thread = name->id;
    drop_name(trace, name);
    struct tg_error *error = of_thread && tg_thread_ends_with_process(event)
                                 ? done(trace, tg_run_model_set_ending(trace->model, thread.dpid, true))
                                 : NULL;
    if (error != NULL)
        return error;
    if (of_thread)
        return done(trace, tg_run_model_remove_thread(trace->model, thread, TG_BARRIER_BY_EXIT));
    /* names of its threads that are left mean nobody, until they are used again */
    return done(trace, tg_run_model_remove_process(trace->model, thread.dpid,
                                                   event->kind == TG_EVENT_DETACH ? TG_BARRIER_BY_DETACH
                                                                                  : TG_BARRIER_BY_EXIT));
}

/* Removes the other threads of a process that executes another program, whether or not their ends were
 * recorded. */
static struct tg_error *feed_exec(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    const struct name *name = find_name(trace, event->pid, 0),
                      *first = find_name(trace, event->pid, event->pid);
    uint32_t slot = name == NULL ? TG_NO_SLOT : tg_run_find_process(trace->model, name->id.dpid);
    size_t i = 0;
    while (slot != TG_NO_SLOT && i < trace->model->processes[slot].n_threads) {
        struct tg_thread_id thread = tg_run_thread_id(trace->model, trace->model->processes[slot].threads[i]);
        if (first != NULL && first->id.dpid == thread.dpid && first->id.dtid == thread.dtid) {
            i++;
            continue;
        }
        struct tg_error *error =
            done(trace, tg_run_model_remove_thread(trace->model, thread, TG_BARRIER_BY_EXIT));
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* A process whose threads were ending lives on with the program that one of them executed. */
static struct tg_error *feed_program(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    const struct name *name = find_name(trace, event->pid, 0);
    return name == NULL ? NULL : done(trace, tg_run_model_set_ending(trace->model, name->id.dpid, false));
}

static struct tg_error *feed_created(struct tg_barrier_trace *trace,
                                     const struct tg_event_barrier_created *told)
{
    const struct tg_control_unit *members = told->members.items;
    struct tg_thread_id *list = calloc(told->members.count + 1, sizeof *list);
    if (list == NULL)
        return tg_error_no_memory();
    for (uint64_t i = 0; i < told->members.count; i++)
        list[i] = thread_of(members[i].dpid, members[i].dtid);
    const struct tg_barrier_definition definition = {
        .id = (uint32_t)told->barrier,
        .of_threads = told->of_threads != 0,
        .stop_when_hit = (enum tg_barrier_stop)told->stop_when_hit,
        .stop_when_done = (enum tg_barrier_stop)told->stop_when_done,
        .share_group = (uint32_t)told->share_group,
        .group = (uint32_t)told->group,
        .process = (uint32_t)told->process,
        .list = list,
        .n_list = told->members.count,
    };
    struct tg_error *error = tg_barriers_add(trace->model, &definition);
    if (error == NULL)
        error = put_location(trace, definition.id, told->location == NULL ? "" : told->location);
    free(list);
    return done(trace, error);
}

static struct tg_error *feed_arrival(struct tg_barrier_trace *trace,
                                     const struct tg_event_barrier_arrival *told)
{
    const struct tg_thread_id thread = thread_of(told->dpid, told->dtid);
    if (told->late != 0 && told->more != 0)
        return NULL; /* still stopping */
    if (told->late != 0)
        return done(trace, tg_run_model_stopped(trace->model, thread));
    /* The live session has decided that it is not late, also by stops that it asked for and the trace
     * lacks. */
    uint32_t slot = tg_run_find_thread(trace->model, thread);
    if (slot != TG_NO_SLOT)
        trace->model->threads[slot].stopping_since = UINT64_MAX;
    uint32_t id = (uint32_t)told->barrier;
    return done(trace, told->more != 0 ? tg_barriers_arrive_on(trace->model, id, thread)
                                       : tg_barriers_arrive(trace->model, id, thread));
}

/* Whether all numbers of EVENT are such. */
static bool makes_sense(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_CONTROL_PROCESS:
        return is_number(event->control_process.dpid) && event->control_process.control_group <= UINT32_MAX &&
               event->control_process.share_group <= UINT32_MAX &&
               event->control_process.workers_group <= UINT32_MAX;
    case TG_EVENT_CONTROL_THREAD:
        return is_number(event->control_thread.dpid) && is_number(event->control_thread.dtid);
    case TG_EVENT_CONTROL_STOPPED:
        return is_number(event->control_stopped.dpid) && is_number(event->control_stopped.dtid);
    case TG_EVENT_CONTROL_RESUMED:
        return is_number(event->control_resumed.dpid) && is_number(event->control_resumed.dtid);
    case TG_EVENT_CONTROL_UNHOLD:
        return is_unit(event->control_unhold.dpid, event->control_unhold.dtid);
    case TG_EVENT_BARRIER_HELD:
        return is_unit(event->barrier_held.dpid, event->barrier_held.dtid);
    case TG_EVENT_BARRIER_DELETED:
        return is_number(event->barrier_deleted.barrier);
    case TG_EVENT_BARRIER_ENABLED:
        return is_number(event->barrier_enabled.barrier);
    case TG_EVENT_BARRIER_ARRIVAL:
        return is_number(event->barrier_arrival.barrier) && is_number(event->barrier_arrival.dpid) &&
               is_number(event->barrier_arrival.dtid);
    case TG_EVENT_BARRIER_CREATED:
        return is_number(event->barrier_created.barrier) &&
               event->barrier_created.share_group <= UINT32_MAX &&
               event->barrier_created.group <= UINT32_MAX && event->barrier_created.process <= UINT32_MAX &&
               event->barrier_created.stop_when_hit <= TG_BARRIER_STOP_GROUP &&
               event->barrier_created.stop_when_done <= TG_BARRIER_STOP_GROUP;
    default:
        return true;
    }
}

static struct tg_error *feed_input(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    struct tg_run_model *model = trace->model;
    switch ((unsigned)event->kind) {
    case TG_EVENT_CONTROL_PROCESS:
        return feed_process(trace, event);
    case TG_EVENT_CONTROL_THREAD:
        return feed_thread(trace, event);
    case TG_EVENT_CONTROL_STOPPED:
        return done(trace, tg_run_model_stopped(
                               model, thread_of(event->control_stopped.dpid, event->control_stopped.dtid)));
    case TG_EVENT_CONTROL_RESUMED:
        return done(trace, tg_run_model_go(
                               model, thread_of(event->control_resumed.dpid, event->control_resumed.dtid)));
    case TG_EVENT_CONTROL_UNHOLD:
        return done(trace, tg_run_model_unhold(
                               model, thread_of(event->control_unhold.dpid, event->control_unhold.dtid)));
    case TG_EVENT_BARRIER_HELD:
        return done(trace,
                    tg_run_model_hold(model, thread_of(event->barrier_held.dpid, event->barrier_held.dtid)));
    case TG_EVENT_BARRIER_CREATED:
        return feed_created(trace, &event->barrier_created);
    case TG_EVENT_BARRIER_DELETED:
        drop_location(trace, (uint32_t)event->barrier_deleted.barrier);
        return done(trace, tg_barriers_delete(model, (uint32_t)event->barrier_deleted.barrier));
    case TG_EVENT_BARRIER_ENABLED:
        return done(trace, tg_barriers_enable(model, (uint32_t)event->barrier_enabled.barrier,
                                              event->barrier_enabled.enabled != 0));
    case TG_EVENT_BARRIER_ARRIVAL:
        return feed_arrival(trace, &event->barrier_arrival);
    case TG_EVENT_EXEC:
        return feed_exec(trace, event);
    case TG_EVENT_PROGRAM:
        return feed_program(trace, event);
    case TG_EVENT_CONTROL_END:
        return done(trace, tg_run_model_end(model));
    default:
        return feed_end(trace, event);
    }
}

struct tg_error *tg_barrier_trace_feed(struct tg_barrier_trace *trace, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_BARRIER_SATISFIED:
    case TG_EVENT_BARRIER_RELEASED:
    case TG_EVENT_BARRIER_LEFT:
    case TG_EVENT_BARRIER_STUCK:
        compare(trace, event);
        return NULL;
    case TG_EVENT_BARRIER_HELD:
        if (event->barrier_held.barrier == 0)
            break;
        compare(trace, event);
        return NULL;
    case TG_EVENT_CONTROL_PROCESS:
    case TG_EVENT_CONTROL_THREAD:
    case TG_EVENT_CONTROL_STOPPED:
    case TG_EVENT_CONTROL_RESUMED:
    case TG_EVENT_CONTROL_UNHOLD:
    case TG_EVENT_CONTROL_END:
    case TG_EVENT_BARRIER_CREATED:
    case TG_EVENT_BARRIER_DELETED:
    case TG_EVENT_BARRIER_ENABLED:
    case TG_EVENT_BARRIER_ARRIVAL:
    case TG_EVENT_THREAD_EXIT:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
    case TG_EVENT_EXEC:
    case TG_EVENT_PROGRAM:
        break;
    default:
        return NULL;
    }
    flush(trace);
    if (makes_sense(event))
        return feed_input(trace, event);
    trace->verdict.n_ignored++;
    return NULL;
}
