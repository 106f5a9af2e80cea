/* Threads that wait for tasks. */
#include "analyzer/finding/words.h"
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/verdict/openmp/finders.h"

#include <inttypes.h>

/* How near an unfinished task is to being the cause; told in this order. */
enum nearness {
    AT_WORK,     /* a thread executes it that waits neither for tasks nor for a lock */
    UNFULFILLED, /* nobody has fulfilled its event */
    HELD_UP,     /* a thread that waits for a lock executes it: another finding tells of that */
    WAITING,     /* a thread that waits for tasks executes it */
    NOT_BEGUN,
    SUSPENDED,
    N_NEARNESSES,
};

/* Unfinished tasks of a team, for a finding. */
struct unfinished {
    const struct tg_openmp_search *search;
    struct tg_verdict_draft *draft;
    const struct tg_openmp_team *team;
    enum nearness nearness; /* of the tasks told now */
    size_t told;
    bool has_cause;  /* a task has been told that the others may wait for */
    bool is_held_up; /* none has, and one that waits for a lock */
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

static const struct tg_openmp_worker *runner_of(const struct tg_verdict_draft *draft,
                                                const struct tg_openmp_task *task)
{
    bool is_known = task->state == TG_OPENMP_TASK_RUNNING && task->runner != SIZE_MAX;
    return is_known ? tg_openmp_model_worker_at(draft->input->openmp, task->runner) : NULL;
}

static enum nearness nearness_of(const struct unfinished *unfinished, const struct tg_openmp_task *task)
{
    const struct tg_openmp_worker *runner = runner_of(unfinished->draft, task);
    if (runner != NULL)
        return tg_openmp_waits_lock(&unfinished->search->waits, runner) != NULL ? HELD_UP
               : tg_openmp_waits_for_tasks(runner) != NULL                      ? WAITING
                                                                                : AT_WORK;
    return task->state == TG_OPENMP_TASK_DETACHED    ? UNFULFILLED
           : task->state == TG_OPENMP_TASK_SUSPENDED ? SUSPENDED
                                                     : NOT_BEGUN;
}

static struct tg_error *tell_task(void *context, const struct tg_openmp_task *task)
{
    struct unfinished *unfinished = context;
    struct tg_verdict_draft *draft = unfinished->draft;
    if (task->process != unfinished->team->process || task->team != unfinished->team->id ||
        unfinished->told >= TG_VERDICT_DETAILED || nearness_of(unfinished, task) != unfinished->nearness)
        return NULL;
    const struct tg_openmp_worker *runner = runner_of(draft, task);
    unfinished->told++;
    fputs(" T", draft->stream);
    print_task(draft, task);
    if (runner != NULL) {
        tg_openmp_search_print_state(draft, " is executed by w", runner);
        if (unfinished->nearness == AT_WORK || !unfinished->has_cause)
            tg_openmp_search_blame(draft, runner, 0);
        unfinished->is_held_up |= unfinished->nearness == HELD_UP && !unfinished->has_cause;
        return NULL;
    }
    if (unfinished->nearness == UNFULFILLED)
        fputs(" has been executed and is waiting for an event that has not been fulfilled", draft->stream);
    else if (unfinished->nearness == SUSPENDED)
        fputs(" is suspended", draft->stream);
    else
        fputs(" has not begun", draft->stream);
    if (task->state == TG_OPENMP_TASK_CREATED)
        print_dependence(draft, task);
    if (unfinished->nearness == UNFULFILLED || !unfinished->has_cause)
        tg_verdict_blame(draft, task->process, 0, task->code);
    fputc('.', draft->stream);
    return NULL;
}

/* Tells what is known of the tasks that TEAM waits for. Returns whether one of them waits for a lock, of which another finding
 * tells. */
static bool print_tasks(const struct tg_openmp_search *search, const struct tg_openmp_team *team)
{
    struct tg_verdict_draft *draft = search->draft;
    FILE *stream = draft->stream;
    struct unfinished unfinished = {.search = search, .draft = draft, .team = team};
    bool is_executed = false;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_search_worker(draft, &team->members[i]);
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
    for (int nearness = 0; nearness < N_NEARNESSES; nearness++) {
        unfinished.nearness = (enum nearness)nearness;
        (void)tg_openmp_model_visit_tasks(draft->input->openmp, tell_task, &unfinished);
        unfinished.has_cause |= nearness <= UNFULFILLED && unfinished.told > 0;
    }
    return unfinished.is_held_up;
}

static struct tg_error *tell_task_wait(const struct tg_openmp_search *search,
                                       const struct tg_openmp_worker *worker)
{
    struct tg_verdict_draft *draft = search->draft;
    const struct tg_openmp_place *place = tg_openmp_waits_for_tasks(worker);
    const struct tg_openmp_team *team =
        tg_openmp_model_team(draft->input->openmp, worker->process, place->team);
    bool is_taskloop = place->kind == TG_OPENMP_IN_ZONE;
    if (is_taskloop && (team == NULL || team->tasks_made <= team->tasks_ended))
        return NULL; /* the taskloop makes them still */
    if (!tg_openmp_search_is_stuck(draft, worker->process,
                                   tg_openmp_search_busy_until(search, worker->process, place->since_ns), 0))
        return NULL;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_TASK,
                                 .since_ns = place->since_ns,
                                 .process = worker->process,
                                 .code = place->code,
                                 .waiting = 1};
    tg_words_process(stream, draft->input, worker->process);
    fputs(": w", stream);
    tg_openmp_search_print_worker(draft, worker);
    fprintf(stream, " has been waiting at the %s",
            is_taskloop ? "end of a taskloop" : tg_openmp_words_sync(place->what)->phrase);
    tg_words_code(stream, draft->input, worker->process, place->code);
    fputs(" for tasks", stream);
    tg_words_since(stream, draft->input, place->since_ns);
    fputc('.', stream);
    finding.is_consequence = team != NULL && print_tasks(search, team);
    return tg_openmp_search_add(draft, &finding);
}

/* All of a team have come to a barrier and nobody goes on: they wait for its tasks. */
static struct tg_error *find_tasks_at_barrier(void *context, const struct tg_openmp_team *team)
{
    const struct tg_openmp_search *search = context;
    struct tg_verdict_draft *draft = search->draft;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_barrier_of(team, &barrier) || barrier.waiting == 0 || barrier.missing > 0 ||
        barrier.passed > 0 || team->tasks_made <= team->tasks_ended ||
        tg_openmp_search_is_told(search, team, &barrier) ||
        !tg_openmp_search_is_stuck(draft, team->process,
                                   tg_openmp_search_busy_until(search, team->process, barrier.since_ns), 0))
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
    finding.is_consequence = print_tasks(search, team);
    return tg_openmp_search_add(draft, &finding);
}

struct tg_error *tg_openmp_find_tasks(struct tg_openmp_search *search)
{
    const struct tg_openmp_model *model = search->draft->input->openmp;
    struct tg_error *error = tg_openmp_model_visit_teams(model, find_tasks_at_barrier, search);
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (tg_openmp_waits_for_tasks(worker) != NULL && !search->waits.is_in_ring[i])
            error = tell_task_wait(search, worker);
    }
    return error;
}
