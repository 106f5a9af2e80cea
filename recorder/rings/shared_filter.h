/* The dlopen filter as the agents' auditors see it (struct tg_agent_filter in recorder/agent/contract.h). */
#ifndef TG_RECORDER_RINGS_SHARED_FILTER_H
#define TG_RECORDER_RINGS_SHARED_FILTER_H

#include "format/settings/dlopen_filter.h"
#include "recorder/rings/directory.h"

/* FILTER becomes the one in force, in two steps. When the first one returns, nothing is decided by the old one any more;
 * before the second one is called, nothing by the new one. The clocks of what is decided before, between and behind them
 * are told apart. On one thread. */
void tg_shared_filter_end_old(const struct tg_agent_directory *directory);
void tg_shared_filter_begin_new(const struct tg_agent_directory *directory,
                                const struct tg_dlopen_filter *filter);

#endif
