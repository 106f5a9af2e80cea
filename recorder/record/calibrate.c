#include "recorder/record/calibrate.h"

#include "recorder/engine/engine.h"
#include "recorder/engine/stop_wait.h"
#include "recorder/loader/link_map.h"
#include "recorder/process/own_tracee.h"
#include "recorder/record/deadline.h"
#include "recorder/record/imitated_loader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_STOPS = 256,
    MAX_FREE_CALLS = 64,
    LEAST_STOPS = 16, /* counted ones, for quartiles */
    LEAST_SPARSE = 8, /* of those behind a pause */
    PAGE_BYTES = 4096,
};

/* Every second call adds an object to the list, the others settle it: as in a loop of dlopens. */
struct plan {
    size_t close;      /* calls one right behind the other */
    size_t sparse;     /* in pairs, behind a pause each */
    size_t warm_up;    /* of the close ones, not counted */
    size_t free;       /* calls without a trap, to see what the clock, the call and the work behind it take */
    size_t work;       /* pages, of the work behind each call */
    uint64_t pause_ns; /* longer than the engine looks for the next stop before it sleeps (100 us) */
};

static const struct plan thorough = {
    .close = 160, .sparse = 32, .warm_up = 32, .free = 64, .work = 16, .pause_ns = 400 * 1000};
static const struct plan brief = {
    .close = 32, .sparse = 16, .warm_up = 8, .free = 16, .work = 2, .pause_ns = 200 * 1000};

/* The child's measurements: how long each call took; memory shared with it. */
struct calls {
    uint64_t free_ns[MAX_FREE_CALLS];
    uint64_t trapped_ns[MAX_STOPS];
};

/* The tracer's: what it has seen of each stop. */
struct stops {
    uint64_t seen_ns[MAX_STOPS];
    size_t count;
};

struct calibration {
    const struct plan *plan;
    struct tg_imitated_loader *loader;
    struct calls *calls;
    struct stops stops;
    struct tg_link_maps *maps;
    struct tg_stop_wait wait;
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

static struct tg_quartiles quartiles(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_values);
    return (struct tg_quartiles){values[count / 4], values[count / 2], values[count - 1 - count / 4]};
}

/* Work in the kernel as of mapping a library: what it takes longer because a stop came before it is a part of the stop's
 * price. */
static void map_some_pages(size_t n_pages)
{
    size_t size = n_pages * PAGE_BYTES;
    volatile char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    for (size_t i = 0; i < size; i += PAGE_BYTES)
        pages[i] = 1;
    munmap((void *)(uintptr_t)pages, size);
}

static uint64_t time_call(const struct calibration *calibration, size_t call, void (*function)(void))
{
    uint64_t start_ns = tg_engine_now_ns();
    if (call % 2 == 0)
        tg_imitated_loader_add(calibration->loader);
    else
        tg_imitated_loader_settle(calibration->loader);
    function();
    map_some_pages(calibration->plan->work);
    return tg_engine_now_ns() - start_ns;
}

static void keep_busy(uint64_t ns)
{
    uint64_t start_ns = tg_engine_now_ns();
    while (tg_engine_now_ns() - start_ns < ns)
        ;
}

static size_t n_calls(const struct plan *plan)
{
    return plan->close + plan->sparse;
}

static void run_child(const struct calibration *calibration, pid_t parent)
{
    const struct plan *plan = calibration->plan;
    if (!tg_own_tracee_begin(parent))
        _exit(1);
    syscall(SYS_kill, getpid(), SIGSTOP);
    for (size_t i = 0; i < plan->free; i++)
        calibration->calls->free_ns[i] = time_call(calibration, i, calibrate_plain);
    for (size_t i = 0; i < n_calls(plan); i++) {
        if (i >= plan->close && i % 2 == 0)
            keep_busy(plan->pause_ns);
        calibration->calls->trapped_ns[i] = time_call(calibration, i, calibrate_trapped);
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
    while (tg_stop_wait(&calibration->wait, child, 1, status) != child) {
        if (errno != EINTR)
            return tg_error_create_errno(errno, "cannot wait for the child process that measures stops");
        *status = LATE;
        if (is_late(calibration))
            return NULL;
    }
    return NULL;
}

/* What the engine does at a stop of the loader; SPENT_NS is what it took since SEEN_NS, up to the continue, which may
 * already run the child on this processor. */
static struct tg_error *handle_trap(struct tg_link_maps *maps, pid_t child, uint64_t seen_ns,
                                    uint64_t *spent_ns)
{
    struct __ptrace_syscall_info where;
    struct tg_link_delta delta;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof where, &where) <= 0)
        return tg_error_create_errno(errno, "cannot read where a stopped child is");
    tg_link_maps_update(maps, child, TG_LINK_LOOK_NEW, &delta);
    *spent_ns = tg_engine_now_ns() - seen_ns;
    if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return tg_error_create_errno(errno, "cannot resume a stopped child");
    return NULL;
}

/* Serves CHILD's stops until it ends or it is late; ENDED tells whether it did. */
static struct tg_error *serve(struct calibration *calibration, pid_t child, bool *ended)
{
    const struct plan *plan = calibration->plan;
    struct stops *stops = &calibration->stops;
    for (;; stops->count++) {
        int status;
        struct tg_error *error = wait_for(calibration, child, &status);
        if (error != NULL)
            return error;
        uint64_t seen_ns = tg_engine_now_ns();
        if (status == LATE) {
            stops->count -= stops->count > 0; /* the call of the last one may not be complete */
            return NULL;
        }
        *ended = !WIFSTOPPED(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && stops->count == n_calls(plan))
            return NULL;
        if (*ended || WSTOPSIG(status) != SIGTRAP || stops->count == n_calls(plan))
            return tg_error_create(TG_ERROR_TARGET,
                                   "the child process that measures stops ended early (status %#x)",
                                   (unsigned)status);
        error = handle_trap(calibration->maps, child, seen_ns, &stops->seen_ns[stops->count]);
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

/* The values of those calls from FIRST up to END that are as FIRST is: which add, or which settle. */
struct sample {
    uint64_t stop_ns[MAX_STOPS], hidden_ns[MAX_STOPS], seen_ns[MAX_STOPS];
    size_t count;
};

/* A stop takes at least what the tracer has seen of it. */
static void take(const struct calibration *calibration, size_t first, size_t end, struct sample *sample)
{
    const struct calls *calls = calibration->calls;
    uint64_t free_ns[MAX_FREE_CALLS];
    size_t n_free = 0;
    for (size_t i = first % 2; i < calibration->plan->free; i += 2)
        free_ns[n_free++] = calls->free_ns[i];
    uint64_t without_ns = quartiles(free_ns, n_free).median;
    sample->count = 0;
    for (size_t i = first; i < end; i += 2) {
        uint64_t call_ns = calls->trapped_ns[i], seen_ns = calibration->stops.seen_ns[i];
        uint64_t stop_ns = call_ns > without_ns + seen_ns ? call_ns - without_ns : seen_ns;
        sample->stop_ns[sample->count] = stop_ns;
        sample->hidden_ns[sample->count] = stop_ns - seen_ns;
        sample->seen_ns[sample->count++] = seen_ns;
    }
}

/* What a stop that shows a library takes the tracer longer than one that shows none. */
static struct tg_quartiles read_cost(struct sample *adding, struct sample *settling)
{
    uint64_t bare_ns = quartiles(adding->seen_ns, adding->count).median;
    for (size_t i = 0; i < settling->count; i++)
        settling->seen_ns[i] = settling->seen_ns[i] > bare_ns ? settling->seen_ns[i] - bare_ns : 0;
    return quartiles(settling->seen_ns, settling->count);
}

/* Where time was short, stops that are far apart were not measured, or too few of them. */
static void evaluate(struct calibration *calibration, struct tg_stop_cost *cost)
{
    const struct plan *plan = calibration->plan;
    struct sample adding, settling;
    size_t done = calibration->stops.count;
    size_t close = done < plan->close ? done : plan->close;
    struct tg_stop_cost made = {.samples = done - plan->warm_up};
    take(calibration, plan->warm_up, close, &adding);
    take(calibration, plan->warm_up + 1, close, &settling);
    made.stop = quartiles(adding.stop_ns, adding.count);
    made.hidden = quartiles(adding.hidden_ns, adding.count);
    made.read = read_cost(&adding, &settling);
    made.stop_ns = made.stop.median;
    made.tracer_ns = made.stop.median > made.hidden.median ? made.stop.median - made.hidden.median : 0;
    take(calibration, plan->close, done, &adding);
    if (adding.count >= LEAST_SPARSE) {
        made.sparse_stop = quartiles(adding.stop_ns, adding.count);
        made.sparse_hidden = quartiles(adding.hidden_ns, adding.count);
    }
    *cost = made;
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
    if (error == NULL && calibration->stops.count < calibration->plan->warm_up + LEAST_STOPS)
        error = tg_error_create(TG_ERROR_TARGET, "the machine is too busy to measure stops in time");
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
    struct calibration calibration = {.plan = plan, .calls = MAP_FAILED};
    struct tg_error *error =
        tg_imitated_loader_create((n_calls(plan) + plan->free) / 2 + 1, &calibration.loader);
    if (error == NULL)
        calibration.maps = tg_link_maps_create(64, tg_imitated_loader_debug(calibration.loader));
    if (calibration.maps != NULL)
        calibration.calls =
            mmap(NULL, sizeof *calibration.calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (error == NULL && calibration.calls == MAP_FAILED)
        error = tg_error_no_memory();
    if (error == NULL)
        error = run_within(&calibration, within_ns);
    if (error == NULL)
        evaluate(&calibration, cost);
    if (calibration.calls != MAP_FAILED)
        munmap(calibration.calls, sizeof *calibration.calls);
    tg_link_maps_destroy(calibration.maps);
    tg_imitated_loader_destroy(calibration.loader);
    return error;
}

struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost)
{
    return calibrate(&thorough, UINT64_MAX, cost);
}

struct tg_error *tg_calibrate_briefly(uint64_t within_ns, struct tg_stop_cost *cost)
{
    return calibrate(&brief, within_ns, cost);
}
