/* `info barrier`: the barriers that teams are at, and where each worker stands to them. */
#include "analyzer/openmp_barrier.h"
#include "analyzer/post_mortem_words.h"
#include "analyzer/quantity.h"
#include "live/console_command.h"

#include <inttypes.h>
#include <string.h>

struct writing {
    struct tg_console *console;
    struct tg_post_mortem_input input;
    FILE *out; /* NULL: as a list */
    size_t shown;
};

static const struct tg_openmp_worker *worker_of(const struct writing *w,
                                                const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(w->input.openmp, member->worker);
}

/* "1, 3": the numbers of those who stand so. */
static void write_standing(const struct writing *w, const struct tg_openmp_team *team,
                           const struct tg_openmp_barrier *barrier, enum tg_openmp_standing standing)
{
    size_t n = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        if (tg_openmp_member_standing(&team->members[i], barrier) != standing)
            continue;
        fprintf(w->out, "%s%" PRIu64, n == 0 ? "" : ", ", worker_of(w, &team->members[i])->number);
        n++;
    }
    fputs(n == 0 ? "none\n" : "\n", w->out);
}

static void write_missing(const struct writing *w, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier)
{
    if (barrier->missing == 0)
        fputs("  missing  none\n", w->out);
    for (size_t i = 0; i < team->n_members; i++) {
        if (tg_openmp_member_standing(&team->members[i], barrier) != TG_OPENMP_MISSING)
            continue;
        const struct tg_openmp_worker *worker = worker_of(w, &team->members[i]);
        fprintf(w->out, "  missing  worker %" PRIu64 ": ", worker->number);
        tg_words_worker_state(w->out, &w->input, worker);
        fputc('\n', w->out);
    }
    if (team->size > team->n_members)
        fprintf(w->out, "  missing  %" PRIu64 " that %s not begun the region\n", team->size - team->n_members,
                team->size - team->n_members == 1 ? "has" : "have");
}

static const char *kind_of(const struct tg_openmp_barrier *barrier)
{
    return barrier->sync == TG_OMP_SYNC_BARRIER ? "explicit" : "implicit";
}

static void write_barrier(const struct writing *w, const struct tg_openmp_team *team,
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
        fputs("\n  the end of the region: implicit, ", w->out);
    else
        fprintf(w->out, "\n  barrier %" PRIu64 ": %s, ", barrier->instance, kind_of(barrier));
    fputs(barrier->is_open ? "open" : "closed", w->out);
    tg_words_code(w->out, &w->input, team->process, barrier->code);
    if (barrier->since_ns != 0)
        fprintf(w->out, ", the first came at %s s",
                tg_quantity_moment(barrier->since_ns, w->input.start_ns, 6, since));
    fputs("\n  passed   ", w->out);
    write_standing(w, team, barrier, TG_OPENMP_PASSED);
    fputs("  waiting  ", w->out);
    write_standing(w, team, barrier, TG_OPENMP_WAITING);
    write_missing(w, team, barrier);
}

/* ---- the same as data */

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

static Tcl_Obj *standing_list(const struct writing *w, const struct tg_openmp_team *team,
                              const struct tg_openmp_barrier *barrier, enum tg_openmp_standing standing)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (size_t i = 0; i < team->n_members; i++)
        if (tg_openmp_member_standing(&team->members[i], barrier) == standing)
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
    if (!tg_focus_has(&w->console->focus, team->process) || !tg_openmp_team_barrier(team, &barrier))
        return NULL;
    w->shown++;
    if (w->out == NULL)
        add_barrier(w, team, &barrier);
    else
        write_barrier(w, team, &barrier);
    return NULL;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    bool as_list = argc == 1 && strcmp(Tcl_GetString(argv[0]), "-list") == 0;
    if (argc > 1 || (argc == 1 && !as_list))
        return tg_console_usage(&tg_console_info_barrier);
    struct writing w = {.console = console, .input = tg_console_words(console), .out = as_list ? NULL : out};
    if (as_list)
        console->result = Tcl_NewListObj(0, NULL);
    struct tg_error *error = tg_openmp_model_visit_teams(w.input.openmp, visit_team, &w);
    if (error == NULL && w.shown == 0 && !as_list)
        fputs("no team is at a barrier\n", out);
    return error;
}

static const char *const words[] = {"-list", NULL};

const struct tg_console_command tg_console_info_barrier = {
    .name = "info barrier",
    .arguments = "?-list?",
    .summary = "the barriers that teams are at: who has passed, who waits, who is missing",
    .example = "info barrier",
    .more =
        "A barrier is open once somebody has gone on from it. A team that is at several is told by the one\n"
        "that holds it up. -list gives a list of dictionaries instead.",
    .words = words,
    .run = run,
};
