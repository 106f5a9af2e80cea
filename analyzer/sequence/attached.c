#include "analyzer/sequence/attached.h"

#include "analyzer/models/mpi_name.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

/* The first thread of a process. */
struct place {
    char call[64]; /* call that it is in, "" outside MPI, or not known */
    uint64_t code; /* of the program, by its last stack; 0 unknown */
    bool was_recorded;
};

struct tg_sequence_attached {
    struct place *places; /* by process */
    size_t count, capacity;
    uint64_t since_ns;
};

enum { COMM_WORLD = 1, ANY = -1, PROC_NULL = -2, NONE = -3 };

struct tg_error *tg_sequence_attached_create(struct tg_sequence_attached **attached)
{
    *attached = calloc(1, sizeof **attached);
    return *attached == NULL ? tg_error_no_memory() : NULL;
}

void tg_sequence_attached_destroy(struct tg_sequence_attached *attached)
{
    if (attached == NULL)
        return;
    free(attached->places);
    free(attached);
}

uint64_t tg_sequence_attached_since(const struct tg_sequence_attached *attached)
{
    return attached->since_ns;
}

static struct tg_error *place_of(struct tg_sequence_attached *attached, size_t process, struct place **place)
{
    struct tg_error *error = NULL;
    while (error == NULL && attached->count <= process)
        error = TG_ARRAY_APPEND(attached->places, attached->count, attached->capacity, (struct place){0});
    *place = error == NULL ? &attached->places[process] : NULL;
    return error;
}

/* Where the program itself is: its executable comes with the first frame of it. */
static uint64_t code_of(const struct tg_event *event, const struct tg_process_entry *entry)
{
    const struct tg_stack_frame *frames = event->stack.frames.items;
    for (uint64_t i = 0; i < event->stack.frames.count; i++)
        if (frames[i].kind == TG_FRAME_CODE && strcmp(frames[i].module, entry->program) == 0)
            return frames[i].pc;
    return 0;
}

static int64_t number_of(const struct tg_call_value *value)
{
    return strcmp(value->text, "MPI_ANY_SOURCE") == 0 || strcmp(value->text, "MPI_ANY_TAG") == 0 ? ANY
           : strcmp(value->text, "MPI_PROC_NULL") == 0                                           ? PROC_NULL
                                                       : value->value;
}

static struct tg_event enter(const struct tg_event *event, const struct place *place)
{
    const struct tg_list *values = &event->call_values.values;
    struct tg_event made = {.kind = TG_EVENT_MPI_ENTER,
                            .time_ns = event->time_ns,
                            .pid = event->pid,
                            .tid = event->tid,
                            .mpi_enter = {.call = place->call,
                                          .peer = NONE,
                                          .tag = NONE,
                                          .root = NONE,
                                          .from = NONE,
                                          .from_tag = NONE,
                                          .code = place->code,
                                          .type = "",
                                          .from_type = "",
                                          .op = ""}};
    for (uint64_t i = 0; i < values->count; i++) {
        const struct tg_call_value *value = &((const struct tg_call_value *)values->items)[i];
        if (strcmp(value->name, "dest") == 0 || strcmp(value->name, "source") == 0)
            made.mpi_enter.peer = number_of(value);
        else if (strcmp(value->name, "tag") == 0)
            made.mpi_enter.tag = number_of(value);
        else if (strcmp(value->name, "root") == 0)
            made.mpi_enter.root = number_of(value);
        else if (strcmp(value->name, "comm") == 0 && strcmp(value->text, "MPI_COMM_WORLD") == 0)
            made.mpi_enter.comm = COMM_WORLD;
    }
    return made;
}

static struct tg_event leave(const struct tg_event *event, const char *call)
{
    return (struct tg_event){.kind = TG_EVENT_MPI_LEAVE,
                             .time_ns = event->time_ns,
                             .pid = event->pid,
                             .tid = event->tid,
                             .mpi_leave = {.call = call, .peer = NONE, .tag = NONE}};
}

struct tg_error *tg_sequence_attached_feed(struct tg_sequence_attached *attached,
                                           const struct tg_event *event, const struct tg_process_entry *entry,
                                           struct tg_event concluded[TG_SEQUENCE_CONCLUDED], size_t *count)
{
    struct place *place;
    char call[64];
    *count = 0;
    if (entry->origin != TG_ORIGIN_ATTACHED || event->tid != event->pid)
        return NULL;
    if (event->kind != TG_EVENT_STACK && event->kind != TG_EVENT_CALL_VALUES &&
        event->kind != TG_EVENT_MPI_ENTER)
        return NULL;
    struct tg_error *error = place_of(attached, entry->index, &place);
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_MPI_ENTER && !place->was_recorded) { /* from now on calls are seen */
        place->was_recorded = true;
        if (*place->call != '\0')
            concluded[(*count)++] = leave(event, "");
    } else if (event->kind == TG_EVENT_STACK)
        place->code = code_of(event, entry);
    if (place->was_recorded || event->kind != TG_EVENT_CALL_VALUES ||
        !tg_mpi_name(event->call_values.function, call, sizeof call) || strcmp(call, place->call) == 0)
        return NULL;
    if (*place->call != '\0')
        concluded[(*count)++] = leave(event, "");
    memcpy(place->call, call, sizeof call);
    concluded[(*count)++] = enter(event, place);
    if (attached->since_ns == 0 || entry->start_ns < attached->since_ns)
        attached->since_ns = entry->start_ns;
    return NULL;
}
