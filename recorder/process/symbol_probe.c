#include "recorder/process/symbol_probe.h"

#include "format/image/elf_decode.h"
#include "format/image/file.h"
#include "format/image/mangled_name.h"
#include "recorder/process/process_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 3 << 9,   /* part of a file read first: headers and notes, often .dynstr */
    TAIL_BYTES = 3 << 10,  /* up to the end of the section headers: of a small file all that is left to see */
    MORE_BYTES = 64 << 10, /* the largest piece read elsewhere; longer string tables are searched in pieces */
    MAX_SEGMENTS = 64,
    MAX_TABLES = 4, /* string tables */
    MAX_NAME_BYTES = 1024,
};
static const uint64_t MAX_TABLE_BYTES = 4 << 20; /* in a larger one an image's index finds names sooner */

struct tg_symbol_probe {
    int descriptors;
    struct tg_elf_segment segments[MAX_SEGMENTS];
    uint8_t head[HEAD_BYTES];
    uint8_t tail[TAIL_BYTES];
    uint8_t more[MORE_BYTES];
};

/* [offset, offset + size) of the file */
struct region {
    uint64_t offset;
    uint64_t size;
};

/* The file that is looked at. */
struct file {
    struct tg_symbol_probe *probe; /* buffers of the probe hold HEAD and TAIL */
    int fd;
    uint64_t size;
    struct region head, tail;
    struct tg_elf_header header;
    struct tg_elf_segment *segments;
    struct region tables[MAX_TABLES]; /* string tables in which names are looked up */
    size_t n_tables;
};

struct tg_symbol_probe *tg_symbol_probe_create(void)
{
    struct tg_symbol_probe *probe = malloc(sizeof *probe);
    if (probe != NULL)
        probe->descriptors = tg_image_file_descriptors();
    return probe;
}

void tg_symbol_probe_destroy(struct tg_symbol_probe *probe)
{
    if (probe == NULL)
        return;
    if (probe->descriptors >= 0)
        close(probe->descriptors);
    free(probe);
}

/* ---- reading */

static bool read_at(int fd, uint64_t offset, uint8_t *buffer, size_t size)
{
    ssize_t n;
    do
        n = pread(fd, buffer, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static bool contains(struct region outer, struct region inner)
{
    return inner.offset >= outer.offset && inner.size <= outer.size &&
           inner.offset - outer.offset <= outer.size - inner.size;
}

/* REGION of FILE, valid until the next call; NULL where it does not lie in the file or is too large. */
static const uint8_t *view(const struct file *file, struct region region)
{
    if (contains(file->head, region))
        return file->probe->head + region.offset;
    if (contains(file->tail, region))
        return file->probe->tail + (region.offset - file->tail.offset);
    if (!contains((struct region){0, file->size}, region))
        return NULL;
    if (region.size > MORE_BYTES || !read_at(file->fd, region.offset, file->probe->more, region.size))
        return NULL;
    return file->probe->more;
}

/* The file's bytes for the virtual address ADDRESS on, up to the end of its segment. */
static bool locate(const struct file *file, uint64_t address, struct region *region)
{
    for (size_t i = 0; i < file->header.n_segments; i++) {
        const struct tg_elf_segment *segment = &file->segments[i];
        if (segment->type != PT_LOAD || address < segment->address ||
            address - segment->address >= segment->file_size)
            continue;
        uint64_t inside = address - segment->address;
        if (segment->offset > UINT64_MAX - segment->file_size)
            return false;
        *region = (struct region){segment->offset + inside, segment->file_size - inside};
        return true;
    }
    return false;
}

static void read_tail(struct file *file)
{
    uint64_t sections_size = (uint64_t)file->header.n_sections * tg_elf_section_size(file->header.bits);
    if (file->header.sections_at > file->size || sections_size > file->size - file->header.sections_at)
        return;
    uint64_t end = file->header.sections_at + sections_size;
    size_t size = end < TAIL_BYTES ? (size_t)end : TAIL_BYTES;
    if (end > file->head.size && read_at(file->fd, end - size, file->probe->tail, size))
        file->tail = (struct region){end - size, size};
}

static bool read_headers(struct file *file)
{
    const struct region head = {0, file->size < HEAD_BYTES ? file->size : HEAD_BYTES};
    if (!read_at(file->fd, 0, file->probe->head, head.size) ||
        !tg_elf_header_decode(file->probe->head, head.size, &file->header) ||
        file->header.n_segments > MAX_SEGMENTS)
        return false;
    file->head = head;
    read_tail(file);
    unsigned bits = file->header.bits;
    size_t entry_size = tg_elf_segment_size(bits);
    const uint8_t *raw =
        view(file, (struct region){file->header.segments_at, (uint64_t)file->header.n_segments * entry_size});
    for (size_t i = 0; raw != NULL && i < file->header.n_segments; i++)
        file->segments[i] = tg_elf_segment_decode(bits, raw + i * entry_size);
    return raw != NULL;
}

static bool has_build_id(const struct file *file, const char *wanted)
{
    char build_id[TG_ELF_BUILD_ID_CHARS];
    for (size_t i = 0; i < file->header.n_segments; i++) {
        const struct tg_elf_segment *segment = &file->segments[i];
        if (segment->type != PT_NOTE)
            continue;
        const uint8_t *notes = view(file, (struct region){segment->offset, segment->file_size});
        if (notes != NULL && tg_elf_build_id(notes, segment->file_size, segment->align, build_id))
            return strcmp(build_id, wanted) == 0;
    }
    return false;
}

/* ---- string tables */

static bool add_table(struct file *file, struct region region)
{
    for (size_t i = 0; i < file->n_tables; i++)
        if (file->tables[i].offset == region.offset && file->tables[i].size == region.size)
            return true;
    if (file->n_tables == MAX_TABLES || region.size > MAX_TABLE_BYTES)
        return false;
    file->tables[file->n_tables++] = region;
    return true;
}

/* The tables of SHT_SYMTAB and SHT_DYNSYM; false where one is not whole, or there is no SHT_SYMTAB, and
 * NEEDS_SYMTAB. */
static bool add_section_tables(struct file *file, bool needs_symtab)
{
    unsigned bits = file->header.bits;
    size_t entry_size = tg_elf_section_size(bits), count = file->header.n_sections;
    const uint8_t *raw = view(file, (struct region){file->header.sections_at, count * entry_size});
    bool found = raw != NULL && !needs_symtab;
    for (size_t i = 0; raw != NULL && i < count; i++) {
        uint32_t type =
            tg_elf_u32(raw + i * entry_size + offsetof(Elf64_Shdr, sh_type)); /* in both classes */
        if (type != SHT_SYMTAB && type != SHT_DYNSYM)
            continue;
        struct tg_elf_section symbols = tg_elf_section_decode(bits, raw + i * entry_size);
        if (symbols.link >= count)
            return false;
        struct tg_elf_section strings = tg_elf_section_decode(bits, raw + symbols.link * entry_size);
        if (strings.type != SHT_STRTAB || !add_table(file, (struct region){strings.offset, strings.size}))
            return false;
        found |= type == SHT_SYMTAB;
    }
    return found;
}

/* DT_STRTAB, which need not be a section's; true also where there is no dynamic section. */
static bool add_dynamic_table(struct file *file)
{
    unsigned bits = file->header.bits;
    size_t entry_size = tg_elf_dynamic_size(bits), i = 0;
    while (i < file->header.n_segments && file->segments[i].type != PT_DYNAMIC)
        i++;
    if (i == file->header.n_segments)
        return true;
    struct region dynamic, strings;
    if (!locate(file, file->segments[i].address, &dynamic))
        return false;
    if (dynamic.size > file->segments[i].file_size)
        dynamic.size = file->segments[i].file_size;
    const uint8_t *raw = view(file, dynamic);
    uint64_t strings_at = 0, strings_size = 0;
    for (uint64_t at = 0; raw != NULL && at + entry_size <= dynamic.size; at += entry_size) {
        struct tg_elf_dynamic entry = tg_elf_dynamic_decode(bits, raw + at);
        if (entry.tag == DT_NULL)
            break;
        if (entry.tag == DT_STRTAB)
            strings_at = entry.value;
        if (entry.tag == DT_STRSZ)
            strings_size = entry.value;
    }
    if (raw == NULL || !locate(file, strings_at, &strings) || strings.size < strings_size)
        return false;
    strings.size = strings_size;
    return add_table(file, strings);
}

/* ---- names */

/* The part of NAME that is in string tables: not the version that may be asked for. */
static size_t bare_length(const char *name)
{
    return name[0] == '\0' ? 0 : 1 + strcspn(name + 1, "@");
}

static bool any_within(const uint8_t *bytes, size_t size, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        const char *name = tg_mangled_name_last(names[i]); /* of C++, the part that is there as it is */
        if (memmem(bytes, size, name, bare_length(name)) != NULL)
            return true;
    }
    return false;
}

/* Also true where TABLE cannot be read. */
static bool may_hold(const struct file *file, struct region table, const char *const *names, size_t n_names)
{
    const uint64_t step = MORE_BYTES - MAX_NAME_BYTES; /* pieces overlap by the length of a name */
    for (uint64_t at = 0; at < table.size; at += step) {
        uint64_t left = table.size - at;
        struct region piece = {table.offset + at, left < MORE_BYTES ? left : MORE_BYTES};
        const uint8_t *bytes = view(file, piece);
        if (bytes == NULL || any_within(bytes, piece.size, names, n_names))
            return true;
        if (left <= MORE_BYTES)
            break;
    }
    return false;
}

static bool file_lacks(struct file *file, const char *build_id, const char *const *names, size_t n_names,
                       bool needs_symtab)
{
    if (!read_headers(file) || !has_build_id(file, build_id) || !add_section_tables(file, needs_symtab) ||
        !add_dynamic_table(file))
        return false;
    for (size_t i = 0; i < file->n_tables; i++)
        if (may_hold(file, file->tables[i], names, n_names))
            return false;
    return true;
}

static int open_file(const struct tg_symbol_probe *probe, const struct tg_image_source *source,
                     uint64_t *size)
{
    int fd = tg_image_file_read_here(source->path, size);
    if (fd >= 0)
        return fd;
    int place = tg_image_file_open_here(source->path);
    if (place < 0)
        place = tg_process_file_open(source->pid, source->path);
    if (place < 0)
        return -1;
    struct stat status;
    fd = tg_image_file_reopen(probe->descriptors, place, &status);
    close(place);
    if (fd >= 0)
        *size = status.st_size < 0 ? 0 : (uint64_t)status.st_size;
    return fd;
}

static bool lacks(struct tg_symbol_probe *probe, const struct tg_image_source *source,
                  const char *const *names, size_t n_names, bool needs_symtab)
{
    if (n_names == 0 || n_names > TG_SYMBOL_PROBE_MAX_NAMES || source->path == NULL ||
        source->build_id == NULL || source->build_id[0] == '\0')
        return false;
    for (size_t i = 0; i < n_names; i++)
        if (names[i][0] == '\0' || bare_length(names[i]) > MAX_NAME_BYTES)
            return false;
    struct file file = {.probe = probe, .segments = probe->segments};
    file.fd = open_file(probe, source, &file.size);
    if (file.fd < 0)
        return false;
    bool none = file_lacks(&file, source->build_id, names, n_names, needs_symtab);
    close(file.fd);
    return none;
}

bool tg_symbol_probe_lacks(struct tg_symbol_probe *probe, const struct tg_image_source *source,
                           const char *const *names, size_t n_names)
{
    return lacks(probe, source, names, n_names, true);
}

bool tg_symbol_probe_lacks_text(struct tg_symbol_probe *probe, const struct tg_image_source *source,
                                const char *text)
{
    return lacks(probe, source, &text, 1, false);
}
