/* quit, exit. */
#include "live/commands/session/commands.h"

#include <string.h>

/* An exit status. */
static struct tg_error *take_status(Tcl_Obj *word, Tcl_WideInt *status)
{
    if (Tcl_GetWideIntFromObj(NULL, word, status) == TCL_OK && *status >= 0 && *status <= 255)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "invalid exit status '%s': give a number from 0 to 255",
                           Tcl_GetString(word));
}

/* -kill or -detach, for a live job. */
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
        error = take_status(argv[0], &status);
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
    .summary = "exits tollgate, with exit status STATUS",
    .example = "quit",
    .more = "With a live job, -kill kills its processes and -detach lets them continue. By default a job "
            "that the\n"
            "console started is killed, and processes that it attached to continue.",
    .run = run_quit,
};

const struct tg_console_command tg_console_exit = {
    .name = "exit",
    .arguments = "?-kill | -detach? ?STATUS?",
    .summary = "same as quit",
    .example = "exit 1",
    .run = run_exit,
};
