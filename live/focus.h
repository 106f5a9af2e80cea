/* What the console's commands are about: every process or one, and a current worker. */
#ifndef TG_LIVE_FOCUS_H
#define TG_LIVE_FOCUS_H

#include "format/error.h"
#include "live/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indices in the models stay what they are wherever the source goes. */
struct tg_focus {
    size_t process; /* index in the process model, SIZE_MAX: all */
    size_t worker;  /* index in the OpenMP model, SIZE_MAX: the one whose event was taken last */
};

/* All processes, no worker chosen. */
void tg_focus_init(struct tg_focus *focus);

/* The current worker; NULL where there is none (yet). */
const struct tg_openmp_worker *tg_focus_worker(const struct tg_focus *focus, const struct tg_source *source);

bool tg_focus_has(const struct tg_focus *focus, size_t process);

/*
 * The process of rank RANK: of several the one that calls MPI, else one with OpenMP workers, else the first.
 * NOT_FOUND error where there is none at this moment.
 */
struct tg_error *tg_focus_find_rank(const struct tg_source *source, int64_t rank, size_t *process);
/* The latest process PID. */
struct tg_error *tg_focus_find_pid(const struct tg_source *source, int64_t pid, size_t *process);
/* The latest worker NUMBER of PROCESS. */
struct tg_error *tg_focus_find_worker(const struct tg_source *source, size_t process, uint64_t number,
                                      size_t *worker);

/* Reads "RANK.WORKER", "RANK", ".WORKER" (of the focused process; `<` is the lowest), or "all". USAGE and
 * NOT_FOUND errors. */
struct tg_error *tg_focus_parse(const struct tg_focus *now, const struct tg_source *source, const char *text,
                                struct tg_focus *focus);

/* The same form; BUFFER has room for 64 bytes. */
char *tg_focus_print(const struct tg_focus *focus, const struct tg_source *source, char *buffer);

#endif
