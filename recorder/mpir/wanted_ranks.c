#include "recorder/mpir/wanted_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number at *TEXT and moves it behind; false where there is none. */
static bool take_number(const char **text, uint32_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(*text, &end, 10);
    if (errno != 0 || value > INT32_MAX)
        return false;
    *text = end;
    *number = (uint32_t)value;
    return true;
}

static bool take_range(const char **text, struct tg_rank_range *range)
{
    if (!take_number(text, &range->first))
        return false;
    range->last = range->first;
    if (**text == '-') {
        ++*text;
        if (!take_number(text, &range->last))
            return false;
    }
    return range->last >= range->first && (**text == ',' || **text == '\0');
}

struct tg_error *tg_wanted_ranks_parse(const char *text, struct tg_wanted_ranks *list)
{
    struct tg_wanted_ranks read = {0};
    size_t capacity = 1;
    for (const char *c = text; *c != '\0'; c++)
        capacity += *c == ',';
    if (capacity > TG_WANTED_RANKS_MAX_RANGES)
        return tg_error_create(TG_ERROR_USAGE, "more than %d ranges of ranks", TG_WANTED_RANKS_MAX_RANGES);
    read.ranges = calloc(capacity, sizeof *read.ranges);
    if (read.ranges == NULL)
        return tg_error_no_memory();
    for (const char *at = text;; at++) {
        const char *part = at;
        if (!take_range(&at, &read.ranges[read.count])) {
            tg_wanted_ranks_deinit(&read);
            return tg_error_create(TG_ERROR_USAGE, "invalid rank or range of ranks '%.*s'",
                                   (int)strcspn(part, ","), part);
        }
        read.count++;
        if (*at == '\0')
            break;
    }
    *list = read;
    return NULL;
}

void tg_wanted_ranks_deinit(struct tg_wanted_ranks *list)
{
    free(list->ranges);
    *list = (struct tg_wanted_ranks){0};
}

bool tg_wanted_ranks_has(const struct tg_wanted_ranks *list, uint64_t rank)
{
    for (size_t i = 0; i < list->count; i++)
        if (rank >= list->ranges[i].first && rank <= list->ranges[i].last)
            return true;
    return list->count == 0;
}
