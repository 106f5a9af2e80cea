/* Signals that somebody sends to the recorder of a command, and the command has not got itself: they are passed on to
 * it. What goes to the whole process group (kill -INT -PGID, timeout), or to each of its processes (scancel), the kernel
 * has given to the command already; nothing in the signal says so. So there is a process in the group that is never
 * sent anything by itself: what it gets too was not meant for the recorder alone. */
#ifndef TG_RECORDER_RECORD_RELAY_H
#define TG_RECORDER_RECORD_RELAY_H

#include "format/base/error.h"

#include <signal.h>
#include <sys/types.h>

struct tg_relay;

/* A signal that is passed on. */
struct tg_relayed {
    int signal;
    pid_t sender;  /* 0: not known here */
    char name[32]; /* of the sender's program, "" not known */
};

/* Begins to start the witness; where none can be started everything is passed on. Error: NO_MEMORY. */
struct tg_error *tg_relay_create(struct tg_relay **relay);

/* Waits until the witness is there, which it must be before the command. PASSED is called with CONTEXT before each signal
 * that is passed on, on a thread of the relay's. */
void tg_relay_await(struct tg_relay *relay, void (*passed)(void *context, const struct tg_relayed *relayed),
                    void *context);

/* The command is PID: signals that came before go to it now. */
void tg_relay_set_command(struct tg_relay *relay, pid_t pid);

/* INFO came to this process. Async-signal-safe. What is passed on goes within about 0.1 s: so long a signal to
 * all may take from the first to the last of them. */
void tg_relay_take(struct tg_relay *relay, int signal, const siginfo_t *info);

/* The command has ended: nothing is passed on any more, what is undecided neither, and the witness goes, which nobody
 * waits for here. NULL is accepted. */
void tg_relay_end(struct tg_relay *relay);

/* NULL is accepted. */
void tg_relay_destroy(struct tg_relay *relay);

#endif
