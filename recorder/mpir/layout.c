#include "recorder/mpir/layout.h"

#include "format/image/debug_blocks.h"
#include "format/image/elf_object.h"
#include "format/image/image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

enum {
    MAX_TOP_DIES = 8 << 20, /* entries of all units together */
    MAX_MEMBERS = 64,
    MAX_PEELS = 16, /* typedefs and qualifiers around a type */
    INT_BYTES = 4,
};

struct tg_mpir_layout tg_mpir_layout_of_class(unsigned bits)
{
    if (bits == 64)
        return (struct tg_mpir_layout){TG_MPIR_LAYOUT_ELF_CLASS, 8, 24, 0, 8, 16};
    if (bits == 32)
        return (struct tg_mpir_layout){TG_MPIR_LAYOUT_ELF_CLASS, 4, 12, 0, 4, 8};
    return (struct tg_mpir_layout){0};
}

/* [a, a + a_size) and [b, b + b_size) have nothing in common. */
static bool is_apart(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a + a_size <= b || b + b_size <= a;
}

bool tg_mpir_layout_is_sound(const struct tg_mpir_layout *layout)
{
    uint64_t pointer = layout->pointer_bytes, stride = layout->stride_bytes;
    uint64_t host = layout->host_offset, executable = layout->executable_offset, pid = layout->pid_offset;
    return (pointer == 4 || pointer == 8) && stride > 0 && stride <= TG_MPIR_LAYOUT_MAX_STRIDE &&
           host + pointer <= stride && executable + pointer <= stride && pid + INT_BYTES <= stride &&
           is_apart(host, pointer, executable, pointer) && is_apart(host, pointer, pid, INT_BYTES) &&
           is_apart(executable, pointer, pid, INT_BYTES);
}

/* ---- DWARF */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

/* Takes typedefs and qualifiers off TYPE. */
static bool peel(Dwarf_Die *type)
{
    for (int i = 0; i < MAX_PEELS; i++) {
        int tag = dwarf_tag(type);
        if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type)
            return true;
        if (!type_of(type, type))
            return false;
    }
    return false;
}

static bool offset_of(Dwarf_Die *member, uint32_t *offset)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(member, DW_AT_data_member_location, &attribute), &value) != 0 ||
        value > TG_MPIR_LAYOUT_MAX_STRIDE)
        return false;
    *offset = (uint32_t)value;
    return true;
}

static bool is_of(Dwarf_Die *member, int tag, unsigned *size_bytes)
{
    Dwarf_Die type;
    Dwarf_Word size;
    if (!type_of(member, &type) || !peel(&type) || dwarf_tag(&type) != tag ||
        dwarf_aggregate_size(&type, &size) != 0 || size > 8)
        return false;
    *size_bytes = (unsigned)size;
    return true;
}

static bool take_member(Dwarf_Die *member, struct tg_mpir_layout *layout, unsigned *found)
{
    enum { HOST = 1, EXECUTABLE = 2, PID = 4 };
    const char *name = dwarf_diename(member);
    unsigned size = 0;
    if (dwarf_tag(member) != DW_TAG_member || name == NULL)
        return true;
    if (strcmp(name, "host_name") == 0) {
        *found |= HOST;
        return is_of(member, DW_TAG_pointer_type, &layout->pointer_bytes) &&
               offset_of(member, &layout->host_offset);
    }
    if (strcmp(name, "executable_name") == 0) {
        *found |= EXECUTABLE;
        return is_of(member, DW_TAG_pointer_type, &size) && offset_of(member, &layout->executable_offset);
    }
    if (strcmp(name, "pid") == 0) {
        *found |= PID;
        return is_of(member, DW_TAG_base_type, &size) && size == INT_BYTES &&
               offset_of(member, &layout->pid_offset);
    }
    return true;
}

static bool read_structure(Dwarf_Die *structure, struct tg_mpir_layout *layout)
{
    struct tg_mpir_layout read = {.source = TG_MPIR_LAYOUT_DWARF};
    Dwarf_Die member;
    int size = dwarf_bytesize(structure);
    unsigned found = 0;
    if (dwarf_tag(structure) != DW_TAG_structure_type || size <= 0 || size > TG_MPIR_LAYOUT_MAX_STRIDE ||
        dwarf_child(structure, &member) != 0)
        return false;
    read.stride_bytes = (uint32_t)size;
    int members = 0;
    do
        if (!take_member(&member, &read, &found))
            return false;
    while (++members < MAX_MEMBERS && dwarf_siblingof(&member, &member) == 0);
    if (found != 7 || !tg_mpir_layout_is_sound(&read))
        return false;
    *layout = read;
    return true;
}

static bool try_die(Dwarf_Die *die, struct tg_mpir_layout *layout)
{
    int tag = dwarf_tag(die);
    const char *name = tag == DW_TAG_variable || tag == DW_TAG_typedef || tag == DW_TAG_structure_type
                           ? dwarf_diename(die)
                           : NULL;
    Dwarf_Die type = *die;
    if (name == NULL)
        return false;
    if (tag == DW_TAG_variable)
        return strcmp(name, "MPIR_proctable") == 0 && type_of(die, &type) && peel(&type) &&
               dwarf_tag(&type) == DW_TAG_pointer_type && type_of(&type, &type) && peel(&type) &&
               read_structure(&type, layout);
    return strcmp(name, "MPIR_PROCDESC") == 0 && peel(&type) && read_structure(&type, layout);
}

static bool search(Dwarf *dwarf, struct tg_mpir_layout *layout)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    unsigned seen = 0;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
        Dwarf_Die die;
        if (dwarf_child(&unit, &die) != 0)
            continue;
        do
            if (try_die(&die, layout))
                return true;
        while (++seen < MAX_TOP_DIES && dwarf_siblingof(&die, &die) == 0);
        if (seen >= MAX_TOP_DIES)
            return false;
    }
    return false;
}

static bool has_debug_info(struct tg_elf_object *object)
{
    return tg_elf_object_section(object, ".debug_info") != NULL ||
           tg_elf_object_section(object, ".zdebug_info") != NULL;
}

bool tg_mpir_layout_from_dwarf(struct tg_image *image, struct tg_mpir_layout *layout)
{
    struct tg_elf_object *object =
        has_debug_info(tg_image_object(image)) ? tg_image_object(image) : tg_image_separate_debug(image);
    if (object == NULL || object->fd < 0 || !tg_debug_blocks_is_moderate(object))
        return false;
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(object->fd, ELF_C_READ, NULL); /* pread, not mmap: format/image/elf_object.h */
    Dwarf *dwarf = elf == NULL ? NULL : dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    bool found = dwarf != NULL && search(dwarf, layout);
    dwarf_end(dwarf);
    elf_end(elf);
    return found;
}
