#include "live/commands/status_data.h"

#include "analyzer/job/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- threads */

static void put_place(const struct tg_control *control, struct tg_thread_id unit, uint64_t pc,
                      struct tg_json *json)
{
    struct tg_debug_row row;
    uint64_t offset, code;
    struct tg_thread *thread = tg_live_engine_thread(control->engine, unit);
    if (thread == NULL || !tg_thread_is_kept(thread) || pc == 0)
        return;
    struct tg_modules *modules = tg_live_engine_look(control->engine, thread, &pc, &code);
    tg_json_key(json, "pc");
    tg_json_address(json, pc);
    char *name = modules != NULL ? tg_modules_function_at(modules, code, &offset) : NULL;
    if (name != NULL)
        tg_json_member_string(json, "function", name);
    free(name);
    if (modules != NULL && tg_modules_row_at(modules, code, &row)) {
        tg_json_member_string(json, "file", row.file);
        tg_json_member_signed(json, "line", row.line);
    }
}

static void put_thread(const struct tg_control *control, const struct tg_job_process *process,
                       const struct tg_job_thread *thread, struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dpid", process->info.dpid);
    tg_json_member_unsigned(json, "dtid", thread->dtid);
    tg_json_member_unsigned(json, "pid", process->info.tag);
    tg_json_member_unsigned(json, "tid", thread->tag);
    if (process->info.rank >= 0)
        tg_json_member_signed(json, "rank", process->info.rank);
    tg_json_member_string(json, "state", tg_job_state_word(thread->state));
    tg_json_member_bool(json, "held", thread->held);
    tg_json_member_bool(json, "process_held", process->info.held);
    put_place(control, (struct tg_thread_id){process->info.dpid, thread->dtid}, thread->pc, json);
    tg_json_end_object(json);
}

static struct tg_error *put_threads(const struct tg_control *control)
{
    struct tg_json *json = control->context;
    tg_json_begin_array(json);
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                put_thread(control, process, tg_job_view_thread(control->view, process, i), json);
    }
    tg_json_end_array(json);
    return NULL;
}

struct tg_error *tg_control_threads_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                         const char *text, struct tg_json *json)
{
    (void)argc;
    (void)argv;
    (void)text;
    return tg_control_run(console, &tg_control_defaults, put_threads, json, NULL);
}

/* ---- action points */

static const char *stop_name(enum tg_barrier_stop stop)
{
    return stop == TG_BARRIER_STOP_GROUP ? "group" : stop == TG_BARRIER_STOP_PROCESS ? "process" : "none";
}

static void put_barrier(const struct tg_control *control, const struct tg_action_point *point,
                        struct tg_json *json)
{
    struct tg_barrier_status status;
    tg_json_member_string(json, "stop_when_done", stop_name(point->stop_when_done));
    tg_json_member_bool(json, "of_threads", point->of_threads);
    tg_json_member_string(json, "satisfaction", point->satisfaction);
    if (!tg_barriers_status(tg_controller_runs(control->controller), point->id, &status))
        return;
    tg_json_member_unsigned(json, "members", status.n_members);
    tg_json_member_unsigned(json, "arrived", status.n_arrived);
    tg_json_member_bool(json, "stuck", status.stuck);
}

static void put_point(const struct tg_control *control, const struct tg_action_point *point,
                      struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "id", point->id);
    tg_json_member_string(json, "kind", point->kind == TG_ACTION_BARRIER ? "barrier" : "break");
    tg_json_member_bool(json, "enabled", point->enabled);
    tg_json_member_bool(json, "pending", point->pending);
    tg_json_member_string(json, "location", point->location);
    tg_json_member_string(json, "place", point->place);
    if (!point->pending) {
        tg_json_key(json, "address");
        tg_json_address(json, point->address);
    }
    tg_json_member_string(json, "focus", point->focus);
    tg_json_member_string(json, "stop_when_hit", stop_name(point->stop_when_hit));
    tg_json_member_unsigned(json, "hits", point->hits);
    tg_json_member_unsigned(json, point->shared ? "share_group" : "process",
                            point->shared ? point->group : point->process);
    if (*point->condition != '\0')
        tg_json_member_string(json, "condition", point->condition);
    if (point->kind == TG_ACTION_BARRIER)
        put_barrier(control, point, json);
    tg_json_end_object(json);
}

struct wanted_points {
    int argc; /* numbers, or an option; none: all */
    Tcl_Obj *const *argv;
    struct tg_json *json;
};

static bool is_wanted(const struct wanted_points *wanted, const struct tg_action_point *point)
{
    const char *first = wanted->argc > 0 ? Tcl_GetString(wanted->argv[0]) : "-all";
    if (*first == '-')
        return strcmp(first, "-enabled") == 0    ? point->enabled
               : strcmp(first, "-disabled") == 0 ? !point->enabled
                                                 : true;
    for (int i = 0; i < wanted->argc; i++)
        if (strtoull(Tcl_GetString(wanted->argv[i]), NULL, 10) == point->id)
            return true;
    return false;
}

static struct tg_error *put_points(const struct tg_control *control)
{
    const struct wanted_points *wanted = control->context;
    const struct tg_action_points *points = tg_controller_points(control->controller);
    tg_json_begin_array(wanted->json);
    for (size_t i = 0; i < tg_action_points_count(points); i++)
        if (is_wanted(wanted, tg_action_points_at(points, i)))
            put_point(control, tg_action_points_at(points, i), wanted->json);
    tg_json_end_array(wanted->json);
    return NULL;
}

struct tg_error *tg_control_points_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                        const char *text, struct tg_json *json)
{
    struct wanted_points wanted = {argc, argv, json};
    (void)text;
    return tg_control_run_all(console, put_points, &wanted, NULL);
}

struct tg_error *tg_control_number_data(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                        const char *text, struct tg_json *json)
{
    (void)console;
    (void)argc;
    (void)argv;
    tg_json_unsigned(json, strtoull(text, NULL, 10));
    return NULL;
}
