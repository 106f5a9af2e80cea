/* A place in a caller's own object through which a function called on its behalf can return to the agent.
 *
 * Some functions of libc ask who called them by their return address: dlopen's search path ($ORIGIN, RUNPATH)
 * and namespace are the caller's. A wrapper would be the caller itself. So it calls them with a return
 * address that lies in the real caller's object and points at a `ret` there, which leads on to the agent.
 *
 * Whoever unwinds the stack (exceptions, cancellation, backtraces) takes such a return address for that of a
 * call in the function around the `ret`, and expects the stack to look as that function's unwind row for the
 * byte before it says. Only rows are taken that the agent's thunk can honour. */
#ifndef TG_RECORDER_AGENT_CALLS_RETURN_SITE_H
#define TG_RECORDER_AGENT_CALLS_RETURN_SITE_H

#include "recorder/agent/process.h"

#include <stdbool.h>
#include <stdint.h>

enum tg_return_frame {
    TG_RETURN_NOWHERE, /* there is no such place */
    TG_RETURN_PLAIN,   /* the row: CFA = rsp + 8, or rsp + 16 + SKIPPED, nothing saved */
    TG_RETURN_FRAMED,  /* the row: CFA = rbp + 16, rbp saved below the return address, nothing else saved */
};

enum { TG_RETURN_MAX_SKIPPED = 1008 };

struct tg_return_site {
    uint64_t address; /* address of the `ret` */
    enum tg_return_frame frame;
    unsigned skipped; /* bytes; a multiple of 16 */
};

/* Finds one for a call that would return to CALLER: in the caller's function where that has one, otherwise
 * anywhere in its object. Looks at nothing but the object's unwind tables and code, takes no lock, and is
 * async-signal-safe. */
struct tg_return_site tg_return_site_find(uint64_t caller);

/* Whether ADDRESS is one that was found, of the first ones that there is room for: a frame that is there for the agent's sake. No
 * lock; async-signal-safe. */
bool tg_return_site_is_known(uint64_t address) TG_AGENT_SHARED(tg_return_site_is_known);

/* Whether this thread has a shadow stack, which no such return gets past. */
bool tg_return_site_is_guarded(void);

#endif
