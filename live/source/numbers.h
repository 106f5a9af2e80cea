/* Numbers of processes and threads in a session of live control, from its trace: so that a replay calls
 * them the same. */
#ifndef TG_LIVE_SOURCE_NUMBERS_H
#define TG_LIVE_SOURCE_NUMBERS_H

#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_numbered_process {
    size_t process; /* index in the process model */
    uint32_t dpid, control_group, share_group, workers_group;
};

struct tg_numbered_thread {
    uint32_t dpid, dtid;
    int32_t tid;
    bool is_manager, has_ended;
};

struct tg_control_numbers;

struct tg_error *tg_control_numbers_create(struct tg_control_numbers **numbers);
void tg_control_numbers_destroy(struct tg_control_numbers *numbers); /* NULL is accepted */
struct tg_error *tg_control_numbers_copy(const struct tg_control_numbers *numbers,
                                         struct tg_control_numbers **copy);

/* EVENT is about process number PROCESS of the process model. Only error: NO_MEMORY. */
struct tg_error *tg_control_numbers_feed(struct tg_control_numbers *numbers, const struct tg_event *event,
                                         size_t process);

/* 0: there was no live control. */
size_t tg_control_numbers_count(const struct tg_control_numbers *numbers);
/* By ascending dpid, each once; and by ascending dpid and dtid. *PROCESSES and *THREADS are the caller's to
 * free. */
struct tg_error *tg_control_numbers_list(const struct tg_control_numbers *numbers,
                                         struct tg_numbered_process **processes, size_t *n_processes,
                                         struct tg_numbered_thread **threads, size_t *n_threads);

#endif
