/* 50 leaked blocks (41 lost, 9 indirectly) of 1,053,803 bytes, two with pointers into them alone (the second one's is
 * the C library's, of a thread), and as many that are kept: by the data segment, the stack, a thread's storage. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char text[40];
};
static struct node *kept;
static char *interior;
static __thread char *of_thread;
static char *volatile sink;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

__attribute__((noinline)) static void *make(size_t size)
{
    return memset(malloc(size), 0, size);
}

__attribute__((noinline)) static void leak_one(size_t size)
{
    sink = make(size);
    sink = NULL;
}

__attribute__((noinline)) static void leak_chain(int n)
{
    struct node *head = NULL;
    for (int i = 0; i < n; i++) {
        struct node *node = make(sizeof *node);
        node->next = head;
        head = node;
    }
    sink = (char *)head;
    sink = NULL;
}

__attribute__((noinline)) static void leak_circle(void)
{
    struct node *a = make(sizeof *a), *b = make(sizeof *b);
    a->next = b;
    b->next = a;
}

__attribute__((noinline)) static void keep(int n)
{
    for (int i = 0; i < n; i++) {
        struct node *node = make(sizeof *node);
        node->next = kept;
        kept = node;
    }
}

/* What the calls before have left on the stack. */
__attribute__((noinline)) static void wipe(void)
{
    volatile char room[8192];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

static void *work(void *unused)
{
    of_thread = make(77);
    leak_one(333);
    wipe();
    pthread_barrier_wait(&ready);
    pthread_mutex_lock(&gate);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&gate);
    pthread_barrier_init(&ready, NULL, 2);
    keep(100);
    for (int i = 0; i < 37; i++)
        leak_one(100 + (size_t)i);
    leak_one(1 << 20);
    leak_chain(9);
    leak_circle();
    interior = (char *)make(256) + 16;
    of_thread = make(55);
    pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&ready);
    wipe();
    exit(0); /* beside the thread */
}
