#include "recorder/record/front.h"

#include "format/base/thread.h"
#include "recorder/process/wait_status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct tg_front {
    int line; /* to the process in front: its end is the end of this; a byte says that signals may come */
    void (*gone)(void *context);
    void *context;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over;
};

/* ---- the process in front */

struct watch {
    pid_t tracer;
    int line;
    int signals;
    bool is_ready;  /* the tracer has its handlers */
    sigset_t early; /* signals that came before that */
};

/* Signals that stop a process by default stay with the kernel, so that this process stops and goes on with
 * the other. */
static void choose_signals(sigset_t *set)
{
    static const int left[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    sigfillset(set);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        sigdelset(set, left[i]);
}

/* Ends this process as the tracer has ended, if it has. */
static void look_for_end(const struct watch *watch)
{
    int status;
    if (waitpid(watch->tracer, &status, WNOHANG) != watch->tracer)
        return;
    _exit(tg_wait_status_end_as(status));
}

/* Keys go to the whole foreground group, to the tracer as well. A hang-up may come to the leader of a session
 * alone. */
static bool is_for_the_tracer(const struct signalfd_siginfo *info)
{
    bool is_key = info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT || info->ssi_signo == SIGWINCH;
    return !is_key || info->ssi_code <= 0;
}

static void pass_on(struct watch *watch, int signal)
{
    if (watch->is_ready)
        kill(watch->tracer, signal);
    else
        sigaddset(&watch->early, signal);
}

static void take_signal(struct watch *watch)
{
    struct signalfd_siginfo info;
    if (read(watch->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGCHLD)
        look_for_end(watch);
    else if (is_for_the_tracer(&info))
        pass_on(watch, (int)info.ssi_signo);
}

static void become_ready(struct watch *watch)
{
    char byte;
    if (read(watch->line, &byte, 1) != 1) { /* the tracer ends: SIGCHLD follows */
        close(watch->line);
        watch->line = -1;
        return;
    }
    watch->is_ready = true;
    for (int signal = 1; signal < NSIG; signal++)
        if (sigismember(&watch->early, signal) == 1)
            pass_on(watch, signal);
}

static _Noreturn void stay_in_front(pid_t tracer, int line, const sigset_t *blocked)
{
    struct watch watch = {.tracer = tracer, .line = line};
    sigemptyset(&watch.early);
    watch.signals = signalfd(-1, blocked, SFD_CLOEXEC);
    if (watch.signals < 0) { /* too many files: nothing is passed on */
        int status = 0;
        while (waitpid(tracer, &status, 0) < 0 && errno == EINTR)
            ;
        _exit(tg_wait_status_end_as(status));
    }
    look_for_end(&watch);
    for (;;) {
        struct pollfd fds[] = {{.fd = watch.signals, .events = POLLIN}, {.fd = watch.line, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents != 0)
            become_ready(&watch);
        if (fds[0].revents != 0)
            take_signal(&watch);
    }
}

/* ---- the process that traces */

static void *await_end(void *context)
{
    struct tg_front *front = context;
    char byte;
    while (read(front->line, &byte, 1) < 0 && errno == EINTR)
        ;
    if (!atomic_load(&front->is_over))
        front->gone(front->context);
    return NULL;
}

/* Signals sent by name (pkill) go to the process in front: this one takes another name. */
static void take_name(void)
{
    prctl(PR_SET_NAME, "tg-engine");
}

struct tg_error *tg_front_create(struct tg_front **front)
{
    int ends[2];
    sigset_t blocked, former;
    struct tg_front *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot create a socket");
        free(made);
        return error;
    }
    fflush(NULL);
    choose_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &former);
    struct sigaction usual = {.sa_handler = SIG_DFL}, of_children;
    sigaction(SIGCHLD, &usual, &of_children);
    pid_t child = fork();
    int why = errno;
    if (child > 0) {
        close(ends[1]);
        free(made);
        stay_in_front(child, ends[0], &blocked);
    }
    sigaction(SIGCHLD, &of_children, NULL);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        free(made);
        return tg_error_create_errno(why, "cannot start the tracing process: fork");
    }
    take_name();
    made->line = ends[1];
    *front = made;
    return NULL;
}

struct tg_error *tg_front_watch(struct tg_front *front, void (*gone)(void *context), void *context)
{
    front->gone = gone;
    front->context = context;
    struct tg_error *error =
        tg_thread_start(await_end, front, "the thread that watches the front process", &front->thread);
    if (error != NULL)
        return error;
    front->has_thread = true;
    ssize_t sent = send(front->line, "", 1, MSG_NOSIGNAL); /* fails where it has gone: the thread sees that */
    (void)sent;
    return NULL;
}

void tg_front_destroy(struct tg_front *front)
{
    if (front == NULL)
        return;
    atomic_store(&front->is_over, true);
    shutdown(front->line, SHUT_RD);
    if (front->has_thread)
        pthread_join(front->thread, NULL);
    close(front->line);
    free(front);
}
