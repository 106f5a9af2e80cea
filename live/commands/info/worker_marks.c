#include "live/commands/info/worker_marks.h"

#include <stdlib.h>

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(bool));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

const struct tg_console_state_kind tg_one_runs_kind = {.create = create, .destroy = free};

struct tg_error *tg_worker_marks_take(const struct tg_console *console, struct tg_worker_marks *marks)
{
    const bool *one_runs = tg_console_state(console, &tg_one_runs_kind);
    *marks =
        (struct tg_worker_marks){.one_runs = one_runs != NULL && *one_runs,
                                 .n_held = tg_openmp_model_worker_count(console->source->moment->openmp)};
    marks->held = calloc(marks->n_held + 1, sizeof *marks->held);
    if (marks->held == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_source_view(console->source, &marks->view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(marks->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(marks->view, p);
        for (size_t i = 0; i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(marks->view, process, i);
            if (thread->tag < marks->n_held)
                marks->held[thread->tag] = thread->held || process->info.held;
        }
    }
    return error;
}

void tg_worker_marks_deinit(struct tg_worker_marks *marks)
{
    tg_job_view_destroy(marks->view);
    free(marks->held);
    *marks = (struct tg_worker_marks){0};
}

bool tg_worker_marks_is_held(const struct tg_worker_marks *marks, const struct tg_openmp_worker *worker)
{
    return worker->alive && worker->index < marks->n_held && marks->held[worker->index];
}

bool tg_worker_marks_is_alone(const struct tg_worker_marks *marks, const struct tg_console *console,
                              const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    size_t n_others = 0, n_held = 0;
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(model, i);
        if (other == worker || !other->alive || other->process != worker->process)
            continue;
        n_others++;
        n_held += tg_worker_marks_is_held(marks, other);
    }
    return n_others > 0 && worker->alive && (marks->one_runs || n_held == n_others);
}
