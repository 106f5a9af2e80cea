#include "live/control/watches.h"

#include "format/base/hash.h"
#include "format/base/printable.h"
#include "live/inspect/value/text.h"
#include "recorder/engine/own_thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A watchpoint; its address is the context of the engine's watches and breakpoints, also in forked copies. */
struct watch {
    struct tg_job_watches *owner;
    uint32_t id;
    struct tg_watch_definition definition; /* text of the definition is the watch's own */
    struct tg_expression *expression;      /* NULL: it is an address */
    UT_hash_handle hh;
};

enum { MAX_OTHERS = 15 };

struct key {
    int32_t pid;
    uint32_t id;
};

/* A watchpoint in a process. */
struct planted {
    struct key key;
    struct tg_watch_plan plan;
    uint8_t bytes[TG_WATCH_MAX_BYTES]; /* as last seen */
    uint8_t then[TG_WATCH_MAX_BYTES];  /* before the latest hit */
    int32_t others
        [MAX_OTHERS]; /* threads that wrote at the same time as that, 0 where the thread's turn has come */
    unsigned n_others;
    UT_hash_handle hh;
};

struct tg_job_watches {
    struct tg_job_modules *modules;
    struct tg_job_watches_callbacks callbacks;
    struct watch *watches; /* by id; kept to the end */
    struct planted *planted;
    char *place;
};

struct tg_error *tg_job_watches_create(struct tg_job_modules *modules,
                                       const struct tg_job_watches_callbacks *callbacks,
                                       struct tg_job_watches **watches)
{
    struct tg_job_watches *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->modules = modules;
    made->callbacks = *callbacks;
    *watches = made;
    return NULL;
}

static void free_watch(struct watch *watch)
{
    tg_expression_destroy(watch->expression);
    free((void *)(uintptr_t)watch->definition.text);
    free(watch);
}

static void drop_planted(struct tg_job_watches *watches, struct planted *planted)
{
    HASH_DEL(watches->planted, planted);
    free(planted);
}

void tg_job_watches_destroy(struct tg_job_watches *watches)
{
    struct watch *watch, *next;
    struct planted *planted, *next_planted;
    if (watches == NULL)
        return;
    HASH_ITER (hh, watches->planted, planted, next_planted)
        drop_planted(watches, planted);
    HASH_ITER (hh, watches->watches, watch, next) {
        HASH_DEL(watches->watches, watch);
        free_watch(watch);
    }
    free(watches->place);
    free(watches);
}

static struct watch *find(const struct tg_job_watches *watches, uint32_t id)
{
    struct watch *watch = NULL;
    HASH_FIND(hh, watches->watches, &id, sizeof id, watch);
    return watch;
}

static struct planted *find_planted(const struct tg_job_watches *watches, const struct tg_process *process,
                                    uint32_t id)
{
    struct planted *planted = NULL;
    struct key key;
    memset(&key, 0, sizeof key);
    key.pid = process->pid;
    key.id = id;
    HASH_FIND(hh, watches->planted, &key, sizeof key, planted);
    return planted;
}

bool tg_job_watches_is_defined(const struct tg_job_watches *watches, uint32_t id)
{
    return find(watches, id) != NULL;
}

bool tg_job_watches_has(const struct tg_job_watches *watches, const struct tg_process *process, uint32_t id)
{
    return find_planted(watches, process, id) != NULL;
}

void tg_job_watches_undefine(struct tg_job_watches *watches, uint32_t id)
{
    struct watch *watch = find(watches, id);
    if (watch == NULL)
        return;
    HASH_DEL(watches->watches, watch);
    free_watch(watch);
}

struct tg_error *tg_job_watches_define(struct tg_job_watches *watches, uint32_t id,
                                       const struct tg_watch_definition *definition)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return tg_error_no_memory();
    *watch = (struct watch){.owner = watches, .id = id, .definition = *definition};
    watch->definition.text = strdup(definition->text);
    bool is_address = definition->is_bound && *definition->text >= '0' && *definition->text <= '9';
    struct tg_error *error = watch->definition.text == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL && !is_address)
        error = tg_expression_parse(definition->text, &watch->expression, NULL);
    if (error == NULL)
        error = TG_HASH_ADD(hh, watches->watches, id, watch);
    if (error != NULL)
        free_watch(watch);
    return error;
}

/* ---- values as text */

/* Memory in which [ADDRESS, ADDRESS + SIZE) has BYTES. */
struct overlay {
    struct tg_inspect_memory below;
    uint64_t address;
    size_t size;
    const uint8_t *bytes;
};

static bool read_overlay(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct overlay *overlay = context;
    uint8_t *to = buffer;
    if (!overlay->below.read(overlay->below.context, address, buffer, size))
        return false;
    for (size_t i = 0; i < size; i++)
        if (address + i - overlay->address < overlay->size)
            to[i] = overlay->bytes[address + i - overlay->address];
    return true;
}

/* The value that WATCH's expression is in SCENE, if that is what PLANTED watches. */
static bool find_value(const struct watch *watch, const struct planted *planted, const struct tg_scene *scene,
                       struct tg_value *value)
{
    struct tg_watch_plan plan;
    if (watch->expression == NULL)
        return false;
    struct tg_error *error = tg_expression_evaluate(watch->expression, scene, value, NULL);
    if (error == NULL)
        error = tg_watch_plan_place(scene, value, watch->definition.length, &plan);
    bool is_it = error == NULL && plan.address == planted->plan.address &&
                 plan.size_bytes == planted->plan.size_bytes && plan.is_part == planted->plan.is_part;
    tg_error_destroy(error);
    return is_it && (plan.is_part || plan.has_basic || watch->definition.length == 0);
}

static void print_bytes(const struct planted *planted, const uint8_t *bytes, FILE *out)
{
    for (uint64_t i = 0; i < planted->plan.size_bytes; i++)
        fprintf(out, "%s%02x", i == 0 ? "bytes " : " ", bytes[i]);
}

static void print_value(const struct watch *watch, const struct planted *planted, struct tg_thread *thread,
                        const uint8_t *bytes, FILE *out)
{
    struct tg_modules *modules = tg_job_modules_of(watch->owner->modules, thread->process);
    struct tg_module_scene *objects = tg_job_modules_scene(watch->owner->modules, thread->process);
    struct overlay overlay = {tg_thread_scene_memory(thread), planted->plan.address, planted->plan.size_bytes,
                              bytes};
    const struct tg_inspect_memory memory = {&overlay, read_overlay};
    const struct tg_scene *without_frame;
    struct tg_thread_scene found;
    struct tg_value value;
    if (modules == NULL || objects == NULL)
        return;
    tg_error_destroy(tg_thread_scene_innermost(thread, modules, objects, TG_SCENE_FRAME, &found));
    found.scene->memory = memory;
    if (find_value(watch, planted, found.scene, &value)) {
        tg_error_destroy(tg_value_print(found.scene, &value, &tg_value_style_default, out));
        return;
    }
    without_frame = tg_module_scene_of(objects, &memory, NULL, NULL, NULL, 0);
    struct tg_error *error = NULL;
    bool is_found = find_value(watch, planted, without_frame, &value);
    if (!is_found && planted->plan.has_basic) {
        error = tg_value_at(without_frame, planted->plan.address, &planted->plan.basic, &value);
        is_found = error == NULL;
    }
    tg_error_destroy(error);
    if (is_found)
        tg_error_destroy(tg_value_print(without_frame, &value, &tg_value_style_default, out));
    else
        print_bytes(planted, bytes, out);
}

static void write_value(const struct watch *watch, const struct planted *planted, struct tg_thread *thread,
                        const uint8_t *bytes, char text[TG_WATCH_TEXT_SIZE])
{
    FILE *out = fmemopen(text, TG_WATCH_TEXT_SIZE, "w");
    memset(text, 0, TG_WATCH_TEXT_SIZE);
    if (out == NULL)
        return;
    print_value(watch, planted, thread, bytes, out);
    (void)fclose(out); /* longer ones are cut */
    text[TG_WATCH_TEXT_SIZE - 1] = '\0';
}

/* ---- writes */

static void tell_write(const struct watch *watch, const struct planted *planted, struct tg_thread *thread,
                       const char *before, const char *after)
{
    const struct tg_watch_write write = {.id = watch->id,
                                         .text = watch->definition.text,
                                         .before = before,
                                         .after = after,
                                         .address = planted->plan.address,
                                         .n_others = planted->n_others};
    const struct tg_event event = {
        .kind = TG_EVENT_WATCH_HIT,
        .watch_hit = {.watch = watch->id, .address = write.address, .before = before, .after = after}};
    tg_engine_emit(thread->process->engine, thread, &event);
    watch->owner->callbacks.written(watch->owner->callbacks.context, thread, &write);
}

static void end(const struct watch *watch, const struct planted *planted, struct tg_thread *thread)
{
    char function[TG_WATCH_NAME_SIZE];
    memcpy(function, planted->plan.function, sizeof function); /* PLANTED goes */
    watch->owner->callbacks.left(watch->owner->callbacks.context, thread, watch->id, function);
}

/* Whether THREAD has left the frame otherwise than by returning from it: longjmp, an exception. */
static bool is_left(const struct watch *watch, const struct planted *planted, struct tg_thread *thread)
{
    struct tg_modules *modules = tg_job_modules_of(watch->owner->modules, thread->process);
    return planted->plan.cfa != 0 && thread->tid == watch->definition.tid && modules != NULL &&
           !tg_watch_plan_has_frame(&planted->plan, thread, modules);
}

/* Whether THREAD was seen to have written at the same time as another one, and its turn comes now. */
static bool take_turn(struct planted *planted, const struct tg_thread *thread)
{
    for (unsigned i = 0; i < planted->n_others; i++)
        if (planted->others[i] == thread->tid) {
            planted->others[i] = 0;
            return true;
        }
    return false;
}

static bool take_write(void *context, struct tg_thread *thread);

/* Whether the value has changed since it was last seen, and THREAD's write is to be told. Several threads may have
 * written before it can be read: who they are is asked while none of them runs, and the value is the one behind all
 * their writes. */
static bool is_hit(struct watch *watch, struct planted *planted, struct tg_thread *thread)
{
    const struct tg_job_watches *watches = watch->owner;
    size_t size = planted->plan.size_bytes;
    uint8_t now[TG_WATCH_MAX_BYTES];
    if (!tg_thread_read_memory(thread, planted->plan.address, now, size) ||
        memcmp(now, planted->bytes, size) == 0)
        return false;
    if (is_left(watch, planted, thread)) {
        end(watch, planted, thread);
        return false;
    }
    bool is_wanted = watches->callbacks.wants(watches->callbacks.context, thread, watch->id);
    planted->n_others = 0;
    if (is_wanted) {
        planted->n_others = tg_watch_pause_writers(thread, take_write, watch, planted->others, MAX_OTHERS);
        (void)tg_thread_read_memory(thread, planted->plan.address, now, size);
    }
    memcpy(planted->then, planted->bytes, size);
    memcpy(planted->bytes, now, size);
    return is_wanted;
}

/* THREAD has written to WATCH's bytes. */
static bool take_write(void *context, struct tg_thread *thread)
{
    struct watch *watch = context;
    const struct tg_job_watches *watches = watch->owner;
    struct planted *planted = find_planted(watches, thread->process, watch->id);
    char before[TG_WATCH_TEXT_SIZE], after[TG_WATCH_TEXT_SIZE];
    if (planted == NULL)
        return false;
    bool is_turn = take_turn(planted, thread);
    if (is_turn ? !watches->callbacks.wants(watches->callbacks.context, thread, watch->id)
                : !is_hit(watch, planted, thread))
        return false;
    write_value(watch, planted, thread, planted->then, before);
    write_value(watch, planted, thread, planted->bytes, after);
    if (planted->plan.is_part && strcmp(before, after) == 0)
        return false;
    tell_write(watch, planted, thread, before, after);
    return true;
}

/* A thread has come to where the caller of the watched frame goes on: has that frame returned? */
static void take_return(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    const struct watch *watch = context;
    const struct planted *planted = find_planted(watch->owner, thread->process, watch->id);
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    (void)breakpoint;
    if (planted != NULL && registers != NULL && registers->rsp == planted->plan.cfa)
        end(watch, planted, thread);
}

/* ---- planting */

/* Where WATCH is in PROCESS; *IS_THERE false: nowhere yet. */
static struct tg_error *find_place(const struct watch *watch, const struct tg_process *process,
                                   struct tg_watch_plan *plan, bool *is_there)
{
    struct tg_thread *thread = tg_process_own_thread(process);
    const struct tg_watch_definition *definition = &watch->definition;
    *is_there = false;
    if (thread == NULL)
        return NULL;
    if (definition->is_bound) {
        *plan = definition->plan;
        *is_there = definition->pid == process->pid;
        return NULL;
    }
    struct tg_modules *modules = tg_job_modules_of(watch->owner->modules, process);
    struct tg_module_scene *objects = tg_job_modules_scene(watch->owner->modules, process);
    if (modules == NULL || objects == NULL)
        return tg_error_no_memory();
    struct tg_error *error =
        tg_watch_plan_static(thread, modules, objects, watch->expression, definition->length, plan);
    *is_there = error == NULL;
    if (error != NULL && tg_error_code(error) == TG_ERROR_USAGE)
        return tg_error_prefix(error, "%s", definition->text); /* what would be the same anywhere */
    tg_error_destroy(error);
    return NULL;
}

static void set_place(const struct watch *watch, const struct tg_watch_plan *plan)
{
    struct tg_job_watches *watches = watch->owner;
    free(watches->place);
    if (asprintf(&watches->place, "%s, %" PRIu64 " byte%s%s%s", watch->definition.text, plan->size_bytes,
                 plan->size_bytes == 1 ? "" : "s",
                 plan->cfa == 0            ? ""
                 : *plan->function == '\0' ? ", until its function returns"
                                           : ", until this function returns: ",
                 plan->cfa == 0 ? "" : plan->function) < 0)
        watches->place = NULL;
}

static struct tg_error *set_registers(struct tg_process *process, struct watch *watch,
                                      const struct tg_watch_plan *plan)
{
    struct tg_error *error = tg_watch_plant(process, plan->address, plan->size_bytes, take_write, watch);
    if (error == NULL || tg_error_code(error) != TG_ERROR_LIMIT)
        return error;
    struct tg_error *advised =
        tg_error_create(TG_ERROR_LIMIT, "%s (`dactions` lists watchpoints, ddelete frees their registers)",
                        tg_error_message(error));
    tg_error_destroy(error);
    return advised;
}

static struct tg_error *plant(struct tg_job_watches *watches, struct tg_process *process, struct watch *watch,
                              const struct tg_watch_plan *plan)
{
    struct tg_breakpoint *breakpoint;
    struct planted *planted = calloc(1, sizeof *planted);
    if (planted == NULL)
        return tg_error_no_memory();
    planted->key.pid = process->pid;
    planted->key.id = watch->id;
    planted->plan = *plan;
    struct tg_error *error = NULL;
    if (!tg_thread_read_memory(tg_process_own_thread(process), plan->address, planted->bytes,
                               plan->size_bytes))
        error = tg_error_create(TG_ERROR_TARGET, "memory at 0x%" PRIx64 " cannot be read", plan->address);
    if (error == NULL)
        error = TG_HASH_ADD(hh, watches->planted, key, planted);
    if (error != NULL) {
        free(planted);
        return error;
    }
    /* a child has its parent's before anybody has told of it */
    if (!tg_watch_is_planted(process, take_write, watch))
        error = set_registers(process, watch, plan);
    if (error == NULL && plan->cfa != 0 &&
        tg_breakpoint_find(process, plan->left_at, take_return, watch) == NULL)
        error = tg_breakpoint_plant(process, plan->left_at, TG_BREAKPOINT_INTERNAL, take_return, watch,
                                    &breakpoint);
    if (error != NULL) {
        tg_job_watches_unplant(watches, process, watch->id);
        return error;
    }
    const struct tg_event event = {.kind = TG_EVENT_WATCH_SET,
                                   .watch_set = {.watch = watch->id,
                                                 .text = watch->definition.text,
                                                 .address = plan->address,
                                                 .size_bytes = plan->size_bytes}};
    tg_engine_emit(process->engine, tg_process_own_thread(process), &event);
    return NULL;
}

struct tg_error *tg_job_watches_plant(struct tg_job_watches *watches, struct tg_process *process, uint32_t id,
                                      uint64_t *address, const char **place)
{
    struct watch *watch = find(watches, id);
    const struct planted *planted = find_planted(watches, process, id);
    struct tg_watch_plan plan;
    bool is_there = true;
    struct tg_error *error = NULL;
    *address = 0;
    *place = "";
    if (planted != NULL)
        plan = planted->plan;
    else if (watch != NULL)
        error = find_place(watch, process, &plan, &is_there);
    if (error != NULL || watch == NULL || !is_there)
        return error;
    if (planted == NULL)
        error = plant(watches, process, watch, &plan);
    if (error != NULL)
        return error;
    set_place(watch, &plan);
    *address = plan.address;
    *place = watches->place == NULL ? "" : watches->place;
    return NULL;
}

void tg_job_watches_unplant(struct tg_job_watches *watches, struct tg_process *process, uint32_t id)
{
    const struct watch *watch = find(watches, id);
    struct planted *planted = find_planted(watches, process, id);
    if (watch == NULL || planted == NULL)
        return;
    const struct tg_event event = {.kind = TG_EVENT_WATCH_REMOVED,
                                   .watch_removed = {watch->id, planted->plan.address}};
    tg_engine_emit(process->engine, tg_process_own_thread(process), &event);
    tg_watch_remove(process, take_write, watch);
    struct tg_breakpoint *breakpoint =
        planted->plan.cfa == 0 ? NULL
                               : tg_breakpoint_find(process, planted->plan.left_at, take_return, watch);
    if (breakpoint != NULL)
        tg_breakpoint_remove(process, breakpoint);
    drop_planted(watches, planted);
}

/* ---- processes */

void tg_job_watches_begin(struct tg_job_watches *watches, const struct tg_process *process)
{
    struct planted *planted, *next;
    HASH_ITER (hh, watches->planted, planted, next)
        if (planted->key.pid == process->pid)
            drop_planted(watches, planted);
}

void tg_job_watches_forget(struct tg_job_watches *watches, const struct tg_process *process)
{
    tg_job_watches_begin(watches, process);
}

struct tg_error *tg_job_watches_copy(struct tg_job_watches *watches, const struct tg_process *parent,
                                     const struct tg_process *child)
{
    struct planted *planted, *next;
    struct tg_error *error = NULL;
    HASH_ITER (hh, watches->planted, planted, next) {
        if (error != NULL || planted->key.pid != parent->pid ||
            find_planted(watches, child, planted->key.id) != NULL)
            continue;
        struct planted *copy = malloc(sizeof *copy);
        if (copy == NULL)
            return tg_error_no_memory();
        *copy = *planted;
        copy->key.pid = child->pid;
        error = TG_HASH_ADD(hh, watches->planted, key, copy);
        if (error != NULL)
            free(copy);
    }
    return error;
}
