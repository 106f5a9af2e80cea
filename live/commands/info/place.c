/* Position of the console: `info event`, `where`, and the line that every move ends with. */
#include "live/commands/info/place.h"
#include "analyzer/dump/dump.h"
#include "analyzer/dump/event_json.h"
#include "analyzer/finding/attachment.h"
#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "live/commands/info/code_words.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/event_words.h"
#include "live/console/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The present on the clock of events, where a job runs that may say nothing any more; of a trace, the moment that was asked
 * for. 0: the last event's. */
static uint64_t present_ns(const struct tg_console *console)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    struct timespec now;
    for (size_t i = 0; console->options.live != NULL && i < tg_process_model_count(processes); i++) {
        if (tg_process_model_at(processes, i)->end != TG_PROCESS_RUNNING)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    }
    return console->source->moment_ns;
}

struct tg_verdict_input tg_console_words(const struct tg_console *console)
{
    const struct tg_moment *moment = console->source->moment;
    return (struct tg_verdict_input){
        .processes = moment->processes,
        .openmp = moment->openmp,
        .mpi = moment->mpi,
        .mpir = moment->mpir,
        .stacks = moment->stacks,
        .start_ns = console->source->start_ns,
        .now_ns = present_ns(console),
        .is_of_moment = true,
        .namer = {.context = (void *)(uintptr_t)console, .name = tg_code_words, .variable = tg_code_variable},
    };
}

static void write_number(const struct tg_source *source, FILE *out)
{
    fprintf(out, "event %" PRIu64, source->number);
    if (source->n_events != 0)
        fprintf(out, " of %" PRIu64, source->n_events);
}

/* The event itself, as `tollgate dump --json` has it, and the words of WORDS. */
static void put_place(struct tg_json *json, const struct tg_source *source, const char *words)
{
    const struct tg_event *event = source->event;
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "number", source->number);
    if (source->n_events != 0)
        tg_json_member_unsigned(json, "n_events", source->n_events);
    if (source->moment_ns != 0)
        tg_json_member_unsigned(json, "moment_ns", source->moment_ns);
    if (event != NULL) {
        tg_json_member_unsigned(json, "t_ns", event->time_ns);
        tg_json_member_signed(json, "pid", event->pid);
        tg_json_member_signed(json, "tid", event->tid);
        tg_json_member_string(json, "kind", tg_event_kind_name(event->kind));
        tg_event_json_payload(json, event, NULL);
    }
    tg_json_member_string(json, "words", words);
    tg_json_end_object(json);
}

struct tg_error *tg_console_print_place(struct tg_console *console, FILE *out)
{
    const struct tg_source *source = console->source;
    const struct tg_verdict_input input = tg_console_words(console);
    char moment[TG_QUANTITY_SIZE], *words = NULL;
    struct tg_error *error = NULL;
    size_t size;
    FILE *stream = open_memstream(&words, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    if (source->event == NULL)
        fputs("before the first event", stream);
    else
        error = tg_event_words(stream, &input, source->event, source->moment->entry);
    if (fclose(stream) != 0 && error == NULL)
        error = tg_error_no_memory();
    if (error == NULL && source->event != NULL) {
        write_number(source, out);
        fprintf(out, ", %s s: ", tg_quantity_moment(source->time_ns, source->start_ns, 6, moment));
    }
    if (error == NULL)
        fprintf(out, "%s\n", words);
    struct tg_json *json = error == NULL ? tg_console_data_begin(&console->data) : NULL;
    if (json != NULL)
        put_place(json, source, words);
    free(words);
    return error;
}

/* ---- info event */

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

Tcl_Obj *tg_console_field(const struct tg_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset, *text;
    char shown[1024];
    uint64_t value;
    switch (field->type) {
    case TG_FIELD_STRING:
        memcpy(&text, at, sizeof text);
        return Tcl_NewStringObj(tg_printable(text, shown, sizeof shown), -1);
    case TG_FIELD_LIST: {
        struct tg_list list;
        memcpy(&list, at, sizeof list);
        return Tcl_NewWideIntObj((Tcl_WideInt)list.count);
    }
    case TG_FIELD_ADDRESS:
    case TG_FIELD_ENUM:
    case TG_FIELD_BOOL:
    case TG_FIELD_SIGNED:
    case TG_FIELD_UNSIGNED:
        break;
    }
    memcpy(&value, at, sizeof value);
    const char *name = field->type == TG_FIELD_ENUM ? tg_field_value_name(field, value) : NULL;
    if (name != NULL)
        return Tcl_NewStringObj(name, -1);
    return field->type == TG_FIELD_ADDRESS ? Tcl_ObjPrintf("0x%" PRIx64, value)
                                           : Tcl_NewWideIntObj((Tcl_WideInt)value);
}

static Tcl_Obj *event_dict(const struct tg_source *source)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    const struct tg_event *event = source->event;
    put(dict, "number", Tcl_NewWideIntObj((Tcl_WideInt)source->number));
    if (event == NULL)
        return dict;
    put(dict, "t_ns", Tcl_NewWideIntObj((Tcl_WideInt)event->time_ns));
    put(dict, "pid", Tcl_NewWideIntObj(event->pid));
    put(dict, "tid", Tcl_NewWideIntObj(event->tid));
    put(dict, "kind", Tcl_NewStringObj(tg_event_kind_name(event->kind), -1));
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    for (size_t i = 0; i < schema->n_fields; i++)
        put(dict, schema->fields[i].name, tg_console_field(&schema->fields[i], TG_EVENT_PAYLOAD(event)));
    return dict;
}

struct event_shape {
    bool as_dict;
};

static const struct tg_console_option event_options[] = {TG_OPTION_FLAG("-dict", struct event_shape, as_dict),
                                                         {0}};

static struct tg_error *run_event(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct event_shape shape = {0};
    const struct tg_source *source = console->source;
    struct tg_error *error = tg_console_take_options(&tg_console_info_event, argc, argv, &shape, NULL);
    if (error == NULL && shape.as_dict) {
        console->result = event_dict(source);
        return NULL;
    }
    if (error == NULL)
        error = tg_console_print_place(console, out);
    if (error != NULL || source->event == NULL)
        return error;
    struct tg_dump dump = {.stream = out, .start_ns = source->start_ns};
    error = tg_dump_text.begin(&dump);
    if (error == NULL)
        error = tg_dump_text.event(&dump, source->event, source->moment->entry);
    struct tg_error *end_error = tg_dump_text.end(&dump);
    if (error == NULL)
        return end_error;
    tg_error_destroy(end_error);
    return error;
}

const struct tg_console_command tg_console_info_event = {
    .name = "info event",
    .arguments = "?-dict?",
    .summary = "the current event with all of its fields",
    .example = "dict get [info event -dict] kind",
    .more = "-dict returns a dictionary with the field names of `tollgate dump --json`, and number.",
    .options = event_options,
    .is_of_now = true,
    .run = run_event,
};

/* ---- where */

static void put_finding(struct tg_json *json, const struct tg_finding *finding)
{
    tg_json_begin_object(json);
    if (finding->process != SIZE_MAX)
        tg_json_member_unsigned(json, "dpid", finding->process + 1);
    tg_json_member_string(json, "text", finding->text);
    tg_json_end_object(json);
}

/* Whether a process that still runs was attached: what it called before that is not known. */
static bool has_attached(const struct tg_console *console)
{
    const struct tg_verdict_input input = tg_console_words(console);
    bool is_any = false;
    for (size_t i = 0; !is_any && i < tg_process_model_count(input.processes); i++)
        is_any = tg_process_model_at(input.processes, i)->end == TG_PROCESS_RUNNING &&
                 tg_focus_has(&console->focus, i) && tg_attachment_is_late(&input, i);
    return is_any;
}

/* Finds who is waiting: *FINDINGS. Attached processes are judged by their stacks, which are taken anew where they run. */
static struct tg_error *find_waiting(struct tg_console *console, struct tg_verdict *findings)
{
    struct tg_verdict_input input = tg_console_words(console);
    if (has_attached(console) && console->source->ops->look != NULL) {
        input.look_ns = console->source->time_ns;
        tg_error_destroy(console->source->ops->look(console->source)); /* none: by those of the attach */
        tg_console_catch_up(console);
    }
    return tg_verdict_make(&input, findings);
}

/* Waits are told as of the moment that was asked for, where that is later than the event. */
static void print_moment(const struct tg_source *source, FILE *out)
{
    char moment[TG_QUANTITY_SIZE];
    if (source->moment_ns != 0)
        fprintf(out, "as of %s s, with no event since then:\n",
                tg_quantity_moment(source->moment_ns, source->start_ns, 6, moment));
}

static struct tg_error *run_where(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_where);
    /* a live job is at its present, whatever its latest event was about */
    struct tg_error *error = console->options.live != NULL ? NULL : tg_console_print_place(console, out);
    struct tg_verdict findings = {0};
    if (error == NULL)
        print_moment(console->source, out);
    if (error == NULL)
        error = find_waiting(console, &findings);
    size_t shown = 0;
    struct tg_json *json = error == NULL ? tg_console_data_begin(&console->data) : NULL;
    if (json != NULL)
        tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < findings.count; i++) {
        const struct tg_finding *finding = &findings.findings[i];
        if (finding->process != SIZE_MAX && !tg_focus_has(&console->focus, finding->process))
            continue;
        fprintf(out, "%zu. %s\n", i + 1, finding->text);
        shown++;
        if (json != NULL)
            put_finding(json, finding);
    }
    if (json != NULL)
        tg_json_end_array(json);
    if (error == NULL && findings.count == 0 && has_attached(console))
        fputs("who waits for whom is unknown: what these processes called before they were attached is not "
              "recorded\n",
              out);
    else if (error == NULL && findings.count == 0 && findings.busy != NULL && *findings.busy != '\0')
        fprintf(out, "no process has been waiting for another for long.%s\n", findings.busy);
    else if (error == NULL && shown == 0)
        fputs(findings.count > 0 ? "no process in focus is waiting for another\n"
                                 : "no process is waiting for another\n",
              out);
    tg_verdict_deinit(&findings);
    return error;
}

const struct tg_console_command tg_console_where = {
    .name = "where",
    .arguments = "",
    .summary = "which ranks and threads are waiting, which are missing, and what those did last",
    .example = "where",
    .more = "The verdict of `tollgate report`, at the console's current moment. For attached\n"
            "processes it uses their stacks, which it takes now: running threads are stopped for a moment.",
    .is_of_now = true,
    .run = run_where,
};
