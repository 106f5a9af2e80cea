#include "live/commands/page/late.h"

#include "analyzer/page/answer.h"
#include "format/base/thread.h"
#include "live/commands/page/look.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { KEPT = 24, BYTES_KEPT = 64 << 20 };

enum state { WANTED, MADE_NOW, DONE };

struct document {
    char *key; /* NULL: none */
    char *name, *query, *path;
    struct tg_page_wanted wanted; /* the strings in it are those above */
    enum state state;
    bool is_awaited; /* somebody was told to wait */
    char *text;
    size_t size;
    struct tg_error *error;
    uint64_t used; /* the larger, the later */
    struct tg_page_culprit *culprits;
    size_t n_culprits;
};

/* Held by its session and by its thread; the last one frees it. */
struct tg_page_late {
    pthread_mutex_t lock; /* of all below but LOOK */
    pthread_cond_t changed;
    unsigned holders;
    bool has_ended;
    const struct tg_command_services *services;
    char *name;
    void (*ready)(void *context);
    void *context;
    struct document documents[KEPT];
    uint64_t clock;
    struct tg_page_look *look; /* of the thread */
};

static void forget(struct document *document)
{
    free(document->key);
    free(document->name);
    free(document->query);
    free(document->path);
    free(document->text);
    free(document->culprits);
    tg_error_destroy(document->error);
    *document = (struct document){0};
}

/* Locked; unlocks. */
static void let_go(struct tg_page_late *late)
{
    bool is_last = --late->holders == 0;
    pthread_mutex_unlock(&late->lock);
    if (!is_last)
        return;
    for (size_t i = 0; i < KEPT; i++)
        forget(&late->documents[i]);
    tg_page_look_destroy(late->look);
    pthread_cond_destroy(&late->changed);
    pthread_mutex_destroy(&late->lock);
    free(late->name);
    free(late);
}

/* ---- the thread */

/* Moments before diagrams and the like, which take longer; what was asked for last is what is looked at now. */
static struct document *next_wanted(struct tg_page_late *late)
{
    struct document *best = NULL;
    for (size_t i = 0; i < KEPT; i++) {
        struct document *one = &late->documents[i];
        if (one->key == NULL || one->state != WANTED)
            continue;
        bool is_look = !tg_page_is_of_trace(one->name);
        bool best_is_look = best != NULL && !tg_page_is_of_trace(best->name);
        if (best == NULL || (is_look && !best_is_look) || (is_look == best_is_look && one->used > best->used))
            best = one;
    }
    return best;
}

static struct tg_error *make(struct tg_page_late *late, const struct tg_page_wanted *wanted, FILE *stream,
                             struct tg_page_culprit **culprits, size_t *n_culprits)
{
    bool is_look = wanted->at_ns != UINT64_MAX;
    if (is_look && !tg_page_is_of_trace(wanted->name)) {
        if (late->look == NULL && (late->look = tg_page_look_create(late->services, late->name)) == NULL)
            return tg_error_no_memory();
        const struct tg_page_look_wish wish = {
            .path = wanted->path, .name = wanted->name, .at_ns = wanted->at_ns, .known_ns = wanted->known_ns};
        return tg_page_look_write(late->look, &wish, stream, culprits, n_culprits);
    }
    const struct tg_page page = {.words = {.start_ns = wanted->start_ns},
                                 .name = late->name,
                                 .path = wanted->path,
                                 .moment_ns = is_look ? wanted->start_ns + wanted->at_ns : wanted->moment_ns,
                                 .n_events = is_look ? 0 : wanted->n_events,
                                 .has_heap = true,
                                 .services = late->services};
    return tg_page_write(&page, wanted->name, wanted->query, stream);
}

static void *work(void *context)
{
    struct tg_page_late *late = context;
    bool has_made = false;
    pthread_mutex_lock(&late->lock);
    while (!late->has_ended) {
        struct document *document = next_wanted(late);
        if (document == NULL) {
            if (has_made) { /* a whole trace may have been in memory: the session stays, that need not */
                pthread_mutex_unlock(&late->lock);
                malloc_trim(0);
                pthread_mutex_lock(&late->lock);
                has_made = false;
                continue;
            }
            pthread_cond_wait(&late->changed, &late->lock);
            continue;
        }
        document->state = MADE_NOW; /* nobody else touches it now */
        pthread_mutex_unlock(&late->lock);
        FILE *stream = open_memstream(&document->text, &document->size);
        struct tg_error *error = stream == NULL ? tg_error_no_memory()
                                                : make(late, &document->wanted, stream, &document->culprits,
                                                       &document->n_culprits);
        if (stream != NULL && fclose(stream) != 0 && error == NULL)
            error = tg_error_no_memory();
        pthread_mutex_lock(&late->lock);
        document->error = error;
        document->state = DONE;
        has_made = true;
        if (document->is_awaited && late->ready != NULL)
            late->ready(late->context);
        pthread_cond_broadcast(&late->changed);
    }
    let_go(late);
    return NULL;
}

struct tg_error *tg_page_late_begin(const struct tg_command_services *services, const char *name,
                                    void (*ready)(void *context), void *context, struct tg_page_late **late)
{
    struct tg_page_late *made = calloc(1, sizeof *made);
    pthread_condattr_t by_monotonic;
    pthread_t thread;
    if (made == NULL || (made->name = strdup(name)) == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    made->holders = 2;
    made->services = services;
    made->ready = ready;
    made->context = context;
    struct tg_error *error =
        tg_thread_start(work, made, "the thread that makes documents of the page", &thread);
    if (error != NULL) {
        made->holders = 1;
        pthread_mutex_lock(&made->lock);
        let_go(made);
        return error;
    }
    pthread_detach(thread);
    *late = made;
    return NULL;
}

void tg_page_late_quiet(struct tg_page_late *late)
{
    if (late == NULL)
        return;
    pthread_mutex_lock(&late->lock);
    late->ready = NULL;
    pthread_mutex_unlock(&late->lock);
}

void tg_page_late_end(struct tg_page_late *late)
{
    if (late == NULL)
        return;
    pthread_mutex_lock(&late->lock);
    late->has_ended = true;
    pthread_cond_broadcast(&late->changed);
    let_go(late);
}

/* ---- requests */

/* The same key is the same document. */
static char *key_of(const struct tg_page_wanted *wanted)
{
    char *key = NULL;
    struct stat status;
    uint64_t number = 0;
    bool is_diagram = strcmp(wanted->name, "diagram") == 0;
    if (wanted->at_ns == UINT64_MAX && is_diagram)
        number = wanted->n_events != 0 ? wanted->n_events : wanted->moment_ns;
    else if (tg_page_is_of_trace(wanted->name) && !is_diagram)
        number = stat(wanted->path, &status) == 0 ? (uint64_t)status.st_size : 0;
    return asprintf(&key, "%s?%s#%" PRIu64 "@%" PRIu64, wanted->name, wanted->query, number, wanted->at_ns) <
                   0
               ? NULL
               : key;
}

static size_t bytes_kept(const struct tg_page_late *late)
{
    size_t bytes = 0;
    for (size_t i = 0; i < KEPT; i++)
        bytes += late->documents[i].state == DONE ? late->documents[i].size : 0;
    return bytes;
}

/* Room for a new one: that which nobody has asked for the longest goes. NULL: all are being made. */
static struct document *make_room(struct tg_page_late *late)
{
    for (;;) {
        struct document *free_one = NULL, *oldest = NULL;
        for (size_t i = 0; i < KEPT; i++) {
            struct document *one = &late->documents[i];
            if (one->key == NULL)
                free_one = one;
            else if (one->state != MADE_NOW && (oldest == NULL || one->used < oldest->used))
                oldest = one;
        }
        if (oldest == NULL || (free_one != NULL && bytes_kept(late) <= BYTES_KEPT))
            return free_one;
        forget(oldest);
    }
}

/* A new one of KEY; NULL: there is no room. An older one that is wanted of the same name, and of the session's moment, is
 * not any more. */
static struct document *add(struct tg_page_late *late, const struct tg_page_wanted *wanted, const char *key)
{
    for (size_t i = 0; i < KEPT; i++) {
        struct document *one = &late->documents[i];
        if (one->key != NULL && one->state == WANTED && wanted->at_ns == UINT64_MAX &&
            one->wanted.at_ns == UINT64_MAX && strcmp(one->name, wanted->name) == 0 &&
            strcmp(one->query, wanted->query) == 0)
            forget(one);
    }
    struct document *document = make_room(late);
    if (document == NULL)
        return NULL;
    *document = (struct document){.key = strdup(key),
                                  .name = strdup(wanted->name),
                                  .query = strdup(wanted->query),
                                  .path = strdup(wanted->path),
                                  .wanted = *wanted};
    if (document->key == NULL || document->name == NULL || document->query == NULL ||
        document->path == NULL) {
        forget(document);
        return NULL;
    }
    document->wanted.name = document->name;
    document->wanted.query = document->query;
    document->wanted.path = document->path;
    pthread_cond_broadcast(&late->changed);
    return document;
}

static struct document *find(struct tg_page_late *late, const char *key)
{
    for (size_t i = 0; i < KEPT; i++)
        if (late->documents[i].key != NULL && strcmp(late->documents[i].key, key) == 0)
            return &late->documents[i];
    return NULL;
}

/* What was made; an error is told once, and then tried again. */
static struct tg_error *hand_out(struct document *document, FILE *out)
{
    struct tg_error *error = document->error;
    if (error == NULL) {
        fwrite(document->text, 1, document->size, out);
        return NULL;
    }
    document->error = NULL;
    forget(document);
    return error;
}

struct tg_error *tg_page_late_write(struct tg_page_late *late, const struct tg_page_wanted *wanted,
                                    int wait_ms, FILE *out)
{
    char *key = key_of(wanted);
    struct timespec until;
    if (key == NULL)
        return tg_error_no_memory();
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&late->lock);
    struct document *document = find(late, key);
    bool has_time = true;
    if (document == NULL)
        document = add(late, wanted, key);
    while (has_time && document != NULL && document->state != DONE) {
        has_time = pthread_cond_timedwait(&late->changed, &late->lock, &until) != ETIMEDOUT;
        document = find(late, key);
    }
    struct tg_error *error = NULL;
    if (document != NULL) {
        document->used = ++late->clock;
        document->is_awaited = document->state != DONE;
    }
    if (document != NULL && document->state == DONE)
        error = hand_out(document, out);
    else
        fputs("{\"pending\": true}", out);
    pthread_mutex_unlock(&late->lock);
    free(key);
    return error;
}

struct tg_page_culprit *tg_page_late_culprits(struct tg_page_late *late, uint64_t at_ns, size_t *count)
{
    struct tg_page_culprit *copy = NULL;
    *count = 0;
    pthread_mutex_lock(&late->lock);
    for (size_t i = 0; copy == NULL && i < KEPT; i++) {
        const struct document *one = &late->documents[i];
        if (one->key == NULL || one->state != DONE || one->wanted.at_ns != at_ns || one->n_culprits == 0)
            continue;
        copy = malloc(one->n_culprits * sizeof *copy);
        if (copy != NULL) {
            memcpy(copy, one->culprits, one->n_culprits * sizeof *copy);
            *count = one->n_culprits;
        }
    }
    pthread_mutex_unlock(&late->lock);
    return copy;
}
