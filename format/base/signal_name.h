/* Names of signals as people write them. */
#ifndef TG_FORMAT_BASE_SIGNAL_NAME_H
#define TG_FORMAT_BASE_SIGNAL_NAME_H

#include <stddef.h>
#include <stdint.h>

/* "SIGSEGV", "SIGRTMIN+3", or "signal 99" for a number that is none; writes to BUFFER (SIZE at least 32) and
 * returns it. */
char *tg_signal_name(int64_t number, char *buffer, size_t size);

#endif
