/* Records of the auditor and of the dlopen wrappers, made up, and the events that become of them. */
#include "recorder/rings/library_records.h"

#include <dlfcn.h>
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

enum { ADD = 1, CONSISTENT = 0, DELETE = 2 };

struct fixture {
    struct tg_agent_loader *loader;
    struct tg_event_sink sink;
    int32_t pid;
    uint64_t instance;
    uint64_t now_ns;
    uint64_t busy_ns, agent_ns; /* what the auditor says it took, and what events say */
    bool begins_late;
    char log[8192]; /* one line for each event */
};

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void append(struct fixture *fixture, const char *text)
{
    size_t used = strlen(fixture->log);
    assert_true(used + strlen(text) + 1 < sizeof fixture->log);
    strcat(fixture->log, text);
}

static void append_libraries(struct fixture *fixture, const struct tg_list *list)
{
    const struct tg_library *libraries = list->items;
    for (uint64_t i = 0; i < list->count; i++) {
        char text[512];
        snprintf(text, sizeof text, " %s%s", file_of(libraries[i].path), libraries[i].dependency ? "*" : "");
        append(fixture, text);
    }
    append(fixture, "\n");
}

static void log_event(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    static const char *const found[] = {"startup", "loader", "catch_up", "attach", "agent", "in_process"};
    char text[512];
    assert_true(event->time_ns <= fixture->now_ns);
    if (event->kind == TG_EVENT_LIBRARY_LOAD) {
        const struct tg_event_library_load *load = &event->library_load;
        fixture->agent_ns += load->agent_ns;
        snprintf(text, sizeof text, "load %s ns%" PRIu64 " state%" PRIu64 ":", found[load->found],
                 load->namespace_index, load->state);
        append(fixture, text);
        append_libraries(fixture, &load->libraries);
    } else if (event->kind == TG_EVENT_LIBRARY_UNLOAD) {
        const struct tg_event_library_unload *unload = &event->library_unload;
        snprintf(text, sizeof text, "unload %s ns%" PRIu64 ":", found[unload->found],
                 unload->namespace_index);
        append(fixture, text);
        append_libraries(fixture, &unload->libraries);
    } else if (event->kind == TG_EVENT_LIBRARY_NULL) {
        snprintf(text, sizeof text, "null %" PRIu64 "\n", event->library_null.state);
        append(fixture, text);
    } else if (event->kind == TG_EVENT_LIBRARY_CALL) {
        snprintf(text, sizeof text,
                 "call %" PRIu64 " \"%s\" flags %" PRIu64 " handle %" PRIu64 " from %" PRIx64 "\n",
                 event->library_call.call, event->library_call.path, event->library_call.flags,
                 event->library_call.handle, event->library_call.caller);
        append(fixture, text);
    } else if (event->kind == TG_EVENT_LIBRARY_RETURN) {
        snprintf(text, sizeof text, "return %" PRIu64 " %" PRIu64 " \"%s\"\n", event->library_return.call,
                 event->library_return.handle, event->library_return.error);
        append(fixture, text);
    } else if (event->kind == TG_EVENT_FILTER_DECISION) {
        const struct tg_event_filter_decision *decision = &event->filter_decision;
        snprintf(text, sizeof text, "decision %" PRIu64 " rule %" PRIu64 " \"%s\" %s\n", decision->decision,
                 decision->rule, decision->pattern, file_of(decision->library));
        append(fixture, text);
    } else if (event->kind == TG_EVENT_LOSS) {
        append(fixture, "loss\n");
    }
}

static bool tells_busy(enum tg_agent_record kind)
{
    return kind == TG_RECORD_LOADER_ACTIVITY || kind == TG_RECORD_LOADER_DECISION;
}

static void add(struct fixture *fixture, enum tg_agent_record kind, const uint64_t *arguments, size_t count)
{
    fixture->now_ns += 100;
    fixture->busy_ns += 10;
    const struct tg_agent_loader_record record = {.pid = fixture->pid,
                                                  .tid = fixture->pid,
                                                  .instance = fixture->instance,
                                                  .time_ns = fixture->now_ns,
                                                  .busy_ns = tells_busy(kind) ? fixture->busy_ns : 0,
                                                  .begins_late = fixture->begins_late,
                                                  .kind = kind,
                                                  .arguments = arguments,
                                                  .n_arguments = count};
    tg_agent_loader_add(fixture->loader, &record, &fixture->sink);
}

static void activity(struct fixture *fixture, uint64_t namespace_id, uint64_t action)
{
    add(fixture, TG_RECORD_LOADER_ACTIVITY, (const uint64_t[]){1, namespace_id, action, 0}, 4);
}

static void open_library(struct fixture *fixture, uint64_t namespace_id, uint64_t link_map, const char *path,
                         unsigned flags)
{
    uint64_t arguments[64] = {1,  namespace_id,       flags, link_map, link_map * 0x1000, 0x4000,
                              20, 0x0807060504030201, 2,     3};
    assert_true(strlen(path) < 8 * 50);
    memcpy(&arguments[10], path, strlen(path) + 1);
    add(fixture, TG_RECORD_LOADER_OPEN, arguments, 64);
}

static void close_library(struct fixture *fixture, uint64_t namespace_id, uint64_t link_map)
{
    add(fixture, TG_RECORD_LOADER_CLOSE, (const uint64_t[]){1, namespace_id, link_map, 0}, 4);
}

static void decide(struct fixture *fixture, uint64_t action, uint64_t decided, uint64_t rule,
                   uint64_t link_map, const char *pattern)
{
    uint64_t arguments[16] = {1, 0, action, decided, rule, link_map, 0};
    assert_true(strlen(pattern) < 8 * 9);
    memcpy(&arguments[7], pattern, strlen(pattern) + 1);
    add(fixture, TG_RECORD_LOADER_DECISION, arguments, 16);
}

static void preinit(struct fixture *fixture)
{
    add(fixture, TG_RECORD_LOADER_PREINIT, (const uint64_t[]){1, 0}, 2);
}

static void expect(struct fixture *fixture, const char *log)
{
    assert_string_equal(fixture->log, log);
    fixture->log[0] = '\0';
}

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.pid = 100, .instance = 7};
    fixture.sink = (struct tg_event_sink){.context = &fixture, .add = log_event};
    assert_null(tg_agent_loader_create(&fixture.loader));
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tg_agent_loader_destroy(fixture->loader);
    return 0;
}

static void start(struct fixture *fixture)
{
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 1, "/lib/libm.so.6", 0);
    open_library(fixture, 0, 2, "/lib/libc.so.6", TG_AGENT_OPEN_NEEDED);
    activity(fixture, 0, CONSISTENT);
    preinit(fixture);
    expect(fixture, "null 1\nload startup ns0 state0: libm.so.6 libc.so.6*\n");
}

static void loads_and_unloads(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/libouter.so", 0);
    open_library(fixture, 0, 11, "/a/libinner.so", 0);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 1\nload agent ns0 state0: libouter.so libinner.so*\n");
    activity(fixture, 0, DELETE);
    close_library(fixture, 0, 10);
    close_library(fixture, 0, 11);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 2\nunload agent ns0: libouter.so libinner.so\n");
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 0\n");
}

static void failed_load(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/libbroken.so", 0);
    activity(fixture, 0, DELETE);
    close_library(fixture, 0, 10);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 1\nload agent ns0 state2: libbroken.so\nunload agent ns0: libbroken.so\n");
}

static void decisions(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/libouter.so", 0);
    open_library(fixture, 0, 11, "/a/libinner.so", 0);
    decide(fixture, CONSISTENT, TG_AGENT_DECIDED_DEFERRED, TG_RULE_PATTERN, 11, "!*inner*");
    expect(fixture, "null 1\nload in_process ns0 state0: libouter.so libinner.so*\n"
                    "decision 1 rule 1 \"!*inner*\" libinner.so\n");
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "");
    /* the recorder tells what is reported; how it goes is told here */
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 12, "/a/libtold.so", 0);
    decide(fixture, CONSISTENT, TG_AGENT_DECIDED_AT_STOP, TG_RULE_NO_STOP, 0, "");
    activity(fixture, 0, CONSISTENT);
    activity(fixture, 0, DELETE);
    close_library(fixture, 0, 12);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 1\nnull 2\nunload agent ns0: libtold.so\n");
    /* nothing stopped it, and nonsense is nothing else */
    for (uint64_t decided = TG_AGENT_DECIDED_NOT_STOPPED; decided < 100; decided += 90) {
        activity(fixture, 0, ADD);
        open_library(fixture, 0, 13, "/a/libfree.so", 0);
        decide(fixture, DELETE, decided, 77, 99, "");
        activity(fixture, 0, DELETE);
        close_library(fixture, 0, 13);
        activity(fixture, 0, CONSISTENT);
        expect(fixture, "null 1\nload in_process ns0 state2: libfree.so\ndecision 2 rule 5 \"\" \n"
                        "unload agent ns0: libfree.so\n");
    }
    decide(fixture, CONSISTENT, TG_AGENT_DECIDED_DEFERRED, TG_RULE_PATTERN, 10, "*"); /* about nothing */
    expect(fixture, "");
}

static void namespaces(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    for (int i = 0; i < 2; i++) {
        activity(fixture, 3, ADD); /* numbered by their appearance, whatever the loader calls them */
        open_library(fixture, 3, 10, "/a/libapart.so", 0);
        activity(fixture, 3, CONSISTENT);
        activity(fixture, 2, ADD);
        open_library(fixture, 2, 12, "/a/libother.so", 0);
        activity(fixture, 2, CONSISTENT);
        activity(fixture, 3, DELETE);
        close_library(fixture, 3, 10);
        activity(fixture, 3, CONSISTENT);
        activity(fixture, 2, DELETE);
        close_library(fixture, 2, 12);
        activity(fixture, 2, CONSISTENT);
        expect(fixture,
               "null 1\nload agent ns1 state0: libapart.so\nnull 1\nload agent ns2 state0: libother.so\n"
               "null 2\nunload agent ns1: libapart.so\nnull 2\nunload agent ns2: libother.so\n");
    }
}

static void fork_child(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    fixture->pid = 101;
    fixture->instance = 8;
    open_library(fixture, 0, 2, "/lib/libc.so.6", TG_AGENT_OPEN_INHERITED);
    open_library(fixture, 0, 10, "/a/libold.so", TG_AGENT_OPEN_INHERITED);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 11, "/a/libnew.so", 0);
    activity(fixture, 0, CONSISTENT);
    activity(fixture, 0, DELETE);
    close_library(fixture, 0, 10);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 1\nload agent ns0 state0: libnew.so\nnull 2\nunload agent ns0: libold.so\n");
}

static void ends_in_the_middle(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/liblast.so", 0);
    expect(fixture, "null 1\n");
    tg_agent_loader_end(fixture->loader, 100, 7, 0, &fixture->sink);
    expect(fixture, "load agent ns0 state1: liblast.so\n");
    tg_agent_loader_end(fixture->loader, 100, 7, 0, &fixture->sink);
    expect(fixture, "");
    /* the next program of the process begins anew */
    start(fixture);
}

/* All that an auditor said it took, but for what came behind the last load; that of a load at a stop is in the next one. */
static void what_the_auditor_took(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    assert_int_equal(fixture->agent_ns, fixture->busy_ns - 10); /* but for what la_preinit took */
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/liba.so", 0);
    activity(fixture, 0, CONSISTENT);
    uint64_t told = fixture->busy_ns;
    assert_int_equal(fixture->agent_ns, told);
    open_library(fixture, 0, 20, "/a/libb.so", 0);
    decide(fixture, CONSISTENT, TG_AGENT_DECIDED_AT_STOP, TG_RULE_NO_STOP, 0, "");
    activity(fixture, 0, CONSISTENT);
    assert_int_equal(fixture->agent_ns, told);
    open_library(fixture, 0, 30, "/a/libc.so", 0);
    decide(fixture, CONSISTENT, TG_AGENT_DECIDED_DEFERRED, TG_RULE_NO_STOP, 0, "");
    assert_int_equal(fixture->agent_ns, fixture->busy_ns);
}

/* What was taken before is in the file, or was overwritten. */
static void what_the_auditor_took_before_a_salvaged_rest_is_not_its(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t before = fixture->busy_ns = 1000000;
    fixture->begins_late = true;
    open_library(fixture, 0, 10, "/a/liba.so", 0);
    activity(fixture, 0, CONSISTENT);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 20, "/a/libb.so", 0);
    activity(fixture, 0, CONSISTENT);
    assert_in_range(fixture->agent_ns, 10, fixture->busy_ns - before);
}

static void calls(void **state)
{
    struct fixture *fixture = *state;
    uint64_t arguments[7] = {TG_CALL_DLOPEN, 0x102, 0, 0, 0x401000};
    memcpy(&arguments[5], "libx.so", 8);
    add(fixture, TG_RECORD_LIBRARY_CALL, arguments, 6);
    uint64_t returned[4] = {TG_CALL_DLOPEN, 0};
    memcpy(&returned[2], "gone: no", 8);
    add(fixture, TG_RECORD_LIBRARY_RETURN, returned, 4);
    add(fixture, TG_RECORD_LIBRARY_CALL, (const uint64_t[]){TG_CALL_DLCLOSE, 0, 0, 77, 0x402000, 0}, 6);
    add(fixture, TG_RECORD_LIBRARY_RETURN, (const uint64_t[]){TG_CALL_DLCLOSE, 77, 0, 0}, 4);
    expect(fixture, "call 0 \"libx.so\" flags 258 handle 0 from 401000\nreturn 0 0 \"gone: no\"\n"
                    "call 2 \"\" flags 0 handle 77 from 402000\nreturn 2 77 \"\"\n");
}

static void add_told_call(struct fixture *fixture, enum tg_library_call call)
{
    add(fixture, TG_RECORD_LIBRARY_CALL,
        (const uint64_t[]){(uint64_t)call | TG_AGENT_CALL_IS_TOLD, 1, 0, 0, 0x401000, 0}, 6);
    expect(fixture, call == TG_CALL_DLOPEN ? "call 0 \"\" flags 1 handle 0 from 401000\n"
                                           : "call 1 \"\" flags 1 handle 0 from 401000\n");
}

static void add_return(struct fixture *fixture, enum tg_library_call call, uint64_t handle, const char *error)
{
    uint64_t arguments[10] = {call, handle};
    assert_true(strlen(error) < 64);
    memcpy(&arguments[2], error, strlen(error) + 1);
    add(fixture, TG_RECORD_LIBRARY_RETURN, arguments, 10);
}

/* Since glibc 2.41 the loader stops at the end of each dlopen, and tells the auditor only where something was loaded. */
static void ends_of_calls_that_load_nothing(void **state)
{
    struct fixture *fixture = *state;
    add_told_call(fixture, TG_CALL_DLOPEN);
    add_return(fixture, TG_CALL_DLOPEN, 5, "");
    expect(fixture, "return 0 5 \"\"\n"); /* there is no auditor: the stop itself is seen */
    start(fixture);
    add_told_call(fixture, TG_CALL_DLOPEN);
    add_return(fixture, TG_CALL_DLOPEN, 5, "");
    expect(fixture, "null 0\nreturn 0 5 \"\"\n");
    add_told_call(fixture, TG_CALL_DLOPEN);
    add_return(fixture, TG_CALL_DLOPEN, 0, "libx.so: cannot open");
    expect(fixture, "null 0\nreturn 0 0 \"libx.so: cannot open\"\n");
    add_told_call(fixture, TG_CALL_DLOPEN);
    activity(fixture, 0, ADD);
    open_library(fixture, 0, 10, "/a/libouter.so", 0);
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "null 1\nload agent ns0 state0: libouter.so\n");
    add_told_call(fixture, TG_CALL_DLOPEN); /* of a constructor of it */
    add_return(fixture, TG_CALL_DLOPEN, 5, "");
    add(fixture, TG_RECORD_LIBRARY_CALL, (const uint64_t[]){TG_CALL_DLCLOSE, 0, 0, 5, 0x402000, 0}, 6);
    add_return(fixture, TG_CALL_DLCLOSE, 5, "");
    expect(fixture, "null 0\nreturn 0 5 \"\"\ncall 2 \"\" flags 0 handle 5 from 402000\nreturn 2 5 \"\"\n");
    add_return(fixture, TG_CALL_DLOPEN, 10, "");
    expect(fixture, "return 0 10 \"\"\n");
    add(fixture, TG_RECORD_LIBRARY_CALL,
        (const uint64_t[]){TG_CALL_DLMOPEN | TG_AGENT_CALL_IS_TOLD, 1, (uint64_t)LM_ID_NEWLM, 0, 0x401000, 0},
        6);
    expect(fixture, "call 1 \"\" flags 1 handle 0 from 401000\nnull 0\n");
}

/* By longjmp, or by the end of their thread. */
static void calls_that_never_return(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    for (int i = 0; i < 5000; i++)
        add_told_call(fixture, TG_CALL_DLOPEN);
    add_return(fixture, TG_CALL_DLOPEN, 0, "invalid mode.so: cannot open");
    expect(fixture, "null 0\nreturn 0 0 \"invalid mode.so: cannot open\"\n");
    for (int i = 0; i < 4094; i++) {
        add_return(fixture, TG_CALL_DLOPEN, 0, "invalid mode parameter");
        fixture->log[0] = '\0';
    }
    add_return(fixture, TG_CALL_DLOPEN, 5, "");
    expect(fixture, "null 0\nreturn 0 5 \"\"\n"); /* 4,096 are remembered, the last ones */
    add_return(fixture, TG_CALL_DLOPEN, 5, "");
    expect(fixture, "return 0 5 \"\"\n");
}

/* What glibc refuses before it begins. */
static void refused_calls_are_not_told(void **state)
{
    struct fixture *fixture = *state;
    static const char *const errors[] = {"invalid mode parameter: Invalid argument",
                                         "libx.so: invalid mode for dlopen(): Invalid argument",
                                         "libx.so: invalid target namespace in dlmopen(): Invalid"};
    start(fixture);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char expected[128];
        add_told_call(fixture, TG_CALL_DLMOPEN);
        add_return(fixture, TG_CALL_DLMOPEN, 0, errors[i]);
        snprintf(expected, sizeof expected, "return 1 0 \"%s\"\n", errors[i]);
        expect(fixture, expected);
    }
}

/* Records that a ring with losses, or a hostile program, may hold. */
static void nonsense(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    close_library(fixture, 0, 999);
    activity(fixture, 0, 12345);
    expect(fixture, "null 0\n");
    open_library(fixture, 0, 10, "/a/libfirst.so", 0);
    activity(fixture, 0, CONSISTENT);
    open_library(fixture, 0, 10, "/a/libsecond.so", 0); /* the unload was lost */
    activity(fixture, 0, CONSISTENT);
    expect(fixture, "load agent ns0 state0: libfirst.so\nunload agent ns0: libfirst.so\n"
                    "load agent ns0 state0: libsecond.so\n");
    for (uint64_t id = 1; id < 200; id++)
        activity(fixture, id, ADD);
    assert_non_null(strstr(fixture->log, "loss\n"));
    assert_null(strstr(strstr(fixture->log, "loss\n") + 1, "loss\n"));
    fixture->log[0] = '\0';
    for (uint64_t instance = 1000; instance < 1000 + (1 << 16); instance++) {
        fixture->instance = instance;
        open_library(fixture, 0, 1, "", 0);
    }
    expect(fixture, ""); /* of these no loss is told a second time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_and_unloads, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_load, setup, teardown),
        cmocka_unit_test_setup_teardown(decisions, setup, teardown),
        cmocka_unit_test_setup_teardown(namespaces, setup, teardown),
        cmocka_unit_test_setup_teardown(fork_child, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_auditor_took, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_auditor_took_before_a_salvaged_rest_is_not_its, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(calls, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_of_calls_that_load_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_that_never_return, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_calls_are_not_told, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
