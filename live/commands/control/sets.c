/* Sets and groups: dptsets, dgroups. */
#include "live/commands/control/commands.h"
#include "live/commands/focus/focus_call.h"
#include "live/console/options.h"

#include "analyzer/job/list.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

/* ---- dptsets */

static struct tg_error *print_set(const struct tg_request *control)
{
    struct tg_error *error = tg_job_list_print(control->view, control->set, control->out);
    fputc('\n', control->out);
    return error;
}

/* WORK with another focus, which is TEXT. */
static struct tg_error *run_with(struct tg_console *console, const char *text, tg_request_work *work,
                                 FILE *out)
{
    struct tg_ptset *parsed = NULL, *complete = NULL;
    size_t position = SIZE_MAX;
    struct tg_error *error = tg_ptset_parse(text, &parsed, &position);
    if (error == NULL)
        error = tg_ptset_complete(parsed, console->focus.set, &complete, &position);
    tg_ptset_destroy(parsed);
    if (error != NULL)
        return tg_console_pointed(console, error, text, position);
    error = tg_focus_call_run_in(console, complete, text, work, NULL, out);
    tg_ptset_destroy(complete);
    return error;
}

static struct tg_error *run_dptsets(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    /* with C, or a focus on workers would leave the others out */
    static const char *const usual[] = {"existent(aC)", "running(aC)",    "stopped(aC)",
                                        "held(aC)",     "breakpoint(aC)", "error(aC)"};
    struct tg_error *error = NULL;
    for (int i = 0; error == NULL && i < argc; i++) {
        char name[200];
        fprintf(out, "%s: ", tg_printable(Tcl_GetString(argv[i]), name, sizeof name));
        error = run_with(console, Tcl_GetString(argv[i]), print_set, out);
    }
    for (size_t i = 0; error == NULL && argc == 0 && i < sizeof usual / sizeof usual[0]; i++) {
        fprintf(out, "%-15s ", usual[i]);
        error = run_with(console, usual[i], print_set, out);
    }
    return error;
}

const struct tg_console_command tg_console_dptsets = {
    .name = "dptsets",
    .arguments = "?SET...?",
    .summary = "lists the members of sets; without SET, those that exist, run, are stopped, held",
    .example = "dptsets gW stopped(g)",
    .more = "SET is a set as in dfocus. breakpoint(S), error(S), existent(S), held(S), nonexistent(S),\n"
            "running(S), stopped(S), unheld(S) and watchpoint(S) select the members of S in that state.",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dptsets,
};

/* ---- dgroups */

/* Arguments, of which one is given; and what the group NAME is changed by. */
struct grouping {
    bool list;
    const char *made, *deleted, *added, *removed;
    const char *name;
    struct tg_error *(*change)(struct tg_job_model *model, const char *name, struct tg_thread_id unit);
};

static struct tg_error *list_groups(const struct tg_request *control)
{
    return tg_job_model_print_groups(tg_controller_job(control->controller), control->out);
}

static struct tg_error *make_group(const struct tg_request *control)
{
    const struct grouping *grouping = control->context;
    uint32_t number;
    struct tg_error *error =
        tg_job_model_add_group(tg_controller_change_job(control->controller), grouping->made, &number);
    if (error == NULL)
        fprintf(control->out, "%" PRIu32 "\n", number);
    return error;
}

static struct tg_error *delete_group(const struct tg_request *control)
{
    const struct grouping *grouping = control->context;
    return tg_job_model_delete_group(tg_controller_change_job(control->controller), grouping->deleted);
}

/* Whole processes join as such, so that threads to come are in it too. */
static struct tg_error *change_group(const struct tg_request *control)
{
    const struct grouping *grouping = control->context;
    struct tg_job_model *model = tg_controller_change_job(control->controller);
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        size_t n_members = 0;
        for (size_t i = 0; i < process->n_threads; i++)
            n_members += tg_job_set_has(control->set, process, i);
        if (!process->info.exists || n_members == 0)
            continue;
        bool whole = n_members == process->n_threads;
        struct tg_error *error =
            whole ? grouping->change(model, grouping->name, (struct tg_thread_id){process->info.dpid, 0})
                  : NULL;
        for (size_t i = 0; !whole && error == NULL && i < process->n_threads; i++) {
            struct tg_thread_id unit = {process->info.dpid,
                                        tg_job_view_thread(control->view, process, i)->dtid};
            if (tg_job_set_has(control->set, process, i))
                error = grouping->change(model, grouping->name, unit);
        }
        if (error != NULL)
            return error;
    }
    return NULL;
}

static struct tg_error *run_dgroups(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct grouping grouping = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_dgroups, argc, argv, &grouping, NULL);
    if (error != NULL)
        return error;
    if (grouping.made != NULL)
        return tg_focus_call_run_all(console, make_group, &grouping, out);
    if (grouping.deleted != NULL)
        return tg_focus_call_run_all(console, delete_group, &grouping, out);
    if (grouping.added == NULL && grouping.removed == NULL)
        return tg_focus_call_run_all(console, list_groups, NULL, out);
    grouping.name = grouping.added != NULL ? grouping.added : grouping.removed;
    grouping.change = grouping.added != NULL ? tg_job_model_join_group : tg_job_model_leave_group;
    return tg_focus_call_run(console, &tg_focus_call_defaults, change_group, &grouping, out);
}

#define NAMED(option, member)                                                                                \
    {                                                                                                        \
        option, TG_OPTION_WORD, TG_OPTION_IN(struct grouping, member), .takes = "the name of a group",       \
                                                                       .alone = true                         \
    }

static const struct tg_console_option dgroups_options[] = {
    TG_OPTION_FLAG_ALONE("-list", struct grouping, list),
    NAMED("-new", made),
    NAMED("-add", added),
    NAMED("-remove", removed),
    NAMED("-delete", deleted),
    {0}};

const struct tg_console_command tg_console_dgroups = {
    .name = "dgroups",
    .arguments = "?-list? | -new NAME | -add NAME | -remove NAME | -delete NAME",
    .summary = "lists groups; creates named groups and adds the threads in focus to them",
    .example = "dgroups -new few; dfocus {r0 r1} dgroups -add few; dfocus g/few/ dgo",
    .options = dgroups_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dgroups,
};
