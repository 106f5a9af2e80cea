/* The ring of the audit library: one for a process. No function is for more than one thread at a time; the
 * caller serialises them. No libc: see recorder/agent/audit/raw_system.h. */
#ifndef TG_RECORDER_AGENT_AUDIT_RING_H
#define TG_RECORDER_AGENT_AUDIT_RING_H

#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the recorder by the environment that the program was started with. False: nobody asked, or not for
 * loads, or whoever asked is not this user's. */
bool tg_audit_ring_find_recorder(void);

/* Makes a ring for the process PID, and leaves alone the one there was. */
bool tg_audit_ring_make(int32_t pid);

/* The filter in the control file; NULL: there is no recorder any more. */
const struct tg_agent_filter *tg_audit_ring_filter(void);

/* Whether somebody may still come to take what is written; false: surely not. */
bool tg_audit_ring_has_recorder(void);

/* Whether there is a ring to write to. */
bool tg_audit_ring_is_there(void);

/* Another thread writes from now on, or this one after it has run code of the program's. FORBIDDEN: enum tg_deep_bind_forbidden. */
void tg_audit_ring_take_turn(unsigned forbidden);

/* There is no ring from now on: the one that there is is another process's. What would be written is counted. */
void tg_audit_ring_leave(void);

/* Waits for about NS; by spinning where the program has forbidden itself system calls. */
void tg_audit_ring_pause(uint64_t ns);

/* The clock of the records now, less what was waited for the recorder; 0 where this thread may not read it. After
 * tg_audit_ring_take_turn. */
uint64_t tg_audit_ring_ticks(void);

/* Begins a record of KIND with N_ARGUMENTS words: returns where to write all of them, before
 * tg_audit_ring_commit; NULL where it is not recorded (then no commit). */
uint64_t *tg_audit_ring_begin(unsigned kind, size_t n_arguments);
void tg_audit_ring_commit(void);

/* Words that TEXT takes as an argument, and writing it there. */
size_t tg_audit_ring_string_words(const char *text);
void tg_audit_ring_put_string(uint64_t *arguments, const char *text, size_t n_words);

#endif
