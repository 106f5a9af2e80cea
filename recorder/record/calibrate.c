#include "recorder/record/calibrate.h"

#include "recorder/engine/engine.h"
#include "recorder/engine/stop_wait.h"
#include "recorder/process/memory.h"
#include "recorder/process/own_tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CLOSE_STOPS = 160, /* one right behind the other */
    SPARSE_STOPS = 16, /* behind a pause each */
    STOPS = CLOSE_STOPS + SPARSE_STOPS,
    WARM_UP = 32,          /* of the close ones, not counted */
    PAUSE_NS = 400 * 1000, /* longer than the engine looks for the next stop before it sleeps */
    READ_BYTES = 40,       /* as much as one look at a link map */
    WORK_BYTES = 16 * 4096,
    PAGE_BYTES = 4096,
    FREE_CALLS = 64, /* to see what the clock, the call and the work behind it take */
};

/* The child's measurements: how long each call took; memory shared with it. */
struct calls {
    uint64_t free_ns[FREE_CALLS];
    uint64_t trapped_ns[STOPS];
};

/* A function that returns, and one that traps in front of it: the tracer does its `ret`. */
void calibrate_plain(void);
void calibrate_trapped(void);
__asm__(".pushsection .text\n"
        ".balign 16\n.type calibrate_plain, @function\ncalibrate_plain: ret\n"
        ".size calibrate_plain, . - calibrate_plain\n"
        ".balign 16\n.type calibrate_trapped, @function\ncalibrate_trapped: int3\n"
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

/* As much work in the kernel as mapping a small library: what it takes longer because a stop came before it is a
 * part of the stop's price. */
static void map_some_pages(void)
{
    volatile char *pages = mmap(NULL, WORK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    for (size_t i = 0; i < WORK_BYTES; i += PAGE_BYTES)
        pages[i] = 1;
    munmap((void *)(uintptr_t)pages, WORK_BYTES);
}

static uint64_t time_call(void (*function)(void))
{
    uint64_t start_ns = tg_engine_now_ns();
    function();
    map_some_pages();
    return tg_engine_now_ns() - start_ns;
}

static void keep_busy(uint64_t ns)
{
    uint64_t start_ns = tg_engine_now_ns();
    while (tg_engine_now_ns() - start_ns < ns)
        ;
}

static void run_child(struct calls *calls, pid_t parent)
{
    if (!tg_own_tracee_begin(parent))
        _exit(1);
    syscall(SYS_kill, getpid(), SIGSTOP);
    for (size_t i = 0; i < FREE_CALLS; i++)
        calls->free_ns[i] = time_call(calibrate_plain);
    for (size_t i = 0; i < STOPS; i++) {
        if (i >= CLOSE_STOPS)
            keep_busy(PAUSE_NS);
        calls->trapped_ns[i] = time_call(calibrate_trapped);
    }
    _exit(0);
}

/* Waits for the next stop or the end of CHILD. */
static struct tg_error *wait_for(struct tg_stop_wait *wait, pid_t child, int *status)
{
    while (tg_stop_wait(wait, child, 1, status) != child)
        if (errno != EINTR)
            return tg_error_create_errno(errno, "cannot wait for the child process that measures stops");
    return NULL;
}

/* The least work of a stop; SPENT_NS is what it took since SEEN_NS, up to the continue, which may already run
 * the child on this processor. */
static struct tg_error *handle_trap(pid_t child, uint64_t seen_ns, uint64_t *spent_ns)
{
    struct user_regs_struct regs;
    uint64_t stack[READ_BYTES / sizeof(uint64_t)];
    if (ptrace(PTRACE_GETREGS, child, NULL, &regs) != 0)
        return tg_error_create_errno(errno, "cannot read the registers of a stopped child");
    if (!tg_memory_read(child, regs.rsp, stack, sizeof stack))
        return tg_error_create(TG_ERROR_TARGET, "cannot read the memory of a stopped child");
    regs.rip = stack[0];
    regs.rsp += sizeof stack[0];
    if (ptrace(PTRACE_SETREGS, child, NULL, &regs) != 0)
        return tg_error_create_errno(errno, "cannot write the registers of a stopped child");
    *spent_ns = tg_engine_now_ns() - seen_ns;
    if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return tg_error_create_errno(errno, "cannot resume a stopped child");
    return NULL;
}

/* Serves CHILD's stops until it ends; ENDED tells whether it did. */
static struct tg_error *trace(pid_t child, uint64_t *tracer_ns, bool *ended)
{
    int status = 0;
    struct tg_stop_wait wait = {0};
    struct tg_error *error = wait_for(&wait, child, &status);
    if (error != NULL)
        return error;
    *ended = !WIFSTOPPED(status);
    if (*ended)
        return tg_error_create(TG_ERROR_TARGET, "cannot trace the child process that measures stops");
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return tg_error_create_errno(errno, "cannot trace the child process that measures stops");
    for (size_t stops = 0;; stops++) {
        error = wait_for(&wait, child, &status);
        if (error != NULL)
            return error;
        uint64_t seen_ns = tg_engine_now_ns();
        *ended = !WIFSTOPPED(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && stops == STOPS)
            return NULL;
        if (*ended || WSTOPSIG(status) != SIGTRAP || stops == STOPS)
            return tg_error_create(TG_ERROR_TARGET,
                                   "the child process that measures stops ended early (status %#x)",
                                   (unsigned)status);
        error = handle_trap(child, seen_ns, &tracer_ns[stops]);
        if (error != NULL)
            return error;
    }
}

static void free_memory(uint64_t **memory)
{
    free(*memory);
}

/* The figures of the calls from FIRST on. A stop takes at least what the tracer has seen of it. */
static void sum_up(const struct calls *calls, const uint64_t *tracer_ns, size_t first, size_t count,
                   uint64_t free_ns, struct tg_quartiles *stop, struct tg_quartiles *hidden)
{
    uint64_t stop_ns[STOPS], hidden_ns[STOPS];
    for (size_t i = 0; i < count; i++) {
        uint64_t call_ns = calls->trapped_ns[first + i], seen_ns = tracer_ns[first + i];
        stop_ns[i] = call_ns > free_ns + seen_ns ? call_ns - free_ns : seen_ns;
        hidden_ns[i] = stop_ns[i] - seen_ns;
    }
    *stop = quartiles(stop_ns, count);
    *hidden = quartiles(hidden_ns, count);
}

static void evaluate(struct calls *calls, const uint64_t *tracer_ns, struct tg_stop_cost *cost)
{
    struct tg_stop_cost made = {.samples = STOPS - WARM_UP};
    uint64_t free_ns = quartiles(calls->free_ns, FREE_CALLS).median;
    sum_up(calls, tracer_ns, WARM_UP, CLOSE_STOPS - WARM_UP, free_ns, &made.stop, &made.hidden);
    sum_up(calls, tracer_ns, CLOSE_STOPS, SPARSE_STOPS, free_ns, &made.sparse_stop, &made.sparse_hidden);
    made.stop_ns = made.stop.median;
    made.tracer_ns = made.stop.median > made.hidden.median ? made.stop.median - made.hidden.median : 0;
    *cost = made;
}

struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost)
{
    __attribute__((cleanup(free_memory))) uint64_t *tracer_ns = calloc(STOPS, sizeof *tracer_ns);
    if (tracer_ns == NULL)
        return tg_error_no_memory();
    struct calls *calls =
        mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls == MAP_FAILED)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        run_child(calls, parent);
    if (child < 0) {
        error = tg_error_create_errno(errno, "cannot fork a child process to measure stops");
    } else {
        bool ended = false;
        error = trace(child, tracer_ns, &ended);
        if (!ended) {
            kill(child, SIGKILL);
            while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
                ;
        }
    }
    if (error == NULL)
        evaluate(calls, tracer_ns, cost);
    munmap(calls, sizeof *calls);
    return error;
}
