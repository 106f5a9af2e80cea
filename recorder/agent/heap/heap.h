/* The heap library: stands between a program and its allocator, and tells the recorder what goes through.
 *
 * It defines malloc, free, operator new and all the like, and passes every call on to the definition that the
 * program would have used without it (real.h). It is loaded behind the agent and writes into the agent's
 * rings; of the agent it uses what TG_AGENT_SHARED names in the agent's headers. It needs no library (no
 * DT_NEEDED): what it calls of libc it finds in the program. Nothing in it allocates or takes a lock, and all
 * of it may be called at any time: before libc is ready, in signal handlers, in forked children, while a
 * thread ends. errno is left as the allocator leaves it.
 *
 * The state of the library. */
#ifndef TG_RECORDER_AGENT_HEAP_HEAP_H
#define TG_RECORDER_AGENT_HEAP_HEAP_H

#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_heap_state {
    TG_HEAP_NOT_YET, /* the agent does not know its recorder yet: calls are kept (early.h) */
    TG_HEAP_SETTING_UP,
    TG_HEAP_OFF, /* nobody wants to know */
    TG_HEAP_ON,
};

struct tg_heap {
    int state; /* enum tg_heap_state, __atomic */
    bool
        decides; /* __atomic: all of the library is ready, and how operators are called is decided (operators.c) */
    bool
        operators_in_front; /* an object in front of the library, the program perhaps, has operators of C++ */
    struct tg_agent_heap settings;
};
extern struct tg_heap tg_heap;

enum { TG_HEAP_NOT_TOLD = -1 };

/* What the program says of a block to the operator delete that releases it. */
struct tg_heap_told {
    size_t size;      /* TG_HEAP_NOT_TOLD: not that */
    size_t alignment; /* 0: it has no alignment of its own */
};

/* Of a thread. While operator new passes a call on, the allocation that comes of it is operator new's. */
struct tg_heap_thread {
    /* what calls that are only counted look at comes first: one cache line */
    int64_t left;      /* sampling (sample.h): bytes up to the next sample */
    const void *outer; /* frame of the operator, NULL none; it may have been left by longjmp */
    const void *freed; /* operator delete has recorded this block as freed, and passes it on */
    size_t size;       /* as asked of the operator */
    bool told;         /* the allocation is recorded */
    unsigned call;     /* enum tg_heap_call */
    uintptr_t caller;  /* the return address in that frame */
    size_t alignment;  /* as asked of the operator; 0: it is no aligned one */
    unsigned release;  /* enum tg_heap_release of that; where blocks are checked, it is recorded only then */
    struct tg_heap_told told_of_freed;
    uint64_t random;                  /* sampling; 0: none drawn yet */
    struct tg_heap_walk_memory *walk; /* if the thread is OWNER there; NULL: not looked for yet */
} __attribute__((aligned(64)));
extern __thread struct tg_heap_thread tg_heap_thread __attribute__((tls_model("initial-exec")));

#endif
