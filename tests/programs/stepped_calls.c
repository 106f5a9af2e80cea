/* Calls to step over and into: system calls, signals, threads, children, longjmp, code without lines. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;
static jmp_buf back;

/* Without lines. */
int bare(int x);
__asm__(".section .text.bare,\"ax\",@progbits\n.globl bare\n.type bare, @function\nbare: lea 1(%rdi), %eax\n "
        "ret\n"
        ".size bare, . - bare\n.text\n");

static int one(int x)
{
    int y = x + 1; /* one 1 */
    return y;      /* one 2 */
}

static int (*choose(void))(int)
{
    return one;
}
int chosen(int x) __attribute__((ifunc("choose")));

static void on_signal(int number)
{
    sink = number;
}

static void *thread(void *argument)
{
    sink++;
    return argument;
}

static int fact(int n)
{
    if (n <= 1) /* fact 1 */
        return 1;
    int r = fact(n - 1); /* fact 3 */
    return r * n;        /* fact 4 */
}

static void deep(int n)
{
    if (n == 0)
        longjmp(back, 7);
    deep(n - 1);
}

static int work(char **argv)
{
    pthread_t other;
    sink = getpid();                            /* work 1 */
    sink = (int)strlen(argv[0]);                /* work 2 */
    raise(SIGUSR1);                             /* work 3 */
    pthread_create(&other, NULL, thread, NULL); /* work 4 */
    pthread_join(other, NULL);                  /* work 5 */
    pid_t child = fork();                       /* work 6 */
    if (child == 0)                             /* work 7 */
        _exit(3);
    waitpid(child, NULL, 0); /* work 8 */
    child = vfork();         /* work 9 */
    if (child == 0)          /* work 10 */
        execl("/bin/true", "true", (char *)0);
    waitpid(child, NULL, 0);               /* work 11 */
    sink = system("true");                 /* work 12 */
    if (setjmp(back) == 0)                 /* work 13 */
        deep(3);                           /* work 14 */
    sink = fact(5);                        /* work 15 */
    sink = bare(3);                        /* work 16 */
    usleep(1);                             /* work 17 */
    sink = chosen(4);                      /* work 18 */
    sink = 1;                              /* work 19 */
    sink = bare(3);                        /* work 20 */
    sink = fact(3);                        /* work 21 */
    execl("/bin/true", "true", (char *)0); /* work 22 */
    return sink;
}

int main(int argc, char **argv)
{
    (void)argc;
    signal(SIGUSR1, on_signal);
    return work(argv);
}
