/* Sequence diagrams by rank: what of OpenMP is shown there. A region is one thing that a rank does; its
 * workers are drawn by worker. */
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/sequence/families.h"

#include <inttypes.h>
#include <stdio.h>

/* Load addresses differ from rank to rank, but by whole pages. */
enum { WITHIN_PAGE = 0xfff };

struct tg_error *sequence_rank_create(struct tg_sequence_builder *builder)
{
    return tg_openmp_model_create(NULL, &builder->openmp);
}

static struct sequence_frame *find_frame(struct sequence_worker *rank, uint64_t team)
{
    for (size_t i = rank->n_frames; i-- > 0;)
        if (rank->frames[i].node != NULL && rank->frames[i].node->kind == TG_SEQUENCE_REGION &&
            rank->frames[i].id == team)
            return &rank->frames[i];
    return NULL;
}

static struct tg_error *begin_region(struct tg_sequence_builder *builder, struct sequence_worker *rank,
                                     const struct tg_event *event)
{
    const struct tg_event_omp_parallel_begin *begin = &event->omp_parallel_begin;
    struct sequence_frame *frame;
    if (begin->level != 0 || rank->n_frames >= TG_OPENMP_MAX_PLACES)
        return NULL;
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_REGION, rank->lane, event->time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->is_across = true;
    node->code = begin->code;
    node->body = begin->body;
    node->id = (begin->code & WITHIN_PAGE) << 12 | (begin->body & WITHIN_PAGE);
    struct tg_error *error = sequence_push(builder, rank, node, &frame);
    if (error == NULL) {
        frame->id = begin->new_team;
        frame->tid = event->tid;
    }
    return error;
}

struct tg_error *sequence_rank_feed(struct tg_sequence_builder *builder, struct sequence_worker *rank,
                                    const struct tg_event *event)
{
    struct sequence_frame *frame;
    rank->last_ns = event->time_ns;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return begin_region(builder, rank, event);
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
        frame = find_frame(rank, event->omp_implicit_begin.team);
        if (frame != NULL)
            frame->node->size = event->omp_implicit_begin.team_size;
        return NULL;
    case TG_EVENT_OMP_PARALLEL_END:
        frame = find_frame(rank, event->omp_parallel_end.ended_team);
        return frame == NULL ? NULL
                             : sequence_close(builder, rank, (size_t)(frame - rank->frames), event->time_ns);
    default:
        return NULL;
    }
}

/* ---- where a rank is */

/* The open teams of one process: the one that holds up, else the first. */
struct search {
    size_t process;
    bool is_found, is_stuck;
    uint64_t size;
    struct tg_openmp_barrier barrier;
};

static struct tg_error *look_at(void *context, const struct tg_openmp_team *team)
{
    struct search *search = context;
    struct tg_openmp_barrier barrier;
    if (team->process != search->process)
        return NULL;
    bool is_stuck = tg_openmp_barrier_of(team, &barrier) && barrier.missing > 0;
    if (search->is_found && (search->is_stuck || !is_stuck))
        return NULL;
    search->is_found = true;
    search->is_stuck = is_stuck;
    search->size = team->size > team->n_members ? team->size : team->n_members;
    if (is_stuck)
        search->barrier = barrier;
    return NULL;
}

struct tg_error *sequence_rank_state(struct tg_sequence_builder *builder, const struct sequence_worker *rank,
                                     const char **state)
{
    struct search search = {.process = rank->process};
    char text[128];
    struct tg_error *error = tg_openmp_model_visit_teams(builder->openmp, look_at, &search);
    if (error != NULL || !search.is_found)
        return error;
    if (search.is_stuck)
        snprintf(text, sizeof text, "in a region of %" PRIu64 ": %" PRIu64 " at the %s, %" PRIu64 " missing",
                 search.size, search.barrier.waiting + search.barrier.passed,
                 search.barrier.sync == TG_OMP_SYNC_BARRIER_JOIN ? "end" : "barrier", search.barrier.missing);
    else
        snprintf(text, sizeof text, "in a region of %" PRIu64, search.size);
    return tg_string_pool_intern(&builder->made->names, text, state);
}
