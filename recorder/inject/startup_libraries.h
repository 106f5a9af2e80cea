/* Libraries that the dynamic loader is going to map when a program starts, before it does: what the program
 * needs, and what these need, searched for as ld.so(8) says. Known of them is the thread-local storage that
 * they take. */
#ifndef TG_RECORDER_INJECT_STARTUP_LIBRARIES_H
#define TG_RECORDER_INJECT_STARTUP_LIBRARIES_H

#include "format/base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Keeps what it read of each file. Not thread-safe. */
struct tg_startup_libraries;

struct tg_startup_program {
    pid_t pid;                /* files are looked up in its file system */
    const char *path;         /* of the program, NULL: the one that PID runs */
    const char *library_path; /* LD_LIBRARY_PATH, NULL none */
    const char *preload;      /* LD_PRELOAD, NULL none */
};

struct tg_error *tg_startup_libraries_create(struct tg_startup_libraries **libraries);
void tg_startup_libraries_destroy(struct tg_startup_libraries *libraries); /* NULL is accepted */

/* The bytes of thread-local storage that the libraries of PROGRAM take together, alignment included.
 * NOT_FOUND where a needed library is not found; UNSUPPORTED where one wants an alignment that cannot be had
 * once the loader has decided on the layout (beyond that of a cache line). What LD_PRELOAD names may be
 * missing. */
struct tg_error *tg_startup_libraries_tls(struct tg_startup_libraries *libraries,
                                          const struct tg_startup_program *program, uint64_t *bytes);

#endif
