/* Facts about a program once it is in place: an engine observer that emits its program,
 * command_line, environment and identity events after every exec, and at attach. */
#ifndef TG_RECORDER_RECORD_PROCESS_FACTS_H
#define TG_RECORDER_RECORD_PROCESS_FACTS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

enum {
    TG_PROCESS_FACTS_MAX_ARGUMENTS = 4096, /* limits for a command line; a note says what was left out */
    TG_PROCESS_FACTS_MAX_COMMAND_BYTES = 1 << 17,
};

/* The process of the program, and its auxiliary vector's entries (0 unknown). */
struct tg_process_facts_subject {
    pid_t pid;
    pid_t tid;        /* id of a thread whose memory is there */
    uint64_t entry;   /* AT_ENTRY */
    unsigned bits;    /* 64 or 32; 0 unknown */
    bool secure;      /* AT_SECURE */
    const char *path; /* path of a program that has ended; NULL unknown */
};

/* Hands SINK the events about the program that SUBJECT runs now: program, command_line, environment,
 * identity, and notes; their pid, tid and time are the sink's to set. */
void tg_process_facts_tell(const struct tg_process_facts_subject *subject, struct tg_image_cache *images,
                           const struct tg_event_sink *sink);

/* From /proc/PID/auxv, of a process that may be running. */
struct tg_process_facts_subject tg_process_facts_look(pid_t pid);

struct tg_process_facts;

/* Adds itself to ENGINE and must outlive it; IMAGES must outlive both. */
struct tg_error *tg_process_facts_create(struct tg_engine *engine, struct tg_image_cache *images,
                                         struct tg_process_facts **facts);
void tg_process_facts_destroy(struct tg_process_facts *facts); /* NULL is accepted */

#endif
