/* What a stop costs on this machine. */
#ifndef TG_RECORDER_CALIBRATE_H
#define TG_RECORDER_CALIBRATE_H

#include "format/command.h"

/*
 * Forks a child that runs a counted loop into a breakpoint (`ret` under int3, emulated as the engine does),
 * and times it against the same loop without. Median of several rounds, a few milliseconds. Must not be
 * called while another engine runs in this process.
 */
struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost);

#endif
