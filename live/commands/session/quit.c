/* quit, exit. */
#include "live/commands/session/commands.h"
#include "live/console/options.h"

struct leave {
    int status;
    enum tg_console_leaving leaving;
};

static const struct tg_console_option options[] = {
    {"-kill", TG_OPTION_SET, TG_OPTION_IN(struct leave, leaving), .value = TG_LEAVING_KILL},
    {"-detach", TG_OPTION_SET, TG_OPTION_IN(struct leave, leaving), .value = TG_LEAVING_DETACH},
    {"STATUS", TG_OPTION_NUMBER, TG_OPTION_IN(struct leave, status), .highest = 255},
    {0}};

static struct tg_error *leave(struct tg_console *console, const struct tg_console_command *command, int argc,
                              Tcl_Obj *const *argv)
{
    struct leave wanted = {.status = -1, .leaving = TG_LEAVING_NOT_SAID};
    struct tg_error *error = tg_console_take_options(command, argc, argv, &wanted, NULL);
    if (error == NULL && wanted.leaving != TG_LEAVING_NOT_SAID && console->options.live == NULL)
        error = tg_error_create(TG_ERROR_USAGE, "%s: %s needs a live job: this is a recorded trace",
                                command->name, wanted.leaving == TG_LEAVING_KILL ? "-kill" : "-detach");
    if (error != NULL)
        return error;
    console->has_quit = true;
    console->quit_status = wanted.status;
    console->leaving = wanted.leaving;
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
    .options = options,
    .run = run_quit,
};

const struct tg_console_command tg_console_exit = {
    .name = "exit",
    .arguments = "?-kill | -detach? ?STATUS?",
    .summary = "same as quit",
    .example = "exit 1",
    .options = options,
    .run = run_exit,
};
