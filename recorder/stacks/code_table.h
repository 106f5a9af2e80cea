/* Code addresses that recorded stacks have, each once, and what they are called: asked when the recording ends,
 * so that the job does not wait for its debug information to be read. */
#ifndef TG_RECORDER_STACKS_CODE_TABLE_H
#define TG_RECORDER_STACKS_CODE_TABLE_H

#include "format/event/event.h"
#include "recorder/dwarf/modules.h"

/* At most 65,536 addresses. Not thread-safe. */
struct tg_code_table;

struct tg_error *tg_code_table_create(struct tg_code_table **table);
/* NULL is accepted. */
void tg_code_table_destroy(struct tg_code_table *table);

/* Notes ADDRESS, without load bias, of MODULE with its INFO, which the table keeps: files that are removed
 * meanwhile can still be read. Without memory it is not noted. */
void tg_code_table_add(struct tg_code_table *table, const struct tg_module *module,
                       struct tg_debug_info *info, uint64_t address);

/* Emits a code_name event for each address of which something is known and that was not asked about before, in the order in
 * which they were noted, those in files of the system's packages last, until UNTIL_NS (CLOCK_MONOTONIC). Returns how many
 * addresses were not asked about. IS_STRICT: debug information that takes longer to be inflated (of the system's packages:
 * than half of that time) is left aside, for good; otherwise the last one that is opened may take its time. */
size_t tg_code_table_tell(struct tg_code_table *table, uint64_t until_ns, bool is_strict,
                          void (*emit)(void *context, const struct tg_event *event), void *context);

#endif
