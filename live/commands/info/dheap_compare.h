/* What `dheap -compare MOMENT` says: which live blocks there are more or fewer of now than then. */
#ifndef TG_LIVE_COMMANDS_INFO_DHEAP_COMPARE_H
#define TG_LIVE_COMMANDS_INFO_DHEAP_COMPARE_H

#include "format/base/error.h"
#include "live/commands/info/dheap_call.h"

/* Reads the trace of CALL again up to that moment, and writes to CALL's stream. Errors: USAGE, it is no moment; those of reading;
 * NO_MEMORY. */
struct tg_error *tg_dheap_compare(const struct tg_dheap_call *call);

#endif
