/* The MPIR model in words, for the report and the console: starters, their ranks, and the steps of the
 * protocol. */
#ifndef TG_ANALYZER_REPORT_MPIR_TEXT_H
#define TG_ANALYZER_REPORT_MPIR_TEXT_H

#include "analyzer/models/mpir.h"
#include "analyzer/models/process.h"
#include "format/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_mpir_text {
    const struct tg_mpir_model *mpir;
    const struct tg_process_model *processes;
    uint64_t start_ns; /* moments are relative to it */
    bool all;          /* every rank on its own line, every step */
    bool colour;
};

/* Whether there is a starter, or a process that is a rank. */
bool tg_mpir_text_is_called_for(const struct tg_mpir_text *text);

/* Each starter with its table and its steps; then ranks that were found without MPIR, and by which way. Many
 * ranks that are alike share a line. Equal models give equal bytes, printable on a terminal. Only error:
 * NO_MEMORY. */
struct tg_error *tg_mpir_text_write(const struct tg_mpir_text *text, FILE *stream);

/* "table read: 4 entries": one step in a few words, printable, without its time. */
void tg_mpir_text_step(FILE *stream, const struct tg_mpir_step *step);

#endif
