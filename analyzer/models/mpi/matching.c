/* Matching of messages under way with receives that were posted. Sends and receives are sorted by where they
 * meet (job, communicator, receiver); within that MPI's order counts. What cannot be told counts as a match:
 * who asks wants to know what has none. */
#include "analyzer/models/mpi/matching.h"

#include "format/base/array.h"

#include <stdlib.h>

enum { MAX_STEPS = 1 << 24 }; /* comparisons; beyond, all may match */

/* A range of halves that meet at one place. */
struct range {
    struct tg_mpi_half *items;
    size_t count;
};

static int compare_places(const struct tg_mpi_message *x, const struct tg_mpi_message *y)
{
    if (x->job != y->job)
        return (uintptr_t)x->job < (uintptr_t)y->job ? -1 : 1;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->destination > y->destination) - (x->destination < y->destination);
}

static int compare_halves(const void *a, const void *b)
{
    const struct tg_mpi_message *x = &((const struct tg_mpi_half *)a)->message,
                                *y = &((const struct tg_mpi_half *)b)->message;
    int order = compare_places(x, y);
    if (order != 0)
        return order;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static struct range range_of(struct tg_mpi_half *items, size_t count, size_t at)
{
    size_t end = at + 1;
    while (end < count && compare_places(&items[at].message, &items[end].message) == 0)
        end++;
    return (struct range){items + at, end - at};
}

static bool is_specific(const struct tg_mpi_message *receive)
{
    return receive->source >= 0 && receive->tag >= 0;
}

static bool is_probe(const struct tg_mpi_message *receive)
{
    return tg_mpi_call_role(receive->name, NULL, NULL) == TG_MPI_PROBE;
}

static bool fits(const struct tg_mpi_message *receive, const struct tg_mpi_message *sent)
{
    return (receive->source < 0 || sent->source < 0 || receive->source == sent->source) &&
           (receive->tag < 0 || receive->tag == sent->tag);
}

/* Pairs of receives that name what they want, each with the first message that is not taken. TAKEN_NS: by
 * message, when the receive that takes it was posted, 0 none. */
static void pair_specific(const struct range *sends, const struct range *receives, uint64_t *taken_ns,
                          size_t *steps)
{
    for (size_t r = 0; r < receives->count; r++) {
        struct tg_mpi_half *receive = &receives->items[r];
        if (!is_specific(&receive->message) || is_probe(&receive->message))
            continue;
        for (size_t s = 0; s < sends->count && !receive->may_match && ++*steps < MAX_STEPS; s++)
            if (taken_ns[s] == 0 && fits(&receive->message, &sends->items[s].message)) {
                receive->may_match = sends->items[s].may_match = true;
                taken_ns[s] = receive->message.since_ns | 1;
            }
    }
}

/* Others may get whatever no receive before them surely takes. */
static void pair_others(const struct range *sends, const struct range *receives, const uint64_t *taken_ns,
                        size_t *steps)
{
    for (size_t r = 0; r < receives->count; r++) {
        struct tg_mpi_half *receive = &receives->items[r];
        bool probes = is_probe(&receive->message);
        if (is_specific(&receive->message) && !probes)
            continue;
        for (size_t s = 0; s < sends->count && ++*steps < MAX_STEPS; s++) {
            bool is_gone = taken_ns[s] != 0 && taken_ns[s] < (receive->message.since_ns | 1);
            if (is_gone || !fits(&receive->message, &sends->items[s].message))
                continue;
            receive->may_match = true;
            sends->items[s].may_match |= !probes;
        }
    }
}

static struct tg_error *match(struct tg_mpi_matching *matching)
{
    uint64_t *taken_ns = calloc(matching->n_sends + 1, sizeof *taken_ns);
    size_t steps = 0, s = 0;
    if (taken_ns == NULL)
        return tg_error_no_memory();
    for (size_t r = 0; r < matching->n_receives;) {
        const struct range receives = range_of(matching->receives, matching->n_receives, r);
        const struct tg_mpi_message *place = &receives.items[0].message;
        while (s < matching->n_sends && compare_places(&matching->sends[s].message, place) < 0)
            s++;
        if (s < matching->n_sends && compare_places(&matching->sends[s].message, place) == 0) {
            const struct range sends = range_of(matching->sends, matching->n_sends, s);
            pair_specific(&sends, &receives, taken_ns + s, &steps);
            pair_others(&sends, &receives, taken_ns + s, &steps);
        }
        r += receives.count;
    }
    for (size_t i = 0; i < matching->n_sends; i++)
        matching->sends[i].may_match |= steps >= MAX_STEPS || matching->sends[i].message.comm == 0;
    for (size_t i = 0; i < matching->n_receives; i++) {
        const struct tg_mpi_message *receive = &matching->receives[i].message;
        matching->receives[i].may_match |=
            steps >= MAX_STEPS || receive->comm == 0 || receive->destination < 0 || receive->source < -1;
    }
    free(taken_ns);
    return NULL;
}

static struct tg_error *add_send(void *context, const struct tg_mpi_message *message)
{
    struct tg_mpi_matching *matching = context;
    const struct tg_mpi_half half = {.message = *message};
    return TG_ARRAY_APPEND(matching->sends, matching->n_sends, matching->send_capacity, half);
}

static struct tg_error *add_receive(void *context, const struct tg_mpi_message *message)
{
    struct tg_mpi_matching *matching = context;
    const struct tg_mpi_half half = {.message = *message};
    return TG_ARRAY_APPEND(matching->receives, matching->n_receives, matching->receive_capacity, half);
}

struct tg_error *tg_mpi_matching_make(const struct tg_mpi_model *model, struct tg_mpi_matching *matching)
{
    struct tg_mpi_matching made = {0};
    struct tg_error *error = tg_mpi_model_visit_sends(model, add_send, &made);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(model, add_receive, &made);
    if (error == NULL)
        error = tg_mpi_model_visit_probes(model, add_receive, &made);
    if (error == NULL && made.n_sends > 0)
        qsort(made.sends, made.n_sends, sizeof *made.sends, compare_halves);
    if (error == NULL && made.n_receives > 0)
        qsort(made.receives, made.n_receives, sizeof *made.receives, compare_halves);
    if (error == NULL)
        error = match(&made);
    if (error != NULL) {
        tg_mpi_matching_deinit(&made);
        return error;
    }
    *matching = made;
    return NULL;
}

void tg_mpi_matching_deinit(struct tg_mpi_matching *matching)
{
    free(matching->sends);
    free(matching->receives);
    *matching = (struct tg_mpi_matching){0};
}
