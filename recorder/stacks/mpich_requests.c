#include "recorder/stacks/mpich_requests.h"

#include "format/base/hash.h"

#include <string.h>

/* ---- requests, by their handles */

enum {
    REQUEST_BYTES = 272, /* of MPICH 4.0; of others, none but those that are on the stack are found */
    MAX_FOUND = 128,
    OF_REQUESTS = 11, /* in handles */
    BUILT_IN = 1,     /* complete from the beginning */
    DIRECT = 2,
};

/* The beginning of a request (MPIR_Request). */
struct request {
    uint32_t handle;
    int32_t references;
    int32_t kind;
    uint32_t padding;
    uint64_t
        counter; /* address of the number below: 0, it is complete; or of that of another one, which does the work */
    int32_t count;
    uint32_t padding_2;
    uint64_t told;
    uint64_t comm; /* address of the communicator */
};

enum {
    SENDS = 1,
    RECEIVES = 2,
    SENDS_AGAIN = 3, /* persistent */
    RECEIVES_AGAIN = 4,
    COLLECTIVE_4_0 = 10, /* as of 4.1, that of generalized requests, which have MPI_COMM_SELF, or none */
    COLLECTIVE_4_1 = 11, /* in 4.0, that of MPI_Mprobe's, which nobody waits for */
    MAX_KIND = 16,
    COUNT_OFFSET = 24,
};

struct found {
    uint64_t address;
    struct request request;
};

/* The communicator that was asked for last. */
struct last {
    bool is_read;
    uint32_t number;
    struct tg_mpi_members members;
};

struct reading {
    const struct tg_mpich_call *call;
    struct last *last; /* NULL: communicators are not asked for */
    struct found found[MAX_FOUND];
    size_t n_found;
};

static bool read_memory(const struct reading *reading, uint64_t address, void *buffer, size_t size)
{
    return reading->call->memory->read(reading->call->memory->context, address, buffer, size);
}

static bool is_persistent(const struct request *request)
{
    return request->kind == SENDS_AGAIN || request->kind == RECEIVES_AGAIN;
}

/* Whether there is a request at ADDRESS, in a place not before FIRST: what is there says its own handle, and where its own count
 * is. */
static bool read_request(const struct reading *reading, uint64_t address, unsigned first,
                         struct request *request)
{
    if (address % 8 != 0 || !read_memory(reading, address, request, sizeof *request))
        return false;
    unsigned place = request->handle >> 30;
    bool is_own = request->counter == address + COUNT_OFFSET;
    return (request->handle >> 26 & 15) == OF_REQUESTS && place >= first && request->references >= 0 &&
           request->kind > 0 && request->kind <= MAX_KIND && request->count >= 0 &&
           (is_own || is_persistent(request));
}

/* Functions that wait have the addresses of requests. */
static void find_some(struct reading *reading)
{
    for (size_t i = 0; i < reading->call->n_words && reading->n_found < MAX_FOUND; i++) {
        struct found *found = &reading->found[reading->n_found];
        found->address = reading->call->words[i];
        bool is_known = false;
        for (size_t k = 0; k < reading->n_found; k++)
            is_known |= reading->found[k].address == found->address;
        if (!is_known && found->address >= 4096 &&
            read_request(reading, found->address, DIRECT, &found->request))
            reading->n_found++;
    }
}

/* The request whose handle is HANDLE: one that was found, or one beside it, as handles count them. */
static bool find_request(const struct reading *reading, uint32_t handle, struct found *result)
{
    uint32_t within = handle >> 30 == DIRECT ? 0x3ffffff : 0xfff; /* of a block */
    for (size_t i = 0; i < reading->n_found; i++) {
        const struct found *found = &reading->found[i];
        if (((found->request.handle ^ handle) & ~within) != 0)
            continue;
        int64_t steps = (int64_t)(handle & within) - (int64_t)(found->request.handle & within);
        result->address = found->address + (uint64_t)(steps * REQUEST_BYTES);
        if (read_request(reading, result->address, DIRECT, &result->request) &&
            result->request.handle == handle)
            return true;
    }
    return false;
}

/* ---- messages */

/* What UCX is told to match: the number of the communicator (0: MPI_COMM_WORLD), the rank there, and the tag; of receives from
 * any, or of any, the mask lacks these. */
enum { TAG_BITS = 28, RANK_SHIFT = 32, RANK_BITS = 16, COMM_SHIFT = 48 };
static const uint64_t FULL_MASK = 0xffffffff9fffffff, OF_RANKS = (uint64_t)0xffff << RANK_SHIFT,
                      OF_TAGS = (1 << TAG_BITS) - 1;

static bool is_mask(uint64_t word)
{
    return word == FULL_MASK || word == (FULL_MASK & ~OF_RANKS) || word == (FULL_MASK & ~OF_TAGS) ||
           word == (FULL_MASK & ~OF_RANKS & ~OF_TAGS);
}

struct match {
    uint64_t tag, mask, number; /* the latter counts receives */
};

/* UCX's request, which ends at AT, of the receive whose request of MPICH is at OWNER: that has to be in it, and in one place what is to
 * be matched, followed by the function of MPICH that is called then. */
static bool read_matched(const struct reading *reading, uint64_t at, uint64_t owner, struct match *match)
{
    enum { WORDS = 48, MASK_OFFSET = 1, NUMBER_OFFSET = 2, CALLBACK_OFFSET = 3 };
    uint64_t words[WORDS];
    size_t n_owners = 0, n_places = 0;
    if (at % 8 != 0 || at < sizeof words + 4096 ||
        !read_memory(reading, at - sizeof words, words, sizeof words))
        return false;
    for (size_t i = 0; i < WORDS; i++)
        n_owners += words[i] == owner;
    for (size_t i = 0; i + CALLBACK_OFFSET < WORDS; i++) {
        const struct tg_module *module =
            is_mask(words[i + MASK_OFFSET])
                ? tg_modules_find(reading->call->modules, words[i + CALLBACK_OFFSET])
                : NULL;
        if (module == NULL || strstr(module->path, "libmpich") == NULL)
            continue;
        n_places++;
        *match = (struct match){words[i], words[i + MASK_OFFSET], words[i + NUMBER_OFFSET]};
    }
    return n_owners == 1 && n_places == 1 && (match->tag & ~(match->mask | OF_TAGS | OF_RANKS)) == 0;
}

/* The rank in the job of member PEER of the communicator whose messages have NUMBER. */
static int32_t rank_of(const struct reading *reading, uint32_t number, int32_t peer)
{
    struct last *last = reading->last;
    if (peer < 0 || last == NULL || reading->call->comms == NULL)
        return TG_MPI_UNKNOWN;
    if (!last->is_read || last->number != number) {
        tg_mpi_members_deinit(&last->members);
        tg_mpich_comm_of_messages(reading->call->comms, reading->call->memory, number, &last->members);
        last->is_read = true;
        last->number = number;
    }
    const struct tg_mpi_members *members = &last->members;
    bool is_inter = members->remote_size > 0;
    const int32_t *ranks = is_inter ? members->remote_ranks : members->ranks;
    return ranks != NULL && peer < (is_inter ? members->remote_size : members->size) ? ranks[peer]
                                                                                     : TG_MPI_UNKNOWN;
}

static bool read_receive(const struct reading *reading, const struct found *found,
                         struct tg_mpi_message_request *message, uint64_t *number)
{
    enum { FIRST = 9, WORDS = REQUEST_BYTES / 8 };
    uint64_t words[WORDS];
    struct match match = {0};
    size_t i = FIRST;
    if (!read_memory(reading, found->address, words, sizeof words))
        return false;
    while (i < WORDS && !(words[i] != 0 && read_matched(reading, words[i], found->address, &match)))
        i++;
    if (i == WORDS)
        return false;
    bool is_world = match.tag >> COMM_SHIFT == 0, has_rank = (match.mask & OF_RANKS) != 0,
         has_tag = (match.mask & OF_TAGS) != 0;
    int32_t peer = has_rank ? (int32_t)(match.tag >> RANK_SHIFT & 0xffff) : TG_MPI_ANY;
    *number = match.number;
    *message = (struct tg_mpi_message_request){
        .is_world = is_world,
        .is_other = !is_world,
        .peer = peer,
        .rank = is_world ? peer : rank_of(reading, (uint32_t)(match.tag >> COMM_SHIFT), peer),
        .tag = has_tag ? (int32_t)(match.tag & OF_TAGS) : TG_MPI_ANY};
    return true;
}

/* Of a send, UCX has where it goes to, and not to which rank. */
static bool read_message(const struct reading *reading, const struct found *found,
                         struct tg_mpi_message_request *message, uint64_t *number)
{
    if (found->request.kind == SENDS)
        *message = (struct tg_mpi_message_request){
            .sends = true, .peer = TG_MPI_UNKNOWN, .rank = TG_MPI_UNKNOWN, .tag = TG_MPI_UNKNOWN};
    return found->request.kind == SENDS ||
           (found->request.kind == RECEIVES && read_receive(reading, found, message, number));
}

/* ---- all of a call */

/* Notes that REQUEST is of a collective call, if it is. */
static void add_collective(const struct reading *reading, const struct request *request,
                           struct tg_mpi_requests *requests)
{
    bool may_be =
        (request->kind == COLLECTIVE_4_0 || request->kind == COLLECTIVE_4_1) && reading->call->comms != NULL;
    uint32_t comm = may_be ? tg_mpich_comm_at(reading->call->comms, reading->call->memory, request->comm) : 0;
    if (comm != 0 && comm != TG_MPICH_SELF)
        tg_mpi_requests_add_collective(requests, comm);
}

/* Adds what HANDLE stands for; false: it was not found, or is complete, and that is enough. A persistent one that was not started is
 * not waited for. */
static bool add(const struct reading *reading, uint32_t handle, struct tg_mpi_requests *requests)
{
    enum { NO_REQUEST = 0x2c000000 };
    struct tg_mpi_message_request message;
    struct found found, worker;
    uint64_t number = 0;
    if (handle == NO_REQUEST)
        return true;
    if (handle >> 30 == BUILT_IN && (handle >> 26 & 15) == OF_REQUESTS)
        return requests->needs_all;
    if (!find_request(reading, handle, &found))
        return false;
    worker = found;
    bool is_started = found.request.counter != found.address + COUNT_OFFSET; /* persistent */
    if (is_started) {
        worker.address = found.request.counter - COUNT_OFFSET;
        if (!read_request(reading, worker.address, BUILT_IN, &worker.request) ||
            worker.request.counter != found.request.counter)
            return false;
    }
    if (worker.request.count == 0)
        return requests->needs_all || (!is_started && is_persistent(&found.request));
    requests->n_pending++;
    if (read_message(reading, &worker, &message, &number) && requests->n_messages < TG_MPI_MAX_MESSAGES)
        requests->messages[requests->n_messages++] = message;
    add_collective(reading, &worker.request, requests);
    const uint64_t marks[] = {requests->mark, worker.address, number};
    requests->mark = tg_hash_bytes(marks, sizeof marks);
    return true;
}

bool tg_mpich_requests_read(const struct tg_mpich_call *call, const uint32_t *handles, size_t count,
                            struct tg_mpi_requests *requests)
{
    struct last last = {.is_read = false};
    struct reading reading = {.call = call, .last = &last};
    bool are_read = true;
    find_some(&reading);
    for (size_t i = 0; are_read && i < count; i++)
        are_read = add(&reading, handles[i], requests);
    tg_mpi_members_deinit(&last.members);
    return are_read;
}

bool tg_mpich_receive_find(const struct tg_mpich_call *call, int32_t tag,
                           struct tg_mpi_message_request *message)
{
    struct reading reading = {.call = call};
    struct tg_mpi_message_request found;
    uint64_t number;
    size_t n = 0;
    find_some(&reading);
    for (size_t i = 0; i < reading.n_found; i++) {
        const struct request *request = &reading.found[i].request;
        if (request->kind != RECEIVES || request->count <= 0 || request->references <= 0)
            continue;
        if (!read_receive(&reading, &reading.found[i], &found, &number))
            return false;
        if (tag >= 0 && found.tag != tag)
            continue;
        if (n++ > 0 &&
            (found.peer != message->peer || found.tag != message->tag || found.is_world != message->is_world))
            return false;
        *message = found;
    }
    return n > 0;
}

bool tg_mpich_is_receiving(const struct tg_mpich_call *call, int32_t peer, int32_t tag)
{
    struct reading reading = {.call = call};
    struct tg_mpi_message_request message;
    uint64_t number;
    find_some(&reading);
    for (size_t i = 0; i < reading.n_found; i++) {
        const struct request *request = &reading.found[i].request;
        if (request->kind == RECEIVES && request->count > 0 && request->references > 0 &&
            read_receive(&reading, &reading.found[i], &message, &number) && message.peer == peer &&
            message.tag == tag)
            return true;
    }
    return false;
}
