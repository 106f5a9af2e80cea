/* Collectives of intercommunicators with a root that is none: one group waits for a rank of the other, which has called it
 * as if somebody else were the root. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/printable.h"

#include <inttypes.h>

enum { ROOT_NOBODY = -2 }; /* MPI_PROC_NULL, as calls have it: another rank of this group is the root */

/* Whether ARRIVAL waits for the culprit, a rank of the other group. */
static bool waits_for(const struct tg_mpi_arrival *arrival, const void *context)
{
    const struct tg_mpi_arrival *culprit = context;
    return arrival->standing == TG_MPI_WAITING && arrival->root >= 0 && arrival->root == culprit->comm_rank;
}

/* The rank that one of ARRIVALS waits for as its root, and that has said that it is none; NULL: there is none. */
static const struct tg_mpi_arrival *find_culprit(const struct tg_mpi_arrival *arrivals, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; arrivals[i].root == ROOT_NOBODY && arrivals[i].comm_rank >= 0 && j < n; j++)
            if (waits_for(&arrivals[j], &arrivals[i]))
                return &arrivals[i];
    return NULL;
}

static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_mpi_collective *collective,
                             const struct tg_mpi_arrival *arrivals, size_t n,
                             const struct tg_mpi_arrival *culprit)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_MISMATCH,
                                       .since_ns = culprit->entered_ns,
                                       .process = culprit->process,
                                       .code = culprit->code};
    struct tg_error *error =
        tg_arrivals_print_ranks(stream, draft->input, arrivals, n, waits_for, culprit, true);
    if (error != NULL)
        return error;
    fputs(" called ", stream);
    tg_printable_write(stream, collective->name);
    fputs(" (", stream);
    tg_words_collective(stream, draft->input, collective);
    fprintf(stream, ") with root %" PRId64 " of the other group, which is ", culprit->comm_rank);
    tg_words_process(stream, draft->input, culprit->process);
    fputs("; but that one called it with MPI_PROC_NULL, and not as MPI_ROOT,", stream);
    tg_words_moment(stream, draft->input, culprit->entered_ns);
    tg_words_call_code(stream, draft->input, culprit->process, culprit->code, culprit->entered_ns);
    fputc('.', stream);
    tg_verdict_blame(draft, culprit->process, 0, culprit->code);
    error = tg_verdict_add(draft, &finding);
    for (size_t i = 0; error == NULL && i < n; i++)
        if (waits_for(&arrivals[i], culprit) && arrivals[i].process < draft->n_processes)
            tg_verdict_explain(draft, arrivals[i].process);
    return error;
}

static struct tg_error *visit(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct tg_verdict_draft *draft = context;
    const struct tg_mpi_arrival *culprit = find_culprit(arrivals, n);
    if (culprit == NULL || culprit->process >= draft->n_processes)
        return NULL;
    return tell(draft, collective, arrivals, n, culprit);
}

struct tg_error *tg_verdict_find_intercomms(struct tg_verdict_draft *draft)
{
    return tg_mpi_model_visit_collectives(draft->input->mpi, visit, draft);
}
