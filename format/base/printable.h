/* Text from traces and targets made safe for a terminal. */
#ifndef TG_FORMAT_BASE_PRINTABLE_H
#define TG_FORMAT_BASE_PRINTABLE_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdio.h>

/* Writes TEXT to BUFFER (at most SIZE bytes with the end NUL), control characters, DEL, C1 controls,
 * bidirectional overrides and malformed UTF-8 shown as \n, \t, \xNN or \u{NNNN}, backslash as \\. Returns
 * BUFFER; too long a text is cut at a whole character and ends with "...". SIZE is at least 8. */
char *tg_printable(const char *text, char *buffer, size_t size);

/* The same to a stream, uncut. */
void tg_printable_write(FILE *stream, const char *text);

/* The same in double quotes, with a double quote inside shown as \". */
void tg_printable_write_quoted(FILE *stream, const char *text);

/* "tollgate: TEXT\n" to standard error, made printable. */
void tg_printable_message(const char *text);

/* "tollgate: MESSAGE\n" to standard error, made printable. Does not take ERROR. */
void tg_printable_error(const struct tg_error *error);

#endif
