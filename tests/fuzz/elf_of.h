/* An ELF file in memory with the sections that a fuzz target makes of its input. */
#ifndef TG_TESTS_FUZZ_ELF_OF_H
#define TG_TESTS_FUZZ_ELF_OF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_SECTIONS = 8, FUZZ_SECTION_ADDRESS = 0x1000 };

struct fuzz_section {
    const char *name; /* at most 31 characters */
    const uint8_t *data;
    size_t size;
    int is_mapped; /* at FUZZ_SECTION_ADDRESS */
};

/* Adds SECTION to what is behind OFFSET of IMAGE. Returns the offset behind it. */
static inline size_t fuzz_put(uint8_t *image, size_t offset, Elf64_Shdr *header,
                              const struct fuzz_section *section)
{
    header->sh_type = SHT_PROGBITS;
    header->sh_flags = section->is_mapped ? SHF_ALLOC : 0;
    header->sh_addr = section->is_mapped ? FUZZ_SECTION_ADDRESS : 0;
    header->sh_offset = offset;
    header->sh_size = section->size;
    header->sh_addralign = 1;
    if (section->size > 0)
        memcpy(image + offset, section->data, section->size);
    return (offset + section->size + 7) & ~(size_t)7;
}

/* The file, for the caller to free; COUNT is below FUZZ_SECTIONS. */
static inline uint8_t *fuzz_elf(const struct fuzz_section *sections, size_t count, size_t *size)
{
    uint8_t names[32 * (FUZZ_SECTIONS + 1)] = {0};
    Elf64_Shdr headers[FUZZ_SECTIONS + 2] = {0};
    size_t total = sizeof(Elf64_Ehdr) + sizeof headers + sizeof names + 64;
    for (size_t i = 0; i < count; i++)
        total += sections[i].size + 8;
    uint8_t *image = calloc(1, total);
    if (image == NULL)
        abort();
    size_t at = sizeof(Elf64_Ehdr) + sizeof headers;
    for (size_t i = 0; i < count; i++) {
        headers[i + 1].sh_name = (Elf64_Word)(32 * (i + 1));
        strncpy((char *)names + 32 * (i + 1), sections[i].name, 31);
        at = fuzz_put(image, at, &headers[i + 1], &sections[i]);
    }
    const struct fuzz_section last = {".shstrtab", names, sizeof names, 0};
    headers[count + 1].sh_name = (Elf64_Word)(32 * (count + 1));
    strncpy((char *)names + 32 * (count + 1), last.name, 31);
    (void)fuzz_put(image, at, &headers[count + 1], &last);
    headers[count + 1].sh_type = SHT_STRTAB;
    const Elf64_Ehdr file = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)(count + 2),
        .e_shstrndx = (Elf64_Half)(count + 1)};
    memcpy(image, &file, sizeof file);
    memcpy(image + sizeof file, headers, sizeof headers);
    *size = total;
    return image;
}

#endif
