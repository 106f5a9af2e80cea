/* The part of a trace that was asked for: kinds, processes, ranks and a window of time. */
#ifndef TG_ANALYZER_OUTPUT_SELECTION_H
#define TG_ANALYZER_OUTPUT_SELECTION_H

#include "analyzer/models/process.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_number_range { /* [first, last] */
    int64_t first, last;
};

/* Caller's storage; zero-initialised it admits everything. */
struct tg_selection {
    bool *kinds; /* by place in tg_event_kind_at, NULL: all */
    struct tg_number_range *pids;
    size_t n_pids;
    struct tg_number_range *ranks;
    size_t n_ranks;
    bool has_from, has_to;
    uint64_t from_ns, to_ns; /* [from, to], relative to the start of the trace; absolute after start */
    bool *chosen;            /* by process index, after choose; NULL: ranks as known so far decide */
    size_t n_chosen;
    struct tg_error *error; /* why tg_selection_argp gave up; owned until taken */
};

void tg_selection_deinit(struct tg_selection *selection);

/* Options --pid, --rank, --from, --to as a child parser whose input is the selection. A bad value makes
 * argp_parse return EINVAL and leaves the error in `error`. */
extern const struct argp tg_selection_argp;

/* Each adds to what was there. USAGE errors name the word and what is expected. */
struct tg_error *tg_selection_add_kinds(struct tg_selection *selection, const char *list); /* names, globs */
struct tg_error *tg_selection_add_pids(struct tg_selection *selection, const char *list);  /* N,N-M,... */
struct tg_error *tg_selection_add_ranks(struct tg_selection *selection, const char *list);

/* Seconds, or a number with one of the units s, ms, us, ns; a fraction down to the nanosecond. */
struct tg_error *tg_selection_parse_time(const char *text, uint64_t *time_ns);

/* The trace's first moment is START_NS: makes the window absolute. Once. */
void tg_selection_start(struct tg_selection *selection, uint64_t start_ns);

/* USAGE error where the window begins after END_NS, the time of the trace's last event, and so selects nothing. After
 * start. */
struct tg_error *tg_selection_check_end(const struct tg_selection *selection, uint64_t start_ns,
                                        uint64_t end_ns);

/* Settles which processes --rank means, now that MODEL has seen the whole trace: also their events before
 * their rank was known are theirs. USAGE error where a --rank or --pid means no process at all; NO_MEMORY. */
struct tg_error *tg_selection_choose(struct tg_selection *selection, const struct tg_process_model *model);

bool tg_selection_limits_processes(const struct tg_selection *selection);
/* Whether it limits neither processes nor times. */
static inline bool tg_selection_admits_all(const struct tg_selection *selection)
{
    return !selection->has_from && !selection->has_to && selection->n_pids == 0 && selection->n_ranks == 0;
}
bool tg_selection_admits_time(const struct tg_selection *selection, uint64_t time_ns);
bool tg_selection_admits_kind(const struct tg_selection *selection, enum tg_event_kind kind);
/* ENTRY may be NULL: the recorder itself, which is no process. */
bool tg_selection_admits_process(const struct tg_selection *selection, const struct tg_process_entry *entry);

#endif
