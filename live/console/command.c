#include "live/console/command.h"

#include "format/base/near_name.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORDS = 8, MAX_NAME = 64 };

struct tg_error *tg_console_usage(const struct tg_console_command *command)
{
    return tg_error_create(TG_ERROR_USAGE, "usage: %s%s%s", command->name,
                           *command->arguments == '\0' ? "" : " ", command->arguments);
}

bool tg_console_is_of_use(const struct tg_console *console, const struct tg_console_command *command)
{
    return command->needs == TG_CONSOLE_NEEDS_NOTHING ||
           (command->needs == TG_CONSOLE_NEEDS_LIVE) == (console->options.live != NULL);
}

/* ---- finding */

static bool is_word(const char *text, size_t size, const char *word, size_t word_size)
{
    return size == word_size && memcmp(text, word, size) == 0;
}

/* Whether NAME is FIRST, or FIRST SECOND. */
static bool is_name(const char *name, const char *first, size_t first_size, const char *second,
                    size_t second_size)
{
    size_t length = strcspn(name, " ");
    if (!is_word(first, first_size, name, length))
        return false;
    return name[length] == '\0' || is_word(second, second_size, name + length + 1, strlen(name + length + 1));
}

const struct tg_console_command *tg_console_find_command(const struct tg_console *console, const char *first,
                                                         size_t first_size, const char *second,
                                                         size_t second_size)
{
    const struct tg_console_command *const *commands = console->options.table->commands, *found = NULL;
    size_t n_found = 0;
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *name = commands[i]->name;
        size_t length = strcspn(name, " ");
        if (is_name(name, first, first_size, second, second_size))
            return commands[i];
        if (is_word(first, first_size, name, length) && second_size > 0 &&
            strncmp(name + length + 1, second, second_size) == 0) {
            found = commands[i];
            n_found++;
        }
    }
    return n_found == 1 ? found : NULL;
}

/* The command that WORDS run, behind `dfocus SET`. */
static const struct tg_console_command *command_of(const struct tg_console *console, const char *words)
{
    static const char prefix[] = "dfocus ";
    if (strncmp(words, prefix, sizeof prefix - 1) == 0) {
        words += sizeof prefix - 1;
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    size_t first = strcspn(words, " ");
    const char *second = words + first + strspn(words + first, " ");
    return tg_console_find_command(console, words, first, second, strcspn(second, " "));
}

const struct tg_console_alias *tg_console_find_alias(const struct tg_console *console, const char *first,
                                                     size_t first_size, const char *second,
                                                     size_t second_size,
                                                     const struct tg_console_command **command)
{
    const struct tg_console_alias *const tables[] = {console->options.table->aliases,
                                                     console->options.table->foreign};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct tg_console_alias *alias = tables[t]; alias->name != NULL; alias++) {
            if (!is_name(alias->name, first, first_size, second, second_size))
                continue;
            *command = alias->words == NULL ? NULL : command_of(console, alias->words);
            return alias;
        }
    return NULL;
}

const char *tg_console_advice_where(const struct tg_console *console, const char *advice)
{
    const char *quote = strchr(advice, '`');
    if (quote == NULL)
        return "";
    const char *name = quote + 1;
    const size_t size = strcspn(name, "`"), first = strcspn(name, " `"),
                 rest = first < size ? first + 1 : size;
    const struct tg_console_command *command =
        tg_console_find_command(console, name, first, name + rest, size - rest);
    if (command == NULL)
        (void)tg_console_find_alias(console, name, first, name + rest, size - rest, &command);
    if (command == NULL || tg_console_is_of_use(console, command))
        return "";
    return command->needs == TG_CONSOLE_NEEDS_LIVE ? "in a live job (tollgate live), "
                                                   : "in a recorded trace (tollgate replay), ";
}

const char *tg_console_line_words(const struct tg_console *console, const char *line)
{
    static const char blanks[] = " \t\n;";
    const struct tg_console_command *command;
    line += strspn(line, blanks);
    size_t first = strcspn(line, blanks);
    const char *second = line + first + strspn(line + first, blanks);
    size_t size = strcspn(second, blanks);
    if (second[size + strspn(second + size, blanks)] != '\0')
        return NULL;
    const struct tg_console_alias *alias =
        tg_console_find_alias(console, line, first, second, size, &command);
    bool is_whole = alias != NULL && (strchr(alias->name, ' ') != NULL) == (size > 0);
    return is_whole && alias->tcl == TG_TCL_TAKES_ARGUMENTS ? alias->words : NULL;
}

struct tg_error *tg_console_needs_subcommand(const struct tg_console *console, const char *first)
{
    const struct tg_console_command *const *commands = console->options.table->commands;
    char list[512] = "";
    size_t size = 0, length = strlen(first);
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *name = commands[i]->name;
        if (!is_word(first, length, name, strcspn(name, " ")) || name[length] == '\0' ||
            (!tg_console_is_of_use(console, commands[i]) && commands[i]->instead == NULL))
            continue;
        int added =
            snprintf(list + size, sizeof list - size, "%s%s", size == 0 ? "" : ", ", name + length + 1);
        size += (size_t)added < sizeof list - size ? (size_t)added : 0;
    }
    list[size] = '\0'; /* without what there was no room for */
    return tg_error_create(TG_ERROR_USAGE, "%s needs a subcommand: %s (`help %s` explains them)", first, list,
                           first);
}

/* ---- names */

void tg_console_each_name(const struct tg_console *console, const char *first, size_t first_size,
                          void (*add)(void *context, const char *name), void *context)
{
    const struct tg_console_command *const *commands = console->options.table->commands;
    char last[MAX_NAME] = "", word[MAX_NAME];
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *name = commands[i]->name;
        size_t length = strcspn(name, " ");
        if (!tg_console_is_of_use(console, commands[i]))
            continue;
        if (first != NULL) {
            if (name[length] == ' ' && is_word(first, first_size, name, length))
                add(context, name + length + 1);
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)length, name);
        if (strcmp(word, last) != 0)
            add(context, word);
        memcpy(last, word, sizeof last);
    }
}

/* Offers the first LENGTH bytes of NAME; KEPT has them where they are the nearest. */
static void offer_first_word(struct tg_near_name *near, const char *name, size_t length,
                             char kept[TG_NEAR_NAME_HINT])
{
    char word[TG_NEAR_NAME_HINT];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    tg_near_name_offer(near, word);
    if (near->best == word)
        near->best = memcpy(kept, word, sizeof word);
}

const char *tg_console_near_name(const struct tg_console *console, const char *first, const char *word,
                                 char *buffer)
{
    const struct tg_console_table *table = console->options.table;
    struct tg_near_name near;
    char first_word[TG_NEAR_NAME_HINT];
    tg_near_name_init(&near, word);
    for (size_t i = 0; table->commands[i] != NULL; i++) {
        const char *name = table->commands[i]->name;
        size_t length = strcspn(name, " ");
        if (!tg_console_is_of_use(console, table->commands[i]))
            continue;
        if (first == NULL)
            offer_first_word(&near, name, length, first_word);
        else if (name[length] == ' ' && is_word(first, strlen(first), name, length))
            tg_near_name_offer(&near, name + length + 1);
    }
    for (const struct tg_console_alias *alias = table->foreign; alias->name != NULL; alias++) {
        const char *blank = strchr(alias->name, ' ');
        if (first == NULL && blank == NULL)
            tg_near_name_offer(&near, alias->name);
        else if (first != NULL && blank != NULL &&
                 is_word(first, strlen(first), alias->name, (size_t)(blank - alias->name)))
            tg_near_name_offer(&near, blank + 1);
    }
    return tg_near_name_hint(&near, buffer);
}
