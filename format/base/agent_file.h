/* The libraries of tollgate's that are inside of traced programs, by the names of their files. */
#ifndef TG_FORMAT_BASE_AGENT_FILE_H
#define TG_FORMAT_BASE_AGENT_FILE_H

#include <stdbool.h>

/* Whether PATH, as the kernel or the dynamic loader has it, is the agent's or the heap library's file. Async-signal-safe. */
bool tg_agent_file_is(const char *path);

#endif
