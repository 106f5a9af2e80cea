#include "live/commands/info/dheap_compare.h"

#include "analyzer/heap/changes.h"
#include "analyzer/output/quantity.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_CHANGES = 20 }; /* without -all */

static void write_changes(const struct tg_dheap_call *call, const struct tg_heap_changes *changes,
                          uint64_t then_ns)
{
    char moment[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    size_t shown = call->arguments->all || changes->count < MAX_CHANGES ? changes->count : MAX_CHANGES;
    fprintf(call->out, "Live blocks, compared with %s s:\n",
            tg_quantity_moment(then_ns, call->reading.start_ns, 6, moment));
    for (size_t i = 0; i < shown; i++) {
        const struct tg_heap_change *change = &changes->items[i];
        uint64_t size = change->bytes < 0 ? 0 - (uint64_t)change->bytes : (uint64_t)change->bytes;
        fprintf(call->out, "  %c%s, %+" PRId64 " block%s, from %s\n", change->bytes < 0 ? '-' : '+',
                tg_quantity_bytes(size, bytes), change->blocks,
                change->blocks == 1 || change->blocks == -1 ? "" : "s", change->place);
    }
    if (shown < changes->count)
        fprintf(call->out, "  and %zu smaller ones (dheap -compare %s -all)\n", changes->count - shown,
                call->arguments->compare);
    if (shown == 0)
        fputs("  no difference\n", call->out);
}

struct tg_error *tg_dheap_compare(const struct tg_dheap_call *call)
{
    const struct tg_source *source = call->console->source;
    struct tg_selection then = {.has_to = true};
    struct tg_heap_reading reading = {0};
    struct tg_heap_profile profile = {0};
    struct tg_heap_changes changes = {0};
    struct tg_error *error =
        tg_error_prefix(tg_selection_parse_time(call->arguments->compare, &then.to_ns), "dheap -compare");
    char *path = tg_source_trace_file(source);
    const struct tg_heap_reading_request request = {
        .path = path, .services = call->console->options.services, .selection = &then, .keeps_blocks = true};
    if (error == NULL)
        error = path == NULL ? tg_error_no_memory() : tg_heap_reading_make(&request, &reading);
    free(path);
    if (error == NULL)
        error = tg_heap_profile_make(reading.heap, reading.processes, &call->selection, TG_HEAP_BY_STACK,
                                     TG_HEAP_COST_LIVE, &profile);
    if (error == NULL)
        error = tg_heap_changes_add(&changes, &call->profile, &call->reading, 1);
    if (error == NULL)
        error = tg_heap_changes_add(&changes, &profile, &reading, -1);
    if (error == NULL) {
        tg_heap_changes_finish(&changes);
        write_changes(call, &changes, then.to_ns);
    }
    tg_heap_changes_deinit(&changes);
    tg_heap_profile_deinit(&profile);
    if (reading.heap != NULL)
        tg_heap_reading_deinit(&reading);
    return error;
}
