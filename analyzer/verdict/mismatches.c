/* Collectives in which the calls of a communicator's processes disagree: of each the first one, whatever became of the
 * job. All that comes after it on that communicator is out of step, unless nothing but datatypes or operators differ; then
 * the results are wrong. Messages that were received as another datatype, likewise. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/models/mpi/types.h"
#include "analyzer/verdict/finders.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 4 }; /* different ones that a finding lists */

/* ---- groups of calls that are alike */

struct likeness {
    const struct tg_mpi_arrival *arrival;
    unsigned differs; /* what matters */
    const struct tg_verdict_input *input;
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

/* The compiler may have made several calls of one line. */
static bool is_same_place(const struct tg_verdict_input *input, const struct tg_mpi_arrival *x,
                          const struct tg_mpi_arrival *y)
{
    return tg_mpi_site_low(x->code) == tg_mpi_site_low(y->code) ||
           tg_words_is_same_line(input, x->process, x->code, y->process, y->code);
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
    return (like->differs & TG_MPI_DIFFERS_PLACE) == 0 || is_same_place(like->input, arrival, other);
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
    size_t has_own; /* the group that made a call before which nobody else made; SIZE_MAX none */
    const struct tg_mpi_site *own; /* the call of that group */
};

static size_t count_alike(const struct telling *telling, const struct tg_mpi_arrival *arrival)
{
    const struct likeness like = {arrival, telling->differs, telling->draft->input};
    size_t count = 0;
    for (size_t i = 0; i < telling->n; i++)
        count += is_alike(&telling->arrivals[i], &like);
    return count;
}

static bool is_first_of_group(const struct telling *telling, size_t i)
{
    const struct likeness like = {&telling->arrivals[i], telling->differs, telling->draft->input};
    if (!has_come(&telling->arrivals[i]))
        return false;
    for (size_t before = 0; before < i; before++)
        if (is_alike(&telling->arrivals[before], &like))
            return false;
    return true;
}

/* The ranks that are alone, or few, have made the mistake: smaller groups come first. */
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
    if (telling->has_own != SIZE_MAX)
        return i == telling->has_own;
    return i + 1 < telling->n_groups || telling->sizes[i] == telling->sizes[i - 1];
}

/* ---- how often */

struct counts {
    uint64_t mine, theirs;
    bool is_known;
};

/* How often the process of WHO called what AT called, from there: the compiler may have made several calls of one. */
static uint64_t count_at(const struct telling *telling, const struct tg_mpi_arrival *who,
                         const struct tg_mpi_arrival *at, bool *is_whole)
{
    const struct tg_mpi_collective *collective = telling->collective;
    const struct tg_verdict_input *input = telling->draft->input;
    uint64_t count = 0;
    size_t n;
    const struct tg_mpi_site *sites =
        tg_mpi_model_sites(input->mpi, collective->job, collective->comm, who->process, &n, is_whole);
    for (size_t i = 0; i < n; i++)
        if (sites[i].name == at->name &&
            (tg_mpi_site_low(sites[i].code) == tg_mpi_site_low(at->code) ||
             tg_words_is_same_line(input, who->process, sites[i].code, at->process, at->code)))
            count += sites[i].count;
    return count;
}

/* How often the processes of MINE and THEIRS called what AT called, from there. */
static struct counts count_calls(const struct telling *telling, const struct tg_mpi_arrival *mine,
                                 const struct tg_mpi_arrival *theirs, const struct tg_mpi_arrival *at)
{
    bool mine_whole, theirs_whole;
    struct counts counts = {.mine = count_at(telling, mine, at, &mine_whole),
                            .theirs = count_at(telling, theirs, at, &theirs_whole)};
    counts.is_known = mine_whole && theirs_whole;
    return counts;
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
    if (!tg_words_is_python_call(telling->draft->input, at->process, at->code, at->entered_ns))
        tg_words_code(stream, telling->draft->input, at->process,
                      at->code); /* of all lines of a script one */
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

/* ---- a call that a group made before, and nobody else */

/* Whether PROCESS called what SITE says from there; also where that is not known. */
static bool has_called(const struct telling *telling, size_t process, const struct tg_mpi_site *site)
{
    const struct tg_mpi_collective *collective = telling->collective;
    bool is_whole;
    return tg_mpi_model_site(telling->draft->input->mpi, collective->job, collective->comm, process,
                             site->name, site->code, &is_whole) != NULL ||
           !is_whole;
}

/* Whether PROCESS has come as far as SITE's last call. */
static bool has_passed(const struct telling *telling, size_t process, const struct tg_mpi_site *site)
{
    const struct tg_mpi_collective *collective = telling->collective;
    bool is_whole;
    size_t n;
    const struct tg_mpi_site *sites = tg_mpi_model_sites(telling->draft->input->mpi, collective->job,
                                                         collective->comm, process, &n, &is_whole);
    for (size_t i = 0; i < n; i++)
        if (sites[i].last_instance >= site->last_instance)
            return true;
    return false;
}

/* The latest call of group I, before the collective in question, that nobody outside of the group made, and which at least two
 * have done without: of one against one, either may have left it out or made it too often. NULL: none. */
static const struct tg_mpi_site *find_own_call(const struct telling *telling, size_t i)
{
    const struct tg_mpi_collective *collective = telling->collective;
    const struct likeness like = {telling->first[i], telling->differs, telling->draft->input};
    const struct tg_mpi_site *own = NULL;
    bool is_whole;
    size_t n;
    const struct tg_mpi_site *sites =
        tg_mpi_model_sites(telling->draft->input->mpi, collective->job, collective->comm,
                           telling->first[i]->process, &n, &is_whole);
    for (size_t at = 0; at < n; at++) {
        bool is_own = sites[at].last_instance < collective->instance;
        size_t without = 0;
        for (size_t other = 0; is_own && other < telling->n; other++)
            if (!is_alike(&telling->arrivals[other], &like)) {
                is_own = !has_called(telling, telling->arrivals[other].process, &sites[at]);
                without += has_passed(telling, telling->arrivals[other].process, &sites[at]);
            }
        if (is_own && without > 1 && (own == NULL || sites[at].last_instance > own->last_instance))
            own = &sites[at];
    }
    return own;
}

/* Of two groups of one size, the one that made a call of its own before, where the other has made none, is one call ahead. */
static void find_own(struct telling *telling)
{
    telling->has_own = SIZE_MAX;
    if (telling->n_groups != 2 || telling->sizes[0] != telling->sizes[1] || telling->has_left != SIZE_MAX)
        return;
    const struct tg_mpi_site *own[] = {find_own_call(telling, 0), find_own_call(telling, 1)};
    if ((own[0] == NULL) == (own[1] == NULL))
        return;
    telling->has_own = own[0] != NULL ? 0 : 1;
    telling->own = own[telling->has_own];
}

/* " Rank 1 alone had called MPI_Barrier in main (a.c:12), once." */
static void print_own(const struct telling *telling)
{
    const struct tg_mpi_arrival *mine = telling->first[telling->has_own];
    FILE *stream = telling->draft->stream;
    fprintf(stream, " Rank %" PRId64 " alone had called ", tg_arrivals_rank(mine));
    tg_printable_write(stream, telling->own->name);
    tg_words_code(stream, telling->draft->input, mine->process, telling->own->code);
    fputs(" before, ", stream);
    print_times(stream, telling->own->count);
    fputc('.', stream);
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

/* Whether MPI refused the count of the call that ARRIVAL made: such a call has no bytes, and it is not what is wrong. */
static bool has_wrong_count(const struct tg_verdict_input *input, const struct tg_mpi_arrival *arrival)
{
    for (size_t i = 0; i < tg_mpi_model_fault_count(input->mpi); i++) {
        const struct tg_mpi_fault *fault = tg_mpi_model_fault_at(input->mpi, i);
        if (fault->process == arrival->process && fault->in_call &&
            fault->call.since_ns == arrival->entered_ns && strcmp(fault->error_class, "MPI_ERR_COUNT") == 0)
            return true;
    }
    return false;
}

static struct tg_error *print_group(struct telling *telling, const struct tg_mpi_arrival *first)
{
    const struct likeness like = {first, telling->differs, telling->draft->input};
    struct tg_verdict_draft *draft = telling->draft;
    FILE *stream = draft->stream;
    struct tg_error *error =
        tg_arrivals_print_ranks(stream, draft->input, telling->arrivals, telling->n, is_alike, &like, false);
    fputs(" called ", stream);
    tg_printable_write(stream, first->name);
    if (first->root >= 0)
        fprintf(stream, " with root %" PRId64, first->root);
    if ((telling->differs & TG_MPI_DIFFERS_BYTES) != 0 && first->bytes == 0 &&
        has_wrong_count(draft->input, first))
        fputs(" with an invalid count", stream);
    else if ((telling->differs & TG_MPI_DIFFERS_BYTES) != 0 && first->bytes != UINT64_MAX)
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
    const struct likeness like = {first, telling->differs, telling->draft->input};
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
    find_own(telling);
    bool has_own = telling->has_own != SIZE_MAX;
    const struct tg_mpi_arrival *odd = telling->first[telling->has_left != SIZE_MAX ? telling->has_left
                                                      : has_own                     ? telling->has_own
                                                                                    : 0];
    const struct tg_finding finding = {
        .kind = TG_FINDING_MISMATCH,
        .since_ns = collective->first_ns,
        .process = odd->process,
        .code = has_own ? telling->own->code : odd->code,
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
        if (has_own && i == telling->has_own)
            tg_verdict_blame(draft, odd->process, 0, telling->own->code);
        else if (is_suspect(telling, i))
            blame_group(telling, telling->first[i]);
    }
    fputc('.', draft->stream);
    if ((telling->differs & (TG_MPI_DIFFERS_CALL | TG_MPI_DIFFERS_PLACE)) != 0)
        has_other_counts(telling, true);
    if (has_own)
        print_own(telling);
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
