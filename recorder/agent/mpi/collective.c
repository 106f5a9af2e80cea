/* Collective communication. */
#include "recorder/agent/mpi/collective_table.h"
#include "recorder/agent/mpi/world.h"

#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"

typedef struct tg_mpi_object object_t;

/* ---- how much this process sends */

static bool is_in_place(const void *buffer)
{
    return (uintptr_t)buffer == tg_mpi.abi->in_place;
}

/* The group that a collective call exchanges data with: of an intercommunicator, the other one. */
static int others(const object_t *object)
{
    return object->remote_size > 0 ? object->remote_size : object->size;
}

/* Counts may be ints or MPI_Counts. */
#define SUM(counts, n)                                                                                       \
    _Generic((counts), const int * : sum_of_ints, const long long * : sum_of_counts)((counts), (n))
#define SUM_TYPES(counts, types, n)                                                                          \
    _Generic((counts), const int *: amount_of_ints, const long long *: amount_of_counts)((counts), (types), (n))
#define DEFINE_SUMS(type, sum, amount)                                                                       \
    static int64_t sum(const type *counts, int n)                                                            \
    {                                                                                                        \
        int64_t total = 0;                                                                                   \
        for (int i = 0; i < n; i++)                                                                          \
            total += counts[i];                                                                              \
        return total;                                                                                        \
    }                                                                                                        \
    static tg_mpi_amount_t amount(const type *counts, const void *types, int n)                              \
    {                                                                                                        \
        tg_mpi_amount_t total = 0;                                                                           \
        for (int i = 0; i < n; i++)                                                                          \
            total = tg_mpi_amount_add(total, tg_mpi_amount(counts[i], tg_mpi_handle_in(types, (size_t)i)));  \
        return total;                                                                                        \
    }
DEFINE_SUMS(int, sum_of_ints, amount_of_ints)
DEFINE_SUMS(long long, sum_of_counts, amount_of_counts)

/* Arguments that are not significant in this process may be anything, and are not looked at: they are in
 * branches that are not taken. */
static bool is_root(const object_t *object, int root)
{
    return object->remote_size > 0 ? root == tg_mpi.abi->root : root == object->rank;
}

/* A process of the root's group that is not the root. */
static bool is_idle(int root)
{
    return root == tg_mpi.abi->proc_null;
}

#define BYTES_OR_IN_PLACE(sent, n_sent, sent_type, n_received, received_type)                                \
    is_in_place(sent) ? tg_mpi_amount((n_received), (received_type)) : tg_mpi_amount((n_sent), (sent_type))

/* The root of an intercommunicator only receives, and tells no room: what comes is for its count a
 * process. */
#define BYTES_TO_ROOT(sent, n_sent, sent_type, n_received, received_type, root)                              \
    is_idle(root)                                      ? 0                                                   \
    : is_root(object, root) && object->remote_size > 0 ? 0                                                   \
    : is_root(object, root) && is_in_place(sent)       ? tg_mpi_amount((n_received), (received_type))        \
                                                       : tg_mpi_amount((n_sent), (sent_type))

#define BYTES_FROM_ROOT(n_sent, sent_type, received, n_received, received_type, root)                        \
    is_idle(root)           ? 0                                                                              \
    : is_root(object, root) ? tg_mpi_amount((n_sent), (sent_type))                                           \
                            : tg_mpi_amount((n_received), (received_type))

/* ---- the wrappers */

#define ENTER(root_expression, amount_expression)                                                            \
    const object_t object_ = tg_mpi_object_of_collective(TG_MPI_OBJECT_COMM, comm), *object = &object_;      \
    tg_mpi_amount_t amount = object->id == 0 ? 0 : (amount_expression);                                      \
    tg_mpi_enter_collective(frame, object->id, object->instance, (root_expression), amount)

#define BLOCKING(name, parameters, arguments, root_expression, amount_expression)                            \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        ENTER(root_expression, amount_expression);                                                           \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
#define STARTING(name, parameters, arguments, kind, root_expression, amount_expression)                      \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        ENTER(root_expression, amount_expression);                                                           \
        return tg_mpi_request_started(frame, kind, request, next arguments);                                 \
    }

/* All three forms, which are known by their last parameters. */
#define FORMS(name, iname, name_init, parameters, arguments, root, amount)                                   \
    BLOCKING(name, parameters, arguments, root, amount)                                                      \
    STARTING(iname, (TG_MPI_UNPACK parameters, void *request), (TG_MPI_UNPACK arguments, request),           \
             TG_MPI_REQUEST_COLLECTIVE, root, amount)                                                        \
    STARTING(name_init, (TG_MPI_UNPACK parameters, tg_mpi_handle info, void *request),                       \
             (TG_MPI_UNPACK arguments, info, request),                                                       \
             TG_MPI_REQUEST_COLLECTIVE | TG_MPI_REQUEST_PERSISTENT, root, amount)

#define SMALL(name, iname, parameters, arguments, root, amount)                                              \
    FORMS(name, iname, name##_init, parameters, arguments, root, amount)
#define LARGE(name, iname, parameters, arguments, root, amount)                                              \
    FORMS(name##_c, iname##_c, name##_init_c, parameters, arguments, root, amount)

FORMS(Barrier, Ibarrier, Barrier_init, (tg_mpi_handle comm), (comm), TG_MPI_NOTHING, 0)
TG_MPI_COLLECTIVES(SMALL, int, int)
TG_MPI_COLLECTIVES(LARGE, long long, long)
