#include "format/image/elf_decode.h"

#include <string.h>

uint16_t tg_elf_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t tg_elf_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint64_t tg_elf_u64(const uint8_t *bytes)
{
    return tg_elf_u32(bytes) | (uint64_t)tg_elf_u32(bytes + 4) << 32;
}

size_t tg_elf_segment_size(unsigned bits)
{
    return bits == 64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

size_t tg_elf_section_size(unsigned bits)
{
    return bits == 64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

size_t tg_elf_symbol_size(unsigned bits)
{
    return bits == 64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

size_t tg_elf_dynamic_size(unsigned bits)
{
    return bits == 64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
}

/* A member of the struct that the class has: its width is 32 or 64 bits according to the class. */
#define U16(type, member)  tg_elf_u16(bytes + offsetof(type, member))
#define U32(type, member)  tg_elf_u32(bytes + offsetof(type, member))
#define U64(type, member)  tg_elf_u64(bytes + offsetof(type, member))
#define WORD(name, member) (bits == 64 ? U64(Elf64_##name, member) : U32(Elf32_##name, member))
#define HALF(name, member) (bits == 64 ? U16(Elf64_##name, member) : U16(Elf32_##name, member))
#define INT(name, member)  (bits == 64 ? U32(Elf64_##name, member) : U32(Elf32_##name, member))

bool tg_elf_header_decode(const uint8_t *bytes, size_t size, struct tg_elf_header *header)
{
    if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_DATA] != ELFDATA2LSB)
        return false;
    unsigned bits = bytes[EI_CLASS] == ELFCLASS64 ? 64 : bytes[EI_CLASS] == ELFCLASS32 ? 32 : 0;
    if (bits == 0 || size < (bits == 64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
        return false;
    struct tg_elf_header result = {
        .bits = bits,
        .type = HALF(Ehdr, e_type),
        .machine = HALF(Ehdr, e_machine),
        .entry = WORD(Ehdr, e_entry),
        .segments_at = WORD(Ehdr, e_phoff),
        .sections_at = WORD(Ehdr, e_shoff),
        .n_segments = HALF(Ehdr, e_phnum),
        .n_sections = HALF(Ehdr, e_shnum),
    };
    if (result.n_segments > 0 && HALF(Ehdr, e_phentsize) != tg_elf_segment_size(bits))
        return false;
    if (result.n_sections > 0 && HALF(Ehdr, e_shentsize) != tg_elf_section_size(bits))
        result.n_sections = 0; /* the loader does not look at sections: no reason to refuse the file */
    *header = result;
    return true;
}

struct tg_elf_segment tg_elf_segment_decode(unsigned bits, const uint8_t *bytes)
{
    return (struct tg_elf_segment){
        .type = INT(Phdr, p_type),
        .flags = INT(Phdr, p_flags),
        .offset = WORD(Phdr, p_offset),
        .address = WORD(Phdr, p_vaddr),
        .file_size = WORD(Phdr, p_filesz),
        .memory_size = WORD(Phdr, p_memsz),
        .align = WORD(Phdr, p_align),
    };
}

struct tg_elf_section tg_elf_section_decode(unsigned bits, const uint8_t *bytes)
{
    return (struct tg_elf_section){
        .name = INT(Shdr, sh_name),
        .type = INT(Shdr, sh_type),
        .link = INT(Shdr, sh_link),
        .flags = WORD(Shdr, sh_flags),
        .address = WORD(Shdr, sh_addr),
        .offset = WORD(Shdr, sh_offset),
        .size = WORD(Shdr, sh_size),
    };
}

struct tg_elf_symbol tg_elf_symbol_decode(unsigned bits, const uint8_t *bytes)
{
    uint8_t info = bytes[bits == 64 ? offsetof(Elf64_Sym, st_info) : offsetof(Elf32_Sym, st_info)];
    return (struct tg_elf_symbol){
        .name = INT(Sym, st_name),
        .type = ELF64_ST_TYPE(info),
        .binding = ELF64_ST_BIND(info),
        .section = HALF(Sym, st_shndx),
        .address = WORD(Sym, st_value),
        .size = WORD(Sym, st_size),
    };
}

struct tg_elf_dynamic tg_elf_dynamic_decode(unsigned bits, const uint8_t *bytes)
{
    return (struct tg_elf_dynamic){
        .tag = bits == 64 ? (int64_t)U64(Elf64_Dyn, d_tag) : (int32_t)U32(Elf32_Dyn, d_tag),
        .value = WORD(Dyn, d_un),
    };
}

static void hex(const uint8_t *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

bool tg_elf_build_id(const uint8_t *notes, size_t size, uint64_t align, char build_id[TG_ELF_BUILD_ID_CHARS])
{
    uint64_t mask = align == 8 ? 7 : 3;
    size_t at = 0;
    while (size - at >= sizeof(Elf64_Nhdr)) { /* the same in both classes */
        uint64_t name_size = tg_elf_u32(notes + at);
        uint64_t value_size = tg_elf_u32(notes + at + 4);
        uint32_t type = tg_elf_u32(notes + at + 8);
        uint64_t name_at = at + sizeof(Elf64_Nhdr);
        uint64_t value_at = (name_at + name_size + mask) & ~mask;
        uint64_t next = (value_at + value_size + mask) & ~mask;
        if (value_at > size || value_size > size - value_at)
            return false;
        if (type == NT_GNU_BUILD_ID && name_size == sizeof ELF_NOTE_GNU &&
            memcmp(notes + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && value_size > 0 &&
            value_size <= (TG_ELF_BUILD_ID_CHARS - 1) / 2) {
            hex(notes + value_at, value_size, build_id);
            return true;
        }
        if (next > size)
            return false;
        at = next;
    }
    return false;
}
