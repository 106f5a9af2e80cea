#include "analyzer/models/mpi/partitions.h"

#include "analyzer/models/mpi/request_key.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_REQUESTS = 1 << 12,   /* then the oldest is forgotten */
    MAX_FLOWS = 1 << 14,      /* of more it is not known who belongs together */
    MAX_PARTITIONS = 1 << 14, /* of a message with more it is not known which are ready */
    BITS = 8,
};

struct tg_mpi_partitioned_entry {
    struct tg_mpi_request_key key;
    struct tg_mpi_partitioned public;
    UT_hash_handle hh;
};

/* Messages with these are told apart by the order in which their halves were made. */
struct flow_key {
    const char *job;
    uint64_t comm;
    uint64_t group;
    int64_t source, destination, tag;
};

struct tg_mpi_partitioned_flow {
    struct flow_key key;
    uint64_t n_made[2]; /* receives, sends */
    UT_hash_handle hh;
};

/* ---- life */

static void drop(struct tg_mpi_partitions *partitions, struct tg_mpi_partitioned_entry *entry)
{
    HASH_DEL(partitions->entries, entry);
    free(entry->public.ready);
    free(entry);
}

void tg_mpi_partitions_deinit(struct tg_mpi_partitions *partitions)
{
    struct tg_mpi_partitioned_entry *entry, *next;
    HASH_ITER (hh, partitions->entries, entry, next)
        drop(partitions, entry);
    struct tg_mpi_partitioned_flow *flow, *next_flow;
    HASH_ITER (hh, partitions->flows, flow, next_flow) {
        HASH_DEL(partitions->flows, flow);
        free(flow);
    }
    free(partitions->remarked);
}

static size_t bytes_of(const struct tg_mpi_partitioned *of)
{
    return (size_t)(of->count + BITS - 1) / BITS;
}

/* Adds PUBLIC, with room for its own marks. */
static struct tg_error *insert(struct tg_mpi_partitions *partitions, const struct tg_mpi_partitioned *public,
                               struct tg_mpi_partitioned_entry **entry)
{
    const struct tg_mpi_request_key key = tg_mpi_request_key(public->process, public->request);
    unsigned char *ready = NULL;
    if (public->sends && public->count > 0 && public->count <= MAX_PARTITIONS) {
        ready = calloc(bytes_of(public), 1);
        if (ready == NULL)
            return tg_error_no_memory();
    }
    struct tg_error *error = TG_HASH_CREATE(hh, partitions->entries, key, &key, *entry);
    if (error != NULL) {
        free(ready);
        return error;
    }
    (*entry)->public = *public;
    (*entry)->public.ready = ready;
    return NULL;
}

struct tg_error *tg_mpi_partitions_copy(const struct tg_mpi_partitions *from, struct tg_mpi_partitions *to)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_partitioned_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next) {
        struct tg_mpi_partitioned_entry *made;
        error = insert(to, &entry->public, &made);
        if (error == NULL && entry->public.ready != NULL)
            memcpy(made->public.ready, entry->public.ready, bytes_of(&entry->public));
    }
    const struct tg_mpi_partitioned_flow *flow = from->flows;
    for (; error == NULL && flow != NULL; flow = flow->hh.next) {
        struct tg_mpi_partitioned_flow *made;
        error = TG_HASH_CREATE(hh, to->flows, key, &flow->key, made);
        if (error == NULL)
            memcpy(made->n_made, flow->n_made, sizeof made->n_made);
    }
    return error != NULL ? error
                         : TG_ARRAY_COPY(to->remarked, to->n_remarked, to->remarked_capacity, from->remarked,
                                         from->n_remarked);
}

/* ---- requests */

static struct tg_mpi_partitioned_entry *find(const struct tg_mpi_partitions *partitions, size_t process,
                                             uint64_t request)
{
    const struct tg_mpi_request_key key = tg_mpi_request_key(process, request);
    struct tg_mpi_partitioned_entry *found;
    HASH_FIND(hh, partitions->entries, &key, sizeof key, found);
    return found;
}

static struct tg_mpi_partitioned_flow *find_flow(const struct tg_mpi_partitions *partitions,
                                                 const struct tg_mpi_partitioned *of, struct flow_key *key)
{
    struct tg_mpi_partitioned_flow *found;
    memset(key, 0, sizeof *key);
    key->job = of->job;
    key->comm = of->comm;
    key->group = of->group;
    key->source = of->source;
    key->destination = of->destination;
    key->tag = of->tag;
    HASH_FIND(hh, partitions->flows, key, sizeof *key, found);
    return found;
}

struct tg_error *tg_mpi_partitions_add(struct tg_mpi_partitions *partitions,
                                       const struct tg_mpi_partitioned *made)
{
    struct flow_key key;
    struct tg_mpi_partitioned_flow *flow = find_flow(partitions, made, &key);
    struct tg_mpi_partitioned_entry *entry;
    tg_mpi_partitions_forget(partitions, made->process, made->request);
    if (flow == NULL && HASH_COUNT(partitions->flows) < MAX_FLOWS) {
        struct tg_error *error = TG_HASH_CREATE(hh, partitions->flows, key, &key, flow);
        if (error != NULL)
            return error;
    }
    if (HASH_COUNT(partitions->entries) >= MAX_REQUESTS)
        drop(partitions, partitions->entries);
    struct tg_mpi_partitioned numbered = *made;
    numbered.nth = flow == NULL ? 0 : ++flow->n_made[made->sends];
    return insert(partitions, &numbered, &entry);
}

struct tg_mpi_partitioned *tg_mpi_partitions_find(const struct tg_mpi_partitions *partitions, size_t process,
                                                  uint64_t request)
{
    struct tg_mpi_partitioned_entry *found = find(partitions, process, request);
    return found == NULL ? NULL : &found->public;
}

void tg_mpi_partitions_forget(struct tg_mpi_partitions *partitions, size_t process, uint64_t request)
{
    struct tg_mpi_partitioned_entry *found = find(partitions, process, request);
    if (found != NULL)
        drop(partitions, found);
}

void tg_mpi_partitions_start(struct tg_mpi_partitioned *of, int32_t tid, uint64_t code, uint64_t time_ns)
{
    if (of->is_active)
        return;
    of->is_active = true;
    of->starts++;
    of->tid = tid;
    of->code = code;
    of->since_ns = time_ns;
    of->n_ready = 0;
    of->is_unsure = of->ready == NULL;
    of->ready_code = of->ready_ns = 0;
    if (of->ready != NULL)
        memset(of->ready, 0, bytes_of(of));
}

bool tg_mpi_partitions_complete(const struct tg_mpi_partitions *partitions, size_t process, uint64_t request)
{
    struct tg_mpi_partitioned *of = tg_mpi_partitions_find(partitions, process, request);
    if (of != NULL)
        of->is_active = false;
    return of != NULL;
}

/* ---- marks */

bool tg_mpi_partition_is_ready(const struct tg_mpi_partitioned *of, uint64_t partition)
{
    return of->ready != NULL && partition < of->count &&
           (of->ready[partition / BITS] >> partition % BITS & 1) != 0;
}

/* Partitions FIRST to LAST of OF are ready. The first of them that was so before; UINT64_MAX: none. */
static uint64_t mark(struct tg_mpi_partitioned *of, uint64_t first, uint64_t last)
{
    uint64_t again = UINT64_MAX;
    for (uint64_t i = first; of->ready != NULL && i <= last && i < of->count; i++) {
        bool was_ready = tg_mpi_partition_is_ready(of, i);
        if (was_ready && again == UINT64_MAX)
            again = i;
        of->n_ready += !was_ready;
        of->ready[i / BITS] |= (unsigned char)(1U << i % BITS);
    }
    return again;
}

/* THREAD's call marks PARTITION of OF, which was ready. */
static struct tg_error *note_remark(struct tg_mpi_partitions *partitions, const struct tg_mpi_thread *thread,
                                    const struct tg_mpi_partitioned *of, uint64_t partition)
{
    for (size_t i = 0; i < partitions->n_remarked; i++) {
        struct tg_mpi_remarked *known = &partitions->remarked[i];
        if (known->of.process == thread->process && known->code == thread->call.code) {
            known->count += known->time_ns != thread->call.since_ns;
            return NULL;
        }
    }
    if (partitions->n_remarked >= TG_MPI_MAX_REMARKED)
        return NULL;
    struct tg_mpi_remarked added = {.of = *of,
                                    .partition = partition,
                                    .name = thread->call.name,
                                    .tid = thread->tid,
                                    .code = thread->call.code,
                                    .time_ns = thread->call.since_ns,
                                    .count = 1};
    added.of.ready = NULL;
    return TG_ARRAY_APPEND(partitions->remarked, partitions->n_remarked, partitions->remarked_capacity,
                           added);
}

struct tg_error *tg_mpi_partitions_mark(struct tg_mpi_partitions *partitions,
                                        const struct tg_mpi_thread *thread, uint64_t first, uint64_t last)
{
    struct tg_mpi_partitioned *of = tg_mpi_partitions_find(partitions, thread->process, thread->call.request);
    if (of == NULL || !of->sends)
        return NULL;
    uint64_t again = mark(of, first, last);
    of->ready_code = thread->call.code;
    of->ready_ns = thread->call.since_ns;
    return again == UINT64_MAX || !of->is_active ? NULL : note_remark(partitions, thread, of, again);
}

void tg_mpi_partitions_mark_unknown(const struct tg_mpi_partitions *partitions,
                                    const struct tg_mpi_thread *thread)
{
    struct tg_mpi_partitioned *of = tg_mpi_partitions_find(partitions, thread->process, thread->call.request);
    if (of != NULL && thread->n_partitions == 0)
        of->is_unsure = true;
}

/* ---- what is known */

const struct tg_mpi_partitioned *tg_mpi_partitions_other(const struct tg_mpi_partitions *partitions,
                                                         const struct tg_mpi_partitioned *of, bool *was_made)
{
    struct flow_key key;
    const struct tg_mpi_partitioned_flow *flow = find_flow(partitions, of, &key);
    *was_made = of->nth == 0 || flow == NULL || flow->n_made[!of->sends] >= of->nth;
    const struct tg_mpi_partitioned_entry *entry = of->nth == 0 ? NULL : partitions->entries;
    for (; entry != NULL; entry = entry->hh.next) {
        const struct tg_mpi_partitioned *other = &entry->public;
        if (other->sends != of->sends && other->nth == of->nth && find_flow(partitions, other, &key) == flow)
            return other;
    }
    return NULL;
}

struct tg_error *tg_mpi_partitions_visit(const struct tg_mpi_partitions *partitions,
                                         struct tg_error *(*visit)(void *context,
                                                                   const struct tg_mpi_partitioned *of),
                                         void *context)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_partitioned_entry *entry = partitions->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        if (entry->public.is_active)
            error = visit(context, &entry->public);
    return error;
}
