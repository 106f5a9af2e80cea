#include "analyzer/where/members.h"

#include "analyzer/output/rank_ranges.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of one job. */
struct members {
    int64_t *firsts, *others; /* ranks whose first thread is there; whose other threads are */
    size_t n_firsts, n_others;
};

static const char *job_of(const struct tg_where_threads *looked, size_t thread)
{
    return looked->threads[thread].process->job;
}

/* Whether ranks of different jobs were looked at, of which numbers alone say nothing: jobs that MPI_Comm_spawn joined. */
static bool has_several_jobs(const struct tg_where_threads *looked)
{
    for (size_t i = 1; i < looked->count && looked->threads[i].is_rank; i++)
        if (strcmp(job_of(looked, i), job_of(looked, 0)) != 0)
            return true;
    return false;
}

/* Whether MPI has not joined the process with the others that its launcher started: it is rank 0 of a job of its own. */
static bool is_apart(const struct tg_where_threads *looked, size_t thread)
{
    return looked->threads[thread].process->launch.is_in_vain;
}

char *tg_where_rank_words(const struct tg_where_threads *looked, size_t index, char *buffer, size_t size)
{
    const struct tg_where_thread *thread = &looked->threads[index];
    if (is_apart(looked, index))
        snprintf(buffer, size, "process %" PRId32, thread->stack->pid);
    else
        snprintf(buffer, size, "rank %" PRId64, thread->process->rank);
    return buffer;
}

/* "processes 4711, 4712 and 4713", whichever of their threads are among THREADS. */
static void write_apart(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                        size_t count)
{
    enum { SHOWN = 6 };
    int32_t pids[SHOWN], last = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t pid = looked->threads[threads[i]].stack->pid;
        if (!is_apart(looked, threads[i]) || pid == last)
            continue;
        last = pid;
        if (n < SHOWN)
            pids[n] = pid;
        n++;
    }
    fprintf(stream, "process%s ", n == 1 ? "" : "es");
    for (size_t i = 0; i < n && i < SHOWN; i++)
        fprintf(stream, "%s%" PRId32, i == 0 ? "" : i + 1 == n ? " and " : ", ", pids[i]);
    if (n > SHOWN)
        fprintf(stream, " and %zu more", n - SHOWN);
}

static void write_ranks(FILE *stream, int64_t *ranks, size_t count)
{
    enum { COUNTED = 8 };
    char text[256];
    size_t n = tg_rank_ranges_sort(ranks, count);
    fprintf(stream, "rank%s %s", n == 1 ? "" : "s", tg_rank_ranges_print(ranks, n, text, sizeof text));
    if (n >= COUNTED || strstr(text, "...") != NULL)
        fprintf(stream, " (%zu ranks)", n);
}

/* Members of JOB alone. */
static void write_job_members(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                              size_t count, const char *job, struct members *members)
{
    members->n_firsts = members->n_others = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tg_where_thread *thread = &looked->threads[threads[i]];
        if (strcmp(thread->process->job, job) != 0)
            continue;
        if (thread->is_first)
            members->firsts[members->n_firsts++] = thread->process->rank;
        else
            members->others[members->n_others++] = thread->process->rank;
    }
    size_t n_threads = members->n_others;
    if (members->n_firsts > 0)
        write_ranks(stream, members->firsts, members->n_firsts);
    if (n_threads == 0)
        return;
    if (members->n_firsts > 0)
        fprintf(stream, ", and %zu thread%s of ", n_threads, n_threads == 1 ? "" : "s");
    else
        fprintf(stream, "%zu thread%s of ", n_threads, n_threads == 1 ? "" : "s");
    write_ranks(stream, members->others, members->n_others);
}

static void write_rank_members(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                               size_t count, struct members *members)
{
    char text[64];
    bool has_jobs = has_several_jobs(looked);
    for (size_t i = 0; i < count; i++) {
        const char *job = job_of(looked, threads[i]);
        bool is_told = false, is_vain = is_apart(looked, threads[i]);
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = is_vain ? is_apart(looked, threads[k]) : strcmp(job_of(looked, threads[k]), job) == 0;
        if (is_told)
            continue;
        fputs(i > 0 ? " and " : "", stream);
        if (is_vain) {
            write_apart(stream, looked, threads, count);
            continue;
        }
        write_job_members(stream, looked, threads, count, job, members);
        if (!has_jobs) /* nothing else is there */
            return;
        fprintf(stream, " of job %s", tg_printable(job, text, sizeof text));
    }
}

/* Threads of processes that are not ranks. */
static void write_processes(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                            size_t count)
{
    enum { SHOWN = 4 };
    int32_t last = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tg_where_thread *thread = &looked->threads[threads[i]];
        char name[64];
        if (thread->stack->pid == last)
            continue;
        last = thread->stack->pid;
        if (n++ < SHOWN)
            fprintf(stream, "%s%s (process %" PRId32 ")", n > 1 ? ", " : "",
                    tg_printable(tg_process_entry_name(thread->process), name, sizeof name), last);
    }
    if (n > SHOWN)
        fprintf(stream, " and %zu more", n - SHOWN);
    if (count > n)
        fprintf(stream, ", %zu threads", count);
    else if (count == 1 && !looked->threads[threads[0]].is_first)
        fprintf(stream, ", thread %" PRId32, looked->threads[threads[0]].stack->tid);
}

void tg_where_write_members(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                            size_t count)
{
    if (count == 0)
        return;
    if (!looked->threads[threads[0]].is_rank) {
        write_processes(stream, looked, threads, count);
        return;
    }
    struct members members = {.firsts = calloc(count, sizeof *members.firsts),
                              .others = calloc(count, sizeof *members.others)};
    if (members.firsts != NULL && members.others != NULL)
        write_rank_members(stream, looked, threads, count, &members);
    else
        fprintf(stream, "%zu threads", count);
    free(members.firsts);
    free(members.others);
}

char *tg_where_members_text(const struct tg_where_threads *looked, const size_t *threads, size_t count)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return NULL;
    tg_where_write_members(memory, looked, threads, count);
    if (fclose(memory) == 0)
        return text;
    free(text);
    return NULL;
}
