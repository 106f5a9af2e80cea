/* A finding: one thing that went wrong in a job, in plain words. It says which threads or ranks wait
 * where, which are missing, and what those did last. */
#ifndef TG_ANALYZER_FINDING_FINDING_H
#define TG_ANALYZER_FINDING_FINDING_H

#include "analyzer/models/heap/model.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/mpir.h"
#include "analyzer/models/openmp/model.h"
#include "analyzer/models/process.h"
#include "analyzer/models/stacks.h"

/* Names an address of a process's code: "solve() at solver.c:120", or its number. SIZE is at least 256; what
 * is written is printable. */
struct tg_code_namer {
    void *context;
    char *(*name)(void *context, size_t process, uint64_t address, char *buffer, size_t size);
    /* The same of a variable: "queue_lock", "locks+8"; NULL where none is known. NULL: none is. */
    char *(*variable)(void *context, size_t process, uint64_t address, char *buffer, size_t size);
    /* The program's own line, of a script too, that led to the call which PROCESS has been in since SINCE_NS, where the code that
     * calls, at CODE, has none: that of a library. NULL where none is known. NULL: none is. */
    char *(*line_behind)(void *context, size_t process, uint64_t code, uint64_t since_ns, char *buffer,
                         size_t size);
};

enum tg_finding_kind {
    TG_FINDING_HEAP,        /* a mistake in the use of the heap, or a failed allocation */
    TG_FINDING_CRASH,       /* a process crashed or aborted */
    TG_FINDING_EARLY_EXIT,  /* a rank ended without MPI_Finalize, or it or the program with an error */
    TG_FINDING_KILL,        /* the first process of a job to end was killed from outside */
    TG_FINDING_STARTER,     /* the job launcher reported an abort, or ended before its ranks */
    TG_FINDING_APART,       /* processes that were started as ranks of one job, and MPI did not join them */
    TG_FINDING_DEADLOCK,    /* ranks, or threads with locks, that wait for each other */
    TG_FINDING_COLLECTIVE,  /* an MPI collective that some ranks have not entered */
    TG_FINDING_MISMATCH,    /* ranks are in different collectives of one communicator */
    TG_FINDING_BARRIER,     /* an OpenMP barrier that some of a team have not reached */
    TG_FINDING_LOCK,        /* threads wait for a lock that one holds */
    TG_FINDING_TASK,        /* threads wait for tasks that do not end */
    TG_FINDING_SEND,        /* a blocking send that nobody receives */
    TG_FINDING_RECEIVE,     /* a receive without a send */
    TG_FINDING_WINDOW,      /* a call on a window that needs a rank which is not in MPI */
    TG_FINDING_ERROR,       /* an MPI call that failed */
    TG_FINDING_MISUSE,      /* an MPI call that is not allowed there, and may do harm */
    TG_FINDING_STOPPED,     /* processes were stopped by job control, and never continued */
    TG_FINDING_ASKED,       /* somebody asked the job to end */
    TG_FINDING_UNRECEIVED,  /* a job that ended well left messages that nobody received */
    TG_FINDING_INCOMPLETE,  /* likewise requests that were never completed */
    TG_FINDING_LEAK,        /* likewise blocks of the heap that nothing refers to */
    TG_FINDING_INTERRUPTED, /* where the threads were then: nothing is wrong with that */
};

/* The culprit of a finding: a process, or one thread of it. */
struct tg_culprit {
    size_t process; /* index in the process model; SIZE_MAX: not in the trace */
    int64_t rank;   /* -1: it is no rank, or not known */
    int32_t tid;    /* 0: the process as a whole */
    int64_t worker; /* number in its OpenMP team, -1: none */
    uint64_t code;  /* address in that process, 0 unknown */
};

struct tg_finding {
    enum tg_finding_kind kind;
    uint64_t since_ns; /* time of the first wait, or of the end */
    size_t process;    /* the process in trouble, or the first that is missing; SIZE_MAX: none */
    uint64_t code;     /* address in that process, 0 unknown */
    uint64_t waiting, missing;
    bool is_warning;             /* the job ended well all the same */
    bool is_consequence;         /* the missing one is held up by something that another finding explains */
    size_t id;                   /* in the order of finding, which is not that of the verdict */
    struct tg_culprit *culprits; /* the first TG_VERDICT_BLAMED of them; where a finder names none, PROCESS */
    size_t n_culprits;
    char *text; /* one or more sentences; names from the trace in it are printable */
};

enum { TG_VERDICT_BLAMED = 64 };

/* A process, or a worker of it, cannot go on before another one does. */
struct tg_verdict_edge {
    size_t from, to;                 /* indices in the process model */
    uint64_t from_worker, to_worker; /* numbers of OpenMP workers, 0: the process */
    int32_t from_tid, to_tid;        /* theirs; 0: the process */
    uint64_t since_ns;               /* 0 unknown */
    char *why;                       /* "MPI_Recv", "critical section update"; printable */
    bool is_in_ring;                 /* of waits that a finding is about */
    bool is_choice;                  /* one of several, of which any will do */
};

struct tg_verdict {
    struct tg_finding *findings; /* bad ends first, then deadlocks, causes, consequences; each by SINCE_NS */
    size_t count;
    struct tg_verdict_edge *edges; /* at most some thousand; none of a job that ended well */
    size_t n_edges, edge_capacity;
    char *busy; /* sentences on the waits that were too short for a finding; "" where there were none */
};

struct tg_verdict_input {
    const struct tg_process_model *processes;
    const struct tg_openmp_model *openmp;
    const struct tg_mpi_model *mpi;
    const struct tg_mpir_model *mpir;    /* NULL: not asked */
    const struct tg_stack_model *stacks; /* NULL: not asked */
    const struct tg_heap_model *heap;    /* NULL: not asked */
    struct tg_code_names *heap_files;    /* for names of its code; NULL: what the trace says */
    uint64_t start_ns;                   /* moments are relative to it */
    uint64_t now_ns;    /* the present, of a job that runs; 0: its last event is the latest */
    bool has_losses;    /* events are missing in the trace */
    bool is_of_moment;  /* somebody asks who is waiting just now, however usual that is */
    uint64_t look_ns;   /* time from which looks at stacks tell who is where; 0: none do */
    uint64_t judged_ns; /* the moment that is judged, once it is known; 0: the present, or the last event */
    struct tg_code_namer namer;
};

const char *tg_finding_kind_name(enum tg_finding_kind kind); /* the name in --json */

#endif
