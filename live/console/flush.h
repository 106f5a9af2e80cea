/* Answers come to whoever asked, or it is known that they did not. */
#ifndef TG_LIVE_CONSOLE_FLUSH_H
#define TG_LIVE_CONSOLE_FLUSH_H

#include "format/base/error.h"

#include <stdio.h>

/* Flushes STREAM. *FAILED keeps the errno of the first write to it that failed, 0: none; STREAM has no error then. */
void tg_flush(FILE *stream, int *failed);

/* The error of a write to standard output that FAILED; NULL where none did, or the reader went away (EPIPE). */
struct tg_error *tg_flush_error(int failed);

#endif
