/* Operators new and delete of libstdc++ that were linked into the program (-static-libstdc++): nothing can come before them, and
 * what is seen of them are their calls of malloc and free. Which of those are theirs is known by the code around the return
 * address, where the program has symbols; what cannot be known so is said to be unknown. */
#ifndef TG_RECORDER_AGENT_HEAP_LINKED_IN_H
#define TG_RECORDER_AGENT_HEAP_LINKED_IN_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

enum tg_heap_linked_in_form {
    TG_HEAP_LINKED_IN_NONE,    /* by no operator that was linked in */
    TG_HEAP_LINKED_IN_UNKNOWN, /* perhaps by one */
    TG_HEAP_LINKED_IN_ONE,     /* by new or delete ... */
    TG_HEAP_LINKED_IN_ARRAY,   /* ... with [] */
    TG_HEAP_LINKED_IN_EITHER,  /* ... with [] or without */
};

/* Once, while blocks begin to be checked. */
void tg_heap_linked_in_prepare(void);

/* Whether the program has such operators. */
extern bool tg_heap_linked_in; /* __atomic */

/* Which of them has called malloc or the like, whose frame is FRAME. */
enum tg_heap_linked_in_form tg_heap_linked_in_new(const void *frame);

/* Which of them has called free, whose frame is FRAME, or ended with it. */
enum tg_heap_linked_in_form tg_heap_linked_in_delete(const void *frame);

/* Whether CALLER, a return address, is in the program, or in libc, which has no operators. */
bool tg_heap_linked_in_is_near(uintptr_t caller);

#endif
