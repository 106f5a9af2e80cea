/* The job as a whole: dkill, ddetach. */
#include "live/control.h"

#include "recorder/engine.h"

#include <signal.h>

/* ---- dkill */

static struct tg_error *kill_set(const struct tg_control *control)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if (process->info.exists && tg_job_set_has_any(control->set, process))
            kill((pid_t)process->info.tag, SIGKILL);
    }
    return NULL;
}

static struct tg_error *run_dkill(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_dkill)
                    : tg_control_run(console, &tg_control_defaults, kill_set, NULL, out);
}

const struct tg_console_command tg_console_dkill = {
    .name = "dkill",
    .arguments = "",
    .summary = "kills the processes in focus",
    .example = "dfocus g dkill",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dkill,
};

/* ---- ddetach */

static struct tg_error *detach_set(const struct tg_control *control)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        if (process->info.exists && tg_job_set_has_any(control->set, process))
            tg_live_engine_release(control->engine, (int32_t)process->info.tag);
    }
    return NULL;
}

static struct tg_error *run_ddetach(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_ddetach)
                    : tg_control_run(console, &tg_control_defaults, detach_set, NULL, out);
}

const struct tg_console_command tg_console_ddetach = {
    .name = "ddetach",
    .arguments = "",
    .summary = "lets the processes in focus go: they run on as if nobody had looked",
    .example = "dfocus p2 ddetach",
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_ddetach,
};
