#include "recorder/look/halt.h"

#include "format/base/array.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/interrupted_call.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { SPINS = 64, SLEEP_NS = 50 * 1000, MAX_SCANS = 64, TICK_US = 20 * 1000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- stopping */

/* What the thread is let go with is written now: whoever looks may be killed before. A process that was stopped anyway sees its
 * EINTR as natively. */
static void read_registers(struct tg_halted_thread *thread)
{
    thread->is_stopped = ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers) == 0;
    if (thread->is_stopped && !thread->is_suspended && tg_interrupted_call_restart(&thread->registers))
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &thread->registers);
}

static void note_stop(struct tg_halted_thread *thread, int status)
{
    if (!WIFSTOPPED(status)) {
        thread->is_gone = true;
        thread->is_stopped = false;
        return;
    }
    /* PTRACE_EVENT_STOP is of our interrupt, or because the process is stopped anyway */
    if (status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
    thread->is_suspended = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
    read_registers(thread);
}

/* How many threads are still to stop. */
static size_t look(struct tg_halt *halt)
{
    size_t missing = 0;
    for (size_t i = 0; i < halt->count; i++) {
        struct tg_halted_thread *thread = &halt->threads[i];
        int status;
        if (thread->is_gone)
            continue;
        pid_t tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (tid == thread->tid)
            note_stop(thread, status);
        else if (tid < 0)
            thread->is_gone = true;
        missing += !thread->is_stopped && !thread->is_gone;
    }
    return missing;
}

static void wait_all(struct tg_halt *halt, uint64_t until_ns)
{
    static const struct timespec pause = {.tv_nsec = SLEEP_NS};
    for (unsigned n = 0; look(halt) > 0 && now_ns() < until_ns; n++) {
        if (n < SPINS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

/* ---- letting go */

/* False where the thread was killed meanwhile: it has to be waited for yet. */
static bool let_go(const struct tg_halted_thread *thread)
{
    return ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) == 0;
}

/* ---- threads that could not be stopped in time */

/* Late threads stop when they run again, and are let go at once then: by the signal that the kernel sends for it.
 * Threads that end have to be waited for, or a thread of theirs that executes a program waits for ever. */
enum { MAX_LATE = 8192 };
static pid_t late[MAX_LATE];
static volatile size_t n_late;

static void let_go_late(void)
{
    for (size_t i = 0; i < n_late;) {
        int status;
        pid_t tid = waitpid(late[i], &status, __WALL | WNOHANG);
        if (tid == late[i] && WIFSTOPPED(status)) {
            struct tg_halted_thread thread = {.tid = tid};
            note_stop(&thread, status);
            if (!let_go(&thread))
                tid = 0;
        }
        if (tid == 0) {
            i++;
            continue;
        }
        late[i] = late[n_late - 1];
        n_late = n_late - 1;
    }
}

static void on_child(int signal)
{
    int why = errno;
    (void)signal;
    let_go_late();
    errno = why;
}

static void block(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGALRM);
    sigprocmask(how, &signals, NULL);
}

static void note_late(const struct tg_halt *halt)
{
    const struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    block(SIG_BLOCK);
    for (size_t i = 0; i < halt->count; i++)
        if (!halt->threads[i].is_stopped && !halt->threads[i].is_gone && n_late < MAX_LATE) {
            late[n_late] = halt->threads[i].tid;
            n_late = n_late + 1;
        }
    if (n_late > 0)
        sigaction(SIGCHLD, &action, NULL);
    let_go_late(); /* threads that stopped meanwhile */
    block(SIG_UNBLOCK);
}

/* ---- seizing */

/* A thread that executes a program holds a lock that PTRACE_SEIZE needs, until every other thread of its process has
 * ended and, where it is traced, was waited for: by whoever is in PTRACE_SEIZE. So a timer interrupts it meanwhile. */
static struct tg_halt *volatile seizing;

static void on_timer(int signal)
{
    int why = errno;
    (void)signal;
    if (seizing != NULL)
        look(seizing);
    let_go_late();
    errno = why;
}

static void set_timer(long interval_us)
{
    const struct itimerval interval = {{.tv_usec = interval_us}, {.tv_usec = interval_us}};
    setitimer(ITIMER_REAL, &interval, NULL);
}

static void start_timer(struct sigaction *before)
{
    const struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, before);
    set_timer(TICK_US);
}

static void stop_timer(const struct sigaction *before)
{
    set_timer(0);
    sigaction(SIGALRM, before, NULL);
}

static bool has_thread(const struct tg_halt *halt, pid_t tid)
{
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].tid == tid)
            return true;
    return false;
}

/* Takes one thread; errno of the refusal, 0 none. */
static int seize(struct tg_halt *halt, pid_t tid)
{
    struct tg_halted_thread thread = {.tid = tid};
    seizing = halt;
    int why = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 ? 0 : errno;
    seizing = NULL;
    if (why != 0)
        return why;
    if (TG_ARRAY_APPEND(halt->threads, halt->count, halt->capacity, thread) != NULL)
        return ENOMEM; /* the thread runs on, and is let go when tollgate ends */
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return 0;
}

/* Takes the threads that are not taken yet; returns whether there were any. WHY: errno of the last refusal. */
static bool scan(pid_t pid, size_t max_threads, struct tg_halt *halt, int *why)
{
    char path[40];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        *why = ESRCH;
        return false;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && halt->count < max_threads;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || has_thread(halt, tid))
            continue;
        int refusal = seize(halt, tid);
        found |= refusal == 0;
        if (refusal != 0)
            *why = refusal;
    }
    closedir(directory);
    return found;
}

struct tg_error *tg_halt_begin(pid_t pid, uint64_t until_ns, size_t max_threads, struct tg_halt *halt)
{
    int why = 0;
    struct sigaction before;
    *halt = (struct tg_halt){.start_ns = now_ns()};
    start_timer(&before);
    /* threads that those make which run yet are found by the next look */
    for (int i = 0; i < MAX_SCANS && scan(pid, max_threads, halt, &why); i++)
        wait_all(halt, until_ns);
    stop_timer(&before);
    if (halt->count > 0)
        return NULL;
    free(halt->threads);
    *halt = (struct tg_halt){0};
    return tg_attach_refusal(pid, why == 0 ? ESRCH : why);
}

/* ---- both */

uint64_t tg_halt_end(struct tg_halt *halt)
{
    look(halt);
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].is_stopped && !let_go(&halt->threads[i]))
            halt->threads[i].is_stopped = false;
    uint64_t took_ns = now_ns() - halt->start_ns;
    note_late(halt);
    free(halt->threads);
    *halt = (struct tg_halt){0};
    return took_ns;
}
