/* Text that is collected instead of printed, also what Tcl's own commands print. */
#ifndef TG_LIVE_CONSOLE_TCL_CAPTURE_H
#define TG_LIVE_CONSOLE_TCL_CAPTURE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tcl.h>

enum { TG_TEXT_CAPTURE_MAX = 64 << 20 }; /* bytes; what is beyond is lost, which the text says */

/* Zero at first. */
struct tg_text_capture {
    char *text;
    size_t size, capacity;
    bool is_cut;
};

/* A stream that writes to CAPTURE; NULL: no memory. */
FILE *tg_text_capture_open(struct tg_text_capture *capture);
void tg_text_capture_deinit(struct tg_text_capture *capture);
/* Text written since the last time, without the last line end, NUL bytes as blanks. The stream was
 * flushed. Lives until more is written. */
const char *tg_text_capture_take(struct tg_text_capture *capture);

/* Makes the standard output of INTERP's commands write to STREAM; in a safe interpreter they have none. */
struct tg_error *tg_tcl_capture_begin(Tcl_Interp *interp, FILE *stream);
void tg_tcl_capture_end(Tcl_Interp *interp);

/* The same for a while: *FORMER is where they wrote to, as it is again after the restore. */
struct tg_error *tg_tcl_capture_swap(Tcl_Interp *interp, FILE *stream, Tcl_Channel *former);
void tg_tcl_capture_restore(Tcl_Interp *interp, Tcl_Channel former);

#endif
