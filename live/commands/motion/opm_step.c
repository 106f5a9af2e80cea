/* `opm step` and `opm step out`: into the next zone of the current worker, and until all are out of one. */
#include "live/commands/info/place.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/entered.h"
#include "live/commands/motion/gate_run.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/motion/motion.h"
#include "live/commands/motion/unrecorded.h"
#include "live/commands/motion/zone_exit.h"

#include <inttypes.h>
#include <string.h>

/* ---- into the next zone */

struct stepping {
    const struct tg_focus *focus;
    bool has_worker;
    size_t process;
    int32_t tid;
};

static bool enters(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
    case TG_EVENT_OMP_ZONE_BEGIN:
    case TG_EVENT_OMP_SECTION:
    case TG_EVENT_OMP_SYNC_BEGIN:
    case TG_EVENT_OMP_MUTEX_ENTER:
    case TG_EVENT_OMP_TASK_BEGIN:
        return true;
    default:
        return false;
    }
}

/* Behind the last zone of a region its end is next: where the body ends, unless the arrival at the join is an event of its
 * own. */
static bool ends_region(const struct tg_source *source)
{
    const struct tg_event_omp_implicit_end *end = &source->event->omp_implicit_end;
    return source->event->kind == TG_EVENT_OMP_IMPLICIT_END &&
           !tg_zone_exit_has_join(source->moment->openmp, source->moment->entry->index, end->team, end->seen);
}

static bool is_inside(void *context, const struct tg_source *source)
{
    const struct stepping *stepping = context;
    const struct tg_process_entry *entry = source->moment->entry;
    if (entry == NULL)
        return false;
    if (stepping->has_worker)
        return (enters(source->event) || ends_region(source)) && entry->index == stepping->process &&
               source->event->tid == stepping->tid;
    return enters(source->event) && tg_focus_has_event(stepping->focus, source);
}

static struct tg_error *step_in(struct tg_console *console)
{
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    struct stepping stepping = {.focus = &console->focus, .has_worker = worker != NULL};
    if (tg_entered_take(console, worker))
        return NULL;
    if (worker != NULL) {
        stepping.process = worker->process;
        stepping.tid = worker->tid;
    }
    struct tg_error *error = tg_motion_until(console, is_inside, &stepping, "zone that this worker enters");
    if (error == NULL)
        tg_motion_follow(console);
    return error;
}

/* ---- until all are out */

static struct tg_error *step_out(struct tg_console *console)
{
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    if (worker == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no current worker; choose one with dfocus");
    if (worker->n_places == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "worker %" PRIu64 " is not inside a zone", worker->number);
    return tg_zone_exit_run(console, worker, &worker->places[worker->n_places - 1], "end of this zone", NULL);
}

static struct tg_error *step_live(struct tg_console *console, bool goes_out, FILE *out)
{
    struct tg_error *error = tg_unrecorded_refuse(console);
    bool may_begin = tg_openmp_model_worker_count(console->source->moment->openmp) == 0;
    if (error == NULL)
        error = may_begin ? tg_gate_run_halt(console, out) : tg_gate_run_settle(console, out);
    const struct tg_openmp_worker *worker = goes_out
                                                ? tg_focus_active_worker(&console->focus, console->source)
                                                : tg_focus_worker(&console->focus, console->source);
    if (error != NULL || !goes_out)
        return error != NULL ? error : tg_live_zone_step(console, worker, out);
    if (worker == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no current worker; choose one with dfocus");
    if (worker->n_places == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "worker %" PRIu64 " is not inside a zone", worker->number);
    return tg_live_zone_leave(console, worker, &worker->places[worker->n_places - 1], "opm step out", out);
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    bool goes_out = argc == 1 && strcmp(Tcl_GetString(argv[0]), "out") == 0;
    if (argc > 1 || (argc == 1 && !goes_out))
        return tg_console_usage(&tg_console_opm_step);
    if (console->options.live != NULL)
        return step_live(console, goes_out, out);
    struct tg_error *error = goes_out ? step_out(console) : step_in(console);
    return error != NULL ? error : tg_console_print_place(console, out);
}

static const char *const words[] = {"out", NULL};

const struct tg_console_command tg_console_opm_step = {
    .name = "opm step",
    .arguments = "?out?",
    .summary = "goes to where the current worker enters its next zone; out: to where all have left this zone",
    .example = "opm step out",
    .more =
        "out continues until the last thread of the team has left the zone that the current worker is in. A\n"
        "thread that passes without entering it (nowait, a condition) counts when it reaches the next\n"
        "barrier or the end of the region. In a live job, threads that have left it wait right behind the "
        "zone\n"
        "for the others, and are stopped there.",
    .words = words,
    .is_of_now = true,
    .begins_job = true,
    .run = run,
};
