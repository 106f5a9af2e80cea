/* `info workers`: every worker with what it is inside of. */
#include "live/commands/info/attached_lines.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/worker_lines.h"
#include "live/commands/info/worker_marks.h"
#include "live/console/options.h"

#include <inttypes.h>

/* ---- as data */

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

static const char *kind_word(enum tg_openmp_place_kind kind)
{
    static const char *const words[] = {
        [TG_OPENMP_IN_REGION] = "parallel", [TG_OPENMP_IN_ZONE] = "zone", [TG_OPENMP_IN_MUTEX_WAIT] = "wait",
        [TG_OPENMP_IN_MUTEX] = "mutex",     [TG_OPENMP_IN_SYNC] = "sync", [TG_OPENMP_IN_TASK] = "task",
    };
    return words[kind];
}

/* The name of the value in dump and --json: of FIELD in events of KIND. */
static const char *value_name(enum tg_event_kind kind, const char *field, uint64_t value)
{
    const char *name = tg_event_value_name(kind, field, value);
    return name != NULL ? name : "unknown";
}

static Tcl_Obj *place_dict(const struct tg_openmp_place *place)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    put(dict, "kind", Tcl_NewStringObj(kind_word(place->kind), -1));
    if (place->kind == TG_OPENMP_IN_ZONE)
        put(dict, "what", Tcl_NewStringObj(value_name(TG_EVENT_OMP_ZONE_BEGIN, "zone", place->what), -1));
    else if (place->kind == TG_OPENMP_IN_SYNC)
        put(dict, "what", Tcl_NewStringObj(value_name(TG_EVENT_OMP_SYNC_BEGIN, "sync", place->what), -1));
    else if (place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT)
        put(dict, "what", Tcl_NewStringObj(value_name(TG_EVENT_OMP_MUTEX_WAIT, "mutex", place->what), -1));
    put(dict, "team", Tcl_NewWideIntObj((Tcl_WideInt)place->team));
    put(dict, "thread_num", Tcl_NewWideIntObj((Tcl_WideInt)place->thread_num));
    put(dict, "level", Tcl_NewWideIntObj((Tcl_WideInt)place->level));
    put(dict, "id", Tcl_NewWideIntObj((Tcl_WideInt)place->id));
    put(dict, "code", Tcl_ObjPrintf("0x%" PRIx64, place->code));
    put(dict, "since_ns", Tcl_NewWideIntObj((Tcl_WideInt)place->since_ns));
    return dict;
}

static Tcl_Obj *worker_dict(const struct tg_process_model *processes, const struct tg_openmp_worker *worker,
                            bool is_current, bool is_held)
{
    const struct tg_process_entry *entry = tg_process_model_at(processes, worker->process);
    Tcl_Obj *dict = Tcl_NewDictObj(), *places = Tcl_NewListObj(0, NULL);
    put(dict, "rank", Tcl_NewWideIntObj(entry->rank));
    put(dict, "pid", Tcl_NewWideIntObj(entry->pid));
    put(dict, "worker", Tcl_NewWideIntObj((Tcl_WideInt)worker->number));
    put(dict, "tid", Tcl_NewWideIntObj(worker->tid));
    put(dict, "alive", Tcl_NewBooleanObj(worker->alive));
    put(dict, "current", Tcl_NewBooleanObj(is_current));
    put(dict, "held", Tcl_NewBooleanObj(is_held));
    for (size_t i = 0; i < worker->n_places; i++)
        Tcl_ListObjAppendElement(NULL, places, place_dict(&worker->places[i]));
    put(dict, "places", places);
    return dict;
}

static struct tg_error *list_workers(struct tg_console *console)
{
    const struct tg_moment *moment = console->source->moment;
    const struct tg_openmp_worker *current = tg_focus_worker(&console->focus, console->source);
    size_t n_processes = tg_process_model_count(moment->processes);
    size_t n_workers = tg_openmp_model_worker_count(moment->openmp);
    struct tg_worker_marks marks;
    struct tg_error *error = tg_worker_marks_take(console, &marks);
    console->result = Tcl_NewListObj(0, NULL);
    /* Workers of a process are listed together, whenever they appeared. */
    for (size_t process = 0; error == NULL && process < n_processes; process++) {
        if (!tg_focus_has(&console->focus, process))
            continue;
        for (size_t i = 0; i < n_workers; i++) {
            const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(moment->openmp, i);
            if (worker->process == process && tg_focus_has_worker(&console->focus, worker))
                Tcl_ListObjAppendElement(NULL, console->result,
                                         worker_dict(moment->processes, worker, worker == current,
                                                     tg_worker_marks_is_held(&marks, worker)));
        }
    }
    tg_worker_marks_deinit(&marks);
    return error;
}

/* ---- the command */

struct shape {
    bool as_list, is_each;
};

static const struct tg_console_option options[] = {TG_OPTION_FLAG_ALONE("-all", struct shape, is_each),
                                                   TG_OPTION_FLAG_ALONE("-list", struct shape, as_list),
                                                   {0}};

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct shape shape = {0};
    size_t n_workers = 0, n_attached = 0;
    struct tg_error *error = tg_console_take_options(&tg_console_info_workers, argc, argv, &shape, NULL);
    if (error == NULL && shape.as_list)
        return list_workers(console);
    if (error == NULL)
        error = tg_worker_lines_print(console, shape.is_each, out, &n_workers);
    if (error == NULL)
        error = tg_attached_lines_print(console, TG_ATTACHED_OPENMP, out, &n_attached);
    if (error == NULL && n_workers + n_attached == 0 && !tg_attached_lines_print_none(console, out))
        fputs("no OpenMP workers yet\n", out);
    if (error == NULL && console->data.wanted) {
        error = list_workers(console);
        tg_console_result_as_data(console);
    }
    return error;
}

const struct tg_console_command tg_console_info_workers = {
    .name = "info workers",
    .arguments = "?-all | -list?",
    .summary = "all OpenMP workers and the regions, zones and calls each one is in",
    .example = "info workers",
    .more =
        "> marks the current worker, # one that has ended; ! behind the current worker: all others of its\n"
        "process are held, or `opm sections step-by-step` lets it run alone. Below each worker: where it "
        "is,\n"
        "outermost first: regions with its number in the team, zones, locks, barriers, tasks, and its MPI\n"
        "call. Workers at the same places share a paragraph, and so do ranks whose workers do; -all lists\n"
        "each worker. -list returns a list of dictionaries instead, one for each worker: rank (-1: none),\n"
        "pid, worker, tid, alive, current, held, and places, a list of dictionaries: kind (parallel, zone, "
        "wait,\n"
        "mutex, sync or task), what, team, thread_num, level, id, code, since_ns.",
    .options = options,
    .is_of_now = true,
    .run = run,
};
