/* The table of action points (breakpoints and barriers) of a session: numbers, what is enabled, how dactions
 * shows and saves them. It plants nothing. */
#ifndef TG_ANALYZER_JOB_ACTION_POINTS_H
#define TG_ANALYZER_JOB_ACTION_POINTS_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tg_action_point_kind {
    TG_ACTION_BREAK,
    TG_ACTION_BARRIER,
    TG_ACTION_WATCH, /* LOCATION is the expression or address, PLACE what that is */
};

/* Texts are the table's in what it hands out, and copied from what it is given; there NULL is "". */
struct tg_action_point {
    uint32_t id; /* from 1, never used again */
    enum tg_action_point_kind kind;
    bool enabled;
    bool pending;   /* not found in any process yet: it has no address */
    bool was_found; /* once had an address */
    bool shared;    /* planted in all processes of share group GROUP, else in process PROCESS (dpid) */
    uint32_t group;
    const uint32_t
        *more_groups; /* and of these, of a focus with several programs; the table's as texts are */
    size_t n_more_groups;
    uint32_t process;
    bool of_ranks; /* made while nobody had said for whom: also planted in the ranks of the job */
    bool unbound;  /* of such a barrier, pending: its members are those of the first program that has it */
    uint64_t address;
    const char *location; /* as it was asked for */
    const char *place;    /* FILE#LINE, "" not known */
    const char *others;   /* the places in other programs of the job, ", " between them; "" none */
    const char *focus;    /* the set that it was made with */
    const char *condition;
    const char *script;                 /* run at a hit, "" none */
    enum tg_barrier_stop stop_when_hit; /* NONE: the thread; of a process barrier its process */
    uint64_t size_bytes;                /* of a watchpoint, 0 not known or not given */
    bool is_static;                     /* of a watchpoint: its expression means the same in another run */
    uint64_t hits;
    /* of a barrier */
    enum tg_barrier_stop stop_when_done;
    bool of_threads;
    const char *satisfaction; /* "group 2", or a set */
    bool told_left_out;       /* said that another program has its place as well */
};

struct tg_action_points;

struct tg_error *tg_action_points_create(struct tg_action_points **points);
void tg_action_points_destroy(struct tg_action_points *points); /* NULL is accepted */

/* POINT's id and hits do not count. LIMIT error beyond 2^31 - 1 ever made. */
struct tg_error *tg_action_points_add(struct tg_action_points *points, const struct tg_action_point *point,
                                      uint32_t *id);
/* NOT_FOUND errors where there is no action point ID. */
struct tg_error *tg_action_points_remove(struct tg_action_points *points, uint32_t id);
/* The same of the one added last, of which nobody has heard: the next one has its number. */
void tg_action_points_take_back(struct tg_action_points *points, uint32_t id);
struct tg_error *tg_action_points_set_script(struct tg_action_points *points, uint32_t id,
                                             const char *script);
struct tg_error *tg_action_points_enable(struct tg_action_points *points, uint32_t id, bool enabled);
/* NULL: there is no action point ID. */
const struct tg_action_point *tg_action_points_get(const struct tg_action_points *points, uint32_t id);
struct tg_error *tg_action_points_find(const struct tg_action_points *points, uint32_t id,
                                       const struct tg_action_point **point);
/* Records the place that was found: the point is no longer pending. */
struct tg_error *tg_action_points_place(struct tg_action_points *points, uint32_t id, uint64_t address,
                                        const char *place);
/* Records that PLACE was found as well, in another program: nothing where that is known. */
struct tg_error *tg_action_points_place_more(struct tg_action_points *points, uint32_t id, const char *place);
/* Gives a point that is for the ranks as well the share group that it was found in, and a barrier what
 * SATISFACTION says. */
struct tg_error *tg_action_points_bind(struct tg_action_points *points, uint32_t id, uint32_t share_group,
                                       const char *satisfaction);
/* Whether it is still to be told that another program has the place of barrier ID as well; from then on not. */
bool tg_action_points_tell_left_out(struct tg_action_points *points, uint32_t id);
/* Forgets the place: the point is pending again. */
struct tg_error *tg_action_points_unplace(struct tg_action_points *points, uint32_t id);
/* Whether POINT, a shared one, is planted in the processes of SHARE_GROUP. */
bool tg_action_point_is_of_group(const struct tg_action_point *point, uint32_t share_group);
struct tg_error *tg_action_points_hit(struct tg_action_points *points, uint32_t id);

/* Suppressed action points stay what they are, but none is in force. */
void tg_action_points_suppress(struct tg_action_points *points, bool suppressed);
bool tg_action_points_are_suppressed(const struct tg_action_points *points);
/* Whether ID is to be planted: it exists, is enabled, was found, and nothing is suppressed. */
bool tg_action_points_in_force(const struct tg_action_points *points, uint32_t id);

/* For I in [0, count), by ascending id; pointers live until the next change. */
size_t tg_action_points_count(const struct tg_action_points *points);
const struct tg_action_point *tg_action_points_at(const struct tg_action_points *points, size_t i);

/* LOCATION as people are shown it: FILE#LINE of what is FILE:LINE. */
void tg_action_point_print_location(const char *location, FILE *stream);

/* A line where action points are suppressed, else nothing: in front of what `dactions` says of some. */
void tg_action_points_print_suppressed(const struct tg_action_points *points, FILE *stream);

/* All of one: `dactions ID`. */
void tg_action_point_print(const struct tg_action_point *point, FILE *stream);

enum tg_action_points_which { TG_ACTION_POINTS_ALL, TG_ACTION_POINTS_ENABLED, TG_ACTION_POINTS_DISABLED };

/* A line each, by the group or process that they are planted in: `dactions`. */
struct tg_error *tg_action_points_print(const struct tg_action_points *points,
                                        enum tg_action_points_which which, FILE *stream);

/* A Tcl script of the console that makes the same action points again. */
void tg_action_points_save(const struct tg_action_points *points, FILE *stream);

/* group, process, none or thread, which are the same; USAGE error that names OPTION. */
struct tg_error *tg_action_point_parse_stop(const char *option, const char *word, enum tg_barrier_stop *stop);

#endif
