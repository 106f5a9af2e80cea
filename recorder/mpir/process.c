#include "recorder/mpir/process.h"

#include "recorder/loader/rendezvous.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tg_mpir_process *tg_mpir_process_create(void)
{
    return calloc(1, sizeof(struct tg_mpir_process));
}

struct tg_mpir_process *tg_mpir_process_copy(const struct tg_mpir_process *known)
{
    struct tg_mpir_process *copy = tg_mpir_process_create();
    if (copy == NULL)
        return NULL;
    copy->program_seen = known->program_seen;
    copy->is_fork = true;
    copy->variables = known->variables;
    copy->is_planted = known->is_planted;
    memcpy(copy->launcher, known->launcher, sizeof copy->launcher);
    if (known->maps != NULL)
        copy->maps = tg_link_maps_copy(known->maps);
    return copy;
}

void tg_mpir_process_destroy(struct tg_mpir_process *known)
{
    if (known == NULL)
        return;
    tg_link_maps_destroy(known->maps);
    tg_mpir_job_guard_destroy(known->guard);
    free(known);
}

/* ---- launchers */

/* By the object that has the symbols. To add one: a line here. */
static const struct {
    const char *object; /* beginning of its base name */
    const char *launcher;
} launchers[] = {
    {"libopen-rte.", "Open MPI"},
    {"libprrte.", "PRRTE"},
    {"srun", "Slurm"},
    {"sattach", "Slurm"},
};

static void recognise(struct tg_mpir_process *known, const char *path, const struct tg_mpir_symbols *symbols)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (strncmp(name, launchers[i].object, strlen(launchers[i].object)) == 0)
            snprintf(known->launcher, sizeof known->launcher, "%s", launchers[i].launcher);
    if (known->launcher[0] == '\0' && symbols->found[TG_MPIR_SLURM_JOB])
        snprintf(known->launcher, sizeof known->launcher, "Slurm");
}

/* ---- looking */

/* One look. */
struct look {
    struct tg_mpir_process *known;
    struct tg_mpir_finder *finder;
    const struct tg_agent_injector *agent;
    const struct tg_thread *thread;
    const struct tg_mpir_object_sink *sink;
    bool found;
};

static void take(struct look *look, const char *path, uint64_t bias, const struct tg_mpir_symbols *symbols)
{
    struct tg_mpir_variables *variables = &look->known->variables;
    if (symbols->found[TG_MPIR_PROCTABLE] && !variables->found[TG_MPIR_PROCTABLE])
        variables->layout = symbols->layout.source != TG_MPIR_LAYOUT_NONE
                                ? symbols->layout
                                : tg_mpir_layout_of_class(look->thread->process->bits);
    for (size_t i = 0; i < TG_MPIR_N_NAMES; i++) {
        if (!symbols->found[i] || variables->found[i])
            continue;
        variables->found[i] = true;
        variables->addresses[i] = bias + symbols->addresses[i];
        variables->sizes[i] = symbols->sizes[i];
    }
    recognise(look->known, path, symbols);
    look->found = true;
    look->sink->take(look->sink->context, path, bias, symbols);
}

static void look_at_program(struct look *look)
{
    const struct tg_process *process = look->thread->process;
    const struct tg_image_source source = {.pid = look->thread->tid};
    look->known->program_seen = true;
    const struct tg_mpir_symbols *symbols = tg_mpir_finder_look(look->finder, &source, true);
    if (symbols == NULL || process->entry == 0)
        return;
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process->pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    take(look, path, process->entry - symbols->entry, symbols);
}

static bool find_maps(struct look *look)
{
    const struct tg_process *process = look->thread->process;
    uint64_t r_debug;
    if (look->known->maps != NULL)
        return true;
    if (process->loader_base == 0 || tg_rendezvous_locate(look->thread->tid, process->bits, process->phdr,
                                                          process->n_phdr, &r_debug) != TG_RENDEZVOUS_FOUND)
        return false;
    look->known->maps = tg_link_maps_create(process->bits, r_debug);
    return look->known->maps != NULL;
}

static void look_at_libraries(struct look *look)
{
    struct tg_link_delta delta;
    tg_link_maps_update(look->known->maps, look->thread->tid, TG_LINK_LOOK_NEW, &delta);
    for (size_t i = 0; i < delta.n_changes; i++) {
        for (size_t j = 0; j < delta.changes[i].n_added; j++) {
            const struct tg_loaded_object *object = delta.changes[i].added[j];
            if (look->agent != NULL && tg_agent_injector_owns(look->agent, object->path))
                continue;
            const struct tg_image_source source = {.pid = look->thread->tid,
                                                   .path = object->path,
                                                   .load_bias = object->base,
                                                   .header = object->header,
                                                   .build_id = object->build_id};
            const struct tg_mpir_symbols *symbols = tg_mpir_finder_look(look->finder, &source, false);
            if (symbols != NULL)
                take(look, object->path, object->base, symbols);
        }
    }
}

bool tg_mpir_process_look(struct tg_mpir_process *known, struct tg_mpir_finder *finder,
                          const struct tg_agent_injector *agent, const struct tg_thread *thread,
                          const struct tg_mpir_object_sink *sink)
{
    struct look look = {.known = known, .finder = finder, .agent = agent, .thread = thread, .sink = sink};
    if (thread->process->bits == 0)
        return false;
    if (!known->program_seen)
        look_at_program(&look);
    if (find_maps(&look))
        look_at_libraries(&look);
    return look.found;
}

/* ---- the meaning of symbols */

bool tg_mpir_process_can_start(const struct tg_mpir_process *known)
{
    const bool *found = known->variables.found;
    return found[TG_MPIR_BREAKPOINT] && found[TG_MPIR_PROCTABLE] && found[TG_MPIR_PROCTABLE_SIZE] &&
           found[TG_MPIR_DEBUG_STATE];
}

bool tg_mpir_process_may_announce(const struct tg_mpir_process *known)
{
    return tg_mpir_process_can_start(known) && !known->variables.found[TG_MPIR_DLL_NAME];
}
