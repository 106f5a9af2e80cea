/* The way that a thread took to where it is, as its programmer would tell it. */
#ifndef TG_ANALYZER_WHERE_CALL_PATH_H
#define TG_ANALYZER_WHERE_CALL_PATH_H

#include "analyzer/models/stack_places.h"
#include "format/base/error.h"

enum tg_thread_task {
    TG_THREAD_OF_PROGRAM, /* program code is on its stack, has left a call there, or may be there unseen */
    TG_THREAD_OF_OPENMP,  /* a worker that waits for work */
    TG_THREAD_OF_LIBRARY, /* made by a library for itself */
};

/* Calls of the program, outermost first, without those of the libraries in between but for a function of MPI that called
 * the program, recursive ones of one line once, "..." where calls are missing; then what the innermost one
 * called of a library. All calls where none is the program's, but the thread is. Strings are printable. */
struct tg_call_path {
    char **steps;
    size_t count, capacity;
    enum tg_thread_task task;
    bool has_openmp;             /* an OpenMP runtime is on the stack */
    struct tg_stack_place place; /* strings are the model's */
};

/* Only error: NO_MEMORY. */
struct tg_error *tg_call_path_make(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                                   struct tg_call_path *path);
void tg_call_path_deinit(struct tg_call_path *path);

#endif
