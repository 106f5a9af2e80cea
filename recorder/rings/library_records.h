/* Records of the agent's audit library and its dlopen wrappers, made into the library events of the trace:
 * library_call, library_return, library_load, library_unload, library_null, filter_decision. */
#ifndef TG_RECORDER_RINGS_LIBRARY_RECORDS_H
#define TG_RECORDER_RINGS_LIBRARY_RECORDS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/agent/contract.h"
#include "recorder/engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keeps what it needs to know of each program (namespaces, link maps, what is open). */
struct tg_agent_loader;

/* One record as the ring had it: well-formed in its size (N_ARGUMENTS is at least what TG_AGENT_RECORDS says,
 * a string argument ends within the arguments), and otherwise as untrusted as the program. */
struct tg_agent_loader_record {
    int32_t pid;
    int32_t tid;       /* of the thread: from the record's tid, else from its ring; 0 unknown */
    uint64_t instance; /* of the program: another one in the same process after exec */
    uint64_t time_ns;
    uint64_t
        busy_ns; /* what the auditor took of the process so far, of LOADER_ACTIVITY and LOADER_DECISION; else 0 */
    bool begins_late; /* there were records before the first one of its ring that is told */
    enum tg_agent_record kind;
    const uint64_t *arguments; /* until the call returns */
    size_t n_arguments;        /* words, padding included */
};

struct tg_error *tg_agent_loader_create(struct tg_agent_loader **loader);
/* NULL is accepted. */
void tg_agent_loader_destroy(struct tg_agent_loader *loader);

/* Takes one record of LIBRARY_* or LOADER_*; called in the order of time within a program. Events go to SINK,
 * which copies what it is given: those that are known by now, with their own times, never later than the
 * record's. On the thread that drains the rings. */
void tg_agent_loader_add(struct tg_agent_loader *loader, const struct tg_agent_loader_record *record,
                         const struct tg_event_sink *sink);

/* Process PID ends at TIME_NS, and where that was sudden in the middle of a load: what INSTANCE's program has
 * not told yet goes to SINK, with that time. */
void tg_agent_loader_end_load(struct tg_agent_loader *loader, int32_t pid, uint64_t instance,
                              uint64_t time_ns, const struct tg_event_sink *sink);

/* The program INSTANCE of process PID has ended (exit, or exec), as is known at TIME_NS: what is not told yet
 * goes to SINK, not earlier than that, and its state is forgotten. */
void tg_agent_loader_end(struct tg_agent_loader *loader, int32_t pid, uint64_t instance, uint64_t time_ns,
                         const struct tg_event_sink *sink);

#endif
