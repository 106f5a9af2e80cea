/* Out of zones together, section by section, from one thread in a critical section to the next. */
#include "analyzer/models/openmp/barrier.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/catches.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/gate_run.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/motion/motion.h"
#include "live/commands/motion/section_steps.h"
#include "live/commands/motion/unrecorded.h"
#include "live/commands/motion/zone_exit.h"

#include <inttypes.h>
#include <string.h>

static bool is_sections(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_SECTIONS;
}

static bool is_critical_mutex(uint64_t mutex)
{
    return mutex == TG_OMP_MUTEX_CRITICAL || mutex == TG_OMP_MUTEX_CRITICAL_NAMED;
}

static bool is_critical(const struct tg_openmp_place *place)
{
    return (place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT) &&
           is_critical_mutex(place->what);
}

static struct tg_error *need_worker(const struct tg_console *console, const struct tg_openmp_worker **worker)
{
    *worker = tg_focus_active_worker(&console->focus, console->source);
    return *worker != NULL ? NULL
                           : tg_error_create(TG_ERROR_NOT_FOUND, "no current worker; choose one with dfocus");
}

/* The innermost place of the current worker that IS_IT says is one; WHAT names it. */
static struct tg_error *need_place(const struct tg_console *console,
                                   bool (*is_it)(const struct tg_openmp_place *place), const char *what,
                                   const struct tg_openmp_worker **worker,
                                   const struct tg_openmp_place **place)
{
    struct tg_error *error = need_worker(console, worker);
    if (error != NULL)
        return error;
    for (size_t i = (*worker)->n_places; i-- > 0;) {
        if (is_it(&(*worker)->places[i])) {
            *place = &(*worker)->places[i];
            return NULL;
        }
    }
    return tg_error_create(TG_ERROR_NOT_FOUND, "worker %" PRIu64 " is not inside a %s", (*worker)->number,
                           what);
}

/* In a live job everybody is stopped first: what is true of a running one is not true any more. */
static struct tg_error *settle(struct tg_console *console, FILE *out)
{
    if (console->options.live == NULL)
        return NULL;
    struct tg_error *error = tg_unrecorded_refuse(console);
    return error != NULL ? error : tg_gate_run_settle(console, out);
}

/* COMMAND is that of the user, WHAT names the end. */
static struct tg_error *leave_place(struct tg_console *console, const struct tg_openmp_worker *worker,
                                    const struct tg_openmp_place *place, const char *command,
                                    const char *what, FILE *out)
{
    struct tg_zone_exit exit;
    if (console->options.live != NULL)
        return tg_live_zone_leave(console, worker, place, command, out);
    struct tg_error *error = tg_zone_exit_run(console, worker, place, what, &exit);
    if (error == NULL)
        error = tg_console_print_place(console, out);
    if (error == NULL)
        fprintf(out, "left: %" PRIu64 " worker%s; moved on since: %" PRIu64 "\n", exit.out,
                exit.out == 1 ? "" : "s", exit.gone_on);
    return error;
}

/* ---- opm all_out */

static struct tg_error *run_all_out(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_openmp_worker *worker;
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_opm_all_out);
    struct tg_error *error = settle(console, out);
    if (error == NULL)
        error = need_worker(console, &worker);
    if (error != NULL)
        return error;
    if (worker->n_places == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "worker %" PRIu64 " is not inside a zone", worker->number);
    return leave_place(console, worker, &worker->places[worker->n_places - 1], "opm all_out",
                       "end of this zone", out);
}

const struct tg_console_command tg_console_opm_all_out = {
    .name = "opm all_out",
    .arguments = "",
    .summary = "goes to where all workers have left this zone, and shows how many have moved on",
    .example = "opm next critical; opm step; opm all_out",
    .more = "Same moment as `opm step out`. In a recording no worker is held at the end of a zone, so those\n"
            "that left it first may have moved on. In a live job all wait right behind the zone, before its "
            "implicit\n"
            "barrier, and are stopped there. The current worker does not change.",
    .is_of_now = true,
    .run = run_all_out,
};

/* ---- opm sections */

static struct tg_error *catch_sections(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    bool off = argc == 1 && strcmp(Tcl_GetString(argv[0]), "off") == 0;
    if (argc > 1 || (argc == 1 && !off))
        return tg_console_usage(&tg_console_opm_sections);
    struct tg_catches *catches = tg_console_state(console, &tg_catches_kind);
    catches->sections = !off;
    fputs(off ? "`dcont` will not stop at sections zones\n"
              : "`dcont` will stop at the start of each sections zone\n",
          out);
    return NULL;
}

static struct tg_error *run_sections(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const char *what = argc > 0 ? Tcl_GetString(argv[0]) : "";
    const struct tg_openmp_worker *worker;
    const struct tg_openmp_place *place;
    if (strcmp(what, "new") == 0)
        return catch_sections(console, argc - 1, argv + 1, out);
    bool finish = strcmp(what, "finish") == 0, steps = strcmp(what, "step-by-step") == 0;
    if (argc != 1 || (!finish && !steps))
        return tg_console_usage(&tg_console_opm_sections);
    struct tg_error *error = settle(console, out);
    if (error == NULL)
        error = need_place(console, is_sections, "sections zone", &worker, &place);
    if (error != NULL)
        return error;
    if (finish)
        return leave_place(console, worker, place, "opm sections finish", "end of this sections zone", out);
    tg_section_steps_start(console, worker, place, out);
    return NULL;
}

static const char *const sections_words[] = {"new", "off", "finish", "step-by-step", NULL};

const struct tg_console_command tg_console_opm_sections = {
    .name = "opm sections",
    .arguments = "new ?off? | finish | step-by-step",
    .summary = "makes dcont stop at sections zones, finishes one, or goes through it section by section",
    .example = "opm sections new; dcont; opm step; opm sections step-by-step; dcont",
    .more =
        "new: `dcont` stops where the first worker reaches a sections zone; new off: no longer.\n"
        "finish: goes to where all have left the sections zone of the current worker.\n"
        "step-by-step: `dcont` stops at each section of that zone, and at its end. In a live job one worker\n"
        "runs at a time. With LLVM's runtime each worker has sections of its own; where they are several,\n"
        "they begin as one.",
    .words = sections_words,
    .is_of_now = true,
    .run = run_sections,
};

/* ---- opm critical */

struct next_entry {
    size_t process;
    uint64_t mutex, lock;
};

static bool is_entry(void *context, const struct tg_source *source)
{
    const struct next_entry *entry = context;
    const struct tg_event *event = source->event;
    return source->moment->entry != NULL && source->moment->entry->index == entry->process &&
           event->kind == TG_EVENT_OMP_MUTEX_ENTER && event->omp_mutex_enter.mutex == entry->mutex &&
           event->omp_mutex_enter.lock == entry->lock;
}

static struct tg_error *run_critical(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    const struct tg_openmp_worker *worker;
    const struct tg_openmp_place *place;
    if (argc != 1 || strcmp(Tcl_GetString(argv[0]), "next") != 0)
        return tg_console_usage(&tg_console_opm_critical);
    struct tg_error *error = settle(console, out);
    if (error == NULL)
        error = need_place(console, is_critical, "critical section", &worker, &place);
    if (error != NULL)
        return error;
    if (console->options.live != NULL)
        return tg_live_zone_next_critical(console, worker, place, out);
    struct next_entry entry = {.process = worker->process, .mutex = place->what, .lock = place->id};
    error = tg_motion_until(console, is_entry, &entry, "worker that enters this critical section");
    if (error != NULL)
        return error;
    tg_motion_follow(console);
    return tg_console_print_place(console, out);
}

static const char *const critical_words[] = {"next", NULL};

const struct tg_console_command tg_console_opm_critical = {
    .name = "opm critical",
    .arguments = "next",
    .summary = "goes to where the next worker enters the critical section of the current worker",
    .example = "opm next critical; opm critical next",
    .more = "The current worker must be waiting for the critical section or be inside it. The worker that\n"
            "enters becomes the current one.",
    .words = critical_words,
    .is_of_now = true,
    .run = run_critical,
};

/* ---- opm barrier */

/* A barrier that is going on, with the worker that it is asked for. */
struct at_barrier {
    const struct tg_console *console;
    const struct tg_openmp_worker *worker; /* NULL: any of the focus */
    const struct tg_openmp_team *team;     /* found; NULL none */
    struct tg_openmp_barrier barrier;
};

static void take_team(struct at_barrier *at, const struct tg_openmp_team *team)
{
    struct tg_openmp_barrier barrier;
    size_t worker = at->worker == NULL ? SIZE_MAX : at->worker->index;
    if (at->team != NULL || team == NULL || !tg_openmp_barrier_to_pass(team, worker, &barrier))
        return;
    at->team = team;
    at->barrier = barrier;
}

static struct tg_error *visit_team(void *context, const struct tg_openmp_team *team)
{
    struct at_barrier *at = context;
    if (tg_focus_has(&at->console->focus, team->process))
        take_team(at, team);
    return NULL;
}

/* The barrier of the innermost team of the current worker that is at one; without a current worker, of any
 * team. */
static struct tg_error *find_barrier(struct at_barrier *at)
{
    const struct tg_openmp_model *model = at->console->source->moment->openmp;
    at->worker = tg_focus_worker(&at->console->focus, at->console->source);
    for (size_t i = at->worker == NULL ? 0 : at->worker->n_places; i-- > 0;)
        take_team(at, tg_openmp_model_team(model, at->worker->process, at->worker->places[i].team));
    struct tg_error *error = at->team == NULL ? tg_openmp_model_visit_teams(model, visit_team, at) : NULL;
    if (error != NULL)
        return error;
    if (at->team == NULL || at->team->n_members == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "no team is at a barrier (`opm next barrier` goes to one)");
    bool is_member = false;
    for (size_t i = 0; at->worker != NULL && i < at->team->n_members; i++)
        is_member |= at->team->members[i].worker == at->worker->index;
    if (!is_member)
        at->worker = tg_openmp_model_worker_at(model, at->team->members[0].worker);
    return NULL;
}

static struct tg_error *run_barrier(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct at_barrier at = {.console = console};
    if (argc != 1 || strcmp(Tcl_GetString(argv[0]), "pass") != 0)
        return tg_console_usage(&tg_console_opm_barrier);
    if (console->options.live != NULL) {
        struct tg_error *error = settle(console, out);
        return error != NULL ? error : tg_live_zone_pass_barrier(console, out);
    }
    struct tg_error *error = find_barrier(&at);
    if (error != NULL)
        return error;
    const struct tg_openmp_place place = {
        .kind = TG_OPENMP_IN_SYNC, .what = at.barrier.sync, .team = at.team->id, .id = at.barrier.instance};
    return leave_place(console, at.worker, &place, "opm barrier pass",
                       "moment at which all have passed this barrier", out);
}

static const char *const barrier_words[] = {"pass", NULL};

const struct tg_console_command tg_console_opm_barrier = {
    .name = "opm barrier",
    .arguments = "pass",
    .summary = "goes to where all workers have passed the team's barrier",
    .example = "opm next barrier; opm barrier pass",
    .more =
        "The barrier that the current worker waits at, or else the newest one of its team, or of a team in\n"
        "focus that is at one. The answer says how many workers have moved on; the current worker does not\n"
        "change. In a live job it is that of every team in focus that is at one, and all workers are\n"
        "stopped right behind it.",
    .words = barrier_words,
    .is_of_now = true,
    .run = run_barrier,
};
