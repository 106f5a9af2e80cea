/* What the searches among the OpenMP threads of all processes share: who waits for whom, how findings are added, and
 * words about members of teams. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_SEARCH_H
#define TG_ANALYZER_VERDICT_OPENMP_SEARCH_H

#include "analyzer/finding/draft.h"
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/verdict/openmp/waits.h"

struct tg_openmp_search {
    struct tg_verdict_draft *draft;
    struct tg_openmp_waits waits; /* of all processes */
};

/* Adds FINDING as tg_verdict_add() does, and explains its process by it. Threads of a process may wait for each
 * other because one of them waits for a message: such a finding becomes a consequence. */
struct tg_error *tg_openmp_search_add(struct tg_verdict_draft *draft, struct tg_finding *finding);
/* The finding that is being made is about WORKER, for what it did at CODE; 0: what it did last. */
void tg_openmp_search_blame(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                            uint64_t code);

/* Whether somebody who waits at BARRIER of TEAM does so in a ring, or somebody who is missing there waits for the
 * values of a single or for an iteration: these have findings of their own. */
bool tg_openmp_search_is_told(const struct tg_openmp_search *search, const struct tg_openmp_team *team,
                              const struct tg_openmp_barrier *barrier);
/* When a worker of PROCESS did something last, at SINCE_NS or later: work of others may be what is waited for. */
uint64_t tg_openmp_search_busy_until(const struct tg_openmp_search *search, size_t process,
                                     uint64_t since_ns);
/* Whether PROCESS has waited since SINCE_NS for longer than is usual: for somebody who may be computing, or, since
 * CLOSED_NS unless that is 0, for somebody who waits too. */
bool tg_openmp_search_is_stuck(struct tg_verdict_draft *draft, size_t process, uint64_t since_ns,
                               uint64_t closed_ns);

const struct tg_openmp_worker *tg_openmp_search_worker(const struct tg_verdict_draft *draft,
                                                       const struct tg_openmp_member *member);
/* Threads of TEAM, with those that never entered it. */
uint64_t tg_openmp_search_size(const struct tg_openmp_team *team);

/* "orker 3 (thread 1236)": behind "w" or "W" */
void tg_openmp_search_print_worker(const struct tg_verdict_draft *draft,
                                   const struct tg_openmp_worker *worker);
/* "orker 3 (thread 1236, number 2 of its team)" */
void tg_openmp_search_print_member(const struct tg_verdict_draft *draft,
                                   const struct tg_openmp_member *member);
/* " Worker 3 (...) is missing: in a loop since ... ." */
void tg_openmp_search_print_missing(const struct tg_verdict_draft *draft,
                                    const struct tg_openmp_member *member);
/* BEFORE, which ends in "w" or "W", and "orker 2 (thread 1236): in a loop since ... ." */
void tg_openmp_search_print_state(const struct tg_verdict_draft *draft, const char *before,
                                  const struct tg_openmp_worker *worker);

#endif
