/* Threads of a team that are missing at a barrier where others wait. */
#include "analyzer/finding/words.h"
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/openmp/finders.h"
#include "analyzer/verdict/openmp/order.h"

#include <inttypes.h>

/* "worker 3 (thread 1236) has left a barrier out, ..." */
static void print_skipping(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                           const struct tg_openmp_member *member, const struct tg_openmp_barrier *barrier)
{
    const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, member);
    uint64_t own = 0, code = tg_openmp_order_skipped(draft->input, team, member->worker, &own);
    FILE *stream = draft->stream;
    fputc('w', stream);
    tg_openmp_search_print_member(draft, member);
    fprintf(stream, " skipped the %s",
            tg_openmp_words_sync(code == 0 ? barrier->sync : TG_OMP_SYNC_BARRIER)->phrase);
    tg_words_code(stream, draft->input, team->process, code == 0 ? barrier->code : code);
    fputs(": it has reached the end of the parallel region", stream);
    tg_words_moment(stream, draft->input, member->ended_ns);
    fprintf(stream, " after %" PRIu64 " barrier%s", member->arrived, member->arrived == 1 ? "" : "s");
    if (code != 0) {
        fputs(", and was at the one", stream);
        tg_words_code(stream, draft->input, team->process, own);
        fputs(" when others were at that", stream);
    }
    tg_openmp_search_blame(draft, worker, code == 0 ? barrier->code : code);
}

/* The members that are through with the region without having come to BARRIER. How many. */
static uint64_t print_skippers(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                               const struct tg_openmp_barrier *barrier)
{
    uint64_t count = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        if (!tg_openmp_barrier_is_skipped(&team->members[i], barrier))
            continue;
        count++;
        if (count > TG_VERDICT_DETAILED)
            continue;
        fputs(count == 1 ? ": " : "; ", draft->stream);
        print_skipping(draft, team, &team->members[i], barrier);
    }
    if (count > TG_VERDICT_DETAILED)
        fprintf(draft->stream, "; so did %" PRIu64 " more", count - TG_VERDICT_DETAILED);
    return count;
}

/* How many are through with the region without having come to BARRIER; *LEAST and *MOST: barriers that they came to. */
static uint64_t count_skippers(const struct tg_openmp_team *team, const struct tg_openmp_barrier *barrier,
                               uint64_t *least, uint64_t *most)
{
    uint64_t count = 0;
    *least = UINT64_MAX;
    *most = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (!tg_openmp_barrier_is_skipped(member, barrier))
            continue;
        count++;
        *least = member->arrived < *least ? member->arrived : *least;
        *most = member->arrived > *most ? member->arrived : *most;
    }
    return count;
}

/* Whether those who wait at BARRIER are the odd ones: most of the team went to the end of the region without it. */
static bool is_odd(const struct tg_openmp_team *team, const struct tg_openmp_barrier *barrier,
                   uint64_t skippers)
{
    return skippers == barrier->missing && barrier->passed == 0 &&
           barrier->waiting < tg_openmp_search_size(team) - barrier->waiting;
}

/* The members that wait at BARRIER, to which most of their team does not come. */
static void print_odd(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                      const struct tg_openmp_barrier *barrier)
{
    uint64_t least, most, told = 0, skippers = count_skippers(team, barrier, &least, &most);
    FILE *stream = draft->stream;
    for (size_t i = 0; i < team->n_members; i++) {
        if (tg_openmp_barrier_standing(&team->members[i], barrier) != TG_OPENMP_WAITING)
            continue;
        tg_openmp_search_blame(draft, tg_openmp_search_worker(draft, &team->members[i]), barrier->code);
        if (++told > TG_VERDICT_DETAILED)
            continue;
        fputs(told == 1 ? ": w" : "; w", stream);
        tg_openmp_search_print_member(draft, &team->members[i]);
    }
    if (told > TG_VERDICT_DETAILED)
        fprintf(stream, "; %" PRIu64 " more", told - TG_VERDICT_DETAILED);
    fprintf(stream, " %s been waiting at the %s", told == 1 ? "has" : "have",
            tg_openmp_words_sync(barrier->sync)->phrase);
    tg_words_code(stream, draft->input, team->process, barrier->code);
    tg_words_since(stream, draft->input, barrier->since_ns);
    fprintf(stream,
            "%s, and nobody else comes to it: the %" PRIu64
            " others of the team have reached the end of the parallel region "
            "after %" PRIu64,
            barrier->waiting == 1 ? "" : " (first arrival)", skippers, least);
    if (most > least)
        fprintf(stream, " to %" PRIu64, most);
    fprintf(stream, " barrier%s.", most == 1 ? "" : "s");
}

/* The members that have not come yet; the first SKIPPERS have been named. */
static void print_missing(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier, uint64_t skippers)
{
    uint64_t told = 0;
    for (size_t i = 0; i < team->n_members && told < TG_VERDICT_DETAILED; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (tg_openmp_barrier_standing(member, barrier) != TG_OPENMP_MISSING ||
            tg_openmp_barrier_is_skipped(member, barrier))
            continue;
        told++;
        tg_openmp_search_print_missing(draft, member);
        tg_openmp_search_blame(draft, tg_openmp_search_worker(draft, member), 0);
    }
    uint64_t not_begun = team->size > team->n_members ? team->size - team->n_members : 0;
    uint64_t others = barrier->missing - skippers - told - not_begun;
    if (others > 0)
        fprintf(draft->stream, " %" PRIu64 " more are missing.", others);
    if (not_begun > 0)
        fprintf(draft->stream, " %" PRIu64 " of the %" PRIu64 " threads never entered the region.", not_begun,
                team->size);
}

static void print_cancellation(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    fputs(" The region was cancelled", draft->stream);
    tg_words_moment(draft->stream, draft->input, team->cancelled_ns);
    if (team->canceller != SIZE_MAX)
        fprintf(draft->stream, " by worker %" PRIu64,
                tg_openmp_model_worker_at(draft->input->openmp, team->canceller)->number);
    fputc('.', draft->stream);
}

/* Whether everybody who is missing at BARRIER waits for something else: that is told on its own. */
static bool is_held_up(const struct tg_openmp_search *search, const struct tg_openmp_team *team,
                       const struct tg_openmp_barrier *barrier)
{
    bool is_held_up = team->n_members >= team->size;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(search->draft, member);
        if (tg_openmp_barrier_standing(member, barrier) == TG_OPENMP_MISSING)
            is_held_up &= !tg_openmp_barrier_is_skipped(member, barrier) &&
                          (tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC) != NULL ||
                           tg_openmp_waits_for_tasks(worker) != NULL ||
                           tg_openmp_waits_lock(&search->waits, worker) != NULL);
    }
    return is_held_up;
}

/* When the last of those who wait at BARRIER came to it, or went by it, if everybody who is missing did. 0:
 * somebody is still to come. */
static uint64_t closed_since(const struct tg_openmp_team *team, const struct tg_openmp_barrier *barrier)
{
    uint64_t since_ns = 0;
    if (team->size > team->n_members)
        return 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        bool is_missing = tg_openmp_barrier_standing(member, barrier) == TG_OPENMP_MISSING;
        if (is_missing && !tg_openmp_barrier_is_skipped(member, barrier))
            return 0;
        uint64_t came_ns = is_missing ? member->ended_ns : member->arrived_ns;
        since_ns = came_ns > since_ns ? came_ns : since_ns;
    }
    return since_ns;
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    const struct tg_openmp_search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || barrier.missing == 0 || barrier.waiting == 0 ||
        tg_openmp_search_is_told(search, team, &barrier) ||
        !tg_openmp_search_is_stuck(draft, team->process,
                                   tg_openmp_search_busy_until(search, team->process, barrier.since_ns),
                                   closed_since(team, &barrier)))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_BARRIER,
                                 .since_ns = barrier.since_ns,
                                 .process = team->process,
                                 .code = barrier.code,
                                 .waiting = barrier.waiting,
                                 .missing = barrier.missing,
                                 .is_consequence = is_held_up(search, team, &barrier)};
    tg_words_process(stream, draft->input, team->process);
    uint64_t least, most;
    if (is_odd(team, &barrier, count_skippers(team, &barrier, &least, &most))) {
        print_odd(draft, team, &barrier);
        return tg_openmp_search_add(draft, &finding);
    }
    uint64_t skippers = print_skippers(draft, team, &barrier);
    fprintf(stream, "%s %" PRIu64 " of %" PRIu64 " threads of a team %s been waiting at the %s",
            skippers > 0 ? "." : ":", barrier.waiting, tg_openmp_search_size(team),
            barrier.waiting == 1 ? "has" : "have", tg_openmp_words_sync(barrier.sync)->phrase);
    tg_words_code(stream, draft->input, team->process, barrier.code);
    tg_words_since(stream, draft->input, barrier.since_ns);
    fputs(barrier.waiting == 1 ? "" : " (first arrival)", stream);
    if (barrier.passed > 0)
        fprintf(stream, "; %" PRIu64 " %s passed it", barrier.passed, barrier.passed == 1 ? "has" : "have");
    fputc('.', stream);
    print_missing(draft, team, &barrier, skippers);
    if (team->cancelled)
        print_cancellation(draft, team);
    return tg_openmp_search_add(draft, &finding);
}

struct tg_error *tg_openmp_find_barriers(struct tg_openmp_search *search)
{
    return tg_openmp_model_visit_teams(search->draft->input->openmp, find_barrier, search);
}
