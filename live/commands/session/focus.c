/* The processes and threads that commands are about: focus, dfocus. */
#include "live/commands/session/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_focus(struct tg_console *console, FILE *out)
{
    char buffer[TG_FOCUS_TEXT];
    fprintf(out, "%s\n", tg_console_focus_text(console, buffer));
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_json_string(json, buffer);
}

static struct tg_error *take_number(Tcl_Obj *word, Tcl_WideInt *number)
{
    if (Tcl_GetWideIntFromObj(NULL, word, number) == TCL_OK && *number >= 0)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE, "invalid number '%s'", Tcl_GetString(word));
}

/* Reads TEXT as the new focus. An error points at the character. */
static struct tg_error *read_set(struct tg_console *console, const char *text, struct tg_focus *focus)
{
    size_t position;
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, focus, &position);
    return error == NULL ? NULL : tg_console_pointed(console, error, text, position);
}

/* The number of the thread that is worker WORKER of PROCESS: a live job has other threads too, whose numbers are between. */
static struct tg_error *find_worker(const struct tg_source *source, const struct tg_job_view *view,
                                    const struct tg_job_process *process, Tcl_WideInt worker, uint32_t *dtid)
{
    const struct tg_openmp_model *model = source->moment->openmp;
    bool has_workers = false;
    *dtid = 0;
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
        const struct tg_openmp_worker *known = thread->tag < tg_openmp_model_worker_count(model)
                                                   ? tg_openmp_model_worker_at(model, (size_t)thread->tag)
                                                   : NULL;
        has_workers |= known != NULL;
        if (known != NULL && known->number == (uint64_t)worker)
            *dtid = thread->dtid;
    }
    if (*dtid != 0)
        return NULL;
    if (has_workers || worker != 1)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "process %" PRIu32 " has no worker %" PRId64 "; `info workers` lists workers",
                               process->info.dpid, (int64_t)worker);
    *dtid = 1; /* the main thread is the only worker so far */
    return NULL;
}

/* The process of VIEW that is rank NUMBER or, where IS_RANK is false, has that index; NULL: none. */
static const struct tg_job_process *find_process(const struct tg_job_view *view, bool is_rank,
                                                 Tcl_WideInt number)
{
    if (is_rank)
        return tg_job_view_rank(view, number);
    for (size_t i = 0; i < tg_job_view_count(view); i++)
        if (tg_job_view_at(view, i)->info.tag == (uint64_t)number)
            return tg_job_view_at(view, i);
    return NULL;
}

/* Prints that process as a set, or where WORKER is not NULL that worker of it. */
static struct tg_error *print_process(const struct tg_source *source, const struct tg_job_view *view,
                                      bool is_rank, Tcl_WideInt number, const Tcl_WideInt *worker, char *text,
                                      size_t size)
{
    const struct tg_job_process *process = find_process(view, is_rank, number);
    uint32_t dtid = 0;
    if (process == NULL && is_rank)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no rank %" PRId64 " at this moment", (int64_t)number);
    if (process == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "the process has no threads at this moment");
    struct tg_error *error = worker == NULL ? NULL : find_worker(source, view, process, *worker, &dtid);
    if (error == NULL && worker == NULL)
        snprintf(text, size, "dD%" PRIu32, process->info.dpid);
    else if (error == NULL)
        snprintf(text, size, "dD%" PRIu32 ".%" PRIu32, process->info.dpid, dtid);
    return error;
}

static struct tg_error *run_focus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_focus focus;
    Tcl_WideInt number = 0, worker = 0;
    size_t process = 0, position;
    char text[64] = "all";
    struct tg_job_view *view = NULL;
    const char *what = argc > 0 ? Tcl_GetString(argv[0]) : "";
    if (argc == 0) {
        print_focus(console, out);
        return NULL;
    }
    bool all = argc == 1 && strcmp(what, "all") == 0;
    bool rank = strcmp(what, "rank") == 0, pid = strcmp(what, "pid") == 0;
    bool has_worker = argc == 4 && strcmp(Tcl_GetString(argv[2]), "worker") == 0;
    if (!all && ((!rank && !pid) || (argc != 2 && !has_worker)))
        return tg_console_usage(&tg_console_focus);
    struct tg_error *error = all ? NULL : take_number(argv[1], &number);
    if (error == NULL && has_worker)
        error = take_number(argv[3], &worker);
    if (error == NULL && pid)
        error = tg_focus_find_pid(console->source, number, &process);
    if (error == NULL && rank && !has_worker)
        snprintf(text, sizeof text, "dDr%" PRId64, (int64_t)number);
    else if (error == NULL && !all)
        error = tg_source_view(console->source, &view);
    if (view != NULL)
        error = print_process(console->source, view, rank, rank ? number : (Tcl_WideInt)process,
                              has_worker ? &worker : NULL, text, sizeof text);
    tg_job_view_destroy(view);
    if (error == NULL)
        error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    tg_console_set_focus(console, &focus);
    print_focus(console, out);
    return NULL;
}

static const char *const focus_words[] = {"rank", "pid", "worker", "all", NULL};

const struct tg_console_command tg_console_focus = {
    .name = "focus",
    .arguments = "?all | rank N ?worker M? | pid N ?worker M??",
    .summary = "shows or sets the processes that commands apply to, and the current worker",
    .example = "focus rank 1 worker 2",
    .words = focus_words,
    .run = run_focus,
};

/* The code of Tcl's present error. */
static enum tg_error_code code_of_error(const struct tg_console *console)
{
    static const enum tg_error_code codes[] = {
#define X(name, status) TG_ERROR_##name,
        TG_ERROR_CODES(X)
#undef X
    };
    Tcl_Obj *list = Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY), *name = NULL;
    if (list == NULL || Tcl_ListObjIndex(NULL, list, 1, &name) != TCL_OK || name == NULL)
        return TG_ERROR_USAGE;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(tg_error_code_name(codes[i]), Tcl_GetString(name)) == 0)
            return codes[i];
    return TG_ERROR_USAGE;
}

/* dfocus SET COMMAND: the command sees the set, afterwards the focus is what it was. */
static struct tg_error *run_focused(struct tg_console *console, int argc, Tcl_Obj *const *argv)
{
    /* Words are handed on as they are, unless the first one is more than a name itself. */
    bool is_words = argc > 1 && strpbrk(Tcl_GetString(argv[0]), " \t\n;[{") == NULL;
    Tcl_Obj *script = argc == 1 ? argv[0] : is_words ? Tcl_NewListObj(argc, argv) : Tcl_ConcatObj(argc, argv);
    Tcl_IncrRefCount(script);
    const char *words = tg_console_line_words(console, Tcl_GetString(script));
    int code = words != NULL ? Tcl_Eval(console->interp, words) : Tcl_EvalObjEx(console->interp, script, 0);
    Tcl_DecrRefCount(script);
    if (code == TCL_ERROR) {
        Tcl_Obj *message = Tcl_GetObjResult(console->interp); /* reading variables may take it away */
        Tcl_IncrRefCount(message);
        struct tg_error *error = tg_error_create(code_of_error(console), "%s", Tcl_GetString(message));
        Tcl_DecrRefCount(message);
        return error;
    }
    console->result = Tcl_GetObjResult(console->interp); /* the interpreter holds it until it has another */
    return NULL;
}

static struct tg_error *run_dfocus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_focus focus;
    if (argc == 0) {
        print_focus(console, out);
        return NULL;
    }
    struct tg_error *error = read_set(console, Tcl_GetString(argv[0]), &focus);
    if (error != NULL)
        return error;
    if (argc == 1) {
        tg_console_set_focus(console, &focus);
        print_focus(console, out);
        return NULL;
    }
    struct tg_focus former = console->focus;
    uint64_t changes = console->focus_changes;
    console->focus = focus;
    console->focus_changes++;
    error = run_focused(console, argc - 1, argv + 1);
    tg_console_set_focus(console, &former);
    console->focus_changes = changes;
    return error;
}

static const char *const dfocus_words[] = {"all", "ranks", NULL};

const struct tg_console_command tg_console_dfocus = {
    .name = "dfocus",
    .arguments = "?SET ?COMMAND??",
    .summary = "shows or sets the focus, a set of processes and threads; with COMMAND for that command only",
    .example = "dfocus {r1.3} {info workers}",
    .more =
        "SET consists of arenas: width, group, process, a dot, thread; parts may be left out. r1 is rank 1,\n"
        "2 the process with DPID 2 (see info processes), r1.3 thread 3 of rank 1, .3 thread 3 of the\n"
        "process in focus, < the lowest thread. t1.3 is only that thread, g2 the control group of process\n"
        "2, gS2 its share group (the same program), pW2 its workers, pL2.1 those at the same place as its\n"
        "thread 1, a all; `ranks` alone means all ranks, as before a focus is set. {r0 r1.2} is both; | - &\n"
        "and ( ) join, exclude and intersect: gS2-r0. Threads have the numbers of dstatus, in a trace\n"
        "without live control those of OpenMP workers; `focus rank 1 worker 3` is worker 3 in both.\n"
        "existent(), stopped() and others select by state; in a trace every living thread is stopped.\n"
        "With a rank or process alone the current worker follows the events.",
    .words = dfocus_words,
    .passes_on = true,
    .run = run_dfocus,
};
