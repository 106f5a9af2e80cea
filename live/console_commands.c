/* The table of the console's commands. */
#include "live/console_command.h"

const struct tg_console_command *const tg_console_commands[] = {
    &tg_console_info_workers,   &tg_console_info_barrier,   &tg_console_info_mpi,
    &tg_console_info_processes, &tg_console_info_libraries, &tg_console_info_event,
    &tg_console_where,          &tg_console_next,           &tg_console_step,
    &tg_console_back,           &tg_console_goto,           &tg_console_find,
    &tg_console_opm_start,      &tg_console_opm_next,       &tg_console_opm_step,
    &tg_console_opm_all_out,    &tg_console_opm_sections,   &tg_console_opm_critical,
    &tg_console_opm_barrier,    &tg_console_opm_sequence,   &tg_console_dcont,
    &tg_console_focus,          &tg_console_dfocus,         &tg_console_help,
    &tg_console_quit,           &tg_console_exit,           NULL,
};
