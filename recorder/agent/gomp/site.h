/* The program's code behind a call of libgomp: GCC compiles a static loop and a masked (or
 * master) construct without a call of their own, but with omp_get_num_threads, omp_get_thread_num, and
 * arithmetic on what they return. That is read in the code behind the call, once for each call site.
 *
 * Async-signal-safe, no locks. Where code cannot be read there is no construct. */
#ifndef TG_RECORDER_AGENT_GOMP_SITE_H
#define TG_RECORDER_AGENT_GOMP_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_gomp_construct {
    TG_GOMP_NO_CONSTRUCT,
    TG_GOMP_STATIC_LOOP, /* iterations are divided among the threads */
    TG_GOMP_MASKED,      /* something is left out unless the thread number is FILTER */
    TG_GOMP_SINGLE,      /* something is left out unless this thread executes it */
};

/* The call behind which the code lies. */
enum tg_gomp_asked {
    TG_GOMP_ASKED_THREAD_NUM,
    TG_GOMP_ASKED_NUM_THREADS,
    TG_GOMP_ASKED_NOTHING, /* a barrier: numbers asked for before may be used again */
    TG_GOMP_ASKED_SINGLE,  /* GOMP_single_start: whether this thread executes it */
};

/* A call site. Distances are in bytes from the address that the call returns to. */
struct tg_gomp_site {
    enum tg_gomp_construct construct;
    int32_t filter;
    /* calls in the construct's code return to addresses in (START, END]; both 0: not known */
    int32_t start, end;
    int32_t next_call; /* return address of the next call; 0: something else comes first */
    uint32_t numbers;  /* registers that keep the thread number over calls: bit N is number N */
    int32_t decided;   /* behind the last instruction that was looked at for that */
};

enum { TG_GOMP_SITE_OPEN = INT32_MAX }; /* END: not known */

/* How the code is read: up to SIZE bytes from the distance AT into BUFFER; returns how many there are. */
typedef size_t tg_gomp_read_code(void *context, int64_t at, uint8_t *buffer, size_t size);

struct tg_gomp_situation {
    enum tg_gomp_asked asked;
    bool is_pair;     /* num_threads was asked for right before */
    uint32_t numbers; /* ASKED_NOTHING: registers that keep the thread number */
};

/* Reads the code behind a call. Pure but for READ. */
struct tg_gomp_site tg_gomp_site_read(const struct tg_gomp_situation *situation, tg_gomp_read_code *read,
                                      void *context);

/* Likewise for the call that returns to CALLER: read at the first call from there, and remembered for good. A
 * library that is loaded where another one was finds what was remembered of that one. The result may be in
 * BUFFER; NULL where the table of call sites is full. */
const struct tg_gomp_site *tg_gomp_site_find(const void *caller, const struct tg_gomp_situation *situation,
                                             struct tg_gomp_site *buffer);

#endif
