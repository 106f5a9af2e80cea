/* The blocks of the heap that an address was in. */
#ifndef TG_LIVE_COMMANDS_INFO_ADDRESS_HISTORY_H
#define TG_LIVE_COMMANDS_INFO_ADDRESS_HISTORY_H

#include "analyzer/models/heap/blocks.h"
#include "analyzer/models/process.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One block that the address was in. */
struct tg_address_use {
    size_t process; /* index in the process model */
    struct tg_heap_block block;
    uint64_t stack; /* of the allocation */
    uint64_t freed_ns;
    int32_t freed_tid;
    bool is_freed;
};

enum { TG_ADDRESS_MAX_USES = 4096 };

/* Of each process the latest block; of the oldest processes none where there are too many. Caller's storage; all but the address
 * zero is empty. */
struct tg_address_history {
    uint64_t address;
    struct tg_address_use uses[TG_ADDRESS_MAX_USES];
    size_t count;
};

/* Takes one event, in the order of the trace, of PROCESS; NULL: of none. HISTORY is a struct tg_address_history. */
void tg_address_history_take(void *history, const struct tg_event *event,
                             const struct tg_process_entry *process);

#endif
