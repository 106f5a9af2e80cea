/* Messages on their way, and receives that were posted: what of the MPI model waits for its other half.
 * Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_MESSAGES_H
#define TG_ANALYZER_MODELS_MPI_MESSAGES_H

#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"

struct tg_mpi_messages;

struct tg_error *tg_mpi_messages_create(struct tg_mpi_messages **messages);
void tg_mpi_messages_destroy(struct tg_mpi_messages *messages); /* NULL is accepted */
/* A second one with the same; names stay those of the model that it belongs to, or that shares its names. */
struct tg_error *tg_mpi_messages_copy(const struct tg_mpi_messages *messages, struct tg_mpi_messages **copy);

/* Messages of one (job, communicator, source, destination, tag) are received in the order in which they were
 * sent. Gives SENT its id. Beyond TG_MPI_MAX_KEPT the oldest is forgotten, and counted. Only error:
 * NO_MEMORY. */
struct tg_error *tg_mpi_messages_add_send(struct tg_mpi_messages *messages, struct tg_mpi_message *sent);
/* The message from SOURCE with TAG that RECEIVE has got, taken out: not one that a receive gets that was posted before it and
 * is still under way. Where that cannot be told (IS_OWN false), the oldest. False: none. */
bool tg_mpi_messages_take_send(struct tg_mpi_messages *messages, const struct tg_mpi_message *receive,
                               int64_t source, int64_t tag, struct tg_mpi_message *sent, bool *is_own);

/* Takes out the one with ID: it was cancelled. */
void tg_mpi_messages_cancel_send(struct tg_mpi_messages *messages, const struct tg_mpi_message *sent);

/* Whether a message on its way is one that RECEIVE, with its any source and any tag, would take. */
bool tg_mpi_messages_has_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive);

enum tg_mpi_request_use {
    TG_MPI_REQUEST_RECEIVES,
    TG_MPI_REQUEST_SENDS,
};

/* The message that RECEIVE gets, the oldest one if it is for any source or any tag; it stays. False: none. */
bool tg_mpi_messages_find_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive,
                               struct tg_mpi_message *sent);
/* The receive of PROCESS by REQUEST (0: by any) that has less room than the message that it will get. */
bool tg_mpi_messages_find_truncated(const struct tg_mpi_messages *messages, size_t process, uint64_t request,
                                    struct tg_mpi_message *posted, struct tg_mpi_message *sent);

/* A receive, or a send, by the request POSTED->request of its process; a persistent one stays when it
 * completes, and is under way from tg_mpi_messages_start on. */
struct tg_error *tg_mpi_messages_add_request(struct tg_mpi_messages *messages,
                                             const struct tg_mpi_message *posted, enum tg_mpi_request_use use,
                                             bool persistent);
/* PROCESS starts a persistent REQUEST; one that is not known, or was started already, stays as it is. Only
 * error: NO_MEMORY. */
struct tg_error *tg_mpi_messages_start(struct tg_mpi_messages *messages, size_t process, uint64_t request,
                                       uint64_t time_ns);
/* The send (with an id) or receive that PROCESS's REQUEST is, where it is under way; NULL not known. */
const struct tg_mpi_message *tg_mpi_messages_request(const struct tg_mpi_messages *messages, size_t process,
                                                     uint64_t request);
/* PROCESS's REQUEST is complete: it was POSTED. False: it is not known. */
bool tg_mpi_messages_complete(struct tg_mpi_messages *messages, size_t process, uint64_t request,
                              struct tg_mpi_message *posted);
void tg_mpi_messages_drop_request(struct tg_mpi_messages *messages, size_t process, uint64_t request);

uint64_t tg_mpi_messages_unkept(const struct tg_mpi_messages *messages);

typedef struct tg_error *tg_mpi_messages_visit(void *context, const struct tg_mpi_message *message);
struct tg_error *tg_mpi_messages_visit_sends(const struct tg_mpi_messages *messages,
                                             tg_mpi_messages_visit *visit, void *context);
/* Receives; persistent ones where they were started. */
struct tg_error *tg_mpi_messages_visit_requests(const struct tg_mpi_messages *messages,
                                                tg_mpi_messages_visit *visit, void *context);
/* Sends as well. */
struct tg_error *tg_mpi_messages_visit_active(const struct tg_mpi_messages *messages,
                                              tg_mpi_messages_visit *visit, void *context);

#endif
