/* Threads that wait for the values of a single (copyprivate), where the runtime has no barrier for them. */
#include "analyzer/finding/words.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/openmp/finders.h"

#include <inttypes.h>

/* Members of TEAM that are through with the region instead of waiting for the values at CODE. How many. */
static uint64_t print_past(struct tg_verdict_draft *draft, const struct tg_openmp_team *team, uint64_t code)
{
    uint64_t count = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, &team->members[i]);
        if (!team->members[i].ended || ++count > TG_VERDICT_DETAILED)
            continue;
        fputs(count == 1 ? ": w" : "; w", draft->stream);
        tg_openmp_search_print_member(draft, &team->members[i]);
        fputs(" skipped the single", draft->stream);
        tg_words_code(draft->stream, draft->input, team->process, code);
        fputs(": it has reached the end of the parallel region", draft->stream);
        tg_words_moment(draft->stream, draft->input, team->members[i].ended_ns);
        tg_openmp_search_blame(draft, worker, code);
    }
    if (count > TG_VERDICT_DETAILED)
        fprintf(draft->stream, "; so did %" PRIu64 " more", count - TG_VERDICT_DETAILED);
    return count;
}

static void print_absent(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    uint64_t absent = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, &team->members[i]);
        if (tg_openmp_waits_in(worker, team->id, TG_OMP_SYNC_COPYPRIVATE) || team->members[i].ended)
            continue;
        absent++;
        if (absent > TG_VERDICT_DETAILED)
            continue;
        tg_openmp_search_print_missing(draft, &team->members[i]);
        tg_openmp_search_blame(draft, worker, 0);
    }
    if (absent > TG_VERDICT_DETAILED)
        fprintf(draft->stream, " %" PRIu64 " more are missing.", absent - TG_VERDICT_DETAILED);
}

static struct tg_error *find_values(void *context, const struct tg_openmp_team *team)
{
    const struct tg_openmp_search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_finding finding = {
        .kind = TG_FINDING_BARRIER, .since_ns = UINT64_MAX, .process = team->process};
    bool is_told = false;
    uint64_t closed_ns = 0, n_past = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, &team->members[i]);
        n_past += team->members[i].ended;
        if (team->members[i].ended && team->members[i].ended_ns > closed_ns)
            closed_ns = team->members[i].ended_ns;
        if (!tg_openmp_waits_in(worker, team->id, TG_OMP_SYNC_COPYPRIVATE))
            continue;
        if (tg_openmp_waits_place(worker)->since_ns > closed_ns)
            closed_ns = tg_openmp_waits_place(worker)->since_ns;
        is_told |= search->waits.is_in_ring[worker->index];
        finding.waiting++;
        if (tg_openmp_waits_place(worker)->since_ns < finding.since_ns) {
            finding.since_ns = tg_openmp_waits_place(worker)->since_ns;
            finding.code = tg_openmp_waits_place(worker)->code;
        }
    }
    finding.missing = tg_openmp_search_size(team) - finding.waiting;
    if (finding.waiting == 0 || finding.missing == 0 || is_told || team->cancelled ||
        !tg_openmp_search_is_stuck(draft, team->process,
                                   tg_openmp_search_busy_until(search, team->process, finding.since_ns),
                                   n_past == finding.missing ? closed_ns : 0))
        return NULL;
    tg_words_process(draft->stream, draft->input, team->process);
    uint64_t past = print_past(draft, team, finding.code);
    fprintf(draft->stream, "%s %" PRIu64 " of %" PRIu64 " threads of a team %s been waiting for the %s",
            past > 0 ? "." : ":", finding.waiting, tg_openmp_search_size(team),
            finding.waiting == 1 ? "has" : "have", tg_openmp_words_sync(TG_OMP_SYNC_COPYPRIVATE)->phrase);
    tg_words_code(draft->stream, draft->input, team->process, finding.code);
    tg_words_since(draft->stream, draft->input, finding.since_ns);
    fputs(finding.waiting == 1 ? "." : " (first arrival).", draft->stream);
    print_absent(draft, team);
    return tg_openmp_search_add(draft, &finding);
}

struct tg_error *tg_openmp_find_values(struct tg_openmp_search *search)
{
    return tg_openmp_model_visit_teams(search->draft->input->openmp, find_values, search);
}
