#include "recorder/look/halt.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/interrupted_call.h"
#include "recorder/process/proc_status.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SCANS = 64, LOOKS_AT_ALL = 256, MAX_MISSING = 16, TICK_US = 20 * 1000 };

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

/* Whether threads are still to stop. Goes round from where the look before ended, and ends early at MAX_MISSING threads
 * that have not stopped: those behind them have hardly had a processor yet, and asking for all of them takes it away from
 * them. WITH_STOPPED: those that were stopped are asked, too, whether something killed them meanwhile. */
static bool look(struct tg_halt *halt, bool with_stopped, size_t max_missing)
{
    size_t missing = 0;
    for (size_t n = 0; n < halt->count && missing < max_missing; n++) {
        struct tg_halted_thread *thread = &halt->threads[halt->next++ % halt->count];
        int status;
        if (thread->is_gone || (thread->is_stopped && !with_stopped))
            continue;
        pid_t tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (tid == thread->tid)
            note_stop(thread, status);
        else if (tid < 0)
            thread->is_gone = true;
        missing += !thread->is_stopped && !thread->is_gone;
    }
    return missing > 0;
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

/* Whether TID is late from a look before: then it is traced, is to stop, and not let go any more when it does. */
static bool take_late(pid_t tid)
{
    bool is_found = false;
    block(SIG_BLOCK);
    for (size_t i = 0; i < n_late && !is_found; i++) {
        is_found = late[i] == tid;
        if (!is_found)
            continue;
        late[i] = late[n_late - 1];
        n_late = n_late - 1;
    }
    block(SIG_UNBLOCK);
    return is_found;
}

/* ---- seizing */

/* A thread that executes a program holds a lock that PTRACE_SEIZE needs, until every other thread of its process has
 * ended and, where it is traced, was waited for: by whoever is in PTRACE_SEIZE. So a timer interrupts it meanwhile. */
static struct tg_halt *volatile seizing;
static volatile size_t n_seized, n_seized_at_tick;

static void on_timer(int signal)
{
    int why = errno;
    (void)signal;
    /* only where one PTRACE_SEIZE outlasts a tick: looks at thousands of threads would last until the next one */
    if (seizing != NULL && n_seized == n_seized_at_tick)
        look(seizing, true, SIZE_MAX);
    n_seized_at_tick = n_seized;
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

static int by_tid(const void *a, const void *b)
{
    pid_t first = ((const struct tg_halted_thread *)a)->tid,
          second = ((const struct tg_halted_thread *)b)->tid;
    return (first > second) - (first < second);
}

/* Whether TID is one of the first COUNT threads, which are sorted. */
static bool has_thread(const struct tg_halt *halt, size_t count, pid_t tid)
{
    size_t at = TG_LOWER_BOUND(halt->threads, count, tid, tid);
    return at < count && halt->threads[at].tid == tid;
}

/* Takes one thread, which runs on; errno of the refusal, 0 none. */
static int seize(struct tg_halt *halt, pid_t tid)
{
    struct tg_halted_thread thread = {.tid = tid};
    seizing = halt;
    int why = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 ? 0 : errno;
    seizing = NULL;
    n_seized = n_seized + 1;
    if (why != 0 && !take_late(tid))
        return why;
    /* without memory it runs on, and is let go when tollgate ends */
    return TG_ARRAY_APPEND(halt->threads, halt->count, halt->capacity, thread) == NULL ? 0 : ENOMEM;
}

/* A thread that is about to end is none. */
static void note_refused(struct tg_halt *halt, pid_t tid)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(tid, &status) || tg_proc_status_is_dead(&status) || status.tracer == 0 ||
        status.tracer == getpid())
        return;
    halt->refused = halt->n_refused++ == 0 ? tid : halt->refused;
}

/* Takes the threads that are not taken yet; returns whether there were any. WHY: errno of the last refusal. */
static bool scan(struct tg_halt *halt, int *why)
{
    struct sigaction before;
    char path[40];
    const size_t n_known = halt->count;
    halt->n_refused = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)halt->pid);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        *why = ESRCH;
        return false;
    }
    start_timer(&before);
    if (n_known > 0)
        qsort(halt->threads, n_known, sizeof *halt->threads, by_tid);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && halt->count < halt->max_threads;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || has_thread(halt, n_known, tid))
            continue;
        int refusal = seize(halt, tid);
        if (refusal == 0)
            continue;
        *why = refusal;
        note_refused(halt, tid);
    }
    closedir(directory);
    /* all of them are seized before the first stops: that takes longer than interrupting them */
    if (n_known == 0)
        halt->start_ns = now_ns();
    for (size_t i = n_known; i < halt->count; i++)
        ptrace(PTRACE_INTERRUPT, halt->threads[i].tid, NULL, NULL);
    stop_timer(&before);
    return halt->count > n_known;
}

/* Whether HALT, whose threads can make none any more, has all threads of its process: so the kernel's count tells, and its
 * list, which takes long for thousands, need not be read once more. */
static bool is_complete(const struct tg_halt *halt)
{
    enum { OTHER_LINKS = 2 };
    char path[40];
    struct stat attributes;
    size_t count = 0;
    for (size_t i = 0; i < halt->count; i++) {
        if (!halt->threads[i].is_stopped && !halt->threads[i].is_gone)
            return false;
        count += halt->threads[i].is_stopped;
    }
    snprintf(path, sizeof path, "/proc/%d/task", (int)halt->pid);
    return stat(path, &attributes) == 0 && attributes.st_nlink == count + OTHER_LINKS;
}

struct tg_error *tg_halt_begin(pid_t pid, size_t max_threads, struct tg_halt *halt)
{
    int why = 0;
    *halt = (struct tg_halt){.pid = pid, .max_threads = max_threads, .start_ns = now_ns()};
    if (scan(halt, &why))
        return NULL;
    free(halt->threads);
    *halt = (struct tg_halt){0};
    char reason[300];
    tg_attach_refusal_reason(pid, why == 0 ? ESRCH : why, reason, sizeof reason);
    return tg_error_create(TG_ERROR_TARGET, "%s", reason);
}

struct tg_error *tg_halt_begin_thread(pid_t pid, pid_t tid, struct tg_halt *halt)
{
    struct sigaction before;
    char reason[300];
    *halt = (struct tg_halt){.pid = pid, .max_threads = 1};
    start_timer(&before);
    int why = seize(halt, tid);
    halt->start_ns = now_ns();
    if (why == 0)
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    stop_timer(&before);
    if (why == 0)
        return NULL;
    free(halt->threads);
    *halt = (struct tg_halt){0};
    tg_attach_refusal_reason(tid, why, reason, sizeof reason);
    return tg_error_create(TG_ERROR_TARGET, "%s", reason);
}

static bool has_stopped(const struct tg_halt *halt)
{
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].is_stopped || halt->threads[i].is_gone)
            return true;
    return false;
}

bool tg_halt_poll(struct tg_halt *halt)
{
    /* a thread that executes a program stops when those that it killed were waited for */
    bool is_of_all = ++halt->n_polls % LOOKS_AT_ALL == 0;
    uint64_t before_ns = now_ns();
    int why;
    bool goes_on = look(halt, is_of_all, is_of_all ? SIZE_MAX : MAX_MISSING);
    if (goes_on && (is_of_all || halt->count <= MAX_MISSING) && !has_stopped(halt))
        halt->start_ns = before_ns;
    if (goes_on)
        return false;
    /* threads that those made which ran yet are found by the next look */
    return is_complete(halt) || ++halt->n_scans >= MAX_SCANS || !scan(halt, &why);
}

/* ---- both */

uint64_t tg_halt_end(struct tg_halt *halt)
{
    look(halt, false, SIZE_MAX);
    for (size_t i = 0; i < halt->count; i++)
        if (halt->threads[i].is_stopped && !let_go(&halt->threads[i]))
            halt->threads[i].is_stopped = false;
    uint64_t took_ns = now_ns() - halt->start_ns;
    note_late(halt);
    free(halt->threads);
    *halt = (struct tg_halt){0};
    return took_ns;
}
