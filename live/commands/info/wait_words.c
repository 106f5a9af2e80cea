#include "live/commands/info/wait_words.h"

#include "analyzer/finding/words.h"
#include "analyzer/job/list.h"
#include "analyzer/models/openmp/barrier.h"
#include "format/base/signal_name.h"
#include "live/commands/info/barrier_states.h"
#include "live/commands/info/place.h"
#include "live/console/flush.h"
#include "recorder/process/futex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOLD = 3 }; /* missing members of a barrier that are told with what they do */

struct telling {
    struct tg_console *console;
    struct tg_barrier_states states;
    struct tg_verdict_input input;
};

void tg_wait_words_note(struct tg_console *console, const char *text)
{
    const struct tg_news news = {.kind = TG_NEWS_NOTE, .text = text, .is_printable = true};
    if (console->options.news != NULL) {
        tg_news_tell(console->options.news, &news);
        return;
    }
    tg_news_words(&news, console->options.out);
    fputc('\n', console->options.out);
}

static void tell(const struct telling *telling, const char *text)
{
    tg_wait_words_note(telling->console, text);
}

/* ---- threads that run */

/* Members of the focus, or all; nobody where not all of it is there. */
static struct tg_error *find_focus(const struct telling *telling, const struct tg_ptset_defaults *defaults,
                                   struct tg_job_set *set)
{
    const struct tg_job_view *view = telling->states.view;
    const struct tg_ptset *focus = defaults == NULL ? NULL : telling->console->focus.set;
    if (focus != NULL)
        return tg_ptset_members(focus, view, defaults, set, NULL);
    struct tg_error *error = tg_job_set_init(set, view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++)
        for (size_t i = 0; i < tg_job_view_at(view, p)->n_threads; i++)
            tg_job_set_add(set, tg_job_view_at(view, p), i);
    return error;
}

/* Writes the threads that live, IN the focus or beyond it, and run or are stopped. */
static struct tg_error *write_those(const struct telling *telling, const struct tg_job_set *focus, bool in,
                                    bool standing, size_t *count, FILE *out)
{
    const struct tg_job_view *view = telling->states.view;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, view);
    *count = 0;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            enum tg_job_state state = tg_job_view_thread(view, process, i)->state;
            if (tg_job_set_has(focus, process, i) != in || tg_job_state_is_stopped(state) != standing)
                continue;
            tg_job_set_add(&set, process, i);
            ++*count;
        }
    }
    if (error == NULL && *count > 0)
        error = tg_job_list_print(view, &set, out);
    return error;
}

static struct tg_error *tell_focus(const struct telling *telling, const struct tg_job_set *focus,
                                   double seconds)
{
    char *text = NULL, *outside = NULL;
    size_t size, n_running = 0, n_standing = 0, n_outside = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_error_no_memory();
    fprintf(out, "waiting for %.0f s: ", seconds);
    struct tg_error *error = write_those(telling, focus, true, false, &n_running, out);
    fputs(n_running == 0   ? "no thread in focus is running"
          : n_running == 1 ? " still runs"
                           : " still run",
          out);
    fputs("; ", out);
    if (error == NULL)
        error = write_those(telling, focus, true, true, &n_standing, out);
    fputs(error != NULL || n_standing == 0 ? "no thread in focus is stopped"
          : n_standing == 1                ? " is stopped"
                                           : " are stopped",
          out);
    fputs(n_standing > 0 && n_running > 0
              ? " (the interrupt key ends the wait; `dcont -any` and `dwait -any` end at the first stop)"
          : n_running == 0 ? " (the wait is for processes that may still begin; the interrupt key ends it, "
                             "`dgo` then resumes threads that are stopped)"
                           : " (the interrupt key ends the wait)",
          out);
    bool is_written = fclose(out) == 0;
    if (error == NULL && is_written)
        tell(telling, text);
    free(text);
    out = error == NULL ? open_memstream(&outside, &size) : NULL;
    if (out == NULL)
        return error;
    fputs("outside the focus ", out);
    error = write_those(telling, focus, false, true, &n_outside, out);
    fprintf(out, " %s stopped: `dfocus a dgo` resumes all", n_outside == 1 ? "is" : "are");
    is_written = fclose(out) == 0;
    if (error == NULL && is_written && n_outside > 0)
        tell(telling, outside);
    free(outside);
    return error;
}

/* The process in the view that is INDEX in the models, NULL none. */
static const struct tg_job_process *process_at(const struct telling *telling, size_t index)
{
    const struct tg_process_model *model = telling->input.processes;
    const struct tg_job_view *view = telling->states.view;
    if (index >= tg_process_model_count(model))
        return NULL;
    int64_t pid = tg_process_model_at(model, index)->pid;
    for (size_t p = 0; p < tg_job_view_count(view); p++)
        if (tg_job_view_at(view, p)->info.exists && (int64_t)tg_job_view_at(view, p)->info.tag == pid)
            return tg_job_view_at(view, p);
    return NULL;
}

/* "rank 1 of job 7", where there are several jobs; "process 3", by its number in the session. */
static void name_process(const struct telling *telling, const struct tg_job_process *process, char *name,
                         size_t size)
{
    size_t index = tg_moment_find_pid(telling->console->source->moment, (int64_t)process->info.tag);
    FILE *out = process->info.rank < 0 || index == SIZE_MAX ? NULL : fmemopen(name, size, "w");
    if (out == NULL) {
        snprintf(name, size, "process %" PRIu32, process->info.dpid);
        return;
    }
    tg_words_process(out, &telling->input, index);
    fputc('\0', out);
    fclose(out);
    name[size - 1] = '\0';
}

/* Tells of a process in FOCUS that job control has stopped: it counts as running, for no command has stopped it. */
static void tell_suspended(const struct telling *telling, const struct tg_job_set *focus)
{
    const struct tg_job_view *view = telling->states.view;
    const struct tg_process_entry *first = NULL;
    char name[64], signal[32], *text = NULL;
    size_t count = 0;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        size_t index = tg_moment_find_pid(telling->console->source->moment, (int64_t)process->info.tag);
        bool is_meant = false;
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            is_meant = is_meant || (tg_job_set_has(focus, process, i) &&
                                    !tg_job_state_is_stopped(tg_job_view_thread(view, process, i)->state));
        const struct tg_process_entry *entry =
            is_meant && index != SIZE_MAX ? tg_process_model_at(telling->input.processes, index) : NULL;
        if (entry == NULL || !entry->is_stopped)
            continue;
        if (count++ == 0) {
            first = entry;
            name_process(telling, process, name, sizeof name);
        }
    }
    if (count == 0 || asprintf(&text,
                               "%s is stopped by %s, not by this console, and continues when it gets SIGCONT "
                               "(kill -CONT %" PRId32 ")%s",
                               name, tg_signal_name(first->stop_signal, signal, sizeof signal), first->pid,
                               count > 1 ? "; so are others" : "") < 0)
        return;
    tell(telling, text);
    free(text);
}

/* ---- ranks that wait inside of MPI */

/* A rank that runs, and whom it waits for who is stopped. */
struct rank_wait {
    const struct telling *telling;
    size_t process;  /* in the models */
    char found[192]; /* "" nobody */
};

static bool is_stopped(const struct tg_job_view *view, const struct tg_job_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++)
        if (!tg_job_view_thread(view, process, i)->is_manager &&
            !tg_job_state_is_stopped(tg_job_view_thread(view, process, i)->state))
            return false;
    return process->info.exists && process->n_threads > 0;
}

static struct tg_error *look_for_stopped(void *context, const struct tg_mpi_collective *collective,
                                         const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct rank_wait *wait = context;
    bool waits = false;
    for (size_t i = 0; i < n_arrivals; i++)
        waits = waits || (arrivals[i].process == wait->process && arrivals[i].standing == TG_MPI_WAITING);
    for (size_t i = 0; waits && *wait->found == '\0' && i < n_arrivals; i++) {
        const struct tg_job_process *process = process_at(wait->telling, arrivals[i].process);
        char name[80];
        if (arrivals[i].standing != TG_MPI_MISSING || process == NULL ||
            !is_stopped(wait->telling->states.view, process))
            continue;
        name_process(wait->telling, process, name, sizeof name);
        snprintf(wait->found, sizeof wait->found, "; %s, which is stopped, has not reached that %.40s", name,
                 collective->name);
    }
    return NULL;
}

/* MPI_Init is over where all ranks have come to it, which no communicator tells of yet. */
static void look_for_uninitialised(struct rank_wait *wait)
{
    const struct telling *telling = wait->telling;
    const struct tg_job_view *view = telling->states.view;
    const char *job = tg_process_model_at(telling->input.processes, wait->process)->job;
    for (size_t p = 0; p < tg_job_view_count(view) && *wait->found == '\0'; p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        size_t index = tg_moment_find_pid(telling->console->source->moment, (int64_t)process->info.tag);
        bool is_of_job =
            index != SIZE_MAX && strcmp(tg_process_model_at(telling->input.processes, index)->job, job) == 0;
        if (process->info.rank >= 0 && is_of_job && is_stopped(view, process))
            snprintf(wait->found, sizeof wait->found,
                     "; it waits there for the other ranks, and rank %" PRId64 " is stopped",
                     process->info.rank);
    }
}

/* PROCESS runs: says so where its first thread is inside of MPI. */
static bool tell_rank(const struct telling *telling, const struct tg_job_process *process)
{
    char *state = NULL, *text = NULL;
    size_t size;
    struct rank_wait wait = {
        .telling = telling,
        .process = tg_moment_find_pid(telling->console->source->moment, (int64_t)process->info.tag)};
    FILE *out = wait.process == SIZE_MAX ? NULL : open_memstream(&state, &size);
    if (out == NULL)
        return false;
    bool is_known =
        tg_words_thread_state(out, &telling->input, wait.process, (int32_t)process->info.tag, NULL);
    if (fclose(out) != 0 || !is_known || strncmp(state, "in MPI_", 7) != 0) {
        free(state);
        return false;
    }
    tg_error_destroy(tg_mpi_model_visit_collectives(telling->input.mpi, look_for_stopped, &wait));
    if (*wait.found == '\0' && strncmp(state, "in MPI_Init", 11) == 0)
        look_for_uninitialised(&wait);
    char name[80];
    name_process(telling, process, name, sizeof name);
    if (asprintf(&text, "%s runs: %s%s", name, state, wait.found) >= 0)
        tell(telling, text);
    free(text);
    free(state);
    return true;
}

static void tell_ranks(const struct telling *telling, const struct tg_job_set *focus)
{
    const struct tg_job_view *view = telling->states.view;
    size_t n_told = 0;
    for (size_t p = 0; p < tg_job_view_count(view) && n_told < MAX_TOLD; p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        if (process->info.rank >= 0 && process->info.exists && tg_job_set_has_any(focus, process) &&
            !is_stopped(view, process))
            n_told += tell_rank(telling, process);
    }
}

/* ---- what barriers wait for */

/* Whether barrier ID holds PROCESS, or all threads of it that could do something, or its thread TID. */
static bool is_held_at(const struct telling *telling, uint32_t id, const struct tg_job_process *process,
                       int32_t tid)
{
    const struct tg_run_model *model = telling->states.model;
    bool holds = false;
    if (process == NULL)
        return false;
    if (tg_barriers_membership(model, id, (struct tg_thread_id){process->info.dpid, 0}).is_held)
        return true;
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(telling->states.view, process, i);
        const struct tg_thread_id thread_id = {process->info.dpid, thread->dtid};
        bool is_held = tg_barriers_membership(model, id, thread_id).is_held;
        if (tid != 0 && (int32_t)thread->tag == tid)
            return is_held;
        if (i == 0) /* the thread that calls MPI, where nothing else is known */
            holds = is_held;
    }
    return tid == 0 && holds;
}

/* A search for the one that a member waits for, held at the same barrier. */
struct search {
    const struct telling *telling;
    uint32_t barrier;
    size_t process; /* of the member, in the models */
    int32_t tid;
    char found[192]; /* "" nobody */
};

static struct tg_error *look_at_collective(void *context, const struct tg_mpi_collective *collective,
                                           const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct search *search = context;
    bool waits = false;
    for (size_t i = 0; i < n_arrivals; i++)
        waits = waits || (arrivals[i].process == search->process && arrivals[i].standing == TG_MPI_WAITING);
    for (size_t i = 0; waits && *search->found == '\0' && i < n_arrivals; i++) {
        const struct tg_job_process *process = process_at(search->telling, arrivals[i].process);
        char name[80];
        if (arrivals[i].standing != TG_MPI_MISSING ||
            !is_held_at(search->telling, search->barrier, process, 0))
            continue;
        name_process(search->telling, process, name, sizeof name);
        snprintf(search->found, sizeof search->found, "%s, held at this barrier, has not reached that %.40s",
                 name, collective->name);
    }
    return NULL;
}

static struct tg_error *look_at_receive(void *context, const struct tg_mpi_message *message)
{
    struct search *search = context;
    const struct tg_mpi_model *mpi = search->telling->input.mpi;
    char name[80];
    if (message->process != search->process || message->source < 0 || *search->found != '\0' ||
        tg_mpi_model_has_send(mpi, message))
        return NULL;
    size_t sender =
        tg_mpi_model_process_of(mpi, message->process, message->job, message->comm, message->source);
    const struct tg_job_process *process = process_at(search->telling, sender);
    if (!is_held_at(search->telling, search->barrier, process, 0))
        return NULL;
    name_process(search->telling, process, name, sizeof name);
    snprintf(search->found, sizeof search->found, "%s, held at this barrier, has not sent that message",
             name);
    return NULL;
}

static struct tg_error *look_at_team(void *context, const struct tg_openmp_team *team)
{
    struct search *search = context;
    const struct tg_openmp_model *openmp = search->telling->input.openmp;
    struct tg_openmp_barrier barrier;
    bool waits = false;
    if (team->process != search->process || !tg_openmp_barrier_of(team, &barrier))
        return NULL;
    for (size_t i = 0; i < team->n_members; i++)
        waits = waits || (tg_openmp_model_worker_at(openmp, team->members[i].worker)->tid == search->tid &&
                          tg_openmp_barrier_standing(&team->members[i], &barrier) == TG_OPENMP_WAITING);
    for (size_t i = 0; waits && *search->found == '\0' && i < team->n_members; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(openmp, team->members[i].worker);
        if (tg_openmp_barrier_standing(&team->members[i], &barrier) == TG_OPENMP_MISSING &&
            is_held_at(search->telling, search->barrier, process_at(search->telling, worker->process),
                       worker->tid))
            snprintf(search->found, sizeof search->found,
                     "worker %" PRIu64 ", held at this barrier, has not reached it", worker->number);
    }
    return NULL;
}

/* The thread TID of PROCESS in words: "worker 3", "thread 2". */
static void name_thread(const struct search *search, size_t index, const struct tg_job_process *process,
                        int32_t tid, char *name, size_t size)
{
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(search->telling->input.openmp, index, tid);
    if (worker != NULL && worker->alive) {
        snprintf(name, size, "worker %" PRIu64, worker->number);
        return;
    }
    *name = '\0';
    for (size_t i = 0; i < process->n_threads; i++)
        if ((int32_t)tg_job_view_thread(search->telling->states.view, process, i)->tag == tid)
            snprintf(name, size, "thread %" PRIu32,
                     tg_job_view_thread(search->telling->states.view, process, i)->dtid);
}

/* MUTEX, which the member waits for, is in the hands of thread OWNER. */
static void found_owner(struct search *search, const struct tg_job_process *process, int32_t owner,
                        const char *mutex)
{
    char name[40];
    name_thread(search, search->process, process, owner, name, sizeof name);
    if (*name != '\0' && is_held_at(search->telling, search->barrier, process, owner))
        snprintf(search->found, sizeof search->found, "%s, held at this barrier, %s", name, mutex);
}

/* The worker that is inside of what WORKER waits to enter, NULL: none is known. */
static const struct tg_openmp_worker *find_holder(const struct tg_openmp_model *openmp,
                                                  const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *wait = &worker->places[worker->n_places - 1];
    for (size_t i = 0; i < tg_openmp_model_worker_count(openmp); i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(openmp, i);
        for (size_t k = 0; other->alive && other->process == worker->process && k < other->n_places; k++)
            if (other->places[k].kind == TG_OPENMP_IN_MUTEX && other->places[k].what == wait->what &&
                other->places[k].id == wait->id && other != worker)
                return other;
    }
    return NULL;
}

/* The mutex that the member waits for: of OpenMP, by the events; else one of glibc's, by memory. */
static void look_at_mutex(struct search *search, const struct tg_job_process *process,
                          const struct tg_openmp_worker *worker, FILE *out)
{
    struct tg_futex_wait wait;
    char name[40];
    bool is_openmp = worker != NULL && worker->n_places > 0 &&
                     worker->places[worker->n_places - 1].kind == TG_OPENMP_IN_MUTEX_WAIT;
    const struct tg_openmp_worker *holder =
        is_openmp ? find_holder(search->telling->input.openmp, worker) : NULL;
    if (holder != NULL)
        found_owner(search, process, holder->tid, "is inside it");
    if (is_openmp && holder == NULL)
        fputs("; the thread inside it is unknown", out);
    if (is_openmp || !tg_futex_find_wait((pid_t)process->info.tag, search->tid, &wait) || wait.owner == 0)
        return;
    name_thread(search, search->process, process, wait.owner, name, sizeof name);
    fprintf(out, "; it waits for the mutex at 0x%" PRIx64 ", whose owner is ", wait.address);
    if (wait.owner == search->tid)
        fputs("itself", out);
    else
        fputs(*name != '\0' ? name : "a thread that is not known", out);
    found_owner(search, process, wait.owner, "owns it");
}

/* WORKER of PROCESS is through with its part of a region, and gets work by the next one that the program's first
 * thread begins. */
static void look_for_work(struct search *search, const struct tg_job_process *process,
                          const struct tg_openmp_worker *worker)
{
    const int32_t first = (int32_t)process->info.tag; /* the thread with the process's id */
    char name[40];
    if (worker == NULL || !worker->alive || worker->n_places > 0 || worker->tid == first ||
        /* LLVM's runtime keeps them in the barrier of a region that is over */
        (worker->last_kind != TG_EVENT_OMP_IMPLICIT_END && worker->last_kind != TG_EVENT_OMP_SYNC_BEGIN) ||
        !is_held_at(search->telling, search->barrier, process, first))
        return;
    name_thread(search, search->process, process, first, name, sizeof name);
    if (*name != '\0')
        snprintf(search->found, sizeof search->found,
                 "it waits for work, and %s, held at this barrier, has begun no region", name);
}

static void write_member(struct telling *telling, uint32_t id, const struct tg_barrier_member *member,
                         FILE *out)
{
    const struct tg_job_process *process = tg_job_view_process(telling->states.view, member->thread.dpid);
    size_t i = process == NULL || member->thread.dtid == 0
                   ? 0
                   : tg_job_view_find_thread(telling->states.view, process, member->thread.dtid);
    if (process == NULL || i >= process->n_threads)
        return;
    struct search search = {.telling = telling, .barrier = id};
    search.tid = (int32_t)tg_job_view_thread(telling->states.view, process, i)->tag;
    search.process = tg_moment_find_pid(telling->console->source->moment, (int64_t)process->info.tag);
    const struct tg_openmp_worker *worker =
        search.process == SIZE_MAX
            ? NULL
            : tg_openmp_model_worker(telling->input.openmp, search.process, search.tid);
    if (member->standing != TG_STANDS_RUNNING || search.process == SIZE_MAX)
        return;
    fputs("; ", out);
    tg_words_process(out, &telling->input, search.process);
    if (member->thread.dtid != 0)
        fprintf(out, ", thread %" PRIu32, member->thread.dtid);
    fputs(" runs", out);
    long before = ftell(out);
    fputs(": ", out);
    if (!tg_words_thread_state(out, &telling->input, search.process, search.tid, worker))
        fseek(out, before, SEEK_SET);
    tg_error_destroy(tg_mpi_model_visit_collectives(telling->input.mpi, look_at_collective, &search));
    tg_error_destroy(tg_mpi_model_visit_receives(telling->input.mpi, look_at_receive, &search));
    tg_error_destroy(tg_openmp_model_visit_teams(telling->input.openmp, look_at_team, &search));
    if (*search.found == '\0')
        look_at_mutex(&search, process, worker, out);
    if (*search.found == '\0')
        look_for_work(&search, process, worker);
    if (*search.found != '\0')
        fprintf(out,
                "; %s: as long as it is held there the barrier may never be satisfied, `ddelete %" PRIu32
                "` releases all",
                search.found, id);
}

static struct tg_error *tell_barrier(struct telling *telling, const struct tg_barrier_definition *definition)
{
    struct tg_barrier_status status = {0};
    struct tg_barrier_member *members = NULL;
    char *text = NULL;
    size_t size, count = 0, n_told = 0;
    if (!tg_barriers_status(telling->states.model, definition->id, &status) || status.n_arrived == 0 ||
        status.n_arrived == status.n_members)
        return NULL;
    struct tg_error *error = tg_barrier_states_members(&telling->states, definition->id, &members, &count);
    FILE *out = error == NULL ? open_memstream(&text, &size) : NULL;
    if (out != NULL) {
        fprintf(out, "barrier %" PRIu32 ": %" PRIu64 " of %" PRIu64 " have arrived", definition->id,
                status.n_arrived, status.n_members);
        for (size_t i = 0; i < count && n_told < MAX_TOLD; i++) {
            if (members[i].standing <= TG_STANDS_LET_GO)
                continue;
            n_told++;
            write_member(telling, definition->id, &members[i], out);
        }
        fputs(" (`info barrier -points` shows all)", out);
        if (fclose(out) == 0)
            tell(telling, text);
    }
    free(text);
    free(members);
    return error;
}

void tg_wait_words_tell(struct tg_console *console, const struct tg_ptset_defaults *defaults, double seconds)
{
    struct telling telling = {.console = console, .input = tg_console_words(console)};
    TG_AUTO_JOB_SET struct tg_job_set focus = {0};
    struct tg_error *error = tg_barrier_states_take(console, &telling.states);
    if (error == NULL)
        error = find_focus(&telling, defaults, &focus);
    if (error == NULL)
        error = tell_focus(&telling, &focus, seconds);
    if (error == NULL)
        tell_suspended(&telling, &focus);
    if (error == NULL)
        tell_ranks(&telling, &focus);
    for (size_t i = 0; error == NULL && i < tg_barriers_count(telling.states.model); i++)
        error = tell_barrier(&telling, tg_barriers_at(telling.states.model, i));
    tg_flush(console->options.out, &console->write_failed);
    tg_barrier_states_deinit(&telling.states);
    tg_error_destroy(error); /* the wait goes on */
}
