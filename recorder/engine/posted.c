#include "recorder/engine/posted.h"

#include <stdlib.h>

struct tg_posted {
    struct tg_posted *next;
    void (*call)(void *context);
    void *context;
};

/* The first wake-up at once; again for as long as the call waits, for it may come in front of the waitpid. */
static const struct itimerspec waking = {.it_interval = {.tv_nsec = 2 * 1000 * 1000},
                                         .it_value = {.tv_nsec = 1}};
static const struct itimerspec quiet;

bool tg_engine_post(struct tg_engine *engine, void (*call)(void *context), void *context)
{
    struct tg_posted *posted = malloc(sizeof *posted);
    if (posted == NULL)
        return false;
    pthread_mutex_lock(&engine->posted_lock);
    *posted = (struct tg_posted){.next = engine->posted, .call = call, .context = context};
    engine->posted = posted;
    atomic_store(&engine->has_posted, true);
    timer_settime(engine->post_timer, 0, &waking, NULL);
    pthread_mutex_unlock(&engine->posted_lock);
    return true;
}

/* What was posted so far, first one first. */
static struct tg_posted *take_posted(struct tg_engine *engine)
{
    pthread_mutex_lock(&engine->posted_lock);
    struct tg_posted *latest = engine->posted;
    engine->posted = NULL;
    atomic_store(&engine->has_posted, false);
    timer_settime(engine->post_timer, 0, &quiet, NULL);
    pthread_mutex_unlock(&engine->posted_lock);
    struct tg_posted *first = NULL;
    while (latest != NULL) {
        struct tg_posted *next = latest->next;
        latest->next = first;
        first = latest;
        latest = next;
    }
    return first;
}

void tg_posted_run(struct tg_engine *engine)
{
    struct tg_posted *posted = take_posted(engine);
    while (posted != NULL) {
        struct tg_posted *next = posted->next;
        posted->call(posted->context);
        free(posted);
        posted = next;
    }
}

void tg_posted_drop(struct tg_engine *engine)
{
    struct tg_posted *posted = take_posted(engine);
    while (posted != NULL) {
        struct tg_posted *next = posted->next;
        free(posted);
        posted = next;
    }
}
