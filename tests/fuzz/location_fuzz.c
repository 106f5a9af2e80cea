/* A location expression out of a hostile file: the input is DW_AT_location of the one variable in a DWARF
 * that is made around it, read by libdw and evaluated. */
#include "live/inspect/value/location.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <dwarf.h>
#include <elf.h>
#include <libelf.h>

enum { MAX_INPUT = 4096 };

/* 1: DW_TAG_compile_unit with children; 2: DW_TAG_base_type (byte_size, encoding data1); 3: DW_TAG_variable
 * (type ref4, location exprloc); 4: DW_TAG_subprogram (frame_base exprloc). */
static const uint8_t abbreviations[] = {1,
                                        DW_TAG_compile_unit,
                                        1,
                                        0,
                                        0,
                                        2,
                                        DW_TAG_base_type,
                                        0,
                                        DW_AT_byte_size,
                                        DW_FORM_data1,
                                        DW_AT_encoding,
                                        DW_FORM_data1,
                                        0,
                                        0,
                                        3,
                                        DW_TAG_variable,
                                        0,
                                        DW_AT_type,
                                        DW_FORM_ref4,
                                        DW_AT_location,
                                        DW_FORM_exprloc,
                                        0,
                                        0,
                                        4,
                                        DW_TAG_subprogram,
                                        0,
                                        DW_AT_frame_base,
                                        DW_FORM_exprloc,
                                        0,
                                        0,
                                        0};
static const char names[] = "\0.debug_info\0.debug_abbrev\0.shstrtab";

struct bytes {
    uint8_t data[MAX_INPUT + 1024];
    size_t size;
};

static void put(struct bytes *bytes, const void *data, size_t size)
{
    assert(size <= sizeof bytes->data - bytes->size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void put_u8(struct bytes *bytes, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    put(bytes, &byte, 1);
}

/* .debug_info of version 5 (8-byte addresses); *VARIABLE: where the variable's DIE is. */
static void make_info(const uint8_t *data, size_t size, struct bytes *info, uint32_t *variable)
{
    static const uint8_t head[] = {0, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0};
    static const uint8_t types[] = {2, 8, DW_ATE_signed, 2, 8, DW_ATE_float};
    uint32_t type = sizeof head + 1;
    put(info, head, sizeof head);
    put_u8(info, 1);
    put(info, types, sizeof types);
    put_u8(info, 4);
    put_u8(info, 1);
    put_u8(info, DW_OP_call_frame_cfa);
    *variable = (uint32_t)info->size;
    put_u8(info, 3);
    put(info, &type, sizeof type);
    put_u8(info, (unsigned)(size & 0x7f) | 0x80);
    put_u8(info, (unsigned)(size >> 7));
    put(info, data, size);
    put_u8(info, 0);
    uint32_t length = (uint32_t)info->size - 4;
    memcpy(info->data, &length, sizeof length);
}

static void make_file(const struct bytes *info, struct bytes *file)
{
    uint64_t info_at = sizeof(Elf64_Ehdr), abbreviations_at = info_at + info->size;
    uint64_t names_at = abbreviations_at + sizeof abbreviations,
             sections_at = (names_at + sizeof names + 7) & ~7ULL;
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shoff = sections_at,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 4,
        .e_shstrndx = 3};
    const Elf64_Shdr sections[4] = {{0},
                                    {.sh_name = 1,
                                     .sh_type = SHT_PROGBITS,
                                     .sh_offset = info_at,
                                     .sh_size = info->size,
                                     .sh_addralign = 1},
                                    {.sh_name = 13,
                                     .sh_type = SHT_PROGBITS,
                                     .sh_offset = abbreviations_at,
                                     .sh_size = sizeof abbreviations,
                                     .sh_addralign = 1},
                                    {.sh_name = 27,
                                     .sh_type = SHT_STRTAB,
                                     .sh_offset = names_at,
                                     .sh_size = sizeof names,
                                     .sh_addralign = 1}};
    put(file, &header, sizeof header);
    put(file, info->data, info->size);
    put(file, abbreviations, sizeof abbreviations);
    put(file, names, sizeof names);
    while (file->size < sections_at)
        put_u8(file, 0);
    put(file, sections, sizeof sections);
}

static bool read_pattern(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (address < 4096 || address > UINT64_C(1) << 47)
        return false;
    memset(buffer, (int)(address & 0x7f), size);
    return true;
}

static struct tg_error *thread_local_at(void *context, const struct tg_scene_object *object, uint64_t offset,
                                        bool may_be_address, uint64_t *address)
{
    (void)context;
    (void)may_be_address;
    (void)object;
    *address = offset + (1 << 22);
    return NULL;
}

static size_t scopes_at(void *context, const struct tg_scene_object *object, uint64_t address,
                        Dwarf_Die *scopes, size_t max)
{
    (void)object;
    (void)address;
    assert(max > 0);
    scopes[0] = *(Dwarf_Die *)context;
    return 1;
}

static const struct tg_scene_object *the_object;

static const struct tg_scene_object *object_at(void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return the_object;
}

static void evaluate(Dwarf *dwarf, uint32_t variable)
{
    static const struct tg_scene_ops ops = {
        .thread_local_at = thread_local_at, .scopes_at = scopes_at, .object_at = object_at};
    struct tg_scene_object object = {.name = "input", .dwarf = dwarf, .bias = 0x10000};
    struct tg_frame frame = {.registers = {.known = 0x1ff7f}, .cfa = 1 << 20, .is_activation = true};
    Dwarf_Die die, function;
    Dwarf_Attribute attribute;
    struct tg_location location;
    uint64_t self = 1 << 21;
    uint8_t bytes[64];
    int64_t number;
    if (dwarf_offdie(dwarf, variable, &die) == NULL || dwarf_attr(&die, DW_AT_location, &attribute) == NULL ||
        dwarf_offdie(dwarf, variable - 3, &function) == NULL)
        return;
    const struct tg_scene scene = {.ops = &ops,
                                   .context = &function,
                                   .memory = {.read = read_pattern},
                                   .frame = &frame,
                                   .caller = &frame};
    the_object = &object;
    for (int i = 0; i < TG_REGISTER_COUNT; i++)
        frame.registers.value[i] = (uint64_t)i << 16;
    struct tg_error *error = tg_location_evaluate(&scene, &object, &attribute, NULL, &location);
    if (error == NULL) {
        assert(location.n_pieces >= 1 && location.n_pieces <= TG_LOCATION_MAX_PIECES);
        error = tg_location_read_bits(&scene, &location, 0, 64, bytes);
        tg_error_destroy(error);
        error = tg_location_read_bits(&scene, &location, 13, sizeof bytes * 8 - 13, bytes);
    }
    tg_error_destroy(error);
    tg_error_destroy(tg_location_number(&scene, &object, &attribute, &self, &number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes info = {.size = 0}, file = {.size = 0};
    uint32_t variable;
    if (size > MAX_INPUT)
        return 0;
    make_info(data, size, &info, &variable);
    make_file(&info, &file);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)file.data, file.size);
    assert(elf != NULL);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    assert(dwarf != NULL);
    evaluate(dwarf, variable);
    dwarf_end(dwarf);
    elf_end(elf);
    return 0;
}
