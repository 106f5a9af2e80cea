#include "analyzer/job/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tg_job_list_numbers(const uint32_t *numbers, size_t count, FILE *stream)
{
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        fprintf(stream, "%s%" PRIu32, i == 0 ? "" : ",", numbers[i]);
        if (last > i)
            fprintf(stream, "-%" PRIu32, numbers[last]);
        i = last + 1;
    }
}

/* One process of the set and its threads in it. */
struct item {
    const struct tg_job_process *process;
    const uint32_t *threads; /* dtids */
    size_t n_threads;
    bool by_dpid;
    uint32_t number; /* rank or dpid */
    size_t group;    /* index of the first item that it is together with */
};

struct list {
    struct item *items;
    size_t n_items;
    uint32_t *dtids, *numbers;
};

static void deinit(struct list *list)
{
    free(list->items);
    free(list->dtids);
    free(list->numbers);
}

static int compare_number(const struct item *x, const struct item *y)
{
    if (x->by_dpid != y->by_dpid)
        return x->by_dpid ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static int compare_threads(const struct item *x, const struct item *y)
{
    if (x->by_dpid != y->by_dpid)
        return x->by_dpid ? 1 : -1;
    if (x->n_threads != y->n_threads)
        return x->n_threads > y->n_threads ? 1 : -1;
    for (size_t i = 0; i < x->n_threads; i++)
        if (x->threads[i] != y->threads[i])
            return x->threads[i] > y->threads[i] ? 1 : -1;
    return 0;
}

/* Alike ones together, among them by number. */
static int by_threads(const void *x, const void *y)
{
    int order = compare_threads(x, y);
    return order != 0 ? order : compare_number(x, y);
}

/* Groups by their least number. */
static int by_group(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->by_dpid != b->by_dpid)
        return a->by_dpid ? 1 : -1;
    if (a->group != b->group)
        return a->group > b->group ? 1 : -1;
    return compare_number(a, b);
}

static struct tg_error *collect(const struct tg_job_view *view, const struct tg_job_set *set,
                                struct list *list)
{
    size_t n = tg_job_view_count(view), n_dtids = 0;
    list->items = calloc(n + 1, sizeof *list->items);
    list->dtids = calloc(tg_job_view_slots(view) + 1, sizeof *list->dtids);
    list->numbers = calloc(n + 1, sizeof *list->numbers);
    if (list->items == NULL || list->dtids == NULL || list->numbers == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        if (!tg_job_set_has_any(set, process))
            continue;
        int64_t rank = process->info.rank;
        bool by_rank = rank >= 0 && rank <= UINT32_MAX && tg_job_view_rank(view, rank) == process;
        struct item *item = &list->items[list->n_items++];
        *item = (struct item){.process = process,
                              .threads = list->dtids + n_dtids,
                              .by_dpid = !by_rank,
                              .number = by_rank ? (uint32_t)rank : process->info.dpid};
        for (size_t j = 0; j < process->n_threads; j++)
            if (tg_job_set_has(set, process, j))
                list->dtids[n_dtids++] = tg_job_view_thread(view, process, j)->dtid;
        item->n_threads = (size_t)(list->dtids + n_dtids - item->threads);
    }
    return NULL;
}

/* Brings items that have the same threads together, the groups in the order of their least numbers. */
static void arrange(struct list *list)
{
    if (list->n_items == 0)
        return;
    qsort(list->items, list->n_items, sizeof *list->items, by_threads);
    uint32_t least = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        if (i == 0 || compare_threads(&list->items[i - 1], &list->items[i]) != 0)
            least = list->items[i].number;
        list->items[i].group = least;
    }
    qsort(list->items, list->n_items, sizeof *list->items, by_group);
}

static void print_items(struct list *list, FILE *stream)
{
    for (size_t i = 0; i < list->n_items;) {
        const struct item *first = &list->items[i];
        size_t count = 0;
        while (i + count < list->n_items && first[count].group == first->group &&
               first[count].by_dpid == first->by_dpid) {
            list->numbers[count] = first[count].number;
            count++;
        }
        fprintf(stream, "%s%s", i == 0 ? "" : ", ", first->by_dpid ? "p" : "");
        tg_job_list_numbers(list->numbers, count, stream);
        if (first->n_threads > 0)
            fputc('.', stream);
        tg_job_list_numbers(first->threads, first->n_threads, stream);
        i += count;
    }
}

struct tg_error *tg_job_list_print(const struct tg_job_view *view, const struct tg_job_set *set, FILE *stream)
{
    __attribute__((cleanup(deinit))) struct list list = {0};
    size_t n_processes, n_threads;
    struct tg_error *error = collect(view, set, &list);
    if (error != NULL)
        return error;
    arrange(&list);
    tg_job_set_count(set, view, &n_processes, &n_threads);
    fprintf(stream, "%zu:%zu[", n_processes, n_threads);
    print_items(&list, stream);
    fputc(']', stream);
    return NULL;
}
