/* gui start, show, control, quit: the session's page in a browser. */
#include "live/commands/page/commands.h"
#include "live/commands/page/page_session.h"
#include "live/console/options.h"
#include "live/web/session.h"

#include <string.h>

/* ---- gui start */

static const struct tg_console_option start_options[] = {
    {"--port", TG_OPTION_NUMBER, TG_OPTION_IN(struct tg_page_start, port), .highest = 65535},
    {"--host", TG_OPTION_WORD, TG_OPTION_IN(struct tg_page_start, host), .takes = "a name or an address"},
    TG_OPTION_FLAG("--open", struct tg_page_start, open),
    TG_OPTION_FLAG("--connect", struct tg_page_start, open),
    TG_OPTION_FLAG("--view-only", struct tg_page_start, view_only),
    {0}};

static void set_result(struct tg_console *console, FILE *out)
{
    struct tg_web_session *web = tg_page_session_web(console);
    struct tg_json *json = tg_console_data_begin(&console->data);
    fprintf(out, "%s\n", tg_web_session_link(web));
    if (json == NULL)
        return;
    tg_json_begin_object(json);
    tg_json_member_string(json, "link", tg_web_session_link(web));
    tg_json_member_bool(json, "control", tg_web_session_takes_commands(web));
    tg_json_end_object(json);
}

static struct tg_error *run_start(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_page_start start = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_gui_start, argc, argv, &start, NULL);
    if (error == NULL && console->options.is_safe)
        error = tg_error_create(TG_ERROR_UNSUPPORTED, "this console does not reach the network");
    if (error == NULL)
        error = tg_page_session_start(console, &start);
    if (error != NULL)
        return error;
    set_result(console, out);
    return start.open ? tg_page_session_open(console, out) : NULL;
}

const struct tg_console_command tg_console_gui_start = {
    .name = "gui start",
    .arguments = "?--port N? ?--host HOST? ?--open | --connect? ?--view-only?",
    .summary = "starts the page of this session for a browser and prints its link",
    .example = "gui start",
    .more =
        "The page shows who waits for whom, time, stacks, barriers and diagrams, and follows the session.\n"
        "Whoever has the link can do what this console can; with --view-only the page gives no commands.\n"
        "A server of its own listens at the loopback address, or at HOST, on port N or a free one; over "
        "ssh:\n"
        "`ssh -L N:localhost:N MACHINE`. Nothing blocks: this console goes on, and the job does if the "
        "server\n"
        "ends. --open, or --connect, opens a browser here by xdg-open.",
    .options = start_options,
    .run = run_start,
};

/* ---- gui show, gui control, gui quit */

static struct tg_error *refuse_none(void)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "there is no page: `gui start` starts one");
}

struct showing {
    bool open;
};

static const struct tg_console_option show_options[] = {TG_OPTION_FLAG("--open", struct showing, open), {0}};

static struct tg_error *run_show(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct showing showing = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_gui_show, argc, argv, &showing, NULL);
    if (error == NULL && tg_page_session_web(console) == NULL)
        error = refuse_none();
    if (error != NULL)
        return error;
    set_result(console, out);
    return showing.open ? tg_page_session_open(console, out) : NULL;
}

const struct tg_console_command tg_console_gui_show = {
    .name = "gui show",
    .arguments = "?--open?",
    .summary = "prints the link of the page again",
    .example = "gui show",
    .more = "--open opens it in a browser here by xdg-open.",
    .options = show_options,
    .run = run_show,
};

static struct tg_error *run_control(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_web_session *web = tg_page_session_web(console);
    const char *word = argc == 1 ? Tcl_GetString(argv[0]) : "";
    if (argc > 1 || (argc == 1 && strcmp(word, "on") != 0 && strcmp(word, "off") != 0))
        return tg_console_usage(&tg_console_gui_control);
    if (web == NULL)
        return refuse_none();
    if (argc == 1)
        tg_web_session_take_commands(web, strcmp(word, "on") == 0);
    fputs(tg_web_session_takes_commands(web) ? "on: the page gives commands\n"
                                             : "off: the page is for viewing only\n",
          out);
    return NULL;
}

static const char *const control_words[] = {"on", "off", NULL};

const struct tg_console_command tg_console_gui_control = {
    .name = "gui control",
    .arguments = "?on | off?",
    .summary = "says whether the page may give commands, allows it, or forbids it",
    .example = "gui control off",
    .more = "Takes effect at once. The page and this console can be used at the same time.",
    .words = control_words,
    .run = run_control,
};

static struct tg_error *run_quit(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    (void)out;
    if (argc > 0)
        return tg_console_usage(&tg_console_gui_quit);
    return tg_page_session_end(console) ? NULL : refuse_none();
}

const struct tg_console_command tg_console_gui_quit = {
    .name = "gui quit",
    .arguments = "",
    .summary = "ends the page and its server; the session goes on",
    .example = "gui quit",
    .run = run_quit,
};
