/* Conditions of breakpoints: Tcl expressions in which `$rdi` is a register, `$count` a variable where the
 * thread is stopped, and `${a.b[3]}` any expression of live/inspect/expression/expression.h:
 *
 * What is no Tcl expression is read as C has it: n == 3 is ${n} == 3.
 *
 *   $rdi == 3 && $count > 10        ${p->next} != 0        [string match {eth*} ${device.name}]
 *
 * Numbers, enums and pointers are numbers, an array of characters is its text. They are read when the
 * expression comes to them, so what `&&` keeps from being asked is not. Nothing in it can take long: no
 * powers, shifts by less than 64, of the commands only parts of `string` (condition_commands.h). */
#ifndef TG_LIVE_INSPECT_EXPRESSION_CONDITION_H
#define TG_LIVE_INSPECT_EXPRESSION_CONDITION_H

#include "live/inspect/target/scene.h"

#include <stddef.h>

/* All calls for one condition come from one thread: a Tcl interpreter belongs to it. */
struct tg_condition;

/* Reads TEXT; nothing of the program is asked yet. Errors: USAGE, LIMIT; *POSITION (may be NULL) is the byte
 * of TEXT where it is wrong. */
struct tg_error *tg_condition_create(const char *text, struct tg_condition **condition, size_t *position);
/* NULL is accepted. */
void tg_condition_destroy(struct tg_condition *condition);

/* Whether its names are known in SCENE, of whose frame only the pc has to be known. NOT_FOUND errors say which is not. */
struct tg_error *tg_condition_check_names(const struct tg_condition *condition, const struct tg_scene *scene);

/* Whether it asks for more than registers: then the scene's frame is to have its CFA. */
bool tg_condition_needs_frame(const struct tg_condition *condition);

/* Whether it holds in SCENE. Errors say the condition and what is wrong: of variables (NOT_FOUND, TARGET), of
 * Tcl (USAGE), LIMIT. */
struct tg_error *tg_condition_decide(struct tg_condition *condition, const struct tg_scene *scene,
                                     bool *holds);

#endif
