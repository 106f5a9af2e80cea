/* A verdict being made: the findings so far, and what the finders know of processes from each other. */
#ifndef TG_ANALYZER_FINDING_DRAFT_H
#define TG_ANALYZER_FINDING_DRAFT_H

#include "analyzer/finding/finding.h"
#include "analyzer/finding/stillness.h"
#include "analyzer/finding/work.h"
#include "analyzer/models/mpi/matching.h"

#include <stdio.h>

/* A process cannot go on before another one does: THREAD, one of FROM's, is in an MPI call that TO is missing
 * in. */
struct tg_verdict_wait {
    size_t from, to;                    /* indices in the process model */
    const struct tg_mpi_thread *thread; /* the model's */
    uint64_t bytes;                     /* bytes that the call sends, 0 none */
    bool is_sure;             /* nothing but what TO has not done ends it; otherwise it may end by itself */
    bool is_choice;           /* one of several, of which any will do */
    bool is_for_all;          /* FROM waits for all that have not begun a collective */
    bool is_firm;             /* sure, or has lasted long enough; known from tg_verdict_find_rings on */
    bool sends;               /* to TO, which is to receive */
    bool to_is_in_collective; /* likewise: TO waits for others in a collective */
    const char *to_do;        /* what TO is to do: " to call MPI"; NULL: its part of THREAD's call */
};

/* What a thread waits for and nobody has: a message that it receives (id 0) or sends. */
struct tg_verdict_half {
    const struct tg_mpi_thread *thread; /* the model's */
    struct tg_mpi_message message;
    bool is_choice; /* another one would do */
    bool
        is_matched; /* the other half is there, but the other side is outside MPI, where it does nothing for it */
};

/* A communicator on which calls did not match, and the finding about that. */
struct tg_verdict_mismatch {
    const char *job; /* the MPI model's */
    uint64_t comm;
    size_t finding; /* in the order of adding */
};
enum { TG_VERDICT_MISMATCHES = 32 };

/* A verdict being made. */
struct tg_verdict_draft {
    const struct tg_verdict_input *input;
    struct tg_verdict *result;
    struct tg_stillness stillness;
    size_t capacity;
    FILE *stream; /* writes the text of the current finding into TEXT */
    char *text;
    size_t size;
    size_t begun;                                  /* the current one begins here in the text */
    struct tg_culprit culprits[TG_VERDICT_BLAMED]; /* of the current one */
    size_t n_culprits;
    bool has_told_places; /* where the threads were when the job was interrupted */
    bool is_good_end;     /* the job ended well: only mistakes that did no harm are looked for */
    struct tg_verdict_mismatch mismatches[TG_VERDICT_MISMATCHES];
    size_t n_mismatches;
    struct tg_verdict_wait *waits;
    size_t n_waits, wait_capacity;
    struct tg_mpi_matching matching;
    struct tg_verdict_half *halves; /* by thread */
    size_t n_halves, half_capacity;
    bool *is_stuck;       /* by process: all that it waits for are stuck as well, or have ended */
    bool *is_waiting;     /* by process: for another one */
    enum tg_work *work;   /* by process: what other threads than those that wait may yet do in MPI */
    bool *was_at_work;    /* by process: a wait was passed over because of that */
    bool *is_let_down;    /* by process: it waits, directly or not, for one that is gone */
    size_t *explained_by; /* by process: index of the finding about its own trouble or end; SIZE_MAX none */
    size_t *ring_of;      /* by process: index of the finding about its ring of waits; SIZE_MAX none */
    size_t n_processes;
    const struct tg_mpi_thread **threads; /* all of the MPI model, by process; the model's */
    size_t n_threads;
};

enum {
    TG_VERDICT_NAMED = 8,       /* names in a list of waiting or missing ones; the others are counted */
    TG_VERDICT_DETAILED = 3,    /* missing ones whose state is described */
    TG_VERDICT_WAITS = 1 << 12, /* kept */
};

/* Makes FINDING one, with what was written to the stream since the last one. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_add(struct tg_verdict_draft *draft, const struct tg_finding *finding);

/* The finding that is added next is about thread TID (0: all) of PROCESS, at CODE (0 unknown); of what is more
 * than TG_VERDICT_BLAMED nothing is kept. */
void tg_verdict_blame(struct tg_verdict_draft *draft, size_t process, int32_t tid, uint64_t code);
/* The same of PROCESS, at the place of the last call of MPI that one of its threads made. */
void tg_verdict_blame_last_call(struct tg_verdict_draft *draft, size_t process);
/* The same of OpenMP worker number WORKER, and of a rank that is not in the trace. */
void tg_verdict_blame_worker(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker,
                             uint64_t code);
void tg_verdict_blame_rank(struct tg_verdict_draft *draft, int64_t rank);

/* Prints " (see 2)" with BEFORE " (see " and BEHIND ")": the number that FINDING, in the order of adding,
 * gets in the end. */
void tg_verdict_refer(struct tg_verdict_draft *draft, const char *before, size_t finding, const char *behind);
/* The text with all such references resolved: NUMBER_OF[finding] counts from 0. Owned by the caller; NULL
 * without memory. */
char *tg_verdict_resolve(const char *text, const size_t *number_of);

/* Prints the separator before item I of N in "A, B and C", of which at most TG_VERDICT_NAMED are shown. */
void tg_verdict_separate(FILE *stream, size_t i, size_t n);
/* " and 5 more", behind those that are shown; nothing where all N are. */
void tg_verdict_more(FILE *stream, size_t n);

/* The threads of PROCESS that call MPI, *N of them. */
const struct tg_mpi_thread *const *tg_verdict_threads(const struct tg_verdict_draft *draft, size_t process,
                                                      size_t *n);
/* Adds WAIT, unless one of its processes is unknown or there are too many. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_add_wait(struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait);
/* How long a wait of FROM for TO (SIZE_MAX unknown) since SINCE_NS has lasted, without the time in which either
 * was stopped. */
uint64_t tg_verdict_lasted(const struct tg_verdict_draft *draft, size_t from, size_t to, uint64_t since_ns);
/* The finding that says why PROCESS does not go on, SIZE_MAX: none, or not that alone. */
size_t tg_verdict_told_in(const struct tg_verdict_draft *draft, size_t process);

bool tg_verdict_is_fault(int64_t signal);
/* The finding that was added last explains why PROCESS does not go on. */
void tg_verdict_explain(struct tg_verdict_draft *draft, size_t process);
bool tg_verdict_is_explained(const struct tg_verdict_draft *draft, size_t process);
/* Whether PROCESS does nothing more for others in MPI: it has ended, or called MPI_Finalize. */
bool tg_verdict_is_gone(const struct tg_verdict_draft *draft, size_t process);
/* Whether a thread of PROCESS is in a call of MPI, or polls: it makes progress for others. */
bool tg_verdict_is_in_mpi(const struct tg_verdict_draft *draft, size_t process);
/* Whether what PROCESS did last in MPI was to ask whether something is complete: it may be doing so again and again. */
bool tg_verdict_may_poll(const struct tg_verdict_draft *draft, size_t process);
/* When a thread of PROCESS last entered or left a call of MPI; 0 none did. */
uint64_t tg_verdict_last_step(const struct tg_verdict_draft *draft, size_t process);
/* How long THREAD, which is in a call of MPI, was outside MPI before it; 0 not known. */
uint64_t tg_verdict_way(const struct tg_mpi_thread *thread);
/* Whether PROCESS, for which somebody waits who was outside MPI for WAY_NS before, may be on such a way as well: it has not
 * been outside MPI for so much longer. */
bool tg_verdict_may_be_on_its_way(const struct tg_verdict_draft *draft, size_t process, uint64_t way_ns);
/* False. Remembers that a wait of PROCESS, which lasted LASTED_NS, is not told because another thread of it is at work. */
bool tg_verdict_pass_for_work(struct tg_verdict_draft *draft, size_t process, uint64_t lasted_ns);
/* Whether PROCESS waits for another one in MPI. */
bool tg_verdict_waits(const struct tg_verdict_draft *draft, size_t process);

#endif
