#include "analyzer/finding/arrivals.h"

#include "analyzer/output/rank_ranges.h"

#include <stdlib.h>
#include <string.h>

size_t tg_arrivals_standing(const struct tg_mpi_arrival *arrivals, size_t n, enum tg_mpi_standing standing)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += arrivals[i].standing == standing;
    return count;
}

int64_t tg_arrivals_rank(const struct tg_mpi_arrival *arrival)
{
    return arrival->world_rank >= 0 ? arrival->world_rank : arrival->comm_rank;
}

/* "0-2,5,7" as in a sentence: "0-2, 5 and 7". */
static void print_list(FILE *stream, const char *list)
{
    const char *last = strrchr(list, ',');
    for (const char *at = list; *at != '\0'; at++) {
        if (*at == ',')
            fputs(at == last ? " and " : ", ", stream);
        else
            fputc(*at, stream);
    }
}

void tg_arrivals_print(FILE *stream, int64_t *ranks, size_t count, bool is_first)
{
    char text[256];
    count = tg_rank_ranges_sort(ranks, count);
    fputs(is_first ? "Rank" : "rank", stream);
    fputs(count == 1 ? " " : "s ", stream);
    print_list(stream, tg_rank_ranges_print(ranks, count, text, sizeof text));
}

struct tg_error *tg_arrivals_print_ranks(FILE *stream, const struct tg_mpi_arrival *arrivals, size_t n,
                                         bool (*is_wanted)(const struct tg_mpi_arrival *arrival,
                                                           const void *like),
                                         const void *like, bool is_first)
{
    int64_t *ranks = calloc(n + 1, sizeof *ranks);
    size_t count = 0;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++)
        if (is_wanted(&arrivals[i], like))
            ranks[count++] = tg_arrivals_rank(&arrivals[i]);
    tg_arrivals_print(stream, ranks, count, is_first);
    free(ranks);
    return NULL;
}
