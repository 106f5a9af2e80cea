#include "analyzer/where/calls.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/where/mpi_names.h"
#include "format/base/printable.h"
#include "format/base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tg_where_find_value(const struct tg_where_thread *thread, const char *name, int64_t *value)
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

static bool is_in(const struct tg_where_thread *thread, const char *name)
{
    const char *comm = comm_of(thread);
    return comm != NULL && strcmp(comm, name) == 0;
}

static bool has_members(const struct tg_where_thread *thread)
{
    return thread->comm != NULL && thread->comm->ranks != NULL;
}

bool tg_where_waits_for_collective(const struct tg_where_thread *thread)
{
    const struct tg_look_requests *requests = thread->requests;
    return requests != NULL && requests->n_collective > 0 && requests->n_collective == requests->n_pending &&
           (requests->needs_all || requests->n_pending == 1);
}

bool tg_where_is_in_world(const struct tg_where_thread *thread)
{
    return is_in(thread, "MPI_COMM_WORLD") ||
           (tg_where_waits_for_collective(thread) && thread->requests->is_of_world);
}

static bool is_in_self(const struct tg_where_thread *thread)
{
    return is_in(thread, "MPI_COMM_SELF");
}

bool tg_where_is_in_other(const struct tg_where_thread *thread)
{
    bool is_known = comm_of(thread) != NULL || (tg_where_waits_for_collective(thread) && has_members(thread));
    return is_known && !tg_where_is_in_world(thread);
}

/* ---- members */

/* Whether the call of THREAD is one of all ranks of its job. */
static bool is_of_job(const struct tg_where_thread *thread)
{
    char call[80];
    return tg_where_is_in_world(thread) ||
           (tg_mpi_name(thread->path.place.inside, call, sizeof call) &&
            (strcmp(call, "MPI_Init") == 0 || strcmp(call, "MPI_Init_thread") == 0 ||
             strcmp(call, "MPI_Finalize") == 0));
}

static bool are_of_one_job(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    return strcmp(a->process->job, b->process->job) == 0;
}

static bool is_listed(const struct tg_where_comm *comm, int64_t rank)
{
    size_t i = TG_PARTITION_POINT((size_t)comm->size, k, comm->ranks[k] < rank);
    return i < (size_t)comm->size && comm->ranks[i] == rank;
}

enum tg_where_membership tg_where_membership(const struct tg_where_thread *thread,
                                             const struct tg_where_thread *other)
{
    bool is_member;
    if (is_of_job(thread))
        is_member = are_of_one_job(thread, other);
    else if (is_in_self(thread))
        is_member = thread->process == other->process;
    else if (has_members(thread))
        is_member = are_of_one_job(thread, other) && is_listed(thread->comm, other->process->rank);
    else
        return TG_WHERE_MAY_BE_MEMBER;
    if (is_member && (thread->is_ambiguous || other->is_ambiguous))
        return TG_WHERE_MAY_BE_MEMBER;
    return is_member ? TG_WHERE_IS_MEMBER : TG_WHERE_IS_NO_MEMBER;
}

bool tg_where_find_rank(const struct tg_where_thread *thread, int64_t rank, int64_t *of_job)
{
    if (tg_where_is_in_world(thread) || is_in_self(thread)) {
        *of_job = is_in_self(thread) ? thread->process->rank : rank;
        return true;
    }
    if (!has_members(thread) || rank < 0 ||
        rank >= (thread->comm->n_remote > 0 ? thread->comm->n_remote : thread->comm->size))
        return false;
    *of_job = thread->comm->ranks[thread->comm->size + rank];
    return true;
}

bool tg_where_has_member(const struct tg_where_thread *thread, int64_t rank)
{
    if (is_of_job(thread))
        return true;
    return !is_in_self(thread) && has_members(thread) && is_listed(thread->comm, rank);
}

int64_t tg_where_count_members(const struct tg_where_thread *thread)
{
    const struct tg_process_entry *entry = thread->process;
    if (is_of_job(thread)) /* as far as MPI and its launcher agree */
        return entry->world_size == 0 || entry->world_size == entry->size ? entry->size : 0;
    return is_in_self(thread) ? 1 : has_members(thread) ? thread->comm->size : 0;
}

bool tg_where_knows_members(const struct tg_where_thread *thread)
{
    return is_of_job(thread) || is_in_self(thread) || has_members(thread);
}

bool tg_where_have_same_members(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    if (!are_of_one_job(a, b))
        return false;
    if (is_of_job(a) && is_of_job(b))
        return true;
    return has_members(a) && has_members(b) && a->comm->size == b->comm->size &&
           (a->comm->n_remote > 0) == (b->comm->n_remote > 0) &&
           memcmp(a->comm->ranks, b->comm->ranks, (size_t)a->comm->size * sizeof *a->comm->ranks) == 0;
}

bool tg_where_is_other_comm(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    if (is_of_job(a) && is_of_job(b))
        return !are_of_one_job(a, b);
    if ((is_of_job(a) && tg_where_is_in_other(b)) || (tg_where_is_in_other(a) && is_of_job(b)))
        return true;
    bool have_numbers = a->comm != NULL && b->comm != NULL && a->comm->number != 0 && b->comm->number != 0;
    return has_members(a) && has_members(b) &&
           (!tg_where_have_same_members(a, b) || (have_numbers && a->comm->number != b->comm->number));
}

bool tg_where_are_of_one_comm(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    if (!are_of_one_job(a, b) || a->is_ambiguous || b->is_ambiguous)
        return false;
    return (tg_where_is_in_world(a) && tg_where_is_in_world(b)) ||
           (tg_where_have_same_members(a, b) && a->comm != NULL && b->comm != NULL && a->comm->number != 0 &&
            a->comm->number == b->comm->number);
}

bool tg_where_is_brief(const struct tg_where_thread *thread)
{
    enum { BRIEF = 4096 };
    int64_t count;
    char call[80];
    return tg_where_find_value(thread, "count", &count)
               ? count <= BRIEF
               : tg_mpi_name(thread->path.place.inside, call, sizeof call) && tg_mpi_name_moves_nothing(call);
}

bool tg_where_needs_all(const struct tg_where_thread *thread)
{
    int64_t count;
    char call[80];
    if (!tg_mpi_name(thread->path.place.inside, call, sizeof call))
        return false;
    return tg_mpi_name_needs_all(call) || (tg_mpi_name_exchanges_with_all(call) &&
                                           tg_where_find_value(thread, "count", &count) && count > 0);
}

bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    int64_t root_a, root_b;
    if (tg_where_is_other_comm(a, b))
        return true;
    return tg_where_are_of_one_comm(a, b) && tg_where_find_value(a, "root", &root_a) &&
           tg_where_find_value(b, "root", &root_b) && root_a != root_b;
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

static bool is_of_window(const struct tg_where_thread *thread)
{
    char call[80];
    return tg_mpi_name(thread->path.place.inside, call, sizeof call) && strcmp(call, "MPI_Win_fence") == 0;
}

bool tg_where_write_comm(FILE *stream, const struct tg_where_thread *thread)
{
    enum { LISTED = 64 };
    char text[200];
    int64_t ranks[LISTED];
    if (!tg_where_is_in_other(thread) || is_in_self(thread) || !has_members(thread) ||
        thread->comm->size > LISTED)
        return false;
    for (int64_t i = 0; i < thread->comm->size; i++)
        ranks[i] = thread->comm->ranks[i];
    fprintf(stream, " of %s of rank%s %s",
            is_of_window(thread)         ? "a window"
            : thread->comm->n_remote > 0 ? "an intercommunicator"
                                         : "a communicator",
            thread->comm->size == 1 ? "" : "s",
            tg_rank_ranges_print(ranks, (size_t)thread->comm->size, text, sizeof text));
    return true;
}

/* ---- requests */

static void write_rank(FILE *stream, int64_t rank)
{
    if (rank < 0)
        fputs("any rank", stream);
    else
        fprintf(stream, "rank %" PRId64, rank);
}

/* "receive from rank 3, tag 5", "a send" of which no more is known, "send to rank 3 (rank 1 of its communicator), tag 0", "send to
 * rank 1 of another communicator"; of one that is not known, "rank 1 of its communicator". */
static void write_message(FILE *stream, const struct tg_look_message *message)
{
    enum { ANY = -1 };
    int32_t peer = message->peer, rank = message->is_world ? peer : message->rank;
    if (peer < ANY) {
        fputs(message->sends ? "a send" : "a receive", stream);
        return;
    }
    fputs(message->sends ? "send to " : "receive from ", stream);
    write_rank(stream, peer >= 0 && rank >= 0 ? rank : peer);
    if (peer >= 0 && rank >= 0 && (message->is_other || rank != peer))
        fprintf(stream, " (rank %" PRId32 " of its communicator)", peer);
    else if (message->is_other)
        fputs(" of another communicator", stream);
    else if (peer >= 0 && rank < 0)
        fputs(" of its communicator", stream);
    if (message->tag < 0)
        fputs(", any tag", stream);
    else
        fprintf(stream, ", tag %" PRId32, message->tag);
}

/* "a collective call of MPI_COMM_WORLD", "2 collective calls of a communicator of ranks 0-2". */
static void write_collective(FILE *stream, const struct tg_where_thread *thread)
{
    uint64_t count = thread->requests->n_collective;
    if (count == 1)
        fputs("a collective call", stream);
    else
        fprintf(stream, "%" PRIu64 " collective calls", count);
    if (thread->requests->is_of_world)
        fputs(" of MPI_COMM_WORLD", stream);
    else
        tg_where_write_comm(stream, thread);
}

bool tg_where_has_pending(const struct tg_where_thread *thread)
{
    return thread->requests != NULL && thread->requests->n_pending > 0;
}

bool tg_where_write_requests(FILE *stream, const char *indent, const struct tg_where_thread *thread)
{
    enum { SHOWN = 6 };
    const struct tg_look_requests *requests = thread->requests;
    if (!tg_where_has_pending(thread))
        return false;
    bool is_one = requests->n_pending == 1;
    fprintf(stream, "%s%" PRIu64 " of %" PRIu64 " request%s of rank %" PRId64 " %s not complete", indent,
            requests->n_pending, requests->count, requests->count == 1 ? "" : "s", thread->process->rank,
            is_one ? "is" : "are");
    for (size_t i = 0; i < requests->n_messages && i < SHOWN; i++) {
        fputs(i == 0 ? ": " : "; ", stream);
        write_message(stream, &requests->messages[i]);
    }
    uint64_t n_known = requests->n_messages + requests->n_collective;
    bool is_cut = n_known > 0 && (requests->n_pending > n_known || requests->n_messages > SHOWN);
    if (requests->n_collective > 0) {
        fputs(requests->n_messages == 0 ? ": " : "; ", stream);
        write_collective(stream, thread);
    }
    fputs(is_cut ? "; ...\n" : "\n", stream);
    return true;
}
