#include "recorder/stacks/call_target.h"

#include <string.h>

static bool read_pointer(const struct tg_inspect_memory *memory, uint64_t address, uint64_t *pointer)
{
    return memory->read(memory->context, address, pointer, sizeof *pointer);
}

uint64_t tg_call_target_behind_stub(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                    uint64_t address)
{
    uint64_t bias, target;
    uint8_t bytes[16];
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, address, &bias);
    if (info == NULL || !tg_debug_info_is_plt(info, address - bias))
        return address;
    if (!memory->read(memory->context, address, bytes, sizeof bytes))
        return 0;
    for (size_t i = 0; i + 6 <= sizeof bytes; i++) {
        int32_t away;
        if (bytes[i] != 0xff || bytes[i + 1] != 0x25) /* jmp *AWAY(%rip) */
            continue;
        memcpy(&away, bytes + i + 2, sizeof away);
        return read_pointer(memory, address + i + 6 + (uint64_t)(int64_t)away, &target) ? target : 0;
    }
    return 0;
}

uint64_t tg_call_target_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                             uint64_t return_address)
{
    uint8_t code[6];
    int32_t away;
    uint64_t target;
    if (!memory->read(memory->context, return_address - sizeof code, code, sizeof code))
        return 0;
    memcpy(&away, code + sizeof code - sizeof away, sizeof away);
    uint64_t address = return_address + (uint64_t)(int64_t)away;
    if (code[0] == 0xff && code[1] == 0x15) /* call *AWAY(%rip) */
        return read_pointer(memory, address, &target) ? target : 0;
    return code[1] == 0xe8 ? tg_call_target_behind_stub(modules, memory, address) : 0;
}
