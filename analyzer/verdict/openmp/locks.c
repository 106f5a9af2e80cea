/* Threads that wait for locks, and rings of threads in which each waits for the next: for a lock, at a barrier,
 * for a task. */
#include "analyzer/finding/words.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/openmp/executors.h"
#include "analyzer/verdict/openmp/finders.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_lock(const struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                       const struct tg_openmp_place *place)
{
    fputs("the ", draft->stream);
    tg_words_lock(draft->stream, draft->input, worker->process, place);
}

/* Where WORKER waits. */
static const struct tg_openmp_place *place_of(const struct tg_openmp_waits *waits,
                                              const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *lock = tg_openmp_waits_lock(waits, worker);
    return lock != NULL ? lock : tg_openmp_waits_place(worker);
}

static void print_tests(FILE *stream, const struct tg_openmp_worker *worker,
                        const struct tg_openmp_place *place)
{
    if (tg_openmp_waits_is_tested(worker, place))
        fprintf(stream, " (found taken at least %" PRIu64 " times)", worker->tests.count);
}

/* ---- rings */

/* " since 1.2 s in solve() ...", of what was entered as HELD says */
static void print_entering(const struct tg_verdict_draft *draft, const struct tg_openmp_worker *holder,
                           const struct tg_openmp_place *held)
{
    if (held == NULL)
        return;
    tg_words_since(draft->stream, draft->input, held->since_ns);
    tg_words_code(draft->stream, draft->input, holder->process, held->code);
}

/* Worker FROM of a ring waits for worker TO. */
static void print_wait(struct tg_verdict_draft *draft, const struct tg_openmp_waits *waits,
                       const struct tg_openmp_worker *from, const struct tg_openmp_worker *to)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_place *place = place_of(waits, from), *held = NULL;
    bool is_lock = place->kind == TG_OPENMP_IN_MUTEX_WAIT;
    fputs(" w", stream);
    tg_openmp_search_print_worker(draft, from);
    fprintf(stream, " has been %s ",
            tg_openmp_waits_is_tested(from, place) ? "testing"
            : is_lock                              ? "waiting for"
                                                   : "waiting at");
    if (is_lock)
        print_lock(draft, from, place);
    else
        fprintf(stream, "the %s", tg_openmp_words_sync(place->what)->phrase);
    tg_words_since(stream, draft->input, place->since_ns);
    tg_words_code(stream, draft->input, from->process, place->code);
    print_tests(stream, from, place);
    if (from == to)
        fputs(", which it already holds", stream);
    else
        fprintf(stream, is_lock ? ", held by worker %" PRIu64 : ", for worker %" PRIu64, to->number);
    if (is_lock)
        (void)tg_openmp_waits_holder(waits, from, &held);
    print_entering(draft, to, held);
    tg_verdict_blame_worker(draft, from, place->code);
}

/* How many wait for one of the ring and are none of it. */
static size_t count_behind(const struct tg_openmp_waits *waits, const size_t *ring, size_t count)
{
    size_t behind = 0, last = SIZE_MAX;
    for (size_t i = 0; i < waits->n_waits; i++) {
        const struct tg_openmp_wait *wait = &waits->waits[i];
        bool is_for = false, is_of = false;
        for (size_t j = 0; j < count; j++) {
            is_for |= wait->to == ring[j];
            is_of |= wait->from == ring[j];
        }
        behind += is_for && !is_of && wait->from != last;
        if (is_for && !is_of)
            last = wait->from;
    }
    return behind;
}

/* Where a telling of the ring begins: whoever does not wait for a lock, else the first. */
static size_t first_of(const struct tg_openmp_model *model, const size_t *ring, size_t count)
{
    size_t least = 0;
    for (size_t i = 0; i < count; i++) {
        if (tg_openmp_waits_at(tg_openmp_model_worker_at(model, ring[i]), TG_OPENMP_IN_SYNC) != NULL)
            return i;
        if (ring[i] < ring[least])
            least = i;
    }
    return least;
}

static struct tg_error *tell_ring(struct tg_verdict_draft *draft, const struct tg_openmp_waits *waits,
                                  const size_t *ring, size_t count)
{
    FILE *stream = draft->stream;
    size_t first = first_of(waits->model, ring, count), behind = count_behind(waits, ring, count);
    const struct tg_openmp_worker *at = tg_openmp_model_worker_at(waits->model, ring[first]);
    struct tg_finding finding = {.kind = TG_FINDING_DEADLOCK,
                                 .process = at->process,
                                 .code = place_of(waits, at)->code,
                                 .waiting = count};
    bool is_tested = false;
    for (size_t i = 0; i < count; i++) { /* a deadlock since the last one waits */
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(waits->model, ring[i]);
        const struct tg_openmp_place *place = place_of(waits, worker);
        finding.since_ns = place->since_ns > finding.since_ns ? place->since_ns : finding.since_ns;
        is_tested |= tg_openmp_waits_is_tested(worker, place);
    }
    uint64_t lasted_ns = tg_stillness_lasted(&draft->stillness, at->process, finding.since_ns);
    bool is_stuck = draft->input->is_of_moment;
    if (is_tested) /* the program may give up */
        is_stuck = tg_stillness_is_long(&draft->stillness, TG_WAIT_OPENMP, lasted_ns);
    else if (!is_stuck)
        is_stuck = tg_stillness_is_closed(&draft->stillness, TG_WAIT_OPENMP, lasted_ns, 0);
    if (!is_stuck)
        return NULL;
    fputs("deadlock in ", stream);
    tg_words_process(stream, draft->input, at->process);
    fputc(':', stream);
    for (size_t i = 0; i < count && i < TG_VERDICT_NAMED; i++) {
        at = tg_openmp_model_worker_at(waits->model, ring[(first + i) % count]);
        if (i > 0)
            fputc(';', stream);
        print_wait(draft, waits, at, tg_openmp_model_worker_at(waits->model, ring[(first + i + 1) % count]));
    }
    if (count > TG_VERDICT_NAMED)
        fprintf(stream, "; and so on, %zu workers", count);
    if (behind > 0)
        fprintf(stream, ". %zu more %s waiting for them", behind, behind == 1 ? "is" : "are");
    fputc('.', stream);
    return tg_openmp_search_add(draft, &finding);
}

static struct tg_error *tell_rings(struct tg_verdict_draft *draft, struct tg_openmp_waits *waits)
{
    size_t *ring, count = 1;
    struct tg_error *error = NULL;
    while (error == NULL && count > 0) {
        error = tg_openmp_waits_ring(waits, &ring, &count);
        if (error == NULL && count > 0)
            error = tell_ring(draft, waits, ring, count);
        free(ring);
        ring = NULL;
    }
    return error;
}

/* ---- locks */

/* How many wait for what WORKER waits for; 0 where it is not the first of them: one finding tells of all. */
static uint64_t count_waiters(const struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker)
{
    uint64_t count = 0;
    size_t n;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(waits, worker->process, &n);
    for (size_t i = 0; i < n; i++) {
        const struct tg_openmp_place *place = tg_openmp_waits_lock(waits, workers[i]);
        if (place == NULL ||
            !tg_openmp_waits_same_lock(worker, tg_openmp_waits_lock(waits, worker), workers[i], place))
            continue;
        if (workers[i]->index < worker->index)
            return 0;
        count++;
    }
    return count;
}

/* Whether one of those that wait for what WORKER waits for is in a ring. */
static bool is_told(const struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker)
{
    size_t n;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(waits, worker->process, &n);
    for (size_t i = 0; i < n; i++) {
        const struct tg_openmp_place *place = tg_openmp_waits_lock(waits, workers[i]);
        if (place != NULL && waits->is_in_ring[workers[i]->index] &&
            tg_openmp_waits_same_lock(worker, tg_openmp_waits_lock(waits, worker), workers[i], place))
            return true;
    }
    return false;
}

enum { ENDS_TOGETHER_NS = 50000000 }; /* threads of a process that ends do so within this time */

/* Whether HOLDER ended while its process went on: before WAITER began to wait, or long before it ended. A thread
 * that does so by itself ends with 0; who ended after the verdict's moment was inside until then. */
static bool has_ended(const struct tg_verdict_draft *draft, const struct tg_openmp_worker *holder,
                      const struct tg_openmp_worker *waiter, const struct tg_openmp_place *wait)
{
    if (holder->alive || holder->exit_status > 0 || holder->ended_ns > draft->stillness.at_ns)
        return false;
    return waiter->alive || holder->ended_ns < wait->since_ns ||
           holder->ended_ns + ENDS_TOGETHER_NS < waiter->ended_ns;
}

static void print_who_waits(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                            const struct tg_openmp_place *place, uint64_t waiters)
{
    FILE *stream = draft->stream;
    const char *does = tg_openmp_waits_is_tested(worker, place) ? "testing" : "waiting for";
    fputc('w', stream);
    tg_openmp_search_print_worker(draft, worker);
    if (waiters > 1)
        fprintf(stream, " and %" PRIu64 " more have been %s ", waiters - 1, does);
    else
        fprintf(stream, " has been %s ", does);
    print_lock(draft, worker, place);
    if (place->what == TG_OMP_MUTEX_ORDERED && waiters == 1 && worker->iterations.is_given &&
        worker->iterations.team == place->team) {
        fputs(" of ", stream);
        tg_openmp_executor_print_chunk(stream, worker);
        fputs(" (counted from 0)", stream);
    }
    tg_words_code(stream, draft->input, worker->process, place->code);
    tg_words_since(stream, draft->input, place->since_ns);
    print_tests(stream, worker, place);
}

/* HOLDER ended inside of the lock, where it had entered it as HELD says. */
static void print_ended(struct tg_verdict_draft *draft, const struct tg_openmp_worker *holder,
                        const struct tg_openmp_place *held)
{
    FILE *stream = draft->stream;
    fputc('w', stream);
    tg_openmp_search_print_worker(draft, holder);
    fputs(" ended", stream);
    tg_words_moment(stream, draft->input, holder->ended_ns);
    fputs(" without leaving ", stream);
    print_lock(draft, holder, held);
    fputs(", which it entered", stream);
    tg_words_moment(stream, draft->input, held->since_ns);
    tg_words_code(stream, draft->input, holder->process, held->code);
    fputs("; ", stream);
    tg_verdict_blame_worker(draft, holder, held->code);
}

/* Of an ordered section that nobody is inside of. */
static void print_before(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_worker *first = tg_openmp_executor_before(draft->input->openmp, worker);
    const struct tg_openmp_member *absent = tg_openmp_executor_absent(draft->input->openmp, worker);
    if (absent != NULL) {
        fputs(" W", stream);
        tg_openmp_search_print_member(draft, absent);
        fputs(", which executes an earlier iteration, has not reached the loop: ", stream);
        first = tg_openmp_search_worker(draft, absent);
        tg_words_worker_state(stream, draft->input, first);
        fputc('.', stream);
        tg_verdict_blame_worker(draft, first, first->last_code);
        return;
    }
    if (first == NULL) {
        fprintf(stream,
                " An earlier iteration has not left the ordered section yet; which thread executes it is "
                "unknown%s.",
                worker->iterations.is_given
                    ? ""
                    : ", because the trace does not record the iterations of this loop");
        return;
    }
    fputs(" Of the iterations before that, ", stream);
    tg_openmp_executor_print_chunk(stream, first);
    fprintf(stream, " %s first, executed by ",
            first->iterations.chunk.first == first->iterations.chunk.last ? "comes" : "come");
    tg_openmp_search_print_state(draft, "w", first);
    tg_verdict_blame_worker(draft, first, first->last_code);
}

static void print_holder(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                         const struct tg_openmp_place *place, const struct tg_openmp_worker *holder,
                         const struct tg_openmp_place *held)
{
    if (holder != NULL) {
        fputs(" It is held by w", draft->stream);
        tg_openmp_search_print_worker(draft, holder);
        if (held != tg_openmp_waits_place(holder)) /* otherwise its state says it */
            print_entering(draft, holder, held);
        fputs(": ", draft->stream);
        tg_words_worker_state(draft->stream, draft->input, holder);
        fputc('.', draft->stream);
        tg_verdict_blame_worker(draft, holder, holder->last_code);
    } else if (place->what == TG_OMP_MUTEX_ORDERED) {
        print_before(draft, worker);
    } else {
        fputs(" The trace does not show which thread holds it.", draft->stream);
    }
}

/* When a worker of PROCESS did something last, at SINCE_NS or later: locks may go round without an end. */
static uint64_t busy_until(const struct tg_openmp_waits *waits, size_t process, uint64_t since_ns)
{
    size_t count;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(waits, process, &count);
    for (size_t i = 0; i < count; i++)
        since_ns = workers[i]->last_ns > since_ns ? workers[i]->last_ns : since_ns;
    return since_ns;
}

static struct tg_error *find_lock(struct tg_verdict_draft *draft, const struct tg_openmp_waits *waits,
                                  const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = tg_openmp_waits_lock(waits, worker), *held;
    if (place == NULL || is_told(waits, worker))
        return NULL;
    uint64_t waiters = count_waiters(waits, worker);
    if (waiters == 0)
        return NULL;
    const struct tg_openmp_worker *holder = tg_openmp_waits_holder(waits, worker, &held);
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_LOCK,
                                 .since_ns = place->since_ns,
                                 .process = worker->process,
                                 .code = place->code,
                                 .waiting = waiters,
                                 .missing = holder == NULL ? 0 : 1,
                                 .is_consequence = holder != NULL && waits->is_in_ring[holder->index]};
    bool is_orphaned = holder != NULL && has_ended(draft, holder, worker, place);
    uint64_t since_ns = is_orphaned ? place->since_ns : busy_until(waits, worker->process, place->since_ns);
    uint64_t lasted_ns = tg_stillness_lasted(&draft->stillness, worker->process, since_ns);
    if (draft->input->is_of_moment && !tg_openmp_waits_is_tested(worker, place))
        lasted_ns = UINT64_MAX;
    if (is_orphaned ? !tg_stillness_is_closed(&draft->stillness, TG_WAIT_OPENMP, lasted_ns, 0)
                    : !tg_stillness_is_long(&draft->stillness, TG_WAIT_OPENMP, lasted_ns))
        return NULL;
    tg_words_process(stream, draft->input, worker->process);
    fputs(": ", stream);
    if (is_orphaned)
        print_ended(draft, holder, held);
    print_who_waits(draft, worker, place, waiters);
    fputc('.', stream);
    if (!is_orphaned)
        print_holder(draft, worker, place, holder, held);
    return tg_openmp_search_add(draft, &finding);
}

struct tg_error *tg_openmp_find_locks(struct tg_openmp_search *search)
{
    struct tg_openmp_waits *waits = &search->waits;
    struct tg_error *error = tell_rings(search->draft, waits);
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(waits->model); i++)
        error = find_lock(search->draft, waits, tg_openmp_model_worker_at(waits->model, i));
    return error;
}
