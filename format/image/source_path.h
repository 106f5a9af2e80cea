/* Names of source files as debug information and users write them. */
#ifndef TG_FORMAT_IMAGE_SOURCE_PATH_H
#define TG_FORMAT_IMAGE_SOURCE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The part behind the last '/'. */
const char *tg_source_path_last(const char *path);

/* Joins PARTS (NULL and "" are left out; an absolute part makes those before it void) to one path without
 * empty, "." and, as far as that goes, ".." components. False where PATH, of SIZE bytes, is too small. */
bool tg_source_path_join(const char *const parts[3], char *path, size_t size);

/* Whether SUFFIX is PATH or its last components. */
bool tg_source_path_ends_with(const char *path, const char *suffix);

#endif
