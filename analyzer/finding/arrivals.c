#include "analyzer/finding/arrivals.h"

#include "analyzer/finding/words.h"
#include "analyzer/output/rank_ranges.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 8 }; /* named in one sentence */

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

static const char *job_of(const struct tg_verdict_input *input, const struct tg_mpi_arrival *arrival)
{
    const struct tg_process_entry *entry =
        arrival->process == SIZE_MAX ? NULL : tg_process_model_at(input->processes, arrival->process);
    return entry == NULL ? "" : entry->job;
}

/* Moves the ranks of JOB, among the COUNT that are left in WANTED, to RANKS. Returns how many those are. */
static size_t take_job(const struct tg_verdict_input *input, const char *job,
                       const struct tg_mpi_arrival **wanted, size_t *count, int64_t *ranks)
{
    size_t taken = 0, left = 0;
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(job_of(input, wanted[i]), job) == 0)
            ranks[taken++] = tg_arrivals_rank(wanted[i]);
        else
            wanted[left++] = wanted[i];
    }
    *count = left;
    return taken;
}

static void print_jobs(FILE *stream, const struct tg_verdict_input *input,
                       const struct tg_mpi_arrival **wanted, size_t count, int64_t *ranks, bool is_first)
{
    size_t told = 0;
    while (count > 0 && told < MAX_JOBS) {
        const char *job = job_of(input, wanted[0]);
        size_t taken = take_job(input, job, wanted, &count, ranks);
        if (told > 0)
            fputs(count == 0 ? " and " : ", ", stream);
        tg_arrivals_print(stream, ranks, taken, is_first && told == 0);
        told++;
        tg_words_job(stream, input, job);
    }
    if (count > 0)
        fprintf(stream, " and %zu more", count);
}

struct tg_error *tg_arrivals_print_ranks(FILE *stream, const struct tg_verdict_input *input,
                                         const struct tg_mpi_arrival *arrivals, size_t n,
                                         bool (*is_wanted)(const struct tg_mpi_arrival *arrival,
                                                           const void *like),
                                         const void *like, bool is_first)
{
    int64_t *ranks = calloc(n + 1, sizeof *ranks);
    const struct tg_mpi_arrival **wanted = calloc(n + 1, sizeof *wanted);
    size_t count = 0;
    for (size_t i = 0; wanted != NULL && i < n; i++)
        if (is_wanted(&arrivals[i], like))
            wanted[count++] = &arrivals[i];
    bool has_memory = ranks != NULL && wanted != NULL;
    if (has_memory && count == 0)
        tg_arrivals_print(stream, ranks, 0, is_first);
    else if (has_memory)
        print_jobs(stream, input, wanted, count, ranks, is_first);
    free(wanted);
    free(ranks);
    return has_memory ? NULL : tg_error_no_memory();
}
