/* The OpenMP back ends, told what the program is about to do. */
#ifndef TG_RECORDER_AGENT_CALLS_BACKENDS_H
#define TG_RECORDER_AGENT_CALLS_BACKENDS_H

/* dlopen is about to be called with FLAGS; it has brought an object. */
void tg_backends_before_load(int flags);
void tg_backends_after_load(void);

/* The program is about to forbid itself system calls. */
void tg_backends_before_sealing(void);

#endif
