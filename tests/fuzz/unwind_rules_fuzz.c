/* Any bytes as the .eh_frame of an object: the rules at the addresses that it may speak of, and their expressions,
 * run over memory that is the same bytes. libdw reserves memory for the highest register that an instruction names,
 * gigabytes if need be: inputs with numbers of three bytes in instructions are passed over. */
#include "recorder/dwarf/unwind_rules.h"
#include "recorder/unwind/unwind_expression.h"
#include "tests/fuzz/elf_of.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

enum { MAX_WORDS = 64, MEMORY = 0x10000 };

struct bytes {
    const uint8_t *data;
    size_t size, reads;
};

static bool read_bytes(void *context, uint64_t address, void *buffer, size_t size)
{
    struct bytes *bytes = context;
    assert(++bytes->reads < 1u << 20);
    if (address < MEMORY || size > bytes->size || address - MEMORY > bytes->size - size)
        return false;
    memcpy(buffer, bytes->data + (address - MEMORY), size);
    return true;
}

static void run(const struct tg_unwind_rule *rule, const struct tg_inspect_memory *memory)
{
    struct tg_registers registers = {.known = (1u << TG_REGISTER_COUNT) - 1};
    for (unsigned i = 0; i < TG_REGISTER_COUNT; i++)
        registers.value[i] = MEMORY + 8 * i;
    assert(rule->kind <= TG_UNWIND_EXPRESSION);
    uint64_t result;
    bool is_value;
    if (rule->kind == TG_UNWIND_EXPRESSION)
        (void)tg_unwind_expression_run(rule->ops, rule->n_ops, &registers, memory, MEMORY + 64, &result,
                                       &is_value);
}

static void look_up(struct tg_unwind_table *table, Dwarf_CFI *cfi, uint64_t address,
                    const struct tg_inspect_memory *memory)
{
    const struct tg_unwind_rules *rules = tg_unwind_table_find(table, cfi, address);
    assert(rules == tg_unwind_table_find(table, cfi, address));
    if (rules == NULL)
        return;
    assert(rules->cfa_register <= TG_REGISTER_COUNT);
    run(&rules->cfa, memory);
    for (unsigned i = 0; i < TG_REGISTER_COUNT; i++)
        run(&rules->registers[i], memory);
}

static bool has_large_number(const uint8_t *at, const uint8_t *end)
{
    for (; end - at >= 2; at++)
        if ((at[0] & at[1] & 0x80) != 0)
            return true;
    return false;
}

static bool has_large_numbers(const struct fuzz_section *section, const uint8_t *image)
{
    Elf_Data data = {.d_buf = (void *)section->data,
                     .d_type = ELF_T_BYTE,
                     .d_version = EV_CURRENT,
                     .d_size = section->size};
    Dwarf_Off at = 0, next;
    Dwarf_CFI_Entry entry;
    int result;
    while ((result = dwarf_next_cfi(image, &data, true, at, &next, &entry)) != 1 && next > at) {
        bool is_large =
            result == 0 && (dwarf_cfi_cie_p(&entry) ? has_large_number(entry.cie.initial_instructions,
                                                                       entry.cie.initial_instructions_end)
                                                    : has_large_number(entry.fde.start, entry.fde.end));
        if (is_large)
            return true;
        at = next;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_section section = {".eh_frame", data, size, 1};
    struct bytes bytes = {.data = data, .size = size};
    const struct tg_inspect_memory memory = {.context = &bytes, .read = read_bytes};
    size_t length;
    uint8_t *image = fuzz_elf(&section, 1, &length);
    elf_version(EV_CURRENT);
    Elf *elf = has_large_numbers(&section, image) ? NULL : elf_memory((char *)image, length);
    struct tg_unwind_table *table = tg_unwind_table_create();
    Dwarf_CFI *cfi = elf == NULL ? NULL : dwarf_getcfi_elf(elf);
    for (size_t i = 0; table != NULL && i < MAX_WORDS && 4 * i + 4 <= size; i++) {
        int32_t word; /* an address, or how far it is to one */
        memcpy(&word, data + 4 * i, 4);
        look_up(table, cfi, (uint64_t)(uint32_t)word, &memory);
        look_up(table, cfi, FUZZ_SECTION_ADDRESS + 4 * i + (uint64_t)(int64_t)word + 1, &memory);
    }
    tg_unwind_table_destroy(table);
    if (cfi != NULL)
        dwarf_cfi_end(cfi);
    elf_end(elf);
    free(image);
    return 0;
}
