/* Names and numbers that say nothing of anybody, since they are the same on all machines: a redacted trace keeps
 * them. Each rule is exact: what merely begins like a known name is somebody's own. */
#ifndef TG_FORMAT_TRACE_PLAIN_NAMES_H
#define TG_FORMAT_TRACE_PLAIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* A component of a path, SIZE bytes: a directory that every system has, or a program or library that models and
 * people know by its name, with its version. */
bool tg_plain_name(const char *name, size_t size);

/* The SIZE bytes at PATH are below a directory that distributions fill, and nothing in them leads out of it. */
bool tg_plain_path(const char *path, size_t size);

/* Digits and dots, at most MOST of them; no internet address. */
bool tg_plain_number(const char *text, size_t size, size_t most);

#endif
