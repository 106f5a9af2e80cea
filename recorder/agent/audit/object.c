#include "recorder/agent/audit/object.h"

#include "recorder/agent/audit/raw_system.h"

#include <elf.h>
#include <stdbool.h>

enum { PAGE_BYTES = 4096 };

const Elf64_Phdr *tg_audit_object_segments(uintptr_t base, size_t *count)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base; // NOLINT: an address
    *count = 0;
    if (base == 0 || base % PAGE_BYTES != 0 || !tg_raw_is_readable(base) ||
        header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1 ||
        header->e_ident[EI_MAG2] != ELFMAG2 || header->e_ident[EI_MAG3] != ELFMAG3 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr) ||
        header->e_phoff > PAGE_BYTES || header->e_phoff % sizeof(uint64_t) != 0)
        return NULL;
    size_t room = (PAGE_BYTES - header->e_phoff) / sizeof(Elf64_Phdr);
    *count = header->e_phnum < room ? header->e_phnum : room;
    return (const Elf64_Phdr *)(base + header->e_phoff); // NOLINT: an address
}

/* Notes are trusted no further than their segment reaches, and that no further than what is mapped. */
static bool read_note(const unsigned char *note, uint64_t size, struct tg_audit_object *object)
{
    while (size >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *header = (const Elf64_Nhdr *)(const void *)note;
        uint64_t name_bytes = ((uint64_t)header->n_namesz + 3) & ~UINT64_C(3);
        uint64_t text_bytes = ((uint64_t)header->n_descsz + 3) & ~UINT64_C(3);
        uint64_t whole = sizeof *header + name_bytes + text_bytes;
        if (whole > size)
            return false;
        const unsigned char *name = note + sizeof *header;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && name[0] == 'G' && name[1] == 'N' &&
            name[2] == 'U' && name[3] == '\0') {
            object->build_id_length = header->n_descsz;
            for (size_t i = 0; i < header->n_descsz && i < sizeof object->build_id; i++)
                object->build_id[i] = name[name_bytes + i];
            return true;
        }
        note += whole;
        size -= whole;
    }
    return false;
}

void tg_audit_object_read(uintptr_t base, struct tg_audit_object *object)
{
    *object = (struct tg_audit_object){0};
    size_t count;
    const Elf64_Phdr *segments = tg_audit_object_segments(base, &count);
    uint64_t start = UINT64_MAX, end = 0;
    for (size_t i = 0; i < count; i++) {
        if (segments[i].p_type != PT_LOAD || segments[i].p_memsz > UINT64_MAX - segments[i].p_vaddr)
            continue;
        uint64_t first = segments[i].p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
        uint64_t behind = segments[i].p_vaddr + segments[i].p_memsz;
        start = first < start ? first : start;
        end = behind > end ? behind : end;
    }
    if (start >= end)
        return;
    object->size_bytes = end - start;
    for (size_t i = 0; i < count && object->build_id_length == 0; i++) {
        const Elf64_Phdr *segment = &segments[i];
        uintptr_t at = base + (segment->p_vaddr - start); /* programs may be linked for where they are */
        if (segment->p_type == PT_NOTE && segment->p_vaddr % 4 == 0 && segment->p_vaddr >= start &&
            segment->p_vaddr < end && segment->p_filesz <= end - segment->p_vaddr &&
            (at - base < PAGE_BYTES || tg_raw_is_readable(at & ~(uintptr_t)(PAGE_BYTES - 1))))
            (void)read_note((const unsigned char *)at, segment->p_filesz, object); // NOLINT: an address
    }
}
