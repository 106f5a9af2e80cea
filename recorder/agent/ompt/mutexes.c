#include "recorder/agent/ompt/mutexes.h"

#include "recorder/agent/lock_owner.h"
#include "recorder/agent/ompt/chain.h"
#include "recorder/agent/ompt/position.h"

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

void tg_ompt_on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
                              const void *code)
{
    tg_ompt_enter();
    tg_ompt_thread.acquire = 0;
    if (kind != TG_OMPT_MUTEX_TEST_LOCK && kind != TG_OMPT_MUTEX_TEST_NEST_LOCK &&
        !tg_openmp_tests.is_testing) /* tests of locks do not wait; LLVM's runtime 14 calls them locks */
        tg_ompt_thread.acquire = tg_openmp_mutex_wait(tg_ompt_code_in_program(code), TG_OMP_OMPT,
                                                      mutex_of(kind), lock_of(known_id(kind, wait_id)));
    TG_OMPT_HAND_ON(MUTEX_ACQUIRE, (kind, hint, implementation, wait_id, code));
}

void tg_ompt_leave_mutex(enum tg_omp_mutex mutex, uint64_t id, const void *code)
{
    tg_ompt_enter();
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

void tg_ompt_on_mutex_acquired(int kind, uint64_t wait_id, const void *code)
{
    tg_ompt_enter();
    const uint64_t id = known_id(kind, wait_id);
    const void *known = tg_ompt_code_in_program(code);
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
void tg_ompt_on_mutex_released(int kind, uint64_t wait_id, const void *code)
{
    tg_ompt_leave_mutex(mutex_of(kind), wait_id, tg_ompt_code_in_program(code));
    TG_OMPT_HAND_ON(MUTEX_RELEASED, (kind, wait_id, code));
    tg_gate_wait();
}

void tg_ompt_on_nest_lock(int endpoint, uint64_t wait_id, const void *code)
{
    tg_ompt_enter();
    if (tg_ompt_runtime.watches_releases)
        count_nest(wait_id, endpoint == TG_OMPT_END ? -1 : 1);
    if (endpoint == TG_OMPT_END)
        tg_openmp_mutex_leave(tg_ompt_code_in_program(code), TG_OMP_OMPT, TG_OMP_MUTEX_NEST_LOCK,
                              lock_of(wait_id));
    else
        tg_openmp_mutex_enter(0, tg_ompt_code_in_program(code), TG_OMP_OMPT, TG_OMP_MUTEX_NEST_LOCK,
                              lock_of(wait_id));
    TG_OMPT_HAND_ON(NEST_LOCK, (endpoint, wait_id, code));
    tg_gate_wait();
}
