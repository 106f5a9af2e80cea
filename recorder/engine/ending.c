#include "recorder/engine/ending.h"
#include "recorder/engine/adoption.h"
#include "recorder/engine/lineage.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/removal.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/step.h"
#include "recorder/engine/stop.h"

#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

static bool others_live(const struct tg_tracee *tracee)
{
    for (struct tg_thread *t = tracee->thread.process->threads; t != NULL; t = t->hh.next)
        if (t != &tracee->thread && !tg_tracee_of(t)->exiting)
            return true;
    return false;
}

enum tg_thread_ending tg_thread_ending(struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    return registers == NULL                 ? TG_THREAD_ENDING_UNKNOWN
           : registers->orig_rax == SYS_exit ? TG_THREAD_ENDING_ALONE
                                             : TG_THREAD_ENDING_WITH_PROCESS;
}

static void emit_thread_exit(struct tg_tracee *tracee, int64_t status, enum tg_thread_ending ending)
{
    tracee->exit_told = true;
    struct tg_event event = {.kind = TG_EVENT_THREAD_EXIT,
                             .thread_exit = {.status = status, .ending = ending}};
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
}

void tg_ending_exiting(struct tg_tracee *tracee)
{
    struct tg_process *process = tracee->thread.process;
    unsigned long status = 0;
    bool known = ptrace(PTRACE_GETEVENTMSG, tracee->thread.tid, NULL, &status) == 0;
    bool last = !others_live(tracee);
    tg_step_drop(tracee);
    if (tracee->first_stop_due) /* killed before it ran */
        tg_lineage_thread_started(tracee);
    if (tracee->thread.tid != process->pid || !last)
        emit_thread_exit(tracee, known ? (int64_t)status : -1, tg_thread_ending(&tracee->thread));
    tg_observers_stopped(tracee, TG_TRIGGER_EXIT, 0);
    if (last)
        tg_observers_process_leaving(tracee, TG_TRIGGER_EXIT);
    tracee->exiting = true;
    tg_adoption_creator_ends(tracee);
    /* Also in a detach: it runs no code of the program any more, and an exec may be waiting for its end. */
    tg_tracee_resume_now(tracee, 0);
}

static struct tg_event process_exit(int status)
{
    return (struct tg_event){
        .kind = TG_EVENT_PROCESS_EXIT,
        .process_exit = {.how = WIFSIGNALED(status) ? TG_EXIT_SIGNAL : TG_EXIT_STATUS,
                         .status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                         .core_dumped = WIFSIGNALED(status) && WCOREDUMP(status)},
    };
}

void tg_ending_ended(struct tg_tracee *tracee, int status)
{
    struct tg_process *process = tracee->thread.process;
    struct tg_engine *engine = process->engine;
    tg_adoption_creator_ends(tracee);
    if (tracee->thread.tid != process->pid) {
        if (!tracee->exit_told) {
            process->has_unseen_ends = true;
            emit_thread_exit(tracee, status, TG_THREAD_ENDING_UNKNOWN);
        }
        tg_tracee_remove(tracee);
        return;
    }
    const struct tg_event event = process_exit(status);
    tg_engine_emit(engine, &tracee->thread, &event);
    if (process->pid == engine->launched_pid) {
        engine->launched_status = status;
        engine->launched_is_apart = false;
    }
    if (WIFSIGNALED(status))
        tg_adoption_keep_ghost(process);
    tg_process_remove(process);
}

void tg_ending_apart_ended(struct tg_engine *engine, int status)
{
    struct tg_event event = process_exit(status);
    event.pid = event.tid = engine->launched_pid;
    tg_engine_emit_as(engine, &event);
    engine->launched_status = status;
    engine->launched_is_apart = false;
}
