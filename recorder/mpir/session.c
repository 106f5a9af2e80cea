#include "recorder/mpir/session.h"

#include "format/base/array.h"
#include "recorder/mpir/environment.h"
#include "recorder/mpir/ranks.h"
#include "recorder/mpir/starter.h"
#include "recorder/process/environment.h"
#include "recorder/process/identity.h"
#include "recorder/process/memory.h"
#include "recorder/process/proc_status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 32, MAX_DLL_NAME = 512 };

struct tg_mpir_session {
    struct tg_engine *engine;
    struct tg_mpir_session_options options;
    struct tg_observer observer;
    size_t slot;
    struct tg_mpir_finder *finder;
    struct tg_mpir_ranks *ranks;
    uint64_t starters;
    uint64_t starters_with_symbols; /* of them; only these have a table */
    pid_t *quiet;                   /* starters that are looked at for their tables */
    size_t n_quiet, quiet_capacity;
};

static struct tg_mpir_process *known_of(const struct tg_mpir_session *session,
                                        const struct tg_process *process)
{
    return process->data[session->slot];
}

/* ---- ranks and starters among processes */

/* Whether the environment makes PID a rank of an MPI runtime. A batch system's variables do not: launchers
 * run under those, too. */
static bool is_rank_by_environment(pid_t pid, struct tg_identity *identity)
{
    struct tg_environment environment = {0};
    if (!tg_environment_read(pid, &environment))
        return false;
    tg_identity_find(&environment, identity);
    tg_environment_deinit(&environment);
    return identity->rank >= 0 && strcmp(identity->source, "SLURM_PROCID") != 0;
}

/* Children of a starter are its helpers and its ranks, whatever libraries they have. */
static bool descends_from_starter(const struct tg_mpir_session *session, pid_t pid)
{
    struct tg_proc_status status;
    for (int i = 0; i < MAX_ANCESTORS && pid > 1 && tg_proc_status_read(pid, &status); i++) {
        pid = status.parent;
        const struct tg_process *parent = tg_engine_find_process(session->engine, pid);
        const struct tg_mpir_process *known = parent == NULL ? NULL : known_of(session, parent);
        if (known != NULL && known->is_starter)
            return true;
    }
    return false;
}

/* ---- telling */

struct telling {
    struct tg_mpir_session *session;
    struct tg_thread *thread;
};

static void tell_object(void *context, const char *path, uint64_t bias, const struct tg_mpir_symbols *symbols)
{
    const struct telling *telling = context;
    const struct tg_mpir_process *known = known_of(telling->session, telling->thread->process);
    struct tg_mpir_symbol items[TG_MPIR_N_NAMES];
    struct tg_identity identity;
    char dll_name[MAX_DLL_NAME];
    pid_t pid = telling->thread->process->pid;
    bool is_rank = tg_mpir_ranks_has(telling->session->ranks, pid) || is_rank_by_environment(pid, &identity);
    size_t n = 0;
    for (int i = 0; i < TG_MPIR_N_NAMES; i++) {
        if (!symbols->found[i])
            continue;
        items[n] = (struct tg_mpir_symbol){.name = tg_mpir_name_text(i),
                                           .address = bias + symbols->addresses[i],
                                           .size_bytes = symbols->sizes[i],
                                           .text = ""};
        if (i == TG_MPIR_DLL_NAME) {
            tg_mpir_starter_read_array(&known->variables, i, telling->thread->tid, dll_name, sizeof dll_name);
            items[n].text = dll_name;
        }
        n++;
    }
    struct tg_mpir_layout layout = {0};
    if (symbols->found[TG_MPIR_PROCTABLE])
        layout = known->variables.layout;
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_SYMBOLS,
        .mpir_symbols = {.object = path,
                         .role = is_rank             ? TG_MPIR_RANK
                                 : known->is_starter ? TG_MPIR_STARTER
                                                     : TG_MPIR_CANDIDATE,
                         .layout = layout.source,
                         .stride_bytes = layout.stride_bytes,
                         .host_offset = layout.host_offset,
                         .executable_offset = layout.executable_offset,
                         .pid_offset = layout.pid_offset,
                         .symbols = {.items = items, .count = n}},
    };
    tg_engine_emit(telling->session->engine, telling->thread, &event);
}

static void tell_job(struct tg_mpir_session *session, struct tg_thread *thread,
                     enum tg_mpir_acquisition acquisition, const char *job, const char *reason)
{
    const struct tg_mpir_process *known = known_of(session, thread->process);
    const bool *found = known->variables.found;
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_JOB,
        .mpir_job = {.launcher = known->launcher,
                     .acquisition = acquisition,
                     .reason = reason,
                     .i_am_starter = found[TG_MPIR_I_AM_STARTER],
                     .acquired_pre_main = found[TG_MPIR_ACQUIRED_PRE_MAIN],
                     .force_to_main = found[TG_MPIR_FORCE_TO_MAIN],
                     .partial_attach_ok = found[TG_MPIR_PARTIAL_ATTACH_OK],
                     .ignore_queues = found[TG_MPIR_IGNORE_QUEUES],
                     .job = job},
    };
    tg_engine_emit(session->engine, thread, &event);
}

static void tell_state(struct tg_mpir_session *session, struct tg_thread *thread, enum tg_mpir_seen seen,
                       const struct tg_mpir_saying *saying)
{
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_STATE,
        .mpir_state = {.seen = seen,
                       .state = saying->state,
                       .raw_state = saying->raw_state,
                       .abort_string = saying->abort_string,
                       .table_size = saying->table_size,
                       .table_address = saying->table_address},
    };
    tg_engine_emit(session->engine, thread, &event);
}

static void write_being_debugged(struct tg_mpir_session *session, struct tg_thread *thread, int32_t value)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    const char *error = tg_mpir_starter_write(&known->variables, TG_MPIR_BEING_DEBUGGED, thread->tid, value);
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_WRITE,
        .mpir_write = {.symbol = tg_mpir_name_text(TG_MPIR_BEING_DEBUGGED),
                       .value = value,
                       .error = error != NULL ? error : ""},
    };
    tg_engine_emit(session->engine, thread, &event);
    known->is_announced = value != 0 && error == NULL;
}

static void note(struct tg_mpir_session *session, struct tg_thread *thread, const char *text)
{
    tg_engine_emit(session->engine, thread,
                   &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

/* ---- the table */

/* One reading of a table. */
struct reading {
    struct tg_mpir_session *session;
    struct tg_thread *starter;
    const struct tg_mpir_saying *saying;
    bool acquire;       /* the ranks are to be had */
    uint64_t taking_ns; /* time that went into that, and none into reading */
};

static struct tg_event table_event(const struct reading *reading)
{
    return (struct tg_event){
        .kind = TG_EVENT_MPIR_TABLE,
        .mpir_table = {.snapshot = known_of(reading->session, reading->starter->process)->snapshots,
                       .claimed_size = reading->saying->table_size,
                       .reason = ""},
    };
}

static void take_block(void *context, uint64_t first, const struct tg_mpir_entry *entries, size_t count)
{
    struct reading *reading = context;
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_event event = table_event(reading);
    event.mpir_table.first = first;
    event.mpir_table.entries = (struct tg_list){.items = entries, .count = count};
    tg_engine_emit(reading->session->engine, reading->starter, &event);
    for (size_t i = 0; reading->acquire && i < count; i++)
        tg_mpir_ranks_take(reading->session->ranks, reading->starter, &entries[i],
                           reading->saying->table_size);
    reading->taking_ns += tg_engine_now_ns() - start_ns;
}

/* The last event of a reading has no entries: it says how the reading ended. */
static void read_table(struct tg_mpir_session *session, struct tg_thread *thread,
                       const struct tg_mpir_saying *saying, bool acquire)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    struct reading reading = {.session = session, .starter = thread, .saying = saying, .acquire = acquire};
    const struct tg_mpir_table_sink sink = {.context = &reading, .block = take_block};
    const struct tg_mpir_table_place place = {
        .address = saying->table_address, .size = saying->table_size, .layout = known->variables.layout};
    pid_t tid = thread->tid;
    const struct tg_mpir_memory memory = tg_mpir_starter_memory(&tid);
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    known->snapshots++;
    uint64_t start_ns = tg_engine_now_ns();
    TG_AUTO_ERROR struct tg_error *error = tg_mpir_table_read(&memory, &place, &sink, reason);
    struct tg_event event = table_event(&reading);
    event.mpir_table.first = saying->table_size > 0 ? (uint64_t)saying->table_size : 0;
    event.mpir_table.read_ns = tg_engine_now_ns() - start_ns - reading.taking_ns;
    event.mpir_table.last = true;
    event.mpir_table.reason = error != NULL ? tg_error_message(error) : reason;
    tg_engine_emit(session->engine, thread, &event);
    tg_mpir_ranks_tell_lost(session->ranks, thread);
}

/* ---- the starter */

/* Ranks of a launched starter are to end with the recorder, also those that Slurm's daemons have left stopped
 * for it. */
static void post_guard(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    if (!known->variables.found[TG_MPIR_ACQUIRED_PRE_MAIN] || !known->variables.found[TG_MPIR_SLURM_JOB])
        return;
    TG_AUTO_ERROR struct tg_error *error = tg_mpir_job_guard_create(thread->process->pid, &known->guard);
    if (error != NULL)
        note(session, thread, tg_error_message(error));
}

/* The job is known before the first rank is asked for. */
static void tell_guard(const struct tg_mpir_session *session, struct tg_thread *thread)
{
    const struct tg_mpir_process *known = known_of(session, thread->process);
    struct tg_mpir_saying saying;
    if (known->guard == NULL || known->has_spawned)
        return;
    tg_mpir_starter_read(&known->variables, thread->process->bits, thread->tid, &saying);
    tg_mpir_job_guard_tell(known->guard, saying.job);
}

static void become_starter(struct tg_mpir_session *session, struct tg_thread *thread,
                           enum tg_mpir_acquisition acquisition, const char *job)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    if (known->is_starter)
        return;
    known->is_starter = true;
    session->starters++;
    session->starters_with_symbols++;
    tell_job(session, thread, acquisition, job, "");
    if (acquisition == TG_MPIR_BY_LAUNCH)
        post_guard(session, thread);
}

static enum tg_mpir_acquisition acquisition_of(const struct tg_mpir_session *session,
                                               const struct tg_thread *thread)
{
    return thread->process->attached || session->options.is_foreign ? TG_MPIR_BY_ATTACH : TG_MPIR_BY_LAUNCH;
}

/* The starter has asked its daemons for the ranks by now. */
static void starter_returned(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_mpir_session *session = context;
    tg_breakpoint_remove(thread->process, breakpoint);
    tg_mpir_ranks_wake(session->ranks, thread->process->pid);
}

/* Ranks that were left stopped go on when THREAD returns from the function that it is about to begin. */
static void wait_for_return(struct tg_mpir_session *session, struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    pid_t pid = thread->process->pid;
    uint64_t address = 0;
    size_t size = thread->process->bits == 32 ? 4 : 8;
    if (!tg_mpir_ranks_wait(session->ranks, pid))
        return;
    TG_AUTO_ERROR struct tg_error *error =
        registers != NULL && tg_memory_read(thread->tid, registers->rsp, &address, size)
            ? tg_breakpoint_plant(thread->process, address, TG_BREAKPOINT_INTERNAL, starter_returned, session,
                                  NULL)
            : tg_error_create(TG_ERROR_TARGET, "cannot read the job launcher's stack");
    if (error == NULL)
        return;
    note(session, thread, tg_error_message(error));
    tg_mpir_ranks_wake(session->ranks, pid);
}

/* Any thread of the starter's may come here, and it may come here often. */
static void starter_called(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_mpir_session *session = context;
    struct tg_mpir_process *known = known_of(session, thread->process);
    struct tg_mpir_saying saying;
    (void)breakpoint;
    if (known == NULL)
        return;
    tg_mpir_starter_read(&known->variables, thread->process->bits, thread->tid, &saying);
    bool spawned = saying.state == TG_MPIR_STATE_SPAWNED;
    if (spawned && known->is_starter && !known->has_spawned && saying.job[0] != '\0')
        tell_job(session, thread, acquisition_of(session, thread), saying.job, ""); /* now that it is known */
    if (spawned)
        become_starter(session, thread, acquisition_of(session, thread), saying.job);
    tell_state(session, thread, TG_MPIR_AT_BREAKPOINT, &saying);
    if (!spawned)
        return;
    if (known->guard != NULL)
        tg_mpir_job_guard_tell(known->guard, saying.job);
    known->has_spawned = true;
    read_table(session, thread, &saying, true);
    wait_for_return(session, thread);
}

static void plant(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    char text[256];
    TG_AUTO_ERROR struct tg_error *error =
        tg_breakpoint_plant(thread->process, known->variables.addresses[TG_MPIR_BREAKPOINT],
                            TG_BREAKPOINT_INTERNAL, starter_called, session, NULL);
    known->is_planted = true;
    if (error == NULL)
        return;
    snprintf(text, sizeof text,
             "no breakpoint at MPIR_Breakpoint, so the ranks of this job launcher are not acquired: %s",
             tg_error_message(error));
    note(session, thread, text);
}

static void read_program(pid_t pid, char path[PATH_MAX])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

/* A rank that no table has. */
static void tell_by_environment(struct tg_mpir_session *session, struct tg_thread *thread, int64_t rank,
                                enum tg_mpir_rank_state state, const char *reason)
{
    char path[PATH_MAX];
    struct utsname host;
    read_program(thread->process->pid, path);
    uname(&host);
    const struct tg_event event = {
        .kind = TG_EVENT_MPIR_RANK,
        .mpir_rank = {.rank = rank,
                      .host = host.nodename,
                      .executable = path,
                      .table_pid = thread->process->pid,
                      .state = state,
                      .way = TG_MPIR_WAY_FORK,
                      .reason = reason},
    };
    tg_engine_emit(session->engine, thread, &event);
}

static void let_go(struct tg_mpir_session *session, struct tg_thread *thread, int64_t rank)
{
    tell_by_environment(session, thread, rank, TG_MPIR_NOT_SELECTED, TG_MPIR_LET_GO);
    tg_engine_release(thread->process, TG_MPIR_LET_GO);
}

/* A rank that a starter created after it had reported its job: MPI_Comm_spawn. */
static void tell_outside(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_proc_status status;
    struct tg_identity identity;
    pid_t pid = thread->process->pid;
    if (!tg_proc_status_read(pid, &status))
        return;
    const struct tg_process *parent = tg_engine_find_process(session->engine, status.parent);
    const struct tg_mpir_process *starter = parent == NULL ? NULL : known_of(session, parent);
    if (starter == NULL || !starter->has_spawned || tg_mpir_ranks_has(session->ranks, pid) ||
        !is_rank_by_environment(pid, &identity))
        return;
    if (!tg_wanted_ranks_has(session->options.ranks, (uint64_t)identity.rank))
        let_go(session, thread, identity.rank);
    else
        tell_by_environment(session, thread, identity.rank, TG_MPIR_OUTSIDE,
                            "not in the job launcher's table, as after MPI_Comm_spawn");
}

/* ---- starters that are looked at
 *
 * Open MPI fills its table in every job, for debuggers that attach later (orte_debugger_init_after_spawn()). Being told that it
 * is debugged it has its ranks wait for each other and for it, which takes a tenth of a second. */

static bool fills_its_table_anyway(const struct tg_mpir_process *known)
{
    return strcmp(known->launcher, "Open MPI") == 0;
}

static void announce(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    const pid_t pid = thread->process->pid;
    known->is_quiet = !session->options.announces && !session->options.insist && !thread->process->attached &&
                      fills_its_table_anyway(known) &&
                      TG_ARRAY_APPEND(session->quiet, session->n_quiet, session->quiet_capacity, pid) == NULL;
    if (!known->is_quiet && known->variables.found[TG_MPIR_BEING_DEBUGGED])
        write_being_debugged(session, thread, 1);
}

/* The same of those that came before the table was read. */
static void tell_outside_before(struct tg_mpir_session *session)
{
    struct tg_process *next;
    for (struct tg_process *process = tg_engine_first_process(session->engine); process != NULL;
         process = next) {
        const struct tg_mpir_process *known = known_of(session, process);
        next = process->hh.next;
        if (process->threads != NULL && known != NULL && known->program_seen) /* else at its entry point */
            tell_outside(session, process->threads);
    }
}

static bool is_asleep(pid_t pid)
{
    struct tg_proc_status status;
    return tg_proc_status_read(pid, &status) && status.state == 'S';
}

/* True when STARTER has been dealt with. Its main thread fills the table after it has said that it is there, and does not sleep
 * meanwhile. */
static bool look_at_table(struct tg_mpir_session *session, struct tg_process *starter)
{
    struct tg_mpir_process *known = known_of(session, starter);
    struct tg_mpir_saying saying;
    if (known == NULL || !known->is_quiet || known->has_spawned)
        return true;
    if (starter->threads == NULL || !is_asleep(starter->pid))
        return false;
    tg_mpir_starter_read(&known->variables, starter->bits, starter->pid, &saying);
    if (saying.state != TG_MPIR_STATE_SPAWNED || saying.table_size == 0 || saying.table_address == 0)
        return false;
    known->has_spawned = true;
    tell_state(session, starter->threads, TG_MPIR_AT_LOOK, &saying);
    read_table(session, starter->threads, &saying, true);
    tell_outside_before(session);
    return true;
}

/* At whatever stops: the ranks are there when the table is, and create threads and processes, or end. */
static void look_at_tables(struct tg_mpir_session *session)
{
    size_t kept = 0;
    for (size_t i = 0; i < session->n_quiet; i++) {
        struct tg_process *starter = tg_engine_find_process(session->engine, session->quiet[i]);
        if (starter != NULL && !look_at_table(session, starter))
            session->quiet[kept++] = session->quiet[i];
    }
    session->n_quiet = kept;
}

/* Whether PID is a daemon that starts ranks for the launcher of a job, with whose library it has MPIR symbols. */
static bool is_daemon(pid_t pid)
{
    static const char *const names[] = {"orted", "prted"};
    char path[PATH_MAX];
    read_program(pid, path);
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(slash + 1, names[i]) == 0)
            return true;
    return false;
}

/* Why a daemon has no launcher in this trace: a process that calls MPI without one starts a daemon for itself. */
static const char *daemon_reason(const struct tg_mpir_session *session, pid_t daemon)
{
    struct tg_proc_status status;
    const struct tg_process *parent =
        tg_proc_status_read(daemon, &status) ? tg_engine_find_process(session->engine, status.parent) : NULL;
    const struct tg_mpir_process *known = parent == NULL ? NULL : known_of(session, parent);
    return known != NULL && known->variables.found[TG_MPIR_DEBUG_GATE]
               ? "the daemon that an MPI process without a job launcher has started for itself"
               : "a daemon of a job launcher that is not in this trace";
}

/* The process has, or has got, symbols of MPIR. */
static void meet(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    struct tg_identity identity;
    pid_t pid = thread->process->pid;
    if (!tg_mpir_process_can_start(known) || known->is_planted || tg_mpir_ranks_has(session->ranks, pid) ||
        is_rank_by_environment(pid, &identity))
        return;
    bool is_below = descends_from_starter(session, pid);
    if (!is_below && is_daemon(pid)) {
        if (known->is_daemon)
            return;
        known->is_daemon = true;
        session->starters++;
        session->starters_with_symbols++;
        tell_job(session, thread, TG_MPIR_BY_FOLLOWING, "", daemon_reason(session, pid));
        return;
    }
    plant(session, thread);
    if (!tg_mpir_process_may_announce(known) || is_below)
        return;
    become_starter(session, thread, acquisition_of(session, thread), "");
    announce(session, thread);
}

/* An attached process: what it has in its table is there to be read. */
static void meet_attached(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    struct tg_mpir_saying saying;
    if (!tg_mpir_process_can_start(known))
        return;
    tg_mpir_starter_read(&known->variables, thread->process->bits, thread->tid, &saying);
    if (saying.table_size != 0) {
        become_starter(session, thread, TG_MPIR_BY_ATTACH, saying.job);
        tell_state(session, thread, TG_MPIR_AT_ATTACH, &saying);
        known->has_spawned = true;
        read_table(session, thread, &saying, true);
    }
    if (session->options.insist)
        meet(session, thread);
}

/* ---- without MPIR */

/* Debian's mpiexec.hydra has no symbols at all, and Open MPI's mpirun has no MPIR from release 5 on. Their ranks descend from
 * them, and their environment says which they are. */
static void recognise_without_symbols(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    char path[PATH_MAX];
    read_program(thread->process->pid, path);
    const char *slash = strrchr(path, '/');
    if (slash == NULL || (strcmp(slash + 1, "mpiexec.hydra") != 0 && strcmp(slash + 1, "prte") != 0))
        return;
    snprintf(known->launcher, sizeof known->launcher,
             strcmp(slash + 1, "prte") == 0 ? "PRRTE" : "MPICH hydra");
    session->starters++;
    tell_job(session, thread, TG_MPIR_BY_FOLLOWING, "", "the job launcher has no MPIR symbols");
}

/* Whether PID is a rank by its environment, and not one of those that were asked for. */
static bool is_left_out(const struct tg_mpir_session *session, pid_t pid, struct tg_identity *identity)
{
    return session->starters > 0 && session->options.ranks->count > 0 &&
           is_rank_by_environment(pid, identity) &&
           !tg_wanted_ranks_has(session->options.ranks, (uint64_t)identity->rank);
}

/* Where a launcher has a table, that decides, and who is in it goes when it has been read. */
static void leave_out(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct tg_identity identity;
    if (session->starters_with_symbols == 0 && is_left_out(session, thread->process->pid, &identity))
        let_go(session, thread, identity.rank);
}

/* ---- the observer */

/* True where there were objects with symbols. */
static bool look(struct tg_mpir_session *session, struct tg_thread *thread)
{
    struct telling telling = {session, thread};
    const struct tg_mpir_object_sink sink = {.context = &telling, .take = tell_object};
    return tg_mpir_process_look(known_of(session, thread->process), session->finder, session->options.agent,
                                thread, &sink);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    const struct tg_mpir_session *session = context;
    const struct tg_mpir_process *of_parent = parent == NULL ? NULL : known_of(session, parent);
    (void)origin;
    tg_mpir_ranks_began(session->ranks, thread->process->pid);
    thread->process->data[session->slot] = NULL;
    if (of_parent != NULL && of_parent->is_planted && thread->process->space != parent->space)
        thread->process->data[session->slot] = tg_mpir_process_copy(of_parent);
}

static void add_to_environment(struct tg_mpir_session *session, struct tg_thread *thread)
{
    TG_AUTO_ERROR struct tg_error *error = tg_mpir_environment_add(session->options.images, thread);
    if (error != NULL)
        note(session, thread, tg_error_message(error));
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_mpir_session *session = context;
    struct tg_process *process = thread->process;
    tg_mpir_process_destroy(process->data[session->slot]);
    process->data[session->slot] = tg_mpir_process_create();
    if (!attached && (session->options.announces || session->options.insist) &&
        (session->options.agent == NULL || !tg_agent_injector_is_in(session->options.agent, process)))
        add_to_environment(session, thread);
    if (!attached)
        tg_mpir_ranks_begin(session->ranks, thread);
    if (!attached || process->data[session->slot] == NULL)
        return;
    look(session, thread);
    if (!tg_mpir_ranks_has(session->ranks, process->pid))
        meet_attached(session, thread);
    tg_mpir_ranks_settle(session->ranks, thread);
}

static void reach_entry(struct tg_mpir_session *session, struct tg_thread *thread)
{
    if (look(session, thread))
        meet(session, thread);
    if (!tg_mpir_process_can_start(known_of(session, thread->process)))
        recognise_without_symbols(session, thread);
    look_at_tables(session);
    tg_mpir_ranks_settle(session->ranks, thread);
    if (session->starters > 0)
        tell_outside(session, thread);
    leave_out(session, thread);
}

/* Whether libraries that came after THREAD's process reached its entry point can matter. For a rank they cannot where no launcher
 * has told of symbols: there is no table that it could be in, and it is none itself. */
static bool can_later_ones_matter(const struct tg_mpir_session *session, const struct tg_thread *thread,
                                  struct tg_mpir_process *known)
{
    const struct tg_process *process = thread->process;
    struct tg_identity identity;
    if (session->starters_with_symbols > 0 || process->attached || session->options.insist)
        return true;
    if (known->kind == TG_MPIR_KIND_UNKNOWN)
        known->kind =
            is_rank_by_environment(process->pid, &identity) ? TG_MPIR_KIND_RANK : TG_MPIR_KIND_OTHER;
    return known->kind != TG_MPIR_KIND_RANK;
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_mpir_session *session = context;
    struct tg_mpir_process *known = known_of(session, thread->process);
    if (stop->trigger == TG_TRIGGER_FORK || stop->trigger == TG_TRIGGER_THREAD)
        look_at_tables(session);
    if (known == NULL)
        return;
    if (stop->trigger == TG_TRIGGER_FORK || stop->trigger == TG_TRIGGER_THREAD)
        tell_guard(session, thread);
    if (stop->trigger == TG_TRIGGER_ENTRY)
        reach_entry(session, thread);
    /* libraries that came later show when the starter begins its work: with a process, or a thread */
    else if ((stop->trigger == TG_TRIGGER_FORK || stop->trigger == TG_TRIGGER_THREAD) &&
             known->program_seen && known->maps != NULL && can_later_ones_matter(session, thread, known) &&
             look(session, thread) && (!thread->process->attached || session->options.insist)) {
        meet(session, thread);
        tg_mpir_ranks_settle(session->ranks, thread);
    }
}

static void leave_starter(struct tg_mpir_session *session, struct tg_thread *thread,
                          enum tg_stop_trigger trigger)
{
    struct tg_mpir_process *known = known_of(session, thread->process);
    struct tg_mpir_saying saying;
    bool detaches = trigger == TG_TRIGGER_DETACH;
    tg_mpir_starter_read(&known->variables, thread->process->bits, thread->tid, &saying);
    if (known->is_daemon) /* what is in its table is not a job's */
        return;
    bool is_late = known->is_quiet && !known->has_spawned && saying.state == TG_MPIR_STATE_SPAWNED &&
                   saying.table_size != 0;
    if (!known->is_starter && (saying.table_size == 0 || known->has_spawned))
        return;
    tell_state(session, thread, detaches ? TG_MPIR_AT_DETACH : TG_MPIR_AT_EXIT, &saying);
    if (!known->has_spawned && saying.table_size != 0)
        read_table(session, thread, &saying, is_late && !detaches);
    known->has_spawned |= is_late;
    if (!known->has_spawned && !detaches)
        tell_job(session, thread, TG_MPIR_NO_WAY, saying.job,
                 "it ended without reporting ranks: it started no MPI program, or one that failed early");
    tg_mpir_ranks_tell_lost(session->ranks, thread);
    if (detaches && known->is_announced)
        write_being_debugged(session, thread, 0);
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    struct tg_mpir_session *session = context;
    const struct tg_mpir_process *known = known_of(session, thread->process);
    look_at_tables(session);
    tg_mpir_ranks_leave(session->ranks, thread, trigger);
    tg_mpir_ranks_wake(session->ranks,
                       thread->process->pid); /* the starter will not return any more, or unseen */
    if (known != NULL && tg_mpir_process_can_start(known))
        leave_starter(session, thread, trigger);
}

static void process_ended(void *context, struct tg_process *process)
{
    struct tg_mpir_session *session = context;
    tg_mpir_ranks_ended(session->ranks, process->pid);
    tg_mpir_ranks_wake(session->ranks, process->pid);
    tg_mpir_process_destroy(process->data[session->slot]);
    process->data[session->slot] = NULL;
}

/* ---- life */

struct tg_error *tg_mpir_session_create(struct tg_engine *engine,
                                        const struct tg_mpir_session_options *options,
                                        struct tg_mpir_session **session)
{
    struct tg_mpir_session *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){
        .name = "mpir",
        .context = made,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .process_leaving = process_leaving,
        .process_ended = process_ended,
    };
    struct tg_error *error = tg_mpir_finder_create(options->images, &made->finder);
    if (error == NULL)
        error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_mpir_session_destroy(made);
        return error;
    }
    const struct tg_mpir_ranks_options ranks = {.slot = made->slot,
                                                .wanted = options->ranks,
                                                .trust = options->trust,
                                                .is_foreign = options->is_foreign};
    error = tg_mpir_ranks_create(engine, &ranks, &made->ranks);
    *session = made; /* also where there was no memory: the engine knows it by now */
    return error;
}

void tg_mpir_session_destroy(struct tg_mpir_session *session)
{
    if (session == NULL)
        return;
    tg_mpir_ranks_destroy(session->ranks);
    tg_mpir_finder_destroy(session->finder);
    free(session->quiet);
    free(session);
}

uint64_t tg_mpir_session_starters(const struct tg_mpir_session *session)
{
    return session->starters;
}

bool tg_mpir_session_leaves_out(const struct tg_mpir_session *session, pid_t pid)
{
    struct tg_identity identity;
    return is_left_out(session, pid, &identity);
}

bool tg_mpir_session_awaits_tables(const struct tg_mpir_session *session)
{
    return session->n_quiet > 0;
}

void tg_mpir_session_look(struct tg_mpir_session *session)
{
    look_at_tables(session);
}

bool tg_mpir_session_has_launched(const struct tg_mpir_session *session, const struct tg_process *process)
{
    const struct tg_mpir_process *known = known_of(session, process);
    return known != NULL && known->is_starter && known->has_spawned;
}

const struct tg_link_maps *tg_mpir_session_link_maps(const struct tg_mpir_session *session,
                                                     const struct tg_process *process)
{
    const struct tg_mpir_process *known = known_of(session, process);
    return known == NULL ? NULL : known->maps;
}
