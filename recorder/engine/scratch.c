#include "recorder/engine/scratch.h"
#include "recorder/engine/tracee.h"
#include "recorder/process/memory.h"

#include <elf.h>
#include <string.h>

enum {
    MAX_PROGRAM_HEADERS = 256,
    PAGE_BYTES = 4096,
};

struct segments {
    Elf64_Phdr headers[MAX_PROGRAM_HEADERS]; /* 32-bit ones widened */
    size_t count;
};

static bool read_segments(pid_t tid, unsigned bits, uint64_t address, uint64_t count,
                          struct segments *segments)
{
    if (address == 0 || count == 0 || count > MAX_PROGRAM_HEADERS)
        return false;
    segments->count = (size_t)count;
    if (bits != 32)
        return tg_memory_read(tid, address, segments->headers, segments->count * sizeof(Elf64_Phdr));
    Elf32_Phdr narrow[MAX_PROGRAM_HEADERS];
    if (!tg_memory_read(tid, address, narrow, segments->count * sizeof *narrow))
        return false;
    for (size_t i = 0; i < segments->count; i++)
        segments->headers[i] = (Elf64_Phdr){.p_type = narrow[i].p_type,
                                            .p_flags = narrow[i].p_flags,
                                            .p_offset = narrow[i].p_offset,
                                            .p_vaddr = narrow[i].p_vaddr,
                                            .p_filesz = narrow[i].p_filesz,
                                            .p_memsz = narrow[i].p_memsz};
    return true;
}

/* Behind the end of an executable segment the rest of its last page is mapped executable too, but no code of
 * the program is there. PHDR is where the headers lie in memory. */
static bool find_tail(pid_t tid, unsigned bits, uint64_t phdr, uint64_t count, struct tg_address_space *space)
{
    struct segments segments;
    if (!read_segments(tid, bits, phdr, count, &segments))
        return false;
    uint64_t bias = 0;
    uint64_t header_bytes = bits == 32 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
    for (size_t i = 0; i < segments.count; i++) {
        if (segments.headers[i].p_type == PT_PHDR) {
            bias = phdr - segments.headers[i].p_vaddr;
            break;
        }
        if (segments.headers[i].p_type == PT_LOAD && segments.headers[i].p_offset == 0)
            bias = phdr - header_bytes - segments.headers[i].p_vaddr; /* the headers follow the ELF header */
    }
    for (size_t i = 0; i < segments.count; i++) {
        const Elf64_Phdr *header = &segments.headers[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || header->p_memsz != header->p_filesz)
            continue;
        uint64_t end = bias + header->p_vaddr + header->p_memsz;
        uint64_t start = (end + TG_INSN_SCRATCH_BYTES - 1) & ~(uint64_t)(TG_INSN_SCRATCH_BYTES - 1);
        uint64_t page_end = (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
        uint64_t slots = page_end > start ? (page_end - start) / TG_INSN_SCRATCH_BYTES : 0;
        uint8_t byte;
        if (slots == 0 || !tg_memory_read(tid, start, &byte, 1))
            continue;
        space->scratch = start;
        space->n_slots = slots < TG_SCRATCH_MAX_SLOTS ? (unsigned)slots : TG_SCRATCH_MAX_SLOTS;
        return true;
    }
    return false;
}

static bool find_loader_tail(pid_t tid, const struct tg_process *process, struct tg_address_space *space)
{
    union {
        Elf64_Ehdr wide;
        Elf32_Ehdr narrow;
    } header;
    uint64_t base = process->loader_base;
    if (base == 0 || !tg_memory_read(tid, base, &header, sizeof header))
        return false;
    if (process->bits == 32)
        return find_tail(tid, 32, base + header.narrow.e_phoff, header.narrow.e_phnum, space);
    return find_tail(tid, 64, base + header.wide.e_phoff, header.wide.e_phnum, space);
}

static void find_room(struct tg_tracee *tracee)
{
    const struct tg_process *process = tracee->thread.process;
    struct tg_address_space *space = process->space;
    pid_t tid = tracee->thread.tid;
    space->scratch_searched = true;
    if (find_tail(tid, process->bits, process->phdr, process->n_phdr, space) ||
        find_loader_tail(tid, process, space))
        return;
    if (process->entry != 0) { /* the last resort: start-up code, which ran once */
        space->scratch = process->entry;
        space->n_slots = 1;
    }
}

static bool slot_holds(const struct tg_address_space *space, unsigned slot, const uint8_t *code)
{
    return (space->slots_filled & (UINT32_C(1) << slot)) &&
           memcmp(space->slot_code[slot], code, TG_INSN_SCRATCH_BYTES) == 0;
}

/* A free slot for CODE, preferably one in which it is already: a breakpoint that is hit again and again
 * writes its copy once. TG_NO_SLOT where all are in use. */
static unsigned find_slot(const struct tg_address_space *space, const uint8_t *code)
{
    unsigned found = TG_NO_SLOT;
    for (unsigned slot = 0; slot < space->n_slots; slot++) {
        if (space->slots_used & (UINT32_C(1) << slot))
            continue;
        if (slot_holds(space, slot, code))
            return slot;
        if (found == TG_NO_SLOT)
            found = slot;
    }
    return found;
}

/* Puts CODE into a free slot, whose original bytes are saved; false where it cannot be written. */
static bool fill_slot(const struct tg_tracee *tracee, unsigned slot, const uint8_t *code)
{
    struct tg_address_space *space = tracee->thread.process->space;
    uint32_t bit = UINT32_C(1) << slot;
    uint64_t address = space->scratch + (uint64_t)slot * TG_INSN_SCRATCH_BYTES;
    if (slot_holds(space, slot, code))
        return true;
    if (!(space->slots_dirty & bit) &&
        !tg_memory_read(tracee->thread.tid, address, space->slot_bytes[slot], TG_INSN_SCRATCH_BYTES))
        return false;
    space->slots_dirty |= bit;
    space->slots_filled &= ~bit;
    if (!tg_memory_write(tracee->thread.tid, address, code, TG_INSN_SCRATCH_BYTES))
        return false;
    memcpy(space->slot_code[slot], code, TG_INSN_SCRATCH_BYTES);
    space->slots_filled |= bit;
    return true;
}

unsigned tg_scratch_take(struct tg_tracee *tracee, const uint8_t *code, bool *busy)
{
    struct tg_address_space *space = tracee->thread.process->space;
    if (!space->scratch_searched)
        find_room(tracee);
    unsigned slot = find_slot(space, code);
    *busy = slot == TG_NO_SLOT && space->slots_used != 0;
    if (slot == TG_NO_SLOT || !fill_slot(tracee, slot, code))
        return TG_NO_SLOT;
    space->slots_used |= UINT32_C(1) << slot;
    return slot;
}

bool tg_scratch_give_back(struct tg_address_space *space, unsigned slot)
{
    bool was_full = space->slots_used == (UINT32_C(1) << space->n_slots) - 1;
    space->slots_used &= ~(UINT32_C(1) << slot);
    return was_full;
}
