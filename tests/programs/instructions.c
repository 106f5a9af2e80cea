/* Runs instructions of many kinds in functions named step_*, whose every instruction gets a breakpoint:
 * alone, in several threads at once, while signals arrive, and in forked children. Prints sums of what they
 * computed. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPPED __attribute__((noinline))

static int table[8] = {3, 1, 4, 1, 5, 9, 2, 6}; /* reached by RIP-relative operands */
static double scale = 1.5;

STEPPED static uint64_t leaf(uint64_t x)
{
    return x * 2654435761u;
}

STEPPED uint64_t step_branches(uint64_t x)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        if (x & 1)
            sum += leaf(x);
        else if (x & 2)
            sum ^= x >> 3;
        switch (x & 7) {
        case 0:
            sum += 1;
            break;
        case 1:
            sum += 20;
            break;
        case 2:
            sum += 300;
            break;
        case 3:
            sum += 4000;
            break;
        case 4:
            sum += 50000;
            break;
        default:
            sum -= 7;
            break;
        }
        x = x / 3 + (uint64_t)table[x & 7];
    }
    return sum;
}

STEPPED double step_floats(uint64_t x)
{
    double value = (double)(x & 0xffff) * scale;
    return value > 1000 ? value / 7 : value + scale;
}

STEPPED uint64_t step_strings(uint64_t x)
{
    char from[64], to[64] = "";
    memset(from, (int)(x & 0x7f), sizeof from);
    char *source = from, *target = to;
    uint64_t count = sizeof to;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
    uint64_t flags;
    __asm__ volatile("cmp %1, %1; pushfq; pop %0" : "=r"(flags) : "r"(x) : "memory", "cc");
    return (uint64_t)to[63] + (uint64_t)(target - to) + (flags & 0x40);
}

STEPPED uint64_t step_calls(uint64_t x)
{
    uint64_t (*volatile indirect)(uint64_t) = leaf;
    uint64_t sum = indirect(x) + leaf(x + 1);
    __asm__ volatile("push %0; push $5; pop %%rcx; add %%rcx, (%%rsp); pop %0"
                     : "+r"(sum)::"rcx", "memory", "cc");
    return sum;
}

STEPPED long step_syscall(void)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
    return result > 0;
}

static uint64_t round_of(uint64_t x)
{
    return step_branches(x) + (uint64_t)(step_floats(x) * 8) + step_strings(x) + step_calls(x) +
           (uint64_t)step_syscall();
}

static uint64_t rounds(uint64_t from, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t x = from; x < from + count; x++)
        sum += round_of(x * 7919);
    return sum;
}

static void *in_thread(void *argument)
{
    uint64_t *sum = argument;
    *sum = rounds(*sum, 10);
    return NULL;
}

enum { TICKS = 30 };

static atomic_int *ticks; /* shared with the child that sends the signals */

static void tick(int signal)
{
    (void)signal;
    volatile uint64_t sum = round_of((uint64_t)*ticks); /* handlers run into the same breakpoints */
    (void)sum;
    (*ticks)++;
}

/* One signal after the other, with time for the program's own code between them. */
_Noreturn static void send_ticks(void)
{
    for (int i = 0; i < TICKS; i++) {
        kill(getppid(), SIGUSR1);
        while (*ticks <= i)
            usleep(100);
        usleep(1000 + (useconds_t)i * 37);
    }
    _exit((int)(rounds(5, 10) & 0x7f));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("alone: %llx\n", (unsigned long long)rounds(1, 20));
    pthread_t threads[4];
    uint64_t sums[4] = {100, 200, 300, 400};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("threads: %llx\n", (unsigned long long)(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]));
    ticks = mmap(NULL, sizeof *ticks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pid_t child = fork();
    if (child == 0)
        send_ticks();
    uint64_t sum = 0;
    while (*ticks < TICKS)
        sum = rounds(1, 3);
    int status;
    waitpid(child, &status, 0);
    printf("under signals: %llx, child %d\n", (unsigned long long)sum, WEXITSTATUS(status));
    return 15;
}
