#include "live/source/checkpoints.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_EVEN = 24,
    N_NEAR = 2,
    DEFAULT_DISTANCE = 1 << 18, /* feeding that many events takes some hundredths of a second */
    MAX_TOTAL_BYTES = 256 << 20,
};

struct tg_checkpoints {
    struct tg_checkpoint even[MAX_EVEN]; /* ascending */
    size_t n_even;
    uint64_t distance; /* between those; 0: moments are too large to be kept */
    uint64_t near_distances[N_NEAR];
    struct tg_checkpoint near[N_NEAR]; /* number 0: none */
    uint64_t near_wanted[N_NEAR];      /* 0: none */
    uint64_t total_bytes;
};

struct tg_error *tg_checkpoints_create(uint64_t distance, struct tg_checkpoints **checkpoints)
{
    struct tg_checkpoints *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->distance = distance == 0 ? DEFAULT_DISTANCE : distance;
    made->near_distances[0] = made->distance / 32;
    made->near_distances[1] = made->distance;
    *checkpoints = made;
    return NULL;
}

static void drop(struct tg_checkpoints *checkpoints, struct tg_checkpoint *checkpoint)
{
    tg_moment_destroy(checkpoint->moment);
    checkpoints->total_bytes -= checkpoint->size_bytes;
    *checkpoint = (struct tg_checkpoint){0};
}

static void drop_all(struct tg_checkpoints *checkpoints)
{
    while (checkpoints->n_even > 0)
        drop(checkpoints, &checkpoints->even[--checkpoints->n_even]);
    for (size_t i = 0; i < N_NEAR; i++)
        drop(checkpoints, &checkpoints->near[i]);
}

void tg_checkpoints_destroy(struct tg_checkpoints *checkpoints)
{
    if (checkpoints == NULL)
        return;
    drop_all(checkpoints);
    free(checkpoints);
}

/* Every second one goes; the last one stays. */
static void thin_out(struct tg_checkpoints *checkpoints)
{
    size_t kept = 0;
    for (size_t i = 0; i < checkpoints->n_even; i++) {
        if ((checkpoints->n_even - i) % 2 == 0)
            drop(checkpoints, &checkpoints->even[i]);
        else
            checkpoints->even[kept++] = checkpoints->even[i];
    }
    memset(checkpoints->even + kept, 0, (checkpoints->n_even - kept) * sizeof *checkpoints->even);
    checkpoints->n_even = kept;
    checkpoints->distance *= 2;
}

void tg_checkpoints_aim(struct tg_checkpoints *checkpoints, uint64_t now, uint64_t target)
{
    for (size_t i = 0; i < N_NEAR; i++) {
        uint64_t distance = checkpoints->near_distances[i];
        checkpoints->near_wanted[i] = target > distance && target - distance > now ? target - distance : 0;
    }
}

/* The event at which the next checkpoint at an even distance belongs. */
static uint64_t next_even(const struct tg_checkpoints *checkpoints)
{
    uint64_t last = checkpoints->n_even == 0 ? 0 : checkpoints->even[checkpoints->n_even - 1].number;
    return (last / checkpoints->distance + 1) * checkpoints->distance;
}

uint64_t tg_checkpoints_next(const struct tg_checkpoints *checkpoints, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    if (checkpoints->distance == 0)
        return next;
    if (next_even(checkpoints) >= now)
        next = next_even(checkpoints);
    for (size_t i = 0; i < N_NEAR; i++)
        if (checkpoints->near_wanted[i] != 0 && checkpoints->near_wanted[i] >= now &&
            checkpoints->near_wanted[i] < next)
            next = checkpoints->near_wanted[i];
    return next;
}

static uint64_t allocated_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static struct tg_error *keep(struct tg_checkpoints *checkpoints, const struct tg_checkpoint *checkpoint,
                             struct tg_checkpoint *to)
{
    struct tg_checkpoint made = *checkpoint;
    uint64_t before = allocated_bytes();
    struct tg_error *error = tg_moment_copy(checkpoint->moment, &made.moment);
    if (error != NULL)
        return error;
    uint64_t after = allocated_bytes();
    made.size_bytes = after > before ? after - before : 0;
    drop(checkpoints, to);
    *to = made;
    checkpoints->total_bytes += made.size_bytes;
    return NULL;
}

static void keep_within_budget(struct tg_checkpoints *checkpoints)
{
    while (checkpoints->total_bytes > (uint64_t)MAX_TOTAL_BYTES && checkpoints->n_even > 1)
        thin_out(checkpoints);
    if (checkpoints->total_bytes > (uint64_t)MAX_TOTAL_BYTES) {
        drop_all(checkpoints);
        checkpoints->distance = 0;
    }
}

struct tg_error *tg_checkpoints_add(struct tg_checkpoints *checkpoints,
                                    const struct tg_checkpoint *checkpoint)
{
    struct tg_error *error = NULL;
    if (checkpoints->distance == 0)
        return NULL;
    for (size_t i = 0; error == NULL && i < N_NEAR; i++) {
        if (checkpoints->near_wanted[i] != checkpoint->number)
            continue;
        checkpoints->near_wanted[i] = 0;
        error = keep(checkpoints, checkpoint, &checkpoints->near[i]);
    }
    if (error == NULL && checkpoint->number == next_even(checkpoints)) {
        if (checkpoints->n_even == MAX_EVEN)
            thin_out(checkpoints);
        if (checkpoint->number == next_even(checkpoints)) {
            error = keep(checkpoints, checkpoint, &checkpoints->even[checkpoints->n_even]);
            if (error == NULL)
                checkpoints->n_even++;
        }
    }
    keep_within_budget(checkpoints);
    return error;
}

const struct tg_checkpoint *tg_checkpoints_by_event(const struct tg_checkpoints *checkpoints, uint64_t number)
{
    const struct tg_checkpoint *best = NULL;
    for (size_t i = checkpoints->n_even; best == NULL && i-- > 0;)
        if (checkpoints->even[i].number <= number)
            best = &checkpoints->even[i];
    for (size_t i = 0; i < N_NEAR; i++) {
        const struct tg_checkpoint *near = &checkpoints->near[i];
        if (near->number != 0 && near->number <= number && (best == NULL || near->number > best->number))
            best = near;
    }
    return best;
}

const struct tg_checkpoint *tg_checkpoints_by_time(const struct tg_checkpoints *checkpoints, uint64_t time_ns)
{
    const struct tg_checkpoint *best = NULL;
    for (size_t i = checkpoints->n_even; best == NULL && i-- > 0;)
        if (checkpoints->even[i].latest_ns <= time_ns)
            best = &checkpoints->even[i];
    for (size_t i = 0; i < N_NEAR; i++) {
        const struct tg_checkpoint *near = &checkpoints->near[i];
        if (near->number != 0 && near->latest_ns <= time_ns && (best == NULL || near->number > best->number))
            best = near;
    }
    return best;
}
