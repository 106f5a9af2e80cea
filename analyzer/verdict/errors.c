/* MPI calls that failed: which error, what was wrong with the call, and whether the error ended the program. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ANY_TAG = -1 };

/* The name of the call as the program made it. */
static const char *name_of(const struct tg_mpi_fault *fault)
{
    return fault->in_call ? fault->call.name : fault->name;
}

/* Programs ask for files and services that need not be there, by calls that come back with an error. */
static bool is_question(const struct tg_mpi_fault *fault)
{
    static const char *const beginnings[] = {"MPI_File_", "MPI_Lookup_name", "MPI_Info_",
                                             "MPI_T_",    "MPI_Comm_spawn",  "MPI_Comm_connect"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name_of(fault), beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Whether the process ended in that call: by MPI_ERRORS_ARE_FATAL, or an error handler of its own. */
static bool was_fatal(const struct tg_verdict_input *input, const struct tg_mpi_fault *fault)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(input->mpi, fault->process);
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, fault->process);
    if (fault->left_ns != 0 || entry->end == TG_PROCESS_RUNNING || entry->end == TG_PROCESS_DETACHED ||
        (mpi != NULL && mpi->finalized))
        return false;
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process != fault->process || thread->tid != fault->tid)
            continue;
        if (thread->call.since_ns > fault->time_ns || (!thread->in_call && thread->left_ns > fault->time_ns))
            return false; /* the thread went on */
    }
    return true;
}

static bool is_alike(const struct tg_mpi_fault *fault, const struct tg_mpi_fault *other)
{
    return strcmp(fault->error_class, other->error_class) == 0 &&
           strcmp(name_of(fault), name_of(other)) == 0 &&
           tg_mpi_site_low(fault->call.code) == tg_mpi_site_low(other->call.code) &&
           fault->call.peer == other->call.peer && fault->call.root == other->call.root &&
           (fault->left_ns == 0) == (other->left_ns == 0);
}

/* ---- words */

/* The library's words, without what repeats the class, and without MPICH's stack of errors. */
static void print_text(FILE *stream, const struct tg_mpi_fault *fault)
{
    char text[200];
    size_t class_length = strlen(fault->error_class);
    const char *from = fault->text;
    if (class_length > 0 && strncmp(from, fault->error_class, class_length) == 0 && from[class_length] == ':')
        from += class_length + 1 + strspn(from + class_length + 1, " ");
    size_t length = strcspn(from, "\n");
    const char *stack = strstr(from, ", error stack");
    if (stack != NULL && (size_t)(stack - from) < length)
        length = (size_t)(stack - from);
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), from);
    if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = (char)(text[0] - 'A' + 'a');
    if (text[0] == '\0')
        return;
    fputs(" (", stream);
    tg_printable_write(stream, text);
    fputc(')', stream);
}

/* What was wrong with RANK as a peer or root. */
static void print_rank_error(struct tg_verdict_draft *draft, const struct tg_mpi_fault *fault, int64_t rank)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    const struct tg_mpi_process *process = tg_mpi_model_process(mpi, fault->process);
    const char *job = process == NULL ? "" : process->job;
    const struct tg_mpi_comm_facts facts = tg_mpi_model_comm(mpi, job, fault->call.comm);
    if (facts.size <= 0 || facts.is_inter || rank < facts.size)
        return;
    fprintf(draft->stream, ": there is no rank %" PRId64 " in ", rank);
    tg_words_comm(draft->stream, draft->input, job, fault->call.comm);
    fprintf(draft->stream, ", which has %" PRId64 " rank%s", facts.size, facts.size == 1 ? "" : "s");
}

/* ": rank 0 receives at most 40 bytes in main (a.c:12) where rank 1 sends 80 in main (a.c:20)" */
static void print_truncation(struct tg_verdict_draft *draft, const struct tg_mpi_fault *fault)
{
    FILE *stream = draft->stream;
    fputs(": ", stream);
    tg_words_process(stream, draft->input, fault->process);
    fprintf(stream, " receives at most %" PRIu64 " bytes", fault->receive.bytes);
    tg_words_code(stream, draft->input, fault->process, fault->receive.code);
    fputs(" where ", stream);
    tg_words_process(stream, draft->input, fault->sent.process);
    fprintf(stream, " sends %" PRIu64, fault->sent.bytes);
    tg_words_code(stream, draft->input, fault->sent.process, fault->sent.code);
    tg_verdict_blame(draft, fault->sent.process, fault->sent.tid, fault->sent.code);
}

static void print_detail(struct tg_verdict_draft *draft, const struct tg_mpi_fault *fault)
{
    if (!fault->in_call)
        return;
    if (fault->is_truncated)
        print_truncation(draft, fault);
    if (strcmp(fault->error_class, "MPI_ERR_TAG") == 0 && fault->call.tag < ANY_TAG)
        fprintf(draft->stream, ": the tag is %" PRId64, fault->call.tag);
    if (strcmp(fault->error_class, "MPI_ERR_RANK") == 0)
        print_rank_error(draft, fault, fault->call.peer);
    else if (strcmp(fault->error_class, "MPI_ERR_ROOT") == 0)
        print_rank_error(draft, fault, fault->call.root);
}

static void print_class(FILE *stream, const struct tg_mpi_fault *fault)
{
    if (*fault->error_class != '\0')
        tg_printable_write(stream, fault->error_class);
    else
        fprintf(stream, "error %" PRId64, fault->code);
}

/* Prints whom fault I is about: its process, and all that failed alike later, which are told by that. */
static struct tg_error *print_who(struct tg_verdict_draft *draft, size_t i, bool *is_told)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    const struct tg_mpi_fault *fault = tg_mpi_model_fault_at(mpi, i);
    size_t count = tg_mpi_model_fault_count(mpi), n = 0;
    int64_t *ranks = calloc(count + 1, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t other = i; other < count; other++) {
        const struct tg_mpi_fault *like = tg_mpi_model_fault_at(mpi, other);
        if (like->process >= draft->n_processes || !is_alike(fault, like))
            continue;
        is_told[other] = true;
        int64_t rank = tg_process_model_at(draft->input->processes, like->process)->rank;
        if (rank >= 0)
            ranks[n++] = rank;
        tg_verdict_blame(draft, like->process, like->tid, like->call.code);
    }
    if (n > 0)
        tg_arrivals_print(draft->stream, ranks, n, true);
    else
        tg_words_process(draft->stream, draft->input, fault->process);
    free(ranks);
    return NULL;
}

/* ---- findings */

/* The finding that was added last explains the ends of all that failed as fault I. */
static void explain_ends(struct tg_verdict_draft *draft, size_t i)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    const struct tg_mpi_fault *fault = tg_mpi_model_fault_at(mpi, i);
    for (size_t at = i; at < tg_mpi_model_fault_count(mpi); at++) {
        const struct tg_mpi_fault *other = tg_mpi_model_fault_at(mpi, at);
        if (other->process < draft->n_processes && is_alike(fault, other))
            tg_verdict_explain(draft, other->process);
    }
}

static struct tg_error *tell(struct tg_verdict_draft *draft, size_t i, bool *is_told)
{
    const struct tg_mpi_fault *fault = tg_mpi_model_fault_at(draft->input->mpi, i);
    FILE *stream = draft->stream;
    bool is_fatal = was_fatal(draft->input, fault);
    if (is_question(fault) && !is_fatal)
        return NULL;
    const struct tg_finding finding = {.kind = TG_FINDING_ERROR,
                                       .since_ns = fault->time_ns,
                                       .process = fault->process,
                                       .code = fault->call.code,
                                       .is_warning = draft->is_good_end};
    struct tg_error *error = print_who(draft, i, is_told);
    if (error != NULL)
        return error;
    fputs(": ", stream);
    if (fault->in_call)
        tg_words_call(stream, &fault->call);
    else
        tg_printable_write(stream, *fault->name == '\0' ? "an MPI call" : fault->name);
    tg_words_code(stream, draft->input, fault->process, fault->call.code);
    fputs(" failed", stream);
    tg_words_moment(stream, draft->input, fault->time_ns);
    fputs(" with ", stream);
    print_class(stream, fault);
    print_text(stream, fault);
    print_detail(draft, fault);
    fputs(is_fatal ? ". The error ended the program." : ". The call returned the error.", stream);
    error = tg_verdict_add(draft, &finding);
    if (error == NULL && is_fatal)
        explain_ends(draft, i);
    return error;
}

struct tg_error *tg_verdict_find_errors(struct tg_verdict_draft *draft)
{
    size_t count = tg_mpi_model_fault_count(draft->input->mpi);
    bool *is_told = calloc(count + 1, sizeof *is_told);
    struct tg_error *error = is_told == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        if (!is_told[i] && tg_mpi_model_fault_at(draft->input->mpi, i)->process < draft->n_processes)
            error = tell(draft, i, is_told);
    free(is_told);
    return error;
}
