/* Words for calls on stacks and for places of threads. */
#ifndef TG_ANALYZER_OUTPUT_STACK_WORDS_H
#define TG_ANALYZER_OUTPUT_STACK_WORDS_H

#include "analyzer/models/stack_places.h"
#include "format/base/json_writer.h"

#include <stdio.h>

/* "solve (solver.c:120)", "solve (libsolver.so)", "libsolver.so+0x1c40", "0x7f1234 (in no known object)". Printable;
 * SIZE at least 64. Returns BUFFER. */
char *tg_stack_words_call(const struct tg_stack_call *call, char *buffer, size_t size);

/* "in solve (solver.c:120)", "in MPI_Barrier, called from main (solver.c:40)", "in dgemm (libblas.so), called from solve
 * (solver.c:120)", "in add (solver.c:9), a callback of MPI_Reduce", "in pause, called from on_fault (solver.c:5), in a signal
 * handler that interrupted step (solver.c:80)". */
void tg_stack_words_place(FILE *stream, const struct tg_stack_place *place);

/* ", a callback of MPI_Reduce", ", in the callback add of MPI_Reduce", what tg_stack_words_place() ends with; nothing where
 * MPI has called nothing. */
void tg_stack_words_callback(FILE *stream, const struct tg_stack_place *place);

/* Why a stack ends early, END as stack events have it; "" where it does not. */
const char *tg_stack_words_end(uint64_t end);

/* Function, file, line and module of CALL as members of the object that JSON is in. */
void tg_stack_words_members(struct tg_json *json, const struct tg_stack_call *call);

#endif
