/* The functions that calls are passed on to: the next definition behind the heap library in the program's
 * search order. */
#ifndef TG_RECORDER_AGENT_HEAP_REAL_H
#define TG_RECORDER_AGENT_HEAP_REAL_H

#include <stddef.h>

/* X(member, symbol, result, parameters...) */
#define TG_HEAP_FUNCTIONS(X)                                                                                 \
    X(malloc, "malloc", void *, size_t)                                                                      \
    X(calloc, "calloc", void *, size_t, size_t)                                                              \
    X(realloc, "realloc", void *, void *, size_t)                                                            \
    X(free, "free", void, void *)                                                                            \
    X(posix_memalign, "posix_memalign", int, void **, size_t, size_t)                                        \
    X(aligned_alloc, "aligned_alloc", void *, size_t, size_t)                                                \
    X(memalign, "memalign", void *, size_t, size_t)                                                          \
    X(valloc, "valloc", void *, size_t)                                                                      \
    X(pvalloc, "pvalloc", void *, size_t)                                                                    \
    X(usable_size, "malloc_usable_size", size_t, void *)

struct tg_heap_real {
#define X(member, symbol, result, ...) result (*member)(__VA_ARGS__);
    TG_HEAP_FUNCTIONS(X)
#undef X
};

/* All of them; members that no object has are NULL. Found at the first call. */
const struct tg_heap_real *tg_heap_real_find(void);

extern struct tg_heap_real tg_heap_real; /* internal to the function below */

static inline const struct tg_heap_real *tg_heap_real_get(void)
{
    /* free is stored last */
    if (__builtin_expect(__atomic_load_n(&tg_heap_real.free, __ATOMIC_ACQUIRE) != NULL, 1))
        return &tg_heap_real;
    return tg_heap_real_find();
}

#endif
