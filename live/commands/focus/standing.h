/* The thread of a live job that is looked into: the first stopped one in focus. The tracer thread's. */
#ifndef TG_LIVE_COMMANDS_FOCUS_STANDING_H
#define TG_LIVE_COMMANDS_FOCUS_STANDING_H

#include "live/commands/focus/focus_call.h"
#include "live/inspect/dwarf/naming.h"
#include "recorder/dwarf/target.h"

/* Valid while the call lasts that it was found in. */
struct tg_standing {
    struct tg_thread *thread;
    struct tg_thread_id id;
    struct tg_modules *modules;
    struct tg_registers registers;
    struct tg_inspect_memory memory; /* as the program has it */
    struct tg_inspect_namer namer;
};

/* A single thread, unless the focus says another width. */
extern const struct tg_ptset_defaults tg_standing_defaults;

/* Thread I of PROCESS in CONTROL's view; *IS_STOPPED is false where it runs. Only error: NO_MEMORY. */
struct tg_error *tg_standing_take(const struct tg_request *control, const struct tg_job_process *process,
                                  size_t i, bool *is_stopped, struct tg_standing *standing);

/* TARGET error of a command about stopped threads where none in focus is: they run, or have ended. */
struct tg_error *tg_standing_nobody(const struct tg_request *control);

/* The same: with a stopped one of a rank elsewhere, one that
 * has come to something rather than one that was stopped with others, and how to go there. */
struct tg_error *tg_standing_none(const struct tg_request *control);

/* TARGET error where no thread in focus is stopped. */
struct tg_error *tg_standing_find(const struct tg_request *control, struct tg_standing *standing);

/* The object that maps ADDRESS; "" none. */
const char *tg_standing_program(const struct tg_standing *standing, uint64_t address);

/* The address that TEXT means: a number, the name of a register (rip, $rip, %rip), of a function or a
 * variable, and any of these with +N or -N behind. USAGE and NOT_FOUND errors. */
struct tg_error *tg_standing_address(const struct tg_standing *standing, const char *text, uint64_t *address);

/* The function NAME, as the symbol tables have it; the program's before those of libraries. */
bool tg_standing_function(const struct tg_standing *standing, const char *name, uint64_t *address);

#endif
