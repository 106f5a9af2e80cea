/* What `dheap -info ADDRESS` says: the block that the address is in, or was in last, of each process in focus. */
#ifndef TG_LIVE_COMMANDS_INFO_DHEAP_HISTORY_H
#define TG_LIVE_COMMANDS_INFO_DHEAP_HISTORY_H

#include "live/commands/info/address_history.h"
#include "live/commands/info/dheap_call.h"

/* To CALL's stream. Where no process in focus knows the address, those that are not in focus are told, a few of them. */
void tg_dheap_write_history(const struct tg_dheap_call *call, const struct tg_address_history *history);

#endif
