#include "analyzer/models/process.h"

#include "analyzer/models/singleton.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The current process of a pid. */
struct pid_slot {
    int32_t pid;
    struct tg_process_entry *entry;
    const struct tg_event *latest; /* of a run that is being taken, NULL: none */
    UT_hash_handle hh;
};

struct thread_key {
    size_t process;
    int64_t tid;
};

struct thread_name {
    struct thread_key key;
    const char *name;
    UT_hash_handle hh;
};

struct tg_process_model {
    struct tg_process_entry **entries;
    size_t count, capacity;
    struct tg_process_entry *first_root, *last_root;
    struct pid_slot *pids;
    struct pid_slot *recent[64]; /* found or added lately, by pid */
    struct tg_string_pool strings;
    struct thread_name *thread_names;
};

struct tg_error *tg_process_model_create(struct tg_process_model **model)
{
    struct tg_process_model *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    *model = created;
    return NULL;
}

void tg_process_model_destroy(struct tg_process_model *model)
{
    if (model == NULL)
        return;
    struct pid_slot *slot, *next;
    HASH_ITER (hh, model->pids, slot, next) {
        HASH_DEL(model->pids, slot);
        free(slot);
    }
    for (size_t i = 0; i < model->count; i++) {
        tg_event_headline_deinit(&model->entries[i]->last);
        tg_event_headline_deinit(&model->entries[i]->last_library);
        free(model->entries[i]);
    }
    free(model->entries);
    struct thread_name *name, *next_name;
    HASH_ITER (hh, model->thread_names, name, next_name) {
        HASH_DEL(model->thread_names, name);
        free(name);
    }
    tg_string_pool_deinit(&model->strings);
    free(model);
}

static struct tg_process_entry *counterpart(const struct tg_process_model *copy,
                                            const struct tg_process_entry *entry)
{
    return entry == NULL ? NULL : copy->entries[entry->index];
}

static struct tg_error *copy_entries(const struct tg_process_model *model, struct tg_process_model *copy)
{
    copy->entries = calloc(model->count + 1, sizeof(struct tg_process_entry *));
    if (copy->entries == NULL)
        return tg_error_no_memory();
    copy->capacity = model->count + 1;
    for (; copy->count < model->count; copy->count++) {
        const struct tg_process_entry *from = model->entries[copy->count];
        struct tg_process_entry *to = malloc(sizeof *to);
        if (to == NULL)
            return tg_error_no_memory();
        *to = *from;
        to->last = to->last_library = (struct tg_event_headline){0};
        copy->entries[copy->count] = to;
        struct tg_error *error = tg_event_headline_copy(&from->last, &to->last);
        if (error == NULL)
            error = tg_event_headline_copy(&from->last_library, &to->last_library);
        if (error != NULL) {
            copy->count++;
            return error;
        }
    }
    for (size_t i = 0; i < copy->count; i++) {
        struct tg_process_entry *entry = copy->entries[i];
        entry->parent = counterpart(copy, entry->parent);
        entry->first_child = counterpart(copy, entry->first_child);
        entry->last_child = counterpart(copy, entry->last_child);
        entry->next_sibling = counterpart(copy, entry->next_sibling);
        entry->claim.parent = entry->parent == NULL ? NULL : &entry->parent->claim;
    }
    copy->first_root = counterpart(copy, model->first_root);
    copy->last_root = counterpart(copy, model->last_root);
    return NULL;
}

/* ---- names of threads */

static struct thread_name *find_thread_name(const struct tg_process_model *model, size_t process, int32_t tid)
{
    struct thread_name *found = NULL;
    struct thread_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, model->thread_names, &key, sizeof key, found);
    return found;
}

/* NAME is the pool's. */
static struct tg_error *keep_thread_name(struct tg_process_model *model, size_t process, int32_t tid,
                                         const char *name)
{
    struct thread_name *kept = find_thread_name(model, process, tid);
    struct tg_error *error = NULL;
    struct thread_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    if (kept == NULL)
        error = TG_HASH_CREATE(hh, model->thread_names, key, &key, kept);
    if (error == NULL)
        kept->name = name;
    return error;
}

const char *tg_process_model_thread_name(const struct tg_process_model *model, size_t process, int32_t tid)
{
    const struct thread_name *found = find_thread_name(model, process, tid);
    return found == NULL ? NULL : found->name;
}

static struct tg_error *take_thread_name(struct tg_process_model *model, const struct tg_process_entry *entry,
                                         const struct tg_event *event)
{
    const char *name;
    if (*event->thread_name.name == '\0')
        return NULL;
    struct tg_error *error = tg_string_pool_intern(&model->strings, event->thread_name.name, &name);
    return error != NULL ? error : keep_thread_name(model, entry->index, event->tid, name);
}

struct tg_error *tg_process_model_copy(const struct tg_process_model *model, struct tg_process_model **copy)
{
    struct tg_process_model *made = NULL;
    struct tg_error *error = tg_process_model_create(&made);
    if (error == NULL) {
        tg_string_pool_share(&model->strings, &made->strings);
        error = copy_entries(model, made);
    }
    for (const struct thread_name *from = model->thread_names; error == NULL && from != NULL;
         from = from->hh.next)
        error = keep_thread_name(made, from->key.process, (int32_t)from->key.tid, from->name);
    for (const struct pid_slot *from = model->pids; error == NULL && from != NULL; from = from->hh.next) {
        struct pid_slot *slot;
        error = TG_HASH_CREATE(hh, made->pids, pid, &from->pid, slot);
        if (error == NULL)
            slot->entry = counterpart(made, from->entry);
    }
    if (error != NULL) {
        tg_process_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}

/* Where the slot of PID is if it was found lately. */
static struct pid_slot **find_recent(struct tg_process_model *model, int32_t pid)
{
    return &model->recent[(uint32_t)pid % (sizeof model->recent / sizeof *model->recent)];
}

static struct pid_slot *find_slot(struct tg_process_model *model, int32_t pid)
{
    struct pid_slot **recent = find_recent(model, pid);
    if (*recent != NULL && (*recent)->pid == pid)
        return *recent;
    struct pid_slot *slot = NULL;
    HASH_FIND(hh, model->pids, &pid, sizeof pid, slot);
    if (slot != NULL)
        *recent = slot;
    return slot;
}

static void link_root(struct tg_process_model *model, struct tg_process_entry *entry)
{
    if (model->last_root == NULL)
        model->first_root = entry;
    else
        model->last_root->next_sibling = entry;
    model->last_root = entry;
}

static void link_child(struct tg_process_entry *parent, struct tg_process_entry *entry)
{
    entry->parent = parent;
    entry->claim.parent = &parent->claim;
    if (parent->last_child == NULL)
        parent->first_child = entry;
    else
        parent->last_child->next_sibling = entry;
    parent->last_child = entry;
}

/* A new entry that is nobody's child yet; its slot is its own from then on. */
static struct tg_error *add_entry(struct tg_process_model *model, const struct tg_event *event,
                                  struct tg_process_entry **added)
{
    struct tg_error *error = TG_ARRAY_RESERVE(model->entries, model->capacity, model->count + 1);
    struct pid_slot *slot = find_slot(model, event->pid);
    if (error == NULL && slot == NULL)
        error = TG_HASH_CREATE(hh, model->pids, pid, &event->pid, slot);
    if (error != NULL)
        return error;
    struct tg_process_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    entry->index = model->count;
    entry->pid = event->pid;
    entry->generation = slot->entry == NULL ? 0 : slot->entry->generation + 1;
    entry->start_ns = event->time_ns;
    entry->rank = -1;
    entry->ending_status = -1;
    entry->program = entry->host = entry->job = entry->rank_source = entry->detach_reason = "";
    entry->claim.job = entry->claim.source = "";
    entry->asked.sender = entry->stop_sender = entry->last_signal_sender = "";
    entry->threads_started = entry->threads_alive = entry->threads_peak = 1;
    model->entries[model->count++] = entry;
    slot->entry = entry;
    *find_recent(model, event->pid) = slot;
    *added = entry;
    return NULL;
}

static struct tg_error *start_process(struct tg_process_model *model, const struct tg_event *event,
                                      struct tg_process_entry **started)
{
    struct tg_process_entry *entry = NULL, *parent = NULL;
    int64_t parent_pid = event->process_start.parent_pid;
    struct pid_slot *parent_slot = NULL;
    if (parent_pid > 0 && parent_pid <= INT32_MAX && parent_pid != event->pid)
        parent_slot = find_slot(model, (int32_t)parent_pid);
    if (parent_slot != NULL)
        parent = parent_slot->entry;
    struct tg_error *error = add_entry(model, event, &entry);
    if (error != NULL)
        return error;
    entry->start_seen = true;
    entry->origin = event->process_start.origin;
    entry->parent_pid = parent_pid;
    if (parent == NULL) {
        link_root(model, entry);
    } else {
        link_child(parent, entry);
        entry->program = parent->program;
        entry->host = parent->host;
    }
    *started = entry;
    return NULL;
}

/* The process that EVENT is about; one whose start was not recorded is known from its first event on. */
static struct tg_error *find_entry(struct tg_process_model *model, const struct tg_event *event,
                                   struct tg_process_entry **found)
{
    struct pid_slot *slot = find_slot(model, event->pid);
    if (event->kind == TG_EVENT_PROCESS_START) {
        bool belated = slot != NULL && !slot->entry->start_seen && slot->entry->end == TG_PROCESS_RUNNING;
        if (!belated)
            return start_process(model, event, found);
        slot->entry->start_seen = true;
        slot->entry->origin = event->process_start.origin;
        slot->entry->parent_pid = event->process_start.parent_pid;
    }
    if (slot == NULL) {
        struct tg_error *error = add_entry(model, event, found);
        if (error == NULL)
            link_root(model, *found);
        return error;
    }
    *found = slot->entry;
    return NULL;
}

static void decide_rank(struct tg_process_entry *entry)
{
    tg_rank_claim_decide(&entry->claim);
    for (struct tg_process_entry *at = entry; at != NULL; at = at->parent)
        at->rank = at->claim.is_granted ? at->claim.number : -1;
}

static struct tg_error *take_identity(struct tg_process_model *model, struct tg_process_entry *entry,
                                      const struct tg_event_identity *identity)
{
    struct tg_error *error = tg_string_pool_intern(&model->strings, identity->host, &entry->host);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, identity->job, &entry->job);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, identity->source, &entry->rank_source);
    entry->size = identity->size;
    entry->launch.is_in_vain = false;
    entry->claim.is_made = identity->rank >= 0;
    entry->claim.number = identity->rank;
    entry->claim.job = entry->job;
    entry->claim.source = entry->rank_source;
    decide_rank(entry);
    return error;
}

/* The MPI library's own word for a process whose environment says nothing, or what is not so: one that was started without a
 * launcher, or by another library's. Each such process is a job of its own. */
static struct tg_error *take_world(struct tg_process_model *model, struct tg_process_entry *entry,
                                   const struct tg_event_mpi_comm *world)
{
    char job[TG_SINGLETON_JOB_BYTES];
    if (entry->claim.is_granted) /* else it is a program that a rank started */
        entry->launch = (struct tg_process_launch){.is_in_vain = true,
                                                   .rank = entry->claim.number,
                                                   .size = entry->size,
                                                   .job = entry->job,
                                                   .source = entry->rank_source};
    tg_singleton_name(entry->pid, job);
    struct tg_error *error = tg_string_pool_intern(&model->strings, world->size == 1 ? job : "", &entry->job);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, "MPI_COMM_WORLD", &entry->rank_source);
    entry->size = world->size;
    entry->claim = (struct tg_rank_claim){.parent = entry->claim.parent,
                                          .is_made = true,
                                          .number = world->rank,
                                          .job = entry->job,
                                          .source = entry->rank_source,
                                          .evidence = TG_RANK_CALLS_MPI,
                                          .vain_job = entry->launch.is_in_vain ? entry->launch.job : NULL,
                                          .vain_number = entry->launch.rank};
    decide_rank(entry);
    return error;
}

static bool is_mpi_library(const struct tg_list *list)
{
    const struct tg_library *libraries = list->items;
    for (uint64_t i = 0; i < list->count; i++)
        if (strncmp(tg_event_headline_base_name(libraries[i].path), "libmpi", strlen("libmpi")) == 0)
            return true;
    return false;
}

static bool has_open_claim(const struct tg_process_entry *entry)
{
    return entry->claim.is_made && entry->claim.evidence != TG_RANK_CALLS_MPI;
}

/* Notes what EVENT says for ENTRY's claim to be a rank, and how large its job is where its launcher does not say. */
static void weigh_claim(struct tg_process_entry *entry, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_MPI_COMM && event->mpi_comm.origin == TG_MPI_COMM_WORLD && entry->size == 0 &&
        entry->claim.number == event->mpi_comm.rank)
        entry->size = event->mpi_comm.size;
    enum tg_rank_evidence evidence = TG_RANK_NO_EVIDENCE;
    if (event->kind == TG_EVENT_MPI_ENTER || event->kind == TG_EVENT_MPI_COMM)
        evidence = TG_RANK_CALLS_MPI;
    else if (event->kind == TG_EVENT_LIBRARY_LOAD && entry->claim.evidence == TG_RANK_NO_EVIDENCE &&
             is_mpi_library(&event->library_load.libraries))
        evidence = TG_RANK_HAS_LIBRARY;
    if (evidence <= entry->claim.evidence)
        return;
    entry->claim.evidence = evidence;
    decide_rank(entry);
}

/* Threads go one by one, and a job's launcher ends the other ranks before the last one went. */
static void take_thread_exit(struct tg_process_entry *entry, const struct tg_event *event)
{
    if (event->thread_exit.status != entry->ending_status) {
        entry->ending_status = event->thread_exit.status;
        entry->ending_ns = event->time_ns;
        entry->leader_ending_ns = 0;
    }
    if (event->tid == event->pid)
        entry->leader_ending_ns = event->time_ns;
}

static bool was_ending(const struct tg_process_entry *entry)
{
    if (entry->ending_status < 0 || entry->ending_status > INT32_MAX)
        return false;
    int status = (int)entry->ending_status;
    return entry->end == TG_PROCESS_KILLED   ? WIFSIGNALED(status) && WTERMSIG(status) == entry->status
           : entry->end == TG_PROCESS_EXITED ? WIFEXITED(status) && WEXITSTATUS(status) == entry->status
                                             : false;
}

/* When a process that has ended began to: the same kind of moment whatever it ended with, for moments of
 * several processes are compared, and a launcher ends the others of a job at once. Threads that ended with 0
 * may have done so long before: of these the first thread of the process counts. */
static uint64_t begin_of_end(const struct tg_process_entry *entry)
{
    if (!was_ending(entry))
        return entry->last_ns;
    if (entry->ending_status != 0)
        return entry->ending_ns;
    return entry->leader_ending_ns != 0 ? entry->leader_ending_ns : entry->last_ns;
}

static void take_exit(struct tg_process_entry *entry, const struct tg_event_process_exit *event)
{
    entry->end = event->how == TG_EXIT_STATUS   ? TG_PROCESS_EXITED
                 : event->how == TG_EXIT_SIGNAL ? TG_PROCESS_KILLED
                                                : TG_PROCESS_LOST;
    entry->status = event->status;
    entry->core_dumped = event->core_dumped != 0;
    entry->ended_ns = begin_of_end(entry);
    entry->threads_alive = 0;
}

/* Of SIGKILL only tollgate's own are recorded: the kernel tells nobody of others. */
static bool is_end_request(int64_t signal)
{
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           signal == SIGQUIT;
}

/* Programs that are asked again within this time are still being ended. */
static const uint64_t one_request_ns = UINT64_C(30) * 1000000000;

/* Whether an access to memory failed whose address the kernel knows (not where si_code is SI_KERNEL). */
static bool is_fault(const struct tg_event_signal *signal)
{
    return (signal->signal == SIGSEGV || signal->signal == SIGBUS) && signal->code > 0 &&
           signal->code < SI_KERNEL;
}

/* Whether another process than ENTRY sent a signal that says of a program that something is wrong with it. */
static bool is_sent_fault(const struct tg_process_entry *entry, const struct tg_event_signal *signal)
{
    bool is_kind = signal->signal == SIGSEGV || signal->signal == SIGBUS || signal->signal == SIGFPE ||
                   signal->signal == SIGILL || signal->signal == SIGABRT || signal->signal == SIGTRAP;
    return is_kind && signal->code <= 0 && signal->sender_pid != 0 && signal->sender_pid != entry->pid;
}

/* The fault that EVENT says again: a handler, as MPI libraries have one, raises it once more; or the kernel does, which found
 * no room on the stack for the handler. NULL: it says none again. */
static const struct tg_process_fault *find_fault(const struct tg_process_entry *entry,
                                                 const struct tg_event *event)
{
    const struct tg_event_signal *signal = &event->signal;
    bool is_kernels = signal->signal == SIGSEGV && signal->code == SI_KERNEL;
    for (size_t i = 0; i < TG_PROCESS_FAULTS; i++) {
        const struct tg_process_fault *fault = &entry->faults[i];
        if (fault->tid == event->tid && fault->tid != 0 && fault->signal == signal->signal &&
            (is_kernels ? fault->sender_pid == 0 && fault->pc == signal->pc
                        : signal->sender_pid == entry->pid))
            return fault;
    }
    return NULL;
}

/* Several threads may fault at once: of each the last one counts. SENDER is the model's. */
static void keep_fault(struct tg_process_entry *entry, const struct tg_event *event, const char *sender)
{
    struct tg_process_fault *faults = entry->faults;
    size_t i = 0;
    while (i + 1 < TG_PROCESS_FAULTS && faults[i].tid != event->tid)
        i++;
    memmove(&faults[1], &faults[0], i * sizeof faults[0]);
    faults[0] = (struct tg_process_fault){.tid = event->tid,
                                          .signal = event->signal.signal,
                                          .code = event->signal.code,
                                          .pc = event->signal.pc,
                                          .address = event->signal.address,
                                          .overflowed = event->signal.overflowed,
                                          .sender_pid = event->signal.sender_pid,
                                          .sender = sender};
}

static struct tg_error *take_signal(struct tg_process_model *model, struct tg_process_entry *entry,
                                    const struct tg_event *event)
{
    const struct tg_event_signal *signal = &event->signal;
    const char *sender;
    struct tg_error *error =
        tg_string_pool_intern(&model->strings, signal->sender_pid == 0 ? "" : signal->sender, &sender);
    if (error != NULL)
        return error;
    if (is_fault(signal) || is_sent_fault(entry, signal))
        keep_fault(entry, event, sender);
    const struct tg_process_fault *fault = find_fault(entry, event);
    bool is_sent = fault != NULL && fault->sender_pid != 0;
    entry->signals++;
    entry->last_signal = signal->signal;
    entry->last_signal_ns = event->time_ns;
    entry->last_signal_tid = event->tid;
    entry->last_signal_address = fault != NULL ? fault->address : signal->address;
    entry->last_signal_has_address = (fault != NULL && !is_sent) || signal->address != 0 || is_fault(signal);
    entry->last_signal_overflowed = fault != NULL ? fault->overflowed : signal->overflowed;
    entry->last_signal_code = is_sent ? fault->code : signal->code;
    entry->last_signal_sender_pid = is_sent ? fault->sender_pid : signal->sender_pid;
    entry->last_signal_sender = is_sent ? fault->sender : sender;
    bool is_stop = signal->signal == SIGSTOP;
    bool is_first = is_end_request(signal->signal) &&
                    (entry->asked.time_ns == 0 || event->time_ns - entry->asked.time_ns > one_request_ns);
    if (is_first)
        entry->asked = (struct tg_end_request){.time_ns = event->time_ns,
                                               .signal = signal->signal,
                                               .code = signal->code,
                                               .sender_pid = signal->sender_pid,
                                               .sender = sender};
    if (is_stop) {
        entry->stop_sender_pid = signal->sender_pid;
        entry->stop_sender = sender;
    }
    return NULL;
}

static void take_group_stop(struct tg_process_entry *entry, const struct tg_event *event)
{
    bool was_stopped = entry->is_stopped;
    entry->is_stopped = event->group_stop.signal != 0;
    if (!entry->is_stopped) {
        entry->continued_ns = event->time_ns;
        return;
    }
    entry->stop_signal = event->group_stop.signal;
    if (!was_stopped)
        entry->stopped_ns = event->time_ns;
}

static void take_debugger_stop(struct tg_process_entry *entry, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_CONTROL_STOPPED && entry->n_kept++ == 0)
        entry->kept_ns = event->time_ns;
    if (event->kind == TG_EVENT_CONTROL_RESUMED && entry->n_kept > 0 && --entry->n_kept == 0)
        entry->released_ns = event->time_ns;
}

/* Events that say what a process is, or how it ended, are no answer to "what did it do last?". */
static bool is_bookkeeping(enum tg_event_kind kind)
{
    if (kind >= TG_EVENT_HEAP_START && kind <= TG_EVENT_DEEP_BIND)
        return kind != TG_EVENT_HEAP_ERROR;
    return kind == TG_EVENT_PROCESS_START || kind == TG_EVENT_PROGRAM || kind == TG_EVENT_IDENTITY ||
           kind == TG_EVENT_COMMAND_LINE || kind == TG_EVENT_ENVIRONMENT ||
           kind == TG_EVENT_FILTER_DECISION || kind == TG_EVENT_PROCESS_EXIT ||
           kind == TG_EVENT_THREAD_EXIT || kind == TG_EVENT_THREAD_NAME || kind == TG_EVENT_DETACH ||
           kind == TG_EVENT_LOSS || kind == TG_EVENT_NOTE || kind == TG_EVENT_STACK ||
           kind == TG_EVENT_THREAD_WAIT || kind == TG_EVENT_CALL_VALUES || kind == TG_EVENT_MEMORY_KILLS ||
           kind == TG_EVENT_STACK_SNAPSHOT || kind == TG_EVENT_AGENT || kind == TG_EVENT_OMP_RUNTIME ||
           kind == TG_EVENT_MPI_COMM || kind == TG_EVENT_MPI_REQUESTS || kind == TG_EVENT_MPI_POLL ||
           kind == TG_EVENT_MPI_POLL_SUM || kind == TG_EVENT_MPI_GROUP || kind == TG_EVENT_MPI_PARTITIONS ||
           kind == TG_EVENT_MPIR_SYMBOLS || kind == TG_EVENT_MPIR_WRITE || kind == TG_EVENT_MPIR_TABLE ||
           kind == TG_EVENT_MPIR_RANK || kind == TG_EVENT_MPIR_JOB || kind == TG_EVENT_CONTROL_PROCESS ||
           kind == TG_EVENT_CONTROL_THREAD;
}

static void take_threads(struct tg_process_entry *entry, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_THREAD_START && event->tid != event->pid) {
        entry->threads_started++;
        entry->threads_alive++;
        if (entry->threads_alive > entry->threads_peak)
            entry->threads_peak = entry->threads_alive;
    } else if (event->kind == TG_EVENT_THREAD_EXIT && entry->threads_alive > 0) {
        entry->threads_alive--;
    }
}

static inline void count_event(struct tg_process_entry *entry, const struct tg_event *event)
{
    uint64_t end_ns = event->time_ns + event->stop_ns;
    if (end_ns < event->time_ns) /* a stop_ns that cannot be */
        end_ns = event->time_ns;
    if (end_ns > entry->last_ns)
        entry->last_ns = end_ns;
    if (event->time_ns < entry->start_ns)
        entry->start_ns = event->time_ns;
    entry->events++;
    if (event->stop_ns > 0) {
        entry->stops++;
        entry->stop_ns += event->stop_ns;
    }
}

/* Updates the process from the kind of EVENT. */
static struct tg_error *take_event(struct tg_process_model *model, struct tg_process_entry *entry,
                                   const struct tg_event *event)
{
    if (event->kind == TG_EVENT_PROGRAM)
        return tg_string_pool_intern(&model->strings, event->program.path, &entry->program);
    if (event->kind == TG_EVENT_THREAD_NAME)
        return take_thread_name(model, entry, event);
    if (event->kind == TG_EVENT_IDENTITY)
        return take_identity(model, entry, &event->identity);
    if (event->kind == TG_EVENT_MPI_COMM && event->mpi_comm.origin == TG_MPI_COMM_WORLD)
        entry->world_size = event->mpi_comm.size;
    if (event->kind == TG_EVENT_MPI_COMM && event->mpi_comm.origin == TG_MPI_COMM_WORLD &&
        event->mpi_comm.rank >= 0 &&
        (!entry->claim.is_made || tg_singleton_is(&event->mpi_comm, entry->claim.number, entry->size)))
        return take_world(model, entry, &event->mpi_comm);
    if (event->kind == TG_EVENT_THREAD_START || event->kind == TG_EVENT_THREAD_EXIT) {
        take_threads(entry, event);
        if (event->kind == TG_EVENT_THREAD_EXIT)
            take_thread_exit(entry, event);
    } else if (event->kind == TG_EVENT_EXEC) {
        entry->execs++;
        entry->ending_status = -1; /* the other threads were killed */
        entry->threads_alive = 1;
        entry->n_kept = 0;
        entry->is_watched = false;
        return tg_string_pool_intern(&model->strings, event->exec.path, &entry->program);
    } else if (event->kind == TG_EVENT_AGENT) {
        entry->is_watched = event->agent.state == TG_AGENT_WATCHING;
    } else if (event->kind == TG_EVENT_PROCESS_EXIT) {
        take_exit(entry, &event->process_exit);
    } else if (event->kind == TG_EVENT_DETACH) {
        entry->end = TG_PROCESS_DETACHED;
        entry->ended_ns = entry->last_ns;
        return tg_string_pool_intern(&model->strings, event->detach.reason, &entry->detach_reason);
    } else if (event->kind == TG_EVENT_MEMORY_KILLS) {
        entry->has_memory_kills = true;
        entry->memory_kills = event->memory_kills;
    } else if (event->kind == TG_EVENT_SIGNAL) {
        return take_signal(model, entry, event);
    } else if (event->kind == TG_EVENT_CONTROL_STOPPED || event->kind == TG_EVENT_CONTROL_RESUMED) {
        take_debugger_stop(entry, event);
    } else if (event->kind == TG_EVENT_GROUP_STOP) {
        take_group_stop(entry, event);
    } else if (event->kind == TG_EVENT_LIBRARY_LOAD) {
        uint64_t count;
        entry->library_events++;
        if (tg_event_headline_library(&event->library_load.libraries, &count) != NULL)
            return tg_event_headline_keep(&entry->last_library, event);
    }
    return NULL;
}

/* Events of which a process has nothing but that it did this last, and that it calls MPI. */
static bool is_plain(enum tg_event_kind kind)
{
    return tg_event_has_place(kind) || kind == TG_EVENT_MPI_ENTER || kind == TG_EVENT_MPI_LEAVE ||
           kind == TG_EVENT_MPI_COMPLETE;
}

struct tg_error *tg_process_model_feed(struct tg_process_model *model, const struct tg_event *event,
                                       struct tg_process_entry **entry)
{
    /* the recorder's remarks on a process that it does not follow do not add it to the job */
    bool remark = event->kind == TG_EVENT_NOTE || event->kind == TG_EVENT_LOSS;
    if (event->pid == 0 || (remark && find_slot(model, event->pid) == NULL)) {
        *entry = NULL;
        return NULL;
    }
    if (is_plain(event->kind)) { /* what most events are */
        const struct pid_slot *slot = *find_recent(model, event->pid);
        if (slot != NULL && slot->pid == event->pid) {
            count_event(slot->entry, event);
            if (has_open_claim(slot->entry))
                weigh_claim(slot->entry, event);
            *entry = slot->entry;
            return tg_event_headline_keep(&slot->entry->last, event);
        }
    }
    struct tg_process_entry *found = NULL;
    struct tg_error *error = find_entry(model, event, &found);
    if (error != NULL)
        return error;
    count_event(found, event);
    if (has_open_claim(found))
        weigh_claim(found, event);
    error = take_event(model, found, event);
    if (error == NULL && !is_bookkeeping(event->kind))
        error = tg_event_headline_keep(&found->last, event);
    if (error == NULL)
        *entry = found;
    return error;
}

struct tg_error *tg_process_model_feed_run(struct tg_process_model *model, const struct tg_event *events,
                                           size_t count, size_t *processes, size_t *taken)
{
    struct pid_slot *slots[TG_PROCESS_MAX_RUN]; /* slots with an event of the run */
    size_t n_slots = 0, n = 0;
    for (; n < count && n < TG_PROCESS_MAX_RUN && is_plain(events[n].kind); n++) {
        const struct tg_event *event = &events[n];
        struct pid_slot *slot = *find_recent(model, event->pid);
        if (slot == NULL || slot->pid != event->pid)
            break;
        struct tg_process_entry *entry = slot->entry;
        count_event(entry, event);
        if (event->kind == TG_EVENT_MPI_ENTER && has_open_claim(entry))
            weigh_claim(entry, event);
        if (slot->latest == NULL)
            slots[n_slots++] = slot;
        slot->latest = event;
        processes[n] = entry->index;
    }
    struct tg_error *error = NULL;
    for (size_t i = 0; i < n_slots; i++) {
        if (error == NULL)
            error = tg_event_headline_keep(&slots[i]->entry->last, slots[i]->latest);
        slots[i]->latest = NULL;
    }
    *taken = n;
    return error;
}

size_t tg_process_model_count(const struct tg_process_model *model)
{
    return model->count;
}

int tg_process_model_jobs(const struct tg_process_model *model)
{
    const char *job = NULL;
    for (size_t i = 0; i < tg_process_model_count(model); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(model, i);
        if (entry->rank < 0)
            continue;
        if (job != NULL && strcmp(job, entry->job) != 0)
            return 2;
        job = entry->job;
    }
    return job != NULL;
}

struct tg_process_entry *tg_process_model_at(const struct tg_process_model *model, size_t i)
{
    return model->entries[i];
}

const char *tg_process_entry_name(const struct tg_process_entry *entry)
{
    return *entry->program == '\0' ? "?" : tg_event_headline_base_name(entry->program);
}

struct tg_process_entry *tg_process_model_next(const struct tg_process_model *model,
                                               const struct tg_process_entry *entry, unsigned *depth)
{
    if (entry == NULL) {
        if (depth != NULL)
            *depth = 0;
        return model->first_root;
    }
    if (entry->first_child != NULL) {
        if (depth != NULL)
            ++*depth;
        return entry->first_child;
    }
    while (entry != NULL && entry->next_sibling == NULL) {
        entry = entry->parent;
        if (depth != NULL && entry != NULL)
            --*depth;
    }
    return entry == NULL ? NULL : entry->next_sibling;
}
