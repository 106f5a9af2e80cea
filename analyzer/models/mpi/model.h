/* The MPI model: events in; which rank is in which call since when, which collectives are under way and who
 * has not come, which sends nobody has received and which receives wait, out. At any moment of a trace it
 * answers for that moment: feed it up to there.
 *
 * A sequence of events that cannot be is counted and does no harm. */
#ifndef TG_ANALYZER_MODELS_MPI_MODEL_H
#define TG_ANALYZER_MODELS_MPI_MODEL_H

#include "analyzer/models/mpi/sites.h"
#include "analyzer/models/mpi/state.h"
#include "analyzer/models/wait_times.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_mpi_model;

/* A message that was received. */
struct tg_mpi_delivery {
    const struct tg_mpi_message *sent;
    const struct tg_mpi_thread *by; /* in the call of this thread, which may be over */
    uint64_t time_ns;
};

struct tg_mpi_model_options {
    /* A call came back. NULL: not interested. */
    struct tg_error *(*left)(void *context, const struct tg_mpi_thread *thread,
                             const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                             uint64_t time_ns);
    /* SUM: calls of PROCESS came back that have no events of their own. NAME is the model's for sum->call. */
    struct tg_error *(*polled)(void *context, size_t process, const char *name,
                               const struct tg_event_mpi_poll_sum *sum);
    /* A message was received: FROM as it was sent, to PROCESS. */
    struct tg_error *(*received)(void *context, const struct tg_mpi_message *message, size_t process,
                                 uint64_t time_ns);
    /* The same, where it is known in which call. */
    struct tg_error *(*delivered)(void *context, const struct tg_mpi_delivery *delivery);
    void *context;
};

/* OPTIONS is copied, and may be NULL. */
struct tg_error *tg_mpi_model_create(const struct tg_mpi_model_options *options, struct tg_mpi_model **model);
void tg_mpi_model_destroy(struct tg_mpi_model *model); /* NULL is accepted */
/* A second one, without callbacks, that says the same and goes on from there on its own. */
struct tg_error *tg_mpi_model_copy(const struct tg_mpi_model *model, struct tg_mpi_model **copy);

/* Whether the model takes events of KIND; it ignores all others. */
static inline bool tg_mpi_model_needs(unsigned kind)
{
    return (kind >= TG_EVENT_MPI_COMM && kind <= TG_EVENT_MPI_POLL_SUM) || kind == TG_EVENT_IDENTITY ||
           kind == TG_EVENT_THREAD_EXIT || kind == TG_EVENT_PROCESS_EXIT || kind == TG_EVENT_EXEC;
}

/* Takes one event of the process with index PROCESS in the process model; kinds that say nothing of MPI, of
 * identity or of ends are ignored. Errors: NO_MEMORY, and those of the callbacks. Memory follows threads,
 * communicators, and what is under way, not events. */
struct tg_error *tg_mpi_model_feed(struct tg_mpi_model *model, const struct tg_event *event, size_t process);

/* Events that could not be, and sends and receives that were too many to keep. */
uint64_t tg_mpi_model_impossible(const struct tg_mpi_model *model);
uint64_t tg_mpi_model_unkept(const struct tg_mpi_model *model);

/* Calls that wait for others, and came back: blocking communication, collectives, MPI_Wait and the like. */
struct tg_wait_times tg_mpi_model_waits(const struct tg_mpi_model *model);

/* Threads and processes in order of first appearance. They stay where they are. */
size_t tg_mpi_model_thread_count(const struct tg_mpi_model *model);
const struct tg_mpi_thread *tg_mpi_model_thread_at(const struct tg_mpi_model *model, size_t i);
size_t tg_mpi_model_process_count(const struct tg_mpi_model *model);
const struct tg_mpi_process *tg_mpi_model_process_at(const struct tg_mpi_model *model, size_t i);
/* NULL: it never called MPI. */
const struct tg_mpi_process *tg_mpi_model_process(const struct tg_mpi_model *model, size_t process);

/* The process that PROCESS addresses as RANK of communicator COMM of JOB (the model's string), SIZE_MAX: not known. Of an
 * intercommunicator that is one of the other group. */
size_t tg_mpi_model_process_of(const struct tg_mpi_model *model, size_t process, const char *job,
                               uint64_t comm, int64_t rank);
/* Ranks of communicator COMM, 0 not known. */
int64_t tg_mpi_model_comm_size(const struct tg_mpi_model *model, const char *job, uint64_t comm);

/* The one id of the communicator that PROCESS knows as COMM: of one between jobs that of the other side, if that came first. */
uint64_t tg_mpi_model_comm_id(const struct tg_mpi_model *model, size_t process, uint64_t comm);
/* Number of ranks that PROCESS can address in COMM of JOB: its own, or of an intercommunicator the other group's. 0: not
 * known. */
int64_t tg_mpi_model_peer_count(const struct tg_mpi_model *model, size_t process, const char *job,
                                uint64_t comm);

/* Visits every collective that is under way, the oldest first, with its ARRIVALS: one for every rank of the
 * communicator whose size is known, else for those that came. Stops at an error and returns it. */
struct tg_error *tg_mpi_model_visit_collectives(
    const struct tg_mpi_model *model,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context);

/* Visits, of each communicator, the first collective in which the calls of its processes differ in one of SOUGHT (enum
 * tg_mpi_difference), under way or long over. That they broke the order of their places is a mistake only where more
 * speaks for it, see analyzer/models/mpi/lockstep.h. Otherwise as above. */
struct tg_error *tg_mpi_model_visit_mismatches(
    const struct tg_mpi_model *model, unsigned sought,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context);

/* How often PROCESS of JOB called NAME from the place CODE (of any process of its program) for collectives of COMM;
 * NULL: it is not known that it did. *IS_WHOLE: it did all its calls from places that are known. */
const struct tg_mpi_site *tg_mpi_model_site(const struct tg_mpi_model *model, const char *job, uint64_t comm,
                                            size_t process, const char *name, uint64_t code, bool *is_whole);

/* All places from which PROCESS of JOB made collective calls on COMM, *N of them; NULL: not known. */
const struct tg_mpi_site *tg_mpi_model_sites(const struct tg_mpi_model *model, const char *job, uint64_t comm,
                                             size_t process, size_t *n, bool *is_whole);

/* The name that the program gave to COMM of JOB; NULL: none. What else is known of it: how it was made, from which
 * one (0: none), by which call of which process (NULL: not known), and its size. */
struct tg_mpi_comm_facts {
    const char *name;
    const char *made_by;
    size_t maker;
    uint64_t made_in; /* where that called */
    enum tg_mpi_comm_origin origin;
    uint64_t parent;
    int64_t size;  /* 0 unknown */
    bool is_inter; /* peers are ranks of another group */
    /* world ranks of its members, by rank; NULL unknown, or of an intercommunicator; the model's */
    const int64_t *members;
    size_t n_members;
};
struct tg_mpi_comm_facts tg_mpi_model_comm(const struct tg_mpi_model *model, const char *job, uint64_t comm);

/* Calls that failed, in order: the first TG_MPI_MAX_FAULTS, and how many there were. */
size_t tg_mpi_model_fault_count(const struct tg_mpi_model *model);
const struct tg_mpi_fault *tg_mpi_model_fault_at(const struct tg_mpi_model *model, size_t i);
uint64_t tg_mpi_model_faults(const struct tg_mpi_model *model);

/* Messages received as another datatype than they were sent as: the first TG_MPI_MAX_MISTYPED kinds of them. */
size_t tg_mpi_model_mistyped_count(const struct tg_mpi_model *model);
const struct tg_mpi_mistyped *tg_mpi_model_mistyped_at(const struct tg_mpi_model *model, size_t i);
/* Partitions that were marked twice, the first TG_MPI_MAX_REMARKED places. */
size_t tg_mpi_model_remarked_count(const struct tg_mpi_model *model);
const struct tg_mpi_remarked *tg_mpi_model_remarked_at(const struct tg_mpi_model *model, size_t i);

/* Epochs of windows that were begun and have not ended, in the order of their beginnings. */
size_t tg_mpi_model_epoch_count(const struct tg_mpi_model *model);
const struct tg_mpi_epoch *tg_mpi_model_epoch_at(const struct tg_mpi_model *model, size_t i);

/* Visits what waits, in the order in which it was posted: messages sent and not received, then receives
 * posted and not complete. */
struct tg_error *tg_mpi_model_visit_sends(const struct tg_mpi_model *model,
                                          struct tg_error *(*visit)(void *context,
                                                                    const struct tg_mpi_message *message),
                                          void *context);
struct tg_error *tg_mpi_model_visit_receives(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context);

/* Visits all requests of messages that are under way: receives, and sends (with an id). */
struct tg_error *tg_mpi_model_visit_requests(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context);

/* Visits the probes that threads wait in, or repeat in vain, as receives. */
struct tg_error *tg_mpi_model_visit_probes(const struct tg_mpi_model *model,
                                           struct tg_error *(*visit)(void *context,
                                                                     const struct tg_mpi_message *message),
                                           void *context);

/* Whether a message on its way would satisfy RECEIVE, were it the only one: tg_mpi_matching_make answers for
 * all. */
bool tg_mpi_model_has_send(const struct tg_mpi_model *model, const struct tg_mpi_message *receive);

/* What REQUEST of PROCESS is: a receive, or a send (with an id), in *MESSAGE; false: something else, or not known. */
bool tg_mpi_model_request(const struct tg_mpi_model *model, size_t process, uint64_t request,
                          struct tg_mpi_message *message);

/* What REQUEST of PROCESS is, where it is under way and no message; NULL: none, or not known. */
const struct tg_mpi_started *tg_mpi_model_started(const struct tg_mpi_model *model, size_t process,
                                                  uint64_t request);
/* Visits all such requests, in no order. */
struct tg_error *tg_mpi_model_visit_started(const struct tg_mpi_model *model,
                                            struct tg_error *(*visit)(void *context,
                                                                      const struct tg_mpi_started *started),
                                            void *context);

/* What REQUEST of PROCESS is, where it is a partitioned message under way; NULL: none, or not known. */
const struct tg_mpi_partitioned *tg_mpi_model_partitioned(const struct tg_mpi_model *model, size_t process,
                                                          uint64_t request);
/* The other half of OF, under way or not; NULL: it was not made, or given up. *WAS_MADE tells which. */
const struct tg_mpi_partitioned *tg_mpi_model_other_half(const struct tg_mpi_model *model,
                                                         const struct tg_mpi_partitioned *of, bool *was_made);
/* Visits all partitioned messages that are under way, in no order. */
struct tg_error *
tg_mpi_model_visit_partitioned(const struct tg_mpi_model *model,
                               struct tg_error *(*visit)(void *context, const struct tg_mpi_partitioned *of),
                               void *context);

#endif
