/* Which lifelines of a sequence diagram get a column, and in which order. */
#ifndef TG_ANALYZER_SEQUENCE_COLUMNS_H
#define TG_ANALYZER_SEQUENCE_COLUMNS_H

#include "analyzer/sequence/rows.h"

enum { TG_SEQUENCE_MAX_COLUMNS = 32 }; /* of more lifelines those that are alike share one */

/* Settles the columns of ROWS, which are complete otherwise: lifelines that nothing is drawn of get none, of
 * many those that are alike share one. Lanes in rows are then those of columns, in order. NO_MEMORY. */
struct tg_error *tg_sequence_columns_choose(const struct tg_sequence *sequence,
                                            struct tg_sequence_rows *rows);

#endif
