/* Names of code in what the console says. */
#ifndef TG_LIVE_COMMANDS_INFO_CODE_WORDS_H
#define TG_LIVE_COMMANDS_INFO_CODE_WORDS_H

#include "analyzer/models/addresses.h"
#include "live/console/command.h"

/* "solve (solver.c:120)", or the number: of ADDRESS, which is behind a call, in the process with index
 * PROCESS. CONTEXT is a const struct tg_console. The form that struct tg_code_namer wants. */
char *tg_code_words(void *context, size_t process, uint64_t address, char *buffer, size_t size);

/* The function and source line of that code, and the object that it is in. False where nothing is known. */
bool tg_code_symbol(const struct tg_console *console, size_t process, uint64_t address,
                    struct tg_symbol *symbol, const struct tg_mapped_object **object);

/* The name of the variable that holds ADDRESS, NULL: none is known; in the same form. */
char *tg_code_variable(void *context, size_t process, uint64_t address, char *buffer, size_t size);

#endif
