/* Scene of a question about variables: a frame of a stopped thread, the memory and the objects of
 * its process. */
#ifndef TG_LIVE_INSPECT_TARGET_SCENE_H
#define TG_LIVE_INSPECT_TARGET_SCENE_H

#include "format/base/error.h"
#include "recorder/dwarf/target.h"

#include <elfutils/libdw.h>

struct tg_name_index;

/* One object that the process maps. Stays where it is as long as the scene that tells of it. */
struct tg_scene_object {
    const char *name;            /* path */
    Dwarf *dwarf;                /* NULL: no debug information */
    uint64_t bias;               /* an address in memory less the same in DWARF */
    struct tg_name_index *names; /* of DWARF; NULL with it, and of what is not the program's */
    void *context;               /* of who made the scene */
};

/* CONTEXT is handed to each. Those that are NULL answer "not known". */
struct tg_scene_ops {
    /* The object number INDEX, the program first; NULL behind the last. */
    const struct tg_scene_object *(*object)(void *context, size_t index);
    /* The object that maps ADDRESS, NULL none. */
    const struct tg_scene_object *(*object_at)(void *context, uint64_t address);
    /* The blocks of OBJECT (lexical blocks, inlined copies) that hold ADDRESS, an address in memory,
     * innermost first, last the function. At most MAX; returns how many. */
    size_t (*scopes_at)(void *context, const struct tg_scene_object *object, uint64_t address,
                        Dwarf_Die *scopes, size_t max);
    /* The unit of OBJECT that has code at ADDRESS, an address in memory. */
    bool (*unit_at)(void *context, const struct tg_scene_object *object, uint64_t address, Dwarf_Die *unit);
    /* The function or variable that holds ADDRESS: its name, cut at SIZE, and where in it. */
    bool (*symbol_at)(void *context, uint64_t address, char *name, size_t size, uint64_t *offset);
    /* Finds symbol NAME where there is no debug information. */
    bool (*symbol_named)(void *context, const char *name, uint64_t *address, uint64_t *size_bytes);
    /* Finds OFFSET of OBJECT's thread-local storage for the thread; MAY_BE_ADDRESS: or the variable whose first value is at that
     * address. Errors: TARGET, with the reason. */
    struct tg_error *(*thread_local_at)(void *context, const struct tg_scene_object *object, uint64_t offset,
                                        bool may_be_address, uint64_t *address);
};

/* The caller's storage. Read-only for those who ask. */
struct tg_scene {
    const struct tg_scene_ops *ops;
    void *context;
    struct tg_inspect_memory memory;
    struct tg_inspect_wide_registers
        wide;                     /* as they are in FRAME; its function is NULL where they are not known */
    const struct tg_frame *frame; /* NULL: only what needs none can be asked */
    uint64_t generation; /* of what OBJECT says, unique in this program: another number once objects came or
                            went. 0: nothing found in this scene is remembered */
    const struct tg_frame *caller; /* the frame that FRAME returns to, NULL not known */
    unsigned inlined; /* how many inlined copies around FRAME's pc are left out: the frame of code that has
                         others inlined at the pc is asked about */
};

enum {
    TG_SCENE_MAX_SCOPES = 64,
};

/* The object and the blocks that FRAME, of SCENE or its caller, is in, innermost first; 0 where none are
 * known. */
size_t tg_scene_scopes(const struct tg_scene *scene, const struct tg_frame *frame,
                       const struct tg_scene_object **object, Dwarf_Die scopes[TG_SCENE_MAX_SCOPES]);

/* As the operations, with "not known" where they are not there. */
const struct tg_scene_object *tg_scene_object(const struct tg_scene *scene, size_t index);
const struct tg_scene_object *tg_scene_object_at(const struct tg_scene *scene, uint64_t address);
bool tg_scene_symbol_at(const struct tg_scene *scene, uint64_t address, char *name, size_t size,
                        uint64_t *offset);

/* Register NUMBER, a wide one, as it is in the frame asked about. */
bool tg_scene_wide_register(const struct tg_scene *scene, unsigned number,
                            uint8_t bytes[TG_WIDE_REGISTER_SIZE]);

/* All of [address, address + size). Errors: TARGET, with the address. */
struct tg_error *tg_scene_read(const struct tg_scene *scene, uint64_t address, void *buffer, size_t size);

#endif
