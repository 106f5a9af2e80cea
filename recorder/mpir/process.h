/* One process with regard to MPIR: its objects that have such symbols, and where they
 * are. */
#ifndef TG_RECORDER_MPIR_PROCESS_H
#define TG_RECORDER_MPIR_PROCESS_H

#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/loader/link_map.h"
#include "recorder/mpir/job_guard.h"
#include "recorder/mpir/symbols.h"

/* The symbols of all objects together: as the dynamic loader binds them, the first definition counts. */
struct tg_mpir_variables {
    bool found[TG_MPIR_N_NAMES];
    uint64_t addresses[TG_MPIR_N_NAMES];
    uint64_t sizes[TG_MPIR_N_NAMES]; /* 0 unknown */
    struct tg_mpir_layout layout;    /* layout of MPIR_proctable; all zero: none */
};

/* What the environment makes a program. */
enum tg_mpir_kind { TG_MPIR_KIND_UNKNOWN, TG_MPIR_KIND_RANK, TG_MPIR_KIND_OTHER };

struct tg_mpir_process {
    struct tg_link_maps *maps; /* NULL: not found, or a static program */
    bool program_seen;
    bool is_fork; /* still runs the program of its creator */
    enum tg_mpir_kind kind;
    struct tg_mpir_variables variables;
    char launcher[64]; /* as its objects tell it, "" not known */

    bool is_daemon; /* a daemon starts ranks for a launcher that is not traced */

    /* starters only */
    bool is_starter;                 /* variables of a starter were written, or its table was read */
    bool is_announced;               /* MPIR_being_debugged is 1 by us */
    bool is_planted;                 /* MPIR_Breakpoint has a breakpoint */
    bool has_spawned;                /* reported so, or had a table when it was looked at */
    bool is_quiet;                   /* not announced to: it is looked at for its table */
    uint64_t snapshots;              /* readings of its table */
    struct tg_mpir_job_guard *guard; /* guard of its job; NULL: it needs none */

    /* ranks only */
    bool is_identified;  /* the trace says which rank the program is */
    bool gate_wanted;    /* MPIR_debug_gate is to be 1 as soon as it can be written */
    uint64_t gate_at_ns; /* when it was set, 0 not */
};

struct tg_mpir_process *tg_mpir_process_create(void); /* NULL without memory */
/* A copy for a forked child: the symbols; it is no starter yet. NULL without memory. */
struct tg_mpir_process *tg_mpir_process_copy(const struct tg_mpir_process *known);
void tg_mpir_process_destroy(struct tg_mpir_process *known); /* NULL is accepted */

/* Takes an object of the process that has symbols. PATH and SYMBOLS are valid during the call; addresses in
 * SYMBOLS are without BIAS. */
struct tg_mpir_object_sink {
    void *context;
    void (*take)(void *context, const char *path, uint64_t bias, const struct tg_mpir_symbols *symbols);
};

/* Looks at the program and its libraries, as far as THREAD's process has mapped them since the last look, but for those of AGENT
 * (NULL none), and tells SINK of those with symbols. Costs one system call where nothing was. Returns whether there were
 * any. */
bool tg_mpir_process_look(struct tg_mpir_process *known, struct tg_mpir_finder *finder,
                          const struct tg_agent_injector *agent, const struct tg_thread *thread,
                          const struct tg_mpir_object_sink *sink);

/* Whether the process has all that a tool needs of a starter. */
bool tg_mpir_process_can_start(const struct tg_mpir_process *known);

/* Whether a tool may tell the process that it is debugged: it can start ranks, and is no MPI process itself.
 * An MPI process would wait for a debugger that its own starter was not told of. */
bool tg_mpir_process_may_announce(const struct tg_mpir_process *known);

#endif
