#include "analyzer/page/collectives.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>

enum { MOST_OPEN = 20000 }; /* under way; more are passed over */

struct open_key {
    uint64_t job, comm, instance;
};

/* One that some have left. */
struct open_one {
    struct open_key key;
    struct tg_page_collective is;
    UT_hash_handle hh;
};

struct tg_page_collectives {
    struct open_one *open;
    struct tg_page_collective *kept;
    size_t count, capacity, most, stride;
    uint64_t seen;
};

struct tg_page_collectives *tg_page_collectives_create(size_t most)
{
    struct tg_page_collectives *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->most = most == 0 ? 100000 : most;
    made->stride = 1;
    return made;
}

void tg_page_collectives_destroy(struct tg_page_collectives *collectives)
{
    struct open_one *one, *next;
    if (collectives == NULL)
        return;
    HASH_ITER (hh, collectives->open, one, next) {
        HASH_DEL(collectives->open, one);
        free(one);
    }
    free(collectives->kept);
    free(collectives);
}

static struct tg_error *keep(struct tg_page_collectives *collectives, const struct tg_page_collective *is)
{
    if (collectives->seen++ % collectives->stride != 0)
        return NULL;
    if (collectives->count >= collectives->most) {
        collectives->count /= 2;
        for (size_t i = 0; i < collectives->count; i++)
            collectives->kept[i] = collectives->kept[2 * i];
        collectives->stride *= 2;
    }
    return TG_ARRAY_APPEND(collectives->kept, collectives->count, collectives->capacity, *is);
}

static void join(struct tg_page_collective *is, const struct tg_page_meeting *meeting)
{
    is->name = meeting->name;
    is->first_ns = meeting->came_ns < is->first_ns ? meeting->came_ns : is->first_ns;
    is->last_ns = meeting->came_ns > is->last_ns ? meeting->came_ns : is->last_ns;
    is->end_ns = meeting->left_ns > is->end_ns ? meeting->left_ns : is->end_ns;
    is->top = meeting->row < is->top ? meeting->row : is->top;
    is->bottom = meeting->row > is->bottom ? meeting->row : is->bottom;
    is->members++;
}

struct tg_error *tg_page_collectives_take(struct tg_page_collectives *collectives,
                                          const struct tg_page_meeting *meeting)
{
    const struct open_key key = {(uintptr_t)meeting->job, meeting->comm, meeting->instance};
    struct open_one *one;
    struct tg_error *error = NULL;
    if (meeting->size <= 1)
        return NULL;
    HASH_FIND(hh, collectives->open, &key, sizeof key, one);
    if (one == NULL) {
        if (HASH_COUNT(collectives->open) >= MOST_OPEN)
            return NULL;
        error = TG_HASH_CREATE(hh, collectives->open, key, &key, one);
        if (error != NULL)
            return error;
        one->is = (struct tg_page_collective){.first_ns = UINT64_MAX, .top = SIZE_MAX};
    }
    join(&one->is, meeting);
    if (one->is.members < (uint64_t)meeting->size)
        return NULL;
    error = keep(collectives, &one->is);
    HASH_DEL(collectives->open, one);
    free(one);
    return error;
}

size_t tg_page_collectives_list(const struct tg_page_collectives *collectives,
                                const struct tg_page_collective **list, size_t *stride)
{
    *list = collectives->kept;
    *stride = collectives->stride;
    return collectives->count;
}
