/* ELF images of a process: build-id, extent, symbols and lines. */
#ifndef TG_FORMAT_IMAGE_IMAGE_H
#define TG_FORMAT_IMAGE_IMAGE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reference-counted; immutable for its users, though it reads symbols and lines at the first question
 * about them (so: one thread). All addresses in it are virtual addresses without load bias. Images of what
 * a process has mapped come from recorder/process/image_cache.h. */
struct tg_image;
struct tg_elf_object;

/* Makes an image with one reference of OBJECT, which it takes (also on failure). RELOCATED_BY as for
 * tg_dynamic_section_init. */
struct tg_error *tg_image_create(struct tg_elf_object *object, uint64_t relocated_by,
                                 struct tg_image **image);

/* The image of the file at PATH, whatever process maps it. The caller owns one reference. */
struct tg_error *tg_image_open(const char *path, struct tg_image **image);

/* One more reference, to IMAGE itself. */
struct tg_image *tg_image_ref(struct tg_image *image);

/* NULL is accepted. */
void tg_image_unref(struct tg_image *image);

/* From now on RELEASE is called where IMAGE's last reference is dropped and it would be freed. IMAGE is then
 * CONTEXT's: to be handed out again with tg_image_ref, or freed with tg_image_destroy. RELEASE NULL: freed as
 * before. */
void tg_image_on_release(struct tg_image *image, void (*release)(void *context), void *context);

/* Frees an image without references. NULL is accepted. */
void tg_image_destroy(struct tg_image *image);

struct tg_image_info {
    const char *build_id;    /* lower-case hex, "" none */
    const char *interpreter; /* PT_INTERP, "" none */
    const char *soname;      /* "" none */
    uint64_t entry;
    uint64_t start;   /* lowest PT_LOAD page, virtual */
    uint64_t end;     /* end of the highest PT_LOAD */
    uint64_t dynamic; /* PT_DYNAMIC, 0: none */
    unsigned bits;
    bool position_independent;
    bool from_memory;
};
/* Valid as long as IMAGE. */
const struct tg_image_info *tg_image_info(const struct tg_image *image);

/* The object that IMAGE was read from, and its separate debug file (NULL none; looked for once). Valid as
 * long as IMAGE. */
struct tg_elf_object *tg_image_object(struct tg_image *image);
struct tg_elf_object *tg_image_separate_debug(struct tg_image *image);

/* DT_NEEDED names, for dependency marking; valid as long as IMAGE. */
size_t tg_image_needed_count(const struct tg_image *image);
const char *tg_image_needed_at(const struct tg_image *image, size_t i);

/* Virtual addresses of the functions NAME: those exported (hash section), and those of .symtab, also of a
 * separate debug file (static functions; several for equal names). Each once, at most MAX; returns how many.
 * NAME is matched as the symbol table has it; NAME@VERSION (or @@) asks for one symbol version. IFUNC
 * resolvers count as functions, and NAME.isra.0 and the like as NAME. */
size_t tg_image_find_function(struct tg_image *image, const char *name, uint64_t *addresses, size_t max);

/* Whether the image exports NAME to other images: only the hash section is read. */
bool tg_image_exports(const struct tg_image *image, const char *name);

/* As find_function for a name as a person writes it: where no symbol is NAME, those of C++ functions that it means
 * (f, b::f or a::b::f for all overloads and instances of a::b::f). */
size_t tg_image_find_named(struct tg_image *image, const char *name, uint64_t *addresses, size_t max);

/* One symbol of an image. */
struct tg_image_symbol {
    const char *name; /* without a version; valid during the call */
    uint64_t address; /* virtual */
    uint64_t size_bytes;
};

/* Tells TAKE of every function and variable that the image defines under a name with PREFIX: of .dynsym, and
 * of .symtab, also, WITH_DEBUG_FILE, of a separate debug file's. Names may come twice. Reads whole symbol
 * tables: not for hot paths. */
void tg_image_each_symbol(struct tg_image *image, const char *prefix, bool with_debug_file,
                          void (*take)(void *context, const struct tg_image_symbol *symbol), void *context);

/* Whether NAME is an IFUNC: then what find_function gives is the resolver that the loader runs once, and
 * calls go to the implementation that it chooses. */
bool tg_image_is_resolved_at_load(struct tg_image *image, const char *name);

/* Virtual addresses for FILE:LINE: of each block (function, inlined copy) the first is_stmt row of the line;
 * of the next line of the file that has code where LINE has none. FILE matches a file-table entry whole or as
 * a path suffix at '/'. Line programs are run only where their file table names FILE. At most MAX; returns
 * how many. */
size_t tg_image_find_line(struct tg_image *image, const char *file, uint64_t line, uint64_t *addresses,
                          size_t max);

/* Addresses, at most MAX, where copies of functions NAME begin that are inlined; returns how many. NAME as for
 * tg_image_find_named(). */
size_t tg_image_find_copies(struct tg_image *image, const char *name, uint64_t *addresses, size_t max);

/* The function that holds ADDRESS: name (valid as long as IMAGE) and offset in it; false where there is
 * none. */
bool tg_image_symbol_at(struct tg_image *image, uint64_t address, const char **name, uint64_t *offset);

/* The innermost function whose code a compiler has put into its caller at ADDRESS: its name as the linker has it or, where
 * it has none, as it is written (valid until the image is let go), and the offset in that piece of code. NULL: there is
 * none, or it is not known. */
const char *tg_image_inlined_at(struct tg_image *image, uint64_t address, uint64_t *offset);

/* The function that the code at ADDRESS is written in where clang has made a function of a region or a task of it
 * (tg_outlined_bodies_is_name()): its name as tg_image_inlined_at() has it. NULL: there is none, or it is not known. */
const char *tg_image_body_owner(struct tg_image *image, uint64_t address);

/* The source line that the code at ADDRESS is from: its file, as the line table names it (absolute where that
 * has the directory of the compilation), into PATH of SIZE bytes. False where it is not known. */
bool tg_image_line_at(struct tg_image *image, uint64_t address, char *path, size_t size, uint64_t *line);

#endif
