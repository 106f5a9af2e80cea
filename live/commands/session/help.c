/* help, alias. */
#include "live/commands/session/commands.h"

#include "analyzer/output/paragraph.h"
#include "format/base/near_name.h"
#include "format/base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- help */

enum { WIDTH = 80 };

/* Bytes of TEXT, which are not 0, up to where a line may end: at a blank that is not within "?...?". */
static size_t next_argument(const char *text)
{
    bool is_within = false;
    size_t size = 0;
    while (text[size] != '\0' && (is_within || text[size] != ' '))
        is_within ^= text[size++] == '?';
    return size;
}

/* The line of COMMAND and its arguments, wrapped between these. */
static void write_form(const struct tg_console_command *command, FILE *out)
{
    size_t indent = strlen(command->name) + 1, at = strlen(command->name);
    fputs(command->name, out);
    for (const char *text = command->arguments; *text != '\0'; text += *text == ' ') {
        size_t size = next_argument(text);
        bool is_over = at + 1 + size > WIDTH && at > indent;
        if (is_over)
            fprintf(out, "\n%*s", (int)indent, "");
        else
            fputc(' ', out);
        fprintf(out, "%.*s", (int)size, text);
        at = (is_over ? indent : at + 1) + size;
        text += size;
    }
    fputc('\n', out);
}

static void write_usage(const struct tg_console_command *command, FILE *out)
{
    write_form(command, out);
    tg_paragraph_write(out, WIDTH, "    ", command->summary);
}

/* Whether the line at TEXT is laid out: behind blanks, as a row of columns, or as the head of one. */
static bool is_laid_out(const char *text)
{
    size_t size = strcspn(text, "\n");
    const char *columns = memmem(text, size, "  ", 2);
    return *text == ' ' || columns != NULL || strncmp(text + size, "\n  ", 3) == 0;
}

/* Bytes of TEXT up to the end of its paragraph: a line that is laid out is one. */
static size_t paragraph_size(const char *text)
{
    size_t size = strcspn(text, "\n");
    while (!is_laid_out(text) && text[size] == '\n' && text[size + 1] != '\n' && text[size + 1] != '\0' &&
           !is_laid_out(text + size + 1))
        size += 1 + strcspn(text + size + 1, "\n");
    return size;
}

/* TEXT, of several lines, as paragraphs. */
static void write_text(const char *text, FILE *out)
{
    while (*text != '\0') {
        size_t size = paragraph_size(text);
        char *paragraph = is_laid_out(text) ? NULL : strndup(text, size);
        for (char *at = paragraph; at != NULL && (at = strchr(at, '\n')) != NULL;)
            *at = ' ';
        if (paragraph == NULL)
            fprintf(out, "%.*s\n", (int)size, text);
        else
            tg_paragraph_write(out, WIDTH, NULL, paragraph);
        free(paragraph);
        text += size + (text[size] == '\n');
    }
}

static void write_command(const struct tg_console_command *command, FILE *out)
{
    write_usage(command, out);
    if (command->more != NULL) {
        fputc('\n', out);
        write_text(command->more, out);
    }
    fprintf(out, "\nExample: %s\n", command->example);
}

/* All subcommands of FIRST (SIZE bytes). False: there are none. */
static bool write_subcommands(const struct tg_console *console, const char *first, size_t size, FILE *out)
{
    size_t shown = 0;
    for (const struct tg_console_command *const *at = console->options.table->commands; *at != NULL; at++) {
        if (strncmp((*at)->name, first, size) != 0 || (*at)->name[size] != ' ')
            continue;
        write_usage(*at, out);
        shown++;
    }
    return shown > 0;
}

static bool is_of_tcl(const struct tg_console *console, const char *name)
{
    Tcl_CmdInfo info;
    return Tcl_GetCommandInfo(console->interp, name, &info) != 0;
}

static struct tg_error *help_on(const struct tg_console *console, const char *name, FILE *out)
{
    size_t first = strcspn(name, " ");
    const char *second = name + first + strspn(name + first, " ");
    char hint[TG_NEAR_NAME_HINT], shown[128];
    const struct tg_console_command *command =
        tg_console_find_command(console, name, first, second, strlen(second));
    if (command != NULL) {
        write_command(command, out);
        return NULL;
    }
    const struct tg_console_alias *alias =
        tg_console_find_alias(console, name, first, second, strlen(second), &command);
    if (alias != NULL && alias->words == NULL) {
        fprintf(out, "tollgate has no `%s`: %s%s\n", alias->name,
                tg_console_advice_where(console, alias->advice), alias->advice);
        return NULL;
    }
    if (alias != NULL) {
        fprintf(out, "%s is short for: %s%s\n", alias->name, alias->words,
                alias->tcl == TG_TCL_LOOPS             ? " (in loops of scripts it is Tcl's)"
                : alias->tcl == TG_TCL_TAKES_ARGUMENTS ? " (with arguments, and within scripts, it is Tcl's)"
                                                       : "");
        if (command != NULL) {
            fputc('\n', out);
            write_command(command, out);
        }
        return NULL;
    }
    if (*second == '\0' && write_subcommands(console, name, first, out))
        return NULL;
    if (*second == '\0' && is_of_tcl(console, name)) {
        fprintf(out, "%s is a command of Tcl, see https://www.tcl-lang.org/man/tcl8.6/TclCmd/\n", name);
        return NULL;
    }
    const char *last = strrchr(second, ' ');
    if (last != NULL && last > second) { /* "opm barrier pass": a word of the command's own */
        snprintf(shown, sizeof shown, "%.*s", (int)(last - name), name);
        return help_on(console, shown, out);
    }
    bool is_sub = *second != '\0' && (strncmp(name, "info ", 5) == 0 || strncmp(name, "opm ", 4) == 0);
    snprintf(shown, sizeof shown, "%.*s", (int)first, name);
    tg_console_near_name(console, is_sub ? shown : NULL, is_sub ? second : name, hint);
    return tg_error_create(TG_ERROR_NOT_FOUND, "unknown command '%s'%s (`help` lists the commands)",
                           tg_printable(name, shown, sizeof shown), hint);
}

static void list_commands(const struct tg_console *console, FILE *out)
{
    const struct tg_console_command *const *commands = console->options.table->commands;
    char label[64];
    int width = 0;
    for (size_t i = 0; commands[i] != NULL; i++)
        if (tg_console_is_of_use(console, commands[i]) && (int)strlen(commands[i]->name) > width)
            width = (int)strlen(commands[i]->name);
    for (size_t i = 0; commands[i] != NULL; i++)
        if (tg_console_is_of_use(console, commands[i])) {
            snprintf(label, sizeof label, "%-*s  ", width, commands[i]->name);
            tg_paragraph_write(out, WIDTH, label, commands[i]->summary);
        }
    fputs("\n`help COMMAND` explains a command, `alias` lists short names.\n"
          "Commands are Tcl: set w [info workers], foreach, if, puts.\n",
          out);
}

static struct tg_error *run_help(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    if (argc == 0) {
        list_commands(console, out);
        return NULL;
    }
    Tcl_Obj *name = Tcl_ConcatObj(argc, argv);
    Tcl_IncrRefCount(name);
    struct tg_error *error = help_on(console, Tcl_GetString(name), out);
    Tcl_DecrRefCount(name);
    return error;
}

static void offer_names(const struct tg_console *console, void (*add)(void *context, const char *word),
                        void *context)
{
    for (size_t i = 0; console->options.table->commands[i] != NULL; i++)
        if (tg_console_is_of_use(console, console->options.table->commands[i]))
            add(context, console->options.table->commands[i]->name);
}

const struct tg_console_command tg_console_help = {
    .name = "help",
    .arguments = "?COMMAND?",
    .summary = "lists the commands, or explains one",
    .example = "help opm next",
    .offer = offer_names,
    .run = run_help,
};

/* ---- alias */

struct aliases {
    const struct tg_console *console;
    const char *wanted; /* NULL: all */
    struct tg_json *json;
    FILE *out;
    bool found;
};

static void show_aliases(struct aliases *aliases, const struct tg_console_alias *table)
{
    const struct tg_console_command *command = NULL;
    for (const struct tg_console_alias *alias = table; alias->name != NULL; alias++) {
        size_t first = strcspn(alias->name, " ");
        const char *second = alias->name + first + (alias->name[first] == ' ');
        tg_console_find_alias(aliases->console, alias->name, first, second, strlen(second), &command);
        if (command == NULL || !tg_console_is_of_use(aliases->console, command) ||
            (aliases->wanted != NULL && strcmp(alias->name, aliases->wanted) != 0))
            continue;
        aliases->found = true;
        fprintf(aliases->out, "%-18s  %s\n", alias->name, alias->words);
        if (aliases->json != NULL)
            tg_json_member_string(aliases->json, alias->name, alias->words);
    }
}

static struct tg_error *run_alias(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct aliases aliases = {
        .console = console, .wanted = argc > 0 ? Tcl_GetString(argv[0]) : NULL, .out = out};
    if (argc > 1)
        return tg_console_usage(&tg_console_alias);
    aliases.json = tg_console_data_begin(&console->data);
    if (aliases.json != NULL)
        tg_json_begin_object(aliases.json);
    show_aliases(&aliases, console->options.table->aliases);
    show_aliases(&aliases, console->options.table->foreign);
    if (aliases.json != NULL)
        tg_json_end_object(aliases.json);
    char shown[64];
    return aliases.found ? NULL
                         : tg_error_create(TG_ERROR_NOT_FOUND,
                                           "unknown alias '%s' (`alias` lists the aliases; `proc` defines a "
                                           "command of your own)",
                                           tg_printable(aliases.wanted == NULL ? "" : aliases.wanted, shown,
                                                        sizeof shown));
}

const struct tg_console_command tg_console_alias = {
    .name = "alias",
    .arguments = "?NAME?",
    .summary = "lists the short names of commands",
    .example = "alias baw",
    .more = "Arguments are appended to the words that a short name stands for.",
    .run = run_alias,
};
