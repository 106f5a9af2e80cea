/* The load call model: calls of dlopen, dlmopen and dlclose in, how many there were and which ones failed and
 * why, out. Calls are seen by the agent alone. */
#ifndef TG_ANALYZER_MODELS_LOAD_CALLS_H
#define TG_ANALYZER_MODELS_LOAD_CALLS_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* Calls that failed alike: the same function, path, error and caller. */
struct tg_load_failure {
    uint64_t call;      /* enum tg_library_call */
    const char *path;   /* "" for dlclose */
    const char *error;  /* dlerror's text */
    uint64_t caller;    /* address of the first one's return */
    const char *object; /* path of the program or library that calls, "" unknown */
    uint64_t times;
    uint64_t first_ns;
    size_t first_process; /* index in the process model */
};

struct tg_load_call_totals {
    uint64_t calls[3];     /* by enum tg_library_call */
    uint64_t returned;     /* of these: their return was seen */
    uint64_t failed;       /* returned with an error */
    uint64_t not_loaded;   /* returned nothing and no error: RTLD_NOLOAD */
    uint64_t beyond_limit; /* failures that are in no entry of the list */
};

enum { TG_LOAD_CALL_MAX_FAILURES = 1000 }; /* distinct ones that are kept */

struct tg_load_calls;

struct tg_error *tg_load_calls_create(struct tg_load_calls **model);
void tg_load_calls_destroy(struct tg_load_calls *model);

/* Takes one event of the process with index PROCESS in the process model; OBJECT is the path of what the
 * caller of a library_call is in, "" unknown. Other kinds than these calls and ends are ignored. Only error:
 * NO_MEMORY. Memory follows the threads with open calls and the distinct failures. */
struct tg_error *tg_load_calls_feed(struct tg_load_calls *model, const struct tg_event *event, size_t process,
                                    const char *object);

struct tg_load_call_totals tg_load_calls_totals(const struct tg_load_calls *model);

/* Failure I of [0, count), in the order of their first ones; valid until the next event. */
size_t tg_load_calls_count(const struct tg_load_calls *model);
const struct tg_load_failure *tg_load_calls_at(const struct tg_load_calls *model, size_t i);

#endif
