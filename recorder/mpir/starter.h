/* Values of a starter's variables, read out of its memory and not trusted. */
#ifndef TG_RECORDER_MPIR_STARTER_H
#define TG_RECORDER_MPIR_STARTER_H

#include "recorder/mpir/process.h"
#include "recorder/mpir/table.h"

enum { TG_MPIR_STARTER_MAX_TEXT = 4096 };

struct tg_mpir_saying {
    enum tg_mpir_state state;
    int64_t raw_state;
    int64_t table_size;
    uint64_t table_address;
    char abort_string[TG_MPIR_STARTER_MAX_TEXT]; /* "" none; what is longer is cut off */
    char job[64];                                /* Slurm's JOB.STEP, "" unknown */
};

/* Reads them by two system calls. PID: of a thread of the starter. */
void tg_mpir_starter_read(const struct tg_mpir_variables *variables, unsigned bits, pid_t pid,
                          struct tg_mpir_saying *saying);

/* PID's memory as a table is read from. Valid as long as *PID. */
struct tg_mpir_memory tg_mpir_starter_memory(pid_t *pid);

/* The char array or string that NAME is, "" where there is none. Only for those that are arrays. */
void tg_mpir_starter_read_array(const struct tg_mpir_variables *variables, enum tg_mpir_name name, pid_t pid,
                                char *text, size_t size);

/* Writes the int NAME. NULL where that went well, else why not (a static text). */
const char *tg_mpir_starter_write(const struct tg_mpir_variables *variables, enum tg_mpir_name name,
                                  pid_t pid, int32_t value);

#endif
