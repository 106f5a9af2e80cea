/* Words for an event of a mistake in the use of the heap. */
#ifndef TG_ANALYZER_OUTPUT_HEAP_ERROR_WORDS_H
#define TG_ANALYZER_OUTPUT_HEAP_ERROR_WORDS_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdio.h>

/* "an address inside a block, not its start, was freed: 0x1238, of block 0x1234, 40 bytes, at offset 4". Without the
 * stacks; printable. */
void tg_heap_error_words(const struct tg_event_heap_error *error, FILE *stream);

/* Whether ERROR is a mistake, of the program or of its allocator: what was asked for is none, nor is an allocation that failed,
 * unless no allocator could give what was asked of it. */
bool tg_heap_error_is_mistake(const struct tg_event_heap_error *error);

/* The function of an enum tg_heap_call as C and C++ call it; NULL: none is known. */
const char *tg_heap_call_words(uint64_t call);

#endif
