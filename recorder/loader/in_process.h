/* Processes in which the agent's auditor decides about loads (struct tg_agent_filter in recorder/agent/contract.h): the
 * breakpoint at which it asks, and the libraries that it deferred. The rings tell of those; here they are handled at the
 * process's other stops. */
#ifndef TG_RECORDER_LOADER_IN_PROCESS_H
#define TG_RECORDER_LOADER_IN_PROCESS_H

#include "recorder/loader/loader_internal.h"

/* The auditor is mapped into THREAD's process, whose lists are known: finds it, and plants the breakpoint where the filter
 * reports anything. False where it decides nothing; then the process is watched as one without an agent. */
bool tg_loader_in_process_begin(struct tg_loader *loader, struct tg_thread *thread);

/* Plants the breakpoint, or takes it away, as the filter in force wants it. THREAD may run. */
void tg_loader_in_process_switch(struct tg_loader *loader, struct tg_thread *thread);

/* Takes the breakpoint away: libraries are watched by stops from now on. */
void tg_loader_in_process_end(struct tg_loader *loader, struct tg_process *process);

/* At a stop of THREAD for another reason: what was loaded since the last look waits. FINAL: the process is about to end. */
void tg_loader_in_process_look(struct tg_loader *loader, struct tg_thread *thread, bool final);

/* Whatever was loaded so far is known. */
void tg_loader_in_process_know_all(struct tg_loader *loader, struct tg_thread *thread);

#endif
