#include "live/commands/page/threads.h"

#include "analyzer/page/query.h"

enum { MOST_PROCESSES = 256, MOST_THREADS = 512 };

static const char *name_of(enum tg_job_state state)
{
    switch (state) {
    case TG_JOB_NONEXISTENT:
        return "ended";
    case TG_JOB_RUNNING:
    case TG_JOB_KERNEL:
        return "running";
    case TG_JOB_STOPPED:
        return "stopped";
    case TG_JOB_BREAKPOINT:
        return "at a breakpoint";
    case TG_JOB_WATCHPOINT:
        return "at a watchpoint";
    case TG_JOB_ERROR:
        return "stopped by a signal";
    }
    return "";
}

/* The process that the focus has chosen, and maybe a thread of it. */
struct interest {
    const struct tg_job_process *process; /* NULL: none, or several */
    size_t thread;                        /* SIZE_MAX: none */
};

static struct tg_error *find_interest(const struct tg_console *console, const struct tg_job_view *view,
                                      struct interest *interest)
{
    const struct tg_ptset *set = console->focus.set;
    const struct tg_ptset_arena *arena =
        set != NULL && tg_ptset_count(set) == 1 ? tg_ptset_arena(set, 0) : NULL;
    *interest = (struct interest){.thread = SIZE_MAX};
    if (arena == NULL || console->focus.process == SIZE_MAX)
        return NULL;
    struct tg_error *error = tg_ptset_interest(arena, view, &interest->process, &interest->thread, NULL);
    if (!console->focus.has_thread)
        interest->thread = SIZE_MAX;
    if (error == NULL || tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    tg_error_destroy(error); /* the process or thread has ended */
    *interest = (struct interest){.thread = SIZE_MAX};
    return NULL;
}

static void put_process(const struct tg_job_view *view, const struct tg_job_process *process,
                        const struct interest *interest, struct tg_json *json)
{
    size_t n_stopped = 0, n_running = 0, n_held = 0;
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
        bool is_stopped = tg_job_state_is_stopped(thread->state);
        n_stopped += is_stopped;
        n_running += !is_stopped && thread->state != TG_JOB_NONEXISTENT;
        n_held += thread->held || process->info.held;
    }
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dpid", process->info.dpid);
    tg_json_member_signed(json, "rank", process->info.rank);
    tg_json_member_unsigned(json, "running", n_running);
    tg_json_member_unsigned(json, "stopped", n_stopped);
    tg_json_member_unsigned(json, "held", n_held);
    tg_json_member_bool(json, "focused", process == interest->process);
    tg_json_end_object(json);
}

/* What THREAD is to OpenMP: which worker, and which of its team. */
static void put_worker(const struct tg_openmp_model *model, const struct tg_job_thread *thread,
                       struct tg_json *json)
{
    if (thread->tag >= tg_openmp_model_worker_count(model))
        return;
    const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, (size_t)thread->tag);
    tg_json_member_unsigned(json, "worker", worker->number);
    if (worker->n_places > 0)
        tg_json_member_unsigned(json, "thread_num", worker->places[worker->n_places - 1].thread_num);
}

static void put_threads(const struct tg_console *console, const struct tg_job_view *view,
                        const struct tg_job_process *process, const struct interest *interest,
                        struct tg_json *json)
{
    for (size_t i = 0; i < process->n_threads && i < MOST_THREADS; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dtid", thread->dtid);
        tg_json_member_string(json, "state", name_of(thread->state));
        tg_json_member_bool(json, "held", thread->held || process->info.held);
        tg_json_member_bool(json, "helper", thread->is_manager);
        tg_json_member_bool(json, "focused", process == interest->process && i == interest->thread);
        put_worker(console->source->moment->openmp, thread, json);
        tg_json_end_object(json);
    }
}

struct tg_error *tg_page_threads_write(struct tg_console *console, const char *query, FILE *out)
{
    struct tg_job_view *view = NULL;
    struct tg_json json;
    size_t n_shown = 0, n_left_out = 0;
    uint64_t opened = tg_query_number(query, "process", 0);
    struct interest interest;
    struct tg_error *error = tg_source_view(console->source, &view);
    if (error == NULL)
        error = find_interest(console, view, &interest);
    if (error != NULL) {
        tg_job_view_destroy(view);
        return error;
    }
    tg_json_init(&json, out, false);
    tg_json_begin_object(&json);
    tg_json_key(&json, "processes");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        if (!process->info.exists && console->options.live != NULL)
            continue;
        if (n_shown++ < MOST_PROCESSES || process->info.dpid == opened)
            put_process(view, process, &interest, &json);
        else
            n_left_out++;
    }
    tg_json_end_array(&json);
    tg_json_member_unsigned(&json, "left_out", n_left_out);
    tg_json_key(&json, "threads");
    tg_json_begin_array(&json);
    const struct tg_job_process *process =
        opened == 0 || opened > UINT32_MAX ? NULL : tg_job_view_process(view, (uint32_t)opened);
    if (process != NULL)
        put_threads(console, view, process, &interest, &json);
    tg_json_end_array(&json);
    tg_json_end_object(&json);
    tg_job_view_destroy(view);
    return NULL;
}
