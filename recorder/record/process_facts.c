#include "recorder/record/process_facts.h"

#include "recorder/process/environment.h"
#include "recorder/process/identity.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tg_process_facts {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_observer observer;
    size_t slot; /* of struct thread_names */
};

enum { MAX_THREAD_NAMES = 4096 }; /* asked for, of a process: programs may make threads without an end */

/* What threads of a process are called that have no names of their own. */
struct thread_names {
    char program[32];
    unsigned n_asked;
};

static void add(const struct tg_event_sink *sink, const struct tg_event *event)
{
    sink->add(sink->context, event);
}

static void note(const struct tg_event_sink *sink, const char *text)
{
    add(sink, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

/* ---- program */

static void tell_program(const struct tg_process_facts_subject *subject, struct tg_image_cache *images,
                         const struct tg_event_sink *sink)
{
    char link[32];
    char path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)subject->pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length <= 0 && subject->path != NULL)
        snprintf(path, sizeof path, "%s", subject->path);
    struct tg_event event = {
        .kind = TG_EVENT_PROGRAM,
        .program = {.path = path,
                    .entry = subject->entry,
                    .bits = subject->bits,
                    .linkage = TG_LINKAGE_UNKNOWN,
                    .secure = subject->secure},
    };
    struct tg_image_source source = {.pid = subject->tid};
    struct tg_image *image = tg_image_cache_find(images, &source);
    if (image != NULL) {
        const struct tg_image_info *info = tg_image_info(image);
        event.program.build_id = info->build_id;
        event.program.interpreter = info->interpreter;
        event.program.base = subject->entry != 0 ? subject->entry - info->entry : 0;
        /* `ld.so PROGRAM` is a shared object without an interpreter */
        bool dynamic = info->interpreter[0] != '\0' || info->soname[0] != '\0';
        event.program.linkage = dynamic ? TG_LINKAGE_DYNAMIC : TG_LINKAGE_STATIC;
    }
    add(sink, &event);
    tg_image_unref(image);
}

/* ---- command line */

static size_t read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    while (fd >= 0 && used < size) {
        ssize_t n = read(fd, buffer + used, size - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return used;
}

/* What is read of PID's command line, with a '\0' behind it; mostly it is short. NULL: no memory. */
static char *read_command_line(pid_t pid, size_t *size)
{
    enum { FIRST_BYTES = 1 << 12, MAX_BYTES = TG_PROCESS_FACTS_MAX_COMMAND_BYTES };
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    for (size_t room = FIRST_BYTES;; room = MAX_BYTES) {
        char *text = malloc(room + 1);
        *size = text == NULL ? 0 : read_file(path, text, room);
        if (text != NULL)
            text[*size] = '\0';
        if (text == NULL || *size < room || room == MAX_BYTES)
            return text;
        free(text);
    }
}

static void tell_command_line(pid_t pid, const struct tg_event_sink *sink)
{
    enum { MAX_BYTES = TG_PROCESS_FACTS_MAX_COMMAND_BYTES, MAX_ARGUMENTS = TG_PROCESS_FACTS_MAX_ARGUMENTS };
    size_t size, n_arguments = 0;
    char *text = read_command_line(pid, &size);
    for (size_t at = 0; at < size && n_arguments < MAX_ARGUMENTS; at += strlen(text + at) + 1)
        n_arguments++;
    struct tg_string_item *items = calloc(n_arguments + 1, sizeof *items);
    if (text != NULL && items != NULL) {
        size_t count = 0;
        size_t at = 0;
        for (; at < size && count < n_arguments; at += strlen(text + at) + 1)
            items[count++].text = text + at;
        struct tg_event event = {.kind = TG_EVENT_COMMAND_LINE,
                                 .command_line = {.arguments = {.items = items, .count = count}}};
        add(sink, &event);
        if (size == MAX_BYTES || at < size)
            note(sink, "command line truncated");
    }
    free(text);
    free(items);
}

/* ---- environment and identity */

static void tell_environment(pid_t pid, const struct tg_event_sink *sink)
{
    struct tg_environment environment = {0};
    struct tg_identity identity;
    if (!tg_environment_read(pid, &environment))
        note(sink, "cannot read the environment of the process");
    if (environment.left_out > 0)
        note(sink, "environment variables longer than 65536 bytes are omitted");
    struct tg_event event = {
        .kind = TG_EVENT_ENVIRONMENT,
        .environment = {.variables = {.items = environment.variables, .count = environment.count}}};
    add(sink, &event);
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    tg_identity_find(&environment, &identity);
    struct tg_event who = {.kind = TG_EVENT_IDENTITY,
                           .identity = {.host = host,
                                        .job = identity.job,
                                        .source = identity.source,
                                        .rank = identity.rank,
                                        .size = identity.size}};
    add(sink, &who);
    tg_environment_deinit(&environment);
}

void tg_process_facts_tell(const struct tg_process_facts_subject *subject, struct tg_image_cache *images,
                           const struct tg_event_sink *sink)
{
    tell_program(subject, images, sink);
    tell_command_line(subject->pid, sink);
    tell_environment(subject->pid, sink);
}

struct tg_process_facts_subject tg_process_facts_look(pid_t pid)
{
    struct tg_process_facts_subject subject = {.pid = pid, .tid = pid};
    char path[32];
    unsigned char bytes[4096];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    size_t size = read_file(path, (char *)bytes, sizeof bytes);
    /* entries of 64-bit programs have types whose upper half is 0; those of 32-bit ones have a value there */
    uint64_t first = 0;
    if (size < sizeof(Elf64_auxv_t))
        return subject;
    memcpy(&first, bytes, sizeof first);
    subject.bits = first >> 32 == 0 ? 64 : 32;
    size_t word = subject.bits / 8;
    for (size_t at = 0; at + 2 * word <= size; at += 2 * word) {
        uint64_t type = 0, value = 0;
        memcpy(&type, bytes + at, word);
        memcpy(&value, bytes + at + word, word);
        if (type == AT_NULL)
            break;
        if (type == AT_ENTRY)
            subject.entry = value;
        else if (type == AT_SECURE)
            subject.secure = value != 0;
    }
    return subject;
}

/* ---- observer */

struct about {
    struct tg_engine *engine;
    struct tg_thread *thread;
};

static void emit(void *context, const struct tg_event *event)
{
    const struct about *about = context;
    tg_engine_emit(about->engine, about->thread, event);
}

/* ---- names of threads */

static void read_thread_name(pid_t tid, char *name, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    size_t length = read_file(path, name, size - 1);
    name[length] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* The kernel calls all threads of a program by its file, or whoever renamed itself before it made others. */
static void learn_program_name(struct tg_process_facts *facts, const struct tg_thread *thread, bool attached)
{
    enum { KERNEL_NAME = 15 };
    struct thread_names *names = thread->process->data[facts->slot];
    char link[32], path[PATH_MAX];
    if (names == NULL)
        names = thread->process->data[facts->slot] = calloc(1, sizeof *names);
    if (names == NULL)
        return;
    read_thread_name(thread->tid, names->program, sizeof names->program);
    snprintf(link, sizeof link, "/proc/%d/exe", (int)thread->process->pid);
    ssize_t length = attached ? readlink(link, path, sizeof path - 1) : -1;
    if (length <= 0)
        return;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(names->program, sizeof names->program, "%.*s", KERNEL_NAME, slash == NULL ? path : slash + 1);
}

static void tell_thread_name(struct tg_process_facts *facts, struct tg_thread *thread)
{
    struct thread_names *names = thread->process->data[facts->slot];
    char name[32];
    if (names == NULL || names->n_asked++ >= MAX_THREAD_NAMES)
        return;
    read_thread_name(thread->tid, name, sizeof name);
    if (*name != '\0' && strcmp(name, names->program) != 0)
        tg_engine_emit(facts->engine, thread,
                       &(struct tg_event){.kind = TG_EVENT_THREAD_NAME, .thread_name = {.name = name}});
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    if (stop->trigger == TG_TRIGGER_EXIT)
        tell_thread_name(context, thread);
}

static void job_leaving(void *context)
{
    struct tg_process_facts *facts = context;
    struct tg_process *process = tg_engine_first_process(facts->engine);
    for (; process != NULL; process = process->hh.next)
        for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next)
            tell_thread_name(facts, thread);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    const struct tg_process_facts *facts = context;
    struct thread_names *names = calloc(1, sizeof *names);
    const struct thread_names *of_parent = parent == NULL ? NULL : parent->data[facts->slot];
    if (names != NULL && of_parent != NULL && origin == TG_ORIGIN_FORK)
        memcpy(names->program, of_parent->program, sizeof names->program);
    thread->process->data[facts->slot] = names;
}

static void process_ended(void *context, struct tg_process *process)
{
    const struct tg_process_facts *facts = context;
    free(process->data[facts->slot]);
    process->data[facts->slot] = NULL;
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_process_facts *facts = context;
    const struct tg_process *process = thread->process;
    learn_program_name(facts, thread, attached);
    const struct tg_process_facts_subject subject = {
        .pid = process->pid,
        .tid = thread->tid,
        .entry = process->entry,
        .bits = process->bits,
        .secure = process->secure,
    };
    struct about about = {facts->engine, thread};
    tg_process_facts_tell(&subject, facts->images, &(struct tg_event_sink){.context = &about, .add = emit});
}

struct tg_error *tg_process_facts_create(struct tg_engine *engine, struct tg_image_cache *images,
                                         struct tg_process_facts **facts)
{
    struct tg_process_facts *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->images = images;
    made->observer = (struct tg_observer){.name = "process facts",
                                          .context = made,
                                          .process_started = process_started,
                                          .program_loaded = program_loaded,
                                          .stopped = stopped,
                                          .job_leaving = job_leaving,
                                          .process_ended = process_ended};
    struct tg_error *error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_process_facts_destroy(made);
        return error;
    }
    *facts = made;
    return NULL;
}

void tg_process_facts_destroy(struct tg_process_facts *facts)
{
    free(facts);
}
