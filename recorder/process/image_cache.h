/* Images of mapped objects, each file read once for all processes that map it. */
#ifndef TG_RECORDER_PROCESS_IMAGE_CACHE_H
#define TG_RECORDER_PROCESS_IMAGE_CACHE_H

#include "format/image/elf_object.h"
#include "format/image/image.h"

#include <sys/types.h>

/* Not thread-safe: the tracer thread's. */
struct tg_image_cache;

/* Bounded: at most MAX_IMAGES (0: 64) stay cached beyond those in use; the least recently used goes first.
 * Each holds a file descriptor. */
struct tg_error *tg_image_cache_create(size_t max_images, struct tg_image_cache **cache);

/* Images still in use live on until their last tg_image_unref. NULL is accepted. */
void tg_image_cache_destroy(struct tg_image_cache *cache);

struct tg_image_cache_stats {
    uint64_t opened; /* files or memory images really read */
    uint64_t hits;
};
struct tg_image_cache_stats tg_image_cache_stats(const struct tg_image_cache *cache);

/* The place of an object: enough to find its file, or to read it from memory where there is none. */
struct tg_image_source {
    pid_t pid;        /* id of a stopped thread of the process */
    const char *path; /* as the link map or /proc/PID/maps has it, resolved inside PID's root and working
                         directory; NULL or "": the process's program */
    uint64_t load_bias;
    uint64_t header;      /* address of its ELF header in memory (mapping start), 0 unknown */
    const char *build_id; /* as tg_image_peek gave it for HEADER; NULL: not known, it is read from memory */
};

/* The image of SOURCE. The file at PATH is used only if it is the one that is mapped (same build-id, or,
 * where one of them has none, same file according to /proc/PID/map_files or same inode as in /proc/PID/maps).
 * Objects that were deleted or replaced, memfd and vdso objects are opened through /proc/PID/map_files (which
 * takes CAP_CHECKPOINT_RESTORE), else copied from memory: then with dynamic symbols only. The caller owns one
 * reference. */
struct tg_error *tg_image_cache_get(struct tg_image_cache *cache, const struct tg_image_source *source,
                                    struct tg_image **image);
/* The same; NULL where the image cannot be had, for whatever reason. */
struct tg_image *tg_image_cache_find(struct tg_image_cache *cache, const struct tg_image_source *source);

/* Of no running process: the image of the file at PATH, whatever process mapped it; NULL where it cannot be had. */
struct tg_image *tg_image_cache_file(struct tg_image_cache *cache, const char *path);
/* The same of the object whose ELF header is at HEADER in MEMORY, copied from there. */
struct tg_image *tg_image_cache_copy(struct tg_image_cache *cache, const struct tg_elf_memory *memory,
                                     uint64_t header);

#endif
