#include "recorder/stacks/streams.h"

#include <string.h>

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && strncmp(slash, "/libc.so.", strlen("/libc.so.")) == 0;
}

/* In a static program it is among the symbols of the program, if it has any. */
uint64_t tg_streams_find(struct tg_modules *modules)
{
    size_t count = tg_modules_count(modules), found = 0;
    uint64_t bias;
    for (size_t i = 0; i < count && found == 0; i++)
        found = is_libc(tg_modules_at(modules, i)->path) ? i : 0;
    struct tg_debug_info *info =
        count > 0 ? tg_modules_debug_info(modules, tg_modules_at(modules, found), &bias) : NULL;
    uint64_t address = info != NULL ? tg_debug_info_variable(info, "_IO_list_all") : 0;
    return address != 0 ? address + bias : 0;
}

bool tg_streams_have_lock(uint64_t first, const struct tg_elf_memory *memory, uint64_t address)
{
    enum { MAX_STREAMS = 1 << 14, NEXT = 0x68, LOCK = 0x88 }; /* programs are compiled with this form */
    uint64_t stream, words[(LOCK - NEXT) / 8 + 1];
    if (first == 0 || memory->read(memory->context, first, &stream, sizeof stream) != sizeof stream)
        return false;
    for (size_t i = 0; i < MAX_STREAMS && stream != 0; i++) {
        if (memory->read(memory->context, stream + NEXT, words, sizeof words) != sizeof words)
            return false;
        if (words[(LOCK - NEXT) / 8] == address)
            return true;
        stream = words[0];
    }
    return false;
}
