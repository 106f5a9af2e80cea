/* Call paths of a job: stacks of all its processes, each once. */
#ifndef TG_ANALYZER_MODELS_HEAP_CALL_PATHS_H
#define TG_ANALYZER_MODELS_HEAP_CALL_PATHS_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code in an object. Equal ones are the same pointer. */
struct tg_heap_frame {
    const char *module;   /* path, "" in no known object */
    const char *build_id; /* "" unknown */
    uint64_t address;     /* in the module, of a caller the byte before its return address; else pc */
    bool is_python, is_signal;
    const char *function, *file; /* of a Python frame, else "" */
    uint64_t line;
};

struct tg_heap_path {
    const struct tg_heap_frame *const *frames; /* innermost first */
    size_t count;
    uint64_t end; /* enum tg_stack_end */
};

struct tg_heap_call_paths;

/* Path 0 is there from the beginning: the empty one, of calls whose stack is not known. */
struct tg_error *tg_heap_call_paths_create(struct tg_heap_call_paths **paths);
/* NULL is accepted. */
void tg_heap_call_paths_destroy(struct tg_heap_call_paths *paths);

/* The number of the path that COUNT FRAMES are, followed by those of the path OUTER; they have their objects already where
 * those are known. Only error: NO_MEMORY. Memory follows the different frames and paths. */
struct tg_error *tg_heap_call_paths_intern(struct tg_heap_call_paths *paths,
                                           const struct tg_stack_frame *frames, size_t count, uint32_t outer,
                                           uint64_t end, uint32_t *path);

/* PATH: one that intern told. */
const struct tg_heap_path *tg_heap_call_paths_at(const struct tg_heap_call_paths *paths, uint32_t path);

#endif
