/* `dheap`: the heap at the moment that the console is at, read from its trace. */
#include "analyzer/heap/fault_words.h"
#include "analyzer/heap/format.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/quantity.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "live/commands/info/address_history.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/dheap_call.h"
#include "live/commands/info/dheap_compare.h"
#include "live/commands/info/dheap_history.h"
#include "live/commands/inspect/pointer_value.h"
#include "live/console/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_words[] = {"stack", "library", "rank", "size", NULL};
static const char *const cost_words[] = {"peak", "live", "bytes", "calls", "temporary", NULL};
static const char *const format_words[] = {"massif", "pprof", "collapsed", "svg", NULL};

static const char *const switch_words[] = {"on", "off", NULL};

#define FLAG(name, member) TG_OPTION_FLAG(name, struct tg_dheap_arguments, member)
#define SWITCH(name, member)                                                                                 \
    {                                                                                                        \
        name, TG_OPTION_CHOICE, TG_OPTION_IN(struct tg_dheap_arguments, member),                             \
            .value = TG_HEAP_SWITCH_ON, .words = switch_words, .takes = "on or off"                          \
    }
#define NOTIFY(name, member, to)                                                                             \
    {                                                                                                        \
        name, TG_OPTION_SET, TG_OPTION_IN(struct tg_dheap_arguments, member), .value = to                    \
    }

static const struct tg_console_option options[] = {
    FLAG("-status", status),
    FLAG("-info", info),
    FLAG("-leaks", leaks),
    FLAG("-check_interior", check_interior),
    FLAG("-check", check_guards),
    FLAG("-stats", stats),
    FLAG("-guard", guard),
    FLAG("-paint", paint),
    FLAG("-hoard", hoard),
    FLAG("-red_zones", red_zones),
    FLAG("-tag_alloc", tag_alloc),
    FLAG("-event_filter", event_filter),
    FLAG("-all", all),
    FLAG("-force", force),
    SWITCH("-set", wish.set),
    SWITCH("-set_alloc", wish.set_alloc),
    SWITCH("-set_dealloc", wish.set_dealloc),
    {"-set_max_kb", TG_OPTION_NUMBER, TG_OPTION_IN(struct tg_dheap_arguments, wish.max_kb), .lowest = 1,
     .highest = 1 << 30},
    NOTIFY("-notify_dealloc", wish.notify_dealloc, TG_HEAP_SWITCH_ON),
    NOTIFY("-nonotify_dealloc", wish.notify_dealloc, TG_HEAP_SWITCH_OFF),
    NOTIFY("-notify_realloc", wish.notify_realloc, TG_HEAP_SWITCH_ON),
    NOTIFY("-nonotify_realloc", wish.notify_realloc, TG_HEAP_SWITCH_OFF),
    {"-compare", TG_OPTION_WORD, TG_OPTION_IN(struct tg_dheap_arguments, compare),
     .takes = "a moment: seconds from the start"},
    {"-export", TG_OPTION_WORD, TG_OPTION_IN(struct tg_dheap_arguments, export_path), .takes = "a file name"},
    {"-format", TG_OPTION_CHOICE, TG_OPTION_IN(struct tg_dheap_arguments, format), .words = format_words,
     .takes = "massif, pprof, collapsed or svg"},
    {"-by", TG_OPTION_CHOICE, TG_OPTION_IN(struct tg_dheap_arguments, by), .words = by_words,
     .takes = "stack, library, rank or size"},
    {"-sort", TG_OPTION_CHOICE, TG_OPTION_IN(struct tg_dheap_arguments, cost), .words = cost_words,
     .takes = "peak, live, bytes, calls or temporary"},
    {"ADDRESS", TG_OPTION_WORD, TG_OPTION_IN(struct tg_dheap_arguments, address), .takes = "an address"},
    {"END", TG_OPTION_WORD, TG_OPTION_IN(struct tg_dheap_arguments, address_end), .takes = "an address"},
    {0}};

/* A job that runs, and not a trace of one. */
static bool is_live(const struct tg_console *console)
{
    return console->source->ops->seek == NULL;
}

static struct tg_error *parse_address(struct tg_console *console, const char *option, const char *word,
                                      uint64_t *address)
{
    char *end;
    errno = 0;
    *address = strtoull(word, &end, 0);
    if (errno == 0 && *word >= '0' && *word <= '9' && *end == '\0')
        return NULL;
    if (is_live(console))
        return tg_error_prefix(tg_pointer_value_read(console, word, address), "%s", option);
    return tg_error_create(TG_ERROR_USAGE, "%s: invalid address '%s'", option, word);
}

/* No process is left: those that were are all that can be meant. */
static bool is_over(const struct tg_console *console)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    for (size_t i = 0; i < tg_process_model_count(processes); i++)
        if (tg_process_model_at(processes, i)->end == TG_PROCESS_RUNNING)
            return false;
    return is_live(console);
}

/* ---- what it says */

static void write_process(const struct tg_dheap_call *call, const struct tg_heap_process *process)
{
    FILE *out = call->out;
    char bytes[TG_QUANTITY_SIZE], moment[TG_QUANTITY_SIZE];
    struct tg_heap_use use = tg_heap_model_use(call->reading.heap, process, &process->use);
    const char *mode = tg_event_value_name(TG_EVENT_HEAP_START, "mode", process->mode);
    tg_dheap_write_process(call, process->process);
    fprintf(out, ": %s",
            process->is_started || process->is_late ? (mode != NULL ? mode : "unknown") : "unknown");
    if (process->sample_bytes > 0)
        fprintf(out, " about every %s", tg_quantity_bytes(process->sample_bytes, bytes));
    if (*process->allocator != '\0') {
        fputs(", allocator ", out);
        tg_printable_write(out, process->allocator);
    }
    fputs("\n  live ", out);
    tg_heap_words_amount(out, &use.live);
    fputs("\n  peak ", out);
    tg_heap_words_amount(out, &use.at_peak);
    if (process->peak_ns != 0)
        fprintf(out, ", at %s s", tg_quantity_moment(process->peak_ns, call->reading.start_ns, 6, moment));
    fputs("\n  allocated ", out);
    tg_heap_words_amount(out, &use.allocated);
    if (process->inherited.parts > 0) {
        fputs("\n  inherited from its parent ", out);
        tg_heap_words_amount(out, &process->inherited);
        fputs(", of that live ", out);
        tg_heap_words_amount(out, &process->inherited_live);
    }
    fputc('\n', out);
}

static enum tg_heap_part part_of(const struct tg_dheap_arguments *arguments)
{
    return arguments->guard          ? TG_HEAP_PART_GUARD
           : arguments->paint        ? TG_HEAP_PART_PAINT
           : arguments->hoard        ? TG_HEAP_PART_HOARD
           : arguments->red_zones    ? TG_HEAP_PART_RED_ZONES
           : arguments->event_filter ? TG_HEAP_PART_EVENTS
           : arguments->tag_alloc    ? TG_HEAP_PART_TAGS
                                     : TG_HEAP_PART_NONE;
}

static void write_setting(const struct tg_dheap_call *call, const struct tg_heap_process *process)
{
    const struct tg_dheap_arguments *arguments = call->arguments;
    char bytes[TG_QUANTITY_SIZE];
    tg_dheap_write_process(call, process->process);
    fputs(": ", call->out);
    if (tg_heap_wish_is_off(call->console, part_of(arguments)))
        fputs("off\n", call->out);
    else if (arguments->guard && process->guard_bytes > 0)
        fprintf(call->out, "guard blocks of %s\n", tg_quantity_bytes(process->guard_bytes, bytes));
    else if (arguments->guard)
        fputs("no guard blocks\n", call->out);
    else if (arguments->hoard && process->hoard_bytes > 0)
        fprintf(call->out, "freed blocks are kept, up to %s\n",
                tg_quantity_bytes(tg_heap_wish_hoard_bytes(call->console) != 0
                                      ? tg_heap_wish_hoard_bytes(call->console)
                                      : process->hoard_bytes,
                                  bytes));
    else if (arguments->hoard)
        fputs("freed blocks are not kept\n", call->out);
    else if (arguments->paint)
        fprintf(call->out, "%sblocks are %s\n", tg_heap_wish_painted(call->console),
                process->paints ? "painted" : "not painted");
    else
        fputs(process->red_zones ? "red zones\n" : "no red zones\n", call->out);
}

/* The processes in focus, one by one. */
static void each_process(const struct tg_dheap_call *call,
                         void (*write)(const struct tg_dheap_call *call,
                                       const struct tg_heap_process *process))
{
    size_t shown = 0;
    for (size_t i = 0; i < tg_heap_model_count(call->reading.heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(call->reading.heap, i);
        if (!tg_dheap_has(call, process->process))
            continue;
        write(call, process);
        shown++;
    }
    if (shown == 0)
        fputs("no heap was recorded for the processes in focus up to this moment (`record --heap`, `live "
              "--heap`)\n",
              call->out);
}

/* The kinds of errors, or the one that was asked for, with how often each came. */
static void write_events(const struct tg_dheap_call *call)
{
    const char *wanted = call->arguments->address;
    const struct tg_heap_model *heap = call->reading.heap;
    char count[TG_QUANTITY_SIZE];
    const char *name;
    for (uint64_t kind = 0; (name = tg_event_value_name(TG_EVENT_HEAP_ERROR, "error", kind)) != NULL;
         kind++) {
        uint64_t times = 0;
        if (wanted != NULL && strcmp(name, wanted) != 0)
            continue;
        for (size_t i = 0; i < tg_heap_model_fault_count(heap); i++) {
            const struct tg_heap_fault *fault = tg_heap_model_fault_at(heap, i);
            if (fault->is.error == kind && tg_dheap_has(call, fault->process))
                times += fault->count;
        }
        fprintf(call->out, "%-30s %s%s\n", name, times == 0 ? "-" : tg_quantity_count(times, count),
                tg_heap_wish_is_silent(call->console, kind) ? " (does not stop)" : "");
    }
}

static bool is_searched(const struct tg_dheap_call *call)
{
    for (size_t i = 0; i < tg_heap_model_count(call->reading.heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(call->reading.heap, i);
        if (tg_dheap_has(call, process->process) && process->scan.time_ns != 0)
            return true;
    }
    return false;
}

static void write_scan(const struct tg_dheap_call *call, const struct tg_heap_process *process)
{
    const struct tg_event_heap_leak_scan *is = &process->scan.is;
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], live[TG_QUANTITY_SIZE], moment[TG_QUANTITY_SIZE];
    tg_dheap_write_process(call, process->process);
    if (process->scan.time_ns == 0) {
        fputs(": not searched for leaks\n", call->out);
        return;
    }
    fprintf(call->out, ": %s of %s live block%s leaked, %s, at %s s",
            tg_quantity_count(is->leaked_blocks, blocks), tg_quantity_count(is->blocks, live),
            is->blocks == 1 ? "" : "s", tg_quantity_bytes(is->leaked_bytes, bytes),
            tg_quantity_moment(process->scan.time_ns, call->reading.start_ns, 6, moment));
    if (*is->problem != '\0') {
        fputs(" (", call->out);
        tg_printable_write(call->out, is->problem);
        fputc(')', call->out);
    }
    fputc('\n', call->out);
}

static struct tg_error *write_leaks(const struct tg_dheap_call *call, const struct tg_heap_drawing *drawing)
{
    if (is_searched(call))
        each_process(call, write_scan);
    if (is_searched(call))
        return tg_heap_write_troubles(drawing, call->out);
    fputs("The processes were not searched for leaks up to this moment. Blocks that are live:\n", call->out);
    return tg_heap_write_table(drawing, call->out);
}

static struct tg_error *export(const struct tg_dheap_call *call, const struct tg_heap_drawing *drawing)
{
    const char *path = call->arguments->export_path;
    struct tg_output *output = NULL;
    if (call->console->options.is_safe)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "this console does not write files");
    struct tg_error *error = tg_output_refuse_input(path, drawing->path);
    if (error == NULL)
        error = tg_output_open(path, call->arguments->force, &output);
    if (error == NULL)
        error = tg_heap_format_at((size_t)call->arguments->format)->write(drawing, tg_output_stream(output));
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    if (error == NULL)
        fprintf(call->out, "%s\n", path);
    return error;
}

/* ---- all */

/* The processes in focus, unless that is all. */
static struct tg_error *select_focus(struct tg_dheap_call *call)
{
    const struct tg_process_model *processes = call->reading.processes;
    struct tg_selection *selection = &call->selection;
    size_t left_out = 0;
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        int64_t pid = tg_process_model_at(processes, i)->pid;
        if (!tg_dheap_has(call, i))
            left_out++;
        else if (TG_ARRAY_APPEND_EXACT(selection->pids, selection->n_pids,
                                       (struct tg_number_range){pid, pid}) != NULL)
            return tg_error_no_memory();
    }
    if (left_out == 0)
        selection->n_pids = 0;
    return NULL;
}

static bool is_setting(const struct tg_dheap_arguments *arguments)
{
    return arguments->guard || arguments->paint || arguments->hoard || arguments->red_zones;
}

static struct tg_error *answer(struct tg_dheap_call *call, struct tg_address_history *history)
{
    const struct tg_dheap_arguments *arguments = call->arguments;
    bool wants_live = arguments->leaks || arguments->compare != NULL;
    struct tg_error *error =
        tg_heap_profile_make(call->reading.heap, call->reading.processes, &call->selection,
                             wants_live || arguments->export_path != NULL ? TG_HEAP_BY_STACK : arguments->by,
                             wants_live ? TG_HEAP_COST_LIVE : arguments->cost, &call->profile);
    if (error != NULL)
        return error;
    const struct tg_heap_drawing drawing = {.reading = &call->reading,
                                            .selection = &call->selection,
                                            .profile = &call->profile,
                                            .path = call->console->source->trace_path,
                                            .all = arguments->all,
                                            .shows_interior = arguments->leaks && !arguments->check_interior,
                                            .rows = wants_live ? 20 : 0};
    if (arguments->info && arguments->address != NULL)
        tg_dheap_write_history(call, history);
    else if (arguments->compare != NULL)
        return tg_dheap_compare(call);
    else if (arguments->export_path != NULL)
        return export(call, &drawing);
    else if (arguments->leaks)
        return write_leaks(call, &drawing);
    else if (arguments->stats || arguments->info)
        return tg_heap_write_text(&drawing, call->out);
    else if (call->guards != NULL)
        tg_heap_guards_write(call->guards, &call->reading, call->out);
    else if (arguments->event_filter)
        write_events(call);
    else if (is_setting(arguments))
        each_process(call, write_setting);
    else
        each_process(call, write_process);
    return NULL;
}

/* Which switches belong to which part. */
static struct tg_error *check_wish(const struct tg_dheap_arguments *arguments)
{
    const struct tg_heap_wish *wish = &arguments->wish;
    bool has_set = wish->set != TG_HEAP_SWITCH_NONE;
    if (has_set && !is_setting(arguments) && !arguments->event_filter)
        return tg_error_create(TG_ERROR_USAGE,
                               "dheap: -set belongs to -guard, -paint, -hoard, -red_zones or -event_filter");
    if ((wish->set_alloc != TG_HEAP_SWITCH_NONE || wish->set_dealloc != TG_HEAP_SWITCH_NONE) &&
        !arguments->paint)
        return tg_error_create(TG_ERROR_USAGE, "dheap: -set_alloc and -set_dealloc belong to -paint");
    if (wish->max_kb != 0 && !arguments->hoard)
        return tg_error_create(TG_ERROR_USAGE, "dheap: -set_max_kb belongs to -hoard");
    if ((wish->notify_dealloc != TG_HEAP_SWITCH_NONE || wish->notify_realloc != TG_HEAP_SWITCH_NONE) &&
        !arguments->tag_alloc)
        return tg_error_create(TG_ERROR_USAGE,
                               "dheap: -notify_dealloc and -notify_realloc belong to -tag_alloc");
    return NULL;
}

/* One answer is given: of two questions one would be left out. */
static struct tg_error *check_questions(const struct tg_dheap_arguments *arguments)
{
    const struct {
        bool is_asked;
        const char *name;
    } questions[] = {{arguments->status, "-status"},
                     {arguments->info, "-info"},
                     {arguments->leaks, "-leaks"},
                     {arguments->stats, "-stats"},
                     {is_setting(arguments), "-guard, -paint, -hoard or -red_zones"},
                     {arguments->tag_alloc, "-tag_alloc"},
                     {arguments->event_filter, "-event_filter"},
                     {arguments->compare != NULL, "-compare"},
                     {arguments->export_path != NULL, "-export"}};
    const char *asked = NULL;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (questions[i].is_asked && asked != NULL)
            return tg_error_create(TG_ERROR_USAGE, "dheap: %s and %s are answered one at a time", asked,
                                   questions[i].name);
        if (questions[i].is_asked)
            asked = questions[i].name;
    }
    return NULL;
}

static struct tg_error *check(const struct tg_console *console, const struct tg_dheap_arguments *arguments)
{
    uint64_t kind;
    if (console->source->trace_path == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s has no trace to read the heap from",
                               console->source->name);
    struct tg_error *error = check_questions(arguments);
    if (error == NULL)
        error = check_wish(arguments);
    if (error == NULL && arguments->event_filter && arguments->address != NULL)
        error = tg_heap_wish_find_event(arguments->address, &kind);
    if (error != NULL)
        return error;
    bool takes_address = arguments->info || arguments->event_filter || arguments->tag_alloc;
    if (arguments->address != NULL && !takes_address)
        return tg_error_create(TG_ERROR_USAGE,
                               "dheap: unexpected '%s' (only -info and -tag_alloc take an address)",
                               arguments->address);
    if (arguments->address_end != NULL && !arguments->tag_alloc)
        return tg_error_create(TG_ERROR_USAGE, "dheap: unexpected '%s'", arguments->address_end);
    if (arguments->check_interior && !arguments->leaks)
        return tg_error_create(TG_ERROR_USAGE, "dheap: -check_interior belongs to -leaks");
    if (arguments->check_guards && !arguments->guard)
        return tg_error_create(TG_ERROR_USAGE, "dheap: -check belongs to -guard");
    return NULL;
}

/* Of a job that runs: those in focus are searched now, as far as they are stopped. */
static struct tg_error *search_leaks(struct tg_console *console, FILE *out)
{
    struct tg_source *source = console->source;
    const struct tg_process_model *processes = source->moment->processes;
    struct tg_error *error = NULL;
    for (size_t i = 0;
         error == NULL && source->ops->search_leaks != NULL && i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end != TG_PROCESS_RUNNING || !tg_focus_has(&console->focus, i))
            continue;
        error = source->ops->search_leaks(source, entry->pid);
        enum tg_error_code code = error == NULL ? TG_ERROR_NOT_FOUND : tg_error_code(error);
        if (code == TG_ERROR_TARGET || code == TG_ERROR_LIMIT)
            fprintf(out, "process %" PRId32 " is not searched: %s\n", entry->pid, tg_error_message(error));
        if (code != TG_ERROR_UNSUPPORTED && code != TG_ERROR_NO_MEMORY) {
            tg_error_destroy(error);
            error = NULL;
        }
    }
    return error;
}

/* The words behind -event_filter and -tag_alloc, and what is changed by all. */
static struct tg_error *change(struct tg_console *console, struct tg_dheap_arguments *arguments, FILE *out)
{
    struct tg_heap_wish *wish = &arguments->wish;
    struct tg_error *error = NULL;
    wish->part = part_of(arguments);
    if (wish->part == TG_HEAP_PART_EVENTS)
        wish->event = arguments->address;
    if (wish->part == TG_HEAP_PART_TAGS && !tg_heap_wish_changes(wish) && arguments->address != NULL)
        wish->notify_dealloc = wish->notify_realloc = TG_HEAP_SWITCH_ON;
    wish->has_range = wish->part == TG_HEAP_PART_TAGS && arguments->address != NULL;
    tg_console_catch_up(console);
    error = tg_focus_refresh(&console->focus, console->source);
    if (error == NULL && wish->has_range)
        error = parse_address(console, "dheap -tag_alloc", arguments->address, &wish->start);
    if (error == NULL && wish->has_range && wish->start == 0) /* a pointer that nothing was put into yet */
        error = tg_error_create(TG_ERROR_USAGE, "dheap -tag_alloc: no block is at 0x0");
    wish->end = wish->start + 1;
    if (error == NULL && wish->has_range && arguments->address_end != NULL)
        error = parse_address(console, "dheap -tag_alloc", arguments->address_end, &wish->end);
    if (error != NULL)
        return error;
    return tg_heap_wish_changes(wish) ? tg_heap_wish_make(console, wish, out)
                                      : tg_heap_wish_list_tags(console, out);
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_dheap_arguments arguments = {0};
    struct tg_address_history history = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_dheap, argc, argv, &arguments, NULL);
    if (error == NULL)
        error = check(console, &arguments);
    if (error == NULL && (arguments.tag_alloc || tg_heap_wish_changes(&arguments.wish)))
        return change(console, &arguments, out);
    if (error == NULL && arguments.address != NULL && arguments.info)
        error = parse_address(console, "dheap -info", arguments.address, &history.address);
    if (error != NULL)
        return error;
    tg_console_catch_up(console);
    error = tg_focus_refresh(&console->focus, console->source);
    if (error == NULL && arguments.leaks)
        error = search_leaks(console, out);
    struct tg_heap_guards *guards = NULL;
    if (error == NULL && arguments.check_guards)
        error = tg_heap_guards_check(console, out, &guards);
    if (error == NULL && console->source->ops->sync != NULL)
        error = console->source->ops->sync(console->source);
    char *path = tg_source_trace_file(console->source);
    const struct tg_heap_reading_request request = {
        .path = path,
        .services = console->options.services,
        .last_event = is_live(console)               ? 0
                      : console->source->number != 0 ? console->source->number
                                                     : UINT64_MAX,
        .keeps_blocks = true,
        .take = arguments.address != NULL ? tg_address_history_take : NULL,
        .context = &history};
    struct tg_dheap_call call = {.console = console,
                                 .arguments = &arguments,
                                 .guards = guards,
                                 .is_over = is_over(console),
                                 .out = out};
    if (error == NULL && console->source->number == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "there is no heap before the first event");
    if (error == NULL)
        error = path == NULL ? tg_error_no_memory() : tg_heap_reading_make(&request, &call.reading);
    free(path);
    if (error != NULL) {
        tg_heap_guards_destroy(guards);
        return error;
    }
    call.names = (struct tg_heap_path_names){call.reading.stacks, call.reading.names};
    error = select_focus(&call);
    if (error == NULL)
        error = answer(&call, &history);
    tg_heap_profile_deinit(&call.profile);
    tg_selection_deinit(&call.selection);
    tg_heap_reading_deinit(&call.reading);
    tg_heap_guards_destroy(guards);
    return error;
}

const struct tg_console_command tg_console_dheap = {
    .name = "dheap",
    .arguments = "?-status? ?-info ?ADDRESS?? ?-leaks? ?-stats? ?-compare TIME? ?-export FILE? ...",
    .summary = "the heap of the processes in focus at this moment",
    .example = "dheap -status",
    .more = "-status          live blocks, peak and settings of each process (the default)\n"
            "-info ADDRESS    whose block ADDRESS is in, or was in before it was freed (a\n"
            "                 dangling pointer); in a live job also an expression, such as\n"
            "                 p->next\n"
            "-leaks           blocks that nothing refers to: in a live job they are searched\n"
            "                 for now, in stopped processes; in a trace, those found when it\n"
            "                 was recorded. With -check_interior, pointers into a block count\n"
            "                 like those to its start\n"
            "-stats           sums and call paths; -by stack, library, rank or size; -sort\n"
            "                 peak, live, bytes, calls or temporary; -all\n"
            "-compare TIME    live blocks now and at TIME, by call path\n"
            "-export FILE     -format massif (default), pprof, collapsed or svg; -force\n"
            "                 replaces a FILE that exists\n"
            "-guard -paint -hoard -red_zones\n"
            "                 which checks the heap has, as --heap chose them; in a live job\n"
            "                 of --heap=check, -set on|off switches one for blocks from now\n"
            "                 on; -paint also has -set_alloc and -set_dealloc, -hoard\n"
            "                 -set_max_kb N\n"
            "-guard -check    looks at the guards of all live blocks now, in stopped\n"
            "                 processes of a live job\n"
            "-event_filter    kinds of errors, and the number of each; with -set on|off\n"
            "                 ?EVENT?, a live job stops there or only records them\n"
            "-tag_alloc ADDRESS ?END?\n"
            "                 stops where the block at ADDRESS, or one that starts before\n"
            "                 END, is freed or reallocated: -notify_dealloc, -notify_realloc\n"
            "                 (both without), and -nonotify_... to end that; without ADDRESS,\n"
            "                 the tags\n"
            "Heaps are recorded with --heap of record and live.",
    .options = options,
    .run = run,
};
