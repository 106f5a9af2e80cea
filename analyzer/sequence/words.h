/* The words of a sequence diagram: titles of fragments, where somebody is, times. All of it is printable. */
#ifndef TG_ANALYZER_SEQUENCE_WORDS_H
#define TG_ANALYZER_SEQUENCE_WORDS_H

#include "analyzer/sequence/sequence.h"
#include "analyzer/verdict/verdict.h"

enum { TG_SEQUENCE_LABEL_SIZE = 320 };

struct tg_sequence_words {
    const struct tg_sequence *sequence;
    const struct tg_code_namer *namer; /* NULL: addresses stay numbers */
    uint64_t start_ns;                 /* times are relative to it */
};

/* Each writes to BUFFER, of TG_SEQUENCE_LABEL_SIZE. */
void tg_sequence_words_title(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                             char *buffer);
void tg_sequence_words_here(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                            char *buffer);
void tg_sequence_words_barrier(const struct tg_sequence_words *words, const struct tg_sequence_node *node,
                               char *buffer);
void tg_sequence_words_message(const struct tg_sequence_node *node, char *buffer);

/* When, how long, how often, where in the source: for whoever points at NODE. For the caller to free; NULL
 * without memory. */
char *tg_sequence_words_detail(const struct tg_sequence_words *words, const struct tg_sequence_node *node);

#endif
