/* The recorder's end of one ring of an agent (recorder/agent/contract.h). The traced program can change all
 * of the file at any time: what is handed out was copied first and looked at then. */
#ifndef TG_RECORDER_RINGS_READER_H
#define TG_RECORDER_RINGS_READER_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"
#include "recorder/rings/repeats.h"
#include "recorder/rings/tick_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_ring_reader;

struct tg_ring_facts {
    enum tg_agent_ring_kind kind;
    int32_t pid; /* > 0, as in the file's name */
    uint64_t instance;
    uint64_t data_bytes; /* grows: as of the last look or take */
    int32_t tid; /* the thread that is recorded where reading begins; PID where that is the ring's start */
    bool begins_late; /* reading begins behind that: a salvager's, of a ring that was overwritten */
};

/* The smallest room that tg_ring_reader_take works with: a record of the greatest size fits. */
enum { TG_RING_READER_MIN_ROOM = (TG_AGENT_MAX_WORDS + 2) * 8 };

/* Whether NAME is that of a ring ("ring.PID.N"). */
bool tg_ring_reader_is_ring(const char *name);

/* Opens the ring NAME of the directory that FD is open on. CLOCK says which ticks can be: later ones than now
 * and earlier ones than its first pair are set to these. Needs tg_mapping_guard_install. Errors: NOT_FOUND
 * (its agent is still making it, or it has gone), INPUT (what of it cannot be: owner, mode, size, header),
 * OS. */
struct tg_error *tg_ring_reader_open(int fd, const char *name, const struct tg_tick_clock *clock,
                                     struct tg_ring_reader **reader);
/* NULL is accepted. Leaves the file where it is. */
void tg_ring_reader_close(struct tg_ring_reader *reader);

/* Progress of a dead recorder with a ring. */
struct tg_ring_past {
    bool whole; /* nothing was overwritten: reading begins with the ring's first record, ... */
    struct tg_agent_count before; /* ... otherwise behind so many, ... */
    uint64_t first_ns;            /* ... with one of this time */
    bool known;                   /* so many were in the file, and told of as many dropped records: */
    struct tg_agent_count in_file;
    uint64_t lost_in_file;
};

/* For salvage, before the first take: from now on takes leave everything in the file as it is, and begin as
 * far back as there is a boundary of records that was not overwritten since: with what the recorder had taken
 * already. N_EVENTS are in the trace's file, all that were written; UINT64_MAX: not known. */
struct tg_ring_past tg_ring_reader_rewind(struct tg_ring_reader *reader, uint64_t n_events);

/* Notes for who salvages: with MARK.events in the trace's file the ring's first MARK.before.records are. */
void tg_ring_reader_mark(struct tg_ring_reader *reader, const struct tg_agent_mark *mark);

struct tg_ring_facts tg_ring_reader_facts(const struct tg_ring_reader *reader);

/* Copies whole records, in order, into ROOM of SIZE bytes (8-aligned, at least TG_RING_READER_MIN_ROOM),
 * gives their place in the ring back, and wakes the thread that waits for it. *TAKEN are the bytes copied, 0:
 * there is nothing. In the copy each record has 2 to TG_AGENT_MAX_WORDS words, an even number, and ends
 * within it; there is no TG_RECORD_PAD, and nothing else is promised.
 *
 * INPUT error, once: the ring is nonsense from here on (*TAKEN may be more than 0 all the same). From then on
 * it is only emptied, so that nobody waits for room in it, and *TAKEN stays 0. */
struct tg_error *tg_ring_reader_take(struct tg_ring_reader *reader, void *room, size_t size, size_t *taken);

/* After a take that brought something: the latest ticks of its records. */
uint64_t tg_ring_reader_last_ticks(const struct tg_ring_reader *reader);

/* What the records of the kind AGAIN that were taken stand for: each is told once, in the order in which they were taken. */
struct tg_ring_repeats *tg_ring_reader_repeats(const struct tg_ring_reader *reader);

/* What a ring has to take, and of how much it will have room when its thread has come to the end of its data. */
struct tg_ring_fill {
    uint64_t bytes;
    uint64_t of_bytes;
};

/* Takes nothing. */
struct tg_ring_fill tg_ring_reader_look(struct tg_ring_reader *reader);

/* Makes room for DATA_BYTES, a power of two, and lets the ring's thread have it when it has next come to the end of the ring.
 * FD as at the open. False: it is not a thread's, is as long or has as much coming to it already, or the memory cannot be had. */
bool tg_ring_reader_grow(struct tg_ring_reader *reader, int fd, uint64_t data_bytes);

/* After a look or a take: bytes that were in the ring then and are not taken yet. */
uint64_t tg_ring_reader_left(const struct tg_ring_reader *reader);

/* After a take: its agent had closed it, and it is empty. Never where it was given up. */
bool tg_ring_reader_is_finished(const struct tg_ring_reader *reader);

/* Nobody else has the ring mapped for writing: its process has gone, whatever namespace its id is of. FD as
 * at the open. */
bool tg_ring_reader_is_orphan(struct tg_ring_reader *reader, int fd);

/* Records that the agent says it dropped. */
uint64_t tg_ring_reader_lost(struct tg_ring_reader *reader);

/* How many ticks could not be, and were set to what could. */
uint64_t tg_ring_reader_wrong_ticks(const struct tg_ring_reader *reader);

#endif
