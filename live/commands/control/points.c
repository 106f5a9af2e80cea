/* Action points: dbreak, dbarrier, dactions, denable, ddisable, ddelete. */
#include "format/base/replace.h"
#include "format/settings/break_spec.h"
#include "live/commands/control/action_file.h"
#include "live/commands/control/commands.h"
#include "live/commands/control/hit_scripts.h"
#include "live/commands/control/point_address.h"
#include "live/commands/control/point_data.h"
#include "live/commands/control/point_request.h"
#include "live/commands/control/point_spec.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/wait_words.h"
#include "live/console/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- making them */

/* Arguments of dbreak or dbarrier. */
struct point_words {
    const char *location; /* as it was written, NULL none */
    const char *address;  /* of -address */
    const char *condition;
    const char *script; /* of -e, NULL none */
    enum tg_barrier_stop stop_when_hit, stop_when_done;
    bool pending;
    bool is_barrier;
    bool is_open; /* nobody has said for whom it is */
    char *spec;   /* of the location */
    uint32_t id;
    char *moved;     /* words on a line without code, for which another one is meant; NULL it has some */
    size_t position; /* of what is wrong in the condition, SIZE_MAX nothing */
    size_t focus_position; /* and in the focus */
};

static struct tg_error *take_stop(const char *option, const char *word, void *stop)
{
    return tg_action_point_parse_stop(option, word, stop);
}

#define IN(member) TG_OPTION_IN(struct point_words, member)
#define POINT_OPTIONS                                                                                        \
    {"-address", TG_OPTION_WORD, IN(address), .takes = "an address"},                                        \
        TG_OPTION_FLAG("-pending", struct point_words, pending),                                             \
        {"-stop_when_hit", TG_OPTION_PARSED, IN(stop_when_hit), .takes = "group, process or none",           \
         .parse = take_stop},                                                                                \
    {                                                                                                        \
        "LOCATION", TG_OPTION_WORD, IN(location)                                                             \
    }

static const struct tg_console_option dbreak_options[] = {
    {"-g", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_GROUP},
    {"-p", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_PROCESS},
    {"-t", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_NONE},
    {"-if", TG_OPTION_WORD, IN(condition), .takes = "a condition"},
    {"-condition", TG_OPTION_WORD, IN(condition), .takes = "a condition"},
    {"-e", TG_OPTION_WORD, IN(script), .takes = "a script"},
    POINT_OPTIONS,
    {0}};

static const struct tg_console_option dbarrier_options[] = {
    {"-stop_when_done", TG_OPTION_PARSED, IN(stop_when_done), .takes = "group, process or none",
     .parse = take_stop},
    POINT_OPTIONS,
    {0}};

static struct tg_error *set_point(const struct tg_request *control, const struct tg_ptset *focus,
                                  struct point_words *words)
{
    unsigned options = (words->pending ? TG_POINT_PENDING : 0U) | (words->is_open ? TG_POINT_OF_RANKS : 0U);
    if (words->is_barrier)
        return tg_controller_barrier(control->controller, focus, words->spec, words->stop_when_hit,
                                     words->stop_when_done, options, &words->id, &words->focus_position);
    return tg_controller_break(control->controller, focus, words->spec, words->condition,
                               words->stop_when_hit, options, &words->id, &words->focus_position);
}

/* A line without code, such as a pragma, stands for the next one that has some: words on that, for the caller. */
static char *words_on_moved(const struct tg_request *control, const struct point_words *words)
{
    const struct tg_action_point *point =
        tg_action_points_get(tg_controller_points(control->controller), words->id);
    struct tg_break_spec *spec = NULL;
    char *text = NULL;
    const char *line = point == NULL || point->pending ? NULL : strrchr(point->place, '#');
    struct tg_error *error = line == NULL ? NULL : tg_break_spec_parse(words->spec, &spec);
    if (error == NULL && spec != NULL && spec->kind == TG_BREAK_LINE &&
        strtoull(line + 1, NULL, 10) != spec->line &&
        asprintf(&text, "line %" PRIu64 " has no code: action point %" PRIu32 " is at line %s", spec->line,
                 words->id, line + 1) < 0)
        text = NULL;
    tg_break_spec_destroy(spec);
    tg_error_destroy(error);
    return text;
}

static struct tg_error *make(const struct tg_request *control)
{
    struct point_words *words = control->context;
    const struct tg_ptset *focus;
    struct tg_ptset *made;
    struct tg_error *error = tg_point_request_focus(control, &made, &focus);
    if (error == NULL && words->condition != NULL)
        error = tg_point_request_condition(words->condition, &words->position);
    if (error == NULL && words->address == NULL)
        error = tg_point_spec_find(control, words->location, &words->spec);
    else if (error == NULL)
        error = tg_point_address_spec(control, focus, words->address, &words->spec);
    if (error == NULL)
        error = set_point(control, focus, words);
    if (error == NULL && words->script != NULL)
        error = tg_controller_set_script(control->controller, words->id, words->script);
    tg_ptset_destroy(made);
    words->moved = error == NULL ? words_on_moved(control, words) : NULL;
    free(words->spec);
    if (error == NULL)
        fprintf(control->out, "%" PRIu32 "\n", words->id);
    return error;
}

/* Defaults by the settings, for options that are not given. */
static struct tg_error *take_defaults(const struct tg_console *console, struct point_words *words)
{
    struct tg_error *error = tg_point_request_default(
        console, words->is_barrier ? "BARRIER_STOP_ALL" : "STOP_ALL", &words->stop_when_hit);
    if (error == NULL)
        error = tg_point_request_default(console, "BARRIER_STOP_WHEN_DONE", &words->stop_when_done);
    return error;
}

/* Whether ERROR is that no process has the place yet, and somebody at the terminal wants to wait for one that does. Takes
 * ERROR then. */
static bool is_to_be_pending(const struct tg_console *console, struct tg_error *error)
{
    char question[400];
    const char *message = error == NULL ? "" : tg_error_message(error);
    const char *advice = strstr(message, TG_POINT_PENDING_ADVICE);
    if (console->ask == NULL || advice == NULL)
        return false;
    snprintf(question, sizeof question, "%.*s. Make it pending? (y or [n]) ", (int)(advice - message),
             message);
    if (!console->ask(console->ask_context, question))
        return false;
    tg_error_destroy(error);
    return true;
}

/* Where gdb's `if CONDITION` begins among the words of a breakpoint; ARGC: nowhere. */
static int find_if(bool is_barrier, int argc, Tcl_Obj *const *argv)
{
    int at = 1;
    while (at < argc && (is_barrier || strcmp(Tcl_GetString(argv[at]), "if") != 0))
        at++;
    return at < argc - 1 ? at : argc;
}

/* Members of the focus are the controller's to find, which has groups of its own for that. */
static struct tg_error *make_point(struct tg_console *console, const struct tg_console_command *command,
                                   bool is_barrier, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct point_words words = {.is_barrier = is_barrier,
                                .is_open = console->focus.is_open,
                                .position = SIZE_MAX,
                                .focus_position = SIZE_MAX};
    struct tg_error *error = take_defaults(console, &words);
    int n_options = find_if(is_barrier, argc, argv);
    Tcl_Obj *condition = n_options < argc ? Tcl_ConcatObj(argc - n_options - 1, argv + n_options + 1) : NULL;
    if (condition != NULL)
        Tcl_IncrRefCount(condition);
    if (error == NULL)
        error = tg_console_take_options(command, n_options, argv, &words, NULL);
    if (error == NULL && condition != NULL && words.condition != NULL)
        error = tg_console_usage(command);
    else if (condition != NULL)
        words.condition = Tcl_GetString(condition);
    if (error == NULL && (words.location == NULL) == (words.address == NULL))
        error = tg_console_usage(command);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, make, &words, out);
    if (is_to_be_pending(console, error)) {
        words.pending = true;
        error = tg_focus_call_run(console, &tg_focus_call_defaults, make, &words, out);
    }
    if (error == NULL && words.script != NULL)
        tg_hit_scripts_expect(console);
    if (error == NULL && words.moved != NULL) /* the answer is the number alone, for scripts */
        tg_wait_words_note(console, words.moved);
    free(words.moved);
    struct tg_json *json = error == NULL ? tg_console_data_begin(&console->data) : NULL;
    if (json != NULL)
        tg_json_unsigned(json, words.id);
    if (error != NULL && words.position != SIZE_MAX && condition != NULL) /* CONDITION does not live on */
        error = tg_console_marked(error, words.condition, words.position);
    else if (error != NULL && words.position != SIZE_MAX)
        error = tg_console_pointed(console, error, words.condition, words.position);
    else
        error = tg_focus_call_point(console, error, words.focus_position);
    if (condition != NULL)
        Tcl_DecrRefCount(condition);
    return error;
}

static struct tg_error *run_dbreak(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return make_point(console, &tg_console_dbreak, false, argc, argv, out);
}

static struct tg_error *run_dbarrier(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return make_point(console, &tg_console_dbarrier, true, argc, argv, out);
}

const struct tg_console_command tg_console_dbreak = {
    .name = "dbreak",
    .arguments = "LOCATION | -address ADDRESS ?-g | -p | -t? ?-pending? ?-if CONDITION? ?-e SCRIPT?",
    .summary = "sets a breakpoint and returns its number",
    .example = "dbreak solver.c#120 -g",
    .more =
        "LOCATION is LINE (in the file where the thread in focus is stopped), FILE#LINE or FILE:LINE,\n"
        "FUNCTION or LIBRARY`FUNCTION, in C++ also space::f, in Fortran module::f: its first line, after "
        "the\n"
        "prologue, and where its inlined copies begin; *FUNCTION is its own first instruction.\n"
        "-address takes an address of the process in focus; other processes may have the same code\n"
        "elsewhere. FUNCTION#LINE and FILE#FUNCTION#LINE require the line to be in that function; any of "
        "them may start with ##LIBRARY#.\n"
        "-e runs SCRIPT at each hit, with the thread that hit it in focus; it stays stopped unless the\n"
        "script ends with dgo.\n"
        "-g, -p and -t say what stops together with the thread that hits: its group, its process (the\n"
        "default) or nothing else. The breakpoint is planted in the share group of the process in focus,\n"
        "or, with width p or t, in that process alone. -pending accepts a LOCATION that no process has yet.\n"
        "Until a focus is set, it is also planted in the ranks of the job, including those that start "
        "later.\n"
        "CONDITION is an expression as in C (count == 3 && p->next) or Tcl: $rdi is a register, $count a\n"
        "variable, ${p->a[3]} an expression of dprint; where it is false nothing stops.",
    .options = dbreak_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dbreak,
};

static const char *const widths[] = {"group", "process", "none", NULL};

const struct tg_console_command tg_console_dbarrier = {
    .name = "dbarrier",
    .arguments = "LOCATION | -address ADDRESS ?-stop_when_hit WIDTH? ?-stop_when_done WIDTH? ?-pending?",
    .summary = "sets a barrier for the processes or threads in focus and returns its number",
    .example = "dfocus gW dbarrier 642 -stop_when_hit none",
    .more =
        "A thread that reaches LOCATION, or is stopped there already, is held until all members have "
        "arrived;\n"
        "then all are released and stay stopped until dgo. A focus with a group of threads (W, L) makes a "
        "thread barrier, any other\n"
        "focus a process barrier, by default of the share group. WIDTH is group, process or none: what else\n"
        "stops when a member arrives (-stop_when_hit), and when all have arrived (-stop_when_done).",
    .options = dbarrier_options,
    .words = widths,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dbarrier,
};

/* ---- changing them */

struct numbers {
    uint32_t *ids;
    size_t count;
    bool all;
    struct tg_error *(*change)(struct tg_controller *controller, uint32_t id, bool enabled);
    bool enabled;
};

static const struct tg_console_option change_options[] = {
    TG_OPTION_FLAG_ALONE("-a", struct numbers, all), {.name = "N", .kind = TG_OPTION_REST}, {0}};

static struct tg_error *delete (struct tg_controller *controller, uint32_t id, bool enabled)
{
    (void)enabled;
    return tg_controller_delete(controller, id);
}

static struct tg_error *change(const struct tg_request *control)
{
    const struct numbers *numbers = control->context;
    const struct tg_action_points *points = tg_controller_points(control->controller);
    struct tg_error *error = NULL;
    const struct tg_action_point *point;
    for (size_t i = 0; error == NULL && i < numbers->count; i++) /* all are there, or nothing is changed */
        error = tg_action_points_find(points, numbers->ids[i], &point);
    for (size_t i = 0; error == NULL && i < numbers->count; i++)
        error = numbers->change(control->controller, numbers->ids[i], numbers->enabled);
    for (size_t i = tg_action_points_count(points); numbers->all && error == NULL && i-- > 0;)
        error = numbers->change(control->controller, tg_action_points_at(points, i)->id, numbers->enabled);
    return error;
}

static struct tg_error *take_ids(int argc, Tcl_Obj *const *argv, struct numbers *numbers)
{
    numbers->ids = calloc((size_t)argc + 1, sizeof *numbers->ids);
    if (numbers->ids == NULL)
        return tg_error_no_memory();
    for (int i = 0; i < argc; i++) {
        Tcl_WideInt id;
        if (Tcl_GetWideIntFromObj(NULL, argv[i], &id) != TCL_OK || id < 1 || id > UINT32_MAX)
            return tg_error_create(TG_ERROR_USAGE,
                                   "'%s' is not the number of an action point (`dactions` lists them)",
                                   Tcl_GetString(argv[i]));
        numbers->ids[numbers->count++] = (uint32_t)id;
    }
    return NULL;
}

static struct tg_error *run_change(struct tg_console *console, const struct tg_console_command *command,
                                   struct numbers numbers, int argc, Tcl_Obj *const *argv, FILE *out)
{
    int first;
    struct tg_error *error = tg_console_take_options(command, argc, argv, &numbers, &first);
    if (error == NULL && argc == 0)
        error = tg_console_usage(command);
    if (error == NULL)
        error = take_ids(argc - first, argv + first, &numbers);
    if (error == NULL)
        error = tg_focus_call_run_all(console, change, &numbers, out);
    free(numbers.ids);
    return error;
}

static struct tg_error *run_denable(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct numbers numbers = {.change = tg_controller_enable, .enabled = true};
    return run_change(console, &tg_console_denable, numbers, argc, argv, out);
}

static struct tg_error *run_ddisable(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct numbers numbers = {.change = tg_controller_enable, .enabled = false};
    return run_change(console, &tg_console_ddisable, numbers, argc, argv, out);
}

static struct tg_error *run_ddelete(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct numbers numbers = {.change = delete};
    return run_change(console, &tg_console_ddelete, numbers, argc, argv, out);
}

const struct tg_console_command tg_console_denable = {
    .name = "denable",
    .arguments = "N... | -a",
    .summary = "enables action points; -a: all",
    .example = "denable 2",
    .options = change_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_denable,
};

const struct tg_console_command tg_console_ddisable = {
    .name = "ddisable",
    .arguments = "N... | -a",
    .summary = "disables action points without deleting them; -a: all",
    .example = "ddisable 1 3",
    .more = "Threads held by a disabled barrier are released.",
    .options = change_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_ddisable,
};

const struct tg_console_command tg_console_ddelete = {
    .name = "ddelete",
    .arguments = "N... | -a",
    .summary = "deletes action points; -a: all",
    .example = "ddelete 2",
    .more = "Threads held by a deleted barrier are released; they stay stopped until dgo.",
    .options = change_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_ddelete,
};

/* ---- seeing them */

enum suppression { KEEP, SUPPRESS, UNSUPPRESS };

struct listing {
    enum suppression suppression;
    enum tg_action_points_which which;
    struct numbers numbers;
    const char *saved, *loaded; /* file that is written or run, NULL none */
    bool force;                 /* SAVED is replaced */
    struct tg_json *json;       /* NULL: nobody wants data */
};

#define ONE(name, kind, member, ...)                                                                         \
    {                                                                                                        \
        name, TG_OPTION_##kind, TG_OPTION_IN(struct listing, member), __VA_ARGS__, .alone = true             \
    }

static const struct tg_console_option dactions_options[] = {
    ONE("-enabled", SET, which, .value = TG_ACTION_POINTS_ENABLED),
    ONE("-disabled", SET, which, .value = TG_ACTION_POINTS_DISABLED),
    {"-save", TG_OPTION_WORD, TG_OPTION_IN(struct listing, saved), .takes = "a file"},
    TG_OPTION_FLAG("--force", struct listing, force),
    ONE("-load", WORD, loaded, .takes = "a file"),
    ONE("-suppress", SET, suppression, .value = SUPPRESS),
    ONE("-unsuppress", SET, suppression, .value = UNSUPPRESS),
    {.name = "N", .kind = TG_OPTION_REST},
    {0}};

static struct tg_error *save(const struct tg_action_points *points, const char *path, bool force)
{
    struct tg_error *error = tg_replace_check(AT_FDCWD, path, path, force);
    if (error != NULL)
        return error;
    FILE *file = fopen(path, force ? "we" : "wex");
    if (file == NULL)
        return tg_error_create_errno(errno, "cannot write %s", path);
    tg_action_points_save(points, file);
    bool failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    return failed ? tg_error_create_errno(errno, "cannot write %s", path) : NULL;
}

static bool is_wanted(const struct listing *listing, const struct tg_action_point *point)
{
    bool is_named = listing->numbers.count == 0;
    for (size_t i = 0; !is_named && i < listing->numbers.count; i++)
        is_named = listing->numbers.ids[i] == point->id;
    return is_named && (listing->which == TG_ACTION_POINTS_ALL ||
                        point->enabled == (listing->which == TG_ACTION_POINTS_ENABLED));
}

static void put_points(const struct tg_request *control)
{
    const struct listing *listing = control->context;
    const struct tg_action_points *points = tg_controller_points(control->controller);
    if (listing->json == NULL)
        return;
    tg_json_begin_array(listing->json);
    for (size_t i = 0; i < tg_action_points_count(points); i++)
        if (is_wanted(listing, tg_action_points_at(points, i)))
            tg_point_data(control, tg_action_points_at(points, i), listing->json);
    tg_json_end_array(listing->json);
}

static struct tg_error *print_points(const struct tg_request *control)
{
    const struct listing *listing = control->context;
    const struct tg_action_points *points = tg_controller_points(control->controller);
    const struct tg_action_point *point;
    struct tg_error *error = NULL;
    if (listing->numbers.count == 0) {
        size_t n = 0;
        for (size_t i = 0; i < tg_action_points_count(points); i++)
            n += is_wanted(listing, tg_action_points_at(points, i));
        error = tg_action_points_print(points, listing->which, control->out);
        if (n == 0)
            fprintf(control->out, "no %sbreakpoints, watchpoints or barriers\n",
                    listing->which == TG_ACTION_POINTS_ALL       ? ""
                    : listing->which == TG_ACTION_POINTS_ENABLED ? "enabled "
                                                                 : "disabled ");
        return error;
    }
    for (size_t i = 0; error == NULL && i < listing->numbers.count; i++) {
        error = tg_action_points_find(points, listing->numbers.ids[i], &point);
        if (error == NULL && i == 0)
            tg_action_points_print_suppressed(points, control->out);
        if (error == NULL) {
            tg_action_point_print(point, control->out);
            error = tg_point_address_list(control, point);
        }
    }
    return error;
}

static struct tg_error *list(const struct tg_request *control)
{
    const struct listing *listing = control->context;
    struct tg_error *error = NULL;
    if (listing->saved != NULL)
        error = save(tg_controller_points(control->controller), listing->saved, listing->force);
    else if (listing->suppression != KEEP)
        error = tg_controller_suppress(control->controller, listing->suppression == SUPPRESS);
    else
        error = print_points(control);
    put_points(control);
    return error;
}

/* The commands of an action file are the console's, so no call on the tracer thread is under way. */
static struct tg_error *load(struct tg_console *console, const char *path, FILE *out)
{
    size_t made = 0;
    struct tg_error *error = tg_action_file_load(console->interp, path, &made);
    if (error == NULL)
        fprintf(out, "%zu action point%s\n", made, made == 1 ? "" : "s");
    return error;
}

static struct tg_error *run_dactions(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct listing listing = {.which = TG_ACTION_POINTS_ALL};
    int first;
    struct tg_error *error = tg_console_take_options(&tg_console_dactions, argc, argv, &listing, &first);
    if (error == NULL && listing.loaded != NULL)
        return load(console, listing.loaded, out);
    if (error == NULL)
        error = take_ids(argc - first, argv + first, &listing.numbers);
    if (error == NULL && (listing.saved != NULL ? argc != 2 + listing.force : listing.force))
        error = tg_console_usage(&tg_console_dactions);
    if (error == NULL) {
        listing.json = tg_console_data_begin(&console->data);
        error = tg_focus_call_run_all(console, list, &listing, out);
    }
    free(listing.numbers.ids);
    return error;
}

const struct tg_console_command tg_console_dactions = {
    .name = "dactions",
    .arguments =
        "?N...? | -enabled | -disabled | -save FILE ?--force? | -load FILE | -suppress | -unsuppress",
    .summary = "lists action points (breakpoints and barriers), shows details, or saves them as a script",
    .example = "dactions 2",
    .more = "-save writes a script that sets the points again, into a new file or with --force in place of a "
            "regular "
            "one;\n"
            "-load runs such a file, which may contain nothing else. -suppress disables all points until "
            "-unsuppress; threads held by barriers are\n"
            "released.",
    .options = dactions_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dactions,
};
