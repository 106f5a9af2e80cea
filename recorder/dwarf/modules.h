/* The objects that a process has mapped, and what is known of their code. */
#ifndef TG_RECORDER_DWARF_MODULES_H
#define TG_RECORDER_DWARF_MODULES_H

#include "recorder/dwarf/debug_cache.h"
#include "recorder/process/image_cache.h"

/* Not thread-safe. */
struct tg_modules;

/* One object. Valid until the tg_modules_refresh that finds it unmapped. */
struct tg_module {
    uint64_t start;       /* of its ELF header */
    uint64_t end;         /* of its highest segment */
    const char *path;     /* as /proc/PID/maps has it: "[vdso]", "/x (deleted)"; untrusted bytes */
    const char *build_id; /* lower-case hex, "" none */
};

/* Of process PID (id of the process or of one of its threads). The caches must outlive the result, which is
 * empty until it is refreshed. */
struct tg_error *tg_modules_create(pid_t pid, struct tg_image_cache *images, struct tg_debug_cache *debug,
                                   struct tg_modules **modules);
/* An object of a process that is gone. */
struct tg_module_place {
    uint64_t start, end;
    const char *path, *build_id;
    struct tg_image *image; /* NULL: nothing more is known of it */
};

/* Of a process that had mapped these COUNT objects, in the order of their addresses; takes a reference to each image. It
 * cannot be refreshed. */
struct tg_error *tg_modules_create_of(const struct tg_module_place *places, size_t count,
                                      struct tg_debug_cache *debug, struct tg_modules **modules);
/* NULL is accepted. */
void tg_modules_destroy(struct tg_modules *modules);

/* Looks at what is mapped now; a thread of the process must be stopped. To be called after the process has loaded
 * or unloaded something and after an exec; what is mapped as before keeps its tg_module. At most 65,536
 * objects. Without memory, some are not known afterwards. */
struct tg_error *tg_modules_refresh(struct tg_modules *modules);

/* Whether what is mapped now is what was mapped at the last refresh, of a process that may be running. False also where that
 * cannot be read. */
bool tg_modules_is_current(const struct tg_modules *modules);

/* In the order of their addresses. */
size_t tg_modules_count(const struct tg_modules *modules);
const struct tg_module *tg_modules_at(const struct tg_modules *modules, size_t i);

/* The object that ADDRESS lies in, or NULL. */
const struct tg_module *tg_modules_find(const struct tg_modules *modules, uint64_t address);

/* Whether MODULE, NULL none, is our agent in the process, which is nothing of the program's. */
bool tg_module_is_agent(const struct tg_module *module);

/* Debug information of MODULE, checked to be that of the file that is mapped; BIAS takes its addresses to
 * memory's. Opened at the first question, when a thread of the process must be stopped. NULL where there is
 * nothing. Valid as long as MODULE. */
struct tg_debug_info *tg_modules_debug_info(struct tg_modules *modules, const struct tg_module *module,
                                            uint64_t *bias);

/* Whether the code at A_PC is that of the same object, at the same place in it, as the code at B_PC in
 * another process, or is at the same address outside of all objects. */
bool tg_modules_is_same_code(const struct tg_modules *a, uint64_t a_pc, const struct tg_modules *b,
                             uint64_t b_pc);

/* Both of these. */
struct tg_debug_info *tg_modules_debug_info_at(struct tg_modules *modules, uint64_t address, uint64_t *bias);

/* The symbol that holds ADDRESS (tg_debug_info_symbol_at) and the offset in it, NAME valid as its module.
 * False where there is none. */
bool tg_modules_symbol_at(struct tg_modules *modules, uint64_t address, const char **name, uint64_t *offset);
/* The same of the innermost function there, which may be inlined, as people read it (format/image/mangled_name.h), for the
 * caller to free; NULL: nothing is known. */
char *tg_modules_innermost_at(struct tg_modules *modules, uint64_t address, uint64_t *offset);

/* The row of the line table that holds ADDRESS, with addresses of memory; strings valid as its module. */
bool tg_modules_row_at(struct tg_modules *modules, uint64_t address, struct tg_debug_row *row);

#endif
