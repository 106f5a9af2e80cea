/* Names for call paths of the heap: by what the trace says of their code, else by the files of this machine. */
#ifndef TG_ANALYZER_HEAP_PATH_NAMES_H
#define TG_ANALYZER_HEAP_PATH_NAMES_H

#include "analyzer/models/heap/call_paths.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/output/code_names.h"

/* Sources of names; both outlive it. */
struct tg_heap_path_names {
    const struct tg_stack_model *stacks;
    struct tg_code_names *files; /* NULL: only what the trace says */
};

/* Tells TAKE of the calls of PATH, innermost first, inlined ones too, until it returns false. Strings live until TAKE
 * returns. Only error: NO_MEMORY. */
struct tg_error *tg_heap_path_each_call(const struct tg_heap_path_names *names,
                                        const struct tg_heap_path *path,
                                        bool (*take)(void *context, const struct tg_stack_call *call),
                                        void *context);

/* "solve (solve.c:211)": the place of PATH as its programmer sees it, past the runtimes that it is in; "an unknown
 * place" of the empty path. Printable; SIZE at least 64. Returns BUFFER. */
char *tg_heap_path_place(const struct tg_heap_path_names *names, const struct tg_heap_path *path,
                         char *buffer, size_t size);

/* The object whose code called the heap, "" not known. */
const char *tg_heap_path_module(const struct tg_heap_path *path);

#endif
