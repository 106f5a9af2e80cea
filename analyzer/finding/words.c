#include "analyzer/finding/words.h"

#include "analyzer/finding/attachment.h"
#include "analyzer/finding/polling.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

static const struct tg_process_entry *entry_of(const struct tg_verdict_input *input, size_t process)
{
    return process < tg_process_model_count(input->processes) ? tg_process_model_at(input->processes, process)
                                                              : NULL;
}

bool tg_words_has_several_jobs(const struct tg_process_model *processes)
{
    return tg_process_model_jobs(processes) > 1;
}

void tg_words_job(FILE *stream, const struct tg_verdict_input *input, const char *job)
{
    if (*job == '\0' || !tg_words_has_several_jobs(input->processes))
        return;
    fputs(" of job ", stream);
    tg_printable_write(stream, job);
}

void tg_words_process(FILE *stream, const struct tg_verdict_input *input, size_t process)
{
    const struct tg_process_entry *entry = entry_of(input, process);
    if (entry == NULL) {
        fputs("a process that is not in the trace", stream);
    } else if (entry->rank >= 0) {
        fprintf(stream, "rank %" PRId64, entry->rank);
        tg_words_job(stream, input, entry->job);
    } else {
        fprintf(stream, "process %" PRId32 " (", entry->pid);
        tg_printable_write(stream, tg_process_entry_name(entry));
        fputc(')', stream);
    }
}

void tg_words_thread(FILE *stream, const struct tg_verdict_input *input, size_t process, int32_t tid)
{
    const char *name = tg_process_model_thread_name(input->processes, process, tid);
    fprintf(stream, "thread %" PRId32, tid);
    if (name == NULL)
        return;
    fputc(' ', stream);
    tg_printable_write_quoted(stream, name);
}

void tg_words_moment(FILE *stream, const struct tg_verdict_input *input, uint64_t time_ns)
{
    char text[TG_QUANTITY_SIZE];
    fprintf(stream, " at %s s", tg_quantity_moment(time_ns, input->start_ns, 6, text));
}

void tg_words_since(FILE *stream, const struct tg_verdict_input *input, uint64_t time_ns)
{
    char text[TG_QUANTITY_SIZE];
    fprintf(stream, " since %s s", tg_quantity_moment(time_ns, input->start_ns, 6, text));
}

static void name_code(const struct tg_verdict_input *input, size_t process, uint64_t code, char *text,
                      size_t size)
{
    if (input->namer.name == NULL)
        snprintf(text, size, "0x%" PRIx64, code);
    else
        input->namer.name(input->namer.context, process, code, text, size);
}

bool tg_words_is_same_line(const struct tg_verdict_input *input, size_t process, uint64_t code,
                           size_t other_process, uint64_t other)
{
    char first[512], second[512];
    name_code(input, process, code, first, sizeof first);
    name_code(input, other_process, other, second, sizeof second);
    return strcmp(first, second) == 0;
}

/* Whether NAME is an address in the library of mpi4py, which is the same for all lines of a script that make the call. */
static bool is_address_in_mpi4py(const char *name)
{
    static const char *const files[] = {"MPI.cpython-", "MPI.abi3.so+", "MPI.so+", "MPI.mpich.",
                                        "MPI.openmpi."};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strncmp(name, files[i], strlen(files[i])) == 0 && strstr(name, ".so+0x") != NULL)
            return true;
    return false;
}

void tg_words_code(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t code)
{
    char text[512];
    if (code == 0)
        return;
    name_code(input, process, code, text, sizeof text);
    if (is_address_in_mpi4py(text))
        fputs(" in mpi4py (the script's line was not recorded)", stream);
    else
        fprintf(stream, " %s %s", strncmp(text, "0x", 2) == 0 ? "at" : "in", text);
}

/* The last stack of the thread of PROCESS that is in the call of MPI which it made from CODE at SINCE_NS; NULL: none is, or
 * its stack is older. */
static const struct tg_last_stack *stack_in_call(const struct tg_verdict_input *input, size_t process,
                                                 uint64_t code, uint64_t since_ns)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process != process || !thread->in_call || thread->call.code != code ||
            thread->call.since_ns != since_ns)
            continue;
        const struct tg_last_stack *stack = tg_stack_model_find(input->stacks, process, thread->tid);
        return stack != NULL && stack->count > 0 && stack->time_ns >= since_ns ? stack : NULL;
    }
    return NULL;
}

bool tg_words_is_python_call(const struct tg_verdict_input *input, size_t process, uint64_t code,
                             uint64_t since_ns)
{
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : stack_in_call(input, process, code, since_ns);
    const struct tg_stack_place place =
        stack == NULL ? (struct tg_stack_place){0} : tg_stack_place_find(input->stacks, stack);
    return place.is_known && place.at.is_python;
}

/* Whether that call is the MPI_Finalize that a module has registered for the end (Py_AtExit): the interpreter calls it,
 * when no line of the script is executed any more. */
static bool is_exit_of_python(const struct tg_verdict_input *input, size_t process, uint64_t code,
                              uint64_t since_ns)
{
    char text[512];
    bool is_finalize = false;
    for (size_t i = 0; code != 0 && !is_finalize && i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        is_finalize = thread->process == process && thread->call.code == code &&
                      thread->call.since_ns == since_ns && strcmp(thread->call.name, "MPI_Finalize") == 0;
    }
    if (!is_finalize)
        return false;
    name_code(input, process, code, text, sizeof text);
    return strncmp(text, "python", strlen("python")) == 0 ||
           strncmp(text, "libpython", strlen("libpython")) == 0 ||
           strncmp(text, "Py_Finalize", strlen("Py_Finalize")) == 0;
}

void tg_words_call_code(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t code,
                        uint64_t since_ns)
{
    char text[400];
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : stack_in_call(input, process, code, since_ns);
    const struct tg_stack_place place =
        stack == NULL ? (struct tg_stack_place){0} : tg_stack_place_find(input->stacks, stack);
    if (place.is_known && place.at.is_python)
        fprintf(stream, " in %s", tg_stack_words_call(&place.at, text, sizeof text));
    else if (is_exit_of_python(input, process, code, since_ns))
        fputs(" at the end of the program (called by Python as it exits)", stream);
    else
        tg_words_code(stream, input, process, code);
    struct tg_stack_call behind;
    if (stack != NULL && !place.at.is_python &&
        tg_stack_find_line_behind(input->stacks, stack, code, &behind))
        fprintf(stream, ", called from %s", tg_stack_words_call(&behind, text, sizeof text));
}

void tg_words_mutex(FILE *stream, const struct tg_verdict_input *input, size_t process, uint64_t mutex,
                    uint64_t lock)
{
    char variable[160], text[224];
    bool is_known =
        input->namer.variable != NULL && lock != 0 && mutex != TG_OMP_MUTEX_ORDERED &&
        input->namer.variable(input->namer.context, process, lock, variable, sizeof variable) != NULL;
    fputs(tg_openmp_words_lock(mutex, lock, is_known ? variable : NULL, text, sizeof text), stream);
}

void tg_words_lock(FILE *stream, const struct tg_verdict_input *input, size_t process,
                   const struct tg_openmp_place *place)
{
    tg_words_mutex(stream, input, process, place->what, place->id);
}

/* " of ranks 0,2, made by MPI_Comm_split in main (a.c:7)", as far as that is known. */
static void print_origin(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_mpi_comm_facts *facts)
{
    int64_t ranks[16];
    bool lists = facts->n_members > 0 && facts->n_members <= sizeof ranks / sizeof *ranks &&
                 (int64_t)facts->n_members == facts->size;
    for (size_t i = 0; lists && i < facts->n_members; i++) {
        ranks[i] = facts->members[i];
        lists = ranks[i] >= 0;
    }
    if (lists) {
        char text[256];
        size_t count = tg_rank_ranges_sort(ranks, facts->n_members);
        fprintf(stream, " of rank%s %s", facts->n_members == 1 ? "" : "s",
                tg_rank_ranges_print(ranks, count, text, sizeof text));
    }
    if (facts->made_by != NULL) {
        fputs(lists ? ", made by " : " made by ", stream);
        tg_printable_write(stream, facts->made_by);
        tg_words_code(stream, input, facts->maker, facts->made_in);
    }
}

void tg_words_comm(FILE *stream, const struct tg_verdict_input *input, const char *job, uint64_t comm)
{
    const struct tg_mpi_comm_facts facts = tg_mpi_model_comm(input->mpi, job, comm);
    if (comm == 1) {
        fputs("MPI_COMM_WORLD", stream);
    } else if (facts.name != NULL && *facts.name != '\0') {
        fputs("communicator ", stream);
        tg_printable_write_quoted(stream, facts.name);
    } else {
        fprintf(stream, "%s 0x%" PRIx64,
                facts.origin == TG_MPI_COMM_WINDOW ? "window"
                : facts.origin == TG_MPI_COMM_FILE ? "file"
                                                   : "communicator",
                comm);
        print_origin(stream, input, &facts);
    }
}

/* "number 4", "start 2 of number 4" */
static void print_instance(FILE *stream, uint64_t instance)
{
    if (tg_mpi_is_start(instance))
        fprintf(stream, "start %" PRIu64 " of number %" PRIu64, instance >> TG_MPI_START_SHIFT,
                instance & UINT32_MAX);
    else
        fprintf(stream, "number %" PRIu64, instance);
}

void tg_words_collective(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_mpi_collective *collective)
{
    print_instance(stream, collective->instance);
    fputs(" on ", stream);
    tg_words_comm(stream, input, collective->job, collective->comm);
    tg_words_job(stream, input, collective->job);
}

static void print_comm_of(FILE *stream, const struct tg_mpi_call *call)
{
    if (call->comm == 1) {
        fputs("MPI_COMM_WORLD", stream);
    } else if (call->comm_name == NULL || *call->comm_name == '\0') {
        fputs("its communicator", stream);
    } else {
        fputs("communicator ", stream);
        tg_printable_write_quoted(stream, call->comm_name);
    }
}

/* One-sided, and something goes to the other rank. */
static bool is_put(const char *name)
{
    static const char *const names[] = {
        "MPI_Put",  "MPI_Accumulate",  "MPI_Get_accumulate",  "MPI_Fetch_and_op",
        "MPI_Rput", "MPI_Raccumulate", "MPI_Rget_accumulate", "MPI_Compare_and_swap"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (tg_mpi_call_is_same(name, names[i]))
            return true;
    return false;
}

/* Whether its tag is a partition. */
static bool is_of_partition(const struct tg_mpi_call *call)
{
    return call->tag >= 0 &&
           (strcmp(call->name, "MPI_Pready") == 0 || strcmp(call->name, "MPI_Parrived") == 0);
}

static void print_tag(FILE *stream, int64_t tag)
{
    if (tag == -1)
        fputs(" (any tag)", stream);
    else if (tag >= 0)
        fprintf(stream, " (tag %" PRId64 ")", tag);
}

/* " rank 1", " rank 1 of its communicator": another one than rank 1 of the job, as a rule. */
static void print_rank(FILE *stream, const struct tg_mpi_call *call, int64_t rank)
{
    enum { WORLD = 1 };
    fprintf(stream, " rank %" PRId64, rank);
    if (call->comm <= WORLD || is_put(call->name)) /* 0: not known */
        return;
    fputs(" of ", stream);
    print_comm_of(stream, call);
}

static void print_source(FILE *stream, const struct tg_mpi_call *call, int64_t source)
{
    fputs(" from", stream);
    if (source == -1)
        fputs(" any rank", stream);
    else
        print_rank(stream, call, source);
}

/* " to rank 7 and from rank 5 (tag 1)": as far as the two halves of MPI_Sendrecv are known, and are with a rank. */
static void print_exchange(FILE *stream, const struct tg_mpi_call *call)
{
    bool sends = call->peer >= 0, receives = call->receives && call->from >= -1;
    if (sends) {
        fputs(" to", stream);
        print_rank(stream, call, call->peer);
    }
    if (sends && (!receives || call->tag != call->from_tag))
        print_tag(stream, call->tag);
    if (!receives)
        return;
    fputs(sends ? " and" : "", stream);
    print_source(stream, call, call->from);
    print_tag(stream, call->from_tag);
}

void tg_words_call(FILE *stream, const struct tg_mpi_call *call)
{
    enum tg_mpi_role role = tg_mpi_call_role(call->name, NULL, NULL);
    tg_printable_write(stream, call->name);
    if (role == TG_MPI_COLLECTIVE && call->instance != 0) {
        fprintf(stream, " (number %" PRIu64 " on ", call->instance);
        print_comm_of(stream, call);
        fputc(')', stream);
    }
    if (is_of_partition(call))
        fprintf(stream, " of partition %" PRId64, call->tag);
    if (role == TG_MPI_SEND_RECEIVE) {
        print_exchange(stream, call);
        return;
    }
    if (call->peer == -3 || call->peer == -2)
        return;
    bool sends = role == TG_MPI_SEND || tg_mpi_call_partitions(call->name) == TG_MPI_SEND;
    if (call->peer >= 0 && (sends || is_put(call->name))) {
        fputs(" to", stream);
        print_rank(stream, call, call->peer);
    } else if (call->peer >= 0 && strncmp(call->name, "MPI_Win_", 8) == 0)
        fprintf(stream, " of rank %" PRId64, call->peer);
    else
        print_source(stream, call, call->peer);
    print_tag(stream, call->tag);
}

void tg_words_half(FILE *stream, const struct tg_mpi_message *message)
{
    bool is_exchange = tg_mpi_call_role(message->name, NULL, NULL) == TG_MPI_SEND_RECEIVE;
    bool is_send = message->id != 0, is_sources = is_exchange && !is_send;
    const struct tg_mpi_call call = {.name = message->name,
                                     .peer = is_sources ? -3
                                             : is_send  ? message->destination
                                                        : message->source,
                                     .tag = message->tag,
                                     .comm = message->comm,
                                     .receives = is_sources,
                                     .from = message->source,
                                     .from_tag = message->tag};
    tg_words_call(stream, &call);
}

/* What was attached has not told its rank in MPI_COMM_WORLD, but has the one of the job. */
static int64_t destination_of(const struct tg_verdict_input *input, const struct tg_mpi_message *message)
{
    enum { WORLD = 1 };
    const struct tg_process_entry *entry = entry_of(input, message->process);
    return message->destination < 0 && message->id == 0 && message->comm == WORLD && entry != NULL
               ? entry->rank
               : message->destination;
}

void tg_words_message(FILE *stream, const struct tg_verdict_input *input,
                      const struct tg_mpi_message *message)
{
    fputs("from ", stream);
    if (message->source < 0)
        fputs("any rank", stream);
    else
        fprintf(stream, "rank %" PRId64, message->source);
    int64_t destination = destination_of(input, message);
    if (destination >= 0)
        fprintf(stream, " to rank %" PRId64, destination);
    if (message->tag >= 0)
        fprintf(stream, ", tag %" PRId64, message->tag);
    else
        fputs(", any tag", stream);
    fputs(" on ", stream);
    tg_words_comm(stream, input, message->job, message->comm);
    tg_words_job(stream, input, message->job);
    if (message->bytes > 0 || !tg_attachment_is_late(input, message->process)) /* unknown of those */
        fprintf(stream, ", %" PRIu64 " bytes", message->bytes);
    fputs(": ", stream);
    tg_printable_write(stream, message->name);
    tg_words_code(stream, input, message->process, message->code);
    fputc(',', stream);
    tg_words_since(stream, input, message->since_ns);
}

/* ---- states */

static const struct tg_mpi_thread *find_mpi_thread(const struct tg_verdict_input *input, size_t process,
                                                   int32_t tid)
{
    const struct tg_mpi_thread *found = NULL; /* the latest: thread ids are reused */
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process == process && thread->tid == tid)
            found = thread;
    }
    return found;
}

/* " for MPI_Irecv from rank 1 (tag 5)": what THREAD's call waits for, where that is one request. */
static void print_request(FILE *stream, const struct tg_verdict_input *input,
                          const struct tg_mpi_thread *thread)
{
    struct tg_mpi_message message;
    if (tg_mpi_call_role(thread->call.name, NULL, NULL) != TG_MPI_COMPLETION || thread->n_requests != 1)
        return;
    const struct tg_mpi_started *started =
        tg_mpi_model_started(input->mpi, thread->process, thread->requests[0]);
    const struct tg_mpi_partitioned *partitioned =
        tg_mpi_model_partitioned(input->mpi, thread->process, thread->requests[0]);
    if (started != NULL) {
        fputs(" for ", stream);
        tg_printable_write(stream, started->name);
        if (started->instance == 0)
            return;
        fputs(" (", stream);
        print_instance(stream, started->instance);
        fputs(" on ", stream);
        tg_words_comm(stream, input, started->job, started->comm);
        fputc(')', stream);
    } else if (partitioned != NULL) {
        const struct tg_mpi_call call = {.name = partitioned->name,
                                         .peer = partitioned->sends ? partitioned->destination
                                                                    : partitioned->source,
                                         .tag = partitioned->tag};
        fputs(" for ", stream);
        tg_words_call(stream, &call);
    } else if (tg_mpi_model_request(input->mpi, thread->process, thread->requests[0], &message)) {
        fputs(" for ", stream);
        tg_words_half(stream, &message);
    } else {
        fputs(" for a request of a kind that is not recorded", stream);
    }
}

/* Whether THREAD's call is on an intercommunicator, whose peers are ranks of the other group. */
static bool is_with_other_group(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_process *process = tg_mpi_model_process(input->mpi, thread->process);
    const struct tg_mpi_comm_facts facts =
        tg_mpi_model_comm(input->mpi, process == NULL ? "" : process->job, thread->call.comm);
    return thread->call.comm != 0 && facts.is_inter;
}

static void print_call_state(FILE *stream, const struct tg_verdict_input *input,
                             const struct tg_mpi_thread *thread)
{
    fputs("in ", stream);
    tg_words_call(stream, &thread->call);
    if (thread->call.peer >= 0 && is_with_other_group(input, thread))
        fputs(", a rank of the other group,", stream);
    print_request(stream, input, thread);
    tg_words_since(stream, input, thread->call.since_ns);
    tg_words_call_code(stream, input, thread->process, thread->call.code, thread->call.since_ns);
}

/* ", at 6.03 s in solve (solver.c:120)": the place of thread TID of PROCESS in the last stack that was taken of it, at
 * AFTER_NS or later; nothing where there is none. */
static void print_last_place(FILE *stream, const struct tg_verdict_input *input, size_t process, int32_t tid,
                             uint64_t after_ns)
{
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : tg_stack_model_find(input->stacks, process, tid);
    if (stack == NULL || stack->count == 0 || stack->time_ns < after_ns)
        return;
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    fputc(',', stream);
    tg_words_moment(stream, input, stack->time_ns);
    fputc(' ', stream);
    tg_stack_words_place(stream, &place);
}

/* Whether the last stack of the thread, if there is one, is of a Python script. */
static bool runs_script(const struct tg_verdict_input *input, size_t process, int32_t tid)
{
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : tg_stack_model_find(input->stacks, process, tid);
    if (stack == NULL || stack->count == 0)
        return false;
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    return place.is_known && place.at.is_python;
}

void tg_words_mpi_thread(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_mpi_thread *thread)
{
    if (thread->in_call) {
        print_call_state(stream, input, thread);
        return;
    }
    bool polls = tg_mpi_call_polls(thread->call.name);
    if (tg_polling_is(input, thread)) {
        fputs("polling in vain by ", stream);
        tg_words_call(stream, &thread->call);
        print_request(stream, input, thread);
        tg_words_since(stream, input, thread->polled_ns != 0 ? thread->polls_since_ns : thread->left_ns);
        if (!runs_script(input, thread->process, thread->tid))
            tg_words_code(stream, input, thread->process, thread->call.code);
        else
            print_last_place(stream, input, thread->process, thread->tid, thread->left_ns);
        return;
    }
    fputs(polls ? "outside MPI or polling" : "outside MPI", stream);
    tg_words_since(stream, input, thread->left_ns);
    fputs(polls ? ", last recorded call " : ", last call ", stream);
    tg_words_call(stream, &thread->call);
    if (!runs_script(input, thread->process, thread->tid)) /* where it calls from is the same for all lines */
        tg_words_code(stream, input, thread->process, thread->call.code);
    print_last_place(stream, input, thread->process, thread->tid, thread->left_ns);
}

static void print_place(FILE *stream, const struct tg_verdict_input *input,
                        const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = &worker->places[worker->n_places - 1];
    switch (place->kind) {
    case TG_OPENMP_IN_REGION:
        fputs("in the body of a parallel region", stream);
        break;
    case TG_OPENMP_IN_ZONE:
        fprintf(stream, "in %s%s", tg_openmp_words_zone(place->what, place->seen)->phrase,
                tg_openmp_words_inferred(place->seen));
        if (place->section != 0)
            fprintf(stream, " (section %" PRIu64 ")", place->section);
        break;
    case TG_OPENMP_IN_MUTEX_WAIT:
        fputs("waiting to enter the ", stream);
        tg_words_lock(stream, input, worker->process, place);
        break;
    case TG_OPENMP_IN_MUTEX:
        fputs("inside the ", stream);
        tg_words_lock(stream, input, worker->process, place);
        break;
    case TG_OPENMP_IN_SYNC:
        fprintf(stream, "waiting at the %s", tg_openmp_words_sync(place->what)->phrase);
        break;
    case TG_OPENMP_IN_TASK:
        fprintf(stream, "in task %" PRIu64, place->id);
        break;
    }
    tg_words_since(stream, input, place->since_ns);
    tg_words_code(stream, input, worker->process, place->code);
    if (place->kind == TG_OPENMP_IN_REGION && worker->last_ns > place->since_ns) {
        fputs(", last seen", stream);
        tg_words_moment(stream, input, worker->last_ns);
        if (worker->last_code != place->code)
            tg_words_code(stream, input, worker->process, worker->last_code);
    }
    if (worker->tests.count > 1 && worker->last_ns < worker->tests.last_ns) {
        fputs(", testing the ", stream);
        tg_words_lock(stream, input, worker->process, &worker->tests.place);
        tg_words_since(stream, input, worker->tests.place.since_ns);
        fputs(" in vain (last told", stream);
        tg_words_moment(stream, input, worker->tests.last_ns);
        fputc(')', stream);
    }
    if (place->kind != TG_OPENMP_IN_SYNC && place->kind != TG_OPENMP_IN_MUTEX_WAIT)
        print_last_place(stream, input, worker->process, worker->tid, place->since_ns);
}

/* Whether ENTRY was killed to end the job: such an end says nothing about what went wrong. */
static bool was_asked_to_end(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    if (entry->status == SIGTERM || entry->status == SIGINT || entry->status == SIGHUP ||
        entry->status == SIGQUIT)
        return true;
    if (entry->status != SIGKILL)
        return false;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *other = tg_process_model_at(input->processes, i);
        bool is_earlier = other->ended_ns < entry->ended_ns &&
                          (other->end == TG_PROCESS_KILLED ||
                           (other->end == TG_PROCESS_EXITED && other->status != 0 && other->rank >= 0));
        if (other != entry && is_earlier)
            return true;
    }
    return false;
}

static void print_end(FILE *stream, const struct tg_verdict_input *input,
                      const struct tg_process_entry *entry)
{
    char name[32];
    switch (entry->end) {
    case TG_PROCESS_KILLED:
        if (was_asked_to_end(input, entry))
            break;
        fprintf(stream, ", until it was killed by %s", tg_signal_name(entry->status, name, sizeof name));
        tg_words_moment(stream, input, entry->ended_ns);
        break;
    case TG_PROCESS_EXITED:
        fprintf(stream, ", until it exited with status %" PRId64, entry->status);
        tg_words_moment(stream, input, entry->ended_ns);
        break;
    case TG_PROCESS_RUNNING:
    case TG_PROCESS_LOST:
    case TG_PROCESS_DETACHED:
        break;
    }
}

/* MPI comes before OpenMP: the call is inside the zone. */
bool tg_words_thread_state(FILE *stream, const struct tg_verdict_input *input, size_t process, int32_t tid,
                           const struct tg_openmp_worker *worker)
{
    const struct tg_mpi_thread *thread = find_mpi_thread(input, process, tid);
    if (thread != NULL && thread->in_call) {
        tg_words_mpi_thread(stream, input, thread);
        return true;
    }
    if (worker != NULL && worker->n_places > 0) {
        print_place(stream, input, worker);
        return true;
    }
    if (thread == NULL || thread->calls == 0)
        return false;
    tg_words_mpi_thread(stream, input, thread);
    return true;
}

void tg_words_worker_state(FILE *stream, const struct tg_verdict_input *input,
                           const struct tg_openmp_worker *worker)
{
    const struct tg_process_entry *entry = entry_of(input, worker->process);
    if (!tg_words_thread_state(stream, input, worker->process, worker->tid, worker)) {
        fputs("outside parallel regions, last seen", stream);
        tg_words_moment(stream, input, worker->last_ns);
        tg_words_code(stream, input, worker->process, worker->last_code);
        print_last_place(stream, input, worker->process, worker->tid, worker->last_ns);
    }
    if (entry == NULL)
        return;
    if (!worker->alive && (entry->end == TG_PROCESS_RUNNING || worker->ended_ns < entry->ended_ns) &&
        worker->exit_status == 0 && (entry->end != TG_PROCESS_EXITED || entry->status != 0)) {
        fputs(", until it ended", stream);
        tg_words_moment(stream, input, worker->ended_ns);
        return;
    }
    print_end(stream, input, entry);
}

void tg_words_process_state(FILE *stream, const struct tg_verdict_input *input, size_t process)
{
    const struct tg_process_entry *entry = entry_of(input, process);
    char last[256];
    if (entry == NULL) {
        fputs("not in the trace", stream);
        return;
    }
    const struct tg_openmp_worker *worker = NULL; /* the latest with the main thread's id, dead or not */
    for (size_t i = 0; i < tg_openmp_model_worker_count(input->openmp); i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(input->openmp, i);
        if (other->process == process && other->tid == entry->pid)
            worker = other;
    }
    if (!tg_words_thread_state(stream, input, process, entry->pid, worker)) {
        fputs("not known to be in MPI or OpenMP", stream);
        if (entry->last.time_ns != 0) {
            fprintf(stream, "; its last event was \"%s\"",
                    tg_event_headline_print(&entry->last, last, sizeof last));
            tg_words_moment(stream, input, entry->last.time_ns);
        }
    }
    print_end(stream, input, entry);
}
