#include "analyzer/models/mpi/messages.h"

#include "analyzer/models/mpi/request_key.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* A message on its way: in the list of all, and in that of its like. */
struct sent {
    struct tg_mpi_message message;
    struct sent *prev, *next; /* among all, in order of sending */
    struct sent *like_prev, *like_next;
};

struct flow_key {
    const char *job;
    uint64_t comm;
    unsigned group;
    int64_t source, destination, tag;
};

struct request;

/* What is alike: messages on their way, and receives that were posted for them and are under way. Of receives from any
 * source, or with any tag, the key says so. */
struct flow {
    struct flow_key key;
    struct sent *first;       /* NULL: none, for now */
    struct request *receives; /* likewise; in the order in which they were posted */
    bool is_unsure; /* some message was given to a receive that may have got another; until none is left */
    UT_hash_handle hh;
};

enum {
    MAX_EMPTY_FLOWS = 256, /* kept, as the next message of a kind comes soon */
    RECENT_FLOWS = 64,     /* found without their table */
};

struct request {
    struct tg_mpi_request_key key;
    struct tg_mpi_message message;
    enum tg_mpi_request_use use;
    bool persistent, is_active;
    struct flow *flow; /* where it waits for its message; NULL: it does not */
    struct request *queue_prev, *queue_next;
    UT_hash_handle hh;
};

struct tg_mpi_messages {
    struct sent *sends;
    struct flow *flows;
    struct flow *recent_flows[RECENT_FLOWS]; /* got lately; NULL: none */
    struct request *requests;
    struct sent *spare_sent; /* memory of one that was taken out; NULL: none */
    size_t n_empty_flows;
    size_t kept;
    uint64_t unkept;
    uint64_t last_id;
    uint64_t last_turn;
    size_t n_wild; /* receives under way that name no source, or no tag */
};

struct tg_error *tg_mpi_messages_create(struct tg_mpi_messages **messages)
{
    *messages = calloc(1, sizeof **messages);
    return *messages == NULL ? tg_error_no_memory() : NULL;
}

void tg_mpi_messages_destroy(struct tg_mpi_messages *messages)
{
    if (messages == NULL)
        return;
    struct flow *flow, *next_flow;
    HASH_ITER (hh, messages->flows, flow, next_flow) {
        HASH_DEL(messages->flows, flow);
        free(flow);
    }
    struct sent *sent, *next_sent;
    DL_FOREACH_SAFE(messages->sends, sent, next_sent)
    {
        DL_DELETE(messages->sends, sent);
        free(sent);
    }
    struct request *request, *next_request;
    HASH_ITER (hh, messages->requests, request, next_request) {
        HASH_DEL(messages->requests, request);
        free(request);
    }
    free(messages->spare_sent);
    free(messages);
}

/* ---- sends */

static struct flow_key key_of(const struct tg_mpi_message *message)
{
    struct flow_key key;
    memset(&key, 0, sizeof key);
    key.job = message->job;
    key.comm = message->comm;
    key.group = message->group;
    key.source = message->source;
    key.destination = message->destination;
    key.tag = message->tag;
    return key;
}

/* A place among the recent ones. */
static size_t recent_place(const struct flow_key *key)
{
    return ((uint64_t)key->source * 5 + (uint64_t)key->destination * 11 + (uint64_t)key->tag) % RECENT_FLOWS;
}

/* Recent ones are compared member by member: a key that is put together and read by its bytes at once has the processor wait. */
static struct flow *find_flow(const struct tg_mpi_messages *messages, const struct flow_key *key)
{
    struct flow *flow = messages->recent_flows[recent_place(key)];
    if (flow != NULL && flow->key.tag == key->tag && flow->key.source == key->source &&
        flow->key.destination == key->destination && flow->key.comm == key->comm &&
        flow->key.group == key->group && flow->key.job == key->job)
        return flow;
    HASH_FIND(hh, messages->flows, key, sizeof *key, flow);
    return flow;
}

static struct flow *get_flow(struct tg_mpi_messages *messages, const struct flow_key *key)
{
    struct flow *flow = find_flow(messages, key);
    if (flow == NULL) {
        flow = calloc(1, sizeof *flow);
        if (flow == NULL)
            return NULL;
        flow->key = *key;
        HASH_ADD(hh, messages->flows, key, sizeof flow->key, flow);
        if (find_flow(messages, key) != flow) {
            free(flow);
            return NULL;
        }
        messages->n_empty_flows++;
    }
    messages->recent_flows[recent_place(key)] = flow;
    return flow;
}

static void drop_flow(struct tg_mpi_messages *messages, struct flow *flow)
{
    struct flow **recent = &messages->recent_flows[recent_place(&flow->key)];
    if (*recent == flow)
        *recent = NULL;
    HASH_DEL(messages->flows, flow);
    free(flow);
}

static bool is_empty(const struct flow *flow)
{
    return flow->first == NULL && flow->receives == NULL;
}

/* Something was taken out of FLOW. */
static void tidy(struct tg_mpi_messages *messages, struct flow *flow)
{
    if (!is_empty(flow))
        return;
    if (messages->n_empty_flows < MAX_EMPTY_FLOWS) {
        messages->n_empty_flows++;
        return;
    }
    drop_flow(messages, flow);
}

/* Takes SENT out of FLOW. */
static void take(struct tg_mpi_messages *messages, struct flow *flow, struct sent *sent)
{
    DL_DELETE(messages->sends, sent);
    DL_DELETE2(flow->first, sent, like_prev, like_next);
    free(messages->spare_sent);
    messages->spare_sent = sent;
    messages->kept--;
    tidy(messages, flow);
}

static void take_first(struct tg_mpi_messages *messages, struct flow *flow)
{
    take(messages, flow, flow->first);
}

static bool is_wild(const struct tg_mpi_message *receive)
{
    return receive->source < 0 || receive->tag < 0;
}

/* REQUEST, if it is a receive, is under way from now on. */
static struct tg_error *queue(struct tg_mpi_messages *messages, struct request *request)
{
    if (request->use != TG_MPI_REQUEST_RECEIVES)
        return NULL;
    const struct flow_key key = key_of(&request->message);
    struct flow *flow = get_flow(messages, &key);
    if (flow == NULL)
        return tg_error_no_memory();
    messages->n_empty_flows -= is_empty(flow);
    messages->n_wild += is_wild(&request->message);
    request->flow = flow;
    request->message.turn = ++messages->last_turn;
    DL_APPEND2(flow->receives, request, queue_prev, queue_next);
    return NULL;
}

/* REQUEST is no longer under way. */
static void unqueue(struct tg_mpi_messages *messages, struct request *request)
{
    struct flow *flow = request->flow;
    if (flow == NULL)
        return;
    messages->n_wild -= is_wild(&request->message);
    DL_DELETE2(flow->receives, request, queue_prev, queue_next);
    request->flow = NULL;
    tidy(messages, flow);
}

static void drop_request(struct tg_mpi_messages *messages, struct request *request)
{
    unqueue(messages, request);
    HASH_DEL(messages->requests, request);
    free(request);
    messages->kept--;
}

/* The oldest message is the least likely to find its other half: of a job on many nodes a trace may hold
 * some ranks alone. */
static void make_room(struct tg_mpi_messages *messages)
{
    if (messages->kept < TG_MPI_MAX_KEPT)
        return;
    messages->unkept++;
    if (messages->sends == NULL) {
        drop_request(messages, messages->requests);
        return;
    }
    const struct flow_key key = key_of(&messages->sends->message);
    take_first(messages, find_flow(messages, &key));
}

struct tg_error *tg_mpi_messages_add_send(struct tg_mpi_messages *messages, struct tg_mpi_message *sent)
{
    make_room(messages);
    const struct flow_key key = key_of(sent);
    struct sent *added = messages->spare_sent != NULL ? messages->spare_sent : malloc(sizeof *added);
    messages->spare_sent = NULL;
    struct flow *flow = added == NULL ? NULL : get_flow(messages, &key);
    if (flow == NULL) {
        free(added);
        return tg_error_no_memory();
    }
    messages->n_empty_flows -= is_empty(flow);
    sent->id = ++messages->last_id;
    added->message = *sent;
    DL_APPEND(messages->sends, added);
    DL_APPEND2(flow->first, added, like_prev, like_next);
    messages->kept++;
    return NULL;
}

/* ---- which message a receive gets */

enum { MAX_AHEAD = 4096 }; /* receives that are counted; beyond, it is not known whose turn it is */

/* How many receives of FLOW (NULL none) were posted before TURN. */
static size_t count_before(const struct flow *flow, uint64_t turn)
{
    size_t count = 0;
    for (const struct request *at = flow == NULL ? NULL : flow->receives;
         at != NULL && at->message.turn < turn && count < MAX_AHEAD; at = at->queue_next)
        count++;
    return count;
}

/* Whether a receive that would take what is like KEY from any source, or with any tag, was posted before TURN. */
static bool has_wild_before(const struct tg_mpi_messages *messages, const struct flow_key *key, uint64_t turn)
{
    for (int i = 1; i < 4 && messages->n_wild > 0; i++) {
        struct flow_key wild = *key;
        if ((i & 1) != 0)
            wild.source = -1;
        if ((i & 2) != 0)
            wild.tag = -1;
        if (count_before(find_flow(messages, &wild), turn) > 0)
            return true;
    }
    return false;
}

/* The message of FLOW that RECEIVE gets: each receive that was posted before its turn (0: before now), and is still under
 * way, has one of its own. NULL: which it is cannot be told, or it was not seen. */
static struct sent *find_own(const struct tg_mpi_messages *messages, const struct flow *flow,
                             const struct tg_mpi_message *receive)
{
    uint64_t turn = receive->turn == 0 ? UINT64_MAX : receive->turn;
    size_t before = count_before(flow, turn);
    struct sent *own = flow->first;
    if (before >= MAX_AHEAD || (before > 0 && receive->source < -1) ||
        has_wild_before(messages, &flow->key, turn))
        return NULL;
    while (own != NULL && before-- > 0)
        own = own->like_next;
    return own;
}

bool tg_mpi_messages_take_send(struct tg_mpi_messages *messages, const struct tg_mpi_message *receive,
                               int64_t source, int64_t tag, struct tg_mpi_message *sent, bool *is_own)
{
    struct tg_mpi_message pattern = *receive;
    pattern.source = source;
    pattern.tag = tag;
    const struct flow_key key = key_of(&pattern);
    struct flow *flow = find_flow(messages, &key);
    if (flow == NULL || flow->first == NULL)
        return false;
    struct sent *own = find_own(messages, flow, receive);
    flow->is_unsure |= own == NULL;
    *is_own = !flow->is_unsure && messages->unkept == 0;
    if (own == NULL)
        own = flow->first;
    *sent = own->message;
    flow->is_unsure &= flow->first->like_next != NULL;
    take(messages, flow, own);
    return true;
}

void tg_mpi_messages_cancel_send(struct tg_mpi_messages *messages, const struct tg_mpi_message *sent)
{
    const struct flow_key key = key_of(sent);
    struct flow *flow = find_flow(messages, &key);
    for (struct sent *at = flow == NULL ? NULL : flow->first; at != NULL; at = at->like_next)
        if (at->message.id == sent->id) {
            take(messages, flow, at);
            return;
        }
}

static bool is_older(const struct tg_mpi_message *one, const struct tg_mpi_message *other)
{
    return one->since_ns != other->since_ns ? one->since_ns < other->since_ns : one->id < other->id;
}

bool tg_mpi_messages_find_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive,
                               struct tg_mpi_message *sent)
{
    const struct tg_mpi_message *oldest = NULL;
    if (!is_wild(receive)) {
        const struct flow_key key = key_of(receive);
        const struct flow *like = find_flow(messages, &key);
        const struct sent *own = like == NULL ? NULL : find_own(messages, like, receive);
        if (own != NULL)
            *sent = own->message;
        return own != NULL;
    }
    for (const struct flow *flow = messages->flows; flow != NULL; flow = flow->hh.next)
        if (flow->first != NULL && flow->key.job == receive->job && flow->key.comm == receive->comm &&
            flow->key.group == receive->group && flow->key.destination == receive->destination &&
            (receive->source == -1 || flow->key.source == receive->source) &&
            (receive->tag == -1 || flow->key.tag == receive->tag) &&
            (oldest == NULL || is_older(&flow->first->message, oldest)))
            oldest = &flow->first->message;
    if (oldest != NULL)
        *sent = *oldest;
    return oldest != NULL;
}

bool tg_mpi_messages_has_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive)
{
    for (const struct flow *flow = messages->flows; flow != NULL; flow = flow->hh.next)
        if (flow->first != NULL && flow->key.job == receive->job && flow->key.comm == receive->comm &&
            flow->key.group == receive->group && flow->key.destination == receive->destination &&
            (receive->source < 0 || flow->key.source == receive->source) &&
            (receive->tag == -1 || flow->key.tag == receive->tag))
            return true;
    return false;
}

/* ---- requests */

static struct request *find_request(const struct tg_mpi_messages *messages, size_t process, uint64_t request)
{
    const struct tg_mpi_request_key key = tg_mpi_request_key(process, request);
    struct request *found;
    HASH_FIND(hh, messages->requests, &key, sizeof key, found);
    return found;
}

struct tg_error *tg_mpi_messages_add_request(struct tg_mpi_messages *messages,
                                             const struct tg_mpi_message *posted, enum tg_mpi_request_use use,
                                             bool persistent)
{
    struct request *found = find_request(messages, posted->process, posted->request);
    if (found == NULL) {
        make_room(messages);
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = posted->process;
        found->key.request = posted->request;
        HASH_ADD(hh, messages->requests, key, sizeof found->key, found);
        if (find_request(messages, posted->process, posted->request) != found) {
            free(found);
            return tg_error_no_memory();
        }
        messages->kept++;
    }
    unqueue(messages, found); /* a handle whose completion went unseen is used again */
    found->message = *posted;
    found->use = use;
    found->persistent = persistent;
    found->is_active = !persistent;
    return persistent ? NULL : queue(messages, found);
}

struct tg_error *tg_mpi_messages_start(struct tg_mpi_messages *messages, size_t process, uint64_t request,
                                       uint64_t time_ns)
{
    struct request *found = find_request(messages, process, request);
    if (found == NULL || !found->persistent || found->is_active)
        return NULL;
    found->is_active = true;
    found->message.since_ns = time_ns;
    if (found->use == TG_MPI_REQUEST_RECEIVES)
        return queue(messages, found);
    if (found->message.destination < 0)
        return NULL;
    return tg_mpi_messages_add_send(messages, &found->message); /* gives the message a new id */
}

const struct tg_mpi_message *tg_mpi_messages_request(const struct tg_mpi_messages *messages, size_t process,
                                                     uint64_t request)
{
    const struct request *found = find_request(messages, process, request);
    return found == NULL || !found->is_active ? NULL : &found->message;
}

void tg_mpi_messages_drop_request(struct tg_mpi_messages *messages, size_t process, uint64_t request)
{
    struct request *found = find_request(messages, process, request);
    if (found == NULL)
        return;
    drop_request(messages, found);
}

bool tg_mpi_messages_complete(struct tg_mpi_messages *messages, size_t process, uint64_t request,
                              struct tg_mpi_message *posted)
{
    struct request *found = find_request(messages, process, request);
    if (found == NULL)
        return false;
    *posted = found->message;
    found->is_active = false;
    unqueue(messages, found);
    if (!found->persistent)
        tg_mpi_messages_drop_request(messages, process, request);
    return true;
}

bool tg_mpi_messages_find_truncated(const struct tg_mpi_messages *messages, size_t process, uint64_t request,
                                    struct tg_mpi_message *posted, struct tg_mpi_message *sent)
{
    for (const struct request *of = messages->requests; of != NULL; of = of->hh.next) {
        struct tg_mpi_message found;
        if (of->key.process != process || of->use != TG_MPI_REQUEST_RECEIVES ||
            (request != 0 && of->key.request != request) ||
            !tg_mpi_messages_find_send(messages, &of->message, &found) || found.bytes <= of->message.bytes)
            continue;
        *posted = of->message;
        *sent = found;
        return true;
    }
    return false;
}

/* ---- copies */

/* The receives of MESSAGES that are under way are so in MADE, too, in the same turns. */
static struct tg_error *copy_queues(const struct tg_mpi_messages *messages, struct tg_mpi_messages *made)
{
    struct tg_error *error = NULL;
    for (const struct flow *flow = messages->flows; error == NULL && flow != NULL; flow = flow->hh.next)
        for (const struct request *at = flow->receives; error == NULL && at != NULL; at = at->queue_next) {
            struct request *copied = find_request(made, at->key.process, at->key.request);
            if (copied == NULL)
                continue;
            made->last_turn = at->message.turn - 1;
            error = queue(made, copied);
        }
    made->last_turn = messages->last_turn;
    return error;
}

struct tg_error *tg_mpi_messages_copy(const struct tg_mpi_messages *messages, struct tg_mpi_messages **copy)
{
    struct tg_mpi_messages *made = NULL;
    struct tg_error *error = tg_mpi_messages_create(&made);
    for (const struct sent *sent = messages->sends; error == NULL && sent != NULL; sent = sent->next) {
        struct tg_mpi_message message = sent->message;
        made->last_id = message.id - 1;
        error = tg_mpi_messages_add_send(made, &message);
    }
    for (const struct request *request = messages->requests; error == NULL && request != NULL;
         request = request->hh.next) {
        error = tg_mpi_messages_add_request(made, &request->message, request->use, true);
        struct request *copied =
            error == NULL ? find_request(made, request->key.process, request->key.request) : NULL;
        if (copied == NULL)
            continue;
        copied->persistent = request->persistent;
        copied->is_active = request->is_active;
    }
    if (error == NULL)
        error = copy_queues(messages, made);
    if (error != NULL) {
        tg_mpi_messages_destroy(made);
        return error;
    }
    made->unkept = messages->unkept;
    made->last_id = messages->last_id;
    *copy = made;
    return NULL;
}

/* ---- answers */

uint64_t tg_mpi_messages_unkept(const struct tg_mpi_messages *messages)
{
    return messages->unkept;
}

struct tg_error *tg_mpi_messages_visit_sends(const struct tg_mpi_messages *messages,
                                             tg_mpi_messages_visit *visit, void *context)
{
    struct tg_error *error = NULL;
    for (const struct sent *sent = messages->sends; error == NULL && sent != NULL; sent = sent->next)
        error = visit(context, &sent->message);
    return error;
}

struct tg_error *tg_mpi_messages_visit_requests(const struct tg_mpi_messages *messages,
                                                tg_mpi_messages_visit *visit, void *context)
{
    struct tg_error *error = NULL;
    for (const struct request *request = messages->requests; error == NULL && request != NULL;
         request = request->hh.next)
        if (request->is_active && request->use == TG_MPI_REQUEST_RECEIVES)
            error = visit(context, &request->message);
    return error;
}

struct tg_error *tg_mpi_messages_visit_active(const struct tg_mpi_messages *messages,
                                              tg_mpi_messages_visit *visit, void *context)
{
    struct tg_error *error = NULL;
    for (const struct request *request = messages->requests; error == NULL && request != NULL;
         request = request->hh.next)
        if (request->is_active)
            error = visit(context, &request->message);
    return error;
}
