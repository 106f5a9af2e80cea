#include "live/control/steps.h"

#include "format/base/hash.h"
#include "live/control/thread_scene.h"

#include <stdlib.h>

struct step {
    pid_t tid;
    struct tg_job_steps *owner;
    struct tg_process *process;
    struct tg_thread *thread; /* gone between an exec of the process and its event */
    struct tg_stepper *stepper;
    struct tg_step_order order; /* being carried out, or the next one */
    bool alone;
    bool repeats;                                       /* the instruction was not executed */
    bool leaves;                                        /* one instruction first: it is at a target */
    struct tg_breakpoint *planted[TG_STEP_MAX_TARGETS]; /* by target; NULL: not */
    UT_hash_handle hh;
};

struct tg_job_steps {
    struct tg_job_modules *modules;
    struct step *steps; /* by tid */
};

struct tg_error *tg_job_steps_create(struct tg_job_modules *modules, struct tg_job_steps **steps)
{
    struct tg_job_steps *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->modules = modules;
    *steps = made;
    return NULL;
}

static struct step *find(const struct tg_job_steps *steps, pid_t tid)
{
    struct step *step = NULL;
    HASH_FIND(hh, steps->steps, &tid, sizeof tid, step);
    return step;
}

static void destroy(struct step *step)
{
    HASH_DEL(step->owner->steps, step);
    tg_stepper_destroy(step->stepper);
    free(step);
}

void tg_job_steps_destroy(struct tg_job_steps *steps)
{
    struct step *step, *next;
    if (steps == NULL)
        return;
    HASH_ITER (hh, steps->steps, step, next)
        destroy(step);
    free(steps);
}

/* ---- temporary breakpoints */

static void unplant(struct step *step)
{
    for (size_t i = 0; i < TG_STEP_MAX_TARGETS; i++)
        if (step->planted[i] != NULL)
            tg_breakpoint_remove(step->process, step->planted[i]);
    memset(step->planted, 0, sizeof step->planted);
}

/* Whether a step in the memory of PROCESS has planted BREAKPOINT: a fork's child has copies that nobody
 * needs; one of vfork has its parent's. */
static bool is_wanted(const struct tg_job_steps *steps, const struct tg_process *process,
                      const struct tg_breakpoint *breakpoint)
{
    const struct step *step;
    for (step = steps->steps; step != NULL; step = step->hh.next)
        for (size_t i = 0; step->process->space == process->space && i < TG_STEP_MAX_TARGETS; i++)
            if (step->planted[i] == breakpoint)
                return true;
    return false;
}

static void take_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_job_steps *steps = context;
    const struct step *step = find(steps, thread->tid);
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    if (!is_wanted(steps, thread->process, breakpoint)) {
        tg_breakpoint_remove(thread->process, breakpoint);
        return;
    }
    if (step == NULL || registers == NULL || step->order.kind != TG_STEP_ORDER_RUN)
        return;
    for (size_t i = 0; i < step->order.n_targets; i++) {
        const struct tg_step_target *target = &step->order.targets[i];
        if (target->address == registers->rip && registers->rsp >= target->rsp_at_least)
            tg_thread_keep(thread);
    }
}

static struct tg_error *plant(struct step *step)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < step->order.n_targets; i++)
        if (step->planted[i] == NULL)
            error = tg_breakpoint_plant(step->process, step->order.targets[i].address, TG_BREAKPOINT_INTERNAL,
                                        take_hit, step->owner, &step->planted[i]);
    return error;
}

/* ---- steps */

struct tg_error *tg_job_steps_prepare(struct tg_job_steps *steps, struct tg_thread *thread,
                                      const struct tg_step_request *request, bool alone)
{
    struct tg_registers registers;
    (void)tg_job_steps_drop(steps, thread->tid);
    struct tg_modules *modules = tg_job_modules_of(steps->modules, thread->process);
    if (modules == NULL)
        return tg_error_no_memory();
    if (!tg_thread_scene_registers(thread, &registers))
        return tg_error_create(TG_ERROR_TARGET, "cannot read the thread's registers: it is about to end");
    struct step *step = calloc(1, sizeof *step);
    if (step == NULL)
        return tg_error_no_memory();
    *step = (struct step){
        .tid = thread->tid, .owner = steps, .process = thread->process, .thread = thread, .alone = alone};
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    struct tg_error *error =
        tg_stepper_begin(modules, &memory, request, &registers, &step->stepper, &step->order);
    if (error == NULL && step->order.kind == TG_STEP_ORDER_IMPOSSIBLE)
        error = tg_error_create(TG_ERROR_TARGET, "%s", step->order.why);
    if (error == NULL)
        error = TG_HASH_ADD(hh, steps->steps, tid, step);
    if (error == NULL)
        return NULL;
    tg_stepper_destroy(step->stepper);
    free(step);
    return error;
}

static bool stands_at_target(const struct step *step)
{
    const struct user_regs_struct *registers = tg_thread_registers(step->thread);
    for (size_t i = 0; registers != NULL && i < step->order.n_targets; i++)
        if (step->order.targets[i].address == registers->rip)
            return true;
    return false;
}

/* False: the order is none, or cannot be carried out. */
static bool carry_out(struct step *step)
{
    step->leaves =
        step->order.kind == TG_STEP_ORDER_RUN && step->planted[0] == NULL && stands_at_target(step);
    if (step->order.kind == TG_STEP_ORDER_ONE || step->leaves) {
        tg_thread_step(step->thread);
        return true;
    }
    struct tg_error *error = step->order.kind == TG_STEP_ORDER_RUN ? plant(step) : NULL;
    bool runs = step->order.kind == TG_STEP_ORDER_RUN && error == NULL;
    tg_error_destroy(error); /* an address that is no code: the step ends where the thread is */
    if (runs)
        tg_thread_go(step->thread);
    return runs;
}

bool tg_job_steps_go(struct tg_job_steps *steps, struct tg_thread *thread)
{
    struct step *step = find(steps, thread->tid);
    if (step != NULL && carry_out(step))
        return true;
    (void)tg_job_steps_drop(steps, thread->tid);
    return false;
}

void tg_job_steps_interrupted(struct tg_job_steps *steps, struct tg_thread *thread)
{
    struct step *step = find(steps, thread->tid);
    if (step == NULL || (step->order.kind != TG_STEP_ORDER_ONE && !step->leaves))
        return;
    step->repeats = true;
    tg_thread_keep(thread);
}

enum tg_job_step tg_job_steps_kept(struct tg_job_steps *steps, struct tg_thread *thread)
{
    struct step *step = find(steps, thread->tid);
    struct tg_registers registers;
    if (step == NULL)
        return TG_JOB_STEP_NONE;
    bool is_read = tg_thread_scene_registers(thread, &registers) &&
                   tg_job_modules_of(steps->modules, thread->process) != NULL; /* as they are now */
    bool goes = is_read;
    if (step->repeats) {
        step->repeats = false;
        tg_thread_step(thread);
        goes = true;
    } else if (is_read && !step->leaves) {
        unplant(step);
        tg_stepper_advance(step->stepper, &registers, &step->order);
        goes = carry_out(step);
    } else if (is_read) {
        step->leaves = false;
        struct tg_error *error = plant(step);
        goes = error == NULL;
        tg_error_destroy(error);
        if (goes)
            tg_thread_go(thread);
    }
    if (goes)
        return TG_JOB_STEP_ON;
    return tg_job_steps_drop(steps, thread->tid) ? TG_JOB_STEP_ALL : TG_JOB_STEP_ALONE;
}

bool tg_job_steps_drop(struct tg_job_steps *steps, pid_t tid)
{
    struct step *step = find(steps, tid);
    if (step == NULL)
        return false;
    bool all = !step->alone;
    unplant(step);
    destroy(step);
    return all;
}

void tg_job_steps_unloaded(struct tg_job_steps *steps, const struct tg_process *process, uint64_t start,
                           uint64_t size)
{
    struct step *step;
    for (step = steps->steps; step != NULL; step = step->hh.next)
        for (size_t i = 0; step->process == process && i < step->order.n_targets; i++)
            if (step->order.targets[i].address - start < size)
                step->planted[i] = NULL;
}

void tg_job_steps_forget(struct tg_job_steps *steps, const struct tg_process *process)
{
    struct step *step, *next;
    HASH_ITER (hh, steps->steps, step, next)
        if (step->process == process)
            destroy(step);
}
