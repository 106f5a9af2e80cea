/* dstatus: the threads of a set grouped by the keys that are asked for, as a tree with compressed
 * lists: as long as what differs, not as the job. */
#ifndef TG_ANALYZER_JOB_STATUS_H
#define TG_ANALYZER_JOB_STATUS_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"

#include <stddef.h>
#include <stdio.h>

enum tg_status_key {
    TG_STATUS_CONTROL_GROUP,
    TG_STATUS_SHARE_GROUP,
    TG_STATUS_PROCESS_STATE,
    TG_STATUS_THREAD_STATE,
    TG_STATUS_HOSTNAME,
    TG_STATUS_FUNCTION,
    TG_STATUS_LINE,
    TG_STATUS_PC,
    TG_STATUS_DPID,
    TG_STATUS_DTID,
    TG_STATUS_HELD,
    TG_STATUS_STOP_REASON,
    TG_STATUS_THREAD_NAME,
    TG_STATUS_JOB,
    TG_STATUS_RANK,
    TG_STATUS_KEY_COUNT,
};

struct tg_status_input {
    const struct tg_job_view *view;
    const struct tg_job_set *set; /* of the view */
    /* The hostname, function, line, stop reason or name of thread I of PROCESS (of a process without threads: I is
     * 0) to BUFFER, which has room for SIZE bytes; "" not known. NULL: none is known. From wherever it comes:
     * it is made printable here. */
    void (*name)(void *context, const struct tg_job_process *process, size_t i, enum tg_status_key key,
                 char *buffer, size_t size);
    void *context;
};

/* "control_group", ... */
const char *tg_status_key_name(enum tg_status_key key);

/* A comma list of keys, each at most once; USAGE error that names the word and all keys. */
struct tg_error *tg_status_parse_keys(const char *text, enum tg_status_key keys[static TG_STATUS_KEY_COUNT],
                                      size_t *n_keys);

/* A line for each value of the first key that the set's threads have, "VALUE: 2:8[0-1.1-4]", below it
 * indented those of the next one. Only error: NO_MEMORY. */
struct tg_error *tg_status_print(const struct tg_status_input *input, const enum tg_status_key *keys,
                                 size_t n_keys, FILE *stream);

/* "running", ... */
const char *tg_job_state_word(enum tg_job_state state);

#endif
