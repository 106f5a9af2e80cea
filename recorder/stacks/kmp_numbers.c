#include "recorder/stacks/kmp_numbers.h"

#include "recorder/stacks/insn_reader.h"

#include <string.h>

enum {
    NO_NUMBER = -2, /* KMP_GTID_DNE: what a thread has that the runtime does not know */
    MAX_BYTES = 160,
};

struct asking {
    const struct tg_inspect_memory *memory;
    struct tg_kmp_numbers found;
    uint64_t words;    /* address of the last words of the dynamic loader, 0 none */
    unsigned offset;   /* register with the offset from fs_base, X86_REG_INVALID none */
    unsigned variable; /* register with the variable's address */
    unsigned number;   /* and with what is in it */
};

/* Of the operand FROM, relative to the next instruction. */
static uint64_t relative(const cs_insn *insn, const cs_x86_op *from)
{
    return from->type == X86_OP_MEM && from->mem.base == X86_REG_RIP && from->mem.segment == X86_REG_INVALID
               ? insn->address + insn->size + (uint64_t)from->mem.disp
               : 0;
}

static bool read_word(const struct asking *asking, uint64_t address, uint64_t *word)
{
    return asking->memory->read(asking->memory->context, address, word, sizeof *word);
}

/* Thread-local storage by __tls_get_addr: lea words(%rip),%rdi; call; mov (%rax),%ebx. Or by a fixed offset: mov
 * word(%rip),%rax; mov %fs:(%rax),%ebx. What a number is says what follows: cmp $-2,%ebx. */
static bool ask(struct asking *asking, const cs_insn *insn, bool is_call)
{
    const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];
    struct tg_kmp_numbers *found = &asking->found;
    if (is_call) {
        bool is_asked = asking->words != 0 && read_word(asking, asking->words, &found->module) &&
                        read_word(asking, asking->words + 8, &found->offset);
        asking->variable = is_asked ? X86_REG_RAX : X86_REG_INVALID;
        asking->words = 0;
        return false;
    }
    if (insn->id == X86_INS_CMP && to->type == X86_OP_REG && to->reg == asking->number &&
        from->type == X86_OP_IMM && (int32_t)from->imm == NO_NUMBER)
        return true;
    if (insn->id == X86_INS_LEA && to->reg == X86_REG_RDI)
        asking->words = relative(insn, from);
    if (insn->id != X86_INS_MOV || to->type != X86_OP_REG || from->type != X86_OP_MEM)
        return false;
    bool is_plain = from->mem.disp == 0 && from->mem.index == X86_REG_INVALID;
    if (to->size == 8 && relative(insn, from) != 0) {
        asking->offset = read_word(asking, relative(insn, from), &found->offset) ? to->reg : X86_REG_INVALID;
    } else if (to->size == 4 && is_plain && asking->offset != X86_REG_INVALID &&
               from->mem.segment == X86_REG_FS && from->mem.base == asking->offset) {
        asking->number = to->reg;
        found->is_fixed = true;
    } else if (to->size == 4 && is_plain && asking->variable != X86_REG_INVALID &&
               from->mem.segment == X86_REG_INVALID && from->mem.base == asking->variable) {
        asking->number = to->reg;
        found->is_fixed = false;
    }
    return false;
}

struct tg_kmp_numbers tg_kmp_numbers_read(const uint8_t *code, size_t size, uint64_t address,
                                          const struct tg_inspect_memory *memory)
{
    struct asking asking = {.memory = memory, .number = X86_REG_INVALID};
    csh capstone;
    cs_insn *insn;
    bool is_known = false;
    if (!tg_insn_reader_begin(&capstone, &insn))
        return asking.found;
    while (!is_known && cs_disasm_iter(capstone, &code, &size, &address, insn))
        is_known = ask(&asking, insn, cs_insn_group(capstone, insn, X86_GRP_CALL));
    tg_insn_reader_end(&capstone, insn);
    asking.found.is_known = is_known;
    return asking.found;
}

/* The function that the code at ADDRESS calls first, 0 none. */
static uint64_t first_call(uint64_t address, const struct tg_inspect_memory *memory)
{
    enum { FIRST_BYTES = 48, LONGEST = 16 };
    uint8_t bytes[FIRST_BYTES + LONGEST];
    const uint8_t *code = bytes;
    size_t size = sizeof bytes;
    csh capstone;
    cs_insn *insn;
    uint64_t target = 0;
    if (!memory->read(memory->context, address, bytes, sizeof bytes) ||
        !tg_insn_reader_begin(&capstone, &insn))
        return 0;
    while (target == 0 && size > LONGEST && cs_disasm_iter(capstone, &code, &size, &address, insn) &&
           !cs_insn_group(capstone, insn, X86_GRP_RET))
        if ((cs_insn_group(capstone, insn, X86_GRP_CALL) || insn->id == X86_INS_JMP) &&
            insn->detail->x86.operands[0].type == X86_OP_IMM)
            target = (uint64_t)insn->detail->x86.operands[0].imm;
    tg_insn_reader_end(&capstone, insn);
    return target;
}

static struct tg_kmp_numbers read_numbers(uint64_t address, const struct tg_inspect_memory *memory)
{
    uint8_t code[MAX_BYTES];
    return address != 0 && memory->read(memory->context, address, code, sizeof code)
               ? tg_kmp_numbers_read(code, sizeof code, address, memory)
               : (struct tg_kmp_numbers){.is_known = false};
}

bool tg_kmp_is_runtime(const char *path)
{
    static const char *const names[] = {"/libomp.", "/libomp-", "/libiomp5."};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

struct tg_kmp_numbers tg_kmp_numbers_find(struct tg_modules *modules, const struct tg_inspect_memory *memory)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        uint64_t bias, address;
        struct tg_debug_info *info =
            tg_kmp_is_runtime(module->path) ? tg_modules_debug_info(modules, module, &bias) : NULL;
        if (info == NULL ||
            tg_image_find_function(tg_debug_info_image(info), "__kmpc_global_thread_num", &address, 1) != 1)
            continue;
        struct tg_kmp_numbers numbers = read_numbers(address + bias, memory);
        return numbers.is_known ? numbers : read_numbers(first_call(address + bias, memory), memory);
    }
    return (struct tg_kmp_numbers){.is_known = false};
}

static bool read_memory(const struct tg_elf_memory *memory, uint64_t address, void *buffer, size_t size)
{
    return memory->read(memory->context, address, buffer, size) == size;
}

/* Of storage that has no fixed place the thread has a vector (glibc's dtv): how many there are before its first entry, each
 * with its address, -1 where it has none yet. */
static bool find_variable(const struct tg_kmp_numbers *numbers, const struct tg_elf_memory *memory,
                          uint64_t fs_base, uint64_t *address)
{
    enum { VECTOR = 8, ENTRY_BYTES = 16 };
    uint64_t vector, count, block;
    if (numbers->is_fixed) {
        *address = fs_base + numbers->offset;
        return true;
    }
    if (!read_memory(memory, fs_base + VECTOR, &vector, sizeof vector) ||
        !read_memory(memory, vector - ENTRY_BYTES, &count, sizeof count) || numbers->module == 0 ||
        numbers->module > count ||
        !read_memory(memory, vector + numbers->module * ENTRY_BYTES, &block, sizeof block) ||
        block == UINT64_MAX || block == 0)
        return false;
    *address = block + numbers->offset;
    return true;
}

bool tg_kmp_number_of(const struct tg_kmp_numbers *numbers, const struct tg_elf_memory *memory,
                      uint64_t fs_base, int32_t *number)
{
    uint64_t address;
    return numbers->is_known && find_variable(numbers, memory, fs_base, &address) &&
           read_memory(memory, address, number, sizeof *number) && *number >= 0 &&
           *number < TG_KMP_MAX_NUMBER;
}
