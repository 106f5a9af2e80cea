#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

#include "recorder/agent/mpi/table.h"

enum {
    N_REQUESTS = 1 << 15,
    N_BIRTHS = 1 << 8,
    MESSAGE_SHIFT = 60, /* messages and requests may have the same handles */
};

/* Entries stay when requests complete, for the library soon gives their handle to another; what is left of
 * others is replaced when there is no room. */
static struct tg_mpi_entry request_entries[N_REQUESTS];
static struct tg_mpi_table requests = {.entries = request_entries, .n_entries = N_REQUESTS};
enum { WORD_KIND, WORD_COMM };

static struct tg_mpi_entry birth_entries[N_BIRTHS];
static struct tg_mpi_table births = {.entries = birth_entries, .n_entries = N_BIRTHS};
enum { WORD_PARENT, WORD_NTH, WORD_ORIGIN, WORD_PLACE };

tg_mpi_handle tg_mpi_handle_in(const void *array, size_t i)
{
    return array == NULL ? 0 : tg_mpi_abi_handle_at(tg_mpi.abi, array, i);
}

/* The library gives the same handle again and again, mostly to requests of the same kind. */
static void remember(tg_mpi_handle request, unsigned kind)
{
    const struct tg_mpi_entry *known = tg_mpi_table_find(&requests, request);
    if (known != NULL && __atomic_load_n(&known->words[WORD_KIND], __ATOMIC_RELAXED) == kind)
        return;
    const uint64_t words[TG_MPI_TABLE_WORDS] = {[WORD_KIND] = kind};
    tg_mpi_table_put(&requests, request, words, TG_MPI_TABLE_REPLACES);
}

/* MPICH gives one and the same handle to all sends that are complete at once. */
static bool is_mpich_complete_send(tg_mpi_handle request)
{
    enum { HOW_SHIFT = 30, BUILTIN = 1 };
    return !tg_mpi.abi->pointer_handles && request >> HOW_SHIFT == BUILTIN;
}

int tg_mpi_request_started(const struct tg_mpi_frame *frame, unsigned kind, const void *request, int result)
{
    struct tg_mpi_leave leave = {.peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    if (result == 0) {
        leave.request = tg_mpi_handle_in(request, 0);
        if (leave.request != 0)
            remember(leave.request, kind);
    }
    tg_mpi_record_leave(frame, &leave, result);
    return result;
}

int tg_mpi_request_of_birth_started(const struct tg_mpi_frame *frame, const struct tg_mpi_birth *birth,
                                    const void *comm, const void *request, int result)
{
    tg_mpi_handle handle = result == 0 ? tg_mpi_handle_in(request, 0) : 0;
    if (handle != 0) {
        const uint64_t words[TG_MPI_TABLE_WORDS] = {[WORD_PARENT] = birth->parent,
                                                    [WORD_NTH] = birth->nth,
                                                    [WORD_ORIGIN] = (uint64_t)birth->origin,
                                                    [WORD_PLACE] = (uintptr_t)comm};
        tg_mpi_table_put(&births, handle, words, TG_MPI_TABLE_REPLACES);
    }
    return tg_mpi_request_started(frame, TG_MPI_REQUEST_BIRTH, request, result);
}

static unsigned kind_of(tg_mpi_handle request)
{
    const struct tg_mpi_entry *entry = tg_mpi_table_find(&requests, request);
    if (entry == NULL)
        return is_mpich_complete_send(request) ? TG_MPI_REQUEST_SEND : TG_MPI_REQUEST_UNKNOWN;
    return (unsigned)__atomic_load_n(&entry->words[WORD_KIND], __ATOMIC_RELAXED);
}

void tg_mpi_request_restarted(tg_mpi_handle request)
{
    unsigned kind = kind_of(request);
    if ((kind & TG_MPI_REQUEST_PERSISTENT) != 0)
        remember(request, kind | TG_MPI_REQUEST_ACTIVE);
}

/* ---- messages */

static uint64_t message_key(tg_mpi_handle message)
{
    return message ^ UINT64_C(1) << MESSAGE_SHIFT;
}

void tg_mpi_message_matched(tg_mpi_handle message, uint64_t comm)
{
    const uint64_t words[TG_MPI_TABLE_WORDS] = {[WORD_KIND] = TG_MPI_REQUEST_MESSAGE, [WORD_COMM] = comm};
    tg_mpi_table_put(&requests, message_key(message), words, TG_MPI_TABLE_REPLACES);
}

uint64_t tg_mpi_message_comm(tg_mpi_handle message)
{
    const struct tg_mpi_entry *entry = tg_mpi_table_find(&requests, message_key(message));
    return entry == NULL ? 0 : __atomic_load_n(&entry->words[WORD_COMM], __ATOMIC_RELAXED);
}

/* ---- completion */

struct tg_mpi_pending tg_mpi_pending(tg_mpi_handle handle)
{
    if (handle == 0 || !tg_mpi_world_is_running() || handle == tg_mpi.request_null)
        return (struct tg_mpi_pending){0};
    struct tg_mpi_pending pending = {.request = handle, .kind = kind_of(handle)};
    if ((pending.kind & TG_MPI_REQUEST_PERSISTENT) != 0 && (pending.kind & TG_MPI_REQUEST_ACTIVE) == 0)
        pending.request = 0;
    return pending;
}

/* The communicator that the request made is there. */
static void give_birth(tg_mpi_handle request)
{
    uint64_t words[TG_MPI_TABLE_WORDS];
    if (!tg_mpi_table_take(&births, request, words))
        return;
    const struct tg_mpi_birth birth = {.parent = words[WORD_PARENT],
                                       .nth = words[WORD_NTH],
                                       .origin = (enum tg_mpi_origin)words[WORD_ORIGIN]};
    tg_mpi_comm_born(tg_mpi_handle_in((const void *)(uintptr_t)words[WORD_PLACE], 0), &birth);
}

tg_agent_moment tg_mpi_pending_complete(tg_agent_moment moment, const struct tg_mpi_pending *pending,
                                        const void *status)
{
    if (pending->request == 0)
        return moment;
    unsigned kind = pending->kind & TG_MPI_REQUEST_KIND;
    if ((pending->kind & TG_MPI_REQUEST_PERSISTENT) != 0)
        remember(pending->request, pending->kind & ~(unsigned)TG_MPI_REQUEST_ACTIVE);
    struct tg_mpi_status read = {0};
    if (status != NULL)
        tg_mpi.abi->read_status(status, &read);
    bool is_receive = status != NULL && (kind == TG_MPI_REQUEST_RECEIVE || kind == TG_MPI_REQUEST_UNKNOWN);
    bool is_file = status != NULL && kind == TG_MPI_REQUEST_FILE;
    /* only messages can be cancelled; in other statuses Open MPI leaves what was in memory */
    bool is_cancelled = read.cancelled && (is_receive || kind == TG_MPI_REQUEST_SEND);
    bool has_peer = is_receive && !is_cancelled;
    uint64_t *arguments = tg_agent_begin_at(moment, TG_RECORD_MPI_COMPLETE, 5);
    moment = 0;
    if (arguments != NULL) {
        arguments[0] = pending->request;
        arguments[1] = (uint64_t)(has_peer ? tg_mpi_peer(read.source) : TG_MPI_NOTHING);
        arguments[2] = (uint64_t)(has_peer ? tg_mpi_tag(read.tag) : TG_MPI_NOTHING);
        arguments[3] = has_peer || is_file ? read.bytes : 0;
        arguments[4] = is_cancelled;
        arguments[5] = 0;
        moment = tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_COMPLETE, 8);
    }
    if (kind == TG_MPI_REQUEST_BIRTH)
        give_birth(pending->request);
    return moment;
}

struct tg_mpi_leave tg_mpi_leave_of_status(const void *status, int result)
{
    struct tg_mpi_leave leave = {.peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    if (result == 0 && status != NULL) {
        struct tg_mpi_status read;
        tg_mpi.abi->read_status(status, &read);
        leave = (struct tg_mpi_leave){
            .peer = tg_mpi_peer(read.source), .tag = tg_mpi_tag(read.tag), .bytes = read.bytes};
    }
    return leave;
}
