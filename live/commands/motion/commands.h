/* Commands that move along events and OpenMP zones. */
#ifndef TG_LIVE_COMMANDS_MOTION_COMMANDS_H
#define TG_LIVE_COMMANDS_MOTION_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_find, tg_console_next, tg_console_step, tg_console_back,
    tg_console_goto, tg_console_opm_next, tg_console_opm_start, tg_console_opm_sequence, tg_console_opm_step,
    tg_console_opm_all_out, tg_console_opm_sections, tg_console_dcont, tg_console_opm_critical,
    tg_console_opm_barrier;

#endif
