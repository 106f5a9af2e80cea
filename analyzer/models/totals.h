/* Totals of a trace: events by kind, breakpoints, filter settings, losses and notes. */
#ifndef TG_ANALYZER_MODELS_TOTALS_H
#define TG_ANALYZER_MODELS_TOTALS_H

#include "format/base/error.h"
#include "format/base/string_pool.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

struct tg_kind_total {
    enum tg_event_kind kind;
    uint64_t events;
    uint64_t stops; /* events that carried a stop */
    uint64_t stop_ns;
    uint64_t longest_ns;
};

struct tg_breakpoint_total {
    uint64_t breakpoint; /* id */
    const char *text;    /* specification, "" where it was not recorded */
    uint64_t planted;    /* in time and late */
    uint64_t late;
    uint64_t longest_window_ns; /* of the late ones */
    uint64_t removed;
    uint64_t hits;
};

struct tg_settings_period { /* filter settings in force from a time on */
    uint64_t time_ns;
    uint64_t mode;
    const char *match;
};

struct tg_loss_total { /* losses of one source for one reason */
    uint64_t source;
    const char *reason;
    uint64_t events;  /* loss events */
    uint64_t count;   /* events lost, as far as known */
    uint64_t unknown; /* loss events that do not know how many */
    uint64_t first_ns;
};

struct tg_note_total {
    const char *text;
    uint64_t count;
    uint64_t first_ns;
    int32_t first_pid; /* 0: the recorder */
};

struct tg_filter_totals {
    uint64_t decisions[3]; /* by enum tg_filter_decision */
    uint64_t batches;      /* deferred_handled events */
    uint64_t batch_events, batch_libraries, batch_handle_ns;
    uint64_t largest_batch; /* libraries */
};

enum { TG_TOTALS_MAX_DISTINCT = 1000 }; /* breakpoints, settings, losses, notes kept; the rest is counted */

/* Read-only for others; lists in order of appearance, breakpoints by id after finish. */
struct tg_totals {
    struct tg_string_pool strings;
    struct tg_kind_total *kinds; /* every kind, ascending */
    size_t n_kinds;
    struct tg_breakpoint_total *breakpoints;
    size_t n_breakpoints;
    struct tg_settings_period *settings;
    size_t n_settings;
    struct tg_loss_total *losses;
    size_t n_losses;
    struct tg_note_total *notes;
    size_t n_notes;
    uint64_t beyond_limit; /* of the above, events that found no room */
    struct tg_filter_totals filter;
};

struct tg_error *tg_totals_create(struct tg_totals **model);
void tg_totals_destroy(struct tg_totals *model);
/* Makes an independent copy. */
struct tg_error *tg_totals_copy(const struct tg_totals *model, struct tg_totals **copy);

/* Takes one event of a kind of which it has nothing but how many there are: all kinds of OpenMP and MPI. */
static inline void tg_totals_count(struct tg_totals *model, const struct tg_event *event)
{
    struct tg_kind_total *total = &model->kinds[tg_event_kind_place(event->kind)];
    total->events++;
    if (event->stop_ns == 0)
        return;
    total->stops++;
    total->stop_ns += event->stop_ns;
    if (event->stop_ns > total->longest_ns)
        total->longest_ns = event->stop_ns;
}

/* Takes one event. Only error: NO_MEMORY. */
struct tg_error *tg_totals_feed(struct tg_totals *model, const struct tg_event *event);

/* After the last event: puts the lists in their final order. */
void tg_totals_finish(struct tg_totals *model);

#endif
