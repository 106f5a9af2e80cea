/* What the processes of one look share, whether they run or left core files: caches, names of code, and the waits that were
 * found. */
#ifndef TG_RECORDER_LOOK_SHARED_H
#define TG_RECORDER_LOOK_SHARED_H

#include "format/settings/command.h"
#include "recorder/dwarf/debug_cache.h"
#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/waits.h"

struct tg_look_shared {
    const struct tg_look_sink *sink;
    bool with_values;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_code_table *table;
    struct tg_kept_arguments *kept;
    uint64_t n_processes;
    struct tg_wait *waits;
    size_t n_waits, waits_capacity;
    pid_t *pids; /* of processes that were read; of core files also those that were given to their threads */
    size_t n_pids, pids_capacity;
    /* of running processes alone */
    struct tg_return_watch *watch; /* NULL none */
    bool is_first;                 /* has a processor whenever it wants one */
    uint64_t *rehearsed;           /* programs whose code was followed once, as hashes */
    size_t n_rehearsed, rehearsed_capacity;
};

/* LOOK is to be deinitialized also after an error. */
struct tg_error *tg_look_shared_init(const struct tg_look_sink *sink, bool with_values,
                                     struct tg_look_shared *look);
void tg_look_shared_deinit(struct tg_look_shared *look);

/* Tells the sink the waits, and for NAMES_NS at most the names of code. */
void tg_look_shared_tell(const struct tg_look_shared *look, uint64_t names_ns);

#endif
