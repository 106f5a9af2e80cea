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
    enum tg_wait_what what;
    uint64_t address; /* of a futex */
    int32_t owner;    /* thread that it waits for, 0 unknown */
    int32_t partner;  /* the one process that has the other end, 0 unknown or several */
    bool writes;      /* to a pipe or socket */
};

struct tg_where_look {
    struct tg_process_model *processes;
    struct tg_stack_model *stacks;
    struct tg_where_refusal *refusals;
    size_t n_refusals, refusal_capacity;
    struct tg_where_wait *waits;
    size_t n_waits, waits_capacity;
    struct tg_where_values *values;
    size_t n_values, values_capacity;
    struct tg_look_activity *activities; /* since the look before */
    size_t n_activities, activities_capacity;
    bool is_recorded;    /* read from a trace */
    char uncounted[160]; /* why threads could not be counted; "": they could */
    uint64_t longest_pause_ns;
    char **remarks; /* each once */
    size_t n_remarks, remarks_capacity;
    struct tg_error *error; /* that occurred while events came; owned until taken */
};

struct tg_error *tg_where_look_create(struct tg_where_look *look);
void tg_where_look_deinit(struct tg_where_look *look);

/* Looks at the processes of REQUEST now. */
struct tg_error *tg_where_look_take(struct tg_where_look *look, const struct tg_command_services *services,
                                    const struct tg_look_request *request);

/* What core files have. */
struct tg_error *tg_where_look_take_cores(struct tg_where_look *look,
                                          const struct tg_command_services *services,
                                          const struct tg_core_request *request);

/* The last stacks of the trace at PATH. */
struct tg_error *tg_where_look_read(struct tg_where_look *look, const char *path);

#endif
