/* `info mpi`: the ranks' calls, collectives under way, messages that wait for their other half, how the ranks
 * were found; `info mpir`: that alone. */
#include "analyzer/finding/words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/mpir_text.h"
#include "format/base/printable.h"
#include "live/commands/info/attached_lines.h"
#include "live/commands/info/commands.h"
#include "live/commands/info/place.h"
#include "live/console/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct writing {
    struct tg_console *console;
    struct tg_verdict_input input;
    FILE *out;
    size_t shown;
    const char *title; /* to be written before the first */
};

static void begin_part(struct writing *w)
{
    if (w->shown++ == 0)
        fprintf(w->out, "\n%s\n", w->title);
}

/* ---- calls */

static char *call_text(const struct writing *w, const struct tg_mpi_thread *thread)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_words_call(stream, &thread->call);
    tg_words_code(stream, &w->input, thread->process, thread->call.code);
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int64_t rank_of_process(const struct writing *w, size_t process)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(w->input.mpi, process);
    return mpi != NULL && mpi->rank >= 0 ? mpi->rank : tg_process_model_at(w->input.processes, process)->rank;
}

/* Of the first ones: the job is shown where there are several. */
static size_t hidden_columns(const struct writing *w)
{
    return tg_words_has_several_jobs(w->input.processes) ? 0 : 1;
}

static void name_rank(const struct writing *w, size_t process, char *buffer, size_t size)
{
    const struct tg_process_entry *entry = tg_process_model_at(w->input.processes, process);
    int64_t rank = rank_of_process(w, process);
    if (rank >= 0)
        snprintf(buffer, size, "%" PRId64, rank);
    else
        snprintf(buffer, size, "pid %" PRId32, entry->pid);
}

static struct tg_error *add_thread(const struct writing *w, const struct tg_mpi_thread *thread,
                                   struct tg_text_table *table)
{
    char job[64], rank[32], tid[16], calls[TG_QUANTITY_SIZE], since[TG_QUANTITY_SIZE];
    name_rank(w, thread->process, rank, sizeof rank);
    snprintf(tid, sizeof tid, "%" PRId32, thread->tid);
    char *call = thread->calls == 0 ? strdup("") : call_text(w, thread);
    if (call == NULL)
        return tg_error_no_memory();
    uint64_t since_ns = thread->in_call ? thread->call.since_ns : thread->left_ns;
    const char *cells[] = {
        tg_printable(tg_process_model_at(w->input.processes, thread->process)->job, job, sizeof job),
        rank,
        tid,
        tg_quantity_count(thread->calls + thread->repeated_polls, calls),
        !thread->alive    ? (thread->in_call ? "died in" : "dead, left")
        : thread->in_call ? "in"
                          : "left",
        tg_quantity_moment(since_ns, w->input.start_ns, 6, since),
        call};
    struct tg_error *error = tg_text_table_add(table, cells + hidden_columns(w));
    free(call);
    return error;
}

/* A thread with what it is sorted by. */
struct ranked {
    const char *job;
    int64_t rank;
    const struct tg_mpi_thread *thread;
    size_t index;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = strcmp(a->job, b->job);
    if (order != 0)
        return order;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct tg_error *write_calls(struct writing *w)
{
    static const char *const headings[] = {"JOB",   ">RANK",      ">THREAD", ">CALLS",
                                           "STATE", ">SINCE (s)", "CALL",    NULL};
    struct tg_text_table *table = NULL;
    size_t count = tg_mpi_model_thread_count(w->input.mpi), n = 0;
    struct ranked *threads = calloc(count + 1, sizeof *threads);
    if (threads == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(w->input.mpi, i);
        if (tg_focus_has(&w->console->focus, thread->process))
            threads[n++] = (struct ranked){tg_process_model_at(w->input.processes, thread->process)->job,
                                           rank_of_process(w, thread->process), thread, i};
    }
    qsort(threads, n, sizeof *threads, compare_ranked);
    struct tg_error *error = tg_text_table_create(headings + hidden_columns(w), false, &table);
    for (size_t i = 0; error == NULL && i < n; i++)
        error = add_thread(w, threads[i].thread, table);
    if (error == NULL)
        error = tg_text_table_print(table, w->out);
    tg_text_table_destroy(table);
    free(threads);
    return error;
}

/* ---- collectives */

static bool concerns_focus(const struct writing *w, const struct tg_mpi_arrival *arrivals, size_t n)
{
    bool concerns = tg_focus_is_all(&w->console->focus);
    for (size_t i = 0; !concerns && i < n; i++)
        concerns = tg_focus_has(&w->console->focus, arrivals[i].process);
    return concerns;
}

static int64_t rank_of(const struct tg_mpi_arrival *arrival)
{
    return arrival->world_rank >= 0 ? arrival->world_rank : arrival->comm_rank;
}

/* "0-3, 7": the processes of that standing, as ranks of the job where these are known. */
static void write_ranks(const struct writing *w, const struct tg_mpi_arrival *arrivals, size_t n,
                        enum tg_mpi_standing standing)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].standing != standing)
            continue;
        size_t last = i;
        while (last + 1 < n && arrivals[last + 1].standing == standing &&
               rank_of(&arrivals[last + 1]) == rank_of(&arrivals[last]) + 1)
            last++;
        fprintf(w->out, "%s%" PRId64, written++ == 0 ? "" : ", ", rank_of(&arrivals[i]));
        if (last > i)
            fprintf(w->out, "-%" PRId64, rank_of(&arrivals[last]));
        i = last;
    }
    fputs(written == 0 ? "none\n" : "\n", w->out);
}

static struct tg_error *visit_collective(void *context, const struct tg_mpi_collective *collective,
                                         const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct writing *w = context;
    char moment[TG_QUANTITY_SIZE];
    if (!concerns_focus(w, arrivals, n_arrivals))
        return NULL;
    begin_part(w);
    fputs("  ", w->out);
    tg_printable_write(w->out, collective->name);
    fprintf(w->out, " (number %" PRIu64 " on ", collective->instance);
    tg_words_comm(w->out, &w->input, collective->job, collective->comm);
    tg_words_job(w->out, &w->input, collective->job);
    fputc(')', w->out);
    if (collective->root >= 0)
        fprintf(w->out, " with root %" PRId64, collective->root);
    fprintf(w->out, ": %" PRIu64, collective->n_entered);
    if (collective->size != 0)
        fprintf(w->out, " of %" PRId64, collective->size);
    fprintf(w->out, " arrived, waiting since %s s (first arrival)\n",
            tg_quantity_moment(collective->first_ns, w->input.start_ns, 6, moment));
    if ((collective->differs & TG_MPI_DIFFERS_CALL) != 0)
        fputs("    other ranks are in a different collective instead\n", w->out);
    else if ((collective->differs & TG_MPI_DIFFERS_ROOT) != 0)
        fputs("    other ranks say another root\n", w->out);
    else if ((collective->differs & TG_MPI_DIFFERS_BYTES) != 0)
        fputs("    other ranks say another number of bytes\n", w->out);
    fputs("    passed   ", w->out);
    write_ranks(w, arrivals, n_arrivals, TG_MPI_PASSED);
    fputs("    waiting  ", w->out);
    write_ranks(w, arrivals, n_arrivals, TG_MPI_WAITING);
    fputs("    missing  ", w->out);
    write_ranks(w, arrivals, n_arrivals, TG_MPI_MISSING);
    return NULL;
}

/* ---- messages */

static struct tg_error *visit_message(void *context, const struct tg_mpi_message *message)
{
    struct writing *w = context;
    if (!tg_focus_has(&w->console->focus, message->process))
        return NULL;
    begin_part(w);
    fputs("  ", w->out);
    tg_words_message(w->out, &w->input, message);
    fputc('\n', w->out);
    return NULL;
}

/* ---- MPIR */

static struct tg_mpir_text acquisition_of(const struct writing *w)
{
    return (struct tg_mpir_text){
        .mpir = w->input.mpir, .processes = w->input.processes, .start_ns = w->input.start_ns};
}

/* Of the whole job, whatever the focus is. */
static struct tg_error *write_acquisition(const struct writing *w)
{
    const struct tg_mpir_text text = acquisition_of(w);
    if (!tg_mpir_text_is_called_for(&text))
        return NULL;
    fputs("\nHow ranks were found\n", w->out);
    return tg_mpir_text_write(&text, w->out);
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_info_mpi);
    struct writing w = {.console = console, .input = tg_console_words(console), .out = out};
    size_t n_attached = 0, n_threads = tg_mpi_model_thread_count(w.input.mpi);
    struct tg_error *error = n_threads > 0 ? write_calls(&w) : NULL;
    if (error == NULL)
        error = tg_attached_lines_print(console, TG_ATTACHED_MPI, out, &n_attached);
    if (error == NULL && n_threads + n_attached == 0)
        fputs("no MPI calls yet\n", out);
    if (error == NULL && n_threads == 0)
        return write_acquisition(&w);
    w.title = "Unfinished collectives";
    if (error == NULL)
        error = tg_mpi_model_visit_collectives(w.input.mpi, visit_collective, &w);
    w.shown = 0;
    w.title = "Sent but not received";
    if (error == NULL)
        error = tg_mpi_model_visit_sends(w.input.mpi, visit_message, &w);
    w.shown = 0;
    w.title = "Posted but not completed";
    if (error == NULL)
        error = tg_mpi_model_visit_receives(w.input.mpi, visit_message, &w);
    return error != NULL ? error : write_acquisition(&w);
}

const struct tg_console_command tg_console_info_mpi = {
    .name = "info mpi",
    .arguments = "",
    .summary = "ranks, MPI calls, unfinished collectives, unmatched messages, how the ranks were found",
    .example = "info mpi",
    .is_of_now = true,
    .run = run,
};

static struct tg_error *run_mpir(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_info_mpir);
    const struct writing w = {.console = console, .input = tg_console_words(console), .out = out};
    const struct tg_mpir_text text = acquisition_of(&w);
    if (tg_mpir_text_is_called_for(&text))
        return tg_mpir_text_write(&text, out);
    fputs("no ranks and no MPI job launcher yet\n", out);
    return NULL;
}

const struct tg_console_command tg_console_info_mpir = {
    .name = "info mpir",
    .arguments = "",
    .summary = "how the ranks were found: job launchers, their MPIR tables, the steps of the protocol",
    .example = "info mpir",
    .is_of_now = true,
    .run = run_mpir,
};
