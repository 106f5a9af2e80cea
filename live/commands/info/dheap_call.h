/* One call of `dheap`: what was asked, and what it is answered from. */
#ifndef TG_LIVE_COMMANDS_INFO_DHEAP_CALL_H
#define TG_LIVE_COMMANDS_INFO_DHEAP_CALL_H

#include "analyzer/heap/path_names.h"
#include "analyzer/heap/profile.h"
#include "analyzer/heap/reading.h"
#include "analyzer/heap/words.h"
#include "live/commands/info/heap_guards.h"
#include "live/commands/info/heap_wish.h"
#include "live/console/console.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_dheap_arguments {
    bool status, info, leaks, stats, guard, paint, hoard, red_zones, tag_alloc, event_filter, check_interior,
        check_guards, all, force;
    const char *compare, *export_path, *address, *address_end;
    struct tg_heap_wish wish;
    enum tg_heap_by by;
    enum tg_heap_cost cost;
    int64_t format; /* of -export */
};

/* What one call of the command works with. */
struct tg_dheap_call {
    struct tg_console *console;
    const struct tg_dheap_arguments *arguments;
    struct tg_heap_reading reading;
    struct tg_selection selection; /* the processes in focus */
    struct tg_heap_profile profile;
    struct tg_heap_path_names names;
    struct tg_heap_guards *guards; /* NULL: they were not checked */
    bool is_over;                  /* a live job has no process any more that a focus could have */
    FILE *out;
};

/* Whether the process with this index in the model is in focus. */
static inline bool tg_dheap_has(const struct tg_dheap_call *call, size_t process)
{
    return call->is_over || tg_focus_has(&call->console->focus, process);
}

/* "rank 1 (pid 4711)" or the like, as in all of its answers. */
static inline void tg_dheap_write_process(const struct tg_dheap_call *call, size_t process)
{
    tg_heap_words_process(call->out, tg_process_model_at(call->reading.processes, process));
}

#endif
