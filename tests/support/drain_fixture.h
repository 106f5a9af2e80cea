/* A drain of agents' rings in a directory of its own, and a sink that keeps what the drain tells. Functions abort, or fail
 * the test, where a file cannot be made. */
#ifndef TG_TESTS_DRAIN_FIXTURE_H
#define TG_TESTS_DRAIN_FIXTURE_H

#include "recorder/rings/drain.h"
#include "tests/support/ring_producer.h"
#include "tests/support/temporary.h"

enum {
    DRAIN_FIXTURE_DATA = TG_AGENT_RING_MIN_BYTES,
    DRAIN_FIXTURE_MAX_TEXTS = 64,
    DRAIN_FIXTURE_MAX_SOURCES = 8
};

struct drain_fixture {
    struct temporary temporary;
    struct tg_agent_directory *directory;
    struct tg_tick_clock *clock;
    struct tg_agent_drain *drain;
    int fd;
    bool behind;    /* __atomic */
    bool is_reader; /* __atomic: who is behind is who reads the events, not the file */
    bool unwritten; /* __atomic; nothing gets into the trace's file */
    struct tg_ring_set_file file;
    uint64_t seal_at;   /* the event with which a chunk is complete, 0: never */
    uint64_t sealed[2]; /* tasks of the first two processes in it */

    uint64_t n_rounds; /* __atomic */

    /* of the sink */
    uint64_t n_events; /* __atomic */
    uint64_t out_of_order;
    uint64_t last_ns;
    uint64_t next[DRAIN_FIXTURE_MAX_SOURCES]; /* tasks of each process come in their order */
    uint64_t notes;
    uint64_t lost;           /* the counts of loss events */
    uint64_t heap_stacks[4]; /* of blocks that were given, by their addresses */
    uint64_t heap_frames;    /* of stacks that were told */
    size_t n_texts;
    char texts[DRAIN_FIXTURE_MAX_TEXTS][192]; /* of loss and agent events, and of notes but the engine's */
};

/* For cmocka; *STATE is a struct drain_fixture. Late: events may be told late. */
int drain_fixture_set_up(void **state);
int drain_fixture_set_up_late(void **state);
int drain_fixture_tear_down(void **state);

/* Creates directory, clock and drain of a FIXTURE that has its folder; rings may grow by GROWTH_BYTES altogether. */
void drain_fixture_start(struct drain_fixture *fixture, uint64_t growth_bytes);

/* The sink: CONTEXT is the fixture. */
void drain_fixture_take(void *context, const struct tg_event *event);
/* How many events it has been given. Any thread. */
uint64_t drain_fixture_count_events(void *context);

/* Makes ring N of process PID in the fixture's directory, and announces it. */
void drain_fixture_make_ring(const struct drain_fixture *fixture, struct ring_producer *producer, int32_t pid,
                             unsigned n);
/* One more ring is there: the directory says so. */
void drain_fixture_announce(const struct drain_fixture *fixture);
/* One task of source SOURCE, now; waits for room as an agent does. */
void drain_fixture_put_task(const struct drain_fixture *fixture, struct ring_producer *producer,
                            unsigned source, uint64_t task);
/* Until the drain has read all that PRODUCER wrote. */
void drain_fixture_wait_until_taken(const struct ring_producer *producer);

#endif
