#include "recorder/record/untraced.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "recorder/inject/environment.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/pidfd.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/spawn.h"
#include "recorder/record/process_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1 << 16, /* known threads of one process */
    LOOK_MS = 100,         /* between looks at processes without a pidfd */
    GRACE_NS = 2000000000, /* after the command's end, for what it leaves behind */
};

struct thread {
    pid_t tid;
    UT_hash_handle hh;
};

/* A process as the events said; belongs to the thread that hands them on. */
struct process {
    pid_t pid;
    bool watched; /* an agent said that it is there: when another one does, another program runs */
    struct thread *threads;
    UT_hash_handle hh;
};

/* A process whose end is waited for. */
struct watch {
    pid_t pid;
    int fd; /* pidfd, -1: it is looked at now and then */
};

struct tg_untraced {
    struct tg_untraced_options options;
    /* used by the session's thread, then by the finishing one */
    struct process *processes;
    struct tg_image_cache *images;
    /* used by the thread that launches and runs */
    pid_t command;
    struct watch *watches;
    size_t n_watches, capacity;
    /* from the one to the other: struct watch */
    int news_in, news_out;
};

/* ---- threads and processes as they come up in events */

static void hand_on(struct tg_untraced *untraced, const struct tg_event *event)
{
    untraced->options.sink.add(untraced->options.sink.context, event);
}

static struct process *find_process(const struct tg_untraced *untraced, pid_t pid)
{
    struct process *process;
    HASH_FIND_INT(untraced->processes, &pid, process);
    return process;
}

static void forget_process(struct tg_untraced *untraced, struct process *process)
{
    struct thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next) {
        HASH_DEL(process->threads, thread);
        free(thread);
    }
    HASH_DEL(untraced->processes, process);
    free(process);
}

/* NULL without memory: then it comes up again with the next event. */
static struct process *add_process(struct tg_untraced *untraced, pid_t pid)
{
    struct process *process;
    (void)TG_HASH_CREATE(hh, untraced->processes, pid, &pid, process);
    return process;
}

/* The subject of events about one process at one moment. */
struct moment {
    struct tg_untraced *untraced;
    pid_t pid;
    uint64_t time_ns;
    bool through_session; /* by the launching thread */
};

static void tell(void *context, const struct tg_event *event)
{
    const struct moment *moment = context;
    struct tg_event stamped = *event;
    stamped.pid = stamped.tid = moment->pid;
    stamped.time_ns = moment->time_ns;
    if (moment->through_session)
        tg_agent_session_add(moment->untraced->options.session, &stamped);
    else
        hand_on(moment->untraced, &stamped);
}

/* OTHERWISE, NULL: nothing, is what it runs where the kernel does not say (any more). */
static void tell_exec(struct moment *moment, bool there, const char *otherwise)
{
    char link[32], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)moment->pid);
    ssize_t n = there ? readlink(link, path, sizeof path - 1) : 0;
    path[n > 0 ? n : 0] = '\0';
    if (n <= 0 && otherwise != NULL)
        snprintf(path, sizeof path, "%s", otherwise);
    tell(moment,
         &(struct tg_event){.kind = TG_EVENT_EXEC, .exec = {.path = path, .former_tid = moment->pid}});
}

static void tell_program(struct moment *moment, struct tg_image_cache *images, const char *otherwise)
{
    const struct tg_event_sink sink = {.context = moment, .add = tell};
    struct tg_process_facts_subject subject = tg_process_facts_look(moment->pid);
    subject.path = otherwise;
    tg_process_facts_tell(&subject, images, &sink);
}

/* ---- whether a process id is what it seems */

/* In a pid namespace of its own a process has other ids than here, where somebody else may have them. A
 * process of the recording was started with its directory in the environment. */
static bool is_of_recording(const struct tg_untraced *untraced, pid_t pid)
{
    char path[32], variable[PATH_MAX + 32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    size_t length =
        (size_t)snprintf(variable, sizeof variable, "%s=%s", TG_AGENT_VARIABLE,
                         tg_agent_directory_path(tg_agent_session_directory(untraced->options.session)));
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    while (file != NULL && !found && getdelim(&text, &size, '\0', file) > 0)
        found = length < sizeof variable && strcmp(text, variable) == 0;
    free(text);
    if (file != NULL)
        fclose(file);
    return found;
}

/* Has the launching thread wait for the end of PID. */
static void send_watch(struct tg_untraced *untraced, pid_t pid)
{
    struct watch watch = {.pid = pid, .fd = tg_pidfd_open(pid)};
    if (watch.fd < 0 && errno == ESRCH)
        return;
    if (write(untraced->news_in, &watch, sizeof watch) != (ssize_t)sizeof watch && watch.fd >= 0)
        close(watch.fd); /* thousands are waiting to be taken note of; what became of this one is told last */
}

static void begin_process(struct tg_untraced *untraced, pid_t pid, uint64_t time_ns)
{
    struct moment moment = {.untraced = untraced, .pid = pid, .time_ns = time_ns};
    struct tg_proc_status status;
    bool there = tg_proc_status_read(pid, &status) && is_of_recording(untraced, pid);
    tell(&moment, &(struct tg_event){
                      .kind = TG_EVENT_PROCESS_START,
                      .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = there ? status.parent : 0}});
    if (there) {
        tell_program(&moment, untraced->images, NULL);
        send_watch(untraced, pid);
    } else {
        tell(&moment,
             &(struct tg_event){.kind = TG_EVENT_NOTE,
                                .note = {.text = "the process had ended, or is in another pid namespace: its "
                                                 "program and parent are unknown"}});
    }
}

static void look_at_thread(struct tg_untraced *untraced, struct process *process,
                           const struct tg_event *event)
{
    struct thread *thread;
    pid_t tid = event->tid;
    if (tid == process->pid || tid <= 0 || HASH_COUNT(process->threads) >= MAX_THREADS)
        return;
    HASH_FIND_INT(process->threads, &tid, thread);
    if (thread != NULL || TG_HASH_CREATE(hh, process->threads, tid, &tid, thread) != NULL)
        return;
    const struct tg_event start = {
        .kind = TG_EVENT_THREAD_START, .time_ns = event->time_ns, .pid = process->pid, .tid = tid};
    hand_on(untraced, &start);
}

/* Tells what EVENT implies about its process, which comes before it. NULL: it has none. */
static struct process *imply(struct tg_untraced *untraced, const struct tg_event *event)
{
    struct process *process = event->pid > 0 ? find_process(untraced, event->pid) : NULL;
    if (event->pid > 0 && process == NULL) {
        process = add_process(untraced, event->pid);
        if (event->kind != TG_EVENT_PROCESS_START)
            begin_process(untraced, event->pid, event->time_ns);
    }
    if (process != NULL && event->kind == TG_EVENT_AGENT) {
        struct moment moment = {.untraced = untraced, .pid = event->pid, .time_ns = event->time_ns};
        bool there = process->watched && is_of_recording(untraced, event->pid);
        if (process->watched)
            tell_exec(&moment, there, NULL);
        if (there)
            tell_program(&moment, untraced->images, NULL);
        process->watched = true;
    }
    if (process != NULL)
        look_at_thread(untraced, process, event);
    return process;
}

static void take_event(void *context, const struct tg_event *event)
{
    struct tg_untraced *untraced = context;
    struct process *process = imply(untraced, event);
    hand_on(untraced, event);
    if (process != NULL && event->kind == TG_EVENT_PROCESS_EXIT)
        forget_process(untraced, process);
}

/* What an event of the same thread implied, this one does not imply again. */
static void take_event_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct tg_untraced *untraced = context;
    if (place->chunk == 0)
        imply(untraced, event);
    untraced->options.sink.add_again(untraced->options.sink.context, event, place);
}

struct tg_error *tg_untraced_start(struct tg_untraced *untraced, struct tg_chunk_tail *const *tail)
{
    const struct tg_event_sink sink = {
        .context = untraced, .add = take_event, .add_again = take_event_again, .tail = tail};
    return tg_agent_session_start(untraced->options.session, &sink, untraced->options.file, NULL);
}

/* ---- launching */

static struct tg_error *start(char *const *argv, char *const *environment, pid_t *pid)
{
    const struct tg_spawn_options options = {.environment = environment};
    TG_AUTO_SPAWN struct tg_spawn spawn = TG_SPAWN_NONE;
    struct tg_error *error = tg_spawn_begin(argv, &options, &spawn);
    if (error == NULL)
        error = tg_spawn_go(&spawn, argv[0]);
    if (error != NULL)
        return error;
    int why = tg_spawn_failure(&spawn);
    if (why != 0) {
        while (waitpid(spawn.pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return tg_error_create(TG_ERROR_TARGET, "cannot run '%s': %s", argv[0], strerror(why));
    }
    *pid = spawn.pid;
    return NULL;
}

static bool add_watch(struct tg_untraced *untraced, const struct watch *watch)
{
    return TG_ARRAY_APPEND(untraced->watches, untraced->n_watches, untraced->capacity, *watch) == NULL;
}

struct tg_error *tg_untraced_launch(struct tg_untraced *untraced, char *const *argv, pid_t *pid)
{
    struct tg_agent_session *session = untraced->options.session;
    struct tg_image_cache *images = NULL;
    char **environment = NULL;
    char found[PATH_MAX], resolved[PATH_MAX]; /* a command that ends at once has no /proc/PID/exe */
    const char *path = tg_agent_environment_find_command(argv[0], found) && realpath(found, resolved) != NULL
                           ? resolved
                           : NULL;
    struct tg_error *error = tg_image_cache_create(0, &images);
    if (error == NULL)
        error = tg_agent_environment_create(
            tg_agent_session_files(session), tg_agent_directory_path(tg_agent_session_directory(session)),
            untraced->options.audit, untraced->options.heap, argv[0], &environment);
    /* the command's events have the time before it began: those of its agent come after */
    struct moment moment = {.untraced = untraced, .time_ns = tg_engine_now_ns(), .through_session = true};
    tg_agent_session_hold(session, moment.time_ns);
    if (error == NULL)
        error = start(argv, environment, &untraced->command);
    if (error == NULL) {
        moment.pid = *pid = untraced->command;
        tell(&moment,
             &(struct tg_event){.kind = TG_EVENT_PROCESS_START,
                                .process_start = {.origin = TG_ORIGIN_LAUNCHED, .parent_pid = getpid()}});
        tell_exec(&moment, true, path);
        tell_program(&moment, images, path);
        struct watch watch = {.pid = untraced->command, .fd = tg_pidfd_open(untraced->command)};
        if (!add_watch(untraced, &watch))
            error = tg_error_no_memory();
    }
    tg_agent_session_hold(session, UINT64_MAX);
    tg_agent_environment_destroy(environment);
    tg_image_cache_destroy(images);
    return error;
}

/* ---- waiting */

static void tell_end(struct tg_untraced *untraced, pid_t pid, enum tg_exit_how how, int64_t status, bool core)
{
    struct moment moment = {
        .untraced = untraced, .pid = pid, .time_ns = tg_engine_now_ns(), .through_session = true};
    tell(&moment, &(struct tg_event){.kind = TG_EVENT_PROCESS_EXIT,
                                     .process_exit = {.how = how, .status = status, .core_dumped = core}});
}

/* Whether the process of WATCH has ended; tells its end. */
static bool has_ended(struct tg_untraced *untraced, const struct watch *watch, int *status)
{
    if (watch->pid != untraced->command) {
        struct pollfd one = {.fd = watch->fd, .events = POLLIN};
        bool ended = watch->fd >= 0 ? poll(&one, 1, 0) > 0 : kill(watch->pid, 0) != 0 && errno == ESRCH;
        if (ended)
            tell_end(untraced, watch->pid, TG_EXIT_LOST, 0, false);
        return ended;
    }
    int ended;
    pid_t pid = waitpid(untraced->command, &ended, WNOHANG);
    if (pid < 0 && errno == ECHILD) /* told before: its first record was late, and had it watched once more */
        return true;
    if (pid != untraced->command)
        return false;
    *status = ended;
    if (WIFSIGNALED(*status))
        tell_end(untraced, watch->pid, TG_EXIT_SIGNAL, WTERMSIG(*status), WCOREDUMP(*status));
    else
        tell_end(untraced, watch->pid, TG_EXIT_STATUS, WEXITSTATUS(*status), false);
    return true;
}

/* Returns whether the command is still among those that are waited for. */
static bool look_at_watches(struct tg_untraced *untraced, int *status)
{
    bool runs = false;
    size_t kept = 0;
    for (size_t i = 0; i < untraced->n_watches; i++) {
        struct watch *watch = &untraced->watches[i];
        if (has_ended(untraced, watch, status)) {
            if (watch->fd >= 0)
                close(watch->fd);
            continue;
        }
        runs = runs || watch->pid == untraced->command;
        untraced->watches[kept++] = *watch;
    }
    untraced->n_watches = kept;
    return runs;
}

static void take_news(struct tg_untraced *untraced)
{
    struct watch watch;
    while (read(untraced->news_out, &watch, sizeof watch) == (ssize_t)sizeof watch)
        if (!add_watch(untraced, &watch) && watch.fd >= 0)
            close(watch.fd); /* the process's end is recorded last */
}

/* Sleeps until a process ends, one more is to be waited for, or TIMEOUT_MS have passed (-1: for ever). */
static struct tg_error *wait_for_news(struct tg_untraced *untraced, int timeout_ms)
{
    struct pollfd *fds = calloc(untraced->n_watches + 1, sizeof *fds);
    if (fds == NULL)
        return tg_error_no_memory();
    fds[0] = (struct pollfd){.fd = untraced->news_out, .events = POLLIN};
    for (size_t i = 0; i < untraced->n_watches; i++) {
        fds[i + 1] = (struct pollfd){.fd = untraced->watches[i].fd, .events = POLLIN};
        if (untraced->watches[i].fd < 0 && (timeout_ms < 0 || timeout_ms > LOOK_MS))
            timeout_ms = LOOK_MS;
    }
    int result = poll(fds, untraced->n_watches + 1, timeout_ms);
    int why = errno;
    free(fds);
    return result < 0 && why != EINTR ? tg_error_create_errno(why, "cannot wait for the command") : NULL;
}

struct tg_error *tg_untraced_run(struct tg_untraced *untraced, int *status)
{
    uint64_t end_ns = UINT64_MAX;
    struct tg_error *error = NULL;
    while (error == NULL) {
        take_news(untraced);
        bool runs = look_at_watches(untraced, status);
        uint64_t now_ns = tg_engine_now_ns();
        if (!runs && end_ns == UINT64_MAX)
            end_ns = now_ns + GRACE_NS;
        if (!runs && (untraced->n_watches == 0 || now_ns >= end_ns))
            return NULL;
        error = wait_for_news(untraced, runs ? -1 : (int)((end_ns - now_ns) / 1000000) + 1);
    }
    return error;
}

void tg_untraced_finish(struct tg_untraced *untraced)
{
    struct process *process, *next;
    uint64_t now_ns = tg_engine_now_ns();
    HASH_ITER (hh, untraced->processes, process, next) {
        struct moment moment = {.untraced = untraced, .pid = process->pid, .time_ns = now_ns};
        if (is_of_recording(untraced, process->pid))
            tell(&moment,
                 &(struct tg_event){
                     .kind = TG_EVENT_DETACH,
                     .detach = {.reason =
                                    "the command has ended; its remaining processes are not waited for"}});
        else
            tell(&moment,
                 &(struct tg_event){.kind = TG_EVENT_PROCESS_EXIT, .process_exit = {.how = TG_EXIT_LOST}});
        forget_process(untraced, process);
    }
}

/* ---- life */

struct tg_error *tg_untraced_create(const struct tg_untraced_options *options, struct tg_untraced **untraced)
{
    struct tg_untraced *made = calloc(1, sizeof *made);
    int ends[2] = {-1, -1};
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    struct tg_error *error = tg_image_cache_create(0, &made->images);
    if (error == NULL && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        error = tg_error_create_errno(errno, "cannot create a pipe");
    made->news_out = ends[0];
    made->news_in = ends[1];
    if (error != NULL) {
        tg_untraced_destroy(made);
        return error;
    }
    *untraced = made;
    return NULL;
}

void tg_untraced_destroy(struct tg_untraced *untraced)
{
    if (untraced == NULL)
        return;
    struct process *process, *next;
    HASH_ITER (hh, untraced->processes, process, next)
        forget_process(untraced, process);
    if (untraced->news_out >= 0)
        take_news(untraced);
    for (size_t i = 0; i < untraced->n_watches; i++)
        if (untraced->watches[i].fd >= 0)
            close(untraced->watches[i].fd);
    if (untraced->news_in >= 0) {
        close(untraced->news_in);
        close(untraced->news_out);
    }
    tg_image_cache_destroy(untraced->images);
    free(untraced->watches);
    free(untraced);
}
