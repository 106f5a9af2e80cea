#include "recorder/rings/team_table.h"

#include "recorder/agent/contract.h"

#include <string.h>

static uint64_t low_bits(uint64_t id)
{
    return id & TG_AGENT_TEAM_MASK;
}

/* The place behind the innermost team with these bits, 0: none. */
static size_t find_on_stack(const struct tg_team_stack *stack, uint64_t low)
{
    size_t i = stack->n_teams;
    while (i > 0 && low_bits(stack->teams[i - 1].id) != low)
        i--;
    return i;
}

void tg_team_enter(struct tg_team_table *table, struct tg_team_stack *stack, struct tg_team team,
                   uint64_t parent)
{
    size_t inside = find_on_stack(stack, low_bits(parent));
    if (inside > 0 || parent == 0)
        stack->n_teams = inside; /* whatever was left without a word */
    if (stack->n_teams == TG_TEAM_STACK_SIZE) {
        memmove(stack->teams, stack->teams + 1, (TG_TEAM_STACK_SIZE - 1) * sizeof stack->teams[0]);
        stack->n_teams--;
    }
    stack->teams[stack->n_teams++] = team;
    table->teams[team.id % TG_TEAM_TABLE_SIZE] = team;
}

void tg_team_leave(struct tg_team_stack *stack, uint64_t low)
{
    size_t inside = find_on_stack(stack, low);
    if (inside > 0)
        stack->n_teams = inside - 1;
}

struct tg_team tg_team_find(const struct tg_team_table *table, const struct tg_team_stack *stack,
                            uint64_t low)
{
    if (low == 0)
        return (struct tg_team){0};
    size_t inside = find_on_stack(stack, low);
    if (inside > 0)
        return stack->teams[inside - 1];
    const struct tg_team *team = &table->teams[low % TG_TEAM_TABLE_SIZE];
    return low_bits(team->id) == low ? *team : (struct tg_team){.id = low};
}
