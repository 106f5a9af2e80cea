#include "analyzer/models/rank_claim.h"

#include <stddef.h>
#include <string.h>

/* A batch system's number: launchers of MPI run under those too, and their ranks have another one. */
static bool is_of_batch_system(const struct tg_rank_claim *claim)
{
    return strcmp(claim->source, "SLURM_PROCID") == 0;
}

static bool is_same(const struct tg_rank_claim *a, const struct tg_rank_claim *b)
{
    return a->is_made && a->number == b->number && a->job == b->job &&
           is_of_batch_system(a) == is_of_batch_system(b);
}

/* Whether the environment of ABOVE, which MPI did not join with others, is where CLAIM comes from: a helper that it started. */
static bool is_of_vain(const struct tg_rank_claim *claim, const struct tg_rank_claim *above)
{
    return above->vain_job != NULL && above->vain_job == claim->job && above->vain_number == claim->number &&
           claim->evidence < TG_RANK_CALLS_MPI;
}

static void pass(struct tg_rank_claim *from, const struct tg_rank_claim *to)
{
    from->is_granted = false;
    from->is_passed = true;
    from->passed_by = is_of_batch_system(from) == is_of_batch_system(to) ? to->evidence : TG_RANK_CALLS_MPI;
}

/* Whether ABOVE, an ancestor's claim to the same rank, leaves nothing to CLAIM. */
static bool is_refused(const struct tg_rank_claim *claim, const struct tg_rank_claim *above)
{
    return above->is_granted ? claim->evidence <= above->evidence
                             : above->is_passed && claim->evidence < above->passed_by;
}

void tg_rank_claim_decide(struct tg_rank_claim *claim)
{
    claim->is_granted = claim->is_made && !(claim->is_passed && claim->evidence < claim->passed_by);
    for (const struct tg_rank_claim *at = claim->parent; claim->is_granted && at != NULL; at = at->parent)
        if ((is_same(at, claim) && is_refused(claim, at)) || is_of_vain(claim, at))
            claim->is_granted = false;
    for (struct tg_rank_claim *at = claim->parent; claim->is_granted && at != NULL; at = at->parent)
        if (at->is_granted && (is_same(at, claim) || (is_of_batch_system(at) && !is_of_batch_system(claim))))
            pass(at, claim);
}
