/* `opm sequence`: the sequence diagram of the moment that the console is at. */
#include "live/commands/motion/opm_sequence.h"
#include "analyzer/output/output_file.h"
#include "analyzer/sequence/command.h"
#include "analyzer/sequence/format.h"
#include "analyzer/sequence/read.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/unrecorded.h"
#include "live/console/options.h"
#include "live/source/interrupt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct arguments {
    const struct tg_sequence_format *format; /* NULL: not said */
    const char *output;                      /* NULL: a file named after the trace */
    enum tg_sequence_by by;
    uint64_t team;
    bool all, print, open, force, gui, sync;
};

static struct tg_error *take_format(const char *option, const char *word, void *format)
{
    const struct tg_sequence_format *found = tg_sequence_format_find(word);
    if (found == NULL)
        return tg_error_create(
            TG_ERROR_USAGE, "%s: unknown format '%s' (tollgate-sequence(1) lists the formats)", option, word);
    memcpy(format, &found, sizeof found);
    return NULL;
}

static const char *const sides[] = {"worker", "rank", NULL};

#define FLAG(name, member) TG_OPTION_FLAG(name, struct arguments, member)

static const struct tg_console_option options[] = {
    FLAG("--all", all),
    {"--by", TG_OPTION_CHOICE, TG_OPTION_IN(struct arguments, by), .words = sides, .takes = "worker or rank",
     .value = TG_SEQUENCE_BY_WORKER},
    {"--team", TG_OPTION_NUMBER, TG_OPTION_IN(struct arguments, team), .lowest = 1, .highest = INT64_MAX,
     .takes = "the number of a region"},
    {"--format", TG_OPTION_PARSED, TG_OPTION_IN(struct arguments, format), .takes = "a format",
     .parse = take_format},
    FLAG("--print", print),
    FLAG("--show", print),
    {"--no-gen", TG_OPTION_SET, TG_OPTION_IN(struct arguments, format),
     .value = (intptr_t)&tg_sequence_seqdiag},
    FLAG("--open", open),
    /* the diagram is there when the command is done, whichever is asked for */
    FLAG("--sync", sync),
    FLAG("--async", sync),
    {"--output", TG_OPTION_WORD, TG_OPTION_IN(struct arguments, output), .takes = "a file name"},
    FLAG("--force", force),
    FLAG("--gui", gui), /* shown anew */
    {0}};

static struct tg_error *parse(int argc, Tcl_Obj *const *argv, struct arguments *arguments)
{
    struct tg_error *error = tg_console_take_options(&tg_console_opm_sequence, argc, argv, arguments, NULL);
    if (error != NULL)
        return error;
    if (arguments->print && (arguments->output != NULL || arguments->open || arguments->gui))
        return tg_error_create(TG_ERROR_USAGE, "--print cannot be combined with --output, --open or --gui");
    arguments->force |= arguments->gui;
    arguments->open |= arguments->gui;
    if (arguments->format == NULL)
        arguments->format = arguments->print ? &tg_sequence_seqdiag : tg_sequence_format_at(0);
    return NULL;
}

/* The process in focus, or of the worker that was chosen; SIZE_MAX: whichever matters. */
static size_t chosen_process(const struct tg_console *console)
{
    const struct tg_openmp_worker *worker =
        console->focus.worker == SIZE_MAX ? NULL : tg_focus_worker(&console->focus, console->source);
    return worker != NULL ? worker->process : console->focus.process;
}

static struct tg_error *read_diagram(struct tg_console *console, const struct arguments *arguments,
                                     struct tg_sequence_reading *reading)
{
    const struct tg_source *source = console->source;
    struct tg_selection selection = {0};
    char *file = tg_source_trace_file(source);
    if (file == NULL)
        return tg_error_no_memory();
    /* A live job's console can have passed over events: what the file has is the state. */
    const struct tg_sequence_request request = {.path = file,
                                                .name = source->trace_path,
                                                .selection = &selection,
                                                .by = arguments->by,
                                                .all = arguments->all,
                                                .team = arguments->team,
                                                .services = console->options.services,
                                                .n_events =
                                                    console->options.live == NULL ? source->number : 0,
                                                .is_interrupted = tg_interrupt_pending};
    size_t process = chosen_process(console);
    struct tg_error *error = NULL;
    if (arguments->by != TG_SEQUENCE_BY_RANK && process < tg_process_model_count(source->moment->processes)) {
        char pid[16];
        snprintf(pid, sizeof pid, "%" PRId32, tg_process_model_at(source->moment->processes, process)->pid);
        error = tg_selection_add_pids(&selection, pid);
    }
    if (error == NULL)
        error = tg_sequence_read(&request, reading);
    tg_selection_deinit(&selection);
    free(file);
    return error;
}

/* run.tgt -> run.svg, beside it; the caller's. */
static char *name_output(const struct tg_source *source, const struct tg_sequence_format *format)
{
    size_t length = strlen(source->trace_path);
    char *path = NULL;
    if (length > 4 && strcmp(source->trace_path + length - 4, ".tgt") == 0)
        length -= 4;
    return asprintf(&path, "%.*s%s", (int)length, source->trace_path, format->suffix) < 0 ? NULL : path;
}

static struct tg_error *refuse_trace(const struct tg_source *source, const char *path)
{
    char *file = tg_source_trace_file(source);
    if (file == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_output_refuse_input(path, file);
    free(file);
    return error != NULL ? error : tg_output_refuse_input(path, source->trace_path);
}

/* Where nobody could see it, opening would fail, or show it as text in the middle of the console. */
static struct tg_error *open_file(const char *path, FILE *out)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if ((x != NULL && *x != '\0') || (wayland != NULL && *wayland != '\0'))
        return tg_sequence_open(path);
    fputs("not opened: there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)\n", out);
    return NULL;
}

/* ---- files that this console has drawn into */

struct drawn_file {
    char *path; /* as it was given */
    dev_t device;
    ino_t number;
};

struct drawn_files {
    struct drawn_file *items;
    size_t count, capacity;
};

static struct tg_error *create_files(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct drawn_files));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

static void destroy_files(void *state)
{
    struct drawn_files *files = state;
    for (size_t i = 0; files != NULL && i < files->count; i++)
        free(files->items[i].path);
    if (files != NULL)
        free(files->items);
    free(files);
}

const struct tg_console_state_kind tg_opm_sequence_kind = {.create = create_files, .destroy = destroy_files};

static struct drawn_file *find_file(const struct drawn_files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i].path, path) == 0)
            return &files->items[i];
    return NULL;
}

/* Whether what is at PATH is what was drawn there. */
static bool is_ours(const struct drawn_files *files, const char *path)
{
    const struct drawn_file *file = find_file(files, path);
    struct stat status;
    return file != NULL && lstat(path, &status) == 0 && status.st_dev == file->device &&
           status.st_ino == file->number;
}

static struct tg_error *note_ours(struct drawn_files *files, const char *path)
{
    struct drawn_file *file = find_file(files, path);
    struct stat status;
    if (lstat(path, &status) != 0)
        return NULL;
    if (file == NULL) {
        struct drawn_file made = {.path = strdup(path)};
        struct tg_error *error = made.path == NULL
                                     ? tg_error_no_memory()
                                     : TG_ARRAY_APPEND(files->items, files->count, files->capacity, made);
        if (error != NULL) {
            free(made.path);
            return error;
        }
        file = &files->items[files->count - 1];
    }
    file->device = status.st_dev;
    file->number = status.st_ino;
    return NULL;
}

/* ---- drawing */

static struct tg_error *write_file(const struct tg_console *console, const struct arguments *arguments,
                                   const struct tg_sequence_drawing *drawing, FILE *out)
{
    struct drawn_files *files = tg_console_state(console, &tg_opm_sequence_kind);
    struct tg_output *output = NULL;
    char *path = arguments->output != NULL ? strdup(arguments->output)
                                           : name_output(console->source, arguments->format);
    if (path == NULL)
        return tg_error_no_memory();
    struct tg_error *error = refuse_trace(console->source, path);
    if (error == NULL)
        error = tg_output_open(path, arguments->force || is_ours(files, path), &output);
    if (error == NULL)
        error = arguments->format->write(drawing, tg_output_stream(output));
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    if (error == NULL)
        error = note_ours(files, path);
    if (error == NULL) {
        tg_printable_write(out, path);
        fprintf(out, "\n%s%s", drawing->note, *drawing->note == '\0' ? "" : "\n");
        if (arguments->open)
            error = open_file(path, out);
    }
    free(path);
    return error;
}

static struct tg_error *draw(struct tg_console *console, const struct arguments *arguments, FILE *out)
{
    struct tg_sequence_reading reading = {0};
    if (console->source->trace_path == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s has no trace to draw", console->source->name);
    if (console->options.is_safe && !arguments->print)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "this console does not write files; --print shows the diagram");
    if (console->source->number == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "nothing to draw before the first event");
    struct tg_error *error =
        console->source->ops->sync == NULL ? NULL : console->source->ops->sync(console->source);
    if (error == NULL)
        error = read_diagram(console, arguments, &reading);
    struct tg_error *reason =
        error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND ? tg_unrecorded_refuse(console) : NULL;
    if (reason != NULL) {
        tg_error_destroy(error);
        error = reason;
    }
    if (error != NULL)
        return error;
    const struct tg_sequence_drawing drawing = {
        .sequence = reading.sequence, .rows = &reading.rows, .title = reading.title, .note = reading.note};
    if (arguments->print)
        error = arguments->format->write(&drawing, out);
    else
        error = write_file(console, arguments, &drawing, out);
    tg_sequence_reading_deinit(&reading);
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct arguments arguments = {.by = TG_SEQUENCE_BY_WHAT_MATTERS};
    struct tg_error *error = parse(argc, argv, &arguments);
    return error != NULL ? error : draw(console, &arguments, out);
}

struct tg_error *tg_opm_sequence_draw(struct tg_console *console, FILE *out)
{
    const struct arguments arguments = {.by = TG_SEQUENCE_BY_WHAT_MATTERS,
                                        .format = tg_sequence_format_at(0)};
    return draw(console, &arguments, out);
}

static const char *const words[] = {"worker", "rank", "svg", "html", "seqdiag", "mermaid", "plantuml", NULL};

const struct tg_console_command tg_console_opm_sequence = {
    .name = "opm sequence",
    .arguments = "?--all? ?--by worker|rank? ?--team N? ?--format F? ?--print? ?--output FILE? ?--force? "
                 "?--open? ?--gui?",
    .summary = "draws a sequence diagram of the current moment into a file, or prints it",
    .example = "opm sequence --print",
    .more =
        "Draws the process in focus, or the most relevant one. The file is named after the trace; one that\n"
        "this console has not drawn is not replaced without --force. Its name is the result. The options are "
        "those of `tollgate sequence`;\n"
        "--print (or --show) prints the text for seqdiag, or the format of --format; --open shows the file\n"
        "by xdg-open, --gui the same and replaces it. --sync and --async have no effect: the command "
        "returns\n"
        "when the diagram is written. For a live job it shows what its trace has so far.\n"
        "`set opm opm-auto-sequence on` draws it again before each prompt at which the moment, what is held\n"
        "or the focus has changed; `... off` ends that.",
    .options = options,
    .words = words,
    .is_of_now = true,
    .run = run,
};
