/* Threads that a live session stops without having been asked to. */
#ifndef TG_LIVE_CONTROL_STOP_POLICY_H
#define TG_LIVE_CONTROL_STOP_POLICY_H

#include <stdbool.h>

struct tg_stop_policy {
    bool at_start; /* the command at its first instruction, attached processes where they are */
    bool ranks;    /* processes that are ranks of an MPI job, at the first instruction of their program */
    bool signals;  /* threads that a signal is about to end: SIGSEGV and the like */
};

#endif
