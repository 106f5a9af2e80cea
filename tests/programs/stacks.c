/* Stacks of every make: `stacks WHAT` stops at an int3 on one of them. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP() __asm__ volatile("int3\n\tnop" ::: "memory") /* stops at the nop: still the same line */

static volatile int sink;

__attribute__((noinline)) static int recurse(int n)
{
    if (n == 0) {
        STOP(); /* LINE recursion */
        return 1;
    }
    int below = recurse(n - 1); /* LINE recursive call */
    sink += below;
    return below + n;
}

static inline __attribute__((always_inline)) void innermost_inline(int x)
{
    sink = x;
    STOP(); /* LINE inlined */
    sink = x + 1;
}

static inline __attribute__((always_inline)) void outer_inline(int x)
{
    sink += x;
    innermost_inline(x * 3); /* LINE inlined call */
    sink += x;
}

__attribute__((noinline)) static void has_inlined(int x)
{
    outer_inline(x + 1); /* LINE outer inlined call */
    sink -= x;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    static int stopped;
    if (!stopped++)
        STOP(); /* LINE compare */
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void sorts(void)
{
    int numbers[] = {3, 1, 2, 5, 4};
    qsort(numbers, 5, sizeof *numbers, compare); /* LINE qsort */
    sink = numbers[0];
}

static void on_signal(int number)
{
    sink = number;
    STOP(); /* LINE handler */
    sink = 0;
}

__attribute__((noinline)) static void interrupted(int on_other_stack)
{
    static char memory[1 << 16];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = on_other_stack ? SA_ONSTACK : 0};
    if (on_other_stack)
        sigaltstack(&stack, NULL);
    sigaction(SIGFPE, &action, NULL);
    __asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" ::: "eax", "ecx", "edx"); /* LINE division */
    sink = 1;
}

static void *in_thread(void *argument)
{
    sink = *(int *)argument;
    STOP(); /* LINE thread */
    return NULL;
}

__attribute__((noinline)) static void starts_thread(void)
{
    pthread_t thread;
    int number = 7;
    if (pthread_create(&thread, NULL, in_thread, &number) == 0)
        pthread_join(thread, NULL);
}

__attribute__((noinline)) static void calls_null(void)
{
    void (*volatile function)(void) = NULL;
    function(); /* LINE null */
    sink = 2;
}

/* Without unwind information, but with a frame pointer; and one without anything. */
void framed(void (*function)(void));
__asm__(".text\n"
        ".type framed, @function\n"
        "framed:\n"
        "\tpush %rbp\n\tmov %rsp, %rbp\n\tsub $32, %rsp\n\tcall *%rdi\n\tleave\n\tret\n"
        ".size framed, .-framed\n");

__attribute__((noinline)) static void called_by_framed(void)
{
    STOP(); /* LINE framed */
    sink = 3;
}

__attribute__((noinline)) static void guesses(void)
{
    framed(called_by_framed); /* LINE guess */
    sink = 4;
}

/* Every kind of call once, to be stepped through one instruction at a time. */
__attribute__((noinline)) static long instructions(void)
{
    char text[64];
    long sum =
        recurse(3) + (long)strlen(text + snprintf(text, sizeof text, "%d %s %.3f", sink, "x", 1.5) % 2);
    has_inlined((int)sum);
    sorts();
    long product = strtol("12", NULL, 10) * labs(-3);
    return sum + product;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "recursion") == 0)
        sink += recurse(4);
    else if (strcmp(what, "inlined") == 0)
        has_inlined(argc);
    else if (strcmp(what, "library") == 0)
        sorts();
    else if (strcmp(what, "handler") == 0 || strcmp(what, "altstack") == 0)
        interrupted(what[0] == 'a');
    else if (strcmp(what, "thread") == 0)
        starts_thread();
    else if (strcmp(what, "null") == 0)
        calls_null();
    else if (strcmp(what, "guess") == 0)
        guesses();
    else if (strcmp(what, "instructions") == 0)
        sink += (int)instructions();
    return sink & 1;
}
