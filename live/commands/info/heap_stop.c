#include "live/commands/info/heap_stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcl.h>

struct heap_stop {
    bool is_for_errors;
    uint32_t tags_point;
    char *
        run; /* the trace of the run that TAGS_POINT is of, NULL none: the next run numbers its points anew */
};

/* The number that COMMAND answers; 0 where it fails, which *ERROR, if not NULL, then says. Nothing is printed. */
static uint32_t evaluate(struct tg_console *console, const char *command, struct tg_error **error)
{
    unsigned long number = 0;
    Tcl_InterpState saved = Tcl_SaveInterpState(console->interp, TCL_OK);
    if (Tcl_EvalEx(console->interp, command, -1, TCL_EVAL_GLOBAL) != TCL_OK) {
        if (error != NULL)
            *error = tg_error_create(TG_ERROR_NOT_FOUND, "%s", Tcl_GetStringResult(console->interp));
    } else {
        number = strtoul(Tcl_GetStringResult(console->interp), NULL, 10);
    }
    tg_console_data_drop(&console->data);
    (void)Tcl_RestoreInterpState(console->interp, saved);
    return (uint32_t)number;
}

uint32_t tg_heap_stop_at_errors(struct tg_console *console)
{
    struct heap_stop *stop = tg_console_state(console, &tg_heap_stop_kind);
    uint32_t number = evaluate(console, "dbreak -pending " TG_HEAP_ERROR_FUNCTION, NULL);
    stop->is_for_errors = number != 0;
    return number;
}

struct tg_error *tg_heap_stop_at_tags(struct tg_console *console, size_t n_tags)
{
    struct heap_stop *stop = tg_console_state(console, &tg_heap_stop_kind);
    struct tg_error *error = NULL;
    if (stop->is_for_errors)
        return NULL;
    if (stop->run != NULL && strcmp(stop->run, console->source->trace_path) ==
                                 0) { /* perhaps deleted by now, or not planted in newer processes */
        char command[40];
        snprintf(command, sizeof command, "ddelete %" PRIu32, stop->tags_point);
        (void)evaluate(console, command, NULL);
    }
    free(stop->run);
    stop->run = NULL;
    if (n_tags == 0)
        return NULL;
    stop->tags_point = evaluate(console, "dfocus a {dbreak -pending " TG_HEAP_ERROR_FUNCTION "}", &error);
    stop->run = error == NULL ? strdup(console->source->trace_path) : NULL;
    return error;
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct heap_stop));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

static void destroy(void *state)
{
    struct heap_stop *stop = state;
    if (stop != NULL)
        free(stop->run);
    free(stop);
}

const struct tg_console_state_kind tg_heap_stop_kind = {
    .is_live = true, .create = create, .destroy = destroy};
