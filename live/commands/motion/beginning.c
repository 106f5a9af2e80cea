#include "live/commands/motion/beginning.h"

#include "analyzer/finding/words.h"
#include "format/base/array.h"
#include "live/commands/control/step.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/gate_run.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <stdlib.h>

/* To where the program's own code begins, with all of its libraries there. */
static struct tg_error *begin_program(struct tg_console *console, FILE *out)
{
    static const char *const beginning[] = {"main", "MAIN__", NULL};
    struct tg_thread_id found;
    return tg_step_to(console, beginning, &found, out);
}

/* Whether nobody has set a focus, and there are no workers. */
static bool is_open(const struct tg_console *console)
{
    return console->focus.is_open && tg_openmp_model_worker_count(console->source->moment->openmp) == 0;
}

bool tg_beginning_is_to_come(const struct tg_console *console)
{
    return is_open(console) && !console->focus.is_of_ranks;
}

struct tg_error *tg_beginning_of_job(struct tg_console *console, bool *is_launcher, FILE *out)
{
    struct tg_error *error = begin_program(console, out);
    *is_launcher = error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED && is_open(console);
    if (!*is_launcher)
        return error;
    tg_error_destroy(error);
    return NULL;
}

bool tg_beginning_is_new(struct tg_console *console, FILE *out)
{
    static const char *const nowhere[] = {NULL};
    struct tg_thread_id found;
    struct tg_error *error = tg_step_to(console, nowhere, &found, out); /* says how far the program is */
    bool is_it = error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED;
    tg_error_destroy(error);
    return is_it;
}

struct tg_error *tg_beginning_of_new(struct tg_console *console, bool *is_launcher, FILE *out)
{
    bool has_agents = false;
    *is_launcher = false;
    struct tg_error *error = tg_gate_run_has_agents(console, &has_agents);
    if (error != NULL || has_agents || !tg_beginning_is_new(console, out))
        return error;
    return tg_beginning_of_job(console, is_launcher, out);
}

/* ---- some have begun, and some have not */

/* A process in focus that is stopped, and has no agent. */
struct late {
    uint32_t dpid;
    bool is_held;
};

struct rest {
    struct late *late;
    size_t n_late, max_late;
    size_t n_agents, n_running; /* processes that have one; that have none and run */
};

static struct tg_error *find_late(const struct tg_request *request)
{
    struct rest *rest = request->context;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        if (!process->info.exists || !tg_job_set_has_any(request->set, process))
            continue;
        if (tg_worker_gates_has_agent(request->engine, (int32_t)process->info.tag)) {
            rest->n_agents++;
            continue;
        }
        const struct tg_job_thread *first =
            process->n_threads == 0 ? NULL : tg_job_view_thread(request->view, process, 0);
        if (first == NULL || !tg_job_state_is_stopped(first->state)) {
            rest->n_running++;
            continue;
        }
        const struct late late = {process->info.dpid, first->held || process->info.held};
        error = TG_ARRAY_APPEND(rest->late, rest->n_late, rest->max_late, late);
    }
    return error;
}

static struct tg_error *refuse_held(struct tg_console *console, uint32_t dpid)
{
    char *name = NULL;
    size_t size;
    tg_console_catch_up(console); /* the latest events may tell who it is */
    const struct tg_verdict_input input = tg_console_words(console);
    FILE *stream = open_memstream(&name, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    const struct tg_process_entry *entry = tg_moment_process(console->source->moment, dpid);
    if (entry != NULL)
        tg_words_process(stream, &input, entry->index);
    else
        fprintf(stream, "process %" PRIu32, dpid); /* no event has told of it yet */
    if (fclose(stream) != 0) {
        free(name);
        return tg_error_no_memory();
    }
    struct tg_error *error = tg_error_create(
        TG_ERROR_USAGE, "%s is held before its program begins, and cannot arrive; `dunhold` releases it",
        name);
    free(name);
    return error;
}

/* Process DPID alone to its beginning; *IS_THERE: it was at it or behind it, or is now. */
static struct tg_error *begin_alone(struct tg_console *console, uint32_t dpid, FILE *out)
{
    char text[32];
    struct tg_focus focus, kept;
    size_t position;
    snprintf(text, sizeof text, "p%" PRIu32, dpid);
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    kept = console->focus;
    console->focus = focus;
    if (tg_beginning_is_new(console, out))
        error = begin_program(console, out);
    tg_focus_deinit(&console->focus);
    console->focus = kept;
    return error;
}

/* Begins the late ones that are not held. */
static struct tg_error *begin_late(struct tg_console *console, const struct rest *rest, FILE *out)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < rest->n_late; i++)
        if (!rest->late[i].is_held)
            error = begin_alone(console, rest->late[i].dpid, out);
    return error;
}

/* All processes in focus have an agent, but for those that are held. */
static bool have_agents(const struct rest *rest)
{
    size_t n_held = 0;
    for (size_t i = 0; i < rest->n_late; i++)
        n_held += rest->late[i].is_held;
    return rest->n_agents > 0 && rest->n_running == 0 && n_held == rest->n_late;
}

struct tg_error *tg_beginning_of_rest(struct tg_console *console, bool of_each, bool *all_have_agents,
                                      FILE *out)
{
    struct rest rest = {0};
    struct tg_error *error = tg_focus_call_run(console, &tg_focus_call_defaults, find_late, &rest, NULL);
    for (size_t i = 0; error == NULL && of_each && i < rest.n_late; i++)
        if (rest.late[i].is_held)
            error = refuse_held(console, rest.late[i].dpid);
    if (error == NULL && rest.n_agents > 0 && rest.n_late > 0) {
        error = begin_late(console, &rest, out);
        rest.n_agents = rest.n_running = rest.n_late = 0;
        if (error == NULL)
            error = tg_focus_call_run(console, &tg_focus_call_defaults, find_late, &rest, NULL);
    }
    *all_have_agents = error == NULL && have_agents(&rest);
    free(rest.late);
    return error;
}
