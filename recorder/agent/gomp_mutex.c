/* Critical and atomic regions, and locks. */
#include "recorder/agent/gomp.h"

#define ENTER(name, mutex, lock, parameters, arguments)                                                      \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (!tg_gomp_records(gomp)) {                                                                        \
            gomp->name arguments;                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        tg_openmp_mutex_wait(code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, (lock));                            \
        gomp->name arguments;                                                                                \
        tg_openmp_mutex_enter(code, TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex, (lock));                           \
    }

/* Before the lock is free: who enters next is recorded behind it. */
#define LEAVE(name, mutex, lock, parameters, arguments)                                                      \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (tg_gomp_records(gomp))                                                                           \
            tg_openmp_mutex_leave(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex,      \
                                  (lock));                                                                   \
        gomp->name arguments;                                                                                \
    }

ENTER(GOMP_critical_start, CRITICAL, NULL, (void), ())
LEAVE(GOMP_critical_end, CRITICAL, NULL, (void), ())
ENTER(GOMP_critical_name_start, CRITICAL_NAMED, name, (void **name), (name))
LEAVE(GOMP_critical_name_end, CRITICAL_NAMED, name, (void **name), (name))
ENTER(GOMP_atomic_start, ATOMIC, NULL, (void), ())
LEAVE(GOMP_atomic_end, ATOMIC, NULL, (void), ())

#define SET(name, mutex)   ENTER(name, mutex, lock, (void *lock), (lock))
#define UNSET(name, mutex) LEAVE(name, mutex, lock, (void *lock), (lock))
TG_GOMP_LOCK_SETS(SET)
TG_GOMP_LOCK_UNSETS(UNSET)

#define TEST(name, mutex)                                                                                    \
    int name(void *lock)                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        int result = gomp->name(lock);                                                                       \
        if (result != 0 && tg_gomp_records(gomp))                                                            \
            tg_openmp_mutex_enter(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, TG_OMP_MUTEX_##mutex,      \
                                  lock);                                                                     \
        return result;                                                                                       \
    }
TG_GOMP_LOCK_TESTS(TEST)
