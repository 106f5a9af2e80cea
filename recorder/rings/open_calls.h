/* Calls of dlopen that threads of a program are in, where the loader tells a debugger of each at its end, even if nothing was
 * loaded (glibc 2.41). An auditor is told only where something was. */
#ifndef TG_RECORDER_RINGS_OPEN_CALLS_H
#define TG_RECORDER_RINGS_OPEN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_open_call;

/* All zero: none. */
struct tg_open_calls {
    struct tg_open_call *items; /* a thread has them in the order of its calls */
    size_t count, capacity;
};

void tg_open_calls_deinit(struct tg_open_calls *calls);

/* Thread TID begins a call. Without memory it is not known. */
void tg_open_calls_begin(struct tg_open_calls *calls, int32_t tid);

/* The auditor was told that the lists are consistent, by thread TID. */
void tg_open_calls_note(struct tg_open_calls *calls, int32_t tid);

/* Thread TID returns from the innermost of its calls, which said ERROR ("": none). True: a debugger was told, the auditor not. */
bool tg_open_calls_end(struct tg_open_calls *calls, int32_t tid, const char *error);

#endif
