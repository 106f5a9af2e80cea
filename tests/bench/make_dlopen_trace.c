/* make_dlopen_trace OUT [EVENTS [PROCESSES [LIBRARIES [DEPENDENCIES]]]]: a trace recorded in slow mode, with
 * EVENTS dlopen events (1000000) of PROCESSES ranks (1000) that run side by side and open LIBRARIES distinct
 * plug-ins (400) with DEPENDENCIES (1) further libraries each; a null event in front of each, a decision
 * behind it, a signal now and then, one breakpoint wanted. */
#include "format/trace/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIGNAL_EVERY = 50, MAX_DEPENDENCIES = 16 };

struct plan {
    uint64_t events, processes, libraries, dependencies;
};

static char (*paths)[96];

static void add(struct tg_trace_writer *writer, struct tg_event event, uint64_t time_ns, uint64_t process,
                uint64_t stop_ns)
{
    event.time_ns = time_ns;
    event.pid = event.tid = (int32_t)(1000 + process);
    event.stop_ns = stop_ns;
    tg_trace_writer_add(writer, &event);
}

static void add_start(struct tg_trace_writer *writer, const struct plan *plan)
{
    tg_trace_writer_add(writer, &(struct tg_event){.kind = TG_EVENT_FILTER_SETTINGS,
                                                   .filter_settings = {TG_FILTER_SLOW, ""}});
    tg_trace_writer_add(writer, &(struct tg_event){.kind = TG_EVENT_BREAKPOINT_SPEC,
                                                   .breakpoint_spec = {1, "plugin_function"}});
    for (uint64_t p = 0; p < plan->processes; p++) {
        add(writer,
            (struct tg_event){.kind = TG_EVENT_PROCESS_START, .process_start = {TG_ORIGIN_LAUNCHED, 0}},
            1000 + p, p, 20000);
        add(writer,
            (struct tg_event){.kind = TG_EVENT_IDENTITY,
                              .identity = {"node1", "job", "PMI_RANK", (int64_t)p, (int64_t)plan->processes}},
            1000 + p, p, 0);
    }
}

static void add_dlopen(struct tg_trace_writer *writer, const struct plan *plan, uint64_t i)
{
    uint64_t process = i % plan->processes, round = i / plan->processes;
    uint64_t time_ns = 1000000 + i * 1000, first = round * (1 + plan->dependencies);
    struct tg_library libraries[1 + MAX_DEPENDENCIES];
    uint64_t chosen = (i * 7 + round) % plan->libraries;
    for (uint64_t l = 0; l <= plan->dependencies; l++)
        libraries[l] = (struct tg_library){.path = paths[(chosen + l * 37) % plan->libraries],
                                           .build_id = "",
                                           .base = 0x7f0000000000 + (first + l) * 0x10000,
                                           .size_bytes = 0x8000,
                                           .link_map = 0x555500000000 + (first + l) * 0x4b0,
                                           .dependency = l > 0};
    add(writer, (struct tg_event){.kind = TG_EVENT_LIBRARY_NULL, .library_null = {1}}, time_ns, process,
        21000 + i % 5000);
    add(writer,
        (struct tg_event){.kind = TG_EVENT_LIBRARY_LOAD,
                          .library_load = {.found = TG_FOUND_LOADER,
                                           .read_ns = 4000 + i % 700,
                                           .handle_ns = 9000 + i % 900,
                                           .libraries = {libraries, 1 + plan->dependencies}}},
        time_ns + 100, process, 40000 + i % 9000);
    add(writer,
        (struct tg_event){.kind = TG_EVENT_FILTER_DECISION,
                          .filter_decision = {TG_DECISION_REPORTED, TG_RULE_ALWAYS_RECALCULATE, "", ""}},
        time_ns + 100, process, 0);
    if (chosen == 3)
        add(writer,
            (struct tg_event){.kind = TG_EVENT_BREAKPOINT_PLANTED,
                              .breakpoint_planted = {1, libraries[0].base + 0x40, paths[3], 0, 0}},
            time_ns + 100, process, 0);
    if (round % SIGNAL_EVERY == SIGNAL_EVERY - 1)
        add(writer,
            (struct tg_event){.kind = TG_EVENT_SIGNAL,
                              .signal = {.signal = 10, .sender_pid = 1, .sender = ""}},
            time_ns + 500, process, 15000);
}

static struct tg_error *write_trace(const char *path, const struct plan *plan)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_stats stats = {0};
    /* nothing waits here: every event is kept until the disk has it */
    struct tg_trace_writer_options options = {.overwrite = true, .max_queue_bytes = UINT64_C(1) << 32};
    struct tg_error *error = tg_trace_meta_create(&meta);
    if (error == NULL)
        error = tg_trace_meta_set_number(meta, "cost.stop_ns", 25000);
    if (error == NULL)
        error = tg_trace_meta_set_number(meta, "cost.tracer_ns", 9000);
    if (error == NULL)
        error = tg_trace_writer_create(path, &options, meta, &writer);
    if (error == NULL) {
        add_start(writer, plan);
        for (uint64_t i = 0; i < plan->events; i++)
            add_dlopen(writer, plan, i);
        for (uint64_t p = 0; p < plan->processes; p++)
            add(writer, (struct tg_event){.kind = TG_EVENT_PROCESS_EXIT}, 2000000 + plan->events * 1000, p,
                0);
        error = tg_trace_writer_close(writer, &stats);
    }
    tg_trace_meta_destroy(meta);
    if (error == NULL && stats.lost_events > 0)
        error = tg_error_create(TG_ERROR_LIMIT, "%" PRIu64 " events were lost", stats.lost_events);
    if (error == NULL)
        printf("%" PRIu64 " events, %" PRIu64 " bytes\n", stats.events, stats.written_bytes);
    return error;
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
    uint64_t value = i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
    return value;
}

int main(int argc, char **argv)
{
    struct plan plan = {
        .events = argument(argc, argv, 2, 1000000),
        .processes = argument(argc, argv, 3, 1000),
        .libraries = argument(argc, argv, 4, 400),
        .dependencies = argument(argc, argv, 5, 1),
    };
    if (argc < 2 || plan.processes == 0 || plan.libraries == 0 || plan.dependencies > MAX_DEPENDENCIES) {
        fprintf(stderr, "usage: make_dlopen_trace OUT [EVENTS [PROCESSES [LIBRARIES [DEPENDENCIES]]]]\n");
        return 2;
    }
    paths = calloc(plan.libraries, sizeof *paths);
    if (paths == NULL)
        return 2;
    for (uint64_t l = 0; l < plan.libraries; l++)
        snprintf(paths[l], sizeof paths[l], "/opt/middleware/lib/openmpi/mca_component_%03" PRIu64 ".so", l);
    struct tg_error *error = write_trace(argv[1], &plan);
    if (error != NULL)
        fprintf(stderr, "make_dlopen_trace: %s\n", tg_error_message(error));
    int status = tg_error_exit_status(error);
    tg_error_destroy(error);
    free(paths);
    return status;
}
