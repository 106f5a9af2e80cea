/* Processes that did not end as they should: crashes, MPI_Abort, ends without MPI_Finalize, signals that killed. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/end_words.h"
#include "analyzer/finding/words.h"
#include "analyzer/models/mpi/sites.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/output/quantity.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/openmp/order.h"
#include "analyzer/verdict/signals.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ", whose stack of 2 MiB overflowed (OMP_STACKSIZE sets its size)" */
static void print_overflow(FILE *stream, const struct tg_process_entry *entry, bool is_worker)
{
    char bytes[TG_QUANTITY_SIZE];
    if (entry->last_signal_overflowed == 0)
        return;
    fprintf(stream, ", whose stack of %s overflowed",
            tg_quantity_bytes(entry->last_signal_overflowed, bytes));
    if (entry->last_signal_tid == entry->pid)
        fputs(" (`ulimit -s` sets its limit)", stream);
    else if (is_worker)
        fputs(" (OMP_STACKSIZE sets its size)", stream);
}

/* Whether ENTRY is a launcher that stumbles while it ends the job, as mpirun of Open MPI does now and then. */
static bool is_stumble(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    return entry->rank < 0 && entry->first_child != NULL && draft->stillness.was_ended &&
           entry->ended_ns > draft->stillness.at_ns && entry->end == TG_PROCESS_KILLED &&
           tg_verdict_is_fault(entry->status);
}

static bool take_throw(void *context, const struct tg_stack_call *call)
{
    static const char *const names[] = {"__cxa_throw", "__cxa_rethrow", "__clang_call_terminate"};
    bool *throws = context;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *throws |= strcmp(call->function, names[i]) == 0;
    return !*throws;
}

/* Whether the C++ runtime aborted as nobody catches what the thread with STACK (NULL unknown) throws, or as it may not leave a
 * function. */
static bool is_uncaught(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    bool throws = false;
    if (stack != NULL)
        tg_stack_each_call(input->stacks, stack, take_throw, &throws);
    return throws;
}

static struct tg_error *find_crash(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_CRASH,
                                 .since_ns = entry->ended_ns,
                                 .process = entry->index,
                                 .is_consequence = is_stumble(draft, entry)};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " was killed by %s", tg_signal_name(entry->status, name, sizeof name));
    /* the thread of its last signal is the one that crashed; others may have run on for a moment */
    bool knows_thread = entry->last_signal_ns != 0 && entry->last_signal == entry->status;
    if (knows_thread && entry->last_signal_sender_pid != 0 && entry->last_signal_sender_pid != entry->pid)
        tg_end_words_sender(stream, draft->input, entry->last_signal_sender_pid, entry->last_signal_sender);
    int32_t tid = knows_thread ? entry->last_signal_tid : entry->pid;
    const struct tg_last_stack *stack = tg_verdict_stack_of(draft->input, entry->index, tid, entry->start_ns);
    if (entry->status == SIGABRT && is_uncaught(draft->input, stack))
        fputs(" (an exception that nobody caught)", stream);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    const struct tg_openmp_worker *worker = tg_end_words_worker(draft->input, entry->index, tid);
    if (knows_thread) {
        fputs(" in ", stream);
        tg_words_thread(stream, draft->input, entry->index, tid);
        if (worker != NULL)
            fprintf(stream, " (worker %" PRIu64 ")", worker->number);
        print_overflow(stream, entry, worker != NULL);
        if (entry->last_signal_has_address && entry->last_signal_address == 0)
            fputs(", fault address 0 (a null pointer)", stream);
        else if (entry->last_signal_has_address)
            fprintf(stream, ", fault address 0x%" PRIx64, entry->last_signal_address);
    }
    if (stack != NULL) {
        fputc(',', stream);
        tg_verdict_print_stack(stream, draft->input, stack);
    }
    tg_verdict_blame(draft, entry->index, tid, 0);
    fputc('.', stream);
    tg_end_words_state(draft, entry->index, tid, worker);
    if (worker != NULL)
        tg_openmp_order_tell(draft, worker);
    if (stack == NULL && worker != NULL && worker->n_places > 0)
        finding.code = worker->places[worker->n_places - 1].code;
    return tg_verdict_add(draft, &finding);
}

/* The thread of PROCESS that called MPI last, NULL none. */
static const struct tg_mpi_thread *last_caller(const struct tg_verdict_input *input, size_t process)
{
    const struct tg_mpi_thread *last = NULL;
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process == process && thread->calls > 0 &&
            (last == NULL || thread->call.since_ns > last->call.since_ns))
            last = thread;
    }
    return last;
}

/* Whether the interpreter is at its exit, when no line of the script is executed any more: there a module calls MPI_Abort
 * after an error that nobody caught (python -m mpi4py). */
static bool is_exit_of_python(const struct tg_last_stack *stack)
{
    bool has_interpreter = false;
    for (size_t i = 0; i < stack->count; i++) {
        const struct tg_stack_frame *frame = &stack->frames[i];
        const char *slash = strrchr(frame->module, '/'), *file = slash != NULL ? slash + 1 : frame->module;
        if (frame->kind == TG_FRAME_PYTHON)
            return false;
        has_interpreter |= strncmp(file, "python3", 7) == 0 || strncmp(file, "libpython3", 10) == 0;
    }
    return has_interpreter && stack->end == TG_STACK_WHOLE;
}

static const struct tg_mpi_process *mpi_of(const struct tg_verdict_draft *draft,
                                           const struct tg_process_entry *entry)
{
    return tg_mpi_model_process(draft->input->mpi, entry->index);
}

/* Whether OTHER called MPI_Abort as ENTRY did: of one job, from one place, with the same error code. */
static bool aborts_alike(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                         const struct tg_process_entry *other)
{
    const struct tg_mpi_process *mpi = mpi_of(draft, other);
    if (other == entry || other->rank < 0 || entry->rank < 0 || mpi == NULL || mpi->aborted_ns == 0 ||
        strcmp(mpi->job, mpi_of(draft, entry)->job) != 0 || tg_verdict_is_explained(draft, other->index))
        return other == entry;
    const struct tg_mpi_thread *one = last_caller(draft->input, entry->index),
                               *two = last_caller(draft->input, other->index);
    return one != NULL && two != NULL && one->call.tag == two->call.tag &&
           tg_mpi_site_low(one->call.code) == tg_mpi_site_low(two->call.code);
}

/* Prints who called MPI_Abort as ENTRY did. *FIRST was the first of *COUNT. */
static struct tg_error *print_aborters(struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                       const struct tg_process_entry **first, size_t *count)
{
    int64_t *ranks = calloc(draft->n_processes, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    *first = entry;
    *count = 0;
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (!aborts_alike(draft, entry, other))
            continue;
        const struct tg_mpi_thread *caller = last_caller(draft->input, i);
        if (caller != NULL)
            tg_verdict_blame(draft, i, caller->tid, caller->call.code);
        ranks[(*count)++] = other->rank;
        if (mpi_of(draft, other)->aborted_ns < mpi_of(draft, *first)->aborted_ns)
            *first = other;
    }
    if (*count > 1)
        tg_arrivals_print(draft->stream, ranks, *count, true);
    else
        tg_words_process(draft->stream, draft->input, entry->index);
    free(ranks);
    return NULL;
}

/* The finding that was added last tells of all who called MPI_Abort as ENTRY did. */
static void explain_aborters(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && aborts_alike(draft, entry, other))
            tg_verdict_explain(draft, i);
    }
}

static struct tg_error *find_abort(struct tg_verdict_draft *draft, const struct tg_process_entry *asked)
{
    const struct tg_process_entry *entry;
    FILE *stream = draft->stream;
    size_t count;
    struct tg_error *error = print_aborters(draft, asked, &entry, &count);
    if (error != NULL)
        return error;
    const struct tg_mpi_process *mpi = mpi_of(draft, entry);
    const struct tg_mpi_thread *caller = last_caller(draft->input, entry->index);
    const struct tg_finding finding = {.kind = TG_FINDING_CRASH,
                                       .since_ns = mpi->aborted_ns,
                                       .process = entry->index,
                                       .code = caller == NULL ? 0 : caller->call.code};
    fputs(" called MPI_Abort", stream);
    if (caller != NULL && caller->call.tag != -3)
        fprintf(stream, " with error code %" PRId64, caller->call.tag);
    if (count > 1) {
        fputs(", ", stream);
        tg_words_process(stream, draft->input, entry->index);
        fputs(" first,", stream);
    }
    tg_words_moment(stream, draft->input, mpi->aborted_ns);
    const struct tg_last_stack *stack =
        caller == NULL ? NULL : tg_verdict_stack_of(draft->input, entry->index, caller->tid, mpi->aborted_ns);
    if (stack != NULL && tg_stack_place_find(draft->input->stacks, stack).is_known)
        tg_verdict_print_stack(stream, draft->input, stack);
    else if (stack != NULL && is_exit_of_python(stack))
        fputs(" at the end of the program (called by Python as it exits)", stream);
    else if (caller != NULL)
        tg_words_code(stream, draft->input, entry->index, caller->call.code);
    fputc('.', stream);
    error = tg_verdict_add(draft, &finding);
    explain_aborters(draft, asked);
    return error;
}

/* How a thread ended its process. */
struct exit_search {
    bool exits;           /* in exit, or one of its like */
    bool was_main;        /* right behind that, the C library's call of main, which is gone */
    bool is_behind;       /* the call before was exit */
    bool has_interpreter; /* whose main is not the script's */
};

static bool take_exit_call(void *context, const struct tg_stack_call *call)
{
    static const char *const names[] = {"exit", "_exit", "__GI__exit", "__GI_exit", "_Exit", "quick_exit"};
    struct exit_search *search = context;
    bool is_exit = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_exit |= strcmp(call->function, names[i]) == 0;
    search->was_main |= search->is_behind && (strcmp(call->function, "__libc_start_call_main") == 0 ||
                                              strcmp(call->function, "__libc_start_main") == 0);
    search->exits |= is_exit;
    search->is_behind = is_exit;
    search->has_interpreter |= tg_stack_is_interpreter(call->module);
    return true;
}

/* The stack with which the process of ENTRY exited; NULL unknown. */
static const struct tg_last_stack *find_exit(const struct tg_stack_model *stacks,
                                             const struct tg_process_entry *entry, struct exit_search *found)
{
    for (size_t i = 0; stacks != NULL && i < tg_stack_model_count(stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(stacks, i);
        *found = (struct exit_search){0};
        if (stack->process == entry->index && stack->reason == TG_STACK_EXIT &&
            stack->time_ns >= entry->start_ns)
            tg_stack_each_call(stacks, stack, take_exit_call, found);
        if (found->exits)
            return stack;
    }
    return NULL;
}

static struct tg_error *find_early_exit(struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                        const struct tg_mpi_thread *caller)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_EARLY_EXIT,
                                       .since_ns = entry->ended_ns,
                                       .process = entry->index,
                                       .code = caller->call.code};
    struct exit_search found;
    const struct tg_last_stack *stack = find_exit(draft->input->stacks, entry, &found);
    bool has_place = stack != NULL && tg_stack_place_find(draft->input->stacks, stack).is_known;
    struct tg_verdict_input input = *draft->input;
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " exited with status %" PRId64, entry->status);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    if (has_place)
        tg_verdict_print_stack(stream, draft->input, stack);
    else if (stack != NULL && found.was_main && !found.has_interpreter)
        fputs(", as main returned,", stream);
    fputs(has_place ? ", without calling MPI_Finalize, " : " without calling MPI_Finalize, ", stream);
    if (has_place || (stack != NULL && found.was_main))
        input.stacks = NULL; /* the last stack is told already, or is that of the C library alone */
    tg_words_mpi_thread(stream, &input, caller);
    fputc('.', stream);
    return tg_verdict_add(draft, &finding);
}

/* Whether FRAME is of the address sanitizer, which is in a stack at an end only where it reports a mistake. */
static bool is_report_of_sanitizer(const struct tg_stack_model *stacks, const struct tg_stack_frame *frame)
{
    static const char own[] = "__asan";
    const struct tg_stack_names names = tg_stack_model_names(stacks, frame);
    for (size_t i = 0; i < names.count; i++)
        if (strncmp(names.calls[i].function, own, strlen(own)) == 0)
            return true;
    return false;
}

/* The stack with which the address sanitizer ended ENTRY's process; NULL: it did not. */
static const struct tg_last_stack *find_report_of_sanitizer(const struct tg_stack_model *stacks,
                                                            const struct tg_process_entry *entry)
{
    for (size_t i = 0; stacks != NULL && i < tg_stack_model_count(stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(stacks, i);
        if (stack->process != entry->index || stack->reason != TG_STACK_EXIT ||
            stack->time_ns < entry->start_ns)
            continue;
        for (size_t k = 0; k < stack->count; k++)
            if (is_report_of_sanitizer(stacks, &stack->frames[k]))
                return stack;
    }
    return NULL;
}

static struct tg_error *find_sanitizer(struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                       const struct tg_last_stack *stack)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_CRASH, .since_ns = stack->time_ns, .process = entry->index};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " was ended by AddressSanitizer, with status %" PRId64, entry->status);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    fputs(", as it had found a mistake", stream);
    tg_verdict_print_stack(stream, draft->input, stack);
    fputs("; what it printed says which.", stream);
    tg_verdict_blame(draft, entry->index, stack->tid, 0);
    return tg_verdict_add(draft, &finding);
}

static struct tg_error *find_end(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(draft->input->mpi, entry->index);
    const struct tg_mpi_thread *caller = last_caller(draft->input, entry->index);
    const struct tg_last_stack *report = entry->end == TG_PROCESS_EXITED && entry->status != 0
                                             ? find_report_of_sanitizer(draft->input->stacks, entry)
                                             : NULL;
    struct tg_error *error = NULL;
    bool was_asked = draft->stillness.was_asked && entry->ended_ns >= draft->stillness.at_ns;
    if (tg_verdict_is_explained(draft, entry->index))
        return NULL; /* by an error of MPI */
    if (mpi != NULL && mpi->aborted_ns != 0)
        error = find_abort(draft, entry);
    else if (entry->end == TG_PROCESS_KILLED && tg_verdict_is_fault(entry->status))
        error = find_crash(draft, entry);
    else if (report != NULL)
        error = find_sanitizer(draft, entry, report);
    else if (tg_signals_has_single_target(draft, entry))
        error = tg_signals_find_signal(draft, entry);
    else if (was_asked)
        return NULL; /* the statuses that follow say nothing more */
    else if (entry->end == TG_PROCESS_EXITED && caller != NULL && mpi != NULL && !mpi->finalized)
        error = find_early_exit(draft, entry, caller);
    else if (tg_signals_is_first_kill(draft->input, entry))
        error = tg_signals_find_kill(draft, entry);
    else if (tg_signals_killed(entry) && (entry->rank >= 0 || entry->parent == NULL))
        error = tg_signals_find_signal(draft, entry);
    else
        return NULL;
    if (!is_stumble(draft, entry)) /* the request to end, or what ended the job, comes first */
        tg_verdict_explain(draft, entry->index);
    return error;
}

struct tg_error *tg_verdict_find_ends(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++)
        error = find_end(draft, tg_process_model_at(draft->input->processes, i));
    return error;
}
