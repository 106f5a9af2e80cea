/* A team as a sequence diagram sees it: phases between barriers, and what each member did in which.
 *
 * What a member does is kept with the phase that it is in, and phases are drawn in order: a member that has
 * not come to a barrier has nothing, and is nowhere, behind it. A phase that all have left is merged and
 * folded with those before it, so that memory follows how far members are apart. */
#ifndef TG_ANALYZER_SEQUENCE_TEAM_H
#define TG_ANALYZER_SEQUENCE_TEAM_H

#include "analyzer/sequence/node.h"

enum {
    TG_SEQUENCE_MAX_APART =
        4096, /* phases between the first and the last member; what is beyond is counted */
};

#define TG_SEQUENCE_NO_PHASE UINT64_MAX

/* The barrier that closes a phase. */
struct tg_sequence_barrier {
    uint64_t what;    /* enum tg_omp_sync */
    const char *name; /* name of a collective, NULL none; lives as long as the diagram */
    uint64_t id;      /* shown: its number, or the communicator */
    uint64_t code;
    uint32_t lane; /* lane of the first arrival; set by the team */
};

struct tg_sequence_team;

/* SIZE 0: unknown. FROM_NS: phases that were over before are forgotten. IS_ACROSS: of several processes. */
struct tg_error *tg_sequence_team_create(uint64_t size, uint64_t from_ns, bool is_across,
                                         struct tg_sequence_team **team);
void tg_sequence_team_destroy(struct tg_sequence_team *team); /* NULL is accepted */

void tg_sequence_team_set_size(struct tg_sequence_team *team, uint64_t size);

/* LANE becomes a member, in the first phase. Nothing where it is one. NO_MEMORY. */
struct tg_error *tg_sequence_team_add(struct tg_sequence_team *team, uint32_t lane);

/* The list for things that member LANE does now; NULL where it is too far from the others for that
 * (counted), or no member. */
struct tg_sequence_list *tg_sequence_team_list(struct tg_sequence_team *team, uint32_t lane);

/* The same for a task that lane MAKER created at CREATED_NS: where LANE executes it at a barrier that MAKER had left by then,
 * it is behind that barrier, as its creation is. */
struct tg_sequence_list *tg_sequence_team_list_for_task(struct tg_sequence_team *team, uint32_t lane,
                                                        uint32_t maker, uint64_t created_ns);

/* How many phases LANE has behind it. */
uint64_t tg_sequence_team_phase(const struct tg_sequence_team *team, uint32_t lane);

/* LANE comes to the barrier that closes phase number PHASE (from 0), or goes on from it. NO_MEMORY. */
struct tg_error *tg_sequence_team_arrive(struct tg_sequence_team *team, uint32_t lane, uint64_t phase,
                                         const struct tg_sequence_barrier *barrier, uint64_t time_ns);
struct tg_error *tg_sequence_team_pass(struct tg_sequence_team *team, uint32_t lane, uint64_t phase,
                                       uint64_t time_ns);

/* The team is cancelled: nobody need come to its barriers any more. Those that not all come to are drawn as
 * cancelled, and so is the one that closes phase PHASE (TG_SEQUENCE_NO_PHASE: none in particular). */
void tg_sequence_team_cancel(struct tg_sequence_team *team, uint64_t phase);

/* LANE is through with all of it. NO_MEMORY. */
struct tg_error *tg_sequence_team_end(struct tg_sequence_team *team, uint32_t lane, uint64_t time_ns);

/* LANE, which waits at a barrier or at the end, is somewhere else at the end: in a task that it executes meanwhile. */
void tg_sequence_team_helps(struct tg_sequence_team *team, uint32_t lane);

/* Whether LANE is through with all of it. */
bool tg_sequence_team_has_ended(const struct tg_sequence_team *team, uint32_t lane);

/* Whether LANE is at a barrier now, or through. */
bool tg_sequence_team_waits(const struct tg_sequence_team *team, uint32_t lane);
size_t tg_sequence_team_member_count(const struct tg_sequence_team *team);
uint32_t tg_sequence_team_lane(const struct tg_sequence_team *team, size_t i);

/* Things that were too far ahead to be kept. */
uint64_t tg_sequence_team_left_out(const struct tg_sequence_team *team);

/* Hands out all phases, into PHASES, which is empty; the team can then only be destroyed. IS_OVER: the last
 * one ends with the region, at END_NS; else what is not over is open, and only the last KEEP phases that are
 * over are kept (0: all). JOIN says what closes the last one, NULL: nothing. */
struct tg_error *tg_sequence_team_finish(struct tg_sequence_team *team, bool is_over, uint64_t end_ns,
                                         size_t keep, const struct tg_sequence_barrier *join,
                                         struct tg_sequence_list *phases);

#endif
