#include "recorder/record/stuck_launcher.h"

#include "format/base/thread.h"
#include "recorder/engine/own_thread.h"
#include "recorder/process/proc_status.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 10, LOOK_INTERVAL_NS = 500 * 1000 * 1000 };

struct tg_stuck_launcher {
    struct tg_stuck_launcher_options options;
    struct tg_observer observer;
    pthread_t thread;
    bool has_thread;
    sem_t changed; /* something ended, somebody asked, or it is over */
    atomic_bool
        is_looking; /* a launcher may be stuck, or have its table: the thread has the tracer look now and then */
    atomic_bool is_asked, is_over;
    /* of the tracer thread: */
    bool has_ended; /* a process of a job */
    pid_t pid;      /* the launcher that seems to be stuck, 0 none */
    uint64_t since_ns;
    uint64_t used; /* processor time then, in clock ticks */
    bool is_told;
};

/* ---- the thread that has the tracer look now and then */

static void *wake_now_and_then(void *context)
{
    struct tg_stuck_launcher *watch = context;
    while (!atomic_load(&watch->is_over)) {
        if (!atomic_load(&watch->is_looking)) {
            sem_wait(&watch->changed);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_INTERVAL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        sem_timedwait(&watch->changed, &until);
        if (!atomic_load(&watch->is_over))
            tg_engine_wake(watch->options.engine);
    }
    return NULL;
}

/* The thread is there for jobs alone. Without it, for want of memory, nobody looks. */
static void start_thread(struct tg_stuck_launcher *watch)
{
    struct tg_error *error = tg_thread_start(wake_now_and_then, watch,
                                             "the thread that looks for stuck launchers", &watch->thread);
    watch->has_thread = error == NULL;
    tg_error_destroy(error);
}

static void look_from_now_on(struct tg_stuck_launcher *watch)
{
    if (!watch->has_thread && !atomic_load(&watch->is_over))
        start_thread(watch);
    if (!atomic_exchange(&watch->is_looking, true))
        sem_post(&watch->changed);
}

/* A launcher that says nothing when its ranks are there has to be looked at. */
static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_stuck_launcher *watch = context;
    (void)thread;
    if (stop->trigger == TG_TRIGGER_ENTRY && tg_mpir_session_awaits_tables(watch->options.mpir))
        look_from_now_on(watch);
}

/* Of jobs: others have nothing that could be stuck. */
static void process_ended(void *context, struct tg_process *process)
{
    struct tg_stuck_launcher *watch = context;
    (void)process;
    if (tg_mpir_session_starters(watch->options.mpir) == 0)
        return;
    watch->has_ended = true;
    look_from_now_on(watch);
}

struct tg_error *tg_stuck_launcher_create(const struct tg_stuck_launcher_options *options,
                                          struct tg_stuck_launcher **watch)
{
    struct tg_stuck_launcher *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->observer = (struct tg_observer){
        .name = "stuck launcher", .context = made, .stopped = stopped, .process_ended = process_ended};
    sem_init(&made->changed, 0, 0);
    struct tg_error *error = tg_engine_add_observer(options->engine, &made->observer, NULL);
    if (error != NULL) {
        tg_stuck_launcher_destroy(made);
        return error;
    }
    *watch = made;
    return NULL;
}

void tg_stuck_launcher_stop(struct tg_stuck_launcher *watch)
{
    if (watch == NULL)
        return;
    atomic_store(&watch->is_over, true);
    if (!watch->has_thread)
        return;
    sem_post(&watch->changed);
    pthread_join(watch->thread, NULL);
    watch->has_thread = false;
}

void tg_stuck_launcher_destroy(struct tg_stuck_launcher *watch)
{
    if (watch == NULL)
        return;
    tg_stuck_launcher_stop(watch);
    sem_destroy(&watch->changed);
    free(watch);
}

void tg_stuck_launcher_ask(struct tg_stuck_launcher *watch)
{
    atomic_store(&watch->is_asked, true);
}

/* ---- looking */

/* Whether PROCESS is ANCESTOR's child, or a child of one. */
static bool descends_from(pid_t process, pid_t ancestor)
{
    struct tg_proc_status status;
    for (int generations = 0; process > 1 && generations < 64; generations++) {
        if (!tg_proc_status_read(process, &status))
            return false;
        process = status.parent;
        if (process == ancestor)
            return true;
    }
    return false;
}

/* Whether children of PARENT have ended that it has not asked about, and none is left otherwise. */
static bool neglects_children(pid_t parent)
{
    DIR *directory = opendir("/proc");
    bool has_dead = false, has_living = false;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        struct tg_proc_status status;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !tg_proc_status_read((pid_t)atoi(entry->d_name), &status) || status.parent != parent)
            continue;
        if (tg_proc_status_is_dead(&status))
            has_dead = true;
        else
            has_living = true;
    }
    if (directory != NULL)
        closedir(directory);
    return has_dead && !has_living;
}

/* Processor time of all threads of PID, in clock ticks. */
static uint64_t processor_time(pid_t pid)
{
    char path[32], text[1024];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *behind_name = strrchr(text, ')');
    if (behind_name != NULL)
        (void)!sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    return user + kernel;
}

/* The launcher that is left of all that is traced, but for those who wait for it; 0: there is more. */
static pid_t launcher_left(const struct tg_stuck_launcher *watch)
{
    struct tg_process *launcher = NULL;
    struct tg_process *process = tg_engine_first_process(watch->options.engine);
    for (; process != NULL; process = process->hh.next)
        if (!process->attached && tg_mpir_session_has_launched(watch->options.mpir, process)) {
            if (launcher != NULL)
                return 0;
            launcher = process;
        }
    for (process = tg_engine_first_process(watch->options.engine); launcher != NULL && process != NULL;
         process = process->hh.next)
        if (process != launcher && !descends_from(launcher->pid, process->pid))
            return 0;
    return launcher == NULL ? 0 : launcher->pid;
}

/* Records that PID is killed from here: the kernel tells nobody who sent a SIGKILL. */
static void record_kill(const struct tg_stuck_launcher *watch, pid_t pid)
{
    const struct tg_process *process = tg_engine_find_process(watch->options.engine, pid);
    struct tg_thread *thread = process == NULL ? NULL : tg_process_own_thread(process);
    const struct tg_event event = {
        .kind = TG_EVENT_SIGNAL,
        .signal = {.signal = SIGKILL, .code = SI_USER, .sender_pid = getpid(), .sender = "tollgate"}};
    if (thread != NULL)
        tg_engine_emit(watch->options.engine, thread, &event);
}

/* LAUNCHER has been stuck for long. */
static void act(struct tg_stuck_launcher *watch, pid_t launcher, bool kills)
{
    char text[200];
    if (!kills && watch->is_told)
        return;
    snprintf(text, sizeof text,
             kills
                 ? "the job launcher (process %d) did not notice for %d s that its ranks had ended: killed it"
                 : "the job launcher (process %d) has not noticed for %d s that its ranks have ended; "
                   "Ctrl-C, or a SIGTERM to tollgate, ends it",
             launcher, GRACE_S);
    watch->options.tell(watch->options.context, text);
    watch->is_told = true;
    if (!kills)
        return;
    record_kill(watch, launcher);
    watch->pid = 0;
    kill(launcher, SIGKILL);
}

void tg_stuck_launcher_serve(struct tg_stuck_launcher *watch)
{
    if (!atomic_load(&watch->is_looking))
        return;
    tg_mpir_session_look(watch->options.mpir);
    if (!watch->has_ended) {
        atomic_store(&watch->is_looking, tg_mpir_session_awaits_tables(watch->options.mpir));
        return;
    }
    pid_t pid = launcher_left(watch);
    if (pid == 0) {
        watch->pid = 0;
        atomic_store(&watch->is_looking, tg_mpir_session_awaits_tables(watch->options.mpir));
        return;
    }
    uint64_t now_ns = tg_engine_now_ns(), used = processor_time(pid);
    if (pid != watch->pid || used != watch->used || !neglects_children(pid)) {
        watch->pid = pid;
        watch->used = used;
        watch->since_ns = now_ns;
    } else if (now_ns - watch->since_ns >= UINT64_C(1000000000) * GRACE_S) {
        act(watch, pid, atomic_load(&watch->is_asked));
    }
}
