#include "analyzer/output/trace_pass.h"

#include "analyzer/output/quantity.h"
#include "format/base/printable.h"
#include "format/trace/read_ahead.h"

#include <string.h>

uint64_t tg_trace_start_ns(const struct tg_trace_reader *reader, const struct tg_event *first)
{
    uint64_t first_ns = first == NULL ? 0 : first->time_ns;
    return tg_trace_meta_get_number(tg_trace_reader_meta(reader), "start.monotonic_ns", first_ns);
}

static struct tg_error *read_processes(struct tg_trace_reader *reader, struct tg_process_model *model)
{
    for (;;) {
        const struct tg_event *event;
        TG_AUTO_ERROR struct tg_error *damage = tg_trace_reader_next(reader, &event);
        if (damage != NULL || event == NULL)
            return NULL; /* the pass that shows the events tells of the damage */
        struct tg_process_entry *entry;
        struct tg_error *error = tg_process_model_feed(model, event, &entry);
        if (error != NULL)
            return error;
    }
}

struct tg_error *tg_trace_resolve_processes(const char *path, struct tg_selection *selection,
                                            struct tg_progress *progress)
{
    bool is_input = strcmp(path, "-") == 0;
    if (selection->n_ranks == 0 && (selection->n_pids == 0 || is_input))
        return NULL;
    if (is_input)
        return tg_error_create(TG_ERROR_USAGE,
                               "--rank reads the trace twice, so it cannot come from standard input; "
                               "name a file");
    struct tg_trace_reader *reader = NULL;
    struct tg_process_model *model = NULL;
    struct tg_error *error = tg_trace_reader_open(path, &reader);
    if (error == NULL)
        error = tg_process_model_create(&model);
    if (error == NULL) {
        tg_trace_reader_read_ahead(reader, tg_read_ahead_threads());
        tg_progress_watch(progress, reader);
        error = read_processes(reader, model);
    }
    if (error == NULL)
        error = tg_selection_choose(selection, model);
    tg_process_model_destroy(model);
    tg_trace_reader_close(reader);
    return error;
}

void tg_trace_write_extent(FILE *stream, const char *path, const struct tg_trace_summary *summary,
                           uint64_t start_ns)
{
    char moment[TG_QUANTITY_SIZE];
    if (summary->complete && !summary->truncated)
        return;
    fputs("tollgate: ", stream);
    tg_printable_write(stream, path);
    fputs(summary->is_recording ? ": still recording" : ": the recording was interrupted", stream);
    if (summary->events == 0)
        fputs(": no events\n", stream);
    else
        fprintf(stream, ": events up to %s s\n",
                tg_quantity_moment(summary->last_time_ns, start_ns, 6, moment));
}
