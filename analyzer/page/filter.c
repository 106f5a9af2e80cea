/* The document of library loads: when they came, what they cost, and what each dlopen filter would have done. */
#include "analyzer/filter/report.h"
#include "analyzer/models/library.h"
#include "analyzer/models/process.h"
#include "analyzer/output/trace_pass.h"
#include "analyzer/page/documents.h"

#include <stdlib.h>
#include <string.h>

enum { LIBRARIES = 400, STEPS = 200 };

/* One pass over the trace for its loads. */
struct loads {
    struct tg_process_model *processes;
    struct tg_library_model *libraries;
    uint64_t start_ns, end_ns;
    uint64_t by_step
        [STEPS]; /* objects that came, without those of start-up; steps double as the trace gets longer */
    uint64_t step_ns;
};

/* Two and two steps become one until TIME_NS is in one: its number. */
static size_t step_of(struct loads *loads, uint64_t time_ns)
{
    uint64_t since = time_ns > loads->start_ns ? time_ns - loads->start_ns : 0;
    while (since / loads->step_ns >= STEPS) {
        for (size_t i = 0; i < STEPS; i++)
            loads->by_step[i] = i < STEPS / 2 ? loads->by_step[2 * i] + loads->by_step[2 * i + 1] : 0;
        loads->step_ns *= 2;
    }
    return (size_t)(since / loads->step_ns);
}

static struct tg_error *take(struct loads *loads, const struct tg_event *event)
{
    struct tg_process_entry *entry = NULL;
    loads->end_ns = event->time_ns > loads->end_ns ? event->time_ns : loads->end_ns;
    struct tg_error *error = tg_process_model_feed(loads->processes, event, &entry);
    if (error == NULL && entry != NULL)
        error = tg_library_model_feed(loads->libraries, event, entry->index);
    if (error == NULL && event->kind == TG_EVENT_LIBRARY_LOAD &&
        event->library_load.found != TG_FOUND_STARTUP)
        loads->by_step[step_of(loads, event->time_ns)] += event->library_load.libraries.count;
    return error;
}

static struct tg_error *read_loads(struct loads *loads, const char *path)
{
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = tg_trace_reader_open(path, &reader);
    if (error == NULL)
        error = tg_process_model_create(&loads->processes);
    if (error == NULL)
        error = tg_library_model_create(&loads->libraries);
    for (bool first = true; error == NULL; first = false) {
        const struct tg_event *event = NULL;
        TG_AUTO_ERROR struct tg_error *damage = tg_trace_reader_next(reader, &event);
        if (damage != NULL || event == NULL)
            break;
        if (first)
            loads->start_ns = tg_trace_start_ns(reader, event);
        error = take(loads, event);
    }
    tg_trace_reader_close(reader);
    return error;
}

static void write_library(const struct tg_library_use *use, uint64_t start_ns, struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_string(json, "path", use->path);
    tg_json_member_signed(json, "first", (int64_t)(use->first_ns - start_ns));
    tg_json_member_unsigned(json, "processes", use->processes);
    tg_json_member_unsigned(json, "loads", use->loads);
    tg_json_member_bool(json, "startup", use->startup);
    tg_json_member_unsigned(json, "cost", use->stop_ns + use->handle_ns);
    tg_json_end_object(json);
}

static struct tg_error *write_loads(struct loads *loads, struct tg_json *json)
{
    size_t count = tg_library_model_count(loads->libraries), written = 0;
    const struct tg_library_use **uses = calloc(count + 1, sizeof(const struct tg_library_use *));
    if (uses == NULL)
        return tg_error_no_memory();
    tg_library_model_by_time(loads->libraries, uses);
    (void)step_of(loads, loads->end_ns);
    tg_json_member_unsigned(json, "step", loads->step_ns);
    tg_json_member_signed(json, "end", (int64_t)(loads->end_ns - loads->start_ns));
    tg_json_key(json, "loads");
    tg_json_begin_array(json);
    for (size_t i = 0; i < STEPS && i * loads->step_ns <= loads->end_ns - loads->start_ns; i++)
        tg_json_unsigned(json, loads->by_step[i]);
    tg_json_end_array(json);
    tg_json_key(json, "libraries");
    tg_json_begin_array(json);
    for (int startup = 0; startup < 2; startup++) /* libraries that the program asked for come first */
        for (size_t i = 0; i < count && written < LIBRARIES; i++)
            if (uses[i]->startup == (startup == 1)) {
                write_library(uses[i], loads->start_ns, json);
                written++;
            }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "libraries_left_out", count - written);
    free(uses);
    return NULL;
}

/* What `tollgate filter --json` says of the trace, as member "evaluation". */
static struct tg_error *write_evaluation(const struct tg_page *page, struct tg_json *json)
{
    struct tg_filter_request request = {
        .trace = page->path,
        .suggest = true,
        .simulation = {.processes = 1, .clients = 1, .round_trip_ns = UINT64_MAX},
        .find_breaks = page->services == NULL ? NULL : page->services->find_breaks};
    struct tg_filter_evaluation evaluation = {0};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_filter_evaluate(&request, &evaluation);
    if (error == NULL)
        error = tg_filter_write_json(&evaluation, page->name == NULL ? "" : page->name, stream);
    bool is_whole = fclose(stream) == 0;
    if (error == NULL && is_whole)
        tg_page_member_json(json, "evaluation", text);
    if (error != NULL && tg_error_code(error) != TG_ERROR_NO_MEMORY) {
        tg_json_member_string(json, "why", tg_error_message(error)); /* loads are told all the same */
        tg_error_destroy(error);
        error = NULL;
    }
    free(text);
    tg_filter_evaluation_deinit(&evaluation);
    return error;
}

struct tg_error *tg_page_filter(const struct tg_page *page, const char *query, struct tg_json *json)
{
    (void)query;
    struct loads loads = {.step_ns = 1 << 20};
    tg_json_member_bool(json, "there", page->path != NULL);
    if (page->path == NULL)
        return NULL;
    struct tg_error *error = read_loads(&loads, page->path);
    if (error == NULL)
        error = write_loads(&loads, json);
    if (error == NULL)
        error = write_evaluation(page, json);
    tg_library_model_destroy(loads.libraries);
    tg_process_model_destroy(loads.processes);
    return error;
}
