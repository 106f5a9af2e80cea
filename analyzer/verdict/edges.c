#include "analyzer/verdict/edges.h"

#include "analyzer/finding/words.h"
#include "format/base/array.h"

#include <stdlib.h>

/* Adds EDGE, with what was written to STREAM (closed here) in *TEXT as its reason. */
static struct tg_error *add(struct tg_verdict_draft *draft, struct tg_verdict_edge *edge, FILE *stream,
                            char **text)
{
    struct tg_verdict *result = draft->result;
    struct tg_error *error = fclose(stream) == 0 ? NULL : tg_error_no_memory();
    edge->why = *text;
    if (error == NULL)
        error = TG_ARRAY_APPEND(result->edges, result->n_edges, result->edge_capacity, *edge);
    if (error != NULL)
        free(*text);
    return error;
}

struct tg_error *tg_verdict_draw_mpi(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_waits; i++) {
        const struct tg_verdict_wait *wait = &draft->waits[i];
        size_t ring = draft->ring_of[wait->from], size;
        struct tg_verdict_edge edge = {.from = wait->from,
                                       .to = wait->to,
                                       .since_ns = wait->thread->call.since_ns,
                                       .is_in_ring = ring != SIZE_MAX && draft->ring_of[wait->to] == ring,
                                       .is_choice = wait->is_choice};
        char *text = NULL;
        FILE *stream = open_memstream(&text, &size);
        if (stream == NULL)
            return tg_error_no_memory();
        fputs(wait->thread->call.name, stream);
        error = add(draft, &edge, stream, &text);
    }
    return error;
}

/* What WORKER waits for at the place where it is. */
static void print_place(const struct tg_openmp_search *search, const struct tg_openmp_worker *worker,
                        FILE *stream)
{
    const struct tg_openmp_place *lock = tg_openmp_waits_lock(&search->waits, worker);
    const struct tg_openmp_place *place = tg_openmp_waits_place(worker);
    if (lock != NULL)
        tg_words_lock(stream, search->draft->input, worker->process, lock);
    else if (place != NULL && (place->what == TG_OMP_SYNC_TASKWAIT || place->what == TG_OMP_SYNC_TASKGROUP))
        fputs("tasks", stream);
    else if (place != NULL && place->what == TG_OMP_SYNC_DOACROSS)
        fputs("an iteration", stream);
    else if (place != NULL && place->what == TG_OMP_SYNC_COPYPRIVATE)
        fputs("values of a single", stream);
    else
        fputs("OpenMP barrier", stream);
}

struct tg_error *tg_verdict_draw_openmp(const struct tg_openmp_search *search)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_waits *waits = &search->waits;
    for (size_t i = 0; error == NULL && i < waits->n_waits && i < TG_VERDICT_WAITS; i++) {
        const struct tg_openmp_worker *from = tg_openmp_model_worker_at(waits->model, waits->waits[i].from);
        const struct tg_openmp_worker *to = tg_openmp_model_worker_at(waits->model, waits->waits[i].to);
        const struct tg_openmp_place *place = tg_openmp_waits_place(from);
        struct tg_verdict_edge edge = {.from = from->process,
                                       .from_worker = from->number,
                                       .to = to->process,
                                       .to_worker = to->number,
                                       .from_tid = from->tid,
                                       .to_tid = to->tid,
                                       .since_ns = place != NULL ? place->since_ns : 0,
                                       .is_in_ring =
                                           waits->is_in_ring[from->index] && waits->is_in_ring[to->index]};
        size_t size;
        char *text = NULL;
        FILE *stream = open_memstream(&text, &size);
        if (stream == NULL)
            return tg_error_no_memory();
        print_place(search, from, stream);
        error = add(search->draft, &edge, stream, &text);
    }
    return error;
}
