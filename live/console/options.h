/* Options of a command: a table that says what each one takes and where its value goes. Completion offers
 * the names in it. */
#ifndef TG_LIVE_CONSOLE_OPTIONS_H
#define TG_LIVE_CONSOLE_OPTIONS_H

#include "live/console/command.h"

enum tg_console_option_kind {
    TG_OPTION_SET,     /* takes nothing; an integer or bool becomes VALUE */
    TG_OPTION_NUMBER,  /* an unsigned integer from LOWEST to HIGHEST */
    TG_OPTION_SECONDS, /* a double, not negative */
    TG_OPTION_CHOICE,  /* an enum: VALUE plus the index in WORDS */
    TG_OPTION_WORD,    /* a const char *, which lives as long as the arguments */
    TG_OPTION_PARSED,  /* what PARSE makes of it */
    /* end the options: the words from here on are the caller's */
    TG_OPTION_REST,       /* the first begins with no dash */
    TG_OPTION_EXPRESSION, /* the first is no option with its value, but may begin with a dash: -x + 1 */
};

struct tg_console_option {
    /* "-timeout". A word by its place: "LEVELS"; a word or a number by its place may be given once. "/FORMAT"
     * is for words that begin with a slash. */
    const char *name;
    enum tg_console_option_kind kind;
    size_t offset, size; /* of the variable in the command's struct, in bytes */
    int64_t value;
    int64_t lowest, highest;
    const char *const *words; /* of TG_OPTION_CHOICE; ends with NULL */
    const char *takes;        /* words for the value, NULL: "a number from 1 to 8" */
    bool alone;               /* the option and its value are all that may be given */
    /* VARIABLE is in the command's struct. Errors: USAGE, without the command's name. */
    struct tg_error *(*parse)(const char *option, const char *word, void *variable);
};

#define TG_OPTION_IN(type, member) .offset = offsetof(type, member), .size = sizeof((type *)0)->member

#define TG_OPTION_FLAG(name, type, member)                                                                   \
    {                                                                                                        \
        name, TG_OPTION_SET, TG_OPTION_IN(type, member), .value = true                                       \
    }
/* The same, given alone. */
#define TG_OPTION_FLAG_ALONE(name, type, member)                                                             \
    {                                                                                                        \
        name, TG_OPTION_SET, TG_OPTION_IN(type, member), .value = true, .alone = true                        \
    }

/* Reads the arguments of COMMAND by its table into VALUES, its struct, which has the defaults already; of an
 * option that is given twice the last one holds. An option of more than one letter may have one dash or two, but where an
 * expression is taken; --NAME=VALUE is --NAME VALUE. USAGE errors name the command and the option, say what it
 * takes, or which option was meant. *USED, where it is not NULL: the number of words before the rest. */
struct tg_error *tg_console_take_options(const struct tg_console_command *command, int argc,
                                         Tcl_Obj *const *argv, void *values, int *used);

#endif
