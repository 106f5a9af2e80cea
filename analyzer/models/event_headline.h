/* The gist of an event in a few words: "load libfoo.so (+2)", "signal SIGSEGV at 0x10". */
#ifndef TG_ANALYZER_MODELS_EVENT_HEADLINE_H
#define TG_ANALYZER_MODELS_EVENT_HEADLINE_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdint.h>

/* The gist of an event, kept when the event is gone. Zero-initialised: no event (kind 0). */
struct tg_event_headline {
    uint64_t time_ns;
    int32_t tid;
    unsigned kind;
    int64_t number;   /* signal, status, or count of what came along */
    uint64_t address; /* of a fault or breakpoint */
    const char
        *text; /* path or other text, "" none; raw, not printable; a constant, or OWN; NULL: VALUE names it */
    uint64_t value; /* of OpenMP events, where TEXT is NULL: what is behind their place */
    char *own;
    size_t own_capacity;
};

/* Keeps the gist of EVENT in place of the former one. NO_MEMORY changes nothing. */
struct tg_error *tg_event_headline_keep(struct tg_event_headline *headline, const struct tg_event *event);

/* The path or other text of HEADLINE, "" none; raw, not printable. Valid as long as HEADLINE keeps its event. */
const char *tg_event_headline_text(const struct tg_event_headline *headline);

/* Makes TO, which is zero-initialised, a copy of FROM. NO_MEMORY changes nothing. */
struct tg_error *tg_event_headline_copy(const struct tg_event_headline *from, struct tg_event_headline *to);

void tg_event_headline_deinit(struct tg_event_headline *headline);

/* Writes the headline to BUFFER (SIZE at least 64; too long a text is cut), printable on a terminal, without
 * time and thread; paths are shortened to their last component. Returns BUFFER. */
char *tg_event_headline_print(const struct tg_event_headline *headline, char *buffer, size_t size);

/* The library that names a LIST of struct tg_library, loaded or unloaded together: the first that is not a
 * dependency of another one. Tollgate's own libraries are left out; *COUNT is the number of the others.
 * NULL: none. Lives as long as the list. */
const struct tg_library *tg_event_headline_library(const struct tg_list *list, uint64_t *count);

/* The last component of PATH; PATH itself where it ends with a slash or has none. */
const char *tg_event_headline_base_name(const char *path);

#endif
