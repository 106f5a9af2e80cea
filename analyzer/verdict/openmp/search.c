#include "analyzer/verdict/openmp/search.h"

#include "analyzer/finding/words.h"

#include <inttypes.h>

struct tg_error *tg_openmp_search_add(struct tg_verdict_draft *draft, struct tg_finding *finding)
{
    finding->is_consequence |= tg_verdict_waits(draft, finding->process);
    struct tg_error *error = tg_verdict_add(draft, finding);
    tg_verdict_explain(draft, finding->process);
    return error;
}

void tg_openmp_search_blame(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                            uint64_t code)
{
    tg_verdict_blame_worker(draft, worker, code != 0 ? code : worker->last_code);
}

const struct tg_openmp_worker *tg_openmp_search_worker(const struct tg_verdict_draft *draft,
                                                       const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(draft->input->openmp, member->worker);
}

void tg_openmp_search_print_worker(const struct tg_verdict_draft *draft,
                                   const struct tg_openmp_worker *worker)
{
    fprintf(draft->stream, "orker %" PRIu64 " (", worker->number);
    tg_words_thread(draft->stream, draft->input, worker->process, worker->tid);
    fputc(')', draft->stream);
}

void tg_openmp_search_print_member(const struct tg_verdict_draft *draft,
                                   const struct tg_openmp_member *member)
{
    const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, member);
    fprintf(draft->stream, "orker %" PRIu64 " (", worker->number);
    tg_words_thread(draft->stream, draft->input, worker->process, worker->tid);
    fprintf(draft->stream, ", number %" PRIu64 " of its team)", member->thread_num);
}

void tg_openmp_search_print_missing(const struct tg_verdict_draft *draft,
                                    const struct tg_openmp_member *member)
{
    fputs(" W", draft->stream);
    tg_openmp_search_print_member(draft, member);
    fputs(" is missing: ", draft->stream);
    tg_words_worker_state(draft->stream, draft->input, tg_openmp_search_worker(draft, member));
    fputc('.', draft->stream);
}

void tg_openmp_search_print_state(const struct tg_verdict_draft *draft, const char *before,
                                  const struct tg_openmp_worker *worker)
{
    fputs(before, draft->stream);
    tg_openmp_search_print_worker(draft, worker);
    fputs(": ", draft->stream);
    tg_words_worker_state(draft->stream, draft->input, worker);
    fputc('.', draft->stream);
}

uint64_t tg_openmp_search_size(const struct tg_openmp_team *team)
{
    return team->size > team->n_members ? team->size : (uint64_t)team->n_members;
}

bool tg_openmp_search_is_told(const struct tg_openmp_search *search, const struct tg_openmp_team *team,
                              const struct tg_openmp_barrier *barrier)
{
    bool is_told = false;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(search->draft, &team->members[i]);
        enum tg_openmp_standing standing = tg_openmp_barrier_standing(&team->members[i], barrier);
        is_told |= search->waits.is_in_ring[team->members[i].worker] && standing == TG_OPENMP_WAITING;
        is_told |=
            standing == TG_OPENMP_MISSING && (tg_openmp_waits_in(worker, team->id, TG_OMP_SYNC_COPYPRIVATE) ||
                                              tg_openmp_waits_in(worker, team->id, TG_OMP_SYNC_DOACROSS));
    }
    return is_told;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t tg_openmp_search_busy_until(const struct tg_openmp_search *search, size_t process, uint64_t since_ns)
{
    size_t count;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(&search->waits, process, &count);
    for (size_t i = 0; i < count; i++)
        since_ns = later(since_ns, workers[i]->last_ns);
    return since_ns;
}

/* Whether another process has waited for PROCESS in MPI for so long that this is told: what PROCESS waits for is the cause. */
static bool is_waited_for(struct tg_verdict_draft *draft, size_t process)
{
    for (size_t i = 0; i < draft->n_waits; i++) {
        const struct tg_verdict_wait *wait = &draft->waits[i];
        if (wait->to != process || wait->is_choice || !wait->thread->in_call ||
            tg_verdict_may_be_on_its_way(draft, process, tg_verdict_way(wait->thread)))
            continue;
        uint64_t since_ns = later(tg_verdict_last_step(draft, process), wait->thread->call.since_ns);
        if (tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI,
                                 tg_verdict_lasted(draft, wait->from, process, since_ns)))
            return true;
    }
    return false;
}

bool tg_openmp_search_is_stuck(struct tg_verdict_draft *draft, size_t process, uint64_t since_ns,
                               uint64_t closed_ns)
{
    uint64_t lasted_ns =
        tg_stillness_lasted(&draft->stillness, process, closed_ns != 0 ? closed_ns : since_ns);
    if (draft->input->is_of_moment)
        return true;
    return closed_ns != 0 ? tg_stillness_is_closed(&draft->stillness, TG_WAIT_OPENMP, lasted_ns, 0)
                          : tg_stillness_is_long(&draft->stillness, TG_WAIT_OPENMP, lasted_ns) ||
                                (is_waited_for(draft, process) &&
                                 tg_stillness_is_closed(&draft->stillness, TG_WAIT_OPENMP, lasted_ns, 0));
}
