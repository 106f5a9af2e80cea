#include "recorder/record/ptrace_use.h"

#include "format/image/image.h"
#include "recorder/process/mapped_file.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/sanitizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct tg_ptrace_use {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_observer observer;
    const struct tg_link_maps *(*link_maps)(void *context, const struct tg_process *process); /* NULL: none */
    void *context;
};

/* ---- where the functions are */

static bool is_c_library(const char *name)
{
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "ld-musl-", 8) == 0;
}

struct library {
    struct tg_mapped_file file; /* no path: not found */
    const char *build_id;       /* NULL: not known */
};

struct libraries {
    struct library c, sanitizer;
};

static void note_library(struct libraries *libraries, const char *path, uint64_t start, const char *build_id)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    struct library *library = is_c_library(name)                                 ? &libraries->c
                              : tg_sanitizer_looks_for_leaks(name, strlen(name)) ? &libraries->sanitizer
                                                                                 : NULL;
    if (library == NULL || library->file.path[0] != '\0')
        return;
    library->file.start = start;
    library->build_id = build_id;
    snprintf(library->file.path, sizeof library->file.path, "%s", path);
}

static void note_mapping(void *context, const char *name, const struct tg_mapping *mapping)
{
    (void)name;
    note_library(context, mapping->path, mapping->start, NULL);
}

static void forget(struct libraries *libraries)
{
    libraries->c.file.path[0] = libraries->sanitizer.file.path[0] = '\0';
}

static void find_libraries(const struct tg_ptrace_use *use, const struct tg_process *process,
                           struct libraries *libraries)
{
    const struct tg_link_maps *maps = use->link_maps == NULL ? NULL : use->link_maps(use->context, process);
    forget(libraries);
    for (size_t i = 0; maps != NULL && i < tg_link_maps_count(maps, 0); i++) {
        const struct tg_loaded_object *object = tg_link_maps_at(maps, 0, i);
        if (object->header != 0)
            note_library(libraries, object->path, object->header, object->build_id);
    }
    if (libraries->c.file.path[0] != '\0')
        return;
    forget(libraries);
    tg_mapped_file_each(process->pid, note_mapping, libraries);
}

static struct tg_image *open_library(const struct tg_ptrace_use *use, const struct tg_thread *thread,
                                     const struct library *library)
{
    const struct tg_image_source source = {.pid = thread->tid,
                                           .path = library->file.path,
                                           .header = library->file.start,
                                           .build_id = library->build_id};
    return tg_image_cache_find(use->images, &source);
}

/* 0 in a static program: what it calls directly cannot be told from other system calls. */
static uint64_t find_ptrace(const struct tg_ptrace_use *use, const struct tg_thread *thread,
                            const struct library *library)
{
    struct tg_image *image = library->file.path[0] != '\0' ? open_library(use, thread, library) : NULL;
    if (image == NULL)
        return 0;
    uint64_t address = 0;
    size_t n = tg_image_find_function(image, "ptrace", &address, 1);
    if (n > 0)
        address += library->file.start - tg_image_info(image)->start;
    tg_image_unref(image);
    return n > 0 ? address : 0;
}

static void take_address(void *context, const struct tg_image_symbol *symbol)
{
    uint64_t *address = context;
    if (*address == 0 && strchr(symbol->name, '.') == NULL) /* not a part that a compiler has split off */
        *address = symbol->address;
}

static void tell(const struct tg_ptrace_use *use, struct tg_thread *thread, const char *text)
{
    tg_engine_emit(use->engine, thread, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

/* The function of LeakSanitizer that stops all threads of the process by a process that traces them; 0: none. Its symbol is a local
 * one. */
static uint64_t find_stop_the_world(const struct tg_ptrace_use *use, struct tg_thread *thread,
                                    const struct library *library)
{
    const struct tg_image_source program = {.pid = thread->tid};
    bool is_library = library->file.path[0] != '\0';
    uint64_t address = 0;
    struct tg_image *image =
        is_library ? open_library(use, thread, library) : tg_image_cache_find(use->images, &program);
    if (image == NULL)
        return 0;
    const struct tg_image_info *info = tg_image_info(image);
    uint64_t bias = is_library ? library->file.start - info->start : thread->process->entry - info->entry;
    bool looks_for_leaks = tg_image_exports(image, "__lsan_do_leak_check");
    if (looks_for_leaks)
        tg_image_each_symbol(image, "_ZN11__sanitizer12StopTheWorldE", true, take_address, &address);
    if (looks_for_leaks && address == 0)
        tell(use, thread,
             "its sanitizer has no symbols: it fails to look for leaks while the program is traced, and ends "
             "it with an error "
             "(ASAN_OPTIONS=detect_leaks=0, or record --no-ptrace)");
    tg_image_unref(image);
    return address != 0 ? address + bias : 0;
}

/* ---- calls */

static void release_target(struct tg_thread *thread, pid_t target)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(target, &status) || status.tgid == thread->process->pid)
        return;
    struct tg_process *process = tg_engine_find_process(thread->process->engine, status.tgid);
    if (process == NULL)
        return;
    tg_engine_make_way(process, "traced by another process of the job (ptrace)");
    tg_engine_hold(thread, process->pid);
}

static void ptrace_called(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    struct tg_proc_status status;
    (void)context;
    (void)breakpoint;
    if (registers == NULL)
        return;
    uint32_t request = (uint32_t)registers->rdi;
    if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
        release_target(thread, (pid_t)registers->rsi);
    if (request != PTRACE_TRACEME || !tg_proc_status_read(thread->process->pid, &status))
        return;
    /* The parent would trace the child. Where that is the recorder itself, it is traced already: that is success. */
    if (status.parent == getpid())
        tg_thread_return(thread, 0);
    else
        tg_engine_make_way(thread->process, "it asked to be traced by its parent (ptrace)");
}

static void leak_check_begins(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    (void)context;
    (void)breakpoint;
    tg_engine_make_way(thread->process, "its sanitizer looks for leaks, for which it traces it (ptrace)");
}

static void watch(struct tg_ptrace_use *use, struct tg_thread *thread, uint64_t address,
                  tg_breakpoint_handler *handler, const char *what)
{
    char text[200];
    TG_AUTO_ERROR struct tg_error *error =
        address != 0
            ? tg_breakpoint_plant(thread->process, address, TG_BREAKPOINT_INTERNAL, handler, use, NULL)
            : NULL;
    if (error == NULL)
        return;
    snprintf(text, sizeof text, "cannot observe %s: %s", what, tg_error_message(error));
    tell(use, thread, text);
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_ptrace_use *use = context;
    if (stop->trigger != TG_TRIGGER_ENTRY || thread->process->bits != 64)
        return;
    struct libraries libraries;
    find_libraries(use, thread->process, &libraries);
    watch(use, thread, find_ptrace(use, thread, &libraries.c), ptrace_called, "calls of ptrace");
    watch(use, thread, find_stop_the_world(use, thread, &libraries.sanitizer), leak_check_begins,
          "the search for leaks of its sanitizer");
}

struct tg_error *tg_ptrace_use_create(struct tg_engine *engine, struct tg_image_cache *images,
                                      struct tg_ptrace_use **use)
{
    struct tg_ptrace_use *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->images = images;
    made->observer = (struct tg_observer){.name = "ptrace_use", .context = made, .stopped = stopped};
    struct tg_error *error = tg_engine_add_observer(engine, &made->observer, NULL);
    if (error != NULL) {
        tg_ptrace_use_destroy(made);
        return error;
    }
    *use = made;
    return NULL;
}

void tg_ptrace_use_ask_loader(struct tg_ptrace_use *use,
                              const struct tg_link_maps *(*link_maps)(void *context,
                                                                      const struct tg_process *process),
                              void *context)
{
    use->link_maps = link_maps;
    use->context = context;
}

void tg_ptrace_use_destroy(struct tg_ptrace_use *use)
{
    free(use);
}
