/* State that the OMPT back end keeps for regions, tasks and threads. Runtimes keep one word per region and
 * task for their tool, and copy it as they like; the agent's words lead to what it keeps. Where the program
 * brings its own tool, that tool's words live here too (see recorder/agent/ompt/chain.h).
 *
 * Nothing here takes a lock or calls malloc; memory comes in slabs that are never given back, so that a word
 * that a runtime still hands out after its region's end leads to memory that is there. */
#ifndef TG_RECORDER_AGENT_OMPT_WORDS_H
#define TG_RECORDER_AGENT_OMPT_WORDS_H

#include "recorder/agent/ompt/abi.h"
#include "recorder/agent/openmp.h"

enum tg_ompt_region_kind {
    TG_OMPT_REGION_PARALLEL,
    TG_OMPT_REGION_LEAGUE, /* league of teams: each team's initial thread is outside of all parallel regions */
    TG_OMPT_REGION_HIDDEN, /* the runtime's own, inside of a league: not in the program */
};

/* A parallel region, from parallel_begin to parallel_end: what its word points to. */
struct tg_ompt_region {
    union tg_ompt_data theirs; /* the chained tool's word */
    uint64_t team;             /* id of the team; for other kinds: of the team around */
    uint64_t parent_team;
    const void *code;
    uint32_t level; /* nesting level of the threads in the region */
    uint32_t kind;  /* enum tg_ompt_region_kind */
};

/* A task, where a tool is chained: what its word points to. Without one the word is `id` itself. */
struct tg_ompt_task {
    union tg_ompt_data theirs;
    uint64_t id;                 /* with TG_OMPT_TASK_BEGUN; 0: implicit */
    struct tg_ompt_task *parent; /* kept as long as children are there */
    uint64_t references;         /* __atomic: the task itself, and its children */
};
#define TG_OMPT_TASK_BEGUN (UINT64_C(1) << 63)

/* An implicit task that a thread is in; its own frame is tg_openmp_frame. */
struct tg_ompt_place {
    struct tg_ompt_place *outer;
    struct tg_openmp_frame around;
    uint16_t kind; /* enum tg_ompt_region_kind */
    bool ended;    /* through with the body: at the join, or its end was never told */
};

enum { TG_OMPT_CRITICALS = 3, TG_OMPT_NESTS = 3, TG_OMPT_NEST_SHIFT = 48 };

/* What a thread is inside of, as far as that has to be known when it leaves. */
struct tg_ompt_held {
    uint64_t criticals[TG_OMPT_CRITICALS]; /* the innermost last */
    uint64_t n_criticals;                  /* more than fit are counted */
    uint64_t nests[TG_OMPT_NESTS]; /* nest locks: the address, and how often << TG_OMPT_NEST_SHIFT; 0 none */
    uint64_t ordered;              /* the last ordered region that it entered */
};

enum { TG_OMPT_LOOPS = 3 };

/* A doacross loop that a thread is in. */
struct tg_ompt_loops {
    int64_t first[TG_OMPT_LOOPS],
        last[TG_OMPT_LOOPS]; /* of the values that each of its loops counts through, the outermost first */
    struct tg_ompt_loops *outer;
};

/* State of one thread. */
struct tg_ompt_thread {
    struct tg_ompt_place *top; /* innermost implicit task, NULL outside of all */
    const void *code;          /* the last address in the program that the runtime told */
    uint64_t process;   /* tg_agent's generation when `top` was set: a fork's child is outside of all */
    unsigned taskloops; /* open ones */
    /* a task whose creation is recorded as soon as its dependences are known; 0: none */
    uint64_t pending_task, pending_parent, pending_flags;
    const void *pending_code;
    tg_agent_moment acquire;     /* when it asked for the lock that it has not entered yet */
    const void *critical;        /* the critical section that it is about to enter, NULL: not known */
    struct tg_ompt_held *held;   /* what it is inside of, where releases are watched; NULL nothing yet */
    struct tg_ompt_loops *loops; /* the innermost, NULL: none, or not known */
    /* memory */
    void *free_cells;
    void *given_cells, *given_last; /* a chain and its end, not yet for taking */
    unsigned n_given_cells;
    char *slab, *slab_end;
};
extern __thread struct tg_ompt_thread tg_ompt_thread __attribute__((tls_model("initial-exec")));

/* Zeroed memory for one of the structs above but the thread's, NULL where there is none; given back by any thread. */
void *tg_ompt_take(void);
void tg_ompt_give(void *cell);
/* The calling thread leaves its innermost doacross loop; false: it is in none. */
bool tg_ompt_leave_loop(void);
/* Gives the store of the calling thread, which ends, to the others. */
void tg_ompt_give_all(void);

/* True from the start on where a tool is chained. */
extern bool tg_ompt_chained;

/* The region of PARALLEL, a word as the runtime hands it out; NULL where there is none. */
static inline struct tg_ompt_region *tg_ompt_region_of(const union tg_ompt_data *parallel)
{
    return parallel == NULL ? NULL : (struct tg_ompt_region *)parallel->ptr;
}

/* The task of TASK where a tool is chained; made where the runtime never told of it. */
struct tg_ompt_task *tg_ompt_task_of(union tg_ompt_data *task);

/* Place of the id of TASK, a word as the runtime hands it out; NULL for NULL. */
static inline uint64_t *tg_ompt_task_id(union tg_ompt_data *task)
{
    if (task == NULL)
        return NULL;
    if (!tg_ompt_chained)
        return &task->value;
    struct tg_ompt_task *known = tg_ompt_task_of(task);
    return known == NULL ? NULL : &known->id;
}

/* Gives TASK, a new one that PARENT creates, the id ID, 0 for an implicit one. */
void tg_ompt_task_made(union tg_ompt_data *task, union tg_ompt_data *parent, uint64_t id);
/* TASK is complete. */
void tg_ompt_task_done(union tg_ompt_data *task);

#endif
