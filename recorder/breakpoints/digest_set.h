/* A bounded set of 128-bit digests, for "was this seen before" at a stop: one place in memory per
 * question. */
#ifndef TG_RECORDER_BREAKPOINTS_DIGEST_SET_H
#define TG_RECORDER_BREAKPOINTS_DIGEST_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_DIGEST_SET_MAX = 1 << 16 }; /* digests: 2 MiB */

struct tg_digest {
    uint64_t low, high; /* not both 0 */
};

/* Zero-initialised means empty. */
struct tg_digest_set {
    struct tg_digest *slots;
    size_t n_slots; /* 0 or a power of two, at least twice COUNT */
    size_t count;
};

bool tg_digest_set_has(const struct tg_digest_set *set, struct tg_digest digest);

/* DIGEST is not in SET yet. Without memory, or beyond TG_DIGEST_SET_MAX, SET stays as it is. */
void tg_digest_set_add(struct tg_digest_set *set, struct tg_digest digest);

void tg_digest_set_deinit(struct tg_digest_set *set);

#endif
