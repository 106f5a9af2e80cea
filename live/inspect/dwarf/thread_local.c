#include "live/inspect/dwarf/thread_local.h"

#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <string.h>

enum {
    MAX_HEADERS = 128,
    MAX_DYNAMIC = 1024,
    MAX_LINK_MAPS = 100000,
    MAX_MODULE_NUMBER = 1 << 24,
    DTV_ENTRY_SIZE = 16, /* glibc: the pointer, and the one to be freed */
};

/* Three numbers that glibc has for each field that libthread_db may need (nptl_db/structs.def): bits, how
 * many, offset. */
static const char MODULE_NUMBER_FIELD[] = "_thread_db_link_map_l_tls_modid";

static bool read_memory(const struct tg_inspect_memory *memory, uint64_t address, void *buffer, size_t size)
{
    return memory->read(memory->context, address, buffer, size);
}

/* The segments of MODULE of TYPE, as its header in memory tells them; and its load bias. */
static bool find_segment(const struct tg_inspect_memory *memory, const struct tg_module *module,
                         uint32_t type, Elf64_Phdr *found, uint64_t *bias)
{
    Elf64_Ehdr header;
    bool any = false, has_bias = false;
    if (!read_memory(memory, module->start, &header, sizeof header) || header.e_phnum > MAX_HEADERS ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_memory(memory, module->start + header.e_phoff + i * sizeof segment, &segment,
                         sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && !has_bias) {
            has_bias = true;
            *bias = module->start - (segment.p_vaddr & -UINT64_C(4096));
        }
        if (segment.p_type == type && !any) {
            any = true;
            *found = segment;
        }
    }
    return any && has_bias;
}

/* glibc's own rule for the first module (elf/dl-tls.c): it ends at FS_BASE, by its alignment. */
static uint64_t program_block(const Elf64_Phdr *tls, uint64_t fs_base)
{
    uint64_t align = tls->p_align == 0 ? 1 : tls->p_align;
    uint64_t first = -(tls->p_vaddr & (align - 1)) & (align - 1);
    uint64_t size = tls->p_memsz - first + align - 1;
    return fs_base - (size / align * align + first);
}

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    uint64_t *address = context;
    if (strcmp(symbol->name, MODULE_NUMBER_FIELD) == 0)
        *address = symbol->address;
}

/* Looks for the C library's description of its link maps. */
static bool find_description(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                             uint32_t *offset)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        uint64_t bias, address = 0;
        const char *slash = strrchr(module->path, '/');
        if (i > 0 &&
            (slash == NULL || (strncmp(slash, "/libc", 5) != 0 && strncmp(slash, "/libpthread", 11) != 0)))
            continue;
        struct tg_debug_info *info = tg_modules_debug_info(modules, module, &bias);
        if (info == NULL)
            continue;
        tg_image_each_symbol(tg_debug_info_image(info), MODULE_NUMBER_FIELD, false, take_symbol, &address);
        uint32_t description[3];
        if (address != 0 && read_memory(memory, address + bias, description, sizeof description) &&
            description[0] == 64 && description[2] < 65536) {
            *offset = description[2];
            return true;
        }
    }
    return false;
}

static uint64_t first_link_map(struct tg_modules *modules, const struct tg_inspect_memory *memory)
{
    Elf64_Phdr dynamic;
    uint64_t bias;
    if (tg_modules_count(modules) == 0 ||
        !find_segment(memory, tg_modules_at(modules, 0), PT_DYNAMIC, &dynamic, &bias))
        return 0;
    for (unsigned i = 0; i < MAX_DYNAMIC; i++) {
        Elf64_Dyn entry;
        struct r_debug debug;
        if (!read_memory(memory, bias + dynamic.p_vaddr + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return 0;
        if (entry.d_tag == DT_DEBUG)
            return entry.d_un.d_ptr != 0 && read_memory(memory, entry.d_un.d_ptr, &debug, sizeof debug)
                       ? (uint64_t)(uintptr_t)debug.r_map
                       : 0;
    }
    return 0;
}

/* The number that MODULE has in each DTV. */
static bool module_number(const struct tg_thread_local *known, const struct tg_inspect_memory *memory,
                          const struct tg_module *module, uint64_t *number)
{
    Elf64_Phdr dynamic;
    uint64_t bias, at = known->link_map;
    if (!find_segment(memory, module, PT_DYNAMIC, &dynamic, &bias))
        return false;
    for (unsigned i = 0; i < MAX_LINK_MAPS && at != 0; i++) {
        struct link_map map;
        if (!read_memory(memory, at, &map, sizeof map))
            return false;
        if ((uint64_t)(uintptr_t)map.l_ld == bias + dynamic.p_vaddr)
            return read_memory(memory, at + known->modid_offset, number, sizeof *number) && *number > 0 &&
                   *number < MAX_MODULE_NUMBER;
        at = (uint64_t)(uintptr_t)map.l_next;
    }
    return false;
}

static struct tg_error *library_address(const struct tg_inspect_memory *memory, uint64_t number,
                                        uint64_t fs_base, uint64_t offset, uint64_t *address)
{
    uint64_t dtv, length, block;
    if (!read_memory(memory, fs_base + 8, &dtv, sizeof dtv) ||
        !read_memory(memory, dtv - DTV_ENTRY_SIZE, &length, sizeof length))
        return tg_error_create(TG_ERROR_TARGET, "cannot read the thread's DTV");
    if (number > length)
        return tg_error_create(TG_ERROR_TARGET, "this thread has not used it yet");
    if (!read_memory(memory, dtv + number * DTV_ENTRY_SIZE, &block, sizeof block))
        return tg_error_create(TG_ERROR_TARGET, "cannot read the thread's DTV");
    if (block == UINT64_MAX || block == 0) /* TLS_DTV_UNALLOCATED */
        return tg_error_create(TG_ERROR_TARGET, "this thread has not used it yet");
    *address = block + offset;
    return NULL;
}

/* Makes an offset of *OFFSET, of which MAY_BE_ADDRESS says that it may be the address of the first value: if only one can be in
 * TLS. */
static struct tg_error *find_offset(const Elf64_Phdr *tls, bool may_be_address, uint64_t *offset)
{
    bool is_offset = *offset <= tls->p_memsz;
    bool is_address = may_be_address && *offset >= tls->p_vaddr && *offset - tls->p_vaddr <= tls->p_memsz;
    if (is_offset && is_address && tls->p_vaddr != 0)
        return tg_error_create(TG_ERROR_TARGET, "its debug information may mean either of two places");
    if (!is_offset && !is_address)
        return tg_error_create(TG_ERROR_TARGET, "its place is not in the thread-local storage of its module");
    if (is_address)
        *offset -= tls->p_vaddr;
    return NULL;
}

struct tg_error *tg_thread_local_address(struct tg_thread_local *known, struct tg_modules *modules,
                                         const struct tg_inspect_memory *memory,
                                         const struct tg_module *module, uint64_t fs_base, uint64_t offset,
                                         bool may_be_address, uint64_t *address)
{
    Elf64_Phdr tls;
    uint64_t bias, number;
    if (fs_base == 0)
        return tg_error_create(TG_ERROR_TARGET, "the thread's storage is unknown here");
    if (!find_segment(memory, module, PT_TLS, &tls, &bias))
        return tg_error_create(TG_ERROR_TARGET, "its module has no thread-local storage");
    struct tg_error *error = find_offset(&tls, may_be_address, &offset);
    if (error != NULL)
        return error;
    if (module == tg_modules_at(modules, 0)) {
        *address = program_block(&tls, fs_base) + offset;
        return NULL;
    }
    if (!known->was_read) {
        known->was_read = true;
        known->is_known = find_description(modules, memory, &known->modid_offset);
        known->link_map = first_link_map(modules, memory);
    }
    if (!known->is_known || known->link_map == 0)
        return tg_error_create(TG_ERROR_TARGET,
                               "the C library does not say where the thread-local storage of libraries is");
    if (!module_number(known, memory, module, &number))
        return tg_error_create(TG_ERROR_TARGET, "the dynamic loader does not know its module");
    return library_address(memory, number, fs_base, offset, address);
}
