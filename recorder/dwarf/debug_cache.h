/* Debug information of images, each opened once for all processes that map it. */
#ifndef TG_RECORDER_DWARF_DEBUG_CACHE_H
#define TG_RECORDER_DWARF_DEBUG_CACHE_H

#include "recorder/dwarf/debug_info.h"

/* Not thread-safe: of the thread that asks, as are the images. */
struct tg_debug_cache;

/* Bounded: beyond what is in use, at most MAX_UNUSED (0: 32) stay, and of these no more than 256 MiB of
 * files; the least recently used goes first. */
struct tg_error *tg_debug_cache_create(size_t max_unused, struct tg_debug_cache **cache);
/* Entries still in use live on until their last tg_debug_info_unref. NULL is accepted. */
void tg_debug_cache_destroy(struct tg_debug_cache *cache);

/* The debug information of IMAGE. The caller owns one reference, and gives it back by tg_debug_cache_put. */
struct tg_error *tg_debug_cache_get(struct tg_debug_cache *cache, struct tg_image *image,
                                    struct tg_debug_info **info);
/* Gives a reference back; INFO may be kept for a while. NULL is accepted. */
void tg_debug_cache_put(struct tg_debug_cache *cache, struct tg_debug_info *info);

#endif
