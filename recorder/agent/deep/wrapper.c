#include "recorder/agent/deep/wrapper.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
    N_SEGMENTS =
        4, /* what is only read, what the loader writes to, the dynamic section, no executable stack */
    N_HASH_WORDS = 6,
};

enum section {
    NO_SECTION,
    HASH,
    SYMBOLS,
    STRINGS,
    DYNAMIC,
    SECTION_NAMES,
    N_SECTIONS,
};

/* Names of the sections, each at the place that it has there. */
static const char section_names[] = "\0.gnu.hash\0.dynsym\0.dynstr\0.dynamic\0.shstrtab";
static const uint32_t name_of[N_SECTIONS] = {0, 1, 11, 19, 27, 36};

/* The file as it grows. */
struct output {
    unsigned char *bytes;
    size_t size, used;
    bool is_full;
};

static void put(struct output *output, const void *bytes, size_t size)
{
    if (size > output->size - output->used) {
        output->is_full = true;
        return;
    }
    memcpy(output->bytes + output->used, bytes, size);
    output->used += size;
}

/* Little-endian, as are all numbers of the file. */
static void put_number(struct output *output, uint64_t value, size_t n_bytes)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(output, bytes, n_bytes);
}

static void put_numbers(struct output *output, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_number(output, values[i], 8);
}

static void align(struct output *output, size_t to)
{
    while (output->used % to != 0 && !output->is_full)
        put_number(output, 0, 1);
}

/* Offsets and sizes; an address is the offset, and a page more where the loader writes. */
struct layout {
    uint64_t hash, symbols, strings, strings_size, dynamic, dynamic_size, names, sections;
};

static uint64_t dynamic_address(const struct layout *layout)
{
    return layout->dynamic + PAGE_BYTES;
}

/* ---- parts */

static void put_header(struct output *output, const struct layout *layout)
{
    static const unsigned char ident[EI_NIDENT] = {ELFMAG0,    ELFMAG1,     ELFMAG2,    ELFMAG3,
                                                   ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV};
    put(output, ident, sizeof ident);
    put_number(output, ET_DYN, 2);
    put_number(output, EM_X86_64, 2);
    put_number(output, EV_CURRENT, 4);
    put_number(output, 0, 8); /* no entry point */
    put_number(output, sizeof(Elf64_Ehdr), 8);
    put_number(output, layout->sections, 8);
    put_number(output, 0, 4);
    put_number(output, sizeof(Elf64_Ehdr), 2);
    put_number(output, sizeof(Elf64_Phdr), 2);
    put_number(output, N_SEGMENTS, 2);
    put_number(output, sizeof(Elf64_Shdr), 2);
    put_number(output, N_SECTIONS, 2);
    put_number(output, SECTION_NAMES, 2);
}

static void put_segment(struct output *output, uint32_t type, uint32_t flags, uint64_t offset,
                        uint64_t address, uint64_t size, uint64_t alignment)
{
    put_number(output, type, 4);
    put_number(output, flags, 4);
    const uint64_t rest[] = {offset, address, address, size, size, alignment};
    put_numbers(output, rest, sizeof rest / sizeof rest[0]);
}

static void put_segments(struct output *output, const struct layout *layout)
{
    uint64_t address = dynamic_address(layout);
    put_segment(output, PT_LOAD, PF_R, 0, 0, layout->dynamic, PAGE_BYTES);
    put_segment(output, PT_LOAD, PF_R | PF_W, layout->dynamic, address, layout->dynamic_size, PAGE_BYTES);
    put_segment(output, PT_DYNAMIC, PF_R | PF_W, layout->dynamic, address, layout->dynamic_size, 8);
    put_segment(output, PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16);
}

/* A table in which nothing is found. */
static void put_hash(struct output *output)
{
    static const uint32_t words[N_HASH_WORDS] = {1 /* bucket */, 1 /* first symbol */,
                                                 1 /* word of the filter */, 0};
    for (size_t i = 0; i < N_HASH_WORDS; i++)
        put_number(output, words[i], 4);
    put_number(output, 0, 4); /* the bucket */
}

static void put_strings(struct output *output, const char *const *needed, size_t n_needed,
                        const char *runpath)
{
    put(output, "", 1);
    for (size_t i = 0; i < n_needed; i++)
        put(output, needed[i], strlen(needed[i]) + 1);
    if (runpath != NULL)
        put(output, runpath, strlen(runpath) + 1);
}

static void put_entry(struct output *output, int64_t tag, uint64_t value)
{
    put_number(output, (uint64_t)tag, 8);
    put_number(output, value, 8);
}

static void put_dynamic(struct output *output, const struct layout *layout, const char *const *needed,
                        size_t n_needed, const char *runpath)
{
    uint64_t string = 1;
    for (size_t i = 0; i < n_needed; i++) {
        put_entry(output, DT_NEEDED, string);
        string += strlen(needed[i]) + 1;
    }
    if (runpath != NULL)
        put_entry(output, DT_RUNPATH, string);
    put_entry(output, DT_GNU_HASH, layout->hash);
    put_entry(output, DT_STRTAB, layout->strings);
    put_entry(output, DT_SYMTAB, layout->symbols);
    put_entry(output, DT_STRSZ, layout->strings_size);
    put_entry(output, DT_SYMENT, sizeof(Elf64_Sym));
    put_entry(output, DT_NULL, 0);
}

static void put_section(struct output *output, const Elf64_Shdr *section)
{
    put_number(output, section->sh_name, 4);
    put_number(output, section->sh_type, 4);
    const uint64_t where[] = {section->sh_flags, section->sh_addr, section->sh_offset, section->sh_size};
    put_numbers(output, where, sizeof where / sizeof where[0]);
    put_number(output, section->sh_link, 4);
    put_number(output, section->sh_info, 4);
    put_number(output, section->sh_addralign, 8);
    put_number(output, section->sh_entsize, 8);
}

static void put_sections(struct output *output, const struct layout *layout)
{
    const Elf64_Shdr sections[N_SECTIONS] = {
        [HASH] = {.sh_type = SHT_GNU_HASH,
                  .sh_flags = SHF_ALLOC,
                  .sh_addr = layout->hash,
                  .sh_offset = layout->hash,
                  .sh_size = 4 * (N_HASH_WORDS + 1),
                  .sh_link = SYMBOLS,
                  .sh_addralign = 8},
        [SYMBOLS] = {.sh_type = SHT_DYNSYM,
                     .sh_flags = SHF_ALLOC,
                     .sh_addr = layout->symbols,
                     .sh_offset = layout->symbols,
                     .sh_size = sizeof(Elf64_Sym),
                     .sh_link = STRINGS,
                     .sh_info = 1,
                     .sh_addralign = 8,
                     .sh_entsize = sizeof(Elf64_Sym)},
        [STRINGS] = {.sh_type = SHT_STRTAB,
                     .sh_flags = SHF_ALLOC,
                     .sh_addr = layout->strings,
                     .sh_offset = layout->strings,
                     .sh_size = layout->strings_size,
                     .sh_addralign = 1},
        [DYNAMIC] = {.sh_type = SHT_DYNAMIC,
                     .sh_flags = SHF_ALLOC | SHF_WRITE,
                     .sh_addr = dynamic_address(layout),
                     .sh_offset = layout->dynamic,
                     .sh_size = layout->dynamic_size,
                     .sh_link = STRINGS,
                     .sh_addralign = 8,
                     .sh_entsize = sizeof(Elf64_Dyn)},
        [SECTION_NAMES] = {.sh_type = SHT_STRTAB,
                           .sh_offset = layout->names,
                           .sh_size = sizeof section_names,
                           .sh_addralign = 1},
    };
    for (size_t i = 0; i < N_SECTIONS; i++) {
        Elf64_Shdr section = sections[i];
        section.sh_name = name_of[i];
        put_section(output, &section);
    }
}

/* ---- the whole */

static uint64_t aligned(uint64_t offset)
{
    return (offset + 7) & ~UINT64_C(7);
}

static struct layout lay_out(const char *const *needed, size_t n_needed, const char *runpath)
{
    struct layout layout = {.hash = sizeof(Elf64_Ehdr) + N_SEGMENTS * sizeof(Elf64_Phdr), .strings_size = 1};
    for (size_t i = 0; i < n_needed; i++)
        layout.strings_size += strlen(needed[i]) + 1;
    layout.strings_size += runpath != NULL ? strlen(runpath) + 1 : 0;
    layout.symbols = aligned(layout.hash + 4 * (N_HASH_WORDS + 1));
    layout.strings = layout.symbols + sizeof(Elf64_Sym);
    layout.dynamic = aligned(layout.strings + layout.strings_size);
    layout.dynamic_size = (n_needed + (runpath != NULL) + 6) * sizeof(Elf64_Dyn);
    layout.names = layout.dynamic + layout.dynamic_size;
    layout.sections = aligned(layout.names + sizeof section_names);
    return layout;
}

size_t tg_deep_wrapper_write(const char *const *needed, size_t n_needed, const char *runpath,
                             unsigned char *bytes, size_t size)
{
    static const Elf64_Sym none;
    struct output output = {.bytes = bytes, .size = size};
    if (n_needed > TG_DEEP_WRAPPER_MAX_NEEDED)
        return 0;
    struct layout layout = lay_out(needed, n_needed, runpath);
    put_header(&output, &layout);
    put_segments(&output, &layout);
    put_hash(&output);
    align(&output, 8);
    put(&output, &none, sizeof none);
    put_strings(&output, needed, n_needed, runpath);
    align(&output, 8);
    put_dynamic(&output, &layout, needed, n_needed, runpath);
    put(&output, section_names, sizeof section_names);
    align(&output, 8);
    put_sections(&output, &layout);
    return output.is_full ? 0 : output.used;
}
