#include "analyzer/verdict/windows.h"

#include "analyzer/verdict/words.h"

#include <stdlib.h>
#include <string.h>

/* Whether THREAD's call waits until it may use the memory of its peer, or has. */
static bool needs_memory(const struct tg_mpi_thread *thread)
{
    static const char *const waiting[] = {"MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush"};
    bool is_it = false;
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        is_it |= strcmp(thread->call.name, waiting[i]) == 0;
    return is_it && thread->call.peer >= 0;
}

/* The rank that THREAD's call on a window needs, which may have to be in MPI for that; SIZE_MAX: it is no such call,
 * or the rank is not in the trace. */
static size_t target_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_process *caller = tg_mpi_model_process(draft->input->mpi, thread->process);
    if (!needs_memory(thread) || !thread->in_call || caller == NULL)
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

/* ---- who keeps others from the memory of a rank */

/* Whether EPOCH, another process's, may be what THREAD waits for. */
static bool is_in_the_way(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                          const struct tg_mpi_epoch *epoch)
{
    const struct tg_mpi_process *caller = tg_mpi_model_process(draft->input->mpi, thread->process);
    bool waits_for_access = strcmp(thread->call.name, "MPI_Win_wait") == 0;
    if (caller == NULL || epoch->process == thread->process || epoch->window != thread->call.comm ||
        strcmp(epoch->job, caller->job) != 0 || epoch->process >= draft->n_processes ||
        (waits_for_access ? epoch->target != TG_MPI_EPOCH_ACCESS : epoch->target != thread->call.peer))
        return false;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *other = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (other->process == epoch->process && other->in_call && other->call.comm == epoch->window &&
            other->call.instance == 0 && strncmp(other->call.name, "MPI_Win_", strlen("MPI_Win_")) == 0)
            return false; /* it is at work there: it may be waiting for the same */
    }
    return true;
}

/* Whether THREAD has what it asked for, and waits for something else than another one's lock. */
static bool has_own(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    for (size_t i = 0; i < tg_mpi_model_epoch_count(draft->input->mpi); i++) {
        const struct tg_mpi_epoch *epoch = tg_mpi_model_epoch_at(draft->input->mpi, i);
        if (epoch->process == thread->process && epoch->window == thread->call.comm &&
            epoch->target == thread->call.peer && epoch->is_granted)
            return true;
    }
    return false;
}

/* Whether all ranks but those two wait in MPI: nobody else may be the one that MPI_Win_wait is waiting for. */
static bool others_wait(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                        size_t other)
{
    const struct tg_mpi_process *caller = tg_mpi_model_process(draft->input->mpi, thread->process);
    int64_t size = tg_mpi_model_comm_size(draft->input->mpi, caller->job, thread->call.comm);
    for (int64_t rank = 0; rank < size; rank++) {
        size_t process = tg_mpi_model_process_of(draft->input->mpi, caller->job, thread->call.comm, rank);
        if (process != thread->process && process != other &&
            (process >= draft->n_processes || !serves(draft, process)))
            return false;
    }
    return size > 0;
}

/* The one epoch that THREAD's call waits to be ended; NULL: none, or it is not known which of several. */
static const struct tg_mpi_epoch *keeper_of(const struct tg_verdict_draft *draft,
                                            const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_epoch *found = NULL, *granted = NULL;
    size_t n = 0, n_granted = 0;
    bool waits_for_access = strcmp(thread->call.name, "MPI_Win_wait") == 0;
    if (!thread->in_call || (!waits_for_access && (!needs_memory(thread) || has_own(draft, thread))))
        return NULL;
    for (size_t i = 0; i < tg_mpi_model_epoch_count(draft->input->mpi); i++) {
        const struct tg_mpi_epoch *epoch = tg_mpi_model_epoch_at(draft->input->mpi, i);
        if (!is_in_the_way(draft, thread, epoch))
            continue;
        n++;
        found = epoch;
        n_granted += epoch->is_granted;
        granted = epoch->is_granted ? epoch : granted;
    }
    if (n_granted == 1)
        found = granted;
    else if (n != 1)
        return NULL;
    return waits_for_access && !others_wait(draft, thread, found->process) ? NULL : found;
}

struct tg_error *tg_verdict_collect_windows(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        const struct tg_mpi_epoch *keeper = keeper_of(draft, thread);
        size_t target = target_of(draft, thread);
        struct tg_verdict_wait wait = {.from = thread->process, .thread = thread};
        if (keeper != NULL) {
            wait.to = keeper->process;
            wait.to_do = keeper->target == TG_MPI_EPOCH_ACCESS
                             ? ", which has called MPI_Win_start, to call MPI_Win_complete"
                             : ", which has locked that memory, to unlock it";
        } else if (target != SIZE_MAX && !serves(draft, target)) {
            wait.to = target;
            wait.to_do = " to call MPI";
        } else {
            continue; /* a wait for whoever keeps the lock: not known who that is */
        }
        error = tg_verdict_add_wait(draft, &wait);
    }
    return error;
}

/* The rank that THREAD needs is TARGET, or the one whose epoch KEEPER (NULL none) is in the way. */
static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                             size_t target, const struct tg_mpi_epoch *keeper, uint64_t lasted_ns)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_WINDOW,
                                       .since_ns = thread->call.since_ns,
                                       .process = thread->process,
                                       .code = thread->call.code,
                                       .waiting = 1,
                                       .is_consequence = tg_verdict_is_explained(draft, target) ||
                                                         tg_verdict_waits(draft, target)};
    bool is_access = keeper != NULL && keeper->target == TG_MPI_EPOCH_ACCESS;
    tg_words_process(stream, draft->input, thread->process);
    fputs(is_access ? " has been waiting for others to end their access to its memory: "
                    : " has been waiting for the memory of another rank: ",
          stream);
    tg_words_call(stream, &thread->call);
    tg_words_since(stream, draft->input, thread->call.since_ns);
    tg_words_call_code(stream, draft->input, thread->process, thread->call.code, thread->call.since_ns);
    fputc(',', stream);
    tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI, lasted_ns);
    fputs(keeper == NULL ? ". It needs " : ". It waits for ", stream);
    tg_words_process(stream, draft->input, target);
    if (keeper != NULL) {
        fputs(is_access ? ", which has begun access (MPI_Win_start)"
                        : ", which has locked that memory (MPI_Win_lock)",
              stream);
        tg_words_moment(stream, draft->input, keeper->since_ns);
        tg_words_code(stream, draft->input, keeper->process, keeper->code);
    }
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
        const struct tg_mpi_epoch *keeper = keeper_of(draft, thread);
        size_t target = keeper != NULL ? keeper->process : target_of(draft, thread);
        if (target == SIZE_MAX || (keeper == NULL && serves(draft, target)) ||
            draft->ring_of[thread->process] != SIZE_MAX)
            continue;
        uint64_t since_ns = thread->call.since_ns, step_ns = tg_verdict_last_step(draft, target);
        if (!tg_verdict_is_gone(draft, target) && step_ns > since_ns)
            since_ns = step_ns;
        uint64_t lasted_ns = tg_verdict_lasted(draft, thread->process, target, since_ns);
        if (tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns))
            error = tell(draft, thread, target, keeper, lasted_ns);
    }
    return error;
}
