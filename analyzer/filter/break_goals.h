/* The breakpoints requested or recorded, and the libraries of a trace in which they have a place. */
#ifndef TG_ANALYZER_FILTER_BREAK_GOALS_H
#define TG_ANALYZER_FILTER_BREAK_GOALS_H

#include "analyzer/filter/library_catalog.h"
#include "format/event/event.h"
#include "format/settings/break_spec.h"

enum { TG_BREAK_GOALS_MAX = 4096 };

enum tg_goal_state {
    TG_GOAL_RESOLVED,   /* the recording planted it: the libraries are known */
    TG_GOAL_BY_LIBRARY, /* not recorded; the library part of LIBRARY`... names the libraries */
    TG_GOAL_NOWHERE,    /* recorded, and no object of the job has it; or no library has the name asked for */
    TG_GOAL_UNKNOWN,    /* not recorded, and its text does not say in which library it is */
};

struct tg_break_goal {
    char *text;
    struct tg_break_spec *spec; /* NULL where a recorded text is none */
    bool recorded;
    uint64_t places;          /* distinct libraries that contain it */
    enum tg_goal_state state; /* from tg_break_goals_resolve on */
};

/* Caller's storage; zero-initialised it is empty. */
struct tg_break_goals {
    struct tg_break_goal *items;
    size_t count, capacity;
    struct tg_goal_id *by_id; /* uthash: recorded breakpoint number -> goal */
};

void tg_break_goals_deinit(struct tg_break_goals *goals);

/* A breakpoint requested by the user; the same text twice is one goal. INPUT error for a malformed one. */
struct tg_error *tg_break_goals_want(struct tg_break_goals *goals, const char *text);

/* A breakpoint_spec event. LIMIT error beyond TG_BREAK_GOALS_MAX. */
struct tg_error *tg_break_goals_record(struct tg_break_goals *goals,
                                       const struct tg_event_breakpoint_spec *event);

/* A breakpoint_planted event: its library becomes a place of the goal. Unknown numbers are ignored. */
struct tg_error *tg_break_goals_plant(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                      const struct tg_event_breakpoint_planted *event);

/* After the last event: decides every goal's state, finds the places of those that name a library. */
struct tg_error *tg_break_goals_resolve(struct tg_break_goals *goals, struct tg_library_catalog *catalog);

/* The goal that recorded breakpoint number ID belongs to; false where there is none. */
bool tg_break_goals_find(const struct tg_break_goals *goals, uint64_t id, uint32_t *goal);

/* "resolved", "by_library", "nowhere", "unknown". */
const char *tg_goal_state_name(enum tg_goal_state state);

#endif
