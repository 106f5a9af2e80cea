/* Words for mistakes in the use of the heap. */
#ifndef TG_ANALYZER_HEAP_FAULT_WORDS_H
#define TG_ANALYZER_HEAP_FAULT_WORDS_H

#include "analyzer/heap/path_names.h"
#include "analyzer/models/heap/model.h"

#include <stdio.h>

/* "free of a block that was freed before, 0x1234 (40 bytes), in solve (solve.c:12); allocated in ..., freed in ...".
 * Without a full stop; printable. */
void tg_heap_words_fault(FILE *stream, const struct tg_heap_path_names *names,
                         const struct tg_heap_model *heap, const struct tg_heap_fault *fault);

/* Whether FAULT is a mistake, of the program or of its allocator: a failed allocation, and what was asked for, are none. */
bool tg_heap_fault_is_mistake(const struct tg_heap_fault *fault);

#endif
