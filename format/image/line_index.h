/* The line-number program of an object that covers an address, and its row for it. */
#ifndef TG_FORMAT_IMAGE_LINE_INDEX_H
#define TG_FORMAT_IMAGE_LINE_INDEX_H

#include "format/image/line_table.h"

/* Extents of all sequences of rows, without the rows: a question runs one unit's program once more.
 * Immutable; borrows nothing. */
struct tg_line_index;

/* Runs every program of SECTIONS once. Sequences whose first address IS_CODE denies are left out: functions
 * that the linker dropped. At most 4 Mi sequences are kept. NULL: no memory. */
struct tg_line_index *tg_line_index_create(const struct tg_line_sections *sections,
                                           bool (*is_code)(void *context, uint64_t address), void *context);
/* NULL is accepted. */
void tg_line_index_destroy(struct tg_line_index *index);

/* The row that covers ADDRESS (addresses as in the line table): the nearest one at or before it in its
 * sequence that names a line. False where there is none. UNIT is the one that ROW belongs to. */
bool tg_line_index_find(const struct tg_line_index *index, const struct tg_line_sections *sections,
                        uint64_t address, struct tg_line_unit *unit, struct tg_line_row *row);

/* The path of file NUMBER of UNIT, joined with its directories as far as they are known. False where it has
 * no such file, or PATH (SIZE bytes) is too small. */
bool tg_line_unit_file_path(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                            uint64_t number, char *path, size_t size);

#endif
