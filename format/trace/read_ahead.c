#include "format/trace/read_ahead.h"

#include "format/base/thread.h"
#include "format/trace/loaded_chunk.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

enum job_state { WAITING, BEGUN, OPEN };

struct job {
    struct tg_loaded_chunk *chunk;
    enum job_state state;
};

struct tg_read_ahead {
    pthread_t threads[TG_READ_AHEAD_MAX_THREADS];
    size_t n_threads;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t posted, opened;
    struct job jobs[TG_READ_AHEAD_MAX_CHUNKS]; /* in the order of posting */
    size_t n_jobs;
    bool is_ending;
};

size_t tg_read_ahead_threads(void)
{
    cpu_set_t allowed;
    int n = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    size_t others = n > 1 ? (size_t)n - 1 : 0; /* one is the reader's own */
    return others < TG_READ_AHEAD_MAX_THREADS ? others : TG_READ_AHEAD_MAX_THREADS;
}

/* The first job that nobody has begun; NULL: none. */
static struct job *find_waiting(struct tg_read_ahead *ahead)
{
    for (size_t i = 0; i < ahead->n_jobs; i++)
        if (ahead->jobs[i].state == WAITING)
            return &ahead->jobs[i];
    return NULL;
}

static struct job *find_job(struct tg_read_ahead *ahead, const struct tg_loaded_chunk *chunk)
{
    size_t i = 0;
    while (ahead->jobs[i].chunk != chunk)
        i++;
    return &ahead->jobs[i];
}

/* Opens the chunk of JOB; the mutex is held before and after, but not meanwhile. */
static void open_chunk(struct tg_read_ahead *ahead, struct job *job)
{
    struct tg_loaded_chunk *chunk = job->chunk;
    job->state = BEGUN;
    pthread_mutex_unlock(&ahead->mutex);
    tg_loaded_chunk_open(chunk);
    pthread_mutex_lock(&ahead->mutex);
    find_job(ahead, chunk)->state = OPEN; /* jobs before it may be gone since */
    pthread_cond_broadcast(&ahead->opened);
}

static void *run(void *argument)
{
    struct tg_read_ahead *ahead = argument;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_ending) {
        struct job *job = find_waiting(ahead);
        if (job != NULL)
            open_chunk(ahead, job);
        else
            pthread_cond_wait(&ahead->posted, &ahead->mutex);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

struct tg_error *tg_read_ahead_create(size_t n_threads, struct tg_read_ahead **ahead)
{
    struct tg_read_ahead *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->posted, NULL);
    pthread_cond_init(&created->opened, NULL);
    struct tg_error *error = NULL;
    while (error == NULL && created->n_threads < n_threads &&
           created->n_threads < TG_READ_AHEAD_MAX_THREADS) {
        error =
            tg_thread_start(run, created, "a thread that reads ahead", &created->threads[created->n_threads]);
        created->n_threads += error == NULL;
    }
    if (created->n_threads == 0) {
        tg_read_ahead_destroy(created);
        return error;
    }
    tg_error_destroy(error); /* done with fewer */
    *ahead = created;
    return NULL;
}

void tg_read_ahead_destroy(struct tg_read_ahead *ahead)
{
    if (ahead == NULL)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->is_ending = true;
    pthread_cond_broadcast(&ahead->posted);
    pthread_mutex_unlock(&ahead->mutex);
    for (size_t i = 0; i < ahead->n_threads; i++)
        pthread_join(ahead->threads[i], NULL);
    pthread_cond_destroy(&ahead->opened);
    pthread_cond_destroy(&ahead->posted);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}

void tg_read_ahead_post(struct tg_read_ahead *ahead, struct tg_loaded_chunk *chunk)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->jobs[ahead->n_jobs++] = (struct job){.chunk = chunk};
    pthread_cond_signal(&ahead->posted);
    pthread_mutex_unlock(&ahead->mutex);
}

void tg_read_ahead_finish(struct tg_read_ahead *ahead, struct tg_loaded_chunk *chunk)
{
    pthread_mutex_lock(&ahead->mutex);
    struct job *job = find_job(ahead, chunk);
    if (job->state == WAITING)
        open_chunk(ahead, job);
    while (job->state != OPEN)
        pthread_cond_wait(&ahead->opened, &ahead->mutex);
    ahead->n_jobs--;
    for (struct job *at = job; at < ahead->jobs + ahead->n_jobs; at++)
        *at = at[1];
    pthread_mutex_unlock(&ahead->mutex);
}

/* Whether a thread is opening a chunk. */
static bool is_any_begun(const struct tg_read_ahead *ahead)
{
    for (size_t i = 0; i < ahead->n_jobs; i++)
        if (ahead->jobs[i].state == BEGUN)
            return true;
    return false;
}

void tg_read_ahead_cancel(struct tg_read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    for (size_t i = 0; i < ahead->n_jobs; i++)
        if (ahead->jobs[i].state == WAITING)
            ahead->jobs[i].state = OPEN; /* so that nobody begins it */
    while (is_any_begun(ahead))
        pthread_cond_wait(&ahead->opened, &ahead->mutex);
    ahead->n_jobs = 0;
    pthread_mutex_unlock(&ahead->mutex);
}
