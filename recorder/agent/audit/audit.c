/* tollgate-audit.so, for LD_AUDIT: tells of every load and unload of the program, libc's own included,
 * without a stop, and keeps the agent's entry points out of programs that have no such runtime
 * (recorder/agent/audit/entries.h), which it does also where nobody listens. It links nothing at all and
 * defines no la_symbind and no PLT hook, so that binding is as ever.
 *
 * The loader's lists say what there is: when it says that they are consistent again (la_activity), what is
 * new at a list's end is told. So the order, and what has no la_objopen (the loader's own entry in another
 * namespace), is as a debugger finds it. Lists are only read where the loader is not changing them.
 *
 * glibc calls la_objclose for what goes, then says LA_ACT_DELETE, unlinks, and says LA_ACT_CONSISTENT. At
 * exit it says LA_ACT_DELETE first, then calls la_objclose for everything, without the loader's lock and
 * without unlinking anything. From release 2.41 on a dlclose, too, says LA_ACT_DELETE in front of the first la_objclose (the first
 * object's destructor has run by then, the others' have not), so that nothing tells it from an exit before LA_ACT_CONSISTENT. A
 * destructor may load and unload between those. So how many are gone is counted in the list, and if K are, it is the last K that
 * la_objclose was called for. That a whole namespace has gone shows at the next call of another kind alone: with its time and thread.
 *
 * Where the recorder has a dlopen filter in the control file, each load is decided about when it is complete, before
 * anything of it is relocated (glibc 2.41: behind that) or run: see struct tg_agent_filter. */
#include "recorder/agent/audit/caller.h"
#include "recorder/agent/audit/deep_bind.h"
#include "recorder/agent/audit/entries.h"
#include "recorder/agent/audit/filter.h"
#include "recorder/agent/audit/needs.h"
#include "recorder/agent/audit/object.h"
#include "recorder/agent/audit/report.h"
#include "recorder/agent/audit/ring.h"
#include "recorder/agent/deep_bind.h"
#include "recorder/agent/wrapper_name.h"

#include <link.h>

#define EXPORT __attribute__((visibility("default")))

unsigned la_version(unsigned version);
void la_activity(uintptr_t *cookie, unsigned action);
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie);
unsigned la_objclose(uintptr_t *cookie);
void la_preinit(uintptr_t *cookie);

enum {
    MAX_NAMESPACES = 15,   /* as many fit into a cookie; glibc has 16, one of them ours */
    MAX_CLOSING = 1024,    /* objects that one dlclose takes away; a power of two */
    MAX_OBJECTS = 1 << 20, /* longer lists are no lists */
    COOKIE_MASK = 15,      /* a link map is aligned to 16 bytes: 1 + the namespace fits in */
};

struct namespace
{
    struct link_map *head;      /* NULL: empty */
    struct link_map *told;      /* the last object that was told, NULL none */
    struct link_map *undecided; /* the first object that was told and is not decided about, NULL none */
    size_t closing;             /* la_objclose since the last activity */
    size_t objects;             /* deleting, or begun: how many there were */
    bool adding;                /* between LA_ACT_ADD and LA_ACT_CONSISTENT */
    bool deleting;              /* between LA_ACT_DELETE of a dlclose and LA_ACT_CONSISTENT */
    unsigned
        begun; /* LA_ACT_DELETE in front of la_objclose, of which LA_ACT_CONSISTENT is to come: the program's end, or a dlclose */
    bool
        emptied; /* begun, and la_objclose was called for all: where LA_ACT_CONSISTENT is not next, nothing is left */
};

static struct {
    int32_t pid;            /* process that the ring belongs to */
    uint64_t owner;         /* pid << 32 | tid of who is in here, 0 nobody; __atomic */
    int32_t tid;            /* thread of the same */
    uint64_t entered, busy; /* ticks: when that one came, and what others took before it */
    bool added;             /* LA_ACT_ADD of a namespace that is not known yet */
    struct namespace namespaces[MAX_NAMESPACES];
    struct closing {
        struct link_map *map;
        unsigned id;
    } closing[MAX_CLOSING]; /* the last ones, of all namespaces */
    size_t n_closing;       /* ever */
    unsigned
        numbers[MAX_NAMESPACES]; /* order of their first records, but for the base namespace; 0 none yet */
    unsigned n_numbers;
    uint64_t opened_at_report, closed_at_report; /* of tollgate_loads, when the recorder looked there */
    bool started;                                /* the start-up libraries were told */
    bool records;                                /* there is somebody to tell it to */
    bool no_calls;                               /* system calls are forbidden */
} watch;

static struct tg_audit_needs needs;

/* ---- records */

/* As the recorder numbers namespaces: by their first records. */
static unsigned number_of(const struct namespace *namespace)
{
    size_t n = (size_t)(namespace - watch.namespaces);
    if (n > 0 && watch.numbers[n] == 0)
        watch.numbers[n] = ++watch.n_numbers;
    return watch.numbers[n];
}

/* What the auditor took so far, up to now. */
static uint64_t busy_ticks(void)
{
    uint64_t now = tg_audit_ring_ticks();
    return watch.busy + (now > watch.entered && watch.entered > 0 ? now - watch.entered : 0);
}

static void record_activity(const struct namespace *namespace, unsigned action)
{
    (void)number_of(namespace);
    uint64_t *arguments = tg_audit_ring_begin(TG_RECORD_LOADER_ACTIVITY, 4);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)watch.tid;
    arguments[1] = (uint64_t)(namespace - watch.namespaces);
    arguments[2] = action;
    arguments[3] = busy_ticks();
    tg_audit_ring_commit();
}

/* FLAGS: enum tg_agent_open. */
static void record_open(const struct namespace *namespace, const struct link_map *map, unsigned flags)
{
    struct tg_audit_object object = {0};
    (void)number_of(namespace);
    if (!watch.no_calls) /* one says whether what is there can be read */
        tg_audit_object_read(map->l_addr, &object);
    size_t n_words = tg_audit_ring_string_words(map->l_name);
    uint64_t *arguments = tg_audit_ring_begin(TG_RECORD_LOADER_OPEN, 10 + n_words);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)watch.tid;
    arguments[1] = (uint64_t)(namespace - watch.namespaces);
    arguments[2] = flags;
    arguments[3] = (uint64_t)(uintptr_t)map;
    arguments[4] = map->l_addr;
    arguments[5] = object.size_bytes;
    arguments[6] = object.build_id_length;
    for (size_t i = 0; i < TG_AUDIT_BUILD_ID_BYTES; i++)
        ((unsigned char *)&arguments[7])[i] = object.build_id[i];
    tg_audit_ring_put_string(&arguments[10], map->l_name, n_words);
    tg_audit_ring_commit();
}

static void record_close(const struct namespace *namespace, const struct link_map *map)
{
    uint64_t *arguments = tg_audit_ring_begin(TG_RECORD_LOADER_CLOSE, 3);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)watch.tid;
    arguments[1] = (uint64_t)(namespace - watch.namespaces);
    arguments[2] = (uint64_t)(uintptr_t)map;
    tg_audit_ring_commit();
}

/* ---- lists */

static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning != '\0' && *text == *beginning)
        text++, beginning++;
    return *beginning == '\0';
}

/* The program itself and the kernel's object are no libraries, and a wrapper is none of the program's. */
static bool is_library(const struct namespace *namespace, const struct link_map *map)
{
    bool is_program = namespace == watch.namespaces && map == namespace->head;
    return !is_program && map->l_name != NULL && map->l_name[0] != '\0' &&
           !begins_with(map->l_name, "linux-vdso") && !begins_with(map->l_name, "linux-gate") &&
           !tg_wrapper_name_is(map->l_name);
}

/* At start-up, which libraries the others of the list need: what came for its own sake is what is left. */
static void note_needs(const struct namespace *namespace)
{
    needs.count = 0;
    const struct link_map *map = namespace->head;
    for (size_t i = 0; map != NULL && i < MAX_OBJECTS; i++, map = map->l_next)
        if (is_library(namespace, map))
            tg_audit_needs_add(&needs, map);
}

static struct link_map *first_of(struct link_map *map)
{
    for (size_t i = 0; map->l_prev != NULL && i < MAX_OBJECTS; i++)
        map = map->l_prev;
    return map;
}

/* The last object of the list, and how many there are. */
static struct link_map *last_of(const struct namespace *namespace, size_t *count)
{
    struct link_map *last = NULL;
    *count = 0;
    for (struct link_map *map = namespace->head; map != NULL && *count < MAX_OBJECTS; map = map->l_next) {
        last = map;
        ++*count;
    }
    return last;
}

static void note_undecided(struct namespace *namespace, struct link_map *map)
{
    tg_audit_report_opened(map);
    if (namespace->undecided == NULL)
    namespace->undecided = map;
}

/* Tells what follows the last object that was told. Not while the loader takes something away. */
static void tell_new(struct namespace *namespace)
{
    if (namespace->deleting)
        return;
    bool startup = !watch.started;
    struct link_map *map = namespace->told != NULL ? namespace->told->l_next : namespace->head;
    if (startup)
        note_needs(namespace);
    for (size_t i = 0; map != NULL && i < MAX_OBJECTS; i++, map = map->l_next) {
        if (is_library(namespace, map)) {
            record_open(namespace, map,
                        startup && tg_audit_needs_has(&needs, map) ? TG_AGENT_OPEN_NEEDED : 0);
            if (!startup)
                note_undecided(namespace, map);
        }
        namespace->told = map;
    }
}

/* To the ring of a fork's child: what its parent told of. */
static void tell_inherited(void)
{
    watch.n_numbers = 0;
    for (size_t n = 0; n < MAX_NAMESPACES; n++)
        watch.numbers[n] = 0;
    for (size_t n = 0; n < MAX_NAMESPACES; n++) {
        const struct namespace *namespace = &watch.namespaces[n];
        const struct link_map *map = namespace->told != NULL ? namespace->head : NULL;
        bool is_whole = !namespace->deleting && !namespace->emptied;
        for (size_t i = 0; map != NULL && is_whole && i < MAX_OBJECTS; i++, map = map->l_next) {
            if (is_library(namespace, map))
                record_open(namespace, map, TG_AGENT_OPEN_INHERITED);
            if (map == namespace->told)
                break;
        }
    }
}

/* The namespace that a cookie says, NULL where it says none; *MAP is the object's link map. */
static struct namespace *of_cookie(uintptr_t cookie, struct link_map **map)
{
    *map = (struct link_map *)(cookie & ~(uintptr_t)COOKIE_MASK); // NOLINT: an address
    unsigned number = cookie & COOKIE_MASK;
    if (number > 0)
        return &watch.namespaces[number - 1];
    if (*map == NULL)
        return NULL;
    const struct link_map *head = first_of(*map);
    for (size_t i = 0; i < MAX_NAMESPACES; i++)
        if (watch.namespaces[i].head == head)
            return &watch.namespaces[i];
    return NULL;
}

/* ---- one at a time */

/* What is recorded is this process's from now on. */
static void begin_process(int32_t pid)
{
    watch.pid = pid;
    watch.busy = 0;
    if (pid == TG_AUDIT_PROCESS_UNKNOWN) {
        tg_audit_ring_leave(); /* loads are told at stops, as far as there are any */
        return;
    }
    (void)tg_audit_ring_make(pid); /* on failure records are counted */
    tell_inherited();
}

/* The loader's lock serialises all calls but those at the end of the program. False: this thread is in here
 * already (a handler). */
static bool enter(void)
{
    enum { PAUSE_NS = 100000 };
    unsigned forbidden = tg_audit_deep_bind_forbidden();
    bool may_call = (forbidden & TG_DEEP_BIND_NO_CALLS) == 0;
    struct tg_audit_caller caller = may_call ? tg_audit_caller_now() : tg_audit_caller_known();
    int32_t pid = caller.pid, tid = caller.tid;
    uint64_t me = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
    uint64_t owner = 0;
    while (
        !__atomic_compare_exchange_n(&watch.owner, &owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (owner == me)
            return false;
        /* else it is a thread of the process that this one is a copy of, or perhaps is */
        if ((int32_t)(owner >> 32) == pid && pid != TG_AUDIT_PROCESS_UNKNOWN) {
            tg_audit_ring_pause(PAUSE_NS);
            owner = 0;
        }
    }
    watch.tid = tid;
    tg_audit_ring_take_turn(forbidden);
    watch.no_calls = !may_call;
    watch.entered = tg_audit_ring_ticks();
    if (watch.pid != pid)
        begin_process(pid);
    return true;
}

static void leave(void)
{
    watch.busy = busy_ticks();
    __atomic_store_n(&watch.owner, 0, __ATOMIC_RELEASE);
}

/* ---- deciding */

/* The decision about one load. */
struct decision {
    uint32_t decided;               /* enum tg_agent_decided */
    uint32_t rule;                  /* enum tg_filter_rule */
    const struct link_map *library; /* NULL none */
    const char *pattern;
};

/* Whether the recorder has to look at the log, or could not tell what was loaded anew from what was there. */
static bool is_log_full(void)
{
    return tollgate_loads.closed != watch.closed_at_report &&
           tollgate_loads.opened - watch.opened_at_report > TG_AGENT_LOADS_LOG / 2;
}

static bool report(const struct namespace *namespace, const struct link_map *first, unsigned action)
{
    watch.busy = busy_ticks();
    bool at_stop = tollgate_report_load(number_of(namespace), first, action) != 0;
    watch.entered = tg_audit_ring_ticks(); /* the stop is the recorder's */
    if (!at_stop)
        return false;
    watch.opened_at_report = tollgate_loads.opened;
    watch.closed_at_report = tollgate_loads.closed;
    return true;
}

/* By the list. True: it is to be reported. */
static bool match(const struct namespace *namespace, const struct link_map *first, struct decision *decision)
{
    struct tg_glob_verdict verdict = tg_audit_filter_default();
    const struct link_map *map = first;
    bool goes_on = true;
    for (size_t i = 0; goes_on && map != NULL && i < MAX_OBJECTS; i++) {
        goes_on = !is_library(namespace, map) || tg_audit_filter_consider(map->l_name, i, &verdict);
        if (verdict.rule == TG_RULE_PATTERN && verdict.library == i)
            decision->library = map;
        map = map == namespace->told ? NULL : map->l_next;
    }
    decision->rule = verdict.rule;
    if (verdict.rule == TG_RULE_PATTERN)
        decision->pattern = tg_audit_filter_pattern(verdict.pattern);
    return verdict.report;
}

static struct decision decide_by(struct tg_audit_filter filter, const struct namespace *namespace,
                                 const struct link_map *first, unsigned action)
{
    struct decision decision = {.decided = TG_AGENT_DECIDED_DEFERRED, .pattern = ""};
    /* what cannot be recorded here is recorded at a stop */
    bool asks = filter.how == TG_AGENT_FILTER_ALL || !tg_audit_ring_is_there() || is_log_full() ||
                (filter.how == TG_AGENT_FILTER_MATCH && match(namespace, first, &decision));
    if (!asks && filter.how == TG_AGENT_FILTER_MATCH)
        return decision;
    bool at_stop = asks && report(namespace, first, action);
    return (struct decision){.decided = at_stop ? TG_AGENT_DECIDED_AT_STOP : TG_AGENT_DECIDED_NOT_STOPPED,
                             .rule = TG_RULE_NO_STOP,
                             .pattern = ""};
}

/* Decides about what was loaded in NAMESPACE since the last time; ACTION comes next. */
static void decide(struct namespace *namespace, unsigned action)
{
    const struct link_map *first = namespace->undecided;
    namespace->undecided = NULL;
    if (first == NULL)
        return;
    struct decision decision;
    struct tg_audit_filter filter;
    uint64_t *arguments;
    size_t n_words;
    do {
        filter = tg_audit_filter_now();
        if (filter.how == TG_AGENT_FILTER_OFF)
            return;
        decision = decide_by(filter, namespace, first, action);
        n_words = tg_audit_ring_string_words(decision.pattern);
        arguments = tg_audit_ring_begin(TG_RECORD_LOADER_DECISION, 7 + n_words);
    } while (decision.decided != TG_AGENT_DECIDED_AT_STOP && tg_audit_filter_is_over(filter));
    if (decision.decided != TG_AGENT_DECIDED_AT_STOP)
        __atomic_fetch_add(&tollgate_loads.waiting, 1, __ATOMIC_RELAXED);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)watch.tid;
    arguments[1] = (uint64_t)(namespace - watch.namespaces);
    arguments[2] = action;
    arguments[3] = decision.decided;
    arguments[4] = decision.rule;
    arguments[5] = (uint64_t)(uintptr_t)decision.library;
    arguments[6] = busy_ticks();
    tg_audit_ring_put_string(&arguments[7], decision.pattern, n_words);
    tg_audit_ring_commit();
}

/* Nothing is left in NAMESPACE that is not decided about. */
static void settle(void)
{
    __atomic_store_n(&tollgate_loads.undecided, 0, __ATOMIC_RELEASE);
}

/* ---- unloading */

/* Tells of the last COUNT objects of NAMESPACE that la_objclose was called for, and that were not told of yet. */
static void tell_gone(const struct namespace *namespace, size_t count)
{
    size_t kept = watch.n_closing < MAX_CLOSING ? watch.n_closing : MAX_CLOSING;
    size_t first = watch.n_closing;
    unsigned id = (unsigned)(namespace - watch.namespaces);
    for (size_t found = 0; found < count && watch.n_closing - first < kept;)
        found += watch.closing[--first % MAX_CLOSING].id == id;
    for (; first < watch.n_closing; first++) {
        struct closing *closing = &watch.closing[first % MAX_CLOSING];
        if (closing->id != id)
            continue;
        record_close(namespace, closing->map);
        closing->id = MAX_NAMESPACES;
    }
    __atomic_fetch_add(&tollgate_loads.closed, count, __ATOMIC_RELAXED);
}

static void tell_all_gone(struct namespace *namespace)
{
    tell_gone(namespace, namespace->objects);
    record_activity(namespace, LA_ACT_CONSISTENT);
    *namespace = (struct namespace){0};
}

static void begin_deleting(struct namespace *namespace)
{
    bool is_first = namespace->closing == 0;
    tell_new(namespace); /* objects of a dlopen that failed */
    decide(namespace, LA_ACT_DELETE);
    settle();
    (void)last_of(namespace, &namespace->objects);
    if (is_first) {
        namespace->adding = false;
        namespace->begun++;
        return;
    }
    record_activity(namespace, LA_ACT_DELETE);
    namespace->deleting = true;
    if (namespace->closing >= namespace->objects && namespace->begun == 0)
        tell_all_gone(namespace); /* nothing will be left, not even somebody to call la_activity for */
}

static void end_deleting(struct namespace *namespace)
{
    size_t left;
    namespace->told = last_of(namespace, &left);
    namespace->deleting = false;
    if (left < namespace->objects)
        tell_gone(namespace, namespace->objects - left);
}

/* At the program's end nothing has gone. */
static void end_begun(struct namespace *namespace)
{
    size_t left;
    struct link_map *last = last_of(namespace, &left);
    namespace->begun--;
    namespace->emptied = false;
    if (left >= namespace->objects)
        return;
    record_activity(namespace, LA_ACT_DELETE);
    namespace->told = last;
    tell_gone(namespace, namespace->objects - left);
    namespace->objects = left;
    record_activity(namespace, LA_ACT_CONSISTENT);
}

/* Something else comes than the LA_ACT_CONSISTENT of NEXT (NULL: of none): namespaces that are all closed are gone. */
static void tell_emptied(const struct namespace *next)
{
    for (size_t n = 1; n < MAX_NAMESPACES; n++) {
        struct namespace *namespace = &watch.namespaces[n];
        if (!namespace->emptied || namespace == next)
            continue;
        record_activity(namespace, LA_ACT_DELETE);
        tell_all_gone(namespace);
        namespace->begun =
            1; /* at the program's end LA_ACT_CONSISTENT comes all the same, behind a load of another thread */
    }
}

/* ---- what the loader calls */

EXPORT unsigned la_version(unsigned version)
{
    if (version == 0)
        return 0;
    watch.records = tg_audit_ring_find_recorder() && enter();
    if (watch.records)
        leave();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static void act(struct namespace *namespace, unsigned action)
{
    bool changing = namespace->adding || namespace->deleting;
    if (action == LA_ACT_ADD) {
        namespace->adding = true;
        if (namespace->told == NULL) /* as new */
        namespace->begun = 0;
        __atomic_store_n(&tollgate_loads.undecided, 1, __ATOMIC_RELEASE);
        record_activity(namespace, LA_ACT_ADD);
    } else if (action == LA_ACT_DELETE) {
        begin_deleting(namespace);
    } else if (action == LA_ACT_CONSISTENT && !changing && namespace->begun > 0) {
        end_begun(namespace);
    } else if (action == LA_ACT_CONSISTENT) {
        if (namespace->deleting)
            end_deleting(namespace);
        tell_new(namespace);
        if (namespace->begun > 0)
            (void)last_of(namespace, &namespace->objects);
        namespace->adding = false;
        decide(namespace, LA_ACT_CONSISTENT);
        settle();
        watch.started = watch.started || namespace == watch.namespaces;
        record_activity(namespace, LA_ACT_CONSISTENT);
    }
    namespace->closing = 0;
}

EXPORT void la_activity(uintptr_t *cookie, unsigned action)
{
    if (!watch.records || !enter()) {
        if (action == LA_ACT_CONSISTENT)
            tg_audit_deep_bind_mapped(false, 0);
        return;
    }
    struct link_map *head;
    struct namespace *namespace = of_cookie(*cookie, &head);
    tell_emptied(action == LA_ACT_CONSISTENT ? namespace : NULL);
    if (namespace != NULL) {
        namespace->head = head;
        act(namespace, action);
    } else {
        watch.added = action == LA_ACT_ADD; /* the la_objopen that follows says of which */
    }
    if (action == LA_ACT_CONSISTENT)
        tg_audit_deep_bind_mapped(true, watch.tid);
    leave();
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
    if (id == LM_ID_BASE) { /* under the loader's lock */
        tg_audit_entries_opened(map);
        tg_audit_deep_bind_opened(map);
    }
    if (!watch.records || id < 0 || id >= MAX_NAMESPACES || ((uintptr_t)map & COOKIE_MASK) != 0 || !enter())
        return 0;
    struct namespace *namespace = &watch.namespaces[id];
    tell_emptied(NULL);
    *cookie = (uintptr_t)map | (uintptr_t)(id + 1);
    if (namespace->head == NULL)
    namespace->head = first_of(map);
    if (watch.added) {
        watch.added = false;
        act(namespace, LA_ACT_ADD);
    }
    leave();
    return 0;
}

EXPORT unsigned la_objclose(uintptr_t *cookie)
{
    tg_audit_deep_bind_failed();
    if (!watch.records || !enter())
        return 0;
    struct link_map *map;
    struct namespace *namespace = of_cookie(*cookie, &map);
    tell_emptied(NULL);
    if (namespace != NULL) {
        if (namespace->adding && namespace->begun == 0)
            tell_new(namespace); /* objects of a dlopen that failed */
        watch.closing[watch.n_closing++ % MAX_CLOSING] =
            (struct closing){.map = map, .id = (unsigned)(namespace - watch.namespaces)};
        namespace->closing++;
        namespace->emptied =
            namespace->begun > 0 && namespace != watch.namespaces && namespace->closing >= namespace->objects;
    }
    leave();
    return 0;
}

EXPORT void la_preinit(uintptr_t *cookie)
{
    if (!watch.records || !enter())
        return;
    struct link_map *head;
    struct namespace *namespace = of_cookie(*cookie, &head);
    if (namespace != NULL)
        tell_new(namespace);
    tg_audit_deep_bind_started(head);
    watch.started = true;
    uint64_t *arguments = tg_audit_ring_begin(TG_RECORD_LOADER_PREINIT, 1);
    if (arguments != NULL) {
        arguments[0] = (uint64_t)watch.tid;
        tg_audit_ring_commit();
    }
    leave();
}
