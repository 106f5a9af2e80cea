/* How often a library is open, by the dynamic loader's own count. It has no name here: it is the word of a link map that grows
 * by one with each handle, which a trial finds. */
#ifndef TG_RECORDER_AGENT_DEEP_OPEN_COUNT_H
#define TG_RECORDER_AGENT_DEEP_OPEN_COUNT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Finds out where the count is, if nobody has yet, by opening the loaded library MAP twice more with OPEN, libc's dlopen, and
 * closing it again with CLOSE. False: that did not tell. */
bool tg_deep_open_count_learn(const struct link_map *map, void *(*open)(const char *path, int flags),
                              int (*close)(void *handle));

/* *COUNT: of handles of MAP that are not closed; whoever needs it does not count. False: not known. No lock. */
bool tg_deep_open_count_get(const struct link_map *map, uint32_t *count);

#endif
