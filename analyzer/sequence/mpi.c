/* Sequence diagrams: what MPI events say. */
#include "analyzer/sequence/families.h"

#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

static struct sequence_worker *find_rank(const struct tg_sequence_builder *builder, size_t process)
{
    return process < builder->n_ranks ? builder->ranks[process] : NULL;
}

/* ---- communicators */

static struct sequence_comm_key comm_key(const struct sequence_worker *worker, uint64_t id)
{
    return (struct sequence_comm_key){.id = id, .job = worker == NULL ? NULL : worker->job};
}

static struct sequence_comm *find_comm(const struct tg_sequence_builder *builder,
                                       const struct sequence_worker *worker, uint64_t id)
{
    const struct sequence_comm_key key = comm_key(worker, id);
    struct sequence_comm *comm;
    HASH_FIND(hh, builder->comms, &key, sizeof key, comm);
    return comm;
}

/* Told by WORKER; NULL: by a process that is not drawn. */
static struct tg_error *take_comm(struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                                  const struct tg_event_mpi_comm *told)
{
    struct sequence_comm *comm = find_comm(builder, worker, told->comm);
    if (comm == NULL && told->origin != TG_MPI_COMM_FREED) {
        const struct sequence_comm_key key = comm_key(worker, told->comm);
        struct tg_error *error = TG_HASH_CREATE(hh, builder->comms, key, &key, comm);
        if (error != NULL)
            return error;
    }
    if (comm != NULL && told->size > comm->size)
        comm->size = told->size;
    if (comm != NULL && told->origin != TG_MPI_COMM_FREED)
        comm->is_inter = told->origin == TG_MPI_COMM_SPAWN || told->origin == TG_MPI_COMM_INTERCOMM;
    return NULL;
}

/* Whether all lifelines of WORKER's job take part in the collectives of COMM. */
static bool is_of_all(const struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                      uint64_t id)
{
    const struct sequence_comm *comm = find_comm(builder, worker, id);
    return id == 1 || (comm != NULL && comm->size > 0 &&
                       (uint64_t)comm->size >= tg_sequence_team_member_count(worker->job));
}

/* ---- messages */

/* RANK does something in MPI, which is drawn before the regions are that it is in: those are drawn when they end. */
static void note_regions(struct sequence_worker *rank)
{
    for (size_t i = 0; i < rank->n_frames; i++)
        if (rank->frames[i].node != NULL && rank->frames[i].node->kind == TG_SEQUENCE_REGION)
            rank->frames[i].node->begun_above = true;
}

static struct tg_error *put_message(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                    const struct tg_sequence_node *pattern, enum tg_sequence_role role,
                                    uint64_t waited_ns, uint64_t time_ns)
{
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_MESSAGE, worker->lane, time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->from = pattern->from;
    node->to = pattern->to;
    node->id = pattern->id;
    node->peer = pattern->peer;
    node->tag = pattern->tag;
    node->is_inter = pattern->is_inter;
    node->bytes = pattern->bytes;
    node->is_across = true;
    node->code = pattern->code;
    note_regions(worker);
    node->parts[0].role = role;
    node->parts[0].waited_ns = waited_ns;
    node->floats = pattern->floats;
    tg_sequence_node_finish(node, time_ns);
    /* not inside of the call that it came by */
    if (role != TG_SEQUENCE_RECEIVES || time_ns < builder->options.from_ns)
        return sequence_put_at(builder, worker, 0, node);
    return tg_sequence_list_gather(&worker->received, node);
}

/* A send that is under way while the rank does other things, or receives. */
static bool is_nonblocking(const char *call)
{
    return strncmp(call, "MPI_I", 5) == 0 || strncmp(call, "MPI_Sendrecv", 12) == 0;
}

/* Whether RANK receives what it asked for before: in a call that waits for requests, or that sends as well. */
static bool is_completion(const struct sequence_worker *rank)
{
    const struct sequence_frame *frame = rank->n_frames == 0 ? NULL : &rank->frames[rank->n_frames - 1];
    return frame != NULL && frame->node != NULL && frame->node->kind == TG_SEQUENCE_CALL &&
           (frame->role == TG_MPI_COMPLETION || frame->role == TG_MPI_SEND_RECEIVE);
}

/* How long RANK had been in the call that receives at TIME_NS; of several messages the first has all of it. */
static uint64_t take_wait(struct sequence_worker *rank, uint64_t time_ns)
{
    struct sequence_frame *frame = rank->n_frames == 0 ? NULL : &rank->frames[rank->n_frames - 1];
    if (frame == NULL || frame->node == NULL || frame->node->kind != TG_SEQUENCE_CALL || frame->has_received)
        return 0;
    frame->has_received = true;
    return time_ns > frame->node->begin_ns ? time_ns - frame->node->begin_ns : 0;
}

static struct tg_error *received(void *context, const struct tg_mpi_message *message, size_t process,
                                 uint64_t time_ns)
{
    struct tg_sequence_builder *builder = context;
    struct sequence_worker *from = find_rank(builder, message->process);
    struct sequence_worker *to = find_rank(builder, process);
    if (from == NULL || to == NULL)
        return NULL;
    const struct tg_sequence_node pattern = {.from = from->lane,
                                             .to = to->lane,
                                             .id = message->comm,
                                             .peer = message->destination,
                                             .tag = message->tag,
                                             .bytes = message->bytes,
                                             .code = message->code,
                                             .floats = is_completion(to)};
    return put_message(builder, to, &pattern, TG_SEQUENCE_RECEIVES, take_wait(to, time_ns), time_ns);
}

uint32_t sequence_lane_of_rank(const struct tg_sequence_builder *builder,
                               const struct sequence_worker *worker, uint64_t comm, int64_t rank)
{
    for (uint32_t i = 0; comm == 1 && i < builder->made->n_lanes; i++)
        if (builder->made->lanes[i].rank == rank && builder->workers[i]->job == worker->job)
            return i;
    return TG_SEQUENCE_NO_LANE;
}

static struct tg_error *send(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                             const struct tg_event *event, size_t process)
{
    const struct tg_event_mpi_enter *enter = &event->mpi_enter;
    const struct sequence_comm *comm = find_comm(builder, worker, enter->comm);
    const struct tg_sequence_node pattern = {
        .from = worker->lane,
        .to = sequence_lane_of_rank(builder, worker, enter->comm, enter->peer),
        .id = tg_mpi_model_comm_id(builder->mpi, process, enter->comm),
        .peer = enter->peer,
        .tag = enter->tag,
        .bytes = enter->bytes,
        .code = enter->code,
        .is_inter = comm != NULL && comm->is_inter,
        .floats = is_nonblocking(enter->call)};
    return put_message(builder, worker, &pattern, TG_SEQUENCE_SENDS, 0, event->time_ns);
}

/* WORKER was in the call that sent its last message for WAITED_NS. */
static void note_send_wait(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                           uint64_t waited_ns)
{
    const struct tg_sequence_list *list = sequence_list_of(builder, worker);
    struct tg_sequence_node *node = list == NULL || list->count == 0 ? NULL : list->items[list->count - 1];
    while (node != NULL && node->kind == TG_SEQUENCE_GROUP)
        node = node->children.items[node->children.count - 1];
    if (node != NULL && node->kind == TG_SEQUENCE_MESSAGE && node->n_parts == 1 &&
        node->parts[0].role == TG_SEQUENCE_SENDS && node->parts[0].lane == worker->lane &&
        node->parts[0].waited_ns < waited_ns)
        node->parts[0].waited_ns = waited_ns;
}

static void mark(struct tg_sequence_list *list, const struct tg_mpi_message *message, uint32_t lane)
{
    for (size_t i = 0; i < list->count; i++) {
        struct tg_sequence_node *node = list->items[i];
        if (node->kind == TG_SEQUENCE_MESSAGE && node->n_parts == 1 && node->parts[0].lane == lane &&
            node->parts[0].role == TG_SEQUENCE_SENDS && node->begin_ns == message->since_ns)
            node->is_lost = true;
        mark(&node->children, message, lane);
    }
}

static struct tg_error *mark_lost(void *context, const struct tg_mpi_message *message)
{
    struct tg_sequence_builder *builder = context;
    const struct sequence_worker *worker = find_rank(builder, message->process);
    if (worker != NULL)
        mark(&builder->made->list, message, worker->lane);
    return NULL;
}

struct tg_error *sequence_mpi_mark_lost(struct tg_sequence_builder *builder)
{
    if (!builder->options.by_rank)
        return NULL;
    return tg_mpi_model_visit_sends(builder->mpi, mark_lost, builder);
}

/* ---- calls */

static struct tg_error *enter(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                              const struct tg_event *event, size_t process)
{
    const struct tg_event_mpi_enter *call = &event->mpi_enter;
    struct sequence_frame *frame;
    const struct tg_mpi_known_name *known;
    struct tg_error *error =
        tg_mpi_known_names_get(&builder->known, &builder->made->names, call->call, &known);
    if (error != NULL)
        return error;
    const char *name = known->name;
    enum tg_mpi_role role = known->traits.role;
    worker->last_code = call->code;
    worker->last_call = name;
    if (builder->options.by_rank && call->instance != 0 && worker->collective == 0 &&
        is_of_all(builder, worker, call->comm)) {
        const struct tg_sequence_barrier barrier = {.name = name, .id = call->comm, .code = call->code};
        worker->collective = event->tid;
        note_regions(worker);
        error = sequence_put_received(builder, worker);
        if (error != NULL)
            return error;
        return tg_sequence_team_arrive(worker->job, worker->lane,
                                       tg_sequence_team_phase(worker->job, worker->lane), &barrier,
                                       event->time_ns);
    }
    if (builder->options.by_rank && call->peer >= 0 && (role == TG_MPI_SEND || role == TG_MPI_SEND_RECEIVE))
        error = send(builder, worker, event, process);
    if (error != NULL)
        return error;
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_CALL, worker->lane, event->time_ns);
    if (node == NULL)
        return tg_error_no_memory();
    node->name = name;
    node->code = call->code;
    node->peer = call->peer;
    node->tag = call->tag;
    node->receives = call->receives != 0;
    node->source = call->from;
    node->source_tag = call->from_tag;
    const struct sequence_comm *comm =
        builder->options.by_rank ? find_comm(builder, worker, call->comm) : NULL;
    node->is_inter = comm != NULL && comm->is_inter;
    node->id = call->instance != 0 ? call->comm : 0;
    node->team = call->comm;
    node->is_across = builder->options.by_rank;
    error = sequence_push(builder, worker, node, &frame);
    if (error != NULL)
        return error;
    frame->tid = event->tid;
    frame->role = role;
    return NULL;
}

/* Whether the finished call of FRAME is worth a row: by rank, messages are arrows already. */
static bool is_shown(const struct tg_sequence_builder *builder, const struct sequence_frame *frame)
{
    if (frame->node->id != 0 || frame->role == TG_MPI_COLLECTIVE)
        return true;
    if (frame->role == TG_MPI_OTHER || frame->role == TG_MPI_COMPLETION)
        return frame->node->children.count > 0;
    return !builder->options.by_rank;
}

static struct tg_error *leave(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                              const struct tg_event *event)
{
    if (worker->collective == event->tid && builder->options.by_rank) {
        worker->collective = 0;
        return tg_sequence_team_pass(worker->job, worker->lane,
                                     tg_sequence_team_phase(worker->job, worker->lane), event->time_ns);
    }
    for (size_t i = worker->n_frames; i-- > 0;) {
        struct sequence_frame *frame = &worker->frames[i];
        if (frame->node == NULL)
            return NULL; /* the region around: the call was entered before */
        if (frame->node->kind != TG_SEQUENCE_CALL || frame->tid != event->tid)
            continue;
        if (is_shown(builder, frame))
            return sequence_close(builder, worker, i, event->time_ns);
        if (frame->role == TG_MPI_SEND && event->time_ns > frame->node->begin_ns)
            note_send_wait(builder, worker, event->time_ns - frame->node->begin_ns);
        tg_sequence_node_destroy(frame->node);
        memmove(frame, frame + 1, (--worker->n_frames - i) * sizeof *frame);
        return NULL;
    }
    return NULL;
}

/* ---- events */

struct tg_error *sequence_mpi_create(struct tg_sequence_builder *builder)
{
    const struct tg_mpi_model_options options = {.received = builder->options.by_rank ? received : NULL,
                                                 .context = builder};
    return tg_mpi_model_create(&options, &builder->mpi);
}

static bool is_openmp(const struct tg_event *event)
{
    return event->kind >= TG_EVENT_OMP_PARALLEL_BEGIN && event->kind <= TG_EVENT_OMP_CANCEL;
}

/* A rank's program is no more: it is in nothing of it. */
static struct tg_error *end_program(struct tg_sequence_builder *builder, struct sequence_worker *rank,
                                    uint64_t time_ns)
{
    struct tg_error *error = NULL;
    rank->collective = 0;
    while (error == NULL && rank->n_frames > 0)
        error = sequence_close(builder, rank, rank->n_frames - 1, time_ns);
    return error;
}

static struct tg_error *find_caller(struct tg_sequence_builder *builder, const struct tg_event *event,
                                    size_t process, struct sequence_worker **worker)
{
    if (!builder->options.by_rank)
        return sequence_worker_get(builder, event->tid, 0, worker);
    *worker = find_rank(builder, process);
    if (*worker != NULL)
        (*worker)->last_ns = event->time_ns;
    return NULL;
}

struct tg_error *sequence_mpi_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                   size_t process)
{
    struct sequence_worker *worker = NULL;
    struct tg_error *error = tg_mpi_model_feed(builder->mpi, event, process);
    if (error == NULL && builder->options.by_rank)
        error = tg_openmp_model_feed(builder->openmp, event, process);
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_MPI_COMM)
        return take_comm(builder, builder->options.by_rank ? find_rank(builder, process) : NULL,
                         &event->mpi_comm);
    if (event->kind == TG_EVENT_PROCESS_EXIT && builder->options.by_rank) {
        worker = find_rank(builder, process);
        if (worker != NULL) {
            worker->has_died = true;
            worker->was_killed = event->process_exit.how == TG_EXIT_SIGNAL;
            builder->made->lanes[worker->lane].is_alive = false;
        }
        return NULL;
    }
    if (builder->options.by_rank && (event->kind == TG_EVENT_EXEC || is_openmp(event))) {
        worker = find_rank(builder, process);
        if (worker != NULL && event->kind == TG_EVENT_EXEC)
            return end_program(builder, worker, event->time_ns);
        return worker == NULL ? NULL : sequence_rank_feed(builder, worker, event);
    }
    if (event->kind != TG_EVENT_MPI_ENTER && event->kind != TG_EVENT_MPI_LEAVE)
        return NULL;
    error = find_caller(builder, event, process, &worker);
    if (error != NULL || worker == NULL)
        return error;
    return event->kind == TG_EVENT_MPI_ENTER ? enter(builder, worker, event, process)
                                             : leave(builder, worker, event);
}
