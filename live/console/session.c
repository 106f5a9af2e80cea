/* Focus, help, quit. */
#include "live/console/aliases.h"
#include "live/console/command.h"
#include "live/console/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- focus */

char *tg_console_focus_text(const struct tg_console *console, char *buffer)
{
    char *text = console->options.live == NULL || console->focus.set == NULL
                     ? NULL
                     : tg_ptset_string(console->focus.set);
    if (text == NULL)
        return tg_focus_print(&console->focus, console->source, buffer);
    snprintf(buffer, TG_FOCUS_TEXT, "%s", text);
    free(text);
    return buffer;
}

static void print_focus(struct tg_console *console, FILE *out)
{
    char buffer[TG_FOCUS_TEXT];
    fprintf(out, "%s\n", tg_console_focus_text(console, buffer));
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_json_string(json, buffer);
}

static struct tg_error *take_number(Tcl_Obj *word, Tcl_WideInt *number)
{
    if (Tcl_GetWideIntFromObj(NULL, word, number) == TCL_OK && *number >= 0)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "'%s' is no number", Tcl_GetString(word));
}

struct tg_error *tg_console_pointed(struct tg_console *console, struct tg_error *error, const char *text,
                                    size_t position)
{
    if (position != SIZE_MAX)
        tg_console_point(console, text, position);
    return tg_console_marked(error, text, position);
}

struct tg_error *tg_console_marked(struct tg_error *error, const char *text, size_t position)
{
    char *pointed = NULL;
    size_t size;
    FILE *stream = position == SIZE_MAX || tg_error_code(error) == TG_ERROR_NO_MEMORY
                       ? NULL
                       : open_memstream(&pointed, &size);
    if (stream == NULL)
        return error;
    fprintf(stream, "%s\n", tg_error_message(error));
    tg_ptset_point(text, position, stream);
    if (fclose(stream) == 0) {
        while (size > 0 && pointed[size - 1] == '\n')
            pointed[--size] = '\0';
        struct tg_error *told = tg_error_create(tg_error_code(error), "%s", pointed);
        tg_error_destroy(error);
        error = told;
    }
    free(pointed);
    return error;
}

/* Reads TEXT, that somebody typed, as the new focus. An error points at the character. */
static struct tg_error *read_set(struct tg_console *console, const char *text, struct tg_focus *focus)
{
    size_t position;
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, focus, &position);
    return error == NULL ? NULL : tg_console_pointed(console, error, text, position);
}

static void set_focus(struct tg_console *console, struct tg_focus *focus)
{
    tg_focus_deinit(&console->focus);
    console->focus = *focus;
    console->focus_changes++;
}

static struct tg_error *run_focus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_focus focus;
    Tcl_WideInt number = 0, worker = 0;
    size_t process, position;
    char text[64] = "all", thread[24] = "";
    const char *what = argc > 0 ? Tcl_GetString(argv[0]) : "";
    if (argc == 0) {
        print_focus(console, out);
        return NULL;
    }
    bool all = argc == 1 && strcmp(what, "all") == 0;
    bool rank = strcmp(what, "rank") == 0, pid = strcmp(what, "pid") == 0;
    bool has_worker = argc == 4 && strcmp(Tcl_GetString(argv[2]), "worker") == 0;
    if (!all && ((!rank && !pid) || (argc != 2 && !has_worker)))
        return tg_console_usage(&tg_console_focus);
    struct tg_error *error = all ? NULL : take_number(argv[1], &number);
    if (error == NULL && has_worker)
        error = take_number(argv[3], &worker);
    if (error == NULL && has_worker)
        snprintf(thread, sizeof thread, ".%" PRId64, (int64_t)worker);
    if (error == NULL && rank)
        snprintf(text, sizeof text, "dDr%" PRId64 "%s", (int64_t)number, thread);
    if (error == NULL && pid)
        error = tg_focus_find_pid(console->source, number, &process);
    if (error == NULL && pid)
        snprintf(text, sizeof text, "dD%zu%s", process + 1, thread);
    if (error == NULL)
        error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    set_focus(console, &focus);
    print_focus(console, out);
    return NULL;
}

static const char *const focus_words[] = {"rank", "pid", "worker", "all", NULL};

const struct tg_console_command tg_console_focus = {
    .name = "focus",
    .arguments = "?all | rank N ?worker M? | pid N ?worker M??",
    .summary = "what commands are about: all processes, or one; and the current worker",
    .example = "focus rank 1 worker 2",
    .words = focus_words,
    .run = run_focus,
};

/* Of the error that Tcl has. */
static enum tg_error_code code_of_error(const struct tg_console *console)
{
    static const enum tg_error_code codes[] = {
#define X(name, status, text) TG_ERROR_##name,
        TG_ERROR_CODES(X)
#undef X
    };
    Tcl_Obj *list = Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY), *name = NULL;
    if (list == NULL || Tcl_ListObjIndex(NULL, list, 1, &name) != TCL_OK || name == NULL)
        return TG_ERROR_USAGE;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(tg_error_code_name(codes[i]), Tcl_GetString(name)) == 0)
            return codes[i];
    return TG_ERROR_USAGE;
}

/* dfocus SET COMMAND: the command sees the set, afterwards the focus is what it was. */
static struct tg_error *run_focused(struct tg_console *console, int argc, Tcl_Obj *const *argv)
{
    /* Words are handed on as they are, unless the first one is more than a name itself. */
    bool is_words = argc > 1 && strpbrk(Tcl_GetString(argv[0]), " \t\n;[{") == NULL;
    Tcl_Obj *script = argc == 1 ? argv[0] : is_words ? Tcl_NewListObj(argc, argv) : Tcl_ConcatObj(argc, argv);
    Tcl_IncrRefCount(script);
    int code = Tcl_EvalObjEx(console->interp, script, 0);
    Tcl_DecrRefCount(script);
    if (code == TCL_ERROR) {
        Tcl_Obj *message = Tcl_GetObjResult(console->interp); /* reading variables may take it away */
        Tcl_IncrRefCount(message);
        struct tg_error *error = tg_error_create(code_of_error(console), "%s", Tcl_GetString(message));
        Tcl_DecrRefCount(message);
        return error;
    }
    console->result = Tcl_GetObjResult(console->interp); /* the interpreter holds it until it has another */
    return NULL;
}

static struct tg_error *run_dfocus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_focus focus;
    if (argc == 0) {
        print_focus(console, out);
        return NULL;
    }
    struct tg_error *error = read_set(console, Tcl_GetString(argv[0]), &focus);
    if (error != NULL)
        return error;
    if (argc == 1) {
        set_focus(console, &focus);
        print_focus(console, out);
        return NULL;
    }
    struct tg_focus former = console->focus;
    uint64_t changes = console->focus_changes;
    console->focus = focus;
    console->focus_changes++;
    error = run_focused(console, argc - 1, argv + 1);
    set_focus(console, &former);
    console->focus_changes = changes;
    return error;
}

static const char *const dfocus_words[] = {"all", NULL};

const struct tg_console_command tg_console_dfocus = {
    .name = "dfocus",
    .arguments = "?SET ?COMMAND??",
    .summary = "sets the focus to a set of processes and threads, or all; with COMMAND for that command only",
    .example = "dfocus {r1.3} {info workers}",
    .more =
        "SET is made of arenas, width group process . thread, of which parts may be left out: r1 is rank 1,\n"
        "2 the process with DPID 2 (see info processes), r1.3 worker 3 of rank 1, .3 worker 3 of the "
        "process\n"
        "in focus, < the lowest one; t1.3 nothing but that worker, g2 the control group of process 2, gS2 "
        "its\n"
        "share group (the same program), pW2 its workers, pL2.1 those at the same place as its worker 1, a\n"
        "all. {r0 r1.2} is several; | - & and ( ) join, exclude and intersect: gS2-r0; existent( ),\n"
        "stopped( ) and others pick by state: at a moment of a trace who lives is stopped. RANK or process\n"
        "alone leaves the current worker to follow the events.",
    .words = dfocus_words,
    .run = run_dfocus,
};

/* ---- help */

static void write_usage(const struct tg_console_command *command, FILE *out)
{
    fprintf(out, "%s%s%s\n    %s\n", command->name, *command->arguments == '\0' ? "" : " ",
            command->arguments, command->summary);
}

static struct tg_error *help_on(const char *name, FILE *out)
{
    size_t first = strcspn(name, " "), shown = 0;
    const char *second = name + first + strspn(name + first, " ");
    const struct tg_console_command *command = tg_console_find_command(name, first, second, strlen(second));
    const struct tg_console_alias *alias =
        command == NULL && *second == '\0' ? tg_console_alias_find(name, first, &command) : NULL;
    if (alias != NULL)
        fprintf(out, "%s is short for: %s\n\n", alias->name, alias->words);
    if (command != NULL) {
        write_usage(command, out);
        if (command->more != NULL)
            fprintf(out, "\n%s\n", command->more);
        fprintf(out, "\nExample: %s\n", command->example);
        return NULL;
    }
    for (size_t i = 0; *second == '\0' && tg_console_commands[i] != NULL; i++) {
        const char *other = tg_console_commands[i]->name;
        if (strncmp(other, name, first) != 0 || other[first] != ' ')
            continue;
        write_usage(tg_console_commands[i], out);
        shown++;
    }
    if (shown > 0)
        return NULL;
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "there is no help on '%s'; `help` lists the commands, everything else is Tcl",
                           name);
}

/* Whether COMMAND has something to go on here. */
static bool is_of_use(const struct tg_console *console, const struct tg_console_command *command)
{
    return command->needs == TG_CONSOLE_NEEDS_NOTHING ||
           (command->needs == TG_CONSOLE_NEEDS_LIVE) == (console->options.live != NULL);
}

static struct tg_error *run_help(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    if (argc > 0) {
        Tcl_Obj *name = Tcl_ConcatObj(argc, argv);
        Tcl_IncrRefCount(name);
        struct tg_error *error = help_on(Tcl_GetString(name), out);
        Tcl_DecrRefCount(name);
        return error;
    }
    int width = 0;
    for (size_t i = 0; tg_console_commands[i] != NULL; i++)
        if (is_of_use(console, tg_console_commands[i]) && (int)strlen(tg_console_commands[i]->name) > width)
            width = (int)strlen(tg_console_commands[i]->name);
    for (size_t i = 0; tg_console_commands[i] != NULL; i++)
        if (is_of_use(console, tg_console_commands[i]))
            fprintf(out, "%-*s  %s\n", width, tg_console_commands[i]->name, tg_console_commands[i]->summary);
    fputs("\n`help COMMAND` says more. Commands are Tcl: set w [info workers], foreach, if, puts.\n", out);
    return NULL;
}

const struct tg_console_command tg_console_help = {
    .name = "help",
    .arguments = "?COMMAND?",
    .summary = "lists the commands, or says more of one",
    .example = "help opm next",
    .run = run_help,
};

/* ---- quit */

/* -kill and -detach say what becomes of a live job. */
static struct tg_error *take_leaving(const struct tg_console_command *command, const char *word,
                                     enum tg_console_leaving *leaving)
{
    if (strcmp(word, "-kill") == 0)
        *leaving = TG_LEAVING_KILL;
    else if (strcmp(word, "-detach") == 0)
        *leaving = TG_LEAVING_DETACH;
    else
        return tg_console_usage(command);
    return NULL;
}

static struct tg_error *leave(struct tg_console *console, const struct tg_console_command *command, int argc,
                              Tcl_Obj *const *argv)
{
    Tcl_WideInt status = -1;
    enum tg_console_leaving leaving = TG_LEAVING_NOT_SAID;
    struct tg_error *error = NULL;
    if (argc > 0 && console->options.live != NULL && *Tcl_GetString(argv[0]) == '-') {
        error = take_leaving(command, Tcl_GetString(argv[0]), &leaving);
        argc--;
        argv++;
    }
    if (error == NULL && argc > 1)
        return tg_console_usage(command);
    if (error == NULL && argc == 1)
        error = take_number(argv[0], &status);
    if (error == NULL && status > 255)
        error = tg_error_create(TG_ERROR_USAGE, "an exit status is 0 to 255");
    if (error != NULL)
        return error;
    console->has_quit = true;
    console->quit_status = (int)status;
    console->leaving = leaving;
    /* No `catch` of a script keeps it from ending. */
    tg_console_stop(console);
    return NULL;
}

static struct tg_error *run_quit(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)out;
    return leave(console, &tg_console_quit, argc, argv);
}

static struct tg_error *run_exit(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)out;
    return leave(console, &tg_console_exit, argc, argv);
}

const struct tg_console_command tg_console_quit = {
    .name = "quit",
    .arguments = "?-kill | -detach? ?STATUS?",
    .summary = "ends the console, with an exit status",
    .example = "quit",
    .more =
        "Of a live job: -kill ends its processes, -detach lets them run on. Without either what the console\n"
        "started is killed, and what it attached to runs on.",
    .run = run_quit,
};

const struct tg_console_command tg_console_exit = {
    .name = "exit",
    .arguments = "?-kill | -detach? ?STATUS?",
    .summary = "the same",
    .example = "exit 1",
    .run = run_exit,
};
