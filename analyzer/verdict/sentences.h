/* Sentences that are made of an answer's lines. */
#ifndef TG_ANALYZER_VERDICT_SENTENCES_H
#define TG_ANALYZER_VERDICT_SENTENCES_H

#include <stdio.h>

/* Writes the lines of TEXT, which is changed, as sentences; lines that are indented belong to the one before them. LAST: the
 * character behind which they are written, as '.' or ':'; 0 none. */
void tg_sentences_write(FILE *stream, char last, char *text);

#endif
