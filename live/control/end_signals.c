#include "live/control/end_signals.h"

#include "format/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <termios.h>
#include <unistd.h>

enum { N_SIGNALS = 8 };

/* All that are sent to end somebody, or to tell him something that would end him. */
static const int signals[N_SIGNALS] = {SIGTERM, SIGHUP, SIGQUIT, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM};

/* A signal's handler has nothing but this. */
static struct {
    int pipe[2]; /* the signal's number goes through; 0: it is over */
    struct tg_traced_job *job;
    enum tg_job_end how;
    pthread_t thread;
    bool has_thread;
    struct sigaction former[N_SIGNALS];
    struct termios terminal; /* as it was found */
    bool has_terminal;
} ending;

static void pass_on(int signal)
{
    int saved = errno;
    unsigned char number = (unsigned char)signal;
    ssize_t written = write(ending.pipe[1], &number, 1);
    (void)written;
    errno = saved;
}

static void *await_signal(void *context)
{
    unsigned char number = 0;
    ssize_t n;
    (void)context;
    do
        n = read(ending.pipe[0], &number, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1 || number == 0)
        return NULL;
    tg_traced_job_end(ending.job, ending.how);
    if (ending.has_terminal) /* somebody was editing a line */
        tcsetattr(STDIN_FILENO, TCSADRAIN, &ending.terminal);
    sigset_t only;
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    kill(getpid(), number);
    return NULL;
}

struct tg_error *tg_end_signals_catch(void)
{
    if (pipe2(ending.pipe, O_CLOEXEC) != 0)
        return tg_error_create_errno(errno, "cannot create a pipe");
    ending.has_terminal = tcgetattr(STDIN_FILENO, &ending.terminal) == 0;
    ending.has_thread = false;
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], NULL, &ending.former[i]);
        if (ending.former[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    return NULL;
}

struct tg_error *tg_end_signals_begin(struct tg_traced_job *job, enum tg_job_end how)
{
    ending.job = job;
    ending.how = how;
    struct tg_error *error =
        tg_thread_start(await_signal, NULL, "the thread that waits for signals", &ending.thread);
    ending.has_thread = error == NULL;
    return error;
}

void tg_end_signals_take(int signal)
{
    pass_on(signal);
}

void tg_end_signals_end(void)
{
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &ending.former[i], NULL);
    pass_on(0);
    if (ending.has_thread)
        pthread_join(ending.thread, NULL);
    close(ending.pipe[0]);
    close(ending.pipe[1]);
}
