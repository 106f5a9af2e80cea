#include "recorder/process/spawn.h"

#include "format/base/short_turns.h"
#include "recorder/agent/raw_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Both ends are close-on-exec: nothing of them reaches the program. */
struct channel {
    int read_end;
    int write_end;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void channel_close(struct channel *channel)
{
    close_end(&channel->read_end);
    close_end(&channel->write_end);
}

#define AUTO_CHANNEL __attribute__((cleanup(channel_close)))

static struct tg_error *channel_open(struct channel *channel)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tg_error_create_errno(errno, "cannot start a program: pipe");
    *channel = (struct channel){ends[0], ends[1]};
    return NULL;
}

static ssize_t read_retrying(int fd, void *buffer, size_t size)
{
    ssize_t n;
    do
        n = read(fd, buffer, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* ---- the child
 *
 * It runs in the caller's memory, on a stack of its own, until it is the program: a copy of the page tables, and of each page
 * that the caller writes to afterwards, would take longer than all else at a job's start. So it calls the kernel alone: errno and
 * whatever else the C library keeps for a thread are the caller's. */

/* All that the child needs, made before. */
struct tg_spawn_plan {
    char *const *argv;
    char *const *environment;
    char **paths;  /* to try one after the other, NULL-terminated */
    char **script; /* arguments of the shell for a program without a format; the second one is the path */
    struct channel go, failure;
    uint64_t mask;      /* of signals, ... */
    uint64_t ignored;   /* ... those that are ignored, ... */
    bool keeps_ignored; /* ... where it is not those that the caller ignores */
    bool own_group;
    int standard_input; /* -1: the caller's */
    void *stack;
};

enum { STACK_BYTES = 32 << 10 };

/* The kernel's struct of that name. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Instrumented code would use the caller's shadow memory for this stack. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d)
{
    return tg_raw_call(number, a, b, c, d, 0, 0);
}

IN_CHILD static void reset_signals(const struct tg_spawn_plan *plan)
{
    for (int signal = 1; signal < NSIG; signal++) {
        struct kernel_action action = {.handler = SIG_DFL};
        bool is_ignored = (plan->ignored >> (signal - 1) & 1) != 0;
        if (plan->keeps_ignored)
            is_ignored = call(SYS_rt_sigaction, signal, 0, (long)&action, sizeof action.mask) == 0 &&
                         action.handler == SIG_IGN;
        action = (struct kernel_action){.handler = is_ignored ? SIG_IGN : SIG_DFL};
        call(SYS_rt_sigaction, signal, (long)&action, 0, sizeof action.mask);
    }
}

/* As execvpe; returns the errno. */
IN_CHILD static int execute(const struct tg_spawn_plan *plan)
{
    bool is_forbidden = false;
    long why = ENOENT;
    for (size_t i = 0; plan->paths[i] != NULL; i++) {
        why = -call(SYS_execve, (long)plan->paths[i], (long)plan->argv, (long)plan->environment, 0);
        if (why == ENOEXEC) {
            plan->script[1] = plan->paths[i];
            why = -call(SYS_execve, (long)plan->script[0], (long)plan->script, (long)plan->environment, 0);
        }
        is_forbidden |= why == EACCES;
        if (why != EACCES && why != ENOENT && why != ESTALE && why != ENOTDIR && why != ENODEV &&
            why != ETIMEDOUT)
            return (int)why;
    }
    return is_forbidden ? EACCES : (int)why;
}

/* Signals are blocked until the caller's handlers are gone and everything is as the options say. */
IN_CHILD _Noreturn static int become_program(void *context)
{
    const struct tg_spawn_plan *plan = context;
    call(SYS_close, plan->go.write_end, 0, 0, 0); /* or the caller's death would never be seen */
    call(SYS_close, plan->failure.read_end, 0, 0, 0);
    reset_signals(plan);
    if (plan->own_group)
        call(SYS_setpgid, 0, 0, 0, 0);
    if (plan->standard_input >= 0)
        call(SYS_dup2, plan->standard_input, STDIN_FILENO, 0, 0);
    char byte;
    long n;
    do
        n = call(SYS_read, plan->go.read_end, (long)&byte, 1, 0);
    while (n == -EINTR);
    int status = 127;
    if (n == 1) {
        call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&plan->mask, 0, sizeof plan->mask);
        int why = execute(plan);
        call(SYS_write, plan->failure.write_end, (long)&why, sizeof why, 0);
        status = why == ENOENT || why == ENOTDIR ? 127 : 126; /* as shells do */
    }
    for (;;)
        call(SYS_exit_group, status, 0, 0, 0);
}

/* As clone(2) with CLONE_VM; the child runs RUN on the stack that ends at END, and nothing of the C library, nor of what stands
 * before it in instrumented builds, which would take the child for a fork. The id, or a negative errno. */
static long begin_child(int (*run)(void *), void *end, void *context)
{
    long result;
    register long tls __asm__("r8") = 0, child_tid __asm__("r10") = 0;
    register int (*function)(void *) __asm__("r12") = run;
    register void *argument __asm__("r13") = context;
    __asm__ volatile("syscall\n"
                     "    test %%rax, %%rax\n"
                     "    jnz 1f\n"
                     "    xor %%ebp, %%ebp\n"
                     "    mov %%r13, %%rdi\n"
                     "    call *%%r12\n"
                     "    ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone), "D"((long)(CLONE_VM | SIGCHLD)), "S"(end), "d"(0L),
                       "r"(child_tid), "r"(tls), "r"(function), "r"(argument)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* ---- the caller */

static void free_plan(struct tg_spawn_plan *plan)
{
    if (plan == NULL)
        return;
    if (plan->stack != MAP_FAILED)
        munmap(plan->stack, STACK_BYTES);
    for (size_t i = 0; plan->paths != NULL && plan->paths[i] != NULL; i++)
        free(plan->paths[i]);
    free(plan->paths);
    free(plan->script);
    free(plan);
}

/* What execvpe would try for NAME; false without memory. */
static bool find_paths(struct tg_spawn_plan *plan, const char *name)
{
    const char *list = strchr(name, '/') != NULL || *name == '\0' ? NULL : getenv("PATH");
    if (list == NULL)
        list = strchr(name, '/') != NULL || *name == '\0' ? "" : "/bin:/usr/bin"; /* confstr(_CS_PATH) */
    size_t n = 1;
    for (const char *at = list; (at = strchr(at, ':')) != NULL; at++)
        n++;
    plan->paths = calloc(n + 1, sizeof *plan->paths);
    for (size_t i = 0; plan->paths != NULL && *name != '\0' && i < n; i++) {
        size_t length = strcspn(list, ":");
        if (asprintf(&plan->paths[i], "%.*s%s%s", (int)length, list, length > 0 ? "/" : "", name) < 0) {
            plan->paths[i] = NULL;
            return false;
        }
        list += length + (list[length] == ':');
    }
    return plan->paths != NULL;
}

/* The arguments of a shell; false without memory. */
static bool make_script(struct tg_spawn_plan *plan, char *const *argv)
{
    static char shell[] = "/bin/sh";
    size_t n = 0;
    while (argv[n] != NULL)
        n++;
    plan->script = calloc(n + 2, sizeof *plan->script);
    if (plan->script == NULL)
        return false;
    plan->script[0] = shell;
    for (size_t i = 1; i < n; i++)
        plan->script[i + 1] = argv[i];
    return true;
}

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits = 0;
    for (int signal = 1; signal < NSIG; signal++)
        bits |= (uint64_t)(sigismember(set, signal) == 1) << (signal - 1);
    return bits;
}

static struct tg_spawn_plan *make_plan(char *const *argv, const struct tg_spawn_options *options,
                                       const sigset_t *mask)
{
    struct tg_spawn_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    *plan = (struct tg_spawn_plan){
        .argv = argv,
        .environment = options->environment != NULL ? options->environment : environ,
        .mask = bits_of(options->mask != NULL ? options->mask : mask),
        .ignored = options->ignored != NULL ? bits_of(options->ignored) : 0,
        .keeps_ignored = options->ignored == NULL,
        .own_group = options->own_group,
        .standard_input = options->standard_input != NULL ? *options->standard_input : -1,
        .stack =
            mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0),
    };
    if (plan->stack != MAP_FAILED && find_paths(plan, argv[0]) && make_script(plan, argv))
        return plan;
    free_plan(plan);
    return NULL;
}

struct tg_error *tg_spawn_begin(char *const *argv, const struct tg_spawn_options *options,
                                struct tg_spawn *spawn)
{
    AUTO_CHANNEL struct channel go = {-1, -1};
    AUTO_CHANNEL struct channel failure = {-1, -1};
    struct tg_error *error = channel_open(&go);
    if (error == NULL)
        error = channel_open(&failure);
    if (error != NULL)
        return error;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    struct tg_spawn_plan *plan = make_plan(argv, options, &former);
    pid_t child = -1;
    int why = ENOMEM;
    if (plan != NULL) {
        plan->go = go;
        plan->failure = failure;
        long result = begin_child(become_program, (char *)plan->stack + STACK_BYTES, plan);
        child = result < 0 ? -1 : (pid_t)result;
        why = result < 0 ? (int)-result : 0;
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (child < 0) {
        free_plan(plan);
        return tg_error_create_errno(why, "cannot start %s: clone", argv[0]);
    }
    tg_short_turns_end_of(child);
    *spawn = (struct tg_spawn){.pid = child, .go = go.write_end, .failure = failure.read_end, .plan = plan};
    go.write_end = failure.read_end = -1;
    return NULL;
}

struct tg_error *tg_spawn_go(const struct tg_spawn *spawn, const char *name)
{
    return write(spawn->go, "", 1) == 1 ? NULL : tg_error_create_errno(errno, "cannot start %s", name);
}

int tg_spawn_failure(const struct tg_spawn *spawn)
{
    int why;
    return read_retrying(spawn->failure, &why, sizeof why) == (ssize_t)sizeof why ? why : 0;
}

void tg_spawn_deinit(struct tg_spawn *spawn)
{
    close_end(&spawn->go);
    close_end(&spawn->failure);
    free_plan(spawn->plan);
    spawn->plan = NULL;
}
