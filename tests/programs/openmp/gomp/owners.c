/* Locks that one thread enters again and again, until another one is in there: the first one's wait then ends
 * when the other one leaves. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static omp_lock_t lock, tested, handed_over;
static omp_nest_lock_t nest;
static long count;

static atomic_int asks, is_held;
static atomic_int owner_tid;
static pthread_t owner;

static void nothing(void)
{
    count++;
}

/* In lock KIND, DOES. */
static void with(int kind, void (*does)(void))
{
    switch (kind) {
    case 0:
#pragma omp critical
        does();
        break;
    case 1:
#pragma omp critical(one)
        does();
        break;
    case 2:
        omp_set_lock(&lock);
        does();
        omp_unset_lock(&lock);
        break;
    case 3:
        omp_set_nest_lock(&nest);
        does();
        omp_unset_nest_lock(&nest);
        break;
    case 4: /* the other thread comes in by a test */
        if (does == nothing)
            omp_set_lock(&tested);
        else
            while (!omp_test_lock(&tested))
                ;
        does();
        omp_unset_lock(&tested);
        break;
    default: /* locks set by the owner are unset by the other thread */
        if (does == nothing) {
            omp_set_lock(&handed_over);
            does();
        } else {
            does();
        }
        omp_unset_lock(&handed_over);
        break;
    }
}

static int owner_sleeps(void)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&owner_tid));
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    const char *end = fgets(line, sizeof line, file) == NULL ? NULL : strrchr(line, ')');
    fclose(file);
    return end != NULL && end[2] == 'S';
}

static double spent_ms(void)
{
    clockid_t clock;
    struct timespec now = {0};
    pthread_getcpuclockid(owner, &clock);
    clock_gettime(clock, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

/* Until the owner has asked, and surely waits: it sleeps, or has spent time after it said so. */
static void hold(void)
{
    count++;
    atomic_store(&is_held, 1);
    while (!atomic_load(&asks))
        sched_yield();
    double before = spent_ms();
    while (!owner_sleeps() && spent_ms() < before + 2)
        sched_yield();
}

static void own(int kind)
{
    for (int i = 0; i < ROUNDS; i++)
        with(kind, nothing);
    if (kind == 5)
        omp_set_lock(&handed_over);
}

static void take_turns(int kind)
{
    int is_owner = omp_get_thread_num() == 0;
    if (is_owner)
        own(kind);
#pragma omp barrier
    if (!is_owner) {
        with(kind, hold);
    } else {
        while (!atomic_load(&is_held))
            sched_yield();
        atomic_store(&asks, 1);
        with(kind, nothing);
    }
#pragma omp barrier
    if (is_owner) {
        atomic_store(&is_held, 0);
        atomic_store(&asks, 0);
    }
#pragma omp barrier
}

/* usage: owners KINDS */
int main(int argc, char **argv)
{
    int n_kinds = argc == 2 ? atoi(argv[1]) : 0;
    omp_init_lock(&lock);
    omp_init_lock(&tested);
    omp_init_lock(&handed_over);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            owner = pthread_self();
            atomic_store(&owner_tid, gettid());
        }
        for (int kind = 0; kind < n_kinds; kind++)
            take_turns(kind);
    }
    printf("%ld\n", count);
    return 0;
}
