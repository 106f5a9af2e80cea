#include "analyzer/heap/fault_words.h"

#include "analyzer/heap/path_owner.h"
#include "analyzer/output/heap_error_words.h"

enum { CALLERS = 2 };

/* In words, whoever may have called them: the function that got a block is often one that does it for others. */
static void write_path(FILE *stream, const char *words, const struct tg_heap_path_names *names,
                       const struct tg_heap_model *heap, uint32_t path)
{
    char owner[800];
    bool is_of_library;
    if (path == 0)
        return;
    const struct tg_heap_path *calls = tg_heap_call_paths_at(tg_heap_model_paths(heap), path);
    TG_AUTO_ERROR struct tg_error *error =
        tg_heap_path_owner(names, calls, CALLERS, owner, sizeof owner, &is_of_library);
    fprintf(stream, "%s%s", words, error == NULL ? owner : "an unknown place");
}

/* What was overwritten, sooner or later before that. */
static bool is_found_late(const struct tg_heap_fault *fault)
{
    return fault->is.error == TG_HEAP_GUARD_CORRUPTION || fault->is.error == TG_HEAP_PAINT_CORRUPTION;
}

/* Of a block that the wrong function released, also which function it came from. */
static void write_allocation(FILE *stream, const struct tg_heap_path_names *names,
                             const struct tg_heap_model *heap, const struct tg_heap_fault *fault)
{
    const char *function = fault->is.error != TG_HEAP_MISMATCHED_DEALLOC || fault->allocated_by == 0
                               ? NULL
                               : tg_heap_call_words(fault->allocated_by - 1);
    char words[64];
    snprintf(words, sizeof words, "; allocated %s%s%sin ", function != NULL ? "by " : "",
             function != NULL ? function : "", function != NULL ? " " : "");
    write_path(stream, words, names, heap, fault->allocated_path);
}

void tg_heap_words_fault(FILE *stream, const struct tg_heap_path_names *names,
                         const struct tg_heap_model *heap, const struct tg_heap_fault *fault)
{
    tg_heap_error_words(&fault->is, stream);
    if (!is_found_late(fault))
        write_path(stream, ", in ", names, heap, fault->path);
    write_allocation(stream, names, heap, fault);
    write_path(stream, "; freed in ", names, heap, fault->freed_path);
    if (is_found_late(fault))
        write_path(stream, "; found later, in ", names, heap, fault->path);
}
