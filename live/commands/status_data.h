/* What commands of a live job answer as data (docs/json-console.md). */
#ifndef TG_LIVE_COMMANDS_STATUS_DATA_H
#define TG_LIVE_COMMANDS_STATUS_DATA_H

#include "format/base/json_writer.h"
#include "live/commands/focus_call.h"

/* For struct tg_console_command: the threads in focus, of dstatus; action points that were asked for, of
 * dactions; the number that dbreak and the like have given. */
struct tg_error *tg_control_threads_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                         const char *text, struct tg_json *json);
struct tg_error *tg_control_points_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                        const char *text, struct tg_json *json);
struct tg_error *tg_control_number_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                        const char *text, struct tg_json *json);

#endif
