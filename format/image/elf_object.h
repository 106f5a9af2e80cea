/* An ELF object opened for reading, from a file or copied out of a process: decoded headers, and bounded
 * reads by file offset and by virtual address.
 *
 * Files are read with pread, never mapped: a file that is truncated while it is in use is then a failed read
 * and no SIGBUS. The first bytes are kept, so that of a small library (most plug-ins) everything is read at
 * once.
 *
 * Not thread-safe: sections are decoded at first use. */
#ifndef TG_FORMAT_IMAGE_ELF_OBJECT_H
#define TG_FORMAT_IMAGE_ELF_OBJECT_H

#include "format/base/error.h"
#include "format/image/elf_decode.h"

enum {
    TG_ELF_MAX_SEGMENTS = 1024,
    TG_ELF_MAX_SECTIONS = 1 << 20,
    TG_ELF_PAGE_BYTES = 4096,
};

struct tg_elf_object {
    struct tg_elf_header header;
    struct tg_elf_segment *segments; /* in file order */
    size_t n_segments;
    uint64_t start; /* lowest page of a PT_LOAD, virtual */
    uint64_t end;   /* end of the highest PT_LOAD; START where there is none */
    uint64_t size;  /* bytes that can be read */
    char build_id[TG_ELF_BUILD_ID_CHARS];

    /* the rest is elf_object.c's */
    int fd;         /* -1: copied from memory */
    uint8_t *first; /* file: its first n_first bytes; memory: the whole copy, laid out by virtual address */
    size_t n_first; /* size of FIRST */
    bool sections_read;  /* also where there turned out to be none */
    char *section_names; /* NUL-terminated */
    size_t n_section_names;
    struct tg_elf_section *sections;
    size_t n_sections;
};

/* Takes FD (also on failure) of a regular file. INPUT error where it is no ELF file this machine could
 * load. */
struct tg_error *tg_elf_object_open_fd(int fd, struct tg_elf_object **object);

/* Memory to read an object from: READ gives up to SIZE bytes at ADDRESS and returns how many, from the first
 * on, could be read. */
struct tg_elf_memory {
    size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
    void *context;
};

/* Copies the object whose ELF header is at HEADER in MEMORY: what its PT_LOAD segments have from the file, at
 * most 64 MiB, from the lowest address on; pages that cannot be read count as zero. There are no sections in
 * memory. A running process must not change it meanwhile. */
struct tg_error *tg_elf_object_copy(const struct tg_elf_memory *memory, uint64_t header,
                                    struct tg_elf_object **object);

/* NULL is accepted. */
void tg_elf_object_destroy(struct tg_elf_object *object);

/* All of [offset, offset + size) of the file (of a copy: offset from START); false where it is not there. */
bool tg_elf_object_read(const struct tg_elf_object *object, uint64_t offset, void *buffer, size_t size);

/* As tg_elf_object_read into new memory with a NUL behind it, refused beyond LIMIT bytes; NULL on failure.
 * Free with free. */
uint8_t *tg_elf_object_read_new(const struct tg_elf_object *object, uint64_t offset, uint64_t size,
                                uint64_t limit);

/* Reads at a virtual address, within what one PT_LOAD segment has from the file. */
bool tg_elf_object_read_at(const struct tg_elf_object *object, uint64_t address, void *buffer, size_t size);

/* How many bytes can be read at ADDRESS in that way; where they are in the file goes to OFFSET. 0 for
 * none. */
uint64_t tg_elf_object_available_at(const struct tg_elf_object *object, uint64_t address, uint64_t *offset);

/* Whether ADDRESS lies in an executable PT_LOAD segment. */
bool tg_elf_object_is_code(const struct tg_elf_object *object, uint64_t address);

/* The first segment of TYPE, or NULL. */
const struct tg_elf_segment *tg_elf_object_segment(const struct tg_elf_object *object, uint32_t type);

/* The first section of NAME, by type, or number INDEX, with content in the file that lies inside it; NULL
 * where there is none. Valid as long as OBJECT. */
const struct tg_elf_section *tg_elf_object_section(struct tg_elf_object *object, const char *name);
const struct tg_elf_section *tg_elf_object_section_by_type(struct tg_elf_object *object, uint32_t type);
const struct tg_elf_section *tg_elf_object_section_at(struct tg_elf_object *object, uint32_t index);

#endif
