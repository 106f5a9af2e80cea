#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/mapping_guard.h"
#include "recorder/rings/reader.h"
#include "tests/support/ring_producer.h"
#include "tests/support/temporary.h"
#include "tests/unit/sanitizer.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DATA = TG_AGENT_RING_MIN_BYTES, ROOM = 1 << 17, PID = 4711 };

struct fixture {
    struct temporary temporary;
    int directory;
    struct tg_tick_clock *clock;
    struct ring_producer producer;
    struct tg_ring_reader *reader;
    _Alignas(8) unsigned char room[ROOM];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    temporary_init(&fixture->temporary);
    fixture->directory = open(fixture->temporary.directory, O_RDONLY | O_DIRECTORY);
    if (fixture->directory < 0 || tg_tick_clock_create(TG_AGENT_CLOCK_MONOTONIC, &fixture->clock) != NULL)
        return -1;
    ring_producer_init(&fixture->producer, fixture->directory, PID, 0, DATA, 99);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tg_ring_reader_close(fixture->reader);
    ring_producer_deinit(&fixture->producer);
    tg_tick_clock_destroy(fixture->clock);
    close(fixture->directory);
    temporary_deinit(&fixture->temporary);
    free(fixture);
    return 0;
}

static void open_ring(struct fixture *fixture)
{
    tg_mapping_guard_install(); /* instead of the handler that cmocka has for each test */
    assert_null(
        tg_ring_reader_open(fixture->directory, fixture->producer.name, fixture->clock, &fixture->reader));
}

static void expect_refused(struct fixture *fixture, const char *name, enum tg_error_code code,
                           const char *reason)
{
    struct tg_ring_reader *reader = NULL;
    struct tg_error *error = tg_ring_reader_open(fixture->directory, name, fixture->clock, &reader);
    assert_non_null(error);
    assert_null(reader);
    assert_int_equal(tg_error_code(error), code);
    assert_non_null(strstr(tg_error_message(error), reason));
    assert_non_null(strstr(tg_error_message(error), name));
    tg_error_destroy(error);
}

/* Takes once and returns how many bytes came. */
static size_t take(struct fixture *fixture)
{
    size_t taken = 12345;
    struct tg_error *error = tg_ring_reader_take(fixture->reader, fixture->room, ROOM, &taken);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    return taken;
}

static void expect_given_up(struct fixture *fixture, const char *reason, size_t before)
{
    size_t taken;
    struct tg_error *error = tg_ring_reader_take(fixture->reader, fixture->room, ROOM, &taken);
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), reason));
    assert_non_null(strstr(tg_error_message(error), "ring.4711.0: "));
    assert_int_equal(taken, before);
    tg_error_destroy(error);
    /* said once; from now on it is only emptied, so that its thread does not wait */
    __atomic_store_n(&fixture->producer.header->head, 123456, __ATOMIC_RELEASE);
    assert_int_equal(take(fixture), 0);
    assert_int_equal(fixture->producer.header->tail, 123456);
    assert_int_equal(tg_ring_reader_left(fixture->reader), 0);
    assert_false(tg_ring_reader_is_finished(fixture->reader));
}

static const uint64_t *word(const struct fixture *fixture, size_t i)
{
    return (const uint64_t *)(const void *)fixture->room + i;
}

static void records_come_as_they_were_put(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    struct tg_ring_facts facts = tg_ring_reader_facts(fixture->reader);
    assert_int_equal(facts.pid, PID);
    assert_int_equal(facts.instance, 99);
    assert_int_equal(facts.kind, TG_AGENT_RING_THREAD);
    assert_int_equal(take(fixture), 0);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 10, 7));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_MPI_COMPLETE, 20, 1, 2, 3, 4, 5));
    assert_int_equal(take(fixture), (4 + 8) * 8);
    assert_int_equal(*word(fixture, 0), 10);
    assert_int_equal(*word(fixture, 2), 7);
    assert_int_equal(*word(fixture, 4), 20);
    assert_int_equal(*word(fixture, 5) & 0xff, TG_RECORD_MPI_COMPLETE);
    assert_int_equal(*word(fixture, 10), 5);
    assert_int_equal(fixture->producer.header->tail, (4 + 8) * 8);
    assert_int_equal(take(fixture), 0);
}

static void a_ring_goes_round_and_pads_its_end(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    uint64_t arguments[11] = {0}, put = 0, got = 0;
    for (int round = 0; round < 4000; round++) {
        /* sizes that do not divide the ring's */
        while (ring_producer_put(&fixture->producer, TG_RECORD_NOTE, 1, 0, arguments, 1 + put % 11))
            arguments[0] = ++put;
        size_t taken = take(fixture), at = 0;
        assert_true(taken > 0);
        for (; at < taken / 8; at += *word(fixture, at + 1) >> TG_AGENT_WORDS_SHIFT & 0xfff) {
            assert_int_equal(*word(fixture, at + 1) & 0xff, TG_RECORD_NOTE);
            assert_int_equal(*word(fixture, at + 2), got++);
        }
        assert_int_equal(at, taken / 8);
    }
    while (take(fixture) > 0) /* the rest, without a look */
        continue;
    assert_true(put > 100000);
}

static void the_largest_record_fits_into_the_smallest_room(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    static uint64_t arguments[TG_AGENT_MAX_WORDS];
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_true(
        ring_producer_put(&fixture->producer, TG_RECORD_MPI_COMM, 1, 0, arguments, TG_AGENT_MAX_WORDS - 2));
    size_t taken;
    assert_null(tg_ring_reader_take(fixture->reader, fixture->room, TG_RING_READER_MIN_ROOM, &taken));
    assert_int_equal(taken, 32);
    assert_int_equal(tg_ring_reader_left(fixture->reader), TG_AGENT_MAX_WORDS * 8);
    assert_null(tg_ring_reader_take(fixture->reader, fixture->room, TG_RING_READER_MIN_ROOM, &taken));
    assert_int_equal(taken, TG_AGENT_MAX_WORDS * 8);
    assert_int_equal(tg_ring_reader_left(fixture->reader), 0);
}

static void a_record_of_no_words_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 8));
    ((uint64_t *)(void *)fixture->producer.data)[5] = TG_RECORD_THREAD;
    expect_given_up(fixture, "impossible size", 32);
}

static void a_record_of_odd_or_too_many_words_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    ((uint64_t *)(void *)fixture->producer.data)[1] = TG_RECORD_THREAD | 3 << TG_AGENT_WORDS_SHIFT;
    expect_given_up(fixture, "impossible size", 0);
}

static void a_record_longer_than_what_is_there_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    ((uint64_t *)(void *)fixture->producer.data)[1] = TG_RECORD_THREAD | 4094 << TG_AGENT_WORDS_SHIFT;
    expect_given_up(fixture, "beyond the end", 0);
}

static void a_record_across_the_end_of_the_data_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    while (RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7))
        continue;
    assert_int_equal(take(fixture), DATA);
    for (int i = 0; i < DATA / 32 - 1; i++)
        assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_int_equal(take(fixture), DATA - 32);
    /* the last 32 bytes, and 32 more from the beginning on */
    uint64_t *last = (uint64_t *)(void *)(fixture->producer.data + DATA - 32);
    last[1] = TG_RECORD_NOTE | 8 << TG_AGENT_WORDS_SHIFT;
    __atomic_store_n(&fixture->producer.header->head, fixture->producer.written + 64, __ATOMIC_RELEASE);
    expect_given_up(fixture, "beyond the end", 0);
}

static void a_filler_is_only_for_the_end_of_the_data(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_PAD, 0, 0));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    expect_given_up(fixture, "filler short", 32);
}

static void a_head_behind_the_tail_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_int_equal(take(fixture), 32);
    fixture->producer.header->head = 16;
    expect_given_up(fixture, "further apart", 0);
}

static void a_head_far_ahead_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    fixture->producer.header->head = UINT64_C(1) << 63;
    expect_given_up(fixture, "further apart", 0);
}

static void a_head_within_a_record_unit_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    fixture->producer.header->head = 40;
    expect_given_up(fixture, "between records", 0);
}

static void a_tail_that_lies_from_the_beginning_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    fixture->producer.header->tail = 24;
    open_ring(fixture);
    expect_given_up(fixture, "between records", 0);
}

static void what_the_program_does_to_the_tail_does_not_matter(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_int_equal(take(fixture), 32);
    fixture->producer.header->tail = 5;
    fixture->producer.written = fixture->producer.header->head;
    fixture->producer.header->tail = 32;
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 8));
    fixture->producer.header->tail = 7777;
    assert_int_equal(take(fixture), 32);
    assert_int_equal(fixture->producer.header->tail, 64);
}

static void a_file_that_is_cut_short_is_given_up_without_a_fault(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    char *path = temporary_path(&fixture->temporary, fixture->producer.name);
    assert_int_equal(truncate(path, 0), 0);
    size_t taken;
    struct tg_error *error = tg_ring_reader_take(fixture->reader, fixture->room, ROOM, &taken);
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), "truncated"));
    assert_int_equal(taken, 0);
    tg_error_destroy(error);
    assert_int_equal(take(fixture), 0);
    assert_int_equal(tg_ring_reader_lost(fixture->reader), 0);
    expect_refused(fixture, fixture->producer.name, TG_ERROR_NOT_FOUND, "being created");
    free(path);
}

static void data_that_is_cut_off_behind_the_header_is_given_up(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    char *path = temporary_path(&fixture->temporary, fixture->producer.name);
    assert_int_equal(truncate(path, TG_AGENT_RING_DATA_OFFSET), 0);
    size_t taken;
    struct tg_error *error = tg_ring_reader_take(fixture->reader, fixture->room, ROOM, &taken);
    assert_non_null(error);
    assert_int_equal(taken, 0);
    tg_error_destroy(error);
    free(path);
}

static void ticks_that_cannot_be_are_set_to_what_can(void **state)
{
    struct fixture *fixture = *state;
    tg_tick_clock_add(fixture->clock, (struct tg_tick_pair){.ticks = 1000000, .time_ns = 1000000});
    open_ring(fixture);
    uint64_t now = tg_tick_clock_now(fixture->clock);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 5, 7));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, UINT64_MAX, 7));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, now, 7));
    assert_int_equal(take(fixture), 96);
    assert_int_equal(*word(fixture, 0), 1000000);
    assert_in_range(*word(fixture, 4), now, tg_tick_clock_now(fixture->clock));
    assert_int_equal(*word(fixture, 8), now);
    assert_int_equal(tg_ring_reader_wrong_ticks(fixture->reader), 2);
}

static void a_closed_ring_is_finished_when_it_is_empty(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_false(tg_ring_reader_is_finished(fixture->reader));
    fixture->producer.header->state = TG_AGENT_RING_CLOSED;
    assert_false(tg_ring_reader_is_finished(fixture->reader));
    assert_int_equal(take(fixture), 32);
    assert_true(tg_ring_reader_is_finished(fixture->reader));
    fixture->producer.header->lost = 17;
    assert_int_equal(tg_ring_reader_lost(fixture->reader), 17);
}

/* Fills the ring, and sleeps for room as the agent does. */
static void *wait_for_room(void *argument)
{
    struct fixture *fixture = argument;
    struct tg_agent_ring_header *header = fixture->producer.header;
    while (RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7))
        continue;
    uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
    do {
        __atomic_store_n(&header->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&header->tail, __ATOMIC_SEQ_CST) == tail) /* without a limit: it must be woken */
            syscall(SYS_futex, &header->waiting, FUTEX_WAIT, 1, NULL, NULL, 0);
    } while (__atomic_load_n(&header->tail, __ATOMIC_SEQ_CST) == tail);
    return NULL;
}

static void a_thread_that_waits_for_room_is_woken(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_room, fixture), 0);
    while (__atomic_load_n(&fixture->producer.header->waiting, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    assert_int_equal(take(fixture), DATA);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fixture->producer.header->waiting, 0);
}

static void only_proper_files_are_opened(void **state)
{
    struct fixture *fixture = *state;
    const char *name = fixture->producer.name;
    char *path = temporary_path(&fixture->temporary, name);
    char *other = temporary_path(&fixture->temporary, "ring.4711.1");
    assert_int_equal(symlink(path, other), 0);
    expect_refused(fixture, "ring.4711.1", TG_ERROR_OS, "cannot open");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(other, 0600), 0);
    expect_refused(fixture, "ring.4711.1", TG_ERROR_INPUT, "not a regular file");
    assert_int_equal(unlink(other), 0);
    expect_refused(fixture, "ring.4711.1", TG_ERROR_NOT_FOUND, "gone");
    temporary_write(other, "x", 1);
    assert_int_equal(chmod(other, 0600), 0);
    expect_refused(fixture, "ring.4711.1", TG_ERROR_INPUT, "impossible size");
    assert_int_equal(chmod(path, 0640), 0);
    expect_refused(fixture, name, TG_ERROR_INPUT, "private file of this user");
    assert_int_equal(chmod(path, 0600), 0);
    fixture->producer.header->magic = 0;
    expect_refused(fixture, name, TG_ERROR_NOT_FOUND, "being created");
    fixture->producer.header->magic = 1;
    expect_refused(fixture, name, TG_ERROR_INPUT, "not a ring");
    fixture->producer.header->magic = TG_AGENT_RING_MAGIC;
    fixture->producer.header->protocol++;
    expect_refused(fixture, name, TG_ERROR_INPUT, "different protocol");
    fixture->producer.header->protocol = TG_AGENT_PROTOCOL;
    fixture->producer.header->kind = 9;
    expect_refused(fixture, name, TG_ERROR_INPUT, "unknown kind");
    fixture->producer.header->kind = TG_AGENT_RING_LOADER;
    fixture->producer.header->data_bytes *= 2;
    expect_refused(fixture, name, TG_ERROR_INPUT, "unexpected size");
    fixture->producer.header->data_bytes /= 2;
    fixture->producer.header->pid++;
    expect_refused(fixture, name, TG_ERROR_INPUT, "different process");
    fixture->producer.header->pid = PID;
    open_ring(fixture);
    free(path);
    free(other);
}

static void names_of_rings_are_told_from_others(void **state)
{
    (void)state;
    static const char *const good[] = {"ring.1.0", "ring.123456789.987654321"};
    static const char *const bad[] = {
        "control",   "ring.1",     "ring.0.1",  "ring.-1.1", "ring.1.2x",          "ring. 1.2",  "ring.01.2",
        "ring.1.+2", "ring.1.2.3", "xring.1.2", "",          "ring.99999999999.1", "../ring.1.2"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(tg_ring_reader_is_ring(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(tg_ring_reader_is_ring(bad[i]));
}

static void a_ring_that_nobody_else_has_mapped_is_an_orphan(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_THREAD, 1, 7));
    assert_false(tg_ring_reader_is_orphan(fixture->reader, fixture->directory));
    assert_int_equal(take(fixture), 32); /* and it still works */
    struct ring_producer other;
    ring_producer_init(&other, fixture->directory, PID, 1, DATA, 99);
    struct tg_ring_reader *reader = NULL;
    assert_null(tg_ring_reader_open(fixture->directory, other.name, fixture->clock, &reader));
    RING_PUT(&other, TG_RECORD_THREAD, 1, 7);
    ring_producer_deinit(&other);
    assert_true(tg_ring_reader_is_orphan(reader, fixture->directory));
    size_t taken;
    assert_null(tg_ring_reader_take(reader, fixture->room, ROOM, &taken));
    assert_int_equal(taken, 32);
    tg_ring_reader_close(reader);
}

/* ---- growing */

/* Reads READER to its end: records numbered from *NEXT on (UINT64_MAX: any) up to TO. */
static void read_numbers(struct fixture *fixture, struct tg_ring_reader *reader, uint64_t *next, uint64_t to)
{
    size_t taken;
    do {
        assert_null(tg_ring_reader_take(reader, fixture->room, ROOM, &taken));
        for (size_t at = 0; at < taken;) {
            const uint64_t *record = word(fixture, at / 8);
            if (*next == UINT64_MAX)
                *next = record[3];
            assert_int_equal(record[3], *next);
            (*next)++;
            at += (record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff) * 8;
        }
    } while (taken > 0);
    assert_int_equal(*next, to);
}

static void sizes_that_were_not_given_are_nonsense(void **state)
{
    struct fixture *fixture = *state;
    static const struct tg_agent_growth wrong[] = {
        {.until = 32, .from = 2 * DATA + DATA, .data_bytes = 2 * DATA},   /* longer than the file */
        {.until = 32, .from = DATA, .data_bytes = DATA},                  /* not longer than it was */
        {.until = 32, .from = 3 * DATA / 2, .data_bytes = DATA / 2},      /* shorter */
        {.until = 40, .from = 5 * DATA, .data_bytes = 4 * DATA},          /* within a record unit */
        {.until = 9 * DATA, .from = 5 * DATA, .data_bytes = 4 * DATA},    /* backwards */
        {.until = 32, .from = 5 * DATA + 64, .data_bytes = 4 * DATA},     /* not behind what it was */
        {.until = 32, .from = 4 * DATA, .data_bytes = UINT64_MAX - 8191}, /* no size */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ring_producer *producer = &fixture->producer;
        open_ring(fixture);
        if (i == 1) /* from here on */
            assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 4 * DATA));
        producer->header->growths[0] = wrong[i];
        producer->header->n_growths = 1;
        __atomic_store_n(&producer->header->head, wrong[i].from, __ATOMIC_RELEASE);
        assert_int_equal(tg_ring_reader_look(fixture->reader).bytes,
                         DATA); /* as much as it can be: it is taken soon */
        expect_given_up(fixture, "size that it was not given", 0);
        producer->header->head = producer->header->tail = producer->header->n_growths = 0;
        producer->header->granted_bytes = 0;
        tg_ring_reader_close(fixture->reader);
    }
    open_ring(fixture);
    fixture->producer.header->n_growths = TG_AGENT_RING_GROWTHS + 1;
    expect_given_up(fixture, "grown more often than it can", 0);
}

/* As a thread leaves it that took over more, and then found no memory there: it waits until all before is read. */
static void a_growth_without_records_is_passed(void **state)
{
    struct fixture *fixture = *state;
    struct tg_agent_ring_header *header = fixture->producer.header;
    open_ring(fixture);
    assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 4 * DATA));
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0));
    assert_int_equal(take(fixture), 32);
    assert_int_equal(header->tail, 32);
    header->growths[0] = (struct tg_agent_growth){.until = 32, .from = 5 * DATA, .data_bytes = 4 * DATA};
    header->n_growths = 1;
    header->waiting = 1;
    __atomic_store_n(&header->head, 5 * DATA, __ATOMIC_RELEASE);
    assert_int_equal(take(fixture), 0);
    assert_int_equal(header->tail, 5 * DATA);
    assert_int_equal(header->waiting, 0);
}

/* The same of a ring that becomes shorter, whose thread has written where it was before. The recorder was killed in front of
 * that. */
static void what_was_before_a_ring_became_shorter_is_counted(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *producer = &fixture->producer;
    ring_producer_deinit(producer);
    ring_producer_init(producer, fixture->directory, PID, 1, 2 * DATA, 99);
    struct tg_agent_ring_header *header = producer->header;
    assert_null(tg_ring_reader_open(fixture->directory, producer->name, fixture->clock, &fixture->reader));
    for (uint64_t i = 0; i < 100; i++)
        assert_true(RING_PUT(producer, TG_RECORD_OMP_TASK_BEGIN, 1, i, i));
    assert_int_equal(take(fixture), 3200);
    const struct tg_agent_mark mark = {.events = 70, .before = {.records = 70, .events = 70}};
    tg_ring_reader_mark(fixture->reader, &mark);
    header->growths[0] = (struct tg_agent_growth){.until = 3200, .from = 2 * DATA, .data_bytes = DATA};
    header->n_growths = 1;
    producer->data_bytes = DATA;
    producer->written = 2 * DATA;
    assert_true(RING_PUT(producer, TG_RECORD_OMP_TASK_BEGIN, 1, 100, 100));
    struct tg_ring_reader *reader;
    assert_null(tg_ring_reader_open(fixture->directory, producer->name, fixture->clock, &reader));
    const struct tg_ring_past past = tg_ring_reader_rewind(reader, 70);
    assert_true(past.known);
    assert_int_equal(past.before.records, 100);
    assert_int_equal(past.in_file.records, 70);
    assert_true(tg_ring_reader_facts(reader).begins_late);
    uint64_t next = 100;
    read_numbers(fixture, reader, &next, 101);
    tg_ring_reader_close(reader);
}

static void loader_rings_and_salvaged_ones_do_not_grow(void **state)
{
    struct fixture *fixture = *state;
    fixture->producer.header->kind = TG_AGENT_RING_LOADER;
    open_ring(fixture);
    assert_false(tg_ring_reader_grow(fixture->reader, fixture->directory, 2 * DATA));
    tg_ring_reader_close(fixture->reader);
    fixture->producer.header->kind = TG_AGENT_RING_THREAD;
    open_ring(fixture);
    tg_ring_reader_rewind(fixture->reader, UINT64_MAX);
    assert_false(tg_ring_reader_grow(fixture->reader, fixture->directory, 2 * DATA));
    assert_int_equal(fixture->producer.header->granted_bytes, 0);
}

static void a_ring_is_as_full_as_it_will_be_when_it_has_grown(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    while (RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0))
        continue;
    struct tg_ring_fill fill = tg_ring_reader_look(fixture->reader);
    assert_int_equal(fill.bytes, DATA);
    assert_int_equal(fill.of_bytes, DATA);
    assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 8 * DATA));
    assert_int_equal(tg_ring_reader_look(fixture->reader).of_bytes, 8 * DATA);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0));
    fill = tg_ring_reader_look(fixture->reader);
    assert_int_equal(fill.bytes, DATA + 32);
    assert_int_equal(fill.of_bytes, 8 * DATA);
    assert_int_equal(tg_ring_reader_left(fixture->reader), DATA + 32);
    assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 16 * DATA));
    assert_int_equal(take(fixture), DATA);
    assert_int_equal(take(fixture), 32);
    while (RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0))
        continue; /* half of it, from where on it is as long as it may be, and to the end of that */
    fill = tg_ring_reader_look(fixture->reader);
    assert_int_equal(fill.bytes, 16 * DATA);
    assert_int_equal(fill.of_bytes, 16 * DATA);
}

static void a_ring_that_is_full_within_a_lap_grows_there(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    assert_true(RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0));
    assert_int_equal(take(fixture), 32);
    while (RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0))
        continue;
    assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 2 * DATA));
    struct tg_ring_fill fill = tg_ring_reader_look(fixture->reader);
    assert_int_equal(fill.bytes, DATA);
    assert_int_equal(fill.of_bytes, 2 * DATA);
    uint64_t n = 0;
    while (RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0))
        n++;
    assert_int_equal(n, DATA / 32);
    assert_int_equal(take(fixture), DATA - 32); /* up to the end of the data, ... */
    assert_int_equal(take(fixture), 32);        /* ... from their beginning, ... */
    assert_int_equal(take(fixture), DATA);      /* ... and behind what they were */
    assert_int_equal(take(fixture), 0);
}

static void a_ring_that_its_thread_cannot_make_longer_has_no_more_coming_to_it(void **state)
{
    struct fixture *fixture = *state;
    open_ring(fixture);
    while (RING_PUT(&fixture->producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, 0))
        continue;
    assert_true(tg_ring_reader_grow(fixture->reader, fixture->directory, 2 * DATA));
    assert_int_equal(tg_ring_reader_look(fixture->reader).of_bytes, 2 * DATA);
    fixture->producer.header->stays = 1;
    assert_int_equal(tg_ring_reader_look(fixture->reader).of_bytes, DATA);
    assert_false(tg_ring_reader_grow(fixture->reader, fixture->directory, 4 * DATA));
}

/* Who salvages finds all that was not overwritten, and the last of it. */
static void salvage_numbers(struct fixture *fixture, uint64_t to, uint64_t taken)
{
    struct tg_ring_reader *reader;
    uint64_t next = UINT64_MAX;
    assert_null(tg_ring_reader_open(fixture->directory, fixture->producer.name, fixture->clock, &reader));
    struct tg_ring_past past = tg_ring_reader_rewind(reader, UINT64_MAX);
    assert_true(past.whole || past.before.records <= taken);
    if (past.whole || past.before.records > 0)
        next = past.before.records;
    if (to > 0)
        read_numbers(fixture, reader, &next, to);
    tg_ring_reader_close(reader);
}

static bool put_number(struct ring_producer *producer, uint64_t number)
{
    const uint64_t arguments[7] = {0, number};
    return ring_producer_put(producer, TG_RECORD_MPI_COMPLETE, 1, 0, arguments, rand() % 4 != 0 ? 2 : 7);
}

static void what_is_in_a_ring_outlives_its_growth(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *producer = &fixture->producer;
    unsigned n_growths = 0;
    uint64_t put = 0, got = 0, size = DATA;
    open_ring(fixture);
    producer->grows_at = 64;
    srand(7);
    for (int round = 0; round < (IS_SANITIZED ? 8000 : 30000); round++) {
        for (int n = rand() % 200; n > 0 && put_number(producer, put); n--)
            put++;
        if (rand() % 40 == 0)
            read_numbers(fixture, fixture->reader, &got, put);
        if (rand() % 500 == 0)
            salvage_numbers(fixture, put, got);
        if (rand() % 300 == 0 && tg_ring_reader_look(fixture->reader).bytes > 0)
            tg_ring_reader_grow(fixture->reader, fixture->directory, producer->data_bytes << rand() % 4);
        n_growths += producer->data_bytes > size;
        size = producer->data_bytes;
    }
    read_numbers(fixture, fixture->reader, &got, put);
    assert_true(n_growths >= 4); /* with steps of different sizes */
    assert_true(put > 100000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_come_as_they_were_put),
        TEST(a_ring_goes_round_and_pads_its_end),
        TEST(the_largest_record_fits_into_the_smallest_room),
        TEST(a_record_of_no_words_is_nonsense),
        TEST(a_record_of_odd_or_too_many_words_is_nonsense),
        TEST(a_record_longer_than_what_is_there_is_nonsense),
        TEST(a_record_across_the_end_of_the_data_is_nonsense),
        TEST(a_filler_is_only_for_the_end_of_the_data),
        TEST(a_head_behind_the_tail_is_nonsense),
        TEST(a_head_far_ahead_is_nonsense),
        TEST(a_head_within_a_record_unit_is_nonsense),
        TEST(a_tail_that_lies_from_the_beginning_is_nonsense),
        TEST(what_the_program_does_to_the_tail_does_not_matter),
        TEST(a_file_that_is_cut_short_is_given_up_without_a_fault),
        TEST(data_that_is_cut_off_behind_the_header_is_given_up),
        TEST(ticks_that_cannot_be_are_set_to_what_can),
        TEST(a_closed_ring_is_finished_when_it_is_empty),
        TEST(a_thread_that_waits_for_room_is_woken),
        TEST(sizes_that_were_not_given_are_nonsense),
        TEST(loader_rings_and_salvaged_ones_do_not_grow),
        TEST(a_ring_is_as_full_as_it_will_be_when_it_has_grown),
        TEST(a_ring_that_is_full_within_a_lap_grows_there),
        TEST(a_ring_that_its_thread_cannot_make_longer_has_no_more_coming_to_it),
        TEST(a_growth_without_records_is_passed),
        TEST(what_was_before_a_ring_became_shorter_is_counted),
        TEST(what_is_in_a_ring_outlives_its_growth),
        TEST(only_proper_files_are_opened),
        cmocka_unit_test(names_of_rings_are_told_from_others),
        TEST(a_ring_that_nobody_else_has_mapped_is_an_orphan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
