/* Threads of attached processes by their stacks: what they called before they were attached was not seen. */
#ifndef TG_LIVE_COMMANDS_INFO_ATTACHED_LINES_H
#define TG_LIVE_COMMANDS_INFO_ATTACHED_LINES_H

#include "live/console/command.h"

enum tg_attached_lines {
    TG_ATTACHED_MPI,    /* the first thread of each rank, and others that are in MPI */
    TG_ATTACHED_OPENMP, /* threads that run OpenMP code, or wait for such work */
};

/* Writes those of attached processes in focus of which nothing was recorded, threads at one place together, behind a line
 * that says since when they are attached, and what of OpenMP or MPI is unknown therefore. *COUNT is how many threads
 * they are. Only error: NO_MEMORY. */
struct tg_error *tg_attached_lines_print(const struct tg_console *console, enum tg_attached_lines which,
                                         FILE *out, size_t *count);

/* Where it wrote none of OpenMP: says of attached processes in focus that there may be some. False: none was attached. */
bool tg_attached_lines_print_none(const struct tg_console *console, FILE *out);

#endif
