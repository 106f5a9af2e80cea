/* Nodes of a sequence diagram: things that lifelines do, nested, with repetition folded.
 *
 * Two operations do the work. Appending to a list folds: where the last things are like the ones before them,
 * they become one with a count, so that a list stays as short as its pattern is. Merging takes what several
 * lifelines did, each by itself, and makes one list of it in which things done together are one thing and
 * everybody's own order is kept. Lists are bounded: what is too much is left out of their middle, and
 * said. */
#ifndef TG_ANALYZER_SEQUENCE_NODE_H
#define TG_ANALYZER_SEQUENCE_NODE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_sequence_kind {
    TG_SEQUENCE_REGION,  /* a parallel region; its children are phases */
    TG_SEQUENCE_PHASE,   /* everything from one barrier of a team to the next, which is included */
    TG_SEQUENCE_GROUP,   /* things that repeat together */
    TG_SEQUENCE_ZONE,    /* WHAT: enum tg_omp_zone */
    TG_SEQUENCE_SECTION, /* ID: its number */
    TG_SEQUENCE_MUTEX,   /* WHAT: enum tg_omp_mutex, ID: the lock */
    TG_SEQUENCE_SYNC,    /* a wait that is no barrier; WHAT: enum tg_omp_sync */
    TG_SEQUENCE_TASK,
    TG_SEQUENCE_CALL,    /* an MPI call */
    TG_SEQUENCE_MESSAGE, /* sent, received, or both; ID: its communicator */
    TG_SEQUENCE_HERE,    /* the place of a lifeline at the end; WHAT: enum tg_sequence_here */
    TG_SEQUENCE_ELIDED,  /* EXECUTIONS things that did not fit */
};

/* How somebody is where it is. */
enum tg_sequence_here {
    TG_SEQUENCE_INSIDE,  /* inside the fragment around */
    TG_SEQUENCE_WAITING, /* to be let into the mutex around, or in the wait around */
    TG_SEQUENCE_IN_CALL, /* NAME: of MPI */
    TG_SEQUENCE_OUTSIDE, /* outside everything */
};

/* How a lifeline takes part. */
enum tg_sequence_role {
    TG_SEQUENCE_DOES,
    TG_SEQUENCE_LOOKS_ON, /* a single that another one executes */
    TG_SEQUENCE_WAITS,    /* for a mutex; at a barrier */
    TG_SEQUENCE_HELPS,    /* waits at a barrier, and does something else meanwhile: a task */
    TG_SEQUENCE_PASSED,   /* a barrier */
    TG_SEQUENCE_MISSING,  /* at a barrier */
    TG_SEQUENCE_SENDS,    /* a message */
    TG_SEQUENCE_RECEIVES,
};

enum {
    TG_SEQUENCE_MAX_WEIGHT = 600, /* weight of a list; beyond, its middle is left out */
    TG_SEQUENCE_MAX_PERIOD = 24,  /* things that can repeat together */
};

#define TG_SEQUENCE_NO_LANE UINT32_MAX
#define TG_SEQUENCE_VARIES  (-9) /* a peer or tag: not the same one for all */

struct tg_sequence_part {
    uint32_t lane; /* index of the lifeline */
    enum tg_sequence_role role;
    uint64_t begin_ns;  /* a mutex: when it was got, 0 not yet */
    uint64_t end_ns;    /* 0: not over */
    uint64_t asked_ns;  /* a mutex: when it was asked for; a task: when it was created */
    uint32_t from;      /* a task: who created it, NO_LANE unknown or the one that NODE has */
    uint64_t times;     /* a task: how many, 0 not counted */
    uint64_t waited_ns; /* a message: the longest that it waited in the call that sent or received it */
};

struct tg_sequence_node;

struct tg_sequence_list {
    struct tg_sequence_node **items;
    size_t count, capacity;
    size_t weight;
};

struct tg_sequence_node {
    enum tg_sequence_kind kind;
    uint64_t what;
    uint64_t id;
    uint64_t code;    /* address of the construct or call, 0 unknown */
    uint64_t body;    /* address of the outlined function of a region or task, 0 unknown */
    uint64_t team;    /* id of the region */
    uint64_t size;    /* threads of a region that a rank is in, 0 unknown */
    const char *name; /* MPI call; the diagram owns it, NULL none */
    int64_t tag;
    uint64_t bytes;
    uint32_t from, to; /* a message's lanes; who created a task; whom a lifeline waits for; NO_LANE unknown */
    int64_t peer;      /* rank in the communicator that a message goes to */
    bool receives;     /* a call like MPI_Sendrecv: the next two are known */
    int64_t source, source_tag; /* of its receive */
    bool is_inter;              /* PEER is one of the other group of an intercommunicator */
    bool has_barrier; /* a phase: one closes it; WHAT: enum tg_omp_sync, ID: its number, NAME: a collective */
    bool differs;     /* some ranks called another collective */
    bool is_open;     /* not over when the diagram ends */
    bool floats;      /* a message: other calls can be between its beginning and its end on this side */
    bool is_lost;     /* a message that nobody received */
    bool is_linked;   /* the other half of a message is elsewhere */
    bool has_died;    /* HERE: there it ended */
    bool was_killed;  /* HERE: by a signal, while it did something */
    bool is_cycle;    /* HERE: a cycle of waits */
    bool is_across;   /* spans processes: CODE is an address in one of them and distinguishes nothing */
    bool is_cancelled; /* by `cancel`, before its end; a phase: its barrier */
    bool begun_above;  /* a region of a rank: what it did in MPI meanwhile is drawn above it */
    bool is_inferred;  /* concluded from other events: the runtime is not called there */
    uint64_t tasks;    /* TASK: how many began; what goes on after a pause is an execution of its own */
    bool is_inner;     /* TASK: a task created it */
    bool has_tasks;    /* is a task, or has tasks inside */
    bool is_sum;       /* TASKS tasks created at one place, those that they made among them ... */
    bool is_at_least;  /* ... of those that are known: others were left out */
    uint64_t absent;   /* a phase: members of the team that never began */
    uint64_t begin_ns, end_ns;         /* times of the shown execution; end 0: not over */
    uint64_t until_ns;                 /* end of the last one that this stands for */
    uint64_t least, most;              /* times in a row */
    uint64_t executions;               /* executions that are folded into this one */
    uint64_t total_ns, min_ns, max_ns; /* durations of the finished ones */
    uint64_t key;                      /* things of one key can be done together */
    uint64_t shape;                    /* things of one shape can be folded */
    size_t weight;
    struct tg_sequence_part one, *parts; /* PARTS is &ONE for one */
    size_t n_parts;
    struct tg_sequence_list children;
};

/* A node with LANE as its one part; NO_LANE: without any. NULL without memory. */
struct tg_sequence_node *tg_sequence_node_create(enum tg_sequence_kind kind, uint32_t lane,
                                                 uint64_t begin_ns);
void tg_sequence_node_destroy(struct tg_sequence_node *node); /* NULL is accepted */

/* NODE is complete: its time, key and shape are settled. END_NS 0: it is not over. */
void tg_sequence_node_finish(struct tg_sequence_node *node, uint64_t end_ns);

/* Adds a part. NO_MEMORY. */
struct tg_error *tg_sequence_node_add_part(struct tg_sequence_node *node,
                                           const struct tg_sequence_part *part);

/* Lists are caller's storage; zero-initialised is empty. */
void tg_sequence_list_deinit(struct tg_sequence_list *list);

/* Appends finished NODE, which is taken, also at an error (NO_MEMORY), and folds. */
struct tg_error *tg_sequence_list_append(struct tg_sequence_list *list, struct tg_sequence_node *node);

/* Puts finished message NODE, which is taken, among those of LIST, of which all were received one after the other:
 * in the order of who sent them, those of one kind as one. Which came first differs from iteration to iteration. */
struct tg_error *tg_sequence_list_gather(struct tg_sequence_list *list, struct tg_sequence_node *node);

/* Appends all of MORE, which is left empty, also at an error (NO_MEMORY), with room for more, and folds. */
struct tg_error *tg_sequence_list_append_all(struct tg_sequence_list *list, struct tg_sequence_list *more);

/* Keeps the last COUNT things of LIST; what was before becomes one ELIDED. */
struct tg_error *tg_sequence_list_keep_last(struct tg_sequence_list *list, size_t count);

/* Merges COUNT lists, which are left empty, into MERGED, which is empty: in each list's own order, things of
 * one key in several lists as one where they can be; where somebody is comes before whatever that one
 * has not done. */
struct tg_error *tg_sequence_merge(struct tg_sequence_list *lists, size_t count,
                                   struct tg_sequence_list *merged);

#endif
