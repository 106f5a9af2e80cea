/* What every generated program has: work of random length, and a board, a mapped file that the bench reads, on which each
 * thread writes where it is and a culprit that it is one. The truth of a case comes from here, never from tollgate. */
#ifndef TRUTH_WITNESS_H
#define TRUTH_WITNESS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#endif

/* Never inlined: the line of a call is that of the program. */
#define WITNESS static __attribute__((noinline, unused))

enum { WITNESS_CULPRITS = 8, WITNESS_RANKS = 8, WITNESS_THREADS = 64 };

/* Read as native 32-bit integers by board.py: keep both alike. */
struct witness_culprit {
    int is_set, rank, thread, tid, pid, line, last_line, unused;
};

struct witness_place {
    int line; /* of the call that the thread is in; negative: of the last one */
    int thread, tid, pid;
    int calls;
    int returned; /* line of the last call that returned: of MPI, unlike LINE */
    int unused[2];
};

struct witness_board {
    int begun, n_culprits, finished, unused[5];
    struct witness_culprit culprits[WITNESS_CULPRITS];
    int n_threads[WITNESS_RANKS];
    struct witness_place places[WITNESS_RANKS][WITNESS_THREADS];
};

static struct witness_board witness_nowhere, *witness_board = &witness_nowhere;
static int rank, size = 1;
static __thread struct witness_place *witness_own;
static __thread unsigned witness_random;

WITNESS void witness_open(void)
{
    const char *path = getenv("TRUTH_BOARD");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *witness_board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        witness_board = mapped;
}

WITNESS struct witness_place *witness_place(void)
{
    if (witness_own == NULL) {
        int at = __atomic_fetch_add(&witness_board->n_threads[rank], 1, __ATOMIC_RELAXED);
        witness_own = &witness_board->places[rank][at % WITNESS_THREADS];
        witness_own->tid = (int)syscall(SYS_gettid);
        witness_own->pid = getpid();
    }
    witness_own->thread = omp_get_thread_num();
    return witness_own;
}

WITNESS void witness_at(int line)
{
    struct witness_place *place = witness_place();
    place->line = line;
    place->calls++;
}

WITNESS void witness_returned(int line)
{
    witness_at(-line);
    witness_place()->returned = line;
}

/* The calling thread is about to do what is wrong, at LINE. */
WITNESS void witness_culprit(int line)
{
    struct witness_place *place = witness_place();
    int at = __atomic_fetch_add(&witness_board->n_culprits, 1, __ATOMIC_RELAXED);
    if (at >= WITNESS_CULPRITS)
        return;
    struct witness_culprit *culprit = &witness_board->culprits[at];
    culprit->rank = rank;
    culprit->thread = place->thread;
    culprit->tid = place->tid;
    culprit->pid = place->pid;
    culprit->line = line;
    culprit->last_line = place->returned;
    __atomic_store_n(&culprit->is_set, 1, __ATOMIC_RELEASE);
}

/* IS_FAULTY, which is then known. */
WITNESS int witness_fault(int is_faulty, int line)
{
    if (is_faulty)
        witness_culprit(line);
    return is_faulty;
}

WITNESS void witness_begin(void)
{
    if (rank == 0)
        __atomic_store_n(&witness_board->begun, 1, __ATOMIC_RELEASE);
}

WITNESS void witness_finish(void)
{
    __atomic_fetch_add(&witness_board->finished, 1, __ATOMIC_RELEASE);
}

/* Up to MOST_US microseconds, asleep or awake. */
WITNESS void work(int most_us)
{
    struct timespec now, begun;
    if (witness_random == 0)
        witness_random = 0x9e3779b9u * (unsigned)(WITNESS_SEED + 1) + 77u * (unsigned)rank +
                         1013u * (unsigned)omp_get_thread_num() + 1;
    witness_random ^= witness_random << 13;
    witness_random ^= witness_random >> 17;
    witness_random ^= witness_random << 5;
    long us = most_us <= 0 ? 0 : (long)(witness_random % (unsigned)most_us);
    if (witness_random & 0x10000) {
        nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000 < us);
}

#define AT(line)      witness_at(line)
#define CULPRIT(line) witness_culprit(line)
/* A call, whose line is on the board while it lasts, and as the last one afterwards. Compilers do not make one
 * call of two that differ in their line. */
#define DO(call)                                                                                             \
    do {                                                                                                     \
        witness_at(__LINE__);                                                                                \
        (void)(call);                                                                                        \
        __asm__ volatile("# line %0" : : "i"(__LINE__));                                                     \
        witness_returned(__LINE__);                                                                          \
    } while (0)

#endif
