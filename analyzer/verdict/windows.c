#include "analyzer/verdict/windows.h"

#include "analyzer/verdict/words.h"

#include <stdlib.h>
#include <string.h>

/* The rank that THREAD's call on a window needs, which may have to be in MPI for that; SIZE_MAX: it is no such call,
 * or the rank is not in the trace. */
static size_t target_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    static const char *const waiting[] = {"MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush"};
    const struct tg_mpi_process *caller = tg_mpi_model_process(draft->input->mpi, thread->process);
    bool is_it = false;
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        is_it |= strcmp(thread->call.name, waiting[i]) == 0;
    if (!is_it || !thread->in_call || caller == NULL || thread->call.peer < 0)
        return SIZE_MAX;
    size_t target =
        tg_mpi_model_process_of(draft->input->mpi, caller->job, thread->call.comm, thread->call.peer);
    return target == thread->process || target >= draft->n_processes ? SIZE_MAX : target;
}

/* Whether PROCESS serves others: a thread of it is in a call of MPI that is not its last one. */
static bool serves(const struct tg_verdict_draft *draft, size_t process)
{
    bool is_in_mpi = false;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        is_in_mpi |= thread->process == process && thread->in_call;
    }
    return is_in_mpi && !tg_verdict_is_gone(draft, process);
}

struct tg_error *tg_verdict_collect_windows(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        size_t target = target_of(draft, thread);
        if (target == SIZE_MAX || serves(draft, target))
            continue; /* a wait for whoever keeps the lock: not known who that is */
        const struct tg_verdict_wait wait = {.from = thread->process, .to = target, .thread = thread};
        error = tg_verdict_add_wait(draft, &wait);
    }
    return error;
}

static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                             size_t target, uint64_t lasted_ns)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_WINDOW,
                                       .since_ns = thread->call.since_ns,
                                       .process = thread->process,
                                       .code = thread->call.code,
                                       .waiting = 1,
                                       .is_consequence = tg_verdict_is_explained(draft, target)};
    tg_words_process(stream, draft->input, thread->process);
    fputs(" has been waiting for the memory of another rank: ", stream);
    tg_words_call(stream, &thread->call);
    tg_words_since(stream, draft->input, thread->call.since_ns);
    tg_words_code(stream, draft->input, thread->process, thread->call.code);
    fputc(',', stream);
    tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI, lasted_ns);
    fputs(". It needs ", stream);
    tg_words_process(stream, draft->input, target);
    size_t told = tg_verdict_told_in(draft, target);
    if (told != SIZE_MAX) {
        tg_verdict_refer(draft, " (see ", told, ").");
    } else {
        fputs(": ", stream);
        tg_words_process_state(stream, draft->input, target);
        fputc('.', stream);
    }
    tg_verdict_blame_last_call(draft, target);
    return tg_verdict_add(draft, &finding);
}

struct tg_error *tg_verdict_find_windows(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        size_t target = target_of(draft, thread);
        if (target == SIZE_MAX || serves(draft, target) || draft->ring_of[thread->process] != SIZE_MAX)
            continue;
        uint64_t since_ns = thread->call.since_ns, step_ns = tg_verdict_last_step(draft, target);
        if (!tg_verdict_is_gone(draft, target) && step_ns > since_ns)
            since_ns = step_ns;
        uint64_t lasted_ns = tg_verdict_lasted(draft, thread->process, target, since_ns);
        if (tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns))
            error = tell(draft, thread, target, lasted_ns);
    }
    return error;
}
