/* Names of the code that events have by its address alone: calls of MPI, constructs of OpenMP, calls of the loader. As events of
 * a trace whose files will not be known. */
#ifndef TG_ANALYZER_DUMP_CODE_SITES_H
#define TG_ANALYZER_DUMP_CODE_SITES_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/settings/command.h"

struct tg_code_sites;

/* SERVICES must outlive it. */
struct tg_error *tg_code_sites_create(const struct tg_command_services *services,
                                      struct tg_code_sites **sites);
void tg_code_sites_destroy(struct tg_code_sites *sites); /* NULL is accepted */

/* Takes one event of the trace, in order. Only error: NO_MEMORY. Memory follows the number of different addresses, of which the
 * first 65,536 count. */
struct tg_error *tg_code_sites_feed(struct tg_code_sites *sites, const struct tg_event *event);

/* Hands TAKE a code_name event at TIME_NS for each address whose name is known here and not in the trace itself, until it
 * returns an error. */
struct tg_error *tg_code_sites_tell(const struct tg_code_sites *sites, uint64_t time_ns,
                                    struct tg_error *(*take)(void *context, const struct tg_event *event),
                                    void *context);

#endif
