/* What a loaded object refers to, in the tables that the dynamic loader fills in. */
#ifndef TG_RECORDER_AGENT_OMPT_REFERENCES_H
#define TG_RECORDER_AGENT_OMPT_REFERENCES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct tg_ompt_references {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2]; /* one of functions, one of addresses */
    size_t bytes[2];
    uintptr_t base;
    uintptr_t read_only, read_only_end; /* range that the loader protected after relocation */
};

/* False where it has none. */
bool tg_ompt_references_read(const struct dl_phdr_info *info, struct tg_ompt_references *references);

/* Whether there is one to NAME. */
bool tg_ompt_references_has(const struct tg_ompt_references *references, const char *name);

/* Turns those to NAME to FUNCTION. False where there is none, or the last one cannot be written. */
bool tg_ompt_references_turn(const struct tg_ompt_references *references, const char *name,
                             uintptr_t function);

/* An address in the object, NULL: it has none. */
const void *tg_ompt_first_address(const struct dl_phdr_info *info);

#endif
