/* Messages on their way, and receives that were posted: what of the MPI model waits for its other half.
 * Internal to analyzer/models/mpi.c. */
#ifndef TG_ANALYZER_MODELS_MPI_MESSAGES_H
#define TG_ANALYZER_MODELS_MPI_MESSAGES_H

#include "analyzer/models/mpi_state.h"
#include "format/base/error.h"

struct tg_mpi_messages;

struct tg_error *tg_mpi_messages_create(struct tg_mpi_messages **messages);
void tg_mpi_messages_destroy(struct tg_mpi_messages *messages); /* NULL is accepted */
/* A second one with the same; names stay those of the model that it belongs to, or that shares its names. */
struct tg_error *tg_mpi_messages_copy(const struct tg_mpi_messages *messages, struct tg_mpi_messages **copy);

/* Messages of one (job, communicator, source, destination, tag) are received in the order in which they were
 * sent. Beyond TG_MPI_MAX_KEPT the oldest is forgotten, and counted. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_messages_add_send(struct tg_mpi_messages *messages,
                                          const struct tg_mpi_message *sent);
/* The oldest that is like PATTERN (job, comm, source, destination, tag), taken out; false: none. */
bool tg_mpi_messages_take_send(struct tg_mpi_messages *messages, const struct tg_mpi_message *pattern,
                               struct tg_mpi_message *sent);

/* Whether a message on its way is one that RECEIVE, with its any source and any tag, would take. */
bool tg_mpi_messages_has_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive);

/* The oldest such message; it stays. False: none. */
bool tg_mpi_messages_find_send(const struct tg_mpi_messages *messages, const struct tg_mpi_message *receive,
                               struct tg_mpi_message *sent);
/* The receive of PROCESS by REQUEST (0: by any) that has less room than the message that it will get. */
bool tg_mpi_messages_find_truncated(const struct tg_mpi_messages *messages, size_t process, uint64_t request,
                                    struct tg_mpi_message *posted, struct tg_mpi_message *sent);

/* A receive by REQUEST of POSTED's process; a persistent one stays when it completes. */
struct tg_error *tg_mpi_messages_add_request(struct tg_mpi_messages *messages,
                                             const struct tg_mpi_message *posted, uint64_t request,
                                             bool persistent);
/* PROCESS's REQUEST is complete; false: it is no receive that is known. */
bool tg_mpi_messages_complete(struct tg_mpi_messages *messages, size_t process, uint64_t request,
                              struct tg_mpi_message *posted);
void tg_mpi_messages_drop_request(struct tg_mpi_messages *messages, size_t process, uint64_t request);

uint64_t tg_mpi_messages_unkept(const struct tg_mpi_messages *messages);

typedef struct tg_error *tg_mpi_messages_visit(void *context, const struct tg_mpi_message *message);
struct tg_error *tg_mpi_messages_visit_sends(const struct tg_mpi_messages *messages,
                                             tg_mpi_messages_visit *visit, void *context);
/* Persistent ones are left out: whether they were started is not known. */
struct tg_error *tg_mpi_messages_visit_requests(const struct tg_mpi_messages *messages,
                                                tg_mpi_messages_visit *visit, void *context);

#endif
