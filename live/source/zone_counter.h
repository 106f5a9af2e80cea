/* Tells the first thread that comes to a zone from those that come after it: a construct that a team meets
 * again and again is a new zone each time, begun by whoever meets it first. */
#ifndef TG_LIVE_SOURCE_ZONE_COUNTER_H
#define TG_LIVE_SOURCE_ZONE_COUNTER_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>

struct tg_zone_counter;

/* Destinations of `opm next`. */
enum tg_zone_target {
    TG_TARGET_NONE, /* an event that begins no zone */
    TG_TARGET_PARALLEL,
    TG_TARGET_SINGLE,
    TG_TARGET_CRITICAL,
    TG_TARGET_TASK,
    TG_TARGET_SECTIONS,
    TG_TARGET_BARRIER,
    TG_TARGET_MASTER,
    TG_TARGET_LOOP,
};

/* The kind of zone that EVENT enters. */
enum tg_zone_target tg_zone_target_of(const struct tg_event *event);
/* By name ("master" and "masked" are one); NONE where there is none. */
enum tg_zone_target tg_zone_target_by_name(const char *name);

struct tg_error *tg_zone_counter_create(struct tg_zone_counter **counter);
void tg_zone_counter_destroy(struct tg_zone_counter *counter); /* NULL is accepted */
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_zone_counter_copy(const struct tg_zone_counter *counter, struct tg_zone_counter **copy);

/* Takes one event of the process with index PROCESS. Only error: NO_MEMORY. Memory follows open teams and the
 * constructs that they met. */
struct tg_error *tg_zone_counter_feed(struct tg_zone_counter *counter, const struct tg_event *event,
                                      size_t process);

/* Whether the event fed last was the first to come to a zone. */
bool tg_zone_counter_is_first(const struct tg_zone_counter *counter);

/* A thread's way to the construct of a team that CODE tells from others of its kind: of a critical section its
 * lock, of barriers 1 for the join. */
struct tg_zone_visit {
    size_t process;
    uint64_t team, thread_num;
    enum tg_zone_target target;
    uint64_t code;
};
/* Whether the zone to which VISIT's thread came last was new then: nobody had come as often. True where
 * nothing is known. */
bool tg_zone_counter_was_first(const struct tg_zone_counter *counter, const struct tg_zone_visit *visit);
/* How often it has come. */
uint64_t tg_zone_counter_visits(const struct tg_zone_counter *counter, const struct tg_zone_visit *visit);

/* A sections zone as it was met last. */
struct tg_zone_sections {
    uint64_t number; /* of such zones in its process, from 1 */
    uint64_t count;  /* of its sections; 0 not told */
    uint64_t begun;  /* of them; UINT64_MAX: not told of each */
};
/* Sections of the team TEAM with CODE; false where none was met. */
bool tg_zone_counter_sections(const struct tg_zone_counter *counter, size_t process, uint64_t team,
                              uint64_t code, struct tg_zone_sections *sections);

/* The kind of a zone, enum tg_omp_zone. */
enum tg_zone_target tg_zone_target_of_zone(uint64_t zone);

#endif
