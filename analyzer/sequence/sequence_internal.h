/* What the parts of the builder of sequence diagrams share. */
#ifndef TG_ANALYZER_SEQUENCE_SEQUENCE_INTERNAL_H
#define TG_ANALYZER_SEQUENCE_SEQUENCE_INTERNAL_H

#include "analyzer/models/mpi.h"
#include "analyzer/models/openmp.h"
#include "analyzer/sequence/sequence.h"
#include "analyzer/sequence/team.h"

#include <uthash.h>

enum { TG_SEQUENCE_KEPT_PHASES = 3, TG_SEQUENCE_MAX_TASKS = 1 << 16 };

struct sequence_region {
    uint64_t id;
    uint64_t parent, level, code, body, begin_ns;
    uint32_t owner; /* lane, NO_LANE unknown */
    struct tg_sequence_team *team;
    UT_hash_handle hh;
};

/* Something that a lifeline is inside of. */
struct sequence_frame {
    struct tg_sequence_node *node;  /* NULL: a region */
    struct sequence_region *region; /* NULL: no region, or one that is over already */
    uint64_t id;                    /* of the region or the task */
    int32_t tid;                    /* by rank: the thread's */
    bool has_waited;                /* for a mutex that is about to be got */
};

struct sequence_worker {
    int32_t tid;
    uint32_t lane;
    bool has_died;
    struct sequence_frame *frames;
    size_t n_frames, capacity;
    struct tg_sequence_list root;
    uint64_t last_code;
    const char *last_call; /* by rank: of MPI */
    uint64_t last_ns;
    size_t joins; /* regions that it met and is through with, not over */
    bool met_region;
    bool is_replaced;   /* its program is no more, another one runs in the process */
    int32_t collective; /* by rank: the thread that is in one of all ranks, 0 none */
    UT_hash_handle hh;  /* by tid; by rank: by process */
    size_t process;
};

struct sequence_task {
    uint64_t id;
    uint64_t body, code;
    uint32_t creator;
    UT_hash_handle hh;
};

struct sequence_comm {
    uint64_t id;
    int64_t size;
    UT_hash_handle hh;
};

struct tg_sequence_builder {
    struct tg_sequence_options options;
    struct tg_sequence *made;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
    struct sequence_worker *live;     /* by tid or process */
    struct sequence_worker **workers; /* by lane */
    size_t worker_capacity, lane_capacity;
    struct sequence_region *regions; /* open ones */
    struct sequence_task *tasks;
    struct sequence_comm *comms;
    struct tg_sequence_team *job;  /* by rank */
    struct tg_sequence_list found; /* the region that was asked for */
    bool has_found;
    bool has_replaced; /* the process ran another program before */
    uint64_t now_ns;
};

/* sequence.c: NODE, finished, is what WORKER did inside of its first COUNT frames; takes it. */
struct tg_error *sequence_put_at(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                 size_t count, struct tg_sequence_node *node);
/* The same inside of all of them. */
struct tg_error *sequence_put(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                              struct tg_sequence_node *node);
struct tg_error *sequence_push(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                               struct tg_sequence_node *node, struct sequence_frame **frame);
/* Closes the frame at INDEX; END_NS 0: it is not over. */
struct tg_error *sequence_close(struct tg_sequence_builder *builder, struct sequence_worker *worker,
                                size_t index, uint64_t end_ns);
struct tg_error *sequence_worker_get(struct tg_sequence_builder *builder, int32_t tid, uint64_t number,
                                     struct sequence_worker **worker);
/* Ends REGION, which is gone then. */
struct tg_error *sequence_end_region(struct tg_sequence_builder *builder, struct sequence_region *region,
                                     bool is_over, uint64_t time_ns);

/* The program is no more: everybody stays where it was. EVENT, an exec, says what comes instead. */
struct tg_error *sequence_end_program(struct tg_sequence_builder *builder, const struct tg_event *event);

/* analyzer/sequence/openmp.c */
struct tg_error *sequence_openmp_create(struct tg_sequence_builder *builder);
struct tg_error *sequence_openmp_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                      size_t process);
/* analyzer/sequence/rank.c */
struct tg_error *sequence_rank_create(struct tg_sequence_builder *builder);
/* An event of OpenMP of RANK, which the model has taken. */
struct tg_error *sequence_rank_feed(struct tg_sequence_builder *builder, struct sequence_worker *rank,
                                    const struct tg_event *event);
/* In words, where RANK is in an open region; *STATE, the diagram's, is left alone where it is in none. */
struct tg_error *sequence_rank_state(struct tg_sequence_builder *builder, const struct sequence_worker *rank,
                                     const char **state);
/* analyzer/sequence/mpi.c */
struct tg_error *sequence_mpi_create(struct tg_sequence_builder *builder);
struct tg_error *sequence_mpi_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                   size_t process);
/* Marks messages that nobody received. */
struct tg_error *sequence_mpi_mark_lost(struct tg_sequence_builder *builder);

#endif
