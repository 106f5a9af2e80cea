/* Breakpoint specifications looked up in the files of this machine. */
#ifndef TG_FORMAT_IMAGE_BREAK_FINDER_H
#define TG_FORMAT_IMAGE_BREAK_FINDER_H

#include "format/settings/command.h"

/* As struct tg_command_services says. PATH and BUILD_ID may come from an untrusted trace: only regular files
 * are read. */
void tg_break_finder_find(const char *path, const char *build_id, const struct tg_break_spec *const *specs,
                          size_t n, enum tg_break_presence *found);

#endif
