#include "analyzer/output/rank_ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_ranks(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

size_t tg_rank_ranges_sort(int64_t *ranks, size_t count)
{
    if (count < 2)
        return count;
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (ranks[i] != ranks[kept - 1])
            ranks[kept++] = ranks[i];
    return kept;
}

char *tg_rank_ranges_print(const int64_t *ranks, size_t count, char *buffer, size_t size)
{
    size_t used = 0;
    *buffer = '\0';
    for (size_t i = 0; i < count;) {
        size_t last = i;
        /* from the smaller one, so that no difference overflows */
        while (last + 1 < count && ranks[last] != INT64_MAX && ranks[last + 1] <= ranks[last] + 1)
            last++;
        char piece[64];
        int length = ranks[last] == ranks[i]
                         ? snprintf(piece, sizeof piece, "%s%" PRId64, i == 0 ? "" : ",", ranks[i])
                         : snprintf(piece, sizeof piece, "%s%" PRId64 "-%" PRId64, i == 0 ? "" : ",",
                                    ranks[i], ranks[last]);
        if (used + (size_t)length + 5 > size) {
            snprintf(buffer + used, size - used, "%s...", i == 0 ? "" : ",");
            return buffer;
        }
        memcpy(buffer + used, piece, (size_t)length + 1);
        used += (size_t)length;
        i = last + 1;
    }
    return buffer;
}
