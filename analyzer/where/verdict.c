#include "analyzer/where/verdict.h"

#include "analyzer/output/stack_words.h"
#include "analyzer/where/crashes.h"
#include "analyzer/where/members.h"
#include "analyzer/where/messages.h"
#include "analyzer/where/mpi_names.h"
#include "analyzer/where/waits.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls */

/* Calls that all processes of a communicator have to make. */
static const char *const collectives[] = {
    "MPI_Barrier",       "MPI_Bcast",          "MPI_Reduce",
    "MPI_Allreduce",     "MPI_Gather",         "MPI_Gatherv",
    "MPI_Allgather",     "MPI_Allgatherv",     "MPI_Scatter",
    "MPI_Scatterv",      "MPI_Alltoall",       "MPI_Alltoallv",
    "MPI_Alltoallw",     "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",          "MPI_Exscan",         "MPI_Init",
    "MPI_Init_thread",   "MPI_Finalize",       "MPI_Comm_split",
    "MPI_Comm_dup",      "MPI_Comm_create",    "MPI_Comm_free",
    "MPI_Win_create",    "MPI_Win_fence",      "MPI_Win_allocate",
    "MPI_Win_free",      "MPI_File_open",      "MPI_File_close",
    "MPI_Cart_create",   "MPI_Comm_spawn",     "MPI_Neighbor_alltoall",
    "MPI_File_read_all", "MPI_File_write_all", "MPI_Win_allocate_shared",
};

static bool is_collective(const char *call)
{
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (strcmp(call, collectives[i]) == 0)
            return true;
    return false;
}

/* ---- groups */

static bool belongs(const struct tg_where_group *group, const char *call, const struct tg_stack_place *place)
{
    if (strcmp(group->call, call) != 0)
        return false;
    return *call != '\0' || tg_stack_place_is_same(group->place, place);
}

static struct tg_error *add(struct tg_where_verdict *verdict, const struct tg_where_threads *threads,
                            size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[64];
    size_t i = 0;
    tg_mpi_name(thread->path.place.inside, call, sizeof call);
    while (i < verdict->count && !belongs(&verdict->groups[i], call, &thread->path.place))
        i++;
    if (i == verdict->count) {
        struct tg_where_group group = {
            .call = strdup(call), .place = &thread->path.place, .is_collective = is_collective(call)};
        if (group.call == NULL ||
            TG_ARRAY_APPEND(verdict->groups, verdict->count, verdict->capacity, group) != NULL) {
            free((char *)group.call);
            return tg_error_no_memory();
        }
    }
    struct tg_where_group *group = &verdict->groups[i];
    group->has_moved |= thread->has_moved;
    group->has_returned |= thread->has_returned;
    return TG_ARRAY_APPEND(group->threads, group->count, group->capacity, index);
}

static int compare(const void *a, const void *b)
{
    const struct tg_where_group *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->threads[0] > y->threads[0]) - (x->threads[0] < y->threads[0]);
}

/* Whether every rank has to make the call that THREAD is in. */
static bool waits_for_all(const struct tg_where_thread *thread, const char *call)
{
    return strncmp(call, "MPI_Init", strlen("MPI_Init")) == 0 || strcmp(call, "MPI_Finalize") == 0 ||
           tg_where_is_in_world(thread);
}

static bool is_of_all(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!waits_for_all(&threads->threads[group->threads[i]], group->call))
            return false;
    return true;
}

static enum tg_where_kind judge(const struct tg_where_threads *threads,
                                const struct tg_where_verdict *verdict)
{
    size_t collective = 0, outside = 0, pending = 0;
    bool moves = false, comes_back = false, are_of_all = true;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        if (*group->call == '\0') {
            outside++;
            moves |= group->has_moved;
            continue;
        }
        comes_back |= group->has_returned;
        are_of_all &= is_of_all(threads, group);
        collective += group->is_collective;
        pending += !group->is_collective;
    }
    if (verdict->count == 0)
        return TG_WHERE_UNKNOWN;
    if (collective + pending == 0)
        return TG_WHERE_BUSY;
    if (comes_back)
        return TG_WHERE_RUNS;
    if (outside > 0 && collective > 0 && pending == 0)
        return !are_of_all ? TG_WHERE_OUTSIDE : moves ? TG_WHERE_MOVES : TG_WHERE_MISSING;
    if (collective > 1 && outside == 0 && pending == 0)
        return TG_WHERE_DIFFERENT;
    return TG_WHERE_UNKNOWN;
}

static bool is_suspended(const struct tg_where_thread *thread)
{
    return thread->is_first && thread->activity != NULL && thread->activity->is_suspended;
}

static bool has_suspended(const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (is_suspended(&threads->threads[i]))
            return true;
    return false;
}

struct tg_error *tg_where_verdict_make(const struct tg_where_threads *threads,
                                       struct tg_where_verdict *verdict)
{
    struct tg_error *error = NULL;
    *verdict = (struct tg_where_verdict){0};
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        if (threads->threads[i].is_rank && threads->threads[i].is_first)
            error = add(verdict, threads, i);
    if (verdict->count > 0)
        qsort(verdict->groups, verdict->count, sizeof *verdict->groups, compare);
    verdict->kind = tg_where_has_crashes(threads) ? TG_WHERE_CRASHED : judge(threads, verdict);
    if (verdict->kind == TG_WHERE_CRASHED)
        return error;
    if (verdict->kind == TG_WHERE_MISSING || verdict->kind == TG_WHERE_MOVES)
        return error;
    enum tg_where_cycle cycle = tg_where_message_cycles(NULL, threads);
    if (tg_where_waits_are_deadlock(threads) || cycle == TG_WHERE_CYCLE_CERTAIN)
        verdict->kind = TG_WHERE_DEADLOCK;
    else if (cycle == TG_WHERE_CYCLE_SEEN)
        verdict->kind = TG_WHERE_CYCLE;
    else if (verdict->kind == TG_WHERE_UNKNOWN && has_suspended(threads))
        verdict->kind = TG_WHERE_SUSPENDED;
    return error;
}

void tg_where_verdict_deinit(struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        free((char *)verdict->groups[i].call);
        free(verdict->groups[i].threads);
    }
    free(verdict->groups);
    *verdict = (struct tg_where_verdict){0};
}

const char *tg_where_kind_name(enum tg_where_kind kind)
{
    static const char *const names[] = {
        [TG_WHERE_UNKNOWN] = "unknown", [TG_WHERE_MISSING] = "missing", [TG_WHERE_DIFFERENT] = "different",
        [TG_WHERE_BUSY] = "busy",       [TG_WHERE_MOVES] = "moves",     [TG_WHERE_DEADLOCK] = "deadlock",
        [TG_WHERE_CYCLE] = "cycle",     [TG_WHERE_RUNS] = "runs",       [TG_WHERE_SUSPENDED] = "suspended",
        [TG_WHERE_CRASHED] = "crashed", [TG_WHERE_OUTSIDE] = "outside",
    };
    return names[kind];
}

/* ---- words */

static const char *both_or_all(const struct tg_where_threads *threads)
{
    return threads->n_looks > 2 ? "all" : "both";
}

static bool have_same_values(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    char first[240], other[240];
    tg_where_call_words(&threads->threads[group->threads[0]], first, sizeof first);
    for (size_t i = 1; i < group->count; i++)
        if (strcmp(first, tg_where_call_words(&threads->threads[group->threads[i]], other, sizeof other)) !=
            0)
            return false;
    return true;
}

static void write_group(FILE *stream, const struct tg_where_threads *threads,
                        const struct tg_where_group *group)
{
    char call[240], text[400];
    tg_where_write_members(stream, threads, group->threads, group->count);
    const char *verb = group->count == 1 ? "is" : "are";
    if (*group->call == '\0') {
        fprintf(stream, " %s outside MPI: ", verb);
        tg_stack_words_place(stream, group->place);
        if (threads->has_two_looks)
            fprintf(stream, group->has_moved ? " (moves)" : " (at the same place in %s looks)",
                    both_or_all(threads));
        return;
    }
    bool has_values = group->count > 0 && have_same_values(threads, group);
    fprintf(stream, " %s in %s", verb,
            has_values ? tg_where_call_words(&threads->threads[group->threads[0]], call, sizeof call)
                       : tg_printable(group->call, call, sizeof call));
    bool is_alike = true;
    for (size_t i = 1; is_alike && i < group->count; i++)
        is_alike = tg_stack_place_is_same(group->place, &threads->threads[group->threads[i]].path.place);
    if (is_alike && group->place->is_known)
        fprintf(stream, ", called from %s", tg_stack_words_call(&group->place->at, text, sizeof text));
    else if (!is_alike)
        fputs(", from different places", stream);
}

static void write_groups(FILE *stream, const struct tg_where_threads *threads,
                         const struct tg_where_verdict *verdict)
{
    enum { SHOWN = 8 };
    bool names_missing = verdict->kind == TG_WHERE_MISSING || verdict->kind == TG_WHERE_MOVES ||
                         verdict->kind == TG_WHERE_OUTSIDE;
    size_t n = 0;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        if ((names_missing && *group->call == '\0') || n++ >= SHOWN)
            continue;
        fputs("  ", stream);
        write_group(stream, threads, group);
        fputc('\n', stream);
    }
    if (n > SHOWN)
        fprintf(stream, "  ... and %zu more groups of ranks\n", n - SHOWN);
}

static bool waits_in_openmp(const struct tg_where_thread *thread)
{
    static const char *const calls[] = {"GOMP_barrier",  "GOMP_parallel",     "gomp_team_",
                                        "kmpc_barrier",  "kmpc_fork_",        "kmp_",
                                        "GOMP_loop_",    "GOMP_single_",      "GOMP_sections_end",
                                        "GOMP_taskwait", "kmpc_omp_taskwait", "libgomp.",
                                        "libomp.",       "libiomp5."};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(thread->path.place.inside, calls[i], strlen(calls[i])) == 0)
            return true;
    return false;
}

/* Where the first thread of a rank waits for its team: the threads of the team that do not. */
static void write_team(FILE *stream, const struct tg_where_threads *threads,
                       const struct tg_where_group *group)
{
    enum { SHOWN = 4 };
    const struct tg_where_thread *first = &threads->threads[group->threads[0]];
    size_t n = 0;
    for (size_t i = 0; group->count == 1 && waits_in_openmp(first) && i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->process != first->process || thread->path.task != TG_THREAD_OF_PROGRAM ||
            waits_in_openmp(thread) || n++ >= SHOWN)
            continue;
        fprintf(stream, "There, thread %" PRId32 " is ", thread->stack->tid);
        tg_stack_words_place(stream, &thread->path.place);
        fputs(".\n", stream);
    }
    if (n > SHOWN)
        fprintf(stream, "There, %zu more threads are elsewhere.\n", n - SHOWN);
}

/* "The others wait for rank 3, which is outside MPI: in solve (solve.c:88), at the same place in both looks."; of a call
 * whose communicator is another one, or not known: "If rank 3 belongs to the communicator of these calls, the others wait
 * for it. It is outside MPI: ..." */
static void write_missing(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        if (*group->call != '\0')
            continue;
        bool is_one = group->count == 1;
        fputs(verdict->kind == TG_WHERE_OUTSIDE ? "If " : "The others wait for ", stream);
        tg_where_write_members(stream, threads, group->threads, group->count);
        if (verdict->kind == TG_WHERE_OUTSIDE)
            fprintf(stream,
                    " belong%s to the communicator of these calls, the others wait for %s outside MPI: ",
                    is_one ? "s" : "", is_one ? "it. It is" : "them. They are");
        else
            fprintf(stream, ", which %s outside MPI: ", is_one ? "is" : "are");
        tg_stack_words_place(stream, group->place);
        if (threads->has_two_looks)
            fprintf(stream, group->has_moved ? "; that runs" : ", at the same place in %s looks",
                    both_or_all(threads));
        fputs(".\n", stream);
    }
    for (size_t i = 0; i < verdict->count; i++)
        if (*verdict->groups[i].call == '\0')
            write_team(stream, threads, &verdict->groups[i]);
    if (verdict->kind == TG_WHERE_MOVES)
        fputs("Look again later: if it is still in that function, it may be in an endless loop.\n", stream);
}

/* "2 of 4 ranks came back from calls of MPI between the looks: the job goes on." */
static void write_runs(FILE *stream, const struct tg_where_threads *threads)
{
    size_t n = 0;
    for (size_t i = 0; i < threads->count; i++)
        n += threads->threads[i].is_rank && threads->threads[i].is_first && threads->threads[i].has_returned;
    fprintf(stream, "%zu of %zu rank%s came back from a call of MPI between the looks: the job goes on.\n", n,
            threads->n_ranks, threads->n_ranks == 1 ? "" : "s");
}

/* Ranks that somebody has stopped: no other rank, and no look, can tell them from those that hang. */
static void write_suspended(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 4 };
    size_t n = 0;
    char name[64];
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (!is_suspended(thread) || n++ >= SHOWN)
            continue;
        if (thread->is_rank)
            fprintf(stream, "Rank %" PRId64, thread->process->rank);
        else
            fputs(tg_printable(tg_process_entry_name(thread->process), name, sizeof name), stream);
        fprintf(stream,
                " is stopped by a signal, and continues when it gets SIGCONT: kill -CONT %" PRId32 "\n",
                thread->stack->pid);
    }
    if (n > SHOWN)
        fprintf(stream, "... and %zu more processes are\n", n - SHOWN);
}

bool tg_where_verdict_write(FILE *stream, const struct tg_where_threads *threads,
                            const struct tg_where_verdict *verdict)
{
    bool has_waits = false;
    bool has_crashes = tg_where_crashes_write(stream, threads);
    write_suspended(stream, threads);
    if (verdict->kind == TG_WHERE_DEADLOCK)
        has_waits = tg_where_waits_write(stream, threads);
    if (verdict->kind == TG_WHERE_DEADLOCK || verdict->kind == TG_WHERE_CYCLE)
        tg_where_message_cycles(stream, threads);
    switch (verdict->kind) {
    case TG_WHERE_MISSING:
    case TG_WHERE_MOVES:
    case TG_WHERE_OUTSIDE:
        write_missing(stream, threads, verdict);
        break;
    case TG_WHERE_DIFFERENT:
        fputs("Ranks are in different collective calls. If these are of one communicator, they wait for each "
              "other for ever.\n",
              stream);
        break;
    case TG_WHERE_BUSY:
        fputs("No rank is in MPI.\n", stream);
        break;
    case TG_WHERE_DEADLOCK:
    case TG_WHERE_CYCLE:
    case TG_WHERE_SUSPENDED:
    case TG_WHERE_CRASHED:
        break;
    case TG_WHERE_RUNS:
        write_runs(stream, threads);
        break;
    case TG_WHERE_UNKNOWN:
    default:
        if (verdict->count > 0)
            fprintf(stream, "Who waits for whom is unknown: %snot all partners of these calls are known.%s\n",
                    threads->has_two_looks ? "" : "one look does not show what moves, or ",
                    threads->is_recorded ? " `tollgate report` judges by the calls that were recorded." : "");
        break;
    }
    if (verdict->count > 0)
        write_groups(stream, threads, verdict);
    if (verdict->kind != TG_WHERE_DEADLOCK)
        has_waits = tg_where_waits_write(stream, threads);
    return verdict->count > 0 || has_waits || has_crashes;
}
