/* OpenMP as its runtime tells it through OMPT. What runtimes leave unclear is settled here:
 *
 * - LLVM's tells a worker's end of the join barrier and of its implicit task when the next region begins, or
 *   never. The worker's end is therefore its arrival at the join; no end of the join is recorded for workers.
 * - Before OpenMP 5.1's kinds of barriers, the join and the barriers of worksharing look alike: at the join
 * the implicit task has left the program's code (its exit frame is gone).
 * - Inside of teams LLVM's forks regions of its own, which have no code address.
 * - Chunks of loops, single sections and the bodies' addresses are not told. */
#include "recorder/agent/ompt/events.h"

#include "recorder/agent/lock_owner.h"
#include "recorder/agent/ompt/chain.h"

struct tg_ompt_runtime tg_ompt_runtime;

/* ---- where a thread is */

/* Bounds of the agent's code; the linker knows. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* CODE, or where it is within the runtime itself, or an entry point of the agent's, what the thread called
 * last. */
static const void *code_in_program(const void *code)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (code == NULL)
        return NULL;
    bool is_own = (uintptr_t)code - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start;
    if (is_own || (uintptr_t)code - tg_ompt_runtime.start < tg_ompt_runtime.end - tg_ompt_runtime.start)
        return thread->code;
    return thread->code = code;
}

static void flush_pending(const struct tg_openmp_dependence *list, size_t count)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    uint64_t task = thread->pending_task;
    thread->pending_task = 0;
    tg_openmp_task_create(thread->pending_code, TG_OMP_OMPT, task, thread->pending_parent, NULL,
                          thread->pending_flags, list, count);
}

/* The thread that forked goes on alone in the child, outside of all regions. */
static void enter_process(struct tg_ompt_thread *thread)
{
    /* The generation is 0 in a child until its first record: what was 0 before is no other process. */
    bool is_child = thread->process != 0;
    thread->process = *tg_agent.generation;
    if (!is_child)
        return;
    if (thread->top != NULL)
        tg_openmp_return(&(struct tg_openmp_frame){0});
    thread->top = NULL;
    thread->pending_task = 0;
}

/* The region of the thread as a callback comes; NULL outside of all regions. A task whose creation waits for
 * its dependences is recorded before whatever follows it. */
static struct tg_ompt_place *enter(void)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (TG_AGENT_UNLIKELY(thread->process != *tg_agent.generation))
        enter_process(thread);
    if (TG_AGENT_UNLIKELY(thread->pending_task != 0))
        flush_pending(NULL, 0);
    return thread->top;
}

/* ---- regions and implicit tasks */

static void drop_place(void)
{
    struct tg_ompt_place *place = tg_ompt_thread.top;
    tg_ompt_thread.top = place->outer;
    tg_openmp_return(&place->around);
    tg_ompt_give(place);
}

static void on_thread_end(union tg_ompt_data *thread_data)
{
    TG_OMPT_HAND_ON(THREAD_END, (thread_data));
    enter();
    while (tg_ompt_thread.top != NULL)
        drop_place();
    if (tg_ompt_thread.held != NULL)
        tg_ompt_give(tg_ompt_thread.held);
    tg_ompt_thread.held = NULL;
    tg_ompt_give_all();
}

static struct tg_ompt_region *make_region(const struct tg_ompt_place *place, int flags, const void *code)
{
    struct tg_ompt_region *region = tg_ompt_take();
    if (region == NULL)
        return NULL;
    region->kind = TG_OMPT_REGION_PARALLEL;
    if ((flags & TG_OMPT_PARALLEL_LEAGUE) != 0)
        region->kind = TG_OMPT_REGION_LEAGUE;
    else if (code == NULL && place != NULL && place->kind == TG_OMPT_REGION_LEAGUE)
        region->kind = TG_OMPT_REGION_HIDDEN;
    region->parent_team = tg_openmp_frame.team;
    region->team = region->parent_team;
    region->level = tg_openmp_frame.level;
    region->code = code;
    if (region->kind == TG_OMPT_REGION_PARALLEL) {
        region->team = tg_openmp_new_team();
        region->level++;
    }
    return region;
}

static void on_parallel_begin(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                              union tg_ompt_data *parallel, unsigned requested, int flags, const void *code)
{
    const struct tg_ompt_place *place = enter();
    struct tg_ompt_region *region = make_region(place, flags, code_in_program(code));
    parallel->ptr = region;
    if (region != NULL && region->kind == TG_OMPT_REGION_PARALLEL)
        tg_openmp_parallel_begin(region->code, TG_OMP_OMPT, region->team, requested, NULL);
    TG_OMPT_HAND_ON(PARALLEL_BEGIN, (tg_ompt_their_task(encountering_task), frame,
                                     tg_ompt_their_region(parallel), requested, flags, code));
}

static void on_parallel_end(union tg_ompt_data *parallel, union tg_ompt_data *encountering_task, int flags,
                            const void *code)
{
    TG_OMPT_HAND_ON(PARALLEL_END,
                    (tg_ompt_their_region(parallel), tg_ompt_their_task(encountering_task), flags, code));
    enter();
    struct tg_ompt_region *region = tg_ompt_region_of(parallel);
    if (region == NULL)
        return;
    if (region->kind == TG_OMPT_REGION_PARALLEL)
        tg_openmp_parallel_end(region->code, TG_OMP_OMPT, region->team);
    parallel->ptr = NULL;
    tg_ompt_give(region);
}

static void begin_implicit(const struct tg_ompt_region *region, unsigned team_size, unsigned index)
{
    /* Whoever is not a region's first thread was waiting in the pool: what it was in is over. */
    while (index != 0 && tg_ompt_thread.top != NULL)
        drop_place();
    struct tg_ompt_place *place = tg_ompt_take();
    if (place == NULL)
        return;
    place->outer = tg_ompt_thread.top;
    place->around = tg_openmp_frame;
    place->kind = (uint16_t)region->kind;
    tg_ompt_thread.top = place;
    if (region->kind == TG_OMPT_REGION_PARALLEL) {
        tg_openmp_enter(region->code, TG_OMP_OMPT, region->team, region->parent_team, index, team_size,
                        region->level);
        return;
    }
    tg_openmp_return(
        &(struct tg_openmp_frame){.team = region->team, .level = region->level, .code = region->code});
    if (region->kind == TG_OMPT_REGION_LEAGUE)
        tg_openmp_zone_begin(0, region->code, TG_OMP_OMPT, TG_OMP_ZONE_TEAMS, TG_OMP_SCHEDULE_NONE, 0);
}

/* Behind libgomp's entry points LLVM's runtime does not tell the end of a single that this thread
 * executes. */
static tg_agent_moment end_open_single(void)
{
    if (tg_openmp_frame.workshare != 1 + TG_OMP_ZONE_SINGLE)
        return 0;
    tg_openmp_frame.workshare = 0;
    return tg_openmp_zone_end(0, NULL, TG_OMP_INFERRED, TG_OMP_ZONE_SINGLE);
}

/* The thread is through with the body of PLACE, its innermost. Returns the moment. */
static tg_agent_moment end_body(struct tg_ompt_place *place)
{
    if (place->ended)
        return 0;
    tg_agent_moment moment = end_open_single();
    place->ended = true;
    if (place->kind == TG_OMPT_REGION_LEAGUE)
        moment = tg_openmp_zone_end(moment, tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_ZONE_TEAMS);
    else if (place->kind == TG_OMPT_REGION_PARALLEL)
        moment = tg_openmp_implicit_end(moment, tg_openmp_frame.code, TG_OMP_OMPT);
    return moment;
}

static void end_implicit(struct tg_ompt_place *place, int flags)
{
    /* An initial task that is not of a league is no region of the program. */
    bool initial = (flags & TG_OMPT_TASK_INITIAL) != 0;
    if (place == NULL || initial != (place->kind == TG_OMPT_REGION_LEAGUE))
        return;
    end_body(place);
    drop_place();
}

static void on_implicit_task(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                             unsigned team_size, unsigned index, int flags)
{
    struct tg_ompt_place *place = enter();
    struct tg_ompt_region *region = tg_ompt_region_of(parallel);
    if (endpoint == TG_OMPT_END) {
        end_implicit(place, flags);
    } else {
        tg_ompt_task_made(task, NULL, 0);
        if (region != NULL && (flags & TG_OMPT_TASK_INITIAL) == (region->kind == TG_OMPT_REGION_LEAGUE))
            begin_implicit(region, team_size, index);
    }
    TG_OMPT_HAND_ON(IMPLICIT_TASK, (endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task),
                                    team_size, index, flags));
    if (endpoint == TG_OMPT_END)
        tg_ompt_task_done(task);
}

/* ---- barriers and other waits */

/* Whether the implicit barrier behind CODE, of a kind that does not tell, is the join of the thread's region:
 * then the thread has left the region's body. LLVM's runtime may hand out an old CODE there, of a barrier before,
 * in regions within regions. Without a frame to see: the join is reached behind the construct itself, or from
 * nowhere. */
static bool is_join(const void *code)
{
    int flags, thread_num;
    union tg_ompt_data *task, *parallel;
    struct tg_ompt_frame *frame = NULL;
    if (tg_ompt_runtime.get_task_info == NULL ||
        tg_ompt_runtime.get_task_info(0, &flags, &task, &frame, &parallel, &thread_num) == 0 || frame == NULL)
        return code == NULL || code == tg_openmp_frame.code;
    return frame->exit_frame.ptr == NULL;
}

static void record_join(struct tg_ompt_place *place, int endpoint)
{
    if (endpoint == TG_OMPT_BEGIN) {
        tg_agent_moment moment = end_body(place);
        if (place->kind == TG_OMPT_REGION_PARALLEL)
            tg_openmp_sync_begin(moment, tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_SYNC_BARRIER_JOIN);
    } else if (place->kind == TG_OMPT_REGION_PARALLEL && tg_openmp_frame.thread_num == 0) {
        tg_openmp_sync_end(tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_SYNC_BARRIER_JOIN,
                           tg_openmp_frame.barriers, false);
    }
}

static void record_sync(enum tg_omp_sync sync, int endpoint, const void *code)
{
    const void *known = code_in_program(code);
    tg_agent_moment moment = tg_openmp_is_barrier(sync) ? end_open_single() : 0;
    if ((endpoint & TG_OMPT_BEGIN) != 0)
        tg_openmp_sync_begin(moment, known, TG_OMP_OMPT, sync);
    if ((endpoint & TG_OMPT_END) != 0)
        tg_openmp_sync_end(known, TG_OMP_OMPT, sync,
                           tg_openmp_is_barrier(sync) ? tg_openmp_frame.barriers : 0, false);
}

static void record_zone(enum tg_omp_zone zone, enum tg_omp_schedule schedule, uint64_t count, int endpoint,
                        const void *code)
{
    const void *known = code_in_program(code);
    tg_agent_moment moment = 0;
    if ((endpoint & TG_OMPT_BEGIN) != 0)
        moment = tg_openmp_zone_begin(0, known, TG_OMP_OMPT, zone, schedule, count);
    if ((endpoint & TG_OMPT_END) != 0)
        tg_openmp_zone_end(moment, known, TG_OMP_OMPT, zone);
}

static void record_sync_region(int kind, int endpoint, const void *code)
{
    struct tg_ompt_place *place = enter();
    switch (kind) {
    case TG_OMPT_SYNC_BARRIER:
    case TG_OMPT_SYNC_BARRIER_EXPLICIT:
        record_sync(TG_OMP_SYNC_BARRIER, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLEMENTATION:
    case TG_OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE:
        record_sync(TG_OMP_SYNC_BARRIER_IMPLICIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLICIT:
        if (place != NULL && (place->ended || (endpoint == TG_OMPT_BEGIN && is_join(code))))
            record_join(place, endpoint);
        else
            record_sync(TG_OMP_SYNC_BARRIER_IMPLICIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLICIT_PARALLEL:
    case TG_OMPT_SYNC_BARRIER_TEAMS:
        if (place != NULL)
            record_join(place, endpoint);
        break;
    case TG_OMPT_SYNC_TASKWAIT:
        record_sync(TG_OMP_SYNC_TASKWAIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_TASKGROUP: /* all of it; the wait at its end is told by sync_region_wait */
        record_zone(TG_OMP_ZONE_TASKGROUP, TG_OMP_SCHEDULE_NONE, 0, endpoint, code);
        break;
    case TG_OMPT_SYNC_REDUCTION:
        record_sync(TG_OMP_SYNC_REDUCTION, endpoint, code);
        break;
    default: /* not known yet */
        break;
    }
}

static void on_sync_region(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                           const void *code)
{
    record_sync_region(kind, endpoint, code);
    TG_OMPT_HAND_ON(SYNC_REGION,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

static void on_sync_region_wait(int kind, int endpoint, union tg_ompt_data *parallel,
                                union tg_ompt_data *task, const void *code)
{
    if (kind == TG_OMPT_SYNC_TASKGROUP) {
        enter();
        record_sync(TG_OMP_SYNC_TASKGROUP, endpoint, code);
    }
    TG_OMPT_HAND_ON(SYNC_REGION_WAIT,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

static void on_reduction(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                         const void *code)
{
    enter();
    record_sync(TG_OMP_SYNC_REDUCTION, endpoint, code);
    TG_OMPT_HAND_ON(REDUCTION,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

/* ---- worksharing */

static void record_work(int kind, int endpoint, uint64_t count, const void *code)
{
    static const struct {
        bool known;
        unsigned char zone, schedule;
    } works[] = {
        [TG_OMPT_WORK_LOOP] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SECTIONS] = {true, TG_OMP_ZONE_SECTIONS, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SINGLE_EXECUTOR] = {true, TG_OMP_ZONE_SINGLE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SINGLE_OTHER] = {true, TG_OMP_ZONE_SINGLE_OTHER, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_WORKSHARE] = {true, TG_OMP_ZONE_WORKSHARE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_DISTRIBUTE] = {true, TG_OMP_ZONE_DISTRIBUTE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_TASKLOOP] = {true, TG_OMP_ZONE_TASKLOOP, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SCOPE] = {true, TG_OMP_ZONE_SCOPE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_LOOP_STATIC] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_STATIC},
        [TG_OMPT_WORK_LOOP_DYNAMIC] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_DYNAMIC},
        [TG_OMPT_WORK_LOOP_GUIDED] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_GUIDED},
        [TG_OMPT_WORK_LOOP_OTHER] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_NONE},
    };
    if (kind < 0 || (size_t)kind >= sizeof works / sizeof *works || !works[kind].known)
        return;
    if (kind == TG_OMPT_WORK_TASKLOOP && (endpoint & TG_OMPT_BEGIN) != 0)
        tg_ompt_thread.taskloops++;
    if (kind == TG_OMPT_WORK_TASKLOOP && (endpoint & TG_OMPT_END) != 0 && tg_ompt_thread.taskloops > 0)
        tg_ompt_thread.taskloops--;
    if ((endpoint & TG_OMPT_BEGIN) != 0 && kind != TG_OMPT_WORK_TASKLOOP)
        end_open_single();
    if (kind == TG_OMPT_WORK_SINGLE_EXECUTOR)
        tg_openmp_frame.workshare = (endpoint & TG_OMPT_END) != 0 ? 0 : 1 + TG_OMP_ZONE_SINGLE;
    record_zone(works[kind].zone, works[kind].schedule, kind == TG_OMPT_WORK_SECTIONS ? count : 0, endpoint,
                code);
}

static void on_work(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                    uint64_t count, const void *code)
{
    enter();
    record_work(kind, endpoint, count, code);
    TG_OMPT_HAND_ON(WORK,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), count, code));
}

static void on_masked(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code)
{
    enter();
    record_zone(TG_OMP_ZONE_MASKED, TG_OMP_SCHEDULE_NONE, 0, endpoint, code);
    TG_OMPT_HAND_ON(MASKED, (endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

/* ---- mutual exclusion */

static const void *lock_of(uint64_t wait_id)
{
    return (const void *)(uintptr_t)wait_id;
}

static enum tg_omp_mutex mutex_of(int kind)
{
    switch (kind) {
    case TG_OMPT_MUTEX_CRITICAL:
        return TG_OMP_MUTEX_CRITICAL; /* whether it has a name is not told */
    case TG_OMPT_MUTEX_ATOMIC:
        return TG_OMP_MUTEX_ATOMIC;
    case TG_OMPT_MUTEX_ORDERED:
        return TG_OMP_MUTEX_ORDERED;
    case TG_OMPT_MUTEX_NEST_LOCK:
    case TG_OMPT_MUTEX_TEST_NEST_LOCK:
        return TG_OMP_MUTEX_NEST_LOCK;
    default:
        return TG_OMP_MUTEX_LOCK;
    }
}

/* In the order of iterations threads wait for more than those who are in the region before them. */
static bool is_lock(int kind, uint64_t wait_id)
{
    return kind != TG_OMPT_MUTEX_ORDERED && wait_id != 0 && wait_id >> TG_LOCK_OWNER_SHIFT == 0;
}

/* The program's name for what the runtime calls WAIT_ID, where that is known. */
static uint64_t known_id(int kind, uint64_t wait_id)
{
    const void *critical = kind == TG_OMPT_MUTEX_CRITICAL ? tg_ompt_thread.critical : NULL;
    return critical != NULL && tg_ompt_runtime.watches_releases ? (uintptr_t)critical : wait_id;
}

static void on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
                             const void *code)
{
    enter();
    tg_ompt_thread.acquire = 0;
    if (kind != TG_OMPT_MUTEX_TEST_LOCK && kind != TG_OMPT_MUTEX_TEST_NEST_LOCK &&
        !tg_openmp_tests.is_testing) /* tests of locks do not wait; LLVM's runtime 14 calls them locks */
        tg_ompt_thread.acquire = tg_openmp_mutex_wait(code_in_program(code), TG_OMP_OMPT, mutex_of(kind),
                                                      lock_of(known_id(kind, wait_id)));
    TG_OMPT_HAND_ON(MUTEX_ACQUIRE, (kind, hint, implementation, wait_id, code));
}

void tg_ompt_leave_mutex(enum tg_omp_mutex mutex, uint64_t id, const void *code)
{
    enter();
    if (mutex != TG_OMP_MUTEX_ORDERED && id != 0 && id >> TG_LOCK_OWNER_SHIFT == 0)
        tg_lock_owner_leave(id);
    tg_openmp_mutex_leave(code, TG_OMP_OMPT, mutex, lock_of(id));
}

/* The thread is in nest lock ID once more, or BY less. */
static void count_nest(uint64_t id, int by)
{
    static const uint64_t ONCE = UINT64_C(1) << TG_OMPT_NEST_SHIFT;
    struct tg_ompt_held *held = tg_ompt_thread.held;
    uint64_t *place = NULL;
    for (size_t i = 0; held != NULL && i < TG_OMPT_NESTS; i++)
        if (held->nests[i] == 0 || (held->nests[i] & (ONCE - 1)) == id) {
            place = &held->nests[i];
            if (*place != 0)
                break;
        }
    if (place == NULL || id == 0 || id >= ONCE || (*place == 0 && by < 0))
        return;
    if (*place == 0)
        *place = id;
    *place = by > 0 ? *place + ONCE : *place - ONCE;
}

/* Keeps what has to be known at the end of what the thread has entered. */
static void note_entered(int kind, uint64_t id, const void *code)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (thread->held == NULL)
        thread->held = tg_ompt_take();
    struct tg_ompt_held *held = thread->held;
    if (kind == TG_OMPT_MUTEX_ATOMIC) {
        tg_ompt_leave_mutex(TG_OMP_MUTEX_ATOMIC, id, code); /* some instructions, and no call */
        tg_gate_wait();
    } else if (held != NULL && kind == TG_OMPT_MUTEX_CRITICAL) {
        if (held->n_criticals < TG_OMPT_CRITICALS)
            held->criticals[held->n_criticals] = id;
        held->n_criticals++;
    } else if (held != NULL && kind == TG_OMPT_MUTEX_ORDERED) {
        held->ordered = id;
    } else if (held != NULL && mutex_of(kind) == TG_OMP_MUTEX_NEST_LOCK) {
        count_nest(id, 1);
    }
}

static void on_mutex_acquired(int kind, uint64_t wait_id, const void *code)
{
    enter();
    const uint64_t id = known_id(kind, wait_id);
    const void *known = code_in_program(code);
    tg_agent_moment moment = tg_ompt_thread.acquire;
    tg_ompt_thread.acquire = 0;
    tg_ompt_thread.critical = NULL;
    if (!is_lock(kind, id) || !tg_lock_owner_enter(id, tg_openmp_frame.task == 0))
        moment = 0;
    tg_openmp_mutex_enter(moment, known, TG_OMP_OMPT, mutex_of(kind), lock_of(id));
    if (tg_ompt_runtime.watches_releases)
        note_entered(kind, id, known);
    TG_OMPT_HAND_ON(MUTEX_ACQUIRED, (kind, wait_id, code));
}

/* Where the agent is not in front of what releases; then it is not in front of what enters either. */
static void on_mutex_released(int kind, uint64_t wait_id, const void *code)
{
    tg_ompt_leave_mutex(mutex_of(kind), wait_id, code_in_program(code));
    TG_OMPT_HAND_ON(MUTEX_RELEASED, (kind, wait_id, code));
    tg_gate_wait();
}

static void on_nest_lock(int endpoint, uint64_t wait_id, const void *code)
{
    enter();
    if (tg_ompt_runtime.watches_releases)
        count_nest(wait_id, endpoint == TG_OMPT_END ? -1 : 1);
    if (endpoint == TG_OMPT_END)
        tg_openmp_mutex_leave(code_in_program(code), TG_OMP_OMPT, TG_OMP_MUTEX_NEST_LOCK, lock_of(wait_id));
    else
        tg_openmp_mutex_enter(0, code_in_program(code), TG_OMP_OMPT, TG_OMP_MUTEX_NEST_LOCK,
                              lock_of(wait_id));
    TG_OMPT_HAND_ON(NEST_LOCK, (endpoint, wait_id, code));
    tg_gate_wait();
}

/* ---- tasks */

static enum tg_omp_dependence_kind dependence_kind(int type)
{
    switch (type) {
    case TG_OMPT_DEPENDENCE_IN:
        return TG_OMP_DEPEND_IN;
    case TG_OMPT_DEPENDENCE_OUT:
        return TG_OMP_DEPEND_OUT;
    case TG_OMPT_DEPENDENCE_INOUT:
        return TG_OMP_DEPEND_INOUT;
    case TG_OMPT_DEPENDENCE_MUTEXINOUTSET:
        return TG_OMP_DEPEND_MUTEXINOUTSET;
    default:
        return TG_OMP_DEPEND_OTHER;
    }
}

static uint64_t task_flags(unsigned flags)
{
    uint64_t ours = tg_ompt_thread.taskloops > 0 ? TG_OMP_TASK_TASKLOOP : 0;
    ours |= (flags & TG_OMPT_TASK_UNTIED) != 0 ? TG_OMP_TASK_UNTIED : 0;
    ours |= (flags & TG_OMPT_TASK_FINAL) != 0 ? TG_OMP_TASK_FINAL : 0;
    ours |= (flags & TG_OMPT_TASK_MERGEABLE) != 0 ? TG_OMP_TASK_MERGEABLE : 0;
    ours |= (flags & TG_OMPT_TASK_UNDEFERRED) != 0 ? TG_OMP_TASK_UNDEFERRED : 0;
    return ours;
}

static void record_task(union tg_ompt_data *parent, union tg_ompt_data *task, unsigned flags,
                        int has_dependences, const void *code)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    const uint64_t *parent_id = tg_ompt_task_id(parent);
    uint64_t id = tg_openmp_new_task();
    thread->pending_parent = parent_id == NULL ? 0 : *parent_id & ~TG_OMPT_TASK_BEGUN;
    thread->pending_code = code_in_program(code);
    thread->pending_flags = task_flags(flags);
    thread->pending_task = id;
    tg_ompt_task_made(task, parent, id);
    if (has_dependences == 0 || !tg_ompt_runtime.has_dependences)
        flush_pending(NULL, 0);
}

static void on_task_create(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                           union tg_ompt_data *new_task, int flags, int has_dependences, const void *code)
{
    enter();
    if ((flags & (TG_OMPT_TASK_EXPLICIT | TG_OMPT_TASK_TARGET)) != 0) {
        record_task(encountering_task, new_task, (unsigned)flags, has_dependences, code);
    } else {
        tg_ompt_task_made(new_task, encountering_task, 0);
        if ((flags & TG_OMPT_TASK_TASKWAIT) != 0) /* a taskwait with dependences */
            record_sync(TG_OMP_SYNC_TASKWAIT, TG_OMPT_BEGIN, code);
    }
    TG_OMPT_HAND_ON(TASK_CREATE, (tg_ompt_their_task(encountering_task), frame, tg_ompt_their_task(new_task),
                                  flags, has_dependences, code));
}

static void record_dependences(const struct tg_ompt_dependence *list, int count)
{
    struct tg_openmp_dependence ours[TG_AGENT_MAX_DEPENDENCES];
    size_t n = count < 0 ? 0 : (size_t)count;
    n = n < TG_AGENT_MAX_DEPENDENCES ? n : TG_AGENT_MAX_DEPENDENCES;
    for (size_t i = 0; i < n; i++)
        ours[i] = (struct tg_openmp_dependence){list[i].variable.ptr, dependence_kind(list[i].type)};
    flush_pending(ours, n);
}

static void on_dependences(union tg_ompt_data *task, const struct tg_ompt_dependence *list, int count)
{
    const uint64_t *id = tg_ompt_task_id(task);
    if (tg_ompt_thread.pending_task != 0 && id != NULL && *id == tg_ompt_thread.pending_task)
        record_dependences(list, count);
    TG_OMPT_HAND_ON(DEPENDENCES, (tg_ompt_their_task(task), list, count));
}

/* Returns the moment, for what comes next. */
static tg_agent_moment leave_task(union tg_ompt_data *task, int status)
{
    enum tg_omp_task_end how = TG_OMP_TASK_SUSPENDED;
    const uint64_t *id = tg_ompt_task_id(task);
    if (status == TG_OMPT_TASKWAIT_COMPLETE) {
        record_sync(TG_OMP_SYNC_TASKWAIT, TG_OMPT_END, NULL);
        return 0;
    }
    if (id == NULL || *id == 0 || status == TG_OMPT_TASK_EARLY_FULFILL) /* the task goes on */
        return 0;
    /* LLVM's runtime tells the switches between the parts of an untied task more than once. */
    uint64_t number = *id & ~TG_OMPT_TASK_BEGUN;
    if ((status == TG_OMPT_TASK_SWITCH || status == TG_OMPT_TASK_YIELD) && tg_openmp_frame.task != number)
        return 0;
    if (status == TG_OMPT_TASK_COMPLETE)
        how = TG_OMP_TASK_COMPLETED;
    else if (status == TG_OMPT_TASK_CANCEL)
        how = TG_OMP_TASK_CANCELLED;
    else if (status == TG_OMPT_TASK_DETACH)
        how = TG_OMP_TASK_DETACHED;
    else if (status == TG_OMPT_TASK_LATE_FULFILL)
        how = TG_OMP_TASK_FULFILLED;
    return tg_openmp_task_end(NULL, TG_OMP_OMPT, number, how);
}

static void enter_task(tg_agent_moment moment, union tg_ompt_data *task)
{
    uint64_t *id = tg_ompt_task_id(task);
    if (id == NULL || *id == 0)
        return;
    tg_openmp_task_begin(moment, NULL, TG_OMP_OMPT, *id & ~TG_OMPT_TASK_BEGUN,
                         (*id & TG_OMPT_TASK_BEGUN) != 0);
    *id |= TG_OMPT_TASK_BEGUN;
}

static void on_task_schedule(union tg_ompt_data *prior, int status, union tg_ompt_data *next)
{
    enter();
    if (prior == NULL || prior != next || status == TG_OMPT_TASK_COMPLETE) {
        tg_agent_moment moment = leave_task(prior, status);
        enter_task(moment, next);
    } else if (tg_openmp_frame.task == 0) { /* the next part of an untied task that was put aside */
        enter_task(0, next);
    }
    TG_OMPT_HAND_ON(TASK_SCHEDULE, (tg_ompt_their_task(prior), status, tg_ompt_their_task(next)));
    if (status == TG_OMPT_TASK_COMPLETE || status == TG_OMPT_TASK_CANCEL ||
        status == TG_OMPT_TASK_LATE_FULFILL || status == TG_OMPT_TASKWAIT_COMPLETE)
        tg_ompt_task_done(prior);
}

static void on_cancel(union tg_ompt_data *task, int flags, const void *code)
{
    enum tg_omp_cancel_construct construct = TG_OMP_CANCEL_PARALLEL;
    if ((flags & TG_OMPT_CANCEL_LOOP) != 0)
        construct = TG_OMP_CANCEL_LOOP;
    else if ((flags & TG_OMPT_CANCEL_SECTIONS) != 0)
        construct = TG_OMP_CANCEL_SECTIONS;
    else if ((flags & TG_OMPT_CANCEL_TASKGROUP) != 0)
        construct = TG_OMP_CANCEL_TASKGROUP;
    enter();
    if ((flags & TG_OMPT_CANCEL_DISCARDED_TASK) == 0)
        tg_openmp_cancel(code_in_program(code), TG_OMP_OMPT, construct,
                         (flags & TG_OMPT_CANCEL_ACTIVATED) != 0);
    TG_OMPT_HAND_ON(CANCEL, (tg_ompt_their_task(task), flags, code));
}

const struct tg_ompt_event tg_ompt_events[] = {
#define CALLBACK(symbol, function)                                                                           \
    {                                                                                                        \
        TG_OMPT_##symbol, (tg_ompt_function)(function)                                                       \
    }
    CALLBACK(THREAD_END, on_thread_end),
    CALLBACK(PARALLEL_BEGIN, on_parallel_begin),
    CALLBACK(PARALLEL_END, on_parallel_end),
    CALLBACK(IMPLICIT_TASK, on_implicit_task),
    CALLBACK(SYNC_REGION, on_sync_region),
    CALLBACK(SYNC_REGION_WAIT, on_sync_region_wait),
    CALLBACK(REDUCTION, on_reduction),
    CALLBACK(WORK, on_work),
    CALLBACK(MASKED, on_masked),
    CALLBACK(MUTEX_ACQUIRE, on_mutex_acquire),
    CALLBACK(MUTEX_ACQUIRED, on_mutex_acquired),
    CALLBACK(MUTEX_RELEASED, on_mutex_released),
    CALLBACK(NEST_LOCK, on_nest_lock),
    CALLBACK(TASK_CREATE, on_task_create),
    CALLBACK(TASK_SCHEDULE, on_task_schedule),
    CALLBACK(DEPENDENCES, on_dependences),
    CALLBACK(CANCEL, on_cancel),
#undef CALLBACK
    {0},
};
