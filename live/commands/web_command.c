/* `tollgate web` */
#include "live/commands/web_command.h"

#include "analyzer/output/trace_arguments.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "live/commands/page/page_session.h"
#include "live/commands/table.h"
#include "live/console/console.h"
#include "live/console/flush.h"
#include "live/source/interrupt.h"
#include "live/source/trace_source.h"
#include "live/web/server.h"
#include "live/web/session.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PORT = 0x3000, KEY_HOST, KEY_OPEN, KEY_VIEW_ONLY };

struct web_arguments {
    struct tg_trace_arguments trace;
    struct tg_page_start start;
    int status;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct web_arguments *arguments = state->input;
    char *end = NULL;
    unsigned long number;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->trace;
        return 0;
    case KEY_PORT:
        errno = 0;
        number = strtoul(argument, &end, 10);
        if (*argument < '0' || *argument > '9' || *end != '\0' || errno != 0 || number > 65535)
            tg_command_line_error(state, "--port takes a number from 0 to 65535");
        arguments->start.port = (uint16_t)number;
        return 0;
    case KEY_HOST:
        arguments->start.host = argument;
        return 0;
    case KEY_OPEN:
        arguments->start.open = true;
        return 0;
    case KEY_VIEW_ONLY:
        arguments->start.view_only = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"port", KEY_PORT, "N", 0, "Listen on port N (default: a free one)", 0},
    {"host", KEY_HOST, "HOST", 0, "Listen at the address HOST (default: loopback only)", 0},
    {"open", KEY_OPEN, NULL, 0, "Open the page in a browser with xdg-open", 0},
    {"view-only", KEY_VIEW_ONLY, NULL, 0, "Let the page show, but not run commands", 0},
    {0},
};

static const struct argp_child children[] = {{.argp = &tg_trace_argp}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "[TRACE]",
    .doc = "Show a recorded job as a page in a browser: what went wrong, time, stacks, barriers, at any "
           "moment of its "
           "trace. Prints the link of the page and serves it until the interrupt key is pressed."
           "\vThe link has a token: whoever has it sees the trace. Over ssh: `ssh -L N:localhost:N MACHINE`. "
           "See "
           "tollgate-web(1).",
};

/* SIGTERM ends the page as the interrupt key does. */
static void take_end(int signal)
{
    (void)signal;
    raise(SIGINT);
}

static void print_news(struct tg_console *console)
{
    tg_console_attend(console);
    fflush(stdout);
}

/* The last moment is where it shows what went wrong. The page is there meanwhile. */
static struct tg_error *go_to_end(struct tg_console *console)
{
    struct tg_source *source = console->source;
    source->visitor->run(source->visitor->context, "goto end");
    struct tg_error *error = source->ops->seek(source, &(struct tg_target){.kind = TG_TO_END});
    source->visitor->run(source->visitor->context, NULL);
    if (error == NULL || !tg_interrupt_pending())
        return error;
    tg_error_destroy(error);
    return NULL;
}

/* Until the key, or until the page or its server ends. */
static void serve(struct tg_console *console)
{
    int status;
    while (!tg_interrupt_pending() && tg_page_session_web(console) != NULL &&
           !tg_console_has_quit(console, &status)) {
        sigset_t interrupt, others;
        struct pollfd fds[2];
        nfds_t count = tg_console_visit_fds(console, fds);
        sigemptyset(&interrupt);
        sigaddset(&interrupt, SIGINT);
        sigprocmask(SIG_BLOCK, &interrupt, &others);
        bool is_ready = !tg_interrupt_pending() && ppoll(fds, count, NULL, &others) > 0;
        sigprocmask(SIG_SETMASK, &others, NULL);
        if (is_ready && tg_console_visit(console, fds))
            print_news(console);
    }
}

static struct tg_error *show_end_and_serve(struct tg_console *console)
{
    const struct sigaction action = {.sa_handler = take_end};
    tg_interrupt_catch();
    sigaction(SIGTERM, &action, NULL);
    struct tg_error *error = go_to_end(console);
    if (error == NULL)
        serve(console);
    tg_interrupt_clear();
    tg_interrupt_release();
    return error;
}

static struct tg_error *run_page(void *context)
{
    struct web_arguments *arguments = context;
    struct tg_source *source = NULL;
    struct tg_console *console = NULL;
    const struct tg_console_options console_options = {.out = stdout,
                                                       .errors = stderr,
                                                       .table = &tg_command_table,
                                                       .services = arguments->trace.symbols,
                                                       .is_safe = true};
    struct tg_error *error = tg_trace_source_create(arguments->trace.path, NULL, &source);
    if (error == NULL)
        error = tg_console_create(source, &console_options, &console);
    if (error == NULL)
        error = tg_page_session_start(console, &arguments->start);
    if (error == NULL) {
        printf("%s\n", tg_web_session_link(tg_page_session_web(console)));
        if (arguments->start.open)
            error = tg_page_session_open(console, stderr);
        int failed = 0;
        tg_flush(stdout, &failed);
        if (error == NULL)
            error = tg_flush_error(failed);
    }
    if (error == NULL) {
        error = show_end_and_serve(console);
        bool has_quit = tg_console_has_quit(console, &arguments->status);
        if (error == NULL && !has_quit && tg_page_session_web(console) == NULL)
            error = tg_error_create(TG_ERROR_OS, "the page's server has ended");
    }
    tg_console_destroy(console);
    tg_source_destroy(source);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    if (argc == 2 &&
        strcmp(argv[1], "--serve") == 0) /* how a session starts its server: live/web/session.c */
        return tg_web_server_run();
    struct web_arguments arguments = {.trace = {.services = services, .command = "web"}};
    int status = tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_page);
    return status != 0 ? status : arguments.status;
}

const struct tg_command tg_web_command = {
    .name = "web",
    .summary = "show a recorded job as a page in a browser",
    .run = run,
};
