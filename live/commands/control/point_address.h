/* Addresses of action points: an address of one process, as all processes of its program have it; and where a
 * point is planted. */
#ifndef TG_LIVE_COMMANDS_CONTROL_POINT_ADDRESS_H
#define TG_LIVE_COMMANDS_CONTROL_POINT_ADDRESS_H

#include "analyzer/job/action_points.h"
#include "live/control/request.h"

/* The specification, for the caller to free, of ADDRESS, a number or a function's name, which -address takes:
 * where FOCUS (complete) is about more than one process, what lies there in the process of interest, by object
 * and offset, for objects lie elsewhere in each process. USAGE error where it is in no object. */
struct tg_error *tg_point_address_spec(const struct tg_request *control, const struct tg_ptset *focus,
                                       const char *address, char **spec);

/* A line for each place where POINT is planted, with the processes that have it; nothing where there is one
 * alone. Only error: NO_MEMORY. */
struct tg_error *tg_point_address_list(const struct tg_request *control, const struct tg_action_point *point);

#endif
