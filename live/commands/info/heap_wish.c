#include "live/commands/info/heap_wish.h"

#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "format/event/event.h"
#include "live/commands/info/heap_stop.h"

#include <inttypes.h>
#include <string.h>

static const struct tg_heap_wishes *wishes_of(const struct tg_console *console)
{
    const struct tg_source *source = console->source;
    return source->ops->heap_wishes == NULL ? NULL : source->ops->heap_wishes(source);
}

bool tg_heap_wish_is_off(const struct tg_console *console, enum tg_heap_part part)
{
    const struct tg_heap_wishes *wishes = wishes_of(console);
    if (wishes == NULL)
        return false;
    return (part == TG_HEAP_PART_GUARD && wishes->no_guards) ||
           (part == TG_HEAP_PART_PAINT && wishes->no_paint_allocated && wishes->no_paint_freed) ||
           (part == TG_HEAP_PART_HOARD && wishes->no_hoard) ||
           (part == TG_HEAP_PART_RED_ZONES && wishes->no_red_zones);
}

bool tg_heap_wish_is_silent(const struct tg_console *console, uint64_t error)
{
    const struct tg_heap_wishes *wishes = wishes_of(console);
    return wishes != NULL && (wishes->silent_errors >> error & 1) != 0;
}

const char *tg_heap_wish_painted(const struct tg_console *console)
{
    const struct tg_heap_wishes *wishes = wishes_of(console);
    if (wishes == NULL || wishes->no_paint_allocated == wishes->no_paint_freed)
        return "";
    return wishes->no_paint_allocated ? "freed " : "allocated ";
}

uint64_t tg_heap_wish_hoard_bytes(const struct tg_console *console)
{
    const struct tg_heap_wishes *wishes = wishes_of(console);
    return wishes == NULL ? 0 : wishes->hoard_bytes;
}

bool tg_heap_wish_changes(const struct tg_heap_wish *wish)
{
    return wish->set != TG_HEAP_SWITCH_NONE || wish->set_alloc != TG_HEAP_SWITCH_NONE ||
           wish->set_dealloc != TG_HEAP_SWITCH_NONE || wish->notify_dealloc != TG_HEAP_SWITCH_NONE ||
           wish->notify_realloc != TG_HEAP_SWITCH_NONE || wish->max_kb != 0;
}

static void turn(enum tg_heap_switch to, bool *off)
{
    if (to != TG_HEAP_SWITCH_NONE)
        *off = to == TG_HEAP_SWITCH_OFF;
}

/* ---- errors that stop a job */

struct tg_error *tg_heap_wish_find_event(const char *word, uint64_t *kind)
{
    const char *name;
    char shown[64];
    for (*kind = 0; (name = tg_event_value_name(TG_EVENT_HEAP_ERROR, "error", *kind)) != NULL; ++*kind)
        if (strcmp(name, word) == 0)
            return NULL;
    return tg_error_create(TG_ERROR_USAGE,
                           "dheap -event_filter: unknown event '%s' (`dheap -event_filter` lists them)",
                           tg_printable(word, shown, sizeof shown));
}

static struct tg_error *filter(struct tg_heap_wishes *wishes, const struct tg_heap_wish *wish)
{
    uint64_t kind = 0;
    struct tg_error *error = wish->event == NULL ? NULL : tg_heap_wish_find_event(wish->event, &kind);
    if (error != NULL)
        return error;
    uint32_t bits = wish->event == NULL ? UINT32_MAX : UINT32_C(1) << kind;
    if (wish->set == TG_HEAP_SWITCH_OFF)
        wishes->silent_errors |= bits;
    else
        wishes->silent_errors &= ~bits;
    return NULL;
}

/* ---- tags */

static struct tg_heap_tag *find_tag(struct tg_heap_wishes *wishes, const struct tg_heap_wish *wish,
                                    int64_t pid)
{
    for (size_t i = 0; i < wishes->n_tags; i++)
        if (wishes->tags[i].pid == pid && wishes->tags[i].start == wish->start &&
            wishes->tags[i].end == wish->end)
            return &wishes->tags[i];
    return NULL;
}

static struct tg_error *tag_one(struct tg_heap_wishes *wishes, const struct tg_heap_wish *wish, int64_t pid)
{
    struct tg_heap_tag *tag = find_tag(wishes, wish, pid);
    if (tag == NULL && wishes->n_tags == TG_HEAP_TAGS)
        return tg_error_create(TG_ERROR_LIMIT, "dheap -tag_alloc: there are %d tags already", TG_HEAP_TAGS);
    if (tag == NULL) {
        tag = &wishes->tags[wishes->n_tags++];
        *tag = (struct tg_heap_tag){.start = wish->start, .end = wish->end, .pid = pid};
    }
    if (wish->notify_dealloc != TG_HEAP_SWITCH_NONE)
        tag->dealloc = wish->notify_dealloc == TG_HEAP_SWITCH_ON;
    if (wish->notify_realloc != TG_HEAP_SWITCH_NONE)
        tag->realloc = wish->notify_realloc == TG_HEAP_SWITCH_ON;
    if (!tag->dealloc && !tag->realloc)
        *tag = wishes->tags[--wishes->n_tags];
    return NULL;
}

static struct tg_error *tag(const struct tg_console *console, struct tg_heap_wishes *wishes,
                            const struct tg_heap_wish *wish)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    struct tg_error *error = NULL;
    size_t count = 0;
    for (size_t i = 0; error == NULL && i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end != TG_PROCESS_RUNNING || !tg_focus_has(&console->focus, i))
            continue;
        error = tag_one(wishes, wish, entry->pid);
        count++;
    }
    if (error == NULL && count == 0)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "dheap -tag_alloc: no process in focus is running");
    return error;
}

struct tg_error *tg_heap_wish_list_tags(const struct tg_console *console, FILE *out)
{
    const struct tg_heap_wishes *wishes = wishes_of(console);
    if (wishes == NULL)
        return tg_error_create(
            TG_ERROR_UNSUPPORTED,
            "dheap -tag_alloc needs a live job: this is a recorded trace; see tollgate live");
    for (size_t i = 0; i < wishes->n_tags; i++) {
        const struct tg_heap_tag *tagged = &wishes->tags[i];
        fprintf(out, "process %" PRId64 ": blocks from 0x%" PRIx64 " to 0x%" PRIx64 ":%s%s\n", tagged->pid,
                tagged->start, tagged->end, tagged->dealloc ? " notify_dealloc" : "",
                tagged->realloc ? " notify_realloc" : "");
    }
    if (wishes->n_tags == 0)
        fputs("no block is tagged\n", out);
    return NULL;
}

/* ---- all */

static const char *const part_words[] = {
    [TG_HEAP_PART_NONE] = "",
    [TG_HEAP_PART_GUARD] = "guard blocks",
    [TG_HEAP_PART_PAINT] = "painting of blocks",
    [TG_HEAP_PART_HOARD] = "keeping of freed blocks",
    [TG_HEAP_PART_RED_ZONES] = "red zones",
    [TG_HEAP_PART_EVENTS] = "stops at errors",
    [TG_HEAP_PART_TAGS] = "",
};

static void put_switch(char *text, size_t size, const char *name, enum tg_heap_switch to)
{
    size_t length = strlen(text);
    if (to != TG_HEAP_SWITCH_NONE)
        snprintf(text + length, size - length, "%s%s%s", *name == '\0' ? "" : " ", name,
                 to == TG_HEAP_SWITCH_ON ? " on" : " off");
}

/* What was changed, for the person and the trace. */
static void describe(const struct tg_heap_wish *wish, char *text, size_t size)
{
    char bytes[TG_QUANTITY_SIZE];
    if (wish->part == TG_HEAP_PART_TAGS) {
        snprintf(text, size, "heap: blocks from 0x%" PRIx64 " to 0x%" PRIx64 ":", wish->start, wish->end);
        put_switch(text, size, "notify_dealloc", wish->notify_dealloc);
        put_switch(text, size, "notify_realloc", wish->notify_realloc);
        return;
    }
    snprintf(text, size, "heap: %s", part_words[wish->part]);
    if (wish->part == TG_HEAP_PART_EVENTS && wish->event != NULL)
        snprintf(text + strlen(text), size - strlen(text), " of kind %s", wish->event);
    put_switch(text, size, "", wish->set);
    put_switch(text, size, "allocated", wish->set_alloc);
    put_switch(text, size, "freed", wish->set_dealloc);
    if (wish->max_kb != 0)
        snprintf(text + strlen(text), size - strlen(text), ", up to %s",
                 tg_quantity_bytes(wish->max_kb * 1024, bytes));
}

static struct tg_error *apply(const struct tg_console *console, const struct tg_heap_wish *wish,
                              struct tg_heap_wishes *wishes, enum tg_heap_wish_needs *needs)
{
    *needs = TG_HEAP_WISH_NEEDS_CHECK;
    switch (wish->part) {
    case TG_HEAP_PART_NONE:
        return NULL;
    case TG_HEAP_PART_GUARD:
        turn(wish->set, &wishes->no_guards);
        return NULL;
    case TG_HEAP_PART_PAINT:
        turn(wish->set, &wishes->no_paint_allocated);
        turn(wish->set, &wishes->no_paint_freed);
        turn(wish->set_alloc, &wishes->no_paint_allocated);
        turn(wish->set_dealloc, &wishes->no_paint_freed);
        return NULL;
    case TG_HEAP_PART_HOARD:
        turn(wish->set, &wishes->no_hoard);
        wishes->hoard_bytes = wish->max_kb != 0 ? wish->max_kb * 1024 : wishes->hoard_bytes;
        return NULL;
    case TG_HEAP_PART_RED_ZONES:
        *needs = TG_HEAP_WISH_NEEDS_RED_ZONES;
        turn(wish->set, &wishes->no_red_zones);
        return NULL;
    case TG_HEAP_PART_EVENTS:
        return filter(wishes, wish);
    case TG_HEAP_PART_TAGS:
        *needs = TG_HEAP_WISH_NEEDS_HEAP;
        return tag(console, wishes, wish);
    }
    return NULL;
}

struct tg_error *tg_heap_wish_make(struct tg_console *console, const struct tg_heap_wish *wish, FILE *out)
{
    const struct tg_heap_wishes *present = wishes_of(console);
    char text[200];
    enum tg_heap_wish_needs needs;
    if (present == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "dheap: a recorded heap cannot be changed; see tollgate live");
    if (wish->part == TG_HEAP_PART_TAGS && !wish->has_range)
        return tg_error_create(TG_ERROR_USAGE, "dheap -tag_alloc: which block? (its address)");
    struct tg_heap_wishes wishes = *present;
    struct tg_error *error = apply(console, wish, &wishes, &needs);
    describe(wish, text, sizeof text);
    if (error == NULL)
        error = tg_error_prefix(console->source->ops->wish(console->source, &wishes, needs, text), "dheap");
    if (error == NULL && wish->part == TG_HEAP_PART_TAGS)
        error = tg_error_prefix(tg_heap_stop_at_tags(console, wishes.n_tags), "dheap -tag_alloc");
    if (error == NULL)
        fprintf(out, "%s%s\n", text + strlen("heap: "),
                wish->part == TG_HEAP_PART_TAGS || wish->part == TG_HEAP_PART_EVENTS
                    ? ""
                    : ", from now on, in all processes of the job");
    return error;
}
