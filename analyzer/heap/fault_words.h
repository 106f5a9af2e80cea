/* Words for mistakes in the use of the heap. */
#ifndef TG_ANALYZER_HEAP_FAULT_WORDS_H
#define TG_ANALYZER_HEAP_FAULT_WORDS_H

#include "analyzer/heap/path_names.h"
#include "analyzer/models/heap/model.h"

#include <stdio.h>

/* "a block was freed twice: 0x1234, 40 bytes, in solve (solve.c:12), called by main (main.c:5); allocated in ...; freed in ...".
 * Without a full stop; printable. */
void tg_heap_words_fault(FILE *stream, const struct tg_heap_path_names *names,
                         const struct tg_heap_model *heap, const struct tg_heap_fault *fault);

#endif
