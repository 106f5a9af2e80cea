/* An object in a process's memory, as those want it who look for the places of breakpoint specifications in
 * it. */
#ifndef TG_RECORDER_BREAKPOINTS_OBJECT_H
#define TG_RECORDER_BREAKPOINTS_OBJECT_H

#include "format/settings/break_spec.h"
#include "recorder/breakpoints/digest_set.h"
#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

#include <limits.h>

enum {
    TG_BREAK_OBJECT_MAX_PLACES = 1024
}; /* places of one specification in one object: room that callers make */

/* Strings are borrowed. */
struct tg_break_object {
    const char *path;     /* as the link map has it */
    const char *build_id; /* as tg_image_peek gave it, "" where the object has none; NULL not known */
    uint64_t load_bias;
    uint64_t header;     /* address of its ELF header, 0 unknown */
    uint64_t size_bytes; /* from its first page on, 0 unknown */
    bool is_program;     /* the process's program: its file is the process's, whatever PATH says */
};

/* The program of PROCESS; its path goes to PATH, "" where it cannot be told. TID: a thread of it that has
 * memory. Where it was mapped is known once it is told its image. */
void tg_break_object_program(const struct tg_process *process, pid_t tid, char path[PATH_MAX],
                             struct tg_break_object *object);
void tg_break_object_program_mapped(const struct tg_process *process, const struct tg_image *image,
                                    struct tg_break_object *object);

/* The source for the image of OBJECT, which is in the memory of TID; borrows its strings. */
struct tg_image_source tg_break_object_source(const struct tg_break_object *object, pid_t tid);

/* Addresses in the process, at most MAX, of a FUNCTION or FILE:LINE that is looked for in OBJECT's image;
 * returns how many. Of an *ADDRESS none. A function is also where the copies begin
 * that the compiler has put into its callers, in the program and in libraries that have the function itself. */
size_t tg_break_object_find(const struct tg_break_object *object, struct tg_image *image,
                            const struct tg_break_spec *spec, uint64_t *addresses, size_t max);

/* Whether ADDRESS is in OBJECT; false where its extent is not known. */
bool tg_break_object_holds(const struct tg_break_object *object, uint64_t address);

/* A digest of OBJECT's file (its build-id, and its path, which specifications may name) and of SALT, "" for
 * none; false where it has no build-id. */
bool tg_break_object_digest(const struct tg_break_object *object, const char *salt, struct tg_digest *digest);

#endif
