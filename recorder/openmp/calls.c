#include "recorder/openmp/calls.h"

#include "recorder/process/memory.h"

#include <stdio.h>

struct tg_openmp_process *tg_openmp_calls_process(const struct tg_openmp_calls *calls,
                                                  const struct tg_thread *thread)
{
    return thread->process->data[calls->slot];
}

static struct tg_openmp_frame *frame_of(struct tg_openmp_thread *state)
{
    return &state->frames[state->n_frames - 1];
}

/* ---- events */

#define PLACE(stop, where)                                                                                   \
    .team = frame_of((stop)->state)->team, .thread_num = frame_of((stop)->state)->thread_num,                \
    .level = frame_of((stop)->state)->level, .code = (where), .seen = TG_OMP_BREAKPOINT

#define EMIT(stop, symbol, member, where, ...)                                                               \
    tg_engine_emit(                                                                                          \
        (stop)->calls->engine, (stop)->thread,                                                               \
        &(struct tg_event){.kind = TG_EVENT_##symbol, .member = {PLACE(stop, where), ##__VA_ARGS__}})

void tg_openmp_stop_note(const struct tg_openmp_stop *stop, const char *text)
{
    tg_engine_emit(stop->calls->engine, stop->thread,
                   &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

static void begin_zone(const struct tg_openmp_stop *stop, enum tg_omp_zone zone,
                       const struct tg_gomp_entry *entry, uint64_t count)
{
    struct tg_openmp_frame *frame = frame_of(stop->state);
    if (frame->n_zones == TG_OPENMP_MAX_ZONES)
        return;
    frame->zones[frame->n_zones++] = zone;
    EMIT(stop, OMP_ZONE_BEGIN, omp_zone_begin, stop->return_address, .zone = zone,
         .schedule = entry == NULL ? TG_OMP_SCHEDULE_NONE : entry->schedule, .count = count);
}

static void end_zone(const struct tg_openmp_stop *stop)
{
    struct tg_openmp_frame *frame = frame_of(stop->state);
    if (frame->n_zones == 0)
        return;
    EMIT(stop, OMP_ZONE_END, omp_zone_end, stop->return_address, .zone = frame->zones[--frame->n_zones]);
}

/* A single has no call of its own at its end: it ends at the thread's next barrier or worksharing. True where
 * one did. */
static bool end_single(const struct tg_openmp_stop *stop)
{
    const struct tg_openmp_frame *frame = frame_of(stop->state);
    if (frame->n_zones == 0 || (frame->zones[frame->n_zones - 1] != TG_OMP_ZONE_SINGLE &&
                                frame->zones[frame->n_zones - 1] != TG_OMP_ZONE_SINGLE_OTHER))
        return false;
    end_zone(stop);
    return true;
}

/* ---- breakpoints behind and inside of calls */

static tg_breakpoint_handler body_hit, return_hit;

static void plant_once(const struct tg_openmp_stop *stop, uint64_t address, tg_breakpoint_handler *handler)
{
    struct tg_process *process = stop->thread->process;
    if (tg_breakpoint_find(process, address, handler, stop->calls) != NULL)
        return;
    TG_AUTO_ERROR struct tg_error *error =
        tg_breakpoint_plant(process, address, TG_BREAKPOINT_INTERNAL, handler, stop->calls, NULL);
    if (error == NULL)
        return;
    char text[200];
    snprintf(text, sizeof text, "an OpenMP call is not observed: %s", tg_error_message(error));
    tg_openmp_stop_note(stop, text);
}

static void push_call(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    struct tg_openmp_thread *state = stop->state;
    if (state->n_calls == TG_OPENMP_MAX_CALLS)
        return;
    state->calls[state->n_calls] = *call;
    state->calls[state->n_calls].return_address = stop->return_address;
    state->calls[state->n_calls].sp = stop->registers->rsp + 8;
    state->n_calls++;
    plant_once(stop, stop->return_address, return_hit);
}

/* ---- entries */

static void begin_wait(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry,
                       enum tg_omp_sync sync, bool is_barrier)
{
    uint64_t instance = is_barrier ? ++frame_of(stop->state)->instances : 0;
    EMIT(stop, OMP_SYNC_BEGIN, omp_sync_begin, stop->return_address, .sync = sync, .instance = instance);
    push_call(stop, &(struct tg_openmp_call){.entry = entry, .id = instance, .sync = sync, .waits = true});
}

static uint64_t third_argument_of_four(const struct tg_openmp_stop *stop)
{
    return stop->registers->rcx;
}

static void begin_parallel(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    const struct tg_openmp_frame *frame = frame_of(stop->state);
    const struct tg_openmp_work region = {
        .id = ++stop->process->last_team,
        .body = stop->registers->rdi,
        .code = stop->return_address,
        .data = stop->registers->rsi,
        .owner = stop->registers->fs_base,
        .parent = frame->team,
        .level = frame->level + 1,
        .entry = entry,
        .count = entry->counted ? third_argument_of_four(stop) & UINT32_MAX : 0,
    };
    if (!tg_openmp_works_add(&stop->process->regions, &region))
        return;
    EMIT(stop, OMP_PARALLEL_BEGIN, omp_parallel_begin, stop->return_address, .new_team = region.id,
         .requested = stop->registers->rdx & UINT32_MAX, .body = region.body);
    push_call(stop, &(struct tg_openmp_call){.entry = entry, .id = region.id, .body = region.body});
    plant_once(stop, region.body, body_hit);
}

/* GOMP_task (fn, data, cpyfn, arg_size, arg_align, if_clause, flags, ...) */
static void create_task(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    enum { UNTIED = 1, FINAL = 2, MERGEABLE = 4, DETACH = 1 << 13 };
    uint32_t flags = 0;
    tg_memory_read(stop->thread->tid, stop->registers->rsp + 8, &flags, sizeof flags);
    const struct tg_openmp_work task = {.id = ++stop->process->last_task,
                                        .body = stop->registers->rdi,
                                        .code = stop->return_address,
                                        .entry = entry};
    if (!tg_openmp_works_add(&stop->process->tasks, &task))
        return;
    EMIT(stop, OMP_TASK_CREATE, omp_task_create, stop->return_address, .task = task.id, .body = task.body,
         .flags = ((flags & UNTIED) != 0 ? TG_OMP_TASK_UNTIED : 0) |
                  ((flags & FINAL) != 0 ? TG_OMP_TASK_FINAL : 0) |
                  ((flags & MERGEABLE) != 0 ? TG_OMP_TASK_MERGEABLE : 0) |
                  ((flags & DETACH) != 0 ? TG_OMP_TASK_DETACHABLE : 0) |
                  ((stop->registers->r9 & 1) == 0 ? TG_OMP_TASK_UNDEFERRED : 0));
    push_call(stop, &(struct tg_openmp_call){.entry = entry, .id = task.id, .body = task.body});
    plant_once(stop, task.body, body_hit);
}

static void enter_section(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    if (entry->counted) {
        end_single(stop);
        begin_zone(stop, entry->zone, entry, stop->registers->rdi & UINT32_MAX);
    }
    push_call(stop, &(struct tg_openmp_call){.entry = entry});
}

static void enter_mutex(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    uint64_t lock = entry->named ? stop->registers->rdi : 0;
    EMIT(stop, OMP_MUTEX_WAIT, omp_mutex_wait, stop->return_address, .mutex = entry->mutex, .lock = lock);
    push_call(stop, &(struct tg_openmp_call){.entry = entry, .lock = lock});
}

static void call_test(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    push_call(stop, &(struct tg_openmp_call){.entry = entry, .lock = stop->registers->rdi});
}

/* Of tests in vain some are told. */
static void leave_test(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    enum { APART_NS = 50000000 };
    struct tg_openmp_thread *state = stop->state;
    uint64_t now_ns = tg_engine_now_ns();
    if ((stop->registers->rax & UINT32_MAX) != 0) {
        state->tested = 0;
        EMIT(stop, OMP_MUTEX_ENTER, omp_mutex_enter, stop->return_address, .mutex = call->entry->mutex,
             .lock = call->lock);
        return;
    }
    bool is_new = state->tested != call->lock;
    state->tested = call->lock;
    state->tests = is_new ? 1 : state->tests + 1;
    if (!is_new && now_ns - state->told_ns < APART_NS)
        return;
    state->told_ns = now_ns;
    EMIT(stop, OMP_MUTEX_TEST, omp_mutex_test, stop->return_address, .mutex = call->entry->mutex,
         .lock = call->lock, .tests = state->tests);
}

static void enter_zone_call(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    switch ((unsigned)entry->call) {
    case TG_GOMP_ZONE_START:
        end_single(stop);
        begin_zone(stop, entry->zone, entry, 0);
        break;
    case TG_GOMP_ZONE_END:
        end_zone(stop);
        begin_wait(stop, entry, TG_OMP_SYNC_BARRIER_IMPLICIT, true);
        break;
    case TG_GOMP_ZONE_END_NOWAIT:
        end_zone(stop);
        break;
    case TG_GOMP_SECTION:
        enter_section(stop, entry);
        break;
    case TG_GOMP_SINGLE_START:
        end_single(stop);
        push_call(stop, &(struct tg_openmp_call){.entry = entry});
        break;
    case TG_GOMP_SINGLE_COPY:
        end_single(stop);
        begin_wait(stop, entry, TG_OMP_SYNC_COPYPRIVATE, false);
        break;
    case TG_GOMP_SINGLE_COPY_DONE:
        end_zone(stop);
        break;
    default:
        break;
    }
}

static void enter_call(const struct tg_openmp_stop *stop, const struct tg_gomp_entry *entry)
{
    switch ((unsigned)entry->call) {
    case TG_GOMP_PARALLEL:
        begin_parallel(stop, entry);
        break;
    case TG_GOMP_BARRIER:
        begin_wait(stop, entry, end_single(stop) ? TG_OMP_SYNC_BARRIER_IMPLICIT : entry->sync, true);
        break;
    case TG_GOMP_MUTEX_ENTER:
        enter_mutex(stop, entry);
        break;
    case TG_GOMP_MUTEX_LEAVE:
        EMIT(stop, OMP_MUTEX_LEAVE, omp_mutex_leave, stop->return_address, .mutex = entry->mutex,
             .lock = entry->named ? stop->registers->rdi : 0);
        break;
    case TG_GOMP_MUTEX_TEST:
        call_test(stop, entry);
        break;
    case TG_GOMP_TASK:
        create_task(stop, entry);
        break;
    case TG_GOMP_TASKLOOP:
        begin_zone(stop, entry->zone, entry, 0);
        push_call(stop, &(struct tg_openmp_call){.entry = entry, .body = stop->registers->rdi});
        plant_once(stop, stop->registers->rdi, body_hit);
        break;
    case TG_GOMP_WAIT:
        begin_wait(stop, entry, entry->sync, false);
        break;
    case TG_GOMP_TASKGROUP_START:
        begin_zone(stop, entry->zone, entry, 0);
        break;
    case TG_GOMP_TASKGROUP_END:
        begin_wait(stop, entry, entry->sync, false);
        break;
    default:
        enter_zone_call(stop, entry);
        break;
    }
}

/* ---- stops */

/* False where the thread is none of ours, or cannot be read. */
static bool prepare(struct tg_openmp_stop *stop, void *context, struct tg_thread *thread, bool at_entry)
{
    *stop = (struct tg_openmp_stop){.calls = context, .thread = thread};
    stop->process = tg_openmp_calls_process(stop->calls, thread);
    stop->registers = tg_thread_registers(thread);
    if (stop->process == NULL || stop->registers == NULL)
        return false;
    stop->state = tg_openmp_process_thread(stop->process, thread->tid);
    if (stop->state == NULL)
        return false;
    if (!at_entry)
        return true;
    tg_openmp_thread_unwind(stop->state, stop->registers->rsp);
    return tg_memory_read(thread->tid, stop->registers->rsp, &stop->return_address,
                          sizeof stop->return_address);
}

/* Some entry points are also functions that the runtime itself calls. A body that ends in a call of the
 * program's own (a tail call) returns into the runtime as well, from the body's own place on the stack. */
static bool is_by_runtime(const struct tg_openmp_stop *stop)
{
    const struct tg_openmp_thread *state = stop->state;
    const struct tg_openmp_call *top = state->n_calls == 0 ? NULL : &state->calls[state->n_calls - 1];
    bool is_tail_call = top != NULL && top->entry == NULL && top->sp == stop->registers->rsp + 8;
    return !is_tail_call && stop->return_address >= stop->process->runtime_start &&
           stop->return_address < stop->process->runtime_end;
}

static void entry_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_openmp_stop stop;
    if (!prepare(&stop, context, thread, true))
        return;
    if (is_by_runtime(&stop))
        return;
    const struct tg_openmp_site *site =
        tg_openmp_process_site(stop.process, tg_breakpoint_address(breakpoint));
    if (site != NULL)
        enter_call(&stop, site->entry);
}

static uint64_t read_thread_num(const struct tg_openmp_stop *stop)
{
    uint32_t number = 0;
    if (stop->process->knows_thread_num)
        tg_memory_read(stop->thread->tid,
                       stop->registers->fs_base + (uint64_t)stop->process->thread_num_offset, &number,
                       sizeof number);
    return number;
}

/* The runtime's data for a thread: the team (a pointer), two pointers, the thread number (since GCC
 * 4.9). */
static uint64_t read_team(const struct tg_openmp_stop *stop, uint64_t thread_pointer)
{
    enum { TEAM_BEFORE_NUMBER = 24 };
    uint64_t team = 0;
    if (stop->process->knows_thread_num)
        tg_memory_read(stop->thread->tid,
                       thread_pointer + (uint64_t)stop->process->thread_num_offset - TEAM_BEFORE_NUMBER,
                       &team, sizeof team);
    return team;
}

/* The open region that BODY is entered for. Two threads may meet the same construct inside of an outer
 * region: then the data tell which it is, or, where there are none, the runtime's team of who met it. NULL:
 * none. */
static const struct tg_openmp_work *find_region(const struct tg_openmp_stop *stop, uint64_t body)
{
    const struct tg_openmp_works *regions = &stop->process->regions;
    const struct tg_openmp_work *latest = NULL;
    uint64_t team = 0;
    for (size_t i = regions->count; i-- > 0;) {
        const struct tg_openmp_work *region = &regions->items[i];
        if (region->body != body || region->data != stop->registers->rdi)
            continue;
        if (team == 0)
            team = read_team(stop, stop->registers->fs_base);
        if (team == 0 || read_team(stop, region->owner) == team)
            return region;
        latest = latest == NULL ? region : latest;
    }
    return latest;
}

static bool begin_region_body(const struct tg_openmp_stop *stop, uint64_t body)
{
    const struct tg_openmp_work *region = find_region(stop, body);
    struct tg_openmp_thread *state = stop->state;
    if (region == NULL || state->n_frames == TG_OPENMP_MAX_FRAMES || state->n_calls == TG_OPENMP_MAX_CALLS)
        return region != NULL;
    const struct tg_openmp_work copy = *region;
    state->frames[state->n_frames++] =
        (struct tg_openmp_frame){.team = copy.id, .thread_num = read_thread_num(stop), .level = copy.level};
    EMIT(stop, OMP_IMPLICIT_BEGIN, omp_implicit_begin, copy.code, .parent_team = copy.parent);
    push_call(stop, &(struct tg_openmp_call){.id = copy.id, .body = body});
    struct tg_openmp_stop at_call = *stop;
    at_call.return_address = copy.code;
    if (copy.entry->combined)
        begin_zone(&at_call, copy.entry->zone, copy.entry, copy.count);
    return true;
}

/* The address behind a call that waits for a taskloop's tasks, which run BODY; 0: there is none. */
static uint64_t find_taskloop(const struct tg_openmp_stop *stop, uint64_t body)
{
    const struct tg_openmp_thread *thread = stop->process->threads;
    for (; thread != NULL; thread = thread->hh.next)
        for (size_t i = thread->n_calls; i-- > 0;)
            if (thread->calls[i].entry != NULL && thread->calls[i].entry->call == TG_GOMP_TASKLOOP &&
                thread->calls[i].body == body)
                return thread->calls[i].return_address;
    return 0;
}

/* The task that BODY is begun for: the one that the thread is just creating, else the oldest one. */
static bool find_task(const struct tg_openmp_stop *stop, uint64_t body, struct tg_openmp_work *task)
{
    const struct tg_openmp_thread *state = stop->state;
    const struct tg_openmp_call *top = state->n_calls == 0 ? NULL : &state->calls[state->n_calls - 1];
    bool is_own = top != NULL && top->entry != NULL && top->entry->call == TG_GOMP_TASK && top->body == body;
    return (is_own && tg_openmp_works_take(&stop->process->tasks, top->id, body, task)) ||
           tg_openmp_works_take(&stop->process->tasks, 0, body, task);
}

static void begin_task_body(const struct tg_openmp_stop *stop, uint64_t body)
{
    struct tg_openmp_work task;
    if (!find_task(stop, body, &task)) { /* of a taskloop: nobody said how many there would be */
        task = (struct tg_openmp_work){
            .id = ++stop->process->last_task, .body = body, .code = find_taskloop(stop, body)};
        EMIT(stop, OMP_TASK_CREATE, omp_task_create, task.code, .task = task.id, .body = body,
             .flags = TG_OMP_TASK_TASKLOOP);
    }
    struct tg_event *event = EMIT(stop, OMP_TASK_BEGIN, omp_task_begin, task.code, .task = task.id);
    if (event != NULL)
        event->omp_task_begin.seen = TG_OMP_INFERRED;
    push_call(stop, &(struct tg_openmp_call){.id = task.id, .body = body, .is_task = true});
}

static void body_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_openmp_stop stop;
    uint64_t body = tg_breakpoint_address(breakpoint);
    if (prepare(&stop, context, thread, true) && !begin_region_body(&stop, body))
        begin_task_body(&stop, body);
}

static void leave_body(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    if (call->is_task) {
        EMIT(stop, OMP_TASK_END, omp_task_end, 0, .task = call->id, .how = TG_OMP_TASK_COMPLETED);
        return;
    }
    struct tg_openmp_stop in_runtime = *stop; /* whose code is not the program's */
    in_runtime.return_address = 0;
    while (frame_of(stop->state)->n_zones > 0)
        end_zone(&in_runtime);
    EMIT(stop, OMP_IMPLICIT_END, omp_implicit_end, 0);
    if (stop->state->n_frames > 1)
        stop->state->n_frames--;
}

static void leave_wait(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    EMIT(stop, OMP_SYNC_END, omp_sync_end, stop->return_address, .sync = call->sync, .instance = call->id);
    if (call->entry->call == TG_GOMP_SINGLE_COPY && stop->registers->rax == 0)
        begin_zone(stop, TG_OMP_ZONE_SINGLE, NULL, 0);
    if (call->entry->call == TG_GOMP_TASKGROUP_END)
        end_zone(stop);
}

static void leave_call(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    struct tg_openmp_work ended;
    switch ((unsigned)call->entry->call) {
    case TG_GOMP_PARALLEL:
        tg_openmp_works_take(&stop->process->regions, call->id, call->body, &ended);
        EMIT(stop, OMP_PARALLEL_END, omp_parallel_end, stop->return_address, .ended_team = call->id);
        break;
    case TG_GOMP_SECTION:
        if ((stop->registers->rax & UINT32_MAX) != 0)
            EMIT(stop, OMP_SECTION, omp_section, stop->return_address,
                 .section = stop->registers->rax & UINT32_MAX);
        break;
    case TG_GOMP_SINGLE_START:
        begin_zone(stop, (stop->registers->rax & 0xff) != 0 ? TG_OMP_ZONE_SINGLE : TG_OMP_ZONE_SINGLE_OTHER,
                   NULL, 0);
        break;
    case TG_GOMP_MUTEX_ENTER:
        EMIT(stop, OMP_MUTEX_ENTER, omp_mutex_enter, stop->return_address, .mutex = call->entry->mutex,
             .lock = call->lock);
        break;
    case TG_GOMP_MUTEX_TEST:
        leave_test(stop, call);
        break;
    case TG_GOMP_TASKLOOP:
        end_zone(stop);
        break;
    default:
        break;
    }
}

static void leave(const struct tg_openmp_stop *stop, const struct tg_openmp_call *call)
{
    if (call->entry == NULL)
        leave_body(stop, call);
    else if (call->waits)
        leave_wait(stop, call);
    else
        leave_call(stop, call);
}

/* A call in tail position returns to where its caller does, and both are left at once. Where no call fits,
 * somebody came here another way. */
static void return_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_openmp_stop stop;
    struct tg_openmp_call call;
    uint64_t address = tg_breakpoint_address(breakpoint);
    if (!prepare(&stop, context, thread, false))
        return;
    stop.return_address = address;
    while (tg_openmp_thread_return(stop.state, address, stop.registers->rsp, &call))
        leave(&stop, &call);
}

void tg_openmp_calls_plant(const struct tg_openmp_stop *stop, uint64_t entry)
{
    plant_once(stop, entry, entry_hit);
}
