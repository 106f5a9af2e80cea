/* Place of an error in a script: procedures and the lines that called them, read from Tcl's errorInfo. */
#ifndef TG_LIVE_CONSOLE_SCRIPT_TRACE_H
#define TG_LIVE_CONSOLE_SCRIPT_TRACE_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Places of the bodies of procedures. */
struct tg_procedure_places;

struct tg_error *tg_procedure_places_create(struct tg_procedure_places **places);
void tg_procedure_places_destroy(struct tg_procedure_places *places); /* NULL is accepted */

/* The body of procedure NAME begins on LINE of FILE (copied); FILE NULL: it is in none. Only error:
 * NO_MEMORY. */
struct tg_error *tg_procedure_places_set(struct tg_procedure_places *places, const char *name,
                                         const char *file, size_t line);

enum { TG_SCRIPT_TRACE_FRAMES = 64 };

/* A procedure, or (PROCEDURE empty) the script outside of all. */
struct tg_script_frame {
    char procedure[64];
    const char *file; /* NULL: not known; the places' or the caller's */
    size_t line;      /* in FILE; where that is not known in the procedure's body, from 1 */
};

struct tg_script_trace {
    struct tg_script_frame frames[TG_SCRIPT_TRACE_FRAMES]; /* the innermost first; the last is the script's */
    size_t n_frames;
};

/* Reads TRACE from Tcl's errorInfo INFO of an error with MESSAGE, in a script of FILE (NULL: typed) whose
 * command failed on LINE. Of too many frames those in the middle are left out. FILE must outlive TRACE. */
void tg_script_trace_read(const struct tg_procedure_places *places, const char *info, const char *message,
                          const char *file, size_t line, struct tg_script_trace *trace);

#endif
