/* The table of locks and critical sections that somebody is inside of. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_LOCKS_H
#define TG_ANALYZER_MODELS_OPENMP_LOCKS_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TG_OPENMP_MAX_LOCKS = 1 << 16,  /* kept at a time that somebody is inside of */
    TG_OPENMP_MAX_LEFT_LOCKS = 1024 /* and that nobody is: they are often entered again */
};

struct tg_openmp_lock_entry;

/* All zero is an empty one. */
struct tg_openmp_locks {
    struct tg_openmp_lock_entry *entries;
    struct tg_openmp_lock_entry *recent[64]; /* found lately, by process and lock */
    size_t n_left;                           /* of the entries: nobody is inside */
};

void tg_openmp_locks_deinit(struct tg_openmp_locks *locks);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_locks_copy(const struct tg_openmp_locks *from, struct tg_openmp_locks *to);

/* WORKER, by its index, is inside of the lock from now on. *FORMER is who was before and has not been seen to
 * leave, SIZE_MAX: nobody. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_locks_enter(struct tg_openmp_locks *locks, size_t process, uint64_t mutex,
                                       uint64_t lock, size_t worker, size_t *former);
/* WORKER has left it; nothing where somebody else is inside. */
void tg_openmp_locks_leave(struct tg_openmp_locks *locks, size_t process, uint64_t mutex, uint64_t lock,
                           size_t worker);
void tg_openmp_locks_drop_process(struct tg_openmp_locks *locks, size_t process);

#endif
