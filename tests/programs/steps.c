/* Something to step through: lines of many kinds, each told apart by a mark. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;
static jmp_buf somewhere;

static int leaf(int x)
{
    int y = x + 1; /* leaf 1 */
    return y * 2;  /* leaf 2 */
} /* leaf end */

static int recurse(int n)
{
    if (n == 0)                 /* recurse 1 */
        return 0;               /* recurse 2 */
    int below = recurse(n - 1); /* recurse 3 */
    return below + n;           /* recurse 4 */
}

static inline __attribute__((always_inline)) int copied(int x)
{
    int y = leaf(x); /* copied 1 */
    return y + 3;    /* copied 2 */
}

static void jumps(int deep)
{
    if (deep > 0)
        jumps(deep - 1);
    longjmp(somewhere, 1); /* jumps */
}

static int jumps_back(void)
{
    jmp_buf here;
    if (setjmp(here) == 0)
        longjmp(here, 1);
    return 5;
}

static void on_signal(int number)
{
    sink = number; /* handler */
}

static int last(int x)
{
    return x + 7;
}

__attribute__((noinline)) static int work(int n)
{
    int sum = 0;                            /* work 1 */
    for (int i = 0; i < n; i++)             /* work 2 */
        sum += leaf(i);                     /* work 3 */
    sum += recurse(3) + leaf(sum);          /* work 4 */
    char text[256];                         /* no code */
    memset(text, n, sizeof text);           /* work 5 */
    snprintf(text, sizeof text, "%d", sum); /* work 6 */
    sum += copied(sum);                     /* work 7 */
    raise(SIGUSR1);                         /* work 8 */
    sum += jumps_back();                    /* work 9 */
    if (setjmp(somewhere) == 0)             /* work 10 */
        jumps(3);                           /* work 11 */
    sum += atoi("12") + last(sum);          /* work 12 */
    return sum;                             /* work 13 */
}

int main(void)
{
    signal(SIGUSR1, on_signal);
    sink = work(2); /* main 1 */
    sink += 1;      /* main 2 */
    return 0;       /* main 3 */
}
