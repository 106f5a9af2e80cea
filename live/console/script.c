#include "live/console/script.h"

#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "live/console/eval.h"
#include "live/console/line_editor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_SCRIPT = 'x', KEY_COMMAND = 'e', KEY_INTERACTIVE = 'i', KEY_JSON = 0x2000, KEY_RC };

enum { MAX_RUNS = 1024 };

struct tg_console_run {
    bool is_file;
    bool is_begin; /* comes before all that are not */
    const char *text;
};

static error_t add_run(struct tg_console_script *script, int key, const char *text, struct argp_state *state)
{
    if (script->n_runs == MAX_RUNS)
        tg_command_line_error(state, "too many --rc, -x and -e (limit %d)", MAX_RUNS);
    const struct tg_console_run run = {
        .is_file = key != KEY_COMMAND, .is_begin = key == KEY_RC, .text = text};
    if (TG_ARRAY_APPEND_EXACT(script->runs, script->n_runs, run) != NULL)
        return ENOMEM;
    script->n_begins += key == KEY_RC;
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct tg_console_script *script = state->input;
    switch (key) {
    case KEY_RC:
    case KEY_SCRIPT:
    case KEY_COMMAND:
        return add_run(script, key, argument, state);
    case KEY_INTERACTIVE:
        script->interactive = true;
        return 0;
    case KEY_JSON:
        script->as_json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"rc", KEY_RC, "FILE", 0, "Run the commands in FILE first, then continue", 0},
    {"script", KEY_SCRIPT, "FILE", 0, "Run the commands in FILE, then exit", 0},
    {"execute", KEY_COMMAND, "COMMAND", 0, "Run COMMAND, then exit; -x and -e run in the order given", 0},
    {"interactive", KEY_INTERACTIVE, NULL, 0, "Read commands from standard input after -x and -e", 0},
    {"json", KEY_JSON, NULL, 0, "Read and write one JSON object per line, for editors and programs", 0},
    {0},
};

const struct argp tg_console_script_argp = {.options = options, .parser = parse_option};

void tg_console_script_deinit(struct tg_console_script *script)
{
    free(script->runs);
    *script = (struct tg_console_script){0};
}

bool tg_console_script_reads_input(const struct tg_console_script *script)
{
    return script->n_runs == script->n_begins || script->interactive;
}

static bool run_file(struct tg_console *console, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        int errno_value = errno;
        char name[256];
        fprintf(stderr, "tollgate: cannot open %s: %s\n", tg_printable(path, name, sizeof name),
                strerror(errno_value));
        return false;
    }
    bool well = tg_console_read(console, file, TG_PRINT_OWN, path, true);
    fclose(file);
    return well;
}

/* Does WORK for each run in its order; false: one failed, or ended the console. */
static bool run_each(const struct tg_console_script *script, struct tg_console *console, bool begins,
                     bool (*work)(const struct tg_console_run *run, void *context), void *context)
{
    bool well = true;
    int status;
    for (size_t i = 0; well && i < script->n_runs && !tg_console_has_quit(console, &status); i++)
        if (script->runs[i].is_begin == begins)
            well = work(&script->runs[i], context);
    return well;
}

static bool run_as_text(const struct tg_console_run *run, void *context)
{
    const struct tg_console_place place = {.name = "-e", .line = 1};
    return run->is_file ? run_file(context, run->text)
                        : tg_console_eval(context, run->text, TG_PRINT_ALL, &place);
}

static bool run_as_json(const struct tg_console_run *run, void *context)
{
    return run->is_file ? tg_json_console_file(context, run->text)
                        : tg_json_console_eval(context, "-e", run->text);
}

static struct tg_error *run_for_people(const struct tg_console_script *script, struct tg_console *console,
                                       const char *greeting, bool *all_well)
{
    int status;
    bool well = run_each(script, console, true, run_as_text, console) &&
                run_each(script, console, false, run_as_text, console);
    *all_well = well;
    if (!well || !tg_console_script_reads_input(script) || tg_console_has_quit(console, &status))
        return NULL;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        puts(greeting);
        return tg_line_editor_run(console);
    }
    struct stat input;
    if (fstat(STDIN_FILENO, &input) == 0 && !S_ISREG(input.st_mode))
        setvbuf(stdin, NULL, _IONBF, 0); /* what was not read yet can be waited for: see await_line */
    *all_well = tg_console_read(console, stdin, TG_PRINT_ALL, NULL, false);
    return NULL;
}

static struct tg_error *run_for_program(const struct tg_console_script *script, struct tg_console *console,
                                        struct tg_json_console *json, const struct tg_console_start *start,
                                        bool *all_well)
{
    struct tg_error *error = tg_json_console_begin(json, console, start->mode, start->name, TG_VERSION);
    bool well = error == NULL && run_each(script, console, true, run_as_json, json) &&
                run_each(script, console, false, run_as_json, json);
    if (error == NULL && well && tg_console_script_reads_input(script))
        well = tg_json_console_read(json);
    *all_well = well;
    return error;
}

struct tg_error *tg_console_script_run(const struct tg_console_script *script, struct tg_console *console,
                                       struct tg_json_console *json, const struct tg_console_start *start,
                                       bool *all_well)
{
    return json != NULL ? run_for_program(script, console, json, start, all_well)
                        : run_for_people(script, console, start->greeting, all_well);
}
