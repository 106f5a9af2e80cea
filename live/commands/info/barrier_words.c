#include "live/commands/info/barrier_words.h"

#include "analyzer/job/action_points.h"
#include "analyzer/job/list.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- in words */

/* UNITS, COUNT of them at a distance of STRIDE bytes, as a list: "2:8[0-1.1-4]". */
static struct tg_error *write_units(const struct tg_barrier_states *states, const struct tg_thread_id *units,
                                    size_t count, size_t stride, FILE *out)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, states->view);
    for (size_t i = 0; error == NULL && i < count; i++)
        tg_barrier_states_add(
            states, *(const struct tg_thread_id *)(const void *)((const char *)units + i * stride), &set);
    return error != NULL ? error : tg_job_list_print(states->view, &set, out);
}

static struct tg_error *write_satisfaction(const struct tg_barrier_states *states,
                                           const struct tg_barrier_definition *definition, FILE *out)
{
    if (definition->n_list > 0)
        return write_units(states, definition->list, definition->n_list, sizeof *definition->list, out);
    if (definition->process != 0 && !definition->of_threads)
        fprintf(out, "process %" PRIu32, definition->process);
    else if (definition->process != 0)
        fprintf(out, "group %" PRIu32 " in process %" PRIu32, definition->group, definition->process);
    else
        fprintf(out, "group %" PRIu32, definition->group != 0 ? definition->group : definition->share_group);
    return NULL;
}

static bool is_alike(const struct tg_barrier_member *left, const struct tg_barrier_member *right)
{
    return left->standing == right->standing && left->barrier == right->barrier;
}

static int compare_members(const void *x, const void *y)
{
    const struct tg_barrier_member *a = x, *b = y;
    if (!is_alike(a, b))
        return a->standing != b->standing ? (a->standing > b->standing ? 1 : -1)
                                          : (a->barrier > b->barrier ? 1 : -1);
    if (a->thread.dpid != b->thread.dpid)
        return a->thread.dpid > b->thread.dpid ? 1 : -1;
    return (a->thread.dtid > b->thread.dtid) - (a->thread.dtid < b->thread.dtid);
}

static const char *const standings[TG_STANDS_COUNT] = {
    [TG_STANDS_ARRIVED] = "held",       [TG_STANDS_LET_GO] = "no longer held",
    [TG_STANDS_RUNNING] = "running",    [TG_STANDS_STOPPED] = "stopped",
    [TG_STANDS_HELD] = "held by dhold", [TG_STANDS_ELSEWHERE] = "held at barrier",
};

/* Whether all have passed, and nobody has come again: who is stopped there was released, and nobody is missing. */
static bool is_done(const struct tg_barrier_status *status)
{
    return status->round > 0 && status->n_arrived == 0;
}

/* Members in the same state share a line. IS_DONE: nobody waits. */
static struct tg_error *write_members(const struct tg_barrier_states *states, bool is_done,
                                      const struct tg_barrier_member *members, size_t count, FILE *out)
{
    struct tg_error *error = NULL;
    if (count == 0 || members[0].standing > TG_STANDS_LET_GO)
        fputs(is_done ? "  arrived  none since then\n" : "  arrived  none\n", out);
    for (size_t i = 0, end; error == NULL && !is_done && i < count; i = end) {
        for (end = i + 1; end < count && is_alike(&members[i], &members[end]); end++) {
        }
        fprintf(out, "  %s  ", members[i].standing <= TG_STANDS_LET_GO ? "arrived" : "missing");
        error = write_units(states, &members[i].thread, end - i, sizeof *members, out);
        fprintf(out, ", %s", standings[members[i].standing]);
        if (members[i].barrier != 0)
            fprintf(out, " %" PRIu32, members[i].barrier);
        fputc('\n', out);
    }
    return error;
}

static void write_stuck(const struct tg_barrier_states *states, uint32_t id, FILE *out)
{
    struct tg_run_decision why;
    if (!tg_barriers_why_stuck(states->model, id, &why))
        return;
    const struct tg_job_process *process = tg_job_view_process(states->view, why.thread.dpid);
    fprintf(out, "  can no longer be satisfied: %s %" PRIu32, why.thread.dtid == 0 ? "process" : "thread",
            why.thread.dpid);
    if (why.thread.dtid != 0)
        fprintf(out, ".%" PRIu32, why.thread.dtid);
    if (process != NULL && process->info.rank >= 0)
        fprintf(out, " (rank %" PRId64 ")", process->info.rank);
    fprintf(out, " is held at barrier %" PRIu32 ", which is waiting too", why.number);
    if (why.count > 1)
        fprintf(out, "; %" PRIu64 " more cannot arrive", why.count - 1);
    fputc('\n', out);
}

static struct tg_error *write_barrier(const struct tg_barrier_states *states, size_t i, FILE *out)
{
    const struct tg_barrier_definition *definition = tg_barriers_at(states->model, i);
    struct tg_barrier_status status = {0};
    struct tg_barrier_member *members = NULL;
    size_t count;
    tg_barriers_status(states->model, definition->id, &status);
    fprintf(out, "barrier %" PRIu32 " at ", definition->id);
    tg_action_point_print_location(states->locations[i], out);
    fprintf(out, ": over %s, satisfaction set = ", status.of_threads ? "threads" : "processes");
    struct tg_error *error = write_satisfaction(states, definition, out);
    fprintf(out, ", satisfied %" PRIu64 " time%s%s\n", status.round, status.round == 1 ? "" : "s",
            status.enabled ? "" : ", disabled");
    if (error == NULL)
        error = tg_barrier_states_members(states, definition->id, &members, &count);
    if (error == NULL && count > 1)
        qsort(members, count, sizeof *members, compare_members);
    if (error == NULL)
        error = write_members(states, is_done(&status), members, count, out);
    write_stuck(states, definition->id, out);
    free(members);
    return error;
}

struct tg_error *tg_barrier_words_write(const struct tg_barrier_states *states, FILE *out, size_t *shown)
{
    struct tg_error *error = NULL;
    *shown = tg_barriers_count(states->model);
    for (size_t i = 0; error == NULL && i < *shown; i++)
        error = write_barrier(states, i, out);
    return error;
}

/* ---- as data */

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

static void put_number(Tcl_Obj *dict, const char *key, uint64_t value)
{
    put(dict, key, Tcl_NewWideIntObj((Tcl_WideInt)value));
}

/* "2", "2.1": a set that means it. */
static Tcl_Obj *unit_object(struct tg_thread_id unit)
{
    return unit.dtid == 0 ? Tcl_ObjPrintf("p%" PRIu32, unit.dpid)
                          : Tcl_ObjPrintf("t%" PRIu32 ".%" PRIu32, unit.dpid, unit.dtid);
}

static Tcl_Obj *member_list(const struct tg_barrier_member *members, size_t count,
                            enum tg_barrier_standing first, enum tg_barrier_standing last)
{
    Tcl_Obj *list = tg_console_data_list();
    for (size_t i = 0; i < count; i++)
        if (members[i].standing >= first && members[i].standing <= last)
            Tcl_ListObjAppendElement(NULL, list, unit_object(members[i].thread));
    return list;
}

static struct tg_error *add_barrier(const struct tg_barrier_states *states, size_t i, Tcl_Obj *list)
{
    const struct tg_barrier_definition *definition = tg_barriers_at(states->model, i);
    struct tg_barrier_status status = {0};
    struct tg_run_decision why = {0};
    struct tg_barrier_member *members = NULL;
    size_t count;
    struct tg_error *error = tg_barrier_states_members(states, definition->id, &members, &count);
    if (error != NULL)
        return error;
    tg_barriers_status(states->model, definition->id, &status);
    bool stuck = tg_barriers_why_stuck(states->model, definition->id, &why);
    Tcl_Obj *dict = Tcl_NewDictObj();
    put_number(dict, "id", definition->id);
    put(dict, "location", Tcl_NewStringObj(states->locations[i], -1));
    put(dict, "over", Tcl_NewStringObj(status.of_threads ? "threads" : "processes", -1));
    put_number(dict, "enabled", status.enabled);
    put_number(dict, "satisfied", status.round);
    put(dict, "arrived", member_list(members, count, TG_STANDS_ARRIVED, TG_STANDS_LET_GO));
    put(dict, "held", member_list(members, count, TG_STANDS_ARRIVED, TG_STANDS_ARRIVED));
    put(dict, "missing",
        is_done(&status) ? tg_console_data_list()
                         : member_list(members, count, TG_STANDS_RUNNING, TG_STANDS_ELSEWHERE));
    put_number(dict, "stuck", stuck);
    put(dict, "stuck_for", stuck ? unit_object(why.thread) : Tcl_NewStringObj("", 0));
    put_number(dict, "holder", stuck ? why.number : 0);
    put_number(dict, "blocked", stuck ? why.count : 0);
    Tcl_ListObjAppendElement(NULL, list, dict);
    free(members);
    return NULL;
}

struct tg_error *tg_barrier_words_list(const struct tg_barrier_states *states, Tcl_Obj **list)
{
    struct tg_error *error = NULL;
    *list = Tcl_NewListObj(0, NULL);
    for (size_t i = 0; error == NULL && i < tg_barriers_count(states->model); i++)
        error = add_barrier(states, i, *list);
    return error;
}
