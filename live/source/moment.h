/* A moment of a job: every model, fed with all events up to it. */
#ifndef TG_LIVE_SOURCE_MOMENT_H
#define TG_LIVE_SOURCE_MOMENT_H

#include "analyzer/job/barrier_trace.h"
#include "analyzer/models/addresses.h"
#include "analyzer/models/dlopen.h"
#include "analyzer/models/library.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/mpir.h"
#include "analyzer/models/openmp/model.h"
#include "analyzer/models/process.h"
#include "analyzer/models/stacks.h"
#include "analyzer/models/totals.h"
#include "live/source/numbers.h"
#include "live/source/zone_counter.h"

/* Read-only for others. */
struct tg_moment {
    struct tg_process_model *processes;
    struct tg_library_model *libraries;
    struct tg_dlopen_model *dlopens;
    struct tg_totals *session;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
    struct tg_mpir_model *mpir;
    struct tg_addresses *addresses; /* also of processes that have ended, until their pid is used again */
    struct tg_stack_model *stacks;
    struct tg_zone_counter *zones;
    struct tg_control_numbers *numbers; /* NULL: see tg_moment_drop_numbers */
    struct tg_barrier_trace *barriers;  /* of live control */
    struct tg_process_entry *entry;     /* of the event fed last, NULL: it is no process's */
};

/* Nothing has happened yet. */
struct tg_error *tg_moment_create(struct tg_moment **moment);
void tg_moment_destroy(struct tg_moment *moment); /* NULL is accepted */

/* Drops the numbers that the trace has for processes and threads: a live session has its own. */
void tg_moment_drop_numbers(struct tg_moment *moment);

/* A second one that says the same and goes on from there on its own. Only error: NO_MEMORY. */
struct tg_error *tg_moment_copy(const struct tg_moment *moment, struct tg_moment **copy);

/* Only error: NO_MEMORY. Memory follows what the models keep, not events. */
struct tg_error *tg_moment_feed(struct tg_moment *moment, const struct tg_event *event);

/* The index of the latest process PID in the process model; SIZE_MAX: there is none. */
size_t tg_moment_find_pid(const struct tg_moment *moment, int64_t pid);

/* The process with number DPID of a live session; NULL: no event has told of it yet, as the job's own view may have. */
const struct tg_process_entry *tg_moment_process(const struct tg_moment *moment, uint32_t dpid);

#endif
