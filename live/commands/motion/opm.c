/* `opm start` and `opm next`: along the zones of an OpenMP program. */
#include "live/commands/info/place.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/entered.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/motion/motion.h"
#include "live/console/options.h"
#include "live/source/zone_counter.h"

#include <inttypes.h>

struct sought {
    const struct tg_focus *focus;
    enum tg_zone_target target; /* NONE: any */
};

static bool is_sought(void *context, const struct tg_source *source)
{
    const struct sought *sought = context;
    if (source->moment->entry == NULL || !tg_focus_has_event(sought->focus, source))
        return false;
    if (sought->target == TG_TARGET_SINGLE) /* as in a live job: the worker that executes it */
        return source->event->kind == TG_EVENT_OMP_ZONE_BEGIN &&
               source->event->omp_zone_begin.zone == TG_OMP_ZONE_SINGLE;
    if (!tg_zone_counter_is_first(source->moment->zones))
        return false;
    return sought->target == TG_TARGET_NONE || tg_zone_target_of(source->event) == sought->target;
}

static struct tg_error *go_to_zone(struct tg_console *console, enum tg_zone_target target, const char *what,
                                   FILE *out)
{
    struct sought sought = {.focus = &console->focus, .target = target};
    char name[64];
    snprintf(name, sizeof name, "%s%szone", what, *what == '\0' ? "" : " ");
    struct tg_error *error = tg_motion_until(console, is_sought, &sought, name);
    if (error != NULL)
        return error;
    tg_motion_follow(console);
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    if (worker != NULL)
        tg_entered_note(console, tg_zone_target_of(console->source->event), worker);
    return tg_console_print_place(console, out);
}

/* ---- opm next */

/* In a live job; EACH: in each process. */
static struct tg_error *go_live(struct tg_console *console, bool each, bool force, enum tg_zone_target target,
                                const char *name, FILE *out)
{
    return each ? tg_live_zone_go_each(console, target, name, force, out)
                : tg_live_zone_go(console, target, name, force, out);
}

static struct tg_error *refuse_option(const char *option)
{
    return tg_error_create(TG_ERROR_UNSUPPORTED, "%s is for live jobs; see tollgate live", option);
}

struct advance {
    const char *name; /* of the zone; NULL any */
    bool each, force;
};

static const struct tg_console_option next_options[] = {
    TG_OPTION_FLAG("-each", struct advance, each),
    TG_OPTION_FLAG("--force", struct advance, force),
    {"TARGET", TG_OPTION_WORD, TG_OPTION_IN(struct advance, name)},
    {0}};

static struct tg_error *run_next(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct advance advance = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_opm_next, argc, argv, &advance, NULL);
    if (error != NULL)
        return error;
    if ((advance.each || advance.force) && console->options.live == NULL)
        return refuse_option(advance.each ? "-each" : "--force");
    const char *name = advance.name == NULL ? "" : advance.name;
    enum tg_zone_target target = advance.name == NULL ? TG_TARGET_NONE : tg_zone_target_by_name(name);
    if (advance.name != NULL && target == TG_TARGET_NONE)
        return tg_error_create(
            TG_ERROR_USAGE,
            "unknown zone '%s'; use parallel, single, critical, task, sections, barrier, master "
            "or loop",
            name);
    return console->options.live != NULL ? go_live(console, advance.each, advance.force, target, name, out)
                                         : go_to_zone(console, target, name, out);
}

static const char *const next_words[] = {"parallel", "single", "critical", "task", "sections",
                                         "barrier",  "master", "loop",     NULL};

const struct tg_console_command tg_console_opm_next = {
    .name = "opm next",
    .arguments = "?--force? ?-each? ?TARGET?",
    .summary = "goes to the next zone that any worker reaches: parallel, single, critical, ...",
    .example = "opm next barrier",
    .more =
        "TARGET is parallel, single, critical, task, sections, barrier, master or loop; without it, any of\n"
        "these. The end of a region is a barrier, too. The worker that reaches the zone becomes the current\n"
        "one; of a single it is the one that executes it. Workers that reach the same zone later do not\n"
        "count: each encounter of a team with a construct is one zone.\n"
        "A live job runs until a worker in focus is about to enter one: TARGET is required. -each: until\n"
        "one of each process in focus is; workers that have come wait there for the other processes. GCC's "
        "code\n"
        "calls nothing for some loops and masters: where one of those may come first, nothing runs, and\n"
        "--force goes to the next one that is seen.",
    .words = next_words,
    .options = next_options,
    .run = run_next,
};

/* ---- opm start */

/* Where the first worker of a process is in a parallel region, or about to begin one. */
struct started {
    const struct tg_console *console;
    const struct tg_openmp_worker *worker; /* NULL: of no process */
    uint64_t team;
    bool is_inside;
};

static struct tg_error *note_begun(void *context, const struct tg_openmp_team *team)
{
    struct started *started = context;
    if (team->process == started->worker->process && team->owner == started->worker->index)
        started->team = team->id; /* the innermost is the last */
    return NULL;
}

/* Whether WORKER, the first one of its process, has met a region that is not over. */
static bool has_started(struct started *started, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_model *model = started->console->source->moment->openmp;
    *started = (struct started){.console = started->console, .worker = worker};
    for (size_t i = 0; worker->alive && i < worker->n_places; i++) {
        started->is_inside = worker->places[i].kind == TG_OPENMP_IN_REGION;
        started->team = worker->places[i].team;
        if (started->is_inside)
            return true;
    }
    started->team = 0;
    if (worker->alive && worker->last_kind == TG_EVENT_OMP_PARALLEL_BEGIN)
        (void)tg_openmp_model_visit_teams(model, note_begun, started);
    return started->team != 0;
}

/* The same of the current worker's process, or of that in focus; OF_EACH: of one of all in focus. */
static bool find_started(struct started *started, bool of_each)
{
    const struct tg_console *console = started->console;
    const struct tg_openmp_model *model = console->source->moment->openmp;
    const struct tg_openmp_worker *current = tg_focus_worker(&console->focus, console->source);
    size_t process = current != NULL ? current->process : console->focus.process;
    for (size_t i = tg_openmp_model_worker_count(model); i-- > 0;) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        bool is_meant = of_each ? tg_focus_has(&console->focus, worker->process) : worker->process == process;
        if (is_meant && worker->number == 1 && has_started(started, worker))
            return true;
    }
    return false;
}

/* OF_EACH: the worker is one of several processes. */
static struct tg_error *refuse_started(const struct started *started, bool of_each)
{
    const struct tg_process_entry *entry =
        tg_process_model_at(started->console->source->moment->processes, started->worker->process);
    char of_rank[32] = "";
    if (entry != NULL && entry->rank >= 0)
        snprintf(of_rank, sizeof of_rank, " of rank %" PRId64, (int64_t)entry->rank);
    else if (of_each)
        snprintf(of_rank, sizeof of_rank, " of process %zu", started->worker->process + 1);
    return tg_error_create(TG_ERROR_USAGE,
                           "worker 1%s is already %s parallel region %" PRIu64
                           "; `opm start --force` goes to the next one%s",
                           of_rank, started->is_inside ? "in" : "at the beginning of", started->team,
                           started->is_inside ? " anyway" : ", `opm step` into this one");
}

struct starting {
    bool force, each;
};

static const struct tg_console_option start_options[] = {
    TG_OPTION_FLAG("--force", struct starting, force), TG_OPTION_FLAG("-each", struct starting, each), {0}};

static struct tg_error *run_start(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct starting starting = {0};
    struct tg_error *error = tg_console_take_options(&tg_console_opm_start, argc, argv, &starting, NULL);
    if (error != NULL)
        return error;
    if (starting.each && console->options.live == NULL)
        return refuse_option("-each");
    struct started started = {.console = console};
    if (console->options.live != NULL) /* without an agent the latest events may be on their way */
        tg_console_catch_up(console);
    if (!starting.force && find_started(&started, starting.each))
        return refuse_started(&started, starting.each);
    return console->options.live != NULL
               ? go_live(console, starting.each, false, TG_TARGET_PARALLEL, "parallel", out)
               : go_to_zone(console, TG_TARGET_PARALLEL, "parallel", out);
}

const struct tg_console_command tg_console_opm_start = {
    .name = "opm start",
    .arguments = "?--force? ?-each?",
    .summary = "goes to the start of the first, or next, parallel region",
    .example = "opm start",
    .more = "The worker that begins the region becomes the current one. If the first worker is already\n"
            "in a region, or at the beginning of one, --force is required. In a live job that begins with a "
            "launcher or a shell it is the\n"
            "first process that comes to a region, or the ranks; -each as for `opm next`.",
    .options = start_options,
    .run = run_start,
};
