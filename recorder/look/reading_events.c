#include "recorder/look/reading_events.h"

#include "format/event/event.h"
#include "recorder/look/telling.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/proc_status.h"
#include "recorder/record/process_facts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct subject {
    const struct tg_look_shared *look;
    pid_t pid;
};

static void tell(const struct subject *subject, pid_t tid, struct tg_event event)
{
    tg_look_tell(subject->look->sink, subject->pid, tid, event);
}

static void take_fact(void *context, const struct tg_event *event)
{
    const struct subject *subject = context;
    tell(subject, subject->pid, *event);
}

static void tell_process(const struct subject *subject)
{
    struct tg_proc_status status = {0};
    struct tg_process_facts_subject facts = tg_process_facts_look(subject->pid);
    const struct tg_event_sink sink = {.context = (void *)subject, .add = take_fact};
    tg_proc_status_read(subject->pid, &status);
    tell(subject, subject->pid,
         (struct tg_event){.kind = TG_EVENT_PROCESS_START,
                           .process_start = {.origin = TG_ORIGIN_ATTACHED, .parent_pid = status.parent}});
    tg_process_facts_tell(&facts, subject->look->images, &sink);
}

/* PROGRAM: the name of its process. */
static void tell_thread(const struct subject *subject, pid_t tid, const char *program, uint64_t snapshot,
                        const struct tg_call_stack *stack)
{
    struct tg_proc_status status = {0};
    char name[32];
    if (tid != subject->pid) {
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_START});
        tg_proc_status_read(tid, &status);
    }
    snprintf(name, sizeof name, "%.31s", status.name);
    if (*name != '\0' && strcmp(name, program) != 0)
        tell(subject, tid, (struct tg_event){.kind = TG_EVENT_THREAD_NAME, .thread_name = {.name = name}});
    if (stack->count > 0)
        tell(subject, tid,
             (struct tg_event){.kind = TG_EVENT_STACK,
                               .stack = {.snapshot = snapshot,
                                         .reason = TG_STACK_LOOK,
                                         .end = stack->end,
                                         .frames = {.items = stack->frames, .count = stack->count}}});
}

static void tell_threads(const struct subject *subject, const struct tg_reading *reading, bool is_first)
{
    const struct tg_look_sink *sink = subject->look->sink;
    struct tg_proc_status status = {0};
    char program[32];
    tg_proc_status_read(subject->pid, &status);
    snprintf(program, sizeof program, "%.31s", status.name);
    for (size_t i = 0; i < reading->count; i++) {
        struct tg_look_activity activity = reading->calls.activities[i];
        tell_thread(subject, reading->tids[i], program, reading->snapshot.snapshot,
                    &reading->calls.stacks[i]);
        tg_look_tell_values(sink, subject->pid, reading->tids[i], &reading->calls.values[i]);
        tg_look_tell_requests(sink, subject->pid, reading->tids[i], &reading->calls.requests[i]);
        tg_look_tell_members(sink, subject->pid, reading->tids[i], &reading->calls.members[i]);
        activity.is_counted &= is_first; /* else what was counted is of less than the whole time */
        if (sink->add_activity != NULL)
            sink->add_activity(sink->context, &activity);
    }
}

static size_t count_threads(pid_t pid)
{
    char path[40];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        n += *entry->d_name != '.';
    if (directory != NULL)
        closedir(directory);
    return n;
}

__attribute__((format(printf, 3, 4))) static void add_words(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

/* "3 could not be stopped (2 wait for a processor, 1 in the kernel: a vfork, a file system)"; without numbers where all are alike. */
static void add_unstopped(char *text, size_t size, uint64_t n_unstopped, uint64_t n_runnable)
{
    uint64_t n_inside = n_unstopped > n_runnable ? n_unstopped - n_runnable : 0;
    bool are_mixed = n_inside > 0 && n_runnable > 0;
    if (n_unstopped == 0)
        return;
    add_words(text, size, "%" PRIu64 " could not be stopped (", n_unstopped);
    if (are_mixed)
        add_words(text, size, "%" PRIu64 " ", n_runnable);
    if (n_runnable > 0)
        add_words(text, size, "%s for a processor", n_runnable == 1 ? "waits" : "wait");
    if (are_mixed)
        add_words(text, size, ", %" PRIu64 " ", n_inside);
    add_words(text, size, "%s)", n_inside > 0 ? "in the kernel: a vfork, a file system" : "");
}

/* Threads without a stack, which would be missing in the answer otherwise. */
static void remark_on_missing(const struct tg_look_shared *look, pid_t pid, const struct tg_reading *reading)
{
    char text[600], reason[300];
    const struct tg_event_stack_snapshot *snapshot = &reading->snapshot;
    size_t n_there = count_threads(pid), n_refused = reading->n_refused;
    uint64_t n_unread = snapshot->threads > snapshot->taken + snapshot->unstopped
                            ? snapshot->threads - snapshot->taken - snapshot->unstopped
                            : 0;
    if (snapshot->threads == TG_READING_MAX_THREADS && n_there > TG_READING_MAX_THREADS)
        n_unread += n_there - TG_READING_MAX_THREADS;
    uint64_t n_missing = n_unread + snapshot->unstopped + n_refused;
    if (n_missing == 0 || look->sink->remark == NULL)
        return;
    snprintf(text, sizeof text,
             "process %d: %" PRIu64 " of its %" PRIu64 " threads %s not looked at: ", (int)pid, n_missing,
             snapshot->taken + n_missing, n_missing == 1 ? "was" : "were");
    add_unstopped(text, sizeof text, snapshot->unstopped, reading->n_runnable);
    if (n_unread > 0)
        add_words(text, sizeof text, "%s%" PRIu64 " are more than can be read in a second",
                  snapshot->unstopped > 0 ? "; " : "", n_unread);
    if (n_refused > 0) {
        tg_attach_refusal_reason(reading->refused, EPERM, reason, sizeof reason);
        add_words(text, sizeof text, "%sthread %d%s: %s", n_unread + snapshot->unstopped > 0 ? "; " : "",
                  (int)reading->refused, n_refused > 1 ? " and others" : "", reason);
    }
    look->sink->remark(look->sink->context, text);
}

static void remark_on_python(const struct tg_look_shared *look, pid_t pid, const struct tg_python *python)
{
    char why[300], text[340];
    if (look->sink->remark == NULL || !tg_python_remark(python, why, sizeof why))
        return;
    snprintf(text, sizeof text, "process %d: %s", (int)pid, why);
    look->sink->remark(look->sink->context, text);
}

static void remark_on_bits(const struct tg_look_shared *look, pid_t pid)
{
    char text[120];
    snprintf(text, sizeof text,
             "process %d is a 32-bit program: only the innermost function of each thread is known, not its "
             "callers",
             (int)pid);
    if (look->sink->remark != NULL)
        look->sink->remark(look->sink->context, text);
}

void tg_reading_tell(const struct tg_look_shared *look, pid_t pid, unsigned bits, bool is_first,
                     const struct tg_reading *reading)
{
    const struct subject subject = {look, pid};
    if (bits == 32)
        remark_on_bits(look, pid);
    remark_on_missing(look, pid, reading);
    remark_on_python(look, pid, &reading->process.python);
    tell_process(&subject);
    tg_look_tell_world(look->sink, pid, &reading->world);
    tell_threads(&subject, reading, is_first);
    tell(&subject, pid,
         (struct tg_event){.kind = TG_EVENT_STACK_SNAPSHOT, .stack_snapshot = reading->snapshot});
}
