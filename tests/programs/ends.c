/* Ends in the way that its argument names, with other threads around. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sink;
static volatile int *volatile nowhere;

static __attribute__((noinline)) int overflow(int n)
{
    volatile char room[8192];
    room[0] = (char)n;
    sink = room[0];
    return n < 0 ? 0 : overflow(n + 1) + room[0]; /* OVERFLOW */
}

static void *overflow_in_thread(void *unused)
{
    overflow(0);
    return unused;
}

static atomic_int n_asleep;

/* TELLS, NULL none: says when the first thread is in its loop. */
static void *sleep_on(void *tells)
{
    n_asleep++;
    while (tells != NULL && sink == 0)
        sched_yield();
    if (tells != NULL) {
        puts("ready");
        fflush(stdout);
    }
    for (;;)
        pause();
    return NULL;
}

static __attribute__((noinline)) void write_nowhere(void)
{
    *nowhere = 1; /* WRITE */
}

static void leave(int signal)
{
    (void)signal;
    _exit(9);
}

static void raise_again(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void fail_in_handler(int number)
{
    (void)number;
    *nowhere = 2; /* HANDLER */
}

static void call_code_of_ours(void)
{
    static const unsigned char code[] = {0x31, 0xc0, 0x89, 0x00}; /* xor %eax, %eax; mov %eax, (%rax) */
    void *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(room, code, sizeof code);
    void (*function)(void);
    memcpy(&function, &room, sizeof function);
    function(); /* JIT */
}

static __attribute__((noinline)) void smash(void)
{
    volatile uint64_t *words = (volatile uint64_t *)__builtin_frame_address(0);
    for (int i = 0; i < 64; i++)
        words[i] = UINT64_C(0x4141414141414141);
}

static __attribute__((noinline)) void spin(void)
{
    for (;;)
        sink++; /* SPIN */
}

static char *page;

static void open_page(int number)
{
    (void)number;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* Lives on faults, as garbage collectors do; the last one is no such. */
static void fault_often(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, open_page);
    for (int i = 0; i < 2000; i++) {
        *(volatile char *)page = 1;
        mprotect(page, 4096, PROT_NONE);
    }
    signal(SIGSEGV, SIG_DFL);
    write_nowhere(); /* OFTEN */
}

static void end(const char *how)
{
    void (*function)(void) = NULL;
    if (strcmp(how, "fault") == 0)
        write_nowhere(); /* FAULT */
    else if (strcmp(how, "null") == 0)
        function(); /* NULL */
    else if (strcmp(how, "overflow") == 0)
        overflow(0);
    else if (strcmp(how, "overflow of a thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, overflow_in_thread, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "smash") == 0)
        smash();
    else if (strcmp(how, "abort") == 0)
        abort(); /* ABORT */
    else if (strcmp(how, "jit") == 0)
        call_code_of_ours();
    else if (strcmp(how, "exit") == 0)
        exit(3); /* EXIT */
    else if (strcmp(how, "often") == 0)
        fault_often();
    else if (strcmp(how, "spin") == 0)
        spin();
    else if (strcmp(how, "handler") == 0)
        raise(SIGALRM); /* ALARM */
    else
        write_nowhere();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fault";
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, sleep_on, i == 0 && strcmp(how, "spin") == 0 ? &threads[0] : NULL);
    while (n_asleep < 2)
        sched_yield();
    if (strcmp(how, "caught") == 0)
        signal(SIGSEGV, leave);
    else if (strcmp(how, "again") == 0)
        signal(SIGSEGV, raise_again);
    else if (strcmp(how, "handler") == 0)
        signal(SIGALRM, fail_in_handler);
    end(how); /* MAIN */
    return 0;
}
