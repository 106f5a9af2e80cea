/* The beginning of programs, up to which their libraries, our agent among them, are still to come: the `opm` commands of a
 * live job go on to it first. */
#ifndef TG_LIVE_COMMANDS_MOTION_BEGINNING_H
#define TG_LIVE_COMMANDS_MOTION_BEGINNING_H

#include "live/console/command.h"

/* Whether it is not known yet which process is meant: nobody has set a focus, and there are neither ranks nor workers. */
bool tg_beginning_is_to_come(const struct tg_console *console);

/* To where the own code of the programs in focus begins. *IS_LAUNCHER: nothing has moved, because the program has no main that
 * can be found, like a stripped launcher or a shell, and it may start others that are meant, or become another one, as `env`
 * does in a rank. */
struct tg_error *tg_beginning_of_job(struct tg_console *console, bool *is_launcher, FILE *out);

/* The same where they have not begun yet; else nothing. */
struct tg_error *tg_beginning_of_new(struct tg_console *console, bool *is_launcher, FILE *out);

/* Where some of the processes in focus have an agent, those that have not begun go to their beginning, so that all have.
 * *ALL_HAVE_AGENTS: but for those that are held before; with OF_EACH, where they are to come as well, such a one is a USAGE
 * error. */
struct tg_error *tg_beginning_of_rest(struct tg_console *console, bool of_each, bool *all_have_agents,
                                      FILE *out);

/* Whether the programs in focus have not begun: their libraries are still to come. */
bool tg_beginning_is_new(struct tg_console *console, FILE *out);

#endif
