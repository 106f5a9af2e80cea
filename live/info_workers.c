/* `info workers`: every worker with what it is inside of. */
#include "analyzer/openmp_words.h"
#include "analyzer/post_mortem_words.h"
#include "analyzer/quantity.h"
#include "format/printable.h"
#include "live/console_command.h"

#include <inttypes.h>
#include <string.h>

static void write_since(FILE *out, const struct tg_post_mortem_input *input, uint64_t since_ns)
{
    char moment[TG_QUANTITY_SIZE];
    fprintf(out, ", since %s s", tg_quantity_moment(since_ns, input->start_ns, 6, moment));
}

static void write_place(FILE *out, const struct tg_post_mortem_input *input,
                        const struct tg_openmp_worker *worker, const struct tg_openmp_place *place)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(input->openmp, worker->process, place->team);
    fputs("      ", out);
    switch (place->kind) {
    case TG_OPENMP_IN_REGION:
        fprintf(out, "parallel region %" PRIu64 ", level %" PRIu64 ", thread %" PRIu64, place->team,
                place->level, place->thread_num);
        if (team != NULL && team->size != 0)
            fprintf(out, " of %" PRIu64, team->size);
        break;
    case TG_OPENMP_IN_ZONE:
        fputs(tg_openmp_words_zone(place->what)->phrase, out);
        if (place->section != 0)
            fprintf(out, ", section %" PRIu64, place->section);
        break;
    case TG_OPENMP_IN_MUTEX_WAIT:
    case TG_OPENMP_IN_MUTEX:
        fprintf(out, "%s the %s", place->kind == TG_OPENMP_IN_MUTEX ? "inside of" : "waiting for",
                tg_openmp_words_mutex(place->what)->phrase);
        if (place->id != 0)
            fprintf(out, " 0x%" PRIx64, place->id);
        break;
    case TG_OPENMP_IN_SYNC:
        fprintf(out, "waiting at the %s", tg_openmp_words_sync(place->what)->phrase);
        if (place->what <= TG_OMP_SYNC_BARRIER_IMPLICIT && place->id != 0)
            fprintf(out, ", number %" PRIu64 " of its team", place->id);
        break;
    case TG_OPENMP_IN_TASK:
        fprintf(out, "task %" PRIu64, place->id);
        break;
    }
    tg_words_code(out, input, worker->process, place->code);
    write_since(out, input, place->since_ns);
    fputc('\n', out);
}

static const struct tg_mpi_thread *find_call(const struct tg_mpi_model *mpi,
                                             const struct tg_openmp_worker *worker)
{
    for (size_t i = tg_mpi_model_thread_count(mpi); i-- > 0;) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process == worker->process && thread->tid == worker->tid)
            return thread->in_call ? thread : NULL;
    }
    return NULL;
}

static void write_worker(FILE *out, const struct tg_post_mortem_input *input,
                         const struct tg_openmp_worker *worker, bool is_current)
{
    fprintf(out, "%c%c worker %" PRIu64 " (thread %" PRId32 ")", worker->alive ? ' ' : '#',
            is_current ? '>' : ' ', worker->number, worker->tid);
    const struct tg_mpi_thread *call = find_call(input->mpi, worker);
    if (!worker->alive) {
        fputs(" ... (dead)", out);
        if (worker->n_places > 0 || call != NULL)
            fputs(", was in", out);
    } else if (worker->n_places == 0 && call == NULL) {
        fputs(" outside of all regions", out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < worker->n_places; i++)
        write_place(out, input, worker, &worker->places[i]);
    if (call == NULL)
        return;
    fputs("      ", out);
    tg_words_call(out, &call->call);
    tg_words_code(out, input, worker->process, call->call.code);
    write_since(out, input, call->call.since_ns);
    fputc('\n', out);
}

/* ---- the same as data */

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
    const struct tg_record_schema *schema = tg_event_schema(kind);
    for (size_t i = 0; i < schema->n_fields; i++) {
        if (strcmp(schema->fields[i].name, field) != 0)
            continue;
        const char *name = tg_field_value_name(&schema->fields[i], value);
        return name == NULL ? "unknown" : name;
    }
    return "unknown";
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
                            bool is_current)
{
    const struct tg_process_entry *entry = tg_process_model_at(processes, worker->process);
    Tcl_Obj *dict = Tcl_NewDictObj(), *places = Tcl_NewListObj(0, NULL);
    put(dict, "rank", Tcl_NewWideIntObj(entry->rank));
    put(dict, "pid", Tcl_NewWideIntObj(entry->pid));
    put(dict, "worker", Tcl_NewWideIntObj((Tcl_WideInt)worker->number));
    put(dict, "tid", Tcl_NewWideIntObj(worker->tid));
    put(dict, "alive", Tcl_NewBooleanObj(worker->alive));
    put(dict, "current", Tcl_NewBooleanObj(is_current));
    for (size_t i = 0; i < worker->n_places; i++)
        Tcl_ListObjAppendElement(NULL, places, place_dict(&worker->places[i]));
    put(dict, "places", places);
    return dict;
}

/* ---- the command */

static void write_process(FILE *out, const struct tg_post_mortem_input *input, size_t process)
{
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, process);
    char name[128];
    tg_words_process(out, input, process);
    if (entry->rank >= 0)
        fprintf(out, ", %s (pid %" PRId32 ")", tg_printable(tg_process_entry_name(entry), name, sizeof name),
                entry->pid);
    fputc('\n', out);
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    bool as_list = argc == 1 && strcmp(Tcl_GetString(argv[0]), "-list") == 0;
    if (argc > 1 || (argc == 1 && !as_list))
        return tg_console_usage(&tg_console_info_workers);
    const struct tg_post_mortem_input input = tg_console_words(console);
    const struct tg_openmp_worker *current = tg_focus_worker(&console->focus, console->source);
    size_t n_processes = tg_process_model_count(input.processes);
    size_t n_workers = tg_openmp_model_worker_count(input.openmp), shown = 0;
    if (as_list)
        console->result = Tcl_NewListObj(0, NULL);
    /* Workers of a process stand together, whenever they appeared. */
    for (size_t process = 0; process < n_processes; process++) {
        if (!tg_focus_has(&console->focus, process))
            continue;
        bool begun = false;
        for (size_t i = 0; i < n_workers; i++) {
            const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(input.openmp, i);
            if (worker->process != process)
                continue;
            shown++;
            if (as_list) {
                Tcl_ListObjAppendElement(NULL, console->result,
                                         worker_dict(input.processes, worker, worker == current));
                continue;
            }
            if (!begun)
                write_process(out, &input, process);
            begun = true;
            write_worker(out, &input, worker, worker == current);
        }
    }
    if (shown == 0 && !as_list)
        fputs("no OpenMP workers yet\n", out);
    return NULL;
}

static const char *const words[] = {"-list", NULL};

const struct tg_console_command tg_console_info_workers = {
    .name = "info workers",
    .arguments = "?-list?",
    .summary = "every worker, alive or dead, and what it is inside of",
    .example = "info workers",
    .more = "> marks the current worker, # a dead one. What it is inside of stands below it, the outermost\n"
            "first: regions with its place in their teams, zones, locks, barriers, tasks, and its MPI call.\n"
            "-list gives a list of dictionaries instead.",
    .words = words,
    .run = run,
};
