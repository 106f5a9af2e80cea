#include "recorder/rings/library_records.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "recorder/rings/open_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PROGRAMS = 1 << 16,
    MAX_NAMESPACES = 64,
    MAX_OBJECTS = 1 << 16, /* of a program */
    BUILD_ID_BYTES = 24,
    BUILD_ID_WORDS = BUILD_ID_BYTES / 8,
};

enum { /* r_state, and the actions of la_activity */
       STATE_CONSISTENT,
       STATE_ADD,
       STATE_DELETE,
};

/* A library that is open. */
struct object {
    uint64_t link_map;
    uint64_t base;
    uint64_t size_bytes;
    bool needed; /* at start-up: another one needs it */
    bool told;
    char build_id[2 * BUILD_ID_BYTES + 1];
    UT_hash_handle hh; /* by link map */
    char path[];
};

/* Objects that wait to be told of, in their order. */
struct batch {
    struct object **objects;
    size_t count;
    size_t capacity;
};

struct space {
    uint64_t id;
    struct object *open;
    struct batch opened; /* not told yet; they are in OPEN too */
    struct batch closed; /* theirs alone */
    bool decided;        /* what was opened was told with its decision: no activity of its own is left */
};

struct key {
    uint64_t instance;
    int64_t pid;
};

/* One program of a process. */
struct program {
    struct key key;
    bool started;
    size_t n_objects;
    struct space *spaces; /* in the order in which they appeared, the base namespace first */
    size_t n_spaces;
    struct tg_open_calls calls;
    int32_t tid; /* of the latest record */
    uint64_t time_ns;
    uint64_t busy_ns, told_busy_ns; /* what the auditor took of it, and the part that was told */
    UT_hash_handle hh;
};

struct tg_agent_loader {
    struct program *programs;
    bool limit_told;
};

struct tg_error *tg_agent_loader_create(struct tg_agent_loader **loader)
{
    struct tg_agent_loader *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *loader = made;
    return NULL;
}

static void program_destroy(struct program *program)
{
    for (size_t n = 0; n < program->n_spaces; n++) {
        struct space *space = &program->spaces[n];
        struct object *object, *next;
        HASH_ITER (hh, space->open, object, next) {
            HASH_DEL(space->open, object);
            free(object);
        }
        for (size_t i = 0; i < space->closed.count; i++)
            free(space->closed.objects[i]);
        free(space->opened.objects);
        free(space->closed.objects);
    }
    free(program->spaces);
    tg_open_calls_deinit(&program->calls);
    free(program);
}

void tg_agent_loader_destroy(struct tg_agent_loader *loader)
{
    if (loader == NULL)
        return;
    struct program *program, *next;
    HASH_ITER (hh, loader->programs, program, next) {
        HASH_DEL(loader->programs, program);
        program_destroy(program);
    }
    free(loader);
}

/* ---- what a call of the loader is about */

struct call {
    struct tg_agent_loader *loader;
    struct program *program;
    const struct tg_event_sink *sink;
};

static struct tg_event event_of(const struct program *program, enum tg_event_kind kind)
{
    return (struct tg_event){.kind = kind,
                             .time_ns = program->time_ns,
                             .pid = (int32_t)program->key.pid,
                             .tid = program->tid != 0 ? program->tid : (int32_t)program->key.pid};
}

static void emit(const struct call *call, const struct tg_event *event)
{
    call->sink->add(call->sink->context, event);
}

static void lose(const struct call *call, enum tg_loss_source source, const char *reason)
{
    if (call->loader->limit_told)
        return;
    call->loader->limit_told = true;
    struct tg_event event = event_of(call->program, TG_EVENT_LOSS);
    event.loss = (struct tg_event_loss){.source = source, .reason = reason};
    emit(call, &event);
}

/* ---- telling */

static struct tg_error *batch_push(struct batch *batch, struct object *object)
{
    return TG_ARRAY_APPEND(batch->objects, batch->count, batch->capacity, object);
}

/* The objects of BATCH as an event has them; NULL without memory. Free with free. */
static struct tg_library *libraries_of(const struct batch *batch)
{
    struct tg_library *libraries = calloc(batch->count, sizeof *libraries);
    for (size_t i = 0; libraries != NULL && i < batch->count; i++) {
        const struct object *object = batch->objects[i];
        libraries[i] = (struct tg_library){
            .path = object->path,
            .build_id = object->build_id,
            .base = object->base,
            .size_bytes = object->size_bytes,
            .link_map = object->link_map,
        };
    }
    return libraries;
}

/* Of what is opened at one time only the first one was asked for; start-up has no such one. */
static void mark_dependencies(const struct batch *batch, bool startup, struct tg_library *libraries)
{
    for (size_t i = 0; i < batch->count; i++)
        libraries[i].dependency = startup ? batch->objects[i]->needed : i > 0;
}

/* What is not known to have been told: of a ring that is read from its middle on, nothing of what came before. */
static void note_busy(struct program *program, const struct tg_agent_loader_record *record)
{
    if (record->begins_late && program->busy_ns == 0)
        program->told_busy_ns = record->busy_ns;
    if (record->busy_ns > program->busy_ns)
        program->busy_ns = record->busy_ns;
}

/* What the auditor took since the last event. */
static uint64_t take_busy(struct program *program)
{
    uint64_t ns = program->busy_ns > program->told_busy_ns ? program->busy_ns - program->told_busy_ns : 0;
    program->told_busy_ns += ns;
    return ns;
}

static void tell_opened_as(const struct call *call, struct space *space, uint64_t state,
                           enum tg_library_found found)
{
    struct batch *batch = &space->opened;
    bool startup = found == TG_FOUND_STARTUP;
    struct tg_library *libraries = libraries_of(batch);
    if (libraries == NULL) {
        lose(call, TG_LOSS_LIMIT, "out of memory for a library event");
    } else {
        mark_dependencies(batch, startup, libraries);
        struct tg_event event = event_of(call->program, TG_EVENT_LIBRARY_LOAD);
        event.library_load = (struct tg_event_library_load){
            .found = found,
            .namespace_index = (uint64_t)(space - call->program->spaces),
            .state = state,
            .agent_ns = take_busy(call->program),
            .libraries = {.items = libraries, .count = batch->count},
        };
        emit(call, &event);
    }
    free(libraries);
    for (size_t i = 0; i < batch->count; i++)
        batch->objects[i]->told = true;
    batch->count = 0;
}

static void tell_opened(const struct call *call, struct space *space, uint64_t state)
{
    tell_opened_as(call, space, state, call->program->started ? TG_FOUND_AGENT : TG_FOUND_STARTUP);
}

static void tell_closed(const struct call *call, struct space *space, uint64_t state)
{
    struct batch *batch = &space->closed;
    struct tg_library *libraries = libraries_of(batch);
    if (libraries == NULL) {
        lose(call, TG_LOSS_LIMIT, "out of memory for an unload event");
    } else {
        struct tg_event event = event_of(call->program, TG_EVENT_LIBRARY_UNLOAD);
        event.library_unload = (struct tg_event_library_unload){
            .found = TG_FOUND_AGENT,
            .namespace_index = (uint64_t)(space - call->program->spaces),
            .state = state,
            .libraries = {.items = libraries, .count = batch->count},
        };
        emit(call, &event);
    }
    free(libraries);
    for (size_t i = 0; i < batch->count; i++)
        free(batch->objects[i]);
    batch->count = 0;
}

/* ---- programs and namespaces */

static struct program *find_program(struct tg_agent_loader *loader, int32_t pid, uint64_t instance)
{
    struct key key = {.instance = instance, .pid = pid};
    struct program *program = NULL;
    HASH_FIND(hh, loader->programs, &key, sizeof key, program);
    return program;
}

static struct program *get_program(struct tg_agent_loader *loader, int32_t pid, uint64_t instance)
{
    struct program *program = find_program(loader, pid, instance);
    if (program != NULL || HASH_COUNT(loader->programs) >= MAX_PROGRAMS)
        return program;
    program = calloc(1, sizeof *program);
    if (program == NULL)
        return NULL;
    program->key = (struct key){.instance = instance, .pid = pid};
    program->spaces = calloc(1, sizeof *program->spaces);
    program->n_spaces = program->spaces != NULL; /* the base namespace is 0 whoever comes first */
    if (program->spaces == NULL || TG_HASH_ADD(hh, loader->programs, key, program) != NULL) {
        program_destroy(program);
        return NULL;
    }
    return program;
}

static struct space *get_space(const struct call *call, uint64_t id)
{
    struct program *program = call->program;
    for (size_t i = 0; i < program->n_spaces; i++)
        if (program->spaces[i].id == id)
            return &program->spaces[i];
    if (program->n_spaces == MAX_NAMESPACES) {
        lose(call, TG_LOSS_LIMIT, "a process has more namespaces than possible");
        return NULL;
    }
    if (TG_ARRAY_APPEND_EXACT(program->spaces, program->n_spaces, (struct space){.id = id}) != NULL) {
        lose(call, TG_LOSS_LIMIT, "out of memory for a namespace of libraries");
        return NULL;
    }
    return &program->spaces[program->n_spaces - 1];
}

/* ---- records */

static void close_object(const struct call *call, struct space *space, uint64_t link_map)
{
    struct object *object = NULL;
    HASH_FIND(hh, space->open, &link_map, sizeof link_map, object);
    if (object == NULL)
        return; /* the object's load was lost */
    if (!object->told)
        tell_opened(call, space, STATE_CONSISTENT);
    HASH_DEL(space->open, object);
    call->program->n_objects--;
    if (batch_push(&space->closed, object) != NULL) {
        free(object);
        lose(call, TG_LOSS_LIMIT, "out of memory for an unload event");
    }
}

static void put_hex(char *text, const uint64_t *words, uint64_t length)
{
    unsigned char bytes[BUILD_ID_BYTES];
    memcpy(bytes, words, sizeof bytes);
    for (size_t i = 0; i < length && i < BUILD_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* tid, namespace, flags, link map, base, size, length of the build-id, the build-id, path */
static void open_object(const struct call *call, struct space *space, const uint64_t *arguments)
{
    const char *path = (const char *)&arguments[7 + BUILD_ID_WORDS];
    bool inherited = (arguments[2] & TG_AGENT_OPEN_INHERITED) != 0;
    close_object(call, space, arguments[3]); /* another one where one was whose unload was lost */
    size_t length = strlen(path);
    struct object *object =
        call->program->n_objects < MAX_OBJECTS ? calloc(1, sizeof *object + length + 1) : NULL;
    if (object == NULL) {
        lose(call, TG_LOSS_LIMIT, "too many libraries in a process");
        return;
    }
    object->needed = (arguments[2] & TG_AGENT_OPEN_NEEDED) != 0;
    object->link_map = arguments[3];
    object->base = arguments[4];
    object->size_bytes = arguments[5];
    object->told = inherited;
    put_hex(object->build_id, &arguments[7], arguments[6]);
    memcpy(object->path, path, length + 1);
    struct tg_error *error = TG_HASH_ADD(hh, space->open, link_map, object);
    if (error == NULL && !inherited && (error = batch_push(&space->opened, object)) != NULL)
        HASH_DEL(space->open, object);
    if (error != NULL) {
        free(object);
        lose(call, TG_LOSS_LIMIT, "out of memory for a library event");
        return;
    }
    call->program->n_objects++;
    call->program->started = call->program->started || inherited;
}

/* The events that stops at these moments would have shown. */
static void act(const struct call *call, struct space *space, uint64_t action)
{
    uint64_t state = action <= STATE_DELETE ? action : STATE_CONSISTENT;
    bool nothing = space->opened.count == 0 && space->closed.count == 0 && !space->decided;
    space->decided = false;
    if (space->closed.count > 0)
        tell_closed(call, space, state);
    if (space->opened.count > 0) {
        tell_opened(call, space, state);
        if (state == STATE_CONSISTENT && space->id == 0)
            call->program->started = true;
    }
    if (!nothing)
        return;
    struct tg_event event = event_of(call->program, TG_EVENT_LIBRARY_NULL);
    event.library_null.state = state;
    emit(call, &event);
}

static const char *path_of(const struct batch *batch, uint64_t link_map)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->objects[i]->link_map == link_map)
            return batch->objects[i]->path;
    return "";
}

/* tid, namespace, action, what was decided, rule, link map of the library, ticks, pattern */
static void take_decision(const struct call *call, struct space *space, const uint64_t *arguments)
{
    struct batch *batch = &space->opened;
    bool deferred = arguments[3] == TG_AGENT_DECIDED_DEFERRED;
    if (batch->count == 0) /* the records of the load were lost */
        return;
    space->decided = true;
    if (arguments[3] == TG_AGENT_DECIDED_AT_STOP) {
        for (size_t i = 0; i < batch->count; i++)
            batch->objects[i]->told = true;
        batch->count = 0;
        return;
    }
    struct tg_event event = event_of(call->program, TG_EVENT_FILTER_DECISION);
    event.filter_decision = (struct tg_event_filter_decision){
        .decision = deferred ? TG_DECISION_DEFERRED : TG_DECISION_NOT_STOPPED,
        .rule = deferred && arguments[4] < TG_RULE_NO_STOP ? arguments[4] : TG_RULE_NO_STOP,
        .pattern = (const char *)&arguments[7],
        .library = path_of(batch, arguments[5]),
    };
    tell_opened_as(call, space, arguments[2] <= STATE_DELETE ? arguments[2] : STATE_CONSISTENT,
                   TG_FOUND_IN_PROCESS);
    emit(call, &event);
}

static void tell_all(const struct call *call, uint64_t state)
{
    for (size_t i = 0; i < call->program->n_spaces; i++) {
        struct space *space = &call->program->spaces[i];
        if (space->closed.count > 0)
            tell_closed(call, space, state);
        if (space->opened.count > 0)
            tell_opened(call, space, state);
    }
}

static void take_loader_record(const struct call *call, const struct tg_agent_loader_record *record)
{
    if (record->kind == TG_RECORD_LOADER_PREINIT) {
        tell_all(call, STATE_CONSISTENT);
        call->program->started = true;
        return;
    }
    struct space *space = get_space(call, record->arguments[1]);
    if (space == NULL)
        return;
    if (record->kind == TG_RECORD_LOADER_ACTIVITY) {
        act(call, space, record->arguments[2]);
        if (record->arguments[2] == STATE_CONSISTENT)
            tg_open_calls_note(&call->program->calls, record->tid);
    }
    if (record->kind == TG_RECORD_LOADER_OPEN)
        open_object(call, space, record->arguments);
    else if (record->kind == TG_RECORD_LOADER_CLOSE)
        close_object(call, space, record->arguments[2]);
    else if (record->kind == TG_RECORD_LOADER_DECISION)
        take_decision(call, space, record->arguments);
}

/* A stop in a call that loads nothing. */
static void tell_null(const struct tg_agent_loader_record *record, const struct tg_event_sink *sink)
{
    struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_NULL, .time_ns = record->time_ns, .pid = record->pid, .tid = record->tid};
    event.library_null.state = STATE_CONSISTENT;
    sink->add(sink->context, &event);
}

/* PROGRAM: NULL where no auditor tells what the record's one loads. */
static void add_call(struct program *program, const struct tg_agent_loader_record *record,
                     const struct tg_event_sink *sink)
{
    struct tg_event event = {.time_ns = record->time_ns, .pid = record->pid, .tid = record->tid};
    const uint64_t *arguments = record->arguments;
    bool begins = program != NULL && record->kind == TG_RECORD_LIBRARY_CALL &&
                  (arguments[0] & TG_AGENT_CALL_IS_TOLD) != 0;
    if (begins)
        tg_open_calls_begin(&program->calls, record->tid);
    if (program != NULL && record->kind == TG_RECORD_LIBRARY_RETURN && arguments[0] != TG_CALL_DLCLOSE &&
        tg_open_calls_end(&program->calls, record->tid, (const char *)&arguments[2]))
        tell_null(record, sink);
    if (record->kind == TG_RECORD_LIBRARY_CALL) {
        event.kind = TG_EVENT_LIBRARY_CALL;
        event.library_call = (struct tg_event_library_call){
            .call = arguments[0] & ~(uint64_t)TG_AGENT_CALL_IS_TOLD,
            .flags = arguments[1],
            .namespace_id = (int64_t)arguments[2],
            .handle = arguments[3],
            .caller = arguments[4],
            .path = (const char *)&arguments[5],
        };
    } else {
        event.kind = TG_EVENT_LIBRARY_RETURN;
        event.library_return = (struct tg_event_library_return){
            .call = arguments[0], .handle = arguments[1], .error = (const char *)&arguments[2]};
    }
    sink->add(sink->context, &event);
    if (begins && event.library_call.call == TG_CALL_DLMOPEN &&
        event.library_call.namespace_id == LM_ID_NEWLM) /* a namespace of its own is made consistent first */
        tell_null(record, sink);
}

void tg_agent_loader_add(struct tg_agent_loader *loader, const struct tg_agent_loader_record *record,
                         const struct tg_event_sink *sink)
{
    if (record->kind == TG_RECORD_LIBRARY_CALL || record->kind == TG_RECORD_LIBRARY_RETURN) {
        add_call(find_program(loader, record->pid, record->instance), record, sink);
        return;
    }
    struct program none = {.key = {.pid = record->pid}, .tid = record->tid, .time_ns = record->time_ns};
    struct call call = {.loader = loader, .program = &none, .sink = sink};
    struct program *program = get_program(loader, record->pid, record->instance);
    if (program == NULL) {
        lose(&call, TG_LOSS_LIMIT, "too many programs with libraries");
        return;
    }
    call.program = program;
    program->tid = record->tid;
    program->time_ns = record->time_ns;
    note_busy(program, record);
    take_loader_record(&call, record);
}

void tg_agent_loader_end_load(struct tg_agent_loader *loader, int32_t pid, uint64_t instance,
                              uint64_t time_ns, const struct tg_event_sink *sink)
{
    struct program *program = find_program(loader, pid, instance);
    if (program == NULL)
        return;
    struct call call = {.loader = loader, .program = program, .sink = sink};
    if (time_ns > program->time_ns) /* others have told of later times by now */
        program->time_ns = time_ns;
    tell_all(&call, STATE_ADD);
}

void tg_agent_loader_end(struct tg_agent_loader *loader, int32_t pid, uint64_t instance, uint64_t time_ns,
                         const struct tg_event_sink *sink)
{
    struct program *program = find_program(loader, pid, instance);
    if (program == NULL)
        return;
    tg_agent_loader_end_load(loader, pid, instance, time_ns, sink); /* ended in the middle of a load */
    HASH_DEL(loader->programs, program);
    program_destroy(program);
}
