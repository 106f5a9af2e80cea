/* The numbers that LLVM's OpenMP runtime and Intel's give to threads (global thread ids). Where a thread has its own is written
 * nowhere but in the runtime's code. */
#ifndef TG_RECORDER_STACKS_KMP_NUMBERS_H
#define TG_RECORDER_STACKS_KMP_NUMBERS_H

#include "format/image/elf_object.h"
#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

enum { TG_KMP_MAX_NUMBER = 1 << 20 };

struct tg_kmp_numbers {
    bool is_known;   /* false: there is no such runtime, or its code does not look as expected */
    bool is_fixed;   /* at OFFSET from fs_base; else in thread-local storage of MODULE */
    uint64_t module; /* as the dynamic loader counts them */
    uint64_t offset;
};

/* Whether the object at PATH is such a runtime. */
bool tg_kmp_is_runtime(const char *path);

/* Reads the code in MEMORY, if it is one of MODULES. */
struct tg_kmp_numbers tg_kmp_numbers_find(struct tg_modules *modules, const struct tg_inspect_memory *memory);

/* The same of SIZE bytes CODE at ADDRESS, which ask for the number. */
struct tg_kmp_numbers tg_kmp_numbers_read(const uint8_t *code, size_t size, uint64_t address,
                                          const struct tg_inspect_memory *memory);

/* The number of the thread with FS_BASE, at least 0; false where it has none, or where that is not known. */
bool tg_kmp_number_of(const struct tg_kmp_numbers *numbers, const struct tg_elf_memory *memory,
                      uint64_t fs_base, int32_t *number);

#endif
