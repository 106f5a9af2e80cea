/* Moving along the events: next, step, back, goto, find. */
#include "live/commands/motion/motion.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/commands.h"

#include "analyzer/output/progress.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/selection.h"
#include "live/console/command.h"
#include "live/source/interrupt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 256 };

/* A number of events. USAGE error. */
static struct tg_error *take_count(Tcl_Obj *word, uint64_t *count)
{
    Tcl_WideInt value;
    if (Tcl_GetWideIntFromObj(NULL, word, &value) != TCL_OK || value < 0)
        return tg_error_create(TG_ERROR_USAGE, "invalid number of events '%s'", Tcl_GetString(word));
    *count = (uint64_t)value;
    return NULL;
}

struct tg_error *tg_motion_go(struct tg_console *console, const struct tg_target *target)
{
    if (console->source->ops->seek == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s cannot go back", console->source->name);
    return console->source->ops->seek(console->source, target);
}

struct tg_error *tg_motion_go_event(struct tg_console *console, uint64_t number)
{
    const struct tg_target target = {.kind = TG_TO_EVENT, .number = number};
    return tg_motion_go(console, &target);
}

/* Lets the focus run, where the source needs that. */
static struct tg_error *begin_motion(struct tg_console *console)
{
    struct tg_source *source = console->source;
    struct tg_job_view *view = NULL;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    if (source->ops->begin == NULL)
        return NULL;
    struct tg_error *error = tg_source_view(source, &view);
    if (error == NULL)
        error = tg_focus_members(&console->focus, view, &set);
    if (error == NULL)
        error = source->ops->begin(source, view, &set);
    tg_job_view_destroy(view);
    return error;
}

static struct tg_error *end_motion(struct tg_console *console, struct tg_error *error)
{
    struct tg_error *at_end =
        console->source->ops->end == NULL ? NULL : console->source->ops->end(console->source);
    if (error == NULL)
        return at_end;
    tg_error_destroy(at_end);
    return error;
}

static struct tg_error *step_until(struct tg_console *console,
                                   bool (*is_there)(void *context, const struct tg_source *source),
                                   void *context, bool *at_end, struct tg_progress *progress)
{
    struct tg_source *source = console->source;
    for (;;) {
        if (source->number % STEPS_BETWEEN_LOOKS == 0 && tg_interrupt_pending())
            return tg_error_create(TG_ERROR_USAGE, "interrupted");
        if (source->number % STEPS_BETWEEN_LOOKS == 0) {
            tg_visitor_poll(source->visitor, NULL, 0, 0);
            tg_progress_tell(progress, source->file_position, source->file_size);
        }
        struct tg_error *error = source->ops->step(source, at_end);
        if (error != NULL || *at_end)
            return error;
        error = tg_focus_follow(&console->focus, source);
        if (error != NULL || is_there(context, source))
            return error;
    }
}

struct tg_error *tg_motion_until(struct tg_console *console,
                                 bool (*is_there)(void *context, const struct tg_source *source),
                                 void *context, const char *what)
{
    struct tg_source *source = console->source;
    uint64_t origin = source->number;
    bool at_end = false;
    struct tg_error *error = begin_motion(console);
    if (error != NULL)
        return error;
    struct tg_progress progress;
    tg_progress_init_console(&progress);
    error = end_motion(console, step_until(console, is_there, context, &at_end, &progress));
    tg_progress_end(&progress);
    if (error != NULL || !at_end)
        return error;
    if (source->ops->seek == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no %s until the end of the job", what);
    error = tg_motion_go_event(console, origin);
    return error != NULL
               ? error
               : tg_error_create(TG_ERROR_NOT_FOUND, "no %s from here to the end of the trace", what);
}

void tg_motion_follow(struct tg_console *console)
{
    const struct tg_source *source = console->source;
    const struct tg_process_entry *entry = source->moment->entry;
    const struct tg_openmp_worker *worker =
        entry == NULL ? NULL
                      : tg_openmp_model_worker(source->moment->openmp, entry->index, source->event->tid);
    if (worker != NULL)
        console->focus.worker = worker->index;
}

/* ---- next, step, back */

static struct tg_error *step_times(struct tg_source *source, uint64_t count, bool *at_end)
{
    struct tg_error *error = NULL;
    struct tg_progress progress;
    tg_progress_init_console(&progress);
    for (uint64_t i = 0; error == NULL && i < count && !*at_end; i++) {
        if (i % STEPS_BETWEEN_LOOKS == 0)
            tg_progress_tell(&progress, i, count);
        if (i % STEPS_BETWEEN_LOOKS == 0 && tg_interrupt_pending())
            error = tg_error_create(TG_ERROR_USAGE, "interrupted");
        else
            error = source->ops->step(source, at_end);
    }
    tg_progress_end(&progress);
    return error;
}

static struct tg_error *run_next(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    uint64_t count = 1, origin = console->source->number;
    bool at_end = false;
    if (argc > 1)
        return tg_console_usage(&tg_console_next);
    struct tg_error *error = argc == 1 ? take_count(argv[0], &count) : NULL;
    if (error == NULL)
        error = begin_motion(console);
    if (error != NULL)
        return error;
    error = end_motion(console, step_times(console->source, count, &at_end));
    if (error == NULL && at_end && console->source->number == origin)
        return tg_error_create(TG_ERROR_NOT_FOUND, "at the end of the trace");
    return error != NULL ? error : tg_console_print_place(console, out);
}

const struct tg_console_command tg_console_next = {
    .name = "next",
    .arguments = "?N?",
    .summary = "goes to the next event, or N events forward",
    .example = "next 10",
    .more = "In a live job it is dnext: steps over calls to the next source line.",
    .needs = TG_CONSOLE_NEEDS_TRACE,
    .instead = "dnext",
    .runs_instead = true,
    .run = run_next,
};

/* The next event of the current worker, or of the process in focus. */
static bool is_in_focus(void *context, const struct tg_source *source)
{
    const struct tg_openmp_worker *worker = context;
    const struct tg_process_entry *entry = source->moment->entry;
    return entry != NULL && entry->index == worker->process && source->event->tid == worker->tid;
}

static bool is_of_focus(void *context, const struct tg_source *source)
{
    return source->moment->entry != NULL && tg_focus_has_event(context, source);
}

static struct tg_error *run_step(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    uint64_t count = 1;
    if (argc > 1)
        return tg_console_usage(&tg_console_step);
    struct tg_error *error = argc == 1 ? take_count(argv[0], &count) : NULL;
    struct tg_progress progress;
    tg_progress_init_console(&progress);
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        if (i % STEPS_BETWEEN_LOOKS == STEPS_BETWEEN_LOOKS - 1)
            tg_progress_tell(&progress, i, count);
        const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
        /* Only what identifies the worker is used while models move: its copy does. */
        struct tg_openmp_worker who;
        if (worker != NULL && console->focus.worker != SIZE_MAX) {
            who = *worker;
            error = tg_motion_until(console, is_in_focus, &who, "event of the current worker");
        } else {
            error = tg_motion_until(console, is_of_focus, &console->focus, "event of a process in focus");
        }
    }
    tg_progress_end(&progress);
    return error != NULL ? error : tg_console_print_place(console, out);
}

const struct tg_console_command tg_console_step = {
    .name = "step",
    .arguments = "?N?",
    .summary = "goes to the next event of the worker or process in focus",
    .example = "dfocus r1.2; step",
    .more = "In a live job it is dstep: steps to the next source line, also into calls.",
    .needs = TG_CONSOLE_NEEDS_TRACE,
    .instead = "dstep",
    .runs_instead = true,
    .run = run_step,
};

static struct tg_error *run_back(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    uint64_t count = 1, number = console->source->number;
    if (argc > 1)
        return tg_console_usage(&tg_console_back);
    struct tg_error *error = argc == 1 ? take_count(argv[0], &count) : NULL;
    if (error == NULL && number == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "already before the first event");
    if (error == NULL)
        error = tg_motion_go_event(console, count < number ? number - count : 0);
    return error != NULL ? error : tg_console_print_place(console, out);
}

const struct tg_console_command tg_console_back = {
    .name = "back",
    .arguments = "?N?",
    .summary = "goes back by one event, or by N",
    .example = "back 10",
    .needs = TG_CONSOLE_NEEDS_TRACE,
    .run = run_back,
};

/* ---- goto */

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static struct tg_error *parse_target(const struct tg_source *source, Tcl_Obj *word, struct tg_target *target)
{
    const char *text = Tcl_GetString(word);
    if (strcmp(text, "end") == 0) {
        *target = (struct tg_target){.kind = TG_TO_END};
        return NULL;
    }
    if (strcmp(text, "start") == 0) {
        *target = (struct tg_target){.kind = TG_TO_EVENT};
        return NULL;
    }
    if (is_number(text)) {
        target->kind = TG_TO_EVENT;
        return take_count(word, &target->number);
    }
    uint64_t time_ns;
    struct tg_error *error = tg_selection_parse_time(text, &time_ns);
    if (error != NULL) {
        tg_error_destroy(error);
        return tg_error_create(TG_ERROR_USAGE,
                               "'%s' is not a place: give the number of an event, a time like 1.5s, 0.25 or "
                               "20ms, start or end",
                               text);
    }
    target->kind = TG_TO_TIME;
    if (__builtin_add_overflow(time_ns, source->start_ns, &target->time_ns))
        target->time_ns = UINT64_MAX;
    return NULL;
}

/* A place behind the last event is none: says so. */
static void tell_beyond(const struct tg_source *source, const struct tg_target *target, FILE *out)
{
    char shown[TG_QUANTITY_SIZE];
    if (target->kind == TG_TO_EVENT && target->number > source->number)
        fprintf(out, "there is no event %" PRIu64 ": the trace ends at event %" PRIu64 "\n", target->number,
                source->number);
    else if (target->kind == TG_TO_TIME && source->number == source->n_events && source->moment_ns == 0 &&
             source->number != 0 && target->time_ns > source->time_ns)
        fprintf(out, "the trace ends before %s s, at event %" PRIu64 "\n",
                tg_quantity_moment(target->time_ns, source->start_ns, 6, shown), source->number);
}

static struct tg_error *run_goto(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_target target = {0};
    if (argc != 1)
        return tg_console_usage(&tg_console_goto);
    struct tg_error *error = parse_target(console->source, argv[0], &target);
    if (error == NULL)
        error = tg_motion_go(console, &target);
    if (error != NULL)
        return error;
    tell_beyond(console->source, &target, out);
    return tg_console_print_place(console, out);
}

static const char *const goto_words[] = {"end", "start", NULL};

const struct tg_console_command tg_console_goto = {
    .name = "goto",
    .arguments = "EVENT|TIME|end|start",
    .summary = "goes to an event, a time, or an end of the trace",
    .example = "goto 12.5ms",
    .more = "A whole number is the number of an event; a number with a point or a unit (s, ms, us, ns) is a\n"
            "time since the start of the trace: the moment just after the last event up to then. `where`\n"
            "tells how long waits had lasted at that time.",
    .words = goto_words,
    .needs = TG_CONSOLE_NEEDS_TRACE,
    .run = run_goto,
};
