#include "recorder/mpir/environment.h"

#include "format/image/image.h"
#include "recorder/process/memory.h"

#include <stdlib.h>
#include <string.h>

static const char variable[] = "OMPI_MPIR_DO_NOT_WARN=1";
static const char variable_name[] = "OMPI_MPIR_DO_NOT_WARN";

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Open MPI's launcher needs its run-time library, and not the library of MPI calls. */
static bool is_open_mpi_launcher(struct tg_image *image)
{
    bool is_launcher = false;
    for (size_t i = 0; i < tg_image_needed_count(image); i++) {
        const char *name = tg_image_needed_at(image, i);
        if (begins_with(name, "libmpi.so."))
            return false;
        is_launcher |= begins_with(name, "libopen-rte.so.");
    }
    return is_launcher;
}

static bool is_launcher(struct tg_image_cache *images, const struct tg_thread *thread)
{
    const struct tg_image_source source = {.pid = thread->tid};
    struct tg_image *image = tg_image_cache_find(images, &source);
    if (image == NULL)
        return false;
    bool is = is_open_mpi_launcher(image);
    tg_image_unref(image);
    return is;
}

const char *tg_mpir_environment_wish(struct tg_image_cache *images, const struct tg_thread *thread,
                                     const struct tg_initial_stack *stack)
{
    return is_launcher(images, thread) && tg_initial_stack_variable(stack, variable_name) == NULL ? variable
                                                                                                  : NULL;
}

struct tg_error *tg_mpir_environment_add(struct tg_image_cache *images, struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    struct tg_initial_stack stack = {0};
    struct tg_stack_image image = {0};
    if (thread->process->bits != 64 || thread->process->secure || registers == NULL ||
        !is_launcher(images, thread))
        return NULL;
    struct tg_error *error = tg_initial_stack_read(thread->tid, registers->rsp, &stack);
    if (error == NULL && tg_initial_stack_variable(&stack, variable_name) == NULL) {
        const char *const added[] = {variable};
        error = tg_initial_stack_add(&stack, added, 1, &image);
        if (error == NULL)
            error = tg_initial_stack_write(thread->tid, &stack, &image);
        if (error == NULL && !tg_thread_set_stack(thread, image.address))
            tg_initial_stack_write_back(thread->tid, &stack);
    }
    free(image.bytes);
    tg_initial_stack_deinit(&stack);
    return error;
}
