/* Threads that wait for iterations of a doacross loop. */
#include "analyzer/finding/words.h"
#include "analyzer/models/openmp/iterations.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/openmp/executors.h"
#include "analyzer/verdict/openmp/finders.h"

#include <inttypes.h>

/* Threads of a team that wait for iterations of others. */
struct sinks {
    struct tg_finding finding;
    bool all_wait;                        /* or are through with the region */
    const struct tg_openmp_worker *first; /* one that waits for who is to blame; NULL: that is not known */
    struct tg_openmp_executor executor;   /* the executor to blame */
    const struct tg_openmp_worker *lost;  /* one that waits for an iteration that is nobody's; NULL none */
};

/* The worker that left a depend(source) out is to blame, else the one that executes an iteration that is waited for,
 * and does not wait for one itself. */
static struct sinks find_executors(const struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    struct sinks sinks = {
        .finding = {.kind = TG_FINDING_BARRIER, .since_ns = UINT64_MAX, .process = team->process},
        .all_wait = team->n_members >= team->size};
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, member);
        const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
        sinks.all_wait &= place != NULL || member->ended;
        if (!tg_openmp_waits_in(worker, team->id, TG_OMP_SYNC_DOACROSS))
            continue;
        const struct tg_openmp_executor executor = tg_openmp_executor_of_sink(draft->input->openmp, worker);
        if (executor.has_posted) {
            sinks.all_wait = false;
            continue;
        }
        sinks.finding.waiting++;
        if (place->since_ns < sinks.finding.since_ns) {
            sinks.finding.since_ns = place->since_ns;
            sinks.finding.code = place->code;
        }
        if (executor.worker == NULL && sinks.lost == NULL && worker->iterations.sink.count > 0)
            sinks.lost = worker;
        bool is_root =
            executor.worker != NULL &&
            (executor.has_skipped || !tg_openmp_waits_in(executor.worker, team->id, TG_OMP_SYNC_DOACROSS));
        if (is_root && (sinks.first == NULL || (executor.has_skipped && !sinks.executor.has_skipped))) {
            sinks.first = worker;
            sinks.executor = executor;
        }
    }
    return sinks;
}

static void print_sink_wait(struct tg_verdict_draft *draft, const struct sinks *sinks)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_place *place = tg_openmp_waits_place(sinks->first);
    fprintf(stream, "orker %" PRIu64 " has been waiting at the %s", sinks->first->number,
            tg_openmp_words_sync(TG_OMP_SYNC_DOACROSS)->phrase);
    tg_words_code(stream, draft->input, sinks->first->process, place->code);
    tg_words_since(stream, draft->input, place->since_ns);
    fputs(" for ", stream);
    tg_openmp_executor_print_sink(stream, sinks->first);
    fputs(" (counted from 0)", stream);
}

static void print_executor(struct tg_verdict_draft *draft, const struct sinks *sinks)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_worker *worker = sinks->executor.worker;
    uint64_t source = tg_openmp_executor_source(draft->input->openmp, sinks->first);
    if (sinks->executor.has_skipped) {
        fputs(": w", stream);
        tg_openmp_search_print_worker(draft, worker);
        fputs(" skipped the depend(source)", stream);
        tg_words_code(stream, draft->input, worker->process, source);
        fputs(" of ", stream);
        tg_openmp_executor_print_sink(stream, sinks->first);
        fputs(". W", stream);
        print_sink_wait(draft, sinks);
        fputc('.', stream);
        if (worker != sinks->first) /* else it waits for its own */
            tg_openmp_search_print_state(draft, " W", worker);
        tg_openmp_search_blame(draft, worker, source != 0 ? source : sinks->finding.code);
    } else {
        fputs(": w", stream);
        print_sink_wait(draft, sinks);
        tg_openmp_search_print_state(draft, ", which is executed by w", worker);
        tg_openmp_search_blame(draft, worker, 0);
    }
    if (sinks->finding.waiting > 1)
        fprintf(stream, " %" PRIu64 " more %s waiting for iterations.", sinks->finding.waiting - 1,
                sinks->finding.waiting == 2 ? "is" : "are");
}

static void print_unknown_sinks(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                                const struct sinks *sinks)
{
    const struct tg_finding *finding = &sinks->finding;
    if (finding->waiting == team->n_members)
        fprintf(draft->stream, ": all %zu threads", team->n_members);
    else
        fprintf(draft->stream, ": %" PRIu64 " of %zu threads", finding->waiting, team->n_members);
    fprintf(draft->stream, " of a team %s been waiting at the %s", finding->waiting == 1 ? "has" : "have",
            tg_openmp_words_sync(TG_OMP_SYNC_DOACROSS)->phrase);
    tg_words_code(draft->stream, draft->input, team->process, finding->code);
    tg_words_since(draft->stream, draft->input, finding->since_ns);
    fputs(" (first arrival), for iterations that no thread reports as done with depend(source). ",
          draft->stream);
    if (sinks->lost == NULL) {
        fputs("Which thread skipped it is unknown, because the trace does not record iterations.",
              draft->stream);
        return;
    }
    fprintf(draft->stream, "Worker %" PRIu64 " waits for ", sinks->lost->number);
    tg_openmp_executor_print_sink(draft->stream, sinks->lost);
    fputs(tg_openmp_iterations_is_none(&sinks->lost->iterations.sink)
              ? ", which the loop does not have: iterations are counted from 0."
              : " (counted from 0), which no thread has come to so far: perhaps the loop does not have it.",
          draft->stream);
}

static struct tg_error *find_sinks(void *context, const struct tg_openmp_team *team)
{
    const struct tg_openmp_search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct sinks sinks = find_executors(draft, team);
    struct tg_finding *finding = &sinks.finding;
    if (finding->waiting == 0 || (sinks.first == NULL && !sinks.all_wait))
        return NULL;
    const struct tg_openmp_worker *executor = sinks.executor.worker;
    if (sinks.first != NULL && search->waits.is_in_ring[sinks.first->index])
        return NULL; /* told */
    uint64_t since_ns =
        sinks.first != NULL ? tg_openmp_waits_place(sinks.first)->since_ns : finding->since_ns;
    if (!tg_openmp_search_is_stuck(draft, team->process,
                                   tg_openmp_search_busy_until(search, team->process, since_ns),
                                   sinks.executor.has_skipped ? since_ns : 0))
        return NULL;
    finding->is_consequence = executor != NULL && !sinks.executor.has_skipped &&
                              (tg_openmp_waits_at(executor, TG_OPENMP_IN_SYNC) != NULL ||
                               tg_openmp_waits_lock(&search->waits, executor) != NULL);
    tg_words_process(draft->stream, draft->input, team->process);
    if (executor != NULL)
        print_executor(draft, &sinks);
    else
        print_unknown_sinks(draft, team, &sinks);
    return tg_openmp_search_add(draft, finding);
}

struct tg_error *tg_openmp_find_sinks(struct tg_openmp_search *search)
{
    return tg_openmp_model_visit_teams(search->draft->input->openmp, find_sinks, search);
}
