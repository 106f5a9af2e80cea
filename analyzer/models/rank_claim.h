/* A process's claim to be a rank. Its environment says so, and all that it starts inherit that: of the processes that
 * claim one rank, the one that calls MPI is the rank; where none does, the one that the launcher started. */
#ifndef TG_ANALYZER_MODELS_RANK_CLAIM_H
#define TG_ANALYZER_MODELS_RANK_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* What speaks for a process among those that claim the same rank. */
enum tg_rank_evidence {
    TG_RANK_NO_EVIDENCE,
    TG_RANK_HAS_LIBRARY, /* an MPI library is loaded */
    TG_RANK_CALLS_MPI,
};

/* All zero claims nothing. */
struct tg_rank_claim {
    struct tg_rank_claim *parent; /* of the process that started this one, NULL unknown */
    bool is_made;
    int64_t number;     /* where it is made */
    const char *job;    /* of one string pool */
    const char *source; /* the variable that says so, "" unknown */
    enum tg_rank_evidence evidence;
    bool is_granted; /* the process is that rank */
    bool is_passed;  /* one that it started is, and had more to show: */
    enum tg_rank_evidence passed_by;
    /* What the environment says of a process that MPI did not join with others, which is a rank of another job now. */
    const char *vain_job; /* NULL: it is none */
    int64_t vain_number;
};

/* Decides about CLAIM, whose fields above have changed, and about those of its ancestors. */
void tg_rank_claim_decide(struct tg_rank_claim *claim);

#endif
