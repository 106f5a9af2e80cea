/* dwhere: the stack of a thread, or of many as one tree. */
#include "live/console_command.h"

#include "analyzer/call_tree.h"
#include "format/printable.h"
#include "live/inspect/frames.h"
#include "live/standing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 1000, USUAL_LEVELS = 100, TEXT_SIZE = 512 };

struct wanted {
    struct tg_json *json; /* NULL: nobody wants data */
    size_t first;         /* level that is shown first, 0 the innermost */
    size_t levels;
    bool has_data; /* JSON was written */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- words */

static const char *function_of(const struct tg_call *call)
{
    if (call->is_signal)
        return "<signal handler called>";
    return call->code.name != NULL ? call->code.name : "?";
}

/* "solver.c#40", where no line is known the object: "libc.so.6"; "0x10" where there is none. */
static void print_place(const struct tg_call *call, char *text, size_t size)
{
    if (call->code.file != NULL)
        snprintf(text, size, "%s#%d", base_name(call->code.file), call->code.line);
    else if (call->module != NULL)
        snprintf(text, size, "%s", base_name(call->module->path));
    else
        snprintf(text, size, "%#" PRIx64, call->frame.registers.value[TG_RIP]);
}

/* ---- one stack */

static void print_call(const struct tg_call *call, size_t level, int width, FILE *out)
{
    char place[TEXT_SIZE], shown[2 * TEXT_SIZE], name[TEXT_SIZE];
    print_place(call, place, sizeof place);
    fprintf(out, "%3zu  %#018" PRIx64 "  %-*s  %s", level, call->frame.registers.value[TG_RIP], width,
            tg_printable(function_of(call), name, sizeof name), tg_printable(place, shown, sizeof shown));
    if (call->code.is_inlined)
        fputs("  (inlined)", out);
    if (call->is_guessed)
        fputs("  (its caller is a guess: no unwind information)", out);
    fputc('\n', out);
}

static void write_call(const struct tg_call *call, size_t level, struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "level", level);
    tg_json_key(json, "pc");
    tg_json_address(json, call->frame.registers.value[TG_RIP]);
    if (call->code.name != NULL || call->is_signal) {
        tg_json_member_string(json, "function", function_of(call));
        tg_json_member_unsigned(json, "offset", call->code.offset);
    }
    if (call->code.file != NULL) {
        tg_json_member_string(json, "file", call->code.file);
        tg_json_member_signed(json, "line", call->code.line);
    }
    if (call->module != NULL)
        tg_json_member_string(json, "object", call->module->path);
    tg_json_member_bool(json, "inlined", call->code.is_inlined);
    tg_json_member_bool(json, "signal", call->is_signal);
    tg_json_end_object(json);
}

static void show_frames(const struct tg_frames *frames, struct wanted *wanted, FILE *out)
{
    enum { WIDEST = 40 };
    int width = 0;
    for (size_t i = wanted->first; i < frames->count; i++) {
        int length = (int)strnlen(function_of(&frames->calls[i]), WIDEST);
        width = length > width ? length : width;
    }
    if (wanted->json != NULL)
        tg_json_begin_array(wanted->json);
    for (size_t i = wanted->first; i < frames->count; i++) {
        print_call(&frames->calls[i], i, width, out);
        if (wanted->json != NULL)
            write_call(&frames->calls[i], i, wanted->json);
    }
    if (wanted->json != NULL)
        tg_json_end_array(wanted->json);
    wanted->has_data = wanted->json != NULL;
    if (frames->is_cut)
        fputs("     there is more: dwhere takes the number of levels\n", out);
    else if (*tg_frames_remark(frames) != '\0')
        fprintf(out, "     it ends here: %s\n", tg_frames_remark(frames));
}

static struct tg_error *read_frames(const struct tg_standing *standing, const struct wanted *wanted,
                                    struct tg_frames *frames)
{
    return tg_frames_read(standing->modules, &standing->memory, &standing->registers,
                          wanted->first + wanted->levels, frames);
}

/* ---- many */

static struct tg_error *add_to_tree(struct tg_call_tree *tree, const struct tg_job_process *process, size_t i,
                                    const struct tg_frames *frames, const struct wanted *wanted)
{
    size_t count = frames->count > wanted->first ? frames->count - wanted->first : 0;
    char(*texts)[2 * TEXT_SIZE] = calloc(count + 1, sizeof *texts);
    const char **lines = calloc(count + 1, sizeof *lines);
    struct tg_error *error = texts == NULL || lines == NULL ? tg_error_no_memory() : NULL;
    for (size_t k = 0; error == NULL && k < count; k++) {
        const struct tg_call *call = &frames->calls[frames->count - 1 - k];
        char place[TEXT_SIZE];
        print_place(call, place, sizeof place);
        snprintf(texts[k], sizeof texts[k], "%.*s %s", TEXT_SIZE - 1, function_of(call), place);
        lines[k] = texts[k];
    }
    if (error == NULL)
        error = tg_call_tree_add(tree, process, i, lines, count);
    free(texts);
    free(lines);
    return error;
}

static struct tg_error *add_standing(const struct tg_control *control, const struct tg_job_process *process,
                                     size_t i, struct tg_call_tree *tree, bool *stands)
{
    struct tg_standing standing;
    struct tg_frames frames;
    struct tg_error *error = tg_standing_take(control, process, i, stands, &standing);
    if (error != NULL || !*stands)
        return error;
    error = read_frames(&standing, control->context, &frames);
    if (error == NULL) {
        error = add_to_tree(tree, process, i, &frames, control->context);
        tg_frames_deinit(&frames);
    }
    return error;
}

static struct tg_error *show_tree(const struct tg_control *control)
{
    struct tg_call_tree *tree = NULL;
    struct tg_error *error = tg_call_tree_create(control->view, &tree);
    size_t n_running = 0, n_standing = 0;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && process->info.exists && i < process->n_threads; i++) {
            bool stands = false;
            if (!tg_job_set_has(control->set, process, i))
                continue;
            error = add_standing(control, process, i, tree, &stands);
            n_standing += stands;
            n_running += !stands;
        }
    }
    if (error == NULL && n_standing == 0)
        error = tg_error_create(TG_ERROR_TARGET, "no thread in focus stands; dhalt stops them");
    if (error == NULL)
        error = tg_call_tree_print(tree, control->out);
    if (error == NULL && n_running > 0)
        fprintf(control->out, "%zu thread%s in focus run%s\n", n_running, n_running == 1 ? "" : "s",
                n_running == 1 ? "s" : "");
    tg_call_tree_destroy(tree);
    return error;
}

static struct tg_error *show(const struct tg_control *control)
{
    struct wanted *wanted = control->context;
    size_t n_members = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            n_members += tg_job_set_has(control->set, process, i);
    }
    if (n_members > 1)
        return show_tree(control);
    struct tg_standing standing;
    struct tg_frames frames;
    struct tg_error *error = tg_standing_find(control, &standing);
    if (error == NULL)
        error = read_frames(&standing, wanted, &frames);
    if (error != NULL)
        return error;
    if (wanted->first >= frames.count)
        error = tg_error_create(TG_ERROR_USAGE, "its stack has no level %zu: there are %zu", wanted->first,
                                frames.count);
    else
        show_frames(&frames, wanted, control->out);
    tg_frames_deinit(&frames);
    return error;
}

/* ---- the command */

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct wanted wanted = {.levels = USUAL_LEVELS};
    for (int i = 0; i < argc; i++) {
        Tcl_WideInt number;
        bool is_level = strcmp(Tcl_GetString(argv[i]), "-level") == 0;
        if ((is_level && ++i == argc) || Tcl_GetWideIntFromObj(NULL, argv[i], &number) != TCL_OK ||
            number < !is_level || number > MAX_LEVELS)
            return tg_console_usage(&tg_console_dwhere);
        *(is_level ? &wanted.first : &wanted.levels) = (size_t)number;
    }
    wanted.json = tg_console_data_begin(&console->data);
    struct tg_error *error = tg_control_run(console, &tg_standing_defaults, show, &wanted, out);
    if (error != NULL || !wanted.has_data) /* of a tree there is none */
        tg_console_data_drop(&console->data);
    return error;
}

static const char *const words[] = {"-level", NULL};

const struct tg_console_command tg_console_dwhere = {
    .name = "dwhere",
    .arguments = "?-level N? ?LEVELS?",
    .summary = "the stack of the thread in focus; those of many threads as one tree",
    .example = "dfocus g dwhere",
    .more = "Innermost first, level 0; LEVELS of them (100), from level N on. Copies that were inlined are\n"
            "levels of their own. A tree begins at the outermost, and says who is where as dstatus does.",
    .words = words,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run,
};
