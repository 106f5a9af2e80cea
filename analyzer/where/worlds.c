#include "analyzer/where/worlds.h"

#include "analyzer/output/apart_words.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/where/calls.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether INDEX is the first thread of a rank. */
static bool is_rank(const struct tg_where_threads *threads, size_t index)
{
    return threads->threads[index].is_rank && threads->threads[index].is_first;
}

/* ---- apart */

static bool is_apart(const struct tg_where_threads *threads, size_t index, const char *job)
{
    const struct tg_process_launch *launch = &threads->threads[index].process->launch;
    return is_rank(threads, index) && launch->is_in_vain && (job == NULL || strcmp(launch->job, job) == 0);
}

static void write_apart(FILE *stream, const struct tg_where_threads *threads, size_t first, int64_t *ranks)
{
    const struct tg_process_launch *launch = &threads->threads[first].process->launch;
    size_t count = 0;
    for (size_t i = 0; i < first; i++)
        if (is_apart(threads, i, launch->job)) /* was told with that one */
            return;
    for (size_t i = first; i < threads->count; i++)
        if (is_apart(threads, i, launch->job))
            ranks[count++] = threads->threads[i].process->launch.rank;
    tg_apart_words(stream, launch, ranks, tg_rank_ranges_sort(ranks, count));
    fputc('\n', stream);
}

void tg_where_worlds_write_apart(FILE *stream, const struct tg_where_threads *threads)
{
    int64_t *ranks = calloc(threads->count + 1, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < threads->count; i++)
        if (is_apart(threads, i, NULL))
            write_apart(stream, threads, i, ranks);
    free(ranks);
}

/* ---- missing */

static const char *job_of(const struct tg_where_threads *threads, size_t index)
{
    return threads->threads[index].process->job;
}

/* Whether ranks of other jobs than that of FIRST were looked at. */
static bool has_several_jobs(const struct tg_where_threads *threads, size_t first)
{
    for (size_t i = 0; i < threads->count; i++)
        if (is_rank(threads, i) && strcmp(job_of(threads, i), job_of(threads, first)) != 0)
            return true;
    return false;
}

/* The ranks of the job of FIRST that were not looked at, in RANKS. Returns how many; SIZE how large the job is. */
static size_t find_missing(const struct tg_where_threads *threads, size_t first, int64_t *ranks, size_t size)
{
    size_t count = 0;
    bool *is_there = calloc(size + 1, sizeof *is_there);
    for (size_t i = first; is_there != NULL && i < threads->count; i++)
        if (is_rank(threads, i) && strcmp(job_of(threads, i), job_of(threads, first)) == 0 &&
            threads->threads[i].process->rank < (int64_t)size)
            is_there[threads->threads[i].process->rank] = true;
    for (size_t i = 0; is_there != NULL && i < size; i++)
        if (!is_there[i])
            ranks[count++] = (int64_t)i;
    free(is_there);
    return count;
}

/* How large the job of FIRST is; 0 where that is not known, or MPI says otherwise than its launcher. */
static int64_t size_of(const struct tg_where_threads *threads, size_t first)
{
    int64_t size = 0;
    for (size_t i = first; i < threads->count; i++) {
        const struct tg_process_entry *entry = threads->threads[i].process;
        if (!is_rank(threads, i) || strcmp(job_of(threads, i), job_of(threads, first)) != 0)
            continue;
        if (threads->threads[i].is_ambiguous ||
            (entry->world_size != 0 && entry->world_size != entry->size) ||
            (size != 0 && entry->size != 0 && entry->size != size))
            return 0;
        size = entry->size > size ? entry->size : size;
    }
    return size;
}

enum { MAX_SIZE = 1 << 22 };

/* The ranks of the job of FIRST that were not looked at, to be freed, and how many they are in COUNT; NULL: none, or not known. */
static int64_t *list_missing(const struct tg_where_threads *threads, size_t first, size_t *count)
{
    int64_t size = size_of(threads, first);
    int64_t *ranks = size > 0 && size <= MAX_SIZE ? calloc((size_t)size, sizeof *ranks) : NULL;
    *count = ranks != NULL ? find_missing(threads, first, ranks, (size_t)size) : 0;
    if (*count > 0)
        return ranks;
    free(ranks);
    return NULL;
}

/* "The stacks of 4 of 8 ranks are known: others may wait for ranks 4-7 as well." */
static void write_missing(FILE *stream, const struct tg_where_threads *threads, size_t first)
{
    char text[256], job[64];
    size_t count;
    int64_t *ranks = list_missing(threads, first, &count);
    if (ranks == NULL)
        return;
    int64_t size = size_of(threads, first);
    fprintf(stream, "The stacks of %" PRId64 " of %" PRId64 " ranks", size - (int64_t)count, size);
    if (has_several_jobs(threads, first))
        fprintf(stream, " of job %s", tg_printable(job_of(threads, first), job, sizeof job));
    fprintf(stream, " are known: others may wait for rank%s %s as well.\n", count == 1 ? "" : "s",
            tg_rank_ranges_print(ranks, count, text, sizeof text));
    free(ranks);
}

static bool is_first_of_job(const struct tg_where_threads *threads, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_rank(threads, i) && strcmp(job_of(threads, i), job_of(threads, index)) == 0)
            return false;
    return is_rank(threads, index);
}

void tg_where_worlds_write_missing(FILE *stream, const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count && threads->threads[i].is_rank; i++)
        if (is_first_of_job(threads, i))
            write_missing(stream, threads, i);
}

/* ---- unseen */

/* Moves to the front which of RANKS, COUNT of them, have to make the collective call of THREAD. Returns how many. */
static size_t choose_members(const struct tg_where_thread *thread, int64_t *ranks, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (tg_where_has_member(thread, ranks[i]))
            ranks[n++] = ranks[i];
    return n;
}

bool tg_where_worlds_are_unseen(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count)
{
    const struct tg_where_group *waiting = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].is_away && (waiting != NULL || !groups[i].is_collective || groups[i].has_moved))
            return false;
        waiting = groups[i].is_away ? waiting : &groups[i];
    }
    if (waiting == NULL || !threads->has_two_looks || has_several_jobs(threads, waiting->threads[0]))
        return false;
    for (size_t i = 0; i < waiting->count; i++)
        if (!tg_where_knows_members(&threads->threads[waiting->threads[i]]) ||
            threads->threads[waiting->threads[i]].moves_data)
            return false;
    size_t n_missing;
    int64_t *ranks = list_missing(threads, waiting->threads[0], &n_missing);
    size_t n = choose_members(&threads->threads[waiting->threads[0]], ranks, n_missing);
    free(ranks);
    return n > 0;
}

void tg_where_worlds_write_unseen(FILE *stream, const struct tg_where_threads *threads,
                                  const struct tg_where_group *group)
{
    char text[256], call[80];
    size_t n_missing;
    int64_t *ranks = list_missing(threads, group->threads[0], &n_missing);
    size_t count = choose_members(&threads->threads[group->threads[0]], ranks, n_missing);
    if (group->count == 1)
        fprintf(stream, "Rank %" PRId64 " waits", threads->threads[group->threads[0]].process->rank);
    else
        fputs("The others wait", stream);
    fprintf(stream, " in %s for %srank%s %s, whose stack%s not known.\n",
            tg_printable(group->call, call, sizeof call), count == 1 ? "" : "some of ", count == 1 ? "" : "s",
            tg_rank_ranges_print(ranks, count, text, sizeof text), count == 1 ? " is" : "s are");
    free(ranks);
}
