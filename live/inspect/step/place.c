#include "live/inspect/step/place.h"

#include <string.h>

enum { MAX_LINES_OF_PROLOGUE = 8 };

static const char *name_of_module(struct tg_modules *modules, uint64_t pc)
{
    const struct tg_module *module = tg_modules_find(modules, pc);
    const char *slash = module != NULL ? strrchr(module->path, '/') : NULL;
    return slash != NULL ? slash + 1 : "";
}

/* The agent is between programs and run-time systems: nobody wants to see its lines. */
static bool is_ours(struct tg_modules *modules, uint64_t pc)
{
    return tg_module_is_agent(tg_modules_find(modules, pc));
}

static void look_at_code(struct tg_modules *modules, struct tg_step_place *here)
{
    here->info = tg_modules_debug_info_at(modules, here->pc, &here->bias);
    if (here->info == NULL)
        return;
    here->has_row = !is_ours(modules, here->pc) && tg_modules_row_at(modules, here->pc, &here->row);
    const struct tg_code_place *place = tg_debug_info_place(here->info, here->pc - here->bias);
    if (place == NULL)
        return;
    here->n_calls = place->count;
    for (size_t i = 0; i < place->count; i++)
        here->calls[i] = place->calls[i].has_function ? place->calls[i].function.addr : NULL;
    const struct tg_code_call *outermost = &place->calls[place->count - 1];
    here->function = outermost->name != NULL ? here->pc - outermost->offset : 0;
}

void tg_step_place_look(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                        const struct tg_registers *registers, struct tg_step_place *here)
{
    memset(here, 0, sizeof *here);
    here->pc = registers->value[TG_RIP];
    here->frame = tg_frame_innermost(registers);
    here->has_caller =
        tg_unwind_caller(modules, memory, &here->frame, &here->caller, &here->note) == TG_UNWIND_CALLER;
    look_at_code(modules, here);
}

bool tg_step_place_is_linker(struct tg_modules *modules, uint64_t pc)
{
    const char *name = name_of_module(modules, pc);
    return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

bool tg_step_place_is_plt(const struct tg_step_place *here)
{
    return here->info != NULL && tg_debug_info_is_plt(here->info, here->pc - here->bias);
}

uint64_t tg_step_place_behind_prologue(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                       const struct tg_step_place *here)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t moves[][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}}; /* mov %rsp, %rbp */
    uint8_t code[8];
    if (!memory->read(memory->context, here->pc, code, sizeof code))
        return here->pc;
    size_t at = memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    if (code[at] != 0x55 ||
        (memcmp(code + at + 1, moves[0], 3) != 0 && memcmp(code + at + 1, moves[1], 3) != 0))
        return here->pc;
    uint64_t behind = here->pc + at + 4;
    struct tg_debug_row row;
    for (unsigned i = 0; i < MAX_LINES_OF_PROLOGUE; i++) {
        if (!tg_modules_row_at(modules, behind, &row))
            return here->pc;
        if (row.start == behind && row.is_stmt)
            break;
        behind = row.end;
    }
    struct tg_step_place there = {.pc = behind};
    look_at_code(modules, &there);
    return there.function == here->function ? behind : here->pc;
}

uint64_t tg_step_place_first_line(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                  uint64_t address)
{
    struct tg_step_place here = {.pc = address};
    look_at_code(modules, &here);
    return tg_step_place_behind_prologue(modules, memory, &here);
}

uint64_t tg_step_place_region(struct tg_modules *modules, const struct tg_step_place *here)
{
    const char *name;
    uint64_t offset, body = 0;
    if (tg_step_place_is_plt(here) || !tg_modules_symbol_at(modules, here->pc, &name, &offset) || offset != 0)
        return 0;
    if (strncmp(name, "GOMP_parallel", 13) == 0)
        body = here->frame.registers.value[TG_RDI];
    else if (strcmp(name, "__kmpc_fork_call") == 0)
        body = here->frame.registers.value[TG_RDX];
    struct tg_debug_row row;
    return body != 0 && tg_modules_row_at(modules, body, &row) ? body : 0;
}

uint64_t tg_step_place_behind_repetition(const struct tg_inspect_memory *memory, uint64_t pc)
{
    uint8_t code[4];
    if (!memory->read(memory->context, pc, code, sizeof code))
        return 0;
    size_t at = 0;
    bool repeated = false;
    while (at < 3 && (code[at] == 0xf3 || code[at] == 0xf2 || code[at] == 0x66 || (code[at] & 0xf8) == 0x48))
        repeated |= (code[at++] & 0xfe) == 0xf2;
    uint8_t opcode = code[at];
    bool is_string = (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
    return repeated && is_string ? pc + at + 1 : 0;
}
