/* Every interleaving of what can happen to up to four threads and two barriers: all states that can be
 * reached are visited once, and what must hold is checked at each step. Whether a barrier is stuck is
 * compared with whether, in what was visited, any way leads to its being satisfied, as soon as all are stopped that
 * were told to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyzer/job/run_model.h"
#include "analyzer/job/run_state.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "tests/unit/sanitizer.h"

enum { THREADS = 4, BARRIERS = 2, SHARE = 3, WORKERS = 2 };

struct setting {
    const char *name;
    uint32_t processes; /* threads are dealt out to them evenly */
    struct tg_barrier_definition barriers[BARRIERS];
    const char *commands; /* of: x exit, d delete, e enable and disable, h hold and unhold of threads, H of
                             processes */
    unsigned holds;       /* most that a person has at a time */
    bool symmetric;       /* no barrier tells threads of a process, or processes, from each other */
    bool one_place;       /* the barriers are at one place: who comes arrives at both. They are alike. */
};

enum op_kind {
    OP_ARRIVE,
    OP_ARRIVE_TWICE,
    OP_STOPPED,
    OP_GO,
    OP_EXIT,
    OP_DELETE,
    OP_ENABLE,
    OP_DISABLE,
    OP_HOLD,
    OP_UNHOLD
};

struct op {
    enum op_kind kind;
    uint32_t barrier; /* id */
    struct tg_thread_id thread;
};

/* Checking memory makes steps some times slower: nobody holds anything there. */
#define HOLDS (!IS_SANITIZED)

/* ---- states */

enum { KEY_SIZE = THREADS * 2 + THREADS + BARRIERS };

struct state {
    uint8_t key[KEY_SIZE];
    uint32_t number;
    UT_hash_handle hh;
};

/* A step of one that lives on without anybody's interference. */
struct edge {
    uint32_t from, to;
    uint8_t satisfies; /* bit a barrier */
};

struct search {
    const struct setting *setting;
    struct tg_thread_id threads[THREADS];
    struct state *states;         /* by key */
    struct tg_run_model **models; /* by number; NULL once they are done with */
    uint8_t *stuck;               /* by number: bit a barrier */
    uint8_t *waiting;
    uint8_t *unsettled; /* by number: somebody is told to stop, and is not stopped yet */
    uint32_t n_states;
    size_t models_capacity, stuck_capacity, waiting_capacity, unsettled_capacity;
    struct edge *edges;
    size_t n_edges, edges_capacity;
};

static uint32_t per_process(const struct search *search)
{
    return THREADS / search->setting->processes;
}

static uint8_t flags_for(const struct tg_barrier *barrier, uint32_t slot)
{
    return barrier == NULL || slot == TG_NO_SLOT || slot >= barrier->n_flags ? 0 : barrier->flags[slot];
}

/* Two bytes that say all of a thread. */
static void thread_key(const struct search *search, const struct tg_run_model *model, size_t i, uint8_t *key)
{
    uint32_t slot = tg_run_find_thread(model, search->threads[i]);
    key[0] = key[1] = 0;
    if (slot == TG_NO_SLOT)
        return;
    const struct tg_run_thread *thread = &model->threads[slot];
    key[0] = (uint8_t)(1 + thread->run + (thread->held_by_user ? 4 : 0));
    for (uint32_t id = 1; id <= BARRIERS; id++) {
        const struct tg_barrier *barrier = tg_barrier_find(model, id);
        if (barrier == NULL)
            continue;
        if (barrier->definition.of_threads)
            key[1] |= (uint8_t)(flags_for(barrier, slot) << (3 * (id - 1)));
        else if (thread->run == TG_RUN_STOPPING && thread->stopping_since <= barrier->satisfied_at)
            key[0] |= (uint8_t)(8 << id); /* an arrival would be late */
    }
}

static uint8_t process_key(const struct tg_run_model *model, uint32_t dpid)
{
    uint32_t slot = tg_run_find_process(model, dpid);
    if (slot == TG_NO_SLOT)
        return 0;
    uint8_t key = model->processes[slot].held_by_user ? 128 : 64;
    for (uint32_t id = 1; id <= BARRIERS; id++) {
        const struct tg_barrier *barrier = tg_barrier_find(model, id);
        if (barrier != NULL && !barrier->definition.of_threads)
            key |= (uint8_t)(flags_for(barrier, slot) << (3 * (id - 1)));
    }
    return key;
}

static int compare_pairs(const void *x, const void *y)
{
    return memcmp(x, y, 2);
}

enum { GROUP_SIZE = THREADS * 2 + 1 };

static int compare_groups(const void *x, const void *y)
{
    return memcmp(x, y, GROUP_SIZE);
}

/* All that tells two states apart; of states that are alike but for names the same. */
static void make_key(const struct search *search, const struct tg_run_model *model, uint8_t *key)
{
    uint32_t n = per_process(search), processes = search->setting->processes;
    uint8_t groups[THREADS][GROUP_SIZE] = {0};
    for (uint32_t p = 0; p < processes; p++) {
        groups[p][0] = process_key(model, p + 1);
        for (uint32_t i = 0; i < n; i++)
            thread_key(search, model, p * n + i, &groups[p][1 + 2 * i]);
        if (search->setting->symmetric)
            qsort(&groups[p][1], n, 2, compare_pairs);
    }
    if (search->setting->symmetric)
        qsort(groups, processes, GROUP_SIZE, compare_groups);
    memset(key, 0, KEY_SIZE);
    uint8_t *to = key;
    for (uint32_t p = 0; p < processes; p++) {
        memcpy(to, groups[p], 1 + 2 * n);
        to += 1 + 2 * n;
    }
    for (uint32_t id = 1; id <= BARRIERS; id++) {
        const struct tg_barrier *barrier = tg_barrier_find(model, id);
        key[KEY_SIZE - id] = barrier == NULL ? 0 : (uint8_t)(1 + barrier->enabled + 2 * barrier->stuck);
    }
}

static uint8_t stuck_barriers(const struct tg_run_model *model, uint8_t *waiting)
{
    uint8_t bits = 0;
    *waiting = 0;
    for (uint32_t id = 1; id <= BARRIERS; id++) {
        struct tg_barrier_status status;
        if (!tg_barriers_status(model, id, &status))
            continue;
        bits |= (uint8_t)(status.stuck << (id - 1));
        *waiting |= (uint8_t)((status.n_arrived > 0) << (id - 1));
    }
    return bits;
}

/* The number of MODEL's state; takes MODEL. */
static uint32_t visit(struct search *search, struct tg_run_model *model)
{
    uint8_t key[KEY_SIZE];
    struct state *state;
    make_key(search, model, key);
    HASH_FIND(hh, search->states, key, KEY_SIZE, state);
    if (state != NULL) {
        tg_run_model_destroy(model);
        return state->number;
    }
    state = malloc(sizeof *state);
    uint32_t number = search->n_states++;
    if (state == NULL || TG_ARRAY_RESERVE(search->models, search->models_capacity, number + 1) != NULL ||
        TG_ARRAY_RESERVE(search->stuck, search->stuck_capacity, number + 1) != NULL ||
        TG_ARRAY_RESERVE(search->waiting, search->waiting_capacity, number + 1) != NULL ||
        TG_ARRAY_RESERVE(search->unsettled, search->unsettled_capacity, number + 1) != NULL)
        abort();
    memcpy(state->key, key, KEY_SIZE);
    state->number = number;
    HASH_ADD(hh, search->states, key, KEY_SIZE, state);
    search->models[number] = model;
    search->stuck[number] = stuck_barriers(model, &search->waiting[number]);
    search->unsettled[number] = 0;
    for (size_t t = 0; t < THREADS; t++)
        search->unsettled[number] |= tg_run_model_has_thread(model, search->threads[t]) &&
                                     tg_run_model_state(model, search->threads[t]) == TG_RUN_STOPPING;
    return number;
}

/* ---- steps */

static size_t count_decisions(const struct tg_run_model *model, enum tg_run_decision_kind kind, uint32_t id)
{
    size_t count, found = 0;
    const struct tg_run_decision *decisions = tg_run_model_decisions(model, &count);
    for (size_t i = 0; i < count; i++)
        found += decisions[i].kind == kind && decisions[i].barrier == id;
    return found;
}

static struct tg_error *apply(struct tg_run_model *model, const struct op *op)
{
    switch (op->kind) {
    case OP_ARRIVE:
        return tg_barriers_arrive(model, op->barrier, op->thread);
    case OP_ARRIVE_TWICE:
        assert_null(tg_barriers_arrive_on(model, 1, op->thread));
        assert_int_equal(count_decisions(model, TG_DECIDE_STUCK, 1), 0);
        return tg_barriers_arrive(model, 2, op->thread);
    case OP_STOPPED:
        return tg_run_model_stopped(model, op->thread);
    case OP_GO:
        return tg_run_model_go(model, op->thread);
    case OP_EXIT: /* the last thread's end is its process's */
        if (model->processes[tg_run_find_process(model, op->thread.dpid)].n_threads == 1)
            return tg_run_model_remove_process(model, op->thread.dpid, TG_BARRIER_BY_EXIT);
        return tg_run_model_remove_thread(model, op->thread, TG_BARRIER_BY_EXIT);
    case OP_DELETE:
        return tg_barriers_delete(model, op->barrier);
    case OP_ENABLE:
    case OP_DISABLE:
        return tg_barriers_enable(model, op->barrier, op->kind == OP_ENABLE);
    case OP_HOLD:
        return tg_run_model_hold(model, op->thread);
    case OP_UNHOLD:
        return tg_run_model_unhold(model, op->thread);
    }
    return NULL;
}

static bool lives(const struct search *search, const struct tg_run_model *model, struct tg_thread_id unit)
{
    bool any = false;
    for (size_t t = 0; t < THREADS; t++)
        if (search->threads[t].dpid == unit.dpid && (unit.dtid == 0 || search->threads[t].dtid == unit.dtid))
            any |= tg_run_model_has_thread(model, search->threads[t]);
    return any;
}

/* Whether all members of barrier ID that live after the step had arrived before it, or arrive by it; nobody
 * is not all. */
static bool all_arrived(const struct search *search, const struct tg_run_model *before,
                        const struct tg_run_model *after, uint32_t id, const struct tg_thread_id *arriving)
{
    const struct tg_barrier_definition *definition = &search->setting->barriers[id - 1];
    size_t arrived = 0, missing = 0;
    for (uint32_t i = 0; i < (definition->of_threads ? THREADS : search->setting->processes); i++) {
        struct tg_thread_id unit = {i + 1, 0};
        if (definition->of_threads)
            unit = search->threads[i];
        bool listed = definition->n_list == 0;
        for (size_t j = 0; j < definition->n_list; j++)
            listed |= definition->list[j].dpid == unit.dpid && definition->list[j].dtid == unit.dtid;
        if (!listed || !lives(search, after, unit))
            continue;
        bool comes = arriving != NULL && arriving->dpid == unit.dpid &&
                     (unit.dtid == 0 || arriving->dtid == unit.dtid);
        if (comes || tg_barriers_membership(before, id, unit).has_arrived)
            arrived++;
        else
            missing++;
    }
    return arrived > 0 && missing == 0;
}

/* Satisfied exactly when all members that still live have arrived. */
static void check_satisfaction(const struct search *search, const struct tg_run_model *before,
                               const struct tg_run_model *after, const struct op *op)
{
    for (uint32_t id = 1; id <= BARRIERS; id++) {
        struct tg_barrier_status status, now;
        bool existed = tg_barriers_status(before, id, &status);
        size_t satisfied = count_decisions(after, TG_DECIDE_SATISFIED, id);
        bool arrives =
            op->kind == OP_ARRIVE && op->barrier == id && count_decisions(after, TG_DECIDE_ARRIVED, id) == 1;
        bool expected = existed && (arrives || op->kind == OP_EXIT) &&
                        all_arrived(search, before, after, id, arrives ? &op->thread : NULL);
        assert_int_equal(satisfied, expected);
        if (satisfied > 0) {
            assert_true(tg_barriers_status(after, id, &now));
            assert_int_equal(now.n_arrived, 0);
            assert_int_equal(now.round, status.round + 1);
        }
    }
}

/* Of what is released nothing runs, but by a command that lets it go on. */
static void check_released(const struct search *search, const struct tg_run_model *after)
{
    size_t count;
    const struct tg_run_decision *decisions = tg_run_model_decisions(after, &count);
    for (size_t i = 0; i < count; i++) {
        if (decisions[i].kind != TG_DECIDE_RELEASED || decisions[i].reason == TG_BARRIER_BY_UNHOLD)
            continue;
        for (size_t t = 0; t < THREADS; t++) {
            struct tg_thread_id unit = search->threads[t];
            bool meant = unit.dpid == decisions[i].thread.dpid &&
                         (decisions[i].thread.dtid == 0 || decisions[i].thread.dtid == unit.dtid);
            if (meant && tg_run_model_has_thread(after, unit))
                assert_int_not_equal(tg_run_model_state(after, unit), TG_RUN_RUNNING);
        }
    }
}

/* A member that is held does not run, and is held by somebody: a person, or a barrier that it has arrived at. */
static void check_holds(const struct search *search, const struct tg_run_model *model)
{
    uint32_t n_thread_holds[THREADS] = {0}, n_process_holds[THREADS] = {0};
    for (size_t t = 0; t < THREADS; t++) {
        struct tg_thread_id unit = search->threads[t];
        uint32_t slot = tg_run_find_thread(model, unit);
        if (slot == TG_NO_SLOT)
            continue;
        if (tg_run_model_is_held(model, unit))
            assert_int_not_equal(tg_run_model_state(model, unit), TG_RUN_RUNNING);
        for (uint32_t id = 1; id <= BARRIERS; id++) {
            struct tg_barrier_membership member = tg_barriers_membership(model, id, unit);
            struct tg_barrier_membership process =
                tg_barriers_membership(model, id, (struct tg_thread_id){unit.dpid, 0});
            struct tg_barrier_status status;
            n_thread_holds[t] += member.is_held;
            n_process_holds[t] += process.is_held;
            if (member.is_held || process.is_held) {
                assert_true(tg_barriers_status(model, id, &status) && status.enabled);
                assert_true(member.is_held ? member.is_member && member.has_arrived
                                           : process.is_member && process.has_arrived);
            }
        }
        assert_int_equal(model->threads[slot].n_holds, n_thread_holds[t]);
        assert_int_equal(model->processes[model->threads[slot].process].n_holds, n_process_holds[t]);
    }
}

/* Barriers that are alike, and have been at one place from the start, say the same of everybody. */
static void check_alike(const struct search *search, const struct tg_run_model *model)
{
    struct tg_barrier_status one = {0}, two = {0};
    assert_true(tg_barriers_status(model, 1, &one) && tg_barriers_status(model, 2, &two));
    assert_int_equal(one.n_arrived, two.n_arrived);
    assert_int_equal(one.round, two.round);
    for (size_t t = 0; t < THREADS; t++) {
        struct tg_thread_id unit = search->threads[t];
        if (!search->setting->barriers[0].of_threads)
            unit.dtid = 0;
        assert_int_equal(tg_barriers_membership(model, 1, unit).is_held,
                         tg_barriers_membership(model, 2, unit).is_held);
    }
}

/* The model's counts are right. */
static void check_counts(const struct tg_run_model *model)
{
    for (size_t i = 0; i < model->n_barriers; i++) {
        const struct tg_barrier *barrier = model->barriers[i];
        uint64_t members = 0, arrived = 0;
        for (size_t slot = 0; slot < barrier->n_flags; slot++) {
            members += (barrier->flags[slot] & TG_BARRIER_FLAG_MEMBER) != 0;
            arrived += (barrier->flags[slot] & TG_BARRIER_FLAG_ARRIVED) != 0;
        }
        assert_int_equal(members, barrier->n_members);
        assert_int_equal(arrived, barrier->n_arrived);
        assert_true(arrived == 0 || arrived < members);
    }
    for (size_t i = 0; i < model->n_processes; i++) {
        size_t running = 0;
        for (size_t j = 0; j < model->processes[i].n_threads; j++)
            running += model->threads[model->processes[i].threads[j]].run == TG_RUN_RUNNING;
        assert_int_equal(running, model->processes[i].n_running);
    }
}

/* A member that is told to run was not held, and one that is told nothing goes on as before. */
static void check_running(const struct search *search, const struct tg_run_model *before,
                          const struct tg_run_model *after, const struct op *op)
{
    for (size_t t = 0; t < THREADS; t++) {
        struct tg_thread_id unit = search->threads[t];
        if (!tg_run_model_has_thread(after, unit))
            continue;
        enum tg_run_state was = tg_run_model_state(before, unit), is = tg_run_model_state(after, unit);
        if (was != TG_RUN_RUNNING && is == TG_RUN_RUNNING) {
            assert_int_equal(op->kind, OP_GO);
            assert_false(tg_run_model_is_held(before, unit));
        }
        if (op->kind == OP_GO && op->thread.dpid == unit.dpid && op->thread.dtid == unit.dtid)
            assert_true(is == TG_RUN_RUNNING || tg_run_model_is_held(before, unit));
    }
}

static void step(struct search *search, uint32_t from, const struct op *op, bool is_free)
{
    struct tg_run_model *after = NULL;
    const struct tg_run_model *before = search->models[from];
    assert_null(tg_run_model_copy(before, &after));
    assert_null(apply(after, op));
    if (search->setting->one_place)
        check_alike(search, after);
    else
        check_satisfaction(search, before, after, op);
    check_released(search, after);
    check_holds(search, after);
    check_counts(after);
    check_running(search, before, after, op);
    struct edge edge = {.from = from};
    for (uint32_t id = 1; id <= BARRIERS; id++)
        edge.satisfies |= (uint8_t)(count_decisions(after, TG_DECIDE_SATISFIED, id) << (id - 1));
    if (op->kind == OP_ARRIVE_TWICE && edge.satisfies != 0) /* the first of them was before */
        edge.satisfies = (1 << BARRIERS) - 1;
    edge.to = visit(search, after);
    if (!is_free)
        return;
    if (TG_ARRAY_APPEND(search->edges, search->n_edges, search->edges_capacity, edge) != NULL)
        abort();
}

static bool may(const struct search *search, char command)
{
    return strchr(search->setting->commands, command) != NULL;
}

/* How many threads and processes a person holds. */
static unsigned n_held(const struct search *search, const struct tg_run_model *model)
{
    unsigned held = 0;
    for (size_t t = 0; t < THREADS; t++) {
        uint32_t slot = tg_run_find_thread(model, search->threads[t]);
        held += slot != TG_NO_SLOT && model->threads[slot].held_by_user;
    }
    for (uint32_t dpid = 1; dpid <= search->setting->processes; dpid++) {
        uint32_t slot = tg_run_find_process(model, dpid);
        held += slot != TG_NO_SLOT && model->processes[slot].held_by_user;
    }
    return held;
}

/* Events that can happen to thread I by itself. */
static void step_thread(struct search *search, uint32_t from, size_t i)
{
    const struct tg_run_model *model = search->models[from];
    struct tg_thread_id unit = search->threads[i];
    if (!tg_run_model_has_thread(model, unit))
        return;
    enum tg_run_state run = tg_run_model_state(model, unit);
    for (uint32_t id = 1; id <= BARRIERS && run != TG_RUN_STOPPED && !search->setting->one_place; id++)
        step(search, from, &(struct op){OP_ARRIVE, id, unit}, true);
    if (run != TG_RUN_STOPPED && search->setting->one_place)
        step(search, from, &(struct op){OP_ARRIVE_TWICE, 0, unit}, true);
    if (run == TG_RUN_STOPPING)
        step(search, from, &(struct op){OP_STOPPED, 0, unit}, true);
    if (run != TG_RUN_RUNNING)
        step(search, from, &(struct op){OP_GO, 0, unit}, true);
    if (may(search, 'x'))
        step(search, from, &(struct op){OP_EXIT, 0, unit}, false);
    if (!may(search, 'h'))
        return;
    uint32_t slot = tg_run_find_thread(model, unit);
    const struct tg_run_thread *thread = &model->threads[slot];
    if (!thread->held_by_user && n_held(search, model) < search->setting->holds)
        step(search, from, &(struct op){OP_HOLD, 0, unit}, false);
    /* a person lets go some day of threads that the person holds; a barrier's it alone lets go of */
    step(search, from, &(struct op){OP_UNHOLD, 0, unit}, thread->held_by_user && thread->n_holds == 0);
}

static void step_process(struct search *search, uint32_t from, uint32_t dpid)
{
    const struct tg_run_model *model = search->models[from];
    uint32_t slot = tg_run_find_process(model, dpid);
    const struct tg_thread_id unit = {dpid, 0};
    if (!may(search, 'H') || slot == TG_NO_SLOT)
        return;
    const struct tg_run_process *process = &model->processes[slot];
    if (!process->held_by_user && n_held(search, model) < search->setting->holds)
        step(search, from, &(struct op){OP_HOLD, 0, unit}, false);
    step(search, from, &(struct op){OP_UNHOLD, 0, unit}, process->held_by_user && process->n_holds == 0);
}

static void step_barrier(struct search *search, uint32_t from, uint32_t id)
{
    struct tg_barrier_status status;
    if (!tg_barriers_status(search->models[from], id, &status))
        return;
    if (may(search, 'd'))
        step(search, from, &(struct op){OP_DELETE, id, {0}}, false);
    if (may(search, 'e'))
        step(search, from, &(struct op){status.enabled ? OP_DISABLE : OP_ENABLE, id, {0}}, false);
}

/* ---- the whole search */

static struct tg_run_model *first_model(struct search *search)
{
    struct tg_run_model *model = NULL;
    uint32_t n = per_process(search);
    assert_null(tg_run_model_create(&model));
    for (uint32_t p = 1; p <= search->setting->processes; p++) {
        const struct tg_process_groups process = {p, 1, SHARE, WORKERS};
        assert_null(tg_run_model_add_process(model, &process));
        for (uint32_t i = 1; i <= n; i++) {
            struct tg_thread_id unit = {p, i};
            search->threads[(p - 1) * n + i - 1] = unit;
            assert_null(tg_run_model_add_thread(model, unit, false));
        }
    }
    for (size_t i = 0; i < BARRIERS; i++)
        assert_null(tg_barriers_add(model, &search->setting->barriers[i]));
    return model;
}

/* Bits of the barriers that each state can come to satisfy, from the edges backwards. */
static uint8_t *find_satisfiable(const struct search *search)
{
    uint8_t *can = calloc(search->n_states, 1);
    if (can == NULL)
        abort();
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = search->n_edges; i-- > 0;) {
            const struct edge *edge = &search->edges[i];
            uint8_t bits = (uint8_t)(can[edge->from] | edge->satisfies | can[edge->to]);
            changed |= bits != can[edge->from];
            can[edge->from] = bits;
        }
    }
    return can;
}

static void explore(const struct setting *setting)
{
    struct search search = {.setting = setting};
    size_t stuck = 0;
    visit(&search, first_model(&search));
    for (uint32_t at = 0; at < search.n_states; at++) {
        for (size_t i = 0; i < THREADS; i++)
            step_thread(&search, at, i);
        for (uint32_t dpid = 1; dpid <= setting->processes; dpid++)
            step_process(&search, at, dpid);
        for (uint32_t id = 1; id <= BARRIERS; id++)
            step_barrier(&search, at, id);
        tg_run_model_destroy(search.models[at]);
        search.models[at] = NULL;
    }
    uint8_t *can = find_satisfiable(&search);
    for (uint32_t at = 0; at < search.n_states; at++) {
        stuck += search.stuck[at] != 0;
        assert_int_equal(search.stuck[at] & can[at], 0);
        if (!search.unsettled[at])
            assert_int_equal(search.stuck[at], search.waiting[at] & ~can[at]);
    }
    print_message("%s: %u states, %zu of them stuck\n", setting->name, search.n_states, stuck);
    struct state *state, *next;
    HASH_ITER (hh, search.states, state, next) {
        HASH_DEL(search.states, state);
        free(state);
    }
    free(can);
    free(search.models);
    free(search.stuck);
    free(search.waiting);
    free(search.unsettled);
    free(search.edges);
}

#define BARRIER(number, threads, hit, done)                                                                  \
    .id = number, .of_threads = threads, .stop_when_hit = TG_BARRIER_STOP_##hit,                             \
    .stop_when_done = TG_BARRIER_STOP_##done, .share_group = SHARE

static void thread_barriers(void **state)
{
    (void)state;
    static const struct setting setting = {.name = "thread barriers",
                                           .processes = 2,
                                           .barriers = {{BARRIER(1, true, NONE, NONE), .group = WORKERS},
                                                        {BARRIER(2, true, NONE, NONE), .group = WORKERS}},
                                           .commands = "xdhH",
                                           .holds = HOLDS,
                                           .symmetric = true};
    explore(&setting);
}

static void process_barriers(void **state)
{
    (void)state;
    static const struct setting setting = {
        .name = "process barriers",
        .processes = 2,
        .barriers = {{BARRIER(1, false, NONE, NONE)}, {BARRIER(2, false, PROCESS, GROUP)}},
        .commands = "xdeH",
        .holds = HOLDS,
        .symmetric = true};
    explore(&setting);
}

static void processes_of_one_thread(void **state)
{
    (void)state;
    static const struct setting setting = {
        .name = "process barriers of four",
        .processes = 4,
        .barriers = {{BARRIER(1, false, GROUP, GROUP)}, {BARRIER(2, false, PROCESS, PROCESS)}},
        .commands = "dH",
        .holds = HOLDS,
        .symmetric = true};
    explore(&setting);
}

static void one_of_each_kind(void **state)
{
    (void)state;
    static const struct setting setting = {
        .name = "one of each kind",
        .processes = 2,
        .barriers = {{BARRIER(1, true, PROCESS, PROCESS), .group = WORKERS},
                     {BARRIER(2, false, PROCESS, NONE)}},
        .commands = "xdh",
        .holds = HOLDS,
        .symmetric = true};
    explore(&setting);
}

static void barriers_over_some(void **state)
{
    (void)state;
    static const struct tg_thread_id first[] = {{1, 1}, {1, 2}, {2, 1}}, second[] = {{2, 2}, {2, 1}, {1, 2}};
    static const struct setting setting = {
        .name = "barriers over some",
        .processes = 2,
        .barriers = {{BARRIER(1, true, GROUP, NONE), .list = first, .n_list = 3},
                     {BARRIER(2, true, NONE, GROUP), .list = second, .n_list = 3}},
        .commands = "xd"};
    explore(&setting);
}

static void two_at_one_place(void **state)
{
    (void)state;
    static const struct setting processes = {
        .name = "two process barriers at one place",
        .processes = 2,
        .barriers = {{BARRIER(1, false, PROCESS, NONE)}, {BARRIER(2, false, PROCESS, NONE)}},
        .commands = "xH",
        .holds = HOLDS,
        .symmetric = true,
        .one_place = true};
    static const struct setting threads = {.name = "two thread barriers at one place",
                                           .processes = 2,
                                           .barriers = {{BARRIER(1, true, NONE, GROUP), .group = WORKERS},
                                                        {BARRIER(2, true, NONE, GROUP), .group = WORKERS}},
                                           .commands = "xh",
                                           .holds = HOLDS,
                                           .symmetric = true,
                                           .one_place = true};
    explore(&processes);
    explore(&threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_barriers),         cmocka_unit_test(process_barriers),
        cmocka_unit_test(processes_of_one_thread), cmocka_unit_test(one_of_each_kind),
        cmocka_unit_test(barriers_over_some),      cmocka_unit_test(two_at_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
