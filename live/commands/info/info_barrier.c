/* `info barrier`: the barriers that teams are at, and how far each worker is with them; and those of
 * dbarrier. */
#include "analyzer/finding/words.h"
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/output/quantity.h"
#include "live/commands/info/attached_lines.h"
#include "live/commands/info/barrier_words.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/number_list.h"
#include "live/commands/info/place.h"
#include "live/console/options.h"

#include <inttypes.h>
#include <string.h>

struct writing {
    struct tg_console *console;
    struct tg_verdict_input input;
    FILE *out; /* NULL: as a list */
    size_t shown;
};

static const struct tg_openmp_worker *worker_of(const struct writing *w,
                                                const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(w->input.openmp, member->worker);
}

enum { MAX_RANGES = 32 };
enum { MAX_TOLD = 8 }; /* workers that are missing are told with what they do, so many of a team */

/* The numbers of the workers of that standing, the first SKIPPED of them left out. */
static struct tg_error *gather_standing(const struct writing *w, const struct tg_openmp_team *team,
                                        const struct tg_openmp_barrier *barrier,
                                        enum tg_openmp_standing standing, size_t skipped,
                                        struct tg_number_list *list)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < team->n_members; i++) {
        if (tg_openmp_barrier_standing(&team->members[i], barrier) != standing)
            continue;
        if (skipped > 0)
            skipped--;
        else
            error = tg_number_list_add(list, worker_of(w, &team->members[i])->number);
    }
    tg_number_list_sort(list);
    return error;
}

/* "1-3,7": the numbers of the workers of that standing. */
static struct tg_error *write_standing(const struct writing *w, const struct tg_openmp_team *team,
                                       const struct tg_openmp_barrier *barrier,
                                       enum tg_openmp_standing standing)
{
    struct tg_number_list list = {0};
    struct tg_error *error = gather_standing(w, team, barrier, standing, 0, &list);
    if (error == NULL && list.count == 0)
        fputs("none", w->out);
    tg_number_list_print(&list, MAX_RANGES, w->out);
    fputc('\n', w->out);
    tg_number_list_deinit(&list);
    return error;
}

static struct tg_error *write_missing(const struct writing *w, const struct tg_openmp_team *team,
                                      const struct tg_openmp_barrier *barrier)
{
    struct tg_number_list list = {0};
    size_t told = 0;
    if (barrier->missing == 0)
        fputs("  missing  none\n", w->out);
    for (size_t i = 0; i < team->n_members && told < MAX_TOLD; i++) {
        if (tg_openmp_barrier_standing(&team->members[i], barrier) != TG_OPENMP_MISSING)
            continue;
        const struct tg_openmp_worker *worker = worker_of(w, &team->members[i]);
        fprintf(w->out, "  missing  worker %" PRIu64 ": ", worker->number);
        tg_words_worker_state(w->out, &w->input, worker);
        fputc('\n', w->out);
        told++;
    }
    struct tg_error *error = gather_standing(w, team, barrier, TG_OPENMP_MISSING, told, &list);
    if (list.count > 0) {
        fprintf(w->out, "  missing  worker%s ", list.count > 1 ? "s" : "");
        tg_number_list_print(&list, MAX_RANGES, w->out);
        fputs(" more (`info workers` shows where)\n", w->out);
    }
    tg_number_list_deinit(&list);
    if (team->size > team->n_members)
        fprintf(w->out, "  missing  %" PRIu64 " that %s not begun the region\n", team->size - team->n_members,
                team->size - team->n_members == 1 ? "has" : "have");
    return error;
}

static const char *kind_of(const struct tg_openmp_barrier *barrier)
{
    return barrier->sync == TG_OMP_SYNC_BARRIER ? "explicit" : "implicit";
}

static struct tg_error *write_barrier(const struct writing *w, const struct tg_openmp_team *team,
                                      const struct tg_openmp_barrier *barrier)
{
    char since[TG_QUANTITY_SIZE];
    tg_words_process(w->out, &w->input, team->process);
    fprintf(w->out, ", parallel region %" PRIu64 " (level %" PRIu64, team->id, team->level);
    if (team->size != 0)
        fprintf(w->out, ", %" PRIu64 " thread%s", team->size, team->size == 1 ? "" : "s");
    fputc(')', w->out);
    tg_words_code(w->out, &w->input, team->process, team->code);
    if (barrier->sync == TG_OMP_SYNC_BARRIER_JOIN)
        fputs("\n  the end of the region", w->out);
    else
        fprintf(w->out, "\n  barrier %" PRIu64, barrier->instance);
    tg_words_code(w->out, &w->input, team->process, barrier->code);
    fprintf(w->out, ": %s, %s", kind_of(barrier), barrier->is_open ? "open" : "closed");
    if (barrier->since_ns != 0)
        fprintf(w->out, ", waiting since %s s (first arrival)",
                tg_quantity_moment(barrier->since_ns, w->input.start_ns, 6, since));
    fputs("\n  passed   ", w->out);
    struct tg_error *error = write_standing(w, team, barrier, TG_OPENMP_PASSED);
    fputs("  waiting  ", w->out);
    if (error == NULL)
        error = write_standing(w, team, barrier, TG_OPENMP_WAITING);
    return error != NULL ? error : write_missing(w, team, barrier);
}

/* ---- the same as data */

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

static Tcl_Obj *standing_list(const struct writing *w, const struct tg_openmp_team *team,
                              const struct tg_openmp_barrier *barrier, enum tg_openmp_standing standing)
{
    Tcl_Obj *list = tg_console_data_list();
    for (size_t i = 0; i < team->n_members; i++)
        if (tg_openmp_barrier_standing(&team->members[i], barrier) == standing)
            Tcl_ListObjAppendElement(NULL, list,
                                     Tcl_NewWideIntObj((Tcl_WideInt)worker_of(w, &team->members[i])->number));
    return list;
}

static void add_barrier(const struct writing *w, const struct tg_openmp_team *team,
                        const struct tg_openmp_barrier *barrier)
{
    const struct tg_process_entry *entry = tg_process_model_at(w->input.processes, team->process);
    Tcl_Obj *dict = Tcl_NewDictObj();
    put(dict, "rank", Tcl_NewWideIntObj(entry->rank));
    put(dict, "pid", Tcl_NewWideIntObj(entry->pid));
    put(dict, "team", Tcl_NewWideIntObj((Tcl_WideInt)team->id));
    put(dict, "level", Tcl_NewWideIntObj((Tcl_WideInt)team->level));
    put(dict, "size", Tcl_NewWideIntObj((Tcl_WideInt)team->size));
    put(dict, "kind", Tcl_NewStringObj(kind_of(barrier), -1));
    put(dict, "join", Tcl_NewBooleanObj(barrier->sync == TG_OMP_SYNC_BARRIER_JOIN));
    put(dict, "number", Tcl_NewWideIntObj((Tcl_WideInt)barrier->instance));
    put(dict, "open", Tcl_NewBooleanObj(barrier->is_open));
    put(dict, "code", Tcl_ObjPrintf("0x%" PRIx64, barrier->code));
    put(dict, "since_ns", Tcl_NewWideIntObj((Tcl_WideInt)barrier->since_ns));
    put(dict, "passed", standing_list(w, team, barrier, TG_OPENMP_PASSED));
    put(dict, "waiting", standing_list(w, team, barrier, TG_OPENMP_WAITING));
    put(dict, "missing", standing_list(w, team, barrier, TG_OPENMP_MISSING));
    uint64_t not_begun = team->size > team->n_members ? team->size - team->n_members : 0;
    put(dict, "not_begun", Tcl_NewWideIntObj((Tcl_WideInt)not_begun));
    Tcl_ListObjAppendElement(NULL, w->console->result, dict);
}

static struct tg_error *visit_team(void *context, const struct tg_openmp_team *team)
{
    struct writing *w = context;
    struct tg_openmp_barrier barrier;
    if (!tg_focus_has(&w->console->focus, team->process) || !tg_openmp_barrier_of(team, &barrier))
        return NULL;
    w->shown++;
    if (w->out == NULL)
        add_barrier(w, team, &barrier);
    return w->out == NULL ? NULL : write_barrier(w, team, &barrier);
}

/* ---- the command */

/* Kinds of barriers that are asked for. */
struct question {
    bool teams, points; /* both: whatever there is */
    bool as_list;
};

static struct tg_error *list_teams(struct tg_console *console)
{
    struct writing w = {.console = console, .input = tg_console_words(console)};
    console->result = Tcl_NewListObj(0, NULL);
    return tg_openmp_model_visit_teams(w.input.openmp, visit_team, &w);
}

/* A list of one kind alone: teams, unless the barriers of dbarrier were asked for. */
static struct tg_error *list(struct tg_console *console, const struct question *question,
                             const struct tg_barrier_states *states)
{
    return question->teams ? list_teams(console) : tg_barrier_words_list(states, &console->result);
}

static struct tg_error *write_all(struct tg_console *console, const struct question *question,
                                  const struct tg_barrier_states *states, FILE *out)
{
    struct writing w = {.console = console, .input = tg_console_words(console), .out = out};
    size_t n_points = 0, n_attached = 0;
    struct tg_error *error =
        question->teams ? tg_openmp_model_visit_teams(w.input.openmp, visit_team, &w) : NULL;
    if (error == NULL && question->teams)
        error = tg_attached_lines_print(console, TG_ATTACHED_OPENMP, out, &n_attached);
    if (error == NULL && question->points)
        error = tg_barrier_words_write(states, out, &n_points);
    bool is_none = error == NULL && w.shown + n_points + n_attached == 0;
    if (is_none && !(question->teams && tg_attached_lines_print_none(console, out)))
        fputs(question->teams ? "no team is at a barrier\n" : "no barriers (dbarrier makes one)\n", out);
    return error;
}

static const struct tg_console_option options[] = {
    {"-teams", TG_OPTION_SET, TG_OPTION_IN(struct question, points), .value = false},
    {"-points", TG_OPTION_SET, TG_OPTION_IN(struct question, teams), .value = false},
    TG_OPTION_FLAG("-list", struct question, as_list),
    {0}};

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct question question = {.teams = true, .points = true};
    struct tg_barrier_states states = {0}; /* of one moment, for text and data */
    struct tg_error *error = tg_console_take_options(&tg_console_info_barrier, argc, argv, &question, NULL);
    if (error == NULL && !question.teams && !question.points)
        error = tg_console_usage(&tg_console_info_barrier);
    if (error == NULL && question.points)
        error = tg_barrier_states_take(console, &states);
    if (error == NULL)
        error = question.as_list ? list(console, &question, &states)
                                 : write_all(console, &question, &states, out);
    if (error == NULL && !question.as_list && console->data.wanted) {
        error = list(console, &question, &states);
        tg_console_result_as_data(console);
    }
    tg_barrier_states_deinit(&states);
    return error;
}

const struct tg_console_command tg_console_info_barrier = {
    .name = "info barrier",
    .arguments = "?-teams | -points? ?-list?",
    .summary = "barriers of OpenMP teams and of dbarrier: who is waiting, who is missing",
    .example = "info barrier",
    .more =
        "-teams: barriers of OpenMP only. A barrier is open once a worker has passed it. Of a team at\n"
        "several barriers only the one that holds it up is shown. -list returns a list of dictionaries\n"
        "instead: rank (-1: none), pid, team, level, size, kind (explicit or implicit), join, number, open,\n"
        "code, since_ns, the lists of workers passed, waiting and missing, and not_begun, how many of the\n"
        "team have not begun the region.\n"
        "-points: barriers of dbarrier only, of a live job or at this moment of its trace. Missing members\n"
        "are in the satisfaction set and have not arrived; each is shown with its reason: running, stopped,\n"
        "held by dhold, or held at another barrier. A barrier that can no longer be satisfied says why.\n"
        "With -list: id, location, over (threads or processes), enabled, satisfied (how often), the lists\n"
        "arrived, held and missing of sets as p2 or t2.1, stuck, and, if stuck, stuck_for (a member that\n"
        "cannot arrive), holder (the barrier that holds it) and blocked (how many cannot arrive).",
    .options = options,
    .is_of_now = true,
    .run = run,
};
