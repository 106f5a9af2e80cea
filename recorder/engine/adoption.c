#include "recorder/engine/adoption.h"
#include "recorder/engine/address_space.h"
#include "recorder/engine/forking.h"
#include "recorder/engine/lineage.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/wake.h"
#include "recorder/process/memory.h"
#include "recorder/process/proc_status.h"

/* A thread or process that is created stops at once and waits to be reported by its creator's fork event.
 * SIGKILL can take the creator away in that very moment: nobody reports the child then, and it would stay
 * stopped for ever. */

enum { INT3 = 0xcc };

static bool can_still_tell(const struct tg_process *process)
{
    for (const struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next)
        if (!((const struct tg_tracee *)thread)->exiting)
            return true;
    return false;
}

static bool process_may_be_forking(const struct tg_process *process)
{
    for (const struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        const struct tg_tracee *tracee = (const struct tg_tracee *)thread;
        if (!tracee->exiting && tracee->running && tg_forking_is_possible(thread->tid))
            return true;
    }
    return false;
}

static void adopt_thread(struct tg_process *process, pid_t tid)
{
    struct tg_tracee *tracee = tg_tracee_add(process, tid);
    if (tracee == NULL)
        tg_engine_fail(process->engine, tg_error_no_memory());
    else
        tracee->first_stop_due = true; /* handled when the stop in progress is over */
}

void tg_adoption_creator_ends(struct tg_tracee *creator)
{
    struct tg_process *process = creator->thread.process;
    struct tg_parked_stop *parked, *next;
    HASH_ITER (hh, process->engine->parked, parked, next) {
        struct tg_proc_status status;
        pid_t tid = parked->tid;
        if (tg_tracee_find(process->engine, tid) != NULL || !tg_proc_status_read(tid, &status))
            continue;
        if (status.tgid == process->pid)
            adopt_thread(process, tid);
        else if (status.tgid == tid && status.parent == process->pid && !process_may_be_forking(process))
            tg_lineage_add_child(creator, process, process->space, tid, TG_ORIGIN_FORK);
    }
}

/* ---- ghosts */

void tg_adoption_keep_ghost(struct tg_process *process)
{
    struct tg_engine *engine = process->engine;
    struct tg_ghost *ghost = &engine->ghosts[engine->n_ghosts++ % TG_MAX_GHOSTS];
    tg_address_space_unref(ghost->space);
    *ghost = (struct tg_ghost){.facts = *process, .space = tg_address_space_ref(process->space)};
    ghost->facts.data = NULL;
}

void tg_adoption_drop_ghosts(struct tg_engine *engine)
{
    for (unsigned i = 0; i < TG_MAX_GHOSTS; i++) {
        tg_address_space_unref(engine->ghosts[i].space);
        engine->ghosts[i].space = NULL;
    }
}

/* Is every int3 of SPACE in the memory of TID? */
static bool is_copy_of(const struct tg_address_space *space, pid_t tid)
{
    for (const struct tg_site *site = space->sites; site != NULL; site = site->hh.next) {
        uint8_t byte;
        if (site->planted && (!tg_memory_read(tid, site->address, &byte, 1) || byte != INT3))
            return false;
    }
    return true;
}

static struct tg_ghost *find_ghost(struct tg_engine *engine, pid_t tid)
{
    for (unsigned age = 1; age <= TG_MAX_GHOSTS && age <= engine->n_ghosts; age++) {
        struct tg_ghost *ghost = &engine->ghosts[(engine->n_ghosts - age) % TG_MAX_GHOSTS];
        if (ghost->space != NULL && is_copy_of(ghost->space, tid))
            return ghost;
    }
    return NULL;
}

static void adopt_from_ghost(struct tg_engine *engine, pid_t tid)
{
    struct tg_ghost *ghost = find_ghost(engine, tid);
    if (ghost != NULL)
        tg_lineage_add_child(NULL, &ghost->facts, ghost->space, tid, TG_ORIGIN_FORK);
}

void tg_adoption_restore(struct tg_engine *engine, pid_t tid)
{
    struct tg_ghost *ghost = find_ghost(engine, tid);
    if (ghost != NULL)
        tg_address_space_restore(ghost->space, tid);
}

void tg_adoption_parked(struct tg_engine *engine, pid_t tid)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(tid, &status))
        return;
    if (status.tgid != tid) {
        struct tg_process *process = tg_process_find(engine, status.tgid);
        if (process != NULL && !can_still_tell(process))
            adopt_thread(process, tid);
        return;
    }
    struct tg_process *parent = tg_process_find(engine, status.parent);
    if (parent == NULL)
        adopt_from_ghost(engine, tid);
    else if (!can_still_tell(parent) && parent->threads != NULL)
        tg_lineage_add_child(tg_tracee_of(parent->threads), parent, parent->space, tid, TG_ORIGIN_FORK);
}

/* ---- stops that stay parked */

/* The real parent of an orphan is whoever inherited it, and may well be traced and alive. */
static void look_at(struct tg_engine *engine, pid_t tid)
{
    struct tg_proc_status status;
    if (tg_tracee_find(engine, tid) != NULL || !tg_proc_status_read(tid, &status))
        return;
    struct tg_process *process = tg_process_find(engine, status.tgid != tid ? status.tgid : status.parent);
    if (process != NULL && process_may_be_forking(process))
        return;
    if (status.tgid != tid && process != NULL)
        adopt_thread(process, tid);
    else if (status.tgid == tid)
        adopt_from_ghost(engine, tid);
}

void tg_adoption_look_again(struct tg_engine *engine)
{
    enum { LONG_NS = 5 * 1000 * 1000 };
    struct tg_parked_stop *parked, *next;
    uint64_t now_ns = tg_engine_now_ns();
    /* A look reads /proc for every parked stop: in a storm of forks that is too dear after each stop. */
    if (now_ns - engine->looked_again_ns > LONG_NS) {
        HASH_ITER (hh, engine->parked, parked, next)
            if (now_ns - parked->since_ns > LONG_NS)
                look_at(engine, parked->tid);
        engine->looked_again_ns = tg_engine_now_ns();
    }
    /* Without a kill nothing can stay parked. */
    bool wanted = engine->parked != NULL && engine->n_ghosts > 0;
    if (wanted != engine->looking_again)
        tg_wake_set_ticking(engine, wanted);
    engine->looking_again = wanted;
}
