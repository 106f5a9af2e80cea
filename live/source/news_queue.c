#include "live/source/news_queue.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEWS = 10000 };

struct item {
    struct item *next;
    struct tg_news news; /* the strings follow in memory */
    char texts[];
};

struct tg_news_queue {
    pthread_mutex_t lock; /* for all that follows */
    struct item *first, **last;
    size_t count;
    uint64_t n_dropped;
};

struct tg_error *tg_news_queue_create(struct tg_news_queue **queue)
{
    struct tg_news_queue *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    pthread_mutex_init(&made->lock, NULL);
    made->last = &made->first;
    *queue = made;
    return NULL;
}

static struct item *pop(struct tg_news_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    struct item *item = queue->first;
    if (item != NULL) {
        queue->first = item->next;
        queue->count--;
        if (queue->first == NULL)
            queue->last = &queue->first;
    }
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void tg_news_queue_destroy(struct tg_news_queue *queue)
{
    if (queue == NULL)
        return;
    for (struct item *item; (item = pop(queue)) != NULL;)
        free(item);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static size_t size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

/* Puts a copy of *TEXT at AT; returns where it ends. */
static char *take_text(const char **text, char *at)
{
    size_t size = size_of(*text);
    if (size == 0)
        return at;
    memcpy(at, *text, size);
    *text = at;
    return at + size;
}

static struct item *copy(const struct tg_news *news)
{
    struct item *item =
        malloc(sizeof *item + size_of(news->set) + size_of(news->name) + size_of(news->place) +
               size_of(news->before) + size_of(news->after) + size_of(news->text));
    if (item == NULL)
        return NULL;
    item->next = NULL;
    item->news = *news;
    char *at = take_text(&item->news.set, item->texts);
    at = take_text(&item->news.name, at);
    at = take_text(&item->news.place, at);
    at = take_text(&item->news.before, at);
    at = take_text(&item->news.after, at);
    take_text(&item->news.text, at);
    return item;
}

void tg_news_queue_add(struct tg_news_queue *queue, const struct tg_news *news)
{
    struct item *item = copy(news);
    pthread_mutex_lock(&queue->lock);
    if (item == NULL || queue->count == MAX_NEWS) {
        queue->n_dropped++;
        free(item);
    } else {
        *queue->last = item;
        queue->last = &item->next;
        queue->count++;
    }
    pthread_mutex_unlock(&queue->lock);
}

void tg_news_queue_tell(struct tg_news_queue *queue, const struct tg_news_sink *sink)
{
    for (struct item *item; (item = pop(queue)) != NULL; free(item))
        tg_news_tell(sink, &item->news);
    pthread_mutex_lock(&queue->lock);
    uint64_t n_dropped = queue->n_dropped;
    queue->n_dropped = 0;
    pthread_mutex_unlock(&queue->lock);
    if (n_dropped == 0)
        return;
    char text[80];
    snprintf(text, sizeof text, "%" PRIu64 " notifications were dropped: nobody read them", n_dropped);
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = text});
}
