#include "live/commands/motion/catches.h"

#include "live/source/zone_counter.h"

#include <stdlib.h>

static bool is_in_sections(const struct tg_openmp_worker *worker, const struct tg_section_steps *steps)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_ZONE && worker->places[i].what == TG_OMP_ZONE_SECTIONS &&
            worker->places[i].team == steps->team && worker->places[i].code == steps->code)
            return true;
    return false;
}

/* Whether nobody of the team is inside of the zone any more. */
static bool is_over(const struct tg_section_steps *steps, const struct tg_openmp_model *model)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(model, steps->process, steps->team);
    for (size_t i = 0; team != NULL && i < team->n_members; i++)
        if (is_in_sections(tg_openmp_model_worker_at(model, team->members[i].worker), steps))
            return false;
    return true;
}

static enum tg_catch step_sections(struct tg_section_steps *steps, const struct tg_source *source)
{
    const struct tg_event *event = source->event;
    if (source->moment->entry->index != steps->process)
        return TG_CATCH_NOTHING;
    if (event->kind == TG_EVENT_OMP_SECTION && event->omp_section.team == steps->team)
        return TG_CATCH_SECTION;
    if (!is_over(steps, source->moment->openmp))
        return TG_CATCH_NOTHING;
    steps->is_on = false;
    return TG_CATCH_SECTIONS_DONE;
}

enum tg_catch tg_catches_look(struct tg_catches *catches, const struct tg_source *source,
                              const struct tg_focus *focus)
{
    const struct tg_process_entry *entry = source->moment->entry;
    if (entry == NULL)
        return TG_CATCH_NOTHING;
    if (catches->steps.is_on) {
        enum tg_catch found = step_sections(&catches->steps, source);
        if (found != TG_CATCH_NOTHING)
            return found;
    }
    bool is_sections = catches->sections && tg_focus_has_event(focus, source) &&
                       tg_zone_counter_is_first(source->moment->zones) &&
                       tg_zone_target_of(source->event) == TG_TARGET_SECTIONS;
    return is_sections ? TG_CATCH_SECTIONS : TG_CATCH_NOTHING;
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct tg_catches));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

const struct tg_console_state_kind tg_catches_kind = {.create = create, .destroy = free};
