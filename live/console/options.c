#include "live/console/options.h"

#include "format/base/near_name.h"
#include "format/base/printable.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { SHOWN = 64, MOST_OPTIONS = 64 };

static bool needs_value(const struct tg_console_option *option)
{
    return *option->name == '-' && option->kind != TG_OPTION_SET;
}

/* Whether OPTION, a place, takes WORD. A number by its place may be negative, which is refused as such. */
static bool is_for_place(const struct tg_console_option *option, const char *word, bool is_taken)
{
    bool is_dashed = *word == '-' && word[1] != '\0';
    switch (option->kind) {
    case TG_OPTION_EXPRESSION:
        return true;
    case TG_OPTION_NUMBER:
        return !is_taken && (!is_dashed || isdigit((unsigned char)word[1]));
    case TG_OPTION_WORD:
        return !is_taken && !is_dashed;
    case TG_OPTION_SET:
    case TG_OPTION_SECONDS:
    case TG_OPTION_CHOICE:
    case TG_OPTION_PARSED:
    case TG_OPTION_REST:
        break;
    }
    return !is_dashed && (*option->name != '/' || *word == '/');
}

/* Whether WORD is OPTION's name, with one dash or two; a single letter has one. */
static bool is_name(const struct tg_console_option *option, const char *word)
{
    const char *name = option->name;
    name += strncmp(name, "--", 2) == 0;
    word += strncmp(word, "--", 2) == 0 && word[2] != '\0' && word[3] != '\0';
    return strcmp(name, word) == 0;
}

static bool takes_expression(const struct tg_console_option *options)
{
    for (; options->name != NULL; options++)
        if (options->kind == TG_OPTION_EXPRESSION)
            return true;
    return false;
}

/* The option called WORD, if its value follows, else the place that takes WORD; NULL none. TAKEN: a bit for
 * each option that was given already. */
static const struct tg_console_option *find(const struct tg_console_option *options, const char *word,
                                            bool is_last, uint64_t taken)
{
    bool is_exact = takes_expression(options); /* --count is one less than count */
    for (const struct tg_console_option *option = options; option->name != NULL; option++) {
        bool is_taken = taken >> (option - options) & 1;
        bool is_it = is_exact ? strcmp(option->name, word) == 0 : is_name(option, word);
        if (*option->name == '-' ? is_it && !(is_last && needs_value(option))
                                 : is_for_place(option, word, is_taken))
            return option;
    }
    return NULL;
}

/* WORD is not what OPTION takes; NULL: it is missing. */
static struct tg_error *refuse_value(const struct tg_console_command *command,
                                     const struct tg_console_option *option, const char *word)
{
    char shown[SHOWN], range[SHOWN], hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    const char *takes = option->takes != NULL               ? option->takes
                        : option->kind == TG_OPTION_SECONDS ? "a number of seconds"
                                                            : range;
    snprintf(range, sizeof range, "a number from %" PRId64 " to %" PRId64, option->lowest, option->highest);
    if (word == NULL)
        return tg_error_create(TG_ERROR_USAGE, "%s: %s needs a value: %s", command->name, option->name,
                               takes);
    tg_near_name_init(&near, word);
    for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++)
        tg_near_name_offer(&near, option->words[i]);
    return tg_error_create(TG_ERROR_USAGE, "%s: %s %s %s, not '%s'%s", command->name, option->name,
                           *option->name == '-' ? "takes" : "is", takes,
                           tg_printable(word, shown, sizeof shown), tg_near_name_hint(&near, hint));
}

/* OPTION goes alone, but WORD was given too. */
static struct tg_error *refuse_company(const struct tg_console_command *command,
                                       const struct tg_console_option *option, const char *word)
{
    char shown[SHOWN];
    return tg_error_create(TG_ERROR_USAGE, "%s: %s cannot be combined with '%s'", command->name, option->name,
                           tg_printable(word, shown, sizeof shown));
}

static struct tg_error *refuse(const struct tg_console_command *command, const char *word)
{
    char shown[SHOWN], hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    tg_near_name_init(&near, word);
    for (const struct tg_console_option *option = command->options; option->name != NULL; option++) {
        if (is_name(option, word))
            return refuse_value(command, option, NULL);
        if (*option->name == '-')
            tg_near_name_offer(&near, option->name);
    }
    if (*word != '-' || word[1] == '\0')
        return tg_console_usage(command);
    return tg_error_create(TG_ERROR_USAGE, "%s: unknown option '%s'%s (`help %s` lists the options)",
                           command->name, tg_printable(word, shown, sizeof shown),
                           tg_near_name_hint(&near, hint), command->name);
}

/* Always NULL: no error. */
static struct tg_error *put(int64_t number, const struct tg_console_option *option, void *variable)
{
    memcpy(variable, &number, option->size); /* little-endian: the low bytes come first */
    return NULL;
}

/* Puts WORD where OPTION says. */
static struct tg_error *take(const struct tg_console_command *command, const struct tg_console_option *option,
                             Tcl_Obj *word, void *variable)
{
    Tcl_WideInt number;
    double seconds;
    switch (option->kind) {
    case TG_OPTION_NUMBER:
        if (Tcl_GetWideIntFromObj(NULL, word, &number) != TCL_OK || number < option->lowest ||
            number > option->highest)
            break;
        return put(number, option, variable);
    case TG_OPTION_SECONDS:
        if (Tcl_GetDoubleFromObj(NULL, word, &seconds) != TCL_OK || !(seconds >= 0))
            break;
        memcpy(variable, &seconds, sizeof seconds);
        return NULL;
    case TG_OPTION_CHOICE:
        for (number = 0; option->words[number] != NULL; number++)
            if (strcmp(option->words[number], Tcl_GetString(word)) == 0)
                return put(option->value + number, option, variable);
        break;
    case TG_OPTION_PARSED:
        return tg_error_prefix(option->parse(option->name, Tcl_GetString(word), variable), "%s",
                               command->name);
    case TG_OPTION_WORD:
        *(const char **)variable = Tcl_GetString(word);
        return NULL;
    case TG_OPTION_SET:
        return put(option->value, option, variable);
    case TG_OPTION_REST:
    case TG_OPTION_EXPRESSION:
        break; /* end the options: nothing takes them */
    }
    return refuse_value(command, option, Tcl_GetString(word));
}

/* The option of --NAME=VALUE, which WORD may be; *VALUE is in it. NULL: it is none. */
static const struct tg_console_option *find_joined(const struct tg_console_option *options, const char *word,
                                                   const char **value)
{
    const char *sign = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    for (const struct tg_console_option *option = options; sign != NULL && option->name != NULL; option++)
        if (needs_value(option) && option->kind < TG_OPTION_PARSED && !option->alone &&
            strlen(option->name) == (size_t)(sign - word) &&
            memcmp(option->name, word, (size_t)(sign - word)) == 0) {
            *value = sign + 1;
            return option;
        }
    return NULL;
}

static struct tg_error *take_joined(const struct tg_console_command *command,
                                    const struct tg_console_option *option, const char *value, void *variable)
{
    if (option->kind == TG_OPTION_WORD) { /* lives as long as the command's words do */
        *(const char **)variable = value;
        return NULL;
    }
    Tcl_Obj *word = Tcl_NewStringObj(value, -1);
    Tcl_IncrRefCount(word);
    struct tg_error *error = take(command, option, word, variable);
    Tcl_DecrRefCount(word);
    return error;
}

struct tg_error *tg_console_take_options(const struct tg_console_command *command, int argc,
                                         Tcl_Obj *const *argv, void *values, int *used)
{
    struct tg_error *error = NULL;
    uint64_t taken = 0;
    int i = 0;
    for (; error == NULL && i < argc; i++) {
        const char *word = Tcl_GetString(argv[i]), *value = NULL;
        const struct tg_console_option *option = find_joined(command->options, word, &value);
        if (option != NULL) {
            error = take_joined(command, option, value, (char *)values + option->offset);
            continue;
        }
        option = find(command->options, word, i + 1 == argc, taken);
        if (option == NULL)
            return refuse(command, word);
        if (option->kind >= TG_OPTION_REST)
            break;
        assert(option - command->options < MOST_OPTIONS);
        taken |= UINT64_C(1) << (option - command->options);
        int first = i;
        i += needs_value(option);
        if (option->alone && i - first + 1 < argc)
            return refuse_company(command, option, Tcl_GetString(argv[first > 0 ? 0 : i + 1]));
        error = take(command, option, argv[i], (char *)values + option->offset);
    }
    if (used != NULL)
        *used = i;
    return error;
}
