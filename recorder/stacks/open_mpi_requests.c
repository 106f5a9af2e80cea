#include "recorder/stacks/open_mpi_requests.h"

#include "format/base/hash.h"
#include "recorder/stacks/open_mpi_objects.h"

enum { SMALL = 4096 };

struct reading {
    const struct tg_open_mpi_call *call;
    struct tg_open_mpi_objects objects;
};

static bool read_memory(const struct reading *reading, uint64_t address, void *buffer, size_t size)
{
    return tg_open_mpi_read(&reading->objects, address, buffer, size);
}

static uint64_t size_of(struct reading *reading, uint64_t object, const char *name)
{
    return tg_open_mpi_object_size(&reading->objects, object, name);
}

/* ---- requests */

/* ompi_request_t of Open MPI 3 to 5. */
struct request {
    uint64_t class;
    int32_t references, unused;
    uint64_t next, previous, is_free, registration, block;
    int32_t type; /* of what */
    uint32_t padding;
    int32_t status[4];
    uint64_t received;
    uint64_t complete; /* PENDING, COMPLETE, or who is to be told */
    int32_t state;
    uint8_t is_persistent, padding_2[3];
    int32_t fortran_index, padding_3;
    uint64_t start, free, cancel, callback, callback_data, object;
};

enum {
    REQUEST_BYTES = 160,
    PENDING = 0,
    COMPLETE = 1,
    OF_MESSAGES = 0, /* types */
    MAX_TYPE = 8,
    INACTIVE = 1, /* states */
    ACTIVE = 2,
    CANCELLED = 3,
};
_Static_assert(sizeof(struct request) == REQUEST_BYTES, "as Open MPI has it");

static bool is_code(const struct reading *reading, uint64_t address)
{
    return tg_modules_find(reading->call->modules, address) != NULL;
}

/* Reads the request at ADDRESS; false where that is none, as it is known. A thread that waits for several is told by each of them: by
 * what is in the frame of one of its functions. */
static bool read_request(struct reading *reading, uint64_t address, struct request *request)
{
    const struct tg_open_mpi_call *call = reading->call;
    if (size_of(reading, address, "ompi_request_t") != REQUEST_BYTES ||
        !read_memory(reading, address, request, sizeof *request))
        return false;
    bool is_told = request->complete % 8 == 0 && request->complete >= call->frames.start &&
                   request->complete < call->frames.end;
    return (request->complete == PENDING || request->complete == COMPLETE || is_told) && request->type >= 0 &&
           request->type <= MAX_TYPE && request->state >= INACTIVE && request->state <= CANCELLED &&
           request->is_persistent <= 1 && request->references > 0 &&
           (request->free == 0 || is_code(reading, request->free)) &&
           (request->cancel == 0 || is_code(reading, request->cancel));
}

/* The rank of the process at ADDRESS; unknown in another job. */
static int32_t rank_of(struct reading *reading, uint64_t address)
{
    struct tg_open_mpi_name name, own;
    uint64_t self;
    bool is_known = tg_open_mpi_name_own(&reading->objects, &self, &own) &&
                    tg_open_mpi_name_read(&reading->objects, address, &name) && own.job == name.job;
    return is_known ? (int32_t)name.rank : TG_MPI_UNKNOWN;
}

/* What a request of messages (mca_pml_base_request_t) has besides: behind the request, and at its own end. */
struct head {
    int32_t is_complete, is_freed, type;
    uint32_t padding;
    uint64_t communicator, datatype;
};
struct tail {
    uint64_t buffer, count;
    int32_t peer, tag;
    uint64_t process, sequence;
};

/* The message of REQUEST at ADDRESS; false: it is none, or of another form. In MPI_COMM_WORLD the peer's process says the same
 * rank. */
static bool read_message(struct reading *reading, uint64_t address, const struct request *request,
                         struct tg_mpi_message_request *message, uint64_t *sequence)
{
    enum { SENDS = 1, RECEIVES = 2, MAX_BYTES = 4096 };
    struct head head;
    struct tail tail;
    uint64_t size = size_of(reading, address, "mca_pml_base_request_t");
    bool sends = size_of(reading, address, "mca_pml_base_send_request_t") != 0,
         receives = size_of(reading, address, "mca_pml_base_recv_request_t") != 0;
    if (request->type != OF_MESSAGES || request->state != ACTIVE || sends == receives ||
        size < REQUEST_BYTES + sizeof head + sizeof tail || size > MAX_BYTES ||
        !read_memory(reading, address + REQUEST_BYTES, &head, sizeof head) ||
        !read_memory(reading, address + size - sizeof tail, &tail, sizeof tail) ||
        head.type != (sends ? SENDS : RECEIVES) || head.communicator != request->object ||
        size_of(reading, head.communicator, "ompi_communicator_t") == 0 ||
        size_of(reading, head.datatype, "opal_datatype_t") == 0 || tail.peer < (sends ? 0 : TG_MPI_ANY) ||
        tail.tag < (sends ? 0 : TG_MPI_ANY) || tail.count > INT32_MAX)
        return false;
    int32_t rank = tail.peer == TG_MPI_ANY ? TG_MPI_ANY : rank_of(reading, tail.process);
    bool is_world = reading->call->world != 0 && head.communicator == reading->call->world;
    if (is_world && rank != tail.peer)
        return false;
    *message = (struct tg_mpi_message_request){
        .sends = sends,
        .is_world = is_world,
        .is_other = !is_world && reading->call->world != 0,
        .is_small = tail.count <= SMALL && tg_modules_find(reading->call->modules, head.datatype) != NULL,
        .peer = tail.peer,
        .rank = rank,
        .tag = tail.tag};
    *sequence = tail.sequence;
    return true;
}

/* Notes that REQUEST at ADDRESS is of a collective call, if it is. */
static void add_collective(struct reading *reading, uint64_t address, const struct request *request,
                           struct tg_mpi_requests *requests)
{
    if (size_of(reading, address, "ompi_coll_libnbc_request_t") == 0 || request->state != ACTIVE)
        return;
    bool is_comm = size_of(reading, request->object, "ompi_communicator_t") != 0;
    tg_mpi_requests_add_collective(requests, is_comm ? request->object : 0);
}

/* Whether who waits for REQUESTS has put as many into its frame, at TOLD (0: nowhere), as are not complete: of one request it need
 * not. */
static bool is_counted(struct reading *reading, uint64_t told, size_t n_told,
                       const struct tg_mpi_requests *requests)
{
    int32_t count;
    if (n_told == 0)
        return requests->n_pending == 0 || requests->is_one;
    return n_told == requests->n_pending && read_memory(reading, told, &count, sizeof count) &&
           count == (requests->needs_all ? (int32_t)requests->n_pending : 1);
}

bool tg_open_mpi_requests_read(const struct tg_open_mpi_call *call, const uint64_t *addresses, size_t count,
                               struct tg_mpi_requests *requests)
{
    struct reading reading = {
        .call = call,
        .objects = {.modules = call->modules, .memory = call->memory, .process = call->process}};
    struct request request;
    uint64_t told = 0, sequence = 0;
    size_t n_told = 0, n_complete = 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_request(&reading, addresses[i], &request))
            return false;
        n_complete += request.state != INACTIVE && request.complete == COMPLETE;
        if (request.state == INACTIVE || request.complete == COMPLETE)
            continue;
        requests->n_pending++;
        if (request.complete != PENDING && n_told++ > 0 && told != request.complete)
            return false;
        told = request.complete != PENDING ? request.complete : told;
        struct tg_mpi_message_request message;
        if (read_message(&reading, addresses[i], &request, &message, &sequence) &&
            requests->n_messages < TG_MPI_MAX_MESSAGES)
            requests->messages[requests->n_messages++] = message;
        add_collective(&reading, addresses[i], &request, requests);
        const uint64_t marks[] = {requests->mark, addresses[i], sequence};
        requests->mark = tg_hash_bytes(marks, sizeof marks);
    }
    bool comes_back = !requests->needs_all && n_complete > 0;
    return !comes_back && is_counted(&reading, told, n_told, requests);
}

bool tg_open_mpi_is_receiving(const struct tg_open_mpi_call *call, const uint64_t *words, size_t count,
                              int32_t peer, int32_t tag)
{
    struct reading reading = {
        .call = call,
        .objects = {.modules = call->modules, .memory = call->memory, .process = call->process}};
    struct request request;
    struct tg_mpi_message_request message;
    uint64_t sequence;
    for (size_t i = 0; i < count; i++)
        if (words[i] > SMALL && size_of(&reading, words[i], "mca_pml_base_recv_request_t") != 0 &&
            read_request(&reading, words[i], &request) && request.complete != COMPLETE &&
            read_message(&reading, words[i], &request, &message, &sequence) && message.peer == peer &&
            message.tag == tag)
            return true;
    return false;
}

bool tg_open_mpi_message_find(const struct tg_open_mpi_call *call, const uint64_t *words, size_t count,
                              bool sends, int32_t tag, struct tg_mpi_message_request *message)
{
    struct reading reading = {
        .call = call,
        .objects = {.modules = call->modules, .memory = call->memory, .process = call->process}};
    struct request request;
    struct tg_mpi_message_request found;
    uint64_t sequence;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (words[i] <= SMALL || size_of(&reading, words[i], "mca_pml_base_request_t") == 0 ||
            !read_request(&reading, words[i], &request) || request.complete == COMPLETE ||
            !read_message(&reading, words[i], &request, &found, &sequence) || found.sends != sends ||
            found.tag != tag)
            continue;
        if (n++ > 0 && (found.peer != message->peer || found.rank != message->rank))
            return false;
        *message = found;
    }
    return n > 0;
}
