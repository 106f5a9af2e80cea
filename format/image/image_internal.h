/* The members of struct tg_image, for image.c and symbols.c alone. */
#ifndef TG_FORMAT_IMAGE_IMAGE_INTERNAL_H
#define TG_FORMAT_IMAGE_IMAGE_INTERNAL_H

#include "format/image/dynamic_section.h"
#include "format/image/elf_object.h"
#include "format/image/image.h"
#include "format/image/lines.h"
#include "format/image/symbol_index.h"

enum { TG_IMAGE_MAX_TABLES = 3 };

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

    void (*release)(void *context); /* NULL: freed with its last reference */
    void *release_context;
};

#endif
