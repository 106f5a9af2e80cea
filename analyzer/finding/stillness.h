/* Stillness: whether a job had come to rest, or was busy, at the moment that a verdict is about.
 *
 * A trace ends somewhere, and then somebody always waits for somebody else: a message is on its way, a rank
 * has yet to come to a barrier. That is no fault. What waits is one only where
 *   - it cannot end, whatever the others do (a cycle of which every wait is known to need what the next one
 *     has not done; a partner that has ended): that needs no stillness; or
 *   - all who wait for each other are waiting, and have been for longer than any message takes
 *     (tg_stillness_is_closed); or
 *   - it waits for somebody who is not waiting, but computes or loops, and has lasted much longer than the
 *     waits of this job that did end (tg_stillness_is_long). */
#ifndef TG_ANALYZER_FINDING_STILLNESS_H
#define TG_ANALYZER_FINDING_STILLNESS_H

#include "analyzer/finding/finding.h"
#include "analyzer/models/wait_times.h"

#include <stdio.h>

enum tg_wait_family {
    TG_WAIT_MPI,
    TG_WAIT_OPENMP,
};

struct tg_stillness {
    const struct tg_verdict_input *input;
    /* The moment that is judged: when the job was asked to end, or began to end; otherwise the present of a
     * job that runs, or the last event. What happened later comes of the end. */
    uint64_t at_ns;
    bool was_ended; /* the job was asked to end, or began to end, at AT_NS */
    bool was_asked; /* from outside of the job */
    /* When it was asked, not one thread could be stopped to look at its stack: the machine was frozen, or gave the
     * job no processor. Time says nothing then. */
    bool was_starved;
    bool has_unbegun; /* likewise: a thread had been made, and had not had a turn on a processor yet */
    /* By enum tg_wait_family: the waits that came to an end; how many were too short for a finding, and the
     * longest of those. */
    struct tg_wait_times usual[2];
    uint64_t passed_over[2], longest_ns[2];
};

/* INPUT is kept. */
void tg_stillness_measure(const struct tg_verdict_input *input, struct tg_stillness *stillness);

/* False. Remembers that a wait of FAMILY, which lasted LASTED_NS, is not told. */
bool tg_stillness_pass_over(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns);

/* When ENTRY, which has ended, may have begun to. A rank that goes without MPI_Finalize closes its sockets first: its
 * launcher sees that, and kills the others, before the rank is gone. */
uint64_t tg_stillness_earliest_end(const struct tg_verdict_input *input,
                                   const struct tg_process_entry *entry);

/* Whether the process that asked ENTRY to end is one that started it: a launcher that ends its ranks. */
bool tg_stillness_was_asked_by_ancestor(const struct tg_verdict_input *input,
                                        const struct tg_process_entry *entry);

/* Whether PROCESS had ended by then: nobody need wait for it any more. */
bool tg_stillness_had_ended(const struct tg_stillness *stillness, size_t process);

/* Whether PROCESS was stopped by job control (SIGSTOP and the like) then. */
bool tg_stillness_was_stopped(const struct tg_stillness *stillness, size_t process);

/* How long a wait of PROCESS since SINCE_NS had lasted at the moment that is judged, or when the process
 * ended if that was earlier; time in which the process was stopped (SIGSTOP and the like) does not count. 0:
 * it began later. */
uint64_t tg_stillness_lasted(const struct tg_stillness *stillness, size_t process, uint64_t since_ns);

/* Whether LASTED_NS is long for a wait for somebody who may be computing. Where it is not, remembers it: the
 * verdict then says how busy the job was. */
bool tg_stillness_is_long(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns);

/* Whether LASTED_NS is longer than it takes to send BYTES, 0 for locks and barriers: among some who all wait
 * for each other. Remembers as above. */
bool tg_stillness_is_closed(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns,
                            uint64_t bytes);

/* Prints " for 7.9 s (earlier waits took at most 3 ms)", without the parentheses where none has ended. */
void tg_stillness_print(FILE *stream, const struct tg_stillness *stillness, enum tg_wait_family family,
                        uint64_t lasted_ns);

/* Prints how busy the job was: sentences, each with a space in front; nothing where nothing was passed over. */
void tg_stillness_print_busy(FILE *stream, const struct tg_stillness *stillness);

#endif
