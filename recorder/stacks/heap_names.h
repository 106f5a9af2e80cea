/* Code addresses that stacks of heaps have, each once, and what they are called: looked up in the files when the
 * recording ends, so that the trace has names where the files are not. */
#ifndef TG_RECORDER_STACKS_HEAP_NAMES_H
#define TG_RECORDER_STACKS_HEAP_NAMES_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* At most 65,536 addresses. Not thread-safe: one thread adds, and when it has ended another one tells. */
struct tg_heap_names;

struct tg_error *tg_heap_names_create(struct tg_heap_names **names);
/* NULL is accepted. */
void tg_heap_names_destroy(struct tg_heap_names *names);

/* Notes the addresses of STACK. Without memory some are not noted. */
void tg_heap_names_add(struct tg_heap_names *names, const struct tg_event_heap_stack *stack);

/* Emits a code_name event of now for each address of which something is known, for two seconds at most, and a note that says how
 * many addresses were not looked up then. A file that is not the one that was mapped says nothing. NULL is accepted. */
void tg_heap_names_tell(struct tg_heap_names *names,
                        void (*emit)(void *context, const struct tg_event *event), void *context);

#endif
