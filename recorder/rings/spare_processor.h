/* Processor time that nobody else wants. */
#ifndef TG_RECORDER_RINGS_SPARE_PROCESSOR_H
#define TG_RECORDER_RINGS_SPARE_PROCESSOR_H

#include <stdbool.h>

/* Whether one of the processors that the calling thread may use had nothing to do without it, by the kernel's count of threads
 * that run or want to. False where that is not known, and where threads on other processors make it uncertain. */
bool tg_spare_processor(void);

/* The same of N_PROCESSORS and LOADAVG, the contents of /proc/loadavg. */
bool tg_spare_processor_by(const char *loadavg, int n_processors);

#endif
