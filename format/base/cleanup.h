/* What has to go where a signal ends the process: files under construction, a line on the terminal. */
#ifndef TG_FORMAT_BASE_CLEANUP_H
#define TG_FORMAT_BASE_CLEANUP_H

#include <signal.h>
#include <stdbool.h>

/* From now on the file NAME in DIRECTORY (a descriptor that stays open, or AT_FDCWD), which is open as FD, is removed
 * before SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU or SIGALRM ends the process. A signal that is caught or ignored stays
 * so: whoever catches it removes the file in the ordinary way. NAME stays the caller's, until the file is forgotten.
 * Returns its place; -1 where there are too many. One thread at a time. */
int tg_cleanup_add(int directory, const char *name, int fd);
/* The file at PLACE has its name, or is removed. -1 is accepted. */
void tg_cleanup_forget(int place);

/* Whether a line on standard error, a terminal, is to be wiped out likewise. */
void tg_cleanup_line(bool is_shown);

/* Until the release none of these signals comes: for the time between a file's creation and tg_cleanup_add. */
void tg_cleanup_hold(sigset_t *before);
void tg_cleanup_release(const sigset_t *before);

#endif
