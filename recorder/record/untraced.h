/* Records a command without tracing it, where ptrace is forbidden: the agent in its programs tells what
 * happens inside of them, /proc what they are, and their pidfds when they end. The variables that load the
 * agent are in the environment of the command and of everything that it starts.
 *
 * What is not known this way: programs that the agent is not in, how a process other than the command ended,
 * and which call made it. */
#ifndef TG_RECORDER_RECORD_UNTRACED_H
#define TG_RECORDER_RECORD_UNTRACED_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/rings/agent_connection.h"

#include <stdbool.h>
#include <sys/types.h>

struct tg_untraced;

struct tg_untraced_options {
    struct tg_agent_session *session; /* not started yet; outlives this */
    struct tg_event_sink
        sink; /* with `add_again`; gets all events: on the session's thread, in the finish on the caller's */
    const struct tg_ring_set_file *file; /* as tg_agent_session_start */
    bool audit;                          /* load the audit library too */
    bool heap;                           /* load the heap's library too */
};

struct tg_error *tg_untraced_create(const struct tg_untraced_options *options, struct tg_untraced **untraced);
/* NULL is accepted. */
void tg_untraced_destroy(struct tg_untraced *untraced);

/* Starts the session. TAIL as in struct tg_event_sink, of the same sink. */
struct tg_error *tg_untraced_start(struct tg_untraced *untraced, struct tg_chunk_tail *const *tail);

/* Starts ARGV (execvp's rules). TARGET error where it cannot be run. */
struct tg_error *tg_untraced_launch(struct tg_untraced *untraced, char *const *argv, pid_t *pid);

/* Until the command has ended, and the other processes that were seen have too, or a short time has passed
 * since (what a command leaves behind may live for ever). *STATUS is the command's wait status. */
struct tg_error *tg_untraced_run(struct tg_untraced *untraced, int *status);

/* After the session's finish: tells what became of the processes that are left. */
void tg_untraced_finish(struct tg_untraced *untraced);

#endif
