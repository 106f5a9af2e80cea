/* The variables of one call of a thread that is stopped, for those who show stacks. */
#ifndef TG_LIVE_COMMANDS_INSPECT_CALL_VARIABLES_H
#define TG_LIVE_COMMANDS_INSPECT_CALL_VARIABLES_H

#include "analyzer/job/call_tree.h"
#include "live/inspect/value/text.h"

/* Kinds of variables that are asked for. */
struct tg_call_wish {
    bool arguments, locals;
};

/* The caller's storage. */
struct tg_call_variables {
    struct tg_call_variable *all; /* in the order of their blocks, innermost first */
    size_t count;
    bool are_known; /* the code has debug information: none means that it has none */
};

/* Variables of SCENE's frame that WISH names, each on one line. A value that cannot be read says why. Only
 * error: NO_MEMORY. */
struct tg_error *tg_call_variables_read(const struct tg_scene *scene, const struct tg_call_wish *wish,
                                        struct tg_call_variables *variables);
void tg_call_variables_deinit(struct tg_call_variables *variables);

/* The members "arguments" and "locals" of the object in hand, as WISH says: arrays of `name`, and `value` or
 * `error`. */
void tg_call_variables_write_json(const struct tg_scene *scene, const struct tg_call_wish *wish,
                                  struct tg_json *json);

#endif
