#include "analyzer/job/run_types.h"

const char *tg_run_decision_name(enum tg_run_decision_kind kind)
{
    static const char *const names[] = {"stop_thread", "stop_process", "stop_group", "resume_thread",
                                        "arrived",     "late",         "held",       "satisfied",
                                        "released",    "left",         "stuck"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *tg_barrier_reason_name(enum tg_barrier_reason reason)
{
    static const char *const names[] = {"satisfied", "deleted", "disabled", "unheld",
                                        "exited",    "exec",    "detached"};
    return (size_t)reason < sizeof names / sizeof *names ? names[reason] : "unknown";
}
