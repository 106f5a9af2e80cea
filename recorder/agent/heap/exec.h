/* libc's functions that execute another program, which the library stands before. */
#ifndef TG_RECORDER_AGENT_HEAP_EXEC_H
#define TG_RECORDER_AGENT_HEAP_EXEC_H

/* Once, in the library's constructor: looks for the functions that calls go on to. */
void tg_heap_exec_prepare(void);

#endif
