/* How a block of the checked heap is released, and whether that fits how it was allocated. */
#ifndef TG_RECORDER_AGENT_HEAP_RELEASE_H
#define TG_RECORDER_AGENT_HEAP_RELEASE_H

#include "format/event/event.h"
#include "recorder/agent/heap/block_table.h"
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/linked_in.h"

/* The function that releases so; "": none that is known. */
const char *tg_heap_release_name(enum tg_heap_release how);
bool tg_heap_release_is_realloc(enum tg_heap_release how);

/* The program replaces operators new or delete: they may go together with malloc and free as it likes. */
void tg_heap_release_allow_mismatch(void);
bool tg_heap_release_allows_mismatch(void);

/* An alignment (0: none of its own) as an entry of the table has it. */
unsigned char tg_heap_release_alignment_class(size_t alignment);

/* Whether ENTRY's block was allocated by an operator and is not released by the one for it, or the other way round. */
bool tg_heap_release_is_mismatched(const struct tg_heap_block_entry *entry, enum tg_heap_release how);

/* HOW, or, where it is free and an operator delete that was linked into the program has called it at FRAME for ENTRY's block,
 * which operator that was: *FORM. Where nobody knows, what the block should be released by. */
enum tg_heap_release tg_heap_release_of(enum tg_heap_release how, const struct tg_heap_block_entry *entry,
                                        const void *frame, enum tg_heap_linked_in_form *form);

/* Tells of a mistake where ENTRY's block, which is in use, is released HOW, by an operator that was TOLD so, and may not be.
 * FORM: as of tg_heap_release_of. */
void tg_heap_release_judge(const struct tg_heap_block_entry *entry, enum tg_heap_release how,
                           enum tg_heap_linked_in_form form, const struct tg_heap_told *told,
                           const void *frame);

#endif
