#include "recorder/loader/rendezvous.h"

#include "recorder/process/memory.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PHDRS = 512,
    MAX_DYNAMIC_BYTES = 1 << 16,
    MAX_DATA_BYTES = 1 << 20,
    PAGE = 4096,
};

static void free_bytes(uint8_t **bytes)
{
    free(*bytes);
}
#define AUTO_BYTES __attribute__((cleanup(free_bytes)))

/* Program headers of a traced program, widened. */
struct headers {
    uint64_t bias;
    uint64_t count;
    Elf64_Phdr at[MAX_PHDRS];
};

static Elf64_Phdr widen(const Elf32_Phdr *narrow)
{
    return (Elf64_Phdr){.p_type = narrow->p_type,
                        .p_flags = narrow->p_flags,
                        .p_offset = narrow->p_offset,
                        .p_vaddr = narrow->p_vaddr,
                        .p_filesz = narrow->p_filesz,
                        .p_memsz = narrow->p_memsz};
}

/* The load bias by PT_PHDR, which says where the headers want to be; else by the segment that begins the
 * file. */
static uint64_t bias_of(const struct headers *headers, uint64_t phdr)
{
    for (uint64_t i = 0; i < headers->count; i++) {
        if (headers->at[i].p_type == PT_PHDR)
            return phdr - headers->at[i].p_vaddr;
    }
    for (uint64_t i = 0; i < headers->count; i++) {
        if (headers->at[i].p_type == PT_LOAD && headers->at[i].p_offset == 0)
            return (phdr & ~(uint64_t)(PAGE - 1)) - headers->at[i].p_vaddr;
    }
    return 0;
}

static bool read_headers(pid_t pid, unsigned bits, uint64_t phdr, uint64_t n_phdr, struct headers *headers)
{
    if (phdr == 0 || n_phdr == 0 || n_phdr > MAX_PHDRS)
        return false;
    headers->count = n_phdr;
    if (bits == 32) {
        Elf32_Phdr narrow[MAX_PHDRS];
        if (!tg_memory_read(pid, phdr, narrow, n_phdr * sizeof narrow[0]))
            return false;
        for (uint64_t i = 0; i < n_phdr; i++)
            headers->at[i] = widen(&narrow[i]);
    } else if (!tg_memory_read(pid, phdr, headers->at, n_phdr * sizeof headers->at[0])) {
        return false;
    }
    headers->bias = bias_of(headers, phdr);
    return true;
}

/* The value of TAG in a dynamic section that was read into BYTES; false where it has none. */
static bool dynamic_value(const uint8_t *bytes, size_t size, unsigned bits, int64_t tag, uint64_t *value)
{
    size_t step = bits == 32 ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
    for (size_t at = 0; at + step <= size; at += step) {
        Elf64_Dyn entry;
        if (bits == 32) {
            Elf32_Dyn narrow;
            memcpy(&narrow, bytes + at, sizeof narrow);
            entry = (Elf64_Dyn){.d_tag = narrow.d_tag, .d_un.d_val = narrow.d_un.d_val};
        } else {
            memcpy(&entry, bytes + at, sizeof entry);
        }
        if (entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == tag) {
            *value = entry.d_un.d_val;
            return true;
        }
    }
    return false;
}

enum tg_rendezvous tg_rendezvous_locate(pid_t pid, unsigned bits, uint64_t phdr, uint64_t n_phdr,
                                        uint64_t *r_debug)
{
    struct headers headers;
    if (!read_headers(pid, bits, phdr, n_phdr, &headers))
        return TG_RENDEZVOUS_NEVER;
    for (uint64_t i = 0; i < headers.count; i++) {
        if (headers.at[i].p_type != PT_DYNAMIC)
            continue;
        size_t size = headers.at[i].p_memsz < MAX_DYNAMIC_BYTES ? headers.at[i].p_memsz : MAX_DYNAMIC_BYTES;
        AUTO_BYTES uint8_t *bytes = malloc(size + 1);
        if (bytes == NULL)
            return TG_RENDEZVOUS_NEVER;
        size = tg_memory_read_some(pid, headers.bias + headers.at[i].p_vaddr, bytes, size);
        uint64_t value;
        if (!dynamic_value(bytes, size, bits, DT_DEBUG, &value))
            return TG_RENDEZVOUS_NEVER;
        if (value == 0)
            return TG_RENDEZVOUS_NOT_YET;
        *r_debug = value;
        return TG_RENDEZVOUS_FOUND;
    }
    return TG_RENDEZVOUS_NEVER;
}

static uint64_t word_at(const uint8_t *bytes, size_t word)
{
    uint64_t value = 0;
    memcpy(&value, bytes, word); /* x86: little-endian */
    return value;
}

/* Whether a list that begins at MAP begins with a program: no name, nothing before it. */
static bool begins_with_program(pid_t pid, uint64_t map, size_t word)
{
    uint8_t node[5 * 8];
    if (map == 0 || !tg_memory_read(pid, map, node, 5 * word))
        return false;
    uint64_t name = word_at(node + word, word);
    char first = 1;
    return word_at(node + 4 * word, word) == 0 &&
           (name == 0 || (tg_memory_read(pid, name, &first, 1) && first == '\0'));
}

bool tg_rendezvous_search(pid_t pid, unsigned bits, uint64_t phdr, uint64_t n_phdr, uint64_t r_brk,
                          uint64_t *r_debug)
{
    struct headers headers;
    if (!read_headers(pid, bits, phdr, n_phdr, &headers))
        return false;
    size_t word = bits == 32 ? 4 : 8;
    for (uint64_t i = 0; i < headers.count; i++) {
        const Elf64_Phdr *segment = &headers.at[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) || segment->p_memsz > MAX_DATA_BYTES)
            continue;
        AUTO_BYTES uint8_t *bytes = malloc(segment->p_memsz + 1);
        if (bytes == NULL)
            return false;
        uint64_t start = headers.bias + segment->p_vaddr;
        size_t size = tg_memory_read_some(pid, start, bytes, segment->p_memsz);
        for (size_t at = (word - start % word) % word; at + 5 * word <= size; at += word) {
            /* r_version, r_map, r_brk, r_state, r_ldbase */
            uint32_t version = (uint32_t)word_at(bytes + at, 4);
            if (version < 1 || version > 2 || word_at(bytes + at + 2 * word, word) != r_brk ||
                !begins_with_program(pid, word_at(bytes + at + word, word), word))
                continue;
            *r_debug = start + at;
            return true;
        }
    }
    return false;
}
