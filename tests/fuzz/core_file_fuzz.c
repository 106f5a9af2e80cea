/* The input as a core file: it is read or refused, and what is read is bounded; so are the stacks of its threads. */
#include "recorder/look/core_look.h"
#include "recorder/process/core_file.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int write_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("core", MFD_CLOEXEC);
    assert(fd >= 0);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        assert(n > 0);
        done += (size_t)n;
    }
    return fd;
}

static void check(const struct tg_core_file *core)
{
    uint8_t bytes[64];
    size_t size = 0;
    assert(core->n_threads > 0 && strlen(core->program) < sizeof core->program);
    assert(strlen(core->command) < sizeof core->command);
    for (size_t i = 0; i < core->n_mappings; i++)
        assert(core->mappings[i].end > core->mappings[i].start && strlen(core->mappings[i].path) < 1u << 28);
    for (size_t i = 0; i < core->n_threads && i < 16; i++)
        assert(tg_core_file_memory(core, core->threads[i].registers.rsp, bytes, sizeof bytes) <=
               sizeof bytes);
    char *environment = tg_core_file_environment(core, &size);
    assert((environment == NULL) == (size == 0));
    free(environment);
}

static void add(void *context, const struct tg_event *event)
{
    size_t *events = context;
    assert(event->kind != 0 && ++*events < 1u << 24);
}

static void remark(void *context, const char *text)
{
    (void)context;
    assert(*text != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tg_core_file *core = NULL;
    int fd = write_file(data, size);
    struct tg_error *error = tg_core_file_read(dup(fd), &core);
    if (error == NULL)
        check(core);
    tg_error_destroy(error);
    tg_core_file_close(core);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *paths[] = {path};
    size_t events = 0;
    const struct tg_look_sink sink = {.context = &events, .add = add, .remark = remark};
    error = tg_core_look(&(struct tg_core_request){.paths = paths, .count = 1, .with_values = true}, &sink);
    assert(error == NULL);
    close(fd);
    return 0;
}
