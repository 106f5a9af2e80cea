/* dexamine: memory and instructions. */
#include "live/commands/inspect/dexamine.h"
#include "live/commands/inspect/commands.h"

#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/dlist.h"
#include "live/console/options.h"
#include "live/inspect/memory/disassembly.h"
#include "live/inspect/memory/memory_dump.h"

#include <stdlib.h>
#include <string.h>

struct examination {
    struct tg_disassembler *disassembler;
    struct tg_memory_format format;
    bool has_next;
    uint64_t next; /* behind what was shown last */
};

static struct tg_error *create_examination(struct tg_console *console, void **state)
{
    (void)console;
    struct examination *made = calloc(1, sizeof *made);
    struct tg_error *error =
        made == NULL ? tg_error_no_memory() : tg_disassembler_create(&made->disassembler);
    if (error != NULL) {
        free(made);
        return error;
    }
    made->format = (struct tg_memory_format){TG_MEMORY_HEX, 4, 1};
    *state = made;
    return NULL;
}

static void destroy_examination(void *state)
{
    struct examination *examination = state;
    if (examination == NULL)
        return;
    tg_disassembler_destroy(examination->disassembler);
    free(examination);
}

const struct tg_console_state_kind tg_examination_kind = {
    .is_live = true, .create = create_examination, .destroy = destroy_examination};

struct wanted {
    struct examination *examination;
    struct tg_source_lines *sources; /* NULL: none between instructions */
    struct tg_json *json;            /* NULL: nobody wants data */
    const char *address;             /* NULL: goes on, or where the thread is */
    struct tg_memory_format format;
    bool has_count, shows_source, shows_bytes;
};

/* ---- what was asked for */

static struct tg_error *take_letters(const char *option, const char *word, void *format)
{
    (void)option;
    return tg_memory_format_parse(word + 1, format);
}

static struct tg_error *take_format(const char *option, const char *word, void *format)
{
    char shown[64];
    if (tg_memory_format_find(word, format))
        return NULL;
    return tg_error_create(
        TG_ERROR_USAGE,
        "%s: unknown format '%s': give hex, decimal, unsigned, octal, float, double, char, "
        "string, address or instruction",
        option, tg_printable(word, shown, sizeof shown));
}

static struct tg_error *take_size(const char *option, const char *word, void *size)
{
    char shown[64];
    if (strlen(word) != 1 || strchr("1248", *word) == NULL)
        return tg_error_create(TG_ERROR_USAGE, "%s takes 1, 2, 4 or 8, not '%s'", option,
                               tg_printable(word, shown, sizeof shown));
    *(unsigned *)size = (unsigned)(*word - '0');
    return NULL;
}

static const struct tg_console_option options[] = {
    {"/FORMAT", TG_OPTION_PARSED, TG_OPTION_IN(struct wanted, format), .parse = take_letters},
    {"-format", TG_OPTION_PARSED, TG_OPTION_IN(struct wanted, format), .parse = take_format},
    {"-size", TG_OPTION_PARSED, TG_OPTION_IN(struct wanted, format.size), .parse = take_size},
    {"-count", TG_OPTION_NUMBER, TG_OPTION_IN(struct wanted, format.count), .lowest = 1,
     .highest = TG_MEMORY_DUMP_MAX},
    TG_OPTION_FLAG("-source", struct wanted, shows_source),
    TG_OPTION_FLAG("-bytes", struct wanted, shows_bytes),
    {"ADDRESS", TG_OPTION_WORD, TG_OPTION_IN(struct wanted, address)},
    {0}};

/* ---- on the tracer thread */

/* Whether POINT is at its address in this process too: programs lie elsewhere in each. */
static bool is_here(const struct tg_standing *standing, const struct tg_action_point *point)
{
    struct tg_debug_row row;
    const char *mark = strrchr(point->place, '#');
    if (point->pending)
        return false;
    return mark == NULL || (tg_modules_row_at(standing->modules, point->address, &row) &&
                            strtol(mark + 1, NULL, 10) == row.line);
}

static uint64_t *find_marks(const struct tg_request *control, const struct tg_standing *standing,
                            size_t *count)
{
    const struct tg_action_points *points = tg_controller_points(control->controller);
    size_t n = tg_action_points_count(points);
    uint64_t *marks = calloc(n + 1, sizeof *marks);
    *count = 0;
    for (size_t i = 0; marks != NULL && i < n; i++)
        if (is_here(standing, tg_action_points_at(points, i)))
            marks[(*count)++] = tg_action_points_at(points, i)->address;
    return marks;
}

static struct tg_error *show_code(const struct tg_request *control, const struct tg_standing *standing,
                                  uint64_t address, bool is_around)
{
    enum { BEFORE = 5, USUAL = 15 };
    struct wanted *wanted = control->context;
    struct tg_disassembler *disassembler = wanted->examination->disassembler;
    uint64_t count = wanted->has_count ? wanted->format.count : is_around ? USUAL : 1;
    size_t n_marks;
    uint64_t *marks = find_marks(control, standing, &n_marks), end = address;
    const struct tg_disassembly disassembly = {.memory = &standing->memory,
                                               .namer = &standing->namer,
                                               .sources = wanted->sources,
                                               .program = tg_standing_program(standing, address),
                                               .marks = marks,
                                               .n_marks = n_marks,
                                               .pc = standing->registers.value[TG_RIP],
                                               .shows_bytes = wanted->shows_bytes};
    if (is_around && !wanted->has_count)
        address = tg_disassembler_back(disassembler, &standing->memory, &standing->namer, address, BEFORE);
    struct tg_error *error =
        tg_disassembly_print(disassembler, &disassembly, address, count, control->out, &end);
    if (error == NULL && wanted->json != NULL)
        error = tg_disassembly_json(disassembler, &disassembly, address, count, wanted->json, &end);
    free(marks);
    wanted->examination->next = end;
    return error;
}

static struct tg_error *examine(const struct tg_request *control)
{
    struct wanted *wanted = control->context;
    struct examination *examination = wanted->examination;
    struct tg_standing standing;
    struct tg_error *error = tg_standing_find(control, &standing);
    if (error != NULL)
        return error;
    uint64_t address = examination->has_next ? examination->next : standing.registers.value[TG_RIP];
    bool is_code = wanted->format.kind == TG_MEMORY_INSTRUCTION;
    bool is_around = is_code && wanted->address == NULL &&
                     (!examination->has_next || examination->format.kind != TG_MEMORY_INSTRUCTION);
    if (wanted->address != NULL)
        error = tg_standing_address(&standing, wanted->address, &address);
    else if (is_around)
        address = standing.registers.value[TG_RIP];
    if (error == NULL && is_code)
        error = show_code(control, &standing, address, is_around);
    else if (error == NULL)
        error = tg_memory_dump_print(&standing.memory, &standing.namer, address, &wanted->format,
                                     control->out, &examination->next);
    if (error == NULL && !is_code && wanted->json != NULL)
        error =
            tg_memory_dump_json(&standing.memory, address, &wanted->format, wanted->json, &examination->next);
    if (error == NULL) {
        examination->has_next = true;
        examination->format = wanted->format;
    }
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct examination *examination = tg_console_state(console, &tg_examination_kind);
    struct wanted wanted = {.examination = examination, .format = examination->format};
    wanted.format.count = 0;
    struct tg_error *error = tg_console_take_options(&tg_console_dexamine, argc, argv, &wanted, NULL);
    if (error != NULL)
        return error;
    wanted.has_count = wanted.format.count != 0;
    wanted.format.count += !wanted.has_count; /* one item */
    if (wanted.shows_source)
        wanted.sources = tg_listing_sources(tg_console_state(console, &tg_listing_kind));
    tg_disassembler_set_intel(
        examination->disassembler,
        strcmp(tg_console_settings_text(console->settings, "ASSEMBLER_SYNTAX"), "intel") == 0);
    wanted.json = tg_console_data_begin(&console->data);
    error = tg_focus_call_run(console, &tg_standing_defaults, examine, &wanted, out);
    if (error != NULL)
        tg_console_data_drop(&console->data);
    return error;
}

const struct tg_console_command tg_console_dexamine = {
    .name = "dexamine",
    .arguments = "?/FORMAT | -format F -size N -count N? ?-source? ?-bytes? ?ADDRESS?",
    .summary = "memory of the thread in focus, or its instructions",
    .example = "dexamine /4xg rsp",
    .more =
        "ADDRESS is a number, a register (rsp, pc) or a name, optionally followed by +N or -N. Without it\n"
        "dexamine continues where the last one ended; instructions start around the pc. F is hex, decimal,\n"
        "unsigned, octal, float, double, char, string, address or instruction. /4xg combines a count, a\n"
        "format (x d u o f c s a i) and a size (b h w g: 1, 2, 4, 8 bytes). -source puts source lines\n"
        "between instructions, -bytes shows their bytes; `dset ASSEMBLER_SYNTAX intel` switches the syntax.",
    .options = options,
    .words = tg_memory_format_names,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .takes_expression = true,
    .run = run,
};
