#include "analyzer/verdict/draft.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char *tg_finding_kind_name(enum tg_finding_kind kind)
{
    static const char *const names[] = {
        [TG_FINDING_CRASH] = "crash",
        [TG_FINDING_EARLY_EXIT] = "early_exit",
        [TG_FINDING_KILL] = "killed",
        [TG_FINDING_STARTER] = "starter",
        [TG_FINDING_DEADLOCK] = "deadlock",
        [TG_FINDING_COLLECTIVE] = "mpi_collective",
        [TG_FINDING_MISMATCH] = "mpi_mismatch",
        [TG_FINDING_BARRIER] = "omp_barrier",
        [TG_FINDING_LOCK] = "lock",
        [TG_FINDING_TASK] = "omp_task",
        [TG_FINDING_SEND] = "mpi_send",
        [TG_FINDING_RECEIVE] = "mpi_receive",
    };
    return names[kind];
}

bool tg_verdict_is_fault(int64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS || signal == SIGTRAP;
}

struct tg_error *tg_verdict_add(struct tg_verdict_draft *draft, const struct tg_finding *finding)
{
    struct tg_verdict *result = draft->result;
    if (result->count == draft->capacity) {
        size_t capacity = draft->capacity == 0 ? 8 : 2 * draft->capacity;
        struct tg_finding *findings = reallocarray(result->findings, capacity, sizeof *findings);
        if (findings == NULL)
            return tg_error_no_memory();
        result->findings = findings;
        draft->capacity = capacity;
    }
    if (fflush(draft->stream) != 0)
        return tg_error_no_memory();
    char *text = strndup(draft->text + draft->begun, draft->size - draft->begun);
    if (text == NULL)
        return tg_error_no_memory();
    draft->begun = draft->size;
    struct tg_finding *added = &result->findings[result->count++];
    *added = *finding;
    added->text = text;
    return NULL;
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
    if (process < draft->n_processes)
        draft->is_explained[process] = true;
}

bool tg_verdict_is_explained(const struct tg_verdict_draft *draft, size_t process)
{
    return process < draft->n_processes && draft->is_explained[process];
}

bool tg_verdict_waits(const struct tg_verdict_draft *draft, size_t process)
{
    return process < draft->n_processes && draft->is_waiting[process];
}
