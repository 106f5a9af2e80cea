#include "recorder/engine/address_space.h"
#include "recorder/engine/dispatch.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both ends are close-on-exec: nothing of them reaches the program. */
struct channel {
    int read_end;
    int write_end;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void channel_close(struct channel *channel)
{
    close_end(&channel->read_end);
    close_end(&channel->write_end);
}

#define AUTO_CHANNEL __attribute__((cleanup(channel_close)))

static struct tg_error *channel_open(struct channel *channel)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tg_error_create_errno(errno, "cannot start a program: pipe");
    *channel = (struct channel){ends[0], ends[1]};
    return NULL;
}

static ssize_t read_retrying(int fd, void *buffer, size_t size)
{
    ssize_t n;
    do
        n = read(fd, buffer, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Runs in the forked child: async-signal-safe calls only. Signals are blocked until the tool's own handlers
 * are gone and everything is as it was when the tool was started. */
_Noreturn static void become_program(const struct tg_engine *engine, char *const *argv, struct channel *go,
                                     struct channel *failure)
{
    close_end(&go->write_end); /* or the tracer's death would never be seen */
    close_end(&failure->read_end);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action = {.sa_handler =
                                       sigismember(&engine->launch_ignored, signal) == 1 ? SIG_IGN : SIG_DFL};
        sigaction(signal, &action, NULL);
    }
    if (engine->own_group)
        setpgid(0, 0);
    if (engine->standard_input != NULL)
        dup2(*engine->standard_input, STDIN_FILENO);
    char byte;
    if (read_retrying(go->read_end, &byte, 1) != 1)
        _exit(127);
    sigprocmask(SIG_SETMASK, &engine->launch_mask, NULL);
    execvp(argv[0], argv);
    int why = errno;
    ssize_t written = write(failure->write_end, &why, sizeof why);
    (void)written;
    _exit(why == ENOENT || why == ENOTDIR ? 127 : 126); /* as shells do */
}

static struct tg_error *seize_error(int why)
{
    if (why == EPERM)
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot trace a program: ptrace is not permitted here (a container needs "
                               "CAP_SYS_PTRACE or a seccomp profile that allows ptrace); use --no-ptrace "
                               "to record with the agent alone");
    return tg_error_prefix(tg_error_create_errno(why, "ptrace"), "cannot trace a program");
}

/* Lets the child run to its exec; other stops on the way are none of anybody's business. */
static struct tg_error *await_exec(struct tg_engine *engine, const char *name, pid_t child, int failure_fd,
                                   bool *reaped)
{
    for (;;) {
        int status;
        if (waitpid(child, &status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return tg_error_create_errno(errno, "cannot wait for %s", name);
        }
        if (!WIFSTOPPED(status)) {
            int why;
            *reaped = true;
            if (read_retrying(failure_fd, &why, sizeof why) == (ssize_t)sizeof why)
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
        if (tid == child) /* its PTRACE_EVENT_EXIT */
            ptrace(PTRACE_CONT, child, NULL, NULL);
        else if (errno != EINTR)
            return;
    }
}

static struct tg_error *start(struct tg_engine *engine, char *const *argv, pid_t child, struct channel *go,
                              struct channel *failure, bool *reaped)
{
    long options = TG_TRACE_OPTIONS | (engine->kill_on_exit ? PTRACE_O_EXITKILL : 0);
    if (ptrace(PTRACE_SEIZE, child, NULL, options) != 0)
        return seize_error(errno);
    struct tg_error *error = add_launched(engine, child);
    if (error != NULL)
        return error;
    if (write(go->write_end, "", 1) != 1)
        return tg_error_create_errno(errno, "cannot start %s", argv[0]);
    return await_exec(engine, argv[0], child, failure->read_end, reaped);
}

struct tg_error *tg_engine_launch(struct tg_engine *engine, char *const *argv, pid_t *pid)
{
    AUTO_CHANNEL struct channel go = {-1, -1};
    AUTO_CHANNEL struct channel failure = {-1, -1};
    struct tg_error *error = channel_open(&go);
    if (error == NULL)
        error = channel_open(&failure);
    if (error != NULL)
        return error;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pid_t child = fork();
    if (child == 0)
        become_program(engine, argv, &go, &failure);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (child < 0)
        return tg_error_create_errno(why, "cannot start %s: fork", argv[0]);
    close_end(&go.read_end);
    close_end(&failure.write_end);
    bool reaped = false;
    error = start(engine, argv, child, &go, &failure, &reaped);
    if (error != NULL) {
        kill_child(engine, child, reaped);
        return error;
    }
    engine->launched_pid = child;
    if (pid != NULL)
        *pid = child;
    return NULL;
}
