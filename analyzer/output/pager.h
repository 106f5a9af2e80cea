/* The program that shows long output on a terminal, as git has it: $TOLLGATE_PAGER, $PAGER, or less. */
#ifndef TG_ANALYZER_OUTPUT_PAGER_H
#define TG_ANALYZER_OUTPUT_PAGER_H

#include "format/base/error.h"

struct tg_pager;

/* Starts the pager on standard output. *FD, the caller's to close, is what the pager reads from. *PAGER is
 * NULL, and *FD left alone, where there is none to start: the command is empty or "cat", less is not
 * installed, or TERM is dumb. LESS is FRX and LV is -c for the pager unless they are set. SIGINT and
 * SIGQUIT are for the pager until it is closed. Errors: OS, NO_MEMORY. */
struct tg_error *tg_pager_open(int *fd, struct tg_pager **pager);

/* Waits until the user leaves the pager; *FD must be closed by then. A pager that ends early is no error;
 * TARGET where the command could not be run. NULL is accepted. */
struct tg_error *tg_pager_close(struct tg_pager *pager);

#endif
