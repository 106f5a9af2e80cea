#include "recorder/process/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char name_in_group[] = "tg-witness";

/* The memory that /proc/PID/cmdline shows. In the caller's copy, which nobody else sees. */
static void take_command_line(void)
{
    unsigned long start, end;
    char line[2048];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, line, sizeof line - 1);
    if (file >= 0)
        close(file);
    line[length > 0 ? length : 0] = '\0';
    const char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < 48; field++) /* behind the name, which is the second one */
        at = strchr(at + 1, ' ');
    if (at == NULL || sscanf(at, "%lu %lu", &start, &end) != 2 || start == 0 || end <= start)
        return;
    size_t size = end - start;
    char *arguments = (char *)start; // NOLINT(performance-no-int-to-ptr)
    memset(arguments, 0, size);
    memcpy(arguments, name_in_group, size < sizeof name_in_group ? size - 1 : sizeof name_in_group);
}

static _Noreturn void run(void (*keep)(int line, void *context), void *context, int line)
{
    /* Nothing of the recorder's may stay open because of this process, least of all the ends of other
     * guards. */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    dup2(line, 3);
    close_range(4, ~0U, 0);
    keep(3, context);
    _exit(0);
}

/* The guard's parent ends at once. */
static struct tg_error *start(void (*keep)(int line, void *context), void *context, bool in_group, int line,
                              pid_t *pid)
{
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    /* Not fork(), which makes threads wait that allocate memory: KEEP of the one in the group needs none. */
    pid_t child = in_group ? _Fork() : fork();
    int why = errno;
    if (child == 0 && in_group) {
        prctl(PR_SET_NAME, name_in_group);
        take_command_line();
        run(keep, context, line);
    }
    if (child == 0) {
        setsid();
        prctl(PR_SET_NAME, TG_GUARD_NAME);
        if (fork() == 0)
            run(keep, context, line);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    while (!in_group && child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    *pid = child;
    return child < 0 ? tg_error_create_errno(why, "cannot start a guard process for the job: fork") : NULL;
}

static struct tg_error *open_and_start(void (*keep)(int line, void *context), void *context, bool in_group,
                                       pid_t *pid, int *line)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return tg_error_create_errno(errno, "cannot start a guard process for the job: socketpair");
    struct tg_error *error = start(keep, context, in_group, ends[0], pid);
    close(ends[0]);
    if (error != NULL)
        close(ends[1]);
    else
        *line = ends[1];
    return error;
}

struct tg_error *tg_guard_process_start(void (*keep)(int line, void *context), void *context, int *line)
{
    pid_t gone;
    return open_and_start(keep, context, false, &gone, line);
}

struct tg_error *tg_guard_process_start_in_group(void (*keep)(int line, void *context), void *context,
                                                 pid_t *pid, int *line)
{
    return open_and_start(keep, context, true, pid, line);
}
