#include "analyzer/models/openmp/iterations.h"

/* Negative, 0, positive: A comes before, is, or comes behind B. */
static int compare(const struct tg_openmp_indices *a, const struct tg_openmp_indices *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

static bool is_same(const struct tg_openmp_indices *a, const struct tg_openmp_indices *b)
{
    return a->count > 0 && a->count == b->count && compare(a, b) == 0;
}

/* The thread is through with its chunk. */
static void end_chunk(struct tg_openmp_iterations *iterations)
{
    const struct tg_openmp_chunk *chunk = &iterations->chunk;
    bool is_short =
        iterations->is_given && chunk->stride == 0 && iterations->n_posts <= chunk->last - chunk->first;
    if (is_short)
        iterations->unposted[iterations->n_unposted++ % TG_OPENMP_MAX_UNPOSTED] = *chunk;
    iterations->n_posts = 0;
}

void tg_openmp_iterations_begin_loop(struct tg_openmp_iterations *iterations, uint64_t team, uint64_t loop)
{
    iterations->team = team;
    iterations->loop = loop;
    iterations->is_given = iterations->is_over = false;
    iterations->chunk = (struct tg_openmp_chunk){0};
    iterations->n_posts = iterations->source_code = 0;
    iterations->sink_is_posted = false;
    iterations->sink.count = iterations->source.count = iterations->widest.count = iterations->n_unposted =
        0; /* of lists that stay as they are */
}

void tg_openmp_iterations_end_loop(struct tg_openmp_iterations *iterations)
{
    if (iterations->is_over)
        return;
    end_chunk(iterations);
    iterations->is_over = true;
}

void tg_openmp_iterations_give(struct tg_openmp_iterations *iterations,
                               const struct tg_event_omp_chunk *event)
{
    if (event->last < event->first || iterations->team != event->team)
        return;
    end_chunk(iterations);
    iterations->is_given = true;
    iterations->chunk = (struct tg_openmp_chunk){event->first, event->last, event->stride};
}

static void widen(struct tg_openmp_indices *widest, const struct tg_openmp_indices *indices)
{
    for (size_t i = 0; i < indices->count; i++)
        if (i >= widest->count || indices->at[i] > widest->at[i])
            widest->at[i] = indices->at[i];
    widest->count = indices->count;
}

void tg_openmp_iterations_take(struct tg_openmp_iterations *iterations,
                               const struct tg_event_omp_iteration *event)
{
    const struct tg_omp_index *given = event->indices.items;
    struct tg_openmp_indices indices = {.count = event->indices.count < TG_OPENMP_MAX_INDICES
                                                     ? (size_t)event->indices.count
                                                     : TG_OPENMP_MAX_INDICES};
    if (iterations->team != event->team)
        return;
    for (size_t i = 0; i < indices.count; i++)
        indices.at[i] = given[i].index;
    if (event->what == TG_OMP_ITERATION_SINK) {
        iterations->sink = indices;
        iterations->sink_is_posted = false;
        return;
    }
    iterations->source = indices;
    widen(&iterations->widest, &indices);
    iterations->source_code = event->code;
    iterations->n_posts++;
}

void tg_openmp_iterations_hear(struct tg_openmp_iterations *iterations,
                               const struct tg_openmp_iterations *poster)
{
    if (iterations->team == poster->team && iterations->loop == poster->loop &&
        is_same(&iterations->sink, &poster->source))
        iterations->sink_is_posted = true;
}

/* Whether iteration AT of the outermost loop is one of CHUNK, or of those behind it. */
static bool holds(const struct tg_openmp_chunk *chunk, uint64_t at)
{
    if (at < chunk->first)
        return false;
    uint64_t offset = at - chunk->first;
    return (chunk->stride != 0 ? offset % chunk->stride : offset) <= chunk->last - chunk->first;
}

bool tg_openmp_iterations_is_none(const struct tg_openmp_indices *wanted)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->at[i] < 0)
            return true;
    return false;
}

bool tg_openmp_iterations_are_as_wide(const struct tg_openmp_iterations *iterations,
                                      const struct tg_openmp_indices *wanted)
{
    for (size_t i = 1; i < wanted->count; i++)
        if (i >= iterations->widest.count || iterations->widest.at[i] < wanted->at[i])
            return false;
    return true;
}

enum tg_openmp_iteration_state tg_openmp_iterations_state(const struct tg_openmp_iterations *iterations,
                                                          bool is_waiting,
                                                          const struct tg_openmp_indices *wanted)
{
    if (wanted->count == 0 || tg_openmp_iterations_is_none(wanted))
        return TG_OPENMP_ITERATION_OTHERS;
    uint64_t at = (uint64_t)wanted->at[0];
    size_t kept =
        iterations->n_unposted < TG_OPENMP_MAX_UNPOSTED ? iterations->n_unposted : TG_OPENMP_MAX_UNPOSTED;
    for (size_t i = 0; i < kept; i++)
        if (holds(&iterations->unposted[i], at))
            return TG_OPENMP_ITERATION_SKIPPED;
    if (!iterations->is_given || !holds(&iterations->chunk, at))
        return TG_OPENMP_ITERATION_OTHERS;
    /* of one loop, a chunk that is not among the unposted ones has as many depend(source) as iterations */
    bool is_complete = iterations->is_over && iterations->chunk.stride == 0 && wanted->count == 1;
    if (is_complete || is_same(&iterations->source, wanted))
        return TG_OPENMP_ITERATION_POSTED;
    /* a thread executes its iterations in their order, and waits for earlier ones */
    bool is_behind = (iterations->source.count > 0 && compare(&iterations->source, wanted) > 0) ||
                     (is_waiting && iterations->sink.count > 0 && compare(&iterations->sink, wanted) >= 0);
    if (iterations->is_over || is_behind)
        return TG_OPENMP_ITERATION_SKIPPED;
    return TG_OPENMP_ITERATION_OPEN;
}
