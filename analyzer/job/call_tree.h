/* dwhere of several threads: their stacks merged into one tree, with the threads at each place. */
#ifndef TG_ANALYZER_JOB_CALL_TREE_H
#define TG_ANALYZER_JOB_CALL_TREE_H

#include "analyzer/job/view.h"
#include "format/base/error.h"

#include <stddef.h>
#include <stdio.h>

enum { TG_CALL_TREE_MAX_DEPTH = 256 }; /* frames of a stack that are kept, from the outermost */

struct tg_call_tree;

/* A variable of a call, as it is to be shown. */
struct tg_call_variable {
    const char *name, *value;
    bool is_argument;
};

/* One call. */
struct tg_call_tree_frame {
    const char *function; /* "work" */
    const char *place;    /* "hybrid.c#40", "" none */
    const struct tg_call_variable *variables;
    size_t n_variables;
    bool has_arguments; /* show arguments beside the function: "work(n=3)", also "work()" */
};

/* VIEW must live as long as the tree, unchanged. */
struct tg_error *tg_call_tree_create(const struct tg_job_view *view, struct tg_call_tree **tree);
void tg_call_tree_destroy(struct tg_call_tree *tree); /* NULL is accepted */

/* The stack of thread I of PROCESS (once a thread): FRAMES from the outermost to where it is. Equal functions
 * and places below the same callers are one call, whatever their variables are. Copied. Only error:
 * NO_MEMORY. */
struct tg_error *tg_call_tree_add(struct tg_call_tree *tree, const struct tg_job_process *process, size_t i,
                                  const struct tg_call_tree_frame *frames, size_t n_frames);

/* Frames indented below their callers, in the order in which they were first met; who is there
 * ("2:8[0-1.1-4]") where that is not everybody of the line above. An argument that is equal for all is
 * beside the function; other variables on lines of their own, "| n = 3", each value with who has it where
 * they differ. A first line says who is in the tree; nothing where nobody is. */
struct tg_error *tg_call_tree_print(const struct tg_call_tree *tree, FILE *stream);

#endif
