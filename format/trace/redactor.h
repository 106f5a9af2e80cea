/* Traces without the names of people, machines, projects and their secrets: every text of an event that could be
 * one is replaced, the same text by the same replacement. Numbers, times, addresses, build-ids, names of
 * functions, MPI calls, system libraries and launchers stay, so that a redacted trace says of the job what the
 * whole one says. */
#ifndef TG_FORMAT_TRACE_REDACTOR_H
#define TG_FORMAT_TRACE_REDACTOR_H

#include "format/event/event.h"
#include "format/trace/meta.h"

/* What has been replaced so far, in memory alone: nobody gets from a trace to its names. */
struct tg_redactor;

struct tg_error *tg_redactor_create(struct tg_redactor **redactor);
void tg_redactor_destroy(struct tg_redactor *redactor); /* NULL is accepted */

/* Name of this host or of a user, which are then found in texts too. "" and NULL are ignored. */
struct tg_error *tg_redactor_host(struct tg_redactor *redactor, const char *name);
struct tg_error *tg_redactor_user(struct tg_redactor *redactor, const char *name);

/* *REDACTED becomes a copy of EVENT; its texts and lists live until the next call. Only error: NO_MEMORY. */
struct tg_error *tg_redactor_event(struct tg_redactor *redactor, const struct tg_event *event,
                                   struct tg_event *redacted);

/* REDACTED, which is empty, becomes META, with `redacted` = "on". Before the first event. */
struct tg_error *tg_redactor_meta(struct tg_redactor *redactor, const struct tg_trace_meta *meta,
                                  struct tg_trace_meta *redacted);

#endif
