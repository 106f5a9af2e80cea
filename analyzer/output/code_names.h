/* Names for the code addresses in events: object, function, source line. */
#ifndef TG_ANALYZER_OUTPUT_CODE_NAMES_H
#define TG_ANALYZER_OUTPUT_CODE_NAMES_H

#include "analyzer/models/addresses.h"
#include "analyzer/models/stacks.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "format/settings/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_code_names;

/* SERVICES must outlive it. */
struct tg_error *tg_code_names_create(const struct tg_command_services *services,
                                      struct tg_code_names **names);
/* NULL is accepted. */
void tg_code_names_destroy(struct tg_code_names *names);

/* Takes one event of the trace, in order: all of those that tg_code_names_needs. Names that the trace has itself come
 * before those of the files of this machine. Only error: NO_MEMORY. */
struct tg_error *tg_code_names_feed(struct tg_code_names *names, const struct tg_event *event);
bool tg_code_names_needs(unsigned kind);
/* How many such events there were: as long as it is the same, so are all names. */
uint64_t tg_code_names_feeds(const struct tg_code_names *names);

/* Whether FIELD is a code address. */
bool tg_code_names_concern(const struct tg_field *field);

/* The name of an address, as far as known. */
struct tg_code_name {
    const char *object; /* path of the program or library that it is in */
    struct tg_symbol symbol;
};

/* The name of address VALUE in FIELD of an event of process PID; of a return address, of the call before it.
 * False where nothing is known beyond the object, or FIELD is no code address. Strings live until the next
 * call. */
bool tg_code_names_find(struct tg_code_names *names, int32_t pid, const struct tg_field *field,
                        uint64_t value, struct tg_code_name *name);

/* The same of a plain return address. */
bool tg_code_names_find_return(struct tg_code_names *names, int32_t pid, uint64_t address,
                               struct tg_code_name *name);

/* The object that the call before the return address ADDRESS of process PID is in; NULL: not known. Valid until the next feed. */
const struct tg_mapped_object *tg_code_names_object(const struct tg_code_names *names, int32_t pid,
                                                    uint64_t address);

/* The name of ADDRESS, without load bias, of the object PATH is. False where nothing is known. */
bool tg_code_names_in_module(struct tg_code_names *names, const char *path, const char *build_id,
                             uint64_t address, struct tg_symbol *symbol);

/* What the trace of RECORDED says of the code at ADDRESS in OBJECT. The recorder read the files that ran, which need not be
 * here, or may be others by now. Strings are RECORDED's. False where it says nothing. */
bool tg_code_recorded_symbol(const struct tg_stack_model *recorded, const struct tg_mapped_object *object,
                             uint64_t address, struct tg_symbol *symbol);

/* "solve (solver.c:120)", "solve+0x1c": what SYMBOL says of the return address ADDRESS; where it says nothing
 * "libsolver.so+0x1c40", the place of the call in OBJECT, as in stacks; OBJECT may be NULL; where that is not known either
 * its number. Printable; SIZE at least 64.
 * Returns BUFFER. */
char *tg_code_symbol_print(const struct tg_symbol *symbol, const struct tg_mapped_object *object,
                           uint64_t address, char *buffer, size_t size);

/* Prints what is known of the return address ADDRESS into BUFFER: "solve (solver.c:120)", "solve+0x1c",
 * "libsolver.so+0x1c40", or its number. Printable; SIZE at least 64. Returns BUFFER. */
char *tg_code_names_print(struct tg_code_names *names, int32_t pid, uint64_t address, char *buffer,
                          size_t size);

/* Prints the name of the variable that holds ADDRESS into BUFFER: "queue_lock", "locks+8". Printable. Returns
 * BUFFER; NULL where none is known. */
char *tg_code_names_variable(struct tg_code_names *names, int32_t pid, uint64_t address, char *buffer,
                             size_t size);

/* The same of what is at ADDRESS in OBJECT, NULL: in none. */
char *tg_code_variable_print(const struct tg_command_services *services, struct tg_symbolizer *symbolizer,
                             const struct tg_mapped_object *object, uint64_t address, char *buffer,
                             size_t size);

#endif
