/* Records of the heap library, made up, and the events that become of them. */
#include "recorder/rings/heap_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

struct fixture {
    struct tg_heap_stacks *stacks;
    struct tg_heap_program *programs[2];
    struct tg_event_sink sink;
    char log[4096]; /* one line for each event */
};

static void append(struct fixture *fixture, const char *text)
{
    assert_true(strlen(fixture->log) + strlen(text) + 1 < sizeof fixture->log);
    strcat(fixture->log, text);
}

static void log_stack(struct fixture *fixture, const struct tg_event_heap_stack *stack)
{
    const struct tg_stack_frame *frames = stack->frames.items;
    char text[512];
    snprintf(text, sizeof text, "stack %" PRIu64 " end %" PRIu64 ":", stack->stack, stack->end);
    append(fixture, text);
    if (stack->outer != 0) {
        snprintf(text, sizeof text, " in %" PRIu64, stack->outer);
        append(fixture, text);
    }
    for (uint64_t i = 0; i < stack->frames.count; i++) {
        snprintf(text, sizeof text, " %s%s+%" PRIx64 "%s", frames[i].module, frames[i].build_id,
                 frames[i].address, frames[i].kind == TG_FRAME_SIGNAL ? "!" : "");
        append(fixture, text);
    }
    append(fixture, "\n");
}

static void log_event(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    char text[512] = "";
    if (event->kind == TG_EVENT_HEAP_STACK)
        log_stack(fixture, &event->heap_stack);
    else if (event->kind == TG_EVENT_HEAP_ALLOC)
        snprintf(text, sizeof text, "alloc %" PRIx64 " of %" PRIu64 " stack %" PRIu64 " call %" PRIu64 "\n",
                 event->heap_alloc.address, event->heap_alloc.size_bytes, event->heap_alloc.stack,
                 event->heap_alloc.call);
    else if (event->kind == TG_EVENT_HEAP_FREE)
        snprintf(text, sizeof text, "free %" PRIx64 " stack %" PRIu64 " release %" PRIu64 "\n",
                 event->heap_free.address, event->heap_free.stack, event->heap_free.release);
    else if (event->kind == TG_EVENT_HEAP_RESIZE)
        snprintf(text, sizeof text, "resize %" PRIx64 " to %" PRIu64 " stack %" PRIu64 "\n",
                 event->heap_resize.address, event->heap_resize.size_bytes, event->heap_resize.stack);
    else if (event->kind == TG_EVENT_HEAP_UNSEEN)
        snprintf(text, sizeof text, "unseen %s: %s\n", event->heap_unseen.module, event->heap_unseen.reason);
    else if (event->kind == TG_EVENT_HEAP_ERROR)
        snprintf(text, sizeof text,
                 "error %" PRIu64 " stacks %" PRIu64 " %" PRIu64 " %" PRIu64 " offset %" PRId64 " of %s\n",
                 event->heap_error.error, event->heap_error.stack, event->heap_error.allocated_stack,
                 event->heap_error.freed_stack, event->heap_error.offset, event->heap_error.call);
    else if (event->kind == TG_EVENT_HEAP_START)
        snprintf(
            text, sizeof text,
            "start %" PRIu64 " depth %" PRIu64 " guards %" PRIu64 " red zones %" PRIx64 "+%" PRIu64 " %s\n",
            event->heap_start.mode, event->heap_start.depth, event->heap_start.guard_bytes,
            event->heap_start.red_zone_start, event->heap_start.red_zone_bytes, event->heap_start.allocator);
    append(fixture, text);
}

static int begin(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.sink = {.context = &fixture, .add = log_event}};
    *state = &fixture;
    assert_null(tg_heap_stacks_create(&fixture.stacks));
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    tg_heap_program_destroy(fixture->programs[0]);
    tg_heap_program_destroy(fixture->programs[1]);
    tg_heap_stacks_destroy(fixture->stacks);
    return 0;
}

/* One record of PROGRAM; the arguments are copied, as they may be changed. */
static void add(struct fixture *fixture, unsigned program, enum tg_agent_record kind, size_t n,
                const uint64_t *given)
{
    uint64_t arguments[64];
    struct tg_event event = {.time_ns = 1, .pid = 1 + (int32_t)program, .tid = 1};
    assert_true(n <= sizeof arguments / sizeof arguments[0]);
    memcpy(arguments, given, n * sizeof arguments[0]);
    tg_heap_records_add(fixture->stacks, &fixture->programs[program], kind, arguments, n, &event,
                        &fixture->sink);
}

#define ADD(fixture, program, kind, ...)                                                                     \
    add(fixture, program, kind, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static uint64_t text(const char *eight)
{
    uint64_t word = 0;
    memcpy(&word, eight, strlen(eight) < 8 ? strlen(eight) : 8);
    return word;
}

static void expect(struct fixture *fixture, const char *log)
{
    assert_string_equal(fixture->log, log);
    fixture->log[0] = '\0';
}

/* Numbers are dense, and those of the same code in another process, mapped elsewhere, are the same. */
static void test_stacks(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t base = 0x10000 * (i + 1);
        ADD(fixture, i, TG_RECORD_HEAP_OBJECT, base, base + 0x1000, base, 2, 0x1234, 0, 0, text("/lib/a"));
        ADD(fixture, i, TG_RECORD_HEAP_STACK, 7000 + i, TG_STACK_WHOLE, 2, base + 0x11, base + 0x22);
        ADD(fixture, i, TG_RECORD_HEAP_ALLOC, 0x5000 | (uint64_t)TG_HEAP_CALLOC << 48,
            24 | (uint64_t)(7000 + i) << 32);
    }
    expect(fixture, "stack 1 end 0: /lib/a3412+10 /lib/a3412+21\nalloc 5000 of 24 stack 1 call 1\n"
                    "stack 1 end 0: /lib/a3412+10 /lib/a3412+21\nalloc 5000 of 24 stack 1 call 1\n");
    ADD(fixture, 1, TG_RECORD_HEAP_STACK, 7001, TG_STACK_WHOLE, 1,
        0x20033); /* told before by another thread */
    ADD(fixture, 1, TG_RECORD_HEAP_STACK, 3, TG_STACK_CUT, 2, 0x20011, 0x20022);
    ADD(fixture, 1, TG_RECORD_HEAP_FREE, 0x5000, 3);
    ADD(fixture, 1, TG_RECORD_HEAP_FREE, 0x5000, 4);
    expect(fixture, "stack 2 end 1: /lib/a3412+10 /lib/a3412+21\nfree 5000 stack 2 release 0\n"
                    "free 5000 stack 0 release 0\n");
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 9, TG_STACK_WHOLE, 4, 0x10011, 0x10021, 0, 0x10040);
    expect(fixture, "stack 3 end 0: /lib/a3412+10 /lib/a3412+20! /lib/a3412+40\n");
}

static uint64_t inside(uint64_t outer, enum tg_stack_end end)
{
    return end | outer << 32;
}

/* Frames that follow are those of a stack that was told; where they are not known, the stack is not. */
static void test_outer_frames(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t base = 0x10000 * (i + 1);
        ADD(fixture, i, TG_RECORD_HEAP_OBJECT, base, base + 0x1000, base, 0, 0, 0, 0, text("/lib/a"));
        ADD(fixture, i, TG_RECORD_HEAP_STACK, 5, inside(6, TG_STACK_WHOLE), 1, base + 0x33);
        ADD(fixture, i, TG_RECORD_HEAP_STACK, 6, TG_STACK_WHOLE, 2, base + 0x11, base + 0x22);
        ADD(fixture, i, TG_RECORD_HEAP_STACK, 7, inside(6, TG_STACK_WHOLE), 1, base + 0x33);
        ADD(fixture, i, TG_RECORD_HEAP_STACK, 8, inside(7, TG_STACK_NO_RULE), 1, base + 0x33);
        assert_int_equal(tg_heap_program_stacks(fixture->programs[i]), 3);
        expect(fixture, "stack 1 end 0: /lib/a+10 /lib/a+21\nstack 2 end 0: in 1 /lib/a+32\n"
                        "stack 3 end 2: in 2 /lib/a+32\n");
    }
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 9, TG_STACK_WHOLE, 1, 0x10033); /* alone it is another one */
    ADD(fixture, 0, TG_RECORD_HEAP_FREE, 0x5000, 5);
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 5, inside(6, TG_STACK_WHOLE), 1, 0x10033); /* now it is known */
    expect(fixture, "stack 4 end 0: /lib/a+32\nfree 5000 stack 0 release 0\nstack 2 end 0: in 1 /lib/a+32\n");
}

/* The recorder's own stacks have numbers that no agent's has. */
static void test_numbers(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t i = 1; i < TG_HEAP_STACK_OUTSIDE; i++)
        ADD(fixture, 0, TG_RECORD_HEAP_STACK, i, 0, 1, 0x1000 + i);
    fixture->log[0] = '\0';
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 1000, 0, 1, 0x2000);
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 1001, 0, 1, 0x2001);
    expect(fixture, "stack 65 end 0: +0\nstack 66 end 0: +0\n");
}

/* Another library where one was: what came last is there. */
static void test_objects(void **state)
{
    struct fixture *fixture = *state;
    ADD(fixture, 0, TG_RECORD_HEAP_OBJECT, 0x1000, 0x3000, 0x1000, 0, 0, 0, 0, text("one"));
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 1, 0, 1, 0x1011);
    ADD(fixture, 0, TG_RECORD_HEAP_OBJECT, 0x1000, 0x2000, 0, 0, 0, 0, 0, text("two"));
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 2, 0, 3, 0x1011, 0x2011, 0x9011);
    expect(fixture, "stack 1 end 0: one+10\nstack 2 end 0: two+1010 one+1010 +0\n");
}

static void test_events(void **state)
{
    struct fixture *fixture = *state;
    ADD(fixture, 0, TG_RECORD_HEAP_START, TG_HEAP_CHECK | UINT64_C(32) << 32, 0, 0x10000, 0x2000,
        text("libc"));
    ADD(fixture, 0, TG_RECORD_HEAP_UNSEEN, text("prog"), text("own"));
    ADD(fixture, 0, TG_RECORD_HEAP_ALLOC_LARGE, 0x7000 | (uint64_t)TG_HEAP_NEW << 48, 0, UINT64_C(1) << 40);
    ADD(fixture, 0, TG_RECORD_HEAP_RESIZE, 0x7000, 0, 99);
    ADD(fixture, 0, TG_RECORD_HEAP_ERROR, TG_HEAP_GUARD_CORRUPTION, 8, 9, 10, 0, 0, 0, 1, 2, (uint64_t)-1, 3,
        text("free"));
    expect(fixture, "start 2 depth 32 guards 16 red zones 10000+8192 libc\nunseen prog: own\n"
                    "alloc 7000 of 1099511627776 stack 0 call 4\nresize 7000 to 99 stack 0\n"
                    "error 4 stacks 0 0 0 offset -1 of free\n");
}

/* Nonsense from the program: counts and ids beyond all bounds, strings without an end. */
static void test_nonsense(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t x = UINT64_C(0x7878787878787878);
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 0, 0, 1, 1);
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, UINT64_MAX, 0, 1, 1);
    ADD(fixture, 0, TG_RECORD_HEAP_UNSEEN, x, x);
    ADD(fixture, 0, TG_RECORD_HEAP_OBJECT, 0, UINT64_MAX, 5, UINT64_MAX, x, x, x, x);
    expect(fixture, "unseen xxxxxxxxxxxxxxx: \n");
    ADD(fixture, 0, TG_RECORD_HEAP_STACK, 1, 77, UINT64_MAX, 0, 0, 9);
    expect(fixture, "stack 1 end 77: xxxxxxx787878787878787878787878787878787878787878787878+4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stacks, begin, end),
        cmocka_unit_test_setup_teardown(test_outer_frames, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers, begin, end),
        cmocka_unit_test_setup_teardown(test_objects, begin, end),
        cmocka_unit_test_setup_teardown(test_events, begin, end),
        cmocka_unit_test_setup_teardown(test_nonsense, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
