#include "recorder/process/spawn.h"

#include "format/base/short_turns.h"

#include <errno.h>
#include <fcntl.h>
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

static void reset_signals(const sigset_t *ignored)
{
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        bool is_ignored = ignored != NULL
                              ? sigismember(ignored, signal) == 1
                              : sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        action = (struct sigaction){.sa_handler = is_ignored ? SIG_IGN : SIG_DFL};
        sigaction(signal, &action, NULL);
    }
}

/* Runs in the forked child: async-signal-safe calls only. Signals are blocked until the caller's handlers are
 * gone and everything is as OPTIONS say. */
_Noreturn static void become_program(char *const *argv, const struct tg_spawn_options *options,
                                     const sigset_t *mask, struct channel *go, struct channel *failure)
{
    close_end(&go->write_end); /* or the caller's death would never be seen */
    close_end(&failure->read_end);
    tg_short_turns_end();
    reset_signals(options->ignored);
    if (options->own_group)
        setpgid(0, 0);
    if (options->standard_input != NULL)
        dup2(*options->standard_input, STDIN_FILENO);
    char byte;
    if (read_retrying(go->read_end, &byte, 1) != 1)
        _exit(127);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvpe(argv[0], argv, options->environment != NULL ? options->environment : environ);
    int why = errno;
    ssize_t written = write(failure->write_end, &why, sizeof why);
    (void)written;
    _exit(why == ENOENT || why == ENOTDIR ? 127 : 126); /* as shells do */
}

struct tg_error *tg_spawn_begin(char *const *argv, const struct tg_spawn_options *options,
                                struct tg_spawn *spawn)
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
        become_program(argv, options, options->mask != NULL ? options->mask : &former, &go, &failure);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (child < 0)
        return tg_error_create_errno(why, "cannot start %s: fork", argv[0]);
    *spawn = (struct tg_spawn){.pid = child, .go = go.write_end, .failure = failure.read_end};
    go.write_end = failure.read_end = -1;
    return NULL;
}

struct tg_error *tg_spawn_go(const struct tg_spawn *spawn, const char *name)
{
    return write(spawn->go, "", 1) == 1 ? NULL : tg_error_create_errno(errno, "cannot start %s", name);
}

int tg_spawn_failure(const struct tg_spawn *spawn)
{
    int why;
    return read_retrying(spawn->failure, &why, sizeof why) == (ssize_t)sizeof why ? why : 0;
}

void tg_spawn_deinit(struct tg_spawn *spawn)
{
    close_end(&spawn->go);
    close_end(&spawn->failure);
}
