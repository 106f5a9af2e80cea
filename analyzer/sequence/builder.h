/* Makes a sequence diagram out of events. */
#ifndef TG_ANALYZER_SEQUENCE_BUILDER_H
#define TG_ANALYZER_SEQUENCE_BUILDER_H

#include "analyzer/sequence/sequence.h"
#include "format/event/event.h"

struct tg_sequence_builder;

/* OPTIONS is copied, its lanes too. */
struct tg_error *tg_sequence_builder_create(const struct tg_sequence_options *options,
                                            struct tg_sequence_builder **builder);
void tg_sequence_builder_destroy(struct tg_sequence_builder *builder); /* NULL is accepted */

/* Takes an event of the process with index PROCESS in the process model. Only error: NO_MEMORY. */
struct tg_error *tg_sequence_builder_feed(struct tg_sequence_builder *builder, const struct tg_event *event,
                                          size_t process);

/* The diagram as of the last event, owned by the caller. The builder can then only be destroyed. NOT_FOUND
 * error where the region asked for never was. */
struct tg_error *tg_sequence_builder_finish(struct tg_sequence_builder *builder,
                                            struct tg_sequence **sequence);

#endif
