/* The cost of a stop on this machine. */
#ifndef TG_RECORDER_RECORD_CALIBRATE_H
#define TG_RECORDER_RECORD_CALIBRATE_H

#include "format/settings/command.h"

/* Forks a child that runs into a trap again and again, does at each stop what the engine does at the least
 * (registers, one read of the stack, registers, continue), and times each, with some work of the program behind
 * it, against calls without the trap:
 * some right behind each other, as in a loop of dlopens, some far apart, as where a program computes between
 * them. Some ten milliseconds. OS error where a child cannot be forked or traced,
 * TARGET where it ends early. Must not be called while an engine runs in this process. */
struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost);

#endif
