/* Libraries of sanitizers, by the names of their files: NAME, which may be a path, is LENGTH bytes long. */
#ifndef TG_RECORDER_PROCESS_SANITIZER_H
#define TG_RECORDER_PROCESS_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

/* AddressSanitizer's ends a program in which another library comes before it. */
bool tg_sanitizer_must_be_first(const char *name, size_t length);

/* LeakSanitizer's alone, which has its allocator's cache in a thread-local variable. */
bool tg_sanitizer_is_for_leaks_alone(const char *name, size_t length);

/* One with LeakSanitizer in it, which looks for leaks by tracing the process. */
bool tg_sanitizer_looks_for_leaks(const char *name, size_t length);

#endif
