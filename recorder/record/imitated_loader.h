/* The list of a dynamic loader, imitated in a child of the recorder: objects that are mapped, as a debugger finds them at the
 * loader's stops. No code of theirs runs. Made before the fork; the child changes its copy. */
#ifndef TG_RECORDER_RECORD_IMITATED_LOADER_H
#define TG_RECORDER_RECORD_IMITATED_LOADER_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct tg_imitated_loader;

/* With a list that has the program alone, and room for N_OBJECTS. OS errors where this program's own file, which all objects
 * are copies of, cannot be opened. */
struct tg_error *tg_imitated_loader_create(size_t n_objects, struct tg_imitated_loader **loader);
void tg_imitated_loader_destroy(struct tg_imitated_loader *loader); /* NULL is accepted */

/* Address of its struct r_debug, the same in the child. */
uint64_t tg_imitated_loader_debug(const struct tg_imitated_loader *loader);

/* In the child. Maps an object that is in no list; NULL where that fails. */
char *tg_imitated_loader_map(struct tg_imitated_loader *loader);
/* In the child. Maps one object more, which is at the end of the list from now on, in state RT_ADD; beyond N_OBJECTS, the
 * state alone. */
void tg_imitated_loader_add(struct tg_imitated_loader *loader);
/* The list is consistent again. */
void tg_imitated_loader_settle(struct tg_imitated_loader *loader);

#endif
