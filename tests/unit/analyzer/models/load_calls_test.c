#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyzer/models/load_calls.h"

static uint64_t now_ns;

static struct tg_load_calls *create(void)
{
    struct tg_load_calls *model = NULL;
    now_ns = 0;
    assert_null(tg_load_calls_create(&model));
    return model;
}

static void call(struct tg_load_calls *model, int32_t tid, enum tg_library_call which, const char *path,
                 uint64_t caller, const char *object)
{
    struct tg_event event = {.time_ns = ++now_ns, .pid = 10, .tid = tid, .kind = TG_EVENT_LIBRARY_CALL};
    event.library_call = (struct tg_event_library_call){.call = which, .path = path, .caller = caller};
    assert_null(tg_load_calls_feed(model, &event, 3, object));
}

static void returns(struct tg_load_calls *model, int32_t tid, enum tg_library_call which, uint64_t handle,
                    const char *error)
{
    struct tg_event event = {.time_ns = ++now_ns, .pid = 10, .tid = tid, .kind = TG_EVENT_LIBRARY_RETURN};
    event.library_return = (struct tg_event_library_return){.call = which, .handle = handle, .error = error};
    assert_null(tg_load_calls_feed(model, &event, 3, ""));
}

static void happens(struct tg_load_calls *model, int32_t tid, enum tg_event_kind kind)
{
    struct tg_event event = {.time_ns = ++now_ns, .pid = 10, .tid = tid, .kind = kind};
    assert_null(tg_load_calls_feed(model, &event, 3, ""));
}

static void failures_that_are_alike_are_one(void **state)
{
    (void)state;
    struct tg_load_calls *model = create();
    for (uint64_t i = 0; i < 3; i++) { /* of one object from several places, in two threads */
        call(model, 10 + (int32_t)(i % 2), TG_CALL_DLOPEN, "liba.so", 0x1000 + i, "/bin/solver");
        returns(model, 10 + (int32_t)(i % 2), TG_CALL_DLOPEN, 0, "liba.so: no");
    }
    call(model, 10, TG_CALL_DLOPEN, "liba.so", 0x1000, "/lib/other.so");
    returns(model, 10, TG_CALL_DLOPEN, 0, "liba.so: no");
    call(model, 10, TG_CALL_DLOPEN, "liba.so", 0x1000, "");
    returns(model, 10, TG_CALL_DLOPEN, 0, "liba.so: no");
    call(model, 10, TG_CALL_DLOPEN, "liba.so", 0x2000, "");
    returns(model, 10, TG_CALL_DLOPEN, 0, "liba.so: no");
    call(model, 10, TG_CALL_DLOPEN, "liba.so", 0x2000, "");
    returns(model, 10, TG_CALL_DLOPEN, 0, "liba.so: another reason");
    assert_int_equal(tg_load_calls_count(model), 5);
    const struct tg_load_failure *first = tg_load_calls_at(model, 0);
    assert_int_equal(first->times, 3);
    assert_int_equal(first->first_ns, 2);
    assert_int_equal(first->first_process, 3);
    assert_int_equal(first->caller, 0x1000);
    assert_string_equal(first->path, "liba.so");
    assert_string_equal(first->object, "/bin/solver");
    assert_string_equal(first->error, "liba.so: no");
    assert_int_equal(tg_load_calls_totals(model).failed, 7);
    tg_load_calls_destroy(model);
}

static void calls_nest(void **state)
{
    (void)state;
    struct tg_load_calls *model = create();
    call(model, 10, TG_CALL_DLOPEN, "outer.so", 1, "");
    call(model, 10, TG_CALL_DLMOPEN, "inner.so", 2, "");
    returns(model, 10, TG_CALL_DLMOPEN, 0, "inner: no");
    returns(model, 10, TG_CALL_DLOPEN, 77, "");
    call(model, 10, TG_CALL_DLCLOSE, "", 3, "");
    returns(model, 10, TG_CALL_DLCLOSE, 77, "");
    call(model, 10, TG_CALL_DLOPEN, "absent.so", 4, "");
    returns(model, 10, TG_CALL_DLOPEN, 0, "");
    struct tg_load_call_totals totals = tg_load_calls_totals(model);
    assert_int_equal(totals.calls[TG_CALL_DLOPEN], 2);
    assert_int_equal(totals.calls[TG_CALL_DLMOPEN], 1);
    assert_int_equal(totals.calls[TG_CALL_DLCLOSE], 1);
    assert_int_equal(totals.returned, 4);
    assert_int_equal(totals.failed, 1);
    assert_int_equal(totals.not_loaded, 1);
    assert_string_equal(tg_load_calls_at(model, 0)->path, "inner.so");
    tg_load_calls_destroy(model);
}

/* By longjmp, an exception, the end of a thread or program; or the return was not seen. */
static void some_never_return(void **state)
{
    (void)state;
    struct tg_load_calls *model = create();
    for (int i = 0; i < 100; i++)
        call(model, 10, TG_CALL_DLOPEN, "jumping.so", 1, "");
    call(model, 10, TG_CALL_DLMOPEN, "last.so", 2, "");
    call(model, 10, TG_CALL_DLOPEN, "left.so", 2, "");
    returns(model, 10, TG_CALL_DLMOPEN, 0, "last: no");
    assert_string_equal(tg_load_calls_at(model, 0)->path, "last.so");
    happens(model, 10, TG_EVENT_EXEC);
    returns(model, 10, TG_CALL_DLOPEN, 0, "of nobody's call");
    call(model, 11, TG_CALL_DLOPEN, "thread.so", 1, "");
    happens(model, 11, TG_EVENT_THREAD_EXIT);
    returns(model, 11, TG_CALL_DLOPEN, 0, "of nobody's call");
    struct tg_load_call_totals totals = tg_load_calls_totals(model);
    assert_int_equal(totals.calls[TG_CALL_DLOPEN], 102);
    assert_int_equal(totals.returned, 1);
    assert_int_equal(totals.failed, 1);
    tg_load_calls_destroy(model);
}

static void what_a_stranger_may_write(void **state)
{
    (void)state;
    struct tg_load_calls *model = create();
    for (int i = 0; i < 2 * TG_LOAD_CALL_MAX_FAILURES; i++) {
        char path[32];
        snprintf(path, sizeof path, "lib%d.so", i);
        call(model, 10, (enum tg_library_call)12345, path, 1, "");
        returns(model, 10, (enum tg_library_call)12345, 0, "no");
    }
    assert_int_equal(tg_load_calls_count(model), TG_LOAD_CALL_MAX_FAILURES);
    assert_int_equal(tg_load_calls_totals(model).beyond_limit, TG_LOAD_CALL_MAX_FAILURES);
    tg_load_calls_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_that_are_alike_are_one),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(some_never_return),
        cmocka_unit_test(what_a_stranger_may_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
