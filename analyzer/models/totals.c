#include "analyzer/models/totals.h"

#include "format/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_error *tg_totals_create(struct tg_totals **model)
{
    struct tg_totals *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->n_kinds = tg_event_kind_count();
    created->kinds = calloc(created->n_kinds, sizeof *created->kinds);
    if (created->kinds == NULL) {
        free(created);
        return tg_error_no_memory();
    }
    for (size_t i = 0; i < created->n_kinds; i++)
        created->kinds[i].kind = tg_event_kind_at(i);
    *model = created;
    return NULL;
}

void tg_totals_destroy(struct tg_totals *model)
{
    if (model == NULL)
        return;
    free(model->kinds);
    free(model->breakpoints);
    free(model->settings);
    free(model->losses);
    free(model->notes);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

/* Appends a zeroed item to a list. *ITEM is NULL where the list is full: a hostile trace may name any
 * number of breakpoints. Lists are short, so they are searched from front to end. */
static struct tg_error *append(struct tg_totals *model, void *list_pointer, size_t *count, size_t size,
                               void **item)
{
    *item = NULL;
    if (*count >= TG_TOTALS_MAX_DISTINCT) {
        model->beyond_limit++;
        return NULL;
    }
    if ((*count & (*count - 1)) == 0) { /* full at every power of two */
        struct tg_error *error = tg_array_resize(list_pointer, *count == 0 ? 1 : *count * 2, size);
        if (error != NULL)
            return error;
    }
    char *list;
    memcpy(&list, list_pointer, sizeof list);
    *item = list + *count * size;
    memset(*item, 0, size);
    ++*count;
    return NULL;
}

/* A copy of FROM with the room that append() expects; NULL without memory. */
static void *copy_list(const void *from, size_t count, size_t size)
{
    size_t capacity = 1;
    while (capacity < count)
        capacity *= 2;
    void *list = malloc(capacity * size);
    if (list != NULL && count > 0)
        memcpy(list, from, count * size);
    return list;
}

struct tg_error *tg_totals_copy(const struct tg_totals *model, struct tg_totals **copy)
{
    struct tg_totals *made = malloc(sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = *model;
    made->strings = (struct tg_string_pool){0};
    tg_string_pool_share(&model->strings, &made->strings);
    made->kinds = copy_list(model->kinds, model->n_kinds, sizeof *model->kinds);
    made->breakpoints = copy_list(model->breakpoints, model->n_breakpoints, sizeof *model->breakpoints);
    made->settings = copy_list(model->settings, model->n_settings, sizeof *model->settings);
    made->losses = copy_list(model->losses, model->n_losses, sizeof *model->losses);
    made->notes = copy_list(model->notes, model->n_notes, sizeof *model->notes);
    if (made->kinds == NULL || made->breakpoints == NULL || made->settings == NULL || made->losses == NULL ||
        made->notes == NULL) {
        tg_totals_destroy(made);
        return tg_error_no_memory();
    }
    *copy = made;
    return NULL;
}

static struct tg_error *find_breakpoint(struct tg_totals *model, uint64_t id,
                                        struct tg_breakpoint_total **found)
{
    *found = NULL;
    for (size_t i = 0; i < model->n_breakpoints; i++)
        if (model->breakpoints[i].breakpoint == id) {
            *found = &model->breakpoints[i];
            return NULL;
        }
    void *item;
    struct tg_error *error =
        append(model, &model->breakpoints, &model->n_breakpoints, sizeof *model->breakpoints, &item);
    if (item != NULL) {
        *found = item;
        **found = (struct tg_breakpoint_total){.breakpoint = id, .text = ""};
    }
    return error;
}

static struct tg_error *take_breakpoint(struct tg_totals *model, const struct tg_event *event)
{
    uint64_t id = event->kind == TG_EVENT_BREAKPOINT_SPEC      ? event->breakpoint_spec.breakpoint
                  : event->kind == TG_EVENT_BREAKPOINT_PLANTED ? event->breakpoint_planted.breakpoint
                  : event->kind == TG_EVENT_BREAKPOINT_REMOVED ? event->breakpoint_removed.breakpoint
                                                               : event->breakpoint_hit.breakpoint;
    struct tg_breakpoint_total *total;
    struct tg_error *error = find_breakpoint(model, id, &total);
    if (error != NULL || total == NULL)
        return error;
    if (event->kind == TG_EVENT_BREAKPOINT_SPEC)
        return tg_string_pool_intern(&model->strings, event->breakpoint_spec.text, &total->text);
    if (event->kind == TG_EVENT_BREAKPOINT_REMOVED) {
        total->removed++;
    } else if (event->kind == TG_EVENT_BREAKPOINT_HIT) {
        total->hits++;
    } else {
        total->planted++;
        total->late += event->breakpoint_planted.late != 0;
        if (event->breakpoint_planted.window_ns > total->longest_window_ns)
            total->longest_window_ns = event->breakpoint_planted.window_ns;
    }
    return NULL;
}

static struct tg_error *take_settings(struct tg_totals *model, const struct tg_event *event)
{
    const char *match;
    struct tg_error *error = tg_string_pool_intern(&model->strings, event->filter_settings.match, &match);
    if (error != NULL)
        return error;
    if (model->n_settings > 0) {
        const struct tg_settings_period *last = &model->settings[model->n_settings - 1];
        if (last->mode == event->filter_settings.mode && last->match == match)
            return NULL;
    }
    void *item;
    error = append(model, &model->settings, &model->n_settings, sizeof *model->settings, &item);
    if (item != NULL)
        *(struct tg_settings_period *)item = (struct tg_settings_period){
            .time_ns = event->time_ns, .mode = event->filter_settings.mode, .match = match};
    return error;
}

static struct tg_error *take_loss(struct tg_totals *model, const struct tg_event *event)
{
    const char *reason;
    struct tg_error *error = tg_string_pool_intern(&model->strings, event->loss.reason, &reason);
    if (error != NULL)
        return error;
    struct tg_loss_total *total = NULL;
    for (size_t i = 0; i < model->n_losses && total == NULL; i++)
        if (model->losses[i].source == event->loss.source && model->losses[i].reason == reason)
            total = &model->losses[i];
    if (total == NULL) {
        void *item;
        error = append(model, &model->losses, &model->n_losses, sizeof *model->losses, &item);
        if (item == NULL)
            return error;
        total = item;
        *total = (struct tg_loss_total){
            .source = event->loss.source, .reason = reason, .first_ns = event->time_ns};
    }
    total->events++;
    total->count += tg_loss_count(event->loss.count);
    total->unknown += tg_loss_count(event->loss.count) == 0;
    return NULL;
}

static struct tg_error *take_note(struct tg_totals *model, const struct tg_event *event, const char *note)
{
    const char *text;
    struct tg_error *error = tg_string_pool_intern(&model->strings, note, &text);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < model->n_notes; i++)
        if (model->notes[i].text == text) {
            model->notes[i].count++;
            return NULL;
        }
    void *item;
    error = append(model, &model->notes, &model->n_notes, sizeof *model->notes, &item);
    if (item != NULL)
        *(struct tg_note_total *)item = (struct tg_note_total){
            .text = text, .count = 1, .first_ns = event->time_ns, .first_pid = event->pid};
    return error;
}

/* Counts a missing agent as a loss: without it, nothing seems to have happened. */
static struct tg_error *take_agent(struct tg_totals *model, const struct tg_event *event)
{
    char *text;
    if (event->agent.state != TG_AGENT_ASIDE)
        return NULL;
    if (asprintf(&text, "without the agent: %s", event->agent.reason) < 0)
        return tg_error_no_memory();
    struct tg_error *error = take_note(model, event, text);
    free(text);
    return error;
}

static void take_filter(struct tg_filter_totals *totals, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_FILTER_DECISION) {
        uint64_t decision = event->filter_decision.decision;
        if (decision < sizeof totals->decisions / sizeof *totals->decisions)
            totals->decisions[decision]++;
        return;
    }
    const struct tg_event_deferred_handled *batch = &event->deferred_handled;
    totals->batches++;
    totals->batch_events += batch->events;
    totals->batch_libraries += batch->libraries;
    totals->batch_handle_ns += batch->handle_ns;
    if (batch->libraries > totals->largest_batch)
        totals->largest_batch = batch->libraries;
}

struct tg_error *tg_totals_feed(struct tg_totals *model, const struct tg_event *event)
{
    tg_totals_count(model, event);
    switch ((unsigned)event->kind) {
    case TG_EVENT_BREAKPOINT_SPEC:
    case TG_EVENT_BREAKPOINT_PLANTED:
    case TG_EVENT_BREAKPOINT_REMOVED:
    case TG_EVENT_BREAKPOINT_HIT:
        return take_breakpoint(model, event);
    case TG_EVENT_FILTER_SETTINGS:
        return take_settings(model, event);
    case TG_EVENT_FILTER_DECISION:
    case TG_EVENT_DEFERRED_HANDLED:
        take_filter(&model->filter, event);
        return NULL;
    case TG_EVENT_LOSS:
        return take_loss(model, event);
    case TG_EVENT_NOTE:
        return take_note(model, event, event->note.text);
    case TG_EVENT_AGENT:
        return take_agent(model, event);
    default:
        return NULL;
    }
}

static int compare_breakpoints(const void *left, const void *right)
{
    const struct tg_breakpoint_total *a = left, *b = right;
    return a->breakpoint < b->breakpoint ? -1 : a->breakpoint > b->breakpoint;
}

void tg_totals_finish(struct tg_totals *model)
{
    if (model->n_breakpoints > 1)
        qsort(model->breakpoints, model->n_breakpoints, sizeof *model->breakpoints, compare_breakpoints);
}
