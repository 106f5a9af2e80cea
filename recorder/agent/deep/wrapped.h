/* Wrappers that are open: each until the library that it was made for is closed. */
#ifndef TG_RECORDER_AGENT_DEEP_WRAPPED_H
#define TG_RECORDER_AGENT_DEEP_WRAPPED_H

#include <stdbool.h>

/* WRAPPER, a handle, is open for the library TARGET. IS_KEPT: for ever. */
void tg_deep_wrapped_add(void *wrapper, void *target, bool is_kept);

bool tg_deep_wrapped_is_any(void);

/* The program has opened HANDLE once more. For where the loader's own count is not known. */
void tg_deep_wrapped_opened(void *handle);

/* The program opens something, what is not seen, or perhaps for ever. Where the loader's own count, which an RTLD_NODELETE
 * never lets go down, is not known, all of them count as open from here on. */
void tg_deep_wrapped_unseen(void);

/* The program has closed HANDLE. Closes, with CLOSE, the wrappers whose libraries nobody else has open, or needs. */
void tg_deep_wrapped_closed(void *handle, int (*close)(void *handle));

#endif
