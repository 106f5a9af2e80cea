#include "format/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_SIGNALS = 6, MOST_FILES = 8 };

static const int signals[N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM};

struct file {
    int directory, fd;
    const char *name; /* NULL: the place is free; the last that is set, and the first that is cleared */
};

/* A signal's handler has nothing but this. */
static struct file files[MOST_FILES];
static volatile sig_atomic_t has_line;
static unsigned n_used; /* files, and the line */

/* Closes the descriptors but those of the files: whoever waits for the end of a pipe does not wait for this process. */
static void close_others(void)
{
    for (unsigned next = 0, kept = 0; kept != UINT32_MAX; next = kept + 1) {
        kept = UINT32_MAX;
        for (size_t i = 0; i < MOST_FILES; i++)
            if (files[i].name != NULL && (unsigned)files[i].fd >= next && (unsigned)files[i].fd < kept)
                kept = (unsigned)files[i].fd;
        if (kept > next)
            close_range(next, kept - 1, 0);
    }
}

/* The kernel takes long to free a large file, when its last descriptor is closed: a process of its own keeps it until this
 * one has ended, so that who has pressed the key does not wait for that. */
static void leave_to_child(void)
{
    enum { MOST_MS = 10000 };
    pid_t parent = getpid();
    if (_Fork() != 0)
        return;
    close_others();
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, parent, 0), .events = POLLIN};
    if (end.fd >= 0)
        poll(&end, 1, MOST_MS);
    _exit(0);
}

static void clean_up(int signal_number)
{
    static const char wipe[] = "\r\033[K";
    bool any_file = false;
    if (has_line && write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0)
        has_line = 0;
    for (size_t i = 0; i < MOST_FILES; i++) {
        const char *name = files[i].name;
        if (name == NULL)
            continue;
        any_file = true;
        unlinkat(files[i].directory, name, 0);
    }
    if (any_file)
        leave_to_child();
    signal(signal_number, SIG_DFL);
    kill(getpid(), signal_number); /* comes when this handler returns */
}

/* The handler is there as long as there is something to do for it. */
static void use(bool begins)
{
    struct sigaction ours = {.sa_handler = clean_up, .sa_flags = SA_RESTART}, now;
    n_used = begins ? n_used + 1 : n_used - 1;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; n_used == begins && i < N_SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &now) != 0)
            continue;
        if (begins && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &ours, NULL);
        if (!begins && now.sa_handler == clean_up)
            signal(signals[i], SIG_DFL);
    }
}

int tg_cleanup_add(int directory, const char *name, int fd)
{
    for (int i = 0; i < MOST_FILES; i++) {
        if (files[i].name != NULL)
            continue;
        files[i].directory = directory;
        files[i].fd = fd;
        __atomic_store_n(&files[i].name, name, __ATOMIC_RELEASE);
        use(true);
        return i;
    }
    return -1;
}

void tg_cleanup_forget(int place)
{
    if (place < 0)
        return;
    __atomic_store_n(&files[place].name, NULL, __ATOMIC_RELEASE);
    use(false);
}

void tg_cleanup_line(bool is_shown)
{
    if (is_shown == (has_line != 0))
        return;
    has_line = is_shown;
    use(is_shown);
}

void tg_cleanup_hold(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaddset(&held, signals[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void tg_cleanup_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
