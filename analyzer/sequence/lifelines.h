/* A sequence diagram being built: its lifelines, what each is inside of, and the regions that are open. */
#ifndef TG_ANALYZER_SEQUENCE_LIFELINES_H
#define TG_ANALYZER_SEQUENCE_LIFELINES_H

#include "analyzer/models/mpi/known_names.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/openmp/model.h"
#include "analyzer/sequence/sequence.h"
#include "analyzer/sequence/team.h"
#include "format/base/hash.h"

enum { TG_SEQUENCE_KEPT_PHASES = 3, TG_SEQUENCE_MAX_TASKS = 1 << 16 };

struct sequence_region {
    uint64_t id;
    uint64_t parent, level, code, body, begin_ns;
    uint32_t owner; /* lane, NO_LANE unknown */
    bool is_cancelled;
    struct tg_sequence_team *team;
    UT_hash_handle hh;
};

/* Something that a lifeline is inside of. */
struct sequence_frame {
    struct tg_sequence_node *node;  /* NULL: a region */
    struct sequence_region *region; /* NULL: no region, or one that is over already */
    uint64_t id;                    /* region or task */
    int32_t tid;                    /* by rank: the thread */
    enum tg_mpi_role role;          /* of a call of MPI */
    bool has_waited;                /* for a mutex that is about to be got */
    bool has_received;              /* a call: a message that was waited for in it */
    bool is_join; /* a region whose body is over for this one: tasks are executed at its end */
};

struct sequence_worker {
    int32_t tid;
    uint32_t lane;
    bool has_died;
    bool was_killed; /* by rank: by a signal, that of who ended the job or another */
    struct sequence_frame *frames;
    size_t n_frames, capacity;
    struct tg_sequence_list root;
    struct tg_sequence_list received; /* by rank: messages, one after the other, last of all */
    struct tg_sequence_node *copied;  /* a wait for copyprivate, to be drawn behind its single; NULL none */
    uint64_t last_code;
    const char *last_call; /* by rank: of MPI */
    uint64_t last_ns;
    size_t joins; /* regions that it met and is through with, not over */
    bool met_region;
    uint32_t waits_for; /* at the end: a lane, NO_LANE none that is known */
    bool is_in_cycle;   /* of such waits */
    bool is_replaced;   /* the program is no more, another one runs in the process */
    int32_t collective; /* by rank: the thread that is in one of all ranks, 0 none */
    UT_hash_handle hh;  /* by tid */
    size_t process;
    struct tg_sequence_team *job; /* by rank: that it is of */
};

struct sequence_task {
    uint64_t id;
    uint64_t body, code, created_ns;
    uint32_t creator;
    bool has_begun;
    bool is_inner; /* a task created it */
    UT_hash_handle hh;
};

/* Jobs give the same numbers to their communicators. */
struct sequence_comm_key {
    uint64_t id;
    const struct tg_sequence_team *job;
};

struct sequence_comm {
    struct sequence_comm_key key;
    int64_t size;
    bool is_inter; /* peers are ranks of another group */
    UT_hash_handle hh;
};

struct tg_sequence_builder {
    struct tg_sequence_options options;
    struct tg_sequence *made;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
    struct sequence_worker *live;     /* by tid; none by rank */
    struct sequence_worker **workers; /* by lane */
    size_t worker_capacity, lane_capacity;
    struct sequence_region *regions; /* open ones */
    struct sequence_task *tasks;
    struct sequence_comm *comms;
    struct tg_sequence_team **jobs; /* by rank */
    size_t n_jobs;
    struct sequence_worker **ranks; /* by rank: by process, NULL where it is not drawn */
    size_t n_ranks, rank_capacity;
    struct tg_mpi_known_names known; /* of the diagram's names */
    struct tg_sequence_list found;   /* the region that was asked for */
    bool has_found;
    bool has_replaced; /* the process ran another program before */
    uint64_t now_ns;
};

/* A lifeline for LANE, the last one of the diagram. Only error of these functions: NO_MEMORY. */
struct tg_error *sequence_worker_add(struct tg_sequence_builder *builder, const struct tg_sequence_lane *lane,
                                     struct sequence_worker **worker);
void sequence_worker_destroy(struct sequence_worker *worker);
/* Removes REGION from the open ones. */
void sequence_region_destroy(struct tg_sequence_builder *builder, struct sequence_region *region);

/* NODE, finished, is what WORKER did inside of its first COUNT frames; takes it. */
struct tg_error *sequence_put_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                 size_t count, struct tg_sequence_node *node);
/* The same inside all frames. */
struct tg_error *sequence_put(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                              struct tg_sequence_node *node);
struct tg_error *sequence_push(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                               struct tg_sequence_node *node, struct sequence_frame **frame);
/* Closes the frame at INDEX; END_NS 0: it is not over. */
struct tg_error *sequence_close(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                size_t index, uint64_t end_ns);
/* Puts the messages that WORKER received last where they belong: before anything else that it does. */
/* The list that WORKER's messages are in; NULL: they are dropped. */
const struct tg_sequence_list *sequence_list_of(struct tg_sequence_builder *builder,
                                                struct sequence_worker *worker);
struct tg_error *sequence_put_received(struct tg_sequence_builder *builder, struct sequence_worker *worker);
/* Puts WORKER's wait for copyprivate where it belongs, if there is one. */
struct tg_error *sequence_put_copied(struct tg_sequence_builder *builder, struct sequence_worker *worker);
struct tg_error *sequence_worker_get(struct tg_sequence_builder *builder, int32_t tid, uint64_t number,
                                     struct sequence_worker **worker);
/* Ends REGION, which is gone then. */
struct tg_error *sequence_end_region(struct tg_sequence_builder *builder, struct sequence_region *region,
                                     bool is_over, uint64_t time_ns);

#endif
