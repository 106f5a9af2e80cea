/* Sentences that are as wide as the terminal they are written to. */
#ifndef TG_ANALYZER_OUTPUT_PARAGRAPH_H
#define TG_ANALYZER_OUTPUT_PARAGRAPH_H

#include <stddef.h>
#include <stdio.h>

/* LABEL, which may be NULL, and TEXT (printable, without line ends) behind it as one line, wrapped at blanks to COLUMNS
 * characters; 0: not wrapped. Further lines begin below the text's first character. */
void tg_paragraph_write(FILE *stream, size_t columns, const char *label, const char *text);

/* Each line of TEXT as a paragraph. Further lines of one that begins with blanks begin two characters to the right of its
 * first word. Changes TEXT. */
void tg_paragraph_write_all(FILE *stream, size_t columns, char *text);

#endif
