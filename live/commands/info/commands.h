/* Commands that ask what has happened, of a trace or of a live job. */
#ifndef TG_LIVE_COMMANDS_INFO_COMMANDS_H
#define TG_LIVE_COMMANDS_INFO_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_info_barrier, tg_console_info_dlopen,
    tg_console_dinfo_dlopen, tg_console_dinfo_libraries, tg_console_info_processes, tg_console_info_libraries,
    tg_console_info_mpi, tg_console_info_mpir, tg_console_info_workers, tg_console_info_event,
    tg_console_where, tg_console_dheap;

#endif
