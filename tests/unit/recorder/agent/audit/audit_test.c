/* What the auditor tells of loads and unloads, called as the loaders of glibc 2.36 and 2.41 call their auditors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/agent/audit/caller.h"
#include "recorder/agent/audit/deep_bind.h"
#include "recorder/agent/audit/entries.h"
#include "recorder/agent/audit/filter.h"
#include "recorder/agent/audit/needs.h"
#include "recorder/agent/audit/object.h"
#include "recorder/agent/audit/report.h"
#include "recorder/agent/audit/ring.h"
#include "recorder/agent/deep_bind.h"

#include <stdio.h>
#include <string.h>

unsigned la_version(unsigned version);
void la_activity(uintptr_t *cookie, unsigned action);
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie);
unsigned la_objclose(uintptr_t *cookie);
void la_preinit(uintptr_t *cookie);

/* ---- what the auditor is made of besides */

static char told[1024];
static unsigned kind;
static uint64_t arguments[32];
static const char *path;
static unsigned forbidden, n_opened, n_read; /* objects that were looked into */
static bool has_left;
static bool caller_is_known = true;
static uint64_t now = 1000, busy; /* ticks; and what the last activity said */

struct tg_agent_loads tollgate_loads;

bool tg_audit_ring_find_recorder(void)
{
    return true;
}
bool tg_audit_ring_make(int32_t pid)
{
    return pid != 0;
}
bool tg_audit_ring_is_there(void)
{
    return true;
}
void tg_audit_ring_take_turn(unsigned what)
{
    (void)what;
}
void tg_audit_ring_leave(void)
{
    has_left = true;
}
void tg_audit_ring_pause(uint64_t ns)
{
    (void)ns;
}
unsigned tg_audit_deep_bind_forbidden(void)
{
    return forbidden;
}
struct tg_audit_caller tg_audit_caller_known(void)
{
    return (struct tg_audit_caller){caller_is_known ? 1 : TG_AUDIT_PROCESS_UNKNOWN, 1};
}
uint64_t tg_audit_ring_ticks(void)
{
    return now += 10;
}
uint64_t *tg_audit_ring_begin(unsigned of, size_t n_arguments)
{
    assert_true(n_arguments < 32);
    kind = of;
    return arguments;
}
size_t tg_audit_ring_string_words(const char *text)
{
    return text != NULL;
}
void tg_audit_ring_put_string(uint64_t *to, const char *text, size_t n_words)
{
    (void)to, (void)n_words;
    path = text;
}
void tg_audit_ring_commit(void)
{
    static const char *const actions[] = {
        [LA_ACT_CONSISTENT] = "consistent", [LA_ACT_ADD] = "add", [LA_ACT_DELETE] = "delete"};
    size_t length = strlen(told);
    if (kind == TG_RECORD_LOADER_ACTIVITY) {
        busy = arguments[3];
        snprintf(told + length, sizeof told - length, "%s@%d ", actions[arguments[2]], (int)arguments[1]);
    } else if (kind == TG_RECORD_LOADER_OPEN)
        snprintf(told + length, sizeof told - length, "+%s ", path);
    else if (kind == TG_RECORD_LOADER_CLOSE)
        snprintf(told + length, sizeof told - length, "-%s ",
                 ((const struct link_map *)(uintptr_t)arguments[2])->l_name); // NOLINT: an address
}
struct tg_audit_caller tg_audit_caller_now(void)
{
    return (struct tg_audit_caller){.pid = 1, .tid = 1};
}
void tg_audit_report_opened(const struct link_map *map)
{
    n_opened++;
    (void)map;
}
uint64_t tollgate_report_load(uint64_t number, const struct link_map *first, uint64_t action)
{
    (void)number, (void)first, (void)action;
    return 0;
}
struct tg_audit_filter tg_audit_filter_now(void)
{
    return (struct tg_audit_filter){.how = TG_AGENT_FILTER_OFF};
}
bool tg_audit_filter_is_over(struct tg_audit_filter filter)
{
    (void)filter;
    return false;
}
struct tg_glob_verdict tg_audit_filter_default(void)
{
    return (struct tg_glob_verdict){.report = false};
}
bool tg_audit_filter_consider(const char *library, size_t index, struct tg_glob_verdict *verdict)
{
    (void)library, (void)index, (void)verdict;
    return false;
}
const char *tg_audit_filter_pattern(size_t i)
{
    (void)i;
    return "";
}
void tg_audit_needs_add(struct tg_audit_needs *needs, const struct link_map *map)
{
    (void)needs, (void)map;
}
bool tg_audit_needs_has(const struct tg_audit_needs *needs, const struct link_map *map)
{
    (void)needs, (void)map;
    return false;
}
void tg_audit_object_read(uintptr_t base, struct tg_audit_object *object)
{
    (void)base;
    now += 1000;
    n_read++;
    *object = (struct tg_audit_object){.size_bytes = 0};
}
void tg_audit_deep_bind_opened(struct link_map *map)
{
    (void)map;
}
void tg_audit_deep_bind_mapped(bool records, int32_t tid)
{
    (void)records, (void)tid;
}
void tg_audit_deep_bind_failed(void)
{
}
void tg_audit_deep_bind_started(const struct link_map *map)
{
    (void)map;
}
void tg_audit_entries_opened(const struct link_map *map)
{
    (void)map;
}

/* ---- a loader */

struct object {
    _Alignas(16) struct link_map map;
    uintptr_t cookie;
};

static struct object program = {.map = {.l_name = ""}}, libc = {.map = {.l_name = "c"}};
static struct object a = {.map = {.l_name = "a"}}, b = {.map = {.l_name = "b"}};
static struct object apart = {.map = {.l_name = "apart"}}, its_libc = {.map = {.l_name = "its_c"}};

static void add(struct object *object, struct object *behind, Lmid_t id)
{
    struct link_map *last = behind == NULL ? NULL : &behind->map;
    while (last != NULL && last->l_next != NULL)
        last = last->l_next;
    object->map.l_prev = last;
    object->map.l_next = NULL;
    if (last != NULL)
        last->l_next = &object->map;
    (void)la_objopen(&object->map, id, &object->cookie);
}

static void drop(struct object *object)
{
    if (object->map.l_prev != NULL)
        object->map.l_prev->l_next = object->map.l_next;
    if (object->map.l_next != NULL)
        object->map.l_next->l_prev = object->map.l_prev;
}

static void act(struct object *head, unsigned action)
{
    la_activity(&head->cookie, action);
}

static void load(struct object *object)
{
    act(&program, LA_ACT_ADD);
    add(object, &program, LM_ID_BASE);
    act(&program, LA_ACT_CONSISTENT);
}

static void unload(struct object *object, bool says_delete_first)
{
    if (says_delete_first)
        act(&program, LA_ACT_DELETE);
    (void)la_objclose(&object->cookie);
    if (!says_delete_first)
        act(&program, LA_ACT_DELETE);
    drop(object);
    act(&program, LA_ACT_CONSISTENT);
}

static void check(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = '\0';
}

static int start(void **state)
{
    (void)state;
    (void)la_version(LAV_CURRENT);
    add(&program, NULL, LM_ID_BASE);
    act(&program, LA_ACT_ADD);
    add(&libc, &program, LM_ID_BASE);
    act(&program, LA_ACT_CONSISTENT);
    la_preinit(&program.cookie);
    check("add@0 +c consistent@0 ");
    return 0;
}

/* ---- tests */

static void both_orders_are_told_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        load(&a);
        check("add@0 +a consistent@0 ");
        unload(&a, i % 2 == 1);
        check("delete@0 -a consistent@0 ");
    }
}

static void a_load_that_fails(void **state)
{
    (void)state;
    act(&program, LA_ACT_ADD);
    add(&a, &program, LM_ID_BASE);
    unload(&a, true);
    check("add@0 +a delete@0 -a consistent@0 ");
    act(&program, LA_ACT_ADD);
    add(&a, &program, LM_ID_BASE);
    unload(&a, false);
    check("add@0 +a delete@0 -a consistent@0 ");
}

/* In front of the la_objclose of its own object. */
static void a_destructor_loads(void **state)
{
    (void)state;
    load(&a);
    check("add@0 +a consistent@0 ");
    act(&program, LA_ACT_DELETE);
    load(&b);
    (void)la_objclose(&a.cookie);
    drop(&a);
    act(&program, LA_ACT_CONSISTENT);
    check("add@0 +b consistent@0 delete@0 -a consistent@0 ");
    load(&a); /* the first object's, in front of LA_ACT_DELETE */
    unload(&b, true);
    check("add@0 +a consistent@0 delete@0 -b consistent@0 ");
    unload(&a, true);
    check("delete@0 -a consistent@0 ");
}

static void a_namespace_that_is_closed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        apart.cookie = its_libc.cookie = 0;
        act(&apart, LA_ACT_ADD);
        add(&apart, NULL, 1);
        add(&its_libc, &apart, 1);
        act(&apart, LA_ACT_CONSISTENT);
        check("add@1 +apart +its_c consistent@1 ");
        act(&apart, LA_ACT_DELETE);
        (void)la_objclose(&apart.cookie);
        (void)la_objclose(&its_libc.cookie);
        apart.map.l_next = &its_libc.map; /* nothing is read any more */
        its_libc.map.l_next = &apart.map;
        load(&a);
        check("delete@1 -apart -its_c consistent@1 add@0 +a consistent@0 ");
        unload(&a, true);
        check("delete@0 -a consistent@0 ");
    }
}

/* At the end, with a load of another thread between the last la_objclose and LA_ACT_CONSISTENT. */
static void a_namespace_at_the_end(void **state)
{
    (void)state;
    apart.cookie = its_libc.cookie = 0;
    act(&apart, LA_ACT_ADD);
    add(&apart, NULL, 1);
    add(&its_libc, &apart, 1);
    act(&apart, LA_ACT_CONSISTENT);
    check("add@1 +apart +its_c consistent@1 ");
    act(&apart, LA_ACT_DELETE);
    (void)la_objclose(&apart.cookie);
    (void)la_objclose(&its_libc.cookie);
    load(&a);
    check("delete@1 -apart -its_c consistent@1 add@0 +a consistent@0 ");
    act(&apart, LA_ACT_CONSISTENT);
    check("");
    unload(&a, true);
    check("delete@0 -a consistent@0 ");
}

static void the_ticks_it_takes(void **state)
{
    (void)state;
    uint64_t before = busy;
    now += 1000000; /* the program's */
    load(&a);
    assert_in_range(busy - before, 1000, 1200); /* the object is read, and the clock some times */
    before = busy;
    now += 1000000;
    unload(&a, true);
    assert_in_range(busy - before, 10, 200);
    check("add@0 +a consistent@0 delete@0 -a consistent@0 ");
}

/* The program has forbidden itself system calls. */
static void no_calls(void **state)
{
    (void)state;
    forbidden = TG_DEEP_BIND_NO_CALLS;
    unsigned before = n_read;
    load(&a);
    unload(&a, true);
    check("add@0 +a consistent@0 delete@0 -a consistent@0 ");
    assert_int_equal(n_read, before);
    assert_false(has_left);
    caller_is_known =
        false; /* in a child of it: there is no ring, but the recorder may ask what was loaded */
    unsigned opened = n_opened;
    load(&a);
    unload(&a, true);
    assert_true(has_left);
    assert_int_equal(n_opened, opened + 1);
    caller_is_known = true;
    forbidden = 0;
    load(&a); /* all is told anew, as to a ring of a child */
    unload(&a, true);
    told[0] = '\0';
}

/* Nothing goes but what a destructor unloads. */
static void the_end(void **state)
{
    (void)state;
    load(&a);
    load(&b);
    check("add@0 +a consistent@0 add@0 +b consistent@0 ");
    act(&program, LA_ACT_DELETE);
    unload(&a, true);
    check("delete@0 -a consistent@0 ");
    (void)la_objclose(&program.cookie);
    unload(&b, true);
    (void)la_objclose(&libc.cookie);
    act(&program, LA_ACT_CONSISTENT);
    check("delete@0 -b consistent@0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders_are_told_alike),
        cmocka_unit_test(a_load_that_fails),
        cmocka_unit_test(a_destructor_loads),
        cmocka_unit_test(a_namespace_that_is_closed),
        cmocka_unit_test(a_namespace_at_the_end),
        cmocka_unit_test(the_ticks_it_takes),
        cmocka_unit_test(no_calls),
        cmocka_unit_test(the_end),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
