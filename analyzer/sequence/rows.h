/* Makes the rows of a sequence diagram. */
#ifndef TG_ANALYZER_SEQUENCE_ROWS_H
#define TG_ANALYZER_SEQUENCE_ROWS_H

#include "analyzer/sequence/columns.h"
#include "analyzer/verdict/verdict.h"

/* NAMER may be NULL: addresses are shown as numbers. START_NS is what times are relative to. */
struct tg_error *tg_sequence_rows_create(const struct tg_sequence *sequence,
                                         const struct tg_code_namer *namer, uint64_t start_ns,
                                         struct tg_sequence_rows *rows);
void tg_sequence_rows_deinit(struct tg_sequence_rows *rows);

/* How long PART of a barrier waited, until the end where it still does; 0 it did not come. */
uint64_t tg_sequence_wait_of(const struct tg_sequence *sequence, const struct tg_sequence_part *part);

#endif
