#include "live/console/console.h"

#include "analyzer/output/quantity.h"
#include "live/commands/dexamine.h"
#include "live/commands/dlist.h"
#include "live/commands/focus_call.h"
#include "live/console/aliases.h"
#include "live/console/command.h"
#include "live/console/news_printer.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CATCH_UP_MS = 2000 }; /* events on their way take some tens, unless the machine is overloaded */

/* What Tcl hands back to a command's procedure. */
struct binding {
    struct tg_console *console;
    const struct tg_console_command *command;
};

/* ---- commands */

int tg_console_fail(struct tg_console *console, struct tg_error *error)
{
    Tcl_SetObjResult(console->interp, Tcl_NewStringObj(tg_error_message(error), -1));
    const char *code = tg_error_code_name(tg_error_code(error));
    char offset[24];
    if (console->error_text != NULL) {
        snprintf(offset, sizeof offset, "%zu", console->error_offset);
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, console->error_text, offset, NULL);
    } else {
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, NULL);
    }
    console->error_text = NULL;
    tg_error_destroy(error);
    return TCL_ERROR;
}

void tg_console_point(struct tg_console *console, const char *text, size_t offset)
{
    console->error_text = text;
    console->error_offset = offset;
}

/* What a command gave as a Tcl value is its data as well. */
static void keep_data(struct tg_console *console, const struct tg_console_command *command, Tcl_Obj *result)
{
    struct tg_json *json = result == NULL || command == &tg_console_dfocus /* its command has */
                               ? NULL
                               : tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_console_data_put(json, result);
}

void tg_console_result_as_data(struct tg_console *console)
{
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (console->result == NULL)
        return;
    if (json != NULL)
        tg_console_data_put(json, console->result);
    Tcl_DecrRefCount(console->result);
    console->result = NULL;
}

static struct tg_error *check_needs(const struct tg_console *console,
                                    const struct tg_console_command *command)
{
    bool is_live = console->options.live != NULL;
    if (command->needs == TG_CONSOLE_NEEDS_LIVE && !is_live)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s is for a job that runs: this is a trace (see tollgate live)",
                               command->name);
    if (command->needs == TG_CONSOLE_NEEDS_TRACE && is_live)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s is for a trace: this job runs (see tollgate replay)",
                               command->name);
    return NULL;
}

static struct tg_error *give_data(const struct binding *binding, int argc, Tcl_Obj *const *argv,
                                  const char *text)
{
    struct tg_console *console = binding->console;
    struct tg_json *json = tg_console_data_begin(&console->data);
    struct tg_error *error = json == NULL ? NULL : binding->command->data(console, argc, argv, text, json);
    if (error != NULL)
        tg_console_data_drop(&console->data);
    return error;
}

static bool tells_what_happened(const struct tg_console_command *command)
{
    return strncmp(command->name, "info ", 5) == 0 || strcmp(command->name, "where") == 0;
}

static int run_command(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    struct tg_console *console = binding->console;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_console_fail(console, tg_error_no_memory());
    /* of a live job it is told as far as it has happened by now, and of everybody as long as nobody has set a
     * focus: the first one is the job's starter alone */
    bool is_of_live = console->options.live != NULL && tells_what_happened(binding->command);
    bool is_widened = is_of_live && console->focus_changes == 0;
    if (is_of_live)
        tg_console_catch_up(console);
    console->error_text = NULL;
    tg_console_data_drop(&console->data);
    struct tg_error *error = check_needs(console, binding->command);
    if (error == NULL)
        error = tg_focus_refresh(&console->focus, console->source);
    struct tg_focus focus = console->focus;
    if (is_widened)
        tg_focus_init(&console->focus);
    if (error == NULL)
        error = binding->command->run(console, argc - 1, argv + 1, out);
    if (fclose(out) != 0 && error == NULL)
        error = tg_error_no_memory();
    Tcl_Obj *result = console->result;
    console->result = NULL;
    if (error == NULL)
        keep_data(console, binding->command, result);
    if (error == NULL && binding->command->data != NULL && console->data.stream == NULL)
        error = give_data(binding, argc - 1, argv + 1, text);
    if (is_widened) {
        tg_focus_deinit(&console->focus);
        console->focus = focus;
    }
    if (error == NULL && size > INT32_MAX)
        error = tg_error_create(TG_ERROR_LIMIT, "the answer is too long");
    if (error == NULL && result == NULL && !console->has_quit && size > 0) {
        if (text[size - 1] == '\n')
            size--;
        result = Tcl_NewStringObj(text, (int)size);
    }
    free(text);
    if (error != NULL) {
        if (result != NULL)
            Tcl_DecrRefCount(result);
        return tg_console_fail(console, error);
    }
    if (result != NULL)
        Tcl_SetObjResult(interp, result);
    return console->has_quit ? TCL_ERROR : TCL_OK;
}

/* ---- life */

/* The interrupt key, at a place where Tcl may be told. */
static int take_interrupt(ClientData data, Tcl_Interp *interp, int code)
{
    struct tg_console *console = data;
    (void)interp;
    if (!tg_interrupt_pending())
        return code;
    tg_console_stop(console);
    return code;
}

void tg_console_stop(struct tg_console *console)
{
    /* What is beyond a limit cannot be caught, and unlike a cancellation it can be taken back. */
    Tcl_LimitSetCommands(console->interp, 0);
    Tcl_LimitTypeSet(console->interp, TCL_LIMIT_COMMANDS);
    console->is_stopped = true;
}

static void free_binding(ClientData data)
{
    free(data);
}

/* Makes SUBCOMMAND of ENSEMBLE, which may be Tcl's own, the command NAME. */
static int add_subcommand(Tcl_Interp *interp, const char *ensemble, const char *subcommand, const char *name)
{
    Tcl_Obj *ensemble_name = Tcl_NewStringObj(ensemble, -1), *map = NULL;
    Tcl_IncrRefCount(ensemble_name);
    Tcl_Command token = Tcl_FindEnsemble(interp, ensemble_name, 0);
    if (token == NULL)
        token = Tcl_CreateEnsemble(interp, ensemble, Tcl_GetGlobalNamespace(interp), TCL_ENSEMBLE_PREFIX);
    Tcl_DecrRefCount(ensemble_name);
    int status = Tcl_GetEnsembleMappingDict(interp, token, &map);
    if (status != TCL_OK)
        return status;
    map = map == NULL ? Tcl_NewDictObj() : Tcl_DuplicateObj(map);
    Tcl_IncrRefCount(map);
    Tcl_Obj *target = Tcl_NewStringObj(name, -1);
    Tcl_DictObjPut(interp, map, Tcl_NewStringObj(subcommand, -1), Tcl_NewListObj(1, &target));
    status = Tcl_SetEnsembleMappingDict(interp, token, map);
    Tcl_DecrRefCount(map);
    return status;
}

static struct tg_error *add_command(struct tg_console *console, const struct tg_console_command *command)
{
    struct binding *binding = malloc(sizeof *binding);
    if (binding == NULL)
        return tg_error_no_memory();
    *binding = (struct binding){.console = console, .command = command};
    const char *blank = strchr(command->name, ' ');
    char name[64];
    if (blank == NULL)
        snprintf(name, sizeof name, "%s", command->name);
    else
        snprintf(name, sizeof name, "::tollgate::%.*s_%s", (int)(blank - command->name), command->name,
                 blank + 1);
    Tcl_CreateObjCommand(console->interp, name, run_command, binding, free_binding);
    if (blank == NULL)
        return NULL;
    char ensemble[32];
    snprintf(ensemble, sizeof ensemble, "%.*s", (int)(blank - command->name), command->name);
    if (add_subcommand(console->interp, ensemble, blank + 1, name) == TCL_OK)
        return NULL;
    return tg_error_create(TG_ERROR_UNSUPPORTED, "this Tcl does not let '%s' be extended: %s", ensemble,
                           Tcl_GetStringResult(console->interp));
}

static struct tg_error *create_interpreter(struct tg_console *console)
{
    Tcl_FindExecutable(NULL);
    console->interp = Tcl_CreateInterp();
    /* Tcl sets the locale from the environment; text is UTF-8 here whatever that says. */
    setlocale(LC_CTYPE, "C.UTF-8");
    Tcl_SetSystemEncoding(NULL, "utf-8");
    if (console->options.is_safe)
        Tcl_MakeSafe(console->interp);
    else
        Tcl_Init(console->interp); /* without Tcl's script library its own commands are there all the same */
    Tcl_ResetResult(console->interp);
    Tcl_SetVar(console->interp, "tcl_interactive", "0", TCL_GLOBAL_ONLY);
    console->interrupt = Tcl_AsyncCreate(take_interrupt, console);
    if (Tcl_CreateNamespace(console->interp, "::tollgate", NULL, NULL) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && tg_console_commands[i] != NULL; i++)
        error = add_command(console, tg_console_commands[i]);
    if (error == NULL)
        error = tg_console_aliases_add(console);
    return error != NULL ? error : tg_auto_sequence_add(console);
}

struct tg_error *tg_console_create(struct tg_source *source, const struct tg_console_options *options,
                                   struct tg_console **console)
{
    struct tg_console *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->source = source;
    made->options = *options;
    made->data.wanted = options->wants_data;
    tg_focus_init(&made->focus);
    struct tg_error *error = tg_procedure_places_create(&made->procedures);
    if (error == NULL)
        error = tg_console_settings_create(&made->settings);
    if (error == NULL)
        error = tg_listing_create(&made->listing);
    if (error == NULL)
        error = tg_examination_create(&made->examination);
    if (error == NULL && options->live != NULL)
        error = tg_live_filter_create(made->settings, options->live, &made->filter);
    if (error == NULL && options->live != NULL) {
        tg_control_watch(made);
        error = tg_focus_begin(&made->focus);
    }
    if (error == NULL && options->services != NULL)
        error = options->services->symbolizer_create(&made->symbolizer);
    if (error == NULL)
        error = create_interpreter(made);
    if (error != NULL) {
        tg_console_destroy(made);
        return error;
    }
    *console = made;
    return NULL;
}

void tg_console_destroy(struct tg_console *console)
{
    if (console == NULL)
        return;
    if (console->interp != NULL)
        Tcl_DeleteInterp(console->interp);
    if (console->interrupt != NULL)
        Tcl_AsyncDelete(console->interrupt);
    if (console->symbolizer != NULL)
        console->options.services->symbolizer_destroy(console->symbolizer);
    tg_procedure_places_destroy(console->procedures);
    tg_live_filter_destroy(console->filter);
    tg_console_settings_destroy(console->settings);
    tg_listing_destroy(console->listing);
    tg_examination_destroy(console->examination);
    tg_console_data_drop(&console->data);
    tg_remade_points_deinit(&console->remade);
    tg_focus_deinit(&console->focus);
    free(console);
}

enum tg_console_leaving tg_console_leaving(const struct tg_console *console)
{
    return console->leaving;
}

bool tg_console_has_quit(const struct tg_console *console, int *status)
{
    if (console->has_quit && console->quit_status >= 0)
        *status = console->quit_status;
    return console->has_quit;
}

char *tg_console_take_data(struct tg_console *console)
{
    return tg_console_data_take(&console->data);
}

int tg_console_wake_fd(const struct tg_console *console)
{
    return console->source->wake_fd;
}

bool tg_console_attend_at_prompt(struct tg_console *console, void (*before)(void *context), void *context)
{
    struct tg_news_printer printer = {.stream = console->options.out, .before = before, .context = context};
    const struct tg_news_sink printed = {tg_news_printer_tell, &printer};
    const struct tg_news_sink *sink = console->options.news != NULL ? console->options.news : &printed;
    if (console->source->ops->attend == NULL)
        return false;
    struct tg_error *error = console->source->ops->attend(console->source, sink);
    if (error != NULL)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = tg_error_message(error)});
    tg_error_destroy(error);
    tg_remade_points_attend(console, sink);
    tg_news_printer_flush(&printer);
    fflush(console->options.out);
    return printer.has_begun;
}

void tg_console_attend(struct tg_console *console)
{
    (void)tg_console_attend_at_prompt(console, NULL, NULL);
}

void tg_console_interrupt(struct tg_console *console)
{
    struct tg_error *error = console->options.live == NULL ? NULL : tg_control_halt(console);
    if (error == NULL)
        return;
    tg_console_print_safely(console->options.errors, tg_error_message(error));
    fputc('\n', console->options.errors);
    tg_error_destroy(error);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void tg_console_catch_up(struct tg_console *console)
{
    struct tg_source *source = console->source;
    struct tg_event_mark mark;
    if (source->ops->mark == NULL)
        return;
    source->ops->mark(source, &mark);
    uint64_t until_ms = now_ms() + CATCH_UP_MS;
    for (;;) {
        tg_console_attend(console);
        uint64_t at_ms = now_ms();
        struct pollfd wake = {.fd = source->wake_fd, .events = POLLIN};
        if (source->ops->is_at(source, &mark) || at_ms >= until_ms || tg_interrupt_pending() ||
            (poll(&wake, 1, (int)(until_ms - at_ms)) < 0 && errno != EINTR))
            return;
    }
}

void tg_console_settle(struct tg_console *console)
{
    struct tg_error *error = tg_auto_sequence_refresh(console);
    if (error == NULL)
        return;
    tg_console_print_safely(console->options.errors, tg_error_message(error));
    fputs("; opm-auto-sequence is off now\n", console->options.errors);
    fflush(console->options.errors);
    tg_error_destroy(error);
}

char *tg_console_prompt(const struct tg_console *console, char *buffer, size_t size)
{
    char moment[TG_QUANTITY_SIZE], focus[TG_FOCUS_TEXT];
    const struct tg_source *source = console->source;
    if (console->options.live != NULL) {
        snprintf(buffer, size, "%s> ", tg_console_focus_text(console, focus));
        return buffer;
    }
    snprintf(buffer, size, "(%s s, %s) ", tg_quantity_moment(source->time_ns, source->start_ns, 6, moment),
             tg_focus_print(&console->focus, source, focus));
    return buffer;
}
