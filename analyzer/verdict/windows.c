/* Threads that wait in one-sided communication: for the memory of other ranks, for these to open it, or for others to
 * be through with their own. */
#include "analyzer/verdict/windows.h"

#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"

#include <stdlib.h>
#include <string.h>

/* What a call on a window waits for. */
enum need {
    NEEDS_NOTHING,
    NEEDS_MEMORY,     /* of its peer */
    NEEDS_ALL_MEMORY, /* of every rank */
    NEEDS_POSTS,      /* of the ranks that it is to access */
    NEEDS_ENDS,       /* of the access by ranks to which it has opened its memory */
};

static const struct {
    const char *name;
    enum need need;
} calls[] = {
    {"MPI_Win_lock", NEEDS_MEMORY},
    {"MPI_Win_unlock", NEEDS_MEMORY},
    {"MPI_Win_flush", NEEDS_MEMORY},
    {"MPI_Win_lock_all", NEEDS_ALL_MEMORY},
    {"MPI_Win_unlock_all", NEEDS_ALL_MEMORY},
    {"MPI_Win_flush_all", NEEDS_ALL_MEMORY},
    {"MPI_Win_start", NEEDS_POSTS},
    {"MPI_Win_complete", NEEDS_POSTS},
    {"MPI_Win_wait", NEEDS_ENDS},
};

static enum need need_of(const struct tg_mpi_thread *thread)
{
    for (size_t i = 0; thread->in_call && i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(thread->call.name, calls[i].name) == 0)
            return calls[i].need == NEEDS_MEMORY && thread->call.peer < 0 ? NEEDS_NOTHING : calls[i].need;
    return NEEDS_NOTHING;
}

/* Whether PROCESS serves others: a thread of it is in a call of MPI that is not its last one. */
static bool serves(const struct tg_verdict_draft *draft, size_t process)
{
    return tg_verdict_is_in_mpi(draft, process) && !tg_verdict_is_gone(draft, process);
}

static const char *job_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_process *caller = tg_mpi_model_process(draft->input->mpi, thread->process);
    return caller == NULL ? "" : caller->job;
}

/* ---- for whom a call waits */

/* The epoch of KIND that PROCESS has on the window that THREAD is at; NULL none. */
static const struct tg_mpi_epoch *find_epoch(const struct tg_verdict_draft *draft,
                                             const struct tg_mpi_thread *thread, size_t process, int64_t kind)
{
    for (size_t i = 0; i < tg_mpi_model_epoch_count(draft->input->mpi); i++) {
        const struct tg_mpi_epoch *epoch = tg_mpi_model_epoch_at(draft->input->mpi, i);
        if (epoch->process == process && epoch->window == thread->call.comm && epoch->target == kind)
            return epoch;
    }
    return NULL;
}

/* THREAD's own epoch that its call is about, where it is known for whom that is; NULL: it is not. */
static const struct tg_mpi_epoch *group_of(const struct tg_verdict_draft *draft,
                                           const struct tg_mpi_thread *thread, enum need need)
{
    const struct tg_mpi_epoch *own =
        need == NEEDS_POSTS  ? find_epoch(draft, thread, thread->process, TG_MPI_EPOCH_ACCESS)
        : need == NEEDS_ENDS ? find_epoch(draft, thread, thread->process, TG_MPI_EPOCH_EXPOSED)
                             : NULL;
    return own != NULL && own->has_group ? own : NULL;
}

/* Whether PROCESS, RANK of the window that THREAD is at, has not opened its memory for it. */
static bool lacks_post(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                       size_t process, const struct tg_mpi_epoch *own)
{
    const struct tg_mpi_epoch *exposed = find_epoch(draft, thread, process, TG_MPI_EPOCH_EXPOSED);
    return exposed == NULL || (own != NULL && exposed->has_group && !tg_mpi_epoch_has(exposed, own->rank));
}

/* Whether THREAD, in a call that waits for NEED, may be waiting for PROCESS, RANK of its window; where its group is known,
 * it is. */
static bool may_need(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread, enum need need,
                     size_t process, int64_t rank)
{
    const struct tg_mpi_epoch *own = group_of(draft, thread, need);
    switch (need) {
    case NEEDS_MEMORY:
    case NEEDS_ALL_MEMORY:
        return !serves(draft, process);
    case NEEDS_POSTS:
        return (own == NULL || tg_mpi_epoch_has(own, rank)) && lacks_post(draft, thread, process, own);
    case NEEDS_ENDS:
        return own == NULL || tg_mpi_epoch_has(own, rank);
    case NEEDS_NOTHING:
        break;
    }
    return false;
}

/* The next process after rank *RANK of its window that THREAD may be waiting for; SIZE_MAX: none, *RANK is the size. */
static size_t next_needed(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                          int64_t *rank)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    const char *job = job_of(draft, thread);
    enum need need = need_of(thread);
    int64_t size = tg_mpi_model_comm_size(mpi, job, thread->call.comm);
    while (need != NEEDS_NOTHING && ++*rank < size) {
        size_t process = tg_mpi_model_process_of(mpi, thread->process, job, thread->call.comm, *rank);
        if (process < draft->n_processes && process != thread->process &&
            (need != NEEDS_MEMORY || *rank == thread->call.peer) &&
            may_need(draft, thread, need, process, *rank))
            return process;
    }
    return SIZE_MAX;
}

static size_t count_needed(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    size_t n = 0;
    int64_t rank = -1;
    while (next_needed(draft, thread, &rank) != SIZE_MAX)
        n++;
    return n;
}

/* Of those that THREAD may be waiting for, the one that has been outside of MPI for the longest time; SIZE_MAX: all
 * are in MPI. *N: how many there are in all. */
static size_t most_absent(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread, size_t *n)
{
    size_t found = SIZE_MAX;
    int64_t rank = -1;
    *n = 0;
    for (size_t process = next_needed(draft, thread, &rank); process != SIZE_MAX;
         process = next_needed(draft, thread, &rank)) {
        ++*n;
        if (!serves(draft, process) &&
            (found == SIZE_MAX || tg_verdict_last_step(draft, process) < tg_verdict_last_step(draft, found)))
            found = process;
    }
    return found;
}

/* ---- ranks that keep others from the memory of a rank */

/* Whether an epoch of TARGET keeps others from what THREAD waits for. */
static bool is_opposed(const struct tg_mpi_thread *thread, int64_t target)
{
    switch (need_of(thread)) {
    case NEEDS_MEMORY:
        return target == thread->call.peer || target == TG_MPI_EPOCH_ALL;
    case NEEDS_ALL_MEMORY:
        return target >= 0; /* locks of all ranks are shared */
    case NEEDS_ENDS:
        return target == TG_MPI_EPOCH_ACCESS;
    case NEEDS_POSTS:
    case NEEDS_NOTHING:
        break;
    }
    return false;
}

/* Whether EPOCH, another process's, may be what THREAD waits for. */
static bool is_in_the_way(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                          const struct tg_mpi_epoch *epoch)
{
    if (epoch->process == thread->process || epoch->window != thread->call.comm ||
        strcmp(epoch->job, job_of(draft, thread)) != 0 || epoch->process >= draft->n_processes ||
        !is_opposed(thread, epoch->target))
        return false;
    for (size_t i = 0; !epoch->is_granted && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *other = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (other->process == epoch->process && other->in_call && other->call.comm == epoch->window &&
            other->call.instance == 0 && strncmp(other->call.name, "MPI_Win_", strlen("MPI_Win_")) == 0)
            return false; /* OTHER is at work there: it may be waiting for the same */
    }
    return true;
}

/* Whether THREAD has what it asked for, and waits for something else than another one's lock. */
static bool has_own(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    for (size_t i = 0; i < tg_mpi_model_epoch_count(draft->input->mpi); i++) {
        const struct tg_mpi_epoch *epoch = tg_mpi_model_epoch_at(draft->input->mpi, i);
        bool is_of_all = epoch->target == TG_MPI_EPOCH_ALL;
        if (epoch->process == thread->process && epoch->window == thread->call.comm && epoch->is_granted &&
            (need_of(thread) == NEEDS_ALL_MEMORY ? is_of_all : epoch->target == thread->call.peer))
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
        size_t process =
            tg_mpi_model_process_of(draft->input->mpi, thread->process, caller->job, thread->call.comm, rank);
        if (process != thread->process && process != other &&
            (process >= draft->n_processes || !serves(draft, process)))
            return false;
    }
    return size > 0;
}

/* Whether EPOCH is one of those that THREAD, in MPI_Win_wait, has opened its memory to. */
static bool is_of_group(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                        const struct tg_mpi_epoch *epoch)
{
    const struct tg_mpi_epoch *own = group_of(draft, thread, need_of(thread));
    return own == NULL || !epoch->has_group ||
           (tg_mpi_epoch_has(own, epoch->rank) && tg_mpi_epoch_has(epoch, own->rank));
}

/* The one epoch that THREAD's call waits to be ended; NULL: none, or it is not known which of several. */
static const struct tg_mpi_epoch *keeper_of(const struct tg_verdict_draft *draft,
                                            const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_epoch *found = NULL, *granted = NULL;
    size_t n = 0, n_granted = 0;
    enum need need = need_of(thread);
    if (need == NEEDS_NOTHING || need == NEEDS_POSTS || (need != NEEDS_ENDS && has_own(draft, thread)))
        return NULL;
    for (size_t i = 0; i < tg_mpi_model_epoch_count(draft->input->mpi); i++) {
        const struct tg_mpi_epoch *epoch = tg_mpi_model_epoch_at(draft->input->mpi, i);
        if (!is_in_the_way(draft, thread, epoch) || !is_of_group(draft, thread, epoch))
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
    if (need == NEEDS_ENDS && group_of(draft, thread, need) != NULL)
        return count_needed(draft, thread) == 1 ? found : NULL; /* else all who are to come are told of */
    return need == NEEDS_ENDS && !others_wait(draft, thread, found->process) ? NULL : found;
}

/* ---- waits */

static const char *to_do_for(enum need need)
{
    return need == NEEDS_POSTS  ? " to open its memory (MPI_Win_post)"
           : need == NEEDS_ENDS ? " to end its access to that memory (MPI_Win_complete)"
                                : " to call MPI";
}

/* THREAD waits for all that it may be waiting for, of which any may do where its group is not known. */
static struct tg_error *collect_needed(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    struct tg_error *error = NULL;
    enum need need = need_of(thread);
    int64_t rank = -1;
    for (size_t process = next_needed(draft, thread, &rank); error == NULL && process != SIZE_MAX;
         process = next_needed(draft, thread, &rank)) {
        const struct tg_verdict_wait wait = {.from = thread->process,
                                             .to = process,
                                             .thread = thread,
                                             .is_choice = (need == NEEDS_POSTS || need == NEEDS_ENDS) &&
                                                          group_of(draft, thread, need) == NULL,
                                             .to_do = to_do_for(need)};
        error = tg_verdict_add_wait(draft, &wait);
    }
    return error;
}

/* Where nobody is known to keep the memory that THREAD needs, a wait for whoever keeps the lock is left out. */
struct tg_error *tg_verdict_collect_windows(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        const struct tg_mpi_epoch *keeper = keeper_of(draft, thread);
        if (keeper == NULL) {
            error = collect_needed(draft, thread);
            continue;
        }
        const struct tg_verdict_wait wait = {
            .from = thread->process,
            .to = keeper->process,
            .thread = thread,
            .to_do = keeper->target == TG_MPI_EPOCH_ACCESS
                         ? ", which has called MPI_Win_start, to call MPI_Win_complete"
                         : ", which has locked that memory, to unlock it"};
        error = tg_verdict_add_wait(draft, &wait);
    }
    return error;
}

/* ---- findings */

static const char *words_for(enum need need)
{
    return need == NEEDS_POSTS        ? " been waiting for others to open their memory: "
           : need == NEEDS_ENDS       ? " been waiting for others to end their access to its memory: "
           : need == NEEDS_ALL_MEMORY ? " been waiting for the memory of all ranks: "
                                      : " been waiting for the memory of another rank: ";
}

/* ", which has locked that memory (MPI_Win_lock) at 1.2 s in main (a.c:12)" */
static void print_epoch(struct tg_verdict_draft *draft, const struct tg_mpi_epoch *epoch)
{
    FILE *stream = draft->stream;
    fputs(epoch->target == TG_MPI_EPOCH_ACCESS ? ", which has begun access (MPI_Win_start)"
          : epoch->target == TG_MPI_EPOCH_ALL  ? ", which has locked the memory of all (MPI_Win_lock_all)"
                                               : ", which has locked that memory (MPI_Win_lock)",
          stream);
    tg_words_moment(stream, draft->input, epoch->since_ns);
    tg_words_code(stream, draft->input, epoch->process, epoch->code);
}

/* Why THREAD does not go on: it needs TARGET, or may need it (one of N_NEEDED), or KEEPER, an epoch of TARGET's, is in
 * the way (NULL none). */
struct lack {
    const struct tg_mpi_thread *thread; /* NULL: it goes on, or is told of elsewhere */
    const struct tg_mpi_epoch *keeper;
    size_t target, n_needed;
    uint64_t lasted_ns;
};

static struct lack lack_of(struct tg_verdict_draft *draft, size_t nth)
{
    const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, nth);
    struct lack lack = {.keeper = keeper_of(draft, thread), .n_needed = 1};
    lack.target = lack.keeper != NULL ? lack.keeper->process : most_absent(draft, thread, &lack.n_needed);
    if (lack.target == SIZE_MAX || draft->ring_of[thread->process] != SIZE_MAX)
        return lack;
    uint64_t since_ns = thread->call.since_ns, step_ns = tg_verdict_last_step(draft, lack.target);
    if (!tg_verdict_is_gone(draft, lack.target) && step_ns > since_ns)
        since_ns = step_ns;
    lack.lasted_ns = tg_verdict_lasted(draft, thread->process, lack.target, since_ns);
    if (tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lack.lasted_ns))
        lack.thread = thread;
    return lack;
}

/* Whether both threads wait in the same call of one line, for the same. */
static bool is_alike(const struct tg_verdict_draft *draft, const struct lack *a, const struct lack *b)
{
    const struct tg_mpi_call *one = a->thread == NULL ? NULL : &a->thread->call;
    const struct tg_mpi_call *other = b->thread == NULL ? NULL : &b->thread->call;
    return one != NULL && other != NULL && a->target == b->target && a->keeper == b->keeper &&
           a->n_needed == b->n_needed && one->comm == other->comm && one->peer == other->peer &&
           strcmp(one->name, other->name) == 0 &&
           tg_words_is_same_line(draft->input, a->thread->process, one->code, b->thread->process,
                                 other->code);
}

static int64_t rank_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    return tg_process_model_at(draft->input->processes, thread->process)->rank;
}

/* "Ranks 0 and 2-3 have": the N that wait as FIRST does, whose RANKS these are. */
static void print_waiting(struct tg_verdict_draft *draft, const struct lack *first, int64_t *ranks, size_t n)
{
    bool are_ranks = n > 1;
    for (size_t i = 0; i < n; i++)
        are_ranks = are_ranks && ranks[i] >= 0;
    if (are_ranks) {
        tg_arrivals_print(draft->stream, ranks, n, true);
    } else {
        tg_words_process(draft->stream, draft->input, first->thread->process);
        if (n > 1)
            fprintf(draft->stream, " and %zu more", n - 1);
    }
    fputs(n > 1 ? " have" : " has", draft->stream);
}

/* The N threads whose RANKS these are wait as FIRST does, who has been waiting for the longest time. */
static struct tg_error *tell(struct tg_verdict_draft *draft, const struct lack *first, int64_t *ranks,
                             size_t n)
{
    FILE *stream = draft->stream;
    const struct tg_mpi_thread *thread = first->thread;
    enum need need = need_of(thread);
    bool is_sure = first->n_needed == 1 || need == NEEDS_MEMORY || need == NEEDS_ALL_MEMORY ||
                   group_of(draft, thread, need) != NULL;
    const struct tg_finding finding = {.kind = TG_FINDING_WINDOW,
                                       .since_ns = thread->call.since_ns,
                                       .process = thread->process,
                                       .code = thread->call.code,
                                       .waiting = n,
                                       .is_consequence = tg_verdict_is_explained(draft, first->target) ||
                                                         tg_verdict_waits(draft, first->target)};
    print_waiting(draft, first, ranks, n);
    fputs(words_for(need), stream);
    tg_words_call(stream, &thread->call);
    tg_words_since(stream, draft->input, thread->call.since_ns);
    fputs(n > 1 ? " (first arrival)" : "", stream);
    tg_words_call_code(stream, draft->input, thread->process, thread->call.code, thread->call.since_ns);
    fputc(',', stream);
    tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI, first->lasted_ns);
    fputs(first->keeper != NULL ? (n > 1 ? ". They wait for " : ". It waits for ")
          : is_sure             ? (n > 1 ? ". They need " : ". It needs ")
          : n > 1               ? ". They may be waiting for "
                                : ". It may be waiting for ",
          stream);
    tg_words_process(stream, draft->input, first->target);
    if (first->keeper != NULL)
        print_epoch(draft, first->keeper);
    size_t told = tg_verdict_told_in(draft, first->target);
    if (told != SIZE_MAX) {
        tg_verdict_refer(draft, " (see ", told, ").");
    } else {
        fputs(": ", stream);
        tg_words_process_state(stream, draft->input, first->target);
        fputc('.', stream);
    }
    tg_verdict_blame_last_call(draft, first->target);
    return tg_verdict_add(draft, &finding);
}

/* Tells of LACKS[NTH] and of all behind it that are alike, which are then cleared. RANKS has room for all. */
static struct tg_error *tell_alike(struct tg_verdict_draft *draft, struct lack *lacks, size_t nth,
                                   size_t count, int64_t *ranks)
{
    struct lack like = lacks[nth], first = like;
    size_t n = 0;
    for (size_t i = nth; i < count; i++) {
        if (!is_alike(draft, &like, &lacks[i]))
            continue;
        ranks[n++] = rank_of(draft, lacks[i].thread);
        if (lacks[i].thread->call.since_ns < first.thread->call.since_ns)
            first = lacks[i];
        lacks[i].thread = NULL;
    }
    return tell(draft, &first, ranks, n);
}

struct tg_error *tg_verdict_find_windows(struct tg_verdict_draft *draft)
{
    size_t count = tg_mpi_model_thread_count(draft->input->mpi);
    struct lack *lacks = calloc(count + 1, sizeof *lacks);
    int64_t *ranks = calloc(count + 1, sizeof *ranks);
    struct tg_error *error = lacks == NULL || ranks == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        lacks[i] = lack_of(draft, i);
    for (size_t i = 0; error == NULL && i < count; i++)
        if (lacks[i].thread != NULL)
            error = tell_alike(draft, lacks, i, count, ranks);
    free(ranks);
    free(lacks);
    return error;
}
