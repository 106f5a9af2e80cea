#include "live/commands/info/event_words.h"

#include "analyzer/finding/words.h"
#include "analyzer/models/event_headline.h"
#include "analyzer/output/openmp_words.h"
#include "format/base/printable.h"

#include <inttypes.h>

static void write_who(FILE *stream, const struct tg_verdict_input *input, const struct tg_event *event,
                      const struct tg_process_entry *entry)
{
    if (entry == NULL) {
        fputs("recorder: ", stream);
        return;
    }
    tg_words_process(stream, input, entry->index);
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(input->openmp, entry->index, event->tid);
    if (worker != NULL)
        fprintf(stream, ", worker %" PRIu64, worker->number);
    if (worker == NULL && event->tid != event->pid) {
        fputs(", ", stream);
        tg_words_thread(stream, input, entry->index, event->tid);
    }
    fputs(": ", stream);
}

static void write_barrier(FILE *stream, const char *verb, uint64_t sync, uint64_t instance)
{
    fprintf(stream, "%s the %s", verb, tg_openmp_words_sync(sync)->phrase);
    if (instance != 0)
        fprintf(stream, " (number %" PRIu64 " of its team)", instance);
}

static const char *end_verb(uint64_t how)
{
    switch (how) {
    case TG_OMP_TASK_SUSPENDED:
        return "suspends";
    case TG_OMP_TASK_CANCELLED:
        return "cancels";
    case TG_OMP_TASK_DETACHED:
        return "detaches from";
    case TG_OMP_TASK_FULFILLED:
        return "fulfils";
    default:
        return "completes";
    }
}

/* Regions and zones. */
static bool write_zone_event(FILE *stream, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        fprintf(stream, "begins parallel region %" PRIu64, event->omp_parallel_begin.new_team);
        return true;
    case TG_EVENT_OMP_PARALLEL_END:
        fprintf(stream, "leaves parallel region %" PRIu64, event->omp_parallel_end.ended_team);
        return true;
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
        fprintf(stream, "joins parallel region %" PRIu64 " as thread %" PRIu64,
                event->omp_implicit_begin.team, event->omp_implicit_begin.thread_num);
        if (event->omp_implicit_begin.team_size != 0)
            fprintf(stream, " of %" PRIu64, event->omp_implicit_begin.team_size);
        return true;
    case TG_EVENT_OMP_IMPLICIT_END:
        fprintf(stream, "finishes its part of parallel region %" PRIu64, event->omp_implicit_end.team);
        return true;
    case TG_EVENT_OMP_ZONE_BEGIN:
        fprintf(stream, "enters %s%s",
                tg_openmp_words_zone(event->omp_zone_begin.zone, event->omp_zone_begin.seen)->phrase,
                tg_openmp_words_inferred(event->omp_zone_begin.seen));
        return true;
    case TG_EVENT_OMP_ZONE_END:
        fprintf(stream, "leaves %s%s",
                tg_openmp_words_zone(event->omp_zone_end.zone, event->omp_zone_end.seen)->phrase,
                tg_openmp_words_inferred(event->omp_zone_end.seen));
        return true;
    case TG_EVENT_OMP_SECTION:
        fprintf(stream, "begins section %" PRIu64, event->omp_section.section);
        return true;
    default:
        return false;
    }
}

static void write_iteration(FILE *stream, const struct tg_event_omp_iteration *event)
{
    const struct tg_omp_index *indices = event->indices.items;
    fputs(event->what == TG_OMP_ITERATION_SINK ? "needs iteration (" : "is done with iteration (", stream);
    for (uint64_t i = 0; i < event->indices.count; i++)
        fprintf(stream, "%s%" PRId64, i > 0 ? ", " : "", indices[i].index);
    fputc(')', stream);
}

/* Waiting, locks and tasks. */
static bool write_sync_event(FILE *stream, const struct tg_verdict_input *input, const struct tg_event *event,
                             size_t process)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_SYNC_BEGIN:
        write_barrier(stream, "arrives at", event->omp_sync_begin.sync, event->omp_sync_begin.instance);
        return true;
    case TG_EVENT_OMP_SYNC_END:
        write_barrier(stream, "passes", event->omp_sync_end.sync, event->omp_sync_end.instance);
        return true;
    case TG_EVENT_OMP_MUTEX_WAIT:
        fputs("waits for the ", stream);
        tg_words_mutex(stream, input, process, event->omp_mutex_wait.mutex, event->omp_mutex_wait.lock);
        return true;
    case TG_EVENT_OMP_MUTEX_TEST:
        fputs("finds the ", stream);
        tg_words_mutex(stream, input, process, event->omp_mutex_test.mutex, event->omp_mutex_test.lock);
        fputs(" taken", stream);
        if (event->omp_mutex_test.tests > 1)
            fprintf(stream, " (test %" PRIu64 ")", event->omp_mutex_test.tests);
        return true;
    case TG_EVENT_OMP_MUTEX_ENTER:
        fputs("enters the ", stream);
        tg_words_mutex(stream, input, process, event->omp_mutex_enter.mutex, event->omp_mutex_enter.lock);
        return true;
    case TG_EVENT_OMP_MUTEX_LEAVE:
        fputs("leaves the ", stream);
        tg_words_mutex(stream, input, process, event->omp_mutex_leave.mutex, event->omp_mutex_leave.lock);
        return true;
    case TG_EVENT_OMP_TASK_CREATE:
        fprintf(stream, "creates task %" PRIu64, event->omp_task_create.task);
        return true;
    case TG_EVENT_OMP_TASK_BEGIN:
        fprintf(stream, "%s task %" PRIu64, event->omp_task_begin.resumed ? "resumes" : "begins",
                event->omp_task_begin.task);
        return true;
    case TG_EVENT_OMP_TASK_END:
        fprintf(stream, "%s task %" PRIu64, end_verb(event->omp_task_end.how), event->omp_task_end.task);
        return true;
    case TG_EVENT_OMP_CHUNK:
        fprintf(stream, "is given iterations %" PRIu64 " to %" PRIu64, event->omp_chunk.first,
                event->omp_chunk.last);
        return true;
    case TG_EVENT_OMP_ITERATION:
        write_iteration(stream, &event->omp_iteration);
        return true;
    case TG_EVENT_OMP_CANCEL:
        fputs(event->omp_cancel.activated ? "cancels its region" : "finds its region cancelled", stream);
        return true;
    default:
        return false;
    }
}

static uint64_t code_of(const struct tg_event *event)
{
    if (tg_event_has_place(event->kind)) {
        const struct tg_omp_place *place = (const void *)TG_EVENT_PAYLOAD(event);
        return place->code;
    }
    return event->kind == TG_EVENT_MPI_ENTER ? event->mpi_enter.code : 0;
}

static void write_call(FILE *stream, const struct tg_event_mpi_enter *enter)
{
    const struct tg_mpi_call call = {.name = enter->call,
                                     .comm = enter->comm,
                                     .instance = enter->instance,
                                     .peer = enter->peer,
                                     .tag = enter->tag,
                                     .root = enter->root,
                                     .bytes = enter->bytes,
                                     .receives = enter->receives != 0,
                                     .from = enter->from,
                                     .from_tag = enter->from_tag};
    fputs("calls ", stream);
    tg_words_call(stream, &call);
}

/* What somebody did to the job. */
static bool write_control_event(FILE *stream, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_CONTROL_COMMAND:
        fputs("command `", stream);
        tg_printable_write(stream, event->control_command.command);
        fputc('`', stream);
        return true;
    case TG_EVENT_CONTROL_STOPPED:
        fputs("is stopped by the debugger", stream);
        return true;
    case TG_EVENT_CONTROL_RESUMED:
        fputs("is resumed by the debugger", stream);
        return true;
    default:
        return false;
    }
}

struct tg_error *tg_event_words(FILE *stream, const struct tg_verdict_input *input,
                                const struct tg_event *event, const struct tg_process_entry *entry)
{
    write_who(stream, input, event, entry);
    if (event->kind == TG_EVENT_MPI_ENTER) {
        write_call(stream, &event->mpi_enter);
    } else if (event->kind == TG_EVENT_MPI_LEAVE) {
        fputs("returns from ", stream);
        tg_printable_write(stream, event->mpi_leave.call);
    } else if (!write_zone_event(stream, event) && !write_control_event(stream, event) &&
               !write_sync_event(stream, input, event, entry == NULL ? SIZE_MAX : entry->index)) {
        struct tg_event_headline headline = {0};
        char text[256];
        struct tg_error *error = tg_event_headline_keep(&headline, event);
        if (error != NULL)
            return error;
        fputs(tg_event_headline_print(&headline, text, sizeof text), stream);
        tg_event_headline_deinit(&headline);
    }
    if (entry != NULL)
        tg_words_code(stream, input, entry->index, code_of(event));
    return NULL;
}
