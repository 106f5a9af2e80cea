#include "analyzer/filter/check.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries of one process that are kept until their partners come; further ones are only counted. */
enum { MAX_WAITING = 256 };

/* One decision or handling, recorded or predicted. */
struct entry {
    uint64_t time_ns;
    uint64_t what;      /* decision or trigger */
    uint64_t rule;      /* or events */
    uint64_t libraries; /* handlings only */
    char *pattern;      /* decisions only; owned */
    char *library;
};

/* Entries of one side that have no partner yet, the oldest first. */
struct queue {
    struct entry *entries;
    size_t count, capacity;
    bool predicted; /* the side of all entries */
};

struct slot {
    int32_t pid;
    bool ignore_decision; /* the latest load was at start-up or attach: no event for the filter */
    struct queue decisions;
    struct queue handlings;
    bool is_in_process; /* loads go on while deferred ones are handled: not predictable */
    UT_hash_handle hh;
};

struct tg_filter_check {
    struct slot *slots; /* uthash by pid */
    struct tg_filter_check_result result;
};

struct tg_error *tg_filter_check_create(struct tg_filter_check **check)
{
    struct tg_filter_check *new = calloc(1, sizeof *new);
    if (new == NULL)
        return tg_error_no_memory();
    *check = new;
    return NULL;
}

static void free_entry(struct entry *entry)
{
    free(entry->pattern);
    free(entry->library);
}

static void free_queue(struct queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        free_entry(&queue->entries[i]);
    free(queue->entries);
    *queue = (struct queue){0};
}

static void free_slot(struct tg_filter_check *check, struct slot *slot)
{
    HASH_DEL(check->slots, slot);
    free_queue(&slot->decisions);
    free_queue(&slot->handlings);
    free(slot);
}

void tg_filter_check_destroy(struct tg_filter_check *check)
{
    if (check == NULL)
        return;
    struct slot *slot, *next;
    HASH_ITER (hh, check->slots, slot, next) {
        free_slot(check, slot);
    }
    free(check);
}

static struct tg_error *find_slot(struct tg_filter_check *check, int32_t pid, struct slot **found)
{
    struct tg_error *error = NULL;
    HASH_FIND(hh, check->slots, &pid, sizeof pid, *found);
    if (*found == NULL)
        error = TG_HASH_CREATE(hh, check->slots, pid, &pid, *found);
    return error;
}

static const char *name_in(unsigned kind, const char *field, uint64_t value)
{
    const char *name = tg_event_value_name(kind, field, value);
    return name != NULL ? name : "?";
}

static void describe(char *buffer, size_t size, const struct entry *entry, bool decision)
{
    if (entry == NULL)
        snprintf(buffer, size, "nothing");
    else if (decision)
        snprintf(buffer, size, "%s by %s \"%.60s\"",
                 name_in(TG_EVENT_FILTER_DECISION, "decision", entry->what),
                 name_in(TG_EVENT_FILTER_DECISION, "rule", entry->rule), entry->pattern);
    else
        snprintf(buffer, size, "%" PRIu64 " libraries of %" PRIu64 " events handled at %s", entry->libraries,
                 entry->rule, name_in(TG_EVENT_DEFERRED_HANDLED, "trigger", entry->what));
}

static void differ(struct tg_filter_check *check, int32_t pid, const struct entry *recorded,
                   const struct entry *predicted, bool decision)
{
    struct tg_filter_check_result *result = &check->result;
    if (decision)
        result->decisions_differ++;
    else
        result->handlings_differ++;
    if (result->first[0] != '\0')
        return;
    char ours[160], theirs[160];
    describe(ours, sizeof ours, predicted, decision);
    describe(theirs, sizeof theirs, recorded, decision);
    snprintf(result->first, sizeof result->first,
             "pid %" PRId32 " at %" PRIu64 " ns: recorded %s, predicted %s", pid,
             recorded != NULL ? recorded->time_ns : predicted->time_ns, theirs, ours);
}

static bool same(const struct entry *a, const struct entry *b, bool decision)
{
    if (a->what != b->what || a->rule != b->rule)
        return false;
    return decision ? strcmp(a->pattern, b->pattern) == 0 && strcmp(a->library, b->library) == 0
                    : a->libraries == b->libraries;
}

static struct tg_error *push(struct queue *queue, const struct entry *entry, bool predicted)
{
    struct entry copy = *entry;
    if (entry->pattern != NULL) {
        copy.pattern = strdup(entry->pattern);
        copy.library = strdup(entry->library);
        if (copy.pattern == NULL || copy.library == NULL) {
            free_entry(&copy);
            return tg_error_no_memory();
        }
    }
    struct tg_error *error = TG_ARRAY_APPEND(queue->entries, queue->count, queue->capacity, copy);
    if (error == NULL)
        queue->predicted = predicted;
    else
        free_entry(&copy);
    return error;
}

/* Matches ENTRY (strings borrowed) with the oldest one of the other side, or keeps it until there is one. */
static struct tg_error *meet(struct tg_filter_check *check, int32_t pid, struct queue *queue,
                             const struct entry *entry, bool predicted, bool decision)
{
    if (queue->count == 0 || queue->predicted == predicted) {
        if (queue->count < MAX_WAITING)
            return push(queue, entry, predicted);
        differ(check, pid, predicted ? NULL : entry, predicted ? entry : NULL, decision);
        return NULL;
    }
    struct entry partner = queue->entries[0];
    TG_ARRAY_REMOVE(queue->entries, queue->count, 0);
    if (decision)
        check->result.decisions++;
    else
        check->result.handlings++;
    if (!same(entry, &partner, decision))
        differ(check, pid, predicted ? &partner : entry, predicted ? entry : &partner, decision);
    free_entry(&partner);
    return NULL;
}

struct tg_error *tg_filter_check_predict(struct tg_filter_check *check,
                                         const struct tg_filter_prediction *prediction)
{
    if (prediction->by_agent)
        return NULL; /* the recorder did not filter there */
    struct slot *slot = NULL;
    struct tg_error *error = find_slot(check, prediction->pid, &slot);
    if (error != NULL)
        return error;
    bool decision = prediction->kind == TG_PREDICTED_DECISION;
    if (!decision && slot->is_in_process)
        return NULL;
    struct entry entry = {.time_ns = prediction->time_ns};
    if (decision) {
        entry.what = prediction->decision;
        entry.rule = prediction->rule;
        entry.pattern = (char *)prediction->pattern; /* only read, and copied where it is kept */
        entry.library = (char *)prediction->library;
    } else {
        entry.what = prediction->trigger;
        entry.rule = prediction->events;
        entry.libraries = prediction->n_libraries;
    }
    return meet(check, prediction->pid, decision ? &slot->decisions : &slot->handlings, &entry, true,
                decision);
}

static void leave(struct tg_filter_check *check, struct slot *slot)
{
    for (int decision = 0; decision < 2; decision++) {
        struct queue *queue = decision ? &slot->decisions : &slot->handlings;
        for (size_t i = 0; i < queue->count; i++) {
            const struct entry *entry = &queue->entries[i];
            differ(check, slot->pid, queue->predicted ? NULL : entry, queue->predicted ? entry : NULL,
                   decision);
        }
    }
    free_slot(check, slot);
}

struct tg_error *tg_filter_check_add(struct tg_filter_check *check, const struct tg_event *event)
{
    unsigned kind = event->kind;
    if (kind != TG_EVENT_LIBRARY_LOAD && kind != TG_EVENT_FILTER_DECISION &&
        kind != TG_EVENT_DEFERRED_HANDLED && kind != TG_EVENT_PROCESS_EXIT)
        return NULL;
    struct slot *slot = NULL;
    struct tg_error *error = find_slot(check, event->pid, &slot);
    if (error != NULL)
        return error;
    struct entry entry = {.time_ns = event->time_ns};
    switch (kind) {
    case TG_EVENT_LIBRARY_LOAD:
        slot->ignore_decision = !tg_library_load_is_dlopen(&event->library_load);
        if (event->library_load.found == TG_FOUND_IN_PROCESS) {
            slot->is_in_process = true;
            free_queue(&slot->handlings);
        }
        return NULL;
    case TG_EVENT_FILTER_DECISION:
        if (slot->ignore_decision)
            return NULL;
        entry.what = event->filter_decision.decision;
        entry.rule = event->filter_decision.rule;
        entry.pattern = (char *)event->filter_decision.pattern;
        entry.library = (char *)event->filter_decision.library;
        return meet(check, event->pid, &slot->decisions, &entry, false, true);
    case TG_EVENT_DEFERRED_HANDLED:
        if (slot->is_in_process)
            return NULL;
        entry.what = event->deferred_handled.trigger;
        entry.rule = event->deferred_handled.events;
        entry.libraries = event->deferred_handled.libraries;
        return meet(check, event->pid, &slot->handlings, &entry, false, false);
    default:
        leave(check, slot);
        return NULL;
    }
}

void tg_filter_check_finish(struct tg_filter_check *check, struct tg_filter_check_result *result)
{
    struct slot *slot, *next;
    HASH_ITER (hh, check->slots, slot, next) {
        leave(check, slot);
    }
    *result = check->result;
}
