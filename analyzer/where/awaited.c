#include "analyzer/where/awaited.h"

#include "analyzer/where/calls.h"

#include <stdlib.h>

enum tg_where_awaited tg_where_awaited_of(const struct tg_where_threads *threads,
                                          const struct tg_where_group *groups, size_t count, size_t index,
                                          bool is_on_way)
{
    enum tg_where_awaited awaited = TG_WHERE_NOT_AWAITED;
    bool has_collective = false;
    if (is_on_way)
        return TG_WHERE_AWAITED;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; groups[i].is_collective && k < groups[i].count; k++) {
            has_collective = true;
            switch (tg_where_membership(&threads->threads[groups[i].threads[k]], &threads->threads[index])) {
            case TG_WHERE_IS_MEMBER:
                return TG_WHERE_AWAITED;
            case TG_WHERE_MAY_BE_MEMBER:
                awaited = TG_WHERE_MAY_BE_AWAITED;
                break;
            case TG_WHERE_IS_NO_MEMBER:
                break;
            }
        }
    return has_collective ? awaited : TG_WHERE_AWAITED;
}

bool tg_where_members_are_known(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; groups[i].is_collective && k < groups[i].count; k++)
            if (!tg_where_knows_members(&threads->threads[groups[i].threads[k]]))
                return false;
    return true;
}

/* Whether somebody of OTHER, who is in another call, has to make the collective call that GROUP is in. */
static bool lacks(const struct tg_where_threads *threads, const struct tg_where_group *group,
                  const struct tg_where_group *other)
{
    const struct tg_where_thread *first = &threads->threads[group->threads[0]];
    if (other->is_collective && tg_where_have_same_members(first, &threads->threads[other->threads[0]]))
        return false;
    for (size_t i = 0; i < other->count; i++)
        if (tg_where_membership(first, &threads->threads[other->threads[i]]) == TG_WHERE_IS_MEMBER)
            return true;
    return false;
}

struct tg_error *tg_where_chains_end(const struct tg_where_threads *threads,
                                     const struct tg_where_group *groups, size_t count, bool *do_end)
{
    bool *ends = calloc(count + 1, sizeof *ends), has_changed = true;
    if (ends == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) /* waits for messages are asked for elsewhere */
        ends[i] = !groups[i].is_collective;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < count; i++) {
            bool is_led = !ends[i];
            for (size_t k = 0; is_led && k < count; k++)
                is_led = k == i || ends[k] || !lacks(threads, &groups[i], &groups[k]);
            ends[i] |= is_led;
            has_changed |= is_led;
        }
    }
    *do_end = true;
    for (size_t i = 0; i < count; i++)
        *do_end &= ends[i];
    free(ends);
    return NULL;
}
