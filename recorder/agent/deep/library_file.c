#include "recorder/agent/deep/library_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SEGMENTS = 64, MIN_BYTES = 512 };

/* SIZE bytes of the file, aligned; NULL: they are not in it. */
static const void *part(const struct tg_deep_library *library, uint64_t offset, uint64_t size)
{
    return offset % 8 != 0 || offset > library->size || size > library->size - offset
               ? NULL
               : library->bytes + offset;
}

static const Elf64_Phdr *segments_of(const struct tg_deep_library *library, size_t *count)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)library->bytes;
    *count = header->e_phnum;
    return header->e_phentsize != sizeof(Elf64_Phdr) || *count > MAX_SEGMENTS
               ? NULL
               : part(library, header->e_phoff, *count * sizeof(Elf64_Phdr));
}

/* Where in the file the address is; and how many bytes of its segment follow there. False: nowhere. */
static bool find(const struct tg_deep_library *library, uint64_t address, uint64_t *offset, uint64_t *left)
{
    size_t count;
    const Elf64_Phdr *segments = segments_of(library, &count);
    for (size_t i = 0; segments != NULL && i < count; i++) {
        uint64_t within = address - segments[i].p_vaddr;
        if (segments[i].p_type != PT_LOAD || within >= segments[i].p_filesz ||
            segments[i].p_offset > library->size ||
            segments[i].p_filesz > library->size - segments[i].p_offset)
            continue;
        *offset = segments[i].p_offset + within;
        *left = segments[i].p_filesz - within;
        return true;
    }
    return false;
}

static uint64_t value_of(const struct tg_deep_library *library, int64_t tag)
{
    for (size_t i = 0; i < library->n_dynamic && library->dynamic[i].d_tag != DT_NULL; i++)
        if (library->dynamic[i].d_tag == tag)
            return library->dynamic[i].d_un.d_val;
    return 0;
}

static bool read_dynamic(struct tg_deep_library *library)
{
    size_t count;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)library->bytes;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_type != ET_DYN || header->e_machine != EM_X86_64)
        return false;
    const Elf64_Phdr *segments = segments_of(library, &count);
    for (size_t i = 0; segments != NULL && i < count; i++)
        if (segments[i].p_type == PT_DYNAMIC) {
            library->dynamic = part(library, segments[i].p_offset, segments[i].p_filesz);
            library->n_dynamic = segments[i].p_filesz / sizeof(Elf64_Dyn);
        }
    uint64_t offset, left, size = library->dynamic == NULL ? 0 : value_of(library, DT_STRSZ);
    if (size == 0 || !find(library, value_of(library, DT_STRTAB), &offset, &left) || size > left)
        return false;
    library->strings = (const char *)library->bytes + offset;
    library->n_strings = size;
    return library->strings[size - 1] == '\0';
}

bool tg_deep_library_open(const char *path, struct tg_deep_library *library)
{
    struct stat status;
    *library = (struct tg_deep_library){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    void *mapped = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= MIN_BYTES)
        mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return false;
    library->bytes = mapped;
    library->size = (size_t)status.st_size;
    if (read_dynamic(library))
        return true;
    tg_deep_library_close(library);
    return false;
}

void tg_deep_library_close(struct tg_deep_library *library)
{
    if (library->bytes != NULL)
        munmap((void *)(uintptr_t)library->bytes, library->size);
    library->bytes = NULL;
}

const char *tg_deep_library_string(const struct tg_deep_library *library, int64_t tag, size_t i)
{
    for (size_t k = 0; k < library->n_dynamic && library->dynamic[k].d_tag != DT_NULL; k++)
        if (library->dynamic[k].d_tag == tag && i-- == 0)
            return library->dynamic[k].d_un.d_val < library->n_strings
                       ? library->strings + library->dynamic[k].d_un.d_val
                       : NULL;
    return NULL;
}

/* The symbols stand in front of their names, where they are at all: their number is nowhere said. */
bool tg_deep_library_defines(const struct tg_deep_library *library, const char *name)
{
    uint64_t offset, left;
    if (!find(library, value_of(library, DT_SYMTAB), &offset, &left))
        return false;
    const Elf64_Sym *symbols = part(library, offset, left);
    uint64_t strings = (uint64_t)(library->strings - (const char *)library->bytes);
    if (strings > offset && strings - offset < left)
        left = strings - offset;
    for (uint64_t i = 1; symbols != NULL && i < left / sizeof *symbols; i++) {
        if (symbols[i].st_name >= library->n_strings || ELF64_ST_TYPE(symbols[i].st_info) > STT_GNU_IFUNC)
            break;
        if (symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL &&
            strcmp(library->strings + symbols[i].st_name, name) == 0)
            return true;
    }
    return false;
}
