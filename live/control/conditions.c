#include "live/control/conditions.h"

#include "format/base/hash.h"
#include "live/control/thread_scene.h"
#include "live/inspect/expression/condition.h"

#include <stdlib.h>
#include <string.h>

/* Of one action point. */
struct entry {
    uint32_t id;
    char *text;
    struct tg_condition *condition;
    UT_hash_handle hh;
};

struct tg_point_conditions {
    struct tg_job_modules *modules;
    struct entry *entries; /* by id; action points are few, and their numbers are not used again */
};

struct tg_error *tg_point_conditions_create(struct tg_job_modules *modules,
                                            struct tg_point_conditions **conditions)
{
    struct tg_point_conditions *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->modules = modules;
    *conditions = made;
    return NULL;
}

static void drop(struct tg_point_conditions *conditions, struct entry *entry)
{
    HASH_DEL(conditions->entries, entry);
    tg_condition_destroy(entry->condition);
    free(entry->text);
    free(entry);
}

void tg_point_conditions_destroy(struct tg_point_conditions *conditions)
{
    struct entry *entry, *next;
    if (conditions == NULL)
        return;
    HASH_ITER (hh, conditions->entries, entry, next)
        drop(conditions, entry);
    free(conditions);
}

/* The condition of ID, read at its first use. */
static struct tg_error *prepare(struct tg_point_conditions *conditions, uint32_t id, const char *text,
                                struct entry **result)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, conditions->entries, &id, sizeof id, entry);
    if (entry != NULL && strcmp(entry->text, text) != 0) {
        drop(conditions, entry);
        entry = NULL;
    }
    if (entry != NULL) {
        *result = entry;
        return NULL;
    }
    struct tg_condition *condition;
    struct tg_error *error = tg_condition_create(text, &condition, NULL);
    if (error != NULL)
        return error;
    entry = calloc(1, sizeof *entry);
    char *copy = strdup(text);
    if (entry != NULL && copy != NULL) {
        *entry = (struct entry){.id = id, .text = copy, .condition = condition};
        if (TG_HASH_ADD(hh, conditions->entries, id, entry) == NULL) {
            *result = entry;
            return NULL;
        }
    }
    tg_condition_destroy(condition);
    free(copy);
    free(entry);
    return tg_error_no_memory();
}

static struct tg_error *decide(struct tg_point_conditions *conditions, struct tg_thread *thread,
                               const struct entry *entry, bool *holds)
{
    struct tg_modules *modules = tg_job_modules_of(conditions->modules, thread->process);
    struct tg_module_scene *objects = tg_job_modules_scene(conditions->modules, thread->process);
    struct tg_thread_scene scene;
    if (modules == NULL || objects == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_thread_scene_innermost(
        thread, modules, objects,
        tg_condition_needs_frame(entry->condition) ? TG_SCENE_FRAME : TG_SCENE_REGISTERS, &scene);
    return error != NULL ? error : tg_condition_decide(entry->condition, scene.scene, holds);
}

bool tg_point_conditions_hold(struct tg_point_conditions *conditions, struct tg_thread *thread, uint32_t id,
                              const char *text, struct tg_error **error)
{
    struct entry *entry;
    bool holds = true;
    *error = prepare(conditions, id, text, &entry);
    if (*error == NULL)
        *error = decide(conditions, thread, entry, &holds);
    return *error != NULL || holds;
}

struct tg_error *tg_point_conditions_check(struct tg_point_conditions *conditions,
                                           const struct tg_process *process, uint64_t address,
                                           const char *text, bool *is_known)
{
    struct tg_condition *condition;
    const struct tg_scene_object *object;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES];
    struct tg_module_scene *objects = tg_job_modules_scene(conditions->modules, process);
    *is_known = false;
    if (objects == NULL)
        return NULL;
    struct tg_registers registers = {.known = UINT64_C(1) << TG_RIP};
    registers.value[TG_RIP] = address;
    const struct tg_frame frame = tg_frame_innermost(&registers);
    const struct tg_inspect_memory memory = {0};
    const struct tg_scene *scene = tg_module_scene_of(objects, &memory, NULL, &frame, NULL, 0);
    if (tg_scene_scopes(scene, &frame, &object, scopes) == 0)
        return NULL;
    struct tg_error *error = tg_condition_create(text, &condition, NULL);
    if (error != NULL)
        return error;
    *is_known = true;
    error = tg_condition_check_names(condition, scene);
    tg_condition_destroy(condition);
    return error;
}
