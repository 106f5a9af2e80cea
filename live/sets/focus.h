/* The focus, which the console's commands are about: everything or a set of processes and threads
 * (live/sets/ptset.h), and a current worker. Process I of the models has the dpid I + 1, wherever the
 * source is; a worker's number is its dtid, and a process without workers has one thread, 1. */
#ifndef TG_LIVE_SETS_FOCUS_H
#define TG_LIVE_SETS_FOCUS_H

#include "format/base/error.h"
#include "live/sets/ptset.h"
#include "live/source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members of a set at one moment. */
struct tg_focus_members {
    bool is_known;
    uint64_t number; /* of the event that it was found out at */
    size_t n_processes, n_workers;
    bool *processes; /* by index: any thread of it is */
    bool *whole;     /* all of its threads are */
    bool *workers;
};

struct tg_focus {
    size_t process;       /* the process of interest of a single arena, SIZE_MAX: none or several */
    size_t worker;        /* index in the OpenMP model, SIZE_MAX: the one whose event was taken last */
    size_t former_worker; /* the one chosen in the focus before; SIZE_MAX none */
    struct tg_ptset *set; /* complete; NULL: everything */
    struct tg_focus_members members;
    bool has_thread; /* a thread was asked for */
    /* nobody has said which process is of interest: the first one, and as soon as there are ranks theirs */
    bool is_open;
    bool is_of_ranks; /* open, and there are ranks */
};

/* Everything, no worker chosen. */
void tg_focus_init(struct tg_focus *focus);
/* As a live session begins: "d1.<", the first process and its lowest worker, and open. FOCUS was
 * initialised. */
struct tg_error *tg_focus_begin(struct tg_focus *focus);
/* Of an open focus: the lowest rank becomes its process of interest, if there is one by now, or a lower one has come.
 * Only error: NO_MEMORY. */
struct tg_error *tg_focus_go_to_ranks(struct tg_focus *focus, struct tg_source *source);
/* Whether nobody has said anything: "ranks" is all that there is to say of it. */
bool tg_focus_is_plainly_of_ranks(const struct tg_focus *focus);
void tg_focus_deinit(struct tg_focus *focus);

/* Finds out who is in FOCUS now; who is not there at this moment is not. Commands begin with it. Only error:
 * NO_MEMORY. */
struct tg_error *tg_focus_refresh(struct tg_focus *focus, struct tg_source *source);
/* The same where the event taken last may have changed it. After each step. */
struct tg_error *tg_focus_follow(struct tg_focus *focus, struct tg_source *source);

/* Members of VIEW that are in FOCUS now: none where not all of it exists. MEMBERS is initialised by the
 * call, the caller's to deinit. Only error: NO_MEMORY. */
struct tg_error *tg_focus_members(const struct tg_focus *focus, const struct tg_job_view *view,
                                  struct tg_job_set *members);

static inline bool tg_focus_is_all(const struct tg_focus *focus)
{
    return focus->set == NULL;
}

/* Whether the process with that index, or any thread of it, is in it. */
bool tg_focus_has(const struct tg_focus *focus, size_t process);
bool tg_focus_has_worker(const struct tg_focus *focus, const struct tg_openmp_worker *worker);
/* Whether the event taken last is of a thread in it. */
bool tg_focus_has_event(const struct tg_focus *focus, const struct tg_source *source);

/* The current worker; NULL where there is none (yet). */
const struct tg_openmp_worker *tg_focus_worker(const struct tg_focus *focus, const struct tg_source *source);

/* The same; where there is none, the one that was current in the focus before, if it is in this one too. */
const struct tg_openmp_worker *tg_focus_active_worker(const struct tg_focus *focus,
                                                      const struct tg_source *source);

/* Reads a set, "all", or "ranks", the open focus of a job that has some; what it leaves out is taken from NOW. USAGE and
 * NOT_FOUND errors; *POSITION is then the byte of TEXT that is meant, SIZE_MAX: none. */
struct tg_error *tg_focus_parse(const struct tg_focus *now, struct tg_source *source, const char *text,
                                struct tg_focus *focus, size_t *position);

/* The index of the latest process PID. NOT_FOUND error. */
struct tg_error *tg_focus_find_pid(const struct tg_source *source, int64_t pid, size_t *process);

enum { TG_FOCUS_TEXT = 128 };

/* "all", "r1.3", "pW2": a process that is a rank by that. BUFFER has room for TG_FOCUS_TEXT bytes; what is
 * longer is cut. */
char *tg_focus_print(const struct tg_focus *focus, const struct tg_source *source, char *buffer);

#endif
