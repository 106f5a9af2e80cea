/* trace_bench [--levels] [EVENTS [FILE]]: what writing and reading a trace costs, beside two floors in the
 * same run: copying the decoded payloads, and decompressing them alone. The traces are made up: 64 threads in
 * 4 processes that start, take signals, hit breakpoints and exit, at jittered times with jittered stop costs,
 * or without stop costs, as an observer without stops writes them; and the OpenMP events of a hydrodynamics
 * program. trace_bench --read FILE: the reading of any trace. One line a figure; nothing passes or fails. */
#include "format/trace/reader.h"
#include "format/trace/section_codec.h"
#include "format/trace/writer.h"
#include "tests/bench/openmp_load.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 64, N_PROCESSES = 4, N_ADDRESSES = 24 };

struct load {
    uint64_t state, time_ns;
    bool stops;
    int32_t tids[N_THREADS];
    bool alive[N_THREADS];
    int32_t next_tid;
};

static void check(struct tg_error *error)
{
    if (error != NULL) {
        fprintf(stderr, "trace_bench: %s\n", tg_error_message(error));
        exit(2);
    }
}

static uint64_t draw(struct load *load)
{
    uint64_t z = (load->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Exponential with the given mean: times between independent events. */
static uint64_t draw_gap(struct load *load, double mean)
{
    double u = ((double)(draw(load) >> 11) + 0.5) / 9007199254740992.0;
    return (uint64_t)(-mean * log(u));
}

static void make_event(struct load *load, struct tg_event *event)
{
    uint64_t t = draw(load) % N_THREADS;
    *event = (struct tg_event){.pid = 4000 + (int32_t)(t % N_PROCESSES) * 100};
    /* A stop takes some microseconds, now and then much more; the next event cannot come before its end. */
    uint64_t stop_ns = load->stops ? 4000 + draw_gap(load, 800) : 0;
    event->time_ns = load->time_ns + draw_gap(load, load->stops ? 3000 : 400);
    event->stop_ns = stop_ns;
    load->time_ns = event->time_ns + stop_ns;
    if (!load->alive[t]) {
        load->alive[t] = true;
        load->tids[t] = load->next_tid++;
        event->kind = TG_EVENT_THREAD_START;
        event->thread_start.parent_tid = event->pid;
    } else if (draw(load) % 4 == 0) {
        load->alive[t] = false;
        event->kind = TG_EVENT_THREAD_EXIT;
    } else if (draw(load) % 8 == 0) {
        event->kind = TG_EVENT_SIGNAL;
        event->signal.signal = 10;
        event->signal.code = -6;
        event->signal.sender_pid = event->pid;
    } else {
        event->kind = TG_EVENT_BREAKPOINT_HIT;
        uint64_t place = draw(load) % N_ADDRESSES;
        event->breakpoint_hit.breakpoint = 1 + place / 4;
        event->breakpoint_hit.address = UINT64_C(0x7f12a4c00000) + place * 0x1340;
    }
    event->tid = load->tids[t];
}

static void load_init(struct load *load, bool stops)
{
    *load = (struct load){.state = 7, .time_ns = UINT64_C(86400000000000), .stops = stops, .next_tid = 4500};
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_events(const char *path, const struct tg_event *events, uint64_t n, int level,
                         uint64_t resolution_ns, uint64_t stop_resolution_ns)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {
        .overwrite = true, .compression_level = level, .max_queue_bytes = (uint64_t)1 << 32};
    struct tg_trace_writer_stats stats;
    check(tg_trace_meta_create(&meta));
    check(tg_trace_meta_set_number(meta, "time.resolution_ns", resolution_ns));
    check(tg_trace_meta_set_number(meta, "stop.resolution_ns", stop_resolution_ns));
    check(tg_trace_writer_create(path, &options, meta, &writer));
    double thread = seconds(CLOCK_THREAD_CPUTIME_ID), process = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < n; i++)
        tg_trace_writer_add(writer, &events[i]);
    thread = seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
    check(tg_trace_writer_close(writer, &stats));
    process = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    tg_trace_meta_destroy(meta);
    printf("  write, level %2d, times of %2" PRIu64
           " ns: %.3f bytes an event; add %.0f ns an event, all threads %.0f ns, lost %" PRIu64 "\n",
           level, resolution_ns, (double)stats.written_bytes / (double)n, thread / (double)n * 1e9,
           process / (double)n * 1e9, stats.lost_events);
}

/* N 0: as many as there are. Returns their number. */
static uint64_t read_events(const char *path, uint64_t n)
{
    double best = 1e9;
    uint64_t sum = 0;
    for (int round = 0; round < 5; round++) {
        struct tg_trace_reader *reader = NULL;
        const struct tg_event *event = NULL;
        double time = seconds(CLOCK_PROCESS_CPUTIME_ID);
        check(tg_trace_reader_open(path, &reader));
        uint64_t count = 0;
        for (;; count++) {
            check(tg_trace_reader_next(reader, &event));
            if (event == NULL)
                break;
            sum += event->time_ns + (uint64_t)event->tid + (uint64_t)event->kind;
            if (event->kind == TG_EVENT_BREAKPOINT_HIT)
                sum += event->breakpoint_hit.address;
        }
        tg_trace_reader_close(reader);
        time = seconds(CLOCK_PROCESS_CPUTIME_ID) - time;
        best = time < best ? time : best;
        if (n == 0)
            n = count;
        if (count != n)
            fprintf(stderr, "trace_bench: %" PRIu64 " events of %" PRIu64 "\n", count, n);
    }
    printf("  decode and visit: %.1f million events a second (%.1f ns an event; check %" PRIx64 ")\n",
           (double)n / best / 1e6, best / (double)n * 1e9, sum);
    return n;
}

/* Decompresses every section, and copies each payload once. */
static void measure_floors(const char *path, uint64_t n)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return;
    struct tg_section_codec *codec = NULL;
    struct tg_byte_buffer raw = {0}, copy = {0}, payload = {0};
    uint8_t bytes[TG_SECTION_HEADER_BYTES];
    struct tg_section_header header;
    double decompress = 0, copying = 0;
    uint64_t raw_bytes = 0;
    check(tg_section_codec_create(0, &codec));
    while (fread(bytes, 1, sizeof bytes, file) == sizeof bytes &&
           tg_section_header_decode(bytes, &header) == TG_SECTION_FINE) {
        if (!tg_byte_buffer_grow(&payload, header.compressed_bytes) ||
            fread(payload.data, 1, header.compressed_bytes, file) != header.compressed_bytes)
            break;
        double time = seconds(CLOCK_PROCESS_CPUTIME_ID);
        check(tg_section_codec_unpack(codec, &header, payload.data, &raw));
        decompress += seconds(CLOCK_PROCESS_CPUTIME_ID) - time;
        if (!tg_byte_buffer_grow(&copy, raw.size))
            break;
        time = seconds(CLOCK_PROCESS_CPUTIME_ID);
        copy.size = 0;
        tg_byte_buffer_put(&copy, raw.data, raw.size);
        __asm__ volatile("" : : "r"(copy.data) : "memory");
        copying += seconds(CLOCK_PROCESS_CPUTIME_ID) - time;
        raw_bytes += raw.size;
    }
    fclose(file);
    printf("  floors: checksum and decompression alone %.1f ns an event, copying the payload %.1f ns "
           "(%.2f bytes an event)\n",
           decompress / (double)n * 1e9, copying / (double)n * 1e9, (double)raw_bytes / (double)n);
    tg_section_codec_destroy(codec);
    tg_byte_buffer_deinit(&raw);
    tg_byte_buffer_deinit(&copy);
    tg_byte_buffer_deinit(&payload);
}

static void make_storm(struct tg_event *events, uint64_t n, bool stops)
{
    struct load load;
    load_init(&load, stops);
    for (uint64_t i = 0; i < n; i++)
        make_event(&load, &events[i]);
}

static const struct scenario {
    const char *name;
    unsigned processes, threads;
    bool stops;     /* of a storm */
    double work_ns; /* of a thread in a loop of an OpenMP program; 0: a storm */
    uint64_t resolution_ns, stop_resolution_ns;
} scenarios[] = {
    {"thread events with stop costs", N_PROCESSES, N_THREADS / N_PROCESSES, true, 0, 64, 64},
    {"thread events with stop costs beside an agent's", N_PROCESSES, N_THREADS / N_PROCESSES, true, 0, 16,
     64},
    {"thread events without stop costs", N_PROCESSES, N_THREADS / N_PROCESSES, false, 0, 16, 64},
    {"OpenMP events", 1, 8, false, 30e3, 16, 64},
    {"OpenMP events", 4, 8, false, 120e3, 16, 64},
};

static void make_openmp(const struct scenario *scenario, struct tg_event *events, uint64_t n)
{
    struct openmp_load *load = NULL;
    int result =
        openmp_load_create(scenario->processes, scenario->threads, scenario->work_ns, 7, false, &load);
    for (uint64_t i = 0; result == 0 && i < n; i++)
        result = openmp_load_next(load, &events[i]);
    openmp_load_destroy(load);
    if (result != 0)
        exit(2);
}

static void measure(const struct scenario *scenario, const char *path, struct tg_event *events, uint64_t n,
                    bool all_levels)
{
    if (scenario->work_ns == 0)
        make_storm(events, n, scenario->stops);
    else
        make_openmp(scenario, events, n);
    printf("%" PRIu64 " %s of %u processes with %u threads each, %.2f million events a second\n", n,
           scenario->name, scenario->processes, scenario->threads,
           (double)n / (double)(events[n - 1].time_ns - events[0].time_ns) * 1e3);
    static const int levels[] = {-1, 1, 2, 3, 5, 7, 9, 12, 15};
    for (size_t i = 0; all_levels && i < sizeof levels / sizeof *levels; i++)
        write_events(path, events, n, levels[i], scenario->resolution_ns, scenario->stop_resolution_ns);
    write_events(path, events, n, 0, 1, 1);
    write_events(path, events, n, 0, scenario->resolution_ns, scenario->stop_resolution_ns);
    read_events(path, n);
    measure_floors(path, n);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--read") == 0) {
        measure_floors(argv[2], read_events(argv[2], 0));
        return 0;
    }
    bool all_levels = argc > 1 && strcmp(argv[1], "--levels") == 0;
    argc -= all_levels;
    argv += all_levels;
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
    const char *path = argc > 2 ? argv[2] : "trace_bench.tgt";
    struct tg_event *events = calloc(n + 1, sizeof *events);
    if (events == NULL || n == 0)
        return 2;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        measure(&scenarios[i], path, events, n, all_levels);
    unlink(path);
    free(events);
    return 0;
}
