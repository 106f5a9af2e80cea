#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/agent/mpi/calls.h"
#include "recorder/agent/mpi/types.h"
#include "recorder/rings/decoder.h"
#include "recorder/rings/team_table.h"
#include "tests/support/ring_producer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 256, PID = 70, TID = 71 };

/* Events with what they point to, as far as tests look at it. */
struct fixture {
    struct tg_ring_decoder *decoder;
    struct tg_ring_source *source;
    struct tg_event events[MAX_EVENTS];
    char texts[MAX_EVENTS][3][128];
    uint64_t items[MAX_EVENTS][8];
    size_t n_events;
};

static void keep_text(struct fixture *fixture, int i, const char **text)
{
    char *copy = fixture->texts[fixture->n_events][i];
    snprintf(copy, sizeof fixture->texts[0][0], "%s", *text);
    *text = copy;
}

static void keep(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    assert_true(fixture->n_events < MAX_EVENTS);
    struct tg_event *kept = &fixture->events[fixture->n_events];
    *kept = *event;
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    assert_non_null(schema);
    int n_texts = 0;
    for (size_t i = 0; i < schema->n_fields; i++) {
        char *field = (char *)TG_EVENT_PAYLOAD(kept) + schema->fields[i].offset;
        if (schema->fields[i].type == TG_FIELD_STRING)
            keep_text(fixture, n_texts++, (const char **)(void *)field);
        if (schema->fields[i].type == TG_FIELD_LIST) {
            struct tg_list *list = (struct tg_list *)(void *)field;
            size_t bytes = list->count * schema->fields[i].element->size_bytes;
            memcpy(fixture->items[fixture->n_events], list->items, bytes < 64 ? bytes : 64);
            list->items = fixture->items[fixture->n_events];
        }
    }
    fixture->n_events++;
}

static struct tg_ring_source *add_source(struct fixture *fixture, int32_t pid, uint64_t instance)
{
    const struct tg_ring_facts facts = {.pid = pid, .tid = pid, .instance = instance, .data_bytes = 65536};
    struct tg_ring_source *source = NULL;
    assert_null(tg_ring_decoder_add_source(fixture->decoder, &facts, &source));
    return source;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct tg_event_sink sink = {.context = fixture, .add = keep};
    if (tg_ring_decoder_create(&sink, NULL, &fixture->decoder) != NULL)
        return -1;
    fixture->source = add_source(fixture, PID, 1);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tg_ring_decoder_destroy(fixture->decoder);
    free(fixture);
    return 0;
}

static void put_to(struct fixture *fixture, struct tg_ring_source *source, unsigned kind, uint64_t time_ns,
                   uint64_t place, const uint64_t *arguments, size_t n_arguments)
{
    size_t n_words = (n_arguments + 3) & ~(size_t)1;
    uint64_t *record =
        calloc(n_words, sizeof *record); /* of its exact size: a sanitizer sees every step too far */
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | place;
    if (n_arguments > 0)
        memcpy(record + 2, arguments, n_arguments * sizeof *arguments);
    tg_ring_decoder_add(fixture->decoder, source, time_ns, record);
    free(record);
}

#define PUT(fixture, kind, place, ...)                                                                       \
    put_to(fixture, (fixture)->source, kind, 1000 + (fixture)->n_events, place,                              \
           (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

/* Begins with the thread and a note, so that what follows is nothing but the record under test. */
static void begin(struct fixture *fixture)
{
    PUT(fixture, TG_RECORD_THREAD, 0, TID);
    PUT(fixture, TG_RECORD_NOTE, 0, 0);
    fixture->n_events = 0;
}

static const struct tg_event *only(struct fixture *fixture, enum tg_event_kind kind)
{
    assert_int_equal(fixture->n_events, 1);
    assert_int_equal(fixture->events[0].kind, kind);
    assert_int_equal(fixture->events[0].pid, PID);
    assert_int_equal(fixture->events[0].tid, TID);
    assert_int_equal(fixture->events[0].time_ns, 1000);
    fixture->n_events = 0;
    return &fixture->events[0];
}

static uint64_t place(uint64_t code, unsigned seen, unsigned which)
{
    return code | (uint64_t)seen << TG_AGENT_SEEN_SHIFT | (uint64_t)which << TG_AGENT_ENUM_SHIFT;
}

/* ---- the agent itself */

static void the_first_record_of_a_program_says_that_it_is_watched(void **state)
{
    struct fixture *fixture = *state;
    PUT(fixture, TG_RECORD_THREAD, 0, TID);
    assert_int_equal(fixture->n_events, 0);
    uint64_t text[4];
    size_t n = ring_string(text, "a note of it");
    put_to(fixture, fixture->source, TG_RECORD_NOTE, 55, 0, text, n);
    assert_int_equal(fixture->n_events, 2);
    assert_int_equal(fixture->events[0].kind, TG_EVENT_AGENT);
    assert_int_equal(fixture->events[0].agent.state, TG_AGENT_WATCHING);
    assert_int_equal(fixture->events[0].time_ns, 55);
    assert_int_equal(fixture->events[0].tid, TID);
    assert_int_equal(fixture->events[1].kind, TG_EVENT_NOTE);
    assert_string_equal(fixture->events[1].note.text, "a note of it");
    PUT(fixture, TG_RECORD_NOTE, 0, 0);
    assert_int_equal(fixture->n_events, 3);
    assert_int_equal(tg_ring_decoder_stats(fixture->decoder).programs, 1);
}

static void an_agent_that_steps_aside_at_once_was_never_watching(void **state)
{
    struct fixture *fixture = *state;
    uint64_t text[8];
    size_t n = ring_string(text, "libc is another one");
    put_to(fixture, fixture->source, TG_RECORD_ASIDE, 5, 0, text, n);
    assert_int_equal(fixture->n_events, 1);
    assert_int_equal(fixture->events[0].agent.state, TG_AGENT_ASIDE);
    assert_string_equal(fixture->events[0].agent.reason, "libc is another one");
    assert_int_equal(fixture->events[0].tid, PID); /* no thread was told of */
    put_to(fixture, fixture->source, TG_RECORD_ASIDE, 6, 0, text, n);
    assert_int_equal(fixture->n_events, 2);
}

static void another_program_in_the_process_is_told_and_ends_the_rings_of_the_one_before(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    struct tg_ring_source *second = add_source(fixture, PID, 2);
    assert_false(tg_ring_decoder_is_superseded(fixture->decoder, fixture->source));
    put_to(fixture, second, TG_RECORD_NOTE, 9, 0, (const uint64_t[]){0}, 1);
    assert_int_equal(fixture->n_events, 2);
    assert_int_equal(fixture->events[0].kind, TG_EVENT_AGENT);
    assert_true(tg_ring_decoder_is_superseded(fixture->decoder, fixture->source));
    assert_false(tg_ring_decoder_is_superseded(fixture->decoder, second));
    /* late records of the one before do not bring it back */
    PUT(fixture, TG_RECORD_NOTE, 0, 0);
    put_to(fixture, second, TG_RECORD_NOTE, 9, 0, (const uint64_t[]){0}, 1);
    assert_int_equal(fixture->n_events, 4);
    assert_int_equal(tg_ring_decoder_stats(fixture->decoder).programs, 2);
    tg_ring_decoder_end_process(fixture->decoder, PID, 0);
    assert_int_equal(tg_ring_decoder_stats(fixture->decoder).n_processes, 0);
    tg_ring_decoder_end_process(fixture->decoder, PID, 0);
}

static void losses_are_told_and_counted(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    PUT(fixture, TG_RECORD_LOST, 0, 12);
    const struct tg_event *event = only(fixture, TG_EVENT_LOSS);
    assert_int_equal(event->loss.source, TG_LOSS_RING);
    assert_int_equal(event->loss.count, 12);
    PUT(fixture, TG_RECORD_LOST, 0, 5);
    assert_int_equal(tg_ring_source_told_lost(fixture->source), 17);
    fixture->n_events = 0;
    PUT(fixture, TG_RECORD_LOST, 0, UINT64_MAX - 2); /* scribbled over */
    assert_int_equal(only(fixture, TG_EVENT_LOSS)->loss.count, 0);
}

static void unknown_kinds_and_short_records_are_counted_and_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    PUT(fixture, TG_RECORD_NONE, 0, 1);
    PUT(fixture, TG_RECORD_COUNT, 0, 1);
    PUT(fixture, 255, 0, 1);
    PUT(fixture, TG_RECORD_MPI_ENTER, 0, 1, 2, 3);
    put_to(fixture, fixture->source, TG_RECORD_NOTE, 1, 0, NULL, 0);
    assert_int_equal(fixture->n_events, 0);
    assert_int_equal(tg_ring_decoder_stats(fixture->decoder).unknown, 3);
    assert_int_equal(tg_ring_decoder_stats(fixture->decoder).misformed, 2);
}

static void strings_end_even_where_nobody_ended_them(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    uint64_t torn[2];
    memset(torn, 'x', sizeof torn);
    put_to(fixture, fixture->source, TG_RECORD_NOTE, 1000, 0, torn, 2);
    assert_string_equal(only(fixture, TG_EVENT_NOTE)->note.text, "xxxxxxxxxxxxxxx");
    /* the first string takes all: nothing is left for the second */
    uint64_t runtime[4] = {TG_OMP_OMPT};
    memset(runtime + 1, 'y', 3 * sizeof runtime[0]);
    put_to(fixture, fixture->source, TG_RECORD_OMP_RUNTIME, 1000, 0, runtime, 4);
    const struct tg_event *event = only(fixture, TG_EVENT_OMP_RUNTIME);
    assert_string_equal(event->omp_runtime.name, "yyyyyyyyyyyyyyyyyyyyyyy");
    assert_string_equal(event->omp_runtime.version, "");
    static uint64_t endless[TG_AGENT_MAX_WORDS - 2];
    memset(endless, 'z', sizeof endless);
    put_to(fixture, fixture->source, TG_RECORD_NOTE, 1000, 0, endless, TG_AGENT_MAX_WORDS - 2);
    only(fixture, TG_EVENT_NOTE);
}

/* ---- OpenMP */

static void a_runtime_has_its_name_and_version(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    static const char *const names[] = {"", "libgomp", "12345678", "LLVM OMP version: 5.0.20140926"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t words[16] = {TG_OMP_OMPT};
        size_t n = 1 + ring_string(words + 1, names[i]);
        n += ring_string(words + n, "4.5");
        put_to(fixture, fixture->source, TG_RECORD_OMP_RUNTIME, 1000, 0, words, n);
        const struct tg_event *event = only(fixture, TG_EVENT_OMP_RUNTIME);
        assert_string_equal(event->omp_runtime.name, names[i]);
        assert_string_equal(event->omp_runtime.version, "4.5");
        assert_int_equal(event->omp_runtime.seen, TG_OMP_OMPT);
    }
}

static void regions_are_entered_and_left(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t outer = (UINT64_C(5) << 28) + 3, inner = (UINT64_C(7) << 28) + 4;
    begin(fixture);
    PUT(fixture, TG_RECORD_OMP_PARALLEL_BEGIN, 0, place(0x401000, TG_OMP_WRAPPED, 0), outer, 8, 0x402000);
    const struct tg_event *event = only(fixture, TG_EVENT_OMP_PARALLEL_BEGIN);
    assert_int_equal(event->omp_parallel_begin.team, 0);
    assert_int_equal(event->omp_parallel_begin.level, 0);
    assert_int_equal(event->omp_parallel_begin.code, 0x401000);
    assert_int_equal(event->omp_parallel_begin.new_team, outer);
    assert_int_equal(event->omp_parallel_begin.requested, 8);
    assert_int_equal(event->omp_parallel_begin.body, 0x402000);

    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(outer, 2), place(0, TG_OMP_OMPT, 0), outer, 0, 8,
        1);
    event = only(fixture, TG_EVENT_OMP_IMPLICIT_BEGIN);
    assert_int_equal(event->omp_implicit_begin.team, outer);
    assert_int_equal(event->omp_implicit_begin.thread_num, 2);
    assert_int_equal(event->omp_implicit_begin.level, 1);
    assert_int_equal(event->omp_implicit_begin.team_size, 8);
    assert_int_equal(event->omp_implicit_begin.seen, TG_OMP_OMPT);

    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(inner, 1), place(0, 0, 0), inner, outer, 2, 2);
    event = only(fixture, TG_EVENT_OMP_IMPLICIT_BEGIN);
    assert_int_equal(event->omp_implicit_begin.parent_team, outer);

    PUT(fixture, TG_RECORD_OMP_ZONE_BEGIN, ring_place(inner, 1),
        place(0x1234, TG_OMP_INFERRED, TG_OMP_ZONE_LOOP), TG_OMP_SCHEDULE_DYNAMIC | 99 << 8);
    event = only(fixture, TG_EVENT_OMP_ZONE_BEGIN);
    assert_int_equal(event->omp_zone_begin.team, inner);
    assert_int_equal(event->omp_zone_begin.level, 2);
    assert_int_equal(event->omp_zone_begin.thread_num, 1);
    assert_int_equal(event->omp_zone_begin.zone, TG_OMP_ZONE_LOOP);
    assert_int_equal(event->omp_zone_begin.schedule, TG_OMP_SCHEDULE_DYNAMIC);
    assert_int_equal(event->omp_zone_begin.count, 99);
    assert_int_equal(event->omp_zone_begin.seen, TG_OMP_INFERRED);

    PUT(fixture, TG_RECORD_OMP_IMPLICIT_END, ring_place(inner, 1), place(0, 0, 0));
    assert_int_equal(only(fixture, TG_EVENT_OMP_IMPLICIT_END)->omp_implicit_end.level, 2);
    PUT(fixture, TG_RECORD_OMP_PARALLEL_END, ring_place(outer, 2), place(0, 0, 0), inner);
    event = only(fixture, TG_EVENT_OMP_PARALLEL_END);
    assert_int_equal(event->omp_parallel_end.team, outer);
    assert_int_equal(event->omp_parallel_end.level, 1);
    assert_int_equal(event->omp_parallel_end.ended_team, inner);
}

static void low_bits_of_teams_come_round(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    const uint64_t wrap = UINT64_C(1) << 28, first = 5, second = wrap + 5, third = 3 * wrap + 5;
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(first, 0), 0, first, 0, 1, 1);
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_END, ring_place(first, 0), 0);
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(second, 0), 0, second, 0, 1, 1);
    /* nested in one of the same low bits: the innermost one counts */
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(third, 0), 0, third, second, 1, 2);
    fixture->n_events = 0;
    PUT(fixture, TG_RECORD_OMP_SECTION, ring_place(third, 0), 0, 1);
    assert_int_equal(only(fixture, TG_EVENT_OMP_SECTION)->omp_section.team, third);
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_END, ring_place(third, 0), 0);
    fixture->n_events = 0;
    PUT(fixture, TG_RECORD_OMP_SECTION, ring_place(second, 0), 0, 1);
    const struct tg_event *event = only(fixture, TG_EVENT_OMP_SECTION);
    assert_int_equal(event->omp_section.team, second);
    assert_int_equal(event->omp_section.level, 1);
}

static void a_region_stays_known_however_many_begin_and_end_in_it(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(1, 0), 0, 1, 0, 4, 1);
    for (uint64_t inner = 2; inner < 5000; inner++) {
        fixture->n_events = 0;
        PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(inner, 0), 0, inner, 1, 2, 2);
        if (inner % 3 != 0) /* some ends are lost */
            PUT(fixture, TG_RECORD_OMP_IMPLICIT_END, ring_place(inner, 0), 0);
    }
    fixture->n_events = 0;
    PUT(fixture, TG_RECORD_OMP_SECTION, ring_place(1, 0), 0, 1);
    assert_int_equal(only(fixture, TG_EVENT_OMP_SECTION)->omp_section.level, 1);
    /* another thread of the process, which did not say how it got there: an old team and a recent one */
    struct tg_ring_source *other = add_source(fixture, PID, 1);
    put_to(fixture, other, TG_RECORD_OMP_SECTION, 1, ring_place(4990, 1), (const uint64_t[]){0, 1}, 2);
    assert_int_equal(fixture->events[0].omp_section.level, 2);
    put_to(fixture, other, TG_RECORD_OMP_SECTION, 1, ring_place(3, 1), (const uint64_t[]){0, 1}, 2);
    assert_int_equal(fixture->events[1].omp_section.team, 3);
    assert_int_equal(fixture->events[1].omp_section.level, 0); /* not known any more */
}

static void teams_deeper_than_are_kept_do_no_harm(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    for (uint64_t team = 1; team < 200; team++) {
        fixture->n_events = 0;
        PUT(fixture, TG_RECORD_OMP_IMPLICIT_BEGIN, ring_place(team, 0), 0, team, team - 1, 1, team);
    }
    for (uint64_t team = 199; team > 0; team--) {
        fixture->n_events = 0;
        PUT(fixture, TG_RECORD_OMP_IMPLICIT_END, ring_place(team, 0), 0);
        assert_int_equal(fixture->events[0].omp_implicit_end.level, team); /* by the process's table */
    }
}

static void waits_locks_and_tasks_have_their_fields(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t top = UINT64_C(1) << 63;
    begin(fixture);
    PUT(fixture, TG_RECORD_OMP_SYNC_BEGIN, 0, place(1, 2, TG_OMP_SYNC_BARRIER_JOIN), 9);
    const struct tg_event *event = only(fixture, TG_EVENT_OMP_SYNC_BEGIN);
    assert_int_equal(event->omp_sync_begin.sync, TG_OMP_SYNC_BARRIER_JOIN);
    assert_int_equal(event->omp_sync_begin.instance, 9);
    PUT(fixture, TG_RECORD_OMP_SYNC_END, 0, place(1, 2, TG_OMP_SYNC_BARRIER), 9 | top);
    event = only(fixture, TG_EVENT_OMP_SYNC_END);
    assert_int_equal(event->omp_sync_end.sync, TG_OMP_SYNC_BARRIER);
    assert_int_equal(event->omp_sync_end.instance, 9);
    assert_int_equal(event->omp_sync_end.cancelled, 1);
    static const enum tg_event_kind mutex[] = {TG_EVENT_OMP_MUTEX_WAIT, TG_EVENT_OMP_MUTEX_ENTER,
                                               TG_EVENT_OMP_MUTEX_LEAVE};
    for (unsigned i = 0; i < 3; i++) {
        PUT(fixture, TG_RECORD_OMP_MUTEX_WAIT + i, 0, place(1, 2, TG_OMP_MUTEX_LOCK), 0xabc0);
        event = only(fixture, mutex[i]);
        assert_int_equal(event->omp_mutex_leave.mutex, TG_OMP_MUTEX_LOCK);
        assert_int_equal(event->omp_mutex_leave.lock, 0xabc0);
    }
    PUT(fixture, TG_RECORD_OMP_MUTEX_TEST, 0, place(1, 2, TG_OMP_MUTEX_NEST_LOCK), 0xabc0, 77);
    event = only(fixture, TG_EVENT_OMP_MUTEX_TEST);
    assert_int_equal(event->omp_mutex_test.mutex, TG_OMP_MUTEX_NEST_LOCK);
    assert_int_equal(event->omp_mutex_test.lock, 0xabc0);
    assert_int_equal(event->omp_mutex_test.tests, 77);
    PUT(fixture, TG_RECORD_OMP_TASK_BEGIN, 0, place(1, 2, 0), 33 | top);
    event = only(fixture, TG_EVENT_OMP_TASK_BEGIN);
    assert_int_equal(event->omp_task_begin.task, 33);
    assert_int_equal(event->omp_task_begin.resumed, 1);
    PUT(fixture, TG_RECORD_OMP_TASK_END, 0, place(1, 2, TG_OMP_TASK_DETACHED), 33);
    assert_int_equal(only(fixture, TG_EVENT_OMP_TASK_END)->omp_task_end.how, TG_OMP_TASK_DETACHED);
    PUT(fixture, TG_RECORD_OMP_CANCEL, 0, place(1, 2, TG_OMP_CANCEL_LOOP), 7);
    event = only(fixture, TG_EVENT_OMP_CANCEL);
    assert_int_equal(event->omp_cancel.construct, TG_OMP_CANCEL_LOOP);
    assert_int_equal(event->omp_cancel.activated, 1);
    PUT(fixture, TG_RECORD_OMP_CHUNK, 0, place(1, 2, 0), 4, 7, 12);
    event = only(fixture, TG_EVENT_OMP_CHUNK);
    assert_int_equal(event->omp_chunk.first, 4);
    assert_int_equal(event->omp_chunk.last, 7);
    assert_int_equal(event->omp_chunk.stride, 12);
    PUT(fixture, TG_RECORD_OMP_ITERATION, 0, place(1, 2, TG_OMP_ITERATION_SOURCE), 2, 5, (uint64_t)-1);
    event = only(fixture, TG_EVENT_OMP_ITERATION);
    const struct tg_omp_index *indices = event->omp_iteration.indices.items;
    assert_int_equal(event->omp_iteration.what, TG_OMP_ITERATION_SOURCE);
    assert_int_equal(event->omp_iteration.indices.count, 2);
    assert_int_equal(indices[0].index, 5);
    assert_int_equal(indices[1].index, -1);
    PUT(fixture, TG_RECORD_OMP_ZONE_END, 0, place(1, 2, TG_OMP_ZONE_SINGLE));
    assert_int_equal(only(fixture, TG_EVENT_OMP_ZONE_END)->omp_zone_end.zone, TG_OMP_ZONE_SINGLE);
}

/* All fields of EVENT by its kind's schema: "name=1 other=text". */
static const char *fields_of(const struct tg_event *event)
{
    static char text[512];
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        const char *at = (const char *)TG_EVENT_PAYLOAD(event) + field->offset;
        uint64_t number;
        memcpy(&number, at, sizeof number);
        const char *gap = i == 0 ? "" : " ";
        if (field->type == TG_FIELD_STRING)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=%s", gap, field->name,
                                  (const char *)number);
        else if (field->type == TG_FIELD_LIST)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=[%d]", gap, field->name,
                                  (int)((const struct tg_list *)(const void *)at)->count);
        else
            n +=
                (size_t)snprintf(text + n, sizeof text - n, "%s%s=%lld", gap, field->name, (long long)number);
        assert_true(n < sizeof text);
    }
    return text;
}

/* Every kind of record with other arguments for each of its members. */
static void every_record_fills_the_member_of_the_event_that_it_becomes(void **state)
{
#define PLACE "team=0 thread_num=5 level=0 code=77 seen=2"
    static const struct {
        enum tg_agent_record record;
        uint64_t which,
            arguments[11]; /* after the place, where the record has one; WHICH: the place's enum */
        size_t n_arguments;
        bool has_place;
        enum tg_event_kind kind;
        const char *fields;
    } cases[] = {
#define WITH_PLACE(name, which, fields, ...)                                                                 \
    {TG_RECORD_##name, which,       {__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8, true,              \
     TG_EVENT_##name,  PLACE fields}
#define PLAIN_AS(name, event, fields, ...)                                                                   \
    {                                                                                                        \
        TG_RECORD_##name, 0, {__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8, false, TG_EVENT_##event,  \
            fields                                                                                           \
    }
#define PLAIN(name, fields, ...) PLAIN_AS(name, name, fields, __VA_ARGS__)
        WITH_PLACE(OMP_PARALLEL_BEGIN, 0, " new_team=11 requested=12 body=13", 11, 12, 13),
        WITH_PLACE(OMP_PARALLEL_END, 0, " ended_team=11", 11),
        WITH_PLACE(OMP_ZONE_BEGIN, 3, " zone=3 schedule=2 count=9", 2 | 9 << 8),
        WITH_PLACE(OMP_ZONE_END, 4, " zone=4", 0),
        WITH_PLACE(OMP_SECTION, 0, " section=8", 8),
        WITH_PLACE(OMP_SYNC_BEGIN, 2, " sync=2 instance=21", 21),
        WITH_PLACE(OMP_SYNC_END, 1, " sync=1 instance=22 cancelled=1", UINT64_C(1) << 63 | 22),
        WITH_PLACE(OMP_MUTEX_WAIT, 4, " mutex=4 lock=31", 31),
        WITH_PLACE(OMP_MUTEX_ENTER, 3, " mutex=3 lock=32", 32),
        WITH_PLACE(OMP_MUTEX_LEAVE, 2, " mutex=2 lock=33", 33),
        WITH_PLACE(OMP_TASK_CREATE, 0, " task=1 parent_task=2 body=3 flags=4 dependences=[1]", 1, 2, 3, 4, 1,
                   6, 7),
        WITH_PLACE(OMP_TASK_BEGIN, 0, " task=41 resumed=1", UINT64_C(1) << 63 | 41),
        WITH_PLACE(OMP_TASK_END, 3, " task=42 how=3", 42),
        WITH_PLACE(OMP_CANCEL, 1, " construct=1 activated=1", 4),
        PLAIN(MPI_COMM, "comm=1 parent=2 handle=3 origin=4 rank=-5 size=6 members=[1] remote_size=7 link=8",
              1, 2, 3, 4, (uint64_t)-5, 6, 7, 8, 1, 0),
        PLAIN(MPI_POLL, "call=MPI_Iprobe comm=1 peer=-1 tag=2 code=3 request=4 polls=5 permille=6 various=1",
              TG_MPI_CALL_Iprobe, 1, (uint64_t)-1, 2, 3, 4, 5, 6, 7),
        PLAIN(MPI_POLL_SUM,
              "call=MPI_Iprobe code=1 polls=2 inside_ns=0 longest_ns=0 first_ago_ns=0 last_ago_ns=0",
              TG_MPI_CALL_Iprobe, 1, 2, 3, 4, 5, 6), /* without a clock no duration is known */
        PLAIN(MPI_GROUP, "members=[2]", 2, 0, 3),
        PLAIN(MPI_PARTITIONS, "ranges=[2]", 2, 0, 3, 5, 5),
        PLAIN(MPI_ENTER,
              "call=MPI_Send comm=1 instance=2 peer=-3 tag=4 root=5 bytes=6 code=7 request=0 receives=0 "
              "from=0 from_tag=0 type= from_type= op=",
              TG_MPI_CALL_Send, 1, 2, (uint64_t)-3, 4, 5, 6, 7),
        PLAIN_AS(MPI_ENTER_REQUEST, MPI_ENTER,
                 "call=MPI_Wait comm=1 instance=2 peer=-3 tag=4 root=5 bytes=6 code=7 request=8 receives=0 "
                 "from=0 from_tag=0 type= from_type= op=",
                 TG_MPI_CALL_Wait, 1, 2, (uint64_t)-3, 4, 5, 6, 7, 8),
        PLAIN_AS(MPI_ENTER_BOTH, MPI_ENTER,
                 "call=MPI_Sendrecv comm=1 instance=2 peer=-3 tag=4 root=5 bytes=6 code=7 request=0 "
                 "receives=1 from=-1 from_tag=9 type=MPI_INT from_type=MPI_DOUBLE op=",
                 TG_MPI_CALL_Sendrecv | (uint64_t)TG_MPI_TYPE_INT << TG_MPI_CALL_TYPE_SHIFT |
                     (uint64_t)TG_MPI_TYPE_DOUBLE << TG_MPI_CALL_FROM_TYPE_SHIFT,
                 1, 2, (uint64_t)-3, 4, 5, 6, 7, 1, (uint64_t)-1, 9),
        PLAIN(MPI_REQUESTS, "requests=[2]", 2, 11, 12),
        PLAIN(MPI_LEAVE, "call=MPI_Iprobe request=1 peer=2 tag=-3 bytes=4 result=5 poll=2",
              TG_MPI_CALL_Iprobe | TG_MPI_POLL_FINDS << TG_MPI_CALL_POLL_SHIFT, 1, 2, (uint64_t)-3, 4, 5),
        PLAIN(MPI_COMPLETE, "request=1 peer=2 tag=3 bytes=4 cancelled=1", 1, 2, 3, 4, 8),
    };
    struct fixture *fixture = *state;
    begin(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t arguments[12] = {place(77, 2, cases[i].which)};
        size_t first = cases[i].has_place;
        memcpy(arguments + first, cases[i].arguments, cases[i].n_arguments * sizeof *arguments);
        put_to(fixture, fixture->source, cases[i].record, 1000, UINT64_C(5) << TG_AGENT_THREAD_NUM_SHIFT,
               arguments, first + cases[i].n_arguments);
        assert_string_equal(fields_of(only(fixture, cases[i].kind)), cases[i].fields);
    }
}

static void dependences_are_as_many_as_are_there(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    PUT(fixture, TG_RECORD_OMP_TASK_CREATE, 0, 0, 1, 2, 3, TG_OMP_TASK_FINAL, 2, 0x10, TG_OMP_DEPEND_OUT,
        0x20, TG_OMP_DEPEND_IN);
    const struct tg_event *event = only(fixture, TG_EVENT_OMP_TASK_CREATE);
    assert_int_equal(event->omp_task_create.task, 1);
    assert_int_equal(event->omp_task_create.parent_task, 2);
    assert_int_equal(event->omp_task_create.body, 3);
    assert_int_equal(event->omp_task_create.flags, TG_OMP_TASK_FINAL);
    assert_int_equal(event->omp_task_create.dependences.count, 2);
    const struct tg_omp_dependence *dependences = event->omp_task_create.dependences.items;
    assert_int_equal(dependences[1].address, 0x20);
    assert_int_equal(dependences[1].kind, TG_OMP_DEPEND_IN);
    PUT(fixture, TG_RECORD_OMP_TASK_CREATE, 0, 0, 1, 2, 3, 4, UINT64_MAX, 0x10, 1, 0x20);
    assert_int_equal(only(fixture, TG_EVENT_OMP_TASK_CREATE)->omp_task_create.dependences.count, 2);
    PUT(fixture, TG_RECORD_OMP_TASK_CREATE, 0, 0, 1, 2, 3, 4, 7);
    assert_int_equal(only(fixture, TG_EVENT_OMP_TASK_CREATE)->omp_task_create.dependences.count, 0);
}

/* ---- MPI */

static void mpi_calls_have_names_and_all_their_fields(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t none = (uint64_t)-3;
    begin(fixture);
    PUT(fixture, TG_RECORD_MPI_COMM, 0, 11, 12, 13, TG_MPI_COMM_SPLIT, (uint64_t)-1, 2, 0, 0, 2, 4,
        (uint64_t)-1);
    const struct tg_event *event = only(fixture, TG_EVENT_MPI_COMM);
    assert_int_equal(event->mpi_comm.comm, 11);
    assert_int_equal(event->mpi_comm.parent, 12);
    assert_int_equal(event->mpi_comm.handle, 13);
    assert_int_equal(event->mpi_comm.origin, TG_MPI_COMM_SPLIT);
    assert_int_equal(event->mpi_comm.rank, -1);
    assert_int_equal(event->mpi_comm.size, 2);
    assert_int_equal(event->mpi_comm.members.count, 2);
    const struct tg_mpi_member *members = event->mpi_comm.members.items;
    assert_int_equal(members[0].world_rank, 4);
    assert_int_equal(members[1].world_rank, -1);

    PUT(fixture, TG_RECORD_MPI_ENTER, 0, TG_MPI_CALL_Bcast, 11, 3, none, none, 1, 4096, 0x401234);
    event = only(fixture, TG_EVENT_MPI_ENTER);
    assert_string_equal(event->mpi_enter.call, "MPI_Bcast");
    assert_int_equal(event->mpi_enter.comm, 11);
    assert_int_equal(event->mpi_enter.instance, 3);
    assert_int_equal(event->mpi_enter.peer, -3);
    assert_int_equal(event->mpi_enter.root, 1);
    assert_int_equal(event->mpi_enter.bytes, 4096);
    assert_int_equal(event->mpi_enter.code, 0x401234);

    PUT(fixture, TG_RECORD_MPI_LEAVE, 0, TG_MPI_CALL_Recv, 5, 6, 7, 8, (uint64_t)-9);
    event = only(fixture, TG_EVENT_MPI_LEAVE);
    assert_string_equal(event->mpi_leave.call, "MPI_Recv");
    assert_int_equal(event->mpi_leave.request, 5);
    assert_int_equal(event->mpi_leave.peer, 6);
    assert_int_equal(event->mpi_leave.tag, 7);
    assert_int_equal(event->mpi_leave.bytes, 8);
    assert_int_equal(event->mpi_leave.result, -9);

    PUT(fixture, TG_RECORD_MPI_COMPLETE, 0, 5, 6, 7, 8, 2);
    event = only(fixture, TG_EVENT_MPI_COMPLETE);
    assert_int_equal(event->mpi_complete.request, 5);
    assert_int_equal(event->mpi_complete.cancelled, 1);

    PUT(fixture, TG_RECORD_MPI_ENTER, 0,
        TG_MPI_CALL_Allreduce | (uint64_t)TG_MPI_OP_SUM << TG_MPI_CALL_OP_SHIFT |
            (uint64_t)TG_MPI_TYPE_COUNT_ << TG_MPI_CALL_TYPE_SHIFT,
        11, 3, none, none, 1, 4096, 0x401234);
    event = only(fixture, TG_EVENT_MPI_ENTER);
    assert_string_equal(event->mpi_enter.op, "MPI_SUM");
    assert_string_equal(event->mpi_enter.type, ""); /* no type has that number */
    PUT(fixture, TG_RECORD_MPI_ENTER, 0, TG_MPI_CALL_COUNT, 0, 0, 0, 0, 0, 0, 0);
    assert_string_equal(only(fixture, TG_EVENT_MPI_ENTER)->mpi_enter.call, "MPI_?");
    PUT(fixture, TG_RECORD_MPI_LEAVE, 0, UINT64_MAX, 0, 0, 0, 0, 0);
    assert_string_equal(only(fixture, TG_EVENT_MPI_LEAVE)->mpi_leave.call, "MPI_?");
}

static void calls_of_the_loader_become_events(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    uint64_t words[16] = {TG_CALL_DLMOPEN, 0x102, (uint64_t)-1, 0, 0x401000};
    size_t n = 5 + ring_string(words + 5, "./plugin.so");
    put_to(fixture, fixture->source, TG_RECORD_LIBRARY_CALL, 1000, 0, words, n);
    const struct tg_event *event = only(fixture, TG_EVENT_LIBRARY_CALL);
    assert_string_equal(event->library_call.path, "./plugin.so");
    assert_int_equal(event->library_call.namespace_id, -1);
    /* without an end */
    memset(words + 5, 'p', sizeof words[0]);
    put_to(fixture, fixture->source, TG_RECORD_LIBRARY_CALL, 1000, 0, words, 6);
    assert_string_equal(only(fixture, TG_EVENT_LIBRARY_CALL)->library_call.path, "ppppppp");
}

static void records_of_the_loader_name_their_threads(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    PUT(fixture, TG_RECORD_LOADER_ACTIVITY, 0, 12345, 0, 1);
    assert_int_equal(tg_ring_source_tid(fixture->source), 12345);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_record_of_a_program_says_that_it_is_watched),
        TEST(an_agent_that_steps_aside_at_once_was_never_watching),
        TEST(another_program_in_the_process_is_told_and_ends_the_rings_of_the_one_before),
        TEST(losses_are_told_and_counted),
        TEST(unknown_kinds_and_short_records_are_counted_and_nothing_else),
        TEST(strings_end_even_where_nobody_ended_them),
        TEST(a_runtime_has_its_name_and_version),
        TEST(regions_are_entered_and_left),
        TEST(low_bits_of_teams_come_round),
        TEST(a_region_stays_known_however_many_begin_and_end_in_it),
        TEST(teams_deeper_than_are_kept_do_no_harm),
        TEST(waits_locks_and_tasks_have_their_fields),
        TEST(every_record_fills_the_member_of_the_event_that_it_becomes),
        TEST(dependences_are_as_many_as_are_there),
        TEST(mpi_calls_have_names_and_all_their_fields),
        TEST(calls_of_the_loader_become_events),
        TEST(records_of_the_loader_name_their_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
