/* Short names of commands, with the words that they stand for. To add one: a line in the table of
 * live/console/aliases.c, and in the manual page of the command. */
#ifndef TG_LIVE_CONSOLE_ALIASES_H
#define TG_LIVE_CONSOLE_ALIASES_H

#include "live/console/command.h"

struct tg_console_alias {
    const char *name;
    const char *words; /* separated by blanks; what is written behind the name follows them */
};

/* In alphabetical order; ends with a NULL name. Those of commands that there are not do not count. */
extern const struct tg_console_alias tg_console_alias_table[];

/* Makes them commands of the console's interpreter. */
struct tg_error *tg_console_aliases_add(struct tg_console *console);

/* The alias NAME (SIZE bytes) whose command there is; NULL none. *COMMAND: the command that it runs in the
 * end, behind a dfocus. */
const struct tg_console_alias *tg_console_alias_find(const char *name, size_t size,
                                                     const struct tg_console_command **command);

#endif
