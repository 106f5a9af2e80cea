/* What struct tg_image holds, for the files that make up an image and nobody else. */
#ifndef TG_FORMAT_IMAGE_IMAGE_PRIVATE_H
#define TG_FORMAT_IMAGE_IMAGE_PRIVATE_H

#include "format/image/dynamic_section.h"
#include "format/image/elf_object.h"
#include "format/image/image.h"
#include "format/image/lines.h"
#include "format/image/symbol_index.h"

#include <uthash.h>

enum { TG_IMAGE_MAX_TABLES = 3 };

/* Which file it was, whatever its names. Hashed bytewise: clear it first. */
struct tg_image_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_s;
    int64_t mtime_ns;
    int64_t ctime_s;
    int64_t ctime_ns;
};

struct tg_image {
    size_t references;
    struct tg_image_info info;
    struct tg_elf_object *object;
    char *interpreter;
    struct tg_dynamic_section dynamic;

    /* read at the first question */
    bool debug_tried;
    struct tg_elf_object *debug; /* separate debug file, NULL none */
    bool tables_tried;
    struct tg_symbol_index *tables[TG_IMAGE_MAX_TABLES];
    size_t n_tables;
    struct tg_image_lines *lines;
    struct tg_symbol_index *exported; /* .dynsym by address, only for tg_image_symbol_at */

    /* format/image/cache.c: NULL for an image that is not cached */
    struct tg_image_cache *cache;
    struct tg_image_identity identity; /* of a file */
    UT_hash_handle hh;
    struct tg_image *next, *prev; /* in the list of unused images */
};

/* Makes an image with one reference of OBJECT, which it takes (also on failure). RELOCATED_BY as for
 * tg_dynamic_section_init. */
struct tg_error *tg_image_create(struct tg_elf_object *object, uint64_t relocated_by,
                                 struct tg_image **image);

/* Frees it, whatever its references. */
void tg_image_destroy(struct tg_image *image);

/* The last reference to a cached image was dropped. */
void tg_image_cache_release(struct tg_image_cache *cache, struct tg_image *image);

#endif
