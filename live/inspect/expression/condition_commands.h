/* Commands that conditions may call. Conditions are decided while a thread waits and nobody else of the
 * job is served, and Tcl cannot be interrupted inside of a command: so there are only those whose time is
 * bounded by what they are given. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_CONDITION_COMMANDS_H
#define TG_LIVE_INSPECT_EXPRESSION_CONDITION_COMMANDS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <tcl.h>

/* Puts them into INTERP, a safe one: `string` with those of its subcommands, and the function that is called
 * around the right side of a shift. */
struct tg_error *tg_condition_commands_add(Tcl_Interp *interp);

/* Whether a command may be called by NAME, LENGTH bytes. */
bool tg_condition_commands_has(const char *name, size_t length);

/* "string match": what to say of the others. */
extern const char tg_condition_commands_list[];

/* The function's name: it returns its argument, which has to be less than 64. */
#define TG_CONDITION_SHIFT "tg_shift"

#endif
