/* Requests: starting persistent ones, waiting for them, testing, giving them up. */
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"

#include <sys/mman.h>

/* ---- what is known of the requests of a call, and room for statuses that the program ignores */

enum { ON_STACK = 64 };

struct batch {
    struct tg_mpi_waiting waiting;
    struct tg_mpi_pending *pending; /* one for each request; NULL: too many, and no memory */
    void *statuses;                 /* array to hand to the library */
    size_t n_mapped_bytes;
    tg_agent_moment moment; /* when the library came back, as far as a record says so */
    struct tg_mpi_pending pending_on_stack[ON_STACK];
    uint64_t statuses_on_stack[ON_STACK * TG_MPI_STATUS_MAX_BYTES / sizeof(uint64_t)];
};

static void batch_open(struct batch *batch, int count, const void *requests, void *statuses)
{
    size_t n = count > 0 ? (size_t)count : 0;
    batch->pending = batch->pending_on_stack;
    batch->n_mapped_bytes = 0;
    batch->moment = 0;
    void *own = batch->statuses_on_stack;
    if (n > ON_STACK) {
        batch->n_mapped_bytes = n * (sizeof *batch->pending + TG_MPI_STATUS_MAX_BYTES);
        void *mapped =
            mmap(NULL, batch->n_mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) {
            batch->pending = NULL;
            batch->statuses = statuses;
            batch->waiting = (struct tg_mpi_waiting){0};
            return;
        }
        batch->pending = mapped;
        own = batch->pending + n;
    }
    batch->statuses = tg_mpi_is_ignored(statuses) ? own : statuses;
    for (size_t i = 0; i < n; i++)
        batch->pending[i] = tg_mpi_pending(tg_mpi_handle_in(requests, i));
    batch->waiting = (struct tg_mpi_waiting){.pending = batch->pending, .n = n};
    tg_mpi_failure.waiting = &batch->waiting;
}

/* The record of N requests, the list at ARGUMENTS, is complete. */
static void commit_list(uint64_t *arguments, size_t n)
{
    if (n % 2 == 0)
        arguments[1 + n] = 0; /* fills the record up */
    tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_REQUESTS, (n + 4) & ~(size_t)1);
}

/* Records which of COUNT requests are active, unless those are too many. */
static void batch_tell(const struct batch *batch, tg_agent_moment moment, int count)
{
    size_t n_active = 0, n = 0;
    for (int i = 0; batch->pending != NULL && i < count; i++)
        n_active += batch->pending[i].request != 0;
    if (n_active == 0 || n_active > TG_AGENT_MAX_REQUESTS)
        return;
    uint64_t *arguments = tg_agent_begin_at(moment, TG_RECORD_MPI_REQUESTS, 1 + n_active);
    if (arguments == NULL)
        return;
    arguments[0] = n_active;
    for (int i = 0; i < count && n < n_active; i++)
        if (batch->pending[i].request != 0)
            arguments[++n] = batch->pending[i].request;
    commit_list(arguments, n_active);
}

/* Records the entry of a call that waits for the active ones of COUNT requests, and which they are. */
static void batch_enter(const struct tg_mpi_frame *frame, const struct batch *batch, int count)
{
    batch_tell(batch, tg_mpi_enter(frame), count);
}

static void batch_close(struct batch *batch)
{
    if (batch->n_mapped_bytes > 0 && batch->pending != NULL)
        munmap(batch->pending, batch->n_mapped_bytes);
}

/* Request I of the batch is complete, and status J is its. */
static void batch_complete(struct batch *batch, size_t i, size_t j)
{
    if (batch->pending != NULL)
        batch->moment = tg_mpi_pending_complete(batch->moment, &batch->pending[i],
                                                tg_mpi_abi_status_at(tg_mpi.abi, batch->statuses, j));
}

/* Records the end of a call for the requests of BATCH. */
static void batch_return(const struct batch *batch, const struct tg_mpi_frame *frame, int result)
{
    tg_mpi_record_return_at(batch->moment, frame, result);
}

static int class_of(int error)
{
    return error & tg_mpi.abi->error_class;
}

/* After a call for all of COUNT requests that returned RESULT. Where some failed the statuses say which; from
 * other errors the library may have come back before it wrote any. */
static void batch_complete_all(struct batch *batch, int count, int result)
{
    if (result != 0 && class_of(result) != tg_mpi.abi->err_in_status)
        return;
    for (size_t i = 0; i < (size_t)count && batch->pending != NULL; i++) {
        struct tg_mpi_status status = {.error = 0};
        if (result != 0)
            tg_mpi.abi->read_status(tg_mpi_abi_status_at(tg_mpi.abi, batch->statuses, i), &status);
        if (result == 0 || class_of(status.error) != tg_mpi.abi->err_pending)
            batch_complete(batch, i, i);
    }
}

/* After a call for some of COUNT requests: those whose INDICES are given, with as many statuses. */
static void batch_complete_some(struct batch *batch, int count, const int *indices, int n_complete)
{
    for (int i = 0; i < n_complete; i++)
        if (indices[i] >= 0 && indices[i] < count)
            batch_complete(batch, (size_t)indices[i], (size_t)i);
}

/* After a call for one of COUNT requests. */
static void batch_complete_any(struct batch *batch, int count, int index)
{
    if (index >= 0 && index < count)
        batch_complete(batch, (size_t)index, 0);
}

static struct tg_mpi_enter polls_of(const void *requests)
{
    return (struct tg_mpi_enter){
        .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING, .root = TG_MPI_NOTHING, .requests = requests};
}

/* ---- waiting */

TG_MPI_WRAP(Wait, (void *request, void *status), (request, status))
{
    struct batch batch;
    batch_open(&batch, 1, request, status);
    tg_mpi_enter_request(frame, batch.pending[0].request);
    int result = next(request, batch.statuses);
    if (result == 0)
        batch_complete(&batch, 0, 0);
    batch_return(&batch, frame, result);
    return result;
}

TG_MPI_WRAP(Waitall, (int count, void *requests, void *statuses), (count, requests, statuses))
{
    struct batch batch;
    batch_open(&batch, count, requests, statuses);
    batch.waiting.statuses = batch.statuses;
    batch_enter(frame, &batch, count);
    int result = next(count, requests, batch.statuses);
    batch_complete_all(&batch, count, result);
    batch_return(&batch, frame, result);
    batch_close(&batch);
    return result;
}

TG_MPI_WRAP(Waitany, (int count, void *requests, int *index, void *status), (count, requests, index, status))
{
    struct batch batch;
    batch_open(&batch, count, requests, status);
    batch_enter(frame, &batch, count);
    int result = next(count, requests, index, batch.statuses);
    if (result == 0)
        batch_complete_any(&batch, count, *index);
    batch_return(&batch, frame, result);
    batch_close(&batch);
    return result;
}

TG_MPI_WRAP(Waitsome, (int count, void *requests, int *n_complete, int *indices, void *statuses),
            (count, requests, n_complete, indices, statuses))
{
    struct batch batch;
    batch_open(&batch, count, requests, statuses);
    batch_enter(frame, &batch, count);
    int result = next(count, requests, n_complete, indices, batch.statuses);
    if (result == 0 || class_of(result) == tg_mpi.abi->err_in_status)
        batch_complete_some(&batch, count, indices, *n_complete);
    batch_return(&batch, frame, result);
    batch_close(&batch);
    return result;
}

/* ---- testing */

TG_MPI_WRAP(Test, (void *request, int *flag, void *status), (request, flag, status))
{
    struct batch batch;
    batch_open(&batch, 1, request, status);
    const struct tg_mpi_enter enter = {.peer = TG_MPI_NOTHING,
                                       .tag = TG_MPI_NOTHING,
                                       .root = TG_MPI_NOTHING,
                                       .request = batch.pending[0].request};
    tg_mpi_poll_begin(frame, &enter);
    int result = next(request, flag, batch.statuses);
    bool has_found = result == 0 && *flag != 0;
    if (tg_mpi_poll_end(frame, &enter, has_found, result)) {
        if (has_found)
            batch_complete(&batch, 0, 0);
        batch_return(&batch, frame, result);
    }
    return result;
}

TG_MPI_WRAP(Testall, (int count, void *requests, int *flag, void *statuses),
            (count, requests, flag, statuses))
{
    struct batch batch;
    batch_open(&batch, count, requests, statuses);
    batch.waiting.statuses = batch.statuses;
    const struct tg_mpi_enter enter = polls_of(requests);
    tg_mpi_poll_begin(frame, &enter);
    int result = next(count, requests, flag, batch.statuses);
    if (tg_mpi_poll_end(frame, &enter, result == 0 && *flag != 0, result)) {
        batch_complete_all(&batch, count, result);
        batch_return(&batch, frame, result);
    }
    if (frame->has_told)
        batch_tell(&batch, 0, count);
    batch_close(&batch);
    return result;
}

TG_MPI_WRAP(Testany, (int count, void *requests, int *index, int *flag, void *status),
            (count, requests, index, flag, status))
{
    struct batch batch;
    batch_open(&batch, count, requests, status);
    const struct tg_mpi_enter enter = polls_of(requests);
    tg_mpi_poll_begin(frame, &enter);
    int result = next(count, requests, index, flag, batch.statuses);
    bool has_found = result == 0 && *flag != 0;
    if (tg_mpi_poll_end(frame, &enter, has_found, result)) {
        if (has_found)
            batch_complete_any(&batch, count, *index);
        batch_return(&batch, frame, result);
    }
    if (frame->has_told)
        batch_tell(&batch, 0, count);
    batch_close(&batch);
    return result;
}

TG_MPI_WRAP(Testsome, (int count, void *requests, int *n_complete, int *indices, void *statuses),
            (count, requests, n_complete, indices, statuses))
{
    struct batch batch;
    batch_open(&batch, count, requests, statuses);
    const struct tg_mpi_enter enter = polls_of(requests);
    tg_mpi_poll_begin(frame, &enter);
    int result = next(count, requests, n_complete, indices, batch.statuses);
    bool is_told = result == 0 || class_of(result) == tg_mpi.abi->err_in_status;
    if (tg_mpi_poll_end(frame, &enter, is_told && *n_complete != 0, result)) {
        if (is_told)
            batch_complete_some(&batch, count, indices, *n_complete);
        batch_return(&batch, frame, result);
    }
    if (frame->has_told)
        batch_tell(&batch, 0, count);
    batch_close(&batch);
    return result;
}

/* Tells that a request is complete and leaves it as it is: nothing completes here. */
TG_MPI_WRAP(Request_get_status, (tg_mpi_handle request, int *flag, void *status), (request, flag, status))
{
    const struct tg_mpi_leave leave = {
        .request = tg_mpi_abi_handle(tg_mpi.abi, request), .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    const struct tg_mpi_enter enter = {
        .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING, .root = TG_MPI_NOTHING, .request = leave.request};
    tg_mpi_poll_begin(frame, &enter);
    int result = next(request, flag, status);
    if (tg_mpi_poll_end(frame, &enter, result == 0 && *flag != 0, result))
        tg_mpi_record_leave(frame, &leave, result);
    return result;
}

/* ---- starting and giving up */

static void leave_with_request(const struct tg_mpi_frame *frame, tg_mpi_handle request, int result)
{
    const struct tg_mpi_leave leave = {.request = request, .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    tg_mpi_record_leave(frame, &leave, result);
}

TG_MPI_WRAP(Start, (void *request), (request))
{
    tg_mpi_handle handle = tg_mpi_handle_in(request, 0);
    tg_mpi_enter_request(frame, handle);
    int result = next(request);
    if (result == 0)
        tg_mpi_request_restarted(handle);
    leave_with_request(frame, handle, result);
    return result;
}

/* Records which COUNT requests are about to be started. */
static void tell_starting(tg_agent_moment moment, int count, const void *requests)
{
    if (count < 1 || count > TG_AGENT_MAX_REQUESTS)
        return;
    uint64_t *arguments = tg_agent_begin_at(moment, TG_RECORD_MPI_REQUESTS, 1 + (size_t)count);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)count;
    for (int i = 0; i < count; i++)
        arguments[1 + i] = tg_mpi_handle_in(requests, (size_t)i);
    commit_list(arguments, (size_t)count);
}

/* An entry and an end for each request; the first ones surround the call. */
TG_MPI_WRAP(Startall, (int count, void *requests), (count, requests))
{
    tell_starting(tg_mpi_enter(frame), count, requests);
    int result = next(count, requests);
    if (result != 0 || count < 1)
        tg_mpi_record_return(frame, result);
    for (int i = 0; result == 0 && i < count; i++) {
        tg_mpi_handle handle = tg_mpi_handle_in(requests, (size_t)i);
        tg_mpi_request_restarted(handle);
        if (i > 0)
            tg_mpi_enter(frame);
        leave_with_request(frame, handle, result);
    }
    return result;
}

TG_MPI_WRAP(Request_free, (void *request), (request))
{
    tg_mpi_handle handle = tg_mpi_handle_in(request, 0);
    tg_mpi_enter(frame);
    int result = next(request);
    leave_with_request(frame, handle, result);
    return result;
}

TG_MPI_WRAP(Cancel, (void *request), (request))
{
    tg_mpi_handle handle = tg_mpi_handle_in(request, 0);
    tg_mpi_enter(frame);
    int result = next(request);
    leave_with_request(frame, handle, result);
    return result;
}
