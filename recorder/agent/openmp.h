/* OpenMP inside of the traced program: what the capture back ends share. A back end sees a runtime in some
 * way and says what it sees with the functions below, one per kind of record; where the thread is (its team,
 * its number in it) they take from the thread's frame, which back ends change with tg_openmp_enter and
 * tg_openmp_return only.
 *
 * All of them are async-signal-safe, and do nothing where nothing is recorded. MOMENT is that of the record
 * before where both are of the same, 0: now; they return their own. CODE is the address behind the
 * call in the program, NULL unknown; SEEN is enum tg_omp_seen of how the back end knows. */
#ifndef TG_RECORDER_AGENT_OPENMP_H
#define TG_RECORDER_AGENT_OPENMP_H

#include "format/event/event.h"
#include "recorder/agent/gate.h"
#include "recorder/agent/record.h"

/* A back end, told what the program is about to do. To add one:
 *   1. make a folder beside gomp/ and ompt/, with one `const struct tg_openmp_backend tg_NAME_backend`;
 *   2. name its files in CMakeLists.txt, and the back end in the table of calls/backends.c;
 *   3. where another back end covers the same runtime, one of the two records and the other lets everything pass: it
 *      asks, as libgomp's does (gomp.c: tg_ompt_covers);
 *   4. record what it sees with the functions below, and no region without tg_openmp_enter;
 *   5. if it sees in a new way, append that to enum tg_omp_seen;
 *   6. say in docs/openmp.md which constructs it sees, and compare its events with a program's own log in
 *      tests/e2e/openmp/NAME.py.
 * A function may be NULL: there is nothing to do then. */
struct tg_openmp_backend {
    void (*before_load)(int flags); /* dlopen with FLAGS is about to be called */
    void (*after_load)(void);       /* dlopen has brought an object */
    void (*before_sealing)(void);   /* the program is about to forbid itself system calls */
};

/* Place of a thread by OpenMP. By value: a back end that brings the thread into a region keeps the
 * frame around it somewhere, and gives it back when the region is left; nothing here points into a stack that
 * a longjmp may have left. */
struct tg_openmp_frame {
    uint64_t team;     /* id of the innermost region, 0 outside of all */
    uint64_t task;     /* id of the explicit task that runs, 0: the implicit one */
    uint64_t barriers; /* met by this thread in this team */
    uint32_t thread_num;
    uint32_t level;          /* how many regions are around */
    uint16_t workshare;      /* 1 + enum tg_omp_zone of the worksharing construct it is in, 0 none */
    uint16_t single;         /* libgomp: a single was met whose end is not seen, enum tg_gomp_single */
    uint16_t doacross_loops; /* loops of the doacross loop it is in; of libgomp's, or was in last */
    bool is_ordered;         /* LLVM's: the loop it is in, or was in last, has iterations in order */
    const void *code;        /* in the program, for what is recorded without an address of its own */
};
extern __thread struct tg_openmp_frame tg_openmp_frame __attribute__((tls_model("initial-exec")));

/* ---- gates: behind the record of what the thread has come to it waits there, where its controller says so */

/* Returns the moment that is right behind it: MOMENT, the record's, unless the thread may have waited. */
static inline tg_agent_moment tg_openmp_come(tg_agent_moment moment, unsigned kind, unsigned which,
                                             uint64_t object)
{
    if (TG_AGENT_LIKELY(!tg_gate_is_any()))
        return moment;
    tg_gate_come_slowly(
        &(struct tg_gate_event){kind, which, object, tg_openmp_frame.team, tg_openmp_frame.task != 0}, true);
    return 0;
}

/* The same where a call of the runtime has to be made before: tg_gate_wait comes behind that. */
static inline void tg_openmp_come_early(unsigned kind, unsigned which, uint64_t object)
{
    if (TG_AGENT_UNLIKELY(tg_gate_is_any()))
        tg_gate_come_slowly(
            &(struct tg_gate_event){kind, which, object, tg_openmp_frame.team, tg_openmp_frame.task != 0},
            false);
}

/* Says that a runtime is watched: once in a process for each. VERSION may be "". */
void tg_openmp_runtime(unsigned seen, const char *name, const char *version);

/* ---- regions */

/* The id of a region that begins, unique in the process. */
static inline uint64_t tg_openmp_new_team(void)
{
    return __atomic_fetch_add(&tg_agent.next_team, 1, __ATOMIC_RELAXED);
}

/* The encountering thread is about to start region TEAM; REQUESTED threads, 0: left to the runtime. */
static inline void tg_openmp_parallel_begin(const void *code, unsigned seen, uint64_t team,
                                            uint64_t requested, const void *body)
{
    tg_agent_record4(TG_RECORD_OMP_PARALLEL_BEGIN, tg_agent_place(code, seen, 0), team, requested,
                     (uintptr_t)body);
    tg_openmp_come(0, TG_RECORD_OMP_PARALLEL_BEGIN, 0, team);
}

/* The thread has left the region, and is back in the frame around (tg_openmp_return comes first). */
static inline void tg_openmp_parallel_end(const void *code, unsigned seen, uint64_t team)
{
    tg_agent_record2(TG_RECORD_OMP_PARALLEL_END, tg_agent_place(code, seen, 0), team);
    tg_openmp_come(0, TG_RECORD_OMP_PARALLEL_END, 0, team);
}

/* From here on this thread is in FRAME. */
static inline void tg_openmp_return(const struct tg_openmp_frame *frame)
{
    tg_openmp_frame = *frame;
    tg_agent_set_place(frame->team, frame->thread_num);
}

/* The calling thread begins TEAM's body as number THREAD_NUM of SIZE (0 unknown); LEVEL regions are around
 * it, TEAM is one of them. What the frame was before is the caller's to keep. */
static inline tg_agent_moment tg_openmp_enter(const void *code, unsigned seen, uint64_t team,
                                              uint64_t parent_team, uint32_t thread_num, uint32_t size,
                                              uint32_t level)
{
    tg_openmp_frame =
        (struct tg_openmp_frame){.team = team, .thread_num = thread_num, .level = level, .code = code};
    tg_agent_set_place(team, thread_num);
    tg_agent_moment moment = tg_agent_record5(TG_RECORD_OMP_IMPLICIT_BEGIN, tg_agent_place(code, seen, 0),
                                              team, parent_team, size, level);
    return tg_openmp_come(moment, TG_RECORD_OMP_IMPLICIT_BEGIN, 0, team);
}

/* The thread is through with the body and arrives at the join. The frame stays: tasks may run there. */
static inline tg_agent_moment tg_openmp_implicit_end(tg_agent_moment moment, const void *code, unsigned seen)
{
    moment = tg_agent_record2_at(moment, TG_RECORD_OMP_IMPLICIT_END, tg_agent_place(code, seen, 0), 0);
    return tg_openmp_come(moment, TG_RECORD_OMP_IMPLICIT_END, 0, tg_openmp_frame.team);
}

/* ---- zones. SCHEDULE is enum tg_omp_schedule, COUNT is that of sections. */

static inline tg_agent_moment tg_openmp_zone_begin(tg_agent_moment moment, const void *code, unsigned seen,
                                                   enum tg_omp_zone zone, enum tg_omp_schedule schedule,
                                                   uint64_t count)
{
    moment = tg_agent_record2_at(moment, TG_RECORD_OMP_ZONE_BEGIN, tg_agent_place(code, seen, zone),
                                 schedule | count << 8);
    return tg_openmp_come(moment, TG_RECORD_OMP_ZONE_BEGIN, zone, (uintptr_t)code);
}

/* Where others wait for what the thread has still to do: then tg_gate_wait comes behind that. */
static inline tg_agent_moment tg_openmp_zone_end_early(tg_agent_moment moment, const void *code,
                                                       unsigned seen, enum tg_omp_zone zone)
{
    moment = tg_agent_record2_at(moment, TG_RECORD_OMP_ZONE_END, tg_agent_place(code, seen, zone), 0);
    tg_openmp_come_early(TG_RECORD_OMP_ZONE_END, zone, (uintptr_t)code);
    return moment;
}

static inline tg_agent_moment tg_openmp_zone_end(tg_agent_moment moment, const void *code, unsigned seen,
                                                 enum tg_omp_zone zone)
{
    bool has_gates = tg_gate_is_any();
    moment = tg_openmp_zone_end_early(moment, code, seen, zone);
    tg_gate_wait();
    return has_gates ? 0 : moment;
}

/* Begins section SECTION, from 1, 0 unknown. */
static inline void tg_openmp_section(const void *code, unsigned seen, uint64_t section)
{
    tg_agent_record2(TG_RECORD_OMP_SECTION, tg_agent_place(code, seen, 0), section);
    tg_openmp_come(0, TG_RECORD_OMP_SECTION, 0, section);
}

/* Iterations FIRST to LAST of an ordered or doacross loop, counted from 0, are this thread's from now on, and
 * those that are STRIDE, 2 * STRIDE ... behind them; 0: others are told by another call. */
static inline void tg_openmp_chunk(const void *code, unsigned seen, uint64_t first, uint64_t last,
                                   uint64_t stride)
{
    tg_agent_record4(TG_RECORD_OMP_CHUNK, tg_agent_place(code, seen, 0), first, last, stride);
}

/* The thread waits for the iteration at INDICES of a doacross loop, N words, or says that its own is so far. */
void tg_openmp_iteration(const void *code, unsigned seen, enum tg_omp_iteration what, const void *indices,
                         size_t n);

/* ---- waiting */

static inline bool tg_openmp_is_barrier(enum tg_omp_sync sync)
{
    return sync <= TG_OMP_SYNC_BARRIER_JOIN;
}

/* Arrives. Returns the instance, for tg_openmp_sync_end: of barriers the ordinal number for this thread in this
 * team, otherwise 0. */
static inline uint64_t tg_openmp_sync_begin(tg_agent_moment moment, const void *code, unsigned seen,
                                            enum tg_omp_sync sync)
{
    uint64_t instance = tg_openmp_is_barrier(sync) ? ++tg_openmp_frame.barriers : 0;
    tg_agent_record2_at(moment, TG_RECORD_OMP_SYNC_BEGIN, tg_agent_place(code, seen, sync), instance);
    tg_openmp_come(0, TG_RECORD_OMP_SYNC_BEGIN, sync, instance);
    return instance;
}

/* Leaves. */
static inline tg_agent_moment tg_openmp_sync_end(const void *code, unsigned seen, enum tg_omp_sync sync,
                                                 uint64_t instance, bool cancelled)
{
    tg_agent_moment moment = tg_agent_record2(TG_RECORD_OMP_SYNC_END, tg_agent_place(code, seen, sync),
                                              instance | (uint64_t)cancelled << 63);
    return tg_openmp_come(moment, TG_RECORD_OMP_SYNC_END, sync, instance);
}

/* ---- mutual exclusion. LOCK is the address of the lock or of the critical's name, NULL: the unnamed one.
 * Record wait before, enter after the runtime's acquire, and leave before its release: so the order of
 * records is the order of what happened. */

static inline tg_agent_moment tg_openmp_mutex_wait(const void *code, unsigned seen, enum tg_omp_mutex mutex,
                                                   const void *lock)
{
    tg_agent_moment moment =
        tg_agent_record2(TG_RECORD_OMP_MUTEX_WAIT, tg_agent_place(code, seen, mutex), (uintptr_t)lock);
    return tg_openmp_come(moment, TG_RECORD_OMP_MUTEX_WAIT, mutex, (uintptr_t)lock);
}

static inline void tg_openmp_mutex_enter(tg_agent_moment moment, const void *code, unsigned seen,
                                         enum tg_omp_mutex mutex, const void *lock)
{
    tg_agent_record2_at(moment, TG_RECORD_OMP_MUTEX_ENTER, tg_agent_place(code, seen, mutex),
                        (uintptr_t)lock);
    tg_openmp_come(0, TG_RECORD_OMP_MUTEX_ENTER, mutex, (uintptr_t)lock);
}

/* tg_gate_wait comes behind the release. */
static inline void tg_openmp_mutex_leave(const void *code, unsigned seen, enum tg_omp_mutex mutex,
                                         const void *lock)
{
    tg_agent_record2(TG_RECORD_OMP_MUTEX_LEAVE, tg_agent_place(code, seen, mutex), (uintptr_t)lock);
    tg_openmp_come_early(TG_RECORD_OMP_MUTEX_LEAVE, mutex, (uintptr_t)lock);
}

/* The lock that this thread tested last, and found taken. */
struct tg_openmp_tests {
    uintptr_t lock; /* 0 none */
    uint64_t count;
    uintptr_t told; /* the one that was told last, when, and where the clock was then */
    uint64_t told_ticks;
    bool is_testing; /* in the runtime: it does not wait there */
};
extern __thread struct tg_openmp_tests tg_openmp_tests __attribute__((tls_model("initial-exec")));

/* The thread has tested LOCK in vain. Who does so in a loop is told again some ten times a second. */
void tg_openmp_mutex_test(const void *code, unsigned seen, enum tg_omp_mutex mutex, const void *lock);

/* ---- tasks */

/* One dependence of a task that is created. */
struct tg_openmp_dependence {
    const void *address;
    enum tg_omp_dependence_kind kind;
};

/* Ids of tasks that the thread may give: it takes so many at once, as threads that create tasks would wait for each other's cache
 * line. */
struct tg_openmp_task_ids {
    uint64_t next, end;
};
extern __thread struct tg_openmp_task_ids tg_openmp_task_ids __attribute__((tls_model("initial-exec")));

/* The id of a task that is created, unique in the process, from 1. */
static inline uint64_t tg_openmp_new_task(void)
{
    enum { AT_ONCE = 64 };
    struct tg_openmp_task_ids *ids = &tg_openmp_task_ids;
    if (TG_AGENT_UNLIKELY(ids->next == ids->end)) {
        ids->next = __atomic_fetch_add(&tg_agent.next_task, AT_ONCE, __ATOMIC_RELAXED);
        ids->end = ids->next + AT_ONCE;
    }
    return ids->next++;
}

/* Task TASK comes to be; its parent is PARENT, 0: an implicit task. FLAGS are of enum tg_omp_task_flag. Of
 * the dependences only the first TG_AGENT_MAX_DEPENDENCES are recorded. */
void tg_openmp_task_create(const void *code, unsigned seen, uint64_t task, uint64_t parent, const void *body,
                           uint64_t flags, const struct tg_openmp_dependence *dependences,
                           size_t n_dependences);

/* The calling thread runs TASK from here on: tg_openmp_frame.task. Does not say what becomes of the one
 * before. */
static inline void tg_openmp_task_begin(tg_agent_moment moment, const void *code, unsigned seen,
                                        uint64_t task, bool resumed)
{
    tg_openmp_frame.task = task;
    tg_agent_record2_at(moment, TG_RECORD_OMP_TASK_BEGIN, tg_agent_place(code, seen, 0),
                        task | (uint64_t)resumed << 63);
    tg_openmp_come(0, TG_RECORD_OMP_TASK_BEGIN, 0, task);
}

/* The calling thread leaves TASK, for good or not, and is in the implicit task. */
static inline tg_agent_moment tg_openmp_task_end(const void *code, unsigned seen, uint64_t task,
                                                 enum tg_omp_task_end how)
{
    tg_openmp_frame.task = 0;
    tg_agent_moment moment = tg_agent_record2(TG_RECORD_OMP_TASK_END, tg_agent_place(code, seen, how), task);
    return tg_openmp_come(moment, TG_RECORD_OMP_TASK_END, how, task);
}

/* ---- cancellation. ACTIVATED: by this thread; otherwise it found it cancelled. */

static inline void tg_openmp_cancel(const void *code, unsigned seen, enum tg_omp_cancel_construct construct,
                                    bool activated)
{
    tg_agent_record2(TG_RECORD_OMP_CANCEL, tg_agent_place(code, seen, construct), activated);
}

#endif
