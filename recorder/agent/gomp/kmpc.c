/* What programs of clang call of LLVM's runtime and OMPT does not tell, or not safely. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/ompt/releases.h"

/* Whether it is the program that calls, of the runtime that OMPT tells of. */
#define IS_WATCHED(name) tg_ompt_is_release(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->name)

void __kmpc_critical(const void *location, int thread, void *critical)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_ompt_enters(critical);
    gomp->__kmpc_critical(location, thread, critical);
}

void __kmpc_critical_with_hint(const void *location, int thread, void *critical, unsigned hint)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_ompt_enters(critical);
    gomp->__kmpc_critical_with_hint(location, thread, critical, hint);
}

void __kmpc_end_critical(const void *location, int thread, void *critical)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_end_critical))
        tg_ompt_release(TG_OMP_MUTEX_CRITICAL, NULL, TG_GOMP_CALLER());
    gomp->__kmpc_end_critical(location, thread, critical);
}

void __kmpc_end_ordered(const void *location, int thread)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_end_ordered))
        tg_ompt_release(TG_OMP_MUTEX_ORDERED, NULL, TG_GOMP_CALLER());
    gomp->__kmpc_end_ordered(location, thread);
}

void __kmpc_unset_lock(const void *location, int thread, void **lock)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_unset_lock))
        tg_ompt_release(TG_OMP_MUTEX_LOCK, lock, TG_GOMP_CALLER());
    gomp->__kmpc_unset_lock(location, thread, lock);
}

void __kmpc_unset_nest_lock(const void *location, int thread, void **lock)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_unset_nest_lock))
        tg_ompt_release(TG_OMP_MUTEX_NEST_LOCK, lock, TG_GOMP_CALLER());
    gomp->__kmpc_unset_nest_lock(location, thread, lock);
}

/* OMPT tells of the sink when it is there. */
void __kmpc_doacross_wait(const void *location, int thread, const long long *sink)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (!IS_WATCHED(__kmpc_doacross_wait)) {
        gomp->__kmpc_doacross_wait(location, thread, sink);
        return;
    }
    tg_openmp_sync_begin(0, TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_SYNC_DOACROSS);
    gomp->__kmpc_doacross_wait(location, thread, sink);
    tg_openmp_sync_end(TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_SYNC_DOACROSS, 0, false);
}

/* Locks: programs that are linked with LLVM's runtime ask for them by another version than those of libgomp. */
#define UNSET(name, mutex)                                                                                   \
    TG_AGENT_EXPORT void llvm_##name(void *lock);                                                            \
    __asm__(".symver llvm_" #name ", " #name "@VERSION");                                                    \
    void llvm_##name(void *lock)                                                                             \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        if (IS_WATCHED(name))                                                                                \
            tg_ompt_release(TG_OMP_MUTEX_##mutex, lock, TG_GOMP_CALLER());                                   \
        gomp->name(lock);                                                                                    \
    }
TG_GOMP_LOCK_UNSETS(UNSET)
