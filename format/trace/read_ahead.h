/* Threads that open chunks of a trace before their turn comes. */
#ifndef TG_FORMAT_TRACE_READ_AHEAD_H
#define TG_FORMAT_TRACE_READ_AHEAD_H

#include "format/base/error.h"

#include <stddef.h>

struct tg_loaded_chunk;
struct tg_read_ahead;

enum { TG_READ_AHEAD_MAX_THREADS = 4, TG_READ_AHEAD_MAX_CHUNKS = TG_READ_AHEAD_MAX_THREADS + 1 };

/* How many threads serve one reader on the processors that this process may use; 0 on a single one. */
size_t tg_read_ahead_threads(void);

/* Starts up to N_THREADS threads, to which no signal is delivered. An error only where none can be started. */
struct tg_error *tg_read_ahead_create(size_t n_threads, struct tg_read_ahead **ahead);

/* Ends the threads, which finish what they have begun; what was posted must not be needed any more. */
void tg_read_ahead_destroy(struct tg_read_ahead *ahead);

/* Has CHUNK opened by a thread, the first posted first. At most TG_READ_AHEAD_MAX_CHUNKS may be posted and not
 * finished. CHUNK must stay as it is until it is finished. */
void tg_read_ahead_post(struct tg_read_ahead *ahead, struct tg_loaded_chunk *chunk);

/* Returns when CHUNK, the one posted first of those not finished, is open; a chunk that no thread has begun is opened here. */
void tg_read_ahead_finish(struct tg_read_ahead *ahead, struct tg_loaded_chunk *chunk);

/* Finishes all that was posted: what no thread has begun stays closed. */
void tg_read_ahead_cancel(struct tg_read_ahead *ahead);

#endif
