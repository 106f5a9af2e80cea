#include "live/commands/session/setting_variables.h"

#include "live/commands/session/dset.h"

#include <stdlib.h>
#include <string.h>

/* One variable, the ClientData of its trace. */
struct variable {
    struct tg_console *console;
    const struct tg_setting *setting;
    char name[64]; /* "::TV::dlopen_always_recalculate" */
};

static const int events = TCL_TRACE_READS | TCL_TRACE_WRITES | TCL_TRACE_UNSETS | TCL_TRACE_RESULT_DYNAMIC;

static void show_present(Tcl_Interp *interp, const struct variable *variable)
{
    const char *value = tg_console_settings_text(variable->console->settings, variable->setting->name);
    Tcl_SetVar(interp, variable->name, value, TCL_GLOBAL_ONLY);
}

/* The message of ERROR, which is destroyed, as a trace gives one back; NULL for NULL. */
static char *message_of(struct tg_error *error)
{
    if (error == NULL)
        return NULL;
    const char *message = tg_error_message(error);
    char *copy = ckalloc((unsigned)strlen(message) + 1);
    strcpy(copy, message);
    tg_error_destroy(error);
    return copy;
}

static char *traced(ClientData data, Tcl_Interp *interp, const char *name, const char *element, int flags)
{
    const struct variable *variable = data;
    struct tg_error *error = NULL;
    (void)name;
    (void)element;
    if ((flags & TCL_INTERP_DESTROYED) != 0)
        return NULL;
    if ((flags & TCL_TRACE_WRITES) != 0) {
        const char *value = Tcl_GetVar(interp, variable->name, TCL_GLOBAL_ONLY);
        error = tg_dset_change(variable->console, variable->setting, value == NULL ? "" : value);
    } else if ((flags & TCL_TRACE_UNSETS) != 0) {
        error = tg_dset_change(variable->console, variable->setting, NULL);
    }
    show_present(interp, variable); /* in the one form that is kept */
    if ((flags & TCL_TRACE_DESTROYED) != 0)
        Tcl_TraceVar(interp, variable->name, TCL_GLOBAL_ONLY | events, traced, data);
    return message_of(error);
}

static void destroy(void *state)
{
    free(state);
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    size_t n = 0;
    while (tg_setting_table[n].name != NULL)
        n++;
    struct variable *variables = calloc(n, sizeof *variables);
    if (variables == NULL || Tcl_CreateNamespace(console->interp, "::TV", NULL, NULL) == NULL) {
        free(variables);
        return tg_error_no_memory();
    }
    *state = variables;
    for (size_t i = 0; i < n; i++) {
        struct variable *variable = &variables[i];
        *variable = (struct variable){.console = console, .setting = &tg_setting_table[i]};
        snprintf(variable->name, sizeof variable->name, "::%s", variable->setting->name);
        if (!tg_dset_is_of_use(console, variable->setting))
            continue;
        show_present(console->interp, variable);
        Tcl_TraceVar(console->interp, variable->name, TCL_GLOBAL_ONLY | events, traced, variable);
    }
    return NULL;
}

const struct tg_console_state_kind tg_setting_variables_kind = {.create = create, .destroy = destroy};
