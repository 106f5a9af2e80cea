/* A cheap look for function names in the file of a mapped object. Most breakpoints have no place in most
 * libraries, and a program that loads hundreds of plug-ins waits for each answer: so before an image of a
 * file is made (recorder/process/image_cache.h), with its indexes, its names are searched as they are in
 * the file. */
#ifndef TG_RECORDER_PROCESS_SYMBOL_PROBE_H
#define TG_RECORDER_PROCESS_SYMBOL_PROBE_H

#include "recorder/process/image_cache.h"

enum { TG_SYMBOL_PROBE_MAX_NAMES = 16 };

struct tg_symbol_probe; /* buffers; the tracer thread's */

struct tg_symbol_probe *tg_symbol_probe_create(void);        /* NULL without memory */
void tg_symbol_probe_destroy(struct tg_symbol_probe *probe); /* NULL is accepted */

/* True where tg_image_find_function would certainly find none of the N_NAMES NAMES in the image of SOURCE:
 * the file at its path is the one that is mapped (its build-id says so), it has a symbol table of its own (so
 * that no separate debug file is asked), and no string table that names are looked up in holds any of them,
 * not even as a part of another. False otherwise: then ask the image. Opens regular files only. */
bool tg_symbol_probe_lacks(struct tg_symbol_probe *probe, const struct tg_image_source *source,
                           const char *const *names, size_t n_names);

/* The same for the symbols of the file itself, of any type, and names that contain TEXT: a file without a
 * symbol table of its own can be judged as well, because separate debug files do not count. */
bool tg_symbol_probe_lacks_text(struct tg_symbol_probe *probe, const struct tg_image_source *source,
                                const char *text);

#endif
