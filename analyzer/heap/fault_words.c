#include "analyzer/heap/fault_words.h"

#include "analyzer/output/quantity.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

static bool is_realloc(const struct tg_event_heap_error *error)
{
    return strncmp(error->call, "realloc", strlen("realloc")) == 0;
}

static bool is_inside(const struct tg_event_heap_error *error)
{
    return error->offset >= 0 && (uint64_t)error->offset < error->size_bytes;
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

bool tg_heap_fault_is_mistake(const struct tg_heap_fault *fault)
{
    return fault->is.error != TG_HEAP_ALLOC_NULL && fault->is.error != TG_HEAP_HOARD_LOW_MEMORY &&
           fault->is.error < TG_HEAP_DEALLOC_NOTIFICATION;
}

static void write_path(FILE *stream, const char *words, const struct tg_heap_path_names *names,
                       const struct tg_heap_model *heap, uint32_t path)
{
    char place[400];
    if (path != 0)
        fprintf(stream, "%s%s", words,
                tg_heap_path_place(names, tg_heap_call_paths_at(tg_heap_model_paths(heap), path), place,
                                   sizeof place));
}

void tg_heap_words_fault(FILE *stream, const struct tg_heap_path_names *names,
                         const struct tg_heap_model *heap, const struct tg_heap_fault *fault)
{
    char bytes[TG_QUANTITY_SIZE];
    fputs(words_of(&fault->is), stream);
    if (fault->is.error == TG_HEAP_ALLOC_NULL)
        fprintf(stream, ": %s", tg_quantity_bytes(fault->is.size_bytes, bytes));
    else if (fault->is.address != 0)
        fprintf(stream, ": 0x%" PRIx64, fault->is.address);
    if (fault->is.block != 0 && fault->is.block != fault->is.address)
        fprintf(stream, ", of block 0x%" PRIx64, fault->is.block);
    if (fault->is.error != TG_HEAP_ALLOC_NULL && fault->is.size_bytes != 0)
        fprintf(stream, ", %" PRIu64 " bytes", fault->is.size_bytes);
    if (fault->is.wrong_bytes != 0)
        fprintf(stream, ", %" PRIu64 " byte%s from offset %" PRId64 " on", fault->is.wrong_bytes,
                fault->is.wrong_bytes == 1 ? "" : "s", fault->is.offset);
    else if (fault->is.error == TG_HEAP_ADDR_NOT_AT_START)
        fprintf(stream, ", at offset %" PRId64, fault->is.offset);
    else if (fault->is.error == TG_HEAP_MISMATCHED_DEALLOC && fault->is.call[0] != '\0')
        fprintf(stream, ", by %s", fault->is.call);
    write_path(stream, ", in ", names, heap, fault->path);
    write_path(stream, "; allocated in ", names, heap, fault->allocated_path);
    write_path(stream, "; freed in ", names, heap, fault->freed_path);
}
