#include "live/control/manager_threads.h"

#include "format/settings/glob_list.h"
#include "recorder/process/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_DESCRIPTOR_BYTES = 1 << 16, /* more than struct pthread has in any version */
    SELF_OFFSET = 16, /* of the pointer to itself in every thread's control block (x86-64 ABI) */
};

/* A field as glibc describes it to libthread_db: size in bits, number, offset in bytes. */
struct field {
    uint32_t bits, count, offset;
};

struct tg_manager_threads {
    struct tg_glob_list *libraries;
    /* of the last libc that was looked at */
    char build_id[129];
    uint64_t field; /* from its start to where it says at which offset start routines are; 0: it does not */
};

struct tg_error *tg_manager_threads_create(struct tg_manager_threads **managers)
{
    struct tg_manager_threads *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_manager_threads_set(made, TG_MANAGER_LIBRARIES);
    if (error == NULL)
        *managers = made;
    else
        free(made);
    return error;
}

void tg_manager_threads_destroy(struct tg_manager_threads *managers)
{
    if (managers == NULL)
        return;
    tg_glob_list_destroy(managers->libraries);
    free(managers);
}

struct tg_error *tg_manager_threads_set(struct tg_manager_threads *managers, const char *libraries)
{
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(libraries, &list);
    if (error != NULL)
        return error;
    tg_glob_list_destroy(managers->libraries);
    managers->libraries = list;
    return NULL;
}

/* ---- libc's own word for it */

static const char *name_of(const struct tg_module *module)
{
    const char *slash = strrchr(module->path, '/');
    return slash == NULL ? module->path : slash + 1;
}

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Since glibc 2.34 libc has the threads. */
static const struct tg_module *find_libc(struct tg_modules *modules)
{
    const struct tg_module *libc = NULL;
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        const char *name = name_of(module);
        if (begins(name, "libpthread.so.") || begins(name, "libpthread-"))
            return module;
        if (begins(name, "libc.so.") || begins(name, "libc-"))
            libc = module;
    }
    return libc;
}

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    if (strcmp(symbol->name, "_thread_db_pthread_start_routine") == 0)
        *(uint64_t *)context = symbol->address;
}

/* The address of the description; 0 there is none. */
static uint64_t find_description(struct tg_manager_threads *managers, struct tg_modules *modules)
{
    const struct tg_module *libc = find_libc(modules);
    if (libc == NULL)
        return 0;
    if (*libc->build_id == '\0' || strcmp(libc->build_id, managers->build_id) != 0) {
        uint64_t bias = 0, address = 0;
        struct tg_debug_info *info = tg_modules_debug_info(modules, libc, &bias);
        if (info != NULL)
            tg_image_each_symbol(tg_debug_info_image(info), "_thread_db_pthread_start_routine", false,
                                 take_symbol, &address);
        managers->field = address == 0 ? 0 : address + bias - libc->start;
        strncpy(managers->build_id, libc->build_id, sizeof managers->build_id - 1);
    }
    return managers->field == 0 ? 0 : libc->start + managers->field;
}

static bool find_start_routine(struct tg_manager_threads *managers, struct tg_modules *modules, int32_t pid,
                               uint64_t fs_base, uint64_t *routine)
{
    struct field field;
    uint64_t self, description = fs_base == 0 ? 0 : find_description(managers, modules);
    return description != 0 && tg_memory_read(pid, description, &field, sizeof field) && field.bits == 64 &&
           field.offset < MAX_DESCRIPTOR_BYTES &&
           tg_memory_read(pid, fs_base + SELF_OFFSET, &self, sizeof self) && self == fs_base &&
           tg_memory_read(pid, fs_base + field.offset, routine, sizeof *routine) && *routine != 0;
}

bool tg_manager_threads_ask(struct tg_manager_threads *managers, struct tg_modules *modules, int32_t pid,
                            uint64_t fs_base)
{
    uint64_t routine;
    if (!find_start_routine(managers, modules, pid, fs_base, &routine))
        return false;
    const struct tg_module *module = tg_modules_find(modules, routine);
    if (module == NULL)
        return false;
    const struct tg_glob_match match = tg_glob_list_match(managers->libraries, name_of(module));
    return match.matched && !match.negated;
}
