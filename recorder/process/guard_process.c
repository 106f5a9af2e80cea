#include "recorder/process/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void run(void (*keep)(int line, void *context), void *context, int line)
{
    prctl(PR_SET_NAME, "tollgate-guard");
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
static struct tg_error *start(void (*keep)(int line, void *context), void *context, int line)
{
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pid_t child = fork();
    int why = errno;
    if (child == 0) {
        setsid();
        if (fork() == 0)
            run(keep, context, line);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return child < 0 ? tg_error_create_errno(why, "cannot start a guard process for the job: fork") : NULL;
}

struct tg_error *tg_guard_process_start(void (*keep)(int line, void *context), void *context, int *line)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return tg_error_create_errno(errno, "cannot start a guard process for the job: socketpair");
    struct tg_error *error = start(keep, context, ends[0]);
    close(ends[0]);
    if (error != NULL)
        close(ends[1]);
    else
        *line = ends[1];
    return error;
}
