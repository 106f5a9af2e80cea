#include "analyzer/heap/reading.h"

#include "analyzer/output/trace_pass.h"
#include "format/trace/read_ahead.h"

#include <stdlib.h>
#include <string.h>

static struct tg_error *create(const struct tg_heap_reading_request *request, struct tg_heap_reading *reading)
{
    const struct tg_heap_options options = {.keeps_blocks = request->keeps_blocks};
    struct tg_error *error = tg_process_model_create(&reading->processes);
    if (error == NULL)
        error = tg_heap_model_create(&options, &reading->heap);
    if (error == NULL)
        error = tg_stack_model_create(&reading->stacks);
    if (error == NULL)
        error = tg_addresses_create(&reading->objects);
    if (error == NULL && request->services != NULL)
        error = tg_code_names_create(request->services, &reading->names);
    return error;
}

static struct tg_error *feed(const struct tg_heap_reading_request *request, struct tg_heap_reading *reading,
                             const struct tg_event *event)
{
    struct tg_process_entry *entry = NULL;
    struct tg_error *error = tg_process_model_feed(reading->processes, event, &entry);
    if (error == NULL && event->kind != TG_EVENT_PROCESS_EXIT)
        error = tg_addresses_feed(reading->objects, event);
    if (error == NULL)
        error = tg_stack_model_feed(reading->stacks, event, entry != NULL ? entry->index : SIZE_MAX);
    if (error != NULL)
        return error;
    if (request->take != NULL)
        request->take(request->context, event, entry);
    if (event->time_ns > reading->end_ns)
        reading->end_ns = event->time_ns;
    if (entry == NULL)
        return NULL;
    return tg_heap_model_feed(reading->heap, event, entry->index,
                              entry->parent == NULL ? SIZE_MAX : entry->parent->index, reading->objects);
}

static struct tg_error *read_events(const struct tg_heap_reading_request *request,
                                    struct tg_trace_reader *reader, struct tg_heap_reading *reading)
{
    const struct tg_selection *selection = request->selection;
    struct tg_error *error = NULL;
    for (uint64_t number = 0; error == NULL; number++) {
        const struct tg_event *event = NULL;
        reading->damage = tg_trace_reader_next(reader, &event);
        if (reading->damage != NULL)
            event = NULL;
        if (number == 0) {
            reading->start_ns = reading->end_ns = tg_trace_start_ns(reader, event);
            if (selection != NULL)
                tg_selection_start(request->selection, reading->start_ns);
        }
        if (event == NULL)
            break;
        bool counts = (request->last_event == 0 || number < request->last_event) &&
                      (selection == NULL || !selection->has_to || event->time_ns <= selection->to_ns);
        if (counts)
            error = feed(request, reading, event);
        else if (event->kind == TG_EVENT_CODE_NAME) /* names are told last */
            error = tg_stack_model_feed(reading->stacks, event, SIZE_MAX);
    }
    return error;
}

/* The words of the command that META has. */
static char *command_of(const struct tg_trace_meta *meta)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    for (size_t i = 0; i < tg_trace_meta_count(meta); i++) {
        const char *key = tg_trace_meta_key_at(meta, i);
        if (strncmp(key, "command.", 8) == 0 && key[8] >= '0' && key[8] <= '9')
            fprintf(stream, "%s%s", ftell(stream) > 0 ? " " : "", tg_trace_meta_value_at(meta, i));
    }
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

struct tg_error *tg_heap_reading_make(const struct tg_heap_reading_request *request,
                                      struct tg_heap_reading *result)
{
    struct tg_heap_reading reading = {0};
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error =
        request->selection == NULL
            ? NULL
            : tg_trace_resolve_processes(request->path, request->selection, request->progress);
    if (error == NULL)
        error = create(request, &reading);
    if (error == NULL)
        error = tg_trace_reader_open(request->path, &reader);
    if (error == NULL) {
        tg_trace_reader_read_ahead(reader, tg_read_ahead_threads());
        tg_progress_watch(request->progress, reader);
        error = read_events(request, reader, &reading);
    }
    tg_progress_end(request->progress);
    if (error == NULL) {
        reading.summary = tg_trace_reader_summary(reader);
        reading.command = command_of(tg_trace_reader_meta(reader));
        error = reading.command == NULL ? tg_error_no_memory() : NULL;
    }
    tg_trace_reader_close(reader);
    if (error != NULL) {
        tg_heap_reading_deinit(&reading);
        return error;
    }
    *result = reading;
    return NULL;
}

void tg_heap_reading_deinit(struct tg_heap_reading *reading)
{
    tg_process_model_destroy(reading->processes);
    tg_heap_model_destroy(reading->heap);
    tg_stack_model_destroy(reading->stacks);
    tg_addresses_destroy(reading->objects);
    tg_code_names_destroy(reading->names);
    tg_error_destroy(reading->damage);
    free(reading->command);
    *reading = (struct tg_heap_reading){0};
}
