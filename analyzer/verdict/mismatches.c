/* Collectives in which the calls of a communicator's processes disagree: of each the first one, whatever became of the
 * job. All that comes after it on that communicator is out of step, unless nothing but datatypes or operators differ; then
 * the results are wrong. Messages that were received as another datatype, likewise. */
#include "analyzer/models/mpi/types.h"
#include "analyzer/verdict/arrivals.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/words.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 4 }; /* different ones that a finding lists */

/* ---- groups of calls that are alike */

struct likeness {
    const struct tg_mpi_arrival *arrival;
    unsigned differs; /* what matters */
};

static bool has_come(const struct tg_mpi_arrival *arrival)
{
    return arrival->name != NULL;
}

static bool is_known(const char *name)
{
    return name != NULL && *name != '\0';
}

static bool is_same_op(const char *x, const char *y)
{
    return !is_known(x) || !is_known(y) || strcmp(x, y) == 0;
}

static bool is_alike(const struct tg_mpi_arrival *arrival, const void *context)
{
    const struct likeness *like = context;
    const struct tg_mpi_arrival *other = like->arrival;
    if (!has_come(arrival) || !tg_mpi_call_is_same(arrival->name, other->name))
        return false;
    if ((like->differs & TG_MPI_DIFFERS_ROOT) != 0 && arrival->root >= 0 && other->root >= 0 &&
        arrival->root != other->root)
        return false;
    if ((like->differs & TG_MPI_DIFFERS_BYTES) != 0 && arrival->bytes != UINT64_MAX &&
        other->bytes != UINT64_MAX && arrival->bytes != other->bytes)
        return false;
    if ((like->differs & TG_MPI_DIFFERS_TYPE) != 0 && !tg_mpi_types_match(arrival->type, other->type))
        return false;
    if ((like->differs & TG_MPI_DIFFERS_OP) != 0 && !is_same_op(arrival->op, other->op))
        return false;
    return (like->differs & TG_MPI_DIFFERS_PLACE) == 0 ||
           tg_mpi_site_low(arrival->code) == tg_mpi_site_low(other->code);
}

/* One finding about COLLECTIVE. */
struct telling {
    struct tg_verdict_draft *draft;
    const struct tg_mpi_collective *collective;
    const struct tg_mpi_arrival *arrivals;
    size_t n;
    unsigned differs;                              /* what the finding is about */
    const struct tg_mpi_arrival *first[MAX_CALLS]; /* of each group, the smallest one first */
    size_t sizes[MAX_CALLS];
    size_t n_groups;
    size_t
        has_left; /* the group that went to MPI_Finalize although it had made the other's call before; SIZE_MAX none */
};

static size_t count_alike(const struct telling *telling, const struct tg_mpi_arrival *arrival)
{
    const struct likeness like = {arrival, telling->differs};
    size_t count = 0;
    for (size_t i = 0; i < telling->n; i++)
        count += is_alike(&telling->arrivals[i], &like);
    return count;
}

static bool is_first_of_group(const struct telling *telling, size_t i)
{
    const struct likeness like = {&telling->arrivals[i], telling->differs};
    if (!has_come(&telling->arrivals[i]))
        return false;
    for (size_t before = 0; before < i; before++)
        if (is_alike(&telling->arrivals[before], &like))
            return false;
    return true;
}

/* Who is alone, or with few, has made the mistake: smaller groups come first. */
static void find_groups(struct telling *telling)
{
    for (size_t i = 0; i < telling->n && telling->n_groups < MAX_CALLS; i++) {
        if (!is_first_of_group(telling, i))
            continue;
        size_t size = count_alike(telling, &telling->arrivals[i]), at = telling->n_groups++;
        for (; at > 0 && telling->sizes[at - 1] > size; at--) {
            telling->sizes[at] = telling->sizes[at - 1];
            telling->first[at] = telling->first[at - 1];
        }
        telling->sizes[at] = size;
        telling->first[at] = &telling->arrivals[i];
    }
}

/* Whether group I is not the one that all others should have followed: with two groups of one size, either may
 * be wrong. */
static bool is_suspect(const struct telling *telling, size_t i)
{
    if (telling->has_left != SIZE_MAX)
        return i == telling->has_left;
    return i + 1 < telling->n_groups || telling->sizes[i] == telling->sizes[i - 1];
}

/* ---- how often */

struct counts {
    uint64_t mine, theirs;
    bool is_known;
};

/* How often the processes of MINE and THEIRS called what AT called, from there. */
static struct counts count_calls(const struct telling *telling, const struct tg_mpi_arrival *mine,
                                 const struct tg_mpi_arrival *theirs, const struct tg_mpi_arrival *at)
{
    const struct tg_mpi_collective *collective = telling->collective;
    const struct tg_mpi_model *mpi = telling->draft->input->mpi;
    bool mine_whole, theirs_whole;
    const struct tg_mpi_site *of_mine = tg_mpi_model_site(mpi, collective->job, collective->comm,
                                                          mine->process, at->name, at->code, &mine_whole);
    const struct tg_mpi_site *of_theirs = tg_mpi_model_site(
        mpi, collective->job, collective->comm, theirs->process, at->name, at->code, &theirs_whole);
    return (struct counts){.mine = of_mine == NULL ? 0 : of_mine->count,
                           .theirs = of_theirs == NULL ? 0 : of_theirs->count,
                           .is_known = mine_whole && theirs_whole};
}

static void print_times(FILE *stream, uint64_t count)
{
    if (count == 0)
        fputs("never", stream);
    else if (count == 1)
        fputs("once", stream);
    else
        fprintf(stream, "%" PRIu64 " times", count);
}

/* "In all, rank 2 called MPI_Allreduce in solve (a.c:12) 16 times, rank 0 17 times." */
static void print_counts(const struct telling *telling, const struct tg_mpi_arrival *mine,
                         const struct tg_mpi_arrival *theirs, const struct tg_mpi_arrival *at,
                         const struct counts *counts)
{
    FILE *stream = telling->draft->stream;
    fprintf(stream, " In all, rank %" PRId64 " called ", tg_arrivals_rank(mine));
    tg_printable_write(stream, at->name);
    tg_words_code(stream, telling->draft->input, at->process, at->code);
    fputc(' ', stream);
    print_times(stream, counts->mine);
    fprintf(stream, ", rank %" PRId64 " ", tg_arrivals_rank(theirs));
    print_times(stream, counts->theirs);
    fputc('.', stream);
}

/* Where MINE left a call out, if what it did between its calls tells. */
static void print_gap(const struct telling *telling, const struct tg_mpi_arrival *mine,
                      const struct tg_mpi_arrival *at)
{
    enum { LEAST_USUAL = 3 };
    FILE *stream = telling->draft->stream;
    bool is_whole;
    const struct tg_mpi_site *site =
        tg_mpi_model_site(telling->draft->input->mpi, telling->collective->job, telling->collective->comm,
                          mine->process, at->name, at->code, &is_whole);
    if (site == NULL || site->n_odd != 1 || site->n_usual < LEAST_USUAL || site->odd <= site->usual)
        return;
    fprintf(stream, " Before number %" PRIu64 " of them", site->odd_nth);
    tg_words_moment(stream, telling->draft->input, site->odd_ns);
    fprintf(stream,
            ", rank %" PRId64 " made %" PRIu64 " other MPI calls, otherwise %" PRIu64
            ": it probably skipped one there.",
            tg_arrivals_rank(mine), site->odd, site->usual);
}

static bool is_last_call(const struct tg_mpi_arrival *arrival)
{
    return strcmp(arrival->name, "MPI_Finalize") == 0;
}

/* Whether the first suspect made fewer calls, or more, than the others; says so with IS_TOLD. */
static bool has_other_counts(const struct telling *telling, bool is_told)
{
    const struct tg_mpi_arrival *mine = telling->first[0], *theirs = telling->first[telling->n_groups - 1];
    if (mine->process == SIZE_MAX || theirs->process == SIZE_MAX)
        return false;
    const struct counts fewer = count_calls(telling, mine, theirs, theirs);
    const struct counts more = count_calls(telling, mine, theirs, mine);
    bool has_fewer = fewer.is_known && fewer.mine < fewer.theirs && !is_last_call(theirs);
    bool has_more = more.is_known && more.mine > more.theirs && !is_last_call(mine);
    if (has_fewer && is_told) {
        print_counts(telling, mine, theirs, theirs, &fewer);
        print_gap(telling, mine, theirs);
    }
    if (has_more && is_told && (!has_fewer || tg_mpi_site_low(mine->code) != tg_mpi_site_low(theirs->code)))
        print_counts(telling, mine, theirs, mine, &more);
    return has_fewer || has_more;
}

/* Of two groups of one size, the one in MPI_Finalize has left the other alone if it had made the other's call before: it
 * left a loop too early. If it never had, the other may have made a call too many. */
static void find_left(struct telling *telling)
{
    telling->has_left = SIZE_MAX;
    if (telling->n_groups != 2 || telling->sizes[0] != telling->sizes[1])
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct tg_mpi_arrival *mine = telling->first[i], *theirs = telling->first[1 - i];
        if (!is_last_call(mine) || is_last_call(theirs) || mine->process == SIZE_MAX ||
            theirs->process == SIZE_MAX)
            continue;
        const struct counts counts = count_calls(telling, mine, theirs, theirs);
        if (counts.mine > 0)
            telling->has_left = i;
    }
}

/* ---- findings */

/* " (MPI_INT)", " of MPI_INT": the datatype, where it may be why the calls differ. */
static void print_type(FILE *stream, const struct telling *telling, const struct tg_mpi_arrival *arrival)
{
    bool has_bytes = (telling->differs & TG_MPI_DIFFERS_BYTES) != 0;
    if (!is_known(arrival->type) || (!has_bytes && (telling->differs & TG_MPI_DIFFERS_TYPE) == 0))
        return;
    fputs(has_bytes ? " (" : " of ", stream);
    tg_printable_write(stream, arrival->type);
    fputs(has_bytes ? ")" : "", stream);
}

static struct tg_error *print_group(struct telling *telling, const struct tg_mpi_arrival *first)
{
    const struct likeness like = {first, telling->differs};
    struct tg_verdict_draft *draft = telling->draft;
    FILE *stream = draft->stream;
    struct tg_error *error =
        tg_arrivals_print_ranks(stream, telling->arrivals, telling->n, is_alike, &like, false);
    fputs(" called ", stream);
    tg_printable_write(stream, first->name);
    if (first->root >= 0)
        fprintf(stream, " with root %" PRId64, first->root);
    if ((telling->differs & TG_MPI_DIFFERS_BYTES) != 0 && first->bytes != UINT64_MAX)
        fprintf(stream, " of %" PRIu64 " byte%s", first->bytes, first->bytes == 1 ? "" : "s");
    print_type(stream, telling, first);
    if ((telling->differs & TG_MPI_DIFFERS_OP) != 0 && is_known(first->op))
        fprintf(stream, " with %s", strcmp(first->op, "own") == 0 ? "an operator of its own" : first->op);
    tg_words_moment(stream, draft->input, first->entered_ns);
    if (first->process != SIZE_MAX)
        tg_words_call_code(stream, draft->input, first->process, first->code, first->entered_ns);
    return error;
}

static void blame_group(struct telling *telling, const struct tg_mpi_arrival *first)
{
    const struct likeness like = {first, telling->differs};
    for (size_t i = 0; i < telling->n; i++)
        if (is_alike(&telling->arrivals[i], &like))
            tg_verdict_blame(telling->draft, telling->arrivals[i].process, 0, telling->arrivals[i].code);
}

static void note(struct tg_verdict_draft *draft, const struct tg_mpi_collective *collective)
{
    if (draft->n_mismatches < TG_VERDICT_MISMATCHES)
        draft->mismatches[draft->n_mismatches++] = (struct tg_verdict_mismatch){
            .job = collective->job, .comm = collective->comm, .finding = draft->result->count - 1};
}

/* Whether nothing else differs: the calls match, and their results are wrong. */
static bool is_confusion(const struct telling *telling)
{
    return (telling->differs & ~(unsigned)TG_MPI_CONFUSIONS) == 0;
}

static struct tg_error *tell(struct telling *telling)
{
    struct tg_verdict_draft *draft = telling->draft;
    const struct tg_mpi_collective *collective = telling->collective;
    find_left(telling);
    const struct tg_mpi_arrival *odd = telling->first[telling->has_left == SIZE_MAX ? 0 : telling->has_left];
    const struct tg_finding finding = {
        .kind = TG_FINDING_MISMATCH,
        .since_ns = collective->first_ns,
        .process = odd->process,
        .code = odd->code,
        .waiting = tg_arrivals_standing(telling->arrivals, telling->n, TG_MPI_WAITING),
        .missing = tg_arrivals_standing(telling->arrivals, telling->n, TG_MPI_MISSING),
        .is_warning = draft->is_good_end || is_confusion(telling)};
    struct tg_error *error = NULL;
    fputs((telling->differs & TG_MPI_DIFFERS_PLACE) != 0 ? "collective calls out of step ("
          : !is_confusion(telling)                       ? "mismatched collective calls ("
          : (telling->differs & TG_MPI_DIFFERS_OP) != 0  ? "collective calls with different operators ("
                                                         : "collective calls with different datatypes (",
          draft->stream);
    tg_words_collective(draft->stream, draft->input, collective);
    fputs("):", draft->stream);
    for (size_t i = 0; error == NULL && i < telling->n_groups; i++) {
        fputs(i == 0 ? " " : "; ", draft->stream);
        error = print_group(telling, telling->first[i]);
        if (is_suspect(telling, i))
            blame_group(telling, telling->first[i]);
    }
    fputc('.', draft->stream);
    if ((telling->differs & (TG_MPI_DIFFERS_CALL | TG_MPI_DIFFERS_PLACE)) != 0)
        has_other_counts(telling, true);
    if (error == NULL)
        error = tg_verdict_add(draft, &finding);
    if (error == NULL && !is_confusion(telling))
        note(draft, collective);
    return error;
}

bool tg_verdict_is_out_of_step(const struct tg_verdict_draft *draft, const char *job, uint64_t comm,
                               size_t *finding)
{
    for (size_t i = 0; i < draft->n_mismatches; i++) {
        if (draft->mismatches[i].job != job || draft->mismatches[i].comm != comm)
            continue;
        *finding = draft->mismatches[i].finding;
        return true;
    }
    return false;
}

static struct tg_error *find_mistake(void *context, const struct tg_mpi_collective *collective,
                                     const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct telling telling = {.draft = context,
                              .collective = collective,
                              .arrivals = arrivals,
                              .n = n,
                              .differs = collective->differs & TG_MPI_MISTAKES};
    size_t finding;
    if (tg_verdict_is_out_of_step(context, collective->job, collective->comm, &finding))
        return NULL;
    find_groups(&telling);
    return telling.n_groups < 2 ? NULL : tell(&telling);
}

/* ---- calls that are like the others' but for their place */

struct search {
    const struct tg_mpi_collective *of; /* on its communicator */
    bool is_found;
};

static struct tg_error *see_later(void *context, const struct tg_mpi_collective *collective,
                                  const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct search *search = context;
    if (collective->job == search->of->job && collective->comm == search->of->comm &&
        collective->instance > search->of->instance)
        search->is_found |= tg_arrivals_standing(arrivals, n, TG_MPI_WAITING) > 0 ||
                            (collective->differs & TG_MPI_MISTAKES) != 0;
    return NULL;
}

/* Whether something came of it: a later collective of the communicator that does not end, or a mistake. */
static bool has_consequences(const struct tg_verdict_draft *draft, const struct tg_mpi_collective *collective)
{
    struct search search = {.of = collective};
    struct tg_error *error = tg_mpi_model_visit_collectives(draft->input->mpi, see_later, &search);
    if (error == NULL)
        error = tg_mpi_model_visit_mismatches(draft->input->mpi, TG_MPI_MISTAKES, see_later, &search);
    tg_error_destroy(error);
    return search.is_found;
}

static struct tg_error *find_misplaced(void *context, const struct tg_mpi_collective *collective,
                                       const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct telling telling = {.draft = context,
                              .collective = collective,
                              .arrivals = arrivals,
                              .n = n,
                              .differs = TG_MPI_DIFFERS_PLACE};
    find_groups(&telling);
    if (telling.n_groups < 2 || !has_consequences(context, collective) || !has_other_counts(&telling, false))
        return NULL;
    return tell(&telling);
}

/* ---- datatypes and operators */

static struct tg_error *find_confusion(void *context, const struct tg_mpi_collective *collective,
                                       const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct telling telling = {.draft = context,
                              .collective = collective,
                              .arrivals = arrivals,
                              .n = n,
                              .differs = collective->differs & TG_MPI_CONFUSIONS};
    size_t finding;
    if ((collective->differs & TG_MPI_MISTAKES) != 0 ||
        tg_verdict_is_out_of_step(context, collective->job, collective->comm, &finding))
        return NULL;
    find_groups(&telling);
    return telling.n_groups < 2 ? NULL : tell(&telling);
}

/* "rank 1 received as MPI_DOUBLE in main (a.c:12) what rank 0 sent as MPI_INT in main (a.c:9), 3 times, ..." */
static struct tg_error *tell_mistyped(struct tg_verdict_draft *draft, const struct tg_mpi_mistyped *mistyped)
{
    const struct tg_mpi_message *sent = &mistyped->sent, *receive = &mistyped->receive;
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_MISMATCH,
                                       .since_ns = mistyped->time_ns,
                                       .process = receive->process,
                                       .code = receive->code,
                                       .is_warning = true};
    tg_words_process(stream, draft->input, receive->process);
    fputs(" received as ", stream);
    tg_printable_write(stream, receive->type);
    tg_words_code(stream, draft->input, receive->process, receive->code);
    fputs(" what ", stream);
    tg_words_process(stream, draft->input, sent->process);
    fputs(" sent as ", stream);
    tg_printable_write(stream, sent->type);
    tg_words_code(stream, draft->input, sent->process, sent->code);
    if (sent->tag >= 0)
        fprintf(stream, " (tag %" PRId64 ")", sent->tag);
    if (mistyped->count > 1) {
        fprintf(stream, ", %" PRIu64 " times, the first", mistyped->count);
    }
    tg_words_moment(stream, draft->input, mistyped->time_ns);
    fputs(": the datatypes do not match.", stream);
    tg_verdict_blame(draft, receive->process, receive->tid, receive->code);
    tg_verdict_blame(draft, sent->process, sent->tid, sent->code);
    return tg_verdict_add(draft, &finding);
}

struct tg_error *tg_verdict_find_confusions(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct tg_error *error = tg_mpi_model_visit_mismatches(mpi, TG_MPI_CONFUSIONS, find_confusion, draft);
    for (size_t i = 0; error == NULL && i < tg_mpi_model_mistyped_count(mpi); i++)
        error = tell_mistyped(draft, tg_mpi_model_mistyped_at(mpi, i));
    return error;
}

struct tg_error *tg_verdict_find_mismatches(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct tg_error *error =
        draft->is_good_end ? NULL
                           : tg_mpi_model_visit_mismatches(mpi, TG_MPI_DIFFERS_PLACE, find_misplaced, draft);
    return error != NULL ? error : tg_mpi_model_visit_mismatches(mpi, TG_MPI_MISTAKES, find_mistake, draft);
}
