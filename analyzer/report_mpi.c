/* The text report's MPI: ranks, how long they were in calls, and where they are. */
#include "analyzer/post_mortem_words.h"
#include "analyzer/quantity.h"
#include "analyzer/report_internal.h"
#include "analyzer/text_table.h"
#include "format/printable.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RANKS_SHOWN = 64 };

static char *call_text(const struct tg_mpi_call *call)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_words_call(stream, call);
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static struct tg_error *add_thread(const struct tg_report *report, const struct tg_mpi_thread *thread,
                                   struct tg_text_table *table)
{
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, thread->process);
    const struct tg_mpi_process *process = tg_mpi_model_process(report->mpi, thread->process);
    char rank[24], tid[16], calls[TG_QUANTITY_SIZE], time[TG_QUANTITY_SIZE], since[TG_QUANTITY_SIZE];
    snprintf(rank, sizeof rank, "%" PRId64, process != NULL ? process->rank : entry->rank);
    snprintf(tid, sizeof tid, "%" PRId32, thread->tid);
    char *call = call_text(&thread->call);
    if (call == NULL)
        return tg_error_no_memory();
    const char *cells[] = {
        rank,
        tid,
        tg_quantity_count(thread->calls, calls),
        tg_quantity_duration(thread->call_ns, time),
        thread->in_call ? "in" : "left",
        tg_quantity_moment(thread->in_call ? thread->call.since_ns : thread->left_ns, report->start_ns, 6,
                           since),
        call,
    };
    struct tg_error *error = tg_text_table_add(table, cells);
    free(call);
    return error;
}

struct counting {
    uint64_t count, bytes;
};

static struct tg_error *count_message(void *context, const struct tg_mpi_message *message)
{
    struct counting *counting = context;
    counting->count++;
    counting->bytes += message->bytes;
    return NULL;
}

static struct tg_error *write_waiting(const struct tg_report_page *page)
{
    struct counting sends = {0}, receives = {0};
    char count[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    struct tg_error *error = tg_mpi_model_visit_sends(page->report->mpi, count_message, &sends);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(page->report->mpi, count_message, &receives);
    if (error != NULL)
        return error;
    if (sends.count > 0)
        fprintf(page->stream, "%s message%s (%s bytes) sent and not received\n",
                tg_quantity_count(sends.count, count), sends.count == 1 ? "" : "s",
                tg_quantity_count(sends.bytes, bytes));
    if (receives.count > 0)
        fprintf(page->stream, "%s receive%s posted and not complete\n",
                tg_quantity_count(receives.count, count), receives.count == 1 ? "" : "s");
    if (tg_mpi_model_unkept(page->report->mpi) > 0)
        fprintf(page->stream, "%s more sends and receives were too many to match\n",
                tg_quantity_count(tg_mpi_model_unkept(page->report->mpi), count));
    if (tg_mpi_model_impossible(page->report->mpi) > 0)
        fprintf(page->stream, "%s MPI events cannot be as recorded\n",
                tg_quantity_count(tg_mpi_model_impossible(page->report->mpi), count));
    return NULL;
}

struct tg_error *tg_report_mpi(const struct tg_report_page *page)
{
    static const char *const headings[] = {">RANK", ">THREAD", ">CALLS", ">TIME IN THEM",
                                           "LAST",  ">AT (s)", "CALL",   NULL};
    size_t count = tg_mpi_model_thread_count(page->report->mpi);
    size_t shown = page->options->all || count < RANKS_SHOWN ? count : RANKS_SHOWN;
    if (count == 0)
        return NULL;
    struct tg_text_table *table = NULL;
    tg_report_title(page, "MPI calls");
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    for (size_t i = 0; error == NULL && i < shown; i++)
        error = add_thread(page->report, tg_mpi_model_thread_at(page->report->mpi, i), table);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    if (error == NULL && shown < count) {
        char rest[TG_QUANTITY_SIZE];
        fprintf(page->stream, "and %s more; --all shows them\n", tg_quantity_count(count - shown, rest));
    }
    tg_text_table_destroy(table);
    return error != NULL ? error : write_waiting(page);
}

/* ---- post-mortem */

struct tg_error *tg_report_post_mortem(const struct tg_report_page *page)
{
    const struct tg_post_mortem *post_mortem = &page->report->post_mortem;
    if (post_mortem->count == 0)
        return NULL;
    tg_report_title(page, "Post-mortem");
    for (size_t i = 0; i < post_mortem->count; i++)
        fprintf(page->stream, "%zu. %s\n", i + 1, post_mortem->findings[i].text);
    return NULL;
}
