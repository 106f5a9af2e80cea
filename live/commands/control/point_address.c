#include "live/commands/control/point_address.h"

#include "analyzer/job/list.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "recorder/process/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- to a specification */

static bool take_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

/* The process of interest where a point of FOCUS is for others as well, NULL it is for one alone. */
static struct tg_error *find_leader(const struct tg_request *control, const struct tg_ptset *focus,
                                    const struct tg_job_process **leader)
{
    size_t thread, cursor = 0, n_processes = 0;
    const struct tg_ptset_arena *arena = tg_ptset_next_arena(focus, &cursor);
    bool is_one = tg_ptset_count(focus) == 1 && tg_ptset_arena(focus, 0) != NULL &&
                  (arena->width == TG_WIDTH_PROCESS || arena->width == TG_WIDTH_THREAD);
    const struct tg_job_process *process = NULL;
    *leader = NULL;
    if (is_one)
        return NULL;
    struct tg_error *error = tg_ptset_interest(arena, control->view, &process, &thread, NULL);
    if (error != NULL)
        return error;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process_info *info = &tg_job_view_at(control->view, p)->info;
        n_processes += info->exists && info->share_group == process->info.share_group;
    }
    if (n_processes > 1)
        *leader = process;
    return NULL;
}

/* A glob that is PATH alone; NULL: no memory. */
static char *make_glob(const char *path)
{
    char *glob = malloc(2 * strlen(path) + 1), *at = glob;
    for (; glob != NULL && *path != '\0'; path++) {
        if (strchr("*?[]\\", *path) != NULL)
            *at++ = '\\';
        *at++ = *path;
    }
    if (glob != NULL)
        *at = '\0';
    return glob;
}

static struct tg_error *translate(const struct tg_request *control, const struct tg_job_process *leader,
                                  uint64_t address, char **spec)
{
    struct tg_modules *modules = tg_engine_adapter_modules_of(control->engine, (int32_t)leader->info.tag);
    const struct tg_module *module = modules == NULL ? NULL : tg_modules_find(modules, address);
    uint64_t bias = 0;
    if (module == NULL || *module->path != '/' || strchr(module->path, '`') != NULL ||
        tg_modules_debug_info(modules, module, &bias) == NULL)
        return tg_error_create(TG_ERROR_USAGE,
                               "0x%" PRIx64 " is in no file's code in process %" PRIu32
                               ", and means nothing in other processes: `dfocus p%" PRIu32
                               "` makes it one process's",
                               address, leader->info.dpid, leader->info.dpid);
    char *glob = make_glob(module->path);
    int length = glob == NULL ? -1 : asprintf(spec, "%s`*0x%" PRIx64, glob, address - bias);
    free(glob);
    if (length >= 0)
        return NULL;
    *spec = NULL;
    return tg_error_no_memory();
}

struct tg_error *tg_point_address_spec(const struct tg_request *control, const struct tg_ptset *focus,
                                       const char *address, char **spec)
{
    const struct tg_job_process *leader = NULL;
    struct tg_mapping mapping;
    uint64_t number;
    if (take_number(address, &number)) {
        struct tg_error *error = find_leader(control, focus, &leader);
        if (error != NULL)
            return error;
        if (leader != NULL && tg_mapping_find((pid_t)leader->info.tag, number, &mapping))
            return translate(control, leader, number, spec);
    }
    if (asprintf(spec, "*%s", address) >= 0)
        return NULL;
    *spec = NULL;
    return tg_error_no_memory();
}

/* ---- where it is planted */

enum { MAX_SITES = 1024 };

/* The same code in one or more processes. */
struct planted {
    const char *path; /* of its object, "" none; valid as the process's modules */
    uint64_t offset;
    uint64_t address; /* in the first of them */
    int32_t pid;      /* process that ADDRESS is in */
    struct tg_job_set in;
};

struct places {
    struct planted *items;
    size_t count, capacity;
};

static struct tg_error *add_site(const struct tg_request *control, const struct tg_job_process *process,
                                 uint64_t address, struct places *places)
{
    struct tg_modules *modules = tg_engine_adapter_modules_of(control->engine, (int32_t)process->info.tag);
    const struct tg_module *module = modules == NULL ? NULL : tg_modules_find(modules, address);
    struct planted made = {.path = module == NULL ? "" : module->path,
                           .offset = module == NULL ? address : address - module->start,
                           .address = address,
                           .pid = (int32_t)process->info.tag};
    size_t at = 0;
    while (at < places->count &&
           (places->items[at].offset != made.offset || strcmp(places->items[at].path, made.path) != 0))
        at++;
    if (at == places->count) {
        struct tg_error *error = tg_job_set_init(&made.in, control->view);
        if (error == NULL)
            error = TG_ARRAY_APPEND(places->items, places->count, places->capacity, made);
        if (error != NULL)
            return error;
    }
    for (size_t i = 0; i < process->n_threads || i == 0; i++)
        tg_job_set_add(&places->items[at].in, process, i);
    return NULL;
}

static struct tg_error *collect(const struct tg_request *control, const struct tg_action_point *point,
                                struct places *places)
{
    struct tg_error *error = NULL;
    uint64_t *addresses = calloc(MAX_SITES, sizeof *addresses);
    if (addresses == NULL)
        return tg_error_no_memory();
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        size_t count = process->info.exists
                           ? tg_engine_adapter_places(control->engine, (int32_t)process->info.tag, point->id,
                                                      addresses, MAX_SITES)
                           : 0;
        for (size_t i = 0; error == NULL && i < count && i < MAX_SITES; i++)
            error = add_site(control, process, addresses[i], places);
    }
    free(addresses);
    return error;
}

struct tg_error *tg_point_address_list(const struct tg_request *control, const struct tg_action_point *point)
{
    struct places places = {0};
    struct tg_error *error = collect(control, point, &places);
    if (error == NULL && places.count > 1)
        fprintf(control->out, "%zu places:\n", places.count);
    for (size_t i = 0; error == NULL && places.count > 1 && i < places.count; i++) {
        const struct planted *planted = &places.items[i];
        char where[TG_PLACE_SIZE];
        tg_engine_adapter_place(control->engine, planted->pid, planted->address, where);
        fprintf(control->out, "  0x%" PRIx64 " ", planted->address);
        tg_printable_write(control->out, where);
        fputs(" in ", control->out);
        error = tg_job_list_print(control->view, &planted->in, control->out);
        fputc('\n', control->out);
    }
    for (size_t i = 0; i < places.count; i++)
        tg_job_set_deinit(&places.items[i].in);
    free(places.items);
    return error;
}
