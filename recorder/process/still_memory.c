#include "recorder/process/still_memory.h"

#include "recorder/process/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, N_PAGES = 64 };

struct tg_still_memory {
    pid_t pid;
    uint64_t numbers[N_PAGES]; /* number + 1 of the page that is there; 0 none */
    uint8_t bytes[N_PAGES][PAGE_BYTES];
};

struct tg_still_memory *tg_still_memory_create(pid_t pid)
{
    struct tg_still_memory *memory = malloc(sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->pid = pid;
    memset(memory->numbers, 0, sizeof memory->numbers);
    return memory;
}

void tg_still_memory_destroy(struct tg_still_memory *memory)
{
    free(memory);
}

static size_t read_some(void *context, uint64_t address, void *buffer, size_t size)
{
    struct tg_still_memory *memory = context;
    uint64_t number = address / PAGE_BYTES, offset = address % PAGE_BYTES;
    size_t slot = number % N_PAGES;
    if (size > PAGE_BYTES - offset)
        return tg_memory_read_some(memory->pid, address, buffer, size);
    if (memory->numbers[slot] != number + 1) {
        memory->numbers[slot] = 0;
        if (!tg_memory_read(memory->pid, number * PAGE_BYTES, memory->bytes[slot], PAGE_BYTES))
            return tg_memory_read_some(memory->pid, address, buffer, size);
        memory->numbers[slot] = number + 1;
    }
    memcpy(buffer, memory->bytes[slot] + offset, size);
    return size;
}

struct tg_elf_memory tg_still_memory_reader(struct tg_still_memory *memory)
{
    return (struct tg_elf_memory){read_some, memory};
}
