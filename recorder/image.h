/* ELF images of a process: build-id, extent, symbols and lines; read once for all processes that map the same
 * file. */
#ifndef TG_RECORDER_IMAGE_H
#define TG_RECORDER_IMAGE_H

#include "format/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_image_cache;
struct tg_image; /* reference-counted; immutable for its users. All addresses in it are virtual addresses
                    without load bias. */

/* Bounded: at most MAX_IMAGES stay cached unused (0: default 1024). */
struct tg_error *tg_image_cache_create(size_t max_images, struct tg_image_cache **cache);
void tg_image_cache_destroy(struct tg_image_cache *cache);

struct tg_image_cache_stats {
    uint64_t opened; /* files or memory images really read */
    uint64_t hits;
};
struct tg_image_cache_stats tg_image_cache_stats(const struct tg_image_cache *cache);

/* Where an object is: enough to find its file, or to read it from memory where there is none. */
struct tg_image_source {
    pid_t pid;
    const char
        *path; /* as the link map or /proc/PID/maps has it; resolved inside PID's root (/proc/PID/root) */
    uint64_t load_bias;
    uint64_t header; /* address of its ELF header in memory (mapping start), 0 unknown */
};

/*
 * The image of SOURCE. The file is used only if it is the one that is mapped (device, inode; build-id where
 * both have one); deleted, replaced, memfd and vdso objects are read through /proc/PID/map_files or memory:
 * then with dynamic symbols only. The caller owns one reference.
 */
struct tg_error *tg_image_cache_get(struct tg_image_cache *cache, const struct tg_image_source *source,
                                    struct tg_image **image);
void tg_image_unref(struct tg_image *image);

struct tg_image_info {
    const char *build_id;    /* lower-case hex, "" none */
    const char *interpreter; /* PT_INTERP, "" none */
    const char *soname;      /* "" none */
    uint64_t entry;
    uint64_t start;   /* lowest PT_LOAD page, virtual */
    uint64_t end;     /* end of the highest PT_LOAD */
    uint64_t dynamic; /* PT_DYNAMIC, 0: static */
    unsigned bits;
    bool position_independent;
    bool from_memory;
};
/* Valid as long as IMAGE. */
const struct tg_image_info *tg_image_info(const struct tg_image *image);

/* DT_NEEDED names, for dependency marking; valid as long as IMAGE. */
size_t tg_image_needed_count(const struct tg_image *image);
const char *tg_image_needed_at(const struct tg_image *image, size_t i);

/*
 * Virtual addresses of the function NAME (hash section first, then .symtab; several for local duplicates), at
 * most MAX. Returns how many there are. IFUNC resolvers count as functions.
 */
size_t tg_image_find_function(struct tg_image *image, const char *name, uint64_t *addresses, size_t max);

/*
 * Virtual addresses for FILE:LINE (is_stmt rows that begin the line; the next line that has code where LINE
 * has none), at most MAX. FILE matches a file-table entry whole or as a path suffix at '/'. Line tables are
 * read only where the image's file tables name FILE. Returns how many there are.
 */
size_t tg_image_find_line(struct tg_image *image, const char *file, uint64_t line, uint64_t *addresses,
                          size_t max);

/* The function that holds ADDRESS: name (valid as long as IMAGE) and offset; false where there is none. */
bool tg_image_symbol_at(struct tg_image *image, uint64_t address, const char **name, uint64_t *offset);

/*
 * What can be said of a loaded object by reading its memory alone, for the price of one or two reads:
 * build-id (hex in BUILD_ID, 129 bytes, "" where none is found), extent of PT_LOADs. False where there is no
 * ELF header at HEADER.
 */
bool tg_image_peek(pid_t pid, uint64_t header, char build_id[129], uint64_t *size_bytes);

#endif
