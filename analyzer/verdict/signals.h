/* Processes that a signal from outside ended or stopped. */
#ifndef TG_ANALYZER_VERDICT_SIGNALS_H
#define TG_ANALYZER_VERDICT_SIGNALS_H

#include "analyzer/finding/draft.h"

/* Whether ENTRY alone was asked to end, by somebody else than its launcher: the job was not. */
bool tg_signals_has_single_target(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry);
/* Whether ENTRY ended by a signal other than SIGKILL that was sent to it, and not because its launcher ended the
 * job. */
bool tg_signals_killed(const struct tg_process_entry *entry);
/* Whether ENTRY was killed by SIGKILL although nobody asked for the end of the job: before any other of its like. */
bool tg_signals_is_first_kill(const struct tg_verdict_input *input, const struct tg_process_entry *entry);

/* Findings: of a SIGKILL whose sender is not known, and of another signal. Only error: NO_MEMORY. */
struct tg_error *tg_signals_find_kill(struct tg_verdict_draft *draft, const struct tg_process_entry *entry);
struct tg_error *tg_signals_find_signal(struct tg_verdict_draft *draft, const struct tg_process_entry *entry);

#endif
