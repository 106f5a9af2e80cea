/* Workers as text: those that are at the same places are told once. */
#ifndef TG_LIVE_COMMANDS_INFO_WORKER_LINES_H
#define TG_LIVE_COMMANDS_INFO_WORKER_LINES_H

#include "analyzer/verdict/verdict.h"
#include "live/console/command.h"

/* Writes every worker of the processes in focus with what it is inside of. Workers of a process that are in
 * the same regions, zones and calls share a paragraph with compressed lists of their numbers ("1-3,7"), and
 * so do ranks whose workers are; the current worker has a line of its own. IS_EACH: nothing is shared. *N_WORKERS is
 * how many there are. Only error: NO_MEMORY. */
struct tg_error *tg_worker_lines_print(const struct tg_console *console, bool is_each, FILE *out,
                                       size_t *n_workers);

#endif
