/* Aligned tables for people: columns as wide as their cells, cut only where a width is asked for. */
#ifndef TG_ANALYZER_OUTPUT_TEXT_TABLE_H
#define TG_ANALYZER_OUTPUT_TEXT_TABLE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct tg_text_table;

enum { TG_TEXT_TABLE_MAX_COLUMNS = 16 };

/* HEADINGS: NULL-terminated; one that starts with '>' makes its column right-aligned. */
struct tg_error *tg_text_table_create(const char *const *headings, bool colour, struct tg_text_table **table);
void tg_text_table_destroy(struct tg_text_table *table);

/* One cell per heading; copied. Cells must be printable already: nothing is escaped here. */
struct tg_error *tg_text_table_add(struct tg_text_table *table, const char *const *cells);

/* Prints within WIDTH columns: the widest left-aligned cells are cut with "...", paths from the
 * left. */
void tg_text_table_limit(struct tg_text_table *table, size_t width);

/* Writes headings and rows with line ends, no blank behind the last cell of a line; nothing where
 * there are no rows. */
struct tg_error *tg_text_table_print(struct tg_text_table *table, FILE *stream);

#endif
