/* Identities of the processes of a job, noted in the rings' directory before they run: the trace's file has them some
 * time later, and where the recorder is killed in between, what their rings hold would be nobody's. */
#ifndef TG_RECORDER_RINGS_PROCESS_NOTES_H
#define TG_RECORDER_RINGS_PROCESS_NOTES_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/engine/event_queue.h"

#include <stdbool.h>

struct tg_process_notes;

/* Makes the files in the directory that FD is open on. WITH_NAMES false: no path, host or job gets into them. */
struct tg_error *tg_process_notes_create(int fd, bool with_names, struct tg_process_notes **notes);
/* Leaves the files. NULL is accepted. */
void tg_process_notes_destroy(struct tg_process_notes *notes);

/* Appends EVENT where it says who a process is (PROGRAM, IDENTITY), with its time; others are ignored. Failures are
 * too: the note is a spare one. NOTES may be NULL. */
void tg_process_notes_add(struct tg_process_notes *notes, const struct tg_event *event);

/* Puts what was noted into QUEUE in the order of time, as far as it is intact; whoever wrote it is not believed. FD
 * as above. */
void tg_process_notes_read(int fd, struct tg_event_queue *queue);

#endif
