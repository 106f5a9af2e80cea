#include "analyzer/finding/draft.h"

#include "analyzer/finding/polling.h"
#include "format/base/array.h"
#include "format/base/search.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char *tg_finding_kind_name(enum tg_finding_kind kind)
{
    static const char *const names[] = {
        [TG_FINDING_HEAP] = "heap",
        [TG_FINDING_CRASH] = "crash",
        [TG_FINDING_EARLY_EXIT] = "early_exit",
        [TG_FINDING_KILL] = "killed",
        [TG_FINDING_STARTER] = "starter",
        [TG_FINDING_APART] = "mpi_apart",
        [TG_FINDING_DEADLOCK] = "deadlock",
        [TG_FINDING_COLLECTIVE] = "mpi_collective",
        [TG_FINDING_MISMATCH] = "mpi_mismatch",
        [TG_FINDING_BARRIER] = "omp_barrier",
        [TG_FINDING_LOCK] = "lock",
        [TG_FINDING_TASK] = "omp_task",
        [TG_FINDING_SEND] = "mpi_send",
        [TG_FINDING_RECEIVE] = "mpi_receive",
        [TG_FINDING_WINDOW] = "mpi_window",
        [TG_FINDING_ERROR] = "mpi_error",
        [TG_FINDING_MISUSE] = "mpi_misuse",
        [TG_FINDING_STOPPED] = "stopped",
        [TG_FINDING_ASKED] = "interruption",
        [TG_FINDING_UNRECEIVED] = "mpi_unreceived",
        [TG_FINDING_INCOMPLETE] = "mpi_request",
        [TG_FINDING_LEAK] = "leak",
        [TG_FINDING_INTERRUPTED] = "interrupted",
    };
    return names[kind];
}

bool tg_verdict_is_fault(int64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS || signal == SIGTRAP;
}

/* ---- blame */

static void blame(struct tg_verdict_draft *draft, const struct tg_culprit *culprit)
{
    for (size_t i = 0; i < draft->n_culprits; i++) {
        const struct tg_culprit *other = &draft->culprits[i];
        if (other->process == culprit->process && other->rank == culprit->rank && other->tid == culprit->tid)
            return;
    }
    if (draft->n_culprits < TG_VERDICT_BLAMED)
        draft->culprits[draft->n_culprits++] = *culprit;
}

static struct tg_culprit culprit_of(const struct tg_verdict_draft *draft, size_t process, int32_t tid,
                                    uint64_t code)
{
    bool is_known = process < draft->n_processes;
    return (struct tg_culprit){.process = is_known ? process : SIZE_MAX,
                               .rank = is_known ? tg_process_model_at(draft->input->processes, process)->rank
                                                : -1,
                               .tid = tid,
                               .worker = -1,
                               .code = code};
}

void tg_verdict_blame(struct tg_verdict_draft *draft, size_t process, int32_t tid, uint64_t code)
{
    const struct tg_culprit culprit = culprit_of(draft, process, tid, code);
    blame(draft, &culprit);
}

void tg_verdict_blame_last_call(struct tg_verdict_draft *draft, size_t process)
{
    const struct tg_mpi_thread *last = NULL;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (thread->process == process && (last == NULL || thread->call.since_ns > last->call.since_ns))
            last = thread;
    }
    tg_verdict_blame(draft, process, last == NULL ? 0 : last->tid, last == NULL ? 0 : last->call.code);
}

void tg_verdict_blame_worker(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                             uint64_t code)
{
    struct tg_culprit culprit = culprit_of(draft, worker->process, worker->tid, code);
    culprit.worker = (int64_t)worker->number;
    blame(draft, &culprit);
}

void tg_verdict_blame_rank(struct tg_verdict_draft *draft, int64_t rank)
{
    struct tg_culprit culprit = culprit_of(draft, SIZE_MAX, 0, 0);
    culprit.rank = rank;
    blame(draft, &culprit);
}

/* Moves the culprits to ADDED: at least the process that it is about. Only error: NO_MEMORY. */
static struct tg_error *take_culprits(struct tg_verdict_draft *draft, struct tg_finding *added)
{
    if (draft->n_culprits == 0 && added->process < draft->n_processes)
        tg_verdict_blame(draft, added->process, 0, added->code);
    size_t n_bytes = draft->n_culprits * sizeof *added->culprits;
    added->culprits = malloc(n_bytes + 1);
    if (added->culprits == NULL)
        return tg_error_no_memory();
    memcpy(added->culprits, draft->culprits, n_bytes);
    added->n_culprits = draft->n_culprits;
    draft->n_culprits = 0;
    return NULL;
}

struct tg_error *tg_verdict_add(struct tg_verdict_draft *draft, const struct tg_finding *finding)
{
    struct tg_verdict *result = draft->result;
    if (fflush(draft->stream) != 0)
        return tg_error_no_memory();
    struct tg_finding added = *finding;
    added.id = result->count;
    struct tg_error *error = take_culprits(draft, &added);
    if (error != NULL)
        return error;
    added.text = strndup(draft->text + draft->begun, draft->size - draft->begun);
    error = added.text == NULL ? tg_error_no_memory() : NULL;
    draft->begun = draft->size;
    if (error == NULL)
        error = TG_ARRAY_APPEND(result->findings, result->count, draft->capacity, added);
    if (error != NULL) {
        free(added.text);
        free(added.culprits);
    }
    return error;
}

void tg_verdict_separate(FILE *stream, size_t i, size_t n)
{
    if (i > 0)
        fputs(i + 1 == n ? " and " : ", ", stream);
}

void tg_verdict_more(FILE *stream, size_t n)
{
    if (n > TG_VERDICT_NAMED)
        fprintf(stream, " and %zu more", n - TG_VERDICT_NAMED);
}

void tg_verdict_explain(struct tg_verdict_draft *draft, size_t process)
{
    if (process < draft->n_processes && draft->explained_by[process] == SIZE_MAX)
        draft->explained_by[process] = draft->result->count - 1;
}

bool tg_verdict_is_explained(const struct tg_verdict_draft *draft, size_t process)
{
    return process < draft->n_processes && draft->explained_by[process] != SIZE_MAX;
}

bool tg_verdict_is_gone(const struct tg_verdict_draft *draft, size_t process)
{
    const struct tg_mpi_process *known = tg_mpi_model_process(draft->input->mpi, process);
    if (tg_stillness_had_ended(&draft->stillness, process) || (known != NULL && known->finalized))
        return true;
    size_t n;
    const struct tg_mpi_thread *const *threads = tg_verdict_threads(draft, process, &n);
    for (size_t i = 0; known != NULL && i < n; i++)
        if (threads[i]->in_call && strcmp(threads[i]->call.name, "MPI_Finalize") == 0)
            return true;
    return false;
}

bool tg_verdict_is_in_mpi(const struct tg_verdict_draft *draft, size_t process)
{
    size_t n;
    const struct tg_mpi_thread *const *threads = tg_verdict_threads(draft, process, &n);
    for (size_t i = 0; i < n; i++)
        if (threads[i]->in_call || tg_polling_is(draft->input, threads[i]))
            return true;
    return false;
}

uint64_t tg_verdict_last_step(const struct tg_verdict_draft *draft, size_t process)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    uint64_t last_ns = 0;
    for (size_t i = 0; i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process != process || thread->calls == 0)
            continue;
        uint64_t step_ns = thread->in_call ? thread->call.since_ns : thread->left_ns;
        last_ns = step_ns > last_ns ? step_ns : last_ns;
    }
    return last_ns;
}

uint64_t tg_verdict_way(const struct tg_mpi_thread *thread)
{
    bool is_known = thread->in_call && thread->left_ns != 0 && thread->left_ns < thread->call.since_ns;
    return is_known ? thread->call.since_ns - thread->left_ns : 0;
}

bool tg_verdict_may_be_on_its_way(const struct tg_verdict_draft *draft, size_t process, uint64_t way_ns)
{
    enum { TIMES = 2 };
    uint64_t last_ns = tg_verdict_last_step(draft, process);
    return last_ns != 0 && last_ns < draft->stillness.at_ns && !tg_verdict_is_in_mpi(draft, process) &&
           (draft->stillness.at_ns - last_ns) / TIMES < way_ns;
}

bool tg_verdict_may_poll(const struct tg_verdict_draft *draft, size_t process)
{
    uint64_t last_ns = tg_verdict_last_step(draft, process);
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (thread->process == process && !thread->in_call && thread->calls > 0 &&
            thread->left_ns == last_ns && tg_mpi_call_polls(thread->call.name))
            return true;
    }
    return false;
}

bool tg_verdict_waits(const struct tg_verdict_draft *draft, size_t process)
{
    return process < draft->n_processes && draft->is_waiting[process];
}

const struct tg_mpi_thread *const *tg_verdict_threads(const struct tg_verdict_draft *draft, size_t process,
                                                      size_t *n)
{
    size_t first = TG_PARTITION_POINT(draft->n_threads, i, draft->threads[i]->process < process);
    *n = TG_PARTITION_POINT(draft->n_threads, i, draft->threads[i]->process <= process) - first;
    return draft->threads + first;
}

bool tg_verdict_pass_for_work(struct tg_verdict_draft *draft, size_t process, uint64_t lasted_ns)
{
    draft->was_at_work[process] |= tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns);
    return false;
}

struct tg_error *tg_verdict_add_wait(struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait)
{
    if (wait->from >= draft->n_processes || wait->to >= draft->n_processes || wait->thread == NULL ||
        draft->n_waits == TG_VERDICT_WAITS)
        return NULL;
    draft->is_waiting[wait->from] = true;
    return TG_ARRAY_APPEND(draft->waits, draft->n_waits, draft->wait_capacity, *wait);
}

uint64_t tg_verdict_lasted(const struct tg_verdict_draft *draft, size_t from, size_t to, uint64_t since_ns)
{
    uint64_t lasted_ns = tg_stillness_lasted(&draft->stillness, from, since_ns);
    if (to >= draft->n_processes)
        return lasted_ns;
    uint64_t continued_ns = tg_process_model_at(draft->input->processes, to)->continued_ns;
    return continued_ns <= since_ns ? lasted_ns : tg_stillness_lasted(&draft->stillness, from, continued_ns);
}

size_t tg_verdict_told_in(const struct tg_verdict_draft *draft, size_t process)
{
    if (process >= draft->n_processes)
        return SIZE_MAX;
    if (draft->ring_of[process] != SIZE_MAX)
        return draft->ring_of[process];
    return tg_verdict_waits(draft, process) ? SIZE_MAX : draft->explained_by[process];
}

/* ---- references from one finding to another */

/* Stand in for a number until the findings are sorted: no text from a trace has control characters. */
enum { REFERENCE_BEGIN = '\x01', REFERENCE_END = '\x02' };

void tg_verdict_refer(struct tg_verdict_draft *draft, const char *before, size_t finding, const char *behind)
{
    fprintf(draft->stream, "%s%c%zu%c%s", before, REFERENCE_BEGIN, finding, REFERENCE_END, behind);
}

char *tg_verdict_resolve(const char *text, const size_t *number_of)
{
    char *resolved;
    size_t size;
    FILE *stream = open_memstream(&resolved, &size);
    if (stream == NULL)
        return NULL;
    for (const char *at = text; *at != '\0';) {
        if (*at != REFERENCE_BEGIN) {
            fputc(*at++, stream);
            continue;
        }
        char *end;
        size_t finding = strtoul(at + 1, &end, 10);
        fprintf(stream, "%zu", number_of[finding] + 1);
        at = end + (*end == REFERENCE_END);
    }
    if (fclose(stream) == 0)
        return resolved;
    free(resolved);
    return NULL;
}
