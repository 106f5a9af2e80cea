/* What is known of where a job is: its processes and the last stack of each of their threads. */
#ifndef TG_ANALYZER_WHERE_LOOK_H
#define TG_ANALYZER_WHERE_LOOK_H

#include "analyzer/models/process.h"
#include "analyzer/models/stacks.h"
#include "analyzer/where/call_values.h"
#include "format/settings/command.h"

/* A process that could not be looked at. */
struct tg_where_refusal {
    int32_t pid;
    char *reason;
};

/* What a thread waits for in the kernel. */
struct tg_where_wait {
    int32_t pid, tid;
    struct tg_stack_wait is;
};

/* The members of the communicator of the call that a thread is in. */
struct tg_where_comm {
    int32_t pid, tid;
    int64_t size;     /* all members, of an intercommunicator those of both groups */
    int64_t n_remote; /* of the latter, those of the other group; 0: it has one group */
    uint32_t number;  /* 0 unknown; two of them are two communicators, where the members are the same */
    int32_t *
        ranks; /* of the members in their job, in ascending order, and again, as the call counts them: all, or the other group; NULL unknown */
};

/* How long a process was stopped to be looked at. */
struct tg_where_pause {
    int32_t pid;
    uint64_t took_ns;
};

struct tg_where_look {
    const struct tg_process_model *processes;
    const struct tg_stack_model *stacks;
    struct tg_process_model *own_processes; /* NULL: somebody else's */
    struct tg_stack_model *own_stacks;
    struct tg_where_refusal *refusals;
    size_t n_refusals, refusal_capacity;
    struct tg_where_wait *waits;
    size_t n_waits, waits_capacity;
    struct tg_where_values *values;
    size_t n_values, values_capacity;
    struct tg_look_requests *requests; /* of calls like MPI_Waitall */
    size_t n_requests, requests_capacity;
    struct tg_where_comm *comms; /* as far as they are known */
    size_t n_comms, comms_capacity;
    struct tg_look_activity *activities; /* since the look before */
    size_t n_activities, activities_capacity;
    bool is_recorded;    /* read from a trace */
    char uncounted[160]; /* why threads could not be counted; "": they could */
    uint64_t longest_pause_ns;
    struct tg_where_pause *pauses; /* of running processes, in the order in which they were looked at */
    size_t n_pauses, pauses_capacity;
    char **remarks; /* each once */
    size_t n_remarks, remarks_capacity;
    struct tg_error *error; /* error that occurred while events came; owned until taken */
};

struct tg_error *tg_where_look_create(struct tg_where_look *look);
void tg_where_look_deinit(struct tg_where_look *look);

/* Looks at the processes of REQUEST now. */
struct tg_error *tg_where_look_take(struct tg_where_look *look, const struct tg_command_services *services,
                                    const struct tg_look_request *request);

/* Of processes that were stopped for longer in EARLIER, a look before LOOK, that pause counts. */
void tg_where_look_join_pauses(struct tg_where_look *look, const struct tg_where_look *earlier);

/* What core files have. */
struct tg_error *tg_where_look_take_cores(struct tg_where_look *look,
                                          const struct tg_command_services *services,
                                          const struct tg_core_request *request);

/* What PROCESSES and STACKS, which must outlive LOOK, know. LOOK needs no creation then. */
struct tg_error *tg_where_look_of_models(struct tg_where_look *look, const struct tg_process_model *processes,
                                         const struct tg_stack_model *stacks);

/* The last stacks of the trace at PATH. */
struct tg_error *tg_where_look_read(struct tg_where_look *look, const char *path);

#endif
