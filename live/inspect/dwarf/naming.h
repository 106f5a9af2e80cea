/* Names of addresses of a process: whoever inspects asks, whoever knows its modules answers. */
#ifndef TG_LIVE_INSPECT_DWARF_NAMING_H
#define TG_LIVE_INSPECT_DWARF_NAMING_H

#include "format/settings/command.h"
#include "recorder/dwarf/modules.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_inspect_namer {
    void *context;
    /* The function or variable that ADDRESS is in, and the source line of code. Strings live until the next
     * question, and may hold anything. False: nothing is known. */
    bool (*name)(void *context, uint64_t address, struct tg_symbol *symbol);
};

/* Names of the code and data of MODULES, which must outlive it. */
struct tg_inspect_namer tg_inspect_namer_of(struct tg_modules *modules);

/* NAMER may be NULL; *SYMBOL is empty where nothing is known. */
bool tg_inspect_name(const struct tg_inspect_namer *namer, uint64_t address, struct tg_symbol *symbol);

/* "solve+12", printable, "" where it is not known. Returns BUFFER, of SIZE at least 8. */
char *tg_inspect_label(const struct tg_inspect_namer *namer, uint64_t address, char *buffer, size_t size);

/* Source text, as it is but for what could deceive a terminal (shown by number): backslashes stay, tabs go to
 * columns of 8. SIZE bytes; more than MAX columns are cut, which "..." says. */
void tg_inspect_write_text(const char *text, size_t size, size_t max, FILE *stream);

#endif
