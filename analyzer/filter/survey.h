/* The first reading of a trace for filter evaluation: which libraries and breakpoints there are, what was
 * recorded and how, what stops cost. State + event -> state; no I/O. */
#ifndef TG_ANALYZER_FILTER_SURVEY_H
#define TG_ANALYZER_FILTER_SURVEY_H

#include "analyzer/filter/break_goals.h"
#include "analyzer/filter/cost.h"
#include "analyzer/filter/library_catalog.h"
#include "format/event/event.h"
#include "format/trace/meta.h"

#include <stdbool.h>

/* Caller's storage; initialise with tg_filter_survey_init. Read the members freely. */
struct tg_filter_survey {
    struct tg_library_catalog *catalog;
    struct tg_break_goals goals; /* breakpoints wanted before the first event, recorded ones after it */

    bool unseen;           /* libraries may have come and gone without an event: nothing stopped for them */
    bool incomplete;       /* or their events are lost; set it where the trace ends early, before finish */
    bool was_fast;         /* fast mode was in force at some time */
    bool has_settings;     /* the trace says under which filter it was recorded */
    bool settings_changed; /* more than one setting was in force: then nothing can be checked against it */
    enum tg_filter_mode mode; /* the last one */
    char *match;              /* glob-list, never NULL */
    bool
        list_is_redacted; /* a list was in force that is not known: MATCH is "", and nothing can be checked */

    uint64_t dlopen_events;   /* library_load events after start-up: single dlopens, or catch-ups */
    uint64_t catch_up_events; /* of these: found without a loader stop, each may stand for several dlopens */
    uint64_t agent_events;    /* of these: seen without a stop */
    uint64_t in_process_events; /* of those: decided about in the process */
    uint64_t null_events;
    uint64_t unload_events;
    uint64_t libraries; /* brought by the dlopen events */
    uint64_t startup_libraries;
    bool cuda; /* a dlopen event brought a CUDA driver library */

    uint64_t decisions;    /* filter_decision events */
    uint64_t handlings;    /* deferred_handled events */
    uint64_t planted_late; /* breakpoint_planted events that say late */
    uint64_t lost_events;  /* sum over loss events (0 where a count is unknown), has_loss tells */
    bool has_loss;
    uint64_t stop_time_ns; /* latest stop that was measured: further events of it are not unmeasured ones */
    int32_t stop_tid;
    struct tg_survey_process *processes; /* uthash by pid */
    struct tg_stop_cost price_of_end;    /* as a stop_price event has it; all zero: there was none */
    struct tg_cost_basis basis;          /* without the floor: see tg_filter_survey_use_floor */
};

struct tg_error *tg_filter_survey_init(struct tg_filter_survey *survey);
void tg_filter_survey_deinit(struct tg_filter_survey *survey);

/* Feeds one event, in trace order. */
struct tg_error *tg_filter_survey_add(struct tg_filter_survey *survey, const struct tg_event *event);

/* After the last event. META (may be NULL) gives the floor and, where no event did, the filter in force. FIND
 * looks breakpoints up in files (struct tg_break_search), NULL: nothing does. */
struct tg_error *tg_filter_survey_finish(struct tg_filter_survey *survey, const struct tg_trace_meta *meta,
                                         tg_find_breaks *find);

/* Takes a calibrated floor instead of the recorded one. */
void tg_filter_survey_use_floor(struct tg_filter_survey *survey, const struct tg_stop_cost *floor);

/* Whether a library_load event is a dlopen event: neither start-up nor found at attach. */
bool tg_library_load_is_dlopen(const struct tg_event_library_load *load);

/* How many libraries LOAD has, and how large they are. */
struct tg_cost_libraries tg_library_load_extent(const struct tg_event_library_load *load);

#endif
