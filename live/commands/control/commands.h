/* Commands that control a live job. */
#ifndef TG_LIVE_COMMANDS_CONTROL_COMMANDS_H
#define TG_LIVE_COMMANDS_CONTROL_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_dkill, tg_console_ddetach, tg_console_dattach,
    tg_console_drun, tg_console_dbreak, tg_console_dbarrier, tg_console_denable, tg_console_ddisable,
    tg_console_ddelete, tg_console_dactions, tg_console_dgo, tg_console_dhalt, tg_console_dwait,
    tg_console_dhold, tg_console_dunhold, tg_console_dptsets, tg_console_dgroups, tg_console_dstatus,
    tg_console_dstep, tg_console_dnext, tg_console_dstepi, tg_console_dnexti, tg_console_dout,
    tg_console_duntil, tg_console_dwatch;

#endif
