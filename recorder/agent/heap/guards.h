/* Guards around blocks, and what memory is painted with: bytes whose change is somebody's mistake. */
#ifndef TG_RECORDER_AGENT_HEAP_GUARDS_H
#define TG_RECORDER_AGENT_HEAP_GUARDS_H

#include "recorder/agent/heap/block_table.h"
#include "recorder/agent/heap/notes.h"

enum { TG_HEAP_PAINT_ALLOCATED = 0xa1 };

void tg_heap_guards_fill(uintptr_t start, size_t size, unsigned char byte);

/* Fills the guards of ENTRY's block. */
void tg_heap_guards_write(const struct tg_heap_block_entry *entry);

/* Records as a mistake that they have changed; in CALL, at FRAME. Whether they have. */
bool tg_heap_guards_check(const struct tg_heap_block_entry *entry, const char *call, const void *frame);

/* ERROR at ADDRESS, of ENTRY's block, in CALL. */
struct tg_heap_mistake tg_heap_guards_mistake(enum tg_heap_error error, uintptr_t address,
                                              const struct tg_heap_block_entry *entry, const char *call);

/* Records as ERROR that of the N bytes at START of ENTRY's block some are not WANTED. Whether they are not. */
bool tg_heap_guards_check_bytes(const struct tg_heap_block_entry *entry, uintptr_t start, size_t n,
                                unsigned char wanted, enum tg_heap_error error, const char *call,
                                const void *frame);

#endif
