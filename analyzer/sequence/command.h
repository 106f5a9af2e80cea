/* `tollgate sequence` */
#ifndef TG_ANALYZER_SEQUENCE_COMMAND_H
#define TG_ANALYZER_SEQUENCE_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_sequence_command;

/* Opens the file at PATH with xdg-open and waits for that. OS error. */
struct tg_error *tg_sequence_open(const char *path);

#endif
