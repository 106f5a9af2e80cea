#include "live/commands/info/dheap_history.h"

#include "analyzer/output/quantity.h"

#include <inttypes.h>

/* Where BLOCK was freed, 0 not known: events of free have no stack, but errors name it. */
static uint32_t freed_path_of(const struct tg_dheap_call *call, size_t process, uint64_t block)
{
    const struct tg_heap_model *heap = call->reading.heap;
    for (size_t i = tg_heap_model_fault_count(heap); i-- > 0;) {
        const struct tg_heap_fault *fault = tg_heap_model_fault_at(heap, i);
        if (fault->process == process && fault->is.block == block && fault->freed_path != 0)
            return fault->freed_path;
    }
    return 0;
}

static void write_place(const struct tg_dheap_call *call, uint32_t path)
{
    char place[400];
    if (path != 0)
        fprintf(call->out, " in %s",
                tg_heap_path_place(&call->names,
                                   tg_heap_call_paths_at(tg_heap_model_paths(call->reading.heap), path),
                                   place, sizeof place));
}

static void write_use(const struct tg_dheap_call *call, const struct tg_address_history *history,
                      const struct tg_address_use *use)
{
    char moment[TG_QUANTITY_SIZE];
    const struct tg_heap_process *process = tg_heap_model_find(call->reading.heap, use->process);
    tg_dheap_write_process(call, use->process);
    fprintf(call->out, ": 0x%" PRIx64 " is %s", history->address,
            use->is_freed                            ? "dangling: it was in"
            : history->address == use->block.address ? "the start of"
                                                     : "in");
    fprintf(call->out, " the block 0x%" PRIx64 " of %" PRIu64 " bytes", use->block.address,
            use->block.size_bytes);
    if (history->address != use->block.address)
        fprintf(call->out, ", at offset %" PRIu64, history->address - use->block.address);
    fprintf(call->out, "\n  allocated at %s s by thread %" PRId32,
            tg_quantity_moment(use->block.time_ns, call->reading.start_ns, 6, moment), use->block.tid);
    write_place(call,
                process != NULL ? tg_heap_model_path_of(call->reading.heap, use->process, use->stack) : 0);
    if (use->is_freed) {
        fprintf(call->out, "\n  freed at %s s by thread %" PRId32,
                tg_quantity_moment(use->freed_ns, call->reading.start_ns, 6, moment), use->freed_tid);
        write_place(call, freed_path_of(call, use->process, use->block.address));
    }
    fputc('\n', call->out);
}

/* Of each process that is in focus, or is not, its latest block; at most MOST. Returns how many there are. */
static size_t write_uses(const struct tg_dheap_call *call, const struct tg_address_history *history,
                         bool are_in_focus, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++)
        if (tg_dheap_has(call, history->uses[i].process) == are_in_focus && count++ < most)
            write_use(call, history, &history->uses[i]);
    return count;
}

void tg_dheap_write_history(const struct tg_dheap_call *call, const struct tg_address_history *history)
{
    enum { MOST_OTHERS = 8 };
    if (write_uses(call, history, true, SIZE_MAX) > 0)
        return;
    size_t others = write_uses(call, history, false, 0);
    fprintf(call->out, "0x%" PRIx64 " is not in a heap block that the trace knows, and never was%s\n",
            history->address, others > 0 ? ", of the processes in focus; of others:" : "");
    (void)write_uses(call, history, false, MOST_OTHERS);
    if (others > MOST_OTHERS)
        fprintf(call->out, "and in %zu more processes; `dfocus a dheap -info 0x%" PRIx64 "` shows all\n",
                others - MOST_OTHERS, history->address);
}
