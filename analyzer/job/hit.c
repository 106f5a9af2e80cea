#include "analyzer/job/hit.h"

/* Whether THREAD came to something by itself: a breakpoint, a barrier, a watched change, a signal. */
static bool has_hit(const struct tg_job_thread *thread)
{
    return thread->state == TG_JOB_BREAKPOINT || thread->state == TG_JOB_WATCHPOINT ||
           thread->state == TG_JOB_ERROR;
}

/* The process of the only thread in SET, *I its index there; NULL: there are none, or several. */
static const struct tg_job_process *only_thread(const struct tg_job_view *view, const struct tg_job_set *set,
                                                size_t *i)
{
    const struct tg_job_process *found = NULL;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t t = 0; t < process->n_threads; t++) {
            if (!tg_job_set_has(set, process, t))
                continue;
            if (found != NULL)
                return NULL;
            found = process;
            *i = t;
        }
    }
    return found;
}

bool tg_job_hit_follow(const struct tg_job_view *view, struct tg_job_set *set)
{
    size_t i = 0;
    const struct tg_job_process *process = only_thread(view, set, &i), *best = NULL;
    size_t best_thread = 0;
    if (process == NULL || has_hit(tg_job_view_thread(view, process, i)))
        return false;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *other = tg_job_view_at(view, p);
        bool is_near = other == process;
        if (!other->info.exists || other->info.control_group != process->info.control_group ||
            (best != NULL && !is_near))
            continue;
        for (size_t t = 0; t < other->n_threads; t++)
            if (has_hit(tg_job_view_thread(view, other, t)) && (best == NULL || best != other)) {
                best = other;
                best_thread = t;
            }
    }
    if (best == NULL)
        return false;
    tg_job_set_remove(set, process, i);
    tg_job_set_add(set, best, best_thread);
    return true;
}
