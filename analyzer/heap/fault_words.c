#include "analyzer/heap/fault_words.h"

#include "analyzer/output/heap_error_words.h"

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
    tg_heap_error_words(&fault->is, stream);
    write_path(stream, ", in ", names, heap, fault->path);
    write_path(stream, "; allocated in ", names, heap, fault->allocated_path);
    write_path(stream, "; freed in ", names, heap, fault->freed_path);
}
