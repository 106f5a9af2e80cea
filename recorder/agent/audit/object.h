/* Reads the ELF headers of an object in this process's memory. No libc, async-signal-safe. */
#ifndef TG_RECORDER_AGENT_AUDIT_OBJECT_H
#define TG_RECORDER_AGENT_AUDIT_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_AUDIT_BUILD_ID_BYTES = 24 };

struct tg_audit_object {
    uint64_t size_bytes;      /* from the first page of a PT_LOAD to the end of the last, 0 unknown */
    uint64_t build_id_length; /* 0: none */
    unsigned char build_id[TG_AUDIT_BUILD_ID_BYTES]; /* cut, zeros behind it */
};

/* The program headers of the object that begins at BASE: they are looked for in its first page alone, which is mapped
 * as a whole. NULL and none where they are not there. */
const Elf64_Phdr *tg_audit_object_segments(uintptr_t base, size_t *count);

/* Reads the object that begins at BASE, of shared objects their load bias. All zero where there is no ELF header. */
void tg_audit_object_read(uintptr_t base, struct tg_audit_object *object);

#endif
