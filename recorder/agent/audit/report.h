/* The auditor's word to the recorder that a load is to be reported: a function at which that has a breakpoint, and what the
 * recorder reads at its stops (recorder/agent/contract.h). */
#ifndef TG_RECORDER_AGENT_AUDIT_REPORT_H
#define TG_RECORDER_AGENT_AUDIT_REPORT_H

#include "recorder/agent/contract.h"

#include <link.h>

#define TG_AUDIT_EXPORT __attribute__((visibility("protected")))

extern TG_AUDIT_EXPORT struct tg_agent_loads tollgate_loads;

TG_AUDIT_EXPORT uint64_t tollgate_report_load(uint64_t namespace_number, const struct link_map *first,
                                              uint64_t action);

/* MAP was loaded; it is noted in tollgate_loads. */
void tg_audit_report_opened(const struct link_map *map);

#endif
