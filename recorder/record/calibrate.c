#include "recorder/record/calibrate.h"

#include "recorder/engine/engine.h"
#include "recorder/engine/stop_wait.h"
#include "recorder/process/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 11,          /* odd: the median is one of them */
    CALLS_PER_ROUND = 30, /* stops of one round */
    READ_BYTES = 40,      /* as much as one look at a link map */
};

/* The child's measurements; memory shared with it. */
struct rounds {
    uint64_t plain_ns[ROUNDS]; /* time of CALLS_PER_ROUND calls */
    uint64_t trapped_ns[ROUNDS];
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

static uint64_t median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_values);
    return values[count / 2];
}

static uint64_t time_calls(void (*function)(void))
{
    uint64_t start = tg_engine_now_ns();
    for (int i = 0; i < CALLS_PER_ROUND; i++)
        function();
    return tg_engine_now_ns() - start;
}

static void run_child(struct rounds *rounds)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    syscall(SYS_kill, getpid(), SIGSTOP);
    for (int round = 0; round < ROUNDS; round++) {
        rounds->plain_ns[round] = time_calls(calibrate_plain);
        rounds->trapped_ns[round] = time_calls(calibrate_trapped);
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
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && stops == ROUNDS * CALLS_PER_ROUND)
            return NULL;
        if (*ended || WSTOPSIG(status) != SIGTRAP || stops == ROUNDS * CALLS_PER_ROUND)
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

struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost)
{
    __attribute__((cleanup(free_memory))) uint64_t *tracer_ns =
        calloc(ROUNDS * CALLS_PER_ROUND, sizeof *tracer_ns);
    if (tracer_ns == NULL)
        return tg_error_no_memory();
    struct rounds *rounds =
        mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rounds == MAP_FAILED)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    pid_t child = fork();
    if (child == 0)
        run_child(rounds);
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
    if (error == NULL) {
        uint64_t added_ns[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t plain = rounds->plain_ns[round], trapped = rounds->trapped_ns[round];
            added_ns[round] = trapped > plain ? (trapped - plain) / CALLS_PER_ROUND : 0;
        }
        *cost = (struct tg_stop_cost){.stop_ns = median(added_ns, ROUNDS),
                                      .tracer_ns = median(tracer_ns, ROUNDS * CALLS_PER_ROUND),
                                      .samples = ROUNDS * CALLS_PER_ROUND};
    }
    munmap(rounds, sizeof *rounds);
    return error;
}
