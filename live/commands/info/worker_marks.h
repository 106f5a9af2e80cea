/* Marks of `info workers`: which workers are held, and whether one alone runs. */
#ifndef TG_LIVE_COMMANDS_INFO_WORKER_MARKS_H
#define TG_LIVE_COMMANDS_INFO_WORKER_MARKS_H

#include "analyzer/job/view.h"
#include "live/console/command.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether commands of this session let one worker run at a time: a bool, set by them. */
extern const struct tg_console_state_kind tg_one_runs_kind;

struct tg_worker_marks {
    struct tg_job_view *view;
    bool one_runs;
    bool *held; /* by index of the worker in the OpenMP model */
    size_t n_held;
};

/* Of this moment of the trace, or of the live job. MARKS is initialised by the call, and the caller's to deinit, also
 * where it fails. */
struct tg_error *tg_worker_marks_take(const struct tg_console *console, struct tg_worker_marks *marks);
void tg_worker_marks_deinit(struct tg_worker_marks *marks);

/* Whether WORKER itself or its process is held. */
bool tg_worker_marks_is_held(const struct tg_worker_marks *marks, const struct tg_openmp_worker *worker);
/* Whether no other worker of its process runs when it does: there are others, and all are held, or one alone runs. */
bool tg_worker_marks_is_alone(const struct tg_worker_marks *marks, const struct tg_console *console,
                              const struct tg_openmp_worker *worker);

#endif
