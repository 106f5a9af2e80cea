/* What commands that make action points have in common. */
#ifndef TG_LIVE_COMMANDS_CONTROL_POINT_REQUEST_H
#define TG_LIVE_COMMANDS_CONTROL_POINT_REQUEST_H

#include "analyzer/job/action_points.h"
#include "live/console/base.h"
#include "live/control/request.h"

/* The focus as a set, *MADE, the caller's to destroy, where it is everything, which has none: then with the lowest rank as
 * the process of interest, if there is one, for nobody means the launcher. Errors: NO_MEMORY. */
struct tg_error *tg_point_request_focus(const struct tg_request *control, struct tg_ptset **made,
                                        const struct tg_ptset **focus);

/* Errors of CONDITION that need no thread to be found; *POSITION is then the byte that is wrong, else SIZE_MAX. */
struct tg_error *tg_point_request_condition(const char *condition, size_t *position);

/* The width that setting NAME has. */
struct tg_error *tg_point_request_default(const struct tg_console *console, const char *name,
                                          enum tg_barrier_stop *stop);

#endif
