#include "recorder/mpir/ranks.h"

#include "format/base/hash.h"
#include "recorder/mpir/hosts.h"
#include "recorder/mpir/starter.h"
#include "recorder/mpir/target.h"
#include "recorder/process/identity.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_BYTES = 256 };

/* A thread that waits at a gate looks at it more often than that. */
static const uint64_t gate_passed_ns = UINT64_C(2000000000);

/* A rank on this host, from when its table was read until its process ends. */
struct rank {
    pid_t pid; /* the key */
    pid_t starter;
    uint64_t number;
    int64_t size; /* of the table that it was read in */
    char *host;
    char *executable;
    enum tg_mpir_rank_way way;
    enum tg_mpir_gate gate;
    bool wants_gate;  /* the starter leaves it to the tool to let ranks go on */
    bool is_selected; /* otherwise detached once it is through its gate */
    bool wake;        /* left stopped for the tool to come */
    bool waits;       /* until its starter has returned from MPIR_Breakpoint */
    bool woken;
    bool may_wake; /* the first stop was seen: what has to be done before the rank goes on has been done */
    bool is_told;
    bool has_ended; /* kept for later readings of the table */
    UT_hash_handle hh;
};

enum { MAX_GONE = 65536 };

/* A process that was traced and ended before any table named it. */
struct gone {
    pid_t pid;
    UT_hash_handle hh;
};

struct tg_mpir_ranks {
    struct tg_engine *engine;
    struct tg_mpir_ranks_options options;
    struct tg_mpir_hosts *hosts;
    struct rank *ranks; /* uthash by pid */
    struct gone *gone;  /* likewise; the oldest first */
};

struct tg_error *tg_mpir_ranks_create(struct tg_engine *engine, const struct tg_mpir_ranks_options *options,
                                      struct tg_mpir_ranks **ranks)
{
    struct tg_mpir_ranks *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    *ranks = made;
    return NULL;
}

static void destroy_rank(struct tg_mpir_ranks *ranks, struct rank *rank)
{
    HASH_DEL(ranks->ranks, rank);
    free(rank->host);
    free(rank->executable);
    free(rank);
}

static void drop_gone(struct tg_mpir_ranks *ranks, struct gone *gone)
{
    HASH_DEL(ranks->gone, gone);
    free(gone);
}

void tg_mpir_ranks_destroy(struct tg_mpir_ranks *ranks)
{
    if (ranks == NULL)
        return;
    struct rank *rank, *next;
    HASH_ITER (hh, ranks->ranks, rank, next)
        destroy_rank(ranks, rank);
    while (ranks->gone != NULL)
        drop_gone(ranks, ranks->gone);
    tg_mpir_hosts_destroy(ranks->hosts);
    free(ranks);
}

static struct rank *find(const struct tg_mpir_ranks *ranks, pid_t pid)
{
    struct rank *rank;
    HASH_FIND_INT(ranks->ranks, &pid, rank);
    return rank;
}

bool tg_mpir_ranks_has(const struct tg_mpir_ranks *ranks, pid_t pid)
{
    return find(ranks, pid) != NULL;
}

static struct gone *find_gone(const struct tg_mpir_ranks *ranks, pid_t pid)
{
    struct gone *gone;
    HASH_FIND_INT(ranks->gone, &pid, gone);
    return gone;
}

void tg_mpir_ranks_ended(struct tg_mpir_ranks *ranks, pid_t pid)
{
    struct rank *rank = find(ranks, pid);
    if (rank != NULL) {
        rank->has_ended = true;
        return;
    }
    struct gone *gone;
    if (HASH_COUNT(ranks->gone) == MAX_GONE)
        drop_gone(ranks, ranks->gone);
    (void)TG_HASH_CREATE(hh, ranks->gone, pid, &pid, gone); /* without memory a table that names it says so */
}

void tg_mpir_ranks_began(struct tg_mpir_ranks *ranks, pid_t pid)
{
    struct rank *rank = find(ranks, pid);
    struct gone *gone = find_gone(ranks, pid);
    if (rank != NULL && rank->has_ended)
        destroy_rank(ranks, rank);
    if (gone != NULL)
        drop_gone(ranks, gone);
}

/* NULL without memory. */
static struct rank *add(struct tg_mpir_ranks *ranks, pid_t starter, const struct tg_mpir_entry *entry,
                        int64_t size)
{
    struct rank *rank = calloc(1, sizeof *rank);
    if (rank == NULL)
        return NULL;
    *rank = (struct rank){.pid = (pid_t)entry->pid,
                          .starter = starter,
                          .number = entry->rank,
                          .size = size,
                          .host = strdup(entry->host),
                          .executable = strdup(entry->executable),
                          .is_selected = true};
    if (rank->host != NULL && rank->executable != NULL && TG_HASH_ADD(hh, ranks->ranks, pid, rank) == NULL)
        return rank;
    free(rank->host);
    free(rank->executable);
    free(rank);
    return NULL;
}

static struct tg_mpir_process *known_of(const struct tg_mpir_ranks *ranks, const struct tg_process *process)
{
    return process->data[ranks->options.slot];
}

/* ---- telling */

/* The outcome of an entry that is no process here. */
static void tell_entry(struct tg_mpir_ranks *ranks, struct tg_thread *starter,
                       const struct tg_mpir_entry *entry, enum tg_mpir_rank_state state,
                       enum tg_mpir_rank_way way, const char *reason)
{
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_RANK,
        .mpir_rank = {.starter_pid = starter->process->pid,
                      .rank = (int64_t)entry->rank,
                      .host = entry->host,
                      .executable = entry->executable,
                      .table_pid = entry->pid,
                      .state = state,
                      .way = way,
                      .reason = reason},
    };
    tg_engine_emit(ranks->engine, starter, &event);
}

static void tell_rank(struct tg_mpir_ranks *ranks, struct tg_thread *thread, struct rank *rank,
                      enum tg_mpir_rank_state state, const char *reason)
{
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_RANK,
        .mpir_rank = {.starter_pid = rank->starter,
                      .rank = (int64_t)rank->number,
                      .host = rank->host,
                      .executable = rank->executable,
                      .table_pid = rank->pid,
                      .state = state,
                      .way = state == TG_MPIR_MISSED ? TG_MPIR_WAY_NONE : rank->way,
                      .gate = rank->gate,
                      .woken = rank->wake,
                      .reason = reason},
    };
    rank->is_told = true;
    tg_engine_emit(ranks->engine, thread, &event);
}

static void tell_write(struct tg_mpir_ranks *ranks, struct tg_thread *thread, int64_t value,
                       const char *error)
{
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_WRITE,
        .mpir_write = {.symbol = tg_mpir_name_text(TG_MPIR_DEBUG_GATE),
                       .value = value,
                       .error = error != NULL ? error : ""},
    };
    tg_engine_emit(ranks->engine, thread, &event);
}

/* ---- gates */

/* The process of RANK is known: says what its gate is, after opening it where that is asked for. */
static enum tg_mpir_gate open_gate(struct tg_mpir_ranks *ranks, const struct rank *rank,
                                   struct tg_thread *thread, struct tg_mpir_process *known)
{
    if (known == NULL || !known->variables.found[TG_MPIR_DEBUG_GATE])
        return TG_MPIR_GATE_ABSENT;
    if (!rank->wants_gate)
        return TG_MPIR_GATE_NOT_NEEDED;
    if (known->gate_at_ns != 0)
        return TG_MPIR_GATE_SET;
    const char *error = tg_mpir_starter_write(&known->variables, TG_MPIR_DEBUG_GATE, thread->tid, 1);
    tell_write(ranks, thread, 1, error);
    if (error == NULL)
        known->gate_at_ns = tg_engine_now_ns();
    return error == NULL ? TG_MPIR_GATE_SET : TG_MPIR_GATE_FAILED;
}

static void wake(struct rank *rank)
{
    if (rank->wake && !rank->woken && !rank->has_ended)
        rank->woken = kill(rank->pid, SIGCONT) == 0;
}

bool tg_mpir_ranks_wait(const struct tg_mpir_ranks *ranks, pid_t starter)
{
    for (const struct rank *rank = ranks->ranks; rank != NULL; rank = rank->hh.next)
        if (rank->starter == starter && rank->waits)
            return true;
    return false;
}

void tg_mpir_ranks_wake(struct tg_mpir_ranks *ranks, pid_t starter)
{
    for (struct rank *rank = ranks->ranks; rank != NULL; rank = rank->hh.next) {
        if (rank->starter != starter || !rank->waits)
            continue;
        rank->waits = false;
        if (rank->may_wake) /* else its first stop is still to come, and it is woken then */
            wake(rank);
    }
}

void tg_mpir_ranks_begin(struct tg_mpir_ranks *ranks, const struct tg_thread *thread)
{
    struct rank *rank = find(ranks, thread->process->pid);
    if (rank == NULL)
        return;
    rank->may_wake = true;
    if (!rank->waits)
        wake(rank);
}

/* Says of the process of RANK that it is that rank, where its environment does not: the table of its launcher counts more than
 * the number that a batch system gave to what it started. */
static void tell_identity(struct tg_mpir_ranks *ranks, struct tg_thread *thread, const struct rank *rank)
{
    struct tg_environment environment = {0};
    struct tg_identity identity;
    char host[HOST_NAME_MAX + 1] = "";
    tg_environment_read(rank->pid, &environment);
    tg_identity_find(&environment, &identity);
    tg_environment_deinit(&environment);
    if (identity.rank == (int64_t)rank->number ||
        (identity.rank >= 0 && strcmp(identity.source, "SLURM_PROCID") != 0))
        return;
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    const struct tg_event event = {.kind = TG_EVENT_IDENTITY,
                                   .identity = {.host = host,
                                                .job = identity.job,
                                                .source = tg_mpir_name_text(TG_MPIR_PROCTABLE),
                                                .rank = (int64_t)rank->number,
                                                .size = rank->size}};
    tg_engine_emit(ranks->engine, thread, &event);
}

/* Settles RANK as far as possible once its process was looked at. */
static void settle(struct tg_mpir_ranks *ranks, struct tg_thread *thread, struct rank *rank)
{
    struct tg_mpir_process *known = known_of(ranks, thread->process);
    enum tg_mpir_gate gate = open_gate(ranks, rank, thread, known);
    rank->may_wake = true;
    if (!rank->waits)
        wake(rank);
    if (rank->is_selected && known != NULL && !known->is_identified) {
        known->is_identified = true;
        tell_identity(ranks, thread, rank);
    }
    if (rank->is_told && gate == rank->gate)
        return;
    rank->gate = gate;
    if (rank->is_selected) {
        tell_rank(ranks, thread, rank, TG_MPIR_ACQUIRED, "");
        return;
    }
    tell_rank(ranks, thread, rank, TG_MPIR_NOT_SELECTED, TG_MPIR_LET_GO);
    if (known == NULL || !known->is_fork) /* a program that it is about to execute may have a gate, too */
        tg_engine_release(thread->process, TG_MPIR_LET_GO);
}

void tg_mpir_ranks_settle(struct tg_mpir_ranks *ranks, struct tg_thread *thread)
{
    struct rank *rank = find(ranks, thread->process->pid);
    if (rank != NULL)
        settle(ranks, thread, rank);
}

void tg_mpir_ranks_leave(struct tg_mpir_ranks *ranks, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    struct rank *rank = find(ranks, thread->process->pid);
    struct tg_mpir_process *known = known_of(ranks, thread->process);
    if (rank != NULL && !rank->is_told)
        tell_rank(ranks, thread, rank, rank->is_selected ? TG_MPIR_ACQUIRED : TG_MPIR_NOT_SELECTED, "");
    if (rank != NULL && trigger == TG_TRIGGER_DETACH)
        wake(rank); /* nobody else would */
    if (trigger != TG_TRIGGER_DETACH || known == NULL || known->gate_at_ns == 0 ||
        tg_engine_now_ns() - known->gate_at_ns < gate_passed_ns)
        return;
    tell_write(ranks, thread, 0,
               tg_mpir_starter_write(&known->variables, TG_MPIR_DEBUG_GATE, thread->tid, 0));
    known->gate_at_ns = 0;
}

void tg_mpir_ranks_tell_lost(struct tg_mpir_ranks *ranks, struct tg_thread *starter)
{
    struct rank *rank, *next;
    HASH_ITER (hh, ranks->ranks, rank, next) {
        if (rank->is_told || rank->starter != starter->process->pid ||
            tg_engine_find_process(ranks->engine, rank->pid) != NULL)
            continue;
        tell_rank(ranks, starter, rank, TG_MPIR_MISSED, "it ended before it could be stopped");
        destroy_rank(ranks, rank);
    }
}

/* ---- entries */

/* A rank that is traced already, as a descendant of a launched process or because it was asked for. */
static void take_traced(struct tg_mpir_ranks *ranks, struct tg_process *process, struct rank *rank)
{
    struct tg_mpir_process *known = known_of(ranks, process);
    bool is_starter = process->pid == rank->starter;
    rank->way = process->attached || is_starter ? TG_MPIR_WAY_ALREADY : TG_MPIR_WAY_FORK;
    /* a program that has not reached its entry point is settled there; a fork may never execute anything */
    bool is_ready = known != NULL && known->program_seen &&
                    (!known->is_fork || known->variables.found[TG_MPIR_DEBUG_GATE]);
    if (process->threads != NULL && (is_starter || is_ready))
        settle(ranks, process->threads, rank);
}

/* A process that another one started for the job. REASON says why it is not to be had, "" it is. */
static void attach(struct tg_mpir_ranks *ranks, const struct tg_thread *starter,
                   const struct tg_mpir_entry *entry, char reason[REASON_BYTES])
{
    const struct tg_mpir_target target = {.starter = starter->process->pid,
                                          .rank = entry->rank,
                                          .host = entry->host,
                                          .executable = entry->executable,
                                          .pid = (pid_t)entry->pid};
    reason[0] = '\0';
    if (!tg_mpir_target_is_meant(&target, ranks->options.trust, reason, REASON_BYTES))
        return;
    bool lives_on = starter->process->attached || ranks->options.is_foreign;
    TG_AUTO_ERROR struct tg_error *error =
        lives_on ? tg_engine_attach(ranks->engine, target.pid) : tg_engine_acquire(ranks->engine, target.pid);
    if (error != NULL)
        snprintf(reason, REASON_BYTES, "%s", tg_error_message(error));
}

static bool is_here(struct tg_mpir_ranks *ranks, const struct tg_thread *starter,
                    const struct tg_mpir_entry *entry)
{
    if (ranks->hosts == NULL)
        ranks->hosts = tg_mpir_hosts_create();
    if (ranks->hosts != NULL && tg_mpir_hosts_is_local(ranks->hosts, entry->host))
        return true;
    const struct tg_mpir_target target = {.starter = starter->process->pid,
                                          .rank = entry->rank,
                                          .host = entry->host,
                                          .executable = entry->executable,
                                          .pid = (pid_t)entry->pid};
    return entry->pid > 0 && tg_mpir_target_is_here(&target);
}

static void take_local(struct tg_mpir_ranks *ranks, struct tg_thread *starter,
                       const struct tg_mpir_entry *entry, int64_t size)
{
    const struct tg_mpir_process *from = known_of(ranks, starter->process);
    bool is_selected = tg_wanted_ranks_has(ranks->options.wanted, entry->rank);
    bool partial_ok = from->variables.found[TG_MPIR_PARTIAL_ATTACH_OK];
    bool launched = !starter->process->attached && !ranks->options.is_foreign;
    struct tg_process *process = tg_engine_find_process(ranks->engine, (pid_t)entry->pid);
    if (process == NULL && !is_selected && partial_ok) {
        tell_entry(ranks, starter, entry, TG_MPIR_NOT_SELECTED, TG_MPIR_WAY_NONE, TG_MPIR_LET_GO);
        return;
    }
    if (process == NULL && find_gone(ranks, (pid_t)entry->pid) != NULL) {
        tell_entry(ranks, starter, entry, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK,
                   "it had ended before the table was read");
        return;
    }
    char reason[REASON_BYTES] = "";
    if (process == NULL)
        attach(ranks, starter, entry, reason);
    struct rank *rank = reason[0] == '\0' ? add(ranks, starter->process->pid, entry, size) : NULL;
    if (rank == NULL) {
        tell_entry(ranks, starter, entry, TG_MPIR_MISSED, TG_MPIR_WAY_NONE,
                   reason[0] != '\0' ? reason : "out of memory");
        return;
    }
    rank->is_selected = is_selected;
    rank->wants_gate = !partial_ok;
    /* The rank's SIGSTOP is sent, but it need not have stopped yet; SIGCONT undoes either. */
    rank->wake = process == NULL && launched && from->variables.found[TG_MPIR_ACQUIRED_PRE_MAIN];
    rank->waits = rank->wake;
    rank->way = TG_MPIR_WAY_ATTACHED;
    if (process != NULL)
        take_traced(ranks, process, rank);
}

void tg_mpir_ranks_take(struct tg_mpir_ranks *ranks, struct tg_thread *starter,
                        const struct tg_mpir_entry *entry, int64_t size)
{
    char reason[REASON_BYTES];
    const struct rank *before = entry->pid > 0 ? find(ranks, (pid_t)entry->pid) : NULL;
    if (before != NULL && before->starter == starter->process->pid && before->number == entry->rank)
        return; /* known from an earlier reading */
    if (entry->host[0] == '\0') {
        snprintf(reason, sizeof reason, "unknown host: %s",
                 entry->problem[0] != '\0' ? entry->problem : "host_name is empty");
        tell_entry(ranks, starter, entry, TG_MPIR_MISSED, TG_MPIR_WAY_NONE, reason);
    } else if (!is_here(ranks, starter, entry)) {
        tell_entry(ranks, starter, entry, TG_MPIR_REMOTE, TG_MPIR_WAY_NONE, "");
    } else if (entry->pid <= 0) {
        snprintf(reason, sizeof reason, "no process in the table: its pid is %" PRId64, entry->pid);
        tell_entry(ranks, starter, entry, TG_MPIR_MISSED, TG_MPIR_WAY_NONE, reason);
    } else if (before != NULL) {
        snprintf(reason, sizeof reason, "process %d is already rank %" PRIu64 "", (int)before->pid,
                 before->number);
        tell_entry(ranks, starter, entry, TG_MPIR_MISSED, TG_MPIR_WAY_NONE, reason);
    } else {
        take_local(ranks, starter, entry, size);
    }
}
