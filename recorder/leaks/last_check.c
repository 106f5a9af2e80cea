#include "recorder/leaks/last_check.h"

#include "recorder/leaks/guard_check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

struct tg_last_check {
    struct tg_engine *engine;
    struct tg_last_check_options options;
    struct tg_observer observer;
    size_t slot; /* of a process: not NULL where its memory may be another one's */
};

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct tg_last_check *check = context;
    (void)parent;
    if (origin == TG_ORIGIN_VFORK || origin == TG_ORIGIN_CLONE)
        thread->process->data[check->slot] = check;
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    const struct tg_last_check *check = context;
    (void)attached;
    thread->process->data[check->slot] = NULL;
}

/* Whether SIGNAL, 0 none, is one that a process brings upon itself: the block that it stumbled over may be one of its
 * parent's. */
static bool is_crash(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE ||
           signal == SIGILL || signal == SIGTRAP;
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    const struct tg_last_check *check = context;
    const struct tg_process *process = thread->process;
    unsigned long status = 0;
    if (trigger != TG_TRIGGER_EXIT || process->bits == 32 || process->data[check->slot] != NULL ||
        ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &status) != 0)
        return;
    int signal = WIFSIGNALED((int)status) ? WTERMSIG((int)status) : 0;
    if (signal == SIGKILL && check->options.spares_killed(check->options.context))
        return;
    tg_error_destroy(tg_guard_check_at_end(check->engine, thread, !is_crash(signal)));
}

static void process_ended(void *context, struct tg_process *process)
{
    const struct tg_last_check *check = context;
    process->data[check->slot] = NULL;
}

struct tg_error *tg_last_check_create(struct tg_engine *engine, const struct tg_last_check_options *options,
                                      struct tg_last_check **check)
{
    struct tg_last_check *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){.name = "blocks at the end",
                                          .context = made,
                                          .process_started = process_started,
                                          .program_loaded = program_loaded,
                                          .process_leaving = process_leaving,
                                          .process_ended = process_ended};
    struct tg_error *error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        free(made);
        return error;
    }
    *check = made;
    return NULL;
}

void tg_last_check_destroy(struct tg_last_check *check)
{
    free(check);
}
