#include "recorder/process/image_peek.h"

#include "recorder/process/memory.h"

enum {
    PEEK_SEGMENTS = 64,
    PEEK_NOTE_BYTES = 1024,
    PEEK_FIRST_BYTES = 1024, /* program headers and build-id mostly lie there; copying more takes time */
};

/* The build-id in SEGMENT, a PT_NOTE in MEMORY, or in the PAGE of the header where it lies there. */
static bool peek_note(const struct tg_elf_memory *memory, const struct tg_elf_segment *segment,
                      uint64_t start, uint64_t header, const uint8_t *page, size_t page_size,
                      char build_id[TG_ELF_BUILD_ID_CHARS])
{
    uint64_t inside = segment->address - start;
    uint64_t size = segment->file_size;
    if (inside < page_size && size <= page_size - inside)
        return tg_elf_build_id(page + inside, (size_t)size, segment->align, build_id);
    uint8_t notes[PEEK_NOTE_BYTES];
    size = size < sizeof notes ? size : sizeof notes;
    return memory->read(memory->context, header + inside, notes, (size_t)size) == size &&
           tg_elf_build_id(notes, (size_t)size, segment->align, build_id);
}

bool tg_image_peek_memory(const struct tg_elf_memory *memory, uint64_t header_address,
                          char build_id[TG_ELF_BUILD_ID_CHARS], uint64_t *size_bytes)
{
    uint8_t page[TG_ELF_PAGE_BYTES];
    struct tg_elf_header header;
    size_t whole = sizeof page - (header_address & (TG_ELF_PAGE_BYTES - 1));
    size_t n = whole < PEEK_FIRST_BYTES ? whole : PEEK_FIRST_BYTES;
    n = memory->read(memory->context, header_address, page, n);
    if (!tg_elf_header_decode(page, n, &header))
        return false;
    size_t entry_size = tg_elf_segment_size(header.bits);
    if (header.segments_at > n || header.n_segments * entry_size > n - header.segments_at)
        n = memory->read(memory->context, header_address, page, whole);
    struct tg_elf_segment segments[PEEK_SEGMENTS];
    size_t count = 0;
    uint64_t start = UINT64_MAX, end = 0;
    for (size_t i = 0; i < header.n_segments && count < PEEK_SEGMENTS; i++) {
        uint64_t at = header.segments_at + i * entry_size;
        if (at < header.segments_at || at > n || n - at < entry_size)
            break;
        struct tg_elf_segment *segment = &segments[count++];
        *segment = tg_elf_segment_decode(header.bits, page + at);
        if (segment->type != PT_LOAD || segment->memory_size > UINT64_MAX - segment->address)
            continue;
        uint64_t first = segment->address & ~(uint64_t)(TG_ELF_PAGE_BYTES - 1);
        start = first < start ? first : start;
        end = segment->address + segment->memory_size > end ? segment->address + segment->memory_size : end;
    }
    build_id[0] = '\0';
    *size_bytes = start < end ? end - start : 0;
    if (start == UINT64_MAX)
        return true;
    for (size_t i = 0; i < count && build_id[0] == '\0'; i++)
        if (segments[i].type == PT_NOTE && segments[i].address >= start)
            (void)peek_note(memory, &segments[i], start, header_address, page, n, build_id);
    return true;
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(*(const pid_t *)context, address, buffer, size);
}

bool tg_image_peek(pid_t pid, uint64_t header_address, char build_id[TG_ELF_BUILD_ID_CHARS],
                   uint64_t *size_bytes)
{
    const struct tg_elf_memory memory = {read_memory, &pid};
    return tg_image_peek_memory(&memory, header_address, build_id, size_bytes);
}
