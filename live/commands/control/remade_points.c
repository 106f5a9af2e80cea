#include "live/commands/control/remade_points.h"

#include "format/base/array.h"
#include "format/base/printable.h"
#include "live/control/traced_job.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 200 };

static void forget(struct tg_remade_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        free(points->commands[i]);
    free(points->commands);
    *points = (struct tg_remade_points){0};
}

/* Whether COMMAND has failed because nobody is in its set yet. */
static bool waits(const struct tg_console *console)
{
    Tcl_Obj *code = Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY), *kind = NULL;
    return code != NULL && Tcl_ListObjIndex(NULL, code, 1, &kind) == TCL_OK && kind != NULL &&
           strcmp(Tcl_GetString(kind), tg_error_code_name(TG_ERROR_NOT_FOUND)) == 0;
}

static bool keep(struct tg_remade_points *points, const char *command)
{
    char *copy = strdup(command);
    if (copy != NULL && TG_ARRAY_APPEND_EXACT(points->commands, points->count, copy) == NULL)
        return true;
    free(copy);
    return false;
}

/* Of an error that points into a word the first line says what it is. */
static void write_failure(const struct tg_console *console, const char *command, FILE *stream)
{
    char shown[SHOWN], why[SHOWN];
    const char *message = Tcl_GetStringResult(console->interp);
    snprintf(why, sizeof why, "%.*s", (int)strcspn(message, "\n"), message);
    fprintf(stream, "not set again: %s (", tg_printable(command, shown, sizeof shown));
    tg_printable_write(stream, why);
    fputc(')', stream);
}

/* Makes it now, or keeps it, or says why not. */
static void begin_with(struct tg_console *console, struct tg_remade_points *points, const char *command,
                       FILE *out)
{
    if (Tcl_EvalEx(console->interp, command, -1, TCL_EVAL_GLOBAL) == TCL_OK ||
        (waits(console) && keep(points, command)))
        return;
    write_failure(console, command, out);
    fputc('\n', out);
}

void tg_remade_points_begin(struct tg_console *console, char *script, FILE *out)
{
    struct tg_remade_points *points = tg_console_state(console, &tg_remade_points_kind), before = *points;
    char *rest = script;
    *points = (struct tg_remade_points){.is_at_it = true};
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        if (*line != '\0' && *line != '#')
            begin_with(console, points, line, out);
    for (size_t i = 0; i < before.count; i++) /* points that the run before did not reach */
        begin_with(console, points, before.commands[i], out);
    forget(&before);
    points->is_at_it = false;
    if (points->count > 0)
        fprintf(out, "%zu action point%s set again as soon as %s exist%s\n", points->count,
                points->count == 1 ? " is" : "s are", points->count == 1 ? "its process" : "their processes",
                points->count == 1 ? "s" : "");
    Tcl_ResetResult(console->interp);
}

/* Tells of COMMAND, which was made, or failed. */
static void tell(const struct tg_console *console, const char *command, bool made,
                 const struct tg_news_sink *sink)
{
    char shown[SHOWN], *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    if (made)
        fprintf(stream, "set again: %s", tg_printable(command, shown, sizeof shown));
    else
        write_failure(console, command, stream);
    if (fclose(stream) == 0)
        tg_news_tell(sink, &(struct tg_news){.kind = made ? TG_NEWS_NOTE : TG_NEWS_ERROR, .text = text});
    free(text);
}

static void attend(struct tg_console *console, void *state, const struct tg_news_sink *sink)
{
    struct tg_remade_points *points = state;
    size_t n_waiting = 0;
    int status;
    if (points->count == 0 || points->is_at_it || tg_traced_job_has_ended(console->options.live, &status))
        return;
    points->is_at_it = true;
    Tcl_InterpState saved = Tcl_SaveInterpState(console->interp, TCL_OK);
    for (size_t i = 0; i < points->count; i++) {
        char *command = points->commands[i];
        bool made = Tcl_EvalEx(console->interp, command, -1, TCL_EVAL_GLOBAL) == TCL_OK;
        if (!made && waits(console)) {
            points->commands[n_waiting++] = command;
            continue;
        }
        tell(console, command, made, sink);
        free(command);
    }
    points->count = n_waiting;
    tg_console_data_drop(&console->data);
    Tcl_RestoreInterpState(console->interp, saved);
    points->is_at_it = false;
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct tg_remade_points));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

static void destroy(void *state)
{
    if (state != NULL)
        forget(state);
    free(state);
}

const struct tg_console_state_kind tg_remade_points_kind = {
    .is_live = true, .create = create, .destroy = destroy, .attend = attend};
