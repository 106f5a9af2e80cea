#include "live/console/auto_sequence.h"

#include "live/console/command.h"

#include <stdlib.h>
#include <string.h>

/* Tcl's own `set`, and whose settings ours are. */
struct set_command {
    struct tg_console *console;
    Tcl_ObjCmdProc *procedure;
    ClientData data;
};

static struct tg_error *refuse_name(const char *name)
{
    return tg_error_create(TG_ERROR_USAGE, "there is no setting '%s' of opm; opm-auto-sequence is one", name);
}

static struct tg_error *set_opm(struct tg_console *console, Tcl_Obj *name, Tcl_Obj *value)
{
    int is_on;
    if (strcmp(Tcl_GetString(name), "opm-auto-sequence") != 0)
        return refuse_name(Tcl_GetString(name));
    if (Tcl_GetBooleanFromObj(NULL, value, &is_on) != TCL_OK)
        return tg_error_create(TG_ERROR_USAGE, "opm-auto-sequence is on or off, not '%s'",
                               Tcl_GetString(value));
    if (is_on != 0 && console->options.is_safe)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "no files are written here");
    console->auto_sequence.is_on = is_on != 0;
    console->auto_sequence.number = 0;
    return NULL;
}

static int run_set(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct set_command *set = data;
    if (argc != 4 || strcmp(Tcl_GetString(argv[1]), "opm") != 0)
        return set->procedure(set->data, interp, argc, argv);
    struct tg_error *error = set_opm(set->console, argv[2], argv[3]);
    return error == NULL ? TCL_OK : tg_console_fail(set->console, error);
}

static void free_set(ClientData data, Tcl_Interp *interp)
{
    (void)interp;
    free(data);
}

struct tg_error *tg_auto_sequence_add(struct tg_console *console)
{
    Tcl_CmdInfo info;
    struct set_command *set = calloc(1, sizeof *set);
    if (set == NULL)
        return tg_error_no_memory();
    if (!Tcl_GetCommandInfo(console->interp, "set", &info) || info.objProc == NULL) {
        free(set);
        return tg_error_create(TG_ERROR_UNSUPPORTED, "this Tcl has no `set`");
    }
    *set = (struct set_command){.console = console, .procedure = info.objProc, .data = info.objClientData};
    info.objProc = run_set;
    info.objClientData = set;
    Tcl_CallWhenDeleted(console->interp, free_set, set);
    Tcl_SetCommandInfo(console->interp, "set", &info);
    return NULL;
}

struct tg_error *tg_auto_sequence_refresh(struct tg_console *console)
{
    struct tg_auto_sequence *automatic = &console->auto_sequence;
    if (!automatic->is_on || console->source->number == 0 ||
        (console->source->number == automatic->number && console->focus_changes == automatic->focus_changes))
        return NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_opm_sequence_draw(console, automatic->is_ours, out);
    if (fclose(out) != 0 && error == NULL)
        error = tg_error_no_memory();
    free(text);
    if (error != NULL) {
        automatic->is_on = false;
        return error;
    }
    automatic->is_ours = true;
    automatic->number = console->source->number;
    automatic->focus_changes = console->focus_changes;
    return NULL;
}
