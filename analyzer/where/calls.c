#include "analyzer/where/calls.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/where/mpi_names.h"
#include "format/base/printable.h"

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

bool tg_where_is_in_world(const struct tg_where_thread *thread)
{
    return is_in(thread, "MPI_COMM_WORLD");
}

bool tg_where_is_in_self(const struct tg_where_thread *thread)
{
    return is_in(thread, "MPI_COMM_SELF");
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
    return tg_where_find_value(thread, "count", &count)
               ? count <= BRIEF
               : tg_mpi_name(thread->path.place.inside, call, sizeof call) && tg_mpi_name_moves_nothing(call);
}

bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    int64_t root_a, root_b;
    if (tg_where_is_in_world(a) && tg_where_is_in_world(b))
        return tg_where_find_value(a, "root", &root_a) && tg_where_find_value(b, "root", &root_b) &&
               root_a != root_b;
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
    bool is_cut = requests->n_messages > 0 &&
                  (requests->n_pending > requests->n_messages || requests->n_messages > SHOWN);
    fputs(is_cut ? "; ...\n" : "\n", stream);
    return true;
}
