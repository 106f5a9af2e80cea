#include "recorder/process_facts.h"

#include "recorder/environment.h"
#include "recorder/identity.h"

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
    char host[HOST_NAME_MAX + 1];
};

static void note(struct tg_process_facts *facts, struct tg_thread *thread, const char *text)
{
    struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(facts->engine, thread, &event);
}

/* ---- program */

static void emit_program(struct tg_process_facts *facts, struct tg_thread *thread)
{
    const struct tg_process *process = thread->process;
    char link[32];
    char path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process->pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    struct tg_event event = {
        .kind = TG_EVENT_PROGRAM,
        .program = {.path = path,
                    .entry = process->entry,
                    .bits = process->bits,
                    .linkage = TG_LINKAGE_UNKNOWN,
                    .secure = process->secure},
    };
    struct tg_image_source source = {.pid = thread->tid};
    struct tg_image *image = NULL;
    TG_AUTO_ERROR struct tg_error *error = tg_image_cache_get(facts->images, &source, &image);
    if (error == NULL) {
        const struct tg_image_info *info = tg_image_info(image);
        event.program.build_id = info->build_id;
        event.program.interpreter = info->interpreter;
        event.program.base = process->entry != 0 ? process->entry - info->entry : 0;
        /* `ld.so PROGRAM` is a shared object without an interpreter */
        bool dynamic = info->interpreter[0] != '\0' || info->soname[0] != '\0';
        event.program.linkage = dynamic ? TG_LINKAGE_DYNAMIC : TG_LINKAGE_STATIC;
    }
    tg_engine_emit(facts->engine, thread, &event);
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

static void emit_command_line(struct tg_process_facts *facts, struct tg_thread *thread)
{
    enum { MAX_BYTES = TG_PROCESS_FACTS_MAX_COMMAND_BYTES, MAX_ARGUMENTS = TG_PROCESS_FACTS_MAX_ARGUMENTS };
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)thread->process->pid);
    char *text = malloc(MAX_BYTES + 1);
    struct tg_string_item *items = calloc(MAX_ARGUMENTS, sizeof *items);
    if (text != NULL && items != NULL) {
        size_t size = read_file(path, text, MAX_BYTES);
        text[size] = '\0';
        size_t count = 0;
        size_t at = 0;
        for (; at < size && count < MAX_ARGUMENTS; at += strlen(text + at) + 1)
            items[count++].text = text + at;
        struct tg_event event = {.kind = TG_EVENT_COMMAND_LINE,
                                 .command_line = {.arguments = {.items = items, .count = count}}};
        tg_engine_emit(facts->engine, thread, &event);
        if (size == MAX_BYTES || at < size)
            note(facts, thread, "the command line is longer than what is kept of it");
    }
    free(text);
    free(items);
}

/* ---- environment and identity */

static void emit_environment(struct tg_process_facts *facts, struct tg_thread *thread)
{
    struct tg_environment environment = {0};
    struct tg_identity identity;
    TG_AUTO_ERROR struct tg_error *error = tg_environment_read(thread->process->pid, &environment);
    if (error != NULL)
        note(facts, thread, tg_error_message(error));
    if (environment.left_out > 0)
        note(facts, thread, "environment variables longer than 65536 bytes are left out");
    struct tg_event event = {
        .kind = TG_EVENT_ENVIRONMENT,
        .environment = {.variables = {.items = environment.variables, .count = environment.count}}};
    tg_engine_emit(facts->engine, thread, &event);
    tg_identity_find(&environment, &identity);
    struct tg_event who = {.kind = TG_EVENT_IDENTITY,
                           .identity = {.host = facts->host,
                                        .job = identity.job,
                                        .source = identity.source,
                                        .rank = identity.rank,
                                        .size = identity.size}};
    tg_engine_emit(facts->engine, thread, &who);
    tg_environment_deinit(&environment);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    (void)attached;
    struct tg_process_facts *facts = context;
    emit_program(facts, thread);
    emit_command_line(facts, thread);
    emit_environment(facts, thread);
}

struct tg_error *tg_process_facts_create(struct tg_engine *engine, struct tg_image_cache *images,
                                         struct tg_process_facts **facts)
{
    struct tg_process_facts *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->images = images;
    if (gethostname(made->host, sizeof made->host - 1) != 0)
        made->host[0] = '\0';
    made->observer =
        (struct tg_observer){.name = "process facts", .context = made, .program_loaded = program_loaded};
    tg_engine_add_observer(engine, &made->observer);
    *facts = made;
    return NULL;
}

void tg_process_facts_destroy(struct tg_process_facts *facts)
{
    free(facts);
}
