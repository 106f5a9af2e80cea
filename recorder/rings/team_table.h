/* OpenMP regions by the low bits of their ids, which is all that records say of where their thread is
 * (recorder/agent/contract.h). Bounded: what was not met for long is forgotten. */
#ifndef TG_RECORDER_RINGS_TEAM_TABLE_H
#define TG_RECORDER_RINGS_TEAM_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct tg_team {
    uint64_t id; /* all bits, 0: outside of all regions, or not known */
    uint64_t level;
};

enum { TG_TEAM_TABLE_SIZE = 1024, TG_TEAM_STACK_SIZE = 24 };

/* Of a process: the latest team for each value of the lowest bits. Zeroed means empty. */
struct tg_team_table {
    struct tg_team teams[TG_TEAM_TABLE_SIZE];
};

/* Of a thread: the regions it is in, as far as it told; a region that stays while many others come and go is
 * still known here. Zeroed means empty. */
struct tg_team_stack {
    size_t n_teams;
    struct tg_team teams[TG_TEAM_STACK_SIZE]; /* innermost last */
};

/* The thread of STACK begins its part in TEAM, inside of region PARENT: from here on it is known. */
void tg_team_enter(struct tg_team_table *table, struct tg_team_stack *stack, struct tg_team team,
                   uint64_t parent);

/* The thread has left the team of these low bits. */
void tg_team_leave(struct tg_team_stack *stack, uint64_t low);

/* The team of these low bits; where it is not known its id is LOW and its level 0. */
struct tg_team tg_team_find(const struct tg_team_table *table, const struct tg_team_stack *stack,
                            uint64_t low);

#endif
