/* dwatch: watchpoints. */
#include "live/commands/control/commands.h"
#include "live/commands/control/hit_scripts.h"
#include "live/commands/control/point_request.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/console/options.h"
#include "live/control/thread_scene.h"
#include "live/control/watches.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { CHOSEN = UINT_MAX };

/* Arguments of dwatch. */
struct watch_words {
    const char *text, *address; /* one of them */
    const char *condition;
    const char *script;
    uint32_t length; /* 0: as large as what TEXT is */
    enum tg_barrier_stop stop_when_hit;
    bool pending;
    bool is_open; /* nobody has said for whom it is */
    unsigned level;
    const struct tg_frame_choices *choices;
    struct tg_expression *expression;
    uint32_t id;
    size_t text_position, condition_position, focus_position; /* of what is wrong, SIZE_MAX nothing */
};

#define IN(member) TG_OPTION_IN(struct watch_words, member)

static const struct tg_console_option options[] = {
    {"-address", TG_OPTION_WORD, IN(address), .takes = "an address"},
    {"-length", TG_OPTION_NUMBER, IN(length), .lowest = 1, .highest = TG_WATCH_MAX_BYTES},
    {"-g", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_GROUP},
    {"-p", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_PROCESS},
    {"-t", TG_OPTION_SET, IN(stop_when_hit), .value = TG_BARRIER_STOP_NONE},
    {"-if", TG_OPTION_WORD, IN(condition), .takes = "a condition"},
    {"-condition", TG_OPTION_WORD, IN(condition), .takes = "a condition"},
    {"-e", TG_OPTION_WORD, IN(script), .takes = "a script"},
    {"-frame", TG_OPTION_NUMBER, IN(level), .highest = 100000},
    TG_OPTION_FLAG("-pending", struct watch_words, pending),
    {"EXPRESSION", TG_OPTION_WORD, IN(text)},
    {0}};

/* ---- on the tracer thread */

/* The thread of interest of FOCUS, of process *DPID; NULL where it has ended. */
static struct tg_error *find_thread(const struct tg_request *control, const struct tg_ptset *focus,
                                    struct tg_thread **thread, uint32_t *dpid, size_t *position)
{
    const struct tg_job_process *process = NULL;
    size_t index = 0, cursor = 0;
    struct tg_error *error =
        tg_ptset_interest(tg_ptset_next_arena(focus, &cursor), control->view, &process, &index, position);
    if (error != NULL)
        return error;
    *dpid = process->info.dpid;
    *thread = NULL;
    if (index < process->n_threads) {
        const struct tg_thread_id id = {process->info.dpid,
                                        tg_job_view_thread(control->view, process, index)->dtid};
        *thread = tg_engine_adapter_thread(control->engine, id);
    }
    return NULL;
}

/* An address means a place in one process. */
static struct tg_error *plan_address(const struct watch_words *words, const struct tg_thread *thread,
                                     struct tg_watch_definition *definition)
{
    char *end;
    errno = 0;
    uint64_t address = strtoull(words->address, &end, 0);
    if (*words->address < '0' || *words->address > '9' || *end != '\0' || errno != 0)
        return tg_error_create(TG_ERROR_USAGE, "'%.80s' is not an address", words->address);
    if (words->length == 0)
        return tg_error_create(TG_ERROR_USAGE, "-address takes -length N, the number of bytes to watch");
    definition->text = words->address;
    definition->is_bound = true;
    definition->pid = thread->process->pid;
    definition->plan = (struct tg_watch_plan){.address = address, .size_bytes = words->length};
    return NULL;
}

/* What the expression means in the frame that is looked at; while the thread runs only what is static can be. */
static struct tg_error *plan_expression(const struct tg_request *control, struct watch_words *words,
                                        struct tg_thread *thread, struct tg_watch_definition *definition)
{
    struct tg_modules *modules = tg_engine_adapter_modules(control->engine, thread->process);
    struct tg_module_scene *objects = tg_engine_adapter_scene(control->engine, thread->process);
    struct tg_watch_plan *plan = &definition->plan;
    struct tg_thread_scene frame;
    if (modules == NULL || objects == NULL)
        return tg_error_no_memory();
    if (!tg_thread_is_kept(thread)) {
        struct tg_error *error =
            tg_watch_plan_static(thread, modules, objects, words->expression, words->length, plan);
        return tg_error_prefix(error, "%.80s, in a thread that is running", words->text);
    }
    unsigned level = words->level == CHOSEN ? tg_frame_choices_level(words->choices, thread) : words->level;
    struct tg_error *error = tg_thread_scene_at(thread, modules, objects, level, &frame);
    if (error == NULL)
        error = tg_watch_plan_make(thread, modules, objects, words->expression, &frame, words->length,
                                   &words->text_position, plan);
    if (error != NULL)
        return error;
    definition->is_bound = !plan->is_static;
    definition->pid = thread->process->pid;
    definition->tid = thread->tid;
    return NULL;
}

static struct tg_error *plan(const struct tg_request *control, struct watch_words *words,
                             struct tg_thread *thread, struct tg_watch_definition *definition)
{
    if (thread == NULL)
        return tg_error_create(TG_ERROR_TARGET, "the thread in focus has ended");
    if (words->address != NULL)
        return plan_address(words, thread, definition);
    struct tg_error *error = plan_expression(control, words, thread, definition);
    if (error == NULL || !words->pending || tg_error_code(error) != TG_ERROR_NOT_FOUND)
        return error;
    tg_error_destroy(error);
    words->text_position = SIZE_MAX;
    definition->plan = (struct tg_watch_plan){0};
    return NULL;
}

/* Tells of a watchpoint that is in one process alone, DPID, and for how long. */
static void tell_bounds(const struct tg_request *control, const struct watch_words *words,
                        const struct tg_watch_definition *definition, uint32_t dpid)
{
    const struct tg_watch_plan *plan = &definition->plan;
    char text[TG_WATCH_NAME_SIZE + 200];
    int64_t rank;
    bool is_rank = tg_job_model_rank(tg_controller_job(control->controller), dpid, &rank);
    if (!definition->is_bound)
        return;
    snprintf(text, sizeof text, "watchpoint %" PRIu32 " is in %s %" PRId64 " alone%s%s%s", words->id,
             is_rank ? "rank" : "process", is_rank ? rank : (int64_t)dpid, plan->cfa == 0 ? "" : ", until ",
             plan->cfa == 0            ? ""
             : *plan->function == '\0' ? "its function"
                                       : plan->function,
             plan->cfa == 0 ? "" : " returns");
    tg_engine_adapter_note(control->engine, text);
}

static struct tg_error *make(const struct tg_request *control)
{
    struct watch_words *words = control->context;
    const struct tg_ptset *focus;
    struct tg_ptset *made;
    struct tg_thread *thread = NULL;
    struct tg_watch_definition definition = {.text = words->text, .length = words->length};
    uint32_t dpid = 0;
    struct tg_error *error = tg_point_request_focus(control, &made, &focus);
    if (error == NULL && words->condition != NULL)
        error = tg_point_request_condition(words->condition, &words->condition_position);
    if (error == NULL)
        error = find_thread(control, focus, &thread, &dpid, &words->focus_position);
    if (error == NULL)
        error = plan(control, words, thread, &definition);
    const struct tg_watch_request request = {.text = definition.text,
                                             .condition = words->condition,
                                             .size_bytes = words->length,
                                             .dpid = definition.is_bound ? dpid : 0,
                                             .watch = &definition};
    unsigned point_options =
        (words->pending ? TG_POINT_PENDING : 0U) | (words->is_open ? TG_POINT_OF_RANKS : 0U);
    if (error == NULL)
        error = tg_controller_watch(control->controller, focus, &request, words->stop_when_hit, point_options,
                                    &words->id, &words->focus_position);
    if (error == NULL && words->script != NULL)
        error = tg_controller_set_script(control->controller, words->id, words->script);
    tg_ptset_destroy(made);
    if (error != NULL)
        return error;
    tell_bounds(control, words, &definition, dpid);
    fprintf(control->out, "%" PRIu32 "\n", words->id);
    return NULL;
}

/* ---- the command */

static struct tg_error *run_read(struct tg_console *console, struct watch_words *words, FILE *out)
{
    struct tg_error *error = NULL;
    if (words->text != NULL)
        error = tg_expression_parse(words->text, &words->expression, &words->text_position);
    if (error == NULL) {
        words->text_position = SIZE_MAX;
        error = tg_focus_call_run(console, &tg_focus_call_defaults, make, words, out);
    }
    if (error == NULL && words->script != NULL)
        tg_hit_scripts_expect(console);
    struct tg_json *json = error == NULL ? tg_console_data_begin(&console->data) : NULL;
    if (json != NULL)
        tg_json_unsigned(json, words->id);
    if (error != NULL && words->condition_position != SIZE_MAX)
        return tg_console_pointed(console, error, words->condition, words->condition_position);
    if (error != NULL && words->text_position != SIZE_MAX)
        return tg_console_pointed(console, error, words->text, words->text_position);
    return tg_focus_call_point(console, error, words->focus_position);
}

static struct tg_error *run_dwatch(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct watch_words words = {.level = CHOSEN,
                                .is_open = console->focus.is_open,
                                .choices = tg_console_state(console, &tg_frame_choices_kind),
                                .text_position = SIZE_MAX,
                                .condition_position = SIZE_MAX,
                                .focus_position = SIZE_MAX};
    struct tg_error *error = tg_point_request_default(console, "STOP_ALL", &words.stop_when_hit);
    if (error == NULL)
        error = tg_console_take_options(&tg_console_dwatch, argc, argv, &words, NULL);
    if (error == NULL && (words.text == NULL) == (words.address == NULL))
        error = tg_console_usage(&tg_console_dwatch);
    if (error == NULL)
        error = run_read(console, &words, out);
    tg_expression_destroy(words.expression);
    return error;
}

const struct tg_console_command tg_console_dwatch = {
    .name = "dwatch",
    .arguments = "EXPRESSION ?-length N? | -address ADDRESS -length N ?-g | -p | -t? ?-frame N? ?-pending? "
                 "?-if CONDITION? ?-e SCRIPT?",
    .summary = "stops where a variable is changed, and returns the number of the watchpoint",
    .example = "dwatch {p->count} -if {p->count > 100}",
    .more =
        "EXPRESSION is a variable, or part of one, as in dprint. It is evaluated once, when the command is\n"
        "given: p->next is the member that p points to now. At a change the values before and after are "
        "printed,\n"
        "and who wrote; the thread is stopped after that instruction. A write that changes nothing is not a "
        "hit.\n"
        "A variable with a fixed place is watched in all processes of the program in focus, and in those "
        "that\n"
        "start later (-pending: if no process has it yet); anything else only in the process in focus, and "
        "a\n"
        "local variable until its function returns. -length watches N bytes instead of the variable's size.\n"
        "-g, -p, -t, -if and -e are those of dbreak; SCRIPT finds the value before in $oldval, and the one "
        "after\n"
        "in $newval. Threads that write at the same time are all named, with the value before and after "
        "their\n"
        "writes.\n"
        "The processor watches four places in a process, of 8 aligned bytes each. It sees what threads of "
        "the\n"
        "process write: not what the kernel writes for it (read, recv), and not what other processes write\n"
        "into memory that they share.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .takes_expression = true,
    .run = run_dwatch,
};
