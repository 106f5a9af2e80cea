#include "analyzer/filter/report.h"

#include "analyzer/filter/tables.h"
#include "analyzer/output/paragraph.h"
#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "format/settings/dlopen_filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_LIST = 72 };

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The text on its way: tables go to STREAM as they are, sentences by way of PROSE, which settles their width. */
struct page {
    FILE *stream;
    size_t columns; /* 0 no limit */
    bool colour;
    char *text; /* of PROSE */
    size_t size;
    FILE *prose;
};

/* What was written to PROSE goes to STREAM. */
static void settle(struct page *page)
{
    fflush(page->prose);
    if (page->size > 0) {
        page->text[page->size] = '\0'; /* what was settled before may have been longer */
        tg_paragraph_write_all(page->stream, page->columns, page->text);
    }
    rewind(page->prose);
}

static void write_head(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_survey *survey = &evaluation->survey;
    char a[TG_QUANTITY_SIZE], b[TG_QUANTITY_SIZE], c[TG_QUANTITY_SIZE];
    fprintf(stream, "%s dlopen event%s loaded %s librar%s; %s null event%s.",
            tg_quantity_count(survey->dlopen_events, a), plural(survey->dlopen_events),
            tg_quantity_count(survey->libraries, b), survey->libraries == 1 ? "y" : "ies",
            tg_quantity_count(survey->null_events, c), plural(survey->null_events));
    if (survey->settings_changed)
        fputs(" The filter changed during the recording.", stream);
    else if (survey->agent_events > 0 && survey->agent_events == survey->dlopen_events)
        fputs(" Recorded by the agent, without a filter.", stream);
    else if (survey->has_settings)
        fprintf(stream, " Recorded in %s mode.", tg_dlopen_filter_mode_name(survey->mode));
    putc('\n', stream);
    if (survey->unseen && survey->catch_up_events == 0)
        fputs("note: In fast mode null events, and libraries that were closed before a stop, are not seen, "
              "so the figures for "
              "Slow and Medium are lower bounds. For exact figures, record with --mode slow.\n",
              stream);
    else if (survey->unseen)
        fprintf(
            stream,
            "note: %" PRIu64 " event%s found without a loader stop; each may combine several dlopens and "
            "their null events, and libraries that were closed before a stop are missing, so the figures for "
            "Slow and Medium are lower bounds. For exact figures, record with --mode slow.\n",
            survey->catch_up_events, survey->catch_up_events == 1 ? " was" : "s were");
    if (survey->agent_events > 0)
        fprintf(stream,
                "note: %" PRIu64
                " event%s recorded by the agent, without a stop; what stops would have cost is "
                "estimated.\n",
                survey->agent_events, survey->agent_events == 1 ? " was" : "s were");
    if (survey->list_is_redacted)
        fputs("note: the trace is redacted: its glob-list is not known, so nothing is said of it and no "
              "decision is "
              "checked; --match and --break apply to the replaced names.\n",
              stream);
    if (evaluation->summary.truncated)
        fputs("note: the trace is incomplete; the figures cover the part that is there.\n", stream);
    if (survey->has_loss)
        fprintf(stream, "note: %" PRIu64 " event%s lost during recording.\n", survey->lost_events,
                survey->lost_events == 1 ? " was" : "s were");
}

static void write_list(FILE *stream, const char *match)
{
    char text[TG_GLOB_LIST_MAX_BYTES < 4096 ? TG_GLOB_LIST_MAX_BYTES : 4096];
    tg_printable(match, text, strlen(match) > SHORT_LIST ? SHORT_LIST : sizeof text);
    fputs(text, stream);
    if (strlen(match) > SHORT_LIST)
        fprintf(stream, " (%zu characters; --json shows all)", strlen(match));
}

static void write_legend(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    bool medium = false;
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        const struct tg_filter_column *column = &evaluation->columns[i];
        if (column->mode != TG_FILTER_MEDIUM)
            continue;
        if (medium && strcmp(column[-1].match, column->match) == 0)
            continue;
        medium = true;
        fprintf(stream, "%s: ", column->label);
        write_list(stream, column->match);
        putc('\n', stream);
    }
    if (!medium && !evaluation->has_suggestion)
        fputs("Medium needs a glob-list: give one with --match GLOBLIST, or find one with --suggest.\n",
              stream);
}

static void write_cost(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    char text[500];
    tg_cost_describe(&evaluation->survey.basis, text, sizeof text);
    fprintf(stream,
            "cost: %s; not including the client's own time for a round trip (--processes simulates it)\n",
            text);
}

static void write_check(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_check_result *check = &evaluation->check;
    if (!evaluation->has_check)
        return;
    const char *mode = evaluation->survey.settings_changed
                           ? "each setting while it was in force"
                           : tg_dlopen_filter_mode_name(evaluation->survey.mode);
    if (check->decisions_differ == 0 && check->handlings_differ == 0) {
        fprintf(stream,
                "as recorded (%s): all %" PRIu64 " decisions and %" PRIu64 " handlings match the model\n",
                mode, check->decisions, check->handlings);
        return;
    }
    fprintf(stream,
            "warning: as recorded (%s): %" PRIu64 " of %" PRIu64 " decisions and %" PRIu64 " of %" PRIu64
            " handlings differ from the model; first: ",
            mode, check->decisions_differ, check->decisions, check->handlings_differ, check->handlings);
    tg_printable_write(stream, check->first);
    putc('\n', stream);
}

static void write_cuda(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    bool any = false;
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        if (!evaluation->columns[i].outcome->defers_cuda)
            continue;
        fprintf(stream, "%s%s", any ? ", " : "warning: a CUDA driver library was loaded but not reported in ",
                evaluation->columns[i].label);
        any = true;
    }
    if (any)
        fputs("; CUDA kernel launches would be missed. To debug CUDA, add */libcuda.so* to the glob-list.\n",
              stream);
}

static struct tg_error *write_simulation(const struct tg_filter_evaluation *evaluation, struct page *page)
{
    const struct tg_simulation_options *options = &evaluation->simulation;
    if (!evaluation->has_simulation)
        return NULL;
    if (evaluation->simulated_from == 0) {
        fputs("\nNothing to simulate: no process in the trace has a dlopen event.\n", page->prose);
        settle(page);
        return NULL;
    }
    fprintf(page->prose,
            "\nSimulation: %" PRIu64 " process%s, started together, behaving like the %zu observed; %" PRIu64
            " client%s, one event at a time each, round trip %.1f us.\n",
            options->processes, options->processes == 1 ? "" : "es", evaluation->simulated_from,
            options->clients, plural(options->clients), (double)options->round_trip_ns / 1e3);
    settle(page);
    return tg_filter_table_simulation(evaluation, page->colour, page->stream);
}

/* ---- suggestion ---- */

/* What the suggestion does not know of one breakpoint. */
static void write_goal_note(const struct tg_break_goal *goal, bool blind, FILE *stream)
{
    bool anywhere = goal->spec != NULL && goal->spec->library == NULL && goal->spec->kind != TG_BREAK_ADDRESS;
    char count[TG_QUANTITY_SIZE];
    const char *what = goal->state == TG_GOAL_NOWHERE ? "not found in any file of this job"
                       : goal->perhaps > 0            ? "not looked for everywhere"
                       : goal->state == TG_GOAL_RESOLVED && blind && anywhere
                           ? "perhaps also in a library that the recording did not see"
                           : NULL;
    if (what == NULL)
        return;
    fprintf(stream, "note: %s: ", what);
    tg_printable_write(stream, goal->text);
    if (goal->state == TG_GOAL_NOWHERE)
        fputs("; the suggestion ignores it.\n", stream);
    else if (goal->perhaps > 0)
        fprintf(stream, "; %s file%s of the job %s missing here, or changed, and count%s as having it.\n",
                tg_quantity_count(goal->perhaps, count), plural(goal->perhaps),
                goal->perhaps == 1 ? "is" : "are", goal->perhaps == 1 ? "s" : "");
    else
        fputs("; the suggestion does not cover that.\n", stream);
}

static void write_reason(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    const struct tg_planting *planting = &suggestion->outcome->planting;
    bool blind = evaluation->survey.unseen || evaluation->survey.incomplete;
    if (suggestion->unknown_goals && blind)
        fputs(
            "One of the breakpoints was found nowhere, and the recording did not see all libraries, so only "
            "Slow is safe. Record with --mode slow to know more.\n",
            stream);
    else if (suggestion->unknown_goals)
        fputs(
            "The trace does not say which library one of the breakpoints is in, so only Slow is safe. Record "
            "with --break, or name the library: LIBRARY`FUNCTION.\n",
            stream);
    else if (evaluation->survey.goals.count == 0)
        fputs("No breakpoint is requested in a library that is loaded later.\n", stream);
    else
        fprintf(stream,
                "Verified by replay: %" PRIu64 " breakpoint%s planted in time, %" PRIu64 " late, %" PRIu64
                " never.\n",
                planting->in_time, plural(planting->in_time), planting->late, planting->never);
    for (size_t i = 0; i < evaluation->survey.goals.count; i++)
        write_goal_note(&evaluation->survey.goals.items[i], blind, stream);
    if (suggestion->colon && suggestion->mode == TG_FILTER_MEDIUM)
        fputs(
            "note: a library name contains ':', which a glob-list pattern cannot; `?` matches it instead.\n",
            stream);
    if (evaluation->survey.cuda && suggestion->mode == TG_FILTER_MEDIUM)
        fputs("note: a CUDA driver library was loaded, so it is reported as well; if you do not debug CUDA, "
              "remove */libcuda.so*.\n",
              stream);
}

/* What the simulation says of the suggestion, and of Slow. */
static void write_simulated_gain(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_simulation_result *ours = &evaluation->suggestion.simulation;
    const struct tg_simulation_result *slow = &evaluation->suggestion.slow_simulation;
    uint64_t ours_ns = ours->completion_ns - ours->native_ns, slow_ns = slow->completion_ns - slow->native_ns;
    char added[TG_QUANTITY_SIZE], of_slow[TG_QUANTITY_SIZE], saved[TG_QUANTITY_SIZE];
    const char *slow_bound = evaluation->survey.unseen ? ">= " : "";
    const char *bound = evaluation->suggestion.mode == TG_FILTER_FAST ? "" : slow_bound;
    fprintf(stream, "Simulated with %" PRIu64 " process%s: %s%s added to the job's time (Slow: %s%s)",
            evaluation->simulation.processes, evaluation->simulation.processes == 1 ? "" : "es", bound,
            tg_quantity_duration(ours_ns, added), slow_bound, tg_quantity_duration(slow_ns, of_slow));
    if (ours_ns < slow_ns && *bound == '\0')
        fprintf(stream, ", %s%s saved", slow_bound, tg_quantity_duration(slow_ns - ours_ns, saved));
    fputs(".\n", stream);
}

static void write_gain(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_outcome *ours = evaluation->suggestion.outcome, *slow = evaluation->slow;
    /* libraries that nothing stopped for would have had stops of their own */
    const char *of_slow = evaluation->survey.unseen ? ">= " : "";
    const char *of_ours = evaluation->suggestion.mode == TG_FILTER_FAST ? "" : of_slow;
    if (tg_cost_claim(&ours->cost) == TG_COST_FIGURE && tg_cost_claim(&slow->cost) == TG_COST_FIGURE) {
        double saved_ns = (double)slow->cost.ns - (double)ours->cost.ns;
        fprintf(stream, "Cost: %.3f ms (Slow: %.3f ms)", (double)ours->cost.ns / 1e6,
                (double)slow->cost.ns / 1e6);
        if (saved_ns > 0.01 * (double)slow->cost.ns)
            fprintf(stream, ", %.3f ms saved", saved_ns / 1e6);
        fputs(". ", stream);
    } else {
        fprintf(stream, "Stops: %s%" PRIu64 " (Slow: %s%" PRIu64 "). ", of_ours, ours->stops, of_slow,
                slow->stops);
    }
    fprintf(stream, "Round trips: %s%" PRIu64 " (Slow: %s%" PRIu64 ").\n", of_ours, ours->round_trips,
            of_slow, slow->round_trips);
    if (evaluation->suggestion.has_simulation)
        write_simulated_gain(evaluation, stream);
    else if (ours->round_trips < slow->round_trips)
        fputs("Each round trip takes the client's own time as well: `tollgate calibrate --debugger gdb` "
              "measures "
              "it, and --processes N --round-trip-us T simulates it.\n",
              stream);
}

static struct tg_error *write_suggestion(const struct tg_filter_evaluation *evaluation, struct page *page)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    static const char *const names[] = {"Slow", "Medium", "Fast"};
    if (!evaluation->has_suggestion)
        return NULL;
    struct tg_suggestion_texts texts;
    struct tg_error *error = tg_suggestion_texts_make(suggestion->mode, suggestion->match, &texts);
    if (error != NULL)
        return error;
    fprintf(page->prose, "\nSuggested: %s. ", names[suggestion->mode]);
    write_reason(evaluation, page->prose);
    write_gain(evaluation, page->prose);
    settle(page);
    fprintf(page->stream, "\nIn a settings file:\n%s\nOn a command line:\n%s\n", texts.settings,
            texts.command_line);
    tg_suggestion_texts_deinit(&texts);
    return NULL;
}

static struct tg_error *write_all(const struct tg_filter_evaluation *evaluation, struct page *page)
{
    write_head(evaluation, page->prose);
    putc('\n', page->prose);
    settle(page);
    struct tg_error *error = tg_filter_table_outcomes(evaluation, page->colour, page->stream);
    if (error != NULL)
        return error;
    putc('\n', page->prose);
    write_legend(evaluation, page->prose);
    write_cost(evaluation, page->prose);
    write_check(evaluation, page->prose);
    write_cuda(evaluation, page->prose);
    settle(page);
    error = tg_filter_table_goals(evaluation, page->colour, page->stream);
    if (error == NULL)
        error = write_simulation(evaluation, page);
    if (error == NULL)
        error = write_suggestion(evaluation, page);
    return error;
}

struct tg_error *tg_filter_write_text(const struct tg_filter_evaluation *evaluation,
                                      const struct tg_filter_text_options *options, FILE *stream)
{
    struct page page = {.stream = stream, .columns = options->columns, .colour = options->colour};
    page.prose = open_memstream(&page.text, &page.size);
    if (page.prose == NULL)
        return tg_error_no_memory();
    struct tg_error *error = write_all(evaluation, &page);
    if (fclose(page.prose) != 0 && error == NULL)
        error = tg_error_no_memory();
    free(page.text);
    return error;
}
