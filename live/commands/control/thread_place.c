#include "live/commands/control/thread_place.h"

#include "live/control/modules.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tg_modules *tg_thread_place(const struct tg_request *control, const struct tg_job_process *process,
                                   size_t i, uint64_t *pc)
{
    if (i >= process->n_threads)
        return NULL;
    const struct tg_job_thread *of_view = tg_job_view_thread(control->view, process, i);
    const struct tg_thread_id unit = {process->info.dpid, of_view->dtid};
    struct tg_thread *thread = tg_engine_adapter_thread(control->engine, unit);
    *pc = of_view->pc;
    if (thread == NULL || !tg_thread_is_kept(thread) || *pc == 0)
        return NULL;
    uint64_t shown = *pc;
    return tg_engine_adapter_look(control->engine, thread, &shown, pc);
}

/* The file where thread I of PROCESS is stopped, else that of its program's main; NULL not known. */
static char *file_of(const struct tg_request *control, const struct tg_job_process *process, size_t i)
{
    uint64_t pc;
    struct tg_debug_row row;
    struct tg_modules *modules = tg_thread_place(control, process, i, &pc);
    /* The C library's have names that lead nowhere here: a line number never means these. */
    if (modules != NULL && tg_modules_row_at(modules, pc, &row) &&
        (*row.file == '/' || access(row.file, R_OK) == 0))
        return strdup(row.file);
    return modules == NULL ? NULL : tg_engine_adapter_main_file(control->engine, (int32_t)process->info.tag);
}

/* Of the thread of interest, where the focus has one. */
static char *file_of_interest(const struct tg_request *control)
{
    const struct tg_ptset_arena *arena = control->focus == NULL || tg_ptset_count(control->focus) == 0
                                             ? NULL
                                             : tg_ptset_arena(control->focus, 0);
    const struct tg_job_process *process = NULL;
    size_t thread = SIZE_MAX;
    struct tg_error *error =
        arena == NULL ? NULL : tg_ptset_interest(arena, control->view, &process, &thread, NULL);
    bool is_known = error == NULL && process != NULL;
    tg_error_destroy(error);
    return is_known ? file_of(control, process, thread) : NULL;
}

char *tg_thread_place_file(const struct tg_request *control)
{
    char *file = file_of_interest(control);
    for (size_t p = 0; file == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; file == NULL && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                file = file_of(control, process, i);
    }
    return file;
}
