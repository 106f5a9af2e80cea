/* Action points in the processes of a live job: found, planted, hit, which events tell of as of breakpoints.
 * The tracer thread's. */
#ifndef TG_LIVE_CONTROL_POINTS_H
#define TG_LIVE_CONTROL_POINTS_H

#include "format/base/error.h"
#include "recorder/breakpoints/object.h"
#include "recorder/loader/loader.h"
#include "recorder/record/recording.h"

#include <stdbool.h>
#include <stdint.h>

enum { TG_JOB_POINTS_AT_ONE_PLACE = TG_STOP_MAX_HITS }; /* in a process */

struct tg_job_points;

/* THREAD, in its stop, has come to action point ID. Called before the observers' `stopped`. */
typedef void tg_job_points_hit(void *context, struct tg_thread *thread, uint32_t id);

/* A function of PROCESS begins at *ADDRESS, in line *LINE (0 not known): where its first line with code does,
 * behind the prologue. */
typedef void tg_job_points_enter(void *context, const struct tg_process *process, uint64_t *address,
                                 uint64_t *line);

/* SLOT is the data slot in processes that is this module's to use. */
struct tg_error *tg_job_points_create(const struct tg_recording_parts *parts, size_t slot,
                                      tg_job_points_hit *hit, tg_job_points_enter *enter, void *context,
                                      struct tg_job_points **points);
void tg_job_points_destroy(struct tg_job_points *points); /* NULL is accepted; after the engine's run */

/* PROCESS has a new program: nothing of the old one is planted. */
void tg_job_points_begin(struct tg_job_points *points, struct tg_process *process);
/* CHILD was forked from PARENT, with its breakpoints. */
struct tg_error *tg_job_points_copy(struct tg_job_points *points, const struct tg_process *parent,
                                    struct tg_process *child);
void tg_job_points_forget(struct tg_job_points *points, struct tg_process *process);

/* OBJECT is gone from the process of THREAD, which is stopped, and what was planted in it: whether that was
 * anything. */
bool tg_job_points_unloaded(struct tg_job_points *points, struct tg_thread *thread,
                            const struct tg_break_object *object);

/* Whether ID is planted somewhere in PROCESS. */
bool tg_job_points_has(const struct tg_job_points *points, const struct tg_process *process, uint32_t id);
/* The addresses where ID is planted in PROCESS, at most MAX of them; returns how many there are. */
size_t tg_job_points_addresses(const struct tg_job_points *points, const struct tg_process *process,
                               uint32_t id, uint64_t *addresses, size_t max);
/* Whether LOCATION is in PROCESS; nothing is planted. */
bool tg_job_points_find(struct tg_job_points *points, const struct tg_process *process, const char *location);

/* Plants ID wherever LOCATION (as analyzer/action_points has it; a FUNCTION is the first line with code in it,
 * and *FUNCTION its first instruction) is in PROCESS now, in addition to where it
 * is planted already. *ADDRESS: the first place, 0 none yet; *PLACE, until the next call: FILE#LINE, "" not
 * known. INPUT error where LOCATION is none, LIMIT error where too many are at that place. */
struct tg_error *tg_job_points_plant(struct tg_job_points *points, struct tg_process *process, uint32_t id,
                                     const char *location, uint64_t *address, const char **place);
/* Until it is called with NULL, tg_job_points_plant looks in the libraries of HANDLED alone: they are what
 * is new in the process, all else was looked at. */
void tg_job_points_look_in(struct tg_job_points *points, const struct tg_loader_handled *handled);

/* The last line with code of the file of LOCATION, a FILE:LINE, in PROCESS; 0 where it has no such file. */
uint64_t tg_job_points_last_line(struct tg_job_points *points, const struct tg_process *process,
                                 const char *location);

/* The source file of the first place of LOCATION in PROCESS, for the caller to free; NULL not known. */
char *tg_job_points_file_of(struct tg_job_points *points, const struct tg_process *process,
                            const char *location);

void tg_job_points_unplant(struct tg_job_points *points, struct tg_process *process, uint32_t id);

#endif
