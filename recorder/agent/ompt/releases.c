#include "recorder/agent/ompt/releases.h"

/* Whether the thread is in nest lock LOCK once, and is no more: what is inside of that the runtime tells. */
static bool leaves_nest(struct tg_ompt_held *held, uint64_t lock)
{
    for (size_t i = 0; i < TG_OMPT_NESTS; i++)
        if (held->nests[i] == (lock | UINT64_C(1) << TG_OMPT_NEST_SHIFT)) {
            held->nests[i] = 0;
            return true;
        }
    return false;
}

static bool leaves_critical(struct tg_ompt_held *held, uint64_t *critical)
{
    if (held->n_criticals == 0 || --held->n_criticals >= TG_OMPT_CRITICALS)
        return false; /* entered before anything was recorded, or too deep */
    *critical = held->criticals[held->n_criticals];
    return true;
}

void tg_ompt_release(enum tg_omp_mutex mutex, const void *lock, const void *code)
{
    struct tg_ompt_held *held = tg_ompt_thread.held;
    uint64_t id = (uintptr_t)lock;
    switch (mutex) {
    case TG_OMP_MUTEX_CRITICAL:
    case TG_OMP_MUTEX_CRITICAL_NAMED:
        mutex = TG_OMP_MUTEX_CRITICAL;
        if (held == NULL || !leaves_critical(held, &id))
            return;
        break;
    case TG_OMP_MUTEX_NEST_LOCK:
        if (held == NULL || !leaves_nest(held, id))
            return;
        break;
    case TG_OMP_MUTEX_ORDERED:
        id = held == NULL ? 0 : held->ordered;
        break;
    case TG_OMP_MUTEX_ATOMIC: /* left as it was entered */
        return;
    case TG_OMP_MUTEX_LOCK:
        break;
    }
    tg_ompt_thread.code = code;
    tg_ompt_leave_mutex(mutex, id, code);
}
