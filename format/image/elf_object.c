#include "format/image/elf_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW_BYTES = 16 << 10,   /* of a file, read when it is opened */
    MAX_NOTE_BYTES = 64 << 10, /* of one PT_NOTE */
    MAX_SECTION_NAMES_BYTES = 64 << 20,
};
static const uint64_t MAX_COPY_BYTES = UINT64_C(64) << 20;
static const uint64_t MAX_EXTENT_BYTES = UINT64_C(16) << 30; /* address space set aside for a copy */

static bool read_file(int fd, uint64_t offset, uint8_t *buffer, size_t size)
{
    while (size > 0) {
        ssize_t n = pread(fd, buffer, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        buffer += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool tg_elf_object_read(const struct tg_elf_object *object, uint64_t offset, void *buffer, size_t size)
{
    if (offset > object->size || size > object->size - offset)
        return false;
    if (size == 0)
        return true;
    if (offset + size <= object->n_first) {
        memcpy(buffer, object->first + offset, size);
        return true;
    }
    return object->fd >= 0 && read_file(object->fd, offset, buffer, size);
}

uint8_t *tg_elf_object_read_new(const struct tg_elf_object *object, uint64_t offset, uint64_t size,
                                uint64_t limit)
{
    if (size > limit || offset > object->size || size > object->size - offset)
        return NULL;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return NULL;
    if (!tg_elf_object_read(object, offset, bytes, size)) {
        free(bytes);
        return NULL;
    }
    bytes[size] = '\0';
    return bytes;
}

uint64_t tg_elf_object_available_at(const struct tg_elf_object *object, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < object->n_segments; i++) {
        const struct tg_elf_segment *segment = &object->segments[i];
        if (segment->type != PT_LOAD || address < segment->address ||
            address - segment->address >= segment->file_size)
            continue;
        uint64_t inside = address - segment->address;
        uint64_t at = object->fd >= 0 ? segment->offset + inside : address - object->start;
        uint64_t available = segment->file_size - inside;
        if (at < inside || at >= object->size) /* wrapped, or beyond the file */
            return 0;
        if (available > object->size - at)
            available = object->size - at;
        *offset = at;
        return available;
    }
    return 0;
}

bool tg_elf_object_read_at(const struct tg_elf_object *object, uint64_t address, void *buffer, size_t size)
{
    uint64_t offset = 0; /* stays where nothing is available: SIZE is 0 then */
    return tg_elf_object_available_at(object, address, &offset) >= size &&
           tg_elf_object_read(object, offset, buffer, size);
}

bool tg_elf_object_is_code(const struct tg_elf_object *object, uint64_t address)
{
    for (size_t i = 0; i < object->n_segments; i++) {
        const struct tg_elf_segment *segment = &object->segments[i];
        if (segment->type == PT_LOAD && (segment->flags & PF_X) != 0 && address >= segment->address &&
            address - segment->address < segment->memory_size)
            return true;
    }
    return false;
}

const struct tg_elf_segment *tg_elf_object_segment(const struct tg_elf_object *object, uint32_t type)
{
    for (size_t i = 0; i < object->n_segments; i++)
        if (object->segments[i].type == type)
            return &object->segments[i];
    return NULL;
}

/* ---- opening */

static struct tg_error *read_segments(struct tg_elf_object *object)
{
    size_t count = object->header.n_segments;
    unsigned bits = object->header.bits;
    if (count > TG_ELF_MAX_SEGMENTS)
        return tg_error_create(TG_ERROR_LIMIT, "%zu program headers, at most %d are accepted", count,
                               TG_ELF_MAX_SEGMENTS);
    size_t entry_size = tg_elf_segment_size(bits);
    uint8_t *raw = tg_elf_object_read_new(object, object->header.segments_at, count * entry_size, UINT32_MAX);
    if (raw == NULL)
        return tg_error_create(TG_ERROR_INPUT, "program headers outside of the file");
    object->segments = calloc(count + 1, sizeof *object->segments);
    if (object->segments == NULL) {
        free(raw);
        return tg_error_no_memory();
    }
    object->n_segments = count;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct tg_elf_segment *segment = &object->segments[i];
        *segment = tg_elf_segment_decode(bits, raw + i * entry_size);
        if (segment->type != PT_LOAD)
            continue;
        if (segment->memory_size > UINT64_MAX - segment->address) {
            segment->type = PT_NULL; /* wraps around: no loader maps it */
            continue;
        }
        uint64_t start = segment->address & ~(uint64_t)(TG_ELF_PAGE_BYTES - 1);
        uint64_t end = segment->address + segment->memory_size;
        object->start = !any || start < object->start ? start : object->start;
        object->end = !any || end > object->end ? end : object->end;
        any = true;
    }
    free(raw);
    return NULL;
}

static void read_build_id(struct tg_elf_object *object)
{
    for (size_t i = 0; i < object->n_segments && object->build_id[0] == '\0'; i++) {
        const struct tg_elf_segment *segment = &object->segments[i];
        if (segment->type != PT_NOTE || segment->file_size > MAX_NOTE_BYTES)
            continue;
        uint64_t at = object->fd >= 0 ? segment->offset : segment->address - object->start;
        uint8_t *notes = tg_elf_object_read_new(object, at, segment->file_size, MAX_NOTE_BYTES);
        if (notes != NULL)
            (void)tg_elf_build_id(notes, segment->file_size, segment->align, object->build_id);
        free(notes);
    }
}

static void clean_up(struct tg_elf_object **object)
{
    tg_elf_object_destroy(*object);
}
#define AUTO_OBJECT __attribute__((cleanup(clean_up)))

struct tg_error *tg_elf_object_open_fd(int fd, struct tg_elf_object **result)
{
    AUTO_OBJECT struct tg_elf_object *object = calloc(1, sizeof *object);
    if (object == NULL) {
        close(fd);
        return tg_error_no_memory();
    }
    object->fd = fd;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return tg_error_create_errno(errno, "cannot stat");
    if (!S_ISREG(status.st_mode) || status.st_size < 0)
        return tg_error_create(TG_ERROR_INPUT, "not a regular file");
    object->size = (uint64_t)status.st_size;

    size_t window = object->size < WINDOW_BYTES ? (size_t)object->size : WINDOW_BYTES;
    object->first = malloc(window + 1);
    if (object->first == NULL)
        return tg_error_no_memory();
    if (!read_file(fd, 0, object->first, window))
        return tg_error_create_errno(errno != 0 ? errno : EIO, "cannot read");
    object->n_first = window;
    if (!tg_elf_header_decode(object->first, window, &object->header))
        return tg_error_create(TG_ERROR_INPUT, "not an ELF file for this machine");
    struct tg_error *error = read_segments(object);
    if (error != NULL)
        return error;
    read_build_id(object);
    *result = object;
    object = NULL;
    return NULL;
}

/* Reads [address, address + size) into BUFFER, leaving zero what cannot be read. */
static void copy_memory(const struct tg_elf_memory *memory, uint64_t address, uint8_t *buffer, uint64_t size)
{
    while (size > 0) {
        size_t n = memory->read(memory->context, address, buffer, size);
        if (n < size) { /* step over the page that failed */
            uint64_t next = (address + n + TG_ELF_PAGE_BYTES) & ~(uint64_t)(TG_ELF_PAGE_BYTES - 1);
            if (next - address >= size || next < address)
                return;
            n = next - address;
        }
        address += n;
        buffer += n;
        size -= n;
    }
}

struct tg_error *tg_elf_object_copy(const struct tg_elf_memory *memory, uint64_t header,
                                    struct tg_elf_object **result)
{
    AUTO_OBJECT struct tg_elf_object *object = calloc(1, sizeof *object);
    if (object == NULL)
        return tg_error_no_memory();
    object->fd = -1;
    uint8_t page[TG_ELF_PAGE_BYTES];
    object->first = page;
    object->size = object->n_first = memory->read(memory->context, header, page, sizeof page);
    struct tg_error *error = NULL;
    if (!tg_elf_header_decode(page, object->n_first, &object->header))
        error = tg_error_create(TG_ERROR_INPUT, "no ELF header at 0x%llx", (unsigned long long)header);
    if (error == NULL)
        error = read_segments(object);
    object->first = NULL;
    object->n_first = 0;
    object->size = 0;
    if (error != NULL)
        return error;
    uint64_t extent = object->end - object->start;
    if (extent == 0 || extent > MAX_EXTENT_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "the object at 0x%llx claims to be %llu bytes long",
                               (unsigned long long)header, (unsigned long long)extent);
    /* Untouched pages cost nothing: the copy is as sparse as the object. */
    void *copy =
        mmap(NULL, extent, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return tg_error_no_memory();
    object->first = copy;
    object->size = object->n_first = extent;

    uint64_t left = MAX_COPY_BYTES;
    for (size_t i = 0; i < object->n_segments; i++) {
        struct tg_elf_segment *segment = &object->segments[i];
        if (segment->type != PT_LOAD)
            continue;
        if (segment->file_size > segment->memory_size)
            segment->file_size = segment->memory_size;
        if (segment->file_size > left)
            segment->file_size = left;
        left -= segment->file_size;
        uint64_t at = segment->address - object->start;
        copy_memory(memory, header + at, object->first + at, segment->file_size);
    }
    object->header.n_sections = 0;
    read_build_id(object);
    *result = object;
    object = NULL;
    return NULL;
}

void tg_elf_object_destroy(struct tg_elf_object *object)
{
    if (object == NULL)
        return;
    if (object->fd >= 0) {
        close(object->fd);
        free(object->first);
    } else if (object->first != NULL) {
        munmap(object->first, object->n_first);
    }
    free(object->segments);
    free(object->sections);
    free(object->section_names);
    free(object);
}

/* ---- sections */

static void read_section_names(struct tg_elf_object *object)
{
    uint8_t raw[sizeof(Elf64_Ehdr)];
    if (!tg_elf_object_read(object, 0, raw,
                            object->header.bits == 64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
        return;
    uint32_t index = tg_elf_u16(raw + (object->header.bits == 64 ? offsetof(Elf64_Ehdr, e_shstrndx)
                                                                 : offsetof(Elf32_Ehdr, e_shstrndx)));
    if (index == SHN_XINDEX && object->n_sections > 0)
        index = object->sections[0].link;
    if (index >= object->n_sections)
        return;
    const struct tg_elf_section *section = &object->sections[index];
    object->section_names =
        (char *)tg_elf_object_read_new(object, section->offset, section->size, MAX_SECTION_NAMES_BYTES);
    if (object->section_names != NULL)
        object->n_section_names = section->size;
}

static void read_sections(struct tg_elf_object *object)
{
    if (object->sections_read)
        return;
    object->sections_read = true;
    unsigned bits = object->header.bits;
    size_t entry_size = tg_elf_section_size(bits);
    uint64_t at = object->header.sections_at;
    uint64_t count = object->header.n_sections;
    if (object->fd < 0 || at == 0)
        return;
    if (count == 0) { /* too many for the header's field */
        uint8_t raw[sizeof(Elf64_Shdr)];
        if (!tg_elf_object_read(object, at, raw, entry_size))
            return;
        count = tg_elf_section_decode(bits, raw).size;
    }
    if (count == 0 || count > TG_ELF_MAX_SECTIONS)
        return;
    uint8_t *raw = tg_elf_object_read_new(object, at, count * entry_size, UINT32_MAX);
    if (raw == NULL)
        return;
    object->sections = calloc(count, sizeof *object->sections);
    if (object->sections != NULL) {
        object->n_sections = count;
        for (size_t i = 0; i < count; i++)
            object->sections[i] = tg_elf_section_decode(bits, raw + i * entry_size);
        read_section_names(object);
    }
    free(raw);
}

static bool has_content(const struct tg_elf_object *object, const struct tg_elf_section *section)
{
    return section->type != SHT_NOBITS && section->type != SHT_NULL && section->offset <= object->size &&
           section->size <= object->size - section->offset;
}

const struct tg_elf_section *tg_elf_object_section(struct tg_elf_object *object, const char *name)
{
    read_sections(object);
    for (size_t i = 0; i < object->n_sections; i++) {
        const struct tg_elf_section *section = &object->sections[i];
        if (section->name < object->n_section_names && has_content(object, section) &&
            strcmp(object->section_names + section->name, name) == 0)
            return section;
    }
    return NULL;
}

const struct tg_elf_section *tg_elf_object_section_by_type(struct tg_elf_object *object, uint32_t type)
{
    read_sections(object);
    for (size_t i = 0; i < object->n_sections; i++)
        if (object->sections[i].type == type && has_content(object, &object->sections[i]))
            return &object->sections[i];
    return NULL;
}

const struct tg_elf_section *tg_elf_object_section_at(struct tg_elf_object *object, uint32_t index)
{
    read_sections(object);
    return index < object->n_sections && has_content(object, &object->sections[index])
               ? &object->sections[index]
               : NULL;
}
