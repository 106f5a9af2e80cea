/* dassign: another value for a variable of the threads in focus. */
#include "live/commands/focus/focus_call.h"
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/commands.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/console/options.h"
#include "live/control/thread_scene.h"
#include "live/inspect/expression/expression.h"

#include <limits.h>
#include <string.h>

/* A single thread, unless the focus says another width. */
static const struct tg_ptset_defaults defaults = {TG_WIDTH_THREAD, TG_GROUP_CONTROL};

enum { CHOSEN = UINT_MAX };

/* TARGET and VALUE of one command, and what became of it. */
struct assigning {
    const struct tg_frame_choices *choices;
    unsigned level; /* of the frame, CHOSEN: that of dup and ddown */
    struct tg_expression *target, *value;
    size_t target_position, value_position; /* of an error, SIZE_MAX none */
    size_t n_assigned, n_running;
};

static const struct tg_console_option options[] = {
    {"-frame", TG_OPTION_NUMBER, TG_OPTION_IN(struct assigning, level), .highest = 100000},
    {.name = "TARGET", .kind = TG_OPTION_EXPRESSION},
    {0}};

static struct tg_error *assign(const struct tg_request *control, struct tg_thread *thread)
{
    struct assigning *assigning = control->context;
    struct tg_modules *modules = tg_engine_adapter_modules(control->engine, thread->process);
    struct tg_module_scene *objects = tg_engine_adapter_scene(control->engine, thread->process);
    struct tg_thread_scene scene;
    struct tg_value target, value;
    struct tg_assignment plan;
    if (modules == NULL || objects == NULL)
        return tg_error_no_memory();
    unsigned level =
        assigning->level == CHOSEN ? tg_frame_choices_level(assigning->choices, thread) : assigning->level;
    struct tg_error *error = tg_thread_scene_at(thread, modules, objects, level, &scene);
    if (error == NULL)
        error = tg_expression_evaluate(assigning->target, scene.scene, &target, &assigning->target_position);
    if (error == NULL)
        error = tg_expression_evaluate(assigning->value, scene.scene, &value, &assigning->value_position);
    if (error == NULL)
        error = tg_assignment_plan(scene.scene, &target, &value, &plan);
    return error != NULL ? error : tg_thread_scene_assign(thread, &scene, &plan);
}

/* In every thread in focus that is stopped, up to the first error. */
static struct tg_error *assign_all(const struct tg_request *control)
{
    struct assigning *assigning = control->context;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && i < process->n_threads; i++) {
            struct tg_thread_id id = {process->info.dpid,
                                      tg_job_view_thread(control->view, process, i)->dtid};
            if (!tg_job_set_has(control->set, process, i))
                continue;
            struct tg_thread *thread = tg_engine_adapter_thread(control->engine, id);
            bool is_stopped = thread != NULL && tg_thread_is_kept(thread);
            assigning->n_running += !is_stopped;
            assigning->n_assigned += is_stopped;
            if (is_stopped)
                error = assign(control, thread);
        }
    }
    if (error == NULL && assigning->n_assigned == 0)
        error = tg_standing_none(control);
    if (error == NULL && assigning->n_running > 0)
        fprintf(control->out, "%zu running thread%s left out\n", assigning->n_running,
                assigning->n_running == 1 ? " is" : "s are");
    return error;
}

/* ERROR, which points into WORD where POSITION is not SIZE_MAX. */
static struct tg_error *pointed(struct tg_console *console, struct tg_error *error, Tcl_Obj *word,
                                size_t position)
{
    return error == NULL || position == SIZE_MAX
               ? error
               : tg_console_pointed(console, error, Tcl_GetString(word), position);
}

static struct tg_error *run_parsed(struct tg_console *console, struct assigning *assigning,
                                   Tcl_Obj *const *words, FILE *out)
{
    struct tg_error *error =
        tg_expression_parse(Tcl_GetString(words[0]), &assigning->target, &assigning->target_position);
    if (error == NULL) {
        assigning->target_position = SIZE_MAX;
        error = tg_expression_parse(Tcl_GetString(words[1]), &assigning->value, &assigning->value_position);
    }
    if (error == NULL) {
        assigning->value_position = SIZE_MAX;
        error = tg_focus_call_run(console, &defaults, assign_all, assigning, out);
    }
    return pointed(console, pointed(console, error, words[0], assigning->target_position), words[1],
                   assigning->value_position);
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct assigning assigning = {.target_position = SIZE_MAX,
                                  .value_position = SIZE_MAX,
                                  .level = CHOSEN,
                                  .choices = tg_console_state(console, &tg_frame_choices_kind)};
    int used;
    struct tg_error *error = tg_console_take_options(&tg_console_dassign, argc, argv, &assigning, &used);
    if (error == NULL && argc - used != 2)
        error = tg_console_usage(&tg_console_dassign);
    if (error == NULL)
        error = run_parsed(console, &assigning, argv + used, out);
    tg_expression_destroy(assigning.target);
    tg_expression_destroy(assigning.value);
    return error;
}

const struct tg_console_command tg_console_dassign = {
    .name = "dassign",
    .arguments = "?-frame N? TARGET VALUE",
    .summary = "gives a variable of the threads in focus another value",
    .example = "dassign {p->count} {2 * p->count}",
    .more = "TARGET and VALUE are expressions as dprint has them, evaluated in each thread in focus that is "
            "stopped. TARGET\n"
            "is a number, a pointer or an enumeration, in memory or in a general register of the innermost "
            "frame; VALUE\n"
            "is converted as by C's assignment.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .takes_expression = true,
    .run = run,
};
