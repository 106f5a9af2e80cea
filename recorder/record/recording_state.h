/* What a recording consists of; for the files that make it up alone. */
#ifndef TG_RECORDER_RECORD_RECORDING_STATE_H
#define TG_RECORDER_RECORD_RECORDING_STATE_H

#include "recorder/engine/engine.h"
#include "recorder/loader/loader.h"
#include "recorder/process/memory_kills.h"
#include "recorder/record/options.h"
#include "recorder/record/recording_watch.h"
#include "recorder/record/stop_price.h"
#include "recorder/rings/agent_connection.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_recording {
    const struct tg_record_options *options;
    const struct tg_recording_watch *watch; /* NULL nobody */
    struct tg_memory_kills memory_kills;
    struct tg_observer launch;
    enum tg_loader_watch launched;  /* options->launched, or its replacement */
    struct tg_agent_session *agent; /* NULL none */
    bool agent_is_finished;         /* nobody else writes the trace any more */
    char *without_agent;            /* why there is none, where there should have been; NULL: that is fine */
    struct tg_recording_file *file; /* NULL: it is finished */
    struct tg_stop_price price;
    struct tg_ring_set_file file_access; /* of the agent's drain */
    struct tg_engine *engine;            /* NULL without ptrace ... */
    struct tg_untraced *untraced;        /* ... and this otherwise */
    struct tg_image_cache *images;
    struct tg_user_breakpoints *breakpoints;
    struct tg_process_facts *facts;
    struct tg_ptrace_use *ptrace_use;
    struct tg_openmp_breakpoints *openmp;
    struct tg_late_mpi *late; /* NULL: not asked for */
    struct tg_agent_injector *injector;
    struct tg_loader_auditors auditors;
    struct tg_loader *loader;
    struct tg_mpir_session *mpir;             /* NULL none */
    struct tg_stuck_launcher *stuck_launcher; /* NULL: none is looked for */
    uint64_t start_ns;                        /* as the trace has it */
    struct tg_last_stacks *stacks;            /* NULL: none are wanted, or can be had */
    struct tg_heap_names *heap_names;         /* NULL: heaps are not recorded */
    struct tg_live_blocks *live;              /* NULL: leaks are not searched for */
    struct tg_exit_scan *exit_scan;
    struct tg_last_check *last_check;
    struct tg_red_zone_faults *red_zone_faults;
    uint64_t heap_wait_ns; /* at most so long a process waits until what it did to its heap is read */
};

#endif
