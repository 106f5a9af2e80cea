/* Constructs for which the runtime is not called: static loops and masked (master) ones. They are concluded
 * from the code behind calls that the program makes (numbers.c), and marked as inferred. */
#ifndef TG_RECORDER_AGENT_GOMP_INFERRED_H
#define TG_RECORDER_AGENT_GOMP_INFERRED_H

#include "recorder/agent/openmp.h"

/* A single whose end is not seen: the construct calls nothing there, only the barrier behind it, if any. A
 * static loop that was left counts as one that is passed. */
enum tg_gomp_single {
    TG_GOMP_SINGLE_NONE,
    TG_GOMP_SINGLE_EXECUTES, /* by this thread, now or before */
    TG_GOMP_SINGLE_PASSED,   /* the next barrier is the one behind it */
};

enum { TG_GOMP_KEEPERS = 4 };

/* The construct that a thread is in, as the code says behind a call that it made. */
struct tg_gomp_inferred {
    const void *site;     /* return address of that call, NULL: none since the last call from elsewhere */
    const void *stack;    /* the stack pointer before that call */
    uintptr_t start, end; /* the construct's code is (START, END]; the same: not known */
    uint16_t zone;        /* 1 + enum tg_omp_zone, 0: it has left it */
    uint16_t repeats;     /* calls at SITE with nothing else between */
    const void *paired;   /* the thread number will be asked for from here */
    /* functions that keep the thread number in registers, the outermost first, by their stack; who has returned is not removed at
     * once */
    struct tg_gomp_keeper {
        const void *stack; /* NULL: from here on none */
        uint32_t numbers;
    } keepers[TG_GOMP_KEEPERS];
    /* the single that the thread executes, as far as the code says: (START, END], the same: not known */
    const void *single_stack;
    uintptr_t single_start, single_end;
};
/* In the region that the thread is in; kept with its frame. */
extern __thread struct tg_gomp_inferred tg_gomp_inferred __attribute__((tls_model("initial-exec")));

/* The thread calls the runtime from CALLER, with STACK as its stack pointer before the call: where that is
 * outside of the construct that it was inferred to be in, it has left it. */
void tg_gomp_inferred_pass_slowly(const void *caller, const void *stack);

static inline void tg_gomp_inferred_pass(const void *caller, const void *stack)
{
    if (__builtin_expect(tg_gomp_inferred.site != NULL, 0))
        tg_gomp_inferred_pass_slowly(caller, stack);
}

/* Ends the construct that the thread is inferred to be in, if any: it is met no more, or something is met
 * that cannot be inside of it. `leave` also forgets the call that it was concluded from. */
tg_agent_moment tg_gomp_inferred_end(void);
tg_agent_moment tg_gomp_inferred_leave(void);

/* Whether a call that returns to CALLER, with STACK before it, is made in the construct: in its own code, or
 * in what that calls. */
bool tg_gomp_inferred_holds(const void *caller, const void *stack);

/* The function with STACK as its stack pointer before a call has the thread number in the registers NUMBERS. */
void tg_gomp_inferred_keep(const void *stack, uint32_t numbers);
/* The registers in which it has it; 0 none. */
uint32_t tg_gomp_inferred_kept(const void *stack);

/* The thread calls the runtime from CALLER, as above: where it executed a single and that is behind its code, it has left it. */
void tg_gomp_inferred_pass_single(const void *caller, const void *stack);

#endif
