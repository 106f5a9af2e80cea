/* From the records of agents' rings to events. Told in the order of time over all rings; knows what records
 * say in other records: the thread, the region, the program. */
#ifndef TG_RECORDER_RINGS_DECODER_H
#define TG_RECORDER_RINGS_DECODER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/engine/engine.h"
#include "recorder/rings/event_merge.h"
#include "recorder/rings/heap_records.h"
#include "recorder/rings/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_ring_decoder;
struct tg_ring_source; /* facts about one ring */

/* One ring whose records are told. */
struct tg_ring_teller {
    struct tg_ring_source *source;
    struct tg_ring_repeats *repeats; /* of the ring's reader */
    struct tg_agent_count told;      /* records */
};

struct tg_ring_decoder_stats {
    uint64_t programs;    /* in which an agent recorded something */
    uint64_t told_lost;   /* by records of kind LOST */
    uint64_t unknown;     /* records of kinds that are not known here */
    uint64_t misformed;   /* with fewer arguments than their kind has */
    uint64_t n_processes; /* known now */
};

/* Events go to SINK, which copies what it is given. CLOCK, which the caller keeps, says how long ticks are; NULL: not known. */
struct tg_error *tg_ring_decoder_create(const struct tg_event_sink *sink, const struct tg_tick_clock *clock,
                                        struct tg_ring_decoder **decoder);
/* With all its sources. NULL is accepted. */
void tg_ring_decoder_destroy(struct tg_ring_decoder *decoder);

struct tg_error *tg_ring_decoder_add_source(struct tg_ring_decoder *decoder,
                                            const struct tg_ring_facts *facts,
                                            struct tg_ring_source **source);
/* Nothing comes from SOURCE any more. */
void tg_ring_decoder_remove_source(struct tg_ring_decoder *decoder, struct tg_ring_source *source);

/* One record as tg_ring_reader_take gives them; changed where a string has no end. */
void tg_ring_decoder_add(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                         uint64_t *record);

/* The same of AGAIN, a record of that kind, which stands for REPEAT. */
void tg_ring_decoder_add_again(struct tg_ring_decoder *decoder, struct tg_ring_source *source,
                               uint64_t time_ns, struct tg_ring_repeat *repeat, const uint64_t *again);

/* Appends to the sink's tail what may be told and comes again as it was there last, from RUN on, whose source is a struct
 * tg_ring_teller; nothing where there is no tail. */
void tg_ring_decoder_append(struct tg_ring_decoder *decoder, struct tg_merge_run *run);

/* The heap's events, and losses, that RECORD, a copy of one that is still to be added, will become go to SINK. Nothing is
 * noted, but for *PROGRAM, which is to be NULL at first, and destroyed. */
void tg_ring_decoder_foresee(struct tg_ring_decoder *decoder, const struct tg_ring_source *source,
                             uint64_t time_ns, uint64_t *record, struct tg_heap_program **program,
                             const struct tg_event_sink *sink);

/* Another program runs in SOURCE's process by now, as records of it said: nothing comes in this ring any
 * more. */
bool tg_ring_decoder_is_superseded(const struct tg_ring_decoder *decoder,
                                   const struct tg_ring_source *source);

/* Records that LOST records of SOURCE told of. */
uint64_t tg_ring_source_told_lost(const struct tg_ring_source *source);

/* The thread that SOURCE's last record was of; its process's id before the first one. */
int32_t tg_ring_source_tid(const struct tg_ring_source *source);

/* The next event that is told is the end of process PID, at TIME_NS: what its records left open is told now,
 * for afterwards there is no such process. */
void tg_ring_decoder_process_ends(struct tg_ring_decoder *decoder, int32_t pid, uint64_t time_ns);

/* Process PID has gone, and all of its rings were told; others were told up to TIME_NS. */
void tg_ring_decoder_end_process(struct tg_ring_decoder *decoder, int32_t pid, uint64_t time_ns);

struct tg_ring_decoder_stats tg_ring_decoder_stats(const struct tg_ring_decoder *decoder);

#endif
