#include "recorder/agent/ompt/references.h"

#include <string.h>
#include <sys/mman.h>

const void *tg_ompt_first_address(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

bool tg_ompt_references_read(const struct dl_phdr_info *info, struct tg_ompt_references *references)
{
    const ElfW(Dyn) *entry = NULL;
    *references = (struct tg_ompt_references){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)address;
        if (header->p_type == PT_GNU_RELRO) {
            references->read_only = address;
            references->read_only_end = address + header->p_memsz;
        }
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            references->symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            references->names = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_JMPREL)
            references->tables[0] = (const ElfW(Rela) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_PLTRELSZ)
            references->bytes[0] = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELA)
            references->tables[1] = (const ElfW(Rela) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_RELASZ)
            references->bytes[1] = entry->d_un.d_val;
    }
    return references->symbols != NULL && references->names != NULL;
}

static bool write_slot(const struct tg_ompt_references *references, uintptr_t slot, uintptr_t function)
{
    const uintptr_t page = 4096;
    bool protected = slot >= references->read_only && slot < references->read_only_end;
    if (protected && mprotect((void *)(slot & -page), page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uintptr_t *)slot, function, __ATOMIC_RELEASE);
    return !protected || mprotect((void *)(slot & -page), page, PROT_READ) == 0;
}

/* Counts the references to NAME; where FUNCTION is not 0, turns each to that. False where the last one cannot be written. */
static bool each_slot(const struct tg_ompt_references *references, const char *name, uintptr_t function,
                      size_t *count)
{
    bool is_written = true;
    for (int table = 0; table < 2; table++) {
        size_t n = references->tables[table] == NULL ? 0 : references->bytes[table] / sizeof(ElfW(Rela));
        for (size_t i = 0; i < n; i++) {
            const ElfW(Rela) *entry = &references->tables[table][i];
            unsigned long type = ELF64_R_TYPE(entry->r_info);
            const ElfW(Sym) *symbol = &references->symbols[ELF64_R_SYM(entry->r_info)];
            if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
                strcmp(references->names + symbol->st_name, name) != 0)
                continue;
            ++*count;
            if (function != 0)
                is_written = write_slot(references, references->base + entry->r_offset, function);
        }
    }
    return is_written;
}

bool tg_ompt_references_has(const struct tg_ompt_references *references, const char *name)
{
    size_t count = 0;
    each_slot(references, name, 0, &count);
    return count > 0;
}

bool tg_ompt_references_turn(const struct tg_ompt_references *references, const char *name,
                             uintptr_t function)
{
    size_t count = 0;
    return each_slot(references, name, function, &count) && count > 0;
}
