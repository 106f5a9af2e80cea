#include "live/control/modules.h"

#include "format/base/hash.h"

#include <stdlib.h>

struct entry {
    pid_t pid;
    struct tg_modules *modules;
    struct tg_module_scene *scene; /* NULL: nobody has asked */
    bool is_stale;
    UT_hash_handle hh;
};

struct tg_job_modules {
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct entry *entries; /* by pid */
};

struct tg_error *tg_job_modules_create(struct tg_image_cache *images, struct tg_job_modules **modules)
{
    struct tg_job_modules *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->images = images;
    struct tg_error *error = tg_debug_cache_create(0, &made->debug);
    if (error != NULL)
        free(made);
    else
        *modules = made;
    return error;
}

static void drop(struct tg_job_modules *modules, struct entry *entry)
{
    HASH_DEL(modules->entries, entry);
    tg_module_scene_destroy(entry->scene);
    tg_modules_destroy(entry->modules);
    free(entry);
}

void tg_job_modules_destroy(struct tg_job_modules *modules)
{
    struct entry *entry, *next;
    if (modules == NULL)
        return;
    HASH_ITER (hh, modules->entries, entry, next)
        drop(modules, entry);
    tg_debug_cache_destroy(modules->debug);
    free(modules);
}

static struct entry *find(const struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, modules->entries, &process->pid, sizeof process->pid, entry);
    return entry;
}

static struct entry *add(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->pid = process->pid;
    entry->is_stale = true;
    struct tg_error *error =
        tg_modules_create(process->pid, modules->images, modules->debug, &entry->modules);
    if (error == NULL) {
        error = TG_HASH_ADD(hh, modules->entries, pid, entry);
        if (error == NULL)
            return entry;
        tg_modules_destroy(entry->modules);
    }
    tg_error_destroy(error);
    free(entry);
    return NULL;
}

static struct entry *look(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = find(modules, process);
    if (entry == NULL)
        entry = add(modules, process);
    if (entry == NULL)
        return NULL;
    if (entry->is_stale) {
        tg_error_destroy(tg_modules_refresh(entry->modules));
        if (entry->scene != NULL)
            tg_error_destroy(tg_module_scene_refresh(entry->scene));
        entry->is_stale = false;
    }
    return entry;
}

struct tg_modules *tg_job_modules_of(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = look(modules, process);
    return entry == NULL ? NULL : entry->modules;
}

struct tg_module_scene *tg_job_modules_scene(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = look(modules, process);
    if (entry != NULL && entry->scene == NULL)
        tg_error_destroy(tg_module_scene_create(entry->modules, &entry->scene));
    return entry == NULL ? NULL : entry->scene;
}

void tg_job_modules_change(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = find(modules, process);
    if (entry != NULL)
        entry->is_stale = true;
}

void tg_job_modules_forget(struct tg_job_modules *modules, const struct tg_process *process)
{
    struct entry *entry = find(modules, process);
    if (entry != NULL)
        drop(modules, entry);
}
