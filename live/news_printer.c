#include "live/news_printer.h"

#include "analyzer/job_list.h"

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

/* ---- threads that leave a barrier */

static void print_left(struct tg_news_printer *printer)
{
    if (printer->left.other > 1)
        printer->left.unit.dtid = 0;
    if (printer->left.other > 0)
        print_line(printer, &printer->left);
    printer->left.other = 0;
}

static bool is_left(const struct tg_news *news)
{
    return news->kind == TG_NEWS_BARRIER && news->decision == TG_BARRIER_LEFT && news->unit.dtid != 0;
}

/* Texts live while they are told only, and these news have none. */
static void take_left(struct tg_news_printer *printer, const struct tg_news *news)
{
    struct tg_news *left = &printer->left;
    bool is_another = left->other > 0 && left->point == news->point && left->reason == news->reason &&
                      left->unit.dpid == news->unit.dpid && left->count == news->count;
    uint64_t n_before = is_another ? left->other : 0;
    if (!is_another)
        print_left(printer);
    *left = *news;
    left->set = left->name = left->place = left->text = NULL;
    left->other = n_before + 1;
}

/* ---- processes that end */

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
static bool are_only_counted(const struct tg_news_ends *ends)
{
    return ends->ranks == NULL && ends->first.how == TG_EXIT_STATUS &&
           count_ranges(ends->dpids, ends->count) > MAX_RANGES;
}

static void write_ends(struct tg_news_ends *ends, FILE *stream)
{
    size_t n_dpids = sort_numbers(ends->dpids, ends->count);
    if (are_only_counted(ends)) {
        fprintf(stream, "%zu of the processes %" PRIu32 "-%" PRIu32, n_dpids, ends->dpids[0],
                ends->dpids[n_dpids - 1]);
        return;
    }
    if (ends->ranks != NULL) {
        fputs("ranks ", stream);
        tg_job_list_numbers(ends->ranks, sort_numbers(ends->ranks, ends->count), stream);
        fputs(" (", stream);
    }
    fputs("processes ", stream);
    tg_job_list_numbers(ends->dpids, n_dpids, stream);
    if (ends->ranks != NULL)
        fputc(')', stream);
}

static void print_ends(struct tg_news_printer *printer, struct tg_news_ends *ends)
{
    char *whom = NULL;
    size_t size;
    struct tg_news news = ends->first;
    FILE *stream = ends->count < 2 ? NULL : open_memstream(&whom, &size);
    if (stream != NULL) {
        write_ends(ends, stream);
        news.set = fclose(stream) == 0 ? whom : NULL;
    }
    for (size_t i = 0; news.set == NULL && i < ends->count; i++) { /* one, or memory is short */
        news.unit.dpid = ends->dpids[i];
        if (ends->ranks != NULL)
            news.rank = ends->ranks[i];
        print_line(printer, &news);
    }
    if (news.set != NULL)
        print_line(printer, &news);
    free(whom);
    free(ends->dpids);
    free(ends->ranks);
    *ends = (struct tg_news_ends){0};
}

static void print_all_ends(struct tg_news_printer *printer)
{
    for (size_t i = 0; i < printer->n_ends; i++)
        print_ends(printer, &printer->ends[i]);
    printer->n_ends = 0;
}

static bool is_end(const struct tg_news *news)
{
    return news->kind == TG_NEWS_EXITED && news->unit.dtid == 0 && news->unit.dpid != 0 &&
           (!news->has_rank || (news->rank >= 0 && news->rank <= UINT32_MAX));
}

static bool grow(uint32_t **numbers, size_t capacity)
{
    uint32_t *grown = reallocarray(*numbers, capacity, sizeof *grown);
    if (grown != NULL)
        *numbers = grown;
    return grown != NULL;
}

/* False: there is no memory. */
static bool add_end(struct tg_news_ends *ends, const struct tg_news *news)
{
    if (ends->count == ends->capacity) {
        size_t capacity = ends->capacity == 0 ? 16 : 2 * ends->capacity;
        if (!grow(&ends->dpids, capacity) || (news->has_rank && !grow(&ends->ranks, capacity)))
            return false;
        ends->capacity = capacity;
    }
    ends->dpids[ends->count] = news->unit.dpid;
    if (ends->ranks != NULL)
        ends->ranks[ends->count] = (uint32_t)news->rank;
    ends->count++;
    return true;
}

static void take_end(struct tg_news_printer *printer, const struct tg_news *news)
{
    size_t i = 0;
    while (i < printer->n_ends &&
           (printer->ends[i].first.how != news->how || printer->ends[i].first.status != news->status ||
            printer->ends[i].first.has_rank != news->has_rank))
        i++;
    if (i == TG_NEWS_PRINTER_ENDS) {
        print_all_ends(printer);
        i = 0;
    }
    struct tg_news_ends *ends = &printer->ends[i];
    if (i == printer->n_ends) {
        *ends = (struct tg_news_ends){.first = *news};
        ends->first.set = ends->first.name = ends->first.place = ends->first.text = NULL;
        printer->n_ends++;
    }
    if (add_end(ends, news))
        return;
    print_all_ends(printer);
    print_line(printer, news);
}

/* ---- */

void tg_news_printer_tell(void *context, const struct tg_news *news)
{
    struct tg_news_printer *printer = context;
    if (!is_left(news))
        print_left(printer);
    if (!is_end(news))
        print_all_ends(printer);
    if (is_left(news))
        take_left(printer, news);
    else if (is_end(news))
        take_end(printer, news);
    else
        print_line(printer, news);
}

void tg_news_printer_flush(struct tg_news_printer *printer)
{
    print_left(printer);
    print_all_ends(printer);
}
