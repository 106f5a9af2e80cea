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

/* Numbers of replacements begin behind BEFORE: 0, or what no other one of the same trace gets to. */
struct tg_error *tg_redactor_create(unsigned before, struct tg_redactor **redactor);
enum { TG_REDACTOR_LATER = 1000000 };                   /* for what is added to a redacted trace */
void tg_redactor_destroy(struct tg_redactor *redactor); /* NULL is accepted */

/* Name of a user, who is then found in texts too. */
struct tg_error *tg_redactor_user(struct tg_redactor *redactor, const char *name);

/* *REDACTED becomes a copy of EVENT; its texts and lists live until the next call. Only error: NO_MEMORY. */
struct tg_error *tg_redactor_event(struct tg_redactor *redactor, const struct tg_event *event,
                                   struct tg_event *redacted);

/* REDACTED, which is empty, becomes META, with `redacted` = "on". Before the first event. */
struct tg_error *tg_redactor_meta(struct tg_redactor *redactor, const struct tg_trace_meta *meta,
                                  struct tg_trace_meta *redacted);

#endif
