/* Ranks that wait for others: collectives that not all have come to. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/polling.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/messages.h"
#include "analyzer/verdict/partitions.h"
#include "analyzer/verdict/windows.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has_standing(const struct tg_mpi_arrival *arrival, const void *standing)
{
    return arrival->standing == *(const enum tg_mpi_standing *)standing;
}

/* ---- collectives */

static bool is_of_interest(const struct tg_mpi_arrival *arrivals, size_t n)
{
    return tg_arrivals_standing(arrivals, n, TG_MPI_WAITING) > 0 &&
           tg_arrivals_standing(arrivals, n, TG_MPI_MISSING) > 0;
}

/* The longest time for which one of those who wait in COLLECTIVE was outside MPI before it came. */
static uint64_t longest_way(const struct tg_verdict_draft *draft, const struct tg_mpi_collective *collective,
                            const struct tg_mpi_arrival *arrivals, size_t n)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_threads = 0;
        const struct tg_mpi_thread *const *threads =
            arrivals[i].standing == TG_MPI_WAITING && arrivals[i].process < draft->n_processes
                ? tg_verdict_threads(draft, arrivals[i].process, &n_threads)
                : NULL;
        for (size_t j = 0; j < n_threads; j++) {
            uint64_t way_ns =
                threads[j]->call.instance == collective->instance ? tg_verdict_way(threads[j]) : 0;
            longest_ns = way_ns > longest_ns ? way_ns : longest_ns;
        }
    }
    return longest_ns;
}

/* Whether all who are missing and not stuck may still be computing what those who wait have computed. */
static bool may_be_on_their_way(const struct tg_verdict_draft *draft,
                                const struct tg_mpi_collective *collective,
                                const struct tg_mpi_arrival *arrivals, size_t n)
{
    uint64_t way_ns = longest_way(draft, collective, arrivals, n);
    for (size_t i = 0; i < n; i++)
        if (arrivals[i].standing == TG_MPI_MISSING &&
            (arrivals[i].process >= draft->n_processes ||
             (!draft->is_stuck[arrivals[i].process] &&
              !tg_verdict_may_be_on_its_way(draft, arrivals[i].process, way_ns))))
            return false;
    return true;
}

/* Whether those who are missing are so for good, or for so long that it is worth telling. */
static bool is_at_rest(struct tg_verdict_draft *draft, const struct tg_mpi_collective *collective,
                       const struct tg_mpi_arrival *arrivals, size_t n)
{
    uint64_t lasted = 0, first_ns = 0, busy_ns = 0;
    bool all_wait = true;
    size_t mismatch, first = SIZE_MAX;
    if (tg_verdict_is_out_of_step(draft, collective->job, collective->comm, &mismatch))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].standing == TG_MPI_MISSING) {
            if (arrivals[i].process < draft->n_processes &&
                (tg_verdict_is_gone(draft, arrivals[i].process) ||
                 tg_verdict_is_explained(draft, arrivals[i].process)))
                return true;
            bool is_stuck = arrivals[i].process < draft->n_processes && draft->is_stuck[arrivals[i].process];
            uint64_t step_ns = tg_verdict_last_step(draft, arrivals[i].process);
            all_wait = all_wait && is_stuck;
            busy_ns = !is_stuck && step_ns > busy_ns ? step_ns : busy_ns;
        }
        if (arrivals[i].standing != TG_MPI_WAITING || arrivals[i].process >= draft->n_processes)
            continue;
        if (first_ns == 0 || arrivals[i].entered_ns < first_ns) {
            first_ns = arrivals[i].entered_ns;
            first = arrivals[i].process;
        }
    }
    /* A missing process has done something meanwhile. */
    if (first != SIZE_MAX)
        lasted = tg_stillness_lasted(&draft->stillness, first, busy_ns > first_ns ? busy_ns : first_ns);
    if (!all_wait && may_be_on_their_way(draft, collective, arrivals, n))
        return tg_stillness_pass_over(&draft->stillness, TG_WAIT_MPI, lasted);
    return all_wait ? tg_stillness_is_closed(&draft->stillness, TG_WAIT_MPI, lasted, 0)
                    : tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted);
}

/* The one finding that says it of all ranks that are missing; SIZE_MAX: no single one does. */
static size_t told_of_all(const struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrivals,
                          size_t n)
{
    size_t told = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING)
            continue;
        size_t of_this = tg_verdict_told_in(draft, arrivals[i].process);
        if (of_this == SIZE_MAX || (told != SIZE_MAX && told != of_this))
            return SIZE_MAX;
        told = of_this;
    }
    return told;
}

/* Ranks that have not come as far as the trace shows, of processes that are in it or of others. */
static size_t count_missing(const struct tg_mpi_arrival *arrivals, size_t n, bool in_trace)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += arrivals[i].standing == TG_MPI_MISSING && (arrivals[i].process != SIZE_MAX) == in_trace;
    return count;
}

/* Of ranks that are not in the trace only that one is known to be missing, where all others have come. */
static void print_absent(FILE *stream, const struct tg_mpi_arrival *arrival, bool is_the_one, bool is_named)
{
    int64_t rank = tg_arrivals_rank(arrival);
    if (!is_named)
        fprintf(stream, " Rank %" PRId64 " is not in the trace.", rank);
    else if (is_the_one)
        fprintf(stream, " Rank %" PRId64 " is missing and not in the trace.", rank);
    else
        fprintf(stream, " Whether rank %" PRId64 " has come is not known: it is not in the trace.", rank);
}

static void print_present(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrival, bool is_named)
{
    FILE *stream = draft->stream;
    fprintf(stream, " Rank %" PRId64, tg_arrivals_rank(arrival));
    if (arrival->process < draft->n_processes)
        tg_words_job(stream, draft->input,
                     tg_process_model_at(draft->input->processes, arrival->process)->job);
    fputs(is_named ? " is missing" : "", stream);
    size_t above = tg_verdict_told_in(draft, arrival->process);
    if (above != SIZE_MAX) {
        tg_verdict_refer(draft, is_named ? " (see " : ": see ", above, is_named ? ")" : "");
    } else {
        fputs(": ", stream);
        tg_words_process_state(stream, draft->input, arrival->process);
    }
    fputc('.', stream);
}

/* Describes the first ranks that are missing, those in the trace before others; ARE_NAMED: says of each that it is missing,
 * which was not said yet. */
static void print_missing(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrivals, size_t n,
                          bool are_named)
{
    size_t told = 0;
    bool is_the_one = count_missing(arrivals, n, true) == 0 && count_missing(arrivals, n, false) == 1;
    for (size_t i = 0; i < n && told < TG_VERDICT_DETAILED; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING || arrivals[i].process == SIZE_MAX)
            continue;
        told++;
        print_present(draft, &arrivals[i], are_named);
    }
    for (size_t i = 0; i < n && told < TG_VERDICT_DETAILED; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING || arrivals[i].process != SIZE_MAX)
            continue;
        told++;
        print_absent(draft->stream, &arrivals[i], is_the_one, are_named);
    }
}

/* At the place of its last call of MPI. */
static void blame_missing(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrival)
{
    if (arrival->process == SIZE_MAX)
        tg_verdict_blame_rank(draft, tg_arrivals_rank(arrival));
    else
        tg_verdict_blame_last_call(draft, arrival->process);
}

/* Whether a thread in NAME waits for others, also in one-sided communication. */
static bool is_waiting_call(const char *name)
{
    static const char *const windows[] = {"MPI_Win_lock",     "MPI_Win_unlock",     "MPI_Win_flush",
                                          "MPI_Win_lock_all", "MPI_Win_unlock_all", "MPI_Win_flush_all",
                                          "MPI_Win_start",    "MPI_Win_complete",   "MPI_Win_wait"};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        if (strcmp(name, windows[i]) == 0)
            return true;
    return tg_mpi_call_waits(name);
}

/* Whether PROCESS is in a call of MPI that waits, or polls: it makes progress for others. */
static bool is_in_wait(const struct tg_verdict_draft *draft, size_t process)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (thread->process == process &&
            (thread->in_call ? is_waiting_call(thread->call.name) : tg_polling_is(draft->input, thread)))
            return true;
    }
    return false;
}

/* Whether ARRIVAL is missing because of something else than a wait, as far as is known. */
static bool is_away(const struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrival)
{
    return arrival->standing == TG_MPI_MISSING && arrival->process < draft->n_processes &&
           !is_in_wait(draft, arrival->process) &&
           (tg_verdict_is_gone(draft, arrival->process) || !tg_verdict_may_poll(draft, arrival->process));
}

/* Blames those who are missing: of some that wait in MPI themselves, or may be polling, and some that do not, the latter. */
static void blame_all_missing(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrivals, size_t n)
{
    bool has_away = false, has_outside = false, has_present = count_missing(arrivals, n, true) > 0;
    for (size_t i = 0; i < n; i++) {
        has_away |= is_away(draft, &arrivals[i]);
        has_outside |= arrivals[i].standing == TG_MPI_MISSING && arrivals[i].process != SIZE_MAX &&
                       !is_in_wait(draft, arrivals[i].process);
    }
    for (size_t i = 0; i < n; i++) {
        bool is_in_trace = arrivals[i].process != SIZE_MAX;
        if (arrivals[i].standing == TG_MPI_MISSING && !(has_present && !is_in_trace) &&
            !(has_away && is_in_trace && !is_away(draft, &arrivals[i])) &&
            !(has_outside && is_in_trace && is_in_wait(draft, arrivals[i].process)))
            blame_missing(draft, &arrivals[i]);
    }
}

/* Whether NAME comes back when it has begun its collective, or before. */
static bool is_begun_only(const char *name)
{
    bool nonblocking, persistent;
    return tg_mpi_call_role(name, &nonblocking, &persistent) == TG_MPI_COLLECTIVE &&
           (nonblocking || persistent);
}

static struct tg_error *tell_collective(struct tg_verdict_draft *draft,
                                        const struct tg_mpi_collective *collective,
                                        const struct tg_mpi_arrival *arrivals, size_t n)
{
    static const enum tg_mpi_standing is_waiting = TG_MPI_WAITING, is_missing = TG_MPI_MISSING;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_COLLECTIVE,
                                 .since_ns = collective->first_ns,
                                 .process = SIZE_MAX,
                                 .waiting = tg_arrivals_standing(arrivals, n, TG_MPI_WAITING),
                                 .missing = tg_arrivals_standing(arrivals, n, TG_MPI_MISSING)};
    const struct tg_mpi_arrival *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].standing == TG_MPI_WAITING && /* one that called what the finding says */
            (first == NULL ||
             (strcmp(first->name, collective->name) != 0 && strcmp(arrivals[i].name, collective->name) == 0)))
            first = &arrivals[i];
        if (finding.process == SIZE_MAX && arrivals[i].standing == TG_MPI_MISSING)
            finding.process = arrivals[i].process;
        finding.is_consequence |=
            arrivals[i].standing == TG_MPI_MISSING &&
            (tg_verdict_waits(draft, arrivals[i].process) || is_in_wait(draft, arrivals[i].process) ||
             tg_verdict_is_explained(draft, arrivals[i].process));
    }
    blame_all_missing(draft, arrivals, n);
    size_t mismatch = SIZE_MAX;
    finding.is_consequence |= tg_verdict_is_out_of_step(draft, collective->job, collective->comm, &mismatch);
    finding.code = draft->n_culprits > 0 ? draft->culprits[0].code : 0; /* of the first that is missing */
    struct tg_error *error =
        tg_arrivals_print_ranks(stream, draft->input, arrivals, n, has_standing, &is_waiting, true);
    if (error != NULL)
        return error;
    fputs(finding.waiting == 1 ? " has been waiting" : " have been waiting", stream);
    fputs(is_begun_only(first->name) ? " for " : " in ", stream);
    tg_printable_write(stream, collective->name);
    fputs(" (", stream);
    tg_words_collective(stream, draft->input, collective);
    fputc(')', stream);
    if (first->process != SIZE_MAX)
        tg_words_call_code(stream, draft->input, first->process, first->code, first->entered_ns);
    tg_words_since(stream, draft->input, collective->first_ns);
    fputs(finding.waiting == 1 ? "" : " (first arrival)", stream);
    if (mismatch != SIZE_MAX)
        tg_verdict_refer(draft, ", out of step (see ", mismatch, ")");
    fputc('.', stream);
    size_t told = told_of_all(draft, arrivals, n);
    if (finding.missing > TG_VERDICT_DETAILED) {
        fputc(' ', stream);
        error = tg_arrivals_print_ranks(stream, draft->input, arrivals, n, has_standing, &is_missing, true);
        fputs(count_missing(arrivals, n, false) > 0 ? " are missing, or not in the trace" : " are missing",
              stream);
        if (told != SIZE_MAX)
            tg_verdict_refer(draft, " (see ", told, ")");
        fputc('.', stream);
    }
    if (finding.missing <= TG_VERDICT_DETAILED || told == SIZE_MAX)
        print_missing(draft, arrivals, n, finding.missing <= TG_VERDICT_DETAILED);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}

/* Whether THREAD needs all of the requests that it waits for. */
static bool needs_all(const struct tg_mpi_thread *thread)
{
    return strcmp(thread->call.name, "MPI_Waitall") == 0 || strcmp(thread->call.name, "MPI_Testall") == 0;
}

/* Whether THREAD is in a wait for the request of COLLECTIVE, or may be. */
static bool waits_for(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread,
                      const struct tg_mpi_collective *collective)
{
    if (tg_mpi_call_role(thread->call.name, NULL, NULL) != TG_MPI_COMPLETION)
        return false;
    for (size_t i = 0; i < thread->n_requests; i++) {
        const struct tg_mpi_started *started =
            tg_mpi_model_started(input->mpi, thread->process, thread->requests[i]);
        if (started != NULL && started->comm == collective->comm && started->instance == collective->instance)
            return true;
    }
    return thread->n_requests == 0;
}

/* The thread of PROCESS that waits in COLLECTIVE, which it called as NAME: in the call itself, or for requests after
 * it has only begun it. NULL: none does. */
static const struct tg_mpi_thread *thread_in(const struct tg_verdict_input *input, size_t process,
                                             const struct tg_mpi_collective *collective, const char *name)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process != process || (!thread->in_call && !tg_polling_is_wait(input, thread)))
            continue;
        bool is_it = thread->call.comm == collective->comm && thread->call.instance == collective->instance;
        if ((thread->in_call && is_it) ||
            (is_begun_only(name) && tg_polling_waits(input, thread) && waits_for(input, thread, collective)))
            return thread;
    }
    return NULL;
}

/* ---- collectives that all have begun and one does not carry on */

/* Whether ARRIVAL, who has begun its collective, does nothing for it: it is outside of MPI, and does not test. */
static bool is_idle(const struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrival)
{
    return arrival->standing == TG_MPI_WAITING && arrival->process < draft->n_processes &&
           is_begun_only(arrival->name) && !tg_verdict_is_in_mpi(draft, arrival->process) &&
           !tg_verdict_may_poll(draft, arrival->process) &&
           !tg_stillness_had_ended(&draft->stillness, arrival->process);
}

/* The thread of ARRIVAL that waits for COLLECTIVE alone; NULL none. */
static const struct tg_mpi_thread *waits_alone(const struct tg_verdict_draft *draft,
                                               const struct tg_mpi_collective *collective,
                                               const struct tg_mpi_arrival *arrival)
{
    const struct tg_mpi_thread *thread =
        arrival->standing != TG_MPI_WAITING
            ? NULL
            : thread_in(draft->input, arrival->process, collective, arrival->name);
    bool is_choice = thread != NULL && thread->n_requests > 1 && !needs_all(thread);
    return thread == NULL || thread->n_requests == 0 || is_choice ? NULL : thread;
}

/* All have begun COLLECTIVE, which is moved on in calls of MPI: says who waits for it, and who is in none. */
static struct tg_error *find_neglected(void *context, const struct tg_mpi_collective *collective,
                                       const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct tg_verdict_draft *draft = context;
    FILE *stream = draft->stream;
    const struct tg_mpi_arrival *who = NULL, *idle = NULL;
    const struct tg_mpi_thread *thread = NULL;
    for (size_t i = 0; thread == NULL && i < n; i++) {
        who = &arrivals[i];
        thread = waits_alone(draft, collective, who);
    }
    if (thread == NULL || tg_arrivals_standing(arrivals, n, TG_MPI_MISSING) > 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (is_idle(draft, &arrivals[i]) &&
            (idle == NULL ||
             tg_verdict_last_step(draft, arrivals[i].process) < tg_verdict_last_step(draft, idle->process)))
            idle = &arrivals[i];
    if (idle == NULL || tg_verdict_is_explained(draft, idle->process))
        return NULL;
    uint64_t since_ns = thread->call.since_ns, step_ns = tg_verdict_last_step(draft, idle->process);
    uint64_t lasted_ns =
        tg_verdict_lasted(draft, thread->process, idle->process, step_ns > since_ns ? step_ns : since_ns);
    if (!tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns))
        return NULL;
    const struct tg_finding finding = {.kind = TG_FINDING_COLLECTIVE,
                                       .since_ns = since_ns,
                                       .process = idle->process,
                                       .waiting = 1,
                                       .missing = 1};
    tg_words_process(stream, draft->input, who->process);
    fputs(" has been waiting for ", stream);
    tg_printable_write(stream, who->name);
    fputs(" (", stream);
    tg_words_collective(stream, draft->input, collective);
    fputc(')', stream);
    tg_words_call_code(stream, draft->input, thread->process, thread->call.code, since_ns);
    tg_words_since(stream, draft->input, since_ns);
    fputs(". All ranks have begun it; ", stream);
    tg_words_process(stream, draft->input, idle->process);
    fputs(" did", stream);
    tg_words_moment(stream, draft->input, idle->entered_ns);
    tg_words_code(stream, draft->input, idle->process, idle->code);
    fputs(" and does nothing more for it, because MPI libraries make progress only within MPI calls: ",
          stream);
    tg_words_process_state(stream, draft->input, idle->process);
    fputc('.', stream);
    tg_verdict_blame_last_call(draft, idle->process);
    struct tg_error *error = tg_verdict_add(draft, &finding);
    for (size_t i = 0; error == NULL && i < n; i++)
        if (arrivals[i].process < draft->n_processes && waits_alone(draft, collective, &arrivals[i]) != NULL)
            tg_verdict_explain(draft, arrivals[i].process); /* others wait for it because of that */
    return error;
}

/* A rank that has only begun a collective, and computes or waits for something else, does not wait in it. */
static struct tg_error *find_collective(void *context, const struct tg_mpi_collective *collective,
                                        const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct tg_verdict_draft *draft = context;
    struct tg_mpi_arrival *waiting = calloc(n_arrivals + 1, sizeof *waiting);
    if (waiting == NULL)
        return tg_error_no_memory();
    memcpy(waiting, arrivals, n_arrivals * sizeof *waiting);
    for (size_t i = 0; i < n_arrivals; i++)
        if (waiting[i].standing == TG_MPI_WAITING &&
            thread_in(draft->input, waiting[i].process, collective, waiting[i].name) == NULL)
            waiting[i].standing = TG_MPI_PASSED;
    struct tg_error *error = NULL;
    if (is_of_interest(waiting, n_arrivals) && is_at_rest(draft, collective, waiting, n_arrivals))
        error = tell_collective(draft, collective, waiting, n_arrivals);
    free(waiting);
    return error;
}

/* ---- waits of ranks for each other */

/* Whether a rank in COLLECTIVE cannot leave it before OTHER comes; MISSING_ROOT: OTHER is the root. */
static bool needs(const struct tg_mpi_collective *collective, bool is_root, bool missing_root)
{
    static const char *const all_of_all[] = {"Barrier",    "Allreduce",      "Allgather",
                                             "Allgatherv", "Alltoall",       "Alltoallv",
                                             "Alltoallw",  "Reduce_scatter", "Reduce_scatter_block"};
    static const char *const to_root[] = {"Reduce", "Gather", "Gatherv"};
    static const char *const from_root[] = {"Bcast", "Scatter", "Scatterv"};
    const char *name = tg_mpi_call_plain(collective->name);
    for (size_t i = 0; i < sizeof all_of_all / sizeof all_of_all[0]; i++)
        if (strcmp(name, all_of_all[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof to_root / sizeof to_root[0]; i++)
        if (strcmp(name, to_root[i]) == 0)
            return is_root;
    for (size_t i = 0; i < sizeof from_root / sizeof from_root[0]; i++)
        if (strcmp(name, from_root[i]) == 0)
            return missing_root;
    return false;
}

static struct tg_error *collect_collective(void *context, const struct tg_mpi_collective *collective,
                                           const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct tg_verdict_draft *draft = context;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < n && draft->n_waits < TG_VERDICT_WAITS; i++) {
        if (arrivals[i].standing != TG_MPI_WAITING || arrivals[i].process == SIZE_MAX ||
            strcmp(arrivals[i].name, "MPI_Finalize") ==
                0) /* the rank's work is done: it holds nobody up by waiting */
            continue;
        const struct tg_mpi_thread *thread =
            thread_in(draft->input, arrivals[i].process, collective, arrivals[i].name);
        bool is_in_it = thread != NULL && thread->call.instance == collective->instance;
        bool is_choice =
            thread != NULL && thread->n_requests != 1 && (thread->n_requests == 0 || !needs_all(thread));
        if (thread != NULL && !is_in_it && is_choice)
            continue; /* in a wait for requests, of which this may be one of several */
        for (size_t j = 0, told = 0; error == NULL && j < n && told < TG_VERDICT_NAMED; j++) {
            if (arrivals[j].standing != TG_MPI_MISSING)
                continue;
            told++;
            const struct tg_verdict_wait wait = {.from = arrivals[i].process,
                                                 .to = arrivals[j].process,
                                                 .thread = thread,
                                                 .to_do = is_in_it ? NULL : " to begin it",
                                                 .is_for_all = true,
                                                 .is_sure = !collective->differs && arrivals[i].side == 0 &&
                                                            needs(collective,
                                                                  arrivals[i].comm_rank == collective->root,
                                                                  arrivals[j].comm_rank == collective->root)};
            error = tg_verdict_add_wait(draft, &wait);
        }
    }
    return error;
}

struct tg_error *tg_verdict_collect_waits(struct tg_verdict_draft *draft)
{
    struct tg_error *error = tg_mpi_model_visit_collectives(draft->input->mpi, collect_collective, draft);
    if (error == NULL)
        error = tg_verdict_collect_windows(draft);
    if (error == NULL)
        error = tg_verdict_collect_partitions(draft);
    return error != NULL ? error : tg_verdict_collect_messages(draft);
}

struct tg_error *tg_verdict_find_mpi(struct tg_verdict_draft *draft)
{
    struct tg_error *error = tg_verdict_find_partitions(draft);
    if (error == NULL)
        error = tg_mpi_model_visit_collectives(draft->input->mpi, find_neglected, draft);
    if (error == NULL)
        error = tg_mpi_model_visit_collectives(draft->input->mpi, find_collective, draft);
    if (error == NULL)
        error = tg_verdict_find_windows(draft);
    return error != NULL ? error : tg_verdict_find_messages(draft);
}
