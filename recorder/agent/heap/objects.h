/* Programs and libraries whose code stacks are in, each told to the recorder once. */
#ifndef TG_RECORDER_AGENT_HEAP_OBJECTS_H
#define TG_RECORDER_AGENT_HEAP_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before the first one. */
bool tg_heap_objects_prepare(void);

/* Tells of the object that ADDRESS is in, where that has not happened. [*START, *END): addresses that are told of by now; empty:
 * it cannot be said. */
void tg_heap_object_tell(uint64_t address, uint64_t *start, uint64_t *end);

/* The path of the object that ADDRESS is in, good as long as that is loaded; "" where there is none. */
const char *tg_heap_object_path(const void *address);

/* Whether the name of the file of the object that ADDRESS is in, with the slash before it, begins with one of the N NAMES. */
bool tg_heap_object_is_named(const void *address, const char *const *names, unsigned n);

/* Whether that is a C++ library: what others have of operators new and delete is theirs. */
bool tg_heap_object_is_cxx_library(const void *address);

/* Whether the object that ADDRESS is in has operators new or delete of its own, and is no C++ library. Slow. */
bool tg_heap_object_has_operators(const void *address);

#endif
