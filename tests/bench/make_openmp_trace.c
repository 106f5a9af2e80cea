/* make_openmp_trace OUT [EVENTS [THREADS [PROCESSES [mpi]]]]: writes a trace of a hydrodynamics program (see
 * openmp_load.h), to draw and to report on. Default a million events of four threads of one process; it ends
 * in the middle, as of a program that was killed. With "mpi" the processes are ranks that exchange
 * messages. */
#include "format/trace/writer.h"
#include "openmp_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t number(char **argv, int argc, int i, uint64_t otherwise)
{
    return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

static int fail(struct tg_error *error)
{
    fprintf(stderr, "make_openmp_trace: %s\n", tg_error_message(error));
    tg_error_destroy(error);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: make_openmp_trace OUT [EVENTS [THREADS [PROCESSES [mpi]]]]\n", stderr);
        return 2;
    }
    uint64_t n = number(argv, argc, 2, 1000000), threads = number(argv, argc, 3, 4);
    uint64_t processes = number(argv, argc, 4, 1);
    bool with_mpi = argc > 5 && strcmp(argv[5], "mpi") == 0;
    struct openmp_load *load = NULL;
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.overwrite = true};
    if (openmp_load_create((unsigned)processes, (unsigned)threads, 20000, 1, with_mpi, &load) != 0) {
        fputs("make_openmp_trace: out of memory, or a number that is none\n", stderr);
        return 2;
    }
    struct tg_error *error = tg_trace_meta_create(&meta);
    if (error == NULL)
        error = tg_trace_writer_create(argv[1], &options, meta, &writer);
    if (error != NULL)
        return fail(error);
    for (uint64_t i = 0; i < n; i++) {
        struct tg_event event;
        if (openmp_load_next(load, &event) != 0) {
            fputs("make_openmp_trace: out of memory\n", stderr);
            return 2;
        }
        while (tg_trace_writer_is_behind(writer))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        tg_trace_writer_add(writer, &event);
    }
    openmp_load_destroy(load);
    struct tg_trace_writer_stats stats;
    error = tg_trace_writer_close(writer, &stats);
    tg_trace_meta_destroy(meta);
    if (error != NULL)
        return fail(error);
    printf("%" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " bytes\n", stats.events, stats.lost_events,
           stats.written_bytes);
    return 0;
}
