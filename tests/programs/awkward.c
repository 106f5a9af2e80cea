/* A process that is hard to look at. usage: awkward HOW
 * names: threads whose names are control characters; leader: its first thread has ended; smashed: stack pointers into noise,
 * frame pointers in a circle; deep: 100,000 calls; made: code that was made as it ran, with a 0 on top of its stack; bare: a
 * system call in assembly without unwind information; crowd N: N threads that wait, a third each in a condition variable, for the
 * end of the thread before, and in pause; starved: a thread that the kernel gives its processor 1 ms of every 4 s, or "refused"
 * where that may not be asked for; storm N: threads that make threads and end, in a program that executes itself N times, and
 * exits with 7 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say_there(void)
{
    printf("ready\n");
    fflush(stdout);
}

static void *rename_and_wait(void *unused)
{
    prctl(PR_SET_NAME, "\033[31m\n\\\001");
    say_there();
    pause();
    return unused;
}

static void *wait_alone(void *unused)
{
    usleep(100000);
    say_there();
    pause();
    return unused;
}

static void *run_in_a_circle(void *unused)
{
    unsigned long *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack[100] = (unsigned long)(stack + 100);
    stack[101] = (unsigned long)run_in_a_circle + 8;
    __asm__ volatile("mov %0, %%rbp; mov %0, %%rsp; 1: pause; jmp 1b" : : "r"(stack + 100));
    return unused;
}

static void *run_in_noise(void *unused)
{
    unsigned char *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 1 << 16; i++)
        stack[i] = (unsigned char)(i * 37);
    __asm__ volatile("mov %0, %%rsp; 1: pause; jmp 1b" : : "r"(stack + (1 << 15)));
    return unused;
}

static int go_deep(int left)
{
    if (left > 0)
        return go_deep(left - 1) + 1;
    say_there();
    return pause();
}

static void start(void *(*act)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, act, NULL) == 0)
        pthread_detach(thread);
}

static void *multiply(void *unused)
{
    while (rand() % 3 == 0)
        start(multiply);
    return unused;
}

static void storm(const char *program, int left)
{
    char text[16];
    if (left == 0)
        _exit(7);
    for (int i = 0; i < 20; i++)
        start(multiply);
    usleep((unsigned)(left * 37) % 1000);
    snprintf(text, sizeof text, "%d", left - 1);
    execl("/proc/self/exe", program, "storm", text, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *wait_in_crowd(void *unused)
{
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&never, &mutex);
    return unused;
}

static void *pause_in_crowd(void *unused)
{
    pause();
    return unused;
}

static void *join_in_crowd(void *thread)
{
    pthread_join(*(pthread_t *)thread, NULL);
    return NULL;
}

/* As glibc's clone3, with the frame pointer of its caller. */
void wait_bare(void);
__asm__(".type wait_bare, @function\n"
        "wait_bare: xor %eax, %eax\n mov $34, %al\n syscall\n test %rax, %rax\n ret\n" /* pause */
        ".size wait_bare, . - wait_bare");

static void run_bare(void)
{
    say_there();
    wait_bare();
    say_there();
}

/* push %rbp; mov %rsp, %rbp; push 0; 1: pause; jmp 1b */
static void run_made_code(void)
{
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, 0x00, 0xf3, 0x90, 0xeb, 0xfc};
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*run)(void);
    memcpy(made, code, sizeof code);
    memcpy(&run, &made, sizeof run);
    say_there();
    run();
    say_there();
}

/* As struct sched_attr of <linux/sched/types.h>, which does not go with <sched.h> everywhere. */
struct schedule {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static void *starve(void *unused)
{
    enum { DEADLINE = 6 };
    const struct schedule schedule = {.size = sizeof schedule,
                                      .policy = DEADLINE,
                                      .runtime_ns = 1000000,
                                      .deadline_ns = 4000000000,
                                      .period_ns = 4000000000};
    if (syscall(SYS_sched_setattr, 0, &schedule, 0) != 0) {
        printf("refused\n");
        fflush(stdout);
        pause();
    }
    say_there();
    for (volatile int busy = 1; busy == 1;)
        ;
    return unused;
}

/* False: so many threads are not to be had. */
static int crowd(int count)
{
    static void *(*const acts[])(void *) = {wait_in_crowd, pause_in_crowd, join_in_crowd};
    pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    for (int i = 0; i < count; i++)
        if (threads == NULL || pthread_create(&threads[i + 1], &small, acts[i % 3], &threads[i]) != 0)
            return 0;
    say_there();
    pause();
    return 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "storm") == 0 && argc == 3)
        storm(argv[0], atoi(argv[2]));
    if (strcmp(how, "crowd") == 0 && argc == 3)
        return !crowd(atoi(argv[2]));
    if (strcmp(how, "bare") == 0)
        run_bare();
    if (strcmp(how, "names") == 0)
        start(rename_and_wait);
    if (strcmp(how, "leader") == 0) {
        start(wait_alone);
        pthread_exit(NULL);
    }
    if (strcmp(how, "smashed") == 0) {
        start(run_in_a_circle);
        start(run_in_noise);
        say_there();
    }
    if (strcmp(how, "made") == 0)
        run_made_code();
    if (strcmp(how, "starved") == 0)
        start(starve);
    if (strcmp(how, "deep") == 0)
        return go_deep(100000);
    if (strcmp(how, "vfork") == 0 && vfork() == 0) { /* nothing reaches its parent meanwhile */
        say_there();
        for (;;)
            pause();
    }
    pause();
    return 0;
}
