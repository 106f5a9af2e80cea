#include "recorder/record/relay.h"

#include "format/base/thread.h"
#include "recorder/process/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOW_MS = 100,     /* between the first and the last process that gets a signal to many */
    LATE_MS = 60 * 1000, /* a recorder that had no processor, or was stopped, asks as late as this */
    MAX_ASKED = 16,
    MAX_EARLY = 16
};

struct tg_relay {
    void (*passed)(void *context,
                   const struct tg_relayed *relayed); /* with CONTEXT, once a command is there */
    void *context;
    int line; /* to the witness, packets of struct tg_relayed; -1: there is none */
    pthread_t thread;
    bool has_thread;
    sem_t is_ready;
    bool is_awaited;
    atomic_int command;   /* 0: not there yet */
    atomic_int unasked;   /* a signal that came before, and no witness could be asked about; 0: none */
    pthread_mutex_t lock; /* of setting it, and of all that follows */
    struct tg_relayed early[MAX_EARLY];
    size_t n_early;
};

/* ---- the witness: a process of its own */

struct seen {
    int signal;
    pid_t sender;
    int64_t at_ms;
    bool is_asked; /* a question was about this one, or a later one */
};

struct asked {
    struct tg_relayed relayed;
    int64_t until_ms;
};

struct witness {
    int line, signals;
    struct seen seen[MAX_ASKED]; /* the latest ones */
    size_t n_seen;               /* so far */
    struct asked asked[MAX_ASKED];
    size_t n_asked;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void look_for_signals(struct witness *witness)
{
    struct signalfd_siginfo info;
    while (read(witness->signals, &info, sizeof info) == (ssize_t)sizeof info)
        witness->seen[witness->n_seen++ % MAX_ASKED] =
            (struct seen){(int)info.ssi_signo, (pid_t)info.ssi_pid, now_ms(), false};
}

/* Whether the signal came here, too: just now, or before, and the recorder takes note of it late. */
static bool was_seen(struct witness *witness, const struct asked *asked)
{
    bool was_seen = false;
    for (size_t i = 0; i < MAX_ASKED && i < witness->n_seen; i++) {
        struct seen *seen = &witness->seen[i];
        if (seen->signal != asked->relayed.signal || seen->sender != asked->relayed.sender)
            continue;
        int64_t window_ms = seen->is_asked ? WINDOW_MS : LATE_MS;
        was_seen |= seen->at_ms >= asked->until_ms - WINDOW_MS - window_ms;
        seen->is_asked = true;
    }
    return was_seen;
}

/* Drops what was seen here as well, and sends back what was not when its time has come. */
static void answer(struct witness *witness)
{
    size_t n = 0;
    for (size_t i = 0; i < witness->n_asked; i++) {
        const struct asked asked = witness->asked[i];
        if (was_seen(witness, &asked))
            continue;
        if (now_ms() < asked.until_ms)
            witness->asked[n++] = asked;
        else
            (void)!send(witness->line, &asked.relayed, sizeof asked.relayed, MSG_NOSIGNAL);
    }
    witness->n_asked = n;
}

/* False where the recorder has gone. */
static bool take_question(struct witness *witness)
{
    struct tg_relayed relayed;
    if (recv(witness->line, &relayed, sizeof relayed, 0) != (ssize_t)sizeof relayed)
        return false;
    if (witness->n_asked < MAX_ASKED) /* so many in a tenth of a second are one request */
        witness->asked[witness->n_asked++] = (struct asked){relayed, now_ms() + WINDOW_MS};
    return true;
}

static void stand_witness(int line, void *context)
{
    struct witness witness = {.line = line};
    sigset_t all;
    (void)context;
    sigfillset(&all);
    witness.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (witness.signals < 0)
        return;
    for (;;) {
        struct pollfd fds[] = {{.fd = line, .events = POLLIN}, {.fd = witness.signals, .events = POLLIN}};
        poll(fds, 2, witness.n_asked > 0 ? WINDOW_MS / 10 : -1);
        if (fds[0].revents != 0 && !take_question(&witness))
            return;
        look_for_signals(&witness);
        answer(&witness);
    }
}

/* ---- the recorder */

static void pass(struct tg_relay *relay, const struct tg_relayed *relayed)
{
    relay->passed(relay->context, relayed);
    kill(atomic_load(&relay->command), relayed->signal);
}

static void take_passed(struct tg_relay *relay, const struct tg_relayed *relayed)
{
    pthread_mutex_lock(&relay->lock);
    if (atomic_load(&relay->command) != 0)
        pass(relay, relayed);
    else if (relay->n_early < MAX_EARLY)
        relay->early[relay->n_early++] = *relayed;
    pthread_mutex_unlock(&relay->lock);
}

/* The witness is a child of this thread: the engine waits for those of the tracer thread. */
static void *await_answers(void *context)
{
    struct tg_relay *relay = context;
    struct tg_relayed relayed;
    pid_t witness = 0;
    tg_error_destroy(tg_guard_process_start_in_group(stand_witness, NULL, &witness, &relay->line));
    sem_post(&relay->is_ready);
    if (relay->line < 0)
        return NULL;
    for (;;) {
        ssize_t n = recv(relay->line, &relayed, sizeof relayed, 0);
        if (n == (ssize_t)sizeof relayed)
            take_passed(relay, &relayed);
        else if (n >= 0 || errno != EINTR)
            break;
    }
    kill(witness, SIGKILL);
    while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
        ;
    return NULL;
}

struct tg_error *tg_relay_create(struct tg_relay **relay)
{
    struct tg_relay *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct tg_relay){.line = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
    sem_init(&made->is_ready, 0, 0);
    struct tg_error *error = tg_thread_start(await_answers, made, "the relay's thread", &made->thread);
    made->has_thread = error == NULL;
    tg_error_destroy(error);
    *relay = made;
    return NULL;
}

static void await_witness(struct tg_relay *relay)
{
    while (relay->has_thread && !relay->is_awaited && sem_wait(&relay->is_ready) != 0)
        ;
    relay->is_awaited = true;
}

void tg_relay_await(struct tg_relay *relay, void (*passed)(void *context, const struct tg_relayed *relayed),
                    void *context)
{
    relay->passed = passed;
    relay->context = context;
    await_witness(relay);
}

void tg_relay_set_command(struct tg_relay *relay, pid_t pid)
{
    pthread_mutex_lock(&relay->lock);
    atomic_store(&relay->command, pid);
    for (size_t i = 0; i < relay->n_early; i++)
        pass(relay, &relay->early[i]);
    relay->n_early = 0;
    int unasked = atomic_exchange(&relay->unasked, 0);
    if (unasked != 0)
        kill(pid, unasked);
    pthread_mutex_unlock(&relay->lock);
}

/* As /proc/PID/comm has it, by what a signal's handler may call. */
static void read_name(pid_t pid, char *name, size_t size)
{
    char path[32], digits[12];
    size_t n = 0, length = sizeof "/proc/" - 1;
    *name = '\0';
    for (pid_t left = pid; left > 0; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    memcpy(path, "/proc/", length);
    while (n > 0)
        path[length++] = digits[--n];
    memcpy(path + length, "/comm", sizeof "/comm");
    int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? 0 : read(fd, name, size - 1);
    if (fd >= 0)
        close(fd);
    while (got > 0 && (name[got - 1] == '\n' || name[got - 1] == '\0'))
        got--;
    name[got > 0 ? got : 0] = '\0';
}

void tg_relay_take(struct tg_relay *relay, int signal, const siginfo_t *info)
{
    struct tg_relayed relayed = {.signal = signal, .sender = info->si_pid};
    pid_t command = atomic_load(&relay->command);
    if (info->si_code > 0 || info->si_code == SI_TIMER || info->si_pid == getpid())
        return; /* a key of the terminal's goes to the whole group */
    read_name(relayed.sender, relayed.name, sizeof relayed.name);
    bool is_apart = command != 0 && getpgid(command) != getpgrp(); /* what the group gets does not reach it */
    bool is_asked =
        relay->line >= 0 && !is_apart &&
        send(relay->line, &relayed, sizeof relayed, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof relayed;
    if (!is_asked && command != 0)
        kill(command, signal);
    else if (!is_asked)
        atomic_store(&relay->unasked, signal);
}

void tg_relay_end(struct tg_relay *relay)
{
    if (relay == NULL)
        return;
    await_witness(relay); /* made with the line */
    if (relay->line >= 0)
        shutdown(relay->line, SHUT_RDWR);
}

void tg_relay_destroy(struct tg_relay *relay)
{
    if (relay == NULL)
        return;
    tg_relay_end(relay);
    if (relay->has_thread)
        pthread_join(relay->thread, NULL);
    if (relay->line >= 0)
        close(relay->line);
    sem_destroy(&relay->is_ready);
    free(relay);
}
