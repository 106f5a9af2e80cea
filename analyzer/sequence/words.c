#include "analyzer/sequence/words.h"

#include "analyzer/models/mpi/model.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "format/event/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_SIZE = 260 };

/* The lifeline that NODE is about, or its first one. */
static uint32_t lane_of(const struct tg_sequence_node *node)
{
    if (node->from != TG_SEQUENCE_NO_LANE)
        return node->from;
    return node->n_parts > 0 ? node->parts[0].lane : 0;
}

/* " main (par.py:16)" in BUFFER: where NODE is a call that has not come back, and a library without lines made it. */
static bool print_line_behind(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                              char *buffer)
{
    const struct tg_code_namer *namer = words->namer;
    uint32_t lane = lane_of(node);
    bool is_call = node->is_open || (node->kind == TG_SEQUENCE_HERE && node->what == TG_SEQUENCE_IN_CALL);
    return is_call && namer != NULL && namer->line_behind != NULL && lane < words->sequence->n_lanes &&
           namer->line_behind(namer->context, words->sequence->lanes[lane].process, node->code,
                              node->begin_ns, buffer + 1, PLACE_SIZE - 1) != NULL;
}

/* " solve (solver.c:120)" or " 0x401234"; "" where nothing is known. */
static const char *full_place(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                              char *buffer)
{
    uint32_t lane = lane_of(node);
    if (node->code == 0)
        return "";
    /* Names are of what precedes a return address; a task's body is where it begins. */
    bool is_begin = node->kind == TG_SEQUENCE_TASK && node->code == node->body;
    buffer[0] = ' ';
    if (print_line_behind(words, node, buffer))
        return buffer;
    if (words->namer != NULL && lane < words->sequence->n_lanes)
        words->namer->name(words->namer->context, words->sequence->lanes[lane].process, node->code + is_begin,
                           buffer + 1, PLACE_SIZE - 1);
    else
        buffer[1] = '\0';
    if (buffer[1] == '\0' || strncmp(buffer + 1, "0x", 2) == 0)
        snprintf(buffer + 1, PLACE_SIZE - 1, "0x%" PRIx64, node->code);
    /* A bare address means something in one process only. */
    return node->is_across && strncmp(buffer, " 0x", 3) == 0 ? "" : buffer;
}

/* In a drawing the source line is enough: " solver.c:120". */
static const char *place_text(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                              char *buffer)
{
    const char *place = full_place(words, node, buffer);
    const char *open = strrchr(place, '(');
    size_t length = strlen(place);
    if (open == NULL || length == 0 || place[length - 1] != ')' || strrchr(open, ':') == NULL)
        return place;
    size_t kept = length - (size_t)(open - place) - 2;
    memmove(buffer + 1, open + 1, kept);
    buffer[kept + 1] = '\0';
    return buffer;
}

static const char *times_text(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    char least[TG_QUANTITY_SIZE], most[TG_QUANTITY_SIZE];
    if (node->most <= 1)
        return "";
    if (node->least == node->most)
        snprintf(buffer, size, " \u00d7%s", tg_quantity_count(node->most, most));
    else
        snprintf(buffer, size, " \u00d7%s\u2013%s", tg_quantity_count(node->least, least),
                 tg_quantity_count(node->most, most));
    return buffer;
}

/* "critical section update", "lock queue @0x5500", "critical" */
static void mutex_name(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                       char *buffer, size_t size)
{
    char variable[160];
    bool has_id = node->id != 0 && node->what != TG_OMP_MUTEX_ORDERED;
    bool is_known =
        has_id && words->namer != NULL && words->namer->variable != NULL &&
        lane_of(node) < words->sequence->n_lanes &&
        words->namer->variable(words->namer->context, words->sequence->lanes[lane_of(node)].process, node->id,
                               variable, sizeof variable) != NULL;
    if (is_known)
        tg_openmp_words_lock(node->what, 0, variable, buffer, size);
    else if (has_id)
        snprintf(buffer, size, "%s @0x%" PRIx64, tg_openmp_words_mutex(node->what)->label, node->id);
    else
        snprintf(buffer, size, "%s", tg_openmp_words_mutex(node->what)->label);
}

static void fragment_name(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                          char *buffer, size_t size)
{
    char name[96];
    switch (node->kind) {
    case TG_SEQUENCE_REGION:
        snprintf(buffer, size, "parallel");
        break;
    case TG_SEQUENCE_PHASE:
    case TG_SEQUENCE_GROUP:
        snprintf(buffer, size, "repeat");
        break;
    case TG_SEQUENCE_ZONE:
        snprintf(buffer, size, "%s",
                 tg_openmp_words_zone(node->what, node->is_inferred ? TG_OMP_INFERRED : 0)->label);
        break;
    case TG_SEQUENCE_SECTION:
        snprintf(buffer, size, "section %" PRIu64, node->id);
        break;
    case TG_SEQUENCE_MUTEX:
        mutex_name(words, node, buffer, size);
        break;
    case TG_SEQUENCE_SYNC:
        snprintf(buffer, size, "%s", tg_openmp_words_sync(node->what)->label);
        break;
    case TG_SEQUENCE_TASK:
        snprintf(buffer, size, "task");
        break;
    case TG_SEQUENCE_CALL:
        if (node->is_across && node->id > 1)
            snprintf(buffer, size, "%s on communicator %" PRIx64, tg_printable(node->name, name, sizeof name),
                     node->id);
        else
            snprintf(buffer, size, "%s", tg_printable(node->name, name, sizeof name));
        break;
    case TG_SEQUENCE_MESSAGE:
    case TG_SEQUENCE_HERE:
    case TG_SEQUENCE_ELIDED:
        snprintf(buffer, size, "?");
        break;
    }
}

/* "fib.c:7: 88 tasks, 2 workers, 1.2 ms" */
static void task_sum(const struct tg_sequence_words *words, const struct tg_sequence_node *node, char *buffer)
{
    char place[PLACE_SIZE], count[TG_QUANTITY_SIZE], length[TG_QUANTITY_SIZE];
    const char *where = place_text(words, node, place);
    snprintf(
        buffer, TG_SEQUENCE_LABEL_SIZE, "%s%s%s%s task%s, %zu worker%s, %s", *where == '\0' ? "" : where + 1,
        *where == '\0' ? "" : ": ", node->is_at_least ? "at least " : "",
        tg_quantity_count(node->tasks, count), node->tasks == 1 ? "" : "s", node->n_parts,
        node->n_parts == 1 ? "" : "s",
        tg_quantity_duration(node->until_ns > node->begin_ns ? node->until_ns - node->begin_ns : 0, length));
}

void tg_sequence_words_title(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                             char *buffer)
{
    char name[160], place[PLACE_SIZE], times[2 * TG_QUANTITY_SIZE + 8];
    if (node->is_sum) {
        task_sum(words, node, buffer);
        return;
    }
    fragment_name(words, node, name, sizeof name);
    char size[32] = "";
    if (node->kind == TG_SEQUENCE_REGION && node->size > 0)
        snprintf(size, sizeof size, ", %" PRIu64 " worker%s", node->size, node->size == 1 ? "" : "s");
    bool has_place = node->kind != TG_SEQUENCE_PHASE && node->kind != TG_SEQUENCE_GROUP;
    snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s%s%s%s%s%s%s", name,
             has_place ? place_text(words, node, place) : "", size, node->begun_above ? ", begun above" : "",
             node->is_inferred ? " (inferred)" : "", node->is_cancelled && has_place ? ", cancelled" : "",
             times_text(node, times, sizeof times));
}

/* " to 7 and from 5, tag 1": the halves of a call like MPI_Sendrecv, as far as they are known, and are with a rank. */
static void exchange_text(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    bool sends = node->peer >= 0, receives = node->receives && node->source >= -1;
    char to[96] = "", to_tag[40] = "", from[96] = "", from_tag[40] = "";
    const char *group = node->is_inter ? " of the other group" : "";
    if (sends)
        snprintf(to, sizeof to, " to %" PRId64 "%s", node->peer, group);
    if (sends && node->tag >= 0 && (!receives || node->tag != node->source_tag))
        snprintf(to_tag, sizeof to_tag, ", tag %" PRId64, node->tag);
    if (receives && node->source == -1)
        snprintf(from, sizeof from, "%s from any rank", sends ? " and" : "");
    else if (receives)
        snprintf(from, sizeof from, "%s from %" PRId64 "%s", sends ? " and" : "", node->source, group);
    if (receives && node->source_tag >= 0)
        snprintf(from_tag, sizeof from_tag, ", tag %" PRId64, node->source_tag);
    snprintf(buffer, size, "%s%s%s%s", to, to_tag, from, from_tag);
}

static void call_text(const struct tg_sequence_node *node, char *buffer, size_t size)
{
    char name[96], peer[72] = "", tag[40] = "", exchange[288];
    enum tg_mpi_role role = tg_mpi_call_role(node->name, NULL, NULL);
    if (role == TG_MPI_SEND_RECEIVE) {
        exchange_text(node, exchange, sizeof exchange);
        snprintf(buffer, size, "%s%.95s", tg_printable(node->name, name, sizeof name), exchange);
        return;
    }
    const char *way = role == TG_MPI_SEND                              ? "to"
                      : role == TG_MPI_RECEIVE || role == TG_MPI_PROBE ? "from"
                                                                       : "with";
    if (node->peer >= 0)
        snprintf(peer, sizeof peer, " %s %" PRId64 "%s", way, node->peer,
                 node->is_inter ? " of the other group" : "");
    else if (node->peer == -1)
        snprintf(peer, sizeof peer, " %s any rank", way);
    if (node->tag >= 0)
        snprintf(tag, sizeof tag, ", tag %" PRId64, node->tag);
    snprintf(buffer, size, "%s%s%s", tg_printable(node->name, name, sizeof name), peer, tag);
}

/* ", for 2.9 s" where it is worth saying. */
static const char *since_text(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                              char *buffer)
{
    enum { LONG_NS = 1000000 };
    char length[TG_QUANTITY_SIZE];
    uint64_t last_ns = words->sequence->last_ns;
    if (node->begin_ns == 0 || last_ns < node->begin_ns + LONG_NS)
        return "";
    snprintf(buffer, TG_QUANTITY_SIZE + 8, ", for %s",
             tg_quantity_duration(last_ns - node->begin_ns, length));
    return buffer;
}

void tg_sequence_words_here(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                            char *buffer)
{
    char call[192], place[PLACE_SIZE], since[TG_QUANTITY_SIZE + 8];
    const char *where = place_text(words, node, place);
    const char *last = node->what == TG_SEQUENCE_OUTSIDE && node->name != NULL ? ", last call " : "";
    if (*last != '\0')
        tg_printable(node->name, call, sizeof call);
    switch ((enum tg_sequence_here)node->what) {
    case TG_SEQUENCE_INSIDE:
        if (node->name != NULL)
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s %s", node->has_died ? "ended" : "is",
                     tg_printable(node->name, call, sizeof call));
        else
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, node->has_died ? "ended here%s" : "is here%s", where);
        break;
    case TG_SEQUENCE_WAITING:
        snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s here%s%s", node->has_died ? "ended waiting" : "waiting",
                 where, since_text(words, node, since));
        break;
    case TG_SEQUENCE_IN_CALL:
        call_text(node, call, sizeof call);
        snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s %s%s%s", node->has_died ? "ended in" : "is in", call,
                 where, since_text(words, node, since));
        break;
    case TG_SEQUENCE_OUTSIDE:
        if (node->was_killed)
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "was outside MPI when it was killed%s%s%s", last,
                     *last == '\0' ? "" : call, where);
        else if (node->has_died)
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "has ended%s%s%s", last, *last == '\0' ? "" : call,
                     where);
        else if (*last == '\0' && *where == '\0')
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "nothing recorded");
        else
            snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "is past %s", *last != '\0' ? call : where + 1);
        break;
    }
}

void tg_sequence_words_barrier(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                               char *buffer)
{
    char name[160], place[PLACE_SIZE], absent[64] = "", of_job[64] = "", job[40];
    const char *known = node->n_parts == 0 ? NULL : words->sequence->lanes[node->parts[0].lane].job;
    if (known != NULL && *known != '\0')
        snprintf(of_job, sizeof of_job, " of job %s", tg_printable(known, job, sizeof job));
    if (node->name != NULL) {
        tg_printable(node->name, name, sizeof name);
        if (node->differs)
            strncat(name, " (others call a different one)", sizeof name - strlen(name) - 1);
    } else if (node->what == TG_OMP_SYNC_BARRIER_JOIN) {
        snprintf(name, sizeof name, "end of the region");
    } else {
        snprintf(name, sizeof name, "%s %" PRIu64, tg_openmp_words_sync(node->what)->label, node->id);
    }
    if (node->is_open && node->absent > 0)
        snprintf(absent, sizeof absent, ", %" PRIu64 " of the team %s not started", node->absent,
                 node->absent == 1 ? "has" : "have");
    snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s%s%s%s%s", name, place_text(words, node, place), of_job,
             node->is_cancelled ? ", cancelled" : "", absent);
}

enum { LONG_WAIT_NS = 10000000 }; /* is said in words */

void tg_sequence_words_message(const struct tg_sequence_node *node, char *buffer)
{
    char times[2 * TG_QUANTITY_SIZE + 8], bytes[TG_QUANTITY_SIZE], tag[40] = "";
    if (node->tag == TG_SEQUENCE_VARIES)
        snprintf(tag, sizeof tag, "several tags, ");
    else if (node->tag >= 0)
        snprintf(tag, sizeof tag, "tag %" PRId64 ", ", node->tag);
    int used = snprintf(buffer, TG_SEQUENCE_LABEL_SIZE, "%s%s B%s", tag,
                        tg_quantity_count(node->bytes, bytes), times_text(node, times, sizeof times));
    for (size_t i = 0; i < node->n_parts && used >= 0 && used < TG_SEQUENCE_LABEL_SIZE; i++)
        if (node->parts[i].waited_ns >= LONG_WAIT_NS)
            used += snprintf(buffer + used, (size_t)(TG_SEQUENCE_LABEL_SIZE - used), ", %s %s%s",
                             node->parts[i].role == TG_SEQUENCE_SENDS ? "sent in" : "waited",
                             node->executions > node->n_parts ? "up to " : "",
                             tg_quantity_duration(node->parts[i].waited_ns, times));
}

/* ---- details, shown for what the mouse points at */

char *tg_sequence_words_detail(const struct tg_sequence_words *words, const struct tg_sequence_node *node)
{
    char text[2 * TG_SEQUENCE_LABEL_SIZE], from[TG_QUANTITY_SIZE], to[TG_QUANTITY_SIZE], a[TG_QUANTITY_SIZE];
    char b[TG_QUANTITY_SIZE], c[TG_QUANTITY_SIZE], place[PLACE_SIZE];
    size_t used = 0;
    text[0] = '\0';
#define ADD(...)                                                                                             \
    do {                                                                                                     \
        if (used < sizeof text)                                                                              \
            used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__);                          \
    } while (0)
    if (node->begin_ns != 0) {
        ADD("%s s", tg_quantity_moment(node->begin_ns, words->start_ns, 6, from));
        if (node->is_open)
            ADD(" to the end");
        else if (node->end_ns > node->begin_ns)
            ADD(" to %s s", tg_quantity_moment(node->end_ns, words->start_ns, 6, to));
    }
    if (node->executions > 1 && node->max_ns > 0)
        ADD("\n%s times: mean %s, longest %s", tg_quantity_count(node->executions, a),
            tg_quantity_duration(node->total_ns / node->executions, b),
            tg_quantity_duration(node->max_ns, c));
    else if (!node->is_open && node->end_ns > node->begin_ns)
        ADD("\n%s", tg_quantity_duration(node->end_ns - node->begin_ns, a));
    const char *where = node->kind == TG_SEQUENCE_ELIDED ? "" : full_place(words, node, place);
    if (*where != '\0')
        ADD("\nat%s", where);
#undef ADD
    return strdup(text[0] == '\n' ? text + 1 : text);
}
