#include "live/commands/table.h"

#include "live/commands/control/commands.h"
#include "live/commands/control/hit_scripts.h"
#include "live/commands/control/job_settings.h"
#include "live/commands/control/remade_points.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/wait_words.h"
#include "live/commands/info/worker_marks.h"
#include "live/commands/inspect/commands.h"
#include "live/commands/inspect/dexamine.h"
#include "live/commands/inspect/dlist.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/commands/motion/auto_sequence.h"
#include "live/commands/motion/catches.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/page/commands.h"
#include "live/commands/page/page_session.h"
#include "live/commands/session/commands.h"
#include "live/commands/session/setting_variables.h"

static const struct tg_console_command *const commands[] = {
    /* asking what has happened */
    &tg_console_info_workers,
    &tg_console_info_barrier,
    &tg_console_info_mpi,
    &tg_console_info_mpir,
    &tg_console_info_processes,
    &tg_console_info_libraries,
    &tg_console_info_dlopen,
    &tg_console_dinfo_dlopen,
    &tg_console_dinfo_libraries,
    &tg_console_info_event,
    &tg_console_where,
    &tg_console_dheap,
    /* moving along */
    &tg_console_next,
    &tg_console_step,
    &tg_console_back,
    &tg_console_goto,
    &tg_console_find,
    &tg_console_opm_start,
    &tg_console_opm_next,
    &tg_console_opm_step,
    &tg_console_opm_all_out,
    &tg_console_opm_sections,
    &tg_console_opm_critical,
    &tg_console_opm_barrier,
    &tg_console_opm_sequence,
    &tg_console_dcont,
    /* control */
    &tg_console_focus,
    &tg_console_dfocus,
    &tg_console_dptsets,
    &tg_console_dgroups,
    &tg_console_dgo,
    &tg_console_dhalt,
    &tg_console_dwait,
    &tg_console_dhold,
    &tg_console_dunhold,
    &tg_console_dstatus,
    &tg_console_dbreak,
    &tg_console_dbarrier,
    &tg_console_dwatch,
    &tg_console_dactions,
    &tg_console_denable,
    &tg_console_ddisable,
    &tg_console_ddelete,
    &tg_console_drun,
    &tg_console_dattach,
    &tg_console_dkill,
    &tg_console_ddetach,
    &tg_console_dstep,
    &tg_console_dnext,
    &tg_console_dstepi,
    &tg_console_dnexti,
    &tg_console_dout,
    &tg_console_duntil,
    &tg_console_dwhere,
    &tg_console_dup,
    &tg_console_ddown,
    &tg_console_dlist,
    &tg_console_dexamine,
    &tg_console_dprint,
    &tg_console_dassign,
    &tg_console_gui_start,
    &tg_console_gui_show,
    &tg_console_gui_control,
    &tg_console_gui_quit,
    &tg_console_dset,
    &tg_console_dunset,
    &tg_console_alias,
    &tg_console_help,
    &tg_console_quit,
    &tg_console_exit,
    NULL,
};

/* In alphabetical order. To add one: a line here, and in the manual page of the command. */
static const struct tg_console_alias aliases[] = {
    {"BAW", "dfocus gW dbarrier -stop_when_done group", NULL, false},
    {"G", "dfocus g dgo", NULL, false},
    {"H", "dfocus g dhalt", NULL, false},
    {"N", "dfocus g dnext", NULL, false},
    {"S", "dfocus g dstep", NULL, false},
    {"ST", "dfocus g dstatus", NULL, false},
    {"ac", "dactions", NULL, false},
    {"b", "dbreak", NULL, false},
    {"ba", "dbarrier", NULL, false},
    {"baw", "dfocus pW dbarrier -stop_when_done process", NULL, false},
    {"co", "dcont", NULL, false},
    {"de", "ddelete", NULL, false},
    {"di", "ddisable", NULL, false},
    {"en", "denable", NULL, false},
    {"f", "dfocus", NULL, false},
    {"g", "dgo", NULL, false},
    {"h", "dhalt", NULL, false},
    {"l", "dlist", NULL, false},
    {"n", "dnext", NULL, false},
    {"p", "dprint", NULL, false},
    {"s", "dstep", NULL, false},
    {"st", "dstatus", NULL, false},
    {"w", "dwhere", NULL, false},
    {"wa", "dwatch", NULL, false},
    {"x", "dexamine", NULL, false},
    {NULL, NULL, NULL, false},
};

/* Words of gdb: another name where the meaning is the same, else what to type. In alphabetical order. */
static const struct tg_console_alias gdb_words[] = {
    {"attach", "dattach", NULL, false},
    {"backtrace", "dwhere", NULL, false},
    {"break", "dbreak", NULL, true},
    {"bt", "dwhere", NULL, false},
    {"c", "dcont", NULL, false},
    {"continue", "dcont", NULL, true},
    {"delete", "ddelete", NULL, false},
    {"detach", "ddetach", NULL, false},
    {"disable", "ddisable", NULL, false},
    {"disassemble", "dexamine /i", NULL, false},
    {"display", NULL, "`dprint EXPRESSION` prints once; a `proc` can print after each step", false},
    {"down", "ddown", NULL, false},
    {"enable", "denable", NULL, false},
    {"finish", "dout", NULL, false},
    {"frame", NULL, "`dup N` and `ddown N` go to other frames, `dprint -frame N EXPRESSION` prints in one",
     false},
    {"info b", "dactions", NULL, false},
    {"info breakpoints", "dactions", NULL, false},
    {"info inferiors", "info processes", NULL, false},
    {"info line", NULL, "`dlist` shows the source where the thread in focus is stopped", false},
    {"info registers", NULL, "`dprint {$rip}` prints one, also $rsp, $rax, ...", false},
    {"info sharedlibrary", "info libraries", NULL, false},
    {"info threads", "dstatus", NULL, false},
    {"interrupt", "dhalt", NULL, false},
    {"kill", "dkill", NULL, false},
    {"nexti", "dnexti", NULL, false},
    {"ni", "dnexti", NULL, false},
    {"print", "dprint", NULL, false},
    {"q", "quit", NULL, false},
    {"r", "drun", NULL, false},
    {"run", "drun", NULL, false},
    {"rwatch", NULL, "only writes are watched: `dwatch EXPRESSION`", false},
    {"si", "dstepi", NULL, false},
    {"start", NULL, "`break main`, then `run`", false},
    {"stepi", "dstepi", NULL, false},
    {"tbreak", NULL, "`break LOCATION`, and `delete N` once it was hit", false},
    {"thread", NULL, "`dfocus 1.2` chooses thread 2 of process 1, `info threads` lists threads", false},
    {"until", "duntil", NULL, false},
    {"up", "dup", NULL, false},
    {"watch", "dwatch", NULL, false},
    {"x/i", "dexamine /i", NULL, false},
    {NULL, NULL, NULL, false},
};

static const struct tg_console_state_kind *const states[] = {
    &tg_auto_sequence_kind,
    &tg_catches_kind,
    &tg_one_runs_kind,
    &tg_live_entered_kind,
    &tg_examination_kind,
    &tg_frame_choices_kind,
    &tg_hit_scripts_kind,
    &tg_job_settings_kind,
    &tg_listing_kind,
    &tg_remade_points_kind,
    &tg_setting_variables_kind,
    &tg_page_session_kind,
    NULL,
};

const struct tg_console_table tg_command_table = {
    .commands = commands,
    .aliases = aliases,
    .foreign = gdb_words,
    .states = states,
    .interrupt = tg_focus_call_halt,
    .wait_lasts = tg_wait_words_tell,
};
