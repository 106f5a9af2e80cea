/* Names of an object's variables, by address, and of the stubs of its procedure linkage. */
#ifndef TG_RECORDER_DWARF_DATA_NAMES_H
#define TG_RECORDER_DWARF_DATA_NAMES_H

#include "format/image/image.h"

#include <libelf.h>

/* Of one image. Everything is read at the first question; not thread-safe. */
struct tg_data_names;

/* NULL without memory. */
struct tg_data_names *tg_data_names_create(void);
/* NULL is accepted. */
void tg_data_names_destroy(struct tg_data_names *names);

/* The variable of IMAGE, always the same one, that holds ADDRESS, a virtual one: its NAME, valid as long as
 * NAMES, and where in it. */
bool tg_data_names_variable(struct tg_data_names *names, struct tg_image *image, uint64_t address,
                            const char **name, uint64_t *offset);

/* The stub of a linkage table of ELF, always the same one, that holds ADDRESS: "puts@plt". */
bool tg_data_names_stub(struct tg_data_names *names, Elf *elf, uint64_t address, const char **name,
                        uint64_t *offset);

#endif
