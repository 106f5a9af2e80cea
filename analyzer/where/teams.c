#include "analyzer/where/teams.h"

#include "analyzer/output/stack_words.h"
#include "format/base/printable.h"

#include <inttypes.h>

/* GCC's locks have no owner, nor has the usual kind of LLVM's; and a thread leaves functions with a lock. */
#define LACKS_OWNER "the OpenMP runtime keeps no owner that could be read, and no thread's calls show one.\n"

/* ---- of ranks */

/* Where THREAD is: of a region that left no frame, the function that this called. */
static void write_thread_place(FILE *stream, const struct tg_where_thread *thread)
{
    const struct tg_call_path *path = &thread->path;
    const char *last = path->count > 0 ? path->steps[path->count - 1] : "(";
    if (path->place.is_known || *last == '(')
        tg_stack_words_place(stream, &path->place);
    else
        fprintf(stream, "in %s, called from an OpenMP region that has no frame of its own", last);
}

/* Whether THREAD is in the process of FIRST, which waits for its team, and does not wait where that does. Threads that the
 * program started itself are not of the team. */
static bool is_elsewhere(const struct tg_where_thread *thread, const struct tg_where_thread *first)
{
    return thread != first && thread->process == first->process &&
           thread->path.task == TG_THREAD_OF_PROGRAM &&
           (thread->path.has_openmp || tg_where_waits_in_openmp(thread) ||
            thread->stack->end != TG_STACK_WHOLE) &&
           !(tg_where_waits_in_openmp(thread) &&
             tg_stack_place_is_same(&first->path.place, &thread->path.place));
}

enum { TEAMS_SHOWN = 4 }; /* of a group */

bool tg_where_team_is_told(const struct tg_where_threads *threads, const struct tg_where_group *group,
                           const struct tg_where_thread *thread)
{
    for (size_t k = 0; k < group->count && k < TEAMS_SHOWN; k++) {
        const struct tg_where_thread *first = &threads->threads[group->threads[k]];
        if (first->process != thread->process || !tg_where_waits_in_openmp(first) ||
            !tg_where_waits_in_openmp(thread))
            continue;
        for (size_t i = 0; i < threads->count; i++)
            if (is_elsewhere(&threads->threads[i], first))
                return true;
    }
    return false;
}

/* Where the first threads of ranks wait for their teams: the threads of these that do not, or that wait elsewhere. "There, thread
 * 12 is ..." of the one rank that was just named. */
static void write_team(FILE *stream, const struct tg_where_threads *threads,
                       const struct tg_where_group *group, bool is_there)
{
    enum { SHOWN = 4 };
    char place[40];
    for (size_t k = 0; k < group->count && k < TEAMS_SHOWN; k++) {
        const struct tg_where_thread *first = &threads->threads[group->threads[k]];
        size_t n = 0;
        if (is_there)
            snprintf(place, sizeof place, "There");
        else
            snprintf(place, sizeof place, "In rank %" PRId64, first->process->rank);
        for (size_t i = 0; tg_where_waits_in_openmp(first) && i < threads->count; i++) {
            const struct tg_where_thread *thread = &threads->threads[i];
            if (!is_elsewhere(thread, first) || n++ >= SHOWN)
                continue;
            fprintf(stream, "%s, thread %" PRId32 " is ", place, thread->stack->tid);
            write_thread_place(stream, thread);
            fputs(".\n", stream);
        }
        if (n > SHOWN)
            fprintf(stream, "%s, %zu more threads are elsewhere.\n", place, n - SHOWN);
        if (tg_where_waits_for_openmp_lock(first) && first->wait == NULL)
            fprintf(stream, "%s, who has that lock is not known: " LACKS_OWNER, place);
    }
}

void tg_where_teams_write(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_group *groups, size_t count)
{
    size_t n_away = 0;
    for (size_t i = 0; i < count; i++)
        n_away += groups[i].is_away ? groups[i].count : 0;
    for (size_t i = 0; i < count; i++)
        if (*groups[i].call == '\0')
            write_team(stream, threads, &groups[i], n_away == 1);
}

/* ---- of programs without MPI */

/* Threads of OpenMP of the process of one that waits. */
struct team {
    const struct tg_process_entry *process;
    size_t n_waiting, n_locking, n_away; /* for the others; for a lock; neither */
    size_t n_idle;                       /* in the runtime's pool */
};

static bool is_of_team(const struct tg_where_thread *thread, const struct team *team)
{
    return thread->process == team->process && thread->path.task == TG_THREAD_OF_PROGRAM &&
           (thread->path.has_openmp || tg_where_waits_in_openmp(thread));
}

static struct team team_of(const struct tg_where_threads *threads, const struct tg_process_entry *process)
{
    struct team team = {.process = process};
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        team.n_idle += thread->process == process && thread->path.task == TG_THREAD_OF_OPENMP;
        if (!is_of_team(thread, &team))
            continue;
        bool locks = tg_where_waits_for_openmp_lock(thread);
        team.n_waiting += tg_where_waits_in_openmp(thread);
        team.n_locking += locks;
        team.n_away += !locks && !tg_where_waits_in_openmp(thread);
    }
    return team;
}

/* "; thread 14 is in solve (solve.c:7)", of those that do not wait for the others. */
static void write_others(FILE *stream, const struct tg_where_threads *threads, const struct team *team,
                         const char *before)
{
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (!is_of_team(thread, team) || tg_where_waits_in_openmp(thread))
            continue;
        fprintf(stream, "%sthread %" PRId32 " is ", before, thread->stack->tid);
        write_thread_place(stream, thread);
        before = "; ";
    }
}

/* "In app (process 12), 3 OpenMP workers wait for work; thread 14 is in poll, called from solve (solve.c:9)": where workers
 * are through with a region that others are in, and none of these waits. */
static bool write_idle(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 4 };
    const struct tg_process_entry *last = NULL; /* threads of a process are neighbours */
    bool is_written = false;
    char name[64];
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->process == last || thread->path.task != TG_THREAD_OF_OPENMP)
            continue;
        last = thread->process;
        struct team team = team_of(threads, thread->process);
        if (team.n_waiting > 0 || team.n_locking > 0 || team.n_away == 0 || team.n_away > SHOWN)
            continue;
        fprintf(stream, "In %s (process %" PRId32 "), %zu OpenMP worker%s wait%s for work; ",
                tg_printable(tg_process_entry_name(team.process), name, sizeof name), thread->stack->pid,
                team.n_idle, team.n_idle == 1 ? "" : "s", team.n_idle == 1 ? "s" : "");
        write_others(stream, threads, &team, "");
        fputs(".\n", stream);
        is_written = true;
    }
    return is_written;
}

static bool has_known_owner(const struct tg_where_thread *thread)
{
    return thread->wait != NULL && thread->wait->is.owner != 0;
}

/* How many of TEAM wait for a lock of which nobody knows who has it. */
static size_t count_unknown(const struct tg_where_threads *threads, const struct team *team)
{
    size_t n = 0;
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        n += is_of_team(thread, team) && tg_where_waits_for_openmp_lock(thread) && !has_known_owner(thread);
    }
    return n;
}

/* Whether a thread of the process of TEAM waits for the one at INDEX. */
static bool is_owner(const struct tg_where_threads *threads, const struct team *team, size_t index)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->threads[i].process == team->process && threads->threads[i].owner == index &&
            has_known_owner(&threads->threads[i]))
            return true;
    return false;
}

/* Whether all that is to be told of TEAM, none of which waits for the others, is who has what another one waits for. */
static bool is_told_by_waits(const struct tg_where_threads *threads, const struct team *team)
{
    if (team->n_waiting > 0 || count_unknown(threads, team) > 0)
        return false;
    for (size_t i = 0; i < threads->count; i++)
        if (is_of_team(&threads->threads[i], team) && !has_known_owner(&threads->threads[i]) &&
            !is_owner(threads, team, i))
            return false;
    return true;
}

bool tg_where_teams_write_alone(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 4 };
    struct team team = {0};
    bool is_told = false;
    char name[64];
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *waiting = &threads->threads[i];
        bool locks = tg_where_waits_for_openmp_lock(waiting);
        if (waiting->process == team.process || waiting->path.task != TG_THREAD_OF_PROGRAM ||
            (!locks && !tg_where_waits_in_openmp(waiting)))
            continue;
        struct team found = team_of(threads, waiting->process);
        bool has_more = found.n_locking + found.n_away > 1;
        if (found.n_away + found.n_locking == 0 || found.n_away + found.n_locking > SHOWN ||
            (locks && (found.n_waiting > 0 || !has_more))) /* told with those that wait for the team */
            continue;
        team = found;
        if (is_told_by_waits(threads, &team))
            continue;
        is_told = true;
        fprintf(stream, "In %s (process %" PRId32 "), ",
                tg_printable(tg_process_entry_name(team.process), name, sizeof name), waiting->stack->pid);
        if (!locks) {
            fprintf(stream, "%zu thread%s wait%s ", team.n_waiting, team.n_waiting == 1 ? "" : "s",
                    team.n_waiting == 1 ? "s" : "");
            write_thread_place(stream, waiting);
        }
        write_others(stream, threads, &team, locks ? "" : "; ");
        size_t n_unknown = count_unknown(threads, &team);
        fputs(n_unknown > 1    ? ". Who has these locks is not known: " LACKS_OWNER
              : n_unknown == 1 ? ". Who has that lock is not known: " LACKS_OWNER
                               : ".\n",
              stream);
    }
    return write_idle(stream, threads) || is_told;
}
