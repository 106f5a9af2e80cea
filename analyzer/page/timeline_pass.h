/* The time line of a trace: one pass over it. */
#ifndef TG_ANALYZER_PAGE_TIMELINE_PASS_H
#define TG_ANALYZER_PAGE_TIMELINE_PASS_H

#include "analyzer/output/progress.h"
#include "analyzer/page/page.h"

/* One pass over a trace, with models of its own: nothing of it is shared, so a thread may have it for itself. */
struct tg_timeline_pass;

/* PATH is a file. Nothing is read yet but the beginning. Errors: those of the reader's open, NO_MEMORY. */
struct tg_error *tg_timeline_pass_create(const char *path, struct tg_timeline_pass **pass);
/* Nothing is read: PASS is fed all events of a job from its first one on, at START_NS. Only error: NO_MEMORY. */
struct tg_error *tg_timeline_pass_create_live(uint64_t start_ns, struct tg_timeline_pass **pass);
void tg_timeline_pass_destroy(struct tg_timeline_pass *pass); /* NULL is accepted */

/* Shows how far PASS is by PROGRESS (NULL: nowhere), which must stay as long as PASS. */
void tg_timeline_pass_watch(struct tg_timeline_pass *pass, struct tg_progress *progress);

/* Reads at most N_EVENTS. *MORE: there are others. A trace that is damaged ends before the damage. Only error: NO_MEMORY. */
struct tg_error *tg_timeline_pass_work(struct tg_timeline_pass *pass, uint64_t n_events, bool *more);

/* Takes EVENT, the next one. Only error: NO_MEMORY. */
struct tg_error *tg_timeline_pass_take(struct tg_timeline_pass *pass, const struct tg_event *event);

/* tg_timeline_reach of its time line. */
void tg_timeline_pass_reach(struct tg_timeline_pass *pass, uint64_t time_ns);

/* Nothing more is read: from now on PASS is fed the events of the job that writes the trace, and PAGE gets no path from it. */
void tg_timeline_pass_go_live(struct tg_timeline_pass *pass);

/* Sets what PAGE needs for the documents of the whole trace (tg_page_is_of_trace): the time line, the models as far as they
 * have read, the path, the times, how far the pass is. They stay PASS's. */
void tg_timeline_pass_fill(const struct tg_timeline_pass *pass, struct tg_page *page);

/* Adds the time from COLUMNS' beginning to their end to cells, event by event: ROW_CELLS[i] is the line of cells of row I,
 * NULL where nobody asks. *IS_READ is false where there are too many events for an answer at once (more than MOST). */
struct tg_error *tg_timeline_read_closely(const struct tg_timeline *timeline, const char *path,
                                          const struct tg_timeline_columns *columns, uint64_t most,
                                          struct tg_timeline_cell *const *row_cells, bool *is_read);

#endif
