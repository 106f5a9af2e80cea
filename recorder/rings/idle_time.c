#include "recorder/rings/idle_time.h"

#include "format/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

enum turn { NOT_ASKED, ASKED, GIVEN };

/* Freed by the thread, which on a busy machine may not get there for long: nobody waits for it. */
struct tg_idle_time {
    void (*call)(void *context);
    void *context;
    sem_t asked;
    int turn;             /* __atomic; enum turn */
    pthread_mutex_t lock; /* while CALL runs */
    bool over;
};

static bool give_turn(struct tg_idle_time *idle)
{
    pthread_mutex_lock(&idle->lock);
    bool over = idle->over;
    __atomic_store_n(&idle->turn, GIVEN, __ATOMIC_RELEASE);
    if (!over)
        idle->call(idle->context);
    pthread_mutex_unlock(&idle->lock);
    return !over;
}

static void release(struct tg_idle_time *idle)
{
    pthread_mutex_destroy(&idle->lock);
    sem_destroy(&idle->asked);
    free(idle);
}

static void *run(void *argument)
{
    struct tg_idle_time *idle = argument;
    (void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
    do
        while (sem_wait(&idle->asked) != 0)
            continue;
    while (give_turn(idle));
    release(idle);
    return NULL;
}

struct tg_error *tg_idle_time_create(void (*call)(void *context), void *context, struct tg_idle_time **idle)
{
    struct tg_idle_time *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->call = call;
    made->context = context;
    sem_init(&made->asked, 0, 0);
    pthread_mutex_init(&made->lock, NULL);
    pthread_t thread;
    struct tg_error *error = tg_thread_start(run, made, "the thread that finds idle processors", &thread);
    if (error != NULL) {
        release(made);
        return error;
    }
    pthread_detach(thread);
    *idle = made;
    return NULL;
}

void tg_idle_time_destroy(struct tg_idle_time *idle)
{
    if (idle == NULL)
        return;
    pthread_mutex_lock(&idle->lock);
    idle->over = true;
    pthread_mutex_unlock(&idle->lock);
    sem_post(&idle->asked);
}

bool tg_idle_time_take(struct tg_idle_time *idle)
{
    int turn = __atomic_load_n(&idle->turn, __ATOMIC_ACQUIRE);
    if (turn == ASKED)
        return false;
    __atomic_store_n(&idle->turn, turn == GIVEN ? NOT_ASKED : ASKED, __ATOMIC_RELEASE);
    if (turn == NOT_ASKED)
        sem_post(&idle->asked);
    return turn == GIVEN;
}
