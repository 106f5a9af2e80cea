/* The MPIR model: events in; which starters there are, how each one's ranks were found, its table of ranks
 * with what became of every one, and what happened when, out. At any moment of a trace it answers for that
 * moment: feed it up to there.
 *
 * What a starter says is not believed, and neither is a trace: a sequence of events that cannot be is counted
 * and does no harm. */
#ifndef TG_ANALYZER_MODELS_MPIR_H
#define TG_ANALYZER_MODELS_MPIR_H

#include "analyzer/models/mpir_ranks.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPIR_MAX_PROCESSES = 1 << 20, /* with symbols of MPIR; the events of further ones are counted */
    TG_MPIR_MAX_RANKS = 1 << 22,     /* of all jobs together, likewise */
    TG_MPIR_MAX_STEPS = 1000,        /* of one starter; later ones are counted */
    TG_MPIR_MAX_OBJECTS = 64,        /* of one process that have symbols */
};

/* A program or library that has symbols of MPIR. */
struct tg_mpir_object {
    const char *path;
    uint64_t layout; /* enum tg_mpir_layout, of table entries */
    uint64_t stride_bytes, host_offset, executable_offset, pid_offset;
    uint64_t n_symbols;
    const char *dll_name; /* content of its MPIR_dll_name, "" none */
};

enum tg_mpir_step_kind {
    TG_MPIR_STEP_SYMBOLS,    /* TEXT: the object */
    TG_MPIR_STEP_RECOGNISED, /* VALUE: enum tg_mpir_acquisition; TEXT: the launcher, DETAIL: the reason */
    TG_MPIR_STEP_WRITE,      /* TEXT: the symbol, VALUE; DETAIL: the error */
    TG_MPIR_STEP_STATE,  /* VALUE: enum tg_mpir_state, SEEN; COUNT: the table's size; DETAIL: abort string */
    TG_MPIR_STEP_TABLE,  /* VALUE: number of the reading; COUNT: entries; DETAIL: why not whole */
    TG_MPIR_STEP_RANKS,  /* VALUE: enum tg_mpir_rank_state; COUNT: how many in a row came to it */
    TG_MPIR_STEP_LET_GO, /* DETAIL: the reason */
    TG_MPIR_STEP_ENDED,  /* VALUE: status or signal; SEEN: enum tg_exit_how */
};

/* One step of the protocol. */
struct tg_mpir_step {
    enum tg_mpir_step_kind kind;
    uint64_t time_ns, last_ns; /* of the first and the last event that it stands for */
    int64_t value;
    uint64_t seen;
    int64_t count;
    const char *text, *detail; /* the model's, raw */
};

/* A process that has symbols of MPIR, or was recognised as a starter without. */
struct tg_mpir_starter {
    size_t process;
    int32_t pid;
    bool is_starter; /* filled a table, was recognised, or published a state; false: a candidate, or a rank */
    const struct tg_mpir_object *objects;
    size_t n_objects;
    const char *launcher; /* "" not one that is known */
    bool is_recognised;   /* the next ones are known: */
    uint64_t acquisition; /* enum tg_mpir_acquisition */
    const char *reason, *job;
    bool i_am_starter, acquired_pre_main, force_to_main, partial_attach_ok, ignore_queues;
    bool is_written;         /* MPIR_being_debugged was written, or tried to: */
    int64_t being_debugged;  /* as written last */
    const char *write_error; /* of that, "" none */
    bool has_state;          /* variables were read: */
    uint64_t state;          /* enum tg_mpir_state, the last one */
    int64_t raw_state;
    const char *abort_string; /* the last one that was not empty */
    bool has_aborted;         /* published ABORTING */
    uint64_t aborted_ns;
    int64_t claimed_size;  /* of the table, as it said last */
    uint64_t snapshots;    /* how often the table was read */
    uint64_t read_entries; /* of the last reading */
    uint64_t read_ns;      /* time of the reading */
    bool is_whole;         /* read to its end */
    const char *table_reason;
    bool has_ended, was_let_go;
    uint64_t ended_ns;
    uint64_t ended_how; /* enum tg_exit_how */
    int64_t status;
};

struct tg_mpir_model;

struct tg_error *tg_mpir_model_create(struct tg_mpir_model **model);
void tg_mpir_model_destroy(struct tg_mpir_model *model); /* NULL is accepted */
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_mpir_model_copy(const struct tg_mpir_model *model, struct tg_mpir_model **copy);

/* Takes one event of the process with index PROCESS in the process model; kinds that say nothing of MPIR or
 * of ends are ignored. Only error: NO_MEMORY. Memory follows processes, ranks and steps, not events. */
struct tg_error *tg_mpir_model_feed(struct tg_mpir_model *model, const struct tg_event *event,
                                    size_t process);

/* How many events could not be; *FIRST_NS is when the first was, *FIRST what (static; NULL where none
 * was). */
uint64_t tg_mpir_model_impossible(const struct tg_mpir_model *model, uint64_t *first_ns, const char **first);
/* Events and entries beyond the limits above. */
uint64_t tg_mpir_model_beyond_limit(const struct tg_mpir_model *model);

/* Processes with MPIR symbols, candidates and ranks included, in order of first appearance. They stay where
 * they are; their objects until the next feed. */
size_t tg_mpir_model_count(const struct tg_mpir_model *model);
const struct tg_mpir_starter *tg_mpir_model_at(const struct tg_mpir_model *model, size_t i);
/* How many of them are starters. */
size_t tg_mpir_model_starter_count(const struct tg_mpir_model *model);

/* Ranks of the starter I, in order of first appearance, which is that of ranks where the table has them so.
 * Valid until the next feed. */
const struct tg_mpir_rank *tg_mpir_model_ranks(const struct tg_mpir_model *model, size_t i, size_t *count);
/* Ranks that no table has: started by MPI_Comm_spawn. Each is a process. Valid until the next feed. */
const struct tg_mpir_rank *tg_mpir_model_outside(const struct tg_mpir_model *model, size_t *count);
/* The steps of starter I, in order. Valid until the next feed. *UNKEPT: further steps. */
const struct tg_mpir_step *tg_mpir_model_steps(const struct tg_mpir_model *model, size_t i, size_t *count,
                                               uint64_t *unkept);

#endif
