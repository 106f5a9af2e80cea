#include "analyzer/where/messages.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/where/mpi_names.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/base/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- values */

/* Value NAME of the call that THREAD is in; false where it is unknown. */
static bool find_value(const struct tg_where_thread *thread, const char *name, int64_t *value)
{
    for (size_t i = 0; thread->values != NULL && i < thread->values->count; i++)
        if (strcmp(thread->values->items[i].name, name) == 0) {
            *value = thread->values->items[i].value;
            return true;
        }
    return false;
}

/* "MPI_COMM_WORLD", "MPI_COMM_SELF", "" another one; NULL unknown. */
static const char *comm_of(const struct tg_where_thread *thread)
{
    for (size_t i = 0; thread->values != NULL && i < thread->values->count; i++)
        if (strcmp(thread->values->items[i].name, "comm") == 0)
            return thread->values->items[i].text;
    return NULL;
}

bool tg_where_is_in_world(const struct tg_where_thread *thread)
{
    const char *comm = comm_of(thread);
    return comm != NULL && strcmp(comm, "MPI_COMM_WORLD") == 0;
}

bool tg_where_is_in_other(const struct tg_where_thread *thread)
{
    return comm_of(thread) != NULL && !tg_where_is_in_world(thread);
}

bool tg_where_is_brief(const struct tg_where_thread *thread)
{
    enum { BRIEF = 4096 };
    int64_t count;
    char call[80];
    return find_value(thread, "count", &count)
               ? count <= BRIEF
               : tg_mpi_name(thread->path.place.inside, call, sizeof call) && tg_mpi_name_moves_nothing(call);
}

bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    int64_t root_a, root_b;
    if (tg_where_is_in_world(a) && tg_where_is_in_world(b))
        return find_value(a, "root", &root_a) && find_value(b, "root", &root_b) && root_a != root_b;
    return (tg_where_is_in_world(a) && tg_where_is_in_other(b)) ||
           (tg_where_is_in_other(a) && tg_where_is_in_world(b));
}

char *tg_where_call_words(const struct tg_where_thread *thread, char *buffer, size_t size)
{
    char name[80], text[48];
    const char *inside = thread->path.place.inside;
    tg_printable(tg_mpi_name(inside, name, sizeof name) ? name : inside, buffer, size);
    size_t used = strlen(buffer), n = 0;
    for (size_t i = 0; thread->values != NULL && i < thread->values->count && used + 130 < size; i++) {
        const struct tg_where_value *value = &thread->values->items[i];
        bool is_comm = strcmp(value->name, "comm") == 0;
        if (*value->text == '\0')
            continue;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s%s%s", n++ == 0 ? "(" : ", ",
                                 is_comm ? "" : tg_printable(value->name, name, sizeof name),
                                 is_comm ? "" : " ", tg_printable(value->text, text, sizeof text));
    }
    if (n > 0)
        snprintf(buffer + used, size - used, ")");
    return buffer;
}

/* ---- waits of ranks for each other */

static bool is_one_of(const char *call, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(call, names[i]) == 0)
            return true;
    return false;
}

static bool is_receiving(const char *call)
{
    static const char *const names[] = {"MPI_Recv", "MPI_Probe", "MPI_Mprobe"};
    return is_one_of(call, names, sizeof names / sizeof *names);
}

static bool is_sending(const char *call)
{
    static const char *const names[] = {"MPI_Send", "MPI_Ssend"};
    return is_one_of(call, names, sizeof names / sizeof *names);
}

static bool is_exchanging(const char *call)
{
    static const char *const names[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace"};
    return is_one_of(call, names, sizeof names / sizeof *names);
}

/* The first thread of RANK of the job that THREAD is in; threads of ranks come first, by rank. */
static size_t find_rank(const struct tg_where_threads *threads, const struct tg_where_thread *thread,
                        int64_t rank)
{
    size_t i = TG_PARTITION_POINT(threads->count, k,
                                  threads->threads[k].is_rank && threads->threads[k].process->rank < rank);
    for (; i < threads->count && threads->threads[i].is_rank && threads->threads[i].process->rank == rank;
         i++)
        if (threads->threads[i].is_first &&
            strcmp(threads->threads[i].process->job, thread->process->job) == 0)
            return i;
    return SIZE_MAX;
}

size_t tg_where_partner_of(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[80];
    int64_t rank, source;
    if (!thread->is_rank || !thread->is_first || !tg_mpi_name(thread->path.place.inside, call, sizeof call) ||
        !tg_where_is_in_world(thread))
        return SIZE_MAX;
    bool is_known = is_receiving(call)
                        ? find_value(thread, "source", &rank)
                        : (is_sending(call) || is_exchanging(call)) && find_value(thread, "dest", &rank);
    if (is_exchanging(call)) /* of two partners one may have done its part */
        is_known = is_known && find_value(thread, "source", &source) && source == rank;
    return is_known && rank >= 0 ? find_rank(threads, thread, rank) : SIZE_MAX;
}

/* Whether no thread but INDEX, the first one of its rank, can call MPI; threads of a process are neighbours. */
static bool is_alone(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_process_entry *process = threads->threads[index].process;
    size_t start = index;
    while (start > 0 && threads->threads[start - 1].process == process)
        start--;
    for (size_t i = start; i < threads->count && threads->threads[i].process == process; i++)
        if (i != index && threads->threads[i].path.task == TG_THREAD_OF_PROGRAM)
            return false;
    return true;
}

/* Whether the message that FROM sends may be the one that TO receives. */
static bool may_reach(const struct tg_where_thread *from, const struct tg_where_thread *to)
{
    char sender[80], receiver[80];
    int64_t sent, received;
    tg_mpi_name(from->path.place.inside, sender, sizeof sender);
    tg_mpi_name(to->path.place.inside, receiver, sizeof receiver);
    if (!(is_sending(sender) || is_exchanging(sender)) ||
        !(is_receiving(receiver) || is_exchanging(receiver)))
        return false;
    return !find_value(from, "tag", &sent) ||
           !find_value(to, is_exchanging(receiver) ? "recvtag" : "tag", &received) || sent < 0 ||
           received < 0 || sent == received;
}

/* Whether a message between the two may set one of them free: of two that exchange, both messages. */
static bool may_match(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    char call_a[80], call_b[80];
    bool both = tg_mpi_name(a->path.place.inside, call_a, sizeof call_a) && is_exchanging(call_a) &&
                tg_mpi_name(b->path.place.inside, call_b, sizeof call_b) && is_exchanging(call_b);
    return both ? may_reach(a, b) && may_reach(b, a) : may_reach(a, b) || may_reach(b, a);
}

/* Whether no rank can come back from CALL, of THREAD, before all have made it: what others have been told some may leave
 * early. */
static bool needs_all(const struct tg_where_thread *thread, const char *call)
{
    static const char *const names[] = {"MPI_Barrier", "MPI_Comm_split", "MPI_Comm_dup"};
    int64_t count;
    if (strcmp(call, "MPI_Finalize") == 0) /* in which it sends nothing any more */
        return true;
    bool has_data = strcmp(call, "MPI_Allreduce") == 0 && find_value(thread, "count", &count) && count > 0;
    return (has_data || is_one_of(call, names, sizeof names / sizeof *names)) && tg_where_is_in_world(thread);
}

/* Whether INDEX is in a collective call of all ranks that the one at OTHER is not in. */
static bool waits_in_collective(const struct tg_where_threads *threads, size_t index, size_t other)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[80], of_other[80];
    if (!tg_mpi_name(thread->path.place.inside, call, sizeof call) || !needs_all(thread, call))
        return false;
    tg_mpi_name(threads->threads[other].path.place.inside, of_other, sizeof of_other);
    return strcmp(call, of_other) != 0;
}

/* Looks do not stop all ranks at once: two that send to each other all the time may seem to wait in each of them. Who was
 * counted did not; of others something of what their callers hold has changed, unless they are in a loop that leaves no
 * mark there. */
static bool counts(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    bool is_counted = thread->activity != NULL && thread->activity->is_counted;
    bool is_suspended = thread->activity != NULL && thread->activity->is_suspended;
    return threads->has_two_looks && !thread->has_moved && !is_suspended && !thread->moves_data &&
           (is_counted ? thread->stayed : thread->has_same_state) && is_alone(threads, index);
}

/* ---- cycles */

static void write_step(FILE *stream, const struct tg_where_threads *threads, size_t index, size_t next)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[240], text[400];
    fprintf(stream, "  rank %" PRId64 " waits for rank %" PRId64 ": it is in %s, called from %s",
            thread->process->rank, threads->threads[next].process->rank,
            tg_where_call_words(thread, call, sizeof call),
            tg_stack_words_call(&thread->path.place.at, text, sizeof text));
    tg_stack_words_callback(stream, &thread->path.place);
    fputc('\n', stream);
}

/* The rank that the one at AT waits for, and which is where it could not have helped; SIZE_MAX none. */
static size_t next_of(const struct tg_where_threads *threads, size_t at)
{
    size_t partner = counts(threads, at) ? tg_where_partner_of(threads, at) : SIZE_MAX;
    return partner == SIZE_MAX || partner == at || !counts(threads, partner) ||
                   may_match(&threads->threads[at], &threads->threads[partner])
               ? SIZE_MAX
               : partner;
}

/* A rank of the cycle that the way from START leads into; SIZE_MAX none. Each rank is passed once in all: SEEN has where
 * the way began that passed it. */
static size_t find_cycle(const struct tg_where_threads *threads, size_t start, size_t *seen)
{
    for (size_t at = start; at != SIZE_MAX; at = next_of(threads, at)) {
        if (seen[at] != 0)
            return seen[at] == start + 1 ? at : SIZE_MAX;
        seen[at] = start + 1;
        size_t next = next_of(threads, at);
        if (next != SIZE_MAX && waits_in_collective(threads, next, at))
            return at;
    }
    return SIZE_MAX;
}

/* The rank that the one at AT of the cycle from START waits for: in the collective call also for START. */
static size_t step(const struct tg_where_threads *threads, size_t at, size_t start)
{
    size_t next = next_of(threads, at);
    return next == SIZE_MAX ? start : next;
}

static bool have_stayed(const struct tg_where_threads *threads, size_t start)
{
    size_t at = start;
    bool stayed = true;
    do {
        stayed = threads->threads[at].stayed;
        at = step(threads, at, start);
    } while (stayed && at != start);
    return stayed;
}

/* A large message may be on its way for longer than from one look to the next, as others that are sent at the same time. */
static bool has_large(const struct tg_where_threads *threads, size_t start)
{
    char call[80];
    size_t at = start;
    bool is_large = false;
    do {
        int64_t small;
        tg_where_call_of(&threads->threads[at], call, sizeof call);
        is_large |= (is_receiving(call) || is_sending(call) || is_exchanging(call)) &&
                    !find_value(&threads->threads[at], "small", &small);
        at = step(threads, at, start);
    } while (!is_large && at != start);
    return is_large;
}

static bool is_certain(const struct tg_where_threads *threads, size_t start)
{
    return have_stayed(threads, start) && !has_large(threads, start);
}

static void write_cycle(FILE *stream, const struct tg_where_threads *threads, size_t start, bool certain)
{
    enum { SHOWN = 16 };
    size_t at = start, n = 0;
    char why[200];
    bool stayed = have_stayed(threads, start);
    fputs(certain ? "Deadlock: these ranks wait for each other, and none came back from its call between the "
                    "looks:\n"
          : stayed ? "These ranks wait for each other, and none came back from its call between the looks:\n"
                   : "These ranks wait for each other, and nothing on their callers' stacks changed between "
                     "the looks:\n",
          stream);
    do {
        size_t next = step(threads, at, start);
        if (n++ < SHOWN)
            write_step(stream, threads, at, next);
        at = next;
    } while (at != start);
    if (n > SHOWN)
        fprintf(stream, "  ... and %zu more ranks, back to the first one\n", n - SHOWN);
    if (!certain && stayed)
        fputs("That is a deadlock, unless a large message is still on its way.\n", stream);
    else if (!certain)
        fprintf(stream,
                "That is a deadlock, unless they run a loop that leaves no mark on their stacks. Whether "
                "they came back "
                "from these calls meanwhile is unknown%s%s.\n",
                *threads->uncounted != '\0' ? ": " : "", tg_printable(threads->uncounted, why, sizeof why));
}

struct tg_error *tg_where_find_deadlocked(const struct tg_where_threads *threads, size_t **members,
                                          size_t *count)
{
    struct tg_error *error = NULL;
    size_t *seen = calloc(threads->count + 1, sizeof *seen), capacity = 0;
    *members = NULL;
    *count = 0;
    if (seen == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < threads->count; i++) {
        size_t start = threads->threads[i].values != NULL ? find_cycle(threads, i, seen) : SIZE_MAX,
               at = start;
        bool stayed = start != SIZE_MAX && have_stayed(threads, start);
        do {
            if (stayed)
                error = TG_ARRAY_APPEND(*members, *count, capacity, at);
            at = stayed ? step(threads, at, start) : start;
        } while (error == NULL && at != start);
    }
    free(seen);
    return error;
}

enum tg_where_cycle tg_where_message_cycles(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 4 };
    enum tg_where_cycle best = TG_WHERE_NO_CYCLE;
    size_t *seen = calloc(threads->count + 1, sizeof *seen), found = 0;
    for (size_t i = 0; seen != NULL && i < threads->count && found < SHOWN; i++) {
        size_t start = threads->threads[i].values != NULL ? find_cycle(threads, i, seen) : SIZE_MAX;
        if (start == SIZE_MAX)
            continue;
        bool certain = is_certain(threads, start);
        best = certain || best == TG_WHERE_CYCLE_CERTAIN ? TG_WHERE_CYCLE_CERTAIN : TG_WHERE_CYCLE_SEEN;
        found++;
        if (stream != NULL)
            write_cycle(stream, threads, start, certain);
    }
    free(seen);
    return best;
}
