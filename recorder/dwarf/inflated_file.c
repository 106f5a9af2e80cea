#include "recorder/dwarf/inflated_file.h"

#include <gelf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    MAX_SECTIONS = 256,
    MAX_INFLATED = 32,
    MAX_BYTES = 1 << 30, /* of a section: no more than zlib counts in one step */
    WORTH_BYTES = 1 << 20,
    ALIGNMENT = 64
};

/* A section that is compressed in the file, FROM there, and its place in the image. */
struct part {
    size_t section;
    uint64_t from, compressed;
    size_t offset, size;
};

struct tg_inflated_file {
    int fd;
    Elf *elf; /* of IMAGE; first of the file */
    char *image;
    size_t size;       /* of IMAGE: the file as it is, and the inflated sections behind it */
    size_t file_size;  /* of the file */
    uint64_t until_ns; /* of CLOCK_MONOTONIC; UINT64_MAX: no limit */
    struct part parts[MAX_INFLATED];
    size_t n_parts;
};

/* What one thread inflates. */
struct share {
    const struct tg_inflated_file *file;
    const struct part *parts[MAX_INFLATED];
    size_t count, bytes;
    bool failed, is_late;
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static bool read_range(const struct tg_inflated_file *file, uint64_t offset, uint64_t size)
{
    if (offset > file->file_size || size > file->file_size - offset)
        return false;
    while (size > 0) {
        ssize_t n = pread(file->fd, file->image + offset, size, (off_t)offset);
        if (n <= 0)
            return false;
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

/* ---- what is to be inflated */

/* Debug information that other files belong to is found by the name of this one, which an image does not have. */
static bool needs_its_name(const char *section)
{
    return section == NULL || strcmp(section, ".gnu_debugaltlink") == 0 ||
           strcmp(section, ".debug_addr") == 0 || strncmp(section, ".zdebug", strlen(".zdebug")) == 0;
}

/* Lays the image out; false where the file is not one that this is for. */
static bool plan(struct tg_inflated_file *file)
{
    size_t names = 0, total = 0;
    Elf_Scn *section = NULL;
    if (gelf_getclass(file->elf) != ELFCLASS64 || elf_getshdrstrndx(file->elf, &names) != 0)
        return false;
    file->size = aligned(file->file_size);
    while ((section = elf_nextscn(file->elf, section)) != NULL) {
        GElf_Shdr header;
        GElf_Chdr compressed;
        if (gelf_getshdr(section, &header) == NULL ||
            needs_its_name(elf_strptr(file->elf, names, header.sh_name)))
            return false;
        if ((header.sh_flags & SHF_COMPRESSED) == 0)
            continue;
        if (file->n_parts == MAX_INFLATED || (header.sh_flags & SHF_ALLOC) != 0 ||
            header.sh_size <= sizeof(Elf64_Chdr) || gelf_getchdr(section, &compressed) == NULL ||
            compressed.ch_type != ELFCOMPRESS_ZLIB || compressed.ch_size > MAX_BYTES)
            return false;
        file->parts[file->n_parts++] = (struct part){.section = elf_ndxscn(section),
                                                     .from = header.sh_offset + sizeof(Elf64_Chdr),
                                                     .compressed = header.sh_size - sizeof(Elf64_Chdr),
                                                     .offset = file->size,
                                                     .size = compressed.ch_size};
        file->size += aligned(compressed.ch_size);
        total += compressed.ch_size;
    }
    return file->until_ns != UINT64_MAX ? file->n_parts > 0 : file->n_parts > 1 && total >= WORTH_BYTES;
}

/* ---- the image */

/* Everything but what is compressed, where the file has it. Section headers say what they will be. */
static bool copy_rest(struct tg_inflated_file *file)
{
    Elf64_Ehdr header;
    if (!read_range(file, 0, sizeof header))
        return false;
    memcpy(&header, file->image, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_type == ET_REL || header.e_shnum == 0 || header.e_shnum > MAX_SECTIONS ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff % _Alignof(Elf64_Shdr) != 0 ||
        !read_range(file, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)) ||
        !read_range(file, header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize))
        return false;
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(file->image + header.e_shoff);
    for (size_t i = 0; i < header.e_shnum; i++)
        if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_type != SHT_NULL &&
            (sections[i].sh_flags & SHF_COMPRESSED) == 0 &&
            !read_range(file, sections[i].sh_offset, sections[i].sh_size))
            return false;
    for (size_t i = 0; i < file->n_parts; i++) {
        Elf64_Shdr *section = &sections[file->parts[i].section];
        section->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
        section->sh_offset = file->parts[i].offset;
        section->sh_size = file->parts[i].size;
    }
    return true;
}

static bool is_late(const struct tg_inflated_file *file)
{
    struct timespec now;
    if (file->until_ns == UINT64_MAX)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec > file->until_ns;
}

/* Part by part: what is compressed is nowhere as a whole. */
static bool inflate_part(struct share *share, const struct part *part)
{
    const struct tg_inflated_file *file = share->file;
    enum { READ_BYTES = 1 << 16 };
    uint8_t bytes[READ_BYTES];
    z_stream stream = {.next_out = (Bytef *)file->image + part->offset, .avail_out = (uInt)part->size};
    uint64_t at = part->from, left = part->compressed;
    int result = inflateInit(&stream);
    if (result != Z_OK)
        return false;
    while (result == Z_OK && left > 0) {
        share->is_late = is_late(file);
        if (share->is_late)
            break;
        ssize_t n = pread(file->fd, bytes, left < sizeof bytes ? left : sizeof bytes, (off_t)at);
        if (n <= 0)
            break;
        stream.next_in = bytes;
        stream.avail_in = (uInt)n;
        result = inflate(&stream, Z_NO_FLUSH);
        at += (uint64_t)n;
        left -= (uint64_t)n;
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && stream.total_out == part->size;
}

static void *inflate_share(void *argument)
{
    struct share *share = argument;
    for (size_t i = 0; !share->failed && i < share->count; i++)
        share->failed = !inflate_part(share, share->parts[i]);
    return NULL;
}

/* The largest one left goes to who has less to do. */
static void divide(const struct tg_inflated_file *file, struct share shares[2])
{
    bool is_given[MAX_INFLATED] = {false};
    for (size_t n = 0; n < file->n_parts; n++) {
        size_t largest = SIZE_MAX;
        for (size_t i = 0; i < file->n_parts; i++)
            if (!is_given[i] && (largest == SIZE_MAX || file->parts[i].size > file->parts[largest].size))
                largest = i;
        struct share *share = &shares[shares[1].bytes < shares[0].bytes];
        is_given[largest] = true;
        share->parts[share->count++] = &file->parts[largest];
        share->bytes += file->parts[largest].size;
    }
}

static bool has_second_processor(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) > 1;
}

static bool inflate_all(const struct tg_inflated_file *file, bool *is_late)
{
    struct share shares[2] = {{.file = file}, {.file = file}};
    pthread_t helper;
    sigset_t blocked, before;
    divide(file, shares);
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool has_helper = pthread_create(&helper, NULL, inflate_share, &shares[1]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    inflate_share(&shares[0]);
    if (has_helper)
        pthread_join(helper, NULL);
    *is_late = shares[0].is_late || shares[1].is_late;
    return has_helper && !shares[0].failed && !shares[1].failed;
}

static bool make(struct tg_inflated_file *file, bool *is_late)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0 || status.st_size < (off_t)sizeof(Elf64_Ehdr))
        return false;
    file->file_size = (size_t)status.st_size;
    file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
    if (file->elf == NULL || !plan(file))
        return false;
    elf_end(file->elf);
    file->elf = NULL;
    void *image = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED)
        return false;
    (void)madvise(image, file->size, MADV_HUGEPAGE); /* thousands of page faults less */
    file->image = image;
    if (!copy_rest(file) || !inflate_all(file, is_late))
        return false;
    file->elf = elf_memory(file->image, file->size);
    return file->elf != NULL;
}

struct tg_inflated_file *tg_inflated_file_create(int fd)
{
    bool is_late;
    return has_second_processor() ? tg_inflated_file_create_until(fd, UINT64_MAX, &is_late) : NULL;
}

struct tg_inflated_file *tg_inflated_file_create_until(int fd, uint64_t until_ns, bool *is_late)
{
    struct tg_inflated_file *file = calloc(1, sizeof *file);
    *is_late = false;
    if (file == NULL)
        return NULL;
    file->fd = fd;
    file->until_ns = until_ns;
    if (make(file, is_late))
        return file;
    tg_inflated_file_destroy(file);
    return NULL;
}

void tg_inflated_file_destroy(struct tg_inflated_file *file)
{
    if (file == NULL)
        return;
    elf_end(file->elf);
    if (file->image != NULL)
        munmap(file->image, file->size);
    free(file);
}

Elf *tg_inflated_file_elf(const struct tg_inflated_file *file)
{
    return file->elf;
}
