/* One loaded object of a traced process, as the loader's link map and its own memory describe it. */
#ifndef TG_RECORDER_LOADER_LOADED_OBJECT_H
#define TG_RECORDER_LOADER_LOADED_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Immutable and reference-counted: processes share objects across fork, events borrow them. One thread. */
struct tg_loaded_object {
    unsigned references;
    bool is_library;       /* false for the main program, the kernel's vdso, and the agent's wrappers */
    uint64_t link_map;     /* address of its struct link_map */
    uint64_t base;         /* l_addr: load bias */
    uint64_t dynamic;      /* l_ld */
    uint64_t name_address; /* l_name */
    uint64_t header;       /* address of its ELF header, 0 where it was not found */
    uint64_t size_bytes;   /* extent of its PT_LOADs, 0 unknown */
    size_t path_length;
    const char *path;     /* l_name, "" for the main program */
    const char *build_id; /* lower-case hex, "" unknown */
};

/* struct link_map of <link.h>, widened. */
struct tg_link_node {
    uint64_t address; /* address of the node itself */
    uint64_t base;
    uint64_t name;
    uint64_t dynamic;
    uint64_t next;
    uint64_t previous;
};

/* The object behind NODE; NAME is its name where that is known already, "" where it is to be read. MAIN: NODE
 * is the program itself, whose header is not looked for. Reads its name and the first page of the image.
 * *OBJECT stays untouched and false comes back where the name cannot be read or is longer than PATH_MAX;
 * NO_MEMORY is told apart by *NO_MEMORY. The caller owns one reference. */
bool tg_loaded_object_read(pid_t pid, const struct tg_link_node *node, const char *name, bool main,
                           struct tg_loaded_object **object, bool *no_memory);

struct tg_loaded_object *tg_loaded_object_ref(struct tg_loaded_object *object);
void tg_loaded_object_unref(struct tg_loaded_object *object); /* NULL is accepted */

/* Sets DEPENDENCY[i] where another of the COUNT objects names object i in DT_NEEDED (by its DT_SONAME or by
 * the last component of its path), read from PID's memory. BITS is the program's word size. For events that
 * may hold several loads at once; cheap to call with one object. */
void tg_loaded_object_mark_dependencies(pid_t pid, unsigned bits, struct tg_loaded_object *const *objects,
                                        size_t count, bool *dependency);

/* How many of the COUNT objects of a base namespace, in list order from the program itself on, the loader
 * mapped before any of the program's code ran: those up to its own (at LOADER_BASE) and up to the last that
 * one of them needs. What follows was opened by constructors. COUNT where it cannot be told. */
size_t tg_loaded_object_startup_count(pid_t pid, unsigned bits, struct tg_loaded_object *const *objects,
                                      size_t count, uint64_t loader_base);

#endif
