#include "recorder/record/ptrace_use.h"

#include "format/image/image.h"
#include "recorder/process/mapped_file.h"
#include "recorder/process/proc_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct tg_ptrace_use {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_observer observer;
};

/* ---- the address of the function */

static bool is_c_library(const char *name)
{
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "ld-musl-", 8) == 0;
}

static uint64_t find_ptrace(struct tg_ptrace_use *use, struct tg_thread *thread)
{
    struct tg_mapped_file library;
    if (!tg_mapped_file_find(thread->process->pid, is_c_library, &library))
        return 0; /* a static program: what it calls directly cannot be told from other system calls */
    const struct tg_image_source source = {.pid = thread->tid, .path = library.path, .header = library.start};
    struct tg_image *image = tg_image_cache_find(use->images, &source);
    if (image == NULL)
        return 0;
    uint64_t address = 0;
    size_t n = tg_image_find_function(image, "ptrace", &address, 1);
    if (n > 0)
        address += library.start - tg_image_info(image)->start;
    tg_image_unref(image);
    return n > 0 ? address : 0;
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
    tg_engine_release(process, "traced by another process of the job (ptrace)");
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
        tg_engine_release(thread->process, "it asked to be traced by its parent (ptrace)");
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    if (stop->trigger != TG_TRIGGER_ENTRY || thread->process->bits != 64)
        return;
    uint64_t address = find_ptrace(context, thread);
    if (address == 0)
        return;
    TG_AUTO_ERROR struct tg_error *error =
        tg_breakpoint_plant(thread->process, address, TG_BREAKPOINT_INTERNAL, ptrace_called, context, NULL);
    char text[200];
    if (error == NULL)
        return;
    snprintf(text, sizeof text, "cannot observe calls of ptrace: %s", tg_error_message(error));
    tg_engine_emit(thread->process->engine, thread,
                   &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
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

void tg_ptrace_use_destroy(struct tg_ptrace_use *use)
{
    free(use);
}
