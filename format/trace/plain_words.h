/* Words of messages that say nothing of anybody: those that tollgate, the C library and MPI libraries write. */
#ifndef TG_FORMAT_TRACE_PLAIN_WORDS_H
#define TG_FORMAT_TRACE_PLAIN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The SIZE bytes at WORD, without spaces, are a word of the vocabulary (also with a capital, with hyphens, at the
 * end of a sentence), a number, perhaps with its unit, or a name of MPI, OpenMP, ptrace or of a signal. */
bool tg_plain_word(const char *word, size_t size);

#endif
