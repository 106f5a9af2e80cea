#include "live/console/news_printer.h"

#include "analyzer/job/list.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_RANGES = 16 };

static void print_line(struct tg_news_printer *printer, const struct tg_news *news)
{
    if (!printer->has_begun && printer->before != NULL)
        printer->before(printer->context);
    printer->has_begun = true;
    tg_news_words(news, printer->stream);
    fputc('\n', printer->stream);
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Ranks of several worlds may have the same number. */
static size_t sort_numbers(uint32_t *numbers, size_t count)
{
    size_t n_kept = 0;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (n_kept == 0 || numbers[n_kept - 1] != numbers[i])
            numbers[n_kept++] = numbers[i];
    return n_kept;
}

static size_t count_ranges(const uint32_t *numbers, size_t count)
{
    size_t n_ranges = 0;
    for (size_t i = 0; i < count; i++)
        n_ranges += i == 0 || numbers[i] != numbers[i - 1] + 1;
    return n_ranges;
}

/* Scattered numbers of a shell's commands say nothing to anybody; ranks, and what a signal has killed, do. */
static bool are_only_counted(const struct tg_news_crowd *ends, size_t n_dpids)
{
    return ends->first.kind == TG_NEWS_EXITED && ends->ranks == NULL && ends->first.how == TG_EXIT_STATUS &&
           count_ranges(ends->dpids, n_dpids) > MAX_RANGES;
}

/* "processes 3-7", "ranks 0-3 (processes 3-6)", "4 ranks (processes 3-6)". */
static void write_whom(struct tg_news_crowd *crowd, size_t n_dpids, FILE *stream)
{
    if (are_only_counted(crowd, n_dpids)) {
        fprintf(stream, "%zu of the processes %" PRIu32 "-%" PRIu32, n_dpids, crowd->dpids[0],
                crowd->dpids[n_dpids - 1]);
        return;
    }
    if (crowd->ranks != NULL) {
        size_t n_ranks = sort_numbers(crowd->ranks, crowd->count);
        if (n_ranks < n_dpids) { /* of several jobs, each of which counts from 0 */
            fprintf(stream, "%zu ranks", n_dpids);
        } else {
            fputs("ranks ", stream);
            tg_job_list_numbers(crowd->ranks, n_ranks, stream);
        }
        fputs(" (", stream);
    }
    fputs("processes ", stream);
    tg_job_list_numbers(crowd->dpids, n_dpids, stream);
    if (crowd->ranks != NULL)
        fputc(')', stream);
}

static void print_crowd(struct tg_news_printer *printer, struct tg_news_crowd *crowd)
{
    char *whom = NULL;
    size_t size, n_dpids = sort_numbers(crowd->dpids, crowd->count);
    struct tg_news news = crowd->first;
    bool are_threads = news.kind == TG_NEWS_BARRIER;
    FILE *stream = n_dpids < 2 ? NULL : open_memstream(&whom, &size);
    if (stream != NULL) {
        write_whom(crowd, n_dpids, stream);
        news.set = fclose(stream) == 0 ? whom : NULL;
    }
    if (are_threads)
        news.other = crowd->count;
    if (are_threads && crowd->count > 1)
        news.thread.dtid = 0;
    if (n_dpids < 2 || news.set != NULL)
        print_line(printer, &news);
    else
        for (size_t i = 0; i < n_dpids; i++) { /* memory is short */
            news.thread.dpid = crowd->dpids[i];
            news.has_rank = false;
            print_line(printer, &news);
        }
    free(whom);
}

static bool is_end(const struct tg_news *news)
{
    return news->kind == TG_NEWS_EXITED && news->thread.dtid == 0;
}

static bool is_left(const struct tg_news *news)
{
    return news->kind == TG_NEWS_BARRIER && news->decision == TG_DECIDE_LEFT && news->thread.dtid != 0;
}

/* Whether NEWS may be one of a crowd. */
static bool is_of_many(const struct tg_news *news)
{
    return (is_end(news) || is_left(news)) && news->thread.dpid != 0 &&
           (!news->has_rank || (news->rank >= 0 && news->rank <= UINT32_MAX));
}

static bool is_alike(const struct tg_news *a, const struct tg_news *b)
{
    return a->kind == b->kind && a->has_rank == b->has_rank && a->how == b->how && a->status == b->status &&
           a->point == b->point && a->reason == b->reason && a->count == b->count;
}

/* False: there is no memory. */
static bool add(struct tg_news_crowd *crowd, const struct tg_news *news)
{
    if (news->has_rank) {
        if (TG_ARRAY_RESERVE(crowd->ranks, crowd->ranks_capacity, crowd->count + 1) != NULL)
            return false;
        crowd->ranks[crowd->count] = (uint32_t)news->rank;
    }
    return TG_ARRAY_APPEND(crowd->dpids, crowd->count, crowd->capacity, news->thread.dpid) == NULL;
}

static void take(struct tg_news_printer *printer, const struct tg_news *news)
{
    size_t i = 0;
    while (i < printer->n_crowds && !is_alike(&printer->crowds[i].first, news))
        i++;
    if (i == TG_NEWS_PRINTER_CROWDS) {
        tg_news_printer_flush(printer);
        i = 0;
    }
    struct tg_news_crowd *crowd = &printer->crowds[i];
    if (i == printer->n_crowds) {
        *crowd = (struct tg_news_crowd){.first = *news};
        /* texts live while they are told only, and these news have none */
        crowd->first.set = crowd->first.name = crowd->first.place = crowd->first.text = NULL;
        printer->n_crowds++;
    }
    if (add(crowd, news))
        return;
    tg_news_printer_flush(printer);
    print_line(printer, news);
}

void tg_news_printer_tell(void *context, const struct tg_news *news)
{
    struct tg_news_printer *printer = context;
    if (is_of_many(news)) {
        take(printer, news);
        return;
    }
    tg_news_printer_flush(printer);
    print_line(printer, news);
}

void tg_news_printer_flush(struct tg_news_printer *printer)
{
    for (size_t i = 0; i < printer->n_crowds; i++) {
        struct tg_news_crowd *crowd = &printer->crowds[i];
        if (crowd->count > 0)
            print_crowd(printer, crowd);
        free(crowd->dpids);
        free(crowd->ranks);
        *crowd = (struct tg_news_crowd){0};
    }
    printer->n_crowds = 0;
}
