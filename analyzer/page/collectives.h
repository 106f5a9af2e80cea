/* Collectives of MPI that all have left, for the time strip: when the first and the last came, and which rows they were in.
 * A bounded number is kept; of more, some. */
#ifndef TG_ANALYZER_PAGE_COLLECTIVES_H
#define TG_ANALYZER_PAGE_COLLECTIVES_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct tg_page_collectives;

/* One that is over. */
struct tg_page_collective {
    const char *name;                   /* as whoever left last called it; the caller's */
    uint64_t first_ns, last_ns, end_ns; /* the first and the last came, the last one left */
    size_t top, bottom;                 /* the first and the last row of the time line that was in it */
    uint64_t members;
};

/* A call that came back. SIZE is that of the communicator; 0, not known: it is passed over. */
struct tg_page_meeting {
    const char *job, *name; /* JOB is told apart by its address */
    uint64_t comm, instance;
    int64_t size;
    size_t row;
    uint64_t came_ns, left_ns;
};

/* At most MOST are kept; 0: 100,000. NULL: no memory. */
struct tg_page_collectives *tg_page_collectives_create(size_t most);
void tg_page_collectives_destroy(struct tg_page_collectives *collectives); /* NULL is accepted */

/* Only error: NO_MEMORY. */
struct tg_error *tg_page_collectives_take(struct tg_page_collectives *collectives,
                                          const struct tg_page_meeting *meeting);

/* Collectives that are kept, in the order of their ends; one of each *STRIDE that there were. */
size_t tg_page_collectives_list(const struct tg_page_collectives *collectives,
                                const struct tg_page_collective **list, size_t *stride);

#endif
