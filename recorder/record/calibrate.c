#include "recorder/record/calibrate.h"

#include "recorder/engine/engine.h"
#include "recorder/engine/stop_events.h"
#include "recorder/engine/stop_wait.h"
#include "recorder/loader/link_map.h"
#include "recorder/process/own_tracee.h"
#include "recorder/record/deadline.h"
#include "recorder/record/imitated_loader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_LOADS = 128,
    GROUP =
        6, /* loads whose mean is one sample: a job's sum is no better known than this from one to the next */
    LEAST_FREE = 3,   /* loads without a trap */
    LEAST_GROUPS = 2, /* of loads close together: one says nothing of its spread */
    LEAST_SPARSE = 8, /* loads behind a pause */
    SPARSE_GROUP = 4,
    LEAST_TOGETHER = 8, /* objects */
    MAX_GROUPS = MAX_LOADS / SPARSE_GROUP,
    MAX_PIECES = 16, /* of work */
    PAGE_BYTES = 4096,
};

/* What the child does, load after load: the list grows by an object, then it is settled, and at each of the two the child
 * traps, as a loader stops. */
enum {
    SIZE = 'w', /* without traps: says how much work a load is to be */
    FREE = 'f', /* without traps, counted */
    CALM = 'x', /* without traps, while the tracer still looks for a stop */
    WARM =
        'v', /* with traps, until the tracer expects the next one soon; at one of them it reads all objects together */
    CLOSE = 't',  /* with traps, counted */
    SPARSE = 's', /* with traps behind a pause, counted */
};

struct plan {
    const char *loads;
    uint64_t work_ns;  /* of a load without a trap */
    uint64_t pause_ns; /* longer than the engine looks for the next stop before it sleeps (100 us) */
};

/* Groups of loads with a rest between them, after which the kernel may choose another processor. */
#define STORM     "vvtttttttttttt"
#define REST      "xxfff"
#define BEGINNING "wwwfffff"

static const uint64_t usual_work_ns = 60 * 1000;
#define SHORT_STORM "vvttttttxff"
static const char close_loads[] = "wwffff" SHORT_STORM SHORT_STORM SHORT_STORM SHORT_STORM SHORT_STORM;
static const char sparse_loads[] = "wwffff"
                                   "ssssssssv"
                                   "ssss";
static const char thorough_loads[] = BEGINNING STORM REST STORM REST STORM REST "ssssssssssss";

/* The child's measurements; memory shared with it. */
struct loads {
    uint64_t ns[MAX_LOADS];
    uint64_t second_ns[MAX_LOADS]; /* of that, from the first stop on */
    atomic_size_t done;
    atomic_uint_fast64_t begun_ns; /* the one behind these; 0: none */
};

/* The tracer's: what it has seen of each stop. */
struct stops {
    uint64_t seen_ns[2 * MAX_LOADS];
    size_t count;
    uint64_t together_ns; /* for each of the objects that it read together; 0: it did not */
};

struct calibration {
    struct plan plan;
    struct tg_imitated_loader *loader;
    struct loads *loads;
    struct stops stops;
    struct tg_link_maps *maps;
    struct tg_stop_wait wait;
    struct tg_stop_events events;
    uint64_t late_ns; /* when the time was over; 0: it was not */
};

/* A function that returns, and one that traps in front of it: as the engine leaves the loader's own. */
void calibrate_plain(void);
void calibrate_trapped(void);
__asm__(".pushsection .text\n"
        ".balign 16\n.type calibrate_plain, @function\ncalibrate_plain: ret\n"
        ".size calibrate_plain, . - calibrate_plain\n"
        ".balign 16\n.type calibrate_trapped, @function\ncalibrate_trapped: int3; ret\n"
        ".size calibrate_trapped, . - calibrate_trapped\n"
        ".popsection\n");

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* COUNT is at least 1. */
static struct tg_quartiles quartiles(uint64_t *values, size_t count)
{
    size_t low = count > 4 ? count / 4 : 0; /* of few, the least and the most */
    qsort(values, count, sizeof *values, compare_values);
    uint64_t below = values[(count - 1) / 2], median = below + (values[count / 2] - below) / 2;
    return (struct tg_quartiles){values[low], median, values[count - 1 - low]};
}

/* A part of what a loader does to map a library. What it takes longer because of stops before and behind it, as the tracer
 * uses the same processor, or its neighbour, is a part of their price. */
static void work_a_little(void)
{
    char head[832];
    struct stat facts;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    volatile char *pages = MAP_FAILED;
    if (file >= 0 && pread(file, head, sizeof head, 0) > 0 && fstat(file, &facts) == 0)
        pages = mmap(NULL, 2 * (size_t)PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (pages != MAP_FAILED)
        pages[PAGE_BYTES] = pages[0];
    close(file);
}

static bool is_trapped(char load)
{
    return load == WARM || load == CLOSE || load == SPARSE;
}

static void time_load(const struct calibration *calibration, size_t at, size_t n_pieces)
{
    char load = calibration->plan.loads[at];
    void (*stop)(void) = is_trapped(load) ? calibrate_trapped : calibrate_plain;
    uint64_t start_ns = tg_engine_now_ns();
    atomic_store(&calibration->loads->begun_ns, start_ns);
    for (size_t i = 0; i < n_pieces; i++)
        work_a_little();
    if (is_trapped(load))
        tg_imitated_loader_add(calibration->loader);
    else
        tg_imitated_loader_map(calibration->loader);
    stop();
    uint64_t second_ns = tg_engine_now_ns();
    tg_imitated_loader_settle(calibration->loader);
    stop();
    uint64_t end_ns = tg_engine_now_ns();
    calibration->loads->ns[at] = end_ns - start_ns;
    calibration->loads->second_ns[at] = end_ns - second_ns;
    atomic_store(&calibration->loads->begun_ns, 0);
    atomic_store(&calibration->loads->done, at + 1);
}

static void keep_busy(uint64_t ns)
{
    uint64_t start_ns = tg_engine_now_ns();
    while (tg_engine_now_ns() - start_ns < ns)
        ;
}

static size_t pieces_for(uint64_t work_ns, uint64_t took_ns, size_t n_pieces)
{
    uint64_t wanted = (work_ns * n_pieces + took_ns / 2) / (took_ns + (took_ns == 0));
    return wanted < 1 ? 1 : wanted > MAX_PIECES ? MAX_PIECES : (size_t)wanted;
}

static void run_child(const struct calibration *calibration, pid_t parent)
{
    const struct plan *plan = &calibration->plan;
    size_t n_pieces = 1;
    if (!tg_own_tracee_begin(parent))
        _exit(1);
    syscall(SYS_kill, getpid(), SIGSTOP);
    for (size_t i = 0; plan->loads[i] != '\0'; i++) {
        if (plan->loads[i] == SPARSE)
            keep_busy(plan->pause_ns);
        time_load(calibration, i, n_pieces);
        if (plan->loads[i] == SIZE)
            n_pieces = pieces_for(plan->work_ns, calibration->loads->ns[i], n_pieces);
    }
    _exit(0);
}

enum { LATE = -1 }; /* no wait status is */

static bool is_late(const struct calibration *calibration)
{
    return calibration->wait.wanted != NULL && atomic_load(calibration->wait.wanted);
}

/* Waits for the next stop or the end of CHILD, or until it is late: *STATUS is LATE then. */
static struct tg_error *wait_for(struct calibration *calibration, pid_t child, int *status)
{
    for (;;) {
        pid_t stopped = is_late(calibration) ? 0 : tg_stop_wait(&calibration->wait, child, 1, status);
        if (stopped == child)
            return NULL;
        if (stopped < 0 && errno != EINTR)
            return tg_error_create_errno(errno, "cannot wait for the child process that measures stops");
        *status = LATE;
        if (is_late(calibration))
            return NULL;
    }
}

/* Events of a stop as the loader's observer has them; nobody gets them. */
static void tell(struct calibration *calibration, pid_t child, const struct tg_link_delta *delta)
{
    enum { MOST = 8 };
    const struct tg_link_change *change = delta->n_changes > 0 ? delta->changes : NULL;
    size_t count = change == NULL ? 0 : change->n_added < MOST ? change->n_added : MOST;
    struct tg_library libraries[MOST];
    struct tg_event event = {.kind = TG_EVENT_LIBRARY_NULL, .pid = child, .tid = child};
    for (size_t i = 0; i < count; i++)
        libraries[i] = (struct tg_library){.path = change->added[i]->path,
                                           .build_id = change->added[i]->build_id,
                                           .base = change->added[i]->base,
                                           .size_bytes = change->added[i]->size_bytes,
                                           .link_map = change->added[i]->link_map};
    if (count > 0) {
        event.kind = TG_EVENT_LIBRARY_LOAD;
        event.library_load = (struct tg_event_library_load){
            .found = TG_FOUND_LOADER, .libraries = {.items = libraries, .count = count}};
    }
    tg_stop_events_add(&calibration->events, &event);
    if (count == 0)
        return;
    event.kind = TG_EVENT_FILTER_DECISION;
    event.filter_decision = (struct tg_event_filter_decision){.decision = TG_DECISION_REPORTED};
    tg_stop_events_add(&calibration->events, &event);
}

static void forget(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

/* What the engine does at a stop of the loader; SPENT_NS is what it took since SEEN_NS, up to the continue, which may
 * already run the child on this processor. */
static struct tg_error *handle_trap(struct calibration *calibration, pid_t child, uint64_t seen_ns,
                                    uint64_t *spent_ns)
{
    struct __ptrace_syscall_info where;
    struct tg_link_delta delta;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof where, &where) <= 0)
        return tg_error_create_errno(errno, "cannot read where a stopped child is");
    tg_link_maps_update(calibration->maps, child, TG_LINK_LOOK_NEW, &delta);
    tell(calibration, child, &delta);
    *spent_ns = tg_engine_now_ns() - seen_ns;
    if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return tg_error_create_errno(errno, "cannot resume a stopped child");
    tg_stop_events_flush(&calibration->events, *spent_ns, forget, NULL);
    return NULL;
}

static size_t n_trapped(const struct plan *plan)
{
    size_t count = 0;
    for (const char *load = plan->loads; *load != '\0'; load++)
        count += is_trapped(*load);
    return count;
}

/* What a tracer does that finds many libraries at a time: the list is read from its beginning, and dependencies are sorted
 * out. */
static void read_together(struct calibration *calibration, pid_t child)
{
    struct tg_link_delta delta = {0};
    bool dependency[MAX_LOADS];
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_link_maps *maps = tg_link_maps_create(64, tg_imitated_loader_debug(calibration->loader));
    if (maps == NULL)
        return;
    tg_link_maps_update(maps, child, TG_LINK_LOOK_LAST, &delta);
    size_t count = delta.n_changes == 1 ? delta.changes[0].n_added : 0;
    if (count >= LEAST_TOGETHER && count <= MAX_LOADS) {
        tg_loaded_object_mark_dependencies(child, 64, delta.changes[0].added, count, dependency);
        uint64_t each_ns = (tg_engine_now_ns() - start_ns) / count,
                 before_ns = calibration->stops.together_ns;
        calibration->stops.together_ns = before_ns == 0 || each_ns < before_ns ? each_ns : before_ns;
    }
    tg_link_maps_destroy(maps);
}

/* Where that is done: at the second stop of the first load that is not counted and has enough objects before it. */
static size_t stop_for_reading_together(const struct plan *plan)
{
    size_t count = 0;
    for (const char *load = plan->loads; *load != '\0'; load++) {
        if (*load == WARM && count >= LEAST_TOGETHER)
            return 2 * count + 1;
        count += is_trapped(*load);
    }
    return SIZE_MAX;
}

/* Serves CHILD's stops until it ends or it is late; ENDED tells whether it did. */
static struct tg_error *serve(struct calibration *calibration, pid_t child, bool *ended)
{
    struct stops *stops = &calibration->stops;
    size_t n_stops = 2 * n_trapped(&calibration->plan);
    size_t together = stop_for_reading_together(&calibration->plan);
    for (;; stops->count++) {
        int status;
        struct tg_error *error = wait_for(calibration, child, &status);
        if (error != NULL)
            return error;
        uint64_t seen_ns = tg_engine_now_ns();
        if (status == LATE) {
            calibration->late_ns = seen_ns;
            return NULL;
        }
        *ended = !WIFSTOPPED(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && stops->count == n_stops)
            return NULL;
        if (*ended || WSTOPSIG(status) != SIGTRAP || stops->count == n_stops)
            return tg_error_create(TG_ERROR_TARGET,
                                   "the child process that measures stops ended early (status %#x)",
                                   (unsigned)status);
        for (int i = 0; i < 2 && stops->count == together; i++)
            read_together(calibration, child); /* the first time there are page faults */
        error = handle_trap(calibration, child, seen_ns, &stops->seen_ns[stops->count]);
        if (error != NULL)
            return error;
    }
}

static struct tg_error *trace(struct calibration *calibration, pid_t child, bool *ended)
{
    int status;
    struct tg_link_delta delta;
    struct tg_error *error = wait_for(calibration, child, &status);
    if (error != NULL || status == LATE)
        return error;
    *ended = !WIFSTOPPED(status);
    if (*ended)
        return tg_error_create(TG_ERROR_TARGET, "cannot trace the child process that measures stops");
    tg_link_maps_update(calibration->maps, child, TG_LINK_LOOK_NEW, &delta);
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return tg_error_create_errno(errno, "cannot trace the child process that measures stops");
    return serve(calibration, child, ended);
}

/* ---- figures */

static uint64_t less(uint64_t ns, uint64_t taken_ns)
{
    return ns > taken_ns ? ns - taken_ns : 0;
}

/* Groups of loads: means of what they take, and medians of what the tracer does, which others seldom interrupt. */
struct sample {
    struct group {
        uint64_t load_ns, second_ns;            /* what they take, and of that from the first stop on */
        uint64_t seen_first_ns, seen_second_ns; /* what the tracer has seen of the two stops */
    } groups[MAX_GROUPS];
    size_t count;
};

/* Without the longest: where another program had the processor, which is seldom, but long. */
static uint64_t mean(uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    size_t kept = count > 4 ? count - (count + 9) / 10 : count;
    qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0; i < kept; i++)
        sum += values[i];
    return kept == 0 ? 0 : sum / kept;
}

/* What the loads of the kind KIND took, GROUP_SIZE right behind each other at a time. */
static void take(const struct calibration *calibration, char kind, size_t group_size, struct sample *sample)
{
    const char *loads = calibration->plan.loads;
    const uint64_t *seen_ns = calibration->stops.seen_ns;
    uint64_t load_ns[MAX_LOADS], second_ns[MAX_LOADS], seen_first_ns[MAX_LOADS], seen_second_ns[MAX_LOADS];
    size_t in_group = 0, done = atomic_load(&calibration->loads->done);
    sample->count = 0;
    for (size_t i = 0; i < done; i++) {
        if (loads[i] == kind) {
            load_ns[in_group] = calibration->loads->ns[i];
            second_ns[in_group] = calibration->loads->second_ns[i];
            seen_first_ns[in_group] = seen_ns[0];
            seen_second_ns[in_group++] = seen_ns[1];
        } else {
            in_group = 0;
        }
        seen_ns += is_trapped(loads[i]) ? 2 : 0;
        if (in_group < group_size)
            continue;
        sample->groups[sample->count++] =
            (struct group){.load_ns = mean(load_ns, in_group),
                           .second_ns = mean(second_ns, in_group),
                           .seen_first_ns = quartiles(seen_first_ns, in_group).median,
                           .seen_second_ns = quartiles(seen_second_ns, in_group).median};
        in_group = 0;
    }
}

/* What the longest loads, which mean() leaves out, add to each: how long the job waits where it meets other programs. A
 * load that was still waiting when the time was over is one of them. */
static uint64_t longest_add_ns(const struct calibration *calibration, char kind)
{
    const char *loads = calibration->plan.loads;
    size_t count = 0, done = atomic_load(&calibration->loads->done);
    uint64_t ns[MAX_LOADS], sum = 0, begun_ns = atomic_load(&calibration->loads->begun_ns);
    for (size_t i = 0; i < done; i++)
        if (loads[i] == kind)
            sum += ns[count++] = calibration->loads->ns[i];
    if (count == 0)
        return 0;
    uint64_t usual_ns = mean(ns, count), waited_ns = less(calibration->late_ns, begun_ns);
    if (begun_ns != 0 && done < strlen(loads) && loads[done] == kind && waited_ns > 2 * usual_ns) {
        sum += waited_ns;
        count++;
    }
    return less(sum / count, usual_ns);
}

static uint64_t free_load_ns(const struct calibration *calibration)
{
    uint64_t ns[MAX_LOADS];
    size_t count = 0, done = atomic_load(&calibration->loads->done);
    for (size_t i = 0; i < done; i++)
        if (calibration->plan.loads[i] == FREE)
            ns[count++] = calibration->loads->ns[i];
    return count < LEAST_FREE ? 0 : mean(ns, count);
}

/* What the second stop takes longer. Where the tracer had slept before the first one alone, that took longer to begin with:
 * then a quarter of the second one, which is less than was seen otherwise (a third to two fifths). */
static uint64_t reading_ns(const struct group *group)
{
    uint64_t longer_ns = less(group->seen_second_ns, group->seen_first_ns),
             least_ns = group->seen_second_ns / 4;
    return longer_ns > least_ns ? longer_ns : least_ns;
}

/* The prices of a stop by the groups of SAMPLE: of both stops of a load alike, of the first one, which is far from the one
 * before, or of the second. A stop takes at least what the tracer has seen of it. FREE_NS: a load without traps. */
enum which { BOTH, FIRST, SECOND };
static void price(const struct sample *sample, enum which which, uint64_t free_ns, struct tg_quartiles *stop,
                  struct tg_quartiles *hidden)
{
    uint64_t stop_ns[MAX_GROUPS], hidden_ns[MAX_GROUPS];
    for (size_t i = 0; i < sample->count; i++) {
        const struct group *group = &sample->groups[i];
        uint64_t read_ns = reading_ns(group);
        uint64_t added_ns = which == SECOND  ? less(group->second_ns, read_ns)
                            : which == FIRST ? less(group->load_ns, free_ns + group->second_ns)
                                             : less(group->load_ns, free_ns + read_ns) / 2;
        hidden_ns[i] = less(added_ns, group->seen_first_ns);
        stop_ns[i] = hidden_ns[i] + group->seen_first_ns;
    }
    *stop = quartiles(stop_ns, sample->count);
    *hidden = quartiles(hidden_ns, sample->count);
}

static void add_to_most(uint64_t ns, struct tg_quartiles *stop, struct tg_quartiles *hidden)
{
    stop->high += ns;
    hidden->high += ns;
}

static struct tg_quartiles price_of_reading(const struct sample *sample)
{
    uint64_t read_ns[MAX_GROUPS];
    for (size_t i = 0; i < sample->count; i++)
        read_ns[i] = reading_ns(&sample->groups[i]);
    return quartiles(read_ns, sample->count);
}

/* Where time was short, stops that are far apart were not measured, or too few of them. False: too short for anything. */
static bool evaluate(const struct calibration *calibration, struct tg_stop_cost *cost)
{
    struct sample close, sparse;
    uint64_t free_ns = free_load_ns(calibration);
    take(calibration, CLOSE, GROUP, &close);
    take(calibration, SPARSE, SPARSE_GROUP, &sparse);
    bool has_close = close.count >= LEAST_GROUPS,
         has_sparse = sparse.count * (size_t)SPARSE_GROUP >= LEAST_SPARSE;
    if (free_ns == 0 || (!has_close && !has_sparse))
        return false;
    const struct sample *measured = has_close ? &close : &sparse;
    struct tg_stop_cost made = {.read = price_of_reading(measured),
                                .together_ns = calibration->stops.together_ns};
    price(measured, has_close ? BOTH : SECOND, free_ns, &made.stop, &made.hidden);
    add_to_most(longest_add_ns(calibration, has_close ? CLOSE : SPARSE) / 2, &made.stop, &made.hidden);
    if (has_sparse) {
        price(&sparse, FIRST, free_ns, &made.sparse_stop, &made.sparse_hidden);
        add_to_most(longest_add_ns(calibration, SPARSE), &made.sparse_stop, &made.sparse_hidden);
    }
    made.samples =
        2 * ((has_close ? GROUP * close.count : 0) + (has_sparse ? SPARSE_GROUP * sparse.count : 0));
    made.stop_ns = made.stop.median;
    made.tracer_ns = less(made.stop.median, made.hidden.median);
    *cost = made;
    return true;
}

/* ---- the whole */

/* Signals that are meant for the recorder find the handlers of the recorder in the child, too. */
static pid_t fork_child(const struct calibration *calibration)
{
    sigset_t others, before;
    sigfillset(&others);
    sigdelset(&others, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        run_child(calibration, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* Ends CHILD. Where there is a limit and no processor for it to end on, it ends when there is one: nobody waits for that. */
static void reap(const struct calibration *calibration, pid_t child)
{
    enum { LOOKS = 100 };
    const struct timespec pause = {.tv_nsec = 100 * 1000};
    bool is_limited = calibration->wait.wanted != NULL;
    kill(child, SIGKILL);
    for (int i = 0; i < LOOKS; i++) {
        pid_t reaped = waitpid(child, NULL, __WALL | (is_limited ? WNOHANG : 0));
        if (reaped == child || (reaped < 0 && errno != EINTR))
            return;
        if (is_limited)
            nanosleep(&pause, NULL);
    }
}

/* Forks, traces and reaps the child. */
static struct tg_error *run(struct calibration *calibration)
{
    struct tg_error *error = NULL;
    pid_t child = fork_child(calibration);
    if (child < 0)
        return tg_error_create_errno(errno, "cannot fork a child process to measure stops");
    bool ended = false;
    error = trace(calibration, child, &ended);
    if (!ended)
        reap(calibration, child);
    return error;
}

static struct tg_error *run_within(struct calibration *calibration, uint64_t within_ns)
{
    struct tg_deadline deadline;
    struct tg_error *error = NULL;
    if (within_ns == UINT64_MAX)
        return run(calibration);
    error = tg_deadline_begin(&deadline, within_ns);
    if (error != NULL)
        return error;
    calibration->wait.wanted = tg_deadline_passed();
    error = run(calibration);
    tg_deadline_end(&deadline);
    return error;
}

static struct tg_error *calibrate(const struct plan *plan, uint64_t within_ns, struct tg_stop_cost *cost)
{
    struct calibration calibration = {.plan = *plan, .loads = MAP_FAILED};
    struct tg_error *error = tg_imitated_loader_create(n_trapped(plan) + 1, &calibration.loader);
    if (error == NULL)
        calibration.maps = tg_link_maps_create(64, tg_imitated_loader_debug(calibration.loader));
    if (calibration.maps != NULL)
        calibration.loads =
            mmap(NULL, sizeof *calibration.loads, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (error == NULL && calibration.loads == MAP_FAILED)
        error = tg_error_no_memory();
    if (error == NULL)
        error = run_within(&calibration, within_ns);
    if (error == NULL && !evaluate(&calibration, cost))
        error = tg_error_create(TG_ERROR_TARGET, "the machine is too busy to measure stops in time");
    if (calibration.loads != MAP_FAILED)
        munmap(calibration.loads, sizeof *calibration.loads);
    tg_stop_events_deinit(&calibration.events);
    tg_link_maps_destroy(calibration.maps);
    tg_imitated_loader_destroy(calibration.loader);
    return error;
}

struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost)
{
    const struct plan plan = {.loads = thorough_loads, .work_ns = usual_work_ns, .pause_ns = 400 * 1000};
    return calibrate(&plan, UINT64_MAX, cost);
}

struct tg_error *tg_calibrate_briefly(uint64_t within_ns, const struct tg_load_pace *pace,
                                      struct tg_stop_cost *cost)
{
    const struct plan plan = {.loads = pace->is_sparse ? sparse_loads : close_loads,
                              .work_ns = pace->work_ns,
                              .pause_ns = 100 * 1000};
    return calibrate(&plan, within_ns, cost);
}
