/* ELF structures of both classes, decoded field by field from untrusted little-endian bytes. No I/O. */
#ifndef TG_FORMAT_IMAGE_ELF_DECODE_H
#define TG_FORMAT_IMAGE_ELF_DECODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_ELF_HEADER_BYTES = sizeof(Elf64_Ehdr), /* of the larger class */
    TG_ELF_BUILD_ID_CHARS = 129,              /* 64 bytes in hex and the NUL */
};

/* The file header. Offsets and counts are as they are in the file: nothing is known to be in range. */
struct tg_elf_header {
    unsigned bits; /* 32 or 64 */
    unsigned type; /* ET_EXEC, ET_DYN... */
    unsigned machine;
    uint64_t entry;
    uint64_t segments_at; /* file offset of the program headers */
    uint64_t sections_at;
    unsigned n_segments;
    unsigned n_sections; /* 0 also where the count is too large for the field (it is then in section 0) */
};

struct tg_elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address; /* p_vaddr */
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t align;
};

struct tg_elf_section {
    uint32_t name; /* offset in the section name string table */
    uint32_t type;
    uint32_t link;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
};

struct tg_elf_symbol {
    uint32_t name; /* offset in the string table */
    uint8_t type;  /* STT_ */
    uint8_t binding;
    uint16_t section; /* SHN_ */
    uint64_t address;
    uint64_t size;
};

struct tg_elf_dynamic {
    int64_t tag;
    uint64_t value;
};

/* Unaligned little-endian loads. */
uint16_t tg_elf_u16(const uint8_t *bytes);
uint32_t tg_elf_u32(const uint8_t *bytes);
uint64_t tg_elf_u64(const uint8_t *bytes);

/* False where BYTES (SIZE of them) do not start with the header of a little-endian ELF file whose table
 * entries have the sizes of its class. */
bool tg_elf_header_decode(const uint8_t *bytes, size_t size, struct tg_elf_header *header);

/* Sizes in bytes of one table entry in a file of BITS (32 or 64). */
size_t tg_elf_segment_size(unsigned bits);
size_t tg_elf_section_size(unsigned bits);
size_t tg_elf_symbol_size(unsigned bits);
size_t tg_elf_dynamic_size(unsigned bits);

/* Each reads exactly the size above. */
struct tg_elf_segment tg_elf_segment_decode(unsigned bits, const uint8_t *bytes);
struct tg_elf_section tg_elf_section_decode(unsigned bits, const uint8_t *bytes);
struct tg_elf_symbol tg_elf_symbol_decode(unsigned bits, const uint8_t *bytes);
struct tg_elf_dynamic tg_elf_dynamic_decode(unsigned bits, const uint8_t *bytes);

/* Looks for the GNU build-id among the notes in [notes, notes + size) (the content of one PT_NOTE with
 * alignment ALIGN); writes it in lower-case hex. False, with BUILD_ID untouched, where there is none or it is
 * longer than 64 bytes. */
bool tg_elf_build_id(const uint8_t *notes, size_t size, uint64_t align, char build_id[TG_ELF_BUILD_ID_CHARS]);

#endif
