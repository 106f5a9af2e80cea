#include "live/commands/table.h"

#include "live/commands/control/commands.h"
#include "live/commands/control/hit_scripts.h"
#include "live/commands/control/job_settings.h"
#include "live/commands/control/remade_points.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/heap_stop.h"
#include "live/commands/info/wait_words.h"
#include "live/commands/info/worker_marks.h"
#include "live/commands/inspect/commands.h"
#include "live/commands/inspect/dexamine.h"
#include "live/commands/inspect/dlist.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/commands/motion/auto_sequence.h"
#include "live/commands/motion/catches.h"
#include "live/commands/motion/commands.h"
#include "live/commands/motion/entered.h"
#include "live/commands/motion/live_zones.h"
#include "live/commands/motion/opm_sequence.h"
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
    {"BAW", "dfocus gW dbarrier -stop_when_done group", NULL, TG_TCL_HAS_NONE},
    {"G", "dfocus g dgo", NULL, TG_TCL_HAS_NONE},
    {"H", "dfocus g dhalt", NULL, TG_TCL_HAS_NONE},
    {"N", "dfocus g dnext", NULL, TG_TCL_HAS_NONE},
    {"S", "dfocus g dstep", NULL, TG_TCL_HAS_NONE},
    {"ST", "dfocus g dstatus", NULL, TG_TCL_HAS_NONE},
    {"ac", "dactions", NULL, TG_TCL_HAS_NONE},
    {"b", "dbreak", NULL, TG_TCL_HAS_NONE},
    {"ba", "dbarrier", NULL, TG_TCL_HAS_NONE},
    {"baw", "dfocus pW dbarrier -stop_when_done process", NULL, TG_TCL_HAS_NONE},
    {"co", "dcont", NULL, TG_TCL_HAS_NONE},
    {"de", "ddelete", NULL, TG_TCL_HAS_NONE},
    {"di", "ddisable", NULL, TG_TCL_HAS_NONE},
    {"en", "denable", NULL, TG_TCL_HAS_NONE},
    {"f", "dfocus", NULL, TG_TCL_HAS_NONE},
    {"g", "dgo", NULL, TG_TCL_HAS_NONE},
    {"h", "dhalt", NULL, TG_TCL_HAS_NONE},
    {"l", "dlist", NULL, TG_TCL_HAS_NONE},
    {"n", "dnext", NULL, TG_TCL_HAS_NONE},
    {"p", "dprint", NULL, TG_TCL_HAS_NONE},
    {"s", "dstep", NULL, TG_TCL_HAS_NONE},
    {"st", "dstatus", NULL, TG_TCL_HAS_NONE},
    {"w", "dwhere", NULL, TG_TCL_HAS_NONE},
    {"wa", "dwatch", NULL, TG_TCL_HAS_NONE},
    {"x", "dexamine", NULL, TG_TCL_HAS_NONE},
    {NULL, NULL, NULL, TG_TCL_HAS_NONE},
};

/* Words of gdb: another name where the meaning is the same, else what to type. In alphabetical order, of two words that
 * begin alike the longer one first: the first that fits is taken. */
static const struct tg_console_alias gdb_words[] = {
    {"advance", "duntil", NULL, TG_TCL_HAS_NONE},
    {"attach", "dattach", NULL, TG_TCL_HAS_NONE},
    {"backtrace full", "dwhere -args -locals", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"backtrace", "dwhere", NULL, TG_TCL_HAS_NONE},
    {"break", "dbreak", NULL, TG_TCL_LOOPS},
    {"bt full", "dwhere -args -locals", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"bt", "dwhere", NULL, TG_TCL_HAS_NONE},
    {"c", "dcont", NULL, TG_TCL_HAS_NONE},
    {"call", NULL, "functions of the program cannot be called; `dprint EXPRESSION` shows values",
     TG_TCL_HAS_NONE},
    {"continue", "dcont", NULL, TG_TCL_LOOPS},
    {"delete", "ddelete", NULL, TG_TCL_HAS_NONE},
    {"detach", "ddetach", NULL, TG_TCL_HAS_NONE},
    {"disable", "ddisable", NULL, TG_TCL_HAS_NONE},
    {"disassemble", "dexamine /i", NULL, TG_TCL_HAS_NONE},
    {"display", NULL, "`dprint EXPRESSION` prints once; a `proc` can print after each step", TG_TCL_HAS_NONE},
    {"down", "ddown", NULL, TG_TCL_HAS_NONE},
    {"enable", "denable", NULL, TG_TCL_HAS_NONE},
    {"finish", "dout", NULL, TG_TCL_HAS_NONE},
    {"frame", NULL, "`dup N` and `ddown N` go to other frames, `dprint -frame N EXPRESSION` prints in one",
     TG_TCL_HAS_NONE},
    {"info args", "dwhere -chosen -args", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"info b", "dactions", NULL, TG_TCL_HAS_NONE},
    {"info breakpoints", "dactions", NULL, TG_TCL_HAS_NONE},
    {"info frame", "dwhere -chosen -args", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"info inferiors", "info processes", NULL, TG_TCL_HAS_NONE},
    {"info line", NULL, "`dlist` shows the source where the thread in focus is stopped", TG_TCL_HAS_NONE},
    {"info locals", "dwhere -chosen -locals", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"info proc", "info processes", NULL, TG_TCL_HAS_NONE},
    {"info registers", NULL, "`dprint {$rip}` prints one, also $rsp, $rax, ...", TG_TCL_HAS_NONE},
    {"info sharedlibrary", "info libraries", NULL, TG_TCL_HAS_NONE},
    {"info source", NULL, "`dlist` shows the source where the thread in focus is stopped", TG_TCL_HAS_NONE},
    {"info threads", "dstatus", NULL, TG_TCL_HAS_NONE},
    {"interrupt", "dhalt", NULL, TG_TCL_HAS_NONE},
    {"jump", NULL, "threads cannot be sent to another line", TG_TCL_HAS_NONE},
    {"kill", "dkill", NULL, TG_TCL_HAS_NONE},
    {"list", "dlist", NULL, TG_TCL_TAKES_ARGUMENTS},
    {"nexti", "dnexti", NULL, TG_TCL_HAS_NONE},
    {"ni", "dnexti", NULL, TG_TCL_HAS_NONE},
    {"print", "dprint", NULL, TG_TCL_HAS_NONE},
    {"ptype", NULL, "`dprint EXPRESSION` shows the members, `dprint {&EXPRESSION}` the type",
     TG_TCL_HAS_NONE},
    {"q", "quit", NULL, TG_TCL_HAS_NONE},
    {"r", "drun", NULL, TG_TCL_HAS_NONE},
    {"run", "drun", NULL, TG_TCL_HAS_NONE},
    {"rwatch", NULL, "only writes are watched: `dwatch EXPRESSION`", TG_TCL_HAS_NONE},
    {"si", "dstepi", NULL, TG_TCL_HAS_NONE},
    {"start", NULL, "`break main`, then `run`", TG_TCL_HAS_NONE},
    {"stepi", "dstepi", NULL, TG_TCL_HAS_NONE},
    {"tbreak", NULL, "`break LOCATION`, and `delete N` once it was hit", TG_TCL_HAS_NONE},
    {"thread", NULL,
     "`dfocus 1.2` chooses thread 2 of process 1, `info threads` lists threads, `dfocus a dwhere` "
     "shows all stacks",
     TG_TCL_HAS_NONE},
    {"until", "duntil", NULL, TG_TCL_HAS_NONE},
    {"up", "dup", NULL, TG_TCL_HAS_NONE},
    {"watch", "dwatch", NULL, TG_TCL_HAS_NONE},
    {"whatis", NULL, "`dprint {&EXPRESSION}` shows the type before the address", TG_TCL_HAS_NONE},
    {NULL, NULL, NULL, TG_TCL_HAS_NONE},
};

static const struct tg_console_state_kind *const states[] = {
    &tg_auto_sequence_kind,     &tg_opm_sequence_kind,  &tg_catches_kind,
    &tg_one_runs_kind,          &tg_entered_kind,       &tg_examination_kind,
    &tg_frame_choices_kind,     &tg_hit_scripts_kind,   &tg_job_settings_kind,
    &tg_listing_kind,           &tg_remade_points_kind, &tg_heap_stop_kind,
    &tg_setting_variables_kind, &tg_page_session_kind,  NULL,
};

const struct tg_console_table tg_command_table = {
    .commands = commands,
    .aliases = aliases,
    .foreign = gdb_words,
    .states = states,
    .interrupt = tg_focus_call_halt,
    .wait_lasts = tg_wait_words_tell,
};
