/* MPIR process acquisition: an engine observer that recognises starters of MPI jobs (mpirun, srun) by their
 * symbols, speaks the protocol with them, and takes the ranks that their tables name (docs/mpir.md).
 *
 * A launched starter is told that it is debugged (MPIR_being_debugged) at its entry point, and stops for a
 * moment at each call of MPIR_Breakpoint. Open MPI's is not told, unless that is asked for: it fills its table
 * anyway, which is read while it runs, and its ranks need not wait for each other. An attached one is only read, unless more is asked for: nothing is
 * planted in it. */
#ifndef TG_RECORDER_MPIR_SESSION_H
#define TG_RECORDER_MPIR_SESSION_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/loader/link_map.h"
#include "recorder/mpir/wanted_ranks.h"
#include "recorder/process/image_cache.h"

#include <stdbool.h>

struct tg_mpir_session;

struct tg_mpir_session_options {
    struct tg_image_cache *images;
    const struct tg_agent_injector *agent; /* asked what it did to a program; NULL: it is in nothing */
    const struct tg_wanted_ranks *ranks;   /* to acquire */
    bool insist;     /* speak the protocol with attached starters, too: breakpoint and MPIR_being_debugged */
    bool trust;      /* take what a table names, whatever it runs and whose it is */
    bool is_foreign; /* the launched starter only shows a job that runs anyway (sattach) */
    bool
        announces; /* MPIR_being_debugged is also written where the table is filled without that (Open MPI) */
};

/* Adds itself to ENGINE, behind the observers that find libraries, and must outlive it; what OPTIONS points
 * to must outlive both. */
struct tg_error *tg_mpir_session_create(struct tg_engine *engine,
                                        const struct tg_mpir_session_options *options,
                                        struct tg_mpir_session **session);
void tg_mpir_session_destroy(struct tg_mpir_session *session); /* NULL is accepted */

/* Starters that were recognised so far. */
uint64_t tg_mpir_session_starters(const struct tg_mpir_session *session);
/* Whether the program that PID runs is, by its environment, a rank that was not asked for. */
bool tg_mpir_session_leaves_out(const struct tg_mpir_session *session, pid_t pid);
/* Whether a starter that nobody is announced to has no table yet; and looks for it: outside of stops, too. */
bool tg_mpir_session_awaits_tables(const struct tg_mpir_session *session);
void tg_mpir_session_look(struct tg_mpir_session *session);
/* Whether PROCESS is a starter whose ranks are, or were, there. */
bool tg_mpir_session_has_launched(const struct tg_mpir_session *session, const struct tg_process *process);
/* The lists of PROCESS's loader as they were when its libraries were looked at last, from its entry point on; NULL: not known. */
const struct tg_link_maps *tg_mpir_session_link_maps(const struct tg_mpir_session *session,
                                                     const struct tg_process *process);

#endif
