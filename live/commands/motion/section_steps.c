#include "live/commands/motion/section_steps.h"

#include "live/commands/info/worker_marks.h"
#include "live/commands/motion/gate_run.h"
#include "live/commands/motion/live_zones.h"
#include "live/source/zone_counter.h"

#include <inttypes.h>

static const struct tg_openmp_place *find_place(const struct tg_openmp_worker *worker,
                                                const struct tg_section_steps *steps)
{
    for (size_t i = worker->n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_SECTIONS &&
            place->team == steps->team && place->code == steps->code)
            return place;
    }
    return NULL;
}

/* ---- the beginning */

/* Workers inside of a section. */
static uint64_t count_inside(const struct tg_openmp_model *model, const struct tg_section_steps *steps)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(model, steps->process, steps->team);
    uint64_t n_inside = 0;
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        const struct tg_openmp_place *place =
            find_place(tg_openmp_model_worker_at(model, team->members[i].worker), steps);
        n_inside += place != NULL && place->section > 0;
    }
    return n_inside;
}

static void set_one_runs(const struct tg_console *console, bool one_runs)
{
    bool *is_set = tg_console_state(console, &tg_one_runs_kind);
    if (is_set != NULL)
        *is_set = one_runs;
}

void tg_section_steps_start(struct tg_console *console, const struct tg_openmp_worker *worker,
                            const struct tg_openmp_place *place, FILE *out)
{
    struct tg_catches *catches = tg_console_state(console, &tg_catches_kind);
    struct tg_section_steps *steps = &catches->steps;
    struct tg_zone_sections zone = {.begun = UINT64_MAX};
    *steps = (struct tg_section_steps){
        .is_on = true, .process = worker->process, .team = place->team, .code = place->code};
    tg_zone_counter_sections(console->source->moment->zones, worker->process, place->team, place->code,
                             &zone);
    steps->number = zone.number;
    steps->count = zone.count;
    uint64_t n_inside = count_inside(console->source->moment->openmp, steps);
    set_one_runs(console, console->options.live != NULL);
    if (console->options.live != NULL)
        fprintf(
            out,
            "Setting scheduler-locking to 'on' for stepping between sections: one worker runs at a time.\n");
    fprintf(out, "SectionJob #%" PRIu64 " has ", steps->number);
    if (steps->count == 0)
        fputs("an unknown number of sections, ", out);
    else
        fprintf(out, "%" PRIu64 " section%s, ", steps->count, steps->count == 1 ? "" : "s");
    if (zone.begun == UINT64_MAX || zone.begun < n_inside)
        fputs("an unknown number completed", out);
    else
        fprintf(out, "%" PRIu64 " already completed", zone.begun - n_inside);
    if (n_inside > 0)
        fprintf(out, ", %" PRIu64 " begun and not completed", n_inside);
    fprintf(out, ".\nSection zone breakpoint enabled on SectionJob #%" PRIu64 ".\n", steps->number);
}

/* ---- words */

void tg_section_steps_tell_section(uint64_t number, FILE *out)
{
    if (number == 0)
        fputs("[Starting execution of the worker's sections, several in a row.]\n", out);
    else
        fprintf(out, "[Starting execution of Section %" PRIu64 ".]\n", number);
}

void tg_section_steps_tell_end(const struct tg_section_steps *steps, bool is_live, FILE *out)
{
    if (is_live)
        fputs("Zone stepping finished, disabling scheduler-locking.\n", out);
    fprintf(out, "[SectionJob #%" PRIu64 " finished.]\n", steps->number);
}

/* ---- in a live job */

/* LLVM's runtime shares sections out beforehand: each worker has its own. */
static bool is_shared_out(const struct tg_openmp_place *place)
{
    return place->seen == TG_OMP_OMPT;
}

/* How often the member with number THREAD_NUM came to the zone. */
static uint64_t visits(const struct tg_console *console, const struct tg_section_steps *steps,
                       uint64_t thread_num)
{
    const struct tg_zone_visit visit = {steps->process, steps->team, thread_num, TG_TARGET_SECTIONS,
                                        steps->code};
    return tg_zone_counter_visits(console->source->moment->zones, &visit);
}

/* The member with the least number that is in the zone, or is still to come to it where sections are shared out; NULL
 * none. */
static const struct tg_openmp_worker *find_next(const struct tg_console *console,
                                                const struct tg_section_steps *steps)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, steps->process, steps->team);
    const struct tg_openmp_member *found = NULL;
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        bool is_in = find_place(tg_openmp_model_worker_at(model, member->worker), steps) != NULL;
        bool is_to_come = steps->is_shared_out && !member->ended &&
                          visits(console, steps, member->thread_num) < steps->visits;
        if ((is_in || is_to_come) && (found == NULL || member->thread_num < found->thread_num))
            found = member;
    }
    return found == NULL ? NULL : tg_openmp_model_worker_at(model, found->worker);
}

/* The worker that runs next: the current one, but where sections are shared out and it is in none, the one with the least
 * number. */
static const struct tg_openmp_worker *choose(const struct tg_console *console, struct tg_section_steps *steps,
                                             const struct tg_openmp_worker *current)
{
    const struct tg_openmp_place *place = current == NULL ? NULL : find_place(current, steps);
    if (place != NULL && steps->visits == 0) {
        steps->is_shared_out = is_shared_out(place);
        steps->visits = visits(console, steps, place->thread_num);
    }
    bool goes_on = place != NULL && (!steps->is_shared_out || place->section > 0);
    return goes_on ? current : find_next(console, steps);
}

struct tg_error *tg_section_steps_go(struct tg_console *console, struct tg_section_steps *steps, FILE *out)
{
    struct tg_error *error = tg_gate_run_settle(console, out);
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    if (error != NULL)
        return error;
    if (worker == NULL || worker->process != steps->process ||
        (find_place(worker, steps) == NULL && steps->visits == 0)) {
        steps->is_on = false;
        set_one_runs(console, false);
        return tg_error_create(
            TG_ERROR_NOT_FOUND,
            "the current worker is no longer inside the sections zone: stepping through it is over");
    }
    for (worker = choose(console, steps, worker); worker != NULL; worker = find_next(console, steps)) {
        bool is_over = false;
        error = tg_live_zone_next_section(console, worker, &is_over, out);
        if (error != NULL)
            return error;
        if (is_over)
            continue;
        tg_section_steps_tell_section(
            find_place(worker, steps) == NULL ? 0 : find_place(worker, steps)->section, out);
        tg_gate_run_tell_worker(console, worker, out);
        return tg_live_zone_look_at(console, worker);
    }
    steps->is_on = false;
    set_one_runs(console, false);
    tg_section_steps_tell_end(steps, true, out);
    return NULL;
}
