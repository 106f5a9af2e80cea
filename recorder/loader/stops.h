/* A watched process at its stops: r_brk planted and hit, lists read at other stops. */
#ifndef TG_RECORDER_LOADER_STOPS_H
#define TG_RECORDER_LOADER_STOPS_H

#include "recorder/loader/loader_internal.h"

/* A new program image: watches its libraries as the options say. ATTACHED: it has run already. */
void tg_loader_begin_watching(struct tg_loader *loader, struct tg_thread *thread, bool attached);

/* Tells the injector whether programs that begin from now on are to have the auditor. */
void tg_loader_tell_injector(const struct tg_loader *loader);

/* Any stop but the loader's: reads the lists where no loader stop has shown them, and handles what waits.
 * FINAL: the process is about to end. */
void tg_loader_at_other_stop(struct tg_loader *loader, struct tg_thread *thread, enum tg_stop_trigger trigger,
                             bool final);

/* Plants r_brk where it is wanted and is not there yet. */
void tg_loader_plant(struct tg_loader *loader, struct tg_thread *thread);
/* Takes r_brk's breakpoint away where there is one. */
void tg_loader_unplant(struct tg_loader *loader, struct tg_process *process);

#endif
