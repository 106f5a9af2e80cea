/* Where a thread is by its stack, where that is newer than what the models of MPI and OpenMP saw of it. */
#ifndef TG_ANALYZER_PAGE_NEWER_PLACE_H
#define TG_ANALYZER_PAGE_NEWER_PLACE_H

#include "analyzer/page/page.h"

/* The stack of thread TID of PROCESS as it is now; NULL: it is not stopped, or the job is not live. */
const struct tg_page_stack *tg_page_stack_now(const struct tg_page *page, size_t process, int32_t tid);

/* Prints the innermost place of the program in the stack of thread TID of PROCESS that has a source line: "solve
 * (solver.c:120)". False: it is in a call of MPI or waits for something of OpenMP, whose place is known, or its last stack
 * is older than those events. SIZE is at least 256. */
bool tg_page_newer_place(const struct tg_page *page, size_t process, int32_t tid, char *where, size_t size);

#endif
