/* The state of threads: dstatus. */
#include "live/commands/control/commands.h"
#include "live/commands/control/thread_place.h"
#include "live/console/options.h"

#include "analyzer/job/status.h"
#include "analyzer/models/process.h"
#include "live/control/modules.h"
#include "recorder/process/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names */

/* "at barrier 2", "by dhold": what holds thread I of PROCESS, which is held. */
static void name_holder(const struct tg_request *control, const struct tg_job_process *process, size_t i,
                        char *buffer, size_t size)
{
    const struct tg_run_model *runs = tg_controller_runs(control->controller);
    const struct tg_thread_id held[] = {
        {process->info.dpid, 0},
        {process->info.dpid,
         i < process->n_threads ? tg_job_view_thread(control->view, process, i)->dtid : 0}};
    size_t used = 0;
    for (size_t b = 0; b < tg_barriers_count(runs) && used < size; b++) {
        uint32_t id = tg_barriers_at(runs, b)->id;
        if (tg_barriers_membership(runs, id, held[0]).is_held ||
            tg_barriers_membership(runs, id, held[1]).is_held)
            used += (size_t)snprintf(buffer + used, size - used,
                                     used == 0 ? "at barrier %" PRIu32 : ", %" PRIu32, id);
    }
    if (used == 0)
        snprintf(buffer, size, "by dhold");
}

/* The name that thread TID of process PID has now, with its newline off, to BUFFER; "" where there is none any more. */
static void read_thread_name(uint64_t pid, uint64_t tid, char *buffer, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/task/%" PRIu64 "/comm", pid, tid);
    *buffer = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(buffer, (int)size, file) == NULL)
        *buffer = '\0';
    buffer[strcspn(buffer, "\n")] = '\0';
    fclose(file);
}

/* "job 1234" of the rank PID, "no job" of others; to BUFFER. */
static void read_job(uint64_t pid, char *buffer, size_t size)
{
    struct tg_environment environment = {0};
    struct tg_identity identity;
    *buffer = '\0';
    if (!tg_environment_read((pid_t)pid, &environment))
        return;
    tg_identity_find(&environment, &identity);
    tg_environment_deinit(&environment);
    if (identity.rank < 0)
        snprintf(buffer, size, "no job");
    else
        snprintf(buffer, size, "job %s", *identity.job == '\0' ? "?" : identity.job);
}

static void name_key(void *context, const struct tg_job_process *process, size_t i, enum tg_status_key key,
                     char *buffer, size_t size)
{
    const struct tg_request *control = context;
    struct tg_debug_row row;
    uint64_t pc, offset;
    *buffer = '\0';
    if (key == TG_STATUS_HELD) {
        name_holder(control, process, i, buffer, size);
        return;
    }
    if (key == TG_STATUS_HOSTNAME) {
        if (gethostname(buffer, size) != 0)
            *buffer = '\0';
        return;
    }
    if (key == TG_STATUS_JOB) {
        read_job(process->info.tag, buffer, size);
        return;
    }
    if (key == TG_STATUS_THREAD_NAME) {
        if (i < process->n_threads)
            read_thread_name(process->info.tag, tg_job_view_thread(control->view, process, i)->tag, buffer,
                             size);
        return;
    }
    struct tg_modules *modules = tg_thread_place(control, process, i, &pc);
    if (modules == NULL)
        return;
    const struct tg_module *module = tg_modules_find(modules, pc);
    char *name = key == TG_STATUS_FUNCTION ? tg_modules_innermost_at(modules, pc, &offset) : NULL;
    if (name != NULL)
        snprintf(buffer, size, "%s", name);
    else if (key == TG_STATUS_FUNCTION && module != NULL)
        snprintf(buffer, size, "in %s",
                 strrchr(module->path, '/') == NULL ? module->path : strrchr(module->path, '/') + 1);
    else if (key == TG_STATUS_LINE && tg_modules_row_at(modules, pc, &row))
        snprintf(buffer, size, "%s#%d",
                 strrchr(row.file, '/') == NULL ? row.file : strrchr(row.file, '/') + 1, row.line);
    else if (key == TG_STATUS_STOP_REASON)
        snprintf(buffer, size, "%s", tg_job_state_word(tg_job_view_thread(control->view, process, i)->state));
    free(name);
}

/* ---- data */

static void put_place(const struct tg_request *control, struct tg_thread_id unit, uint64_t pc,
                      struct tg_json *json)
{
    struct tg_debug_row row;
    uint64_t offset, code;
    struct tg_thread *thread = tg_engine_adapter_thread(control->engine, unit);
    if (thread == NULL || !tg_thread_is_kept(thread) || pc == 0)
        return;
    struct tg_modules *modules = tg_engine_adapter_look(control->engine, thread, &pc, &code);
    tg_json_key(json, "pc");
    tg_json_address(json, pc);
    char *name = modules != NULL ? tg_modules_innermost_at(modules, code, &offset) : NULL;
    if (name != NULL)
        tg_json_member_string(json, "function", name);
    free(name);
    if (modules != NULL && tg_modules_row_at(modules, code, &row)) {
        tg_json_member_string(json, "file", row.file);
        tg_json_member_signed(json, "line", row.line);
    }
}

static void put_thread(const struct tg_request *control, const struct tg_job_process *process,
                       const struct tg_job_thread *thread, struct tg_json *json)
{
    char name[32];
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dpid", process->info.dpid);
    tg_json_member_unsigned(json, "dtid", thread->dtid);
    tg_json_member_unsigned(json, "pid", process->info.tag);
    tg_json_member_unsigned(json, "tid", thread->tag);
    read_thread_name(process->info.tag, thread->tag, name, sizeof name);
    if (*name != '\0')
        tg_json_member_string(json, "name", name);
    if (process->info.rank >= 0)
        tg_json_member_signed(json, "rank", process->info.rank);
    tg_json_member_string(json, "state", tg_job_state_word(thread->state));
    tg_json_member_bool(json, "held", thread->held);
    tg_json_member_bool(json, "process_held", process->info.held);
    put_place(control, (struct tg_thread_id){process->info.dpid, thread->dtid}, thread->pc, json);
    tg_json_end_object(json);
}

static void put_threads(const struct tg_request *control, struct tg_json *json)
{
    tg_json_begin_array(json);
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                put_thread(control, process, tg_job_view_thread(control->view, process, i), json);
    }
    tg_json_end_array(json);
}

/* ---- dstatus */

struct status {
    struct tg_json *json; /* NULL: nobody wants data */
    enum tg_status_key keys[TG_STATUS_KEY_COUNT];
    size_t n_keys;
    const char *group_by; /* NULL: the keys above are the usual ones */
};

/* Whether anybody of the set is held. */
static bool is_anybody_held(const struct tg_request *control)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i) &&
                (process->info.held || tg_job_view_thread(control->view, process, i)->held))
                return true;
    }
    return false;
}

static struct tg_error *print_status(const struct tg_request *control)
{
    struct status *status = control->context;
    if (status->group_by == NULL && is_anybody_held(control)) {
        status->keys[status->n_keys - 1] = TG_STATUS_HELD;
        status->keys[status->n_keys++] = TG_STATUS_FUNCTION;
    }
    const struct tg_status_input input = {
        .view = control->view, .set = control->set, .name = name_key, .context = (void *)(uintptr_t)control};
    if (status->json != NULL)
        put_threads(control, status->json);
    return tg_status_print(&input, status->keys, status->n_keys, control->out);
}

/* Only events say what job a rank is of: in a job with ranks all up to now have to be known. */
static bool has_several_jobs(struct tg_console *console)
{
    int n_jobs = tg_process_model_jobs(console->source->moment->processes);
    if (n_jobs != 1)
        return n_jobs > 1;
    tg_console_catch_up(console);
    return tg_process_model_jobs(console->source->moment->processes) > 1;
}

static struct tg_error *run_dstatus(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct status status = {.keys = {TG_STATUS_CONTROL_GROUP, TG_STATUS_SHARE_GROUP, TG_STATUS_PROCESS_STATE,
                                     TG_STATUS_THREAD_STATE, TG_STATUS_FUNCTION},
                            .n_keys = 5};
    struct tg_error *error = tg_console_take_options(&tg_console_dstatus, argc, argv, &status, NULL);
    if (error == NULL && status.group_by != NULL)
        error = tg_status_parse_keys(status.group_by, status.keys, &status.n_keys);
    if (error != NULL)
        return error;
    if (status.group_by == NULL && has_several_jobs(console)) {
        memmove(status.keys + 1, status.keys, status.n_keys++ * sizeof *status.keys);
        status.keys[0] = TG_STATUS_JOB;
    }
    status.json = tg_console_data_begin(&console->data);
    return tg_focus_call_run(console, &tg_focus_call_whole_job, print_status, &status, out);
}

static const struct tg_console_option options[] = {
    {"-group_by", TG_OPTION_WORD, TG_OPTION_IN(struct status, group_by), .takes = "KEY,KEY..."}, {0}};

const struct tg_console_command tg_console_dstatus = {
    .name = "dstatus",
    .arguments = "?-group_by KEY,KEY...?",
    .summary = "states and locations of the threads in focus, grouped",
    .example = "dfocus g dstatus -group_by thread_state,function",
    .more =
        "The default grouping names the threads that are held, and at which barrier; where there are "
        "several\n"
        "MPI jobs, as after MPI_Comm_spawn, it begins with the job.\n"
        "Keys: control_group, share_group, process_state, thread_state, hostname, function, line, pc, dpid,\n"
        "dtid, held, stop_reason, thread_name, job. 2:8[0-1.1-4] means 2 processes and 8 threads: threads 1 "
        "to 4 of ranks 0\n"
        "and 1; p3 is the process with number 3.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .instead = "info workers",
    .run = run_dstatus,
};
