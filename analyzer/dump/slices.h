/* Slices and flows of the trace event format: zones of OpenMP, calls of MPI, messages. A trace has millions of them, so their
 * lines are put together here, and not by the JSON writer; what is said of names is kept as text. */
#ifndef TG_ANALYZER_DUMP_SLICES_H
#define TG_ANALYZER_DUMP_SLICES_H

#include "analyzer/dump/dump.h"
#include "analyzer/models/mpi/state.h"
#include "analyzer/models/openmp/state.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_slices;

/* DUMP must outlive it. Lines are elements of an array two deep that has one already. */
struct tg_error *tg_slices_create(const struct tg_dump *dump, struct tg_slices **slices);
void tg_slices_destroy(struct tg_slices *slices); /* NULL is accepted */

/* Gives the stream what it has not got yet: before anything else is written to it. */
void tg_slices_flush(struct tg_slices *slices);

/* A zone of OpenMP, from where PLACE was entered to END_NS, of thread TID of the process of ENTRY. The only error: NO_MEMORY. */
struct tg_error *tg_slices_write_place(struct tg_slices *slices, const struct tg_process_entry *entry,
                                       int32_t tid, const struct tg_openmp_place *place, uint64_t end_ns);

/* A call of MPI, which ended with LEAVE, NULL: not in the trace. The only error: NO_MEMORY. */
struct tg_error *tg_slices_write_call(struct tg_slices *slices, const struct tg_process_entry *entry,
                                      int32_t tid, const struct tg_mpi_call *call,
                                      const struct tg_event_mpi_leave *leave, uint64_t end_ns);

/* One end of flow ID: PHASE 's' in the call that sends, 'f' in the one that received. */
void tg_slices_write_flow(struct tg_slices *slices, char phase, const struct tg_process_entry *entry,
                          int32_t tid, uint64_t id, uint64_t time_ns);

/* Whether what happened from START_NS to END_NS in the process of ENTRY, and began with an event of KIND, is selected. */
bool tg_slices_show(const struct tg_dump *dump, const struct tg_process_entry *entry, enum tg_event_kind kind,
                    uint64_t start_ns, uint64_t end_ns);

/* TIME_NS, or the end of the selected window that it is beyond. */
uint64_t tg_slices_clip(const struct tg_dump *dump, uint64_t time_ns);

/* Viewers know a process, or thread, by its NUMBER alone: of one that reuses a pid it is another one. pid 0 is the
 * kernel's idle task to them, so the recorder (ENTRY NULL) gets a number that no process has. */
int64_t tg_slices_number(const struct tg_process_entry *entry, int32_t number);

#endif
