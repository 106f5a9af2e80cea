#include "recorder/agent/calls/return_site.h"

#include "recorder/agent/calls/unwind_row.h"
#include "recorder/agent/next.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

enum {
    MAX_FUNCTIONS = 512,      /* looked at in an object */
    MAX_CODE_BYTES = 1 << 16, /* looked at in these, where functions end otherwise */
    PAGE_BYTES = 4096,
    RET = 0xc3,
    MAX_KNOWN = 64,
};

static uint64_t known_sites[MAX_KNOWN]; /* __atomic; 0: none is there, nor behind it */

typedef int find_object(void *address, struct dl_find_object *object);

/* Tells whether the object's code can be read as well as run. */
static bool is_readable_code(const struct dl_find_object *object, uint64_t address)
{
    const Elf64_Ehdr *header = object->dlfo_map_start;
    uint64_t start = (uint64_t)(uintptr_t)header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(Elf64_Phdr) ||
        header->e_phoff + (uint64_t)header->e_phnum * sizeof(Elf64_Phdr) > PAGE_BYTES)
        return false;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)((const char *)header + header->e_phoff);
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < first)
            first = segments[i].p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
            address - start + first - segments[i].p_vaddr < segments[i].p_filesz)
            return true;
    return false;
}

static struct tg_return_site site_at(const struct tg_unwind_function *function, uint64_t address)
{
    struct tg_return_site site = {.address = address, .frame = TG_RETURN_NOWHERE};
    struct tg_unwind_row row;
    const unsigned char *code = (const unsigned char *)(uintptr_t)address;
    if (address <= function->start || *code != RET || !tg_unwind_row_at(function, address - 1, &row) ||
        row.is_outermost || row.cfa_is_at_rbp)
        return site;
    if (row.cfa_register == TG_UNWIND_RSP && row.n_saved == 0 &&
        (row.cfa_offset == 8 ||
         (row.cfa_offset > 0 && row.cfa_offset % 16 == 0 && row.cfa_offset <= 16 + TG_RETURN_MAX_SKIPPED))) {
        site.frame = TG_RETURN_PLAIN;
        site.skipped = row.cfa_offset == 8 ? 0 : (unsigned)row.cfa_offset - 16;
    } else if (row.cfa_register == TG_UNWIND_RBP && row.cfa_offset == 16 && row.n_saved == 1 &&
               row.rbp_rule == TG_UNWIND_ROW_AT_CFA && row.rbp_offset == -16) {
        site.frame = TG_RETURN_FRAMED;
    }
    return site;
}

/* The last instruction of a function is the likeliest. */
static struct tg_return_site site_at_end(const struct tg_unwind_function *function)
{
    return site_at(function, function->end - 1);
}

static struct tg_return_site site_within(const struct tg_unwind_function *function, uint64_t *code_left)
{
    struct tg_return_site site = {.frame = TG_RETURN_NOWHERE};
    uint64_t size = function->end - function->start;
    if (size > *code_left)
        size = *code_left;
    *code_left -= size;
    uint64_t end = function->start + size;
    for (uint64_t at = function->start + 1; at < end && site.frame == TG_RETURN_NOWHERE; at++)
        if (*(const unsigned char *)(uintptr_t)at == RET)
            site = site_at(function, at);
    return site;
}

static struct tg_return_site search(const struct dl_find_object *object, uint64_t caller)
{
    struct tg_return_site site = {.frame = TG_RETURN_NOWHERE};
    struct tg_unwind_table table;
    struct tg_unwind_function function;
    if (!tg_unwind_table_open(object->dlfo_eh_frame, &table))
        return site;
    uint64_t code_left = MAX_CODE_BYTES;
    size_t own = tg_unwind_table_find(&table, caller - 1);
    for (int deep = 0; deep < 2; deep++) {
        for (size_t i = 0; i <= MAX_FUNCTIONS && i <= table.count; i++) {
            size_t index = i == 0 ? own : i - 1; /* the caller's own function first */
            if (index >= table.count || !tg_unwind_table_at(&table, index, &function) ||
                function.has_personality || function.is_signal || !is_readable_code(object, function.start) ||
                !is_readable_code(object, function.end - 1))
                continue;
            site = deep ? site_within(&function, &code_left) : site_at_end(&function);
            if (site.frame != TG_RETURN_NOWHERE)
                return site;
        }
    }
    return site;
}

static void remember(uint64_t address)
{
    for (unsigned i = 0; i < MAX_KNOWN; i++) {
        uint64_t known = 0;
        if (__atomic_compare_exchange_n(&known_sites[i], &known, address, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            known == address)
            return;
    }
}

struct tg_return_site tg_return_site_find(uint64_t caller)
{
    static find_object *find; /* __atomic */
    const struct tg_return_site nowhere = {.frame = TG_RETURN_NOWHERE};
    find_object *known = __atomic_load_n(&find, __ATOMIC_RELAXED);
    if (known == NULL) {
        known = (find_object *)(uintptr_t)tg_agent_next("_dl_find_object");
        __atomic_store_n(&find, known, __ATOMIC_RELAXED);
    }
    struct dl_find_object object;
    if (known == NULL || known((void *)(uintptr_t)(caller - 1), &object) != 0 || object.dlfo_eh_frame == NULL)
        return nowhere;
    struct tg_return_site site = search(&object, caller);
    if (site.frame != TG_RETURN_NOWHERE)
        remember(site.address);
    return site;
}

bool tg_return_site_is_known(uint64_t address)
{
    for (unsigned i = 0; i < MAX_KNOWN; i++) {
        uint64_t known = __atomic_load_n(&known_sites[i], __ATOMIC_RELAXED);
        if (known == 0 || known == address)
            return known != 0;
    }
    return false;
}
TG_AGENT_SHARE(tg_return_site_is_known);

bool tg_return_site_is_guarded(void)
{
    uint64_t pointer = 0;
    __asm__("rdsspq %0" : "+r"(pointer)); /* does nothing where there is none */
    return pointer != 0;
}
