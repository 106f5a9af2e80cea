#include "recorder/agent/ompt/redirect.h"

#include "recorder/agent/next.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

static const char TOOL[] = "ompt_start_tool";
static const char RUNTIME[] = "__kmpc_fork_call";

/* Tables of an object's references. */
struct references {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2]; /* one of functions, one of addresses */
    size_t bytes[2];
    uintptr_t base;
    uintptr_t read_only, read_only_end; /* range that the loader protected after relocation */
};

static const void *first_address(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

static int look_before(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const void *object = first_address(info);
    if (object == NULL)
        return 0;
    void *found = tg_agent_beside(object, TOOL);
    if (found == tg_agent_beside((const void *)(uintptr_t)&tg_ompt_tool_before, TOOL))
        return 1; /* the agent itself: nobody comes before it */
    if (found == NULL || tg_agent_beside(object, RUNTIME) != NULL)
        return 0; /* a runtime's own one goes on to the next, which is the agent's */
    *(void **)context = found;
    return 1;
}

tg_ompt_start_tool tg_ompt_tool_before(void)
{
    void *found = NULL;
    dl_iterate_phdr(look_before, &found);
    return (tg_ompt_start_tool)(uintptr_t)found;
}

static bool read_references(const struct dl_phdr_info *info, struct references *references)
{
    const ElfW(Dyn) *entry = NULL;
    *references = (struct references){.base = info->dlpi_addr};
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

static bool write_slot(const struct references *references, uintptr_t slot, tg_ompt_start_tool start_tool)
{
    const uintptr_t page = 4096;
    bool protected = slot >= references->read_only && slot < references->read_only_end;
    if (protected && mprotect((void *)(slot & -page), page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uintptr_t *)slot, (uintptr_t)start_tool, __ATOMIC_RELEASE);
    return !protected || mprotect((void *)(slot & -page), page, PROT_READ) == 0;
}

struct redirection {
    tg_ompt_start_tool start_tool;
    bool failed;
};

static int redirect_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct redirection *redirection = context;
    struct references references;
    const void *object = first_address(info);
    if (object == NULL || tg_agent_beside(object, RUNTIME) == NULL || !read_references(info, &references))
        return 0;
    bool written = false;
    for (int table = 0; table < 2; table++) {
        size_t count = references.tables[table] == NULL ? 0 : references.bytes[table] / sizeof(ElfW(Rela));
        for (size_t i = 0; i < count; i++) {
            const ElfW(Rela) *entry = &references.tables[table][i];
            unsigned long type = ELF64_R_TYPE(entry->r_info);
            const ElfW(Sym) *symbol = &references.symbols[ELF64_R_SYM(entry->r_info)];
            if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
                strcmp(references.names + symbol->st_name, TOOL) == 0)
                written = write_slot(&references, references.base + entry->r_offset, redirection->start_tool);
        }
    }
    redirection->failed = redirection->failed || !written;
    return 0;
}

bool tg_ompt_redirect(tg_ompt_start_tool start_tool)
{
    struct redirection redirection = {.start_tool = start_tool};
    int saved = errno;
    dl_iterate_phdr(redirect_object, &redirection);
    errno = saved;
    return !redirection.failed;
}
