/* Contributions of the families of events to a diagram, and its end. Only error of all: NO_MEMORY. */
#ifndef TG_ANALYZER_SEQUENCE_FAMILIES_H
#define TG_ANALYZER_SEQUENCE_FAMILIES_H

#include "analyzer/sequence/lifelines.h"

/* openmp.c: by worker */
struct tg_error *sequence_openmp_create(struct tg_sequence_builder *builder);
struct tg_error *sequence_openmp_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                      size_t process);

/* rank.c: OpenMP, by rank. The model has taken EVENT, one of RANK, before. */
struct tg_error *sequence_rank_create(struct tg_sequence_builder *builder);
struct tg_error *sequence_rank_feed(struct tg_sequence_builder *builder, struct sequence_worker *rank,
                                    const struct tg_event *event);
/* Describes where RANK is in an open region; *STATE, which the diagram owns, stays as it is where RANK is
 * in none. */
struct tg_error *sequence_rank_state(struct tg_sequence_builder *builder, const struct sequence_worker *rank,
                                     const char **state);

/* mpi.c */
struct tg_error *sequence_mpi_create(struct tg_sequence_builder *builder);
struct tg_error *sequence_mpi_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                   size_t process);
/* Marks messages that nobody received. */
struct tg_error *sequence_mpi_mark_lost(struct tg_sequence_builder *builder);

/* waits.c: finds whom each lifeline waits for at the end, and which of these waits are a cycle that
 * cannot end. Only error: NO_MEMORY. */
struct tg_error *sequence_find_waits(const struct tg_sequence_builder *builder);

/* ending.c: closes all that is open, inner regions first. */
struct tg_error *sequence_end_everything(struct tg_sequence_builder *builder);
/* Ends the program of the process by EVENT, an exec: every thread stays where it was, and the new program
 * begins. */
struct tg_error *sequence_end_program(struct tg_sequence_builder *builder, const struct tg_event *event);

/* The lane of rank RANK of communicator COMM, as far as it can be told; NO_LANE otherwise. */
uint32_t sequence_lane_of_rank(const struct tg_sequence_builder *builder,
                               const struct sequence_worker *worker, uint64_t comm, int64_t rank);

#endif
