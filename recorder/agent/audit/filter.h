/* The dlopen filter that the recorder has in the control file, as the auditor decides by it. For one thread at a time; no
 * libc. The patterns are matched by the recorder's own source. */
#ifndef TG_RECORDER_AGENT_AUDIT_FILTER_H
#define TG_RECORDER_AGENT_AUDIT_FILTER_H

#include "format/settings/glob_match.h"
#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stdint.h>

/* The filter at one moment. */
struct tg_audit_filter {
    uint32_t generation;
    uint32_t how; /* enum tg_agent_filter_how */
};

/* What is in force; waits where it is just being changed. */
struct tg_audit_filter tg_audit_filter_now(void);

/* Whether FILTER is in force no more. */
bool tg_audit_filter_is_over(struct tg_audit_filter filter);

/* The verdict on a load, library by library, where the latest tg_audit_filter_now said MATCH: as tg_glob_list_default and
 * tg_glob_list_consider. */
struct tg_glob_verdict tg_audit_filter_default(void);
bool tg_audit_filter_consider(const char *library, size_t index, struct tg_glob_verdict *verdict);

/* Pattern I as written; until the next tg_audit_filter_now. */
const char *tg_audit_filter_pattern(size_t i);

#endif
