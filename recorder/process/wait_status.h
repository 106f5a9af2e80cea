/* The end of a process, repeated by another process that acts in its place. */
#ifndef TG_RECORDER_PROCESS_WAIT_STATUS_H
#define TG_RECORDER_PROCESS_WAIT_STATUS_H

/* Makes this process end as STATUS (of wait) says another one did, so that whoever waits for it sees the
 * same, without a second core: by the signal, or it returns the exit status to end with. */
int tg_wait_status_end_as(int status);

#endif
