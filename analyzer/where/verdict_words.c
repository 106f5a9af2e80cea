#include "analyzer/where/verdict_words.h"

#include "analyzer/output/stack_words.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/circles.h"
#include "analyzer/where/crashes.h"
#include "analyzer/where/members.h"
#include "analyzer/where/messages.h"
#include "analyzer/where/mismatches.h"
#include "analyzer/where/mpi_names.h"
#include "analyzer/where/partners.h"
#include "analyzer/where/teams.h"
#include "analyzer/where/waits.h"
#include "analyzer/where/worlds.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static bool are_at_one_place(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    for (size_t i = 1; i < group->count; i++)
        if (!tg_stack_place_is_same(group->place, &threads->threads[group->threads[i]].path.place))
            return false;
    return true;
}

/* "outside MPI: in solve (solve.c:88)", "polling: in MPI_Test, called from ask (solve.c:90)", "polling with MPI_Test: in usleep,
 * called from ask (solve.c:91)", "in add (solve.c:7), a callback of MPI_Reduce". */
static void write_away(FILE *stream, const struct tg_where_threads *threads,
                       const struct tg_where_group *group)
{
    char name[80];
    bool polls = *group->polls != '\0', is_in_call = *group->call != '\0';
    if (polls)
        fprintf(stream, is_in_call ? "polling: " : "polling with %s: ",
                tg_printable(group->polls, name, sizeof name));
    else if (!is_in_call && *group->place->callback_of == '\0')
        fputs("outside MPI: ", stream);
    if (is_in_call && !are_at_one_place(threads, group))
        fprintf(stream, "in %s, from different places", tg_printable(group->call, name, sizeof name));
    else
        tg_stack_words_place(stream, group->place);
}

/* Whether a group that is away has changed, before and behind the words for it. */
static void write_change(FILE *stream, const struct tg_where_threads *threads,
                         const struct tg_where_group *group, const char *before, const char *runs,
                         const char *behind)
{
    if (!threads->has_two_looks || *group->polls != '\0')
        return;
    if (group->has_moved)
        fputs(runs, stream);
    else
        fprintf(stream, "%sat the same place in %s looks%s%s", before, both_or_all(threads),
                group->is_worked_for ? ", while other threads there run" : "", behind);
}

/* Where its members are not known, " of another communicator" if MARKS_OTHER. */
static void write_comm(FILE *stream, const struct tg_where_threads *threads,
                       const struct tg_where_group *group, bool marks_other)
{
    if (group->is_by_request) /* which says so */
        return;
    if (!group->is_collective && group->count == 1)
        tg_where_write_comm(stream, &threads->threads[group->threads[0]]);
    if (tg_where_group_is_of_other(threads, group) &&
        !tg_where_write_comm(stream, &threads->threads[group->threads[0]]) && marks_other)
        fputs(" of another communicator", stream);
}

/* MARKS_OTHER: the group is in a call of another communicator than others are, which is said. */
static void write_group(FILE *stream, const struct tg_where_threads *threads,
                        const struct tg_where_group *group, bool marks_other)
{
    char call[240], text[400];
    tg_where_write_members(stream, threads, group->threads, group->count);
    const char *verb = group->count == 1 ? "is" : "are";
    if (group->is_away) {
        fprintf(stream, " %s ", verb);
        write_away(stream, threads, group);
        write_change(stream, threads, group, " (", " (moves)", ")");
        return;
    }
    bool has_values = group->count > 0 && have_same_values(threads, group);
    fprintf(stream, " %s in %s", verb,
            has_values ? tg_where_call_words(&threads->threads[group->threads[0]], call, sizeof call)
                       : tg_printable(group->call, call, sizeof call));
    write_comm(stream, threads, group, marks_other);
    bool is_alike = are_at_one_place(threads, group);
    if (!is_alike) {
        fputs(", from different places", stream);
    } else if (group->place->is_known) {
        fprintf(stream, ", called from %s", tg_stack_words_call(&group->place->at, text, sizeof text));
        tg_stack_words_callback(stream, group->place);
    }
}

static bool has_waiting(const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++)
        if (!verdict->groups[i].is_away)
            return true;
    return false;
}

/* Whether others wait for ranks that are away, which are told by themselves. */
static bool names_missing(const struct tg_where_verdict *verdict)
{
    return verdict->kind == TG_WHERE_MISSING || verdict->kind == TG_WHERE_MOVES ||
           verdict->kind == TG_WHERE_OUTSIDE || (verdict->kind == TG_WHERE_POLLS && has_waiting(verdict));
}

/* What the first ranks of GROUP wait for by requests, *COUNT of which are there already; how many more there are. */
static void write_requests(FILE *stream, const struct tg_where_threads *threads,
                           const struct tg_where_group *group, size_t *count)
{
    enum { SHOWN = 8 };
    size_t n_more = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[group->threads[i]];
        if (*count >= SHOWN)
            n_more += tg_where_has_pending(thread);
        else
            *count += tg_where_write_requests(stream, "    ", thread);
    }
    if (n_more > 0)
        fprintf(stream, "    ... and %zu more rank%s with requests that are not complete\n", n_more,
                n_more == 1 ? "" : "s");
}

static void write_groups(FILE *stream, const struct tg_where_threads *threads,
                         const struct tg_where_verdict *verdict)
{
    enum { SHOWN = 8 };
    bool names_those = names_missing(verdict);
    bool marks_other = tg_where_verdict_has_different_comms(threads, verdict);
    size_t n = 0, n_requests = 0;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        bool is_named = names_those && group->is_away && group->awaited != TG_WHERE_NOT_AWAITED;
        if (is_named || n++ >= SHOWN)
            continue;
        fputs("  ", stream);
        write_group(stream, threads, group, marks_other);
        fputc('\n', stream);
        write_requests(stream, threads, group, &n_requests);
    }
    if (n > SHOWN)
        fprintf(stream, "  ... and %zu more groups of ranks\n", n - SHOWN);
}

/* A rank that waits in a call may have come back from it between the looks, and made it again. */
static void write_uncounted(FILE *stream, const struct tg_where_threads *threads)
{
    char why[200];
    if (threads->has_two_looks && *threads->uncounted != '\0')
        fprintf(stream, "Whether the others came back from their calls between the looks is unknown: %s.\n",
                tg_printable(threads->uncounted, why, sizeof why));
}

/* "The others wait for rank 3, which is outside MPI: in solve (solve.c:88), at the same place in both looks."; of a call
 * whose communicator is another one, or not known: "If rank 3 belongs to the communicator of these calls, the others wait
 * for it. It is outside MPI: ..." */
static void write_missing(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        if (!group->is_away || group->awaited == TG_WHERE_NOT_AWAITED)
            continue;
        bool is_one = group->count == 1;
        bool is_if = verdict->kind == TG_WHERE_OUTSIDE && group->awaited == TG_WHERE_MAY_BE_AWAITED;
        fputs(is_if                               ? "If "
              : verdict->kind == TG_WHERE_OUTSIDE ? "The others may wait for "
                                                  : "The others wait for ",
              stream);
        tg_where_write_members(stream, threads, group->threads, group->count);
        if (is_if)
            fprintf(stream, " belong%s to the communicator of these calls, the others wait for %s ",
                    is_one ? "s" : "", is_one ? "it. It is" : "them. They are");
        else
            fprintf(stream, ", which %s ", is_one ? "is" : "are");
        write_away(stream, threads, group);
        write_change(stream, threads, group, ", ", "; that runs", "");
        fputs(".\n", stream);
    }
    tg_where_teams_write(stream, threads, verdict->groups, verdict->count);
    if (verdict->kind == TG_WHERE_MOVES)
        fputs("Look again later: if it is still in that function, it may be in an endless loop.\n", stream);
    if (verdict->kind == TG_WHERE_POLLS)
        fputs("Who polls runs, whether or not that ever succeeds: look again later.\n", stream);
    write_uncounted(stream, threads);
}

/* "2 of 4 ranks came back from calls of MPI between the looks: the job goes on." */
static void write_runs(FILE *stream, const struct tg_where_threads *threads)
{
    size_t n = 0;
    const struct tg_process_entry *last = NULL; /* threads of a process are neighbours */
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        bool counts = thread->is_rank && thread->has_returned && thread->process != last;
        n += counts;
        last = counts ? thread->process : last;
    }
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
        if (!tg_where_is_suspended(thread) || n++ >= SHOWN)
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

/* Whether all ranks have been in their calls since the look before. */
static bool have_stayed(const struct tg_where_threads *threads, const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++)
        for (size_t k = 0; k < verdict->groups[i].count; k++)
            if (!threads->threads[verdict->groups[i].threads[k]].stayed)
                return false;
    return true;
}

static bool are_brief(const struct tg_where_threads *threads, const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++)
        for (size_t k = 0; k < verdict->groups[i].count; k++)
            if (!tg_where_is_brief(&threads->threads[verdict->groups[i].threads[k]]))
                return false;
    return true;
}

static void write_different(FILE *stream, const struct tg_where_threads *threads,
                            const struct tg_where_verdict *verdict)
{
    bool stayed = have_stayed(threads, verdict) && are_brief(threads, verdict), are_of_all = true;
    for (size_t i = 0; i < verdict->count; i++)
        are_of_all &= tg_where_group_is_of_all(threads, &verdict->groups[i]);
    if (tg_where_mismatch_write(stream, threads, verdict->groups, verdict->count))
        return;
    if (are_of_all)
        fprintf(stream,
                "Ranks are in different collective calls of MPI_COMM_WORLD%s they wait for each other for "
                "ever.\n",
                stayed ? ":" : ". If nobody comes back from them,");
    else
        fprintf(stream,
                "Ranks are in different collective calls. If these are of one communicator%s, they wait for "
                "each other for ever.\n",
                stayed ? "" : " and nobody comes back from them");
}

/* Whether a thread of a rank is in MPI, of those that are not the first. */
static bool has_other_in_mpi(const struct tg_where_threads *threads)
{
    char call[64];
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->is_rank && !thread->is_first && thread->path.task == TG_THREAD_OF_PROGRAM &&
            *tg_where_call_of(thread, call, sizeof call) != '\0')
            return true;
    }
    return false;
}

static bool is_common(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    return group->is_collective && !tg_where_group_is_of_other(threads, group);
}

/* What is known of those whose partners are not. */
struct unknowns {
    bool *are_led;     /* each thread: waits for a message of such a rank, or of one that does, and so on */
    bool *are_awaited; /* is such a rank, and another one waits for it */
};

/* False: no memory. */
static bool find_unknowns(const struct tg_where_threads *threads, const struct tg_where_verdict *verdict,
                          struct unknowns *unknowns)
{
    size_t partners[TG_WHERE_MAX_NEEDS];
    bool *is_unknown = calloc(threads->count + 1, sizeof *is_unknown);
    unknowns->are_led = calloc(threads->count + 1, sizeof *unknowns->are_led);
    unknowns->are_awaited = calloc(threads->count + 1, sizeof *unknowns->are_awaited);
    struct tg_error *error = is_unknown == NULL || unknowns->are_led == NULL || unknowns->are_awaited == NULL
                                 ? tg_error_no_memory()
                                 : NULL;
    for (size_t i = 0; error == NULL && i < verdict->count; i++)
        for (size_t k = 0; !is_common(threads, &verdict->groups[i]) && k < verdict->groups[i].count; k++) {
            size_t thread = verdict->groups[i].threads[k];
            is_unknown[thread] = tg_where_partners_of(threads, thread, partners) == 0;
        }
    if (error == NULL)
        error = tg_where_ways_find(threads, is_unknown, unknowns->are_led);
    for (size_t i = 0; error == NULL && i < threads->count; i++) {
        unknowns->are_awaited[i] = unknowns->are_led[i] && is_unknown[i];
        unknowns->are_led[i] &= !is_unknown[i];
    }
    bool is_found = error == NULL;
    tg_error_destroy(error);
    free(is_unknown);
    return is_found;
}

static void free_unknowns(struct unknowns *unknowns)
{
    free(unknowns->are_led);
    free(unknowns->are_awaited);
}

/* "The others wait in MPI_Barrier for rank 2; whom that one waits for is not known.": where all but some ranks are in
 * collective calls of all ranks, or wait for messages of these, and these are in calls whose partners are not known, or of other
 * communicators. Of two calls that nobody leaves early one is the wrong one, whomever else there is. Where nobody is in such a
 * call, only whose messages others wait for are meant; where it may be left early, whichever of several. */
static bool write_pending(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_verdict *verdict)
{
    const struct tg_where_group *collective = NULL;
    size_t *members = calloc(threads->count + 1, sizeof *members), n = 0, n_collective = 0, n_led = 0,
           n_late = 0, n_early = 0, n_else = 0;
    struct unknowns unknowns;
    bool is_found = find_unknowns(threads, verdict, &unknowns);
    bool is_told = members != NULL && is_found && have_stayed(threads, verdict);
    char name[80];
    for (size_t i = 0; is_told && i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        bool is_of_many = is_common(threads, group);
        is_told = !group->is_away && (!is_of_many || tg_where_group_is_of_all(threads, group));
        collective = is_of_many ? group : collective;
        n_collective += is_of_many;
        n_late += is_of_many && !group->is_by_request && !tg_mpi_name_ends_early(group->call);
        n_early += is_of_many && (group->is_by_request || tg_mpi_name_ends_early(group->call));
        for (size_t k = 0; !is_of_many && k < group->count; k++)
            n_led += unknowns.are_led[group->threads[k]];
    }
    for (size_t i = 0; is_told && i < verdict->count; i++)
        for (size_t k = 0; !is_common(threads, &verdict->groups[i]) && k < verdict->groups[i].count; k++) {
            size_t thread = verdict->groups[i].threads[k];
            if (n_collective > 0 ? !unknowns.are_led[thread] : unknowns.are_awaited[thread])
                members[n++] = thread;
            else
                n_else += !unknowns.are_led[thread];
        }
    is_told = is_told && (collective != NULL || n_led > 0) && n > 0 && n_late < 2;
    if (is_told) {
        if (n_led == 0 && n_collective == 1 && collective->count == 1)
            fprintf(stream, "Rank %" PRId64 " waits", threads->threads[collective->threads[0]].process->rank);
        else
            fputs(n_else > 0 ? "Some wait" : "The others wait", stream);
        if (n_led == 0 && n_collective == 1)
            fprintf(stream, " in %s", tg_printable(collective->call, name, sizeof name));
        else if (n_led == 0)
            fputs(" in collective calls of all ranks", stream);
        fputs(n_early > 0 && n > 1 ? " for some of " : " for ", stream);
        tg_where_write_members(stream, threads, members, n);
        fputs(n > 1 ? "; whom these wait for is not known of all.\n"
              : tg_where_needs_only_itself(threads, members[0]) ? ", which waits for itself.\n"
                                                                : "; whom that one waits for is not known.\n",
              stream);
    }
    free(members);
    free_unknowns(&unknowns);
    return is_told;
}

static void write_unknown(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_verdict *verdict)
{
    fprintf(stream, "Who waits for whom is unknown: %snot all partners of these calls are known.%s",
            threads->has_two_looks ? "" : "one look does not show what moves, or ",
            threads->is_recorded ? " `tollgate report` judges by the calls that were recorded." : "");
    size_t *members = calloc(threads->count + 1, sizeof *members), n = 0;
    for (size_t i = 0; members != NULL && i < verdict->count; i++)
        for (size_t k = 0; *verdict->groups[i].call == '\0' && k < verdict->groups[i].count; k++)
            members[n++] = verdict->groups[i].threads[k];
    if (n > 0) {
        fputs(" Only ", stream);
        tg_where_write_members(stream, threads, members, n);
        fprintf(stream, " %s outside MPI.", n == 1 ? "is" : "are");
    }
    fputc('\n', stream);
    tg_where_teams_write(stream, threads, verdict->groups, verdict->count);
    free(members);
}

/* Whether it has been said where those are that THREAD waits for in OpenMP. */
static bool is_told(const void *context, const struct tg_where_threads *threads,
                    const struct tg_where_thread *thread)
{
    const struct tg_where_verdict *verdict = context;
    bool tells_teams = names_missing(verdict) || verdict->kind == TG_WHERE_UNKNOWN;
    for (size_t i = 0; tells_teams && i < verdict->count; i++)
        if (*verdict->groups[i].call == '\0' && tg_where_team_is_told(threads, &verdict->groups[i], thread))
            return true;
    return false;
}

static bool has_callback(const struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++)
        if (*verdict->groups[i].place->callback_of != '\0')
            return true;
    return false;
}

bool tg_where_verdict_write(FILE *stream, const struct tg_where_threads *threads,
                            const struct tg_where_verdict *verdict)
{
    bool has_waits = false;
    tg_where_worlds_write_apart(stream, threads);
    bool has_crashes = tg_where_crashes_write(stream, threads);
    if (verdict->kind != TG_WHERE_UNSEEN && verdict->kind != TG_WHERE_RUNS)
        tg_where_worlds_write_missing(stream, threads);
    write_suspended(stream, threads);
    if (verdict->kind == TG_WHERE_DEADLOCK)
        has_waits = tg_where_waits_write(stream, threads, true, is_told, verdict);
    bool has_cycle = (verdict->kind == TG_WHERE_DEADLOCK || verdict->kind == TG_WHERE_CYCLE) &&
                     tg_where_message_cycles(stream, threads) != TG_WHERE_NO_CYCLE;
    if (verdict->kind == TG_WHERE_DEADLOCK && !has_cycle)
        tg_where_circle_write(stream, threads, verdict->groups, verdict->count);
    switch (verdict->kind) {
    case TG_WHERE_MISSING:
    case TG_WHERE_MOVES:
    case TG_WHERE_OUTSIDE:
    case TG_WHERE_POLLS:
        if (names_missing(verdict))
            write_missing(stream, threads, verdict);
        else
            fputs("No rank waits in MPI. Who polls runs, whether or not that ever succeeds: look again "
                  "later.\n",
                  stream);
        break;
    case TG_WHERE_UNSEEN:
        for (size_t i = 0; i < verdict->count; i++)
            if (!verdict->groups[i].is_away)
                tg_where_worlds_write_unseen(stream, threads, &verdict->groups[i]);
        write_uncounted(stream, threads);
        break;
    case TG_WHERE_DIFFERENT:
        write_different(stream, threads, verdict);
        break;
    case TG_WHERE_BUSY:
        fprintf(stream, "No rank%s %s MPI.\n", has_other_in_mpi(threads) ? "'s first thread" : "",
                has_callback(verdict) ? "waits in" : "is in");
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
        if (verdict->count > 0 && !write_pending(stream, threads, verdict) &&
            !tg_where_only_lacking_write(stream, threads, verdict->groups, verdict->count))
            write_unknown(stream, threads, verdict);
        break;
    }
    if (verdict->count > 0)
        write_groups(stream, threads, verdict);
    bool has_team = threads->n_ranks == 0 && !has_waits && tg_where_teams_write_alone(stream, threads);
    if (verdict->kind != TG_WHERE_DEADLOCK)
        has_waits = tg_where_waits_write(stream, threads, !has_team, is_told, verdict) || has_team;
    return verdict->count > 0 || has_waits || has_crashes;
}
