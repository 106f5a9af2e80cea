/* dwhere: the stack of a thread, or of many as one tree. */
#include "live/commands/inspect/commands.h"
#include "live/console/options.h"

#include "analyzer/job/call_tree.h"
#include "analyzer/job/list.h"
#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/call_variables.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/commands/inspect/frame_words.h"
#include "live/control/thread_scene.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 1000, USUAL_LEVELS = 100, TEXT_SIZE = TG_FRAME_PLACE_SIZE };

struct wanted {
    struct tg_json *json; /* NULL: nobody wants data */
    const struct tg_frame_choices *choices;
    size_t first; /* level that is shown first, 0 the innermost */
    size_t levels;
    bool is_chosen; /* the level alone that dup and ddown went to */
    bool is_of_all; /* every thread, whatever the focus is */
    bool is_tree;   /* also of one thread */
    struct tg_call_wish wish;
};

/* A stack that is shown, and the variables of its calls. */
struct stack {
    const struct tg_standing *standing;
    struct tg_module_scene *objects;
    struct tg_frames frames;
    struct tg_call_variables *variables; /* by level */
    size_t chosen;                       /* level that dup and ddown went to */
    size_t first;                        /* level that is shown first */
};

/* ---- a stack */

static void forget_stack(struct stack *stack)
{
    for (size_t i = 0; stack->variables != NULL && i < stack->frames.count; i++)
        tg_call_variables_deinit(&stack->variables[i]);
    free(stack->variables);
    tg_frames_deinit(&stack->frames);
}

static bool wants_variables(const struct wanted *wanted)
{
    return wanted->wish.arguments || wanted->wish.locals;
}

/* To be forgotten also where it fails. */
static struct tg_error *read_stack(const struct tg_request *control, const struct tg_standing *standing,
                                   struct stack *stack)
{
    const struct wanted *wanted = control->context;
    *stack = (struct stack){.standing = standing,
                            .chosen = tg_frame_choices_level(wanted->choices, standing->thread)};
    stack->first = wanted->is_chosen ? stack->chosen : wanted->first;
    struct tg_error *error = tg_frames_read(standing->modules, &standing->memory, &standing->registers,
                                            stack->first + wanted->levels, &stack->frames);
    if (error != NULL || !wants_variables(wanted))
        return error;
    stack->objects = tg_engine_adapter_scene(control->engine, standing->thread->process);
    stack->variables = calloc(stack->frames.count + 1, sizeof *stack->variables);
    if (stack->objects == NULL || stack->variables == NULL)
        return tg_error_no_memory();
    for (size_t i = stack->first; error == NULL && i < stack->frames.count; i++) {
        struct tg_thread_scene scene;
        tg_thread_scene_of_call(standing->thread, stack->objects, &stack->frames, i, &scene);
        error = tg_call_variables_read(scene.scene, &wanted->wish, &stack->variables[i]);
    }
    return error;
}

static void write_call(const struct stack *stack, size_t level, const struct wanted *wanted)
{
    struct tg_json *json = wanted->json;
    const struct tg_call *call = &stack->frames.calls[level];
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "level", level);
    tg_json_key(json, "pc");
    tg_json_address(json, call->frame.registers.value[TG_RIP]);
    if (call->code.name != NULL || call->is_signal) {
        tg_json_member_string(json, "function", tg_frame_words_function(call));
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
    if (wants_variables(wanted)) {
        struct tg_thread_scene scene;
        tg_thread_scene_of_call(stack->standing->thread, stack->objects, &stack->frames, level, &scene);
        tg_call_variables_write_json(scene.scene, &wanted->wish, json);
    }
    tg_json_end_object(json);
}

static void write_stack(const struct stack *stack, const struct wanted *wanted)
{
    tg_json_begin_array(wanted->json);
    for (size_t i = stack->first; i < stack->frames.count; i++)
        write_call(stack, i, wanted);
    tg_json_end_array(wanted->json);
}

/* ---- one */

/* "work", with its arguments where they are asked for: "work(n=3)". To be freed. */
static char *text_of_call(const struct stack *stack, size_t level, const struct wanted *wanted)
{
    const struct tg_call_variables *variables =
        wanted->wish.arguments ? &stack->variables[level] : &(struct tg_call_variables){0};
    char *text = NULL;
    size_t size;
    unsigned n = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_printable_write(stream, tg_frame_words_function(&stack->frames.calls[level]));
    fputs(variables->are_known ? "(" : "", stream);
    for (size_t i = 0; i < variables->count; i++) {
        if (!variables->all[i].is_argument)
            continue;
        fputs(n++ == 0 ? "" : ", ", stream);
        tg_printable_write(stream, variables->all[i].name);
        fprintf(stream, "=%s", variables->all[i].value);
    }
    fputs(variables->are_known ? ")" : "", stream);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static void print_call(const struct stack *stack, size_t level, const struct wanted *wanted, const char *text,
                       int width, FILE *out)
{
    char place[TEXT_SIZE], shown[2 * TEXT_SIZE];
    size_t n_locals = 0;
    const struct tg_call *call = &stack->frames.calls[level];
    tg_frame_words_place(call, place, sizeof place);
    bool is_chosen = stack->chosen > 0 && level == stack->chosen;
    fprintf(out, "%s%*zu  %#018" PRIx64 "  %-*s  %s", is_chosen ? ">" : "", is_chosen ? 2 : 3, level,
            call->frame.registers.value[TG_RIP], width, text, tg_printable(place, shown, sizeof shown));
    if (call->code.is_inlined)
        fputs("  (inlined)", out);
    if (call->is_guessed)
        fputs("  (caller is a guess: no unwind information)", out);
    fputc('\n', out);
    for (size_t i = 0; stack->variables != NULL && i < stack->variables[level].count; i++) {
        const struct tg_call_variable *variable = &stack->variables[level].all[i];
        if (variable->is_argument)
            continue;
        n_locals++;
        fputs("       ", out);
        tg_printable_write(out, variable->name);
        fprintf(out, " = %s\n", variable->value);
    }
    if (wanted->wish.locals && wanted->is_chosen && stack->variables != NULL && n_locals == 0)
        fputs(stack->variables[level].are_known ? "       no local variables\n"
                                                : "       no variables are known here\n",
              out);
}

static struct tg_error *print_stack(const struct stack *stack, const struct wanted *wanted, FILE *out)
{
    enum { WIDEST = 40 };
    int width = 0;
    size_t count = stack->frames.count;
    struct tg_error *error = NULL;
    char **texts = calloc(count + 1, sizeof *texts);
    for (size_t i = stack->first; texts != NULL && i < count; i++) {
        texts[i] = text_of_call(stack, i, wanted);
        if (texts[i] == NULL)
            error = tg_error_no_memory();
        int length = texts[i] == NULL ? 0 : (int)strnlen(texts[i], WIDEST);
        width = length > width ? length : width;
    }
    if (texts == NULL)
        return tg_error_no_memory();
    for (size_t i = stack->first; error == NULL && i < count; i++)
        print_call(stack, i, wanted, texts[i], width, out);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
    if (stack->frames.is_cut && !wanted->is_chosen)
        fputs("     (more levels follow: dwhere LEVELS)\n", out);
    else if (*tg_frames_remark(&stack->frames) != '\0')
        fprintf(out, "     (the stack ends here: %s)\n", tg_frames_remark(&stack->frames));
    return error;
}

/* "thread 2.4 (rank 0):" */
static void print_whose(const struct tg_request *control, const struct tg_standing *standing)
{
    const struct tg_job_process *process = tg_job_view_process(control->view, standing->id.dpid);
    fprintf(control->out, "thread %" PRIu32 ".%" PRIu32, standing->id.dpid, standing->id.dtid);
    if (process != NULL && process->info.rank >= 0)
        fprintf(control->out, " (rank %" PRId64 ")", process->info.rank);
    fputs(":\n", control->out);
}

static struct tg_error *show_stack(const struct tg_request *control)
{
    const struct wanted *wanted = control->context;
    struct tg_standing standing;
    struct stack stack;
    struct tg_error *error = tg_standing_find(control, &standing);
    if (error != NULL)
        return error;
    error = read_stack(control, &standing, &stack);
    if (error == NULL && stack.first >= stack.frames.count)
        error = tg_error_create(TG_ERROR_USAGE, "the stack has no level %zu, only %zu levels", stack.first,
                                stack.frames.count);
    if (error == NULL && control->has_followed)
        print_whose(control, &standing);
    if (error == NULL)
        error = print_stack(&stack, wanted, control->out);
    if (error == NULL && wanted->json != NULL)
        write_stack(&stack, wanted);
    forget_stack(&stack);
    return error;
}

/* ---- many */

static struct tg_error *add_to_tree(struct tg_call_tree *tree, const struct tg_job_process *process, size_t i,
                                    const struct stack *stack, const struct wanted *wanted)
{
    const struct tg_frames *frames = &stack->frames;
    size_t count = frames->count > stack->first ? frames->count - stack->first : 0;
    char(*places)[TEXT_SIZE] = calloc(count + 1, sizeof *places);
    struct tg_call_tree_frame *lines = calloc(count + 1, sizeof *lines);
    struct tg_error *error = places == NULL || lines == NULL ? tg_error_no_memory() : NULL;
    for (size_t k = 0; error == NULL && k < count; k++) {
        size_t level = frames->count - 1 - k;
        tg_frame_words_place(&frames->calls[level], places[k], sizeof places[k]);
        lines[k] = (struct tg_call_tree_frame){.function = tg_frame_words_function(&frames->calls[level]),
                                               .place = places[k]};
        if (stack->variables == NULL)
            continue;
        lines[k].variables = stack->variables[level].all;
        lines[k].n_variables = stack->variables[level].count;
        lines[k].has_arguments = wanted->wish.arguments && stack->variables[level].are_known;
    }
    if (error == NULL)
        error = tg_call_tree_add(tree, process, i, lines, count);
    free(places);
    free(lines);
    return error;
}

/* {"threads": "1:1[p1.2]", "frames": [...]} */
static struct tg_error *write_thread(const struct tg_request *control, const struct tg_job_process *process,
                                     size_t i, const struct stack *stack)
{
    const struct wanted *wanted = control->context;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    char *text = NULL;
    size_t size;
    struct tg_error *error = tg_job_set_init(&set, control->view);
    FILE *stream = error == NULL ? open_memstream(&text, &size) : NULL;
    if (stream == NULL)
        return error != NULL ? error : tg_error_no_memory();
    tg_job_set_add(&set, process, i);
    error = tg_job_list_print(control->view, &set, stream);
    if (fclose(stream) != 0 && error == NULL)
        error = tg_error_no_memory();
    if (error == NULL) {
        tg_json_begin_object(wanted->json);
        tg_json_member_string(wanted->json, "threads", text);
        tg_json_key(wanted->json, "frames");
        write_stack(stack, wanted);
        tg_json_end_object(wanted->json);
    }
    free(text);
    return error;
}

static struct tg_error *add_standing(const struct tg_request *control, const struct tg_job_process *process,
                                     size_t i, struct tg_call_tree *tree, bool *is_stopped)
{
    const struct wanted *wanted = control->context;
    struct tg_standing standing;
    struct stack stack;
    struct tg_error *error = tg_standing_take(control, process, i, is_stopped, &standing);
    if (error != NULL || !*is_stopped)
        return error;
    error = read_stack(control, &standing, &stack);
    if (error == NULL)
        error = add_to_tree(tree, process, i, &stack, wanted);
    if (error == NULL && wanted->json != NULL)
        error = write_thread(control, process, i, &stack);
    forget_stack(&stack);
    return error;
}

static struct tg_error *show_tree(const struct tg_request *control)
{
    const struct wanted *wanted = control->context;
    struct tg_call_tree *tree = NULL;
    struct tg_error *error = tg_call_tree_create(control->view, &tree);
    size_t n_running = 0, n_stopped = 0;
    if (wanted->json != NULL)
        tg_json_begin_array(wanted->json);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && process->info.exists && i < process->n_threads; i++) {
            bool is_stopped = false;
            if (!tg_job_set_has(control->set, process, i))
                continue;
            error = add_standing(control, process, i, tree, &is_stopped);
            n_stopped += is_stopped;
            n_running += !is_stopped;
        }
    }
    if (wanted->json != NULL)
        tg_json_end_array(wanted->json);
    if (error == NULL && n_stopped == 0)
        error = tg_standing_none(control);
    if (error == NULL)
        error = tg_call_tree_print(tree, control->out);
    if (error == NULL && n_running > 0)
        fprintf(control->out, "%zu thread%s in focus run%s\n", n_running, n_running == 1 ? "" : "s",
                n_running == 1 ? "s" : "");
    tg_call_tree_destroy(tree);
    return error;
}

static struct tg_error *show(const struct tg_request *control)
{
    const struct wanted *wanted = control->context;
    size_t n_members = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            n_members += tg_job_set_has(control->set, process, i);
    }
    return n_members > 1 || wanted->is_tree ? show_tree(control) : show_stack(control);
}

/* ---- the command */

/* As `dfocus all` has it, for this command alone. */
static struct tg_error *show_all(struct tg_console *console, struct wanted *wanted, FILE *out)
{
    struct tg_focus former = console->focus;
    uint64_t changes = console->focus_changes;
    tg_focus_init(&console->focus);
    console->focus_changes++;
    struct tg_error *error = tg_focus_call_run(console, &tg_standing_defaults, show, wanted, out);
    tg_console_set_focus(console, &former);
    console->focus_changes = changes;
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct wanted wanted = {.levels = USUAL_LEVELS,
                            .choices = tg_console_state(console, &tg_frame_choices_kind)};
    struct tg_error *error = tg_console_take_options(&tg_console_dwhere, argc, argv, &wanted, NULL);
    if (error != NULL)
        return error;
    if (wanted.is_chosen)
        wanted.levels = 1;
    wanted.json = tg_console_data_begin(&console->data);
    error = wanted.is_of_all ? show_all(console, &wanted, out)
                             : tg_focus_call_run(console, &tg_standing_defaults, show, &wanted, out);
    if (error != NULL)
        tg_console_data_drop(&console->data);
    return error;
}

static const struct tg_console_option options[] = {
    TG_OPTION_FLAG("-all", struct wanted, is_of_all),
    TG_OPTION_FLAG("-merge", struct wanted, is_tree),
    TG_OPTION_FLAG("-args", struct wanted, wish.arguments),
    TG_OPTION_FLAG("-locals", struct wanted, wish.locals),
    TG_OPTION_FLAG("-chosen", struct wanted, is_chosen),
    {"-level", TG_OPTION_NUMBER, TG_OPTION_IN(struct wanted, first), .highest = MAX_LEVELS},
    {"LEVELS", TG_OPTION_NUMBER, TG_OPTION_IN(struct wanted, levels), .lowest = 1, .highest = MAX_LEVELS},
    {0}};

const struct tg_console_command tg_console_dwhere = {
    .name = "dwhere",
    .arguments = "?-all? ?-merge? ?-args? ?-locals? ?-chosen | -level N? ?LEVELS?",
    .summary = "the stack of the thread in focus; the stacks of several threads as one tree",
    .example = "dfocus g dwhere -args",
    .more = "Level 0 is innermost; at most LEVELS levels (100), starting at level N. -chosen shows only\n"
            "the level that dup and ddown went to. Inlined functions are levels of their own. A tree starts "
            "at the outermost function, and names threads as dstatus does.\n"
            "-all is about all threads, whatever the focus is; -merge makes a tree of one thread, too.\n"
            "-args shows the values of arguments, -locals those of local variables. In a tree, calls that\n"
            "differ only in values are one call; the values are listed below it with their threads.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .instead = "where",
    .run = run,
};
