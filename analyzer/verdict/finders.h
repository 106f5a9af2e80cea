/* The searches for findings, each for its kinds. */
#ifndef TG_ANALYZER_VERDICT_FINDERS_H
#define TG_ANALYZER_VERDICT_FINDERS_H

#include "analyzer/finding/draft.h"

/* In this order: what the later ones say depends on what the former found. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_heap_errors(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_lone_worlds(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_errors(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_ends(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_rank_exits(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_stops(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_starters(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_deadlocks(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_mismatches(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_intercomms(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_confusions(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_remarks(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_leftovers(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_leaks(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_collect_waits(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_rings(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_mpi(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_program_exit(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_request(struct tg_verdict_draft *draft);

/* Whether calls on COMM of JOB are out of step by a mismatch that FINDING, its number in the order of adding, is
 * about. */
bool tg_verdict_is_out_of_step(const struct tg_verdict_draft *draft, const char *job, uint64_t comm,
                               size_t *finding);
/* Adds to the text of the finding that is being made, about a request to end, where the threads were then. */
struct tg_error *tg_verdict_tell_places(struct tg_verdict_draft *draft);
/* Adds to that text who waited for which lock then. */
struct tg_error *tg_verdict_tell_locks(struct tg_verdict_draft *draft);
/* Where nothing else is known of an attached job: who waits for whom by its stacks. */
struct tg_error *tg_verdict_find_attached(struct tg_verdict_draft *draft);
/* Last: what the others found comes first. Where they were, unless that is told. */
struct tg_error *tg_verdict_find_interruption(struct tg_verdict_draft *draft);

/* The last stack of thread TID of PROCESS, where it was taken at AFTER_NS or later; NULL none. */
const struct tg_last_stack *tg_verdict_stack_of(const struct tg_verdict_input *input, size_t process,
                                                int32_t tid, uint64_t after_ns);
/* " in solve (solver.c:120), called from step (main.c:40), main (main.c:52)" */
void tg_verdict_print_stack(FILE *stream, const struct tg_verdict_input *input,
                            const struct tg_last_stack *stack);

#endif
