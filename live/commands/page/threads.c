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

static void put_process(const struct tg_job_view *view, const struct tg_job_process *process,
                        struct tg_json *json)
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
    tg_json_end_object(json);
}

static void put_threads(const struct tg_job_view *view, const struct tg_job_process *process,
                        struct tg_json *json)
{
    for (size_t i = 0; i < process->n_threads && i < MOST_THREADS; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dtid", thread->dtid);
        tg_json_member_string(json, "state", name_of(thread->state));
        tg_json_member_bool(json, "held", thread->held || process->info.held);
        tg_json_end_object(json);
    }
}

struct tg_error *tg_page_threads_write(struct tg_console *console, const char *query, FILE *out)
{
    struct tg_job_view *view = NULL;
    struct tg_json json;
    size_t n_shown = 0, n_left_out = 0;
    uint64_t opened = tg_query_number(query, "process", 0);
    struct tg_error *error = tg_source_view(console->source, &view);
    if (error != NULL)
        return error;
    tg_json_init(&json, out, false);
    tg_json_begin_object(&json);
    tg_json_key(&json, "processes");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        if (!process->info.exists && console->options.live != NULL)
            continue;
        if (n_shown++ < MOST_PROCESSES || process->info.dpid == opened)
            put_process(view, process, &json);
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
        put_threads(view, process, &json);
    tg_json_end_array(&json);
    tg_json_end_object(&json);
    tg_job_view_destroy(view);
    return NULL;
}
