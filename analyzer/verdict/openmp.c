/* Threads that wait for others of their process: at barriers, for locks, for tasks. */
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/openmp_executors.h"
#include "analyzer/verdict/openmp_locks.h"
#include "analyzer/verdict/openmp_order.h"
#include "analyzer/verdict/words.h"

#include <inttypes.h>
#include <stdlib.h>

/* The threads of all processes, and the findings about them. */
struct search {
    struct tg_verdict_draft *draft;
    struct tg_openmp_waits waits;
};

/* Threads of a process may wait for each other because one of them waits for a message. */
static struct tg_error *add(struct tg_verdict_draft *draft, struct tg_finding *finding)
{
    finding->is_consequence |= tg_verdict_waits(draft, finding->process);
    struct tg_error *error = tg_verdict_add(draft, finding);
    tg_verdict_explain(draft, finding->process);
    return error;
}

/* WORKER is one of those that the finding which is being written is about, for what it did at CODE; 0: last. */
static void blame(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker, uint64_t code)
{
    tg_verdict_blame_worker(draft, worker, code != 0 ? code : worker->last_code);
}

/* ---- barriers */

static const struct tg_openmp_worker *worker_of(const struct tg_verdict_draft *draft,
                                                const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(draft->input->openmp, member->worker);
}

/* "worker 3 (thread 1236, number 2 of its team)" */
static void print_member(const struct tg_verdict_draft *draft, const struct tg_openmp_member *member)
{
    const struct tg_openmp_worker *worker = worker_of(draft, member);
    fprintf(draft->stream, "orker %" PRIu64 " (", worker->number);
    tg_words_thread(draft->stream, draft->input, worker->process, worker->tid);
    fprintf(draft->stream, ", number %" PRIu64 " of its team)", member->thread_num);
}

static void print_missing_member(const struct tg_verdict_draft *draft, const struct tg_openmp_member *member)
{
    fputs(" W", draft->stream);
    print_member(draft, member);
    fputs(" is missing: ", draft->stream);
    tg_words_worker_state(draft->stream, draft->input, worker_of(draft, member));
    fputc('.', draft->stream);
}

/* "BEFORE 2 (thread 1236)BEHIND: in a loop since ..." */
static void print_worker_state(struct tg_verdict_draft *draft, const char *before, const char *behind,
                               const struct tg_openmp_worker *worker)
{
    fprintf(draft->stream, "%s %" PRIu64 " (", before, worker->number);
    tg_words_thread(draft->stream, draft->input, worker->process, worker->tid);
    fprintf(draft->stream, ")%s: ", behind);
    tg_words_worker_state(draft->stream, draft->input, worker);
    fputc('.', draft->stream);
}

/* "worker 3 (thread 1236) has left a barrier out, ..." */
static void print_skipping(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                           const struct tg_openmp_member *member, const struct tg_openmp_barrier *barrier)
{
    const struct tg_openmp_worker *worker = worker_of(draft, member);
    uint64_t code = tg_openmp_order_skipped(draft->input, team, member->worker);
    FILE *stream = draft->stream;
    fputc('w', stream);
    print_member(draft, member);
    fprintf(stream, " skipped the %s",
            tg_openmp_words_sync(code == 0 ? barrier->sync : TG_OMP_SYNC_BARRIER)->phrase);
    tg_words_code(stream, draft->input, team->process, code == 0 ? barrier->code : code);
    fputs(": it has reached the end of the parallel region", stream);
    tg_words_moment(stream, draft->input, member->ended_ns);
    fprintf(stream, " after %" PRIu64 " barrier%s", member->arrived, member->arrived == 1 ? "" : "s");
    blame(draft, worker, code == 0 ? barrier->code : code);
}

/* The members that are through with the region without having come to BARRIER. How many. */
static uint64_t print_skippers(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                               const struct tg_openmp_barrier *barrier)
{
    uint64_t count = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        if (!tg_openmp_barrier_is_skipped(&team->members[i], barrier))
            continue;
        count++;
        if (count > TG_VERDICT_DETAILED)
            continue;
        fputs(count == 1 ? ": " : "; ", draft->stream);
        print_skipping(draft, team, &team->members[i], barrier);
    }
    if (count > TG_VERDICT_DETAILED)
        fprintf(draft->stream, "; so did %" PRIu64 " more", count - TG_VERDICT_DETAILED);
    return count;
}

/* The members that have not come yet; the first SKIPPERS have been named. */
static void print_missing(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier, uint64_t skippers)
{
    uint64_t told = 0;
    for (size_t i = 0; i < team->n_members && told < TG_VERDICT_DETAILED; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (tg_openmp_barrier_standing(member, barrier) != TG_OPENMP_MISSING ||
            tg_openmp_barrier_is_skipped(member, barrier))
            continue;
        told++;
        print_missing_member(draft, member);
        blame(draft, worker_of(draft, member), 0);
    }
    uint64_t not_begun = team->size > team->n_members ? team->size - team->n_members : 0;
    uint64_t others = barrier->missing - skippers - told - not_begun;
    if (others > 0)
        fprintf(draft->stream, " %" PRIu64 " more are missing.", others);
    if (not_begun > 0)
        fprintf(draft->stream, " %" PRIu64 " of the %" PRIu64 " threads never entered the region.", not_begun,
                team->size);
}

static void print_cancellation(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    fputs(" The region was cancelled", draft->stream);
    tg_words_moment(draft->stream, draft->input, team->cancelled_ns);
    if (team->canceller != SIZE_MAX)
        fprintf(draft->stream, " by worker %" PRIu64,
                tg_openmp_model_worker_at(draft->input->openmp, team->canceller)->number);
    fputc('.', draft->stream);
}

static uint64_t size_of(const struct tg_openmp_team *team)
{
    return team->size > team->n_members ? team->size : (uint64_t)team->n_members;
}

/* Whether WORKER waits in TEAM for what another one of it does: SYNC. */
static bool waits_in(const struct tg_openmp_worker *worker, uint64_t team, enum tg_omp_sync sync)
{
    const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
    return place != NULL && place->what == sync && place->team == team;
}

static bool waits_for_values(const struct tg_openmp_worker *worker, uint64_t team)
{
    return waits_in(worker, team, TG_OMP_SYNC_COPYPRIVATE);
}

static bool waits_for_sink(const struct tg_openmp_worker *worker, uint64_t team)
{
    return waits_in(worker, team, TG_OMP_SYNC_DOACROSS);
}

/* Whether somebody who waits at BARRIER does so in a ring, or somebody who is missing waits for the values of a
 * single or for an iteration: these are told on their own. */
static bool is_told(const struct search *search, const struct tg_openmp_team *team,
                    const struct tg_openmp_barrier *barrier)
{
    bool is_told = false;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = worker_of(search->draft, &team->members[i]);
        enum tg_openmp_standing standing = tg_openmp_barrier_standing(&team->members[i], barrier);
        is_told |= search->waits.is_in_ring[team->members[i].worker] && standing == TG_OPENMP_WAITING;
        is_told |= standing == TG_OPENMP_MISSING &&
                   (waits_for_values(worker, team->id) || waits_for_sink(worker, team->id));
    }
    return is_told;
}

/* The place at which WORKER waits for tasks, NULL none. What a taskloop has made is waited for inside of it. */
static const struct tg_openmp_place *task_wait_of(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
    if (place != NULL)
        return place->what == TG_OMP_SYNC_TASKWAIT || place->what == TG_OMP_SYNC_TASKGROUP ? place : NULL;
    place = worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    bool is_taskloop =
        place != NULL && place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_TASKLOOP;
    return is_taskloop ? place : NULL;
}

/* Whether everybody who is missing at BARRIER waits for something else: that is told on its own. */
static bool is_held_up(const struct search *search, const struct tg_openmp_team *team,
                       const struct tg_openmp_barrier *barrier)
{
    bool is_held_up = team->n_members >= team->size;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        const struct tg_openmp_worker *worker = worker_of(search->draft, member);
        if (tg_openmp_barrier_standing(member, barrier) == TG_OPENMP_MISSING)
            is_held_up &=
                !tg_openmp_barrier_is_skipped(member, barrier) &&
                (tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC) != NULL || task_wait_of(worker) != NULL ||
                 tg_openmp_waits_at(worker, TG_OPENMP_IN_MUTEX_WAIT) != NULL);
    }
    return is_held_up;
}

/* When the last of those who wait at BARRIER came to it, or went by it, if everybody who is missing did. 0:
 * somebody is still to come. */
static uint64_t closed_since(const struct tg_openmp_team *team, const struct tg_openmp_barrier *barrier)
{
    uint64_t since_ns = 0;
    if (team->size > team->n_members)
        return 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        bool is_missing = tg_openmp_barrier_standing(member, barrier) == TG_OPENMP_MISSING;
        if (is_missing && !tg_openmp_barrier_is_skipped(member, barrier))
            return 0;
        uint64_t came_ns = is_missing ? member->ended_ns : member->arrived_ns;
        since_ns = came_ns > since_ns ? came_ns : since_ns;
    }
    return since_ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When a worker of PROCESS did something last, at SINCE_NS or later: work of others may be what is waited for. */
static uint64_t busy_until(const struct search *search, size_t process, uint64_t since_ns)
{
    size_t count;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(&search->waits, process, &count);
    for (size_t i = 0; i < count; i++)
        since_ns = later(since_ns, workers[i]->last_ns);
    return since_ns;
}

/* Whether PROCESS has waited since SINCE_NS for longer than is usual: for somebody who may be computing, or,
 * since CLOSED_NS unless that is 0, for somebody who waits too. */
static bool is_stuck(struct tg_verdict_draft *draft, size_t process, uint64_t since_ns, uint64_t closed_ns)
{
    uint64_t lasted_ns =
        tg_stillness_lasted(&draft->stillness, process, closed_ns != 0 ? closed_ns : since_ns);
    if (draft->input->is_of_moment)
        return true;
    return closed_ns != 0 ? tg_stillness_is_closed(&draft->stillness, TG_WAIT_OPENMP, lasted_ns, 0)
                          : tg_stillness_is_long(&draft->stillness, TG_WAIT_OPENMP, lasted_ns);
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    const struct search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || barrier.missing == 0 || barrier.waiting == 0 ||
        is_told(search, team, &barrier) ||
        !is_stuck(draft, team->process, busy_until(search, team->process, barrier.since_ns),
                  closed_since(team, &barrier)))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_BARRIER,
                                 .since_ns = barrier.since_ns,
                                 .process = team->process,
                                 .code = barrier.code,
                                 .waiting = barrier.waiting,
                                 .missing = barrier.missing,
                                 .is_consequence = is_held_up(search, team, &barrier)};
    tg_words_process(stream, draft->input, team->process);
    uint64_t skippers = print_skippers(draft, team, &barrier);
    fprintf(stream, "%s %" PRIu64 " of %" PRIu64 " threads of a team %s been waiting at the %s",
            skippers > 0 ? "." : ":", barrier.waiting, size_of(team), barrier.waiting == 1 ? "has" : "have",
            tg_openmp_words_sync(barrier.sync)->phrase);
    tg_words_code(stream, draft->input, team->process, barrier.code);
    tg_words_since(stream, draft->input, barrier.since_ns);
    fputs(barrier.waiting == 1 ? "" : " (first arrival)", stream);
    if (barrier.passed > 0)
        fprintf(stream, "; %" PRIu64 " %s passed it", barrier.passed, barrier.passed == 1 ? "has" : "have");
    fputc('.', stream);
    print_missing(draft, team, &barrier, skippers);
    if (team->cancelled)
        print_cancellation(draft, team);
    return add(draft, &finding);
}

/* ---- values of a single (copyprivate), where the runtime has no barrier for them */

/* Members of TEAM that are through with the region instead of waiting for the values at CODE. How many. */
static uint64_t print_past(struct tg_verdict_draft *draft, const struct tg_openmp_team *team, uint64_t code)
{
    uint64_t count = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = worker_of(draft, &team->members[i]);
        if (!team->members[i].ended || ++count > TG_VERDICT_DETAILED)
            continue;
        fputs(count == 1 ? ": w" : "; w", draft->stream);
        print_member(draft, &team->members[i]);
        fputs(" skipped the single", draft->stream);
        tg_words_code(draft->stream, draft->input, team->process, code);
        fputs(": it has reached the end of the parallel region", draft->stream);
        tg_words_moment(draft->stream, draft->input, team->members[i].ended_ns);
        blame(draft, worker, code);
    }
    if (count > TG_VERDICT_DETAILED)
        fprintf(draft->stream, "; so did %" PRIu64 " more", count - TG_VERDICT_DETAILED);
    return count;
}

static void print_absent(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    uint64_t absent = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = worker_of(draft, &team->members[i]);
        if (waits_for_values(worker, team->id) || team->members[i].ended)
            continue;
        absent++;
        if (absent > TG_VERDICT_DETAILED)
            continue;
        print_missing_member(draft, &team->members[i]);
        blame(draft, worker, 0);
    }
    if (absent > TG_VERDICT_DETAILED)
        fprintf(draft->stream, " %" PRIu64 " more are missing.", absent - TG_VERDICT_DETAILED);
}

static struct tg_error *find_values(void *context, const struct tg_openmp_team *team)
{
    const struct search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_finding finding = {
        .kind = TG_FINDING_BARRIER, .since_ns = UINT64_MAX, .process = team->process};
    bool is_told = false;
    uint64_t closed_ns = 0, n_past = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = worker_of(draft, &team->members[i]);
        n_past += team->members[i].ended;
        if (team->members[i].ended && team->members[i].ended_ns > closed_ns)
            closed_ns = team->members[i].ended_ns;
        if (!waits_for_values(worker, team->id))
            continue;
        if (tg_openmp_waits_place(worker)->since_ns > closed_ns)
            closed_ns = tg_openmp_waits_place(worker)->since_ns;
        is_told |= search->waits.is_in_ring[worker->index];
        finding.waiting++;
        if (tg_openmp_waits_place(worker)->since_ns < finding.since_ns) {
            finding.since_ns = tg_openmp_waits_place(worker)->since_ns;
            finding.code = tg_openmp_waits_place(worker)->code;
        }
    }
    finding.missing = size_of(team) - finding.waiting;
    if (finding.waiting == 0 || finding.missing == 0 || is_told || team->cancelled ||
        !is_stuck(draft, team->process, busy_until(search, team->process, finding.since_ns),
                  n_past == finding.missing ? closed_ns : 0))
        return NULL;
    tg_words_process(draft->stream, draft->input, team->process);
    uint64_t past = print_past(draft, team, finding.code);
    fprintf(draft->stream, "%s %" PRIu64 " of %" PRIu64 " threads of a team %s been waiting for the %s",
            past > 0 ? "." : ":", finding.waiting, size_of(team), finding.waiting == 1 ? "has" : "have",
            tg_openmp_words_sync(TG_OMP_SYNC_COPYPRIVATE)->phrase);
    tg_words_code(draft->stream, draft->input, team->process, finding.code);
    tg_words_since(draft->stream, draft->input, finding.since_ns);
    fputs(finding.waiting == 1 ? "." : " (first arrival).", draft->stream);
    print_absent(draft, team);
    return add(draft, &finding);
}

/* ---- doacross loops */

/* Threads of a team that wait for iterations of others. */
struct sinks {
    struct tg_finding finding;
    bool all_wait;                        /* or are through with the region */
    const struct tg_openmp_worker *first; /* one that waits for who is to blame; NULL: that is not known */
    struct tg_openmp_executor executor;   /* who that is */
};

/* Whoever left a depend(source) out is to blame, else whoever executes an iteration that is waited for, and does
 * not wait for one itself. */
static struct sinks find_executors(const struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    struct sinks sinks = {
        .finding = {.kind = TG_FINDING_BARRIER, .since_ns = UINT64_MAX, .process = team->process},
        .all_wait = team->n_members >= team->size};
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        const struct tg_openmp_worker *worker = worker_of(draft, member);
        const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
        sinks.all_wait &= place != NULL || member->ended;
        if (!waits_for_sink(worker, team->id))
            continue;
        sinks.finding.waiting++;
        if (place->since_ns < sinks.finding.since_ns) {
            sinks.finding.since_ns = place->since_ns;
            sinks.finding.code = place->code;
        }
        const struct tg_openmp_executor executor = tg_openmp_executor_of_sink(draft->input->openmp, worker);
        bool is_root =
            executor.worker != NULL && (executor.has_skipped || !waits_for_sink(executor.worker, team->id));
        if (is_root && (sinks.first == NULL || (executor.has_skipped && !sinks.executor.has_skipped))) {
            sinks.first = worker;
            sinks.executor = executor;
        }
    }
    return sinks;
}

static void print_sink_wait(struct tg_verdict_draft *draft, const struct sinks *sinks)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_place *place = tg_openmp_waits_place(sinks->first);
    fprintf(stream, "orker %" PRIu64 " has been waiting at the %s", sinks->first->number,
            tg_openmp_words_sync(TG_OMP_SYNC_DOACROSS)->phrase);
    tg_words_code(stream, draft->input, sinks->first->process, place->code);
    tg_words_since(stream, draft->input, place->since_ns);
    fputs(" for ", stream);
    tg_openmp_executor_print_sink(stream, sinks->first);
    fputs(" (counted from 0)", stream);
}

static void print_executor(struct tg_verdict_draft *draft, const struct sinks *sinks)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_worker *worker = sinks->executor.worker;
    uint64_t source = tg_openmp_executor_source(draft->input->openmp, sinks->first);
    if (sinks->executor.has_skipped) {
        fprintf(stream, ": worker %" PRIu64 " (", worker->number);
        tg_words_thread(stream, draft->input, worker->process, worker->tid);
        fputs(") skipped the depend(source)", stream);
        tg_words_code(stream, draft->input, worker->process, source);
        fputs(" of ", stream);
        tg_openmp_executor_print_sink(stream, sinks->first);
        fputs(". W", stream);
        print_sink_wait(draft, sinks);
        fputc('.', stream);
        if (worker != sinks->first) /* else it waits for its own */
            print_worker_state(draft, " Worker", "", worker);
        blame(draft, worker, source != 0 ? source : sinks->finding.code);
    } else {
        fputs(": w", stream);
        print_sink_wait(draft, sinks);
        print_worker_state(draft, ", which is executed by worker", "", worker);
        blame(draft, worker, 0);
    }
    if (sinks->finding.waiting > 1)
        fprintf(stream, " %" PRIu64 " more %s waiting for iterations.", sinks->finding.waiting - 1,
                sinks->finding.waiting == 2 ? "is" : "are");
}

static void print_unknown_sinks(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                                const struct tg_finding *finding)
{
    if (finding->waiting == team->n_members)
        fprintf(draft->stream, ": all %zu threads", team->n_members);
    else
        fprintf(draft->stream, ": %" PRIu64 " of %zu threads", finding->waiting, team->n_members);
    fprintf(draft->stream, " of a team %s been waiting at the %s", finding->waiting == 1 ? "has" : "have",
            tg_openmp_words_sync(TG_OMP_SYNC_DOACROSS)->phrase);
    tg_words_code(draft->stream, draft->input, team->process, finding->code);
    tg_words_since(draft->stream, draft->input, finding->since_ns);
    fputs(" (first arrival), for iterations that no thread reports as done with depend(source). Which thread "
          "skipped it is unknown, because the trace does not record iterations.",
          draft->stream);
}

static struct tg_error *find_sinks(void *context, const struct tg_openmp_team *team)
{
    const struct search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct sinks sinks = find_executors(draft, team);
    struct tg_finding *finding = &sinks.finding;
    if (finding->waiting == 0 || (sinks.first == NULL && !sinks.all_wait))
        return NULL;
    const struct tg_openmp_worker *executor = sinks.executor.worker;
    if (sinks.first != NULL && search->waits.is_in_ring[sinks.first->index])
        return NULL; /* told */
    uint64_t since_ns =
        sinks.first != NULL ? tg_openmp_waits_place(sinks.first)->since_ns : finding->since_ns;
    if (!is_stuck(draft, team->process, busy_until(search, team->process, since_ns),
                  sinks.executor.has_skipped ? since_ns : 0))
        return NULL;
    finding->is_consequence = executor != NULL && !sinks.executor.has_skipped &&
                              (tg_openmp_waits_at(executor, TG_OPENMP_IN_SYNC) != NULL ||
                               tg_openmp_waits_at(executor, TG_OPENMP_IN_MUTEX_WAIT) != NULL);
    tg_words_process(draft->stream, draft->input, team->process);
    if (executor != NULL)
        print_executor(draft, &sinks);
    else
        print_unknown_sinks(draft, team, finding);
    return add(draft, finding);
}

/* ---- tasks */

/* Unfinished tasks of a team, for a finding. */
struct unfinished {
    struct tg_verdict_draft *draft;
    const struct tg_openmp_team *team;
    size_t told;
};

/* A task that TASK comes behind by their dependences: the last such one that was created before it. */
struct predecessor {
    const struct tg_openmp_task *task;
    const struct tg_openmp_task *found;
    uint64_t address;
};

static struct tg_error *look_for_predecessor(void *context, const struct tg_openmp_task *other)
{
    struct predecessor *search = context;
    const struct tg_openmp_task *task = search->task;
    bool is_sibling = other->process == task->process && other->parent == task->parent &&
                      (task->parent != 0 || other->creator == task->creator);
    if (!is_sibling || other->id >= task->id)
        return NULL;
    for (size_t i = 0; i < task->n_dependences; i++)
        for (size_t j = 0; j < other->n_dependences; j++) {
            const struct tg_omp_dependence *own = &task->dependences[i], *before = &other->dependences[j];
            bool only_read = own->kind == TG_OMP_DEPEND_IN && before->kind == TG_OMP_DEPEND_IN;
            if (own->address == before->address && !only_read) {
                search->found = other;
                search->address = own->address;
            }
        }
    return NULL;
}

static void print_task(struct tg_verdict_draft *draft, const struct tg_openmp_task *task)
{
    fprintf(draft->stream, "ask %" PRIu64, task->id);
    if (task->code != 0) {
        fputs(" (created", draft->stream);
        tg_words_code(draft->stream, draft->input, task->process, task->code);
        fputc(')', draft->stream);
    }
}

static void print_dependence(struct tg_verdict_draft *draft, const struct tg_openmp_task *task)
{
    struct predecessor search = {.task = task};
    (void)tg_openmp_model_visit_tasks(draft->input->openmp, look_for_predecessor, &search);
    if (search.found == NULL)
        return;
    fprintf(draft->stream, ": it depends on 0x%" PRIx64 ", for which it waits for t", search.address);
    print_task(draft, search.found);
}

static struct tg_error *tell_task(void *context, const struct tg_openmp_task *task)
{
    struct unfinished *unfinished = context;
    struct tg_verdict_draft *draft = unfinished->draft;
    if (task->process != unfinished->team->process || task->team != unfinished->team->id ||
        unfinished->told >= TG_VERDICT_DETAILED)
        return NULL;
    const struct tg_openmp_worker *runner =
        task->runner == SIZE_MAX ? NULL : tg_openmp_model_worker_at(draft->input->openmp, task->runner);
    unfinished->told++;
    fputs(" T", draft->stream);
    print_task(draft, task);
    if (task->state == TG_OPENMP_TASK_RUNNING && runner != NULL) {
        print_worker_state(draft, " is executed by worker", "", runner);
        blame(draft, runner, 0);
        return NULL;
    }
    if (task->state == TG_OPENMP_TASK_DETACHED)
        fputs(" has been executed and is waiting for an event that has not been fulfilled", draft->stream);
    else if (task->state == TG_OPENMP_TASK_SUSPENDED)
        fputs(" is suspended", draft->stream);
    else
        fputs(" has not begun", draft->stream);
    if (task->state == TG_OPENMP_TASK_CREATED)
        print_dependence(draft, task);
    tg_verdict_blame(draft, task->process, 0, task->code);
    fputc('.', draft->stream);
    return NULL;
}

/* Tells what is known of the tasks that TEAM waits for. */
static void print_tasks(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    FILE *stream = draft->stream;
    struct unfinished unfinished = {.draft = draft, .team = team};
    bool is_executed = false;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = worker_of(draft, &team->members[i]);
        for (size_t at = 0; at < worker->n_places; at++)
            is_executed |=
                worker->places[at].kind == TG_OPENMP_IN_TASK && worker->places[at].team == team->id;
    }
    uint64_t open = team->tasks_made > team->tasks_ended ? team->tasks_made - team->tasks_ended : 0;
    if (open > 0) {
        fprintf(stream, " %" PRIu64 " of the team's %" PRIu64 " tasks %s not finished", open,
                team->tasks_made, open == 1 ? "has" : "have");
        if (team->tasks_detached > 0)
            fprintf(stream, "; %" PRIu64 " %s waiting for an event that has not been fulfilled",
                    team->tasks_detached, team->tasks_detached == 1 ? "is" : "are");
        else if (!is_executed)
            fputs(", and no thread is executing one", stream);
        fputc('.', stream);
    }
    (void)tg_openmp_model_visit_tasks(draft->input->openmp, tell_task, &unfinished);
}

static struct tg_error *tell_task_wait(const struct search *search, const struct tg_openmp_worker *worker)
{
    struct tg_verdict_draft *draft = search->draft;
    const struct tg_openmp_place *place = task_wait_of(worker);
    const struct tg_openmp_team *team =
        tg_openmp_model_team(draft->input->openmp, worker->process, place->team);
    bool is_taskloop = place->kind == TG_OPENMP_IN_ZONE;
    if (is_taskloop && (team == NULL || team->tasks_made <= team->tasks_ended))
        return NULL; /* it makes them still */
    if (!is_stuck(draft, worker->process, busy_until(search, worker->process, place->since_ns), 0))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_TASK,
                                 .since_ns = place->since_ns,
                                 .process = worker->process,
                                 .code = place->code,
                                 .waiting = 1};
    tg_words_process(stream, draft->input, worker->process);
    fprintf(stream, ": worker %" PRIu64 " has been waiting at the %s", worker->number,
            is_taskloop ? "end of a taskloop" : tg_openmp_words_sync(place->what)->phrase);
    tg_words_code(stream, draft->input, worker->process, place->code);
    fputs(" for tasks", stream);
    tg_words_since(stream, draft->input, place->since_ns);
    fputc('.', stream);
    if (team != NULL)
        print_tasks(draft, team);
    return add(draft, &finding);
}

/* All of a team have come to a barrier and nobody goes on: they wait for its tasks. */
static struct tg_error *find_tasks_at_barrier(void *context, const struct tg_openmp_team *team)
{
    const struct search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || barrier.waiting == 0 || barrier.missing > 0 ||
        barrier.passed > 0 || team->tasks_made <= team->tasks_ended || is_told(search, team, &barrier) ||
        !is_stuck(draft, team->process, busy_until(search, team->process, barrier.since_ns), 0))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_TASK,
                                 .since_ns = barrier.since_ns,
                                 .process = team->process,
                                 .code = barrier.code,
                                 .waiting = barrier.waiting};
    tg_words_process(stream, draft->input, team->process);
    fprintf(stream, ": all %" PRIu64 " threads of a team have reached the %s", barrier.waiting,
            tg_openmp_words_sync(barrier.sync)->phrase);
    tg_words_code(stream, draft->input, team->process, barrier.code);
    fputs(" and have been waiting for tasks", stream);
    tg_words_since(stream, draft->input, barrier.since_ns);
    fputs(" (first arrival).", stream);
    print_tasks(draft, team);
    return add(draft, &finding);
}

/* ---- all together */

struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft)
{
    const struct tg_openmp_model *model = draft->input->openmp;
    struct search search = {.draft = draft};
    struct tg_error *error = tg_openmp_waits_init(&search.waits, model);
    if (error == NULL)
        error = tg_verdict_find_locks(draft, &search.waits);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, find_barrier, &search);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, find_values, &search);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, find_sinks, &search);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, find_tasks_at_barrier, &search);
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (task_wait_of(worker) != NULL && !search.waits.is_in_ring[i])
            error = tell_task_wait(&search, worker);
    }
    tg_openmp_waits_deinit(&search.waits);
    return error;
}
