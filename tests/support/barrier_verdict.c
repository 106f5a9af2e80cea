/* `barrier_verdict TRACE...`: the decisions of a live session once more, by the models, from the events of
 * its trace. One line a trace: how many there were alike, how many only one side has, how many events made no
 * sense. Exit status 1 where there is a difference or such an event, or where the trace is damaged. */
#include "analyzer/job/barrier_trace.h"
#include "format/trace/reader.h"

#include <inttypes.h>
#include <stdio.h>

static struct tg_error *feed(struct tg_barrier_trace *trace, struct tg_trace_reader *reader)
{
    for (;;) {
        const struct tg_event *event = NULL;
        struct tg_error *error = tg_trace_reader_next(reader, &event);
        if (error != NULL || event == NULL)
            return error;
        error = tg_barrier_trace_feed(trace, event);
        if (error != NULL)
            return error;
    }
}

static bool judge(const char *path)
{
    struct tg_barrier_trace *trace = NULL;
    struct tg_trace_reader *reader = NULL;
    struct tg_barrier_trace_verdict verdict = {0};
    TG_AUTO_ERROR struct tg_error *error = tg_barrier_trace_create(&trace);
    if (error == NULL)
        error = tg_trace_reader_open(path, &reader);
    if (error == NULL)
        error = feed(trace, reader);
    if (error == NULL) {
        tg_barrier_trace_verdict(trace, &verdict);
        printf("%s: %" PRIu64 " alike, %" PRIu64 " different, %" PRIu64 " without sense%s%s\n", path,
               verdict.n_decisions, verdict.n_differences, verdict.n_ignored,
               verdict.first[0] == '\0' ? "" : ": ", verdict.first);
    } else {
        fprintf(stderr, "%s: %s\n", path, tg_error_message(error));
    }
    if (reader != NULL)
        tg_trace_reader_close(reader);
    tg_barrier_trace_destroy(trace);
    return error == NULL && verdict.n_differences == 0 && verdict.n_ignored == 0;
}

int main(int argc, char **argv)
{
    bool all_well = argc > 1;
    for (int i = 1; i < argc; i++)
        all_well &= judge(argv[i]);
    return all_well ? 0 : 1;
}
