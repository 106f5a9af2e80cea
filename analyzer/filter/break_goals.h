/* The breakpoints requested or recorded, and the libraries of a trace in which they have a place. */
#ifndef TG_ANALYZER_FILTER_BREAK_GOALS_H
#define TG_ANALYZER_FILTER_BREAK_GOALS_H

#include "analyzer/filter/library_catalog.h"
#include "format/event/event.h"
#include "format/settings/break_spec.h"
#include "format/settings/command.h"

enum { TG_BREAK_GOALS_MAX = 4096 };

enum tg_goal_state {
    TG_GOAL_RESOLVED,   /* the recording planted it, or files of this machine have it */
    TG_GOAL_BY_LIBRARY, /* no file could be asked; the library part of LIBRARY`... names the libraries */
    TG_GOAL_NOWHERE,    /* no object of the job has it, and the recording has seen them all */
    TG_GOAL_UNKNOWN,    /* not found, but not everywhere looked for */
};

struct tg_break_goal {
    char *text;
    struct tg_break_spec *spec; /* NULL where a recorded text is none */
    bool recorded;
    bool
        is_beyond; /* a library may have it in which the recording did not plant it: nobody knows the hits there */
    /* from tg_break_goals_resolve on */
    uint64_t places;  /* distinct libraries and programs that contain it, those by name included */
    uint64_t by_name; /* of these: only because its text names them */
    uint64_t perhaps; /* libraries and programs that could not be asked */
    enum tg_goal_state state;
};

/* The means to find places that the recording has not found. */
struct tg_break_search {
    tg_find_breaks *find;  /* NULL: no file can be asked */
    const char *directory; /* of the recorded command, for relative paths; NULL not known */
    bool unseen;           /* the job may have had libraries of which the trace has no event */
};

/* Caller's storage; zero-initialised it is empty. */
struct tg_break_goals {
    struct tg_break_goal *items;
    size_t count, capacity;
    struct tg_goal_id *by_id; /* uthash: recorded breakpoint number -> goal */
};

void tg_break_goals_deinit(struct tg_break_goals *goals);

/* A breakpoint requested by the user; the same place written twice, also otherwise (f.c:3, f.c#3), is one
 * goal. INPUT error for a malformed one. */
struct tg_error *tg_break_goals_want(struct tg_break_goals *goals, const char *text);

/* A breakpoint_spec event. LIMIT error beyond TG_BREAK_GOALS_MAX. */
struct tg_error *tg_break_goals_record(struct tg_break_goals *goals,
                                       const struct tg_event_breakpoint_spec *event);

/* A breakpoint_planted event: its library becomes a place of the goal. Unknown numbers are ignored. */
struct tg_error *tg_break_goals_plant(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                      const struct tg_event_breakpoint_planted *event);

/* After the last event: looks for every goal in each library and program where the recording has not, and
 * decides its state. */
struct tg_error *tg_break_goals_resolve(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                        const struct tg_break_search *search);

/* Whether no setting but Slow is safe for GOAL: its library may be one that nobody has seen. */
bool tg_break_goal_is_lost(const struct tg_break_goal *goal, bool unseen);

/* The goal that recorded breakpoint number ID belongs to; false where there is none. */
bool tg_break_goals_find(const struct tg_break_goals *goals, uint64_t id, uint32_t *goal);

/* "resolved", "by_library", "nowhere", "unknown". */
const char *tg_goal_state_name(enum tg_goal_state state);

#endif
