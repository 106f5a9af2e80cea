/* The owner of a block, by the call path that got it: the program, or a library that it runs on. */
#ifndef TG_ANALYZER_HEAP_PATH_OWNER_H
#define TG_ANALYZER_HEAP_PATH_OWNER_H

#include "analyzer/heap/path_names.h"

/* "grow (list.c:12), called by solve (solve.c:40) < main (main.c:5)", with at most CALLERS callers; of what MPI, its
 * launcher or an interpreter has for itself (*IS_OF_LIBRARY) "libpmix.so.2, called by main (main.c:5)". Blocks that
 * libc and the like get for their caller are the caller's. Printable; SIZE at least 64. Only error: NO_MEMORY. */
struct tg_error *tg_heap_path_owner(const struct tg_heap_path_names *names, const struct tg_heap_path *path,
                                    unsigned callers, char *buffer, size_t size, bool *is_of_library);

/* Whether PATH is below a main program in Fortran. Its variables live until the program ends, but not all of them have a
 * place outside of its stack frame: what they refer to is lost when it has returned, and nobody's mistake. Only error:
 * NO_MEMORY. */
struct tg_error *tg_heap_path_is_of_fortran_main(const struct tg_heap_path_names *names,
                                                 const struct tg_heap_path *path, bool *is_of_fortran_main);

#endif
