/* The list of libraries that ldconfig made for the dynamic loader (/etc/ld.so.cache), by name. */
#ifndef TG_RECORDER_INJECT_LIBRARY_CACHE_H
#define TG_RECORDER_INJECT_LIBRARY_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct tg_library_cache;

enum { TG_LIBRARY_CACHE_MAX_BYTES = 32 << 20 };

/* From the content of the file, in the format that glibc writes since 2.32 (the older ones that it can be
 * embedded in are not read), which must live as long as the result. Entries that are damaged, or not for x86-64, are
 * left out. NULL without memory. */
struct tg_library_cache *tg_library_cache_parse(const uint8_t *bytes, size_t size);
void tg_library_cache_destroy(struct tg_library_cache *cache); /* NULL is accepted */

/* The I-th path for NAME, NULL behind the last one: there are several where some are for better processors.
 * Valid as long as CACHE. */
const char *tg_library_cache_path(struct tg_library_cache *cache, const char *name, size_t i);

#endif
