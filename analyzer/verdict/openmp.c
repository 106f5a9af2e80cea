/* Threads that wait for others of their process: at barriers, for locks, for tasks. */
#include "analyzer/models/openmp_barrier.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/words.h"

#include <inttypes.h>

static const struct tg_openmp_place *innermost(const struct tg_openmp_worker *worker)
{
    return worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
}

static bool is_at(const struct tg_openmp_worker *worker, enum tg_openmp_place_kind kind)
{
    return worker->n_places > 0 && innermost(worker)->kind == kind;
}

/* Threads of a process may wait for each other because one of them waits for a message. */
static struct tg_error *add(struct tg_verdict_draft *draft, struct tg_finding *finding)
{
    finding->is_consequence = tg_verdict_waits(draft, finding->process);
    struct tg_error *error = tg_verdict_add(draft, finding);
    tg_verdict_explain(draft, finding->process);
    return error;
}

/* ---- barriers */

static const struct tg_openmp_worker *worker_of(const struct tg_verdict_draft *draft,
                                                const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(draft->input->openmp, member->worker);
}

/* "BEFORE 2 (thread 1236)BEHIND: in a loop since ..." */
static void print_worker_state(struct tg_verdict_draft *draft, const char *before, const char *behind,
                               const struct tg_openmp_worker *worker)
{
    fprintf(draft->stream, "%s %" PRIu64 " (thread %" PRId32 ")%s: ", before, worker->number, worker->tid,
            behind);
    tg_words_worker_state(draft->stream, draft->input, worker);
    fputc('.', draft->stream);
}

static void print_missing(struct tg_verdict_draft *draft, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier)
{
    uint64_t told = 0;
    for (size_t i = 0; i < team->n_members && told < TG_VERDICT_DETAILED; i++) {
        if (tg_openmp_barrier_standing(&team->members[i], barrier) != TG_OPENMP_MISSING)
            continue;
        told++;
        tg_verdict_blame_worker(draft, worker_of(draft, &team->members[i]),
                                worker_of(draft, &team->members[i])->last_code);
        print_worker_state(draft, " Worker", " is missing", worker_of(draft, &team->members[i]));
    }
    uint64_t not_begun = team->size > team->n_members ? team->size - team->n_members : 0;
    if (barrier->missing > told + not_begun)
        fprintf(draft->stream, " %" PRIu64 " more are missing.", barrier->missing - told - not_begun);
    if (not_begun > 0)
        fprintf(draft->stream, " %" PRIu64 " of the %" PRIu64 " threads never entered the region.", not_begun,
                team->size);
}

/* A join matters only where the thread that met the region waits at it: the others have nothing to go on
 * with. */
static bool is_waited_for(const struct tg_openmp_model *model, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier)
{
    if (barrier->missing == 0 || barrier->waiting == 0)
        return false;
    if (barrier->sync != TG_OMP_SYNC_BARRIER_JOIN || team->owner == SIZE_MAX)
        return true;
    return is_at(tg_openmp_model_worker_at(model, team->owner), TG_OPENMP_IN_SYNC);
}

static uint64_t size_of(const struct tg_openmp_team *team)
{
    return team->size > team->n_members ? team->size : (uint64_t)team->n_members;
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    struct tg_verdict_draft *draft = context;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || !is_waited_for(draft->input->openmp, team, &barrier))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_BARRIER,
                                 .since_ns = barrier.since_ns,
                                 .process = team->process,
                                 .code = barrier.code,
                                 .waiting = barrier.waiting,
                                 .missing = barrier.missing};
    tg_words_process(stream, draft->input, team->process);
    fprintf(stream, ": %" PRIu64 " of %" PRIu64 " threads of a team %s been waiting at the %s",
            barrier.waiting, size_of(team), barrier.waiting == 1 ? "has" : "have",
            tg_openmp_words_sync(barrier.sync)->phrase);
    tg_words_code(stream, draft->input, team->process, barrier.code);
    tg_words_since(stream, draft->input, barrier.since_ns);
    fputs(barrier.waiting == 1 ? "" : " (first arrival)", stream);
    if (barrier.passed > 0)
        fprintf(stream, "; %" PRIu64 " %s passed it", barrier.passed, barrier.passed == 1 ? "has" : "have");
    fputc('.', stream);
    print_missing(draft, team, &barrier);
    return add(draft, &finding);
}

/* ---- tasks */

/* Tells what is known of the tasks that TEAM waits for. */
static void print_tasks(struct tg_verdict_draft *draft, const struct tg_openmp_team *team)
{
    FILE *stream = draft->stream;
    size_t told = 0;
    uint64_t open = team->tasks_made > team->tasks_ended ? team->tasks_made - team->tasks_ended : 0;
    for (size_t i = 0; i < team->n_members && told < TG_VERDICT_DETAILED; i++) {
        const struct tg_openmp_worker *worker = worker_of(draft, &team->members[i]);
        bool has_task = false;
        for (size_t at = 0; at < worker->n_places; at++)
            has_task |= worker->places[at].kind == TG_OPENMP_IN_TASK && worker->places[at].team == team->id;
        if (!has_task)
            continue;
        told++;
        print_worker_state(draft, " Worker", " is executing a task", worker);
    }
    if (open == 0)
        return;
    fprintf(stream, " %" PRIu64 " of the team's %" PRIu64 " tasks %s not finished", open, team->tasks_made,
            open == 1 ? "has" : "have");
    if (team->tasks_detached > 0)
        fprintf(stream, "; %" PRIu64 " %s waiting for an event that has not been fulfilled",
                team->tasks_detached, team->tasks_detached == 1 ? "is" : "are");
    else if (told == 0)
        fputs(", and no thread is executing one", stream);
    fputc('.', stream);
}

static bool waits_for_tasks(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = innermost(worker);
    return is_at(worker, TG_OPENMP_IN_SYNC) &&
           (place->what == TG_OMP_SYNC_TASKWAIT || place->what == TG_OMP_SYNC_TASKGROUP);
}

static struct tg_error *tell_task_wait(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = innermost(worker);
    const struct tg_openmp_team *team =
        tg_openmp_model_team(draft->input->openmp, worker->process, place->team);
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_TASK,
                                 .since_ns = place->since_ns,
                                 .process = worker->process,
                                 .code = place->code,
                                 .waiting = 1};
    tg_words_process(stream, draft->input, worker->process);
    fprintf(stream, ": worker %" PRIu64 " has been waiting at the %s", worker->number,
            tg_openmp_words_sync(place->what)->phrase);
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
    struct tg_verdict_draft *draft = context;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || barrier.waiting == 0 || barrier.missing > 0 ||
        barrier.passed > 0 || team->tasks_made <= team->tasks_ended)
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

/* ---- locks */

static bool is_same_lock(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                         const struct tg_openmp_worker *other, const struct tg_openmp_place *others)
{
    return worker->process == other->process && place->what == others->what && place->id == others->id;
}

static bool holds(const struct tg_openmp_worker *worker, const struct tg_openmp_worker *waiter)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_MUTEX &&
            is_same_lock(waiter, innermost(waiter), worker, &worker->places[i]))
            return true;
    return false;
}

/* The worker that holds what WAITER waits for, NULL: none is known. */
static const struct tg_openmp_worker *find_holder(const struct tg_openmp_model *model,
                                                  const struct tg_openmp_worker *waiter)
{
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (worker->process == waiter->process && holds(worker, waiter))
            return worker;
    }
    return NULL;
}

/* How many wait for what WORKER waits for; 0 where it is not the first of them: one finding tells of all. */
static uint64_t count_waiters(const struct tg_openmp_model *model, const struct tg_openmp_worker *worker)
{
    uint64_t count = 0;
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(model, i);
        if (!is_at(other, TG_OPENMP_IN_MUTEX_WAIT) ||
            !is_same_lock(worker, innermost(worker), other, innermost(other)))
            continue;
        if (other->index < worker->index)
            return 0;
        count++;
    }
    return count;
}

static void print_lock(FILE *stream, const struct tg_openmp_place *place)
{
    fprintf(stream, "the %s", tg_openmp_words_mutex(place->what)->phrase);
    if (place->what == TG_OMP_MUTEX_LOCK || place->what == TG_OMP_MUTEX_NEST_LOCK)
        fprintf(stream, " 0x%" PRIx64, place->id);
}

/* How many wait in a ring from WORKER back to it, each for what the next one has; 0: there is none. *FIRST is
 * the least index in it. */
static size_t ring_of(const struct tg_openmp_model *model, const struct tg_openmp_worker *worker,
                      size_t *first)
{
    const struct tg_openmp_worker *at = worker;
    *first = worker->index;
    for (size_t length = 1; length <= TG_VERDICT_NAMED; length++) {
        const struct tg_openmp_worker *holder = find_holder(model, at);
        if (holder == worker)
            return length;
        if (holder == NULL || !is_at(holder, TG_OPENMP_IN_MUTEX_WAIT))
            return 0;
        at = holder;
        if (at->index < *first)
            *first = at->index;
    }
    return 0;
}

static struct tg_error *tell_ring(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                                  size_t length)
{
    FILE *stream = draft->stream;
    const struct tg_openmp_worker *at = worker;
    struct tg_finding finding = {.kind = TG_FINDING_DEADLOCK,
                                 .process = worker->process,
                                 .code = innermost(worker)->code,
                                 .waiting = length};
    fputs("deadlock in ", stream);
    tg_words_process(stream, draft->input, worker->process);
    fputc(':', stream);
    for (size_t i = 0; i < length; i++) {
        const struct tg_openmp_worker *holder = find_holder(draft->input->openmp, at);
        const struct tg_openmp_place *place = innermost(at);
        fprintf(stream, "%s worker %" PRIu64 " has been waiting for ", i == 0 ? "" : ";", at->number);
        print_lock(stream, place);
        tg_words_since(stream, draft->input, place->since_ns);
        tg_words_code(stream, draft->input, at->process, place->code);
        if (holder == at)
            fputs(", which it already holds", stream);
        else
            fprintf(stream, ", held by worker %" PRIu64, holder->number);
        if (place->since_ns > finding.since_ns)
            finding.since_ns = place->since_ns; /* a deadlock since the last one waits */
        at = holder;
    }
    fputc('.', stream);
    return add(draft, &finding);
}

static void print_holder(struct tg_verdict_draft *draft, const struct tg_openmp_place *place,
                         const struct tg_openmp_worker *holder)
{
    if (holder != NULL) {
        tg_verdict_blame_worker(draft, holder, holder->last_code);
        print_worker_state(draft, " It is held by worker", "", holder);
    } else if (place->what == TG_OMP_MUTEX_ORDERED) {
        fputs(" An earlier iteration has not left the ordered section yet.", draft->stream);
    } else {
        fputs(" The trace does not show which thread holds it.", draft->stream);
    }
}

static struct tg_error *find_lock(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_model *model = draft->input->openmp;
    if (!is_at(worker, TG_OPENMP_IN_MUTEX_WAIT))
        return NULL;
    const struct tg_openmp_place *place = innermost(worker);
    size_t first, length = ring_of(model, worker, &first);
    if (length > 0)
        return first == worker->index ? tell_ring(draft, worker, length) : NULL;
    uint64_t waiters = count_waiters(model, worker);
    if (waiters == 0)
        return NULL;
    const struct tg_openmp_worker *holder = find_holder(model, worker);
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_LOCK,
                                 .since_ns = place->since_ns,
                                 .process = worker->process,
                                 .code = place->code,
                                 .waiting = waiters,
                                 .missing = holder == NULL ? 0 : 1};
    tg_words_process(stream, draft->input, worker->process);
    fprintf(stream, ": worker %" PRIu64, worker->number);
    if (waiters > 1)
        fprintf(stream, " and %" PRIu64 " more have been waiting for ", waiters - 1);
    else
        fputs(" has been waiting for ", stream);
    print_lock(stream, place);
    tg_words_code(stream, draft->input, worker->process, place->code);
    tg_words_since(stream, draft->input, place->since_ns);
    fputc('.', stream);
    print_holder(draft, place, holder);
    return add(draft, &finding);
}

struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft)
{
    const struct tg_openmp_model *model = draft->input->openmp;
    struct tg_error *error = tg_openmp_model_visit_teams(model, find_barrier, draft);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, find_tasks_at_barrier, draft);
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        error = find_lock(draft, worker);
        if (error == NULL && waits_for_tasks(worker))
            error = tell_task_wait(draft, worker);
    }
    return error;
}
