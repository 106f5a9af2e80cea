/* Columns of a sequence diagram: the lifelines that get one, and their order. */
#ifndef TG_ANALYZER_SEQUENCE_COLUMNS_H
#define TG_ANALYZER_SEQUENCE_COLUMNS_H

#include "analyzer/sequence/row.h"

enum { TG_SEQUENCE_MAX_COLUMNS = 32 }; /* beyond, like lifelines share one */

/* Settles the columns of ROWS, which are complete otherwise: lifelines that nothing is drawn of get none, of
 * many those that are alike share one. Lanes in rows are then those of columns, in order. NO_MEMORY. */
struct tg_error *tg_sequence_columns_choose(const struct tg_sequence *sequence,
                                            struct tg_sequence_rows *rows);

/* The title of the column of LANE: "Worker 3", "Rank 3", "Thread 1234", "12 workers"; SHORT_ONE: "3". Writes
 * to BUFFER. */
char *tg_sequence_column_title(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                               uint32_t lane, bool short_one, char *buffer, size_t size);
enum {
    TG_SEQUENCE_MEMBERS_SIZE = 512,
    TG_SEQUENCE_LEGEND_SIZE = 148, /* fits on a line of the diagram */
    TG_SEQUENCE_HEAD_SIZE = 100,   /* head of a column in a text format */
};
/* Whether the column of LANE is of several lifelines. */
bool tg_sequence_column_is_shared(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                                  uint32_t lane);
/* Names the lifelines of a column by ranges of numbers: "5 workers: 2-5, 9"; cut where SIZE ends. */
char *tg_sequence_column_members(const struct tg_sequence *sequence, const struct tg_sequence_rows *rows,
                                 uint32_t lane, char *buffer, size_t size);

/* "rank 3", "worker 2": LANE alone, in a sentence. Returns BUFFER. */
char *tg_sequence_lane_title(const struct tg_sequence *sequence, uint32_t lane, char *buffer, size_t size);

#endif
