/* A moment of a trace as commands see a job: who there is, in which groups. */
#ifndef TG_LIVE_SOURCE_MOMENT_VIEW_H
#define TG_LIVE_SOURCE_MOMENT_VIEW_H

#include "analyzer/job/view.h"
#include "live/source/moment.h"

/* Fills VIEW, which is empty: a process's dpid is its index + 1 and its tag the index; threads are its OpenMP
 * workers by number, tagged with their index, or one without a worker, tagged UINT64_MAX. At a moment of a
 * trace who lives is stopped, at the place of the program that its last event named. Only error:
 * NO_MEMORY. */
struct tg_error *tg_moment_view(const struct tg_moment *moment, struct tg_job_view *view);

#endif
