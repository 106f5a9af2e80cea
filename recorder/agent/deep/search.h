/* Where the dynamic loader would find libraries. What is found here is only looked at, or named to the loader where its
 * own search would not be the same for a wrapper; never changes what is loaded but by that. */
#ifndef TG_RECORDER_AGENT_DEEP_SEARCH_H
#define TG_RECORDER_AGENT_DEEP_SEARCH_H

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_DEEP_PATHS_BYTES = 4 * PATH_MAX };

/* The object that CALLER, a return address, is in, as dlopen sees it: else the program. */
const struct link_map *tg_deep_search_object(uint64_t caller);

/* The value of the entry TAG, a string, of the loaded object MAP; NULL: none. */
const char *tg_deep_search_string(const struct link_map *map, int64_t tag);

/* The folder that $ORIGIN stands for in MAP; in the file PATH, which need not be loaded. */
bool tg_deep_search_origin(const struct link_map *map, char origin[PATH_MAX]);
bool tg_deep_search_file_origin(const char *path, char origin[PATH_MAX]);

/* TEXT with ORIGIN in place of $ORIGIN and ${ORIGIN}. False: there is not room enough. */
bool tg_deep_search_expand(const char *text, const char *origin, char *expanded, size_t size);

/* The file NAME in the first folder of LIST, between colons, that has a library of that name. */
bool tg_deep_search_list(const char *list, const char *name, char found[PATH_MAX]);

/* The same in the folders in which libraries of MAP are looked for. Takes BUFFER to work in. */
bool tg_deep_search_folders(const struct link_map *map, const char *name, char *buffer, size_t size,
                            char found[PATH_MAX]);

#endif
