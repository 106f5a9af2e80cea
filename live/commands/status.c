/* Who is where: dstatus, dptsets, dgroups. */
#include "live/commands/focus_call.h"
#include "live/commands/status_data.h"

#include "analyzer/job/list.h"
#include "analyzer/job/status.h"
#include "format/base/printable.h"
#include "live/control/modules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names */

/* What is known of the code at thread I's pc; false: nothing, it runs. */
static struct tg_modules *find_place(const struct tg_control *control, const struct tg_job_process *process,
                                     size_t i, uint64_t *pc)
{
    if (i >= process->n_threads)
        return NULL;
    const struct tg_job_thread *of_view = tg_job_view_thread(control->view, process, i);
    const struct tg_thread_id unit = {process->info.dpid, of_view->dtid};
    struct tg_thread *thread = tg_live_engine_thread(control->engine, unit);
    *pc = of_view->pc;
    if (thread == NULL || !tg_thread_is_kept(thread) || *pc == 0)
        return NULL;
    uint64_t shown = *pc;
    return tg_live_engine_look(control->engine, thread, &shown, pc);
}

static void name_key(void *context, const struct tg_job_process *process, size_t i, enum tg_status_key key,
                     char *buffer, size_t size)
{
    const struct tg_control *control = context;
    struct tg_debug_row row;
    uint64_t pc, offset;
    *buffer = '\0';
    if (key == TG_STATUS_HOSTNAME) {
        if (gethostname(buffer, size) != 0)
            *buffer = '\0';
        return;
    }
    struct tg_modules *modules = find_place(control, process, i, &pc);
    if (modules == NULL)
        return;
    const struct tg_module *module = tg_modules_find(modules, pc);
    char *name = key == TG_STATUS_FUNCTION ? tg_modules_function_at(modules, pc, &offset) : NULL;
    if (name != NULL)
        snprintf(buffer, size, "%s", name);
    else if (key == TG_STATUS_FUNCTION && module != NULL)
        snprintf(buffer, size, "in %s",
                 strrchr(module->path, '/') == NULL ? module->path : strrchr(module->path, '/') + 1);
    else if (key == TG_STATUS_LINE && tg_modules_row_at(modules, pc, &row))
        snprintf(buffer, size, "%s#%d",
                 strrchr(row.file, '/') == NULL ? row.file : strrchr(row.file, '/') + 1, row.line);
    else if (key == TG_STATUS_STOP_REASON)
        snprintf(buffer, size, "%s", tg_job_state_word(tg_job_view_thread(control->view, process, i)->state));
    free(name);
}

/* The file where thread I of PROCESS stands, else that of its program's main; NULL not known. */
static char *file_of(const struct tg_control *control, const struct tg_job_process *process, size_t i)
{
    uint64_t pc;
    struct tg_debug_row row;
    struct tg_modules *modules = find_place(control, process, i, &pc);
    /* The C library's have names that lead nowhere here: nobody means a line of these. */
    if (modules != NULL && tg_modules_row_at(modules, pc, &row) &&
        (*row.file == '/' || access(row.file, R_OK) == 0))
        return strdup(row.file);
    return modules == NULL ? NULL : tg_live_engine_main_file(control->engine, (int32_t)process->info.tag);
}

/* Of the thread of interest, where the focus has one. */
static char *file_of_interest(const struct tg_control *control)
{
    const struct tg_ptset_arena *arena = control->focus == NULL || tg_ptset_count(control->focus) == 0
                                             ? NULL
                                             : tg_ptset_arena(control->focus, 0);
    const struct tg_job_process *process = NULL;
    size_t thread = SIZE_MAX;
    struct tg_error *error =
        arena == NULL ? NULL : tg_ptset_interest(arena, control->view, &process, &thread, NULL);
    bool is_known = error == NULL && process != NULL;
    tg_error_destroy(error);
    return is_known ? file_of(control, process, thread) : NULL;
}

char *tg_control_file(const struct tg_control *control)
{
    char *file = file_of_interest(control);
    for (size_t p = 0; file == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; file == NULL && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                file = file_of(control, process, i);
    }
    return file;
}

/* ---- dstatus */

struct status {
    enum tg_status_key keys[TG_STATUS_KEY_COUNT];
    size_t n_keys;
};

static struct tg_error *print_status(const struct tg_control *control)
{
    const struct status *status = control->context;
    const struct tg_status_input input = {
        .view = control->view, .set = control->set, .name = name_key, .context = (void *)(uintptr_t)control};
    return tg_status_print(&input, status->keys, status->n_keys, control->out);
}

static struct tg_error *run_dstatus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct status status = {.keys = {TG_STATUS_CONTROL_GROUP, TG_STATUS_SHARE_GROUP, TG_STATUS_PROCESS_STATE,
                                     TG_STATUS_THREAD_STATE, TG_STATUS_FUNCTION},
                            .n_keys = 5};
    struct tg_error *error = NULL;
    if (argc != 0 && (argc != 2 || strcmp(Tcl_GetString(argv[0]), "-group_by") != 0))
        return tg_console_usage(&tg_console_dstatus);
    if (argc == 2)
        error = tg_status_parse_keys(Tcl_GetString(argv[1]), status.keys, &status.n_keys);
    return error != NULL ? error : tg_control_run(console, &tg_control_defaults, print_status, &status, out);
}

static const char *const dstatus_words[] = {"-group_by", NULL};

const struct tg_console_command tg_console_dstatus = {
    .name = "dstatus",
    .arguments = "?-group_by KEY,KEY...?",
    .summary = "who is in which state and where, brought together",
    .example = "dfocus g dstatus -group_by thread_state,function",
    .more =
        "Keys: control_group, share_group, process_state, thread_state, hostname, function, line, pc,\n"
        "dpid, dtid, held, stop_reason. 2:8[0-1.1-4] is 2 processes and 8 threads: threads 1 to 4 of the\n"
        "ranks 0 and 1; p3 is the process with number 3.",
    .words = dstatus_words,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dstatus,
    .data = tg_control_threads_data,
};

/* ---- dptsets */

static struct tg_error *print_set(const struct tg_control *control)
{
    struct tg_error *error = tg_job_list_print(control->view, control->set, control->out);
    fputc('\n', control->out);
    return error;
}

/* WORK with another focus, which is TEXT. */
static struct tg_error *run_with(struct tg_console *console, const char *text, tg_control_work *work,
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
    error = tg_control_run_in(console, complete, text, work, NULL, out);
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
    .summary = "who is in these sets; without one, who exists, runs, stands, is held",
    .example = "dptsets gW stopped(g)",
    .more = "Sets are those of dfocus. breakpoint(S), error(S), existent(S), held(S), nonexistent(S), "
            "running(S),\n"
            "stopped(S), unheld(S) and watchpoint(S) pick those of S that are so.",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dptsets,
};

/* ---- dgroups */

struct grouping {
    const char *name;
    struct tg_error *(*change)(struct tg_job_model *model, const char *name, struct tg_thread_id unit);
};

static struct tg_error *list_groups(const struct tg_control *control)
{
    return tg_job_model_print_groups(tg_controller_job(control->controller), control->out);
}

static struct tg_error *make_group(const struct tg_control *control)
{
    const struct grouping *grouping = control->context;
    uint32_t number;
    struct tg_error *error =
        tg_job_model_add_group(tg_controller_change_job(control->controller), grouping->name, &number);
    if (error == NULL)
        fprintf(control->out, "%" PRIu32 "\n", number);
    return error;
}

static struct tg_error *delete_group(const struct tg_control *control)
{
    const struct grouping *grouping = control->context;
    return tg_job_model_delete_group(tg_controller_change_job(control->controller), grouping->name);
}

/* Whole processes join as such, so that threads to come are in it too. */
static struct tg_error *change_group(const struct tg_control *control)
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
    const char *what = argc > 0 ? Tcl_GetString(argv[0]) : "-list";
    struct grouping grouping = {.name = argc == 2 ? Tcl_GetString(argv[1]) : NULL};
    if (strcmp(what, "-list") == 0 && argc <= 1)
        return tg_control_run_all(console, list_groups, NULL, out);
    if (argc != 2)
        return tg_console_usage(&tg_console_dgroups);
    if (strcmp(what, "-new") == 0)
        return tg_control_run_all(console, make_group, &grouping, out);
    if (strcmp(what, "-delete") == 0)
        return tg_control_run_all(console, delete_group, &grouping, out);
    if (strcmp(what, "-add") == 0)
        grouping.change = tg_job_model_join_group;
    else if (strcmp(what, "-remove") == 0)
        grouping.change = tg_job_model_leave_group;
    else
        return tg_console_usage(&tg_console_dgroups);
    return tg_control_run(console, &tg_control_defaults, change_group, &grouping, out);
}

static const char *const dgroups_words[] = {"-list", "-new", "-add", "-remove", "-delete", NULL};

const struct tg_console_command tg_console_dgroups = {
    .name = "dgroups",
    .arguments = "?-list? | -new NAME | -add NAME | -remove NAME | -delete NAME",
    .summary = "lists groups; makes named ones, and puts those in focus into them",
    .example = "dgroups -new solvers; dfocus {r0 r1} dgroups -add solvers; dfocus g/solvers/ dgo",
    .words = dgroups_words,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dgroups,
};
