#include "recorder/dwarf/debug_info.h"

#include "format/image/debug_blocks.h"
#include "format/image/elf_object.h"
#include "recorder/dwarf/data_names.h"
#include "recorder/dwarf/inflated_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MARKS = 8 };

/* Addresses of some functions, looked for at the first question. */
struct marks {
    bool were_tried;
    uint64_t addresses[MAX_MARKS];
    size_t count;
};

struct tg_debug_info {
    size_t references;
    struct tg_image *image;
    /* the file, or the copy of a mapped object that has none */
    bool elf_tried;
    Elf *elf;
    uint8_t *copy;
    bool eh_frame_tried;
    Dwarf_CFI *eh_frame;
    /* the file that has the DWARF */
    bool dwarf_tried;
    struct tg_inflated_file *inflated; /* NULL: DWARF_ELF is the file's */
    Elf *dwarf_elf;
    Dwarf *dwarf;
    uint64_t delta;
    struct tg_debug_units *units;
    struct tg_unwind_table *unwind, *debug_unwind; /* by .eh_frame, by .debug_frame */
    struct tg_code_places *places;
    struct tg_name_index *names;
    struct tg_data_names *data_names;
    struct tg_code_place *stub; /* the answer about procedure linkage */
    struct marks longjmps, catches;
};

struct tg_error *tg_debug_info_create(struct tg_image *image, struct tg_debug_info **result)
{
    struct tg_debug_info *info = calloc(1, sizeof *info);
    if (info == NULL)
        return tg_error_no_memory();
    info->references = 1;
    info->image = tg_image_ref(image);
    *result = info;
    return NULL;
}

struct tg_debug_info *tg_debug_info_ref(struct tg_debug_info *info)
{
    info->references++;
    return info;
}

void tg_debug_info_unref(struct tg_debug_info *info)
{
    if (info == NULL || --info->references > 0)
        return;
    tg_code_places_destroy(info->places);
    tg_unwind_table_destroy(info->unwind);
    tg_unwind_table_destroy(info->debug_unwind);
    tg_name_index_destroy(info->names);
    tg_data_names_destroy(info->data_names);
    free(info->stub);
    tg_debug_units_destroy(info->units);
    dwarf_end(info->dwarf);
    if (info->inflated == NULL)
        elf_end(info->dwarf_elf);
    tg_inflated_file_destroy(info->inflated);
    dwarf_cfi_end(info->eh_frame);
    elf_end(info->elf);
    free(info->copy);
    tg_image_unref(info->image);
    free(info);
}

struct tg_image *tg_debug_info_image(const struct tg_debug_info *info)
{
    return info->image;
}

/* ---- the object */

static void set_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* A copy out of memory is laid out by address, which its program headers do not say: they are made to, and
 * section headers, which are mapped in the vdso alone, are hidden. */
static Elf *open_copy(struct tg_debug_info *info, const struct tg_elf_object *object)
{
    if (object->header.bits != 64 || object->size < sizeof(Elf64_Ehdr))
        return NULL;
    uint8_t *copy = tg_elf_object_read_new(object, 0, object->size, UINT64_C(64) << 20);
    if (copy == NULL)
        return NULL;
    size_t entry_size = tg_elf_segment_size(64);
    for (size_t i = 0; i < object->header.n_segments; i++) {
        uint64_t at = object->header.segments_at + i * entry_size;
        if (at > object->size || object->size - at < entry_size)
            break;
        uint64_t address = tg_elf_u64(copy + at + offsetof(Elf64_Phdr, p_vaddr));
        set_u64(copy + at + offsetof(Elf64_Phdr, p_offset), address - object->start);
    }
    memset(copy + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
    memset(copy + offsetof(Elf64_Ehdr, e_shnum), 0, 2 * sizeof(Elf64_Half)); /* and e_shstrndx */
    info->copy = copy;
    return elf_memory((char *)copy, object->size);
}

static Elf *elf_of(struct tg_debug_info *info)
{
    if (!info->elf_tried) {
        info->elf_tried = true;
        (void)elf_version(EV_CURRENT);
        const struct tg_elf_object *object = tg_image_object(info->image);
        info->elf = object->fd >= 0 ? elf_begin(object->fd, ELF_C_READ, NULL) : open_copy(info, object);
    }
    return info->elf;
}

Dwarf_CFI *tg_debug_info_eh_frame(struct tg_debug_info *info)
{
    if (!info->eh_frame_tried) {
        info->eh_frame_tried = true;
        info->eh_frame = elf_of(info) != NULL ? dwarf_getcfi_elf(info->elf) : NULL;
    }
    return info->eh_frame;
}

/* ---- DWARF */

static bool has(struct tg_elf_object *object, const char *name)
{
    return tg_elf_object_section(object, name) != NULL;
}

/* Finds the file with DWARF; a file may have .debug_frame alone (assembly). */
static struct tg_elf_object *object_with_dwarf(struct tg_image *image)
{
    struct tg_elf_object *object = tg_image_object(image);
    if (object->fd >= 0 && (has(object, ".debug_info") || has(object, ".zdebug_info")))
        return object;
    struct tg_elf_object *separate = tg_image_separate_debug(image);
    return separate != NULL ? separate : object;
}

Dwarf *tg_debug_info_dwarf(struct tg_debug_info *info)
{
    tg_debug_info_open_until(info, UINT64_MAX);
    return info->dwarf;
}

void tg_debug_info_open_until(struct tg_debug_info *info, uint64_t until_ns)
{
    bool is_late = false;
    if (info->dwarf_tried)
        return;
    info->dwarf_tried = true;
    struct tg_elf_object *object = object_with_dwarf(info->image);
    if (object->fd < 0 || !tg_debug_blocks_is_moderate(object))
        return;
    info->delta = tg_image_object(info->image)->start - object->start;
    (void)elf_version(EV_CURRENT);
    info->inflated = until_ns == UINT64_MAX ? tg_inflated_file_create(object->fd)
                                            : tg_inflated_file_create_until(object->fd, until_ns, &is_late);
    if (is_late)
        return;
    info->dwarf_elf = info->inflated != NULL
                          ? tg_inflated_file_elf(info->inflated)
                          : elf_begin(object->fd, ELF_C_READ, NULL); /* pread: format/image/elf_object.h */
    if (info->dwarf_elf != NULL)
        info->dwarf = dwarf_begin_elf(info->dwarf_elf, DWARF_C_READ, NULL);
}

uint64_t tg_debug_info_delta(const struct tg_debug_info *info)
{
    return info->delta;
}

bool tg_debug_info_is_code(const struct tg_debug_info *info, uint64_t address)
{
    return tg_elf_object_is_code(tg_image_object(info->image), address);
}

static bool is_code(void *context, uint64_t address)
{
    return tg_debug_info_is_code(context, address);
}

struct tg_debug_units *tg_debug_info_units(struct tg_debug_info *info)
{
    if (info->units == NULL && tg_debug_info_dwarf(info) != NULL)
        info->units =
            tg_debug_units_create(info->dwarf, info->delta, is_code, info, TG_DEBUG_UNITS_NAMED_FILES);
    return info->units;
}

struct tg_name_index *tg_debug_info_names(struct tg_debug_info *info)
{
    if (info->names == NULL && tg_debug_info_dwarf(info) != NULL)
        tg_error_destroy(
            tg_name_index_create(info->dwarf, &info->names)); /* no memory: names are not found */
    return info->names;
}

static Dwarf_CFI *debug_frame(struct tg_debug_info *info)
{
    return tg_debug_info_dwarf(info) != NULL ? dwarf_getcfi(info->dwarf) : NULL;
}

/* ---- questions about an address */

const struct tg_unwind_rules *tg_debug_info_unwind_rules(struct tg_debug_info *info, uint64_t address)
{
    if (info->unwind == NULL && (info->unwind = tg_unwind_table_create()) == NULL)
        return NULL;
    Dwarf_CFI *eh_frame = tg_debug_info_eh_frame(info);
    /* few have rules in .debug_frame alone: DWARF is not read for the others */
    const struct tg_unwind_rules *rules = tg_unwind_table_find(info->unwind, eh_frame, address);
    if (rules != NULL || !has(tg_image_object(info->image), ".debug_frame"))
        return rules;
    if (info->debug_unwind == NULL && (info->debug_unwind = tg_unwind_table_create()) == NULL)
        return NULL;
    return tg_unwind_table_find(info->debug_unwind, debug_frame(info), address - info->delta);
}

bool tg_debug_info_is_plt(struct tg_debug_info *info, uint64_t address)
{
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tg_elf_section *section = tg_elf_object_section(tg_image_object(info->image), names[i]);
        if (section != NULL && address >= section->address && address - section->address < section->size)
            return true;
    }
    return false;
}

bool tg_debug_info_symbol_at(struct tg_debug_info *info, uint64_t address, const char **name,
                             uint64_t *offset)
{
    bool is_plt = tg_debug_info_is_plt(info, address);
    if (!is_plt && tg_debug_info_is_code(info, address))
        return tg_image_symbol_at(info->image, address, name, offset);
    if (info->data_names == NULL && (info->data_names = tg_data_names_create()) == NULL)
        return false;
    return is_plt ? tg_data_names_stub(info->data_names, elf_of(info), address, name, offset)
                  : tg_data_names_variable(info->data_names, info->image, address, name, offset);
}

struct wanted_variable {
    const char *name;
    uint64_t address;
};

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct wanted_variable *wanted = context;
    if (strcmp(symbol->name, wanted->name) == 0)
        wanted->address = symbol->address;
}

uint64_t tg_debug_info_variable(const struct tg_debug_info *info, const char *name)
{
    struct wanted_variable wanted = {.name = name};
    tg_image_each_symbol(info->image, name, false, take_symbol, &wanted);
    return wanted.address;
}

static size_t find_marks(const struct tg_debug_info *info, struct marks *marks, const char *const *names,
                         uint64_t *addresses, size_t max)
{
    for (; !marks->were_tried && *names != NULL; names++)
        marks->count += tg_image_find_function(info->image, *names, marks->addresses + marks->count,
                                               MAX_MARKS - marks->count);
    marks->were_tried = true;
    size_t count = marks->count < max ? marks->count : max;
    memcpy(addresses, marks->addresses, count * sizeof *addresses);
    return count;
}

size_t tg_debug_info_longjmps(struct tg_debug_info *info, uint64_t *addresses, size_t max)
{
    static const char *const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", NULL};
    return find_marks(info, &info->longjmps, names, addresses, max);
}

size_t tg_debug_info_catches(struct tg_debug_info *info, uint64_t *addresses, size_t max)
{
    static const char *const names[] = {"__cxa_begin_catch", NULL};
    return find_marks(info, &info->catches, names, addresses, max);
}

const struct tg_code_place *tg_debug_info_place(struct tg_debug_info *info, uint64_t address)
{
    const char *name;
    uint64_t offset;
    if (tg_debug_info_is_plt(info, address) && tg_debug_info_symbol_at(info, address, &name, &offset)) {
        if (info->stub == NULL)
            info->stub = calloc(1, sizeof *info->stub + sizeof info->stub->calls[0]);
        if (info->stub == NULL)
            return NULL;
        info->stub->count = 1;
        info->stub->calls[0] = (struct tg_code_call){.name = name, .offset = offset};
        return info->stub;
    }
    if (info->places == NULL && (info->places = tg_code_places_create()) == NULL)
        return NULL;
    return tg_code_places_find(info->places, tg_debug_info_units(info), info->image, address);
}
