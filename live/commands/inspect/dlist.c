/* dlist: source text around a place. */
#include "live/commands/inspect/dlist.h"
#include "live/commands/inspect/commands.h"

#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/console/options.h"
#include "recorder/unwind/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct tg_listing {
    struct tg_source_lines *sources;
    char *file;          /* as the debug information has it, NULL: nothing was listed yet */
    char *program;       /* program whose source FILE is */
    char *warned;        /* the file that was said to be newer, NULL none */
    uint64_t first, end; /* lines [first, end) were shown last */
    uint64_t pc;         /* pc of the thread at that time */
};

static struct tg_error *create_listing(struct tg_console *console, void **state)
{
    (void)console;
    struct tg_listing *made = calloc(1, sizeof *made);
    struct tg_error *error = made == NULL ? tg_error_no_memory() : tg_source_lines_create(&made->sources);
    if (error != NULL) {
        free(made);
        return error;
    }
    *state = made;
    return NULL;
}

static void destroy_listing(void *state)
{
    struct tg_listing *listing = state;
    if (listing == NULL)
        return;
    tg_source_lines_destroy(listing->sources);
    free(listing->file);
    free(listing->program);
    free(listing->warned);
    free(listing);
}

const struct tg_console_state_kind tg_listing_kind = {
    .is_live = true, .create = create_listing, .destroy = destroy_listing};

struct tg_source_lines *tg_listing_sources(struct tg_listing *listing)
{
    return listing->sources;
}

/* ---- what was asked for */

enum where {
    ON,      /* after the last list; around the pc where the thread has moved since */
    BACK,    /* before the last list */
    AT_LINE, /* of the file listed last, else of the pc's */
    AT_NAME, /* a function */
    IN_FILE, /* FILE#LINE */
};

struct wanted {
    enum where where;
    uint64_t first, last; /* lines; last 0: as many as MAX_LIST says */
    uint64_t count;
    const char *place; /* as it was written, NULL none */
    char *name;        /* function or file */
    const struct tg_listing *listing;
    const struct tg_frame_choices *choices;
    /* the answer */
    char *file, *program; /* NULL: not known */
    uint64_t line;        /* first line; 0: around the pc */
    uint64_t pc, pc_line; /* of the thread; the line 0 where it is in another file */
    struct tg_source_mark *marks;
    size_t n_marks;
};

static bool take_line(const char *text, const char *end, uint64_t *line)
{
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9' || value > INT32_MAX)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *line = value;
    return value > 0 && value <= INT32_MAX;
}

/* N or N,M */
static bool take_lines(const char *text, struct wanted *wanted)
{
    const char *comma = strchr(text, ','), *end = text + strlen(text);
    if (comma == NULL)
        return take_line(text, end, &wanted->first);
    return take_line(text, comma, &wanted->first) && take_line(comma + 1, end, &wanted->last) &&
           wanted->last >= wanted->first;
}

static struct tg_error *refuse(const char *text)
{
    char shown[200];
    return tg_error_create(TG_ERROR_USAGE,
                           "'%s' is not a source location: give LINE, FIRST,LAST, FILE#LINE, FUNCTION or -",
                           tg_printable(text, shown, sizeof shown));
}

static struct tg_error *parse_place(const char *text, struct wanted *wanted)
{
    const char *mark = strrchr(text, '#');
    if (strcmp(text, "-") == 0) {
        wanted->where = BACK;
        return NULL;
    }
    if (*text >= '0' && *text <= '9') {
        wanted->where = AT_LINE;
        return take_lines(text, wanted) ? NULL : refuse(text);
    }
    if (*text == '\0' || *text == '-')
        return refuse(text);
    if (mark != NULL && !take_lines(mark + 1, wanted))
        return refuse(text);
    wanted->where = mark == NULL ? AT_NAME : IN_FILE;
    wanted->name = mark == NULL ? strdup(text) : strndup(text, (size_t)(mark - text));
    if (wanted->name == NULL)
        return tg_error_no_memory();
    return *wanted->name == '\0' ? refuse(text) : NULL;
}

/* ---- what the process knows, on the tracer thread */

/* Address of the wanted place, 0 not known. */
static uint64_t find_code(const struct tg_standing *standing, const struct wanted *wanted)
{
    uint64_t address = 0, bias;
    if (wanted->where == AT_NAME)
        return tg_standing_function(standing, wanted->name, &address) ? address : 0;
    for (size_t i = 0; i < tg_modules_count(standing->modules); i++) {
        struct tg_debug_info *info =
            tg_modules_debug_info(standing->modules, tg_modules_at(standing->modules, i), &bias);
        if (info != NULL &&
            tg_image_find_line(tg_debug_info_image(info), wanted->name, wanted->first, &address, 1) > 0)
            return address + bias;
    }
    return 0;
}

/* Line of POINT in the process: another process of the program has it at another address, and FILE#LINE
 * the same. */
static uint64_t line_of_point(const struct tg_standing *standing, const struct tg_action_point *point,
                              const char *file)
{
    struct tg_debug_row row;
    const char *mark = strrchr(point->place, '#');
    size_t length = strlen(file);
    if (mark != NULL && (size_t)(mark - point->place) == length && memcmp(point->place, file, length) == 0)
        return strtoull(mark + 1, NULL, 10);
    if (mark == NULL && tg_modules_row_at(standing->modules, point->address, &row) &&
        strcmp(row.file, file) == 0)
        return (uint64_t)row.line;
    return 0;
}

/* Finds the lines of the file's action points; without memory there are none. */
static void find_marks(const struct tg_request *control, const struct tg_standing *standing,
                       struct wanted *wanted)
{
    const struct tg_action_points *points = tg_controller_points(control->controller);
    size_t count = tg_action_points_count(points);
    wanted->marks = calloc(count + 1, sizeof *wanted->marks);
    for (size_t i = 0; wanted->marks != NULL && i < count; i++) {
        const struct tg_action_point *point = tg_action_points_at(points, i);
        uint64_t line = point->pending ? 0 : line_of_point(standing, point, wanted->file);
        if (line != 0)
            wanted->marks[wanted->n_marks++] =
                (struct tg_source_mark){.line = line,
                                        .letter = !point->enabled                    ? 'd'
                                                  : point->kind == TG_ACTION_BARRIER ? 'B'
                                                                                     : 'b'};
    }
}

static struct tg_error *keep(struct wanted *wanted, const struct tg_standing *standing, const char *file,
                             uint64_t address, uint64_t line)
{
    wanted->file = strdup(file);
    wanted->program = strdup(address == 0 ? "" : tg_standing_program(standing, address));
    wanted->line = line;
    return wanted->file == NULL || wanted->program == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *find_place(const struct tg_standing *standing, struct wanted *wanted,
                                   const struct tg_debug_row *here)
{
    const struct tg_listing *listing = wanted->listing;
    struct tg_debug_row row;
    char shown[200];
    bool goes_on = listing->file != NULL && (wanted->where == BACK || wanted->where == AT_LINE ||
                                             (wanted->where == ON && listing->pc == wanted->pc));
    if (wanted->where == AT_NAME || wanted->where == IN_FILE) {
        uint64_t address = find_code(standing, wanted);
        if (address != 0 && tg_modules_row_at(standing->modules, address, &row))
            return keep(wanted, standing, row.file, address,
                        wanted->where == AT_NAME ? (uint64_t)row.line : wanted->first);
        if (wanted->where == IN_FILE) /* no code: the name may be one of a file all the same */
            return keep(wanted, standing, wanted->name, 0, wanted->first);
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s%s' in process %" PRIu32,
                               address == 0 ? "no function '" : "no source line for '",
                               tg_printable(wanted->name, shown, sizeof shown), standing->id.dpid);
    }
    if (goes_on) {
        wanted->file = strdup(listing->file);
        wanted->program = strdup(listing->program);
        wanted->line = wanted->where == AT_LINE ? wanted->first : listing->end;
        return wanted->file == NULL || wanted->program == NULL ? tg_error_no_memory() : NULL;
    }
    if (here == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "no source line for the pc, 0x%" PRIx64 "; `dexamine /i` shows instructions",
                               wanted->pc);
    return keep(wanted, standing, here->file, wanted->pc, wanted->where == AT_LINE ? wanted->first : 0);
}

/* The pc of the frame that was chosen; of a caller, an address in the call. A thread that waits in the agent, as at a gate behind
 * `opm`, is where the program called it. */
static struct tg_error *find_pc(const struct tg_standing *standing, struct wanted *wanted)
{
    unsigned level = tg_frame_choices_level(wanted->choices, standing->thread);
    struct tg_frames frames;
    const struct tg_frame innermost =
        tg_frames_innermost(standing->modules, &standing->memory, &standing->registers);
    wanted->pc = tg_frame_place(&innermost);
    if (level == 0)
        return NULL;
    struct tg_error *error =
        tg_frames_read(standing->modules, &standing->memory, &standing->registers, level + 1, &frames);
    if (error != NULL)
        return error;
    if (level < frames.count)
        wanted->pc = tg_frame_place(&frames.calls[level].frame);
    tg_frames_deinit(&frames);
    return NULL;
}

static struct tg_error *gather(const struct tg_request *control)
{
    struct wanted *wanted = control->context;
    struct tg_standing standing;
    struct tg_debug_row here;
    struct tg_error *error = tg_standing_find(control, &standing);
    if (error != NULL)
        return error;
    error = find_pc(&standing, wanted);
    if (error != NULL)
        return error;
    bool has_row = tg_modules_row_at(standing.modules, wanted->pc, &here);
    error = find_place(&standing, wanted, has_row ? &here : NULL);
    if (error != NULL)
        return error;
    if (has_row && strcmp(here.file, wanted->file) == 0)
        wanted->pc_line = (uint64_t)here.line;
    find_marks(control, &standing, wanted);
    return NULL;
}

/* ---- showing it */

/* Range of lines: as wanted, or continuing from the last range. */
static struct tg_source_range choose(const struct wanted *wanted, const struct tg_listing *listing)
{
    struct tg_source_range range = {.first = wanted->line,
                                    .count = wanted->count,
                                    .current = wanted->pc_line,
                                    .marks = wanted->marks,
                                    .n_marks = wanted->n_marks};
    if (wanted->where == BACK) {
        uint64_t end = listing->file == NULL ? wanted->pc_line : listing->first;
        range.first = end > wanted->count ? end - wanted->count : 1;
        range.count = end > range.first ? end - range.first : 0;
    } else if (wanted->line == 0) {
        range.first = wanted->pc_line > wanted->count / 2 ? wanted->pc_line - wanted->count / 2 : 1;
    } else if (wanted->last != 0) {
        range.count = wanted->last - wanted->first + 1;
    }
    return range;
}

static void warn(struct tg_listing *listing, const struct tg_source_text *text, const char *program,
                 FILE *out)
{
    if (!text->is_newer || (listing->warned != NULL && strcmp(listing->warned, text->path) == 0))
        return;
    free(listing->warned);
    listing->warned = strdup(text->path);
    tg_printable_write(out, text->path);
    fputs(" is newer than ", out);
    tg_printable_write(out, program);
    fputs(": its lines may differ\n", out);
}

static struct tg_error *show(struct tg_console *console, struct wanted *wanted, FILE *out)
{
    struct tg_listing *listing = tg_console_state(console, &tg_listing_kind);
    const struct tg_source_text *text = NULL;
    struct tg_error *error = tg_source_lines_find(listing->sources, wanted->file,
                                                  *wanted->program == '\0' ? NULL : wanted->program, &text);
    if (error != NULL)
        return error;
    struct tg_source_range range = choose(wanted, listing);
    if (range.first > text->n_lines || range.count == 0) {
        char shown[300];
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s has %zu lines; there are none %s",
                               tg_printable(text->path, shown, sizeof shown), text->n_lines,
                               wanted->where == BACK ? "before the first" : "after the last");
    }
    warn(listing, text, wanted->program, out);
    tg_source_text_print(text, &range, out);
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_source_text_json(text, &range, json);
    free(listing->file);
    free(listing->program);
    listing->file = wanted->file;
    listing->program = wanted->program;
    wanted->file = wanted->program = NULL;
    listing->pc = wanted->pc;
    listing->first = range.first;
    listing->end = range.first + range.count;
    return NULL;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_listing *listing = tg_console_state(console, &tg_listing_kind);
    struct wanted wanted = {.listing = listing, .choices = tg_console_state(console, &tg_frame_choices_kind)};
    wanted.count = (uint64_t)tg_console_settings_number(console->settings, "MAX_LIST");
    struct tg_error *error = tg_console_take_options(&tg_console_dlist, argc, argv, &wanted, NULL);
    if (error == NULL && wanted.place != NULL)
        error = parse_place(wanted.place, &wanted);
    if (error == NULL)
        error = tg_source_lines_search(listing->sources,
                                       tg_console_settings_text(console->settings, "SEARCH_PATH"));
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_standing_defaults, gather, &wanted, out);
    if (error == NULL)
        error = show(console, &wanted, out);
    free(wanted.name);
    free(wanted.file);
    free(wanted.program);
    free(wanted.marks);
    return error;
}

static const struct tg_console_option options[] = {
    {"-n", TG_OPTION_NUMBER, TG_OPTION_IN(struct wanted, count), .lowest = 1, .highest = 10000},
    {"PLACE", TG_OPTION_WORD, TG_OPTION_IN(struct wanted, place)},
    {0}};

const struct tg_console_command tg_console_dlist = {
    .name = "dlist",
    .arguments = "?LINE | FIRST,LAST | FILE#LINE | FUNCTION | -? ?-n COUNT?",
    .summary = "source lines where the thread in focus is stopped, or at another place",
    .example = "dlist solver.c#120 -n 10",
    .more =
        "Without a place dlist continues after the last lines it listed, or starts at the pc if the thread\n"
        "has moved; - goes back. > marks the pc, b a breakpoint, B a barrier, d a disabled action point.\n"
        "dset MAX_LIST sets how many lines are listed, SEARCH_PATH where sources are looked for.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run,
};
