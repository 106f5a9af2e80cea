/* Functions and source lines of code addresses in a trace, and names of variables, from the files that this machine has. */
#ifndef TG_FORMAT_IMAGE_SYMBOLIZER_H
#define TG_FORMAT_IMAGE_SYMBOLIZER_H

#include "format/base/error.h"
#include "format/settings/command.h"

/* Reads each object once, at the first question about it, and remembers its answers. Paths and build-ids may
 * come from an untrusted trace: only regular files are read. Keeps at most 64 files open. */
struct tg_error *tg_symbolizer_create(struct tg_symbolizer **symbolizer);
void tg_symbolizer_destroy(struct tg_symbolizer *symbolizer);

/* As struct tg_command_services says. Where memory is short, nothing is known. */
bool tg_symbolizer_resolve(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                           uint64_t address, struct tg_symbol *symbol);
const char *tg_symbolizer_variable(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                                   uint64_t address, uint64_t *offset);

#endif
