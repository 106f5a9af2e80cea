/* Processes that the kernel killed because memory ran out: its counters, and its log where that can be read. What they say
 * is evidence for one SIGKILL, whose sender is otherwise unknown. */
#ifndef TG_RECORDER_PROCESS_MEMORY_KILLS_H
#define TG_RECORDER_PROCESS_MEMORY_KILLS_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TG_MEMORY_KILLS_VICTIMS = 64 }; /* kept, the latest ones */

/* Since tg_memory_kills_begin; all zero has not begun. */
struct tg_memory_kills {
    bool has_log, log_has_gaps;
    int log; /* where has_log: /dev/kmsg, which can be read and has our process numbers */
    char group_file[512];
    int64_t machine_before, group_before; /* -1 unknown */
    pid_t victims[TG_MEMORY_KILLS_VICTIMS];
    unsigned n_victims; /* each once */
};

struct tg_memory_kill_counts {
    int64_t machine; /* processes of this machine, -1 unknown */
    int64_t group;   /* of these, in the memory control group of the caller, -1 unknown */
};

void tg_memory_kills_begin(struct tg_memory_kills *kills);
void tg_memory_kills_end(struct tg_memory_kills *kills);
struct tg_memory_kill_counts tg_memory_kills_count(const struct tg_memory_kills *kills);
/* Whether the log says that PID was killed; false also where it cannot be read. */
bool tg_memory_kills_names(struct tg_memory_kills *kills, pid_t pid);

/* Whether the log names all processes of COUNTS, so that one that it does not name was not killed for memory; false also where
 * that is not known. Asks what tg_memory_kills_names has read. */
bool tg_memory_kills_are_named(const struct tg_memory_kills *kills, struct tg_memory_kill_counts counts);

/* The event of what is known about END, of a process that SIGKILL ended, which has no sender. */
struct tg_event tg_memory_kills_evidence(struct tg_memory_kills *kills, const struct tg_event *end);

/* The number behind "NAME " at the beginning of a line of TEXT, -1 none. */
int64_t tg_memory_kills_number(const char *text, const char *name);
/* The process that the log's RECORD says was killed, 0 none. */
pid_t tg_memory_kills_victim(const char *record);

#endif
