#include "live/commands/motion/gate_run.h"

#include "analyzer/finding/words.h"
#include "format/base/array.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/place.h"
#include "live/control/traced_job.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double stop_s = 30; /* for all to stop */

void tg_gate_run_deinit(struct tg_gate_run *run)
{
    free(run->gates);
    free(run->workers);
    free(run->numbers);
    free(run->have_come);
    *run = (struct tg_gate_run){0};
}

struct tg_error *tg_gate_run_add_gate(struct tg_gate_run *run, const struct tg_worker_gate *gate)
{
    return TG_ARRAY_APPEND(run->gates, run->n_gates, run->max_gates, *gate);
}

size_t tg_gate_run_find_worker(const struct tg_gate_run *run, uint64_t pid, uint64_t tid)
{
    for (size_t i = 0; i < run->n_workers; i++)
        if ((uint64_t)run->workers[i].pid == pid && (uint64_t)run->workers[i].tid == tid)
            return i;
    return SIZE_MAX;
}

struct tg_error *tg_gate_run_add_worker(struct tg_gate_run *run, const struct tg_gate_worker *worker)
{
    size_t known = tg_gate_run_find_worker(run, (uint64_t)worker->pid, (uint64_t)worker->tid);
    if (known == SIZE_MAX)
        return TG_ARRAY_APPEND(run->workers, run->n_workers, run->max_workers, *worker);
    run->workers[known].is_out &= worker->is_out;
    return NULL;
}

bool tg_gate_run_has(const struct tg_gate_run *run, uint32_t number)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if (number != 0 && run->numbers[i] == number)
            return true;
    return false;
}

size_t tg_gate_run_count_come(const struct tg_gate_run *run)
{
    size_t n_come = 0;
    for (size_t i = 0; run->have_come != NULL && i < run->n_gates; i++)
        n_come += run->have_come[i];
    return n_come;
}

int32_t tg_gate_run_pid(const struct tg_console *console, size_t process)
{
    const struct tg_process_entry *entry = tg_process_model_at(console->source->moment->processes, process);
    return entry == NULL ? 0 : entry->pid;
}

struct tg_error *tg_gate_run_look_at(struct tg_console *console, struct tg_thread_id thread)
{
    char text[48];
    struct tg_focus focus;
    size_t position;
    /* further commands stay with all ranks, if they have been about them */
    const struct tg_ptset_arena *arena =
        console->focus.set == NULL ? NULL : tg_ptset_arena(console->focus.set, 0);
    bool is_group = console->focus.is_of_ranks || (arena != NULL && arena->width == TG_WIDTH_GROUP);
    snprintf(text, sizeof text, "%c%" PRIu32 ".%" PRIu32, is_group ? 'g' : 'd', thread.dpid, thread.dtid);
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    tg_console_set_focus(console, &focus);
    return NULL;
}

/* ---- stopping everybody */

struct standing {
    bool done; /* first: see tg_focus_call_await */
};

static struct tg_error *look_standing(const struct tg_request *request)
{
    struct standing *standing = request->context;
    standing->done = true;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(request->set, process, i) &&
                !tg_job_state_is_stopped(tg_job_view_thread(request->view, process, i)->state))
                standing->done = false;
    }
    return NULL;
}

/* Of ranks that are in focus because nobody set one, the focus has the first alone; now it has their group. */
static struct tg_error *name_ranks(struct tg_console *console)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    for (size_t i = 0; console->focus.is_of_ranks && i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end == TG_PROCESS_RUNNING && entry->rank >= 0 && tg_focus_has(&console->focus, i))
            return tg_gate_run_look_at(console, (struct tg_thread_id){(uint32_t)i + 1, 1});
    }
    return NULL;
}

struct tg_error *tg_gate_run_settle(struct tg_console *console, FILE *out)
{
    if (console->focus.is_of_ranks)
        tg_console_catch_up(console); /* the latest events may tell which processes are ranks */
    struct tg_error *error = tg_focus_refresh(&console->focus, console->source);
    if (error == NULL)
        error = name_ranks(console);
    return error != NULL ? error : tg_gate_run_halt(console, out);
}

struct tg_error *tg_gate_run_halt(struct tg_console *console, FILE *out)
{
    struct standing standing = {0};
    struct tg_error *error = tg_focus_call_halt(console);
    if (error == NULL)
        error =
            tg_focus_call_await(console, &tg_focus_call_defaults, look_standing, &standing.done, stop_s, out);
    if (error == NULL)
        tg_console_catch_up(console);
    return error != NULL ? error : tg_focus_refresh(&console->focus, console->source);
}

void tg_gate_run_tell_worker(const struct tg_console *console, const struct tg_openmp_worker *worker,
                             FILE *out)
{
    const struct tg_verdict_input input = tg_console_words(console);
    fprintf(out, "worker %" PRIu64 ": ", worker->number);
    tg_words_worker_state(out, &input, worker);
    fputc('\n', out);
}

/* ---- agents */

struct asking {
    size_t n_processes, n_agents;
};

static struct tg_error *count_agents(const struct tg_request *request)
{
    struct asking *asking = request->context;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        if (!process->info.exists || !tg_job_set_has_any(request->set, process))
            continue;
        asking->n_processes++;
        asking->n_agents += tg_worker_gates_has_agent(request->engine, (int32_t)process->info.tag);
    }
    return NULL;
}

struct tg_error *tg_gate_run_has_agents(struct tg_console *console, bool *has_agents)
{
    struct asking asking = {0};
    struct tg_error *error = tg_focus_call_run(console, &tg_focus_call_defaults, count_agents, &asking, NULL);
    *has_agents = asking.n_processes > 0 && asking.n_agents == asking.n_processes;
    return error;
}
