#include "analyzer/output/heap_error_words.h"

#include "analyzer/output/quantity.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static bool is_realloc(const struct tg_event_heap_error *error)
{
    return strncmp(error->call, "realloc", strlen("realloc")) == 0;
}

static bool is_inside(const struct tg_event_heap_error *error)
{
    return error->offset >= 0 && (uint64_t)error->offset < error->size_bytes;
}

/* What no allocator can give: a number below zero, mostly. Products of calloc and reallocarray, which say themselves when they
 * are too large, are none. */
static bool is_negative(const struct tg_event_heap_error *error)
{
    return error->error == TG_HEAP_ALLOC_NULL && error->size_bytes > INT64_MAX &&
           strcmp(error->call, "calloc") != 0 && strcmp(error->call, "reallocarray") != 0;
}

bool tg_heap_error_is_mistake(const struct tg_event_heap_error *error)
{
    return is_negative(error) ||
           (error->error != TG_HEAP_ALLOC_NULL && error->error != TG_HEAP_HOARD_LOW_MEMORY &&
            error->error < TG_HEAP_DEALLOC_NOTIFICATION);
}

static void write_asked(const struct tg_event_heap_error *error, FILE *stream)
{
    char bytes[TG_QUANTITY_SIZE];
    if (is_negative(error))
        fprintf(stream, ": %" PRIu64 " bytes, which is %" PRId64 " with a sign", error->size_bytes,
                (int64_t)error->size_bytes);
    else if (error->size_bytes == UINT64_MAX)
        fputs(": more bytes than a number can have", stream);
    else
        fprintf(stream, ": %s", tg_quantity_bytes(error->size_bytes, bytes));
}

static const char *words_of(const struct tg_event_heap_error *error)
{
    if (error->error == TG_HEAP_DOUBLE_DEALLOC && is_realloc(error))
        return "realloc of a block that had been freed";
    if (error->error == TG_HEAP_ADDR_NOT_AT_START && is_realloc(error))
        return is_inside(error) ? "realloc of an address inside a block, not its start"
                                : "realloc of an address beside a block";
    if (error->error == TG_HEAP_ADDR_NOT_AT_START && !is_inside(error))
        return "an address beside a block was freed";
    if (error->error == TG_HEAP_MISMATCHED_DEALLOC && error->wrong_bytes != 0)
        return "a block was released as one of another size";
    static const char *const words[] = {
        [TG_HEAP_DOUBLE_DEALLOC] = "a block was freed twice",
        [TG_HEAP_FREE_NOT_ALLOCATED] = "an address that is no block of the heap was freed",
        [TG_HEAP_REALLOC_NOT_ALLOCATED] = "realloc of an address that is no block of the heap",
        [TG_HEAP_ADDR_NOT_AT_START] = "an address inside a block, not its start, was freed",
        [TG_HEAP_GUARD_CORRUPTION] = "bytes outside of a block were overwritten",
        [TG_HEAP_PAINT_CORRUPTION] = "a block was written to after it had been freed",
        [TG_HEAP_ALLOC_NULL] = "an allocation failed",
        [TG_HEAP_BAD_ALIGNMENT_ARGUMENT] = "an invalid alignment was requested",
        [TG_HEAP_MISMATCHED_DEALLOC] = "a block was released by the wrong function",
        [TG_HEAP_HOARD_LOW_MEMORY] = "too little memory was left to keep freed blocks",
        [TG_HEAP_RZ_OVERRUN] = "an access past the end of a block",
        [TG_HEAP_RZ_UNDERRUN] = "an access before the start of a block",
        [TG_HEAP_RZ_USE_AFTER_FREE] = "an access to a block that had been freed",
        [TG_HEAP_DOUBLE_ALLOC] = "the allocator gave out a block that is in use",
        [TG_HEAP_ALLOC_BAD_ALIGNMENT] = "the allocator returned a misaligned block",
        [TG_HEAP_ALLOC_NOT_IN_HEAP] = "the allocator returned an address outside of its heap",
        [TG_HEAP_DEALLOC_NOTIFICATION] = "a tagged block was freed",
        [TG_HEAP_REALLOC_NOTIFICATION] = "a tagged block was reallocated",
    };
    return error->error < sizeof words / sizeof *words ? words[error->error]
                                                       : "an error in the use of the heap";
}

void tg_heap_error_words(const struct tg_event_heap_error *error, FILE *stream)
{
    fputs(words_of(error), stream);
    if (error->error == TG_HEAP_ALLOC_NULL)
        write_asked(error, stream);
    else if (error->address != 0)
        fprintf(stream, ": 0x%" PRIx64, error->address);
    if (error->block != 0 && error->block != error->address)
        fprintf(stream, ", of block 0x%" PRIx64, error->block);
    if (error->error != TG_HEAP_ALLOC_NULL && error->size_bytes != 0)
        fprintf(stream, ", %" PRIu64 " bytes", error->size_bytes);
    if (error->error == TG_HEAP_MISMATCHED_DEALLOC && error->wrong_bytes != 0) {
        fputs(", by ", stream), tg_printable_write(stream, error->call);
        fprintf(stream, ", which was told %" PRIu64, error->wrong_bytes);
    } else if (error->wrong_bytes != 0)
        fprintf(stream, ", %" PRIu64 " byte%s from offset %" PRId64 " on", error->wrong_bytes,
                error->wrong_bytes == 1 ? "" : "s", error->offset);
    else if (error->error == TG_HEAP_ADDR_NOT_AT_START)
        fprintf(stream, ", at offset %" PRId64, error->offset);
    else if (error->error == TG_HEAP_MISMATCHED_DEALLOC && error->call[0] != '\0')
        fputs(", by ", stream), tg_printable_write(stream, error->call);
}

const char *tg_heap_call_words(uint64_t call)
{
    if (call == TG_HEAP_NEW)
        return "operator new";
    if (call == TG_HEAP_NEW_ARRAY)
        return "operator new[]";
    return call == TG_HEAP_OTHER ? NULL : tg_event_value_name(TG_EVENT_HEAP_ALLOC, "call", call);
}
