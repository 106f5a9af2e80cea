/* Critical and atomic regions, and locks.
 *
 * A lock that nobody else was in since is entered when the thread arrives (recorder/agent/lock_owner.h),
 * where all ways into it are seen. They are not where a library was opened with RTLD_DEEPBIND, which binds
 * past the agent; a nest lock has another address for Fortran than for C. Who gets at the runtime's functions
 * by dlsym is not seen: of a lock at least whether it is held shows in its first word, which is 0 when it is
 * free, to all libgomps of today. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/lock_owner.h"
#include "recorder/agent/ompt/releases.h"

/* Name of a lock in the table of owners; 0: not there. */
#define OWNER_KEY_CRITICAL(lock)       ((uintptr_t)gomp)
#define OWNER_KEY_ATOMIC(lock)         ((uintptr_t)gomp + 1)
#define OWNER_KEY_CRITICAL_NAMED(lock) ((uintptr_t)(lock))
#define OWNER_KEY_LOCK(lock)           ((uintptr_t)(lock))
#define OWNER_KEY_NEST_LOCK(lock)      ((uintptr_t)0)
/* Whether it looks free. */
#define IS_FREE_CRITICAL(lock) true
#define IS_FREE_ATOMIC(lock)   true
#define IS_FREE_CRITICAL_NAMED(lock)                                                                         \
    (__atomic_load_n((const int *)(const void *)(lock), __ATOMIC_RELAXED) == 0)
#define IS_FREE_LOCK(lock)      IS_FREE_CRITICAL_NAMED(lock)
#define IS_FREE_NEST_LOCK(lock) false

static bool passes_by; /* __atomic: something may bind past the agent */

void tg_gomp_mutex_pass_by(void)
{
    __atomic_store_n(&passes_by, true, __ATOMIC_RELEASE);
}

/* The thread is in the lock KEY. True where nobody else was since. */
static inline bool enter(uintptr_t key)
{
    return key != 0 && tg_lock_owner_enter(key, true) && !__atomic_load_n(&passes_by, __ATOMIC_RELAXED);
}

static inline void leave(uintptr_t key)
{
    if (key != 0)
        tg_lock_owner_leave(key);
}

#define ENTER(name, mutex, lock, parameters, arguments)                                                      \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (!tg_gomp_records(gomp)) {                                                                        \
            gomp->name arguments;                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        bool is_free = IS_FREE_##mutex(lock);                                                                \
        tg_agent_moment moment = tg_openmp_mutex_wait(code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, (lock));   \
        gomp->name arguments;                                                                                \
        if (!enter(OWNER_KEY_##mutex(lock)) || !is_free)                                                     \
            moment = 0;                                                                                      \
        tg_openmp_mutex_enter(moment, code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, (lock));                   \
    }

/* Before the lock is free: who enters next is recorded behind it. */
#define LEAVE(name, mutex, lock, parameters, arguments)                                                      \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (tg_gomp_records(gomp)) {                                                                         \
            leave(OWNER_KEY_##mutex(lock));                                                                  \
            tg_openmp_mutex_leave(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex,      \
                                  (lock));                                                                   \
        } else if (tg_ompt_is_release(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->name)) {              \
            tg_ompt_release(TG_OMP_MUTEX_##mutex, (lock), TG_GOMP_CALLER());                                 \
        }                                                                                                    \
        if (TG_AGENT_LIKELY(tg_gate_due == 0)) {                                                             \
            gomp->name arguments; /* by a jump: LLVM's runtime takes down where it was called */             \
            return;                                                                                          \
        }                                                                                                    \
        gomp->name arguments;                                                                                \
        tg_gate_wait();                                                                                      \
    }

ENTER(GOMP_critical_start, CRITICAL, NULL, (void), ())
LEAVE(GOMP_critical_end, CRITICAL, NULL, (void), ())
ENTER(GOMP_critical_name_start, CRITICAL_NAMED, name, (void **name), (name))
LEAVE(GOMP_critical_name_end, CRITICAL_NAMED, name, (void **name), (name))
ENTER(GOMP_atomic_start, ATOMIC, NULL, (void), ())
LEAVE(GOMP_atomic_end, ATOMIC, NULL, (void), ())

#define SET(name, mutex) ENTER(name, mutex, lock, (void *lock), (lock))
TG_GOMP_LOCK_SETS(SET)

#define UNSET(name, mutex) LEAVE(name, mutex, lock, (void *lock), (lock))
TG_GOMP_LOCK_UNSETS(UNSET)

#define TEST(name, mutex)                                                                                    \
    int name(void *lock)                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (!tg_gomp_records(gomp)) {                                                                        \
            if (!tg_ompt_is_call(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->name))                     \
                return gomp->name(lock);                                                                     \
            tg_ompt_begin_test(TG_GOMP_CALLER());                                                            \
            return tg_ompt_end_test(gomp->name(lock), TG_OMP_MUTEX_##mutex, lock, TG_GOMP_CALLER());         \
        }                                                                                                    \
        int result = gomp->name(lock);                                                                       \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        if (result == 0) {                                                                                   \
            tg_openmp_mutex_test(code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, lock);                          \
            return result;                                                                                   \
        }                                                                                                    \
        tg_openmp_tests.lock = 0;                                                                            \
        enter(OWNER_KEY_##mutex(lock));                                                                      \
        tg_openmp_mutex_enter(0, code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, lock);                          \
        return result;                                                                                       \
    }
TG_GOMP_LOCK_TESTS(TEST)
