/* `find`: to the next or former event of a kind. */
#include "analyzer/output/progress.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/motion.h"
#include "live/console/options.h"
#include "live/source/interrupt.h"

#include <string.h>

struct pattern {
    const struct tg_console *console;
    const char *kind;       /* glob */
    Tcl_Obj *const *fields; /* FIELD=GLOB */
    int n_fields;
    bool back;       /* the last one before here */
    bool has_worker; /* only of this one */
    size_t process;
    int32_t tid;
};

static bool field_matches(const struct tg_event *event, const char *condition)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    size_t length = strcspn(condition, "=");
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (strlen(field->name) != length || strncmp(field->name, condition, length) != 0)
            continue;
        Tcl_Obj *value = tg_console_field(field, TG_EVENT_PAYLOAD(event));
        Tcl_IncrRefCount(value);
        bool matches = Tcl_StringMatch(Tcl_GetString(value), condition + length + 1);
        Tcl_DecrRefCount(value);
        return matches;
    }
    return false;
}

static bool matches(void *context, const struct tg_source *source)
{
    const struct pattern *pattern = context;
    const struct tg_event *event = source->event;
    const struct tg_process_entry *entry = source->moment->entry;
    if (!Tcl_StringMatch(tg_event_kind_name(event->kind), pattern->kind))
        return false;
    if (!tg_focus_has_event(&pattern->console->focus, source))
        return false;
    if (pattern->has_worker &&
        (entry == NULL || entry->index != pattern->process || event->tid != pattern->tid))
        return false;
    for (int i = 0; i < pattern->n_fields; i++)
        if (!field_matches(event, Tcl_GetString(pattern->fields[i])))
            return false;
    return true;
}

static struct tg_error *check_kind(const char *kind)
{
    for (size_t i = 0; i < tg_event_kind_count(); i++)
        if (Tcl_StringMatch(tg_event_kind_name(tg_event_kind_at(i)), kind))
            return NULL;
    return tg_error_create(TG_ERROR_USAGE, "unknown kind of event '%s' (tollgate-dump(1) lists the kinds)",
                           kind);
}

/* A condition that no kind meant has a field for would never hold. */
static struct tg_error *check_field(const char *kind, const char *condition)
{
    size_t length = strcspn(condition, "=");
    if (condition[length] == '\0')
        return tg_error_create(TG_ERROR_USAGE, "invalid condition '%s': write FIELD=PATTERN", condition);
    for (size_t i = 0; i < tg_event_kind_count(); i++) {
        enum tg_event_kind candidate = tg_event_kind_at(i);
        const struct tg_record_schema *schema = tg_event_schema(candidate);
        for (size_t j = 0; Tcl_StringMatch(schema->name, kind) && j < schema->n_fields; j++)
            if (strlen(schema->fields[j].name) == length &&
                strncmp(schema->fields[j].name, condition, length) == 0)
                return NULL;
    }
    return tg_error_create(TG_ERROR_USAGE, "events of kind '%s' have no field '%.*s'", kind, (int)length,
                           condition);
}

/* Events that are searched backwards: those before ORIGIN. */
struct search {
    uint64_t origin;
    struct tg_progress progress;
};

/* The last match among the events [FIRST, END); 0: there is none. The source is at the event before END
 * then. */
static struct tg_error *find_last(struct tg_console *console, struct pattern *pattern, uint64_t first,
                                  uint64_t end, struct search *search, uint64_t *found)
{
    struct tg_source *source = console->source;
    struct tg_error *error = tg_motion_go_event(console, first);
    if (error == NULL)
        error = tg_focus_refresh(&console->focus, console->source);
    bool at_end = false;
    *found = 0;
    for (;;) {
        if (source->number % 1024 == 0)
            tg_progress_tell(&search->progress, search->origin - end + source->number - first,
                             search->origin);
        if (error == NULL && source->number % 1024 == 0 && tg_interrupt_pending())
            error = tg_error_create(TG_ERROR_USAGE, "interrupted");
        if (error != NULL)
            return error;
        if (source->number > 0 && !at_end && matches(pattern, source))
            *found = source->number;
        if (at_end || source->number + 1 >= end)
            return NULL;
        error = source->ops->step(source, &at_end);
        if (error == NULL && !at_end)
            error = tg_focus_follow(&console->focus, source);
    }
}

/* The last match before the event at which the source is: from one landmark back to the next. */
static struct tg_error *find_back(struct tg_console *console, struct pattern *pattern)
{
    struct tg_source *source = console->source;
    uint64_t origin = source->number, found = 0;
    struct tg_error *error = NULL;
    struct search search = {.origin = origin};
    tg_progress_init_console(&search.progress);
    for (uint64_t end = origin; error == NULL && found == 0 && end > 1;) {
        uint64_t first = source->ops->landmark == NULL ? 0 : source->ops->landmark(source, end - 1);
        error = find_last(console, pattern, first, end, &search, &found);
        end = first;
    }
    tg_progress_end(&search.progress);
    if (error == NULL)
        error = tg_motion_go_event(console, found != 0 ? found : origin);
    if (error == NULL && found == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "no such event before this one");
    return error;
}

static const struct tg_console_option options[] = {TG_OPTION_FLAG("-back", struct pattern, back),
                                                   TG_OPTION_FLAG("-worker", struct pattern, has_worker),
                                                   {.name = "KIND", .kind = TG_OPTION_REST},
                                                   {0}};

static struct tg_error *parse(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                              struct pattern *pattern)
{
    int at;
    struct tg_error *error = tg_console_take_options(&tg_console_find, argc, argv, pattern, &at);
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    if (error != NULL || at == argc)
        return error != NULL ? error : tg_console_usage(&tg_console_find);
    if (pattern->has_worker && worker == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no current worker; choose one with dfocus");
    if (pattern->has_worker) {
        pattern->process = worker->process;
        pattern->tid = worker->tid;
    }
    pattern->kind = Tcl_GetString(argv[at++]);
    pattern->fields = argv + at;
    pattern->n_fields = argc - at;
    error = check_kind(pattern->kind);
    for (int i = 0; error == NULL && i < pattern->n_fields; i++)
        error = check_field(pattern->kind, Tcl_GetString(pattern->fields[i]));
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct pattern pattern = {.console = console};
    struct tg_error *error = parse(console, argc, argv, &pattern);
    if (error == NULL)
        error = pattern.back ? find_back(console, &pattern)
                             : tg_motion_until(console, matches, &pattern, "such event");
    return error != NULL ? error : tg_console_print_place(console, out);
}

static void offer_kinds(const struct tg_console *console, void (*add)(void *context, const char *word),
                        void *context)
{
    (void)console;
    for (size_t i = 0; i < tg_event_kind_count(); i++)
        add(context, tg_event_kind_name(tg_event_kind_at(i)));
}

const struct tg_console_command tg_console_find = {
    .name = "find",
    .arguments = "?-back? ?-worker? KIND ?FIELD=PATTERN ...?",
    .summary = "goes to the next event of a kind, of the processes in focus",
    .example = "find mpi_enter call=MPI_Barrier",
    .more =
        "KIND and PATTERN are globs of Tcl's `string match`; kinds and fields are those of `tollgate dump`.\n"
        "-back searches backwards, -worker only among events of the current worker.",
    .options = options,
    .offer = offer_kinds,
    .needs = TG_CONSOLE_NEEDS_TRACE,
    .run = run,
};
