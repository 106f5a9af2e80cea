#include "live/commands/motion/auto_sequence.h"

#include "live/commands/info/wait_words.h"
#include "live/commands/motion/opm_sequence.h"

#include <stdlib.h>
#include <string.h>

struct auto_sequence {
    struct tg_console *console;
    Tcl_ObjCmdProc *procedure; /* of Tcl's own `set` */
    ClientData data;           /* for PROCEDURE */
    bool is_on;
    uint64_t number;        /* of the event that the diagram shows */
    uint64_t focus_changes; /* of the console, at that time */
    char message[200];      /* what was wrong with the variable */
};

static const char setting[] = "opm-auto-sequence", graph[] = "opm-graph-auto";

static struct tg_error *set_opm(struct auto_sequence *automatic, Tcl_Obj *name, Tcl_Obj *value)
{
    int is_on;
    if (strcmp(Tcl_GetString(name), setting) != 0)
        return tg_error_create(TG_ERROR_USAGE, "unknown setting 'opm %s': the only one is opm-auto-sequence",
                               Tcl_GetString(name));
    if (Tcl_GetBooleanFromObj(NULL, value, &is_on) != TCL_OK)
        return tg_error_create(TG_ERROR_USAGE, "invalid value '%s' for opm-auto-sequence: give on or off",
                               Tcl_GetString(value));
    if (is_on != 0 && automatic->console->options.is_safe)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "this console does not write files");
    automatic->is_on = is_on != 0;
    automatic->number = 0;
    return NULL;
}

static int run_set(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    struct auto_sequence *automatic = data;
    if (argc != 4 || strcmp(Tcl_GetString(argv[1]), "opm") != 0)
        return automatic->procedure(automatic->data, interp, argc, argv);
    struct tg_error *error = set_opm(automatic, argv[2], argv[3]);
    return error == NULL ? TCL_OK : tg_console_fail(automatic->console, error);
}

/* `set opm-auto-sequence on`, and `set opm-graph-auto on`, by which mcGDB's page is switched on as well: variables, since Tcl
 * has its own code for a `set` of two words. */
static char *take_variable(ClientData data, Tcl_Interp *interp, const char *name, const char *element,
                           int flags)
{
    struct auto_sequence *automatic = data;
    (void)element;
    (void)flags;
    Tcl_Obj *value = Tcl_GetVar2Ex(interp, name, NULL, TCL_GLOBAL_ONLY),
            *text = Tcl_NewStringObj(setting, -1);
    Tcl_IncrRefCount(text);
    struct tg_error *error = value == NULL ? NULL : set_opm(automatic, text, value);
    Tcl_DecrRefCount(text);
    if (error == NULL && value != NULL && strcmp(name, graph) == 0)
        tg_wait_words_note(automatic->console,
                           automatic->is_on ? "OpenMP auto graph enabled" : "OpenMP auto graph disabled");
    if (error == NULL)
        return NULL;
    snprintf(automatic->message, sizeof automatic->message, "%s", tg_error_message(error));
    tg_error_destroy(error);
    return automatic->message;
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    Tcl_CmdInfo info;
    if (!Tcl_GetCommandInfo(console->interp, "set", &info) || info.objProc == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "this version of Tcl has no `set`");
    struct auto_sequence *automatic = calloc(1, sizeof *automatic);
    if (automatic == NULL)
        return tg_error_no_memory();
    *automatic =
        (struct auto_sequence){.console = console, .procedure = info.objProc, .data = info.objClientData};
    info.objProc = run_set;
    info.objClientData = automatic;
    Tcl_SetCommandInfo(console->interp, "set", &info);
    const char *const variables[] = {setting, graph};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        Tcl_TraceVar2(console->interp, variables[i], NULL, TCL_GLOBAL_ONLY | TCL_TRACE_WRITES, take_variable,
                      automatic);
    *state = automatic;
    return NULL;
}

static struct tg_error *draw(struct tg_console *console)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_opm_sequence_draw(console, out);
    if (fclose(out) != 0 && error == NULL)
        error = tg_error_no_memory();
    free(text);
    return error;
}

static struct tg_error *settle(struct tg_console *console, void *state)
{
    struct auto_sequence *automatic = state;
    if (automatic->is_on)
        tg_console_catch_up(console);
    if (!automatic->is_on || console->source->number == 0 ||
        (console->source->number == automatic->number && console->focus_changes == automatic->focus_changes))
        return NULL;
    struct tg_error *error = draw(console);
    if (error != NULL &&
        tg_error_code(error) == TG_ERROR_NOT_FOUND) { /* before the first region there is nothing to draw */
        tg_error_destroy(error);
        automatic->number = console->source->number;
        automatic->focus_changes = console->focus_changes;
        return NULL;
    }
    if (error != NULL) {
        automatic->is_on = false;
        struct tg_error *told = tg_error_create(tg_error_code(error), "%s; opm-auto-sequence is off now",
                                                tg_error_message(error));
        tg_error_destroy(error);
        return told;
    }
    automatic->number = console->source->number;
    automatic->focus_changes = console->focus_changes;
    return NULL;
}

const struct tg_console_state_kind tg_auto_sequence_kind = {
    .create = create, .destroy = free, .settle = settle};
