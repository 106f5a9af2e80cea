/* ring_bench [MILLIONS [RINGS [FILE [MIX]]]]: what a record of an agent costs the recorder. Rings are filled with
 * the events of MIX (`mixes`; a loop with critical sections and barriers unless given), one after the other in time as threads write
 * them, as records that come again, and then emptied three times over: decoded and put in order; the same into a trace; and beside them,
 * as the floor, only copied out and looked at. One line a figure, in processor time of the thread that does
 * it and, for the trace, of the whole program with its compressing thread; nothing passes or fails. */
#include "format/trace/writer.h"
#include "recorder/rings/mapping_guard.h"
#include "recorder/rings/reader.h"
#include "recorder/rings/ring_set.h"
#include "tests/support/ring_producer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DATA_BYTES = 1 << 20, MAX_RINGS = 1024 };

static void check(struct tg_error *error)
{
    if (error != NULL) {
        fprintf(stderr, "ring_bench: %s\n", tg_error_message(error));
        exit(2);
    }
}

static uint64_t time_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- the program that is watched */

enum { MAX_NUMBER = (1 << 19) - 1, SERIAL = 1, MAX_ARGUMENTS = 9, CODE = 0x401100, LOCK = 0x404040 };

#define PLACE(which) (CODE | (uint64_t)(which) << TG_AGENT_ENUM_SHIFT)

/* A record that a thread writes again and again; of a first thread alone, or of all. */
struct step {
    unsigned kind, n_arguments;
    uint64_t arguments[MAX_ARGUMENTS];
    bool is_outside, is_first_threads;
};

#define LOOP                                                                                                 \
    {                                                                                                        \
        TG_RECORD_OMP_ZONE_BEGIN, 2, {PLACE(TG_OMP_ZONE_LOOP), TG_OMP_SCHEDULE_DYNAMIC}, false, false        \
    }
#define LOOP_END                                                                                             \
    {                                                                                                        \
        TG_RECORD_OMP_ZONE_END, 1, {PLACE(TG_OMP_ZONE_LOOP)}, false, false                                   \
    }
#define SYNC                                                                                                 \
    {                                                                                                        \
        TG_RECORD_OMP_SYNC_BEGIN, 2, {PLACE(TG_OMP_SYNC_BARRIER), 1}, false, false                           \
    }
#define SYNC_END                                                                                             \
    {                                                                                                        \
        TG_RECORD_OMP_SYNC_END, 2, {PLACE(TG_OMP_SYNC_BARRIER), 1}, false, false                             \
    }
#define MUTEX(kind, code)                                                                                    \
    {                                                                                                        \
        TG_RECORD_OMP_MUTEX_##kind, 2, {PLACE(TG_OMP_MUTEX_CRITICAL) + (code), LOCK}, false, false           \
    }

static const struct step locks[] = {LOOP,     MUTEX(WAIT, 0), MUTEX(ENTER, 0), MUTEX(LEAVE, 32),
                                    LOOP_END, SYNC,           SYNC_END};
static const struct step barriers[] = {SYNC, SYNC_END};
static const struct step loops[] = {LOOP, LOOP_END, SYNC, SYNC_END};
static const struct step regions[] = {
    {TG_RECORD_OMP_PARALLEL_BEGIN, 4, {PLACE(0), 1, 2, CODE}, true, true},
    {TG_RECORD_OMP_IMPLICIT_BEGIN, 5, {PLACE(0), 1, 0, 2, 1}, false, false},
    {TG_RECORD_OMP_IMPLICIT_END, 1, {PLACE(0)}, false, false},
    {TG_RECORD_OMP_PARALLEL_END, 2, {PLACE(0), 1}, true, true},
};

/* A halo exchange: two receives, two sends, a wait for all. */
#define POST(request, tag)                                                                                   \
    {                                                                                                        \
        TG_RECORD_MPI_ENTER_REQUEST, 9, {60, 1, 0, 1, tag, -1, 128, CODE, request}, true, false              \
    }
#define LEFT                                                                                                 \
    {                                                                                                        \
        TG_RECORD_MPI_LEAVE, 6, {60}, true, false                                                            \
    }
#define DONE(request)                                                                                        \
    {                                                                                                        \
        TG_RECORD_MPI_COMPLETE, 5, {request, 1, 0, 128}, true, false                                         \
    }
static const struct step halo[] = {POST(1, 0),
                                   LEFT,
                                   POST(2, 0),
                                   LEFT,
                                   POST(3, 1),
                                   LEFT,
                                   POST(4, 1),
                                   LEFT,
                                   {TG_RECORD_MPI_ENTER, 8, {70, 1, 0, -1, -1, -1, 0, CODE}, true, false},
                                   {TG_RECORD_MPI_REQUESTS, 5, {4, 1, 2, 3, 4}, true, false},
                                   DONE(1),
                                   DONE(2),
                                   DONE(3),
                                   DONE(4),
                                   LEFT};

static const struct mix {
    const char *name;
    const struct step *steps;
    unsigned n_steps, n_together; /* of the latter, records of one thread until it is the next one's turn */
} mixes[] = {
    {"locks", locks, sizeof locks / sizeof *locks, 1},
    {"barriers", barriers, sizeof barriers / sizeof *barriers, 2},
    {"loops", loops, sizeof loops / sizeof *loops, 2},
    {"regions", regions, sizeof regions / sizeof *regions, 2},
    {"halo", halo, sizeof halo / sizeof *halo, 3},
};
static const struct mix *mix = &mixes[0];

struct thread {
    struct ring_producer ring;
    unsigned number, step;
    uint64_t round;
};

/* By which the record of STEP in ROUND is another one than that of the first round. */
static uint64_t number_of(const struct step *step, uint64_t round)
{
    bool in_regions = mix->steps == regions;
    enum tg_agent_moves moves = tg_agent_moves(step->kind);
    bool moves_number = moves == TG_AGENT_MOVES_EITHER ||
                        (moves == TG_AGENT_MOVES_COUNT && step->kind != TG_RECORD_MPI_ENTER) ||
                        (moves == TG_AGENT_MOVES_TEAM && in_regions);
    return moves_number ? round & MAX_NUMBER : 0;
}

/* The next record of a thread in team 1. */
static bool put_next(struct thread *thread, uint64_t ticks)
{
    const struct step *step = &mix->steps[thread->step];
    if ((!step->is_first_threads || thread->number == 0) &&
        !ring_producer_again(&thread->ring, thread->step, SERIAL, number_of(step, thread->round), ticks))
        return false;
    thread->step = (thread->step + 1) % mix->n_steps;
    thread->round += thread->step == 0;
    return true;
}

static void begin_thread(struct thread *thread, int directory, unsigned number,
                         const struct tg_tick_clock *clock)
{
    thread->number = number;
    ring_producer_init(&thread->ring, directory, getpid(), number, DATA_BYTES, 1);
    RING_PUT(&thread->ring, TG_RECORD_THREAD, tg_tick_clock_now(clock), (uint64_t)getpid() + number);
    const uint64_t team[] = {0, 1, 0, 64, 1};
    ring_producer_put(&thread->ring, TG_RECORD_OMP_IMPLICIT_BEGIN, tg_tick_clock_now(clock),
                      ring_place(1, number), team, 5);
    for (unsigned i = 0; i < mix->n_steps; i++) {
        const struct step *step = &mix->steps[i];
        ring_producer_fill_at(&thread->ring, i, SERIAL, step->kind,
                              step->is_outside ? 0 : ring_place(1, number), step->arguments,
                              step->n_arguments);
    }
}

/* All rings to the brim. */
static uint64_t fill(struct thread *threads, unsigned n_threads, const struct tg_tick_clock *clock)
{
    uint64_t n = 0;
    unsigned full = 0;
    while (full < n_threads) {
        full = 0;
        for (unsigned i = 0; i < n_threads; i++) {
            bool put = true;
            for (unsigned k = 0; k < mix->n_together && put; k++) {
                put = put_next(&threads[i], tg_tick_clock_now(clock));
                n += put;
            }
            full += !put;
        }
    }
    return n;
}

/* ---- the recorder */

struct sink {
    struct tg_trace_writer *writer; /* NULL: nothing is kept */
    uint64_t n_events;
};

static void take_event(void *context, const struct tg_event *event)
{
    struct sink *sink = context;
    sink->n_events++;
    if (sink->writer != NULL)
        tg_trace_writer_add(sink->writer, event);
}

static void take_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct sink *sink = context;
    sink->n_events++;
    if (sink->writer != NULL)
        tg_trace_writer_add_again(sink->writer, event, place);
}

/* As a recording has it, whose rings are marked then. */
static void seal(void *context, uint64_t n_events, bool with_last)
{
    (void)context, (void)n_events, (void)with_last;
}

struct bench {
    struct tg_tick_clock *clock;
    struct thread threads[MAX_RINGS];
    unsigned n_threads;
    uint64_t wanted;
    int directory;
    char path[64];
};

static void open_bench(struct bench *bench)
{
    strcpy(bench->path, "/dev/shm/ring-bench-XXXXXX");
    if (mkdtemp(bench->path) == NULL)
        check(tg_error_create(TG_ERROR_OS, "cannot make %s", bench->path));
    bench->directory = open(bench->path, O_RDONLY | O_DIRECTORY);
    check(tg_tick_clock_create(tg_tick_clock_best(), &bench->clock));
    tg_tick_clock_add(bench->clock, tg_tick_clock_take(bench->clock));
    for (unsigned i = 0; i < bench->n_threads; i++)
        begin_thread(&bench->threads[i], bench->directory, i, bench->clock);
}

static void close_bench(struct bench *bench)
{
    for (unsigned i = 0; i < bench->n_threads; i++) {
        unlinkat(bench->directory, bench->threads[i].ring.name, 0);
        ring_producer_deinit(&bench->threads[i].ring);
        bench->threads[i] = (struct thread){0};
    }
    close(bench->directory);
    rmdir(bench->path);
    tg_tick_clock_destroy(bench->clock);
}

static void print(const char *what, uint64_t records, uint64_t ns)
{
    printf("%-44s %7.1f ns a record, %6.2f million a second\n", what, (double)ns / (double)records,
           (double)records * 1e3 / (double)ns);
}

static struct tg_trace_writer *make_writer(const char *file)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    check(tg_trace_meta_create(&meta));
    check(tg_trace_meta_set_number(meta, "time.resolution_ns", 16));
    check(tg_trace_writer_create(file, &(struct tg_trace_writer_options){.overwrite = true, .sealing = seal},
                                 meta, &writer));
    tg_trace_meta_destroy(meta);
    return writer;
}

static void run_set(struct bench *bench, const char *file)
{
    struct sink sink = {0};
    struct tg_ring_set *set = NULL;
    open_bench(bench);
    if (file != NULL)
        sink.writer = make_writer(file);
    const struct tg_ring_set_options options = {
        .directory_fd = bench->directory,
        .clock = bench->clock,
        .sink = {.context = &sink,
                 .add = take_event,
                 .add_again = take_again,
                 .tail = sink.writer != NULL ? tg_trace_writer_tail(sink.writer) : NULL},
        .max_bytes = 1 << 20};
    check(tg_ring_set_create(&options, &set));
    tg_ring_set_scan(set);
    uint64_t spent_ns = 0, filling_ns = 0, records = 0, whole_ns = time_of(CLOCK_PROCESS_CPUTIME_ID);
    while (records < bench->wanted) {
        uint64_t start_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
        fill(bench->threads, bench->n_threads, bench->clock);
        tg_tick_clock_add(bench->clock, tg_tick_clock_take(bench->clock));
        uint64_t filled_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
        filling_ns += filled_ns - start_ns;
        uint64_t last_ns = tg_tick_clock_last(bench->clock).time_ns;
        struct tg_ring_round round;
        do {
            round = tg_ring_set_take(set);
            tg_ring_set_tell(set, round.order_ns < last_ns ? round.order_ns : last_ns, UINT64_MAX);
        } while (round.order_ns != UINT64_MAX);
        spent_ns += time_of(CLOCK_THREAD_CPUTIME_ID) - filled_ns;
        records = tg_ring_set_stats(set).records;
        /* the writer's thread must keep up, or events would be lost: it is not what is measured */
        while (sink.writer != NULL && tg_trace_writer_is_behind(sink.writer))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    print(file == NULL ? "taken, decoded, put in order" : "the same, and encoded for the trace", records,
          spent_ns);
    tg_ring_set_finish(set);
    struct tg_trace_writer_stats stats;
    if (sink.writer != NULL) {
        check(tg_trace_writer_close(sink.writer, &stats));
        whole_ns = time_of(CLOCK_PROCESS_CPUTIME_ID) - whole_ns - filling_ns;
        print("the same with its compression (two threads)", records, whole_ns);
        printf("%-44s %7.2f bytes a record, %" PRIu64 " events lost, %" PRIu64 " out of order\n", "the trace",
               (double)stats.written_bytes / (double)records, stats.lost_events,
               tg_ring_set_stats(set).out_of_order);
    }
    tg_ring_set_destroy(set);
    close_bench(bench);
}

static void run_floor(struct bench *bench)
{
    enum { ROOM = 1 << 18 };
    struct tg_ring_reader **readers = calloc(bench->n_threads, sizeof(*readers));
    uint64_t *room = malloc(ROOM);
    open_bench(bench);
    for (unsigned i = 0; i < bench->n_threads; i++)
        check(tg_ring_reader_open(bench->directory, bench->threads[i].ring.name, bench->clock, &readers[i]));
    uint64_t spent_ns = 0, records = 0;
    while (records < bench->wanted) {
        records += fill(bench->threads, bench->n_threads, bench->clock);
        uint64_t start_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned i = 0; i < bench->n_threads; i++) {
            size_t taken;
            do
                check(tg_ring_reader_take(readers[i], room, ROOM, &taken));
            while (taken > 0);
        }
        spent_ns += time_of(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    }
    print("copied out of the rings and looked at", records, spent_ns);
    for (unsigned i = 0; i < bench->n_threads; i++)
        tg_ring_reader_close(readers[i]);
    free(readers);
    free(room);
    close_bench(bench);
}

static const struct mix *find_mix(const char *name)
{
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++)
        if (strcmp(mixes[i].name, name) == 0)
            return &mixes[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    bench.wanted = (argc > 1 ? strtoull(argv[1], NULL, 10) : 20) * 1000000;
    bench.n_threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 16;
    const char *file = argc > 3 ? argv[3] : "ring_bench.tgt";
    mix = find_mix(argc > 4 ? argv[4] : mixes[0].name);
    if (bench.wanted == 0 || bench.n_threads == 0 || bench.n_threads > MAX_RINGS || mix == NULL) {
        fputs("usage: ring_bench [MILLIONS [RINGS [FILE [MIX]]]]\n", stderr);
        return 2;
    }
    tg_mapping_guard_install();
    printf("%" PRIu64 " million records of %s in %u rings of %d KiB\n", bench.wanted / 1000000, mix->name,
           bench.n_threads, DATA_BYTES >> 10);
    run_floor(&bench);
    run_set(&bench, NULL);
    run_set(&bench, file);
    unlink(file);
    return 0;
}
