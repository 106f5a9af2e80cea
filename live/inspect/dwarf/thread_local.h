/* Addresses of thread-local variables, by the x86-64 ABI and what the C library tells debuggers of its own
 * structures. */
#ifndef TG_LIVE_INSPECT_DWARF_THREAD_LOCAL_H
#define TG_LIVE_INSPECT_DWARF_THREAD_LOCAL_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

/* Data of a process's C library, read once. Zero it first, and after its modules changed. */
struct tg_thread_local {
    bool was_read;
    bool is_known;
    uint32_t modid_offset; /* of a link map: its module's number in the DTV */
    uint64_t link_map;     /* the first one, 0 none */
};

/* Finds OFFSET of the thread-local storage of MODULE for the thread with FS_BASE; MAY_BE_ADDRESS: or the variable whose
 * first value has that address in the file, an error where it may be both. The program's own is
 * below FS_BASE; a library's is found by the thread's DTV. Errors: TARGET, also where the thread has not
 * used it yet, or the C library does not tell. */
struct tg_error *tg_thread_local_address(struct tg_thread_local *known, struct tg_modules *modules,
                                         const struct tg_inspect_memory *memory,
                                         const struct tg_module *module, uint64_t fs_base, uint64_t offset,
                                         bool may_be_address, uint64_t *address);

#endif
