/* The address model: library events in, what object is at an address of a process out. */
#ifndef TG_ANALYZER_MODELS_ADDRESSES_H
#define TG_ANALYZER_MODELS_ADDRESSES_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* An object in a process. Strings are the model's. */
struct tg_mapped_object {
    const char *path;
    const char *build_id; /* "" unknown */
    uint64_t base;        /* load bias */
    uint64_t size_bytes;  /* 0 unknown */
};

struct tg_addresses;

struct tg_error *tg_addresses_create(struct tg_addresses **model);
void tg_addresses_destroy(struct tg_addresses *model);
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_addresses_copy(const struct tg_addresses *model, struct tg_addresses **copy);

/* Takes one event, in the order of the trace: programs, execs, forks (which inherit), loads, unloads, ends;
 * others are ignored. Only error: NO_MEMORY. Memory follows the live processes and what they have loaded. */
struct tg_error *tg_addresses_feed(struct tg_addresses *model, const struct tg_event *event);

/* Whether events of KIND are not ignored. */
bool tg_addresses_needs(unsigned kind);

/* The object that holds ADDRESS in process PID; its program where no library does, since a program's extent
 * is not known. NULL where there is none. Valid until the next event. */
const struct tg_mapped_object *tg_addresses_find(const struct tg_addresses *model, int32_t pid,
                                                 uint64_t address);

#endif
