#include "recorder/engine/address_space.h"
#include "recorder/engine/dispatch.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tg_error *seize_error(int why)
{
    char reason[300];
    if (why == EPERM && tg_attach_refusal_of_own(reason, sizeof reason))
        return tg_error_create(TG_ERROR_TARGET, "cannot trace a program: %s", reason);
    if (why == EPERM)
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot trace a program: ptrace is not permitted here (a container needs "
                               "CAP_SYS_PTRACE or a seccomp profile that allows ptrace); use --no-ptrace "
                               "to record with the agent alone");
    return tg_error_prefix(tg_error_create_errno(why, "ptrace"), "cannot trace a program");
}

/* Lets the child run to its exec; other stops on the way are none of anybody's business. */
static struct tg_error *await_exec(struct tg_engine *engine, const char *name, const struct tg_spawn *spawn,
                                   bool *reaped)
{
    pid_t child = spawn->pid;
    for (;;) {
        int status;
        if (waitpid(child, &status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return tg_error_create_errno(errno, "cannot wait for %s", name);
        }
        if (!WIFSTOPPED(status)) {
            *reaped = true;
            int why = tg_spawn_failure(spawn);
            if (why != 0)
                return tg_error_create(TG_ERROR_TARGET, "cannot run '%s': %s", name, strerror(why));
            return tg_error_create(TG_ERROR_TARGET, "cannot run '%s': killed before it started", name);
        }
        switch (status >> 16) {
        case PTRACE_EVENT_EXEC:
            tg_dispatch(engine, child, status);
            return NULL;
        case 0:
            ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status));
            break;
        case PTRACE_EVENT_STOP:
            ptrace(WSTOPSIG(status) == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, child, NULL, NULL);
            break;
        default:
            ptrace(PTRACE_CONT, child, NULL, NULL);
        }
    }
}

static struct tg_error *add_launched(struct tg_engine *engine, pid_t child)
{
    struct tg_address_space *space = tg_address_space_create();
    struct tg_process *process =
        space == NULL ? NULL : tg_process_add(engine, child, TG_ORIGIN_LAUNCHED, space);
    if (process == NULL)
        tg_address_space_unref(space);
    else if (tg_tracee_add(process, child) != NULL)
        return NULL;
    else
        tg_process_remove(process);
    return tg_error_no_memory();
}

/* A launch that failed leaves nothing behind. */
static void kill_child(struct tg_engine *engine, pid_t child, bool reaped)
{
    struct tg_process *process = tg_process_find(engine, child);
    if (process != NULL)
        tg_process_remove(process);
    if (reaped || kill(child, SIGKILL) != 0)
        return;
    for (;;) {
        int status;
        pid_t tid = waitpid(child, &status, __WALL);
        if (tid == child && !WIFSTOPPED(status))
            return;
        if (tid == child) /* PTRACE_EVENT_EXIT of the child */
            ptrace(PTRACE_CONT, child, NULL, NULL);
        else if (errno != EINTR)
            return;
    }
}

static struct tg_error *start(struct tg_engine *engine, char *const *argv, const struct tg_spawn *spawn,
                              bool *reaped)
{
    long options = TG_TRACE_OPTIONS | (engine->kill_on_exit ? PTRACE_O_EXITKILL : 0);
    if (ptrace(PTRACE_SEIZE, spawn->pid, NULL, options) != 0)
        return seize_error(errno);
    struct tg_error *error = tg_spawn_go(spawn, argv[0]); /* to an exec that takes as long as what follows */
    if (error == NULL)
        error = add_launched(engine, spawn->pid);
    if (error == NULL)
        tg_observers_launching(engine, spawn->pid);
    return error != NULL ? error : await_exec(engine, argv[0], spawn, reaped);
}

/* Where SIGCHLD is ignored the kernel does not keep how a child ended that nobody traces any more. */
static void hear_of_children(void)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

struct tg_error *tg_engine_launch(struct tg_engine *engine, char *const *argv, pid_t *pid)
{
    const struct tg_spawn_options options = {.mask = &engine->launch_mask,
                                             .ignored = &engine->launch_ignored,
                                             .standard_input = engine->standard_input,
                                             .own_group = engine->own_group};
    TG_AUTO_SPAWN struct tg_spawn spawn = TG_SPAWN_NONE;
    hear_of_children();
    struct tg_error *error = tg_spawn_begin(argv, &options, &spawn);
    if (error != NULL)
        return error;
    bool reaped = false;
    error = start(engine, argv, &spawn, &reaped);
    if (error != NULL) {
        kill_child(engine, spawn.pid, reaped);
        return error;
    }
    engine->launched_pid = spawn.pid;
    if (pid != NULL)
        *pid = spawn.pid;
    return NULL;
}
