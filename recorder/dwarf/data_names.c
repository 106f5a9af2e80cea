#include "recorder/dwarf/data_names.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/search.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_VARIABLES = 1 << 20,
    MAX_NAME = 4096,
    MAX_STUBS = 1 << 16,
    STUB_SIZE = 16, /* of most tables; others say theirs */
};

struct variable {
    uint64_t start, size;
    char *name;
};

struct stub {
    uint64_t start;
    char *name; /* NULL: it has none */
    UT_hash_handle hh;
};

struct tg_data_names {
    bool were_read;
    struct variable *variables; /* by address */
    size_t count, capacity;
    struct stub *stubs; /* stubs that were asked for, by address */
};

struct tg_data_names *tg_data_names_create(void)
{
    return calloc(1, sizeof(struct tg_data_names));
}

void tg_data_names_destroy(struct tg_data_names *names)
{
    struct stub *stub, *next;
    if (names == NULL)
        return;
    HASH_ITER (hh, names->stubs, stub, next) {
        HASH_DEL(names->stubs, stub);
        free(stub->name);
        free(stub);
    }
    for (size_t i = 0; i < names->count; i++)
        free(names->variables[i].name);
    free(names->variables);
    free(names);
}

/* ---- variables */

/* Without room or memory an address has no name. */
static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct tg_data_names *names = context;
    if (symbol->size_bytes == 0 || names->count == MAX_VARIABLES)
        return;
    if (TG_ARRAY_RESERVE(names->variables, names->capacity, names->count + 1) != NULL)
        return;
    char *name = strndup(symbol->name, MAX_NAME);
    if (name != NULL)
        names->variables[names->count++] = (struct variable){symbol->address, symbol->size_bytes, name};
}

static int compare_variables(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->name, y->name);
}

bool tg_data_names_variable(struct tg_data_names *names, struct tg_image *image, uint64_t address,
                            const char **name, uint64_t *offset)
{
    if (!names->were_read) {
        names->were_read = true;
        tg_image_each_symbol(image, "", true, take_symbol, names);
        if (names->count > 0)
            qsort(names->variables, names->count, sizeof *names->variables, compare_variables);
    }
    size_t low = TG_UPPER_BOUND(names->variables, names->count, start, address);
    if (low == 0 || address - names->variables[low - 1].start >= names->variables[low - 1].size)
        return false;
    while (low > 1 && names->variables[low - 2].start == names->variables[low - 1].start)
        low--; /* of several names the first one, always */
    *name = names->variables[low - 1].name;
    *offset = address - names->variables[low - 1].start;
    return true;
}

/* ---- stubs */

/* The table that holds ADDRESS, and its bytes. */
static bool find_table(Elf *elf, uint64_t address, GElf_Shdr *header, Elf_Data **bytes)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, header) == NULL || header->sh_type != SHT_PROGBITS ||
            (header->sh_flags & SHF_EXECINSTR) == 0 || address < header->sh_addr ||
            address - header->sh_addr >= header->sh_size)
            continue;
        *bytes = elf_getdata(section, NULL);
        return *bytes != NULL && (*bytes)->d_buf != NULL;
    }
    return false;
}

/* The slot that the stub of SIZE bytes at CODE, at ADDRESS, jumps by; 0 none. */
static uint64_t slot_of(const uint8_t *code, size_t size, uint64_t address)
{
    for (size_t i = 0; i + 6 <= size; i++) {
        int32_t distance;
        if (code[i] != 0xff || code[i + 1] != 0x25) /* jmp *N(%rip) */
            continue;
        memcpy(&distance, code + i + 2, sizeof distance);
        return address + i + 6 + (uint64_t)(int64_t)distance;
    }
    return 0;
}

/* The symbol that the relocation of SLOT is for; to be freed, NULL none. */
static char *name_of_slot(Elf *elf, uint64_t slot)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header, symbols;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA || header.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        Elf_Scn *table = elf_getscn(elf, header.sh_link);
        Elf_Data *entries = table == NULL ? NULL : elf_getdata(table, NULL);
        if (data == NULL || entries == NULL || gelf_getshdr(table, &symbols) == NULL)
            continue;
        for (int i = 0; i < (int)(data->d_size / header.sh_entsize); i++) {
            GElf_Rela relocation;
            GElf_Sym symbol;
            if (gelf_getrela(data, i, &relocation) == NULL || relocation.r_offset != slot)
                continue;
            const char *name = gelf_getsym(entries, (int)GELF_R_SYM(relocation.r_info), &symbol) == NULL
                                   ? NULL
                                   : elf_strptr(elf, symbols.sh_link, symbol.st_name);
            char *text = NULL;
            if (name == NULL || *name == '\0' || asprintf(&text, "%.*s@plt", MAX_NAME, name) < 0)
                return NULL;
            return text;
        }
    }
    return NULL;
}

bool tg_data_names_stub(struct tg_data_names *names, Elf *elf, uint64_t address, const char **name,
                        uint64_t *offset)
{
    GElf_Shdr header;
    Elf_Data *bytes;
    struct stub *stub = NULL;
    if (elf == NULL || !find_table(elf, address, &header, &bytes))
        return false;
    uint64_t size = header.sh_entsize == 8 ? 8 : STUB_SIZE, at = (address - header.sh_addr) / size * size;
    uint64_t start = header.sh_addr + at;
    HASH_FIND(hh, names->stubs, &start, sizeof start, stub);
    if (stub == NULL) {
        if (HASH_COUNT(names->stubs) == MAX_STUBS || (stub = calloc(1, sizeof *stub)) == NULL)
            return false;
        stub->start = start;
        uint64_t slot = at >= bytes->d_size || size > bytes->d_size - at
                            ? 0
                            : slot_of((const uint8_t *)bytes->d_buf + at, size, start);
        stub->name = slot == 0 ? NULL : name_of_slot(elf, slot);
        if (TG_HASH_ADD(hh, names->stubs, start, stub) != NULL) {
            free(stub->name);
            free(stub);
            return false;
        }
    }
    *name = stub->name;
    *offset = address - start;
    return stub->name != NULL;
}
