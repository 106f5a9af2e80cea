#include "tests/support/trace_fixture.h"

#include "format/trace/writer.h"
#include "recorder/rings/ring_set.h"
#include "tests/support/event_sample.h"
#include "tests/support/ring_producer.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What threads do at random is recorded twice: by records that come again, which go into a trace where their events are, and
 * each in full, whose events are kept as they come. Both must be the same. */

enum { THREADS = 3, STEPS = 20000, REPEATS = 19, WORDS = 16, BASE_TEAM = 500, FAR = 4000 };

struct repeat {
    unsigned kind;
    size_t n_arguments;
    uint64_t arguments[WORDS];
    bool is_inside; /* of a region */
};

/* One a kind that can come again, and some twice. */
static const struct repeat repeats[REPEATS] = {
    {TG_RECORD_OMP_IMPLICIT_BEGIN, 5, {0x401000, BASE_TEAM, 0, 4, 1}, true},
    {TG_RECORD_OMP_IMPLICIT_END, 1, {0x401000}, true},
    {TG_RECORD_OMP_PARALLEL_BEGIN, 4, {0x401100, BASE_TEAM, 4, 0x402000}, false},
    {TG_RECORD_OMP_PARALLEL_END, 2, {0x401100, BASE_TEAM}, false},
    {TG_RECORD_OMP_MUTEX_ENTER, 2, {0x401200, 0x5000}, true},
    {TG_RECORD_OMP_MUTEX_LEAVE, 2, {0x401300, 0x5000}, true},
    {TG_RECORD_OMP_SYNC_BEGIN, 2, {0x401400, 3}, true},
    {TG_RECORD_OMP_SYNC_END, 2, {0x401400, 3}, true},
    {TG_RECORD_OMP_ZONE_BEGIN, 2, {0x401500, 2}, true},
    {TG_RECORD_OMP_TASK_CREATE, 6, {0x401600, 100, 0, 0x402100, 0, 0}, true},
    {TG_RECORD_OMP_TASK_BEGIN, 2, {0, 100}, true},
    {TG_RECORD_OMP_TASK_END, 2, {0, 100}, true},
    {TG_RECORD_OMP_TASK_END, 2, {1, 100}, true},
    {TG_RECORD_MPI_ENTER, 8, {0, 0x77, 1000, 0, 0, 0, 64, 0x401700}, false},
    {TG_RECORD_MPI_ENTER, 8, {3, 0x78, 7, 0, 0, 0, 8, 0x401800}, false},
    {TG_RECORD_OMP_MUTEX_WAIT, 2, {0x401200, 0x6000}, true},
    {TG_RECORD_MPI_REQUESTS, 5, {4, 0x9000, 0x9100, 0x9200, 0x9300}, false},
    {TG_RECORD_MPI_REQUESTS, 5, {4, 0x9000, 0x98, 0x9200, 0x9300}, false},
    {TG_RECORD_MPI_REQUESTS, 3, {2, 0x9000, 0x9100}, false},
};

struct thread {
    struct ring_producer again, full;
    uint64_t team;             /* 0: in no region */
    uint64_t numbers[REPEATS]; /* of the last record of each */
};

struct recording {
    struct temporary temporary;
    int again_directory, full_directory;
    struct tg_tick_clock *clock;
    struct thread threads[THREADS];
    uint64_t random, ticks;
    uint64_t
        steps; /* so far: some hundred are calm, in which nobody enters a region or leaves one, then some are not */
};

static uint64_t draw(struct recording *recording, uint64_t n)
{
    recording->random = recording->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (recording->random >> 33) % n;
}

static uint64_t where_of(const struct repeat *repeat, unsigned t)
{
    return ring_place(repeat->is_inside ? BASE_TEAM : 0, t);
}

/* REPEAT number R with NUMBER and, where it has a word of its own, OWN. */
static void tell(struct recording *recording, unsigned t, size_t r, uint64_t number, uint64_t own)
{
    struct thread *thread = &recording->threads[t];
    const struct repeat *repeat = &repeats[r];
    uint64_t n_words = (repeat->n_arguments + 3) & ~(size_t)1, words[WORDS + 2] = {0};
    uint64_t shape = repeat->kind | n_words << TG_AGENT_WORDS_SHIFT,
             own_word = tg_agent_own_word(repeat->kind);
    number &= (1 << TG_AGENT_NUMBER_BITS) - 1;
    recording->ticks += 1 + draw(recording, 50);
    words[1] = shape + where_of(repeat, t);
    memcpy(words + 2, repeat->arguments, repeat->n_arguments * sizeof *words);
    tg_agent_move(words, number);
    if (own_word == 0) {
        assert_true(ring_producer_again(&thread->again, r, 1, number, recording->ticks));
    } else {
        const uint64_t name = r << TG_AGENT_REPEAT_SHIFT | 1 << TG_AGENT_SERIAL_SHIFT, given[] = {own, 0};
        words[own_word] = own;
        assert_true(ring_producer_put(&thread->again, TG_RECORD_AGAIN, recording->ticks,
                                      name | number << TG_AGENT_NUMBER_SHIFT, given, 2));
    }
    assert_true(ring_producer_put(&thread->full, repeat->kind, recording->ticks, words[1] - shape, words + 2,
                                  repeat->n_arguments));
}

/* The same record in full for both, of a region within the thread's, which makes its level another one. */
static void enter_inner_region(struct recording *recording, unsigned t)
{
    struct thread *thread = &recording->threads[t];
    const uint64_t inner = thread->team + FAR + draw(recording, 3), place = ring_place(inner, 0);
    const uint64_t enter[] = {0x403000, inner, thread->team, 2, 2}, leave[] = {0x403000};
    recording->ticks++;
    ring_producer_put(&thread->again, TG_RECORD_OMP_IMPLICIT_BEGIN, recording->ticks, place, enter, 5);
    ring_producer_put(&thread->full, TG_RECORD_OMP_IMPLICIT_BEGIN, recording->ticks, place, enter, 5);
    if (draw(recording, 2) == 0)
        return; /* left without a word */
    recording->ticks++;
    ring_producer_put(&thread->again, TG_RECORD_OMP_IMPLICIT_END, recording->ticks, place, leave, 1);
    ring_producer_put(&thread->full, TG_RECORD_OMP_IMPLICIT_END, recording->ticks, place, leave, 1);
}

/* Of something that is counted, after LAST. */
static uint64_t next_number(struct recording *recording, uint64_t last, uint64_t most)
{
    uint64_t drawn = draw(recording, 8);
    return (drawn < 3 ? last : drawn < 6 ? last + 1 : draw(recording, drawn == 6 ? most : 30)) % most;
}

/* The number of a record of KIND in the thread's team, after that with LAST. */
static uint64_t number_in_team(struct recording *recording, unsigned kind, uint64_t team, uint64_t last)
{
    uint64_t move = team - BASE_TEAM;
    switch (tg_agent_moves(kind)) {
    case TG_AGENT_MOVES_NOTHING:
        return 0;
    case TG_AGENT_MOVES_COUNT:
        return next_number(recording, last, 1 << 20);
    case TG_AGENT_MOVES_TEAM:
        return move;
    case TG_AGENT_MOVES_EITHER:
        return move == 0 && draw(recording, 9) != 0
                   ? next_number(recording, last, 1 << (TG_AGENT_NUMBER_BITS - 1))
                   : (move & ((1 << (TG_AGENT_NUMBER_BITS - 1)) - 1)) | 1 << (TG_AGENT_NUMBER_BITS - 1);
    }
    return 0;
}

static void tell_any(struct recording *recording, unsigned t)
{
    struct thread *thread = &recording->threads[t];
    size_t r = 2 + draw(recording, REPEATS - 2);
    if (repeats[r].is_inside && thread->team == 0)
        return;
    thread->numbers[r] = number_in_team(recording, repeats[r].kind, thread->team, thread->numbers[r]);
    tell(recording, t, r, thread->numbers[r], draw(recording, 3) == 0 ? draw(recording, 1000) : 5);
}

static void step(struct recording *recording)
{
    enum { CALM = 400, ALL = 500 };
    unsigned t = (unsigned)draw(recording, THREADS);
    struct thread *thread = &recording->threads[t];
    bool is_calm = recording->steps++ % ALL < CALM;
    if (is_calm) {
        tell_any(recording, t);
    } else if (thread->team == 0 && draw(recording, 3) == 0) {
        thread->team =
            BASE_TEAM + (draw(recording, 2) == 0 ? 0 : draw(recording, 200)) - draw(recording, 2) * 100;
        tell(recording, t, 0, thread->team - BASE_TEAM, 0);
    } else if (thread->team != 0 && draw(recording, 20) == 0) {
        tell(recording, t, 1, thread->team - BASE_TEAM, 0);
        thread->team = 0;
    } else if (thread->team != 0 && draw(recording, 100) == 0) {
        enter_inner_region(recording, t);
    } else {
        tell_any(recording, t);
    }
}

static int open_folder(const struct temporary *temporary, const char *name)
{
    char *path = temporary_path(temporary, name);
    assert_int_equal(mkdir(path, 0700), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    free(path);
    assert_true(fd >= 0);
    return fd;
}

static void begin(struct recording *recording, uint64_t seed)
{
    *recording = (struct recording){.random = seed, .ticks = 100};
    temporary_init(&recording->temporary);
    recording->again_directory = open_folder(&recording->temporary, "again");
    recording->full_directory = open_folder(&recording->temporary, "full");
    assert_null(tg_tick_clock_create(TG_AGENT_CLOCK_MONOTONIC, &recording->clock));
    for (unsigned t = 0; t < THREADS; t++) {
        struct thread *thread = &recording->threads[t];
        ring_producer_init(&thread->again, recording->again_directory, getpid(), t, 1 << 20, 1);
        ring_producer_init(&thread->full, recording->full_directory, getpid(), t, 1 << 22, 1);
        RING_PUT(&thread->again, TG_RECORD_THREAD, recording->ticks + t, 4000 + t);
        RING_PUT(&thread->full, TG_RECORD_THREAD, recording->ticks + t, 4000 + t);
        for (size_t r = 0; r < REPEATS; r++)
            ring_producer_fill_at(&thread->again, r, 1, repeats[r].kind, where_of(&repeats[r], t),
                                  repeats[r].arguments, repeats[r].n_arguments);
    }
    recording->ticks += THREADS;
}

static void end(struct recording *recording)
{
    for (unsigned t = 0; t < THREADS; t++) {
        ring_producer_deinit(&recording->threads[t].again);
        ring_producer_deinit(&recording->threads[t].full);
    }
    tg_tick_clock_destroy(recording->clock);
    close(recording->again_directory);
    close(recording->full_directory);
    temporary_deinit(&recording->temporary);
}

/* In parts; after some of them what was told to WRITER, NULL: none, is a chunk, so that all are added anew. */
static void decode(const struct recording *recording, int directory, const struct tg_event_sink *sink,
                   struct tg_trace_writer *writer)
{
    enum { PART = 97, PARTS = 15 };
    const struct tg_ring_set_options options = {
        .directory_fd = directory, .clock = recording->clock, .sink = *sink};
    struct tg_ring_set *set = NULL;
    assert_null(tg_ring_set_create(&options, &set));
    tg_ring_set_scan(set);
    for (uint64_t before = UINT64_MAX; before != tg_ring_set_stats(set).records;) {
        before = tg_ring_set_stats(set).records;
        tg_ring_set_take(set);
        for (int i = 0; !tg_ring_set_tell(set, UINT64_MAX, PART); i++)
            if (writer != NULL && i % PARTS == 0)
                tg_trace_writer_flush(writer, true);
    }
    tg_ring_set_destroy(set);
}

static void write_event(void *context, const struct tg_event *event)
{
    tg_trace_writer_add(context, event);
}

static void write_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    tg_trace_writer_add_again(context, event, place);
}

enum { MOST_ITEMS = 4 };

struct kept {
    struct tg_event *events;
    struct tg_mpi_request_item (*items)[MOST_ITEMS]; /* of each event, where it has any */
    size_t n_events;
};

static void keep_event(void *context, const struct tg_event *event)
{
    struct kept *kept = context;
    assert_true(kept->n_events < 2 * STEPS);
    struct tg_event *copy = &kept->events[kept->n_events];
    *copy = *event;
    if (event->kind == TG_EVENT_MPI_REQUESTS) {
        struct tg_list *list = &copy->mpi_requests.requests;
        assert_in_range(list->count, 1, MOST_ITEMS);
        memcpy(kept->items[kept->n_events], list->items, list->count * sizeof kept->items[0][0]);
        list->items = kept->items[kept->n_events];
    }
    kept->n_events++;
}

static void seal(void *context, uint64_t n_events, bool with_last)
{
    (void)context, (void)n_events, (void)with_last;
}

static void compare(const char *path, const struct kept *kept)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    for (size_t i = 0; i < kept->n_events; i++) {
        assert_fine(tg_trace_reader_next(reader, &event));
        assert_non_null(event);
        if (!event_equal(event, &kept->events[i]))
            fail_msg("event %zu is another one: kinds %#x and %#x", i, (unsigned)event->kind,
                     (unsigned)kept->events[i].kind);
    }
    assert_fine(tg_trace_reader_next(reader, &event));
    assert_null(event);
    tg_trace_reader_close(reader);
}

/* What comes again, by the writer, and where HAS_TAIL at the tail of its chunk. */
static void write_trace(const struct recording *recording, const char *path, bool has_tail)
{
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    const struct tg_trace_writer_options options = {
        .overwrite = true, .max_queue_bytes = (uint64_t)1 << 32, .sealing = seal};
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    const struct tg_event_sink sink = {.context = writer,
                                       .add = write_event,
                                       .add_again = write_again,
                                       .tail = has_tail ? tg_trace_writer_tail(writer) : NULL};
    decode(recording, recording->again_directory, &sink, writer);
    assert_fine(tg_trace_writer_close(writer, NULL));
    tg_trace_meta_destroy(meta);
}

static void what_comes_again_is_what_is_told_in_full(void **state)
{
    (void)state;
    struct kept kept = {.events = calloc(2 * STEPS, sizeof *kept.events),
                        .items = calloc(2 * STEPS, sizeof *kept.items)};
    const struct tg_event_sink keep = {.context = &kept, .add = keep_event};
    for (uint64_t seed = 1; seed <= 9; seed++) {
        struct recording recording;
        begin(&recording, seed);
        for (int i = 0; i < STEPS; i++)
            step(&recording);
        char *path = temporary_path(&recording.temporary, "trace");
        kept.n_events = 0;
        decode(&recording, recording.full_directory, &keep, NULL);
        assert_true(kept.n_events > STEPS / 2);
        write_trace(&recording, path, seed % 3 != 0);
        compare(path, &kept);
        free(path);
        end(&recording);
    }
    free(kept.events);
    free(kept.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_again_is_what_is_told_in_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
