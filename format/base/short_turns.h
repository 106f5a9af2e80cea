/* Threads that have little to do and must do it soon. */
#ifndef TG_FORMAT_BASE_SHORT_TURNS_H
#define TG_FORMAT_BASE_SHORT_TURNS_H

#include <sys/types.h>

/* The calling thread asks for the processor for a short time at once: woken on a processor that another program uses,
 * it comes soon, and not when that one's turn is over, which takes milliseconds. It gets no more time altogether, and
 * needs no privilege. Linux before 6.12 knows no such wish; threads of another policy than the usual one keep theirs. */
void tg_short_turns_begin(void);

/* TID is a child process of the calling thread, which may have begun: back to what the thread had before. */
void tg_short_turns_end_of(pid_t tid);

#endif
