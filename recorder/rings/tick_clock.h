/* From the ticks in the agents' records to time: pairs of both clocks, taken now and then, and straight lines
 * between them. */
#ifndef TG_RECORDER_RINGS_TICK_CLOCK_H
#define TG_RECORDER_RINGS_TICK_CLOCK_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_tick_clock;

/* The same moment by both clocks. */
struct tg_tick_pair {
    uint64_t ticks;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* Clock for agents of this machine: the TSC where the processor says that it is invariant and the
 * kernel trusts it. */
enum tg_agent_clock tg_tick_clock_best(void);

/* Without pairs. */
struct tg_error *tg_tick_clock_create(enum tg_agent_clock source, struct tg_tick_clock **clock);
/* NULL is accepted. */
void tg_tick_clock_destroy(struct tg_tick_clock *clock);

enum tg_agent_clock tg_tick_clock_source(const struct tg_tick_clock *clock);

/* Ticks of the clock now. */
uint64_t tg_tick_clock_now(const struct tg_tick_clock *clock);

/* Takes a pair now: the closest of a few tries, some 20 ns apart at most where the machine is not busy. */
struct tg_tick_pair tg_tick_clock_take(const struct tg_tick_clock *clock);

/* Adds PAIR; one that is not later than the last one by both clocks is not taken (returns false). Many pairs
 * are thinned out from the older ones on. */
bool tg_tick_clock_add(struct tg_tick_clock *clock, struct tg_tick_pair pair);

/* The latest and the earliest pair; zeros where there is none. */
struct tg_tick_pair tg_tick_clock_last(const struct tg_tick_clock *clock);
struct tg_tick_pair tg_tick_clock_first(const struct tg_tick_clock *clock);

/* The time of TICKS: on the line between the pairs around them, beyond the last and before the first pair on
 * the line of the whole. Continuous, never falls with rising ticks between the same pairs. With fewer than
 * two pairs of TSC ticks: the time of the first pair, or 0. */
uint64_t tg_tick_clock_time(const struct tg_tick_clock *clock, uint64_t ticks);

/* A line between two pairs: it says the time of LENGTH ticks from FIRST on. */
struct tg_tick_line {
    uint64_t first, length;
    uint64_t time_ns; /* of FIRST */
    uint64_t scale;   /* ns per tick, TG_TICK_FRACTION_BITS behind the point */
};

enum { TG_TICK_FRACTION_BITS = 40 };

/* The line that TICKS are on; of length 0 where tg_tick_clock_time has to be asked. Valid until a pair is added. */
struct tg_tick_line tg_tick_clock_line(const struct tg_tick_clock *clock, uint64_t ticks);

static inline bool tg_tick_line_has(const struct tg_tick_line *line, uint64_t ticks)
{
    return ticks - line->first < line->length; /* earlier ones wrap around */
}

/* As tg_tick_clock_time; of ticks that LINE has. */
static inline uint64_t tg_tick_line_time(const struct tg_tick_line *line, uint64_t ticks)
{
    return line->time_ns +
           (uint64_t)((unsigned __int128)(ticks - line->first) * line->scale >> TG_TICK_FRACTION_BITS);
}

/* The smallest ticks in [first, last] pair whose time is not before TIME_NS, the last pair's beyond it. */
uint64_t tg_tick_clock_ticks(const struct tg_tick_clock *clock, uint64_t time_ns);

/* Over all pairs; 0 not known yet, 1000000000 for CLOCK_MONOTONIC. */
uint64_t tg_tick_clock_ticks_per_second(const struct tg_tick_clock *clock);

/* ---- the file that a salvager reads (name `clock` in the agents' directory) */

/* Pairs of some seconds: times that are computed anew are the same to the nanosecond. */
enum { TG_TICK_CLOCK_LINE_BYTES = 64, TG_TICK_CLOCK_LINES = 512 };

/* Writes the I-th pair that was taken (from 0) to FD: the first one stays, the others take turns. */
void tg_tick_clock_save(int fd, uint64_t i, struct tg_tick_pair pair);

/* Adds what FD has, as far as it makes sense. False where it was written before the machine was started last
 * (then the clocks of now say nothing). */
bool tg_tick_clock_load(struct tg_tick_clock *clock, int fd);

#endif
