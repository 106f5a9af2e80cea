/* dcont: to what `opm sections` asked for, or the end of a trace; in a live job until all threads stop. */
#include "live/commands/control/run.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/catches.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/motion/motion.h"
#include "live/commands/motion/section_steps.h"
#include "live/console/options.h"

#include <inttypes.h>

struct continuing {
    const struct tg_focus *focus;
    struct tg_catches *catches;
    enum tg_catch found;
};

static bool is_caught(void *context, const struct tg_source *source)
{
    struct continuing *continuing = context;
    continuing->found = tg_catches_look(continuing->catches, source, continuing->focus);
    return continuing->found != TG_CATCH_NOTHING;
}

static void tell_catch(const struct tg_event *event, const struct continuing *continuing, FILE *out)
{
    switch (continuing->found) {
    case TG_CATCH_SECTIONS:
        if (event->omp_zone_begin.count > 0)
            fprintf(out, "start of a sections zone with %" PRIu64 " sections\n", event->omp_zone_begin.count);
        else
            fputs("start of a sections zone\n", out);
        break;
    case TG_CATCH_SECTION:
        tg_section_steps_tell_section(event->omp_section.section, out);
        break;
    case TG_CATCH_SECTIONS_DONE:
        tg_section_steps_tell_end(&continuing->catches->steps, false, out);
        break;
    case TG_CATCH_NOTHING:
        break;
    }
}

static const struct tg_console_option options[] = {
    TG_OPTION_FLAG("-any", struct tg_run_limits, any),
    {"-timeout", TG_OPTION_SECONDS, TG_OPTION_IN(struct tg_run_limits, seconds)},
    {0}};

static struct tg_error *continue_trace(struct tg_console *console, FILE *out)
{
    struct continuing continuing = {.focus = &console->focus,
                                    .catches = tg_console_state(console, &tg_catches_kind)};
    if (!continuing.catches->sections && !continuing.catches->steps.is_on) {
        const struct tg_target end = {.kind = TG_TO_END};
        struct tg_error *error = tg_motion_go(console, &end);
        return error != NULL ? error : tg_console_print_place(console, out);
    }
    struct tg_catches former = *continuing.catches;
    struct tg_error *error = tg_motion_until(console, is_caught, &continuing, "requested stop");
    if (error != NULL) {
        *continuing.catches = former;
        return error;
    }
    tg_motion_follow(console);
    tell_catch(console->source->event, &continuing, out);
    return tg_console_print_place(console, out);
}

/* ---- in a live job */

static struct tg_error *continue_live(struct tg_console *console, const struct tg_run_limits *limits,
                                      FILE *out)
{
    struct tg_catches *catches = tg_console_state(console, &tg_catches_kind);
    if (catches->steps.is_on)
        return tg_section_steps_go(console, &catches->steps, out);
    if (!catches->sections)
        return tg_run_continue(console, limits, out);
    if (limits->any)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "dcont: -any cannot be combined with `opm sections new`");
    struct tg_error *error = tg_live_zone_go_within(console, TG_TARGET_SECTIONS, "sections",
                                                    limits->seconds > 0 ? limits->seconds : 0, out);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND)
        return error;
    tg_error_destroy(error); /* the threads stopped for other reasons, or have ended */
    return NULL;
}

static struct tg_error *run_dcont(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct tg_run_limits limits = {.seconds = -1};
    struct tg_error *error = tg_console_take_options(&tg_console_dcont, argc, argv, &limits, NULL);
    if (error != NULL)
        return error;
    if (console->options.live != NULL)
        return continue_live(console, &limits, out);
    return argc == 0 ? continue_trace(console, out)
                     : tg_error_create(TG_ERROR_UNSUPPORTED,
                                       "-any and -timeout are for live jobs; see tollgate live");
}

const struct tg_console_command tg_console_dcont = {
    .name = "dcont",
    .arguments = "?-any? ?-timeout SECONDS?",
    .summary =
        "continues to the next stop of `opm sections` or the end; in a live job until all threads stop",
    .example = "dcont",
    .more =
        "In a live job, -any ends the wait once one of the resumed threads has stopped. Ctrl-C stops the\n"
        "threads in focus; the timeout ends the wait with an error, and what runs keeps running.\n"
        "-any does not go with `opm sections new`.",
    .options = options,
    .run = run_dcont,
};
